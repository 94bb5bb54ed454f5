"""Rows of alignments to SAM, BAM and CRAM: encoded, sorted, marked, gathered."""
