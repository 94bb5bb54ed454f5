"""Another look for reads of which much stays unaligned: dense seeds, and no filter."""

from __future__ import annotations

import numpy as np

from gassst.local.places import rank
from gassst.params import MAX_READ_LENGTH
from gassst.search.arrays import U8, U32, ScoredBuckets
from gassst.search.backend import SearchBackend
from gassst.seeding.plan import SeedRows
from gassst.seeding.seed_index import SeedIndex

NEW_PLACES = 32  # best supported buckets of a read that are scored
STRIDE = 3  # bases from seed to seed
SPECIFIC = 4  # bases by which a seed is longer than one that occurs once by chance
OCCURRENCES = 64  # of a seed that are looked at
WORDS = 2  # of a band: room for gaps of some 50 bases


def seed_length(index: SeedIndex) -> int:
    """Bases of a seed."""
    return min(int(np.ceil(np.log(max(len(index.positions), 4)) / np.log(4))) + SPECIFIC, index.k + 16)


def look_again(backend: SearchBackend, reads: U32) -> tuple[U32, U32, U8]:
    """read_strand, band_start, words of the best supported buckets of `reads` (uint32[a], ascending)."""
    context = backend.context
    caps = np.minimum(context.plan.caps, np.uint32(OCCURRENCES))
    seeds = backend.resolve(reads, _seed_rows(seed_length(context.index)), caps).seeds
    anchors = backend.gather(seeds, reads, ScoredBuckets.none(context.n))
    bucket = anchors.diagonal >> np.uint32(context.shift)
    read_strand, bucket = _best_supported(anchors.read_strand, bucket, anchors.length)
    words = np.maximum(context.words[read_strand >> 1], np.uint8(WORDS))
    lead = 32 * words.astype(np.uint32) - np.uint32((1 << context.shift) >> 1)
    return read_strand, (bucket << np.uint32(context.shift)) - lead, words


def _seed_rows(length: int) -> SeedRows:
    m = np.arange(MAX_READ_LENGTH + 1)
    count = np.where(m >= length, (m - length) // STRIDE + 1, 0).astype(np.uint16)
    return SeedRows(np.full(m.size, length, np.uint16), count, np.ones(m.size, np.uint16))


def _best_supported(read_strand: U32, bucket: U32, length: np.ndarray) -> tuple[U32, U32]:
    """The buckets of each read whose seeds cover most bases, from anchors in their order."""
    if not read_strand.size:
        return read_strand, bucket
    new = np.r_[True, (read_strand[1:] != read_strand[:-1]) | (bucket[1:] != bucket[:-1])]
    starts = np.flatnonzero(new)
    support = np.add.reduceat(length.astype(np.int64), starts)
    read_strand, bucket = read_strand[starts], bucket[starts]
    order = np.lexsort((np.arange(starts.size), -support, read_strand >> 1))
    keep = order[rank(read_strand[order] >> 1) < NEW_PLACES]
    return read_strand[keep], bucket[keep]
