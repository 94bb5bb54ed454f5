"""The exact formula of what seeds miss, beside which the model of the search is checked and drawn."""

from __future__ import annotations

import math


def miss_probability(m: int, r: int, w: int) -> float:
    """Share of alignments of `m` bases with `r` errors that hold no error-free run of `w` bases (Rizk 4.6.7).

    The errors are spread uniformly; inclusion and exclusion over the r + 1 runs between them. In whole numbers, thus
    exact and slow: a search has `gassst.seeding.miss_model`.
    """
    if w > m:
        return 1.0
    runs = range(min(r + 1, (m - r) // w) + 1)
    total = sum((-1) ** i * math.comb(r + 1, i) * math.comb(m - i * w, r) for i in runs)
    return total / math.comb(m, r)
