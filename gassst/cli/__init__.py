"""The `gassst` command."""
