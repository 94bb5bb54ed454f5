"""Scores and alignments in bands, by compiled code on the host."""
