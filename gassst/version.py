"""The one source of the version. A wheel or sdist of a checkout appends its commit: `scripts/packaging/metadata.py`."""

__version__ = "0.2.0.dev0"
