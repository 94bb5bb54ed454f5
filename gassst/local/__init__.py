"""Local alignments of reads whose ends may be clipped, or that lie in several places."""
