"""Mates that run through their fragment: how long it is, by the mates alone, and reads cut where it ends."""

import numpy as np

from libc.stdlib cimport abs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.cigar cimport CIGAR_MATCH, CIGAR_SOFT_CLIP, cigar_length, cigar_op, cigar_push
from gassst._core.contigs cimport contig_near
from gassst._core.coordinates cimport coordinate_t
from gassst._core.intrinsics cimport trailing_zeros
from gassst._core.layouts cimport NO_SCORE, hit_t, read_summary_t
from gassst._core.planes cimport (
    AHEAD,
    ambiguous_bases,
    bases64_t,
    bases_at,
    count_bits,
    count_differences,
    differences,
    first_bases,
    planes_of,
    planes_t,
    prefetch_read,
    unknown_bases,
)
from gassst._core.sam_flags cimport NOT_PRIMARY, UNMAPPED

from gassst.model.layouts import HIT, READ_SUMMARY

cdef enum:
    MOST_DIFFERENT = 2  # bases of an adapter


cdef inline int64_t rows_of(uint32_t length) noexcept nogil:
    """Rows of planes of one strand."""
    return (<int64_t>length + 63) >> 6


cdef uint16_t shared_length(planes_t reads, int64_t one, uint32_t one_length, int64_t other, uint32_t other_length,
                            int shortest, int bases_an_error) noexcept nogil:
    """The one length at which the head of a read is the tail of the other's reverse complement; 0 for none or several.

    `one` and `other`: first bases in the planes, of the other mate on its reverse strand.
    """
    cdef int64_t length = <int64_t>min(one_length, other_length) - 1, found = 0
    cdef bases64_t head = bases_at(reads, one)
    cdef uint64_t unequal
    cdef int most
    while length >= shortest:
        most = <int>(length // bases_an_error)
        unequal = differences(head, bases_at(reads, other + other_length - length)) & first_bases(length)
        if count_bits(unequal) <= most and count_differences(reads, one, reads, other + other_length - length, length,
                                                           most) <= most:
            if found:
                return 0
            found = length
        length -= 1
    return <uint16_t>found


def fragment_lengths(packed, const int64_t[::1] first, int shortest, int bases_an_error):
    """Lengths of the fragments that both mates of a pair run through.

    Where a fragment is shorter than its reads, each of them begins with all of it, on opposite strands. So the head of
    one mate is the tail of the other's reverse complement. A tandem repeat looks so at several lengths: it says nothing.

    Parameters
    ----------
    packed : io.read_batch.PackedReads
    first : int64[p]
        Rows of the first mates; the other ones follow them.
    shortest : int
        Bases of the shortest fragment that is looked for.
    bases_an_error : int
        The mates differ in one base of so many at most.

    Returns
    -------
    uint16[p]
        0 where the mates do not show one.
    """
    cdef const uint32_t[::1] lengths = packed.lengths, plane_start = packed.plane_start
    cdef planes_t reads = planes_of(packed.planes)
    cdef Py_ssize_t p = first.shape[0], i
    cdef int64_t a, b
    found_array = np.zeros(p, np.uint16)
    cdef uint16_t[::1] found = found_array
    with nogil:
        for i in range(p):
            a, b = first[i], first[i] + 1
            found[i] = shared_length(reads, 64 * <int64_t>plane_start[a], lengths[a],
                                     64 * (plane_start[b] + rows_of(lengths[b])), lengths[b], shortest, bases_an_error)
    return found_array


def pairs_to_ask(search, state, pairs, bint left_to_local, int sure_errors):
    """Pairs that may run through their fragment: neither mate fits as a whole.

    Parameters
    ----------
    search : search.state.SearchState
        Read: `best`, `left_to_local`.
    state : search.state.PairState
        Read: `open`, `fragment`.
    pairs : search.context.PairContext
        Read: `first`.
    left_to_local : bool
        Only those that were given up; else open ones, too.
    sure_errors : int
        Most errors of a place that fits.

    Returns
    -------
    int64[p]
        Rows of their first mates.
    """
    cdef const int64_t[::1] first = pairs.first
    cdef const uint16_t[::1] best = search.best, fragment = state.fragment
    cdef const uint8_t[::1] given_up = search.left_to_local.view(np.uint8), is_open = state.open.view(np.uint8)
    cdef Py_ssize_t i, k = 0
    cdef int64_t r
    out_array = np.empty(first.shape[0], np.int64)
    cdef int64_t[::1] out = out_array
    with nogil:
        for i in range(first.shape[0]):
            r = out[k] = first[i]
            k += ((fragment[r] == 0) & (min(best[r], best[r + 1]) > sure_errors)
                  & (given_up[r] | (is_open[r] & (not left_to_local))))
    return out_array[:k]


def close_cut(const int64_t[::1] first, ends, search, state, context, int tail_bases_an_error):
    """Close the pairs that run through their fragment, and do not fit behind it.

    Parameters
    ----------
    first : int64[p]
        Rows of first mates.
    ends : pairing.read_through.FragmentEnds
        Of these pairs.
    search : search.state.SearchState
        Read: `best`, `capped`. Changed: `left_to_local`.
    state : search.state.PairState
        Changed: `open`, `fragment`.
    context : search.context.BatchContext
        Read: `lengths`.
    tail_bases_an_error : int
        A mate fits where it has fewer errors than one in so many of the bases behind the fragment.
    """
    cdef const uint16_t[::1] best = search.best
    cdef const uint8_t[::1] capped = search.capped, is_sure = ends.is_sure.view(np.uint8)
    cdef const uint16_t[:, ::1] kept = ends.kept
    cdef const uint32_t[::1] lengths = context.lengths
    cdef uint8_t[::1] given_up = search.left_to_local.view(np.uint8), is_open = state.open.view(np.uint8)
    cdef uint16_t[::1] out = state.fragment
    cdef Py_ssize_t i, mate
    cdef int64_t r
    cdef bint is_cut
    with nogil:
        for i in range(first.shape[0]):
            is_cut = kept[i, 0] > 0
            for mate in range(2):
                r = first[i] + mate
                # A mate of which seeds were passed over may fit where nobody looked, unless it has an adapter.
                if (best[r] * tail_bases_an_error < <int64_t>lengths[r] - kept[i, mate]
                        or (best[r] == NO_SCORE and capped[r] and not is_sure[i])):
                    is_cut = False
            for mate in range(2):
                r = first[i] + mate
                out[r] = kept[i, mate] if is_cut else 0
                if is_cut:
                    given_up[r], is_open[r] = 1, 0


cdef inline uint64_t differs(bases64_t x, int i, uint8_t code) noexcept nogil:
    """1 where base i is not `code`, else 0."""
    return ((x.masked & ~x.high) >> i | (x.low >> i ^ code)
            | ((x.high >> i ^ code >> 1) & ~(ambiguous_bases(x) >> i))) & 1


cdef inline uint64_t nearly_equal(uint64_t[16] *differ, const uint8_t *codes, Py_ssize_t n,
                                  uint64_t *once) noexcept nogil:
    """At which of 64 positions one of n bases differs at most from these codes; `once`: at which one does or more."""
    cdef uint64_t twice = 0
    cdef Py_ssize_t j
    once[0] = 0
    for j in range(n):
        twice |= once[0] & differ[codes[j]][j]
        once[0] |= differ[codes[j]][j]
    return ~twice


cdef inline void find_differences(planes_t reads, int64_t at, int64_t left, Py_ssize_t n,
                                  uint64_t[16] *differ) noexcept nogil:
    """`differ[c][j]`: at which of 64 positions from `at` on the base j behind is not c. `left` bases are there."""
    cdef Py_ssize_t j
    cdef uint64_t live, ambiguous
    cdef bases64_t x
    for j in range(n):
        live = first_bases(left - j) if left > j else 0
        x = bases_at(reads, at + j)
        ambiguous = ambiguous_bases(x)
        x.masked &= ~ambiguous
        differ[0][j] = (x.low | (x.high & ~ambiguous) | x.masked) & live
        differ[1][j] = (~x.low | (x.high & ~ambiguous) | x.masked) & live
        differ[2][j] = (x.low | ~x.high | x.masked) & live
        differ[3][j] = (~x.low | ~x.high | x.masked) & live


def adapter_starts(packed, const int64_t[::1] rows, const int64_t[::1] first, const uint8_t[:, ::1] adapters,
                   int first_part, int shortest):
    """Where a known adapter begins in reads.

    One of its first `first_part` bases may differ, and two of all that are known. At the end of a read fewer bases show
    it, if all are equal.

    Parameters
    ----------
    packed : io.read_batch.PackedReads
    rows : int64[k]
        Reads.
    first : int64[k]
        The first base of each at which it may begin, not below 0.
    adapters : uint8[a, b]
        Codes of the first bases of each.
    first_part : int
        At most 16.
    shortest : int
        Bases of an adapter that show it at the end of a read.

    Returns
    -------
    uint16[k]
        0 where there is none; of several the one with fewest differences, of equals the first.
    """
    cdef const uint32_t[::1] lengths = packed.lengths, plane_start = packed.plane_start
    cdef planes_t reads = planes_of(packed.planes)
    cdef Py_ssize_t i, j, a
    cdef int64_t m, word, base, at
    cdef int fewest, unequal
    cdef bases64_t x
    cdef uint64_t once, found
    cdef uint64_t[4][16] differ     # from each of the four bases, of 64 positions, so many bases behind them
    starts_array = np.zeros(rows.shape[0], np.uint16)
    cdef uint16_t[::1] starts = starts_array
    with nogil:
        for i in range(rows.shape[0]):
            m, fewest, base = lengths[rows[i]], MOST_DIFFERENT + 1, 64 * <int64_t>plane_start[rows[i]]
            for word in range(first[i], m - shortest + 1, 64):
                find_differences(reads, base + word, m - word, first_part, &differ[0])
                for a in range(adapters.shape[0]):
                    found = nearly_equal(&differ[0], &adapters[a, 0], first_part, &once)
                    found &= first_bases(m - shortest + 1 - word)
                    while found:
                        at = word + trailing_zeros(found)
                        found &= found - 1
                        if at + first_part > m and once >> (at - word) & 1:
                            continue
                        unequal = 0
                        for j in range(min(adapters.shape[1], m - at)):
                            x = bases_at(reads, base + at + j)
                            unequal += <int>differs(x, 0, adapters[a, j])
                        if unequal < fewest or (unequal == fewest and at < starts[i]):
                            starts[i], fewest = <uint16_t>at, unequal
    return starts_array


def first_bases_of(packed, const int64_t[::1] rows, const uint16_t[::1] kept):
    """Reads cut behind their first bases.

    Parameters
    ----------
    packed : io.read_batch.PackedReads
    rows : int64[k]
        Reads.
    kept : uint16[k]
        Bases that are left of each, at most all.

    Returns
    -------
    lengths : uint32[k], planes : uint64[w + 1, 3], plane_start : uint32[k]
        The fields of `PackedReads`.
    """
    cdef const uint32_t[::1] lengths = packed.lengths, plane_start = packed.plane_start
    cdef planes_t reads = planes_of(packed.planes)
    cdef Py_ssize_t k = rows.shape[0], i, strand, j
    cdef int64_t at = 0, words, base
    cdef uint32_t m
    cdef uint64_t live
    cdef bases64_t bases
    cut_lengths = np.asarray(kept).astype(np.uint32)
    words_of = 2 * ((cut_lengths.astype(np.int64) + 63) >> 6)
    start_array = (np.cumsum(words_of) - words_of).astype(np.uint32)
    planes_array = np.zeros((int(words_of.sum()) + 1, 3), np.uint64)
    cdef uint64_t[:, ::1] planes = planes_array
    with nogil:
        for i in range(k):
            m, words = lengths[rows[i]], rows_of(kept[i])
            for strand in range(2):
                base = 64 * <int64_t>plane_start[rows[i]]
                if strand:
                    base += 64 * rows_of(m) + m - kept[i]
                for j in range(words):
                    bases, live = bases_at(reads, base + 64 * j), first_bases(kept[i] - 64 * j)
                    planes[at, 0], planes[at, 1] = bases.low & live, bases.high & live
                    planes[at, 2] = bases.masked & live
                    at += 1
    return cut_lengths, planes_array, start_array


def with_tails(hits, const uint32_t[::1] cigars, const uint32_t[::1] tails, bint clipped=False):
    """Alignments of cut reads as alignments of the whole ones: they go on, without a gap, behind the cut.

    An alignment that ends before the cut stays, and more is clipped. With `clipped` all of them stay.

    Parameters
    ----------
    hits : HIT[k]
        Mapped ones. Read: `position`, `strand`, `cigar_start`, `cigar_runs`.
    cigars : uint32[]
    tails : uint32[k]
        Bases that were cut off the read of each hit.

    Returns
    -------
    position : int64[k], cigars : uint32[], start : uint32[k], n_runs : uint16[k]
        As `local.places.Aligned` has them.
    """
    position, cigar_start, cigar_runs, reverse = (
        np.ascontiguousarray(hits[name]) for name in ("position", "cigar_start", "cigar_runs", "strand")
    )
    cdef Py_ssize_t k = tails.shape[0], i, j, n, done = 0
    cdef uint32_t op
    position_array, start_array, runs_array = position.copy(), np.empty(k, np.uint32), np.empty(k, np.uint16)
    cigars_array = np.empty(int(cigar_runs.sum(dtype=np.int64)) + k, np.uint32)
    cdef const uint32_t[::1] first_run = cigar_start
    cdef const uint16_t[::1] runs = cigar_runs
    cdef const uint8_t[::1] strand = reverse
    cdef coordinate_t[::1] position_out = position_array
    cdef uint32_t[::1] start = start_array, out = cigars_array
    cdef uint16_t[::1] n_runs = runs_array
    with nogil:
        for i in range(k):
            n, start[i] = 0, <uint32_t>done
            op = cigar_op(cigars[first_run[i] if strand[i] else first_run[i] + runs[i] - 1])
            op = CIGAR_MATCH if op == CIGAR_MATCH and not clipped else CIGAR_SOFT_CLIP
            if strand[i]:
                n = cigar_push(&out[done], n, op, tails[i])
                position_out[i] -= tails[i] if op == CIGAR_MATCH else 0
            for j in range(first_run[i], first_run[i] + runs[i]):
                n = cigar_push(&out[done], n, cigar_op(cigars[j]), cigar_length(cigars[j]))
            if not strand[i]:
                n = cigar_push(&out[done], n, op, tails[i])
            n_runs[i] = <uint16_t>n
            done += n
    return position_array, cigars_array[:done], start_array, runs_array


cdef struct costs_t:
    int32_t match, mismatch, bonus


cdef struct part_t:
    int64_t first, to       # bases first .. to - 1 are aligned
    int32_t score
    uint16_t edits


cdef struct clips_t:
    # Of an alignment without a gap: bases that are clipped before and behind those that are aligned.
    int64_t before, behind
    bint plain              # it has no gap


cdef inline clips_t clips_of(const uint32_t *cigar, Py_ssize_t runs) noexcept nogil:
    cdef clips_t clips = clips_t(0, 0, False)
    if cigar_op(cigar[0]) == CIGAR_SOFT_CLIP:
        clips.before = cigar_length(cigar[0])
    if runs > 1 and cigar_op(cigar[runs - 1]) == CIGAR_SOFT_CLIP:
        clips.behind = cigar_length(cigar[runs - 1])
    clips.plain = runs == 1 + (clips.before > 0) + (clips.behind > 0)
    return clips


cdef inline void keep_better(part_t *best, int32_t total, int64_t begin, int64_t to) noexcept nogil:
    """The longer one of equals."""
    if total > 0 and total >= best.score:
        best.score, best.first, best.to = total, begin, to


cdef part_t best_part(planes_t reference, int64_t position, planes_t reads, int64_t base, int64_t n,
                      const costs_t *costs, bint at_start, bint at_end) noexcept nogil:
    """The part with the highest score of an alignment of `n` bases without a gap, the longest one of equals.

    `at_start`, `at_end`: its ends are those of the read, and add the bonus.
    """
    cdef part_t best = part_t(0, 0, 0, 0)
    cdef int64_t word, at, done = 0, begin = 0
    cdef int32_t running = costs.bonus if at_start else 0, score = 0
    cdef bases64_t x, y
    cdef uint64_t differ, masked, live
    cdef int unequal, unknown
    for word in range(0, n, 64):
        x, y = bases_at(reads, base + word), bases_at(reference, position + word)
        differ = differences(x, y) & first_bases(n - word)
        while differ:
            at = word + trailing_zeros(differ)
            if at > done:
                if running < 0:
                    running, begin = 0, done
                running += <int32_t>(at - done) * costs.match
                keep_better(&best, running, begin, at)
            if running < 0:
                running, begin = 0, at
            running -= 1 if unknown_bases(x, y) >> (at - word) & 1 else costs.mismatch
            done = at + 1
            keep_better(&best, running + (costs.bonus if at_end and done == n else 0), begin, done)
            differ &= differ - 1
    if n > done:
        if running < 0:
            running, begin = 0, done
        running += <int32_t>(n - done) * costs.match
        keep_better(&best, running + (costs.bonus if at_end else 0), begin, n)
    for word in range(best.first, best.to, 64):
        x, y = bases_at(reads, base + word), bases_at(reference, position + word)
        live = first_bases(best.to - word)
        differ, masked = differences(x, y) & live, unknown_bases(x, y) & live
        unequal, unknown = count_bits(differ), count_bits(masked)
        best.edits += <uint16_t>unequal
        score += (costs.match * <int32_t>(min(best.to - word, 64) - unequal)
                  - costs.mismatch * (unequal - unknown) - unknown)
    best.score = score
    return best


def whole_reads(cut, const int64_t[::1] rows, const uint32_t[::1] cut_lengths, context, uint32_t first_run):
    """Alignments of cut reads as alignments of the whole ones: they go on, without a gap, behind the cut.

    Of each the part with the highest score is kept, and the rest is clipped.

    Parameters
    ----------
    cut : search.arrays.BatchResult
        Of the reads that were cut. Read: `hits` HIT[k], `cigars`.
    rows : int64[c]
        These reads in the batch, ascending.
    cut_lengths : uint32[c]
        Bases that were left of each.
    context : search.context.BatchContext
        Of the batch. Read: `packed`, `reference`, `params.scoring`.
    first_run : int
        Where the CIGARs that are returned will lie among others.

    Returns
    -------
    hits : HIT[k]
        In their order, with their reads in the batch.
    cigars : uint32[]
    others : int64[]
        Those of the hits that are not done: they have a gap, or a contig ends on their way.
    """
    cdef const hit_t[::1] hits = cut.hits
    cdef const uint32_t[::1] cigars = cut.cigars, lengths = context.packed.lengths
    cdef const uint32_t[::1] plane_start = context.packed.plane_start
    cdef const int64_t[::1] contig_starts = context.reference.starts, contig_lengths = context.reference.lengths
    cdef planes_t reference = planes_of(context.reference.planes), reads = planes_of(context.packed.planes)
    scoring = context.params.scoring
    cdef costs_t costs = costs_t(scoring.match, scoring.mismatch, scoring.clip)
    cdef Py_ssize_t k = hits.shape[0], i, n, done = 0, left = 0, contig
    cdef uint32_t r
    cdef int64_t m, tail, position, span
    cdef clips_t clips
    cdef part_t part
    own_array, cigars_array, others_array = np.empty(k, HIT), np.empty(3 * k, np.uint32), np.empty(k, np.int64)
    cdef hit_t[::1] own = own_array
    cdef uint32_t[::1] out = cigars_array
    cdef int64_t[::1] others = others_array
    with nogil:
        for i in range(k):
            if i + AHEAD < k:
                prefetch_read(reference, hits[i + AHEAD].position)
            r = <uint32_t>rows[hits[i].read]
            own[i] = hits[i]
            own[i].read = r
            if hits[i].flag & UNMAPPED:
                continue
            m = lengths[r]
            tail, position = m - cut_lengths[hits[i].read], hits[i].position
            clips = clips_of(&cigars[hits[i].cigar_start], hits[i].cigar_runs)
            # What is clipped at the cut stays so.
            if hits[i].strand:
                if clips.before:
                    clips.before += tail
                else:
                    position -= tail
            elif clips.behind:
                clips.behind += tail
            span = m - clips.before - clips.behind
            contig = contig_near(&contig_starts[0], &contig_lengths[0], contig_starts.shape[0], position + (span >> 1))
            if (not clips.plain or position < contig_starts[contig]
                    or position + span > contig_starts[contig] + contig_lengths[contig]):
                others[left] = i
                left += 1
                continue
            part = best_part(reference, position, reads,
                             64 * (plane_start[r] + hits[i].strand * ((m + 63) >> 6)) + clips.before, span, &costs,
                             clips.before == 0, clips.behind == 0)
            own[i].position = position + part.first
            own[i].cigar_start = first_run + <uint32_t>done
            own[i].edits, own[i].score = part.edits, part.score
            n = cigar_push(&out[done], 0, CIGAR_SOFT_CLIP, <uint32_t>(clips.before + part.first))
            n = cigar_push(&out[done], n, CIGAR_MATCH, <uint32_t>(part.to - part.first))
            n = cigar_push(&out[done], n, CIGAR_SOFT_CLIP, <uint32_t>(m - clips.before - part.to))
            own[i].cigar_runs = <uint16_t>(n if part.to > part.first else 0)
            done += own[i].cigar_runs
    return own_array, cigars_array[:done], others_array[:left]


def put_back(result, cut, const hit_t[::1] own, const int64_t[::1] rows):
    """The rows of a batch with those of reads that were cut.

    Parameters
    ----------
    result : search.arrays.BatchResult
        Of n reads. Read: `hits` HIT[h], `summary`.
    cut : search.arrays.BatchResult
        Of the reads that were cut. Read: `summary` READ_SUMMARY[c].
    own : HIT[k]
        Their rows, by their reads in the batch.
    rows : int64[c]
        These reads, ascending.

    Returns
    -------
    hits : HIT[]
        By read; those of `result` for all reads that were not cut.
    summary : READ_SUMMARY[n]
    """
    cdef const hit_t[::1] before = result.hits
    cdef const read_summary_t[::1] old = result.summary, new = cut.summary
    cdef Py_ssize_t c, r, h = before.shape[0], k = own.shape[0], i = 0, j = 0, done = 0
    hits_array, summary_array = np.empty(h + k, HIT), np.empty(old.shape[0], READ_SUMMARY)
    cdef hit_t[::1] hits = hits_array
    cdef read_summary_t[::1] summary = summary_array
    with nogil:
        for r in range(old.shape[0]):
            summary[r] = old[r]
        for c in range(rows.shape[0]):
            while i < h and before[i].read < rows[c]:
                hits[done] = before[i]
                i, done = i + 1, done + 1
            while i < h and before[i].read == rows[c]:
                i += 1
            summary[rows[c]] = new[c]
            while j < k and own[j].read == rows[c]:
                if own[j].flag & (UNMAPPED | NOT_PRIMARY) == 0:
                    summary[rows[c]].best = own[j].edits
                hits[done] = own[j]
                j, done = j + 1, done + 1
        while i < h:
            hits[done] = before[i]
            i, done = i + 1, done + 1
    return hits_array[:done], summary_array
