"""Local alignments to hits: cut where a contig ends, scored anew from their bases."""

import numpy as np

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from gassst._core.cigar cimport (
    CIGAR_DELETION,
    CIGAR_INSERTION,
    CIGAR_MATCH,
    CIGAR_SOFT_CLIP,
    cigar_length,
    cigar_op,
    cigar_push,
    cigar_span,
)
from gassst._core.contigs cimport contig_near
from gassst._core.coordinates cimport coordinate_t
from gassst._core.costs cimport costs_of, costs_t
from gassst._core.layouts cimport NO_SCORE, hit_t
from gassst._core.planes cimport (
    AHEAD,
    MASKED_BASE,
    base_at,
    bases64_t,
    bases_at,
    count_bits,
    differences,
    first_bases,
    planes_of,
    planes_t,
    prefetch_read,
    unknown_bases,
)
from gassst._core.sam_flags cimport REVERSE

from gassst.model.layouts import HIT

cdef struct column_t:
    uint8_t op
    uint8_t differs
    int32_t score

# Columns of one alignment between its clipped ends, and what of it is kept: from..to-1.
cdef struct alignment_t:
    column_t *columns
    Py_ssize_t n, first, to
    uint32_t clipped     # read bases before the first column
    uint32_t length      # of the read
    int64_t position     # of the first column


cdef inline uint32_t clipped(uint32_t run) noexcept nogil:
    """Bases of the run, if it is a clip."""
    return cigar_length(run) if cigar_op(run) == CIGAR_SOFT_CLIP else 0


cdef void expand(const uint32_t *cigar, Py_ssize_t runs, planes_t reference, planes_t reads, int64_t base,
                 const costs_t *costs, alignment_t *a) noexcept nogil:
    """Fill `a` from a CIGAR at a.position; `base` is the first base of the strand in `reads`."""
    cdef Py_ssize_t i
    cdef uint32_t j, op, length
    cdef int64_t at = a.position
    cdef bases64_t x, y
    cdef bint unknown
    cdef column_t *column
    a.n = a.clipped = 0
    for i in range(runs):
        op, length = cigar_op(cigar[i]), cigar_length(cigar[i])
        if op == CIGAR_SOFT_CLIP:
            if i == 0:
                a.clipped = length
                base += length
            continue
        for j in range(length):
            column = &a.columns[a.n]
            a.n += 1
            column.op, column.differs = <uint8_t>op, 1
            if op == CIGAR_MATCH:
                x, y = bases_at(reads, base), bases_at(reference, at)
                unknown = unknown_bases(x, y) & 1 or base_at(reference, at) == MASKED_BASE
                column.differs = unknown or differences(x, y) & 1
                column.score = -1 if unknown else -costs.mismatch if column.differs else costs.match
            else:
                column.score = -costs.extend_gap[op] - (costs.open_gap[op] if j == 0 else 0)
            base += op != CIGAR_DELETION
            at += op != CIGAR_INSERTION
    a.first, a.to = 0, a.n


cdef void cut(int64_t contig_start, int64_t contig_end, int32_t bonus, bint at_start, bint at_end,
              alignment_t *a) noexcept nogil:
    """Of what lies inside the contig keep the stretch with the best score, the longest one of equals."""
    cdef int64_t at = a.position
    cdef int32_t running = 0, best = 0, total
    cdef Py_ssize_t c, begin = 0
    cdef bint open = False
    a.first = a.to = 0
    for c in range(a.n):
        if at >= contig_start and at < contig_end:
            if not open or running < 0:
                begin, running, open = c, bonus if at_start and c == 0 else 0, True
            running += a.columns[c].score
            total = running + (bonus if at_end and c == a.n - 1 else 0)
            if total > 0 and total >= best:
                best, a.first, a.to = total, begin, c + 1
        at += a.columns[c].op != CIGAR_INSERTION


cdef void write(const alignment_t *a, uint32_t *cigars, hit_t *hit, uint16_t *begin, uint16_t *end) noexcept nogil:
    """Runs, position, score and edits of what is kept; no runs where nothing is."""
    cdef Py_ssize_t c, n = 0
    cdef uint32_t q = a.clipped, edits = 0
    cdef int64_t at = a.position
    cdef int32_t score = 0
    for c in range(a.first):
        q += a.columns[c].op != CIGAR_DELETION
        at += a.columns[c].op != CIGAR_INSERTION
    begin[0] = <uint16_t>q
    hit.position = at
    n = cigar_push(cigars, n, CIGAR_SOFT_CLIP, q)
    for c in range(a.first, a.to):
        n = cigar_push(cigars, n, a.columns[c].op, 1)
        q += a.columns[c].op != CIGAR_DELETION
        edits += a.columns[c].differs
        score += a.columns[c].score
    end[0] = <uint16_t>q
    n = cigar_push(cigars, n, CIGAR_SOFT_CLIP, a.length - q)
    hit.cigar_runs = <uint16_t>(n if a.to > a.first else 0)
    hit.edits = <uint16_t>edits
    hit.score = score


cdef void inside(const uint32_t *cigar, Py_ssize_t runs, planes_t reference, planes_t reads, int64_t base, int64_t at,
                 const costs_t *costs, hit_t *hit) noexcept nogil:
    """Score and edits of an alignment that lies inside a contig, 64 bases at once; `at` is its first base."""
    cdef Py_ssize_t i
    cdef uint32_t op, length, j
    cdef uint64_t live, differ, masked
    cdef bases64_t x, y
    cdef int32_t score = 0, edits = 0, unequal, unknown
    for i in range(runs):
        op, length = cigar_op(cigar[i]), cigar_length(cigar[i])
        if op == CIGAR_MATCH:
            unequal = unknown = 0
            for j in range(0, length, 64):
                x, y = bases_at(reads, base + j), bases_at(reference, at + j)
                live = first_bases(length - j)
                differ, masked = differences(x, y) & live, unknown_bases(x, y) & live
                unequal += count_bits(differ)
                unknown += count_bits(masked)
            edits += unequal
            score += costs.match * (<int32_t>length - unequal) - costs.mismatch * (unequal - unknown) - unknown
        elif op != CIGAR_SOFT_CLIP:
            edits += length
            score -= costs.open_gap[op] + costs.extend_gap[op] * <int32_t>length
        base += length if op != CIGAR_DELETION else 0
        at += length if op == CIGAR_MATCH or op == CIGAR_DELETION else 0
    hit.edits, hit.score = <uint16_t>edits, score


def hits_from_alignments(aligned, context, uint32_t first_run, bint best_parts=False):
    """Hits and CIGARs of local alignments, and where they lie.

    Parameters
    ----------
    aligned : local.places.Aligned
        k alignments. Bases are looked at where `edits` are not known.
    context : search.context.BatchContext
        Read: `packed`, `reference`, `params.scoring`.
    first_run : int
        Where the CIGARs that are returned will lie among others.
    best_parts : bool
        Of every alignment the part with the highest score is kept, and the rest is clipped.

    Returns
    -------
    hits : HIT[k]
        `flag` holds the strand only; `mapq` is 0; no runs where nothing inside a contig is worth aligning.
    cigars : uint32[]
    begin, end : int64[k]
        The bases that are aligned, of the read as sequenced.
    total : int32[k]
        Scores with the bonus for each end that is reached.
    first_diagonal, last_diagonal : int64[k]
        Of the first and of the last aligned base.
    """
    cdef const uint32_t[::1] read_strand = aligned.read_strand
    cdef const coordinate_t[::1] position = aligned.position
    cdef const uint32_t[::1] cigars = aligned.cigars, cigar_start = aligned.start
    cdef const uint16_t[::1] cigar_runs = aligned.n_runs, edits = aligned.edits
    cdef const int32_t[::1] score = aligned.score
    cdef const uint32_t[::1] plane_start = context.packed.plane_start, lengths = context.packed.lengths
    cdef const int64_t[::1] contig_starts = context.reference.starts, contig_lengths = context.reference.lengths
    cdef planes_t reference = planes_of(context.reference.planes), reads = planes_of(context.packed.planes)
    cdef Py_ssize_t k = read_strand.shape[0], i, j, runs, contig
    cdef int64_t span, base
    cdef uint32_t r, strand, done = 0, columns, widest = 1
    cdef uint16_t first = 0, last = 0
    cdef costs_t costs = costs_of(context.params.scoring)
    cdef const uint32_t *cigar
    cdef alignment_t a
    hits_array, cigars_array = np.zeros(k, HIT), np.empty(cigars.shape[0] + 2 * k + 1, np.uint32)
    ends_array, total_array = np.zeros((2, k), np.int64), np.zeros(k, np.int32)
    diagonals_array = np.zeros((2, k), np.int64)
    cdef hit_t[::1] hits = hits_array
    cdef uint32_t[::1] out = cigars_array
    cdef int64_t[:, ::1] ends = ends_array
    cdef int32_t[::1] total = total_array
    cdef coordinate_t[:, ::1] diagonals = diagonals_array
    if k == 0:
        return hits_array, cigars_array[:0], *ends_array, total_array, *diagonals_array
    with nogil:
        for i in range(k):
            columns = 0
            for j in range(cigar_start[i], cigar_start[i] + cigar_runs[i]):
                columns += cigar_length(cigars[j])
            widest = max(widest, columns)
    a.columns = <column_t *>malloc(widest * sizeof(column_t))
    if a.columns == NULL:
        raise MemoryError
    with nogil:
        for i in range(k):
            if i + AHEAD < k and (edits is None or edits[i + AHEAD] == NO_SCORE):
                prefetch_read(reference, position[i + AHEAD])
            r, strand = read_strand[i] >> 1, read_strand[i] & 1
            a.length, a.position = lengths[r], position[i]
            base = 64 * (plane_start[r] + <int64_t>strand * ((a.length + 63) >> 6))
            cigar, runs = &cigars[cigar_start[i]], cigar_runs[i]
            span = cigar_span(cigar, runs)
            contig = contig_near(&contig_starts[0], &contig_lengths[0], contig_starts.shape[0],
                                 a.position + (span >> 1))
            hits[i].read, hits[i].strand, hits[i].flag = r, <uint8_t>strand, <uint16_t>(REVERSE * strand)
            hits[i].cigar_start = first_run + done
            if (not best_parts and a.position >= contig_starts[contig]
                    and a.position + span <= contig_starts[contig] + contig_lengths[contig]):
                hits[i].position = position[i]
                if edits is None or edits[i] == NO_SCORE:
                    inside(cigar, runs, reference, reads, base, a.position, &costs, &hits[i])
                else:
                    hits[i].score, hits[i].edits = score[i], edits[i]
                first = <uint16_t>clipped(cigar[0])
                last = <uint16_t>(a.length - clipped(cigar[runs - 1]))
                hits[i].cigar_runs = <uint16_t>(runs if span > 0 else 0)
                for j in range(hits[i].cigar_runs):
                    out[done + j] = cigar[j]
            else:
                expand(cigar, runs, reference, reads, base, &costs, &a)
                cut(contig_starts[contig], contig_starts[contig] + contig_lengths[contig], costs.bonus,
                    clipped(cigar[0]) == 0, clipped(cigar[runs - 1]) == 0, &a)
                write(&a, &out[done], &hits[i], &first, &last)
                span = cigar_span(&out[done], hits[i].cigar_runs)
            done += hits[i].cigar_runs
            ends[0, i], ends[1, i] = first, last
            if strand:
                ends[0, i], ends[1, i] = a.length - last, a.length - first
            total[i] = hits[i].score + costs.bonus * (<int32_t>(first == 0) + <int32_t>(last == a.length))
            diagonals[0, i] = hits[i].position - first
            diagonals[1, i] = hits[i].position + span - last
    free(a.columns)
    return hits_array, cigars_array[:done].copy(), *ends_array, total_array, *diagonals_array
