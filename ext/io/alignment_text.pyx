"""Reads of SAM, BAM and CRAM files as FASTQ text, without the GIL; htslib inflates in threads of its own."""
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.errno cimport EIO, errno
from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from libc.string cimport memset, strcmp

from pysam.libchtslib cimport (
    BAM_FPAIRED, bam1_t, bam_destroy1, bam_get_qname, bam_init1, hFILE, hclose, hdopen, hts_close, hts_hopen,
    hts_set_fai_filename, hts_set_threads, htsFile, kstring_t,
)

import os

cdef extern from "htslib/sam.h" nogil:  # before 0.24, pysam calls a header bam_hdr_t, or lacks the name
    void *sam_hdr_read(htsFile *file)
    const char *sam_hdr_str(void *header)
    void sam_hdr_destroy(void *header)
    int sam_read1(htsFile *file, void *header, bam1_t *record)
    int hts_check_EOF(htsFile *file)

cdef extern from "alignment_text.h" nogil:
    int read_of_template(const bam1_t *record)
    bint is_extra_record(const bam1_t *record)
    ctypedef enum appended_t:
        APPENDED, BAD_TAG, NO_MEMORY
    appended_t append_fastq(kstring_t *text, const bam1_t *record)

cdef enum step_t:
    READ, AT_END, DAMAGED, DAMAGED_TAG, NO_MATE, NO_ROOM

MESSAGES = {
    DAMAGED: "damaged, or cut short",
    DAMAGED_TAG: "a record is damaged: one of its tags cannot be read",
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
        Primary records returned so far, or appended before the one that is damaged.
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
        cdef hFILE *stream = hdopen(fd, "r")
        cdef int i
        if stream == NULL:
            os.close(fd)
            raise OSError(errno or EIO, "cannot be read")
        encoded_name = os.fsencode(name)
        cdef const char *c_name = encoded_name
        with nogil:  # a thread of this process may have to fill the pipe
            self.file = hts_hopen(stream, c_name, "r")
        if self.file == NULL:
            if hclose(stream):
                raise OSError(errno or EIO, "cannot be read")
            raise OSError(EIO, "no SAM, BAM or CRAM")
        if reference is not None and hts_set_fai_filename(self.file, os.fsencode(reference)):
            raise OSError(EIO, f"no reference in {reference}")
        self.ends_well = not check_end or hts_check_EOF(self.file) != 0
        with nogil:
            self.head = sam_hdr_read(self.file)
        if self.head == NULL:
            raise OSError(EIO, "its header is damaged")
        # Threads of htslib read ahead: what they find damaged there could be taken for the header's, or be waited for
        # without end. Neither do they know a missing end from an error in the first block.
        if threads and self.ends_well:
            hts_set_threads(self.file, threads)
        cdef const char *header = sam_hdr_str(self.head)
        if header == NULL:  # sequences are no alignments, whatever the name of their file
            raise OSError(EIO, "no SAM, BAM or CRAM")
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

    cdef step_t _look_ahead(self) noexcept nogil:
        """Puts the next primary record into `ahead` unless there is one."""
        cdef int status
        while not self.has_ahead and not self.at_end:
            status = sam_read1(self.file, self.head, self.ahead)
            if status < -1:
                return DAMAGED
            self.at_end = status == -1
            self.has_ahead = status >= 0 and not is_extra_record(self.ahead)
        if not self.has_ahead:
            return AT_END
        return READ

    cdef step_t _template(self, uint64_t *n) noexcept nogil:
        """Appends the reads of the next template: records of one name, side by side, of which each is another read."""
        cdef step_t step = self._look_ahead()
        cdef appended_t appended
        cdef bam1_t *taken = NULL
        cdef int which, i
        memset(self.filled, 0, sizeof(self.filled))
        while step == READ:
            which = read_of_template(self.ahead)
            if taken != NULL and (self.filled[which] or strcmp(bam_get_qname(taken), bam_get_qname(self.ahead))):
                break
            taken, self.mates[which], self.ahead = self.ahead, self.ahead, self.mates[which]
            self.filled[which], self.has_ahead = True, False
            self.has_pairs |= (taken.core.flag & BAM_FPAIRED) != 0
            step = self._look_ahead()
        if step == DAMAGED or taken == NULL:
            return step
        if self.by_coordinate and self.filled[1] != self.filled[2]:
            return NO_MATE
        for i in range(3):
            if self.filled[i]:
                appended = append_fastq(&self.text, self.mates[i])
                if appended != APPENDED:
                    return DAMAGED_TAG if appended == BAD_TAG else NO_ROOM
                n[0] += 1
                self.records += 1
        return READ
