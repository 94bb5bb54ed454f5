"""Local ends of pairs: where one mate has a place, the other is looked for around it, clipped or not.

Pairs that the search of whole reads has settled keep their places (`proper`). Of the others, a mate without a
concordant place is scored in every band of the window that the insert sizes leave around its partner. A concordant
place is taken where it costs less than `PAIR` in score, as bwa has it (-U).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gassst._core import local_places as _local_places
from gassst.local.places import Lines, Places, at
from gassst.local.realign import LocalEnds
from gassst.local.rivals import Rivals
from gassst.pairing.insert_size import InsertModel
from gassst.search.mapq import MAX_MAPQ

PAIR = 17  # score that a concordant place is worth
NEAR_SCORE = 19  # least score of a place in the window, by default: by chance one in a million windows has it
MOST_BANDS = 256  # in a window


def leads(orientation: str, strand: np.ndarray, mate: np.ndarray) -> np.ndarray:
    """Whether a mate on this strand is the one whose 5' end is leftmost in a concordant pair."""
    if orientation == "ff":
        return (mate == 1) == (strand == 0)
    return strand == (orientation == "rf")


def mate_window(insert: InsertModel, diagonal, strand, mate, length, other_length) -> tuple:
    """First and last diagonal of the partner, int64[n], and its strand, of mates of `length` bases on `diagonal`."""
    ahead = leads(insert.orientation, strand, mate)
    low = np.where(ahead, diagonal + insert.low - other_length, diagonal + length - insert.high)
    high = np.where(ahead, diagonal + insert.high - other_length, diagonal + length - insert.low)
    return low, high, strand if insert.orientation == "ff" else 1 - strand


class PairedEnds(LocalEnds):
    """`LocalEnds` of a `pairing.PairSearch`."""

    def _to_be_paired(self) -> np.ndarray:
        search: Any = self.search
        return search.paired & ~search.proper

    def _pair(self, clear: Lines, primary: Lines, places: Places) -> tuple[Lines, Places]:
        search: Any = self.search
        aligned = np.zeros(self.n, bool)
        aligned[clear.read] = aligned[primary.read] = True
        movable = self._to_be_paired() & aligned[search.partner]
        movable[clear.read] = False
        concerned = movable | movable[search.partner]
        lines = Lines.concatenate([some.take(concerned[some.read]) for some in (clear, primary)])
        of_read = np.full(self.n, -1, np.int64)
        of_read[lines.read] = np.arange(len(lines.read))
        windows = self._windows(np.flatnonzero(movable), lines, of_read)
        fits = self._concordant(places, windows)
        lonely = movable.copy()
        lonely[places.read[fits]] = False
        found = len(places.read)
        new = self._score(*self._bands_within(lonely, windows))
        places = Places.concatenate([places, new.take(new.score >= min(self.scoring.min_score, NEAR_SCORE))])
        rows = self._best(places, self._concordant(places, windows))
        read = places.read[rows]
        gain = np.full(self.n, np.iinfo(np.int32).min, np.int64)
        gain[read] = places.total[rows] + PAIR - at(lines.total, of_read[read])
        first = search.first
        better = np.where(gain[first] >= gain[first + 1], first, first + 1)
        better = better[gain[better] >= 0]
        taken = rows[np.isin(read, better)]
        moved = self.aligner.places(places.take(taken))
        done = np.r_[moved.read, search.partner[moved.read]]
        search.proper[done] = True
        self.joined, self.rescued = moved.read, np.zeros(self.n, bool)
        self.rescued[places.read[taken[taken >= found]]] = True
        staying = np.ones(self.n, bool)
        staying[moved.read] = False
        return Lines.concatenate([primary.take(staying[primary.read]), moved]), places

    def _pair_quality(self, primary: Lines, rivals: Rivals) -> None:
        """Of mates that were placed together each is right if the other one is and no rival is as near to that; so
        its quality is at least the lower one of the two. One that was found near its mate alone has no other."""
        search: Any = self.search
        pairs = np.r_[self.joined, search.partner[self.joined]]
        concerned = np.zeros(self.n, bool)
        concerned[pairs] = True
        some = np.flatnonzero(concerned[primary.read])
        near = self.rivalry.quality(primary.take(some), rivals.take(some), np.ones(len(some), bool), PAIR)
        given_mate = np.full(self.n, MAX_MAPQ, np.uint8)
        given_mate[primary.read[some]] = near
        alone = np.where(self.rescued, 0, self.quality).astype(np.uint8)
        shared = np.minimum(alone[search.partner[pairs]], given_mate[pairs])
        self.quality[pairs] = np.maximum(alone[pairs], shared)

    def _windows(self, reads: np.ndarray, lines: Lines, of_read: np.ndarray) -> np.ndarray:
        """For each of the reads, which its partner's line leaves it: int64[3, n], first and last diagonal, strand; an
        empty window for all others. Windows end where the partner's contig does."""
        search: Any = self.search
        partner = search.partner[reads]
        line = of_read[partner]
        diagonal = lines.first_diagonal[line].astype(np.int64)
        length, own = (self.lengths[r].astype(np.int64) for r in (partner, reads))
        strand = (lines.read_strand[line] & 1).astype(np.int64)
        low, high, strand = mate_window(search.insert, diagonal, strand, search.mate[partner], length, own)
        reference = search.index.reference
        contig = (
            np.searchsorted(reference.starts, lines.hits["position"][line].astype(np.int64), side="right") - 1
        )
        start = reference.starts[contig]
        windows = np.zeros((3, self.n), np.int64)
        windows[1] = -1
        windows[0, reads] = np.maximum(low, start - own)
        windows[1, reads] = np.minimum(high, start + reference.lengths[contig])
        windows[2, reads] = strand
        return windows

    def _concordant(self, places: Places, windows: np.ndarray) -> np.ndarray:
        return _local_places.within(places.read_strand, places.diagonal, windows)

    def _bands_within(self, wanted: np.ndarray, windows: np.ndarray):
        """read_strand, band_start, words of all buckets in the windows of the wanted reads."""
        search = self.search
        reads = np.flatnonzero(wanted)
        low, high, strand = windows[:, reads]
        first = np.maximum(low, 0) >> search.shift
        count = np.where(high >= low, (np.maximum(high, 0) >> search.shift) - first + 1, 0)
        count[count > MOST_BANDS] = 0
        bucket = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
        read = np.repeat(reads, count)
        band_start = (bucket << search.shift).astype(np.uint32) - search.margin[read]
        read_strand = (2 * read + np.repeat(strand, count)).astype(np.uint32)
        return read_strand, band_start, search.words[read]
