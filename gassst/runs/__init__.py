"""One run over files, from its inputs to its output and its statistics."""
