"""Reads and pairs over the origin of circular contigs.

The search takes every contig as a line, so what it leaves unmapped, or clipped where a circular contig ends, is mapped
again: to the last and the first bases of these contigs, as one sequence. So is what lies near a copy of these bases
elsewhere, as nuclei have of mitochondria. An alignment over the origin is cut there into two parts. Mates on both sides
of the origin are a proper pair if their template, counted over the origin, fits the library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from gassst.errors import InputError
from gassst.index.lookup import WholeIndex
from gassst.index.seed_index import SeedIndex
from gassst.mapping.batch_mapper import BatchMapper, planned
from gassst.model.layouts import NO_SCORE, NO_SUBOPTIMAL, READ_SUMMARY, SOFT_CLIP
from gassst.model.params import LEAST_SCORE, Scoring
from gassst.model.reference import Reference, contig_before
from gassst.model.sam_flags import PROPER_PAIR, REVERSE, SECONDARY, SUPPLEMENTARY, UNMAPPED
from gassst.model.stats import CONFIDENT
from gassst.pairing.insert_size import InsertModel
from gassst.reads.in_memory import batch_of_records
from gassst.reads.stretches import spread
from gassst.records.spans import is_primary, reference_spans

if TYPE_CHECKING:
    from gassst.model.read_batch import ReadBatch
    from gassst.model.stats import Stats
    from gassst.search.arrays import BatchResult
    from gassst.search.plan import SearchPlan

    Part = tuple[np.void, list[tuple[int, int]]]
    """A row, and its runs: operation and size."""

LEAST_BASES = 5
"""Worth of bases by which an alignment over an origin is better: one in a thousand has as many by chance."""
WINDOW, COPIES = 100, 64
"""Bases of an origin of which copies are looked for, and how many are found."""
FLANK = 1024
"""Bases on each side of an origin. Of longer reads the search finds both parts; whole ones over an origin are lost."""
LEFT, RIGHT = 0, 1
MATCH, INSERTION, DELETION = 0, 1, 2  # operations of CIGARs in BAM
_COMPLEMENT = bytes.maketrans(b"ACGTUN", b"TGCAAN")


def over_origin(
    mapper: BatchMapper, batch: ReadBatch, result: BatchResult, insert: InsertModel, stats: Stats
) -> BatchResult:
    """The result with the parts of reads over the origin, and with pairs over it flagged, which `stats` counts."""
    if mapper.reference.circular is None:
        return result
    if mapper.params.meth is None:
        if mapper.plan not in _ORIGINS:
            _ORIGINS[mapper.plan] = _Origins.of(mapper)
        origins = _ORIGINS[mapper.plan]
        result = result if origins is None else origins.with_parts(batch, result, stats)
    if batch.mate is not None:
        stats.proper += _Ends(mapper.reference, result).flag_proper(batch.mate, insert)
    return result


class _Ends:
    """The rows of a result, and where they reach an end of their circular contig."""

    def __init__(self, reference: Reference, result: BatchResult):
        self.result = result
        hits = result.hits
        self.reads = np.ascontiguousarray(hits["read"])
        self.spans = reference_spans(hits, result.cigars)
        self.contig = np.maximum(contig_before(reference.starts, hits["position"]), 0)
        self.begin = hits["position"] - reference.starts[self.contig]
        self.on_circle = np.asarray(reference.circular)[self.contig]
        self.lengths = reference.lengths[self.contig]
        counts = (hits["flag"] & (UNMAPPED | SECONDARY) == 0) & self.on_circle
        left = np.stack([self.begin, self.lengths - self.begin - self.spans])
        self.reaches, self.is_near = counts & (left == 0), counts & (left < LEAST_SCORE)

    def open(self, copied: np.ndarray) -> dict[int, int]:
        """The row of each read that is mapped again: unmapped, with clipped bases or errors where a circle ends, or
        `copied` (bool[h])."""
        hits, cigars = self.result.hits, self.result.cigars
        some = np.flatnonzero((hits["flag"] & UNMAPPED > 0) | copied)
        found = dict(zip(self.reads[some].tolist(), some.tolist(), strict=True))
        for side in (LEFT, RIGHT):
            rows = np.flatnonzero(self.is_near[side] & is_primary(hits))
            runs = cigars[hits["cigar_start"][rows] + side * (hits["cigar_runs"][rows] - np.uint32(1))]
            is_clipped = (runs & 15 == SOFT_CLIP) & (runs >> 4 >= LEAST_BASES)
            is_wrong = (runs & 15 != SOFT_CLIP) & self.reaches[side, rows] & (hits["edits"][rows] > 0)
            for row in rows[is_clipped | is_wrong].tolist():
                if self.other_part(side, row) is None:
                    found[int(self.reads[row])] = row
        return dict(sorted(found.items()))

    def copied(self, copies: np.ndarray) -> np.ndarray:
        """bool[h]: primaries near these positions (int64[c], sorted) that reach no end of a circle."""
        at = self.result.hits["position"]
        around = np.r_[-1 << 40, copies, 1 << 40]
        behind = np.searchsorted(around, at)
        is_close = np.minimum(at - around[behind - 1], around[behind] - at) <= FLANK
        rows = is_close & is_primary(self.result.hits) & (self.result.hits["flag"] & UNMAPPED == 0)
        return rows & ~self.is_near.any(axis=0)

    def other_part(self, side: int, row: int) -> int | None:
        """The row of the same read that goes on at the other end of the contig."""
        strand, read = self.result.hits["flag"] & REVERSE, self.reads[row]
        for other in range(*np.searchsorted(self.reads, [read, read + 1]).tolist()):
            same = self.contig[other] == self.contig[row] and strand[other] == strand[row]
            if other != row and same and self.is_near[1 - side, other]:
                return other
        return None

    def flag_proper(self, mate: np.ndarray, insert: InsertModel) -> int:
        """Flag the primaries of pairs over the origin; returns how many pairs."""
        hits = self.result.hits
        rows, first = np.flatnonzero(is_primary(hits)), np.flatnonzero(mate == 1)
        one, two = rows[first], rows[first + 1]
        a, b = hits[one], hits[two]
        counts = (a["flag"] | b["flag"]) & (UNMAPPED | PROPER_PAIR) == 0
        counts &= (self.contig[one] == self.contig[two]) & self.on_circle[one]
        mates = np.zeros(len(hits), bool)
        mates[[*one[counts], *two[counts]]] = True
        begin, end = self.begin.copy(), self.begin + self.spans
        for side, row in np.argwhere(self.is_near & mates).tolist():
            other = self.other_part(side, row)
            if other is not None and side == LEFT:
                begin[row] = self.begin[other] - self.lengths[row]
            elif other is not None:
                end[row] = self.begin[other] + self.spans[other] + self.lengths[row]
        proper = np.zeros(len(first), bool)
        for library in insert.libraries:
            strand = a["strand"].astype(np.int64)
            leading = strand == (library.orientation == "rf")  # whether the first mate leads
            template = np.where(leading, end[two] - begin[one], end[one] - begin[two]) % self.lengths[one]
            fits = b["strand"] == (strand if library.orientation == "ff" else 1 - strand)
            proper |= counts & fits & (library.low <= template) & (template <= library.high)
        for rows in (one, two):
            hits["flag"][rows[proper]] |= np.uint16(PROPER_PAIR)
        return int(np.count_nonzero(proper))


class _Origins:
    """The last and the first bases of circular contigs, both as one contig, and what maps reads to them."""

    def __init__(self, mapper: BatchMapper, reference: Reference, contigs: np.ndarray):
        self.circles, self.contigs, self.scoring = mapper.reference, contigs, mapper.params.scoring
        self.copies = _copies(mapper, reference)
        index = SeedIndex.build(reference, threads=1)
        self.single, self.mates = (
            replace(
                engine,
                **planned(engine.params, index),
                index=index,
                parts=WholeIndex(index),
                on_device=None,
                counts_details=False,
            )
            for engine in (mapper.for_best_hits(False), mapper.for_best_hits(True))
        )

    @classmethod
    def of(cls, mapper: BatchMapper) -> _Origins | None:
        """None where these bases are too few for an index."""
        circles = mapper.reference
        contigs = np.flatnonzero(np.asarray(circles.circular))
        texts = []
        for contig in contigs.tolist():
            length = int(circles.lengths[contig])
            flank = min(length, FLANK)
            texts.append(
                (str(contig), circles.sequence(contig, length - flank) + circles.sequence(contig, 0, flank))
            )
        try:
            return cls(mapper, Reference.from_sequences(texts), contigs)
        except InputError:
            return None

    def with_parts(self, batch: ReadBatch, result: BatchResult, stats: Stats) -> BatchResult:
        """The result with the parts beyond an origin, each behind the other rows of its read."""
        ends = _Ends(self.circles, result)
        copied = ends.copied(self.copies)
        opened = ends.open(copied)
        if not opened:
            return result
        reads = np.array(list(opened), np.int64)
        some = spread(replace(batch, mate=None), [(read, read + 1) for read in opened], 1)[0]
        engine = self.single
        if batch.mate is not None:
            engine, some = self.mates, replace(some, mate=batch.mate[reads])
        found, _ = engine.map_batch(some)
        hits, summary = result.hits.copy(), result.summary.copy()
        added, runs, n_runs = list[np.void](), [result.cigars], len(result.cigars)
        is_local = engine.params.mode == "local"
        least = LEAST_BASES * self.scoring.match if is_local else 1
        for i, score, pair in self._over_origin(engine, found, some):
            read, row = int(reads[i]), opened[int(reads[i])]
            was_mapped = hits["flag"][row] & UNMAPPED == 0
            if was_mapped and score < hits["score"][row] + least:
                if copied[row] and score > hits["score"][row] - least:  # either place may be the true one
                    hits["mapq"][row] = 0
                continue
            pair.sort(key=lambda part: -sum(size for kind, size in part[1] if kind == MATCH))
            for part, cigar in pair:
                part["read"], part["cigar_start"], part["cigar_runs"] = read, n_runs, len(cigar)
                n_runs += len(cigar)
                runs.append(np.array([size << 4 | kind for kind, size in cigar], np.uint32))
                if was_mapped and is_local:
                    part["mapq"] = min(part["mapq"], hits["mapq"][row])
            n_rows = max(int(summary["n_reported"][read]), 1)
            if not (was_mapped and is_local):
                summary[read] = found.summary[i]
            (first, _), (part, _) = pair
            first["flag"] |= hits["flag"][row] & PROPER_PAIR
            hits[row] = first
            part["flag"] |= np.uint16(SUPPLEMENTARY)
            part["part"] = len(result.parts) + len(added) + 1
            added.append(part)
            summary["n_reported"][read] = n_rows + 1
        primaries = list(opened.values())
        _count(stats, hits[primaries], summary, 1)
        _count(stats, result.hits[primaries], result.summary, -1)
        if not added:
            return replace(result, hits=hits)
        rows = np.array(added, hits.dtype)
        parts = np.zeros(len(rows), READ_SUMMARY)
        parts["best"], parts["second"], parts["n_best"], parts["n_reported"] = rows["edits"], NO_SCORE, 1, 1
        parts["suboptimal"] = NO_SUBOPTIMAL
        behind = np.searchsorted(ends.reads, rows["read"], "right")
        order = np.argsort(np.r_[2 * np.arange(len(hits)), 2 * behind - 1], kind="stable")
        return replace(
            result,
            hits=np.take(np.concatenate([hits, rows]), order),
            summary=summary,
            cigars=np.concatenate(runs),
            parts=np.concatenate([result.parts, parts]),
        )

    def _over_origin(
        self, engine: BatchMapper, found: BatchResult, batch: ReadBatch
    ) -> Iterator[tuple[int, int, list[Part]]]:
        """The reads that align over an origin, the score of each, and its parts before and behind the origin."""
        reference, hits = engine.reference, found.hits
        first = np.flatnonzero(np.diff(hits["read"].astype(np.int64), prepend=-1))
        spans = reference_spans(hits, found.cigars)[first]
        junction = np.maximum(contig_before(reference.starts, hits["position"][first]), 0)
        begin = hits["position"][first] - reference.starts[junction]
        before = reference.lengths[junction] // 2 - begin
        is_over = (hits["flag"][first] & UNMAPPED == 0) & (before > 0) & (before < spans)
        for i in np.flatnonzero(is_over).tolist():
            hit, contig = hits[first[i]], int(self.contigs[junction[i]])
            text = reference.sequence(int(junction[i]), int(begin[i]), int(begin[i] + spans[i]))
            read = batch.sequence(i).upper().replace(b"U", b"T")
            read = read.translate(_COMPLEMENT)[::-1] if hit["strand"] else read
            runs = found.cigars[int(hit["cigar_start"]) :][: int(hit["cigar_runs"])].tolist()
            pair: list[Part] = []
            for side, cigar in enumerate(_cut(runs, int(before[i]), len(read))):
                spanned = sum(size for kind, size in cigar if kind in (MATCH, DELETION))
                at = 0 if side == LEFT else len(text) - spanned
                edits, score = _measured(cigar, read, text[at:], self.scoring)
                part = hit.copy()
                part["position"] = self.circles.starts[contig] + at - before[i]
                if side == LEFT:
                    part["position"] += self.circles.lengths[contig]
                part["flag"] &= REVERSE
                part["edits"], part["score"] = edits, -edits if engine.params.mode == "global" else score
                if spanned:
                    pair.append((part, cigar))
            if len(pair) == 2:
                yield i, int(hit["score"]), pair


def _count(stats: Stats, primaries: np.ndarray, summary: np.ndarray, sign: int) -> None:
    """Count the reads of primary rows (HIT[k]) once more, or once less; `summary` READ_SUMMARY[n] is of all reads."""
    mapped = primaries[primaries["flag"] & UNMAPPED == 0]
    stats.mapped += sign * len(mapped)
    stats.confident += sign * int(np.count_nonzero(mapped["mapq"] >= CONFIDENT))
    for name, values in ("mapq", mapped["mapq"]), ("errors", summary["best"][mapped["read"]]):
        counter = getattr(stats, name)
        (counter.update if sign > 0 else counter.subtract)(values.tolist())
        setattr(stats, name, +counter)  # without those that are none


def _copies(mapper: BatchMapper, origins: Reference) -> np.ndarray:
    """int64[c], sorted: positions in the reference of a mapper at which bases around `origins` lie once more."""
    engine = mapper.for_best_hits(False)
    windows = []
    for contig in range(len(origins.names)):
        text, middle = origins.sequence(contig), int(origins.lengths[contig]) // 2
        begins = range(middle - WINDOW * 7 // 10, middle - WINDOW * 3 // 10 + 1, WINDOW // 20)
        windows += [text[begin : begin + WINDOW] for begin in begins if begin >= 0]
    named = ((str(i), window, None) for i, window in enumerate(windows))
    params = replace(engine.params, max_hits=COPIES)
    engine = replace(engine, **planned(params, mapper.index), on_device=None, counts_details=False)
    found, _ = engine.map_batch(batch_of_records(named, engine.params.longest_read))
    ends = _Ends(mapper.reference, found)
    elsewhere = (found.hits["flag"] & UNMAPPED == 0) & ~ends.is_near.any(axis=0)
    return np.sort(found.hits["position"][elsewhere])


def _cut(runs: list[int], before: int, bases: int) -> Iterator[list[tuple[int, int]]]:
    """The runs of an alignment, (operation, size), up to `before` reference bases, and those behind."""
    parts: tuple[list[tuple[int, int]], ...] = [], []
    for run in runs:
        kind, size = run & 15, run >> 4
        ahead = min(size, before) if kind in (MATCH, DELETION) else size * (before > 0)
        before -= ahead * (kind in (MATCH, DELETION))
        for part, n in zip(parts, (ahead, size - ahead), strict=True):
            part.extend([(kind, n)] if n else [])
    for part, at in zip(parts, (-1, 0), strict=True):
        while part and part[at][0] in (INSERTION, DELETION):
            part.pop(at)
        clipped = bases - sum(n for kind, n in part if kind != DELETION)
        if part:
            part.insert(len(part) * -at, (SOFT_CLIP, clipped))
        yield part


def _measured(cigar: list[tuple[int, int]], read: bytes, text: bytes, scoring: Scoring) -> tuple[int, int]:
    """Errors and score of an alignment whose first aligned base lies on the first one of the text."""
    edits = score = q = r = 0
    for kind, size in cigar:
        if kind == MATCH:
            same = sum(
                a == b != ord("N") for a, b in zip(read[q : q + size], text[r : r + size], strict=True)
            )
            edits += size - same
            score += same * scoring.match - (size - same) * scoring.mismatch
        elif kind != SOFT_CLIP:
            edits += size
            is_insertion = kind == INSERTION
            score -= scoring.gap_open[is_insertion] + size * scoring.gap_extend[is_insertion]
        q += size * (kind != DELETION)
        r += size * (kind in (MATCH, DELETION))
    return edits, score


_ORIGINS: WeakKeyDictionary[SearchPlan, _Origins | None] = WeakKeyDictionary()
"""By what all mappers of a run share."""
