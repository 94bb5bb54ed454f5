"""From files, or from Python objects, to batches of reads."""
