"""Local alignments to hits: cut where a contig ends, scored anew from their bases."""

import numpy as np

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from gassst._planes cimport bases64_t, bases_at, differences, planes_t
from gassst._types cimport hit_t

from gassst.layouts import HIT

DEF MATCH = 0  # BAM operations
DEF INSERTION = 1
DEF DELETION = 2
DEF CLIPPED = 4

cdef struct costs_t:
    int32_t match, mismatch
    int32_t open_gap[3]  # by operation
    int32_t extend_gap[3]
    int32_t bonus

cdef extern from "contigs.h" nogil:
    size_t contig_near(const int64_t *starts, const int64_t *lengths, size_t n, int64_t coordinate)

cdef extern from *:
    int POPCOUNT "__builtin_popcountll"(uint64_t x) nogil
    int TRAILING_ZEROS "__builtin_ctzll"(uint64_t x) nogil

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


cdef inline int base_at(planes_t planes, int64_t at) noexcept nogil:
    """Code of a base, 4 where it is masked or outside."""
    cdef const uint64_t *row
    if at < 0 or at >> 6 >= planes.rows:
        return 4
    row = planes.words + 3 * (at >> 6)
    at &= 63
    if row[2] >> at & 1:
        return 4
    return <int>(row[0] >> at & 1 | (row[1] >> at & 1) << 1)


cdef void expand(const uint32_t *cigar, Py_ssize_t runs, planes_t reference, planes_t reads, int64_t base,
                 const costs_t *costs, alignment_t *a) noexcept nogil:
    """Fill `a` from a CIGAR at a.position; `base` is the first base of the strand in `reads`."""
    cdef Py_ssize_t i
    cdef uint32_t j, op, length
    cdef int64_t at = a.position
    cdef int x, y
    cdef column_t *column
    a.n = a.clipped = 0
    for i in range(runs):
        op, length = cigar[i] & 15, cigar[i] >> 4
        if op == CLIPPED:
            if i == 0:
                a.clipped = length
                base += length
            continue
        for j in range(length):
            column = &a.columns[a.n]
            a.n += 1
            column.op, column.differs = <uint8_t>op, 1
            if op == MATCH:
                x, y = base_at(reads, base), base_at(reference, at)
                column.differs = x != y or x == 4
                column.score = -1 if x == 4 or y == 4 else costs.match if x == y else -costs.mismatch
            else:
                column.score = -costs.extend_gap[op] - (costs.open_gap[op] if j == 0 else 0)
            base += op != DELETION
            at += op != INSERTION
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
        at += a.columns[c].op != INSERTION


cdef inline uint32_t push(uint32_t *runs, uint32_t n, uint32_t op, uint32_t length) noexcept nogil:
    if length == 0:
        return n
    if n and (runs[n - 1] & 15) == op:
        runs[n - 1] += length << 4
        return n
    runs[n] = length << 4 | op
    return n + 1


cdef void write(const alignment_t *a, uint32_t *cigars, hit_t *hit, uint16_t *begin, uint16_t *end) noexcept nogil:
    """Runs, position, score and edits of what is kept; no runs where nothing is."""
    cdef Py_ssize_t c
    cdef uint32_t q = a.clipped, n = 0, edits = 0
    cdef int64_t at = a.position
    cdef int32_t score = 0
    for c in range(a.first):
        q += a.columns[c].op != DELETION
        at += a.columns[c].op != INSERTION
    begin[0] = <uint16_t>q
    hit.position = <uint32_t>at
    n = push(cigars, n, CLIPPED, q)
    for c in range(a.first, a.to):
        n = push(cigars, n, a.columns[c].op, 1)
        q += a.columns[c].op != DELETION
        edits += a.columns[c].differs
        score += a.columns[c].score
    end[0] = <uint16_t>q
    n = push(cigars, n, CLIPPED, a.length - q)
    hit.cigar_runs = <uint16_t>(n if a.to > a.first else 0)
    hit.edits = <uint16_t>edits
    hit.score = score


def finish(const uint32_t[::1] read_strand, const uint32_t[::1] position, const uint32_t[::1] cigars,
           const uint32_t[::1] cigar_start, const uint16_t[::1] cigar_runs, const uint64_t[:, ::1] reference,
           const uint64_t[:, ::1] planes, const uint32_t[::1] plane_start, const uint32_t[::1] lengths,
           const int64_t[::1] contig_starts, const int64_t[::1] contig_lengths, scoring):
    """Hits and CIGARs of local alignments.

    Parameters
    ----------
    read_strand, position : uint32[k]
    cigars : uint32[], cigar_start : uint32[k], cigar_runs : uint16[k]
        From `ReadsHandle.align_local`.
    reference, planes, plane_start, lengths
        Planes of the reference and of the reads.
    contig_starts, contig_lengths : int64[c]
    scoring : params.Scoring

    Returns
    -------
    hits : HIT[k]
        `flag` holds the strand only; `mapq` is 0; no runs where nothing inside a contig is worth aligning.
    cigars : uint32[]
    begin, end : uint16[k]
        The bases of the strand that are aligned.
    """
    cdef Py_ssize_t k = read_strand.shape[0], i, j, widest = 1, size, contig
    cdef int64_t span
    cdef uint32_t r, strand, at = 0
    cdef costs_t costs
    cdef planes_t bases, read_bases
    cdef alignment_t a
    hits_array, cigars_array = np.zeros(k, HIT), np.empty(cigars.shape[0] + 2 * k + 1, np.uint32)
    begin_array, end_array = np.zeros(k, np.uint16), np.zeros(k, np.uint16)
    cdef hit_t[::1] hits = hits_array
    cdef uint32_t[::1] out = cigars_array
    cdef uint16_t[::1] begin = begin_array, end = end_array
    if k == 0:
        return hits_array, cigars_array[:0], begin_array, end_array
    costs.match, costs.mismatch, costs.bonus = scoring.match, scoring.mismatch, scoring.clip
    costs.open_gap[DELETION], costs.open_gap[INSERTION] = scoring.gap_open
    costs.extend_gap[DELETION], costs.extend_gap[INSERTION] = scoring.gap_extend
    bases.words, bases.rows = &reference[0, 0], reference.shape[0]
    read_bases.words, read_bases.rows = &planes[0, 0], planes.shape[0]
    for i in range(k):
        size = 0
        for j in range(cigar_start[i], cigar_start[i] + cigar_runs[i]):
            size += cigars[j] >> 4
        widest = max(widest, size)
    a.columns = <column_t *>malloc(widest * sizeof(column_t))
    if a.columns == NULL:
        raise MemoryError
    with nogil:
        for i in range(k):
            r, strand = read_strand[i] >> 1, read_strand[i] & 1
            a.length, a.position = lengths[r], position[i]
            expand(&cigars[cigar_start[i]], cigar_runs[i], bases, read_bases,
                   64 * (plane_start[r] + <int64_t>strand * ((a.length + 63) >> 6)), &costs, &a)
            span = size = 0
            for j in range(a.n):
                span += a.columns[j].op != INSERTION
                size += a.columns[j].op != DELETION
            contig = <Py_ssize_t>contig_near(&contig_starts[0], &contig_lengths[0], contig_starts.shape[0],
                                             a.position + (span >> 1))
            if (a.position < contig_starts[contig]
                    or a.position + span > contig_starts[contig] + contig_lengths[contig]):
                cut(contig_starts[contig], contig_starts[contig] + contig_lengths[contig], costs.bonus,
                    a.clipped == 0, a.clipped + size == a.length, &a)
            hits[i].read, hits[i].strand, hits[i].flag = r, <uint8_t>strand, <uint16_t>(strand << 4)
            hits[i].cigar_start = at
            write(&a, &out[at], &hits[i], &begin[i], &end[i])
            at += hits[i].cigar_runs
    free(a.columns)
    return hits_array, cigars_array[:at].copy(), begin_array, end_array


DEF SAME_PLACE = 10     # diagonals, as in select.pyx
DEF STANDS_WORDS = 8    # of 64 bases: longer reads are not judged here
DEF STANDS_ERRORS = 24  # nor reads with more mismatches

cdef struct mask_t:
    uint64_t word[STANDS_WORDS]

cdef struct prices_t:
    int match
    int each       # mismatch: its penalty and the match it is not
    int bonus
    int opening
    int extending

# The mismatches of one alignment.
cdef struct ungapped_t:
    int positions[STANDS_ERRORS]
    int n, m, words
    mask_t mismatches
    bases64_t bases[STANDS_WORDS]


def stands(const uint32_t[::1] read_strand, const uint32_t[::1] diagonal, const uint32_t[::1] band_start,
           const uint8_t[::1] words, const uint64_t[:, ::1] reference, const uint64_t[:, ::1] planes,
           const uint32_t[::1] plane_start, const uint32_t[::1] lengths, scoring):
    """Ungapped alignments of whole reads than which no other alignment in their bands has a better score.

    An alignment that leaves the diagonal pays for a gap with mismatches that it avoids, less those that it takes on
    instead. Where no other diagonal offers enough of them, nor one that half of the read fits, what remains is to
    clip an end, and that is tried. (Each diagonal is looked at alone: a read made of several tandem repeats might do
    better on two of them.)

    Parameters
    ----------
    read_strand : uint32[k], diagonal : uint32[k]
        Ungapped alignments.
    band_start : uint32[k], words : uint8[k]
        Of their bands.
    reference, planes : uint64[, 3]
    plane_start, lengths : uint32[n]
    scoring : params.Scoring

    Returns
    -------
    uint8[k]
        1 where the alignment is the best; 0 where it may not be.
    """
    cdef Py_ssize_t k = read_strand.shape[0], i
    cdef uint32_t read
    cdef planes_t ref = planes_t(&reference[0, 0], reference.shape[0])
    cdef planes_t own = planes_t(&planes[0, 0], planes.shape[0])
    cdef prices_t price = prices_t(scoring.match, scoring.match + scoring.mismatch, scoring.clip,
                                   min(scoring.gap_open), min(scoring.gap_extend))
    cdef bint dear = price.opening + price.extending > price.each  # one mismatch does not pay for a gap
    cdef ungapped_t u
    out_array = np.zeros(k, np.uint8)
    cdef uint8_t[::1] out = out_array
    with nogil:
        for i in range(k):
            read = read_strand[i] >> 1
            u.m = lengths[read]
            u.words = (u.m + 63) >> 6
            if dear and u.words <= STANDS_WORDS:
                out[i] = (
                    look_at(&u, ref, own, 64 * (<int64_t>plane_start[read] + (read_strand[i] & 1) * u.words),
                            diagonal[i])
                    and not clips(&u, &price) and not leaves(&u, ref, diagonal[i], band_start[i], 64 * words[i], &price))
    return out_array


cdef inline uint64_t live(const ungapped_t *u, int word) noexcept nogil:
    return ~<uint64_t>0 if u.m - 64 * word >= 64 else (<uint64_t>1 << (u.m - 64 * word)) - 1


cdef bint look_at(ungapped_t *u, planes_t reference, planes_t reads, int64_t first, int64_t diagonal) noexcept nogil:
    """Fill `u`; False where there are too many mismatches."""
    cdef int word
    cdef uint64_t x
    u.n = 0
    for word in range(u.words):
        u.bases[word] = bases_at(reads, first + 64 * word)
        x = differences(bases_at(reference, diagonal + 64 * word), u.bases[word]) & live(u, word)
        u.mismatches.word[word] = x
        if u.n + POPCOUNT(x) > STANDS_ERRORS:
            return False
        while x:
            u.positions[u.n] = 64 * word + TRAILING_ZEROS(x)
            u.n += 1
            x &= x - 1
    return True


cdef bint clips(const ungapped_t *u, const prices_t *price) noexcept nogil:
    """Whether an end is better clipped: what is clipped off would have to cost more than the bonus."""
    cdef int i
    for i in range(u.n):
        # Up to and with mismatch i, and from it on.
        if (u.positions[i] + 1) * price.match - price.each * (i + 1) + price.bonus < 0:
            return True
        if (u.m - u.positions[i]) * price.match - price.each * (u.n - i) + price.bonus < 0:
            return True
    return False


cdef bint leaves(const ungapped_t *u, planes_t reference, int64_t diagonal, int64_t band_start, int width,
                 const prices_t *price) noexcept nogil:
    """Whether another diagonal of the band fits half of the read, or avoids mismatches worth the gap.

    One too far for a gap that pays, and so far that it is another place, has been told apart by the search."""
    cdef int64_t other
    cdef mask_t own   # mismatches of the other diagonal where this one has none
    cdef mask_t both
    cdef uint64_t x
    cdef int word, n, gap
    cdef int64_t reach = max(SAME_PLACE, (price.each * u.n - price.opening) // price.extending)
    for other in range(max(band_start, diagonal - reach), min(band_start + width, diagonal + reach + 1)):
        if other == diagonal:
            continue
        n = 0
        for word in range(u.words):
            x = differences(bases_at(reference, other + 64 * word), u.bases[word]) & live(u, word)
            n += POPCOUNT(x)
            own.word[word] = x & ~u.mismatches.word[word]
            both.word[word] = x & u.mismatches.word[word]
        if 2 * n < u.m:
            return True
        gap = <int>(other - diagonal if other > diagonal else diagonal - other)
        if price.opening + gap * price.extending < price.each * u.n and avoids(u, &own, &both, gap, price):
            return True
    return False


cdef bint avoids(const ungapped_t *u, const mask_t *own, const mask_t *both, int gap,
                 const prices_t *price) noexcept nogil:
    """Whether a stretch of another diagonal, `gap` away, avoids mismatches worth a deletion, or one that begins or
    ends with `gap` inserted bases those worth an insertion."""
    cdef int i, j, run = 0, inserted, last = -1
    cdef int deletion = price.opening + gap * price.extending
    cdef int insertion = deletion + gap * price.match
    for i in range(u.n):
        if not is_set(both, u.positions[i]):
            run = max(run - count_within(own, last + 1, u.positions[i], run), 0) + 1
            last = u.positions[i]
            if price.each * run >= deletion:
                return True
        for j in range(-1, 2, 2):
            inserted = u.positions[i] + j * gap  # the first base that is not inserted
            if price.each * most_avoided(u, own, both, i, inserted, j) >= insertion:
                return True
    return False


cdef int most_avoided(const ungapped_t *u, const mask_t *own, const mask_t *both, int i, int at,
                      int step) noexcept nogil:
    """Mismatches avoided when all bases from mismatch `i` to before `at` are inserted and then, going on to the right
    (step 1) or to the left (-1), the other diagonal is followed as far as it pays."""
    cdef int n = 0, most, position
    while 0 <= i < u.n and (at - u.positions[i]) * step > 0:
        n += 1
        i += step
    most = n
    while 0 <= i < u.n:
        position = u.positions[i]
        if step > 0:
            n -= count_within(own, at, position, n + u.n)
        else:
            n -= count_within(own, position, at + 1, n + u.n)
        at = position
        if n + u.n <= most:
            break
        n += not is_set(both, position)
        most = max(most, n)
        i += step
    return most


cdef inline bint is_set(const mask_t *mask, int position) noexcept nogil:
    return mask.word[position >> 6] >> (position & 63) & 1


cdef int count_within(const mask_t *mask, int from_, int to, int enough) noexcept nogil:
    """Bits at from_..to-1, or at least `enough` of them."""
    cdef int word, n = 0
    cdef uint64_t x
    if from_ >= to:
        return 0
    for word in range(from_ >> 6, ((to - 1) >> 6) + 1):
        x = mask.word[word]
        if word == from_ >> 6:
            x &= ~<uint64_t>0 << (from_ & 63)
        if word == (to - 1) >> 6:
            x &= ~<uint64_t>0 >> (63 - ((to - 1) & 63))
        n += POPCOUNT(x)
        if n > enough:
            break
    return n
