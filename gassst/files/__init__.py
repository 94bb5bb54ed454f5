"""Bytes and names of files: compressed streams, and outputs that appear only when they are complete."""
