"""Arrays to BAM records: builds `bam1_t` in place with htslib's own structs and writes them without the GIL.

Record layout and tags: SAM specification 1.6, sections 1.4 and 4.2. The bytes of a field are made in `bam_fields.h`;
here is what a record consists of, and every check that keeps those bytes inside their buffers.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.errno cimport EIO, errno
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset, strlen

from pysam.libcalignedsegment cimport makeAlignedSegment
from pysam.libcalignmentfile cimport AlignmentHeader
from pysam.libchtslib cimport (
    BAM_FREVERSE, BAM_FSECONDARY, BAM_FUNMAP, CRAM_OPT_NO_REF,
    bam1_core_t, bam1_t, bam_cigar_op, bam_cigar_oplen, bam_cigar_type, bam_destroy1, bam_init1, hFILE, hclose, hdopen,
    herrno, hts_close, hts_hopen, hts_reg2bin, hts_set_opt, hts_set_threads, htsFile, sam_hdr_nref, sam_hdr_t,
    sam_hdr_tid2len, sam_hdr_tid2name, sam_hdr_write, sam_write1,
)

from gassst._types cimport hit_t, read_summary_t

import os

from gassst.errors import InputError

cdef extern from "strand_bases.h" nogil:
    ctypedef struct reference_bases:
        const uint64_t *planes
        const uint32_t *exception_start
        const uint32_t *exception_length
        const uint8_t *exception_code
        size_t n_exceptions
    void fill_base_entries() noexcept
    void orient(const uint8_t *bases, uint32_t length, int strand, uint8_t *entries) noexcept
    void entries_to_planes(const uint8_t *entries, uint32_t length, uint64_t *planes) noexcept
    void mark_mismatches(const uint64_t *read, uint32_t q, const uint64_t *reference, uint64_t p, uint32_t length,
                         uint64_t *mismatch) noexcept

cdef extern from "bam_fields.h" nogil:
    enum:
        MAX_DECIMAL
        MAX_INT_TAG
        N_INT_TAGS
    bint is_valid_name(const uint8_t *name, uint32_t length) noexcept
    uint8_t *put_tag(uint8_t *to, const char *name, char type) noexcept
    uint8_t *put_int_tag(uint8_t *to, const char *name, int64_t value) noexcept
    uint8_t *put_string_tag(uint8_t *to, const char *name, const char *value, size_t length) noexcept
    uint8_t *put_name(uint8_t *to, const uint8_t *name, uint32_t length) noexcept
    uint8_t *put_sequence(uint8_t *to, const uint8_t *entries, uint32_t length) noexcept
    uint8_t *put_qualities(uint8_t *to, const uint8_t *quals, uint32_t length, int reverse) noexcept
    uint32_t *put_cigar_eqx(uint32_t *to, const uint32_t *cigar, uint32_t runs, const uint64_t *mismatch) noexcept
    uint8_t *put_md(uint8_t *to, const uint32_t *cigar, uint32_t runs, const uint64_t *mismatch,
                    const reference_bases *reference, uint32_t position) noexcept
    uint8_t *put_xa_hit(uint8_t *to, const char *contig, size_t contig_length, int reverse, int64_t position,
                        const uint32_t *cigar, uint32_t runs, uint32_t edits) noexcept
    bint grow_record(bam1_t *record, uint32_t size) noexcept

cdef enum:
    NO_SCORE = 0xFFFF
    MAX_READ_LENGTH = (1 << 28) - 1  # one CIGAR run must be able to hold it

cdef enum build_status:
    END = 0
    BUILT = 1
    NO_MEMORY = -1
    BAD_READ_ORDER = -2
    BAD_CIGAR_RANGE = -3
    BAD_CIGAR = -4
    BAD_POSITION = -5
    TOO_LARGE = -6

PROBLEMS = {
    BAD_READ_ORDER: "rows are not grouped by read in the order of the batch, or a read has none",
    BAD_CIGAR_RANGE: "its CIGAR lies outside the CIGAR array",
    BAD_CIGAR: "its CIGAR does not consist of M, I, D and S runs that cover the read",
    BAD_POSITION: "it does not lie inside one contig",
    TOO_LARGE: "the record exceeds 2 GiB",
}

fill_base_entries()


# -- what a record is made of ---------------------------------------------------------------------------------------

cdef struct mate_t:
    int32_t tid      # RNEXT
    int64_t position # PNEXT, 0-based
    int64_t template_length

cdef mate_t NO_MATE = mate_t(-1, -1, 0)

cdef struct batch_t:
    const uint8_t *names
    const uint32_t *name_offsets
    const uint8_t *bases
    const uint8_t *quals  # NULL when there are none
    const uint32_t *offsets
    const read_summary_t *summaries
    const hit_t *hits
    const uint32_t *cigars
    size_t n_reads
    size_t n_hits
    size_t n_cigars

cdef struct target_t:
    reference_bases bases
    const int64_t *starts
    const int64_t *lengths
    size_t n_contigs
    const sam_hdr_t *header
    const char *read_group  # NULL when there is none
    size_t read_group_length
    bint eqx
    bint xa

cdef struct placement_t:
    int32_t tid
    int64_t position  # 0-based, on the contig
    int64_t span      # reference bases

cdef struct oriented_t:
    bint ready
    uint8_t *entries
    uint64_t *planes

cdef struct cursor_t:
    const batch_t *batch
    const target_t *target
    size_t row
    size_t group_start
    size_t group_end
    size_t next_read
    bint skip_unmapped
    oriented_t strands[2]  # of the group's read, made when first needed
    uint64_t *mismatch
    void *memory


cdef int open_cursor(cursor_t *c, const batch_t *batch, const target_t *target, uint32_t longest) noexcept nogil:
    cdef size_t rows = (<size_t>longest + 63) // 64 + 1, i
    cdef uint8_t *entries
    memset(c, 0, sizeof(cursor_t))
    c.batch = batch
    c.target = target
    c.memory = malloc(rows * (7 * sizeof(uint64_t) + 2 * 64))
    if c.memory == NULL:
        return NO_MEMORY
    c.mismatch = <uint64_t *>c.memory
    entries = <uint8_t *>(c.mismatch + 7 * rows)
    for i in range(2):
        c.strands[i].planes = c.mismatch + (1 + 3 * i) * rows
        c.strands[i].entries = entries + 64 * i * rows
    return BUILT


cdef inline uint32_t read_length(const batch_t *batch, size_t read) noexcept nogil:
    return batch.offsets[read + 1] - batch.offsets[read]


cdef const oriented_t *oriented(cursor_t *c, size_t read, int strand) noexcept nogil:
    cdef oriented_t *o = &c.strands[strand]
    cdef uint32_t length = read_length(c.batch, read)
    if not o.ready:
        orient(c.batch.bases + c.batch.offsets[read], length, strand, o.entries)
        entries_to_planes(o.entries, length, o.planes)
        o.ready = True
    return o


cdef int open_group(cursor_t *c) noexcept nogil:
    """The rows of the next read; each read of the batch must have its own, in order."""
    cdef size_t end = c.row
    if c.row == c.batch.n_hits:
        return END if c.next_read == c.batch.n_reads else BAD_READ_ORDER
    if c.next_read >= c.batch.n_reads or c.batch.hits[c.row].read != c.next_read:
        return BAD_READ_ORDER
    while end < c.batch.n_hits and c.batch.hits[end].read == c.next_read:
        end += 1
    c.group_start, c.group_end = c.row, end
    c.next_read += 1
    c.strands[0].ready = c.strands[1].ready = False
    return BUILT


# -- where a row lies -----------------------------------------------------------------------------------------------

cdef inline size_t contig_of(const target_t *t, uint32_t coordinate) noexcept nogil:
    """Last contig that starts at or before `coordinate`; n_contigs when there is none."""
    cdef size_t low = 0, high = t.n_contigs, middle
    while low < high:
        middle = low + (high - low) // 2
        if t.starts[middle] <= coordinate:
            low = middle + 1
        else:
            high = middle
    return low - 1 if low else t.n_contigs


cdef int check_cigar(const batch_t *batch, const hit_t *hit, int64_t *span) noexcept nogil:
    cdef uint64_t in_read = 0
    cdef uint32_t i, run
    if <uint64_t>hit.cigar_start + hit.cigar_runs > batch.n_cigars:
        return BAD_CIGAR_RANGE
    span[0] = 0
    for i in range(hit.cigar_runs):
        run = batch.cigars[hit.cigar_start + i]
        if bam_cigar_op(run) > 4 or bam_cigar_op(run) == 3:
            return BAD_CIGAR
        if bam_cigar_type(bam_cigar_op(run)) & 1:
            in_read += bam_cigar_oplen(run)
        if bam_cigar_type(bam_cigar_op(run)) & 2:
            span[0] += bam_cigar_oplen(run)
    return BUILT if hit.cigar_runs and in_read == read_length(batch, hit.read) else BAD_CIGAR


cdef int locate(const cursor_t *c, const hit_t *hit, placement_t *place) noexcept nogil:
    cdef const target_t *t = c.target
    cdef size_t contig
    cdef int status
    if hit.flag & BAM_FUNMAP:
        place[0] = placement_t(-1, -1, 0)
        return BUILT
    status = check_cigar(c.batch, hit, &place.span)
    if status != BUILT:
        return status
    contig = contig_of(t, hit.position)
    if contig == t.n_contigs:
        return BAD_POSITION
    place.tid = <int32_t>contig
    place.position = hit.position - t.starts[contig]
    if place.position >= t.lengths[contig] or place.position + place.span > t.lengths[contig]:
        return BAD_POSITION
    return BUILT


# -- one record -----------------------------------------------------------------------------------------------------

cdef inline void place_mate(bam1_core_t *core, const mate_t *mate) noexcept nogil:
    core.mtid = mate.tid
    core.mpos = mate.position
    core.isize = mate.template_length


cdef void fill_core(bam1_core_t *core, const hit_t *hit, const placement_t *place, uint32_t name_length,
                    uint32_t length) noexcept nogil:
    cdef int64_t end = place.position + (place.span if place.span else 1)
    core.tid = place.tid
    core.pos = place.position
    core.qual = hit.mapq
    core.flag = hit.flag
    core.bin = <uint16_t>hts_reg2bin(place.position, end, 14, 5)
    core.l_qname = <uint16_t>(name_length + 4 - (name_length & 3))
    core.l_extranul = <uint8_t>(3 - (name_length & 3))
    core.l_qseq = 0 if hit.flag & BAM_FSECONDARY else <int32_t>length
    core.n_cigar = 0
    place_mate(core, &NO_MATE)


cdef void compare(cursor_t *c, const hit_t *hit) noexcept nogil:
    """Fills `c.mismatch`, one bit a read base; bases outside M runs are left 0."""
    cdef const uint32_t *cigar = c.batch.cigars + hit.cigar_start
    cdef const oriented_t *read = oriented(c, hit.read, (hit.flag & BAM_FREVERSE) != 0)
    cdef uint64_t p = hit.position
    cdef uint32_t q = 0, i, length, kind
    memset(c.mismatch, 0, (<size_t>read_length(c.batch, hit.read) // 64 + 1) * sizeof(uint64_t))
    for i in range(hit.cigar_runs):
        length, kind = bam_cigar_oplen(cigar[i]), bam_cigar_type(bam_cigar_op(cigar[i]))
        if kind == 3:
            mark_mismatches(read.planes, q, c.target.bases.planes, p, length, c.mismatch)
        if kind & 1:
            q += length
        if kind & 2:
            p += length


cdef uint8_t *put_cigar(uint8_t *to, const cursor_t *c, const hit_t *hit) noexcept nogil:
    cdef const uint32_t *cigar = c.batch.cigars + hit.cigar_start
    if c.target.eqx:
        return <uint8_t *>put_cigar_eqx(<uint32_t *>to, cigar, hit.cigar_runs, c.mismatch)
    memcpy(to, cigar, hit.cigar_runs * sizeof(uint32_t))
    return to + hit.cigar_runs * sizeof(uint32_t)


cdef uint8_t *put_mapped_tags(uint8_t *to, const cursor_t *c, const hit_t *hit, uint32_t index) noexcept nogil:
    cdef const read_summary_t *summary = c.batch.summaries + hit.read
    to = put_int_tag(to, "NM", hit.edits)
    to = put_tag(to, "MD", b'Z')
    to = put_md(to, c.batch.cigars + hit.cigar_start, hit.cigar_runs, c.mismatch, &c.target.bases, hit.position)
    to[0] = 0
    to = put_int_tag(to + 1, "AS", -<int64_t>hit.edits)
    if summary.n_best > 1:
        to = put_int_tag(to, "XS", -<int64_t>summary.best)
    elif summary.second != NO_SCORE:
        to = put_int_tag(to, "XS", -<int64_t>summary.second)
    to = put_int_tag(to, "X0", summary.n_best)
    to = put_int_tag(to, "X1", summary.n_second)
    to = put_int_tag(to, "NH", summary.n_reported)
    return put_int_tag(to, "HI", index)


cdef uint64_t record_bound(const cursor_t *c, uint32_t name_length, uint32_t length, uint32_t runs,
                           int64_t span) noexcept nogil:
    """Most bytes a record can take, without XA; each part is bounded beside its function in bam_fields.h."""
    cdef uint64_t cigar = sizeof(uint32_t) * (<uint64_t>runs + (length if c.target.eqx else 0))
    cdef uint64_t tags = 3 + 2 * (<uint64_t>span + runs) + 2 + N_INT_TAGS * MAX_INT_TAG
    return name_length + 4 + cigar + (length + 1) // 2 + length + tags + 4 + c.target.read_group_length


cdef int reserve(bam1_t *record, uint64_t size) noexcept nogil:
    if size > INT32_MAX:
        return TOO_LARGE
    return BUILT if grow_record(record, <uint32_t>size) else NO_MEMORY


cdef int add_xa(cursor_t *c, bam1_t *record) noexcept nogil:
    """Folds the rows behind the group's first into its record."""
    cdef placement_t place
    cdef const hit_t *hit
    cdef const char *contig
    cdef uint8_t *to
    cdef size_t row
    cdef int status = reserve(record, <uint64_t>record.l_data + 4)
    if status != BUILT:
        return status
    record.l_data = <int>(put_tag(record.data + record.l_data, "XA", b'Z') - record.data)
    for row in range(c.group_start + 1, c.group_end):
        hit = c.batch.hits + row
        status = locate(c, hit, &place)
        if status != BUILT or place.tid < 0:
            return status if status != BUILT else BAD_POSITION
        contig = sam_hdr_tid2name(c.target.header, place.tid)
        status = reserve(record, record.l_data + strlen(contig) + 2 * MAX_DECIMAL + 11 * <uint64_t>hit.cigar_runs + 6)
        if status != BUILT:
            return status
        to = put_xa_hit(record.data + record.l_data, contig, strlen(contig), (hit.flag & BAM_FREVERSE) != 0,
                        place.position, c.batch.cigars + hit.cigar_start, hit.cigar_runs, hit.edits)
        record.l_data = <int>(to - record.data)
    record.data[record.l_data] = 0
    record.l_data += 1
    return BUILT


cdef int build(cursor_t *c, const hit_t *hit, uint32_t index, bam1_t *record) noexcept nogil:
    """The record of one row but for XA; `index` is the 1-based rank of the row among its read's."""
    cdef const batch_t *batch = c.batch
    cdef uint32_t name_length = batch.name_offsets[hit.read + 1] - batch.name_offsets[hit.read]
    cdef uint32_t length = read_length(batch, hit.read)
    cdef bint mapped = not hit.flag & BAM_FUNMAP, reverse = (hit.flag & BAM_FREVERSE) != 0
    cdef const uint8_t *quals = NULL
    cdef placement_t place
    cdef uint8_t *to
    cdef uint8_t *cigar
    cdef int status = locate(c, hit, &place)
    if status == BUILT:
        status = reserve(record, record_bound(c, name_length, length, hit.cigar_runs, place.span))
    if status != BUILT:
        return status
    fill_core(&record.core, hit, &place, name_length, length)
    to = put_name(record.data, batch.names + batch.name_offsets[hit.read], name_length)
    if mapped:
        compare(c, hit)
        cigar = to
        to = put_cigar(to, c, hit)
        record.core.n_cigar = <uint32_t>((to - cigar) // sizeof(uint32_t))
    if record.core.l_qseq:
        to = put_sequence(to, oriented(c, hit.read, reverse).entries, length)
        if batch.quals != NULL:
            quals = batch.quals + batch.offsets[hit.read]
        to = put_qualities(to, quals, length, reverse)
    if mapped:
        to = put_mapped_tags(to, c, hit, index)
    if c.target.read_group != NULL:
        to = put_string_tag(to, "RG", c.target.read_group, c.target.read_group_length)
    record.l_data = <int>(to - record.data)
    return BUILT


cdef int next_record(cursor_t *c, bam1_t *record) noexcept nogil:
    """Builds the next record of the batch: BUILT, END, or what is wrong with row `c.row`."""
    cdef const hit_t *hit
    cdef int status
    while True:
        if c.row == c.group_end:
            status = open_group(c)
            if status != BUILT:
                return status
        hit = c.batch.hits + c.row
        if not (c.skip_unmapped and hit.flag & BAM_FUNMAP):
            break
        c.row += 1
    status = build(c, hit, <uint32_t>(c.row - c.group_start + 1), record)
    if status != BUILT or not c.target.xa:
        c.row += status == BUILT
        return status
    if c.group_end - c.group_start > 1:
        status = add_xa(c, record)
    if status == BUILT:
        c.row = c.group_end
    return status


# -- Python ---------------------------------------------------------------------------------------------------------

cdef _raise_status(int status, size_t row):
    if status == NO_MEMORY:
        raise MemoryError("no memory for a BAM record")
    raise ValueError(f"hit row {row}: {PROBLEMS[status]}")


cdef _check_offsets(const uint32_t[::1] offsets, size_t size, str what):
    cdef Py_ssize_t i
    cdef bint ascending = True
    if not offsets.shape[0]:
        raise ValueError(f"{what}: no offsets")
    for i in range(offsets.shape[0] - 1):
        ascending = ascending and offsets[i] <= offsets[i + 1]
    if not ascending or offsets[offsets.shape[0] - 1] > size:
        raise ValueError(f"{what}: offsets descend or exceed the {size} bytes they point into")


cdef class HitBatch:
    """A batch of reads with its hits, checked so that records can be built without further look at sizes.

    Parameters
    ----------
    reads: any object with the arrays of a `ReadBatch` (docs/pipeline.md): `names uint8[]`, `name_offsets uint32[n+1]`,
        `bases uint8[]`, `quals uint8[] | None`, `offsets uint32[n+1]`.
    hits: `layouts.HIT[h]`, sorted by read, each read's rows contiguous with the primary first, at least one row a read
        (an unmapped read has flag 4 and no CIGAR runs).
    summaries: `layouts.READ_SUMMARY[n]`.
    cigars: `uint32[]`, BAM runs (M, I, D, S only).

    Raises `ValueError` when sizes disagree, `InputError` for a read name that SAM cannot hold.
    """

    cdef batch_t c
    cdef uint32_t longest
    cdef tuple keep  # the views that `c` points into

    def __cinit__(self, reads, hits, summaries, cigars):
        cdef const uint8_t[::1] names = reads.names, bases = reads.bases, quals = reads.quals
        cdef const uint32_t[::1] name_offsets = reads.name_offsets, offsets = reads.offsets, runs = cigars
        cdef const hit_t[::1] rows = hits
        cdef const read_summary_t[::1] summary = summaries
        _check_offsets(name_offsets, names.shape[0], "read names")
        _check_offsets(offsets, bases.shape[0], "bases")
        if quals is not None:
            _check_offsets(offsets, quals.shape[0], "qualities")
        if name_offsets.shape[0] != offsets.shape[0] or summary.shape[0] != offsets.shape[0] - 1:
            raise ValueError("names, bases and summaries are not of the same number of reads")
        self.keep = (names, bases, quals, name_offsets, offsets, runs, rows, summary)
        self.c.names = &names[0] if names.shape[0] else NULL
        self.c.bases = &bases[0] if bases.shape[0] else NULL
        self.c.quals = &quals[0] if quals is not None and quals.shape[0] else NULL
        self.c.name_offsets = &name_offsets[0]
        self.c.offsets = &offsets[0]
        self.c.cigars = &runs[0] if runs.shape[0] else NULL
        self.c.hits = &rows[0] if rows.shape[0] else NULL
        self.c.summaries = &summary[0] if summary.shape[0] else NULL
        self.c.n_reads = summary.shape[0]
        self.c.n_hits = rows.shape[0]
        self.c.n_cigars = runs.shape[0]
        self._check_reads()

    cdef _check_reads(self):
        cdef size_t i
        cdef uint32_t start, length
        for i in range(self.c.n_reads):
            start, length = self.c.name_offsets[i], self.c.name_offsets[i + 1] - self.c.name_offsets[i]
            if not is_valid_name(self.c.names + start, length):
                name = (<const char *>self.c.names)[start:start + min(length, 60)].decode("ascii", "backslashreplace")
                raise InputError(f"read name {name!r}: SAM takes 1 to 254 printable characters, the first not '@'")
            self.longest = max(self.longest, read_length(&self.c, i))
        if self.longest > MAX_READ_LENGTH:
            raise ValueError(f"a read of {self.longest} bases does not fit into a BAM record")

    def unmapped_fastq(self):
        """`(text, n)`: the reads whose first row is unmapped, as FASTQ (FASTA when there are no qualities)."""
        cdef bint fastq = self.c.quals != NULL
        cdef size_t size = 0, row, n = 0
        cdef const hit_t *hit
        cdef char *to
        for row in range(self.c.n_hits):
            hit = self.c.hits + row
            if hit.flag & BAM_FUNMAP and hit.read < self.c.n_reads:
                size += self._text_size(hit.read, fastq)
                n += 1
        text = PyBytes_FromStringAndSize(NULL, size)
        to = PyBytes_AS_STRING(text)
        with nogil:
            for row in range(self.c.n_hits):
                hit = self.c.hits + row
                if hit.flag & BAM_FUNMAP and hit.read < self.c.n_reads:
                    to = self._put_text(to, hit.read, fastq)
        return text, n

    cdef size_t _text_size(self, size_t read, bint fastq) noexcept nogil:
        cdef size_t name = self.c.name_offsets[read + 1] - self.c.name_offsets[read]
        cdef size_t length = read_length(&self.c, read)
        return name + length + 3 + (length + 3 if fastq else 0)

    cdef char *_put_text(self, char *to, size_t read, bint fastq) noexcept nogil:
        cdef size_t name = self.c.name_offsets[read + 1] - self.c.name_offsets[read]
        cdef size_t length = read_length(&self.c, read)
        to[0] = b'@' if fastq else b'>'
        memcpy(to + 1, self.c.names + self.c.name_offsets[read], name)
        to[name + 1] = b'\n'
        to += name + 2
        memcpy(to, self.c.bases + self.c.offsets[read], length)
        to[length] = b'\n'
        to += length + 1
        if fastq:
            memcpy(to, b"+\n", 2)
            memcpy(to + 2, self.c.quals + self.c.offsets[read], length)
            to[length + 2] = b'\n'
            to += length + 3
        return to


cdef class RecordBuilder:
    """Turns rows of a `HitBatch` into records of one header and one reference.

    Parameters
    ----------
    header: `pysam.AlignmentHeader` with one @SQ a contig, in order.
    planes: `uint64[n, 3]`, the reference (docs/pipeline.md).
    starts, lengths: `int64[c]`, concatenated coordinate of each contig's first base, and its bases.
    exceptions: `(start uint32[e], length uint32[e], letter uint8[e])`: runs of masked bases and their upper-case ASCII
        letter, sorted by start, in concatenated coordinates; MD shows them.
    eqx: write = and X for M. xa: fold secondary rows into tag XA of the primary.
    read_group: ID for tag RG.

    Raises `ValueError` when the arrays, or arrays and header, disagree.
    """

    cdef target_t c
    cdef readonly AlignmentHeader header
    cdef tuple keep
    cdef bytes _read_group

    def __cinit__(self, AlignmentHeader header not None, planes, starts, lengths, exceptions, *, bint eqx=False,
                  bint xa=False, str read_group=None):
        cdef const uint64_t[:, ::1] rows = planes
        cdef const int64_t[::1] begin = starts, size = lengths
        cdef const uint32_t[::1] run_start = exceptions[0], run_length = exceptions[1]
        cdef const uint8_t[::1] letter = exceptions[2]
        if rows.shape[1] != 3:
            raise ValueError("reference planes must be uint64[n, 3]")
        if run_start.shape[0] != run_length.shape[0] or run_start.shape[0] != letter.shape[0]:
            raise ValueError("exception arrays differ in size")
        self.header = header
        self.keep = (rows, begin, size, run_start, run_length, letter)
        self._check_contigs(begin, size, rows.shape[0])
        self.c.header = header.ptr
        self.c.n_contigs = begin.shape[0]
        if begin.shape[0]:
            self.c.starts, self.c.lengths = &begin[0], &size[0]
            self.c.bases.planes = &rows[0, 0]
        if run_start.shape[0]:
            self.c.bases.exception_start, self.c.bases.exception_length = &run_start[0], &run_length[0]
            self.c.bases.exception_code = &letter[0]
            self.c.bases.n_exceptions = run_start.shape[0]
        self.c.eqx, self.c.xa = eqx, xa
        if read_group is not None:
            self._read_group = read_group.encode()
            self.c.read_group, self.c.read_group_length = self._read_group, len(self._read_group)

    cdef _check_contigs(self, const int64_t[::1] starts, const int64_t[::1] lengths, int64_t rows):
        cdef int64_t end = 0
        cdef Py_ssize_t i
        if starts.shape[0] != lengths.shape[0] or starts.shape[0] != sam_hdr_nref(self.header.ptr):
            raise ValueError("contig starts, contig lengths and header are not of the same number of contigs")
        for i in range(starts.shape[0]):
            if starts[i] < end or lengths[i] < 0 or lengths[i] != sam_hdr_tid2len(self.header.ptr, <int>i):
                raise ValueError(f"contig {i}: starts before the last one's end, or length differs from the header")
            end = starts[i] + lengths[i]
        if starts.shape[0] and end + 64 > 64 * rows:  # comparing looks one row ahead
            raise ValueError("reference planes end before the padding behind the last contig")

    def aligned_segments(self, HitBatch batch not None):
        """The records of a batch as `list[pysam.AlignedSegment]`, unmapped reads included."""
        cdef cursor_t c
        cdef bam1_t *record = bam_init1()
        cdef int status = open_cursor(&c, &batch.c, &self.c, batch.longest)
        segments = []
        try:
            while status == BUILT and record != NULL:
                status = next_record(&c, record)
                if status == BUILT:
                    segments.append(makeAlignedSegment(record, self.header))
        finally:
            free(c.memory)
            if record != NULL:
                bam_destroy1(record)
        if record == NULL or status != END:
            _raise_status(status if record != NULL else NO_MEMORY, c.row)
        return segments


cdef class RecordWriter:
    """Writes records of a `RecordBuilder` to an open file descriptor, which it takes over and closes.

    `mode` is htslib's: "w" SAM, "wb6" BAM of level 6, "wc" CRAM (always without reference, so that it can be decoded
    anywhere). `name` is for htslib's messages. `threads` compress besides the caller's. The header is written at once.

    A failed write or close raises `OSError` with the errno of the file, as far as htslib kept it.
    Counters: `records` (rows written).
    """

    cdef htsFile *file
    cdef hFILE *stream  # owned by `file`
    cdef bam1_t *record
    cdef RecordBuilder builder
    cdef int fd
    cdef readonly uint64_t records

    def __cinit__(self, RecordBuilder builder not None, int fd, name, str mode not None, int threads=0):
        encoded_name, encoded_mode = os.fsencode(name), mode.encode()
        cdef int code
        self.builder, self.fd = builder, fd
        self.stream = hdopen(fd, encoded_mode)
        if self.stream == NULL:
            code = errno
            os.close(fd)
            raise OSError(code, os.strerror(code))
        self.file = hts_hopen(self.stream, encoded_name, encoded_mode)
        if self.file == NULL:
            code = errno
            if hclose(self.stream):
                code = code or errno
            raise OSError(code or EIO, os.strerror(code or EIO))
        self.record = bam_init1()
        if self.record == NULL:
            raise MemoryError("no memory for a BAM record")
        self._start("c" in mode, threads)

    cdef _start(self, bint cram, int threads):
        cdef int failed = 0
        if threads:
            failed = hts_set_threads(self.file, threads)
        if cram and not failed:
            failed = hts_set_opt(self.file, CRAM_OPT_NO_REF, 1)
        if not failed:
            errno = 0
            with nogil:
                failed = sam_hdr_write(self.file, self.builder.c.header)
        if failed:
            self._raise_errno()

    cdef _raise_errno(self):
        cdef int code = herrno(self.stream) or errno or EIO
        raise OSError(code, os.strerror(code))

    def __dealloc__(self):
        if self.file != NULL:
            hts_close(self.file)
        if self.record != NULL:
            bam_destroy1(self.record)

    def write(self, HitBatch batch not None, *, bint skip_unmapped=False):
        """Writes the records of a batch in its order and returns how many; `skip_unmapped` leaves rows of flag 4 out."""
        cdef cursor_t c
        cdef uint64_t before = self.records
        cdef int status, failed = 0
        if self.file == NULL:
            raise ValueError("write to a closed file")
        errno = 0
        with nogil:
            status = open_cursor(&c, &batch.c, &self.builder.c, batch.longest)
            c.skip_unmapped = skip_unmapped
            while status == BUILT and not failed:
                status = next_record(&c, self.record)
                if status == BUILT:
                    failed = sam_write1(self.file, self.builder.c.header, self.record) < 0
                    self.records += not failed
            free(c.memory)
        if failed:
            self._raise_errno()
        if status != END:
            _raise_status(status, c.row)
        return self.records - before

    def close(self):
        """Flushes and closes; a second call does nothing."""
        cdef htsFile *file = self.file
        cdef int code, failed
        if file == NULL:
            return
        self.file = NULL
        errno = 0
        code = herrno(self.stream)
        with nogil:
            failed = hts_close(file)
        if failed or code:
            code = code or errno or EIO
            raise OSError(code, os.strerror(code))

    def abort(self):
        """Closes and throws away what is not yet written: a stream must not end in a block that says it is complete."""
        if self.file == NULL:
            return
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fd, inheritable=False)
        os.close(null)
        try:
            self.close()
        except OSError:
            pass
