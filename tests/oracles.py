"""Slow or plain truth for the tests of the filters, in NumPy; shares no code with the package.

Codes are 0-3 for A, C, G, T and 4 for a masked base, which matches nothing.
A *flank* is read from the seed outwards.
"""

from collections import Counter
from functools import cache
from types import SimpleNamespace

import numpy as np

MASKED = 4
FAR = 10_000


def pack_planes(codes):
    """Bit planes uint64[ceil(n / 64), 3] of codes uint8[n]; bits past the end are 0."""
    codes = np.concatenate([codes, np.zeros(-len(codes) % 64, np.uint8)])
    masked = codes == MASKED
    bits = np.where(masked, 0, codes)
    planes = [np.packbits(p, bitorder="little").view(np.uint64) for p in (bits & 1, bits >> 1, masked)]
    return np.ascontiguousarray(np.stack(planes, axis=1))


def reverse_complement(codes):
    return np.where(codes == MASKED, MASKED, 3 - codes).astype(np.uint8)[..., ::-1]


def pack_reads(sequences, strands):
    """PackedReads of uint8[n, m] sequences, each given as it reads on its strand."""
    n, m = sequences.shape
    rows = -(-m // 64)
    both = np.zeros((n, 2, 64 * rows), np.uint8)
    both[np.arange(n), strands, :m] = sequences
    both[np.arange(n), 1 - strands, :m] = reverse_complement(sequences)
    return SimpleNamespace(
        planes=pack_planes(both.reshape(-1)),
        plane_start=np.arange(0, 2 * rows * n, 2 * rows, dtype=np.uint32),
        lengths=np.full(n, m, np.uint32),
        conversions=np.empty(0, np.uint8),
    )


def flank_costs(read, reference, gaps):
    """Fewest errors of each of n pairs of flanks: all of the read, any number of bases of the reference.

    `read` uint8[n, m], `reference` uint8[n, >= m + gaps]; textbook dynamic programming over the diagonals
    -gaps to gaps, which holds every alignment with up to that many gap bases.
    """
    n, m = read.shape
    shifts = np.arange(-gaps, gaps + 1, dtype=np.int16)[:, None]
    padded = np.concatenate([np.full((gaps, n), MASKED, np.uint8), reference.T[: m + gaps]])
    row = np.broadcast_to(np.where(shifts < 0, FAR, shifts), (len(shifts), n)).astype(np.int16)
    for i in range(m):
        facing = padded[i : i + len(shifts)]
        best = row + ((facing != read[:, i]) | (facing == MASKED))  # a column left of the first stays FAR
        best[:-1] = np.minimum(best[:-1], row[1:] + 1)
        row = np.minimum.accumulate(best - shifts, axis=0) + shifts
    return row.min(axis=0)


def candidate_costs(sequences, windows, start, offset, length, gaps):
    """Fewest errors of each whole read through an error-free seed at read bases offset..offset+length-1.

    `sequences` uint8[n, m]; `windows` uint8[n, w]: the reference around, read base 0 faces column `start`;
    there must be `gaps` columns to spare on both sides.
    """
    left = flank_costs(sequences[:, :offset][:, ::-1], windows[:, : start + offset][:, ::-1], gaps)
    return left + flank_costs(sequences[:, offset + length :], windows[:, start + offset + length :], gaps)


def band_errors(sequences, windows, start, lengths, before, after):
    """Least errors of each read on the diagonals -before to after, masked bases as A; starts and ends are free.

    `sequences` uint8[n, m], of which the first `lengths` int[n] count; base 0 faces column `start` of `windows`.
    """
    shifts = np.arange(-before, after + 1)[:, None]
    row = np.zeros((len(shifts), len(sequences)), np.int16)
    for i in range(sequences.shape[1]):
        facing = windows[:, start - before + i : start + after + 1 + i].T % MASKED
        best = row + (facing != sequences[:, i] % MASKED)
        best[:-1] = np.minimum(best[:-1], row[1:] + 1)
        best = np.minimum.accumulate(best - shifts, axis=0) + shifts
        row = np.where(i < lengths, best, row)
    return row.min(axis=0)


@cache
def word_score(x, y):
    """Best semi-global score of two words of equal length: any path to the right column or the bottom row."""
    n = len(x)
    matrix = np.add.outer(np.arange(n + 1), np.arange(n + 1))
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            step = matrix[i - 1, j - 1] + (x[i - 1] != y[j - 1])
            matrix[i, j] = min(step, matrix[i - 1, j] + 1, matrix[i, j - 1] + 1)
    return int(min(matrix[-1].min(), matrix[:, -1].min()))


def tiled_score(read, reference, tile, gaps):
    """TNW_l of two flanks (tuples of codes 0-3), equations 4.1 and 4.2 as printed; whole tiles only."""
    n = len(read) // tile * tile
    if n == 0:
        return 0

    def pst(i, j):
        return word_score(read[i - 1 : i - 1 + tile], reference[j - 1 : j - 1 + tile])

    if n == tile:
        return pst(1, 1)
    before, last = tiled_score(read[: n - tile], reference, tile, gaps), n - tile + 1
    terms = [before + pst(last, last)]
    for s in range(1, min(gaps, n - tile) + 1):
        terms += [max(s, before) + pst(last, last - s), max(s, before) + pst(last - s, last)]
    return min(terms)


def composition_distance(a, b):
    """Half the summed differences in how often each base occurs."""
    a, b = Counter(a), Counter(b)
    return sum(abs(a[base] - b[base]) for base in range(4)) / 2


def maximal_run(read, reference, offset, end):
    """First and past-the-last read base of the run of equal bases around offset..end-1; None if broken."""
    equal = (read == reference) & (read != MASKED)
    if not equal[offset:end].all():
        return None
    breaks = np.flatnonzero(~equal)
    return max(breaks[breaks < offset], default=-1) + 1, min(breaks[breaks >= end], default=len(read))


def mutate(rng, reference, n, rate, kinds, seams=0.5):
    """Read flanks uint8[cases, n] from reference flanks uint8[cases, >= 2 n]: errors at `rate` float[cases].

    `kinds` float[cases, 3]: shares of substitutions, insertions and deletions. In the share `seams` of the
    cases errors keep to the seams of tiles of 4 and 5 bases.
    """
    cases = len(reference)
    seam = np.isin(np.arange(n) % 20, [0, 4, 5, 8, 10, 12, 15, 16])
    weight = np.where(rng.random((cases, 1)) < seams, np.float32(2) * seam, np.float32(1))
    error = rng.random((cases, n), np.float32) < rate[:, None].astype(np.float32) * weight
    kind = rng.random((cases, n), np.float32)
    to_substitution, to_insertion = (np.cumsum(kinds, axis=1)[:, k, None].astype(np.float32) for k in (0, 1))
    substituted = error & (kind <= to_substitution)
    inserted = error & ~substituted & (kind <= to_insertion)
    deleted = error & ~substituted & ~inserted
    step = 1 + deleted * rng.integers(1, 3, (cases, 1), np.int16) - inserted
    column = (np.cumsum(step, axis=1, dtype=np.int32) - 1).clip(0, reference.shape[1] - 1)
    flank = reference.reshape(-1)[column + reference.shape[1] * np.arange(cases)[:, None]]
    changed = (flank + rng.integers(1, 4, flank.shape, np.uint8)) % 4
    flank = np.where(substituted & (flank < 4), changed, flank)
    return np.where(inserted, rng.integers(0, 4, flank.shape, np.uint8), flank).astype(np.uint8)
