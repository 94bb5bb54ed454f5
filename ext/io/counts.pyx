"""What statistics tell of a batch: reads by errors and mapping quality, what alignments cover, template lengths."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

from gassst._core.common cimport (
    CIGAR_DELETION,
    CIGAR_INSERTION,
    FR,
    NO_SCORE,
    RF,
    SECONDARY,
    UNMAPPED,
    cigar_length,
    cigar_op,
    cigar_span,
    contigs_before,
    hit_t,
    mates_fit,
    read_summary_t,
    template_of,
    window_of,
    window_t,
)


def count_reads(const hit_t[::1] hits, const read_summary_t[::1] summary, const uint32_t[::1] lengths,
                const uint32_t[::1] offsets, int shortest, int longest, int confident):
    """Reads by what became of them.

    Parameters
    ----------
    hits : HIT[h]
        Of every read, in order, the primary first.
    summary : READ_SUMMARY[n]
    lengths : uint32[n]
        As they were searched.
    offsets : uint32[n + 1]
        Of their bases.
    shortest, longest : int
        Bases of the shortest and of the longest read that is mapped.
    confident : int
        Mapping quality from which on a read counts as placed with confidence.

    Returns
    -------
    too_short, too_long, mapped, confident : int
    errors : int64[most + 1]
        Mapped reads by errors.
    mapq : int64[256]
        Mapped reads by mapping quality.
    """
    cdef Py_ssize_t n = lengths.shape[0], i
    cdef int64_t too_short = 0, too_long = 0, mapped = 0, sure = 0
    cdef uint16_t most = 0
    cdef const read_summary_t *read
    for i in range(n):
        too_short += lengths[i] < <uint32_t>shortest
        too_long += offsets[i + 1] - offsets[i] > <uint32_t>longest
        if summary[i].best != NO_SCORE:
            most = max(most, summary[i].best)
    errors_array, mapq_array = np.empty(most + 1, np.int64), np.empty(256, np.int64)
    cdef int64_t[::1] errors = errors_array, mapq = mapq_array
    with nogil:
        errors[:] = 0
        mapq[:] = 0
        for i in range(hits.shape[0]):
            if i and hits[i].read == hits[i - 1].read:
                continue
            read = &summary[hits[i].read]
            if read.best != NO_SCORE:
                mapped += 1
                sure += hits[i].mapq >= confident
                errors[read.best] += 1
                mapq[hits[i].mapq] += 1
    return too_short, too_long, mapped, sure, errors_array, mapq_array


def count_coverage(const hit_t[::1] hits, const uint32_t[::1] cigars, const int64_t[::1] starts, int64_t gap,
                   const int64_t[::1] edges, int64_t[::1] windows, int64_t[::1] contigs):
    """Add the aligned bases of the reference, of primary and supplementary alignments, to two arrays.

    Parameters
    ----------
    hits : HIT[h]
        Each within its contig.
    cigars : uint32[]
    starts : int64[c]
        Of the contigs, with `gap` masked bases in front of each but the first.
    edges : int64[w + 1]
        Of windows over all contigs, one after the other: the gaps between contigs hold no bases, and would look like
        uncovered ones.
    windows : int64[w]
    contigs : int64[c]
    """
    cdef Py_ssize_t n = starts.shape[0], w = edges.shape[0] - 1, i, c, at
    cdef int64_t begin, end, span
    with nogil:
        for i in range(hits.shape[0]):
            if hits[i].flag & (UNMAPPED | SECONDARY):
                continue
            span = cigar_span(&cigars[hits[i].cigar_start], hits[i].cigar_runs)
            c = contigs_before(&starts[0], n, hits[i].position) - 1
            contigs[c] += span
            begin = hits[i].position - starts[0] - gap * c
            end = min(begin + span, edges[w])
            at = <Py_ssize_t>contigs_before(&edges[0], w, begin) - 1
            while begin < end:
                windows[at] += min(end, edges[at + 1]) - begin
                at += 1
                begin = edges[at]


def count_templates(const hit_t[::1] hits, const uint32_t[::1] cigars, const uint8_t[::1] mate,
                    const int64_t[::1] starts, insert, int confident, Py_ssize_t longest):
    """int64[longest + 1]: pairs by template length.

    Of mates that are both mapped with confidence, on one contig, in the orientation of the library. `mate` uint8[n] is
    of the batch, `starts` int64[c] of the contigs; the others are as for `count_reads` and `count_coverage`.
    """
    cdef Py_ssize_t i
    cdef int64_t template
    cdef const hit_t *a = NULL
    cdef const hit_t *b
    cdef window_t w = window_of(insert)
    counts_array = np.zeros(longest + 1, np.int64)
    cdef int64_t[::1] counts = counts_array
    with nogil:
        for i in range(hits.shape[0]):
            b = &hits[i]
            if (i and b.read == hits[i - 1].read) or mate[b.read] == 0:
                continue
            if mate[b.read] == 1:
                a = b
            elif min(a.mapq, b.mapq) >= confident and mates_fit(a, b, starts, &w):
                template = template_of(a, b, &cigars[0], &w)
                if 0 < template <= longest:
                    counts[template] += 1
    return counts_array


def reads_of_stretches(const hit_t[::1] hits, const uint32_t[::1] cigars, const int64_t[::1] rows,
                       const uint8_t[::1] mate, const int64_t[::1] starts, list numbers, list orientations,
                       int confident):
    """What some reads of each stretch of a batch show. Of a few, so the lock of the interpreter stays where it is.

    Parameters
    ----------
    hits, cigars, starts, confident
        As for `count_templates`.
    rows : int64[k]
        Which reads, ascending; mates are neighbours.
    mate : uint8[k]
        Of these.
    numbers : list of int
        How many of these each stretch has, in their order.
    orientations : list of int
        Those a library may have.

    Returns
    -------
    list of (int, int, int, list of list of int)
        Of each stretch: reads that teach, single ones with a place that is sure and mates whose sure places make a
        pair; their mismatches, and the reference bases that they cover; the template lengths, by orientation. Mates
        that overlap face each other.
    """
    cdef Py_ssize_t i = 0, j = 0, end = 0
    cdef int64_t template, facing
    cdef int64_t[3] seen  # reads, mismatches, bases
    cdef const hit_t *a = NULL
    cdef const hit_t *b
    cdef uint32_t r
    cdef bint fits
    cdef window_t w = window_t(FR, 0, 0)
    stretches = []
    for number in numbers:
        end += number
        seen[0] = seen[1] = seen[2] = 0
        templates = [[] for _ in orientations]
        for j in range(j, end):
            r = <uint32_t>rows[j]
            while hits[i].read < r:
                i += 1
            b = &hits[i]
            if mate[j] == 1:
                a = b
            elif mate[j] == 0 and b.mapq >= confident:
                teach(b, &cigars[b.cigar_start], seen)
            elif mate[j] == 2 and min(a.mapq, b.mapq) >= confident:
                fits, facing = False, 0
                for orientation, lengths in zip(orientations, templates):
                    w.orientation = orientation
                    if not mates_fit(a, b, starts, &w) or w.orientation == RF and facing > 0:
                        continue
                    template = template_of(a, b, &cigars[0], &w)
                    facing = template if w.orientation == FR else facing
                    if template > 0:
                        lengths.append(template)
                        fits = True
                if fits:
                    teach(a, &cigars[a.cigar_start], seen)
                    teach(b, &cigars[b.cigar_start], seen)
        j = end
        stretches.append((seen[0], seen[1], seen[2], templates))
    return stretches


cdef void teach(const hit_t *hit, const uint32_t *cigar, int64_t *seen) noexcept:
    """Count a read, its mismatches, and the reference bases that it covers."""
    cdef Py_ssize_t j
    seen[0], seen[1], seen[2] = seen[0] + 1, seen[1] + hit.edits, seen[2] + cigar_span(cigar, hit.cigar_runs)
    for j in range(hit.cigar_runs):
        if cigar_op(cigar[j]) in (CIGAR_INSERTION, CIGAR_DELETION):
            seen[1] -= cigar_length(cigar[j])
