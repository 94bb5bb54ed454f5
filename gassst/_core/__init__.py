"""Compiled modules: sources in `ext/` and `index/`, type stubs and shared declarations here."""
