"""Mates: orientation, insert sizes, placements."""
