"""Backends that score and align bands: compiled CPU code and OpenCL."""
