"""The best place of a read (--mode local), against a few lines of Python."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from alignments import pack, planes_of
from rating import aligner_of, batch_of, found_of, search_of

from gassst.model.sam_flags import REVERSE

READS, HALF = 300, 32


def test_the_best_place_of_each_read():
    """Equal places: the one that the search chose is taken, else one drawn by the hash of the read's bases.

    The reads are their own reverse complements, and fit everywhere. What a device has found says which place is best.
    """
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 12, READS)
    read = np.repeat(np.arange(READS), counts)
    strand, at = 2 * read + rng.integers(0, 2, len(read)), 1000 + 20 * rng.integers(0, 12, len(read))
    totals = rng.integers(107, 111, (2 * READS, 2000))
    reference = np.tile(np.array([0, 3], np.uint8), 1280)
    context = batch_of(
        pack([reference[:100]] * READS),
        flip=rng.integers(0, 2, READS).astype(np.uint8),
        digest=rng.integers(0, 1 << 62, READS).astype(np.uint64),
        reference=SimpleNamespace(
            planes=planes_of(reference), starts=np.zeros(1, np.int64), lengths=np.full(1, len(reference))
        ),
    )
    aligner = aligner_of(context)
    edits, ends = rng.integers(4, 7, len(read)), (at, totals[strand, at])
    search = search_of(context, aligner, found_of(strand, at - HALF, HALF, edits, ends=ends))
    search.report(False)
    hits = aligner.rows()[0]
    aligned = {hit["read"]: (hit["flag"] & REVERSE > 0, hit["position"]) for hit in hits if hit["cigar_runs"]}
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
