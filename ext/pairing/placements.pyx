"""What a batch of pairs knows of the places of its mates, as they are scored: `Placements`."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memmove

from gassst._core.contigs cimport contigs_before
from gassst._core.coordinates cimport coordinate_t, place_key, place_of_key, strand_of_key
from gassst._core.layouts cimport NO_SCORE
from gassst._core.orientation cimport leads, partner_strand, partner_window, window_of, window_t

cdef enum:
    # Errors by which a place may be worse than the best one of its read and still be looked around. The other mate may
    # have as many fewer there, and no seed that says so.
    WIDER = 1


cdef struct place_t:
    uint64_t key       # place_key(read_strand, end)
    uint16_t edits
    uint8_t rescued    # the mate has been found, or looked for, in its window


cdef inline int64_t diagonal_of(const place_t *place, int64_t length) noexcept nogil:
    return place_of_key(place.key) - length


cdef class Placements:
    """Scored places of the mates of a batch, and the best concordant pair that they make so far.

    Parameters
    ----------
    mate : uint8[n]
        Of the ReadBatch.
    lengths : uint32[n]
    insert : InsertModel
    borders : int64[c + 1]
        Coordinates that part the contigs: contig i owns the places whose middle is in borders[i] .. borders[i + 1].

    Attributes
    ----------
    paired : uint16[n]
        Errors of each read in the concordant pair of least errors in all, the most where there are several of them;
        NO_SCORE where there is none. So it does not depend on the order in which places were found.
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

    def __cinit__(self, const uint8_t[::1] mate, const uint32_t[::1] lengths, insert,
                  const int64_t[::1] borders):
        self.mate, self.lengths, self.borders = mate, lengths, borders
        self.start = np.zeros(2 * mate.shape[0] + 1, np.int64)
        self.paired = np.full(mate.shape[0], NO_SCORE, np.uint16)
        self.paired_view = self.paired
        self.least = np.full(mate.shape[0], 2 * NO_SCORE, np.uint32)
        self.unguided = np.zeros(mate.shape[0], np.uint8)
        self.unguided_view = self.unguided
        self.window = window_of(insert)
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

    def add(self, const uint32_t[::1] read_strand, const coordinate_t[::1] end_position, const uint16_t[::1] edits):
        """Places within the limit, just scored: read_strand uint32[k], end_position int64[k], edits uint16[k].

        Those of a read and strand lie next to each other, all but sorted: as bands do that were scored in order.
        """
        if read_strand.shape[0]:
            self.put(&read_strand[0], &end_position[0], &edits[0], read_strand.shape[0])

    def add_bands(self, bands, search, context, int margin):
        """Add the places of bands, and bring the limits of their reads up to date.

        Parameters
        ----------
        bands : search.arrays.Bands
            Read: `read_strand`, `band_start`, `end`, `edits`. In an order as `add` asks for.
        search : search.state.SearchState
            Read: `best`. Changed: `limit`.
        context : search.context.BatchContext
            Read: `errors`.
        margin : int
            As for `tighten`.
        """
        cdef const uint32_t[::1] read_strand = bands.read_strand
        cdef const coordinate_t[::1] first = bands.band_start
        cdef const uint16_t[::1] end = bands.end
        cdef Py_ssize_t k = read_strand.shape[0], i
        cdef coordinate_t[::1] ends = np.empty(k, np.int64)
        with nogil:
            for i in range(k):
                ends[i] = first[i] + end[i] + self.lengths[read_strand[i] >> 1]
        self.add(read_strand, ends, bands.edits)
        self.tighten(read_strand, search.best, context.errors, margin, search.limit)

    cdef int put(self, const uint32_t *read_strand, const coordinate_t *end_position, const uint16_t *edits,
                 Py_ssize_t n) except -1:
        cdef Py_ssize_t k = 0, i, j
        cdef uint64_t key
        cdef place_t *new = <place_t *>malloc(n * sizeof(place_t))
        cdef Py_ssize_t *at = <Py_ssize_t *>malloc(n * sizeof(Py_ssize_t))
        try:
            if new == NULL or at == NULL:
                raise MemoryError
            self.reserve(self.n + n)
            with nogil:
                for i in range(n):
                    if not self.mate[read_strand[i] >> 1]:
                        continue
                    key = place_key(read_strand[i], end_position[i])
                    j = k
                    while j > 0 and new[j - 1].key > key:
                        new[j] = new[j - 1]
                        j -= 1
                    new[j] = place_t(key, edits[i], 0)
                    k += 1
                self.merge(new, k, at)
                for i in range(k):
                    self.pair_up(&self.places[at[i]])
        finally:
            free(new)
            free(at)
        return 0

    cdef void merge(self, const place_t *fresh, Py_ssize_t k, Py_ssize_t *at) noexcept nogil:
        """Put new places, sorted, among the old ones, from the last backwards; `at`: where they are then."""
        cdef Py_ssize_t i = self.n, j = 1, new = k, behind, n_starts = self.start.shape[0]
        self.n += k
        while new:
            behind = self.start[strand_of_key(fresh[new - 1].key) + 1]
            if i > behind:  # those of later strands
                memmove(&self.places[behind + new], &self.places[behind], (i - behind) * sizeof(place_t))
                i = behind
            if i > 0 and self.places[i - 1].key > fresh[new - 1].key:
                i -= 1
                self.places[i + new] = self.places[i]
            else:
                new -= 1
                at[new] = i + new
                self.places[i + new] = fresh[new]
        for new in range(k + 1):
            behind = <Py_ssize_t>strand_of_key(fresh[new].key) + 1 if new < k else n_starts
            while j < behind:
                self.start[j] += new
                j += 1

    def tighten(self, const uint32_t[::1] read_strand, const uint16_t[::1] best, const uint16_t[::1] errors, int margin,
                uint16_t[::1] limit):
        """Bring the limits of reads up to date to which places were added, and of their mates.

        A mate needs its best place, or the one of its concordant pair where that has more errors.

        Parameters
        ----------
        read_strand : uint32[k]
            Of the places.
        best, errors : uint16[n]
            Least errors of each read, and most that are allowed.
        margin : int
            Strata kept behind the place that a read needs.
        limit : uint16[n]
            Changed in place.
        """
        cdef Py_ssize_t i
        cdef uint32_t read
        with nogil:
            for i in range(read_strand.shape[0]):
                read = read_strand[i] >> 1
                limit[read] = self.limit_of(read, best, errors, margin)
                if self.mate[read]:
                    read = self.other(read)
                    limit[read] = self.limit_of(read, best, errors, margin)

    cdef inline uint16_t limit_of(self, uint32_t read, const uint16_t[::1] best, const uint16_t[::1] errors,
                                  int margin) noexcept nogil:
        cdef int needed = best[read]
        if needed == NO_SCORE:
            return errors[read]
        if self.mate[read] and self.paired_view[read] != NO_SCORE:
            needed = max(needed, self.paired_view[read])
        return <uint16_t>min(errors[read], needed + margin)

    cdef void partners(self, const window_t *w, const place_t *place, int64_t *lo, int64_t *hi) noexcept nogil:
        """Diagonals of the mate within the window of a place and on its contig."""
        cdef uint32_t read = strand_of_key(place.key) >> 1
        cdef int64_t own = self.lengths[read], length = self.lengths[self.other(read)]
        cdef int64_t diagonal = diagonal_of(place, own)
        cdef Py_ssize_t contig
        partner_window(w, leads(w, strand_of_key(place.key) & 1, self.mate[read] == 1), own, length, diagonal, lo, hi)
        contig = contigs_before(&self.borders[0], self.borders.shape[0], diagonal + (own >> 1)) - 1
        contig = min(max(contig, 0), self.borders.shape[0] - 2)
        lo[0] = max(lo[0], self.borders[contig] - (length >> 1))
        hi[0] = min(hi[0], self.borders[contig + 1] - 1 - (length >> 1))

    cdef inline uint32_t other(self, uint32_t read) noexcept nogil:
        return read + 1 if self.mate[read] == 1 else read - 1

    cdef inline uint32_t other_strand(self, const place_t *place) noexcept nogil:
        """`read_strand` of the mate in a concordant pair."""
        return self.other(strand_of_key(place.key) >> 1) << 1 | partner_strand(&self.window, strand_of_key(place.key) & 1)

    cdef void pair_up(self, place_t *place) noexcept nogil:
        cdef uint32_t read = strand_of_key(place.key) >> 1, other = self.other(read), run = self.other_strand(place)
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

    def settle(self, search, state, pairs, context, bint guided):
        """Close the pairs of which rivals, as good as their concordant places, are known well enough.

        Parameters
        ----------
        search : search.state.SearchState
            Read: `capped`.
        state : search.state.PairState
            Read: `looked_row`. Changed: `open`, `unsettled`.
        pairs : search.context.PairContext
            Read: `missed`, `length_rank`.
        context : search.context.BatchContext
            Read: of its plan `preset.pair_missed`.
        guided : bool
            Mates were looked for around all places, but for reads that are `unguided`.
        """
        cdef double most = context.plan.preset.pair_missed
        cdef const int64_t[::1] before = state.unsettled
        cdef const uint8_t[::1] capped = search.capped
        cdef uint8_t[::1] is_open = state.open.view(np.uint8)
        cdef const uint8_t[::1] looked_row = state.looked_row
        cdef const double[:, :, ::1] missed = pairs.missed
        cdef const int64_t[::1] rank = pairs.length_rank
        cdef Py_ssize_t i, k = 0
        cdef int64_t read, errors, errors_of_other
        cdef double own, other, unseen
        left_array = np.empty(before.shape[0], np.int64)
        cdef int64_t[::1] left = left_array
        with nogil:
            for i in range(before.shape[0]):
                read = before[i]
                if not is_open[read]:
                    continue
                left[k] = read
                k += 1
                if self.paired_view[read] == NO_SCORE or self.paired_view[read + 1] == NO_SCORE:
                    continue
                errors, errors_of_other = self.paired_view[read], self.paired_view[read + 1]
                own = 1.0 if capped[read] else self.share_missed(missed, looked_row, rank, read, errors)
                other = (1.0 if capped[read + 1]
                         else self.share_missed(missed, looked_row, rank, read + 1, errors_of_other))
                unseen = own + other
                if guided:
                    own = 1.0 if self.unguided_view[read] else own
                    other = 1.0 if self.unguided_view[read + 1] else other
                    unseen = min(unseen, own * other)
                if unseen <= most:
                    is_open[read] = is_open[read + 1] = 0
        state.unsettled = left_array[:k].copy()

    cdef inline double share_missed(self, const double[:, :, ::1] missed, const uint8_t[::1] looked_row,
                                    const int64_t[::1] rank, int64_t read, int64_t errors) noexcept nogil:
        """Share of places with so many errors that the seeds of a read looked up so far miss."""
        return missed[looked_row[read], rank[self.lengths[read]], min(errors, missed.shape[2] - 1)]

    def windows(self, const uint32_t[::1] reads, const uint16_t[::1] best, int most, int shift, int64_t slack):
        """Buckets in which the mates of reads' places may lie: of their best ones, and of those no worse than the
        place in the concordant pair, as that pair's rivals may be among them. Places with WIDER more errors belong to
        them where that makes no more than `most`. No place is looked around twice, nor where a mate has been found,
        and none beyond the ends of its contig.

        Parameters
        ----------
        reads : uint32[k]
            Whose mates are to be looked for.
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
        read_strand : uint32[b], bucket : uint32[b]
            Of the mates; neighbouring places may name a bucket twice.
        """
        cdef Py_ssize_t n = reads.shape[0], i, k = 0
        cdef uint32_t r
        cdef window_t w = self.window
        w.low -= slack
        w.high += slack
        cdef uint16_t[::1] limit = np.empty(n, np.uint16)
        cdef uint8_t[::1] guides = np.zeros(n, np.uint8)
        with nogil:
            for i in range(n):
                r = reads[i]
                if self.mate[r] and best[r] != NO_SCORE:
                    limit[i] = best[r] if self.paired_view[r] == NO_SCORE else max(best[r], self.paired_view[r])
                    guides[i] = self.places_within(r, limit[i]) <= most
                    self.unguided_view[r] |= not guides[i]
                    if self.places_within(r, limit[i] + WIDER) <= most:
                        limit[i] += WIDER
                    if guides[i]:
                        k += self.around(r, limit[i], &w, shift, NULL, NULL)
        strands_array, buckets_array = np.empty(k + 1, np.uint32), np.empty(k + 1, np.uint32)
        cdef uint32_t[::1] strands = strands_array, buckets = buckets_array
        with nogil:
            k = 0
            for i in range(n):
                if guides[i]:
                    k += self.around(reads[i], limit[i], &w, shift, &strands[k], &buckets[k])
        return strands_array[:k], buckets_array[:k]

    cdef int places_within(self, uint32_t read, int limit) noexcept nogil:
        cdef Py_ssize_t i
        cdef int found = 0
        for i in range(self.start[2 * read], self.start[2 * read + 2]):
            found += self.places[i].edits <= limit
        return found

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
