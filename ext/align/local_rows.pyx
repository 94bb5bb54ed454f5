"""What a batch with local ends reports: summaries of its reads, and the rows of all alignments in order."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint32_t

from gassst._core.layouts cimport NO_SCORE, NO_SUBOPTIMAL, hit_t, read_summary_t

from gassst.model.layouts import HIT, READ_SUMMARY


def parts_of_strands(lines, const uint32_t[::1] lengths, scoring):
    """Which bases of its strand each line aligns, and what it loses there.

    Parameters
    ----------
    lines : local.places.Lines
        k lines. Read: `hits`, `read_strand`, `begin`, `end`.
    lengths : uint32[n]
    scoring : params.Scoring

    Returns
    -------
    begin, end : int64[k]
        Bases begin .. end - 1 of the strand.
    loss : float64[k]
        Against an alignment of these bases without errors, in mismatches.
    """
    cdef const hit_t[::1] hits = lines.hits
    cdef const uint32_t[::1] read_strand = lines.read_strand
    cdef const int64_t[::1] first = lines.begin, behind = lines.end
    cdef int64_t match = scoring.match, m
    cdef double mismatch = scoring.match + scoring.mismatch
    cdef Py_ssize_t k = read_strand.shape[0], i
    ends_array, loss_array = np.empty((2, k), np.int64), np.empty(k)
    cdef int64_t[:, ::1] ends = ends_array
    cdef double[::1] loss = loss_array
    with nogil:
        for i in range(k):
            m = lengths[read_strand[i] >> 1]
            ends[0, i] = m - behind[i] if read_strand[i] & 1 else first[i]
            ends[1, i] = m - first[i] if read_strand[i] & 1 else behind[i]
            loss[i] = ((behind[i] - first[i]) * match - hits[i].score) / mismatch
    return *ends_array, loss_array


def summarise(Py_ssize_t n, lines, rivals):
    """The summaries of every read and of the further parts of split ones.

    Parameters
    ----------
    n : int
        Reads.
    lines : local.places.Lines
        k alignments, p of which have a `part`. Read: `hits`, `read_strand`, `total`.
    rivals : local.rivals.Rivals
        Theirs.

    Returns
    -------
    READ_SUMMARY[n + p]
        Part i is row n + i - 1. `second` and `n_reported` are not known.
    """
    cdef const hit_t[::1] hits = lines.hits
    cdef const uint32_t[::1] read_strand = lines.read_strand
    cdef const int32_t[::1] total = lines.total, rival_total = rivals.total, rival_score = rivals.score
    cdef const int64_t[::1] count = rivals.count
    cdef Py_ssize_t i, r
    cdef bint tied
    summary_array = np.empty(n + np.count_nonzero(lines.hits["part"]), READ_SUMMARY)
    cdef read_summary_t[::1] summary = summary_array
    with nogil:
        for i in range(summary.shape[0]):
            summary[i] = read_summary_t(NO_SCORE, NO_SCORE, 0, 0, 0, NO_SUBOPTIMAL)
        for i in range(read_strand.shape[0]):
            r = n + hits[i].part - 1 if hits[i].part else read_strand[i] >> 1
            tied = rival_total[i] >= total[i] and count[i] > 0
            summary[r].best = hits[i].edits
            summary[r].n_best = <uint32_t>(1 + (count[i] if tied else 0))
            summary[r].n_second = <uint32_t>(0 if tied else count[i])
            # A rival that would score more but for the ends that it does not reach is no better.
            summary[r].suboptimal = (min(rival_score[i], hits[i].score) if rival_total[i] <= total[i]
                                     else rival_score[i])
    return summary_array


def in_order(parts, Py_ssize_t n):
    """The rows of all reads, those of one read in the order of `parts`.

    Parameters
    ----------
    parts : sequence of HIT[k]
    n : int
        Reads.

    Returns
    -------
    rows : HIT[h]
    count : int64[n]
        Rows of each read.
    """
    cdef const hit_t[::1] hits
    cdef Py_ssize_t i
    cdef int64_t at = 0
    rows_array, count_array = np.empty(sum(map(len, parts)), HIT), np.zeros(n, np.int64)
    start_array = np.empty(n, np.int64)
    cdef hit_t[::1] rows = rows_array
    cdef int64_t[::1] start = start_array, count = count_array
    for hits in parts:
        with nogil:
            for i in range(hits.shape[0]):
                count[hits[i].read] += 1
    with nogil:
        for i in range(n):
            start[i] = at
            at += count[i]
    for hits in parts:
        with nogil:
            for i in range(hits.shape[0]):
                rows[start[hits[i].read]] = hits[i]
                start[hits[i].read] += 1
    return rows_array, count_array
