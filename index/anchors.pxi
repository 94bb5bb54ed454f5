"""The occurrences of the seeds of reads become candidates: anchors, sorted and merged by diagonal, and their buckets.

Everything runs on the read's canonical orientation (`seeds.of_reads`).
"""

cdef class AnchorBuffer:
    """Growing columns of anchors."""

    def __dealloc__(self):
        for i in range(4):
            free(self.rooms[i].p)

    cdef int reserve(self, Py_ssize_t n) except -1 nogil:
        if n > self.room:
            self.room = n + (n >> 1)
            self.columns = columns_t(<uint32_t *>enlarged(&self.rooms[0], self.room * sizeof(uint32_t)),
                                     <coordinate_t *>enlarged(&self.rooms[1], self.room * sizeof(coordinate_t)),
                                     <uint16_t *>enlarged(&self.rooms[2], self.room * sizeof(uint16_t)),
                                     <uint16_t *>enlarged(&self.rooms[3], self.room * sizeof(uint16_t)))
        return 0

    cdef columns_t end(self) noexcept nogil:
        """Where the next anchor goes."""
        return columns_t(self.columns.read_strand + self.n, self.columns.diagonal + self.n,
                         self.columns.offset + self.n, self.columns.length + self.n)


def anchors_of(packed, lookup, uint16_t width, uint16_t number, const uint32_t[::1] caps not None):
    """The anchors that so many seeds of a width lead to, by read, strand and diagonal.

    Seeds that touch or overlap on one diagonal are one longer exact match.

    Parameters
    ----------
    packed : model.read_batch.PackedReads
        Of n reads.
    lookup : index.lookup.WholeIndex
    caps : uint32[index.longest_seed + 1]
        Occurrences, by length, above which a seed is made longer, and then passed over.

    Returns
    -------
    read_strand : uint32[c], diagonal : int64[c], offset : uint16[c], length : uint16[c]
    clipped : uint16[n]
        Seeds of each read of which not every occurrence is looked at, on one strand or both.
    capped : uint8[n]
        1 where a seed was passed over.
    start : int64[n + 1]
        Where the occurrences of each read begin among all.
    """
    cdef Py_ssize_t n = len(packed.lengths), i, longest = packed.lengths.max() + 1 if n else 0
    cdef uint8_t[::1] flip = np.empty(n, np.uint8), capped = np.empty(n, np.uint8)
    cdef uint16_t[::1] clipped = np.empty(n, np.uint16)
    cdef uint16_t[::1] widths = np.full(longest, width, np.uint16), numbers = np.full(longest, number, np.uint16)
    cdef uint16_t[::1] every = np.ones(longest, np.uint16)
    cdef uint32_t[::1] active = np.arange(n, dtype=np.uint32)
    cdef reads_t reads = reads_of(packed, flip)
    cdef seed_index_t view = view_of(lookup.index)
    cdef Seeds seeds = Seeds(lookup.index)
    cdef AnchorBuffer out = AnchorBuffer()
    cdef uint64_t digest
    cdef read_t read
    if n:
        for i in range(n):
            flip[i] = orient_read(reads.planes.words + 3 * reads.plane_start[i], reads.lengths[i], &digest)
        seeds.fill(&reads, &active[0], n, &widths[0], &numbers[0], &every[0])
        lookup.resolve(seeds, caps)
        for i in range(n):
            capped[i] = seeds.limit_read(i, &caps[0], &clipped[i])
        lookup.copy_positions(seeds)
        for i in range(n):
            read = read_t(<uint32_t>i, flip[i], 0, keys_t(NULL, 0, 0))
            seeds.gather_read(&view, i, &read, out)
    kinds = np.uint32, np.int64, np.uint16, np.uint16
    return (*[array_of(out.rooms[i].p, out.n, kinds[i]) for i in range(4)], clipped.base, capped.base,
            array_of(seeds.first_key, n + 1 if n else 0, np.int64))


cdef inline bint is_among(keys_t *known, uint64_t key, bint restart) noexcept nogil:
    """Whether a key is there. Keys ascend from call to call, but for those with `restart`."""
    if restart:
        known.at = first_from(known.keys, known.n, key)
    while known.at < known.n and known.keys[known.at] < key:
        known.at += 1
    return known.at < known.n and known.keys[known.at] == key


cdef Py_ssize_t merge_anchors(const uint64_t *keys, Py_ssize_t n, read_t *read, const columns_t *out) noexcept nogil:
    """Anchors of the sorted keys of a read that are in none of the buckets seen before; returns how many."""
    # Locals: the compiler cannot know that what is written does not change them.
    cdef uint32_t *read_strand = out.read_strand
    cdef coordinate_t *diagonal = out.diagonal
    cdef uint16_t *offset = out.offset
    cdef uint16_t *length = out.length
    cdef keys_t seen = read.seen
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
        if seen.n:
            restart = own != strand
            strand = own
            if is_among(&seen, place_key(own, here >> shift), restart):
                continue
        read_strand[m] = own
        diagonal[m] = here
        offset[m] = <uint16_t>first
        length[m] = <uint16_t>width
        previous = place
        m += 1
    return m


cdef bint best_bucket(const columns_t *anchors, Py_ssize_t first, Py_ssize_t stop, int shift,
                      uint32_t *read_strand, uint32_t *bucket) noexcept nogil:
    """The bucket of a read whose anchors cover most bases: the likeliest place, scored before all others.

    Of the rows from `first` to before `stop`; returns whether there is an anchor.
    """
    cdef uint32_t here, current_bucket = 0xffffffff, current_strand = 0xffffffff, support = 0, best = 0
    cdef Py_ssize_t j
    for j in range(first, stop):
        here = <uint32_t>(anchors.diagonal[j] >> shift)
        if here != current_bucket or anchors.read_strand[j] != current_strand:
            current_bucket, current_strand, support = here, anchors.read_strand[j], 0
        support += anchors.length[j]
        if support > best:
            best = support
            read_strand[0], bucket[0] = current_strand, current_bucket
    return best > 0


cdef void distinct_buckets(const columns_t *candidates, Py_ssize_t c, int shift, buckets_t *found) noexcept nogil:
    """The distinct buckets of c candidates, of which those of one bucket are next to each other; `found` has room for as
    many."""
    # Locals: the compiler cannot know that what is written does not change them.
    cdef const uint32_t *read_strand = candidates.read_strand
    cdef const coordinate_t *diagonal = candidates.diagonal
    cdef uint32_t *rs_out = found.read_strand
    cdef uint32_t *bucket_out = found.bucket
    cdef Py_ssize_t i, n = 0
    cdef uint32_t bucket
    for i in range(c):
        bucket = <uint32_t>(diagonal[i] >> shift)
        if n == 0 or bucket != bucket_out[n - 1] or read_strand[i] != rs_out[n - 1]:
            rs_out[n], bucket_out[n] = read_strand[i], bucket
            n += 1
    found.n = n
