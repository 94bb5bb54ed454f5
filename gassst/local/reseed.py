"""Another look for reads of which much stays unaligned: dense seeds, and no filter (--mode local)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gassst._core import anchors as _anchors
from gassst.local.places import rank
from gassst.params import MAX_READ_LENGTH
from gassst.seeding.seed_index import SeedIndex

if TYPE_CHECKING:
    from gassst.search.single import BatchSearch

NEW_PLACES = 32  # best supported buckets of a read that are scored
STRIDE = 3  # from seed to seed
SPECIFIC = 4  # bases a seed is longer than one that occurs once by chance
OCCURRENCES = 64  # of a seed that are looked at
WORDS = 2  # of a band: room for gaps of some 50 bases


def seed_length(index: SeedIndex) -> int:
    """Bases of a seed."""
    return min(int(np.ceil(np.log(max(len(index.positions), 4)) / np.log(4))) + SPECIFIC, index.k + 16)


def anchored(search: BatchSearch, reads: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """read_strand, band_start, words of the best supported buckets of `reads` (uint32[a], ascending)."""
    index = search.index
    lengths, counts = _seed_plan(seed_length(index))
    caps = np.minimum(search.plan.caps, np.uint32(OCCURRENCES))
    every = np.ones(counts.size, np.uint16)
    seeds, _, _ = search.resolved(reads, lengths, counts, every, caps)
    read_strand, diagonal, _, length, _ = _anchors.gather(
        seeds, index.positions, reads, search.flip, search.shift, *search.nothing_scored()
    )
    read_strand, bucket = _supported(read_strand, diagonal >> np.uint32(search.shift), length)
    words = np.maximum(search.words[read_strand >> 1], np.uint8(WORDS))
    margin = 32 * words.astype(np.uint32) - np.uint32((1 << search.shift) >> 1)
    return read_strand, (bucket << np.uint32(search.shift)) - margin, words


def _seed_plan(length: int) -> tuple[np.ndarray, np.ndarray]:
    """Length and number of seeds by read length."""
    m = np.arange(MAX_READ_LENGTH + 1)
    counts = np.where(m >= length, (m - length) // STRIDE + 1, 0)
    return np.full(m.size, length, np.uint16), counts.astype(np.uint16)


def _supported(read_strand: np.ndarray, bucket: np.ndarray, length: np.ndarray):
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
