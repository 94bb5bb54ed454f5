"""The Python interface: the mapper, and what it returns."""
