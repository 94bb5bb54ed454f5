"""Local alignments of pairs of a read and a band, by one call of a kernel: what is compared between backends."""

from __future__ import annotations

import numpy as np
from kernel_bands import Reads

from gassst._core.bands import pack_cigars
from gassst.local.align import doubled
from gassst.model.array_types import COORDINATE, I32, I64, U8, U16, U32
from gassst.model.params import Scoring


def scored(
    handle: Reads, read_strand: U32, band_start: I64, width: int, scoring: Scoring
) -> tuple[I32, U8, U16, U16]:
    """Best local alignment of each of `n` pairs within its band, ties as in local.h.

    Returns
    -------
    score : int32[n]
        Without the bonus for ends that are reached; 0 where nothing is worth aligning.
    reached : uint8[n]
        Bit 0: the first, bit 1: the last base of the strand is aligned.
    rows : uint16[n]
        Bases of the strand before the end of the alignment.
    end : uint16[n]
        Diagonal of its last base.
    """
    ends = np.empty((3, 0), np.uint16)
    read_strand = np.ascontiguousarray(read_strand, np.uint32)
    if len(read_strand):
        ends = handle.local(read_strand, band_start, width, doubled(scoring))
    return *_without_bonus(handle, read_strand, ends, scoring), ends[1], ends[2]


def aligned(
    handle: Reads, read_strand: U32, band_start: I64, width: int, scoring: Scoring
) -> tuple[I32, U8, I64, U32, U32, U16, U16]:
    """The alignments that `scored` scores.

    Returns
    -------
    score : int32[n], reached : uint8[n]
        As from `scored`. Where the score is 0 all of the read is clipped.
    position : int64[n]
        Concatenated coordinate of the first aligned base.
    cigars : uint32[]
        BAM runs, clipped bases as op 4.
    cigar_start : uint32[n], cigar_runs : uint16[n]
    edits : uint16[n]
        Mismatches, inserted and deleted bases.
    """
    read_strand = np.ascontiguousarray(read_strand, np.uint32)
    if not len(read_strand):
        runs, short = np.empty(0, np.uint32), np.empty(0, np.uint16)
        score, reached = _without_bonus(handle, read_strand, np.empty((3, 0), np.uint16), scoring)
        return score, reached, np.empty(0, COORDINATE), runs, runs, short, short
    lengths = handle.lengths[read_strand >> 1].astype(np.int64)
    slot_end = np.cumsum(2 * lengths + 3).astype(np.uint32)
    called = read_strand, band_start, width, doubled(scoring), slot_end, int(lengths.max())
    ends, position, edits, n_runs, runs = handle.align_local(*called)
    cigars, cigar_start = pack_cigars(runs, slot_end, n_runs)
    return *_without_bonus(handle, read_strand, ends, scoring), position, cigars, cigar_start, n_runs, edits


def _without_bonus(handle: Reads, read_strand: U32, ends: U16, scoring: Scoring) -> tuple[I32, U8]:
    """Scores in `ends` uint16[3, n] of local.h: halved, less the bonus of each end that is reached; and which are."""
    some = ends[1] > 0
    first, last = some & (ends[0] & 1 == 0), some & (ends[1] == handle.lengths[read_strand >> 1])
    score = np.where(some, (ends[0] >> 1).astype(np.int32) - scoring.clip * (1 * first + last), 0)
    return score.astype(np.int32), (first + 2 * last).astype(np.uint8)
