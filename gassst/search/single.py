"""The search of one batch: stages of seeds, the filter cascade, scored bands, until every read is settled.

What must be true: a read's result depends on the read, the reference and the parameters alone. Buckets of diagonals
(docs/pipeline.md) make it so: a band is scored for a bucket, not for the seed that led to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gassst._core import alignments as _alignments
from gassst._core import anchors as _anchors
from gassst._core import bookkeeping as _bookkeeping
from gassst._core import seeds as _seeds
from gassst._core import selection as _selection
from gassst.layouts import HIT, NO_SCORE
from gassst.local.realign import LocalEnds
from gassst.params import MapParams
from gassst.search.filters import Candidates, Cascade
from gassst.search.mapq import Seen, mapping_quality, summarise_all
from gassst.seeding.plan import MARGIN, SearchPlan
from gassst.seeding.seed_index import SeedIndex
from gassst.stats import Stats

FLAG_UNMAPPED, FLAG_SECONDARY = 0x4, 0x100
PROFILE_ROOM = 1 << 25  # cells of the profiles in memory at once, 2 bytes each
# Diagonals behind the best end on which an ungapped alignment of as many errors is taken instead.
SAME_END = 3


@dataclass
class BatchResult:
    """Rows to write: `hits` HIT[h] grouped by read, primary first; `summary` READ_SUMMARY[n]; `cigars` uint32[]."""

    hits: np.ndarray
    summary: np.ndarray
    cigars: np.ndarray


@dataclass
class Bands:
    """Scored bands: read_strand, band_start, end as in docs/pipeline.md, `words` per band.

    `reach` uint16: how many diagonals behind `end` an alignment with as many errors may end instead.
    """

    read_strand: np.ndarray
    band_start: np.ndarray
    end: np.ndarray
    edits: np.ndarray
    words: np.ndarray
    reach: np.ndarray

    @classmethod
    def concatenate(cls, parts: list[Bands]) -> Bands:
        empty = cls(
            *(np.empty(0, t) for t in (np.uint32, np.uint32, np.uint16, np.uint16, np.uint8, np.uint16))
        )
        columns = (np.concatenate([getattr(p, f) for p in [empty, *parts]]) for f in cls.__dataclass_fields__)
        return cls(*columns)

    def take(self, index: np.ndarray) -> Bands:
        return Bands(*(getattr(self, f)[index] for f in self.__dataclass_fields__))

    def ends(self, lengths: np.ndarray) -> np.ndarray:
        """Coordinates behind the last aligned bases, from the lengths of the reads."""
        return self.band_start + self.end + lengths[self.read_strand >> 1]


class BatchSearch:
    """Search of one batch of packed reads; `run()` returns a `BatchResult`."""

    def __init__(
        self,
        index: SeedIndex,
        plan: SearchPlan,
        cascade: Cascade,
        extender,
        params: MapParams,
        packed,
        stats: Stats,
        parts,
    ):
        self.index, self.plan, self.cascade, self.params = index, plan, cascade, params
        self.packed, self.stats, self.parts = packed, stats, parts
        self.lengths = packed.lengths
        self.n = len(packed.lengths)
        plan.prepare(self.lengths)
        self.errors = plan.errors[self.lengths]
        self.limit = self.errors.copy()
        self.shift = plan.shift
        self.words = plan.words[self.lengths]
        self.margin = 32 * self.words.astype(np.uint32) - np.uint32((1 << self.shift) >> 1)
        self.best = np.full(self.n, NO_SCORE, np.uint16)
        self.rival = np.full(self.n, NO_SCORE, np.uint16)  # fewest errors in any other band
        self.complete = np.zeros(self.n, np.uint16)  # every alignment with fewer errors has been seen
        self.capped = np.zeros(self.n, np.uint8)
        self.looked = np.zeros(self.n, np.uint8)  # bit s: the seeds of stage s have been looked up
        self.planned = np.zeros(self.n, np.uint16)  # most disjoint seeds that were looked up together
        self.flip, self.digest = _seeds.orient(packed.planes, packed.plane_start, self.lengths)
        self.scored = np.empty(0, np.uint64)
        self.scored_start = np.zeros(self.n + 1, np.int64)
        self.fresh: list[tuple[np.ndarray, ...]] = []  # buckets scored since `scored` was brought up to date
        self.known_seeds: Any = None  # those looked up last, if the next stage holds them, too
        self.bands: list[Bands] = []
        self.proper = np.zeros(self.n, bool)  # reads whose place their pair decides
        self.extender = extender

    @property
    def seen(self) -> Seen:
        """What has been looked at so far, for the mapping qualities."""
        return Seen(self.complete, self.capped, self.looked, self.planned, self.plan)

    def run(self) -> BatchResult:
        with self.stats.timed("upload"):
            self.reads = self.extender.open_reads(self.packed)
        with self.reads:
            for stage in range(self.plan.MAX_STAGES):
                active = self._active(stage)
                if active.size:
                    self._stage(stage, active)
            self.stats.capped += int(self.capped.sum())
            return self._report_all() if self.params.all_hits else self._report_best()

    def _active(self, stage: int) -> np.ndarray:
        """Reads that are not settled yet (`params.Level`) and have seeds in this stage."""
        plan = self.plan
        state = self.lengths, self.best, self.rival, self.complete, self.errors
        row = plan.seed_count[stage], plan.settled[stage], plan.settled_alone[stage]
        return _bookkeeping.unsettled(*state, *row, plan.level.strata, MARGIN)

    def _stage(self, stage: int, active: np.ndarray) -> None:
        anchors, start = self._anchors(stage, active)
        scouts = np.empty(0, np.uint32), np.empty(0, np.uint32)
        if not self.params.all_hits:
            with self.stats.timed("candidates"):
                scouts = _anchors.best_supported(
                    anchors.read_strand, anchors.diagonal, anchors.length, start, self.shift
                )
            self._score(*scouts)
        planes, funnel = self.index.reference.planes, self.stats.funnel
        survivors = self.cascade.run(anchors, self.limit, self.packed, planes, counters=funnel)
        with self.stats.timed("candidates"):
            if stage == 0 and not self.params.all_hits:
                survivors = self._supported(survivors)
            found = _anchors.buckets(survivors.read_strand, survivors.diagonal, self.shift, *scouts)
        if self.params.all_hits:
            self._bucket_bands(*found)
        else:
            self._score(*found)
            self._remember(*scouts, *found)

    def _supported(self, anchors: Candidates) -> Candidates:
        """Anchors of the first stage without those with too few seeds beside them for the limit of their read.

        Later stages do not know the seeds in buckets scored before.
        """
        need = np.maximum(self.complete, self.limit) - self.limit
        width = self.plan.seed_length[0][self.lengths]
        columns = anchors.read_strand, anchors.diagonal, anchors.length
        return anchors.take(_anchors.supported(*columns, self.shift, width, need))

    def _anchors(self, stage: int, active: np.ndarray) -> tuple[Candidates, np.ndarray]:
        seeds = self._look_up(stage, active)
        with self.stats.timed("candidates"):
            self._merge_scored(active)
        anchors, start = self._gather(seeds, active, self.scored, self.scored_start)
        self.stats.candidates += len(anchors)
        return anchors, start

    def _look_up(self, stage: int, active: np.ndarray, every: np.ndarray | None = None) -> Any:
        """The seeds of a stage, resolved (`_seeds.Seeds`); `every`: instead of the plan's. Where the stage before
        looked up a part of them these are not looked up again."""
        plan = self.plan
        if every is None:
            every = plan.seed_every[stage]
        with self.stats.timed("seeds"):
            seeds, clipped, capped = self.resolved(
                active, plan.seed_length[stage], plan.seed_count[stage], every, plan.caps, self.known_seeds
            )
        self.capped[active] |= capped
        self.looked[active] |= np.uint8(1 << stage)
        self.known_seeds = seeds if (every > 1).any() and not self.parts.copies else None
        disjoint = plan.disjoint[stage][self.lengths[active]]
        disjoint = -(-disjoint.astype(np.int64) // every[self.lengths[active]])
        self.planned[active] = np.maximum(self.planned[active], disjoint)
        self.complete[active] = np.maximum(self.complete[active], disjoint - np.minimum(clipped, disjoint))
        self.stats.occurrences += seeds.occurrences
        return seeds

    def resolved(
        self,
        reads: np.ndarray,
        lengths: np.ndarray,
        counts: np.ndarray,
        every: np.ndarray,
        caps: np.ndarray,
        known: Any = None,
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """`_seeds.Seeds` of reads (uint32[a], ascending), looked up and limited to `caps`; of each read how many
        were clipped, and whether one was passed over. `lengths`, `counts`, `every` by read length; what is `known` is
        not looked up again."""
        columns = self.packed.planes, self.packed.plane_start, self.lengths, self.flip, reads
        seeds = _seeds.Seeds(*columns, lengths, counts, every, self.index.k + 16, known)
        self.parts.resolve(seeds, caps)
        clipped, capped = seeds.limit(caps)
        self.parts.copy_positions(seeds)
        return seeds, clipped, capped

    def nothing_scored(self) -> tuple[np.ndarray, np.ndarray]:
        """`scored` and `scored_start` of a `gather` that leaves no bucket out."""
        return np.empty(0, np.uint64), np.zeros(self.n + 1, np.int64)

    def _gather(
        self, seeds: Any, active: np.ndarray, scored: np.ndarray, scored_start: np.ndarray
    ) -> tuple[Candidates, np.ndarray]:
        """Anchors of the active reads outside the buckets that are `scored`, and where each read's begin."""
        with self.stats.timed("candidates"):
            gathered = _anchors.gather(
                seeds, self.index.positions, active, self.flip, self.shift, scored, scored_start
            )
        return Candidates(*gathered[:4]), gathered[4]

    def _remember(self, *columns: np.ndarray) -> None:
        """Add buckets (read_strand, bucket, read_strand, bucket, ...) to those that need not be scored again."""
        self.fresh += [columns[i : i + 2] for i in range(0, len(columns), 2)]

    def _merge_scored(self, active: np.ndarray) -> None:
        """Bring `scored` up to date for the reads that go on."""
        if self.fresh:
            read_strand, bucket = (np.concatenate(column) for column in zip(*self.fresh, strict=True))
            self.scored, self.scored_start = _bookkeeping.merge_scored(
                self.scored, self.scored_start, active, read_strand, bucket
            )
            self.fresh = []

    def _bands_of(self, read_strand: np.ndarray, bucket: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _bookkeeping.bands_of(read_strand, bucket, self.shift, self.margin, self.words)

    def _by_words(self, words: np.ndarray):
        """Rows of the bands of each number of words; mostly there is one, and the rows are all."""
        present = np.flatnonzero(np.bincount(words))
        for w in present:
            yield int(w), np.flatnonzero(words == w) if present.size > 1 else slice(None)

    def _score(self, read_strand: np.ndarray, bucket: np.ndarray) -> None:
        """Score the bands of buckets; keep those within the limit and tighten the limits of their reads."""
        band_start, words = self._bands_of(read_strand, bucket)
        self.stats.scored += len(band_start)
        for w, rows in self._by_words(words):
            rs, first = read_strand[rows], band_start[rows]
            with self.stats.timed("score"):
                edits, end = self.reads.score(rs, first, w)
            keep = self._within(rs, edits)
            reach = np.minimum(edits[keep], SAME_END)
            kept = Bands(
                rs[keep], first[keep], end[keep], edits[keep], np.full(keep.size, w, np.uint8), reach
            )
            self._keep(kept)

    def _within(self, read_strand: np.ndarray, edits: np.ndarray) -> np.ndarray:
        """Rows of scored bands that are within the limits, which they tighten."""
        return _bookkeeping.within_limit(read_strand, edits, self.best, self.rival, self.limit, MARGIN)

    def _keep(self, bands: Bands) -> None:
        self.bands.append(bands)

    def _bucket_bands(self, read_strand: np.ndarray, bucket: np.ndarray) -> None:
        """Every alignment within the limit in the bands of buckets."""
        band_start, words = self._bands_of(read_strand, bucket)
        self.stats.scored += len(band_start)
        for w, rows in self._by_words(words):
            rs, first = read_strand[rows], band_start[rows]
            order = np.lexsort((first, rs))
            rs, first = np.ascontiguousarray(rs[order]), np.ascontiguousarray(first[order])
            for part in _pieces(rs >> 1, PROFILE_ROOM // (64 * w)):
                self._minima(rs[part], first[part], w)

    def _minima(self, rs: np.ndarray, first: np.ndarray, w: int) -> None:
        with self.stats.timed("score"):
            profile = self.reads.profile(rs, first, w)
            band, end, reach = _alignments.local_minima(profile, rs, first, self.lengths, self.errors)
        self.bands.append(
            Bands(rs[band], first[band], end, profile[band, end], np.full(band.size, w, np.uint8), reach)
        )

    def _report_best(self) -> BatchResult:
        with self.stats.timed("select"):
            bands, ends, start = self._bands_by_read()
            selected = self._select(bands, ends, start, MARGIN, self.params.max_hits)
        return self._finish(bands, *selected)

    def _bands_by_read(self) -> tuple[Bands, np.ndarray, np.ndarray]:
        """All bands grouped by read, their `ends`, and where each read's begin."""
        columns, ends, start = _selection.grouped(self.bands, self.lengths)
        return Bands(*columns), ends, start

    def _select(self, bands: Bands, ends: np.ndarray, start: np.ndarray, further: int, max_hits: int):
        columns = bands.read_strand, ends, bands.edits, start, self.flip, self.digest
        return _selection.select_best(*columns, MARGIN, further, max_hits)

    def _report_all(self) -> BatchResult:
        bands = Bands.concatenate(self.bands)
        read = bands.read_strand >> 1
        # By position and canonical strand, the same for a read and its reverse complement.
        order = np.lexsort((bands.read_strand & 1 ^ self.flip[read], bands.band_start + bands.end, read))
        bands, read = bands.take(order), read[order]
        start = np.searchsorted(read, np.arange(self.n + 1))
        summary = summarise_all(read, bands.edits, self.n, start)
        return self._finish(bands, self._primary_order(bands, start, summary), start, summary)

    def _primary_order(self, bands: Bands, start: np.ndarray, summary: np.ndarray) -> np.ndarray:
        return _primary_first(bands.edits, start, summary, self.digest)

    def _finish(self, found: Bands, rows: np.ndarray, start: np.ndarray, summary: np.ndarray) -> BatchResult:
        """Trace back what is not ungapped of the `rows` of what was found, read by read from `start` on, and lay them
        out with one for every unmapped read."""
        if self.params.mode == "local":
            return BatchResult(*self._local_ends(found, rows, start, summary).run())
        bands = found.take(rows)
        reference, packed = self.index.reference, self.packed
        with self.stats.timed("align"):
            ungapped = _alignments.ungapped_diagonal(
                reference.planes, packed.planes, packed.plane_start, self.lengths, bands.read_strand,
                bands.band_start + bands.end, bands.edits, bands.reach,
            )  # fmt: skip
            traced = self._trace(bands, np.flatnonzero(ungapped == 0))
            hits, cigars = _alignments.finish(
                bands.read_strand,
                ungapped,
                bands.edits,
                *traced,
                self.lengths,
                reference.starts,
                reference.lengths,
            )
        hits["flag"][:] |= FLAG_SECONDARY
        mapped = np.flatnonzero(np.diff(start))
        hits["flag"][start[mapped]] &= ~np.uint16(FLAG_SECONDARY)
        quality = self._qualities(summary)
        hits["mapq"][start[mapped]] = quality[mapped]
        self.stats.count_reads(self.lengths, summary, quality)
        unmapped = np.flatnonzero(np.diff(start) == 0)
        blank = np.zeros(unmapped.size, HIT)
        blank["read"], blank["flag"] = unmapped, FLAG_UNMAPPED
        return BatchResult(np.insert(hits, start[unmapped], blank), summary, cigars)

    def _local_ends(self, *found) -> LocalEnds:
        return LocalEnds(self, *found)

    def _qualities(self, summary: np.ndarray, unseen: np.ndarray | None = None) -> np.ndarray:
        return mapping_quality(summary, self.lengths, self.seen, unseen)

    def _trace(self, bands: Bands, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """First diagonals and CIGARs of the alignments in `rows`, in their order."""
        self.stats.traced += rows.size
        diagonal = np.empty(rows.size, np.uint32)
        cigar_start, cigar_runs = np.empty(rows.size, np.uint32), np.empty(rows.size, np.uint16)
        cigars, offset = [np.empty(0, np.uint32)], 0
        for w, chosen in self._by_words(bands.words[rows]):
            b = bands.take(rows[chosen])
            first, runs, run_start, n_runs = self.reads.align(b.read_strand, b.band_start, w, b.end, b.edits)
            diagonal[chosen] = b.band_start + first
            cigar_start[chosen], cigar_runs[chosen] = run_start + np.uint32(offset), n_runs
            cigars.append(runs)
            offset += len(runs)
        return diagonal, np.concatenate(cigars), cigar_start, cigar_runs


def _pieces(read: np.ndarray, room: int):
    """Slices of whole reads (sorted) of `room` rows or a little more, a read with more than that alone."""
    stop = 0
    while stop < len(read):
        start, stop = stop, min(stop + room, len(read))
        stop = int(np.searchsorted(read, read[stop - 1], side="right"))
        yield slice(start, stop)


def _primary_first(
    edits: np.ndarray, start: np.ndarray, summary: np.ndarray, digest: np.ndarray
) -> np.ndarray:
    """Rows with the primary of each read, drawn among its best by the hash of its bases, moved to the front."""
    mapped = np.flatnonzero(np.diff(start))
    read = np.repeat(np.arange(len(start) - 1), np.diff(start))
    is_best = edits == summary["best"][read]
    first_best = np.concatenate([[0], np.cumsum(is_best)])[start[mapped]]
    chosen = first_best + (digest[mapped] % summary["n_best"][mapped].astype(np.uint64)).astype(np.int64)
    primary = np.flatnonzero(is_best)[chosen]
    key = read * np.int64(2) + 1
    key[primary] -= 1
    return np.argsort(key, kind="stable")
