"""Seeds of a batch of reads, looked up in the seed index, become candidates.

Passes over the batch, each without the GIL and each asking for its cache lines ahead of time:
`Seeds` (seeds to ranges of positions), `gather` (ranges to anchors, sorted and merged by diagonal, read by
read) and `best_supported` / `buckets` (anchors to buckets of diagonals). Everything runs on the read's canonical
orientation, the smaller of the read and its reverse complement, so that both take the same decisions.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from gassst._lookup cimport (
    interleave,
    lookup_group,
    plane_bits,
    seed_index_t,
    seed_range_t,
)

from gassst._mix cimport mix

cdef extern from "candidates.h" nogil:
    void sort_keys(uint64_t *a, uint64_t *scratch, size_t n)

cdef extern from *:
    void PREFETCH "__builtin_prefetch"(const void *p) nogil
    int TRAILING_ZEROS "__builtin_ctzll"(uint64_t x) nogil

cdef extern from "lookup.h":
    cdef enum:
        GROUP "LOOKUP_GROUP"


cdef inline bint is_flipped(const uint64_t *forward, const uint64_t *reverse, Py_ssize_t words) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(3 * words):
        if forward[i] != reverse[i]:
            return reverse[i] < forward[i]
    return False


def orient(const uint64_t[:, ::1] planes, const uint32_t[::1] plane_start, const uint32_t[::1] lengths):
    """Canonical orientation and a hash of every read.

    Parameters
    ----------
    planes, plane_start, lengths
        Of a `PackedReads`.

    Returns
    -------
    flip : uint8[n]
        1 where the reverse complement is the smaller one.
    digest : uint64[n]
        Hash of the canonical bases: equal for a read and its reverse complement, seeds every random choice.
    """
    cdef Py_ssize_t n = lengths.shape[0], r, i, words
    cdef uint64_t h
    cdef const uint64_t *forward
    cdef const uint64_t *reverse
    flip_array = np.empty(n, np.uint8)
    digest_array = np.empty(n, np.uint64)
    cdef uint8_t[::1] flip = flip_array
    cdef uint64_t[::1] digest = digest_array
    with nogil:
        for r in range(n):
            words = (lengths[r] + 63) >> 6
            h = mix(lengths[r])
            flip[r] = 0
            if words:
                forward = &planes[plane_start[r], 0]
                reverse = forward + 3 * words
                flip[r] = is_flipped(forward, reverse, words)
                if flip[r]:
                    forward = reverse
                for i in range(3 * words):
                    h = mix(h ^ forward[i])
            digest[r] = h
    return flip_array, digest_array


cdef struct Seed:
    uint64_t code     # of `room` bases, the first most significant
    uint32_t lo
    uint32_t count
    uint16_t offset   # on the strand
    uint8_t length    # bases looked up
    uint8_t room      # bases up to the longest seed the index serves, the read's end or a masked base
    uint8_t reverse
    uint8_t clipped   # not every occurrence of the planned seed is looked at
    uint8_t known     # looked up before


cdef inline void read_seed(const uint64_t *planes, uint64_t first, Py_ssize_t length, Seed *seed,
                           int longest) noexcept nogil:
    """Fill `code` and `room` of a seed from the planes of its strand, which begin at base `first`."""
    cdef uint64_t at = first + seed.offset
    cdef Py_ssize_t n = min(length - seed.offset, longest)
    cdef uint64_t masked = plane_bits(planes, 2, at) | <uint64_t>1 << n
    n = TRAILING_ZEROS(masked)
    seed.code = interleave(<uint32_t>plane_bits(planes, 0, at), <uint32_t>plane_bits(planes, 1, at)) >> 2 * (32 - n)
    seed.room = <uint8_t>n


cdef inline uint64_t code_of(const Seed *seed) noexcept nogil:
    return seed.code >> 2 * (seed.room - seed.length)


cdef inline bint is_within(const Seed *seed, int k, uint64_t kmer_from, uint64_t kmer_to) noexcept nogil:
    """Whether the seed is whole and its first k-mer lies in the range."""
    cdef uint64_t kmer
    if seed.room < seed.length:
        return False
    kmer = seed.code >> 2 * (seed.room - k) if seed.room >= k else seed.code << 2 * (k - seed.room)
    return kmer_from <= kmer < kmer_to


cdef void resolve_group(const seed_index_t *index, Seed **seeds, int n) noexcept nogil:
    cdef uint64_t[GROUP] codes
    cdef uint8_t[GROUP] widths
    cdef seed_range_t[GROUP] found
    cdef int i
    for i in range(n):
        codes[i], widths[i] = code_of(seeds[i]), seeds[i].length
    lookup_group(index, codes, widths, found, n)
    for i in range(n):
        seeds[i].lo, seeds[i].count = found[i].lo, found[i].hi - found[i].lo


cdef void resolve_seeds(const seed_index_t *index, Seed *seeds, Py_ssize_t n, const uint32_t *caps,
                        uint64_t kmer_from, uint64_t kmer_to) noexcept nogil:
    """Ranges of a block of seeds. Those that occur too often are made longer to the right and looked up again."""
    cdef Py_ssize_t i, start = 0, stop
    cdef int m, longer
    cdef Seed *group[GROUP]
    while start < n:
        stop = min(start + GROUP, n)
        m = longer = 0
        for i in range(start, stop):
            if not seeds[i].known and is_within(&seeds[i], index.k, kmer_from, kmer_to):
                group[m] = &seeds[i]
                m += 1
        resolve_group(index, group, m)
        for i in range(m):
            if group[i].count > caps[group[i].length]:
                group[i].clipped = 1
                if group[i].room > group[i].length:
                    group[i].length = group[i].room
                    group[longer] = group[i]
                    longer += 1
        resolve_group(index, group, longer)
        start = stop


cdef bint limit_occurrences(Seed *seeds, Py_ssize_t n, const uint32_t *caps, uint16_t *clipped) noexcept nogil:
    """Pass over the seeds of one read that occur too often; return whether there are any.

    If the read would be left with nothing at all, the rarest of them is looked at up to the cap.
    """
    cdef Py_ssize_t i, rarest = -1
    cdef uint32_t rarest_count = 0
    cdef uint64_t total = 0
    clipped[0] = 0
    for i in range(0, n, 2):
        clipped[0] += seeds[i].clipped | seeds[i + 1].clipped
    for i in range(n):
        if seeds[i].count > caps[seeds[i].length]:
            if rarest < 0 or seeds[i].count < rarest_count:
                rarest, rarest_count = i, seeds[i].count
            seeds[i].count = 0
        total += seeds[i].count
    if total == 0 and rarest >= 0:
        seeds[rarest].count = caps[seeds[rarest].length]
    return rarest >= 0


cdef class KeyBuffer:
    """Two growing arrays of keys: those of the read at hand, and scratch for sorting them."""

    cdef uint64_t *keys
    cdef uint64_t *scratch
    cdef size_t room

    def __cinit__(self):
        self.room = 0
        self.keys = self.scratch = NULL

    def __dealloc__(self):
        free(self.keys)
        free(self.scratch)

    cdef int reserve(self, size_t n) except -1 nogil:
        cdef void *p
        if n > self.room:
            n += n >> 1
            p = realloc(self.keys, n * 8)
            if p == NULL:
                with gil:
                    raise MemoryError
            self.keys = <uint64_t *>p
            p = realloc(self.scratch, n * 8)
            if p == NULL:
                with gil:
                    raise MemoryError
            self.scratch = <uint64_t *>p
            self.room = n
        return 0


cdef class Anchors:
    """Growing columns of anchors; `take()` hands them out as NumPy arrays."""

    cdef uint32_t *read_strand
    cdef uint32_t *diagonal
    cdef uint16_t *offset
    cdef uint16_t *length
    cdef Py_ssize_t n, room

    def __cinit__(self):
        self.n = self.room = 0
        self.read_strand = self.diagonal = NULL
        self.offset = self.length = NULL

    def __dealloc__(self):
        free(self.read_strand)
        free(self.diagonal)
        free(self.offset)
        free(self.length)

    cdef int reserve(self, Py_ssize_t n) except -1 nogil:
        cdef void *p[4]
        if n <= self.room:
            return 0
        n += n >> 1
        p[0] = realloc(self.read_strand, n * 4)
        if p[0] != NULL:
            self.read_strand = <uint32_t *>p[0]
        p[1] = realloc(self.diagonal, n * 4)
        if p[1] != NULL:
            self.diagonal = <uint32_t *>p[1]
        p[2] = realloc(self.offset, n * 2)
        if p[2] != NULL:
            self.offset = <uint16_t *>p[2]
        p[3] = realloc(self.length, n * 2)
        if p[3] != NULL:
            self.length = <uint16_t *>p[3]
        if p[0] == NULL or p[1] == NULL or p[2] == NULL or p[3] == NULL:
            with gil:
                raise MemoryError
        self.room = n
        return 0

    cdef tuple take(self):
        if self.n == 0:
            return (np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0, np.uint16), np.empty(0, np.uint16))
        return (
            np.array(<uint32_t[:self.n]>self.read_strand),
            np.array(<uint32_t[:self.n]>self.diagonal),
            np.array(<uint16_t[:self.n]>self.offset),
            np.array(<uint16_t[:self.n]>self.length),
        )


cdef class Seeds:
    """The seeds of one stage of a batch, read by read: first planned, then resolved, then limited.

    Parameters
    ----------
    planes, plane_start, lengths
        Of a `PackedReads`.
    flip : uint8[n]
        Orientation of every read.
    active : uint32[a]
        Reads that take part, ascending.
    seed_length, seed_count : uint16[MAX_READ_LENGTH + 1]
        Rows of the search plan, indexed by read length.
    longest : int
        Longest seed that the index serves.
    seed_every : uint16[MAX_READ_LENGTH + 1]
        The first seed of each read is taken and every `seed_every`-th after it, by read length.
    before : Seeds, optional
        Some seeds of some of these reads, resolved: they are not looked up again.

    Attributes
    ----------
    occurrences : int
        Sum of the occurrences of all seeds that are looked at, after `limit`.
    """

    cdef Seed *seeds
    cdef Py_ssize_t n
    cdef int64_t[::1] start          # first seed of each active read
    cdef const uint32_t[::1] active, lengths
    cdef const uint16_t[::1] every
    cdef uint32_t[::1] copied        # positions of all seeds, when they were copied out of the index
    cdef readonly int64_t occurrences

    def __cinit__(self, const uint64_t[:, ::1] planes, const uint32_t[::1] plane_start,
                  const uint32_t[::1] lengths, const uint8_t[::1] flip, const uint32_t[::1] active,
                  const uint16_t[::1] seed_length, const uint16_t[::1] seed_count,
                  const uint16_t[::1] seed_every, int longest, Seeds before=None):
        cdef Py_ssize_t a = active.shape[0], i, j, m, o, w, count, every
        cdef int strand
        cdef uint64_t first
        cdef Seed *s
        cdef int64_t[::1] start = np.zeros(a + 1, np.int64)
        self.n = 0
        for i in range(a):
            start[i] = self.n
            m = lengths[active[i]]
            self.n += 2 * ((seed_count[m] + seed_every[m] - 1) // seed_every[m])
        start[a] = self.n
        self.start, self.active, self.lengths, self.every = start, active, lengths, seed_every
        self.copied = None
        self.occurrences = 0
        self.seeds = <Seed *>malloc(max(self.n, 1) * sizeof(Seed))
        if self.seeds == NULL:
            raise MemoryError
        s = self.seeds
        with nogil:
            for i in range(a):
                m = lengths[active[i]]
                w, count, every = seed_length[m], seed_count[m], seed_every[m]
                j = 0
                while j < count:
                    o = j * (m - w) // (count - 1) if count > 1 else (m - w) // 2
                    if flip[active[i]]:
                        o = m - w - o
                    for strand in range(2):
                        s.reverse = strand ^ flip[active[i]]
                        s.offset = <uint16_t>(m - w - o if s.reverse else o)
                        s.length = <uint8_t>w
                        s.lo = s.count = 0
                        s.clipped = s.known = 0
                        first = plane_start[active[i]] + <uint64_t>s.reverse * ((m + 63) >> 6)
                        read_seed(&planes[0, 0], 64 * first, m, s, longest)
                        s += 1
                    j += every
        if before is not None and before.copied is None:  # else its ranges are no longer those of the index
            self.take_over(before)

    def __dealloc__(self):
        free(self.seeds)

    cdef void take_over(self, Seeds before):
        """Copy what is known of seeds. Those that were clipped are looked up again: their counts have been limited."""
        cdef Py_ssize_t i, j, each, b = 0, n = before.active.shape[0]
        cdef const Seed *s
        cdef Seed *own
        with nogil:
            for i in range(self.active.shape[0]):
                while b < n and before.active[b] < self.active[i]:
                    b += 1
                if b == n or before.active[b] != self.active[i]:
                    continue
                each = before.every[self.lengths[self.active[i]]] // self.every[self.lengths[self.active[i]]]
                for j in range(before.start[b + 1] - before.start[b]):
                    s = &before.seeds[before.start[b] + j]
                    own = &self.seeds[self.start[i] + 2 * each * (j >> 1) + (j & 1)]
                    if not s.clipped and s.offset == own.offset and s.length == own.length:
                        own.lo, own.count, own.known = s.lo, s.count, 1

    def resolve(self, const uint32_t[::1] table, const uint32_t[::1] positions, const uint8_t[::1] following,
                const uint64_t[:, ::1] reference_planes, int k, const uint32_t[::1] caps, uint64_t kmer_from,
                uint64_t kmer_to):
        """Look up the seeds, not known before, whose first k-mer is in [kmer_from, kmer_to).

        Parameters
        ----------
        table, positions, following, reference_planes, k
            The seed index.
        caps : uint32[k + 17]
            Most occurrences of a seed, by its length.
        """
        cdef seed_index_t index
        if positions.shape[0] == 0 or self.n == 0:
            return
        index.table, index.positions, index.following = &table[0], &positions[0], &following[0]
        index.planes, index.k = &reference_planes[0, 0], k
        with nogil:
            resolve_seeds(&index, self.seeds, self.n, &caps[0], kmer_from, kmer_to)

    def limit(self, const uint32_t[::1] caps):
        """Apply the occurrence caps.

        Returns
        -------
        clipped : uint16[a]
            Seeds of each read of which not every occurrence is looked at, on one strand or both.
        capped : uint8[a]
            1 where a seed was passed over.
        """
        cdef Py_ssize_t a = self.start.shape[0] - 1, i
        clipped_array, capped_array = np.zeros(a, np.uint16), np.zeros(a, np.uint8)
        cdef uint16_t[::1] clipped = clipped_array
        cdef uint8_t[::1] capped = capped_array
        self.occurrences = 0
        with nogil:
            for i in range(a):
                capped[i] = limit_occurrences(self.seeds + self.start[i], self.start[i + 1] - self.start[i],
                                              &caps[0], &clipped[i])
            for i in range(self.n):
                self.occurrences += self.seeds[i].count
        return clipped_array, capped_array

    def copy_positions(self, const uint32_t[::1] positions, uint32_t lo, uint32_t hi):
        """Copy the positions of the seeds whose range begins in [lo, hi) out of the index.

        When every range has been copied, `gather` no longer touches the index: so a part of it can be
        dropped from memory before the next one is read.
        """
        cdef Py_ssize_t i
        cdef int64_t at = 0
        if self.copied is None:
            self.copied = np.empty(max(self.occurrences, 1), np.uint32)
        with nogil:
            for i in range(self.n):
                if self.seeds[i].count and lo <= self.seeds[i].lo < hi:
                    memcpy(&self.copied[at], &positions[self.seeds[i].lo], self.seeds[i].count * 4)
                at += self.seeds[i].count


cdef inline Py_ssize_t first_from(uint64_t key, const uint64_t *keys, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t lo = 0, hi = n, mid
    while lo < hi:
        mid = (lo + hi) >> 1
        if keys[mid] < key:
            lo = mid + 1
        else:
            hi = mid
    return lo


def gather(Seeds seeds, const uint32_t[::1] positions, const uint32_t[::1] active, const uint8_t[::1] flip,
           int shift, const uint64_t[::1] scored, const int64_t[::1] scored_start):
    """Anchors of the active reads: the occurrences of their seeds, sorted by strand and diagonal, runs merged.

    Seeds that touch or overlap on one diagonal are one longer exact match. Anchors in a bucket that was scored
    before are left out: the whole band of that bucket is known.

    Parameters
    ----------
    seeds : Seeds
    positions : uint32[p]
    active : uint32[a]
    flip : uint8[n]
        Orientation of every read: anchors come in the order of the canonical strand.
    shift : int
        log2 of the bucket span.
    scored : uint64[s], scored_start : int64[n + 1]
        `read_strand << 32 | bucket` of the buckets scored before, grouped by read and sorted.

    Returns
    -------
    read_strand : uint32[c], diagonal : uint32[c], offset : uint16[c], length : uint16[c]
    start : int64[a + 1]
        Anchors of active read i are start[i] .. start[i + 1].
    """
    cdef Anchors out = Anchors()
    cdef KeyBuffer buffer = KeyBuffer()
    cdef Py_ssize_t a = active.shape[0], i, j
    start_array = np.zeros(a + 1, np.int64)
    cdef int64_t[::1] start = start_array
    cdef const uint32_t *p = &positions[0] if positions.shape[0] else NULL
    cdef uint32_t r
    cdef int64_t at = 0
    with nogil:
        if seeds.copied is not None:
            p = &seeds.copied[0]
            for j in range(seeds.n):
                seeds.seeds[j].lo = <uint32_t>at
                at += seeds.seeds[j].count
        for i in range(a):
            r = active[i]
            start[i] = out.n
            for j in range(seeds.start[min(i + 4, a)], seeds.start[min(i + 5, a)]):
                if seeds.seeds[j].count:
                    PREFETCH(p + seeds.seeds[j].lo)
            _gather_read(seeds.seeds + seeds.start[i], seeds.start[i + 1] - seeds.start[i], p, r, flip[r], shift,
                         &scored[0] + scored_start[r] if scored.shape[0] else NULL,
                         scored_start[r + 1] - scored_start[r], buffer, out)
        start[a] = out.n
    return out.take() + (start_array,)


cdef int _gather_read(const Seed *seeds, Py_ssize_t n_seeds, const uint32_t *positions, uint32_t read, bint flip,
                      int shift, const uint64_t *scored, Py_ssize_t n_scored, KeyBuffer buffer,
                      Anchors out) except -1 nogil:
    # Key: canonical strand, diagonal, offset, seed length: 1 + 32 + 16 + 8 bits.
    cdef size_t total = 0
    cdef Py_ssize_t i
    cdef uint32_t j
    cdef uint64_t low, strand_bit
    cdef const uint32_t *from_position
    cdef uint64_t *to
    for i in range(n_seeds):
        total += seeds[i].count
    if total == 0:
        return 0
    buffer.reserve(total)
    out.reserve(out.n + <Py_ssize_t>total)
    to = buffer.keys
    for i in range(n_seeds):
        strand_bit = <uint64_t>(seeds[i].reverse ^ flip) << 56
        low = <uint64_t>seeds[i].offset << 8 | seeds[i].length
        from_position = positions + seeds[i].lo
        for j in range(seeds[i].count):
            to[j] = strand_bit | <uint64_t>(from_position[j] - seeds[i].offset) << 24 | low
        to += seeds[i].count
    sort_keys(buffer.keys, buffer.scratch, total)
    out.n += merge_anchors(buffer.keys, total, read << 1, flip, shift, scored, n_scored, out.read_strand + out.n,
                           out.diagonal + out.n, out.offset + out.n, out.length + out.n)
    return 0


cdef Py_ssize_t merge_anchors(const uint64_t *keys, Py_ssize_t n, uint32_t forward, uint32_t flip, int shift,
                              const uint64_t *scored, Py_ssize_t n_scored, uint32_t *read_strand, uint32_t *diagonal,
                              uint16_t *offset, uint16_t *length) noexcept nogil:
    """Anchors of the sorted keys of a read that lie in no scored bucket; returns how many."""
    cdef Py_ssize_t i, m = 0, at = 0
    cdef uint64_t bucket_key, previous = 0, place
    cdef uint32_t end, first, width, own, strand = 0xffffffff
    for i in range(n):
        place = keys[i] >> 24  # canonical strand, diagonal
        first, width = (keys[i] >> 8) & 0xffff, keys[i] & 0xff
        if m and place == previous:
            end = offset[m - 1] + length[m - 1]
            if first <= end:
                length[m - 1] = <uint16_t>(max(first + width, end) - offset[m - 1])
                continue
        own = forward | (<uint32_t>(place >> 32) ^ flip)
        if n_scored:
            bucket_key = <uint64_t>own << 32 | <uint32_t>place >> shift
            if own != strand:
                at, strand = first_from(bucket_key, scored, n_scored), own
            while at < n_scored and scored[at] < bucket_key:
                at += 1
            if at < n_scored and scored[at] == bucket_key:
                continue
        read_strand[m] = own
        diagonal[m] = <uint32_t>place
        offset[m] = <uint16_t>first
        length[m] = <uint16_t>width
        previous = place
        m += 1
    return m


def best_supported(const uint32_t[::1] read_strand, const uint32_t[::1] diagonal, const uint16_t[::1] length,
                   const int64_t[::1] start, int shift, const uint8_t[::1] chosen=None):
    """For every read the bucket whose anchors cover most bases: the likeliest place, scored before all others.

    Parameters
    ----------
    read_strand, diagonal, length, start
        From `gather`.
    shift : int
        log2 of the bucket span.
    chosen : uint8[c], optional
        1 for the anchors that count, all by default.

    Returns
    -------
    read_strand : uint32[b], bucket : uint32[b]
        One row for each read that has anchors.
    """
    cdef Py_ssize_t a = start.shape[0] - 1, i, j, n = 0
    rs_array, bucket_array = np.empty(a, np.uint32), np.empty(a, np.uint32)
    cdef uint32_t[::1] rs_out = rs_array, bucket_out = bucket_array
    cdef uint32_t bucket, current_bucket, current_strand, support, best
    cdef const uint8_t *counts = &chosen[0] if chosen is not None and chosen.shape[0] else NULL
    with nogil:
        for i in range(a):
            best = support = 0
            current_strand = current_bucket = 0xffffffff
            for j in range(start[i], start[i + 1]):
                if counts != NULL and not counts[j]:
                    continue
                bucket = diagonal[j] >> shift
                if bucket != current_bucket or read_strand[j] != current_strand:
                    current_bucket, current_strand, support = bucket, read_strand[j], 0
                support += length[j]
                if support > best:
                    best = support
                    rs_out[n], bucket_out[n] = current_strand, current_bucket
            n += best > 0
    return rs_array[:n].copy(), bucket_array[:n].copy()


def supported(const uint32_t[::1] read_strand, const uint32_t[::1] diagonal, const uint16_t[::1] length, int shift,
              const uint16_t[::1] width, const uint16_t[::1] need):
    """Candidates whose bands hold enough seeds for an alignment within the limit.

    An alignment with e errors leaves all but e of the disjoint seeds of a stage free of errors, and its band lies in its
    bucket and the two beside it. So where these hold too few seeds there is none within the limit.

    Parameters
    ----------
    read_strand, diagonal : uint32[c], length : uint16[c]
        Sorted candidates: all that the stage found of every read with a need.
    shift : int
        log2 of the bucket span.
    width : uint16[n]
        Bases of a seed, by read.
    need : uint16[n]
        Seeds that an alignment within the limit has at least, by read.

    Returns
    -------
    int64[k]
        Rows of the candidates to go on with.
    """
    cdef Py_ssize_t c = read_strand.shape[0], i, j, n = 0, previous = -1, start = 0
    cdef uint32_t read, seeds, before = 0, here, after, bucket
    rows_array = np.empty(c, np.int64)
    cdef int64_t[::1] rows = rows_array
    with nogil:
        here = seeds_of_bucket(read_strand, diagonal, length, width, shift, 0, &j) if c else 0
        while start < c:
            i = j
            bucket, read = diagonal[start] >> shift, read_strand[start] >> 1
            after = seeds_of_bucket(read_strand, diagonal, length, width, shift, i, &j) if i < c else 0
            seeds = here
            if previous >= 0 and read_strand[previous] == read_strand[start] and (
                    diagonal[previous] >> shift) + 1 == bucket:
                seeds += before
            if i < c and read_strand[i] == read_strand[start] and diagonal[i] >> shift == bucket + 1:
                seeds += after
            if seeds >= need[read]:
                for previous in range(start, i):
                    rows[n] = previous
                    n += 1
            before, here, previous, start = here, after, start, i
    return rows_array[:n].copy()


cdef inline uint32_t seeds_of_bucket(const uint32_t[::1] read_strand, const uint32_t[::1] diagonal,
                                     const uint16_t[::1] length, const uint16_t[::1] width, int shift, Py_ssize_t i,
                                     Py_ssize_t *stop) noexcept nogil:
    """Most seeds that the anchors of the bucket of row i can be made of; `stop` becomes the first row behind it."""
    cdef Py_ssize_t j = i
    cdef uint32_t seeds = 0
    while j < read_strand.shape[0] and read_strand[j] == read_strand[i] and diagonal[j] >> shift == diagonal[i] >> shift:
        seeds += length[j] // width[read_strand[i] >> 1]
        j += 1
    stop[0] = j
    return seeds


def buckets(const uint32_t[::1] read_strand, const uint32_t[::1] diagonal, int shift,
            const uint32_t[::1] known_read_strand, const uint32_t[::1] known_bucket):
    """Distinct buckets of sorted candidates, without those already scored in this stage.

    Parameters
    ----------
    read_strand, diagonal : uint32[c]
        Ascending by read, candidates of one bucket next to each other.
    shift : int
        log2 of the bucket span.
    known_read_strand, known_bucket : uint32[b]
        From `best_supported`: at most one bucket of each read, ascending.

    Returns
    -------
    read_strand : uint32[n], bucket : uint32[n]
    """
    cdef Py_ssize_t c = read_strand.shape[0], known = known_bucket.shape[0], i, j = 0, n = 0
    rs_array, bucket_array = np.empty(c, np.uint32), np.empty(c, np.uint32)
    cdef uint32_t[::1] rs_out = rs_array, bucket_out = bucket_array
    cdef uint32_t bucket
    with nogil:
        for i in range(c):
            bucket = diagonal[i] >> shift
            while j < known and known_read_strand[j] >> 1 < read_strand[i] >> 1:
                j += 1
            if j < known and known_read_strand[j] == read_strand[i] and known_bucket[j] == bucket:
                continue
            if n == 0 or bucket != bucket_out[n - 1] or read_strand[i] != rs_out[n - 1]:
                rs_out[n], bucket_out[n] = read_strand[i], bucket
                n += 1
    return rs_array[:n].copy(), bucket_array[:n].copy()
