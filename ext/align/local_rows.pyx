"""What a batch with local ends reports: summaries of its reads, and the rows of all alignments in order."""

import numpy as np

from libc.math cimport ceil, exp, floor, log10, pow
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from gassst._core.layouts cimport NO_SCORE, NO_SUBOPTIMAL, hit_t, read_summary_t

from gassst.layouts import HIT


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


cdef struct odds_t:
    # local.rivals.Unseen
    double prior, near_repeats, repeat_slope, unseen, single, family, beside_known, beside_none, reference_length
    double length_rate, strata
    double long_clip, long_clip_from
    double over_unseen      # in mismatches
    double as_likely, most_quality
    int64_t seed, stride, match, mismatch, over_known, much_clipped

cdef struct part_t:
    # A line, and what is known of its read.
    int64_t aligned, begin, end, edits, clipped
    double share, over      # bases of it whose seeds were passed over
    double searched         # weight of the rivals that the search of whole reads has not counted
    bint reseeded, single


cdef inline int64_t quotient_up(int64_t a, int64_t b) noexcept nogil:
    """`a` >= 0 by `b` > 0, rounded up."""
    return (a + b - 1) // b


cdef inline double odds_of(int64_t edits, int64_t aligned, const odds_t *by) noexcept nogil:
    """`search.mapq.edit_odds`, 1 at most."""
    return min((edits + by.prior) / (3.0 * max(aligned - edits - 1, 1)), 1.0)


cdef double unseen_by_seeds(const part_t *part, const odds_t *by, double odds) noexcept nogil:
    """Weight of the rivals to which no seed led."""
    cdef double count = 1, differences = by.strata * (1 - part.share), stretch
    cdef int64_t seeds = 0
    if part.reseeded:
        stretch = <double>(by.seed + by.stride - 1)
        if part.end >= by.seed:
            seeds = max((part.end - by.seed) // by.stride - quotient_up(part.begin, by.stride) + 1, 0)
        # One difference is in all the seeds that begin within the bases of one.
        differences = max(quotient_up(seeds, quotient_up(by.seed, by.stride)), 1)
        if part.over > 0:
            differences = max(part.end - part.begin - part.over, 0) / stretch
        count = by.near_repeats * exp(by.repeat_slope * part.edits / max(part.end - part.begin, 1))
        count = by.unseen * pow(count, min(part.over / stretch, 1.0))
    return count * pow(odds, differences + by.over_unseen)


cdef inline int64_t longer_end(const part_t *part) noexcept nogil:
    """Clipped bases."""
    return max(part.begin, part.clipped - part.begin)


cdef inline int64_t errors_in_ends(const part_t *part, const odds_t *by) noexcept nogil:
    """Clipped bases that may be the errors of a wrong place: an adapter or a bad tail spoils one end alone."""
    cdef int64_t longer = longer_end(part)
    return part.clipped if longer <= by.much_clipped else part.clipped - longer


cdef inline double beside_long_clip(double wrong, const part_t *part, const odds_t *by) noexcept nogil:
    """Weight of the other places of a read without a mate, where an end is too long for errors of its place."""
    if longer_end(part) <= by.much_clipped:
        return wrong
    return wrong * (1 + by.long_clip * wrong / (wrong + by.long_clip_from))


cdef double weight_of_others(const part_t *part, const odds_t *by, int64_t rivals, int64_t behind) noexcept nogil:
    """Weight of the places that are not the line's. `rivals` of them are known; their totals are `behind` less."""
    cdef int64_t hidden = errors_in_ends(part, by) if part.single else 0
    cdef double odds = odds_of(part.edits + <int64_t>ceil(hidden * (<double>by.match / by.mismatch)), part.aligned, by)
    cdef double wrong = rivals * pow(odds, max(<double>behind / by.mismatch, 0.0)) if rivals > 0 else 0
    if not part.single:
        return wrong + unseen_by_seeds(part, by, odds)
    if not part.reseeded:
        return beside_long_clip(wrong + part.searched, part, by)
    wrong = by.family * wrong + by.single * unseen_by_seeds(part, by, odds)
    wrong += ((by.beside_known if rivals > 0 else by.beside_none * odds)
              * pow(by.reference_length / part.aligned, by.length_rate) * odds)
    return beside_long_clip(wrong, part, by)


def qualities(lines, rivals, coverage, const uint32_t[::1] lengths, const uint8_t[::1] single, unseen, chance):
    """Mapping qualities of lines by their scores (`local.rivals.quality_of`).

    Parameters
    ----------
    lines : local.places.Lines
        k lines. Read: `hits`, `read_strand`, `begin`, `end`, `total`.
    rivals : local.rivals.Rivals
        The next best places: `total`, `count`.
    coverage : local.rivals.SeedCoverage
        Of n reads.
    lengths : uint32[n]
    single : uint8[k]
        1 for reads whose clipped bases count as errors.
    unseen : local.rivals.Unseen
    chance : callable
        Of aligned int64[c] and edits int64[c]: places by chance, float64[c].

    Returns
    -------
    uint8[k]
    """
    cdef const hit_t[::1] hits = lines.hits
    cdef const uint32_t[::1] read_strand = lines.read_strand
    cdef const int64_t[::1] begin = lines.begin, end = lines.end, count = rivals.count
    cdef const int32_t[::1] total = lines.total, rival_total = rivals.total
    cdef const uint8_t[::1] reseeded = coverage.reseeded.view(np.uint8)
    cdef const double[::1] share = coverage.share, searched = coverage.unseen
    cdef const double[::1] passed_over = coverage.passed_over.bases
    cdef const int64_t[::1] first = coverage.passed_over.first, behind = coverage.passed_over.end
    cdef odds_t by = unseen._asdict()
    cdef Py_ssize_t k = read_strand.shape[0], i
    cdef int64_t longest = 1, most = 0, better
    cdef double wrong
    cdef uint32_t r
    cdef part_t part
    aligned_array, edits_array = np.empty(k, np.int64), np.empty(k, np.int64)
    quality_array = np.empty(k, np.uint8)
    cdef int64_t[::1] aligned = aligned_array, edits = edits_array
    cdef uint8_t[::1] quality = quality_array
    with nogil:
        for i in range(k):
            aligned[i] = max(end[i] - begin[i], 1)
            edits[i] = quotient_up(max(aligned[i] * by.match - hits[i].score, 0), by.mismatch)
            longest, most = max(longest, aligned[i]), max(most, edits[i])
    wanted = np.zeros((longest + 1, most + 1), np.uint8)
    by_chance = np.empty((longest + 1, most + 1))
    cdef uint8_t[:, ::1] is_wanted = wanted
    cdef double[:, ::1] places = by_chance
    with nogil:
        for i in range(k):
            is_wanted[aligned[i], edits[i]] = 1
    cases = wanted.nonzero()
    by_chance[cases] = chance(*cases)
    with nogil:
        for i in range(k):
            r = read_strand[i] >> 1
            part.aligned, part.begin, part.end, part.edits = aligned[i], begin[i], end[i], edits[i]
            part.clipped, part.single = <int64_t>lengths[r] - (end[i] - begin[i]), single[i]
            part.share, part.searched, part.reseeded = share[r], searched[r], reseeded[r]
            part.over = (passed_over[r] * max(min(end[i], behind[r]) - max(begin[i], first[r]), 0)
                         / max(behind[r] - first[r], 1))
            better = total[i] + by.over_known - rival_total[i]
            wrong = weight_of_others(&part, &by, count[i], better) + places[aligned[i], edits[i]]
            quality[i] = 0
            if (wrong > by.as_likely or count[i] > 0 and better <= 0
                    or part.reseeded and passed_over[r] - part.over > end[i] - begin[i]):
                continue
            quality[i] = <uint8_t>min(by.most_quality, floor(-10 * log10(max(wrong / (1 + wrong), 1e-9))))
    return quality_array


def summarise(found, clear, primary, rivals):
    """The summary of every read.

    Parameters
    ----------
    found : READ_SUMMARY[n]
        Of the search of whole reads. It holds for `clear`.
    clear : local.places.Lines
        c primary alignments, of which the search has seen all rivals. Read: `hits`, `read_strand`.
    primary : local.places.Lines
        k primary alignments of other reads. Read: `hits`, `read_strand`, `total`.
    rivals : local.rivals.Rivals
        Those of `primary`.

    Returns
    -------
    READ_SUMMARY[n]
        `second` is known of `clear` only; `n_reported` is 0.
    """
    cdef const read_summary_t[::1] known = found
    cdef const hit_t[::1] clear_hits = clear.hits, hits = primary.hits
    cdef const uint32_t[::1] clear_strand = clear.read_strand, read_strand = primary.read_strand
    cdef const int32_t[::1] total = primary.total, rival_total = rivals.total, rival_score = rivals.score
    cdef const int64_t[::1] count = rivals.count
    cdef Py_ssize_t n = known.shape[0], i
    cdef uint32_t r
    cdef bint tied
    summary_array = np.empty(n, found.dtype)
    cdef read_summary_t[::1] summary = summary_array
    with nogil:
        for i in range(n):
            summary[i] = read_summary_t(NO_SCORE, NO_SCORE, 0, 0, 0, NO_SUBOPTIMAL)
        for i in range(clear_strand.shape[0]):
            r = clear_strand[i] >> 1
            summary[r] = known[r]
            summary[r].best, summary[r].n_reported = clear_hits[i].edits, 0
            summary[r].suboptimal = clear_hits[i].score if known[r].n_best > 1 else NO_SUBOPTIMAL
        for i in range(read_strand.shape[0]):
            r = read_strand[i] >> 1
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
