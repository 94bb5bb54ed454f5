"""One batch of reads to rows of alignments."""
