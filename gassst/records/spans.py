"""What rows of a result cover: bases of the reference, or runs of some kinds; which is the first of its read."""

from __future__ import annotations

import numpy as np

from gassst.model.slices import slices

REFERENCE_RUNS = (0, 2)  # BAM operations M and D


def reference_spans(hits: np.ndarray, cigars: np.ndarray) -> np.ndarray:
    """int64[h]: reference bases that hits (HIT[h]) cover; `cigars` uint32[] are the runs that they point to."""
    return bases_of_runs(hits, cigars, REFERENCE_RUNS)


def bases_of_runs(hits: np.ndarray, cigars: np.ndarray, operations: tuple[int, ...]) -> np.ndarray:
    """int64[h]: bases in the runs of these BAM operations."""
    row, offsets = slices(hits["cigar_start"], hits["cigar_runs"])
    run = cigars[row].astype(np.int64)
    total = np.r_[0, np.cumsum((run >> 4) * (sum(1 << each for each in operations) >> (run & 15) & 1))]
    return total[offsets[1:]] - total[offsets[:-1]]


def is_primary(hits: np.ndarray) -> np.ndarray:
    """bool[h]: the first row of every read."""
    return np.r_[True, hits["read"][1:] != hits["read"][:-1]][: len(hits)]
