"""SAM, BAM and CRAM as input: reads as FASTQ text, and places, without the GIL; htslib inflates in threads of its own.

Nothing else in the package opens such files by htslib, which follows what a file says: a ticket of htsget names other
files and URLs, and so may the header of CRAM. So `AlignmentReader` looks first, and takes such names away.
"""
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.errno cimport EIO, errno
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset, strcmp, strspn

from gassst._core.htslib cimport (
    BAM_CHARD_CLIP, BAM_CSOFT_CLIP, BAM_FPAIRED, BAM_FUNMAP, BGZF, CRAM_OPT_REQUIRED_FIELDS, bam, bam1_t,
    bam_cigar_op, bam_cigar_oplen, bam_destroy1, bam_endpos, bam_get_cigar, bam_get_qname, bam_init1, bgzf,
    bgzf_close, bgzf_hopen, cram, cram_fd_get_header, custom, gzip, hFILE, hclose, hdopen, hts_check_EOF, hts_close,
    hts_detect_format2, hts_hopen, hts_set_fai_filename, hts_set_opt, hts_set_threads, htsFile, htsFormat, kstring_t,
    no_compression, sam, sam_hdr_destroy, sam_hdr_find_tag_id, sam_hdr_nref, sam_hdr_read, sam_hdr_remove_tag_id,
    sam_hdr_str, sam_hdr_tid2name, sam_read1,
)

import os

import numpy as np

cdef extern from "header_size.h" nogil:
    bint header_fits(BGZF *file, uint64_t most)

cdef extern from "alignment_text.h" nogil:
    int read_of_template(const bam1_t *record)
    bint is_extra_record(const bam1_t *record)
    bint has_sound_texts(const bam1_t *record)
    bint append_fastq(kstring_t *text, const bam1_t *record)

cdef uint64_t MOST_HEADER = 1 << 28  # bytes; htslib takes some times as much memory, and a contig has less than 100
cdef int PLACE_FIELDS = 0x3f  # SAM_QNAME to SAM_CIGAR
NO_ALIGNMENTS = "no SAM, BAM or CRAM"

cdef enum step_t:
    READ, AT_END, DAMAGED, NO_CONTIGS, UNDECODED, BAD_TEXT, NO_MATE, NO_ROOM

MESSAGES = {
    DAMAGED: "damaged, or cut short",
    NO_CONTIGS: "cannot be read: the file has no header with @SQ lines, which mapped records need",
    UNDECODED: "cannot be decoded: damaged, or the sequence that it was written against is missing (--reference)",
    BAD_TEXT: "the next has a name, a quality or a tag that SAM forbids",
    NO_MATE: "a mate stands alone, and records are sorted by coordinate: group them by name (samtools collate)",
}


cdef class AlignmentReader:
    """Reads the primary records of an alignment file template by template.

    Parameters
    ----------
    fd : int
        Open for reading; taken over, and closed in the end.
    name : str
        For htslib's messages.
    threads : int
        That inflate besides the caller.
    reference : path or None
        FASTA to decode CRAM with.

    Attributes
    ----------
    header : str
        As text.
    records : int
        Primary records read so far.
    has_pairs : bool
        One of these was of a pair.
    ends_well : bool
        False where BGZF or CRAM has no end-of-file block.

    Raises
    ------
    OSError
        No alignment file.
    """

    cdef htsFile *file
    cdef void *head  # sam_hdr_t
    cdef bam1_t *mates[3]
    cdef bint filled[3]
    cdef bam1_t *ahead          # the record after the template at hand
    cdef bint has_ahead
    cdef bint at_end
    cdef kstring_t text
    cdef bint by_coordinate
    cdef readonly str header
    cdef readonly uint64_t records
    cdef readonly object ends_well
    cdef readonly bint has_pairs

    def __cinit__(self, int fd, str name not None, int threads=0, reference=None, bint check_end=True):
        cdef int i
        cdef bint fits = True, opened = True
        if check_end:
            fits = _header_fits(fd)
        cdef hFILE *stream = hdopen(fd, "r")
        if stream == NULL:
            os.close(fd)
            raise OSError(errno or EIO, "cannot be read")
        encoded_name = os.fsencode(name)
        cdef const char *c_name = encoded_name
        with nogil:  # a thread of this process may have to fill the pipe
            opened = fits and _holds_alignments(stream, c_name)
            if opened:
                self.file = hts_hopen(stream, c_name, "r")
        if self.file == NULL:
            if hclose(stream):
                raise OSError(errno or EIO, "cannot be read")
            raise OSError(EIO, NO_ALIGNMENTS if fits else f"its header has more than {MOST_HEADER >> 20} MB")
        if reference is not None and hts_set_fai_filename(self.file, os.fsencode(os.path.abspath(reference))):
            raise OSError(EIO, f"no reference in {reference}")
        self.ends_well = not check_end or hts_check_EOF(self.file) != 0
        with nogil:
            self.head = sam_hdr_read(self.file)
        if self.head == NULL:
            raise OSError(EIO, "its header is damaged")
        if self.file.format.format == cram and not _forget_places(cram_fd_get_header(self.file.cram)):
            raise OSError(EIO, "its header is damaged")
        # Threads of htslib read ahead: what they find damaged there could be taken for the header's, or be waited for
        # without end. Neither do they know a missing end from an error in the first block.
        if threads and self.ends_well:
            hts_set_threads(self.file, threads)
        cdef const char *header = sam_hdr_str(self.head)
        if header == NULL:  # sequences are no alignments, whatever the name of their file
            raise OSError(EIO, NO_ALIGNMENTS)
        self.header = header.decode("utf-8", "replace")
        self.by_coordinate = "\tSO:coordinate" in self.header.partition("\n")[0]
        self.ahead = bam_init1()
        for i in range(3):
            self.mates[i] = bam_init1()
            if self.mates[i] == NULL or self.ahead == NULL:
                raise MemoryError("no memory for a BAM record")

    def __dealloc__(self):
        self.close()
        if self.head != NULL:
            sam_hdr_destroy(self.head)
        for i in range(3):
            if self.mates[i] != NULL:
                bam_destroy1(self.mates[i])
        if self.ahead != NULL:
            bam_destroy1(self.ahead)
        free(self.text.s)

    cpdef close(self):
        """Close the file; more than once does no harm."""
        if self.file != NULL:
            hts_close(self.file)
            self.file = NULL

    def starts_paired(self):
        """Whether the first record is one of a pair. Raises ValueError as `read`."""
        cdef step_t step
        with nogil:
            step = self._look_ahead()
        if step > AT_END:
            raise ValueError(MESSAGES[step])
        return self.has_ahead and (self.ahead.core.flag & BAM_FPAIRED) != 0

    def read(self, uint64_t most, size_t enough):
        """The next templates as text of FASTQ: mates are neighbours, the first one before the second.

        Parameters
        ----------
        most : int
            Reads, or one more where these would end between mates.
        enough : int
            Bytes: no template follows the one that reaches them.

        Returns
        -------
        tuple
            `bytes`, and the number of reads; nothing at the end.

        Raises
        ------
        ValueError
            With the reason, for a record that cannot be read, or a mate alone in a file sorted by coordinate.
        """
        cdef uint64_t n = 0
        cdef step_t step = READ
        if self.file == NULL:
            raise ValueError("read from a closed file")
        self.text.l = 0
        with nogil:
            while step == READ and n < most and self.text.l < enough:
                step = self._template(&n)
        if step == NO_ROOM:
            raise MemoryError("no memory for reads")
        if step > AT_END:
            raise ValueError(MESSAGES[step])
        return PyBytes_FromStringAndSize(self.text.s, self.text.l), n

    @property
    def contigs(self):
        """Names of the contigs, as `list[str]`."""
        return [sam_hdr_tid2name(self.head, i).decode("utf-8", "replace") for i in range(sam_hdr_nref(self.head))]

    def places(self, Py_ssize_t most):
        """Names and places of the next primary records; of a CRAM file nothing else is then decoded.

        Parameters
        ----------
        most : int
            Records.

        Returns
        -------
        tuple
            `list[str]` of n names; and int64[n, 5]: flag, contig, start, end, MAPQ. `start` counts from 1, and both
            count clipped bases as if they were aligned. Of unmapped records the last four are -1, 0, 0, 0.

        Raises
        ------
        ValueError
            With the reason, for a record that cannot be read.
        """
        cdef step_t step
        cdef Py_ssize_t n = 0
        found = np.empty((most, 5), np.int64)
        cdef int64_t[:, ::1] rows = found
        names = []
        if self.file == NULL:
            raise ValueError("read from a closed file")
        hts_set_opt(self.file, CRAM_OPT_REQUIRED_FIELDS, PLACE_FIELDS)
        while n < most:
            with nogil:
                step = self._look_ahead()
            if step > AT_END:
                raise ValueError(MESSAGES[step])
            if step == AT_END:
                break
            names.append(bam_get_qname(self.ahead).decode())
            _set_place(&rows[n, 0], self.ahead)
            self.has_ahead = False
            self.records += 1
            n += 1
        return names, found[:n]

    cdef step_t _look_ahead(self) noexcept nogil:
        """Puts the next primary record into `ahead` unless there is one."""
        cdef int status
        while not self.has_ahead and not self.at_end:
            status = sam_read1(self.file, self.head, self.ahead)
            if status < -1:
                return self._failure()
            if status >= 0 and not has_sound_texts(self.ahead):
                return BAD_TEXT
            self.at_end = status == -1
            self.has_ahead = status >= 0 and not is_extra_record(self.ahead)
        if not self.has_ahead:
            return AT_END
        return READ

    cdef step_t _failure(self) noexcept nogil:
        """Why a record cannot be read, as far as htslib lets know."""
        if self.file.format.format == cram:
            return UNDECODED
        if self.file.format.format == sam and sam_hdr_nref(self.head) == 0:
            return NO_CONTIGS
        return DAMAGED

    cdef step_t _template(self, uint64_t *n) noexcept nogil:
        """Appends the reads of the next template: records of one name, side by side, of which each is another read."""
        cdef step_t step = self._look_ahead()
        cdef bam1_t *taken = NULL
        cdef int which, i
        memset(self.filled, 0, sizeof(self.filled))
        while step == READ:
            which = read_of_template(self.ahead)
            if taken != NULL and (self.filled[which] or strcmp(bam_get_qname(taken), bam_get_qname(self.ahead))):
                break
            taken, self.mates[which], self.ahead = self.ahead, self.ahead, self.mates[which]
            self.filled[which], self.has_ahead = True, False
            self.records += 1
            self.has_pairs |= (taken.core.flag & BAM_FPAIRED) != 0
            step = self._look_ahead()
        if step > AT_END or taken == NULL:
            return step
        if self.by_coordinate and self.filled[1] != self.filled[2]:
            return NO_MATE
        for i in range(3):
            if self.filled[i]:
                n[0] += 1
                if not append_fastq(&self.text, self.mates[i]):
                    return NO_ROOM
        return READ


cdef void _set_place(int64_t *row, const bam1_t *record) noexcept nogil:
    cdef int64_t start = record.core.pos, end = bam_endpos(record) if record.core.n_cigar else start
    cdef const uint32_t *cigar = bam_get_cigar(record)
    cdef int n = record.core.n_cigar, i = 0
    row[0] = record.core.flag
    if record.core.flag & BAM_FUNMAP:
        row[1], row[2], row[3], row[4] = -1, 0, 0, 0
        return
    while i < n and _is_clip(cigar[i]):
        start -= bam_cigar_oplen(cigar[i])
        i += 1
    i = n - 1
    while i >= 0 and _is_clip(cigar[i]):
        end += bam_cigar_oplen(cigar[i])
        i -= 1
    row[1], row[2], row[3], row[4] = record.core.tid, start + 1, end, record.core.qual


cdef bint _is_clip(uint32_t run) noexcept nogil:
    return bam_cigar_op(run) in (BAM_CSOFT_CLIP, BAM_CHARD_CLIP)


cdef bint _holds_alignments(hFILE *stream, const char *name) noexcept nogil:
    """Whether htslib would take the stream for SAM, BAM or CRAM, and inflates it by zlib if at all."""
    cdef htsFormat found
    if hts_detect_format2(stream, name, &found) < 0:
        return False
    return found.format in (sam, bam, cram) and found.compression in (no_compression, gzip, bgzf, custom)


cdef bint _header_fits(int fd):
    """False for a file whose header has more than MOST_HEADER bytes. What cannot be read twice fits."""
    cdef hFILE *stream
    cdef BGZF *file
    cdef bint fits = True
    try:
        begin = os.lseek(fd, 0, os.SEEK_CUR)
    except OSError:
        return True
    cdef int copy = os.dup(fd)
    stream = hdopen(copy, "r")
    if stream == NULL:
        os.close(copy)
        return True
    with nogil:
        file = bgzf_hopen(stream, "r")
        if file != NULL:
            fits = header_fits(file, MOST_HEADER)
            bgzf_close(file)
    if file == NULL and hclose(stream):
        raise OSError(errno or EIO, "cannot be read")
    os.lseek(fd, begin, os.SEEK_SET)
    return fits


cdef bint _forget_places(void *header):
    """Takes from the header of CRAM what makes htslib open another file: UR, and an M5 that is no MD5 but a path."""
    cdef kstring_t md5
    cdef const char *contig
    cdef int i, status = 0
    memset(&md5, 0, sizeof(md5))
    for i in range(sam_hdr_nref(header)):
        contig = sam_hdr_tid2name(header, i)
        status = sam_hdr_remove_tag_id(header, b"SQ", b"SN", contig, b"UR")
        if status >= 0 and sam_hdr_find_tag_id(header, b"SQ", b"SN", contig, b"M5", &md5) == 0:
            if md5.l != 32 or strspn(md5.s, b"0123456789abcdefABCDEF") != 32:
                status = sam_hdr_remove_tag_id(header, b"SQ", b"SN", contig, b"M5")
        if status < 0:
            break
    free(md5.s)
    return status >= 0
