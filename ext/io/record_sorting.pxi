# Part of records.pyx: BAM records in coordinate order, and the index of a file of them.

cdef enum:
    UNPLACED_TID = 0x7FFFFFFF  # behind all contigs
    FETCH_AHEAD = 8            # records whose bytes are asked for early while they are gathered
    FLAG_AT = 18               # bytes of a record before its flag
    DUPLICATE_TAG = 6          # bytes of dt:Z:LB
    LARGEST_RECORD = 1 << 26   # bytes: more than names, bases and tags of any short read take

cdef extern from "record_check.h" nogil:
    bint record_is_sound(const uint8_t *record, size_t size, const int64_t *lengths, int32_t n_references)


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


def whole_records(const uint8_t[::1] bam not None, const int64_t[::1] lengths not None):
    """The records that are there in full, each checked by `record_is_sound`.

    Parameters
    ----------
    bam : uint8[]
        From a file, so nothing in it is believed.
    lengths : int64[c]
        Bases of each contig.

    Returns
    -------
    tuple
        How many, and their bytes; how many come before the last name among them, and the bytes of these.

    Raises
    ------
    ValueError
        A record is not what its own fields say, or lies outside the contigs.
    """
    cdef size_t size = bam.shape[0], at = 0, before = 0, length = 0, n = 0, n_before = 0
    cdef const int64_t *of_contigs = &lengths[0] if lengths.shape[0] else NULL
    cdef bint fits = True
    with nogil:
        while at + BAM_CORE <= size:
            length = record_size(&bam[at])
            fits = length <= LARGEST_RECORD
            if not fits or at + length > size:
                break
            fits = record_is_sound(&bam[at], length, of_contigs, <int32_t>lengths.shape[0])
            if not fits:
                break
            if n and not same_name(&bam[before], &bam[at]):
                before, n_before = at, n
            at += length
            n += 1
    if not fits:
        raise ValueError("a damaged record")
    return n, at, n_before, before


cdef packed struct source_t:
    size_t start  # its address
    size_t size


SOURCE_DTYPE = np.dtype([("start", np.uintp), ("size", np.uintp)])


def gather(pieces not None, const int64_t[::1] order not None, const uint8_t[::1] marks=None, bint tagged=False):
    """Records of several pieces in the order given.

    Parameters
    ----------
    pieces : sequence of (ends, bam)
        `ends uint64[]` and `bam uint8[]` as of `sort_keys`: n records in all.
    order : int64[n]
        A permutation of the records of all pieces, counted one after the other.
    marks : uint8[n], optional
        Of each record: 1 where it is to be flagged as a duplicate, 2 as an optical one, 0 where it is not.
    tagged : bool
        Duplicates say which kind they are: dt:Z:LB, or dt:Z:SQ for optical ones.

    Returns
    -------
    tuple
        EncodedRecords, and `ends uint64[n]`, the byte behind each record.

    Raises
    ------
    ValueError
        Records, order and marks do not fit.
    """
    cdef EncodedRecords gathered = EncodedRecords.__new__(EncodedRecords)
    cdef size_t n = order.shape[0], i, source, size, total = 0
    cdef bint fits = True
    cdef uint8_t mark
    records = np.empty(n, SOURCE_DTYPE)
    cdef source_t[::1] found = records
    ends_array = np.empty(n, np.uint64)
    cdef uint64_t[::1] ends = ends_array
    total = _list_records(pieces, found)
    if marks is not None:
        fits = <size_t>marks.shape[0] == n
        total += DUPLICATE_TAG * n if tagged else 0
    if not grow_buffer(&gathered.c, total + 1):
        raise MemoryError("no memory for records")
    with nogil:
        for i in range(n):
            source = <size_t>order[i]
            if not fits or source >= n or <uint64_t>order[min(i + FETCH_AHEAD, n - 1)] >= n:
                fits = False
                break
            PREFETCH(<const void *>found[order[min(i + FETCH_AHEAD, n - 1)]].start)
            size = found[source].size
            if gathered.c.size + size > total:
                fits = False
                break
            memcpy(gathered.c.data + gathered.c.size, <const void *>found[source].start, size)
            gathered.c.size += size
            mark = marks[source] if marks is not None else 0
            if mark:
                mark_duplicate(&gathered.c, size, mark, tagged)
            ends[i] = gathered.c.size
    if not fits:
        raise ValueError("records and order do not fit")
    gathered.records = n
    return gathered, ends_array


cdef size_t _list_records(pieces, source_t[::1] found) except? 0:
    """Where the records of all pieces lie. Returns their bytes. Raises ValueError where they do not fill `found`."""
    cdef size_t n = found.shape[0], i = 0, j, start, total = 0
    cdef const uint64_t[::1] ends
    cdef const uint8_t[::1] bam
    cdef bint fits
    for ends, bam in pieces:
        start, fits = 0, i + ends.shape[0] <= n
        with nogil:
            for j in range(ends.shape[0] if fits else 0):
                if ends[j] < start or ends[j] > <uint64_t>bam.shape[0]:
                    fits = False
                    break
                found[i].start, found[i].size = <size_t>&bam[0] + start, ends[j] - start
                start = ends[j]
                i += 1
        if not fits or start != <size_t>bam.shape[0]:
            raise ValueError("records and order do not fit")
        total += start
    if i != n:
        raise ValueError("records and order do not fit")
    return total


cdef void mark_duplicate(byte_buffer *out, size_t size, uint8_t mark, bint tagged) noexcept nogil:
    """Flags the last record, of `size` bytes. There is room for the tag."""
    cdef uint8_t *record = out.data + out.size - size
    cdef uint8_t *end
    record[FLAG_AT + 1] |= BAM_FDUP >> 8
    if tagged:
        end = put_string_tag(out.data + out.size, TAG_dt, b"SQ" if mark == 2 else b"LB", 2, False)
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


cdef packed struct index_entry_t:
    int32_t tid
    int32_t position
    uint32_t span
    uint32_t size


ENTRY_DTYPE = np.dtype([("tid", np.int32), ("position", np.int32), ("span", np.uint32), ("size", np.uint32)])
cdef uint32_t MAPPED = <uint32_t>1 << 31  # beside the span


def index_entries(const uint8_t[::1] bam not None, const uint64_t[::1] ends not None):
    """What an index has to know of records, as `BamIndex.add` takes it.

    Parameters
    ----------
    bam : uint8[]
    ends : uint64[n]
        As from `gather`.

    Returns
    -------
    void[n]

    Raises
    ------
    ValueError
        Records and ends do not fit.
    """
    cdef size_t n = ends.shape[0], i, start = 0
    entries = np.empty(n, ENTRY_DTYPE)
    cdef index_entry_t[::1] made = entries
    cdef const uint8_t *record
    cdef bint fits = n == 0 or ends[n - 1] == <uint64_t>bam.shape[0]
    with nogil:
        for i in range(n):
            fits = fits and ends[i] <= <uint64_t>bam.shape[0] and start + BAM_CORE <= ends[i]
            if not fits:
                break
            record = &bam[start]
            made[i].tid, made[i].position = <int32_t>u32_at(record + 4), <int32_t>u32_at(record + 8)
            made[i].span = <uint32_t>span_of(record)
            if not u32_at(record + 16) >> 16 & BAM_FUNMAP:
                made[i].span |= MAPPED
            made[i].size = ends[i] - start
            start = ends[i]
    if not fits:
        raise ValueError("records and ends do not fit")
    return entries


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

    def add(self, entries not None, const uint64_t[::1] blocks not None, uint32_t block_size):
        """Append records.

        Parameters
        ----------
        entries : void[n]
            Of `index_entries`. The first record begins with a block, and the last one ends with one.
        blocks : uint64[b + 1]
            Where each block of `block_size` bytes of them begins in the file, and where the last one ends.

        Raises
        ------
        ValueError
            The records are not sorted, or blocks and records do not fit.
        """
        cdef const index_entry_t[::1] added = entries
        cdef size_t at = 0, size = 0, i, n = added.shape[0], last = blocks.shape[0] - 1
        cdef int64_t position
        cdef int failed = 0
        for i in range(n):
            size += added[i].size
        if blocks.shape[0] != <Py_ssize_t>((size + block_size - 1) // block_size) + 1:
            raise ValueError("blocks and records do not fit")
        with nogil:
            for i in range(n):
                position = added[i].position
                at += added[i].size
                self.end = blocks[last] << 16 if at == size else blocks[at // block_size] << 16 | at % block_size
                failed = hts_idx_push(self.index, added[i].tid, position,
                                      position + (added[i].span & ~<uint32_t>MAPPED), self.end,
                                      added[i].span >> 31) < 0
                if failed:
                    break
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
