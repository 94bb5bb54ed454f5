# Part of records.pyx: BAM records in coordinate order, and the index of a file of them.

cdef enum:
    UNPLACED_TID = 0x7FFFFFFF  # behind all contigs
    FETCH_AHEAD = 8            # records whose bytes are asked for early while they are gathered
    FLAG_AT = 18               # bytes of a record before its flag
    DUPLICATE_TAG = 6          # bytes of dt:Z:LB


cdef inline uint32_t u32_at(const uint8_t *p) noexcept nogil:
    return p[0] | <uint32_t>p[1] << 8 | <uint32_t>p[2] << 16 | <uint32_t>p[3] << 24


cdef inline uint64_t sort_key(const uint8_t *record) noexcept nogil:
    """Contig, position, strand, as `samtools sort` compares them; records that lie nowhere come last."""
    cdef int32_t tid = <int32_t>u32_at(record + 4), position = <int32_t>u32_at(record + 8)
    cdef uint64_t reverse = u32_at(record + 16) >> 16 & BAM_FREVERSE
    return (<uint64_t>(tid if tid >= 0 else UNPLACED_TID) << 33 | <uint64_t>(<int64_t>position + 1) << 1
            | (reverse != 0))


cdef inline size_t record_size(const uint8_t *record) noexcept nogil:
    return <size_t>u32_at(record) + 4


def sort_keys(const uint8_t[::1] bam not None, size_t n):
    """Keys and ends of the `n` records in `bam`.

    Returns
    -------
    tuple
        `keys uint64[n]`, by which records are sorted, and `ends uint64[n]`, the byte behind each record.

    Raises
    ------
    ValueError
        There are not as many records.
    """
    keys_array, ends_array = np.empty(n, np.uint64), np.empty(n, np.uint64)
    cdef uint64_t[::1] keys = keys_array, ends = ends_array
    cdef size_t size = bam.shape[0], at = 0, i = 0
    with nogil:
        while i < n and at + BAM_CORE <= size:
            keys[i] = sort_key(&bam[at])
            at += record_size(&bam[at])
            ends[i] = at
            i += 1
    if i != n or at != size:
        raise ValueError(f"not {n} records")
    return keys_array, ends_array


cdef inline bint same_name(const uint8_t *a, const uint8_t *b) noexcept nogil:
    """Whether two records have one name."""
    return a[12] == b[12] and memcmp(a + BAM_CORE, b + BAM_CORE, a[12]) == 0


def whole_records(const uint8_t[::1] bam not None):
    """The records that are there in full.

    Returns
    -------
    tuple
        How many, and their bytes; how many come before the last name among them, and the bytes of these.

    Raises
    ------
    ValueError
        A record is shorter than its own fields say.
    """
    cdef size_t size = bam.shape[0], at = 0, before = 0, length = 0, n = 0, n_before = 0
    cdef bint fits = True
    with nogil:
        while at + BAM_CORE <= size:
            length = record_size(&bam[at])
            fits = length >= BAM_CORE + bam[at + 12]
            if not fits or at + length > size:
                break
            if n and not same_name(&bam[before], &bam[at]):
                before, n_before = at, n
            at += length
            n += 1
    if not fits:
        raise ValueError("a damaged record")
    return n, at, n_before, before


def gather(const uint8_t[::1] bam not None, const uint64_t[::1] ends not None, const int64_t[::1] order not None,
           const uint8_t[::1] marks=None, bint tagged=False):
    """Records of `bam` in the order given.

    Parameters
    ----------
    bam : uint8[]
    ends : uint64[n]
        As from `sort_keys`.
    order : int64[n]
        A permutation of the records.
    marks : uint8[n], optional
        Of each record of `bam`: 1 where it is to be flagged as a duplicate, 2 as an optical one, 0 where it is not.
    tagged : bool
        Duplicates say which kind they are: dt:Z:LB, or dt:Z:SQ for optical ones.

    Returns
    -------
    EncodedRecords

    Raises
    ------
    ValueError
        Records, order and marks do not fit.
    """
    cdef EncodedRecords sorted_records = EncodedRecords.__new__(EncodedRecords)
    cdef size_t n = order.shape[0], i, ahead, start, size, tags = 0
    cdef bint fits = ends.shape[0] == order.shape[0] and (n == 0 or ends[n - 1] == <uint64_t>bam.shape[0])
    cdef uint8_t mark
    if marks is not None:
        fits = fits and marks.shape[0] == order.shape[0]
        tags = DUPLICATE_TAG * n if tagged else 0
    if not grow_buffer(&sorted_records.c, bam.shape[0] + tags + 1):
        raise MemoryError("no memory for records")
    with nogil:
        for i in range(n):
            ahead = min(i + FETCH_AHEAD, n - 1)
            if not fits or <uint64_t>order[i] >= n or <uint64_t>order[ahead] >= n:
                fits = False
                break
            PREFETCH(&bam[0] + (ends[order[ahead] - 1] if order[ahead] else 0))
            start = ends[order[i] - 1] if order[i] else 0
            size = ends[order[i]] - start
            if sorted_records.c.size + size > bam.shape[0] + tags:
                fits = False
                break
            memcpy(sorted_records.c.data + sorted_records.c.size, &bam[start], size)
            sorted_records.c.size += size
            mark = marks[order[i]] if marks is not None else 0
            if mark:
                mark_duplicate(&sorted_records.c, size, mark, tagged)
    if not fits:
        raise ValueError("records and order do not fit")
    sorted_records.records = n
    return sorted_records


cdef void mark_duplicate(byte_buffer *out, size_t size, uint8_t mark, bint tagged) noexcept nogil:
    """Flags the last record, of `size` bytes. There is room for the tag."""
    cdef uint8_t *record = out.data + out.size - size
    cdef uint8_t *end
    record[FLAG_AT + 1] |= BAM_FDUP >> 8
    if tagged:
        end = put_string_tag(out.data + out.size, b"dt", b"SQ" if mark == 2 else b"LB", 2, False)
        out.size = end - out.data
        close_bam(record, size + DUPLICATE_TAG)


cdef int64_t span_of(const uint8_t *record) noexcept nogil:
    """Reference bases under a record, at least one, as htslib counts them for an index."""
    cdef uint32_t name = u32_at(record + 12) & 0xFF, runs = u32_at(record + 16) & 0xFFFF, i, run
    cdef int64_t span = 0
    if not u32_at(record + 16) >> 16 & BAM_FUNMAP:
        for i in range(runs):
            run = u32_at(record + BAM_CORE + name + 4 * i)
            if bam_cigar_type(bam_cigar_op(run)) & 2:
                span += bam_cigar_oplen(run)
    return span if span else 1


cdef class BamIndex:
    """The index of a sorted BAM file, made while it is written: BAI, or CSI for long contigs.

    Parameters
    ----------
    contigs : int
        Their number.
    longest : int
        Bases of the longest one.
    csi : bool
    offset : int
        Byte of the file at which the first block of records begins.
    """

    cdef hts_idx_t *index
    cdef int format
    cdef uint64_t end

    def __cinit__(self, int contigs, int64_t longest, bint csi, uint64_t offset):
        cdef int levels = 5
        self.format = HTS_FMT_CSI if csi else HTS_FMT_BAI
        if csi:
            levels = 0
            while longest + 256 > <int64_t>1 << (14 + 3 * levels):
                levels += 1
        self.end = offset << 16
        self.index = hts_idx_init(contigs, self.format, self.end, 14, levels)
        if self.index == NULL:
            raise MemoryError("no memory for the index of a BAM file")

    def __dealloc__(self):
        if self.index != NULL:
            hts_idx_destroy(self.index)

    def add(self, const uint8_t[::1] bam not None, const uint64_t[::1] blocks not None, uint32_t block_size):
        """Append records.

        Parameters
        ----------
        bam : uint8[]
            They begin with a block, and end with one.
        blocks : uint64[b + 1]
            Where each block of `block_size` bytes of them begins in the file, and where the last one ends.

        Raises
        ------
        ValueError
            The records are not sorted, or blocks and records do not fit.
        """
        cdef size_t at = 0, size = bam.shape[0], last = blocks.shape[0] - 1
        cdef const uint8_t *record
        cdef int32_t tid
        cdef int64_t position
        cdef int failed = 0
        if blocks.shape[0] != <Py_ssize_t>((size + block_size - 1) // block_size) + 1:
            raise ValueError("blocks and records do not fit")
        with nogil:
            while at < size and not failed:
                record = &bam[at]
                tid, position = <int32_t>u32_at(record + 4), <int32_t>u32_at(record + 8)
                at += record_size(record)
                self.end = blocks[last] << 16 if at == size else blocks[at // block_size] << 16 | at % block_size
                failed = hts_idx_push(self.index, tid, position, position + span_of(record), self.end,
                                      not u32_at(record + 16) >> 16 & BAM_FUNMAP) < 0
        if failed:
            raise ValueError("records out of order")

    def save(self, path):
        """Complete the index and write it to a file. Raises OSError."""
        cdef bytes name = os.fsencode(path)
        cdef const char *c_name = name
        cdef int failed
        errno = 0
        with nogil:
            failed = hts_idx_finish(self.index, self.end) != 0
            failed = failed or hts_idx_save_as(self.index, NULL, c_name, self.format) != 0
        if failed:
            raise OSError(errno or EIO, os.strerror(errno or EIO))
