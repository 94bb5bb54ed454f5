"""Simulation, evaluation and reports, beside the mapper."""
