"""The occurrences of the seeds of reads become candidates: anchors, sorted and merged by diagonal, and their buckets.

Everything runs on the read's canonical orientation (`seeds.orient`).
"""

cdef class KeyBuffer:
    """Two growing arrays of keys: those of the read at hand, and scratch for sorting them."""

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


cdef class AnchorBuffer:
    """Growing columns of anchors; `take()` hands them out as NumPy arrays."""

    def __cinit__(self):
        self.n = self.room = 0
        self.columns = columns_t(NULL, NULL, NULL, NULL)

    def __dealloc__(self):
        free(self.columns.read_strand)
        free(self.columns.diagonal)
        free(self.columns.offset)
        free(self.columns.length)

    cdef int reserve(self, Py_ssize_t n) except -1 nogil:
        cdef void *p[4]
        if n <= self.room:
            return 0
        n += n >> 1
        p[0] = realloc(self.columns.read_strand, n * 4)
        if p[0] != NULL:
            self.columns.read_strand = <uint32_t *>p[0]
        p[1] = realloc(self.columns.diagonal, n * sizeof(coordinate_t))
        if p[1] != NULL:
            self.columns.diagonal = <coordinate_t *>p[1]
        p[2] = realloc(self.columns.offset, n * 2)
        if p[2] != NULL:
            self.columns.offset = <uint16_t *>p[2]
        p[3] = realloc(self.columns.length, n * 2)
        if p[3] != NULL:
            self.columns.length = <uint16_t *>p[3]
        if p[0] == NULL or p[1] == NULL or p[2] == NULL or p[3] == NULL:
            with gil:
                raise MemoryError
        self.room = n
        return 0

    cdef columns_t end(self) noexcept nogil:
        """Where the next anchor goes."""
        return columns_t(self.columns.read_strand + self.n, self.columns.diagonal + self.n,
                         self.columns.offset + self.n, self.columns.length + self.n)

    cdef tuple take(self):
        """The columns; the arrays own them from here on, and nothing is left."""
        cdef columns_t own = self.columns
        cdef Py_ssize_t n = self.n
        if n == 0:
            return (np.empty(0, np.uint32), np.empty(0, np.int64), np.empty(0, np.uint16), np.empty(0, np.uint16))
        self.n = self.room = 0
        self.columns = columns_t(NULL, NULL, NULL, NULL)
        cdef array read_strand = <uint32_t[:n]>own.read_strand, diagonal = <coordinate_t[:n]>own.diagonal
        cdef array offset = <uint16_t[:n]>own.offset, length = <uint16_t[:n]>own.length
        read_strand.callback_free_data = diagonal.callback_free_data = free
        offset.callback_free_data = length.callback_free_data = free
        return np.asarray(read_strand), np.asarray(diagonal), np.asarray(offset), np.asarray(length)


def gather(Seeds seeds, const uint32_t[::1] positions, const uint32_t[::1] active, context):
    """Anchors of the active reads: the occurrences of their seeds, sorted by strand and diagonal, runs merged.

    Seeds that touch or overlap on one diagonal are one longer exact match.

    Parameters
    ----------
    seeds : Seeds
    positions : uint32[p]
        Of the index, if its step is 1; else the seeds have copied them.
    active : uint32[a]
    context : search.context.BatchContext
        Of n reads. Read: `shift`; `flip`, as anchors come in the order of the canonical strand.

    Returns
    -------
    read_strand : uint32[c], diagonal : int64[c], offset : uint16[c], length : uint16[c]
    start : int64[a + 1]
        Anchors of active read i are start[i] .. start[i + 1].
    """
    cdef const uint8_t[::1] flip = context.flip
    cdef AnchorBuffer out = AnchorBuffer()
    cdef KeyBuffer buffer = KeyBuffer()
    cdef Py_ssize_t a = active.shape[0], i, j
    start_array = np.zeros(a + 1, np.int64)
    cdef int64_t[::1] start = start_array
    cdef const uint32_t *p = &positions[0] if positions.shape[0] else NULL
    cdef const coordinate_t *copied = NULL
    cdef keys_t none = keys_t(NULL, 0, 0)
    cdef int shift = context.shift
    cdef uint32_t r
    cdef read_t read
    with nogil:
        copied = seeds.copied
        seeds.number_copied()
        for i in range(a):
            r = active[i]
            start[i] = out.n
            for j in range(seeds.start[min(i + READS_AHEAD, a)], seeds.start[min(i + READS_AHEAD + 1, a)]):
                if seeds.seeds[j].count and copied == NULL:
                    prefetch(p + seeds.seeds[j].lo)
                    prefetch(p + seeds.seeds[j].lo + seeds.seeds[j].count - 1)
            read = read_t(r, flip[r], shift, seeds.seeds + seeds.start[i], seeds.start[i + 1] - seeds.start[i], p,
                          copied, none, none)
            gather_read(&read, buffer, out)
        start[a] = out.n
    return out.take() + (start_array,)


cdef int gather_read(read_t *read, KeyBuffer buffer, AnchorBuffer out) except -1 nogil:
    # Key: canonical strand, diagonal, offset, seed length: those of `place_key`, then 16 and 8 bits.
    cdef Py_ssize_t i, strand
    cdef Py_ssize_t[2] total
    cdef uint32_t j
    cdef uint64_t low
    cdef const uint32_t *position
    cdef const coordinate_t *copied
    cdef uint64_t *to[2]
    cdef columns_t end
    total[0] = total[1] = 0
    for i in range(read.n_seeds):
        total[read.seeds[i].reverse ^ read.flip] += read.seeds[i].count
    if total[0] + total[1] == 0:
        return 0
    buffer.reserve(total[0] + total[1])
    out.reserve(out.n + total[0] + total[1])
    to[0], to[1] = buffer.keys, buffer.keys + total[0]
    for i in range(read.n_seeds):
        strand = read.seeds[i].reverse ^ read.flip
        low = (place_key(<uint32_t>strand, 0) - read.seeds[i].offset) << 24
        low |= <uint64_t>read.seeds[i].offset << 8 | read.seeds[i].length
        if read.copied != NULL:
            copied = read.copied + read.seeds[i].lo
            for j in range(read.seeds[i].count):
                to[strand][j] = low + (<uint64_t>copied[j] << 24)
        else:
            position = read.positions + read.seeds[i].lo
            for j in range(read.seeds[i].count):
                to[strand][j] = low + (<uint64_t>position[j] << 24)
        to[strand] += read.seeds[i].count
    sort_keys(buffer.keys, buffer.scratch, total[0])
    sort_keys(buffer.keys + total[0], buffer.scratch, total[1])
    end = out.end()
    out.n += merge_anchors(buffer.keys, total[0] + total[1], read, &end)
    return 0


cdef inline bint is_among(keys_t *known, uint64_t key, bint restart) noexcept nogil:
    """Whether a key is there. Keys ascend from call to call, but for those with `restart`."""
    if restart:
        known.at = first_from(known.keys, known.n, key)
    while known.at < known.n and known.keys[known.at] < key:
        known.at += 1
    return known.at < known.n and known.keys[known.at] == key


cdef Py_ssize_t merge_anchors(const uint64_t *keys, Py_ssize_t n, read_t *read, const columns_t *out) noexcept nogil:
    """Anchors of the sorted keys of a read that are in no scored bucket and on no rejected diagonal; returns how many.

    The whole band of a scored bucket is known.
    """
    # Locals: the compiler cannot know that what is written does not change them.
    cdef uint32_t *read_strand = out.read_strand
    cdef coordinate_t *diagonal = out.diagonal
    cdef uint16_t *offset = out.offset
    cdef uint16_t *length = out.length
    cdef keys_t scored = read.scored, rejected = read.rejected
    cdef uint32_t forward = read.number << 1, flip = read.flip
    cdef int shift = read.shift
    cdef Py_ssize_t i, m = 0
    cdef uint64_t previous = 0, place
    cdef coordinate_t here
    cdef bint restart
    cdef uint32_t end, first, width, own, strand = 0xffffffff
    for i in range(n):
        place = keys[i] >> 24  # canonical strand, diagonal
        first, width = (keys[i] >> 8) & 0xffff, keys[i] & 0xff
        if m and place == previous:
            end = offset[m - 1] + length[m - 1]
            if first <= end:
                length[m - 1] = <uint16_t>(max(first + width, end) - offset[m - 1])
                continue
        # A position of a forged index may lie before the read's first base: nothing of that difference is a strand.
        own, here = forward | ((strand_of_key(place) & 1) ^ flip), place_of_key(place)
        if scored.n or rejected.n:
            restart = own != strand
            strand = own
            if is_among(&scored, place_key(own, here >> shift), restart) | is_among(
                    &rejected, place_key(own, here), restart):
                continue
        read_strand[m] = own
        diagonal[m] = here
        offset[m] = <uint16_t>first
        length[m] = <uint16_t>width
        previous = place
        m += 1
    return m


cdef bint best_bucket(const columns_t *anchors, const uint8_t *chosen, Py_ssize_t first, Py_ssize_t stop, int shift,
                      uint32_t *read_strand, uint32_t *bucket) noexcept nogil:
    """The bucket of a read whose anchors cover most bases: the likeliest place, scored before all others.

    Of the rows from `first` to before `stop` that are `chosen`, if not NULL; returns whether there is an anchor.
    """
    cdef uint32_t here, current_bucket = 0xffffffff, current_strand = 0xffffffff, support = 0, best = 0
    cdef Py_ssize_t j
    for j in range(first, stop):
        if chosen != NULL and not chosen[j]:
            continue
        here = <uint32_t>(anchors.diagonal[j] >> shift)
        if here != current_bucket or anchors.read_strand[j] != current_strand:
            current_bucket, current_strand, support = here, anchors.read_strand[j], 0
        support += anchors.length[j]
        if support > best:
            best = support
            read_strand[0], bucket[0] = current_strand, current_bucket
    return best > 0


cdef void distinct_buckets(const columns_t *candidates, Py_ssize_t c, int shift, const buckets_t *known,
                           buckets_t *found) noexcept nogil:
    """The distinct buckets of c candidates, but for the known ones; `found` is empty, and has room for as many.

    Candidates ascend by read, those of one bucket next to each other. At most one bucket of each read is known.
    """
    # Locals: the compiler cannot know that what is written does not change them.
    cdef const uint32_t *read_strand = candidates.read_strand
    cdef const coordinate_t *diagonal = candidates.diagonal
    cdef uint32_t *rs_out = found.read_strand
    cdef uint32_t *bucket_out = found.bucket
    cdef Py_ssize_t i, j = 0, n = 0, n_known = known.n
    cdef uint32_t bucket
    for i in range(c):
        bucket = <uint32_t>(diagonal[i] >> shift)
        while j < n_known and known.read_strand[j] >> 1 < read_strand[i] >> 1:
            j += 1
        if j < n_known and known.read_strand[j] == read_strand[i] and known.bucket[j] == bucket:
            continue
        if n == 0 or bucket != bucket_out[n - 1] or read_strand[i] != rs_out[n - 1]:
            rs_out[n], bucket_out[n] = read_strand[i], bucket
            n += 1
    found.n = n
