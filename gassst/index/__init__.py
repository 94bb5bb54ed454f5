"""The reference, and its seed index: built once, opened by mmap, looked up whole or in parts."""
