"""Pairs of reads: candidates of mates that lie near each other, rescue of a mate, choice of the best pair.

A pair is *concordant* when its mates lie on one contig, on the strands that the orientation of the library asks
for, and its template length within the window. One mate *leads*: the template begins with its first base on the reference.
"""

import numpy as np

from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc

from gassst._mix cimport mix

cdef extern from "candidates.h" nogil:
    void sort_keys(uint64_t *a, uint64_t *scratch, size_t n)

DEF NONE = 0xFFFF
DEF REGION = 5          # log2 of the buckets that a hash takes for one
DEF SAME_PLACE = 10  # diagonals, as in select.pyx
cdef enum:
    FR = 0
    RF = 1
    FF = 2

cdef struct window_t:
    int orientation
    int64_t low
    int64_t high


cdef inline bint leads(const window_t *w, bint reverse, bint is_first) noexcept nogil:
    if w.orientation == FR:
        return not reverse
    if w.orientation == RF:
        return reverse
    return reverse != is_first


cdef inline bint partner_strand(const window_t *w, bint reverse) noexcept nogil:
    return reverse if w.orientation == FF else not reverse


cdef inline void partner_window(const window_t *w, bint leading, int64_t own, int64_t other, int64_t diagonal,
                                int64_t *lo, int64_t *hi) noexcept nogil:
    """Diagonals of the mate of `other` bases in a concordant pair with one of `own` bases on `diagonal`."""
    if leading:
        lo[0], hi[0] = diagonal + w.low - other, diagonal + w.high - other
    else:
        lo[0], hi[0] = diagonal + own - w.high, diagonal + own - w.low


cdef inline int64_t template_length(bint leading, int64_t own, int64_t other, int64_t diagonal,
                                    int64_t other_diagonal) noexcept nogil:
    return other_diagonal + other - diagonal if leading else diagonal + own - other_diagonal


def near(const uint32_t[::1] read_strand, const uint32_t[::1] diagonal, const int64_t[::1] start,
         const uint32_t[::1] active, const uint8_t[::1] mate, const uint8_t[::1] flip,
         const uint32_t[::1] lengths, int orientation, int64_t low, int64_t high, int64_t slack):
    """Anchors that have an anchor of the mate within the window.

    Parameters
    ----------
    read_strand, diagonal, start
        Anchors of a stage (`_candidates.gather`): by read, canonical strand, diagonal.
    active : uint32[a]
        Reads of `start`.
    mate, flip, lengths
        Of the batch.
    orientation, low, high
        Of an InsertModel.
    slack : int
        Diagonals by which gaps may move an alignment away from its seed.

    Returns
    -------
    uint8[c]
        1 where the mate is near.
    """
    cdef Py_ssize_t n = read_strand.shape[0], i, a, c
    cdef window_t w = window_t(orientation, low - slack, high + slack)
    cdef int64_t bounds[2][3]  # of both mates: where the canonical strands begin and end
    cdef int strand
    cdef uint32_t read
    out_array = np.zeros(n, np.uint8)
    cdef uint8_t[::1] out = out_array
    with nogil:
        for i in range(active.shape[0] - 1):
            read = active[i]
            if mate[read] != 1 or active[i + 1] != read + 1:
                continue
            if start[i] == start[i + 1] or start[i + 1] == start[i + 2]:
                continue
            for a in range(2):
                bounds[a][0], bounds[a][2] = start[i + a], start[i + a + 1]
                bounds[a][1] = bounds[a][0]
                while bounds[a][1] < bounds[a][2] and (read_strand[bounds[a][1]] & 1) == flip[read + a]:
                    bounds[a][1] += 1
            for strand in range(2):
                a = strand ^ flip[read]
                c = partner_strand(&w, strand) ^ flip[read + 1]
                mark_near(&w, strand, lengths[read], lengths[read + 1], &diagonal[0],
                          bounds[0][a], bounds[0][a + 1], bounds[1][c], bounds[1][c + 1], &out[0])
    return out_array


cdef void mark_near(const window_t *w, bint reverse, int64_t own, int64_t other, const uint32_t *diagonal,
                    int64_t a, int64_t a_end, int64_t b, int64_t b_end, uint8_t *out) noexcept nogil:
    """Two sorted runs, one window that moves along: each anchor is looked at and marked once."""
    cdef int64_t lo, hi, marked = b
    cdef bint leading = leads(w, reverse, True)
    while a < a_end and b < b_end:
        partner_window(w, leading, own, other, diagonal[a], &lo, &hi)
        while b < b_end and <int64_t>diagonal[b] < lo:
            b += 1
        if b < b_end and <int64_t>diagonal[b] <= hi:
            out[a] = 1
            marked = max(marked, b)
            while marked < b_end and <int64_t>diagonal[marked] <= hi:
                out[marked] = 1
                marked += 1
        a += 1


cdef inline Py_ssize_t end_of_bucket(const uint8_t[::1] chosen, const uint32_t[::1] read_strand,
                                     const uint32_t[::1] diagonal, const uint16_t[::1] length, int shift, Py_ssize_t i,
                                     Py_ssize_t end, uint64_t *support) noexcept nogil:
    """The first anchor behind i..end-1 that is not in the bucket of anchor i; `support`: bases of its chosen ones."""
    cdef Py_ssize_t j = i
    support[0] = 0
    while j < end and read_strand[j] == read_strand[i] and diagonal[j] >> shift == diagonal[i] >> shift:
        support[0] += length[j] * chosen[j]
        j += 1
    return j


def best_buckets(const uint8_t[::1] chosen, const uint32_t[::1] read_strand, const uint32_t[::1] diagonal,
                 const uint16_t[::1] length, const int64_t[::1] start, const uint32_t[::1] active,
                 const uint8_t[::1] limited, const uint8_t[::1] mate, const uint64_t[::1] digest, int shift, int most):
    """Chosen anchors, of limited reads those in the `most` best supported buckets alone.

    Of buckets with equal support those are taken that a hash of the pair and of their place prefers; it is the same
    for buckets within a thousand bases, so that mates keep each other.

    Parameters
    ----------
    chosen : uint8[c]
    read_strand, diagonal : uint32[c], length : uint16[c], start : int64[a + 1]
        Anchors (`_candidates.gather`).
    active : uint32[a]
    limited : uint8[n]
        1 for the reads of pairs for which this holds.
    mate : uint8[n], digest : uint64[n]
    shift : int
        log2 of the bucket span.
    most : int

    Returns
    -------
    uint8[c]
    """
    cdef Py_ssize_t i, j, k, n, a, widest = 0
    cdef uint32_t r
    cdef uint64_t support, pair, key, last
    for a in range(active.shape[0]):
        widest = max(widest, start[a + 1] - start[a])
    out_array = np.array(chosen)
    keys_array, scratch_array = np.empty(widest, np.uint64), np.empty(widest, np.uint64)
    cdef uint8_t[::1] out = out_array
    cdef uint64_t[::1] keys = keys_array, scratch = scratch_array
    with nogil:
        for a in range(active.shape[0]):
            r = active[a]
            if start[a + 1] - start[a] <= most or not limited[r]:
                continue
            pair = digest[r] ^ digest[r + 1 if mate[r] == 1 else r - 1]
            n, i = 0, start[a]
            while i < start[a + 1]:
                j = end_of_bucket(chosen, read_strand, diagonal, length, shift, i, start[a + 1], &support)
                if support:
                    keys[n] = bucket_key(support, pair, diagonal[i] >> shift, n)
                    n += 1
                i = j
            if n <= most:
                continue
            sort_keys(&keys[0], &scratch[0], n)
            last = keys[most - 1]
            n, i = 0, start[a]
            while i < start[a + 1]:
                j = end_of_bucket(chosen, read_strand, diagonal, length, shift, i, start[a + 1], &support)
                if support:
                    key = bucket_key(support, pair, diagonal[i] >> shift, n)
                    n += 1
                    for k in range(i, j):
                        out[k] = chosen[k] & (key <= last)
                i = j
    return out_array


cdef inline uint64_t bucket_key(uint64_t support, uint64_t pair, uint32_t bucket, Py_ssize_t i) noexcept nogil:
    """Ascending from the best: by support, by the hash, by order."""
    return (0x3fff - min(support, 0x3fff)) << 50 | (mix(pair ^ bucket >> REGION) & 0x3fffffff) << 20 | min(i, 0xfffff)


def few(const uint8_t[::1] near, const int64_t[::1] start, const uint32_t[::1] active, const uint8_t[::1] mate,
        int most):
    """Reads of pairs both mates of which have at most so many anchors that are near.

    Parameters
    ----------
    near : uint8[c], start : int64[a + 1], active : uint32[a]
        Anchors and the reads that they are of; the mates of a pair are both active.
    mate : uint8[n]
    most : int

    Returns
    -------
    uint8[n]
    """
    cdef Py_ssize_t i, j
    cdef int found = 0
    out_array = np.zeros(mate.shape[0], np.uint8)
    cdef uint8_t[::1] out = out_array
    with nogil:
        for i in range(active.shape[0]):
            found = 0
            for j in range(start[i], start[i + 1]):
                found += near[j]
            out[active[i]] = found <= most
        for i in range(mate.shape[0] - 1):
            if mate[i] == 1:
                out[i] = out[i + 1] = out[i] & out[i + 1]
    return out_array


def of_reads(const uint32_t[::1] read_strand, const uint8_t[::1] near, const uint8_t[::1] reads, bint is_near):
    """uint8[c]: anchors that are near, or are not, of the reads that are 1 in `reads` (uint8[n])."""
    cdef Py_ssize_t i, c = read_strand.shape[0]
    out_array = np.empty(c, np.uint8)
    cdef uint8_t[::1] out = out_array
    with nogil:
        for i in range(c):
            out[i] = (near[i] == is_near) & reads[read_strand[i] >> 1]
    return out_array


def fresh(const uint32_t[::1] read_strand, const uint32_t[::1] bucket, *known):
    """Distinct buckets among these that are in none of the known arrays.

    Parameters
    ----------
    read_strand : uint32[k], bucket : uint32[k]
    *known : uint64[]
        `read_strand << 32 | bucket`, sorted.

    Returns
    -------
    read_strand : uint32[n], bucket : uint32[n], keys : uint64[n]
        Sorted.
    """
    cdef Py_ssize_t k = read_strand.shape[0], i, j, n = 0, m
    keys_array, scratch_array = np.empty(k, np.uint64), np.empty(k, np.uint64)
    cdef uint64_t[::1] keys = keys_array, scratch = scratch_array
    cdef const uint64_t[::1] some
    cdef uint64_t last = ~<uint64_t>0
    if k:
        with nogil:
            for i in range(k):
                keys[i] = <uint64_t>read_strand[i] << 32 | bucket[i]
            sort_keys(&keys[0], &scratch[0], k)
            for i in range(k):
                if keys[i] != last:
                    last = keys[n] = keys[i]
                    n += 1
    for some in known:
        with nogil:
            j, m = 0, 0
            for i in range(n):
                while j < some.shape[0] and some[j] < keys[i]:
                    j += 1
                if j == some.shape[0] or some[j] != keys[i]:
                    keys[m] = keys[i]
                    m += 1
            n = m
    keys_array = keys_array[:n].copy()
    return (keys_array >> np.uint64(32)).astype(np.uint32), keys_array.astype(np.uint32), keys_array


cdef struct place_t:
    uint64_t key       # read_strand << 32 | end
    uint16_t edits
    uint8_t rescued    # the mate has been found, or looked for, in its window


cdef inline int64_t diagonal_of(const place_t *place, int64_t length) noexcept nogil:
    return <int64_t>(place.key & <uint64_t>0xffffffff) - length


cdef class Ledger:
    """Scored places of the mates of a batch, and the best concordant pair that they make so far.

    Parameters
    ----------
    mate : uint8[n]
        Of the ReadBatch.
    lengths : uint32[n]
    orientation, low, high
        Of an InsertModel.
    borders : int64[c + 1]
        Coordinates that part the contigs: contig i owns the places whose middle is in borders[i] .. borders[i + 1].

    Attributes
    ----------
    paired : uint16[n]
        Errors of each read in the concordant pair of least errors in all, the most where there are several of them;
        65535 where there is none. So it does not depend on the order in which places were found.
    unguided : uint8[n]
        1 for reads with so many places that their mates were not looked for around them.
    """

    cdef const uint8_t[::1] mate
    cdef const uint32_t[::1] lengths
    cdef const int64_t[::1] borders
    cdef int64_t[::1] start   # of the places of each read and strand, which are sorted
    cdef uint16_t[::1] paired_view
    cdef uint32_t[::1] least  # errors in all of the best concordant pair, at its first mate
    cdef readonly object paired, unguided
    cdef uint8_t[::1] unguided_view
    cdef place_t *places
    cdef Py_ssize_t n, room
    cdef window_t window

    def __cinit__(self, const uint8_t[::1] mate, const uint32_t[::1] lengths, int orientation, int64_t low,
                  int64_t high, const int64_t[::1] borders):
        self.mate, self.lengths, self.borders = mate, lengths, borders
        self.start = np.zeros(2 * mate.shape[0] + 1, np.int64)
        self.paired = np.full(mate.shape[0], NONE, np.uint16)
        self.paired_view = self.paired
        self.least = np.full(mate.shape[0], 2 * NONE, np.uint32)
        self.unguided = np.zeros(mate.shape[0], np.uint8)
        self.unguided_view = self.unguided
        self.window = window_t(orientation, low, high)
        self.places = NULL
        self.n = self.room = 0

    def __dealloc__(self):
        free(self.places)

    cdef int reserve(self, Py_ssize_t n) except -1:
        cdef void *p
        if n > self.room:
            p = realloc(self.places, (n + n // 2) * sizeof(place_t))
            if p == NULL:
                raise MemoryError
            self.places, self.room = <place_t *>p, n + n // 2
        return 0

    def add(self, read_strand, end_position, edits):
        """Places within the limit, just scored: read_strand uint32[k], end_position uint32[k], edits uint16[k]."""
        keys_array = read_strand.astype(np.uint64) << np.uint64(32) | end_position
        order_array = np.argsort(keys_array, kind="stable")
        order_array = order_array[np.take(self.mate, keys_array[order_array] >> np.uint64(33)) > 0]
        cdef const uint64_t[::1] keys = keys_array[order_array]
        cdef const uint16_t[::1] errors = edits[order_array]
        cdef Py_ssize_t k = keys.shape[0], i
        cdef int64_t[::1] at = np.empty(k, np.int64)
        self.reserve(self.n + k)
        with nogil:
            self.merge(keys, errors, at)
            for i in range(k):
                self.pair_up(&self.places[at[i]])

    cdef void merge(self, const uint64_t[::1] keys, const uint16_t[::1] edits, int64_t[::1] at) noexcept nogil:
        """Put new places, sorted, among the old ones, from the last backwards; `at`: where they are then."""
        cdef Py_ssize_t k = keys.shape[0], i = self.n, j, new = k
        self.n += k
        while new:
            if i > 0 and self.places[i - 1].key > keys[new - 1]:
                i -= 1
                self.places[i + new] = self.places[i]
            else:
                new -= 1
                at[new] = i + new
                self.places[i + new] = place_t(keys[new], edits[new], 0)
        for j in range(self.start.shape[0]):
            while new < k and <Py_ssize_t>(keys[new] >> 32) < j:
                new += 1
            self.start[j] += new

    cdef void partners(self, const window_t *w, const place_t *place, int64_t *lo, int64_t *hi) noexcept nogil:
        """Diagonals of the mate within the window of a place and on its contig."""
        cdef uint32_t read = <uint32_t>(place.key >> 33)
        cdef int64_t own = self.lengths[read], length = self.lengths[self.other(read)]
        cdef int64_t diagonal = diagonal_of(place, own)
        cdef Py_ssize_t first = 0, last = self.borders.shape[0] - 2, mid
        partner_window(w, leads(w, place.key >> 32 & 1, self.mate[read] == 1), own, length, diagonal, lo, hi)
        while first < last:
            mid = (first + last + 1) >> 1
            if self.borders[mid] <= diagonal + (own >> 1):
                first = mid
            else:
                last = mid - 1
        lo[0] = max(lo[0], self.borders[first] - (length >> 1))
        hi[0] = min(hi[0], self.borders[first + 1] - 1 - (length >> 1))

    cdef inline uint32_t other(self, uint32_t read) noexcept nogil:
        return read + 1 if self.mate[read] == 1 else read - 1

    cdef inline uint32_t other_strand(self, const place_t *place) noexcept nogil:
        """`read_strand` of the mate in a concordant pair."""
        return self.other(<uint32_t>(place.key >> 33)) << 1 | partner_strand(&self.window, place.key >> 32 & 1)

    cdef void pair_up(self, place_t *place) noexcept nogil:
        cdef uint32_t read = <uint32_t>(place.key >> 33), other = self.other(read), run = self.other_strand(place)
        cdef uint32_t *least = &self.least[min(read, other)]
        cdef uint32_t errors
        cdef Py_ssize_t i, end
        cdef int64_t lo, hi, length = self.lengths[other]
        self.partners(&self.window, place, &lo, &hi)
        i, end = self.first_from(run, lo, length), self.start[run + 1]
        while i < end and diagonal_of(&self.places[i], length) <= hi:
            place.rescued = self.places[i].rescued = 1
            errors = <uint32_t>place.edits + self.places[i].edits
            if errors < least[0]:
                least[0] = errors
                self.paired_view[read], self.paired_view[other] = place.edits, self.places[i].edits
            elif errors == least[0]:
                self.paired_view[read] = max(self.paired_view[read], place.edits)
                self.paired_view[other] = max(self.paired_view[other], self.places[i].edits)
            i += 1

    cdef Py_ssize_t first_from(self, uint32_t run, int64_t diagonal, int64_t length) noexcept nogil:
        """The first of the places of a read and strand from this diagonal on."""
        cdef Py_ssize_t i = self.start[run], end = self.start[run + 1], mid
        while i < end:
            mid = (i + end) >> 1
            if diagonal_of(&self.places[mid], length) < diagonal:
                i = mid + 1
            else:
                end = mid
        return i

    def alone(self, const int64_t[::1] first, int margin):
        """Whether all concordant pairs of no more than `margin` errors above the least lie at one place.

        Parameters
        ----------
        first : int64[k]
            First mates that have a concordant pair.

        Returns
        -------
        uint8[k]
        """
        cdef Py_ssize_t i
        out_array = np.zeros(first.shape[0], np.uint8)
        cdef uint8_t[::1] out = out_array
        with nogil:
            for i in range(first.shape[0]):
                out[i] = self.is_alone(<uint32_t>first[i], margin)
        return out_array

    cdef bint is_alone(self, uint32_t read, int margin) noexcept nogil:
        cdef Py_ssize_t i, j
        cdef const place_t *place
        cdef uint32_t run, most = self.least[read] + margin
        cdef uint64_t key, first[2], last[2]  # of the places of either mate
        cdef int64_t lo, hi, length = self.lengths[read + 1]
        first[0] = first[1] = ~<uint64_t>0
        last[0] = last[1] = 0
        for i in range(self.start[2 * read], self.start[2 * read + 2]):
            place = &self.places[i]
            if place.edits > most:
                continue
            run = self.other_strand(place)
            self.partners(&self.window, place, &lo, &hi)
            j = self.first_from(run, lo, length)
            while j < self.start[run + 1] and diagonal_of(&self.places[j], length) <= hi:
                if <uint32_t>place.edits + self.places[j].edits <= most:
                    key = self.places[j].key
                    first[0], first[1] = min(first[0], place.key), min(first[1], key)
                    last[0], last[1] = max(last[0], place.key), max(last[1], key)
                j += 1
        return last[0] - first[0] <= SAME_PLACE and last[1] - first[1] <= SAME_PLACE

    def windows(self, const uint8_t[::1] wanted, const uint16_t[::1] best, int most, int shift, int64_t slack):
        """Buckets in which the mates of a read's places may lie: of its best ones, and of those no worse than its
        place in the concordant pair, as that pair's rivals may be among them. No place is looked around twice, nor
        where a mate has been found, and none beyond the ends of its contig.

        Parameters
        ----------
        wanted : uint8[n]
            1 for the reads whose mates are to be looked for.
        best : uint16[n]
            Least errors of each read.
        most : int
            Reads with more such places are passed over; they are 1 in `unguided` from then on.
        shift : int
            log2 of the bucket span.
        slack : int
            Diagonals by which the window is wider on both sides.

        Returns
        -------
        read_strand : uint32[k], bucket : uint32[k]
            Of the mates; neighbouring places may name a bucket twice.
        """
        cdef Py_ssize_t n = self.mate.shape[0], r, k = 0
        cdef window_t w = self.window
        w.low -= slack
        w.high += slack
        cdef uint16_t[::1] limit = np.zeros(n, np.uint16)
        cdef uint8_t[::1] guides = np.zeros(n, np.uint8)
        with nogil:
            for r in range(n):
                if self.mate[r] and wanted[r] and best[r] != NONE:
                    limit[r] = best[r] if self.paired_view[r] == NONE else max(best[r], self.paired_view[r])
                    guides[r] = self.is_guide(<uint32_t>r, limit[r], most)
            for r in range(n):
                if guides[r]:
                    k += self.around(<uint32_t>r, limit[r], &w, shift, NULL, NULL)
        strands_array, buckets_array = np.empty(k + 1, np.uint32), np.empty(k + 1, np.uint32)
        cdef uint32_t[::1] strands = strands_array, buckets = buckets_array
        with nogil:
            k = 0
            for r in range(n):
                if guides[r]:
                    k += self.around(<uint32_t>r, limit[r], &w, shift, &strands[k], &buckets[k])
        return strands_array[:k], buckets_array[:k]

    cdef bint is_guide(self, uint32_t read, uint16_t limit, int most) noexcept nogil:
        """Whether a read has few enough places within the limit to look around them."""
        cdef Py_ssize_t i
        cdef int found = 0
        for i in range(self.start[2 * read], self.start[2 * read + 2]):
            found += self.places[i].edits <= limit
        self.unguided_view[read] |= found > most
        return found <= most

    cdef Py_ssize_t around(self, uint32_t read, uint16_t limit, const window_t *w, int shift, uint32_t *read_strand,
                           uint32_t *bucket) noexcept nogil:
        """How many buckets there are around the places of a read; unless NULL they are listed, and the places done."""
        cdef Py_ssize_t i, k = 0
        cdef int64_t lo, hi, b
        cdef place_t *place
        for i in range(self.start[2 * read], self.start[2 * read + 2]):
            place = &self.places[i]
            if place.edits > limit or place.rescued:
                continue
            self.partners(w, place, &lo, &hi)
            lo = max(lo, 0)
            if read_strand != NULL:
                place.rescued = 1
            if hi < lo:
                continue
            if read_strand != NULL:
                for b in range(lo >> shift, (hi >> shift) + 1):
                    read_strand[k + b - (lo >> shift)] = self.other_strand(place)
                    bucket[k + b - (lo >> shift)] = <uint32_t>b
            k += (hi >> shift) - (lo >> shift) + 1
        return k


cdef struct option_t:
    int32_t a
    int32_t b
    double cost    # Phred
    double weight


cdef struct options_t:
    option_t *all
    Py_ssize_t n, room


cdef int add_option(options_t *o, int32_t a, int32_t b, double cost, double weight) noexcept nogil:
    cdef void *p
    if o.n == o.room:
        p = realloc(o.all, 2 * (o.room + 32) * sizeof(option_t))
        if p == NULL:
            return -1
        o.all, o.room = <option_t *>p, 2 * (o.room + 32)
    o.all[o.n] = option_t(a, b, cost, weight)
    o.n += 1
    return 0


DEF EDIT_PHRED = 18.0  # of an error, where the places of a pair are compared: near what 2 % errors tell
DEF SAME_COST = 0.01


def choose(const uint32_t[::1] read_strand, const uint32_t[::1] end_position, const uint16_t[::1] edits,
           const int32_t[::1] contig, const int64_t[::1] start, const uint8_t[::1] mate, const uint8_t[::1] flip,
           const uint32_t[::1] lengths, const uint64_t[::1] digest, const double[::1] odds, insert,
           double unpaired_phred):
    """The best pair of places of every pair of reads.

    Parameters
    ----------
    read_strand : uint32[h], end_position : uint32[h], edits : uint16[h]
        Distinct places grouped by read, the primary of the read alone first.
    contig : int32[h]
        On which each lies.
    start : int64[n + 1]
    mate, flip, lengths, digest
        Of the batch; `digest` draws among equally good pairs.
    odds : float64[n]
        Of each read: how much less likely a place becomes with one error more.
    insert : InsertModel
    unpaired_phred : float
        What mates that are not concordant cost.

    Returns
    -------
    primary : int64[n]
        Row of the place chosen for every read; -1 for reads that have none.
    proper : uint8[n]
        1 for mates of a concordant pair.
    wrong : float64[n]
        Weight of all pairs of places without the chosen one, relative to those with it; 0 for reads whose mate
        has no place, which are to be judged alone: their `proper` is 0 and `decided` as well.
    decided : uint8[n]
        1 where both mates have places, so that `wrong` speaks of the pair.
    """
    cdef Py_ssize_t n = mate.shape[0], r, i, widest = 1
    cdef window_t w = window_t(insert.code, insert.low, insert.high)
    cdef double mean = insert.mean, sd = insert.sd
    cdef options_t options = options_t(NULL, 0, 0)
    primary_array = np.full(n, -1, np.int64)
    proper_array, decided_array = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    wrong_array = np.zeros(n, np.float64)
    cdef int64_t[::1] primary = primary_array
    cdef uint8_t[::1] proper = proper_array, decided = decided_array
    cdef double[::1] wrong = wrong_array
    for r in range(n):
        widest = max(widest, start[r + 1] - start[r])
        if start[r] < start[r + 1]:
            primary[r] = start[r]
    cdef uint64_t *keys = <uint64_t *>malloc(3 * widest * 8)
    cdef int status = 0
    try:
        if keys == NULL:
            raise MemoryError
        with nogil:
            for r in range(n - 1):
                if mate[r] != 1 or start[r] == start[r + 1] or start[r + 1] == start[r + 2]:
                    continue
                decided[r] = decided[r + 1] = 1
                options.n = 0
                status = list_pairs(&read_strand[0], &end_position[0], &edits[0], &contig[0], &start[r], flip[r],
                                    flip[r + 1], lengths[r], lengths[r + 1], odds[r], odds[r + 1], &w, mean, sd, keys, widest,
                                    &options)
                if status:
                    break
                proper[r] = proper[r + 1] = judge(&end_position[0], &edits[0], &start[r], &odds[r], &options,
                                                  unpaired_phred, digest[r] + digest[r + 1], &primary[r], &wrong[r])
        if status:
            raise MemoryError
    finally:
        free(keys)
        free(options.all)
    return primary_array, proper_array, wrong_array, decided_array


cdef inline double power(double base, int exponent) noexcept nogil:
    cdef double x = 1.0
    while exponent > 0:
        if exponent & 1:
            x *= base
        base *= base
        exponent >>= 1
    return x


cdef int list_pairs(const uint32_t *read_strand, const uint32_t *end_position, const uint16_t *edits,
                    const int32_t *contig, const int64_t *start, bint flip_a, bint flip_b, int64_t m_a, int64_t m_b, double odds_a,
                    double odds_b, const window_t *w, double mean, double sd, uint64_t *keys, Py_ssize_t widest,
                    options_t *options) noexcept nogil:
    """All concordant pairs of places of two mates, in the order of the first mate's canonical orientation."""
    cdef uint64_t *b_keys = keys + widest
    cdef Py_ssize_t n_a = start[1] - start[0], n_b = start[2] - start[1], i, j, from_b[2]
    cdef int64_t row, other, lo, hi, d
    cdef int best_a = edits[start[0]], best_b = edits[start[1]]
    cdef bint reverse, strand, leading
    cdef double z, weight
    for i in range(n_a):
        row = start[0] + i
        best_a = min(best_a, edits[row])
        keys[i] = <uint64_t>((read_strand[row] & 1) ^ flip_a) << 63 | <uint64_t>end_position[row] << 31 | <uint64_t>i
    sort_keys(keys, keys + 2 * widest, n_a)
    for i in range(n_b):
        row = start[1] + i
        best_b = min(best_b, edits[row])
        b_keys[i] = <uint64_t>(read_strand[row] & 1) << 63 | <uint64_t>end_position[row] << 31 | <uint64_t>i
    sort_keys(b_keys, keys + 2 * widest, n_b)
    from_b[0], from_b[1] = 0, 0
    while from_b[1] < n_b and b_keys[from_b[1]] >> 63 == 0:
        from_b[1] += 1
    for i in range(n_a):
        row = start[0] + <int64_t>(keys[i] & 0x7fffffff)
        reverse = read_strand[row] & 1
        strand = partner_strand(w, reverse)
        leading = leads(w, reverse, True)
        partner_window(w, leading, m_a, m_b, <int64_t>end_position[row] - m_a, &lo, &hi)
        lo, hi = lo + m_b, hi + m_b
        j = from_b[strand]
        while j < n_b and <bint>(b_keys[j] >> 63) == strand:
            other = start[1] + <int64_t>(b_keys[j] & 0x7fffffff)
            if <int64_t>end_position[other] > hi:
                break
            if <int64_t>end_position[other] < lo:
                # Ascending with `i` on one strand: what lies left of this window lies left of the next one.
                from_b[strand] = j + 1
                j += 1
                continue
            j += 1
            if contig[other] != contig[row]:
                continue
            d = template_length(leading, m_a, m_b, <int64_t>end_position[row] - m_a,
                                <int64_t>end_position[other] - m_b)
            z = (d - mean) / sd
            weight = power(odds_a, edits[row] - best_a) * power(odds_b, edits[other] - best_b) * exp(-0.5 * z * z)
            if add_option(options, <int32_t>(row - start[0]), <int32_t>(other - start[1]),
                          EDIT_PHRED * (edits[row] + edits[other]) + 2.171472409516259 * z * z, weight):
                return -1
    return 0


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    """As the digest of a read mixes its words (`orient`)."""
    x = (x ^ (x >> 32)) * <uint64_t>0xd6e8feb86659fd93
    x = (x ^ (x >> 32)) * <uint64_t>0xd6e8feb86659fd93
    return x ^ (x >> 32)


cdef bint judge(const uint32_t *end_position, const uint16_t *edits, const int64_t *start, const double *odds,
                const options_t *options, double unpaired_phred, uint64_t digest, int64_t *primary,
                double *wrong) noexcept nogil:
    """Chooses; returns whether the chosen places are concordant: also where each is taken for itself, because the
    template length is so far from the mean that chance is the better explanation. All arrays point to the first
    mate's entry.

    Among equals the draw goes by the bases of both mates and the places: which mate is first does not matter.
    """
    cdef double least, sum_a = 0, sum_b = 0, total = 0, with_a, with_b, unpaired, u
    cdef int best_a = edits[start[0]], best_b = edits[start[1]]
    cdef Py_ssize_t i, chosen = -1
    cdef bint concordant = False
    cdef int64_t row
    cdef uint64_t lot, drawn = 0
    for row in range(start[0], start[1]):
        best_a = min(best_a, edits[row])
    for row in range(start[1], start[2]):
        best_b = min(best_b, edits[row])
    for row in range(start[0], start[1]):
        sum_a += power(odds[0], edits[row] - best_a)
    for row in range(start[1], start[2]):
        sum_b += power(odds[1], edits[row] - best_b)
    u = exp(-0.23025850929940458 * unpaired_phred)
    unpaired = EDIT_PHRED * (best_a + best_b) + unpaired_phred
    least = unpaired
    for i in range(options.n):
        total += options.all[i].weight
        least = min(least, options.all[i].cost)
    for i in range(options.n):
        if options.all[i].cost <= least + SAME_COST:
            lot = mixed(digest + mixed(end_position[start[0] + options.all[i].a])
                        + mixed(end_position[start[1] + options.all[i].b]))
            if chosen < 0 or lot < drawn:
                chosen, drawn = i, lot
    if chosen >= 0:
        primary[0] = start[0] + options.all[chosen].a
        primary[1] = start[1] + options.all[chosen].b
    with_a = u * power(odds[0], edits[primary[0]] - best_a) * sum_b
    with_b = u * power(odds[1], edits[primary[1]] - best_b) * sum_a
    total += u * sum_a * sum_b
    for i in range(options.n):
        if options.all[i].a == primary[0] - start[0]:
            with_a += options.all[i].weight
            concordant = concordant or options.all[i].b == primary[1] - start[1]
        if options.all[i].b == primary[1] - start[1]:
            with_b += options.all[i].weight
    wrong[0] = max(total - with_a, 0) / with_a
    wrong[1] = max(total - with_b, 0) / with_b
    return concordant
