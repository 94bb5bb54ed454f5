"""Arrays to records, without the GIL: lines of SAM, records of BAM, and htslib's own `bam1_t` where it is needed.

Record layout and tags: SAM specification 1.6, sections 1.4 and 4.2. The bytes of a field are made in
`bam_fields.h`; what a record consists of, and the checks that keep those bytes inside their buffers, are in
`record_builder.pxi`, `record_mates.pxi` and `record_lists.pxi`; here are the classes that Python sees.
"""
cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.errno cimport EIO, errno
from libc.stdint cimport INT32_MAX, INT32_MIN, UINT16_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from gassst._core.common cimport (
    C_TO_T,
    MASKED_BASE,
    base_at,
    contigs_before,
    conversion_of_strand,
    coordinate_t,
    count_bits,
    hit_t,
    planes_t,
    prefetch_bases,
    rating_t,
    read_summary_t,
)
from gassst._core.htslib cimport (
    BAM_CHARD_CLIP, BAM_CREF_SKIP, BAM_CSOFT_CLIP, BAM_FDUP, BAM_FMREVERSE, BAM_FMUNMAP, BAM_FPAIRED, BAM_FPROPER_PAIR,
    BAM_FREAD1, BAM_FREAD2, BAM_FREVERSE, BAM_FSECONDARY, BAM_FSUPPLEMENTARY, BAM_FUNMAP, HTS_FMT_BAI, HTS_FMT_CSI,
    bam1_core_t, bam1_t, bam_cigar_op, bam_cigar_oplen, bam_cigar_type, bam_destroy1, bam_init1, hFILE, hclose, hdopen,
    herrno, hts_close, hts_hopen, hts_idx_destroy, hts_idx_finish, hts_idx_init, hts_idx_push, hts_idx_save_as, hts_idx_t,
    hts_reg2bin, hts_set_fai_filename, hts_set_threads, htsFile, sam_hdr_destroy, sam_hdr_parse, sam_hdr_write, sam_write1,
)

import os

import numpy as np

from gassst.errors import InputError
from gassst.model.params import LEAST_SCORE

cdef extern from *:
    void PREFETCH "__builtin_prefetch"(const void *) nogil

cdef extern from "strand_bases.h" nogil:
    ctypedef struct reference_bases:
        planes_t planes
        const coordinate_t *exception_start
        const uint32_t *exception_length
        const uint8_t *exception_code
        size_t n_exceptions
    void fill_letters() noexcept
    planes_t orient(const uint8_t *bases, uint32_t length, int strand, uint8_t *letters, uint64_t *words) noexcept
    void mark_mismatches(planes_t read, uint32_t q, planes_t reference, int64_t p, uint32_t length,
                         uint64_t *mismatch) noexcept

cdef extern from "own_tags.h" nogil:
    enum:
        MAX_DECIMAL
        OWN_TAG_BYTES
        OWN_TAG_BYTES_PER_BASE
        N_OWN_TAGS
    ctypedef struct own_tag:
        const char *name
        const char *option
        const char *meaning
    const own_tag *own_tags
    const char *TAG_NM
    const char *TAG_MD
    const char *TAG_AS
    const char *TAG_XS
    const char *TAG_cs
    const char *TAG_X0
    const char *TAG_X1
    const char *TAG_NH
    const char *TAG_HI
    const char *TAG_mt
    const char *TAG_MQ
    const char *TAG_RG
    const char *TAG_BQ
    const char *TAG_SA
    const char *TAG_XA
    const char *TAG_dt
    const char *TAG_YC
    const char *TAG_YD
    const char *TAG_XM
    const char *TAG_XR
    const char *TAG_XG

cdef extern from "bam_fields.h" nogil:
    enum:
        MAX_BAM_CIGAR
        BAM_CORE
        MOST_TAG_GROWTH
    ctypedef struct byte_buffer:
        uint8_t *data
        size_t size
        size_t room
    ctypedef struct contig_name:
        const char *text
        size_t length
    ctypedef struct record_core:
        int32_t tid, mate_tid
        int64_t position, mate_position, template_length
        uint16_t flag, bin
        uint8_t mapq
        uint32_t name_length, runs, length
    ctypedef struct listed_hit:
        contig_name contig
        int64_t position
        int reverse
        const uint32_t *cigar
        uint32_t runs
        uint32_t mapq
        uint32_t edits
    bint grow_buffer(byte_buffer *buffer, size_t more) noexcept
    bint set_record_data(bam1_t *record, const uint8_t *bytes, uint32_t size) noexcept
    bint is_valid_name(const uint8_t *name, uint32_t length) noexcept
    uint8_t *put_decimal(uint8_t *to, uint64_t value) noexcept
    uint8_t *put_text(uint8_t *to, const char *text, size_t length) noexcept
    uint8_t *open_string(uint8_t *to, const char *name, bint text) noexcept
    uint8_t *close_string(uint8_t *to, bint text) noexcept
    uint8_t *put_int_tag(uint8_t *to, const char *name, int64_t value, bint text) noexcept
    uint8_t *put_string_tag(uint8_t *to, const char *name, const char *value, size_t length, bint text) noexcept
    uint8_t *put_read_tags(uint8_t *to, const uint8_t *tags, size_t length, bint text) noexcept
    uint8_t *put_name(uint8_t *to, const uint8_t *name, uint32_t length, bint padded) noexcept
    uint8_t *put_sequence(uint8_t *to, const uint8_t *letters, uint32_t length) noexcept
    uint8_t *put_qualities(uint8_t *to, const uint8_t *quals, uint32_t length, bint reverse, bint text) noexcept
    uint32_t *put_cigar_eqx(uint32_t *to, const uint32_t *cigar, uint32_t runs,
                            const uint64_t *mismatch) noexcept
    uint8_t *put_cigar(uint8_t *to, const uint32_t *cigar, uint32_t runs) noexcept
    uint8_t *put_cigar_stand_in(uint8_t *to, uint32_t length, uint32_t span) noexcept
    uint8_t *put_long_cigar(uint8_t *to, const uint32_t *cigar, uint32_t runs) noexcept
    uint8_t *put_md(uint8_t *to, const uint32_t *cigar, uint32_t runs, const uint64_t *mismatch,
                    const reference_bases *reference, coordinate_t position) noexcept
    uint8_t *put_cs(uint8_t *to, const uint32_t *cigar, uint32_t runs, const uint64_t *mismatch,
                    const reference_bases *reference, coordinate_t position, const uint8_t *letters) noexcept
    ctypedef struct paf_line:
        const uint8_t *name
        uint32_t name_length, read_length, first, last
        int mate, reverse
        contig_name contig
        int64_t contig_length, position, span
        uint32_t equal, columns, mapq
    uint8_t *put_paf_core(uint8_t *to, const paf_line *line) noexcept
    uint8_t *put_cigar_text(uint8_t *to, const uint32_t *cigar, uint32_t runs) noexcept
    uint8_t *put_mate_cigar(uint8_t *to, const uint32_t *cigar, uint32_t runs, bint text) noexcept
    void harden_clips(uint32_t *cigar, uint32_t runs) noexcept
    uint8_t *put_bam_core(uint8_t *to, const record_core *core) noexcept
    void close_bam(uint8_t *record, size_t size) noexcept
    uint8_t *put_sam_core(uint8_t *to, const record_core *core, const uint8_t *name, const contig_name *contigs,
                          const uint32_t *cigar) noexcept
    uint8_t *put_xa_hit(uint8_t *to, const listed_hit *hit) noexcept
    uint8_t *put_sa_hit(uint8_t *to, const listed_hit *hit) noexcept

cdef extern from "baq.h" nogil:
    ctypedef struct baq_read:
        const uint8_t *letters
        const uint8_t *quals
        uint32_t length
        int reverse
        const uint32_t *cigar
        uint32_t runs
        planes_t reference
        int64_t contig_start, contig_length, position
    int baq_string(const baq_read *read, uint8_t *to) noexcept

include "record_builder.pxi"
include "record_meth.pxi"
include "record_mates.pxi"
include "record_lists.pxi"
include "record_sorting.pxi"

cdef enum:
    MAX_READ_LENGTH = (1 << 28) - 1  # one CIGAR run must be able to hold it
    AHEAD = 8  # rows from the prefetch of the reference to its use
    PREFETCHED = 192  # bases: as much of it as most reads cover
    SPARE = 2  # threads of a process that encode at once, as many as workers have
    OTHER_FIELDS = 120  # bytes of a usual record besides name, SEQ and QUAL, for a first guess of what a batch takes

PROBLEMS = {
    BAD_READ_ORDER: "rows are not grouped by read in the order of the batch, or a read has none",
    BAD_CIGAR_RANGE: "its CIGAR lies outside the CIGAR array",
    BAD_CIGAR: "its CIGAR does not consist of M, I, D and, at the ends, S runs that cover the read",
    BAD_POSITION: "it does not lie inside one contig",
    TOO_LARGE: "the record exceeds 2 GiB",
    BAD_PART: "there is no summary of its part",
}

fill_letters()

OWN_TAGS = tuple([
    (own_tags[i].name.decode(), own_tags[i].option.decode(), own_tags[i].meaning.decode()) for i in range(N_OWN_TAGS)
])
"""The tags that gassst writes: the name, the option that asks for it ("" for none), and the meaning."""


cdef _raise_status(int status, size_t row):
    if status == NO_MEMORY:
        raise MemoryError("no memory for records")
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


cdef _check_mates(const uint8_t[::1] mate, Py_ssize_t n):
    """1 and 2 come in this order, one behind the other."""
    cdef Py_ssize_t i
    cdef bint paired = True
    if mate is None:
        return
    if mate.shape[0] != n:
        raise ValueError("mates and reads are not of the same number")
    for i in range(n):
        paired = paired and mate[i] <= 2
        paired = paired and (mate[i] == 1) == (i + 1 < n and mate[i + 1] == 2)
        paired = paired and not (i == 0 and mate[i] == 2)
    if not paired:
        raise ValueError("the mates of a pair must be neighbours, 1 and 2")


cdef class HitBatch:
    """A batch of reads with its hits, checked so that records can be built without further look at sizes.

    Parameters
    ----------
    reads : ReadBatch, or any object with its arrays
        `tags` are valid ones as in SAM, a tab before each; `read_group` is the ordinal of theirs in the header.
    hits : HIT[h]
        Sorted by read, each read's rows contiguous with the primary first, at least one row for each read. An unmapped
        read has flag 4 and no CIGAR runs. Those flags that say something of the mate (0x1, 0x8, 0x20, 0x40, 0x80) are
        added to the records.
    summaries : READ_SUMMARY[n + p]
        Of the reads, then of the parts that `part` of rows counts from 1.
    cigars : uint32[]
        BAM runs: M, I, D, S only.
    conversions : uint8[n], optional
        As `PackedReads.conversions`; none where reads are not converted.

    Raises
    ------
    ValueError
        Sizes disagree.
    InputError
        SAM cannot hold the name of a read.
    """

    cdef batch_t c
    cdef uint32_t longest
    cdef tuple keep  # the views that `c` points into

    def __cinit__(self, reads, hits, summaries, cigars, const uint8_t[::1] conversions=None):
        cdef const uint8_t[::1] names = reads.names, bases = reads.bases, quals = reads.quals
        cdef const uint32_t[::1] name_offsets = reads.name_offsets, offsets = reads.offsets, runs = cigars
        cdef const hit_t[::1] rows = hits
        cdef const read_summary_t[::1] summary = summaries
        cdef const uint8_t[::1] mate = getattr(reads, "mate", None), tags = getattr(reads, "tags", None)
        cdef const uint32_t[::1] tag_offsets = getattr(reads, "tag_offsets", None)
        _check_offsets(name_offsets, names.shape[0], "read names")
        _check_offsets(offsets, bases.shape[0], "bases")
        if quals is not None:
            _check_offsets(offsets, quals.shape[0], "qualities")
        if name_offsets.shape[0] != offsets.shape[0] or summary.shape[0] < offsets.shape[0] - 1:
            raise ValueError("names, bases and summaries are not of the same number of reads")
        self.c.n_reads = offsets.shape[0] - 1
        self.c.n_parts = summary.shape[0] - self.c.n_reads
        _check_mates(mate, self.c.n_reads)
        if tags is not None:
            _check_offsets(tag_offsets, tags.shape[0], "tags")
            if tag_offsets.shape[0] != offsets.shape[0]:
                raise ValueError("tags and bases are not of the same number of reads")
            self.c.tags, self.c.tag_offsets = (&tags[0] if tags.shape[0] else NULL), &tag_offsets[0]
        self.c.read_group = getattr(reads, "read_group", 0)
        self.keep = (names, bases, quals, name_offsets, offsets, runs, rows, summary, mate, tags, tag_offsets, conversions)
        if conversions is not None and conversions.shape[0]:
            if <size_t>conversions.shape[0] != self.c.n_reads:
                raise ValueError("not one conversion for each read")
            self.c.conversions = &conversions[0]
        self.c.mate = &mate[0] if mate is not None and mate.shape[0] else NULL
        self.c.names = &names[0] if names.shape[0] else NULL
        self.c.bases = &bases[0] if bases.shape[0] else NULL
        self.c.quals = &quals[0] if quals is not None and quals.shape[0] else NULL
        self.c.name_offsets = &name_offsets[0]
        self.c.offsets = &offsets[0]
        self.c.cigars = &runs[0] if runs.shape[0] else NULL
        self.c.hits = &rows[0] if rows.shape[0] else NULL
        self.c.summaries = &summary[0] if summary.shape[0] else NULL
        self.c.n_hits = rows.shape[0]
        self.c.n_cigars = runs.shape[0]
        self._check_reads()

    cdef _check_reads(self):
        cdef size_t read
        cdef size_t start, end
        with nogil:
            read = self._first_bad_name()
            self.longest = self._longest_read()
        if read < self.c.n_reads:
            start, end = self.c.name_offsets[read], self.c.name_offsets[read + 1]
            shown = (<const char *>self.c.names)[start:min(end, start + 60)]
            name = shown.decode("ascii", "backslashreplace")
            raise InputError(f"read name {name!r}: SAM takes 1 to 254 printable characters, first not '@'")
        if self.longest > MAX_READ_LENGTH:
            raise ValueError(f"a read of {self.longest} bases does not fit into a BAM record")

    cdef size_t _first_bad_name(self) noexcept nogil:
        cdef const uint32_t *offsets = self.c.name_offsets
        cdef size_t i
        for i in range(self.c.n_reads):
            if not is_valid_name(self.c.names + offsets[i], offsets[i + 1] - offsets[i]):
                return i
        return self.c.n_reads

    cdef uint32_t _longest_read(self) noexcept nogil:
        cdef uint32_t longest = 0
        cdef size_t i
        for i in range(self.c.n_reads):
            longest = max(longest, read_length(&self.c, i))
        return longest

    def unmapped_fastq(self, int mate=0, bint either=False):
        """Unmapped reads as FASTQ, or FASTA when there are no qualities; bases as sequenced, tags as comments.

        Parameters
        ----------
        mate : int
            0: every unmapped read, those of pairs with "/1" and "/2" behind their names. 1 or 2: this mate of every
            pair whose mates are both unmapped.
        either : bool
            For `mate` 1 or 2, also of pairs of which one mate is unmapped.
        """
        cdef bint fastq = self.c.quals != NULL
        cdef size_t size = 0, row
        cdef char *to
        with nogil:
            for row in range(self.c.n_hits):
                if self._is_wanted(row, mate, either):
                    size += self._text_size(self.c.hits[row].read, fastq, not mate)
        text = PyBytes_FromStringAndSize(NULL, size)
        to = PyBytes_AS_STRING(text)
        with nogil:
            for row in range(self.c.n_hits):
                if self._is_wanted(row, mate, either):
                    to = self._put_text(to, self.c.hits[row].read, fastq, not mate)
        return text

    cdef bint _is_wanted(self, size_t row, int mate, bint either) noexcept nogil:
        """Whether `unmapped_fastq` has the read of a row, which is asked for its first row only."""
        cdef const hit_t *hits = self.c.hits
        cdef size_t read = hits[row].read, other
        cdef bint unmapped = hits[row].flag & BAM_FUNMAP, mate_unmapped
        if read >= self.c.n_reads or (row and hits[row - 1].read == read):
            return False
        if not mate:
            return unmapped
        if self.c.mate == NULL or self.c.mate[read] != mate:
            return False
        other = self._mate_row(row)
        mate_unmapped = hits[other].flag & BAM_FUNMAP
        return unmapped or mate_unmapped if either else unmapped and mate_unmapped

    cdef size_t _mate_row(self, size_t row) noexcept nogil:
        """The first row of the mate of a row's read. Rows of mates are neighbours."""
        cdef const hit_t *hits = self.c.hits
        cdef size_t read = hits[row].read, other = row
        if self.c.mate[read] == 1:
            while other + 1 < self.c.n_hits and hits[other].read == read:
                other += 1
            return other
        while other and hits[other].read == read:
            other -= 1
        while other and hits[other - 1].read == hits[other].read:
            other -= 1
        return other

    cdef size_t _text_size(self, size_t read, bint fastq, bint numbered) noexcept nogil:
        cdef size_t name = self.c.name_offsets[read + 1] - self.c.name_offsets[read]
        cdef size_t length = read_length(&self.c, read), suffix = self._suffix(read) if numbered else 0
        return name + suffix + read_tags_size(&self.c, read) + length + 3 + (length + 3 if fastq else 0)

    cdef size_t _suffix(self, size_t read) noexcept nogil:
        """Length of "/1" or "/2", which tells the mates of a pair from each other where there are no flags."""
        return 2 if self.c.mate != NULL and self.c.mate[read] else 0

    cdef char *_put_text(self, char *to, size_t read, bint fastq, bint numbered) noexcept nogil:
        cdef size_t name = self.c.name_offsets[read + 1] - self.c.name_offsets[read]
        cdef size_t length = read_length(&self.c, read)
        to[0] = b'@' if fastq else b'>'
        memcpy(to + 1, self.c.names + self.c.name_offsets[read], name)
        if numbered and self._suffix(read):
            to[name + 1] = b'/'
            to[name + 2] = b'1' if self.c.mate[read] == 1 else b'2'
            name += 2
        to += name + 1
        if self.c.tags != NULL:
            to = <char *>put_text(<uint8_t *>to, <const char *>self.c.tags + self.c.tag_offsets[read],
                                  read_tags_size(&self.c, read))
        to[0] = b'\n'
        to += 1
        memcpy(to, self.c.bases + self.c.offsets[read], length)
        to[length] = b'\n'
        to += length + 1
        if fastq:
            memcpy(to, b"+\n", 2)
            memcpy(to + 2, self.c.quals + self.c.offsets[read], length)
            to[length + 2] = b'\n'
            to += length + 3
        return to


@cython.no_gc  # a builder refers to no records
cdef class EncodedRecords:
    """The bytes of some records, as a read-only buffer; `records` is their number."""

    cdef byte_buffer c
    cdef readonly uint64_t records
    cdef RecordBuilder builder  # that wants the memory back, if any

    def __dealloc__(self):
        if self.builder is not None:
            self.builder._keep(&self.c)
        free(self.c.data)

    def __len__(self):
        return self.c.size

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.c.data, self.c.size, True, flags)


cdef class RecordBuilder:
    """Turns rows of a `HitBatch` into records of one header and one reference; shared by threads.

    Parameters
    ----------
    header : Header
    reference : ReferenceArrays
    style : RecordStyle

    Raises
    ------
    ValueError
        The arrays, or arrays and header, disagree.
    """

    cdef target_t c
    cdef contig_name *names
    cdef readonly object header  # names of contigs point into its text
    cdef readonly object meth  # the library, as `MapParams.meth`
    cdef tuple keep
    cdef contig_name *groups
    cdef list _read_groups
    # Of records that nobody needs any more. Memory of this size is new to a process each time, page by page, where
    # the C library gets it from the system.
    cdef byte_buffer spare[SPARE]

    def __cinit__(self, header not None, reference, style):
        self.header = header
        self._take_contigs(reference.starts, reference.lengths, reference.planes)
        self._take_exceptions(reference.exception_start, reference.exception_length, reference.exception_code)
        if reference.circular is not None:
            self._take_circular(reference.circular.view(np.uint8))
        self.c.eqx, self.c.xa = style.eqx, style.xa
        self.c.most_xa, self.c.xs_always = style.most_xa, style.xs_always
        self.c.soft_clip_supplementary, self.c.mark_secondary = style.soft_clip_supplementary, style.mark_secondary
        self.c.secondary_seq = style.secondary_seq
        self.c.tag_x0, self.c.tag_x1 = "X0" in style.more_tags, "X1" in style.more_tags
        self.c.tag_nh, self.c.tag_hi = "NH" in style.more_tags, "HI" in style.more_tags
        self.c.tag_mt = "mt" in style.more_tags
        self.c.tag_bq, self.c.tag_cs = style.baq, style.cs
        self.meth = style.meth
        if style.meth is not None:
            self.c.meth_tags = OF_BISMARK if style.meth_tags == "bismark" else OF_BWA_METH
        self._name_groups([name.encode() for name in style.read_groups])

    def __dealloc__(self):
        cdef int i
        free(self.names)
        free(self.groups)
        for i in range(SPARE):
            free(self.spare[i].data)

    @property
    def lengths(self):
        """int64[c], bases of the contigs."""
        return np.asarray(self.keep[1])

    cdef byte_buffer *_spare(self, bint largest) noexcept:
        """The largest or the smallest of the spare memory."""
        cdef byte_buffer *chosen = &self.spare[0]
        cdef int i
        for i in range(1, SPARE):
            if (self.spare[i].room > chosen.room) == largest:
                chosen = &self.spare[i]
        return chosen

    cdef void _keep(self, byte_buffer *records) noexcept:
        """Exchange them for spare memory that is smaller, if there is any."""
        cdef byte_buffer *spare = self._spare(False)
        if records.room > spare.room:
            records[0], spare[0] = spare[0], records[0]

    cdef byte_buffer _lent(self) noexcept:
        """Spare memory, which is there no more, as a buffer without bytes."""
        cdef byte_buffer *spare = self._spare(True)
        cdef byte_buffer lent = spare[0]
        memset(spare, 0, sizeof(byte_buffer))
        lent.size = 0
        return lent

    cdef _take_contigs(self, const int64_t[::1] starts, const int64_t[::1] lengths, const uint64_t[:, ::1] planes):
        if planes.shape[1] != 3:
            raise ValueError("reference planes must be uint64[n, 3]")
        self._check_contigs(starts, lengths, planes.shape[0])
        self._name_contigs(lengths)
        self.keep = (starts, lengths, planes)
        if starts.shape[0]:
            self.c.starts, self.c.lengths = &starts[0], &lengths[0]
            self.c.bases.planes = planes_t(&planes[0, 0], planes.shape[0])

    cdef _take_exceptions(self, const coordinate_t[::1] start, const uint32_t[::1] length, const uint8_t[::1] code):
        if start.shape[0] != length.shape[0] or start.shape[0] != code.shape[0]:
            raise ValueError("exception arrays differ in size")
        self.keep += (start, length, code)
        if start.shape[0]:
            self.c.bases.exception_start, self.c.bases.exception_length = &start[0], &length[0]
            self.c.bases.exception_code = &code[0]
            self.c.bases.n_exceptions = start.shape[0]

    cdef _take_circular(self, const uint8_t[::1] circular):
        if <size_t>circular.shape[0] != self.c.n_contigs:
            raise ValueError("not one value of circular for each contig")
        self.keep += (circular,)
        self.c.circular = &circular[0] if circular.shape[0] else NULL

    cdef _check_contigs(self, const int64_t[::1] starts, const int64_t[::1] lengths, int64_t rows):
        cdef int64_t end = 0
        cdef Py_ssize_t i
        if starts.shape[0] != lengths.shape[0]:
            raise ValueError("contig starts and contig lengths are not of the same number of contigs")
        for i in range(starts.shape[0]):
            if starts[i] < end or lengths[i] < 0:
                raise ValueError(f"contig {i}: overlaps the one before, or has a negative length")
            end = starts[i] + lengths[i]
        if starts.shape[0] and end > 64 * rows:
            raise ValueError("reference planes end before the last contig")

    cdef _name_groups(self, list names):
        cdef bytes name
        self._read_groups = names  # the pointers are into them
        self.groups = <contig_name *>malloc((len(names) + 1) * sizeof(contig_name))
        if self.groups == NULL:
            raise MemoryError("no memory for the names of read groups")
        for i, name in enumerate(names):
            self.groups[i].text, self.groups[i].length = name, len(name)
            self.c.longest_read_group = max(self.c.longest_read_group, self.groups[i].length)
        self.c.read_groups, self.c.n_read_groups = self.groups, len(names)

    cdef _name_contigs(self, const int64_t[::1] lengths):
        """Take the contigs of the header, which must have these lengths."""
        contigs = self.header.contigs
        cdef const uint8_t[::1] text = contigs.text
        cdef const int64_t[::1] starts = contigs.names.starts
        cdef const uint32_t[::1] widths = contigs.names.widths
        cdef Py_ssize_t n = lengths.shape[0], i
        if not np.array_equal(contigs.lengths, lengths):
            raise ValueError("the header has other contigs, or of other lengths")
        self.names = <contig_name *>malloc((n + 1) * sizeof(contig_name))
        if self.names == NULL:
            raise MemoryError("no memory for the names of contigs")
        for i in range(n):
            self.names[i].text, self.names[i].length = <const char *>&text[starts[i]], widths[i]
            self.c.longest_name = max(self.c.longest_name, self.names[i].length)
        self.c.names, self.c.n_contigs = self.names, n

    def encode(self, HitBatch batch not None, *, bint bam, int least_mapq=-1, bint paf=False):
        """The records of a batch in order as BAM or as lines of SAM or PAF.

        Without those of reads of which neither the primary record nor their mate's has `least_mapq`, where an unmapped
        one has -1.

        Returns
        -------
        EncodedRecords

        Raises
        ------
        ValueError
            For rows that make no record.
        """
        cdef EncodedRecords encoded = EncodedRecords.__new__(EncodedRecords)
        cdef record_form form = BAM_RECORD if bam else PAF_LINE if paf else SAM_LINE
        cdef cursor_t c
        cdef record_t r
        cdef int status
        encoded.builder = self
        encoded.c = self._lent()
        with nogil:
            status = open_cursor(&c, &batch.c, &self.c, batch.longest)
            c.least_mapq = least_mapq
            if status == BUILT and not grow_buffer(&encoded.c, usual_size(&batch.c, bam)):
                status = NO_MEMORY
            while status == BUILT:
                status = next_record(&c, &r, &encoded.c, form)
                encoded.records += status == BUILT
            free(c.memory)
        if status != END:
            _raise_status(status, c.row)
        return encoded


cdef size_t usual_size(const batch_t *batch, bint bam) noexcept nogil:
    """About what the records of a batch take: reserving it at once saves copying while the buffer grows."""
    cdef size_t names = batch.name_offsets[batch.n_reads], bases = batch.offsets[batch.n_reads]
    return names + (bases + bases // 2 if bam else 2 * bases) + OTHER_FIELDS * batch.n_hits


cdef class CramWriter:
    """Writes records of a `RecordBuilder` as CRAM to an open file descriptor, which it takes over and closes.

    `mode` is htslib's: "wc", and options of it behind commas. `reference` is the path of the FASTA that records are
    written against, whose .fai is beside it; None where the options say that they are not written against any.
    `name` is for htslib's messages. `threads` compress besides the caller's. The header is written at once.

    A failed write or close raises `OSError` with the errno of the file, as far as htslib kept it.
    """

    cdef htsFile *file
    cdef hFILE *stream  # owned by `file`
    cdef bam1_t *record
    cdef byte_buffer work
    cdef RecordBuilder builder
    cdef void *header
    cdef int fd

    def __cinit__(self, RecordBuilder builder not None, int fd, name, str mode not None, int threads=0,
                  reference=None):
        encoded_name, encoded_mode = os.fsencode(name), mode.encode()
        cdef int code
        self.builder, self.fd = builder, fd
        self.stream = hdopen(fd, b"w")
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
        cdef bytes text = builder.header.text.encode()
        self.header, self.record = sam_hdr_parse(len(text), text), bam_init1()
        if self.header == NULL or self.record == NULL:
            raise MemoryError("no memory for records of CRAM")
        self._start(threads, None if reference is None else os.fsencode(reference))

    cdef _start(self, int threads, bytes reference):
        cdef int failed = hts_set_threads(self.file, threads) if threads else 0
        if not failed:
            errno = 0
            with nogil:
                failed = sam_hdr_write(self.file, self.header)
        if not failed and reference is not None:  # behind the header, where htslib would put its path
            failed = hts_set_fai_filename(self.file, reference)
        if failed:
            self._raise_errno()

    cdef _raise_errno(self):
        cdef int code = herrno(self.stream) or errno or EIO
        raise OSError(code, os.strerror(code))

    def __dealloc__(self):
        if self.file != NULL:
            hts_close(self.file)
        if self.header != NULL:
            sam_hdr_destroy(self.header)
        if self.record != NULL:
            bam_destroy1(self.record)
        free(self.work.data)

    def write(self, HitBatch batch not None, *, int least_mapq=-1):
        """Writes the records of a batch in order, as `RecordBuilder.encode` chooses them; returns how many."""
        cdef cursor_t c
        cdef size_t written = 0
        cdef int status, failed = 0
        if self.file == NULL:
            raise ValueError("write to a closed file")
        errno = 0
        with nogil:
            status = open_cursor(&c, &batch.c, &self.builder.c, batch.longest)
            c.least_mapq = least_mapq
            while status == BUILT and not failed:
                status = next_bam1(&c, self.record, &self.work)
                if status == BUILT:
                    failed = sam_write1(self.file, self.header, self.record) < 0
                    written += not failed
            free(c.memory)
        if failed:
            self._raise_errno()
        if status != END:
            _raise_status(status, c.row)
        return written

    def close(self):
        """Completes and closes the file; a second call does nothing."""
        cdef htsFile *file = self.file
        cdef int code
        cdef bint failed
        if file == NULL:
            return
        self.file = NULL
        errno = 0
        with nogil:
            failed = hts_close(file) != 0
            code = errno or EIO
        if failed:
            raise OSError(code, os.strerror(code))

    def abort(self):
        """Closes and drops what is not yet written: an aborted stream must not look complete."""
        if self.file == NULL:
            return
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fd, inheritable=False)
        os.close(null)
        try:
            self.close()
        except OSError:
            pass
