"""The seed index, and which seeds of a read are looked up."""
