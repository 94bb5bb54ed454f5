"""Another look for reads of which much stays unaligned: dense seeds, and no filter."""

from __future__ import annotations

import numpy as np

from gassst._core import stretches as _stretches
from gassst.params import MAX_READ_LENGTH
from gassst.search.arrays import F64, U8, U32, ScoredBuckets
from gassst.search.backend import SearchBackend
from gassst.seeding.plan import SeedRows
from gassst.seeding.seed_index import SeedIndex

# The other values that were tried are in docs/benchmarks/constants.md.
NEW_PLACES = 32  # best supported buckets of a read that are scored; 128 cost a sixth more
# Bases from seed to seed. At 3 another look costs a third more, and 0.01 % more of human reads with adapters are right.
STRIDE = 5
SPECIFIC = 4  # bases by which a seed is longer than one that occurs once by chance; 2 and 6 place fewer right
OCCURRENCES = 64  # of a seed that are looked at
# A place with two differences more than the best one has a stretch of a third of its length without any. What is
# covered less is no rival, but another part of the read may be as short as MOST_NEEDED bases. Of human reads with
# adapters half of the buckets are left out, and 0.002 % lose their place.
RELEVANT, MOST_NEEDED = 3, 24
WORDS = 2  # of a band: room for gaps of some 50 bases


def seed_length(index: SeedIndex) -> int:
    """Bases of a seed."""
    return min(int(np.ceil(np.log(max(len(index.positions), 4)) / np.log(4))) + SPECIFIC, index.k + 16)


def look_again(backend: SearchBackend, reads: U32) -> tuple[U32, U32, U8, F64]:
    """The promising buckets of `reads` (uint32[a], ascending).

    Returns
    -------
    read_strand, band_start : uint32[k], words : uint8[k]
        Their bands.
    passed_over : float64[a]
        Bases of each read where a seed begins, or would, of which not every occurrence was looked at.
    """
    context = backend.context
    caps = np.minimum(context.plan.caps, np.uint32(OCCURRENCES))
    seeds, clipped, _ = backend.resolve(reads, _seed_rows(seed_length(context.index)), caps)
    anchors = backend.gather(seeds, reads, ScoredBuckets.none(context.n))
    read_strand, bucket = _stretches.promising_buckets(anchors, context, NEW_PLACES, RELEVANT, MOST_NEEDED)
    words = np.maximum(context.words[read_strand >> 1], np.uint8(WORDS))
    lead = 32 * words.astype(np.uint32) - np.uint32((1 << context.shift) >> 1)
    return (
        read_strand,
        (bucket << np.uint32(context.shift)) - lead,
        words,
        clipped.astype(np.float64) * STRIDE,
    )


def _seed_rows(length: int) -> SeedRows:
    m = np.arange(MAX_READ_LENGTH + 1)
    count = np.where(m >= length, (m - length) // STRIDE + 1, 0).astype(np.uint16)
    return SeedRows(np.full(m.size, length, np.uint16), count, np.ones(m.size, np.uint16))
