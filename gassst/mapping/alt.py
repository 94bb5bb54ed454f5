"""ALT contigs: the primary assembly is searched alone, then the ALT contigs for the reads that may fit better there.

The rules are those of bwa mem with a list of ALT contigs. The primary alignment is on the primary assembly wherever
there is one, with the mapping quality that it has without ALT contigs. An ALT contig on which a read scores more adds a
supplementary alignment. A read that fits on ALT contigs only is placed there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gassst._core import read_search as _read_search
from gassst._core.read_search import qualities
from gassst.mapping.batch import map_batch
from gassst.model.array_types import I64, U8, Bool, Structs
from gassst.model.layouts import NO_SCORE
from gassst.model.params import MapParams
from gassst.model.read_batch import PackedReads
from gassst.model.sam_flags import PROPER_PAIR, SECONDARY, SUPPLEMENTARY, UNMAPPED
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.search.arrays import BatchResult
from gassst.search.context import BatchContext


def map_batch_with_alt(
    context: BatchContext,
    stats: Stats,
    mate: np.ndarray | None = None,
    insert: InsertModel | None = None,
) -> BatchResult:
    """As `batch.map_batch`, for a reference with ALT contigs. `--all` takes all contigs alike."""
    alt, params = context.reference.alt, context.params
    if alt is None or params.exhaustive or not params.alt_aware:
        return map_batch(context, stats, mate, insert)
    main = map_batch(replace(context, left_out=alt), stats, mate, insert)
    reads = np.flatnonzero(_may_fit_better(main, context.n, mate, params))
    if not reads.size:
        return main
    mates, own = None if mate is None else mate[reads], Stats()
    other = map_batch(replace(_of_reads(context, reads), left_out=~alt), own, mates, insert)
    result = _Merge(context, main, other, reads, mate).result(stats, own)
    if mate is not None and insert is not None:
        secondary = result.hits["flag"] & SECONDARY != 0
        result.hits["flag"][secondary] &= np.uint16(0xFFFF ^ PROPER_PAIR)
        result.hits["mate"] = 0
        for library in insert.libraries:
            _read_search.name_mates(result.hits, result.cigars, mate, context.reference.starts, library)
    return result


def _may_fit_better(main: BatchResult, n: int, mate: np.ndarray | None, params: MapParams) -> Bool:
    """bool[n]: reads with an error, a clipped end or no place, and their mates; all where several hits are wanted."""
    if params.most_hits > 1:
        return np.ones(n, bool)
    hits = main.hits[_first_rows(main.hits)]
    wanted = (hits["flag"] & UNMAPPED != 0) | (hits["edits"] > 0) | (hits["cigar_runs"] > 1)
    return wanted if mate is None else wanted | wanted[_partners(mate)]


def _partners(mate: np.ndarray) -> I64:
    """int64[n]: row of the mate of each read, that of a single read is its own."""
    partner: I64 = np.arange(len(mate))
    partner[mate == 1] += 1
    partner[mate == 2] -= 1
    return partner


def _first_rows(hits: np.ndarray) -> I64:
    """int64[n]: the row of each read's primary."""
    return np.flatnonzero(np.diff(hits["read"].astype(np.int64), prepend=-1))


def _of_reads(context: BatchContext, reads: I64) -> BatchContext:
    """The context of some reads, on the host."""
    packed = context.packed
    searched = context.index, context.lookup, context.plan, context.cascade, context.params
    some = packed.lengths[reads], packed.planes, packed.plane_start[reads], packed.of(reads)
    return BatchContext.of(*searched, PackedReads(*some), None, context.whole_reads, context.library)


class _Merge:
    """What the main assembly and the ALT contigs say of a batch; `reads` int64[s] were looked up in both."""

    def __init__(
        self,
        context: BatchContext,
        main: BatchResult,
        other: BatchResult,
        reads: I64,
        mate: np.ndarray | None,
    ):
        self.context, self.main, self.other, self.reads = context, main, other, reads
        self.hits = other.hits_behind(len(main.cigars), len(main.parts))
        self.first = _first_rows(self.hits)
        self.hits["read"] = reads[self.hits["read"]]
        self.home = main.hits[_first_rows(main.hits)]
        self.lost = self.home["flag"] & UNMAPPED != 0
        self.partner = np.arange(context.n) if mate is None else _partners(mate)

    def result(self, stats: Stats, own: Stats) -> BatchResult:
        """The rows of both."""
        hits = self.hits
        mapped = hits["flag"] & UNMAPPED == 0
        moved = mapped & self.lost[hits["read"]]
        added = np.zeros(len(hits), bool)
        added[self.first] = True
        added &= mapped & ~moved & (hits["score"] > self.home["score"][hits["read"]])
        self._place(moved)
        parts = self._supplement(np.flatnonzero(added))
        behind = self._behind(mapped & ~moved & ~added)
        taken = np.zeros(self.context.n, bool)
        taken[hits["read"][moved]] = True
        kept = self.main.hits[~taken[self.main.hits["read"]]]
        rows = _joined([kept, hits[moved], hits[added], hits[behind]])
        order = np.lexsort((rows["part"], rows["flag"] & SECONDARY, rows["read"]))
        rows = np.take(rows, order)
        summary = self.main.summary.copy()
        of_moved = taken[self.reads]
        summary[self.reads[of_moved]] = self.other.summary[of_moved]
        reported = np.bincount(rows["read"], minlength=self.context.n)
        summary["n_reported"] = np.where(summary["best"] == NO_SCORE, 0, reported)
        primary = self.first[of_moved]
        own_pairs = hits["flag"][primary] & PROPER_PAIR != 0
        stats.add_work_of(own)
        stats.proper += int(np.count_nonzero(own_pairs)) // 2
        cigars = np.concatenate([self.main.cigars, self.other.cigars])
        return BatchResult(rows, summary, cigars, np.concatenate([self.main.parts, self.other.parts, parts]))

    def _place(self, moved: Bool) -> None:
        """A pair is proper on an ALT contig if both of its mates are there alone."""
        read = self.hits["read"]
        here = np.zeros(self.context.n, bool)
        here[read[moved]] = True
        apart = moved & ~here[self.partner[read]]
        self.hits["flag"][apart] &= np.uint16(0xFFFF ^ PROPER_PAIR)

    def _supplement(self, rows: I64) -> Structs:
        """Make supplementary alignments, whose rival is the primary one; READ_SUMMARY[k] of them."""
        hits = self.hits[rows]
        home = self.home[hits["read"]]
        hits["flag"] = hits["flag"] & np.uint16(0xFFFF ^ PROPER_PAIR) | np.uint16(SUPPLEMENTARY)
        hits["mapq"] = np.minimum(hits["mapq"], self._quality_beside(hits, home))
        hits["part"] = len(self.main.parts) + len(self.other.parts) + np.arange(1, rows.size + 1)
        self.hits[rows] = hits
        return np.take(self.other.summary, np.searchsorted(self.first, rows))

    def _quality_beside(self, hits: np.ndarray, home: np.ndarray) -> U8:
        """uint8[k]: mapping qualities where the alignment on the main assembly is the rival."""
        params, lengths = self.context.params, self.context.packed.lengths[hits["read"]]
        cost = params.scoring.match + params.scoring.mismatch if params.mode == "local" else 1
        odds = self.context.library.odds(hits["edits"], lengths)
        return qualities(odds ** ((hits["score"] - home["score"]) / cost))

    def _behind(self, rows: Bool) -> I64:
        """Rows to report as secondary, as many as are wanted beside those of the main assembly."""
        hits, most = self.hits, self.context.params.most_hits
        supplementary = hits["flag"] & SUPPLEMENTARY != 0
        chosen = np.flatnonzero(rows & ~supplementary & (hits["part"] == 0))
        known = (self.main.hits["flag"] & SUPPLEMENTARY == 0) & (self.main.hits["part"] == 0)
        room = most - np.bincount(self.main.hits["read"][known], minlength=self.context.n)
        read = hits["read"][chosen]
        index = np.arange(len(read)) - np.searchsorted(read, read)
        chosen = chosen[index < room[read]]
        hits["flag"][chosen] = hits["flag"][chosen] & np.uint16(0xFFFF ^ PROPER_PAIR) | np.uint16(SECONDARY)
        return chosen


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    """np.concatenate, without its copying structs field by field."""
    dtype = arrays[0].dtype
    if dtype.names is None:
        return np.concatenate(arrays)
    return np.concatenate([a.view(np.dtype((np.void, dtype.itemsize))) for a in arrays]).view(dtype)
