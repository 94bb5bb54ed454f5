"""The best place of a read (--mode local), against a few lines of Python."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from rating import aligner_of, batch_of, found_of, packed_of, search_of

READS, HALF = 300, 32


def test_the_best_place_of_each_read():
    """Equal places: the one that the search chose is taken, else one drawn by the hash of the read's bases."""
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 12, READS)
    read = np.repeat(np.arange(READS), counts)
    strand, at = 2 * read + rng.integers(0, 2, len(read)), 1000 + 20 * rng.integers(0, 12, len(read))
    totals = rng.integers(9, 13, (2 * READS, 2000))
    aligned = {}

    def score(strands, firsts, width, _):
        ends = np.empty((3, len(strands)), np.uint16)
        ends[0], ends[1], ends[2] = 2 * totals[strands, firsts + width // 2] + 1, 90, width // 2
        return ends

    def align(strands, firsts, width, scoring, slots, rows):
        aligned.update(
            zip((strands >> 1).tolist(), zip(strands & 1, firsts + width // 2, strict=True), strict=True)
        )
        k, runs = len(strands), np.zeros(slots[-1], np.uint32)
        runs[slots - 1] = 10 << 4
        ones = np.ones(k, np.uint16)
        return score(strands, firsts, width, scoring), np.full(k, 500), ones, ones, runs

    context = batch_of(
        packed_of([100] * READS),
        flip=rng.integers(0, 2, READS).astype(np.uint8),
        digest=rng.integers(0, 1 << 62, READS).astype(np.uint64),
        reference=SimpleNamespace(
            planes=np.tile(np.array([0, 0, 2**64 - 1], np.uint64), (40, 1)),
            starts=np.zeros(1, np.int64),
            lengths=np.full(1, 2500),
        ),
    )
    aligner = aligner_of(context, SimpleNamespace(_local=score, _align_local=align))
    search = search_of(context, aligner, found_of(strand, at - HALF, HALF, rng.integers(4, 7, len(read))))
    start, (rows, *_), expected, drawn, given = np.cumsum([0, *counts]), search.chosen, {}, 0, 0
    for r in np.flatnonzero(counts):
        chosen = start[r] + rows[start[r]]
        places = {
            (strand[i] & 1 ^ context.flip[r], at[i]): totals[strand[i], at[i]]
            for i in range(start[r], start[r + 1])
        }
        best = sorted(place for place, total in places.items() if total == max(places.values()))
        own = strand[chosen] & 1 ^ context.flip[r], at[chosen]
        one = own if own in best else best[int(context.digest[r]) % len(best)]
        expected[r] = one[0] ^ context.flip[r], one[1]
        given += own in best and len(best) > 1
        drawn += own not in best and len(best) > 1
    assert aligned == expected and given > 20 and drawn > 20
