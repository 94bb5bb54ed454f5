"""Reads and pairs over the origin of circular contigs.

The search takes every contig as a line. A read over the origin aligns to the end of the contig with its first bases and
to the beginning with its last ones. The search finds both parts where both score enough. A shorter one is added here.
Mates on both sides of the origin are a proper pair if their template, counted over the origin, fits the library.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gassst.index.reference import Reference, contig_before
from gassst.model.layouts import NO_SCORE, NO_SUBOPTIMAL, READ_SUMMARY, SOFT_CLIP
from gassst.model.params import LEAST_SCORE, Scoring
from gassst.model.sam_flags import PROPER_PAIR, REVERSE, SECONDARY, SUPPLEMENTARY, UNMAPPED
from gassst.pairing.insert_size import InsertModel, is_primary, reference_spans
from gassst.pairing.orientation import leads, partner_strand

if TYPE_CHECKING:
    from gassst.mapping.batch_mapper import BatchMapper
    from gassst.model.read_batch import ReadBatch
    from gassst.model.stats import Stats
    from gassst.search.arrays import BatchResult

LEAST_BASES = 5
"""Of a part that is added: one clipped end in a thousand has as many by chance."""
LEFT, RIGHT = 0, 1
_COMPLEMENT = bytes.maketrans(b"ACGTUN", b"TGCAAN")


def over_origin(
    mapper: BatchMapper, batch: ReadBatch, result: BatchResult, insert: InsertModel, stats: Stats
) -> BatchResult:
    """The result with the parts of reads over the origin, and with pairs over it flagged, which `stats` counts."""
    if mapper.reference.circular is None:
        return result
    found = _Circular(mapper.reference, mapper.params.scoring, batch, result)
    if mapper.params.meth is None:
        result = found.with_parts()
    if batch.mate is not None:
        stats.proper += found.flag_proper(result, batch.mate, insert)
    return result


class _Circular:
    """Alignments that reach a border of their circular contig, and what lies beyond it."""

    def __init__(self, reference: Reference, scoring: Scoring, batch: ReadBatch, result: BatchResult):
        self.reference, self.scoring, self.batch, self.result = reference, scoring, batch, result
        hits = result.hits
        self.reads = np.ascontiguousarray(hits["read"])
        self.spans = reference_spans(hits, result.cigars)
        self.contig = np.maximum(contig_before(reference.starts, hits["position"]), 0)
        self.begin = hits["position"] - reference.starts[self.contig]
        self.on_circle = np.asarray(reference.circular)[self.contig]
        counts = (hits["flag"] & (UNMAPPED | SECONDARY) == 0) & self.on_circle
        self.lengths = reference.lengths[self.contig]
        left = self.lengths - self.begin - self.spans
        self.reaches = np.stack([counts & (self.begin == 0), counts & (left == 0)])
        self.is_near = np.stack([counts & (self.begin < LEAST_SCORE), counts & (left < LEAST_SCORE)])
        self.beyond = np.zeros((2, len(hits)), np.int64)
        """Reference bases that the read covers beyond the border, by side and row."""

    def with_parts(self) -> BatchResult:
        """The result with the parts that are added, each behind the other rows of its read."""
        result, hits = self.result, self.result.hits
        rows, runs, n_runs = list[np.void](), [result.cigars], len(result.cigars)
        for side, row in np.argwhere(self.reaches).tolist():
            other = self._other_part(side, row)
            if other is not None:
                self.beyond[side, row] = self.spans[other]
                continue
            part, cigar = self._part_beyond(side, row)
            if part is None:
                continue
            part["cigar_start"], part["part"] = n_runs, len(result.parts) + len(rows) + 1
            n_runs += len(cigar)
            self.beyond[side, row] = self._bases_of(cigar)
            rows.append(part)
            runs.append(cigar)
        if not rows:
            return result
        added = np.array(rows, hits.dtype)
        summary = result.summary.copy()
        np.add.at(summary["n_reported"], added["read"], 1)
        parts = np.zeros(len(rows), READ_SUMMARY)
        parts["best"], parts["second"], parts["n_best"], parts["n_reported"] = added["edits"], NO_SCORE, 1, 1
        parts["suboptimal"] = NO_SUBOPTIMAL
        behind = np.searchsorted(self.reads, added["read"], "right")
        order = np.argsort(np.r_[2 * np.arange(len(hits)), 2 * behind - 1], kind="stable")
        together = np.take(np.concatenate([hits, added]), order)
        return replace(
            result,
            hits=together,
            summary=summary,
            cigars=np.concatenate(runs),
            parts=np.concatenate([result.parts, parts]),
        )

    def _rows_of_read(self, row: int) -> range:
        read = self.reads[row]
        return range(*np.searchsorted(self.reads, [read, read + 1]).tolist())

    def _other_part(self, side: int, row: int) -> int | None:
        """The row of the same read that goes on beyond the border, if the search has found it."""
        for other in self._rows_of_read(row):
            same = self.contig[other] == self.contig[row] and self._is_reverse(other) == self._is_reverse(row)
            if other != row and same and self.is_near[1 - side, other]:
                return other
        return None

    def _is_reverse(self, row: int) -> bool:
        return bool(self.result.hits["flag"][row] & REVERSE)

    def _part_beyond(self, side: int, row: int) -> tuple[np.void | None, np.ndarray]:
        """The best ungapped part of a clipped end beyond the border, and its CIGAR; None where there is none."""
        hit, scoring, nothing = self.result.hits[row], self.scoring, np.empty(0, np.uint32)
        cigar = self.result.cigars[int(hit["cigar_start"]) :][: int(hit["cigar_runs"])]
        clip = int(cigar[-side] >> 4) if cigar[-side] & 15 == SOFT_CLIP else 0
        length = int(self.lengths[row])
        read = self.batch.sequence(int(hit["read"])).upper()
        read = read.translate(_COMPLEMENT)[::-1] if self._is_reverse(row) else read.replace(b"U", b"T")
        clip = min(clip, length)
        if clip < LEAST_BASES:
            return None, nothing
        # From the border on: rightwards beyond the end, leftwards beyond the beginning.
        contig = int(self.contig[row])
        if side == RIGHT:
            beyond, bases = self.reference.sequence(contig, 0, clip), read[len(read) - clip :]
        else:
            beyond, bases = self.reference.sequence(contig, length - clip), read[:clip]
            beyond, bases = beyond[::-1], bases[::-1]
        equal = np.frombuffer(beyond, np.uint8) == np.frombuffer(bases, np.uint8)
        scores = np.cumsum(np.where(equal, scoring.match, -scoring.mismatch))
        totals = scores.copy()
        totals[-1] += scoring.clip
        n = int(totals.argmax()) + 1
        if scores[n - 1] < LEAST_BASES * scoring.match:
            return None, nothing
        part = hit.copy()
        part["position"] = self.reference.starts[contig] + (0 if side == RIGHT else length - n)
        part["edits"], part["score"] = np.count_nonzero(~equal[:n]), scores[n - 1]
        part["flag"] = hit["flag"] & REVERSE | SUPPLEMENTARY
        ends = len(read) - clip, clip - n
        first, last = ends if side == RIGHT else ends[::-1]
        runs = [(first, SOFT_CLIP), (n, 0), (last, SOFT_CLIP)]
        own = np.array([size << 4 | operation for size, operation in runs if size], np.uint32)
        part["cigar_runs"] = len(own)
        return part, own

    @staticmethod
    def _bases_of(cigar: np.ndarray) -> int:
        return int(sum(run >> 4 for run in cigar.tolist() if run & 15 != SOFT_CLIP))

    def flag_proper(self, result: BatchResult, mate: np.ndarray, insert: InsertModel) -> int:
        """Flag the primaries of pairs over the origin; returns how many pairs."""
        rows = np.flatnonzero(is_primary(self.result.hits))
        own, first = self.result.hits[rows], np.flatnonzero(mate == 1)
        a, b = own[first], own[first + 1]
        one, two = rows[first], rows[first + 1]
        counts = (a["flag"] | b["flag"]) & (UNMAPPED | PROPER_PAIR) == 0
        counts &= (self.contig[one] == self.contig[two]) & self.on_circle[one]
        begin = self.begin - self.beyond[LEFT]
        end = self.begin + self.spans + self.beyond[RIGHT]
        proper = np.zeros(len(first), bool)
        for library in insert.libraries:
            strand = a["strand"].astype(np.int64)
            leading = leads(library.orientation, strand, np.ones(len(a), np.int64))
            template = np.where(leading, end[two] - begin[one], end[one] - begin[two]) % self.lengths[one]
            fits = b["strand"] == partner_strand(library.orientation, strand)
            proper |= counts & fits & (library.low <= template) & (template <= library.high)
        where = np.flatnonzero(is_primary(result.hits))
        for mates in (first, first + 1):
            result.hits["flag"][where[mates[proper]]] |= np.uint16(PROPER_PAIR)
        return int(np.count_nonzero(proper))
