"""FASTQ and FASTA records into arrays, and bases into planes (`docs/pipeline.md`)."""

import numpy as np

from gassst.errors import InputError

cimport numpy as cnp
from libc.stddef cimport size_t
from libc.errno cimport EINTR, errno
from libc.math cimport fmod
from libc.stdint cimport SIZE_MAX, UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove


cdef double GOLDEN = 0.6180339887498949  # its multiples are spread evenly, and have no period that an input could have

cdef extern from "<unistd.h>" nogil:
    ssize_t read(int fd, void *buffer, size_t count)

cdef extern from "own_tags.h":
    enum:
        DROPPED_ALWAYS
        DROPPED_WITH_METH
        DROPPED_WITH_GROUPS

cdef extern from "fastx.h" nogil:
    enum:
        FASTX_MAX_NAME

    ctypedef enum fastx_error_t:
        FASTX_OK, FASTX_FIRST_BYTE, FASTX_CUT_SHORT, FASTX_NO_MARKER, FASTX_NO_NAME
        FASTX_LONG_SEQUENCE, FASTX_BAD_BASE, FASTX_NO_PLUS, FASTX_QUALITY_LENGTH, FASTX_BAD_QUALITY, FASTX_MIXED
        FASTX_FORMATS, FASTX_NAMES, FASTX_NUMBERS, FASTX_ENDS_EARLY, FASTX_BAD_TAG, FASTX_NO_UMI, FASTX_LONG_LINE

    ctypedef enum fastx_pairing_t:
        FASTX_SINGLE, FASTX_TWO_FILES, FASTX_INTERLEAVED

    ctypedef enum fastx_step_t:
        FASTX_ADDED, FASTX_WAITS, FASTX_ENDED, FASTX_FAILED

    ctypedef struct fastx_input_t:
        const uint8_t *p
        const uint8_t *end
        bint eof, begun

    ctypedef struct fastx_t:
        uint8_t *names
        uint8_t *bases
        uint8_t *quals
        uint32_t *name_offsets
        uint32_t *offsets
        uint32_t n, max_reads, max_length, max_bases
        uint8_t marker, named
        fastx_error_t error
        size_t value[2]
        fastx_pairing_t pairing
        uint8_t *mate
        uint8_t pending, input
        uint32_t renamed
        uint8_t *tags
        uint32_t *tag_offsets
        uint8_t copies, barcodes, separator, dropped, lenient
        uint32_t left_out
        char shown[61]

    bint fastx_full(const fastx_t *)
    bint fastx_add(fastx_t *, const uint8_t *, size_t, const uint8_t *, size_t, const uint8_t *, size_t)
    void fastx_parse(fastx_t *, fastx_input_t *)
    fastx_step_t fastx_parse_pairs(fastx_t *, fastx_input_t *)
    uint32_t fastq_cut(fastx_input_t *, uint32_t, size_t, bint *)


cdef extern from "pack.h" nogil:
    enum:
        PACK_WORD
    void pack_reads(const uint8_t *, const uint32_t *, const uint32_t *, const uint32_t *, const uint8_t *, size_t,
                    uint64_t *, bint)


TAG_ROOM = 16  # bytes of tags of a read beyond those of its header: "RX:Z:" and a tab

# Name offsets are uint32: no more reads than have room for a name of the greatest length each.
MAX_READS = (1 << 32) // (FASTX_MAX_NAME + 2)
MAX_LENGTH_LIMIT = 1 << 26

MESSAGES = {
    FASTX_FIRST_BYTE: "begins with {a!r}, neither '@' (FASTQ) nor '>' (FASTA)",
    FASTX_CUT_SHORT: "cut short, the file ends inside it",
    FASTX_NO_MARKER: "does not begin with {marker!r}",
    FASTX_NO_NAME: "has no name",
    FASTX_LONG_SEQUENCE: "longer than {max_length} bases",
    FASTX_BAD_BASE: "{a!r} at base {v[1]} is not a letter",
    FASTX_NO_PLUS: "its third line does not begin with '+'",
    FASTX_QUALITY_LENGTH: "{v[0]} bases but {v[1]} qualities",
    FASTX_BAD_QUALITY: "{a!r} at quality {v[1]} is not one of the characters 33 to 126",
    FASTX_MIXED: "all records must have qualities, or none",
    FASTX_FORMATS: "begins with {a!r}, {other} with {marker!r}: one is FASTA, the other FASTQ",
    FASTX_NAMES: "its mate in {other} is named {before}",
    FASTX_NUMBERS: "marked as mate {v[1]}, {other} as mate {v[0]}",
    FASTX_BAD_TAG: "{shown!r} in its comment is no SAM tag, or a second one of its name; --lenient leaves such out",
    FASTX_NO_UMI: "its name does not end in {separator!r} and a UMI; --lenient leaves the tag out",
    FASTX_LONG_LINE: "a line of more than {v[0]} bytes",
}


cdef cnp.ndarray grown(cnp.ndarray array, size_t used, size_t needed):
    """`array` if it holds `needed` items, else a larger copy of its first `used`."""
    if needed <= <size_t>array.shape[0]:
        return array
    larger = np.empty(max(needed, used + used // 2), array.dtype)
    larger[:used] = array[:used]
    return larger


cdef class RecordParser:
    """Turns the pieces of one FASTQ or FASTA file, or of two whose reads are pairs, into batches of arrays.

    Parameters
    ----------
    path : str
        What error messages call the file.
    max_reads, max_bases : int
        A batch is full once it holds `max_reads` reads or at least `max_bases` bases, and no first mate alone.
    max_length : int
        Longest read accepted, bases.
    mate_path : str, optional
        The file of the second mates.
    interleaved : bool
        Neighbouring reads of one name are a pair, any other read is single.
    before : int, optional
        Records that come before, of FASTQ, in each of the files; None: the pieces begin where the files do.
    tags : TagSources, optional
        What of the headers becomes tags of the records.
    """

    cdef fastx_t fastx
    cdef fastx_input_t inputs[2]
    cdef readonly tuple paths
    cdef readonly object wants
    cdef uint64_t taken
    cdef size_t offered  # bytes of the largest piece so far
    cdef cnp.ndarray names, name_offsets, bases, quals, offsets, mate, tags, tag_offsets
    cdef bint tagged

    def __cinit__(self, str path, uint32_t max_reads, uint32_t max_bases, uint32_t max_length,
                  str mate_path=None, bint interleaved=False, before=None, tags=None):
        self.paths = (path,) if mate_path is None else (path, mate_path)
        self.fastx.max_reads = max_reads
        self.fastx.max_bases = max_bases
        self.fastx.max_length = max_length
        if mate_path is not None:
            self.fastx.pairing = FASTX_TWO_FILES
        elif interleaved:
            self.fastx.pairing = FASTX_INTERLEAVED
        self.wants = 0
        self.tagged = tags is not None and tags.any
        if self.tagged:
            self.fastx.copies, self.fastx.barcodes = tags.comments, tags.casava_barcode
            self.fastx.separator = ord(tags.umi_separator) if tags.umi_separator else 0
            self.fastx.lenient = tags.lenient
            self.fastx.dropped = DROPPED_ALWAYS
            self.fastx.dropped |= 0 if tags.read_groups else DROPPED_WITH_GROUPS
            self.fastx.dropped |= 0 if tags.methylation else DROPPED_WITH_METH
        if before is not None:
            self.taken = before * len(self.paths)
            self.fastx.marker = c"@"
            self.inputs[0].begun = self.inputs[1].begun = True
        self.start_batch(0, 0, 0)

    cdef start_batch(self, size_t reads, size_t name_bytes, size_t bases):
        """Fresh arrays with room for as much as the batch before held, and for one more piece, as `make_room_for`
        will ask for before its end: they are rarely copied to grow (which took a fifth of the time)."""
        reads += self.offered // 3 + 2
        name_bytes += self.offered
        bases += self.offered
        self.fastx.n = 0
        self.fastx.pending = 0
        self.names = np.empty(name_bytes, np.uint8)
        self.bases = np.empty(bases, np.uint8)
        self.quals = np.empty(bases if self.fastx.marker != c">" else 0, np.uint8)
        self.name_offsets = np.empty(reads + 1, np.uint32)
        self.offsets = np.empty(reads + 1, np.uint32)
        self.tags = np.empty(name_bytes + TAG_ROOM * reads if self.tagged else 0, np.uint8)
        self.tag_offsets = np.zeros(reads + 1 if self.tagged else 1, np.uint32)
        self.name_offsets[0] = self.offsets[0] = 0
        self.mate = np.empty(reads if self.fastx.pairing != FASTX_SINGLE else 0, np.uint8)
        self.make_room(0, 0, 0)

    cdef make_room(self, size_t reads, size_t name_bytes, size_t bases):
        """Room for as many more, so that the loops in C need not look."""
        cdef size_t n = self.fastx.n
        cdef size_t used_names = 0 if n == 0 else self.fastx.name_offsets[n]
        cdef size_t used = 0 if n == 0 else self.fastx.offsets[n]
        self.names = grown(self.names, used_names, used_names + name_bytes)
        self.bases = grown(self.bases, used, used + bases)
        if self.fastx.marker != c">":
            self.quals = grown(self.quals, used, used + bases)
        self.name_offsets = grown(self.name_offsets, n + 1, n + reads + 1)
        self.offsets = grown(self.offsets, n + 1, n + reads + 1)
        if self.fastx.pairing != FASTX_SINGLE:
            self.mate = grown(self.mate, n, n + reads)
        if self.tagged:
            used = self.tag_offsets[n]
            self.tags = grown(self.tags, used, used + name_bytes + TAG_ROOM * reads)
            self.tag_offsets = grown(self.tag_offsets, n + 1, n + reads + 1)
            self.fastx.tags = <uint8_t *>cnp.PyArray_DATA(self.tags)
            self.fastx.tag_offsets = <uint32_t *>cnp.PyArray_DATA(self.tag_offsets)
        self.fastx.names = <uint8_t *>cnp.PyArray_DATA(self.names)
        self.fastx.bases = <uint8_t *>cnp.PyArray_DATA(self.bases)
        self.fastx.quals = <uint8_t *>cnp.PyArray_DATA(self.quals)
        self.fastx.name_offsets = <uint32_t *>cnp.PyArray_DATA(self.name_offsets)
        self.fastx.offsets = <uint32_t *>cnp.PyArray_DATA(self.offsets)
        self.fastx.mate = <uint8_t *>cnp.PyArray_DATA(self.mate)

    def reserve(self, size_t size):
        """Room for all records of a text of so many bytes, so that the arrays need not grow with each piece of it."""
        self.make_room(size // 16, size, size)

    def parse(self, const uint8_t[::1] data not None, bint eof):
        """Append the records that are complete in `data` until the batch is full.

        Parameters
        ----------
        data : uint8[n]
            The next bytes of the file: those not used up by the last call, and more.
        eof : bool
            No bytes come after these.

        Returns
        -------
        int
            Bytes used; the caller gives the others again, with more behind them unless the batch is full.

        Raises
        ------
        InputError
            On the first record that is none; with `eof`, also on one that is cut short.
        """
        if data.shape[0] == 0:
            return 0
        self.offer(0, data, eof)
        self.make_room_for(data.shape[0])
        with nogil:
            fastx_parse(&self.fastx, &self.inputs[0])
        if self.fastx.error:
            raise self.failure()
        return self.used(0, data)

    def parse_pairs(self, const uint8_t[::1] first not None, bint first_eof,
                    const uint8_t[::1] second not None, bint second_eof):
        """As `parse`, for the two files of pairs: a record of either in turn.

        Returns
        -------
        tuple of int
            Bytes used of either. `wants` then says which file more bytes are needed of, unless the batch is full:
            0 or 1, or None at the end of both.

        Raises
        ------
        InputError
            Also on mates whose names differ or whose numbers are not 1 and 2, files of two formats, and when one
            file ends before the other.
        """
        cdef fastx_step_t step
        self.offer(0, first, first_eof)
        self.offer(1, second, second_eof)
        self.make_room_for(first.shape[0] + second.shape[0])
        with nogil:
            step = fastx_parse_pairs(&self.fastx, self.inputs)
        if self.fastx.error:
            raise self.failure()
        self.wants = None if step == FASTX_ENDED else self.fastx.input
        return self.used(0, first), self.used(1, second)

    cdef offer(self, int i, const uint8_t[::1] data, bint eof):
        self.inputs[i].p = &data[0] if data.shape[0] else NULL
        self.inputs[i].end = self.inputs[i].p + data.shape[0]
        self.inputs[i].eof = eof

    cdef size_t used(self, int i, const uint8_t[::1] data):
        return data.shape[0] - (self.inputs[i].end - self.inputs[i].p)

    cdef make_room_for(self, size_t size):
        """For all records in `size` bytes; the shortest are ">a\n", and ">a" at the end of a file."""
        self.offered = max(self.offered, size)
        cdef uint64_t reads = min(size // 3 + 2, <uint64_t>self.fastx.max_reads + 2 - self.fastx.n)
        self.make_room(reads, size, size)

    def add(self, bytes name not None, bytes sequence not None, bytes quality=None):
        """Append one record (ASCII; quality phred+33 or None), by the rules for files; of two, each in turn.

        Returns
        -------
        bool
            False when the batch is full, without this record.

        Raises
        ------
        InputError
            As `parse` and `parse_pairs`; also when some records have qualities and others not.
        """
        cdef const uint8_t *quality_text = NULL
        cdef bint added
        if quality is not None:
            quality_text = quality
        if fastx_full(&self.fastx):
            return False
        self.make_room(1, len(name), len(sequence))
        added = fastx_add(
            &self.fastx, name, len(name), sequence, len(sequence),
            quality_text, 0 if quality is None else len(quality),
        )
        if self.fastx.error:
            raise self.failure()
        return added

    cdef object failure(self):
        if self.fastx.error == FASTX_ENDS_EARLY:
            return self.ends_early(self.fastx.input)
        record = f"{self.path_of(self.fastx.input)}: record {self.records + 1}"
        if self.fastx.named:
            record += f" ({self.name(self.fastx.n)})"
        what = MESSAGES[self.fastx.error].format(
            a=chr(self.fastx.value[0] & 255), v=self.fastx.value, marker=chr(self.fastx.marker),
            max_length=self.fastx.max_length, shown=self.fastx.shown.decode("utf-8", "backslashreplace"),
            separator=chr(self.fastx.separator), **self.mate_words(),
        )
        return InputError(f"{record}: {what}")

    cdef dict mate_words(self):
        """What the messages on mates say of the other one; the mates are the row under way and the one before."""
        if self.fastx.error == FASTX_NUMBERS and self.fastx.pairing == FASTX_INTERLEAVED:
            return {"other": "the read of this name before it"}
        other = self.path_of(not self.fastx.input)
        if self.fastx.error == FASTX_NUMBERS:
            return {"other": f"the one in {other}"}
        return {"other": other, "before": self.name(self.fastx.n - 1) if self.fastx.error == FASTX_NAMES else ""}

    def ends_early(self, int i):
        """The InputError that says that of two files the one, 0 or 1, has ended, but the other has not."""
        ended, other = self.path_of(i), self.path_of(not i)
        where = f"ends after record {self.records}" if self.records else "has no records"
        return InputError(f"{ended}: {where}, {other} goes on")

    cdef str path_of(self, int i):
        return self.paths[min(i, len(self.paths) - 1)]

    cdef str name(self, size_t i):
        name = self.names[self.fastx.name_offsets[i]:self.fastx.name_offsets[i + 1]]
        return name.tobytes().decode("utf-8", "backslashreplace")

    @property
    def full(self):
        """The batch takes no more records."""
        return fastx_full(&self.fastx)

    @property
    def path(self):
        return " and ".join(self.paths)

    @property
    def records(self):
        """Records read so far, of this batch and those before; of two files, pairs."""
        return (self.taken + self.fastx.n) // len(self.paths)

    @property
    def renamed(self):
        """Reads in the batch under way whose names were changed, as SAM could not hold them."""
        return self.fastx.renamed

    @property
    def left_out(self):
        """Fields of comments, and UMIs, in the batch under way that are no tags."""
        return self.fastx.left_out

    def __len__(self):
        """Reads in the batch under way."""
        return self.fastx.n

    def take(self):
        """Hand over the batch and begin the next.

        Returns
        -------
        tuple
            `names uint8[]`, `name_offsets uint32[n+1]`, `bases uint8[]`, `quals uint8[]` or None (FASTA),
            `offsets uint32[n+1]`, the 1-based ordinal of the first record in the file, `mate uint8[n]`
            (0 single, 1, 2) or None where all are single, and `tags uint8[]` with `tag_offsets uint32[n+1]`, each tag
            as in SAM with a tab before it, or None and None where none were asked for.
        """
        cdef size_t n = self.fastx.n
        cdef size_t names = self.fastx.name_offsets[n]
        cdef size_t bases = self.fastx.offsets[n]
        batch = (
            self.names[:names], self.name_offsets[:n + 1], self.bases[:bases],
            self.quals[:bases] if self.fastx.marker == c"@" else None, self.offsets[:n + 1],
            self.taken // len(self.paths) + 1, self.mate[:n] if self.fastx.pairing != FASTX_SINGLE else None,
            self.tags[:self.tag_offsets[n]] if self.tagged else None, self.tag_offsets[:n + 1] if self.tagged else None,
        )
        self.fastx.renamed = self.fastx.left_out = 0
        self.taken += n
        self.start_batch(n, names, bases)
        return batch


def cut(const uint8_t[::1] data not None, uint32_t most, size_t enough=SIZE_MAX):
    """Find where records of FASTQ end, by their lines alone.

    Parameters
    ----------
    data : uint8[n]
        From a record on, or from empty lines before one; not the beginning of a file.
    most : int
        Records.
    enough : int
        Bytes: no record follows the one that reaches them.

    Returns
    -------
    tuple
        Bytes up to the end of the last record that is there in full, the number of these records, and whether
        something else than a record follows.
    """
    cdef fastx_input_t piece
    cdef bint stray
    cdef uint32_t n
    if not data.shape[0]:
        return 0, 0, False
    piece.p, piece.end, piece.begun, piece.eof = &data[0], &data[0] + data.shape[0], True, False
    with nogil:
        n = fastq_cut(&piece, most, enough, &stray)
    return piece.p - &data[0], n, stray


cdef enum why_t:
    IS_PASSED = 0
    IS_STRAY = -1
    IS_AT_END = -2
    IS_TOO_LONG = -3

PASSED, STRAY, AT_END, TOO_LONG = IS_PASSED, IS_STRAY, IS_AT_END, IS_TOO_LONG


def spread(const uint8_t[::1] bases, const uint32_t[::1] offsets, const uint8_t[::1] mate, list stretches, int most):
    """Some reads of each stretch of a batch, from everywhere in it, and their mates.

    Of a few reads, so the lock of the interpreter stays where it is.

    Parameters
    ----------
    bases, offsets, mate
        Of the `ReadBatch`.
    stretches : list of (int, int)
        Where they begin and end, in their order.
    most : int
        Reads of each, about; of a shorter one all.

    Returns
    -------
    bases : uint8[], offsets : uint32[k + 1], mate : uint8[k] or None, rows : int64[k], numbers : list of int
        The reads, which they are, and how many are from each stretch.
    """
    cdef int64_t start, stop, n, i, at, first, behind, last, k = 0, reads = 0
    cdef int mates
    rows_array = np.empty(2 * most * len(stretches) + 1, np.int64)
    cdef int64_t[::1] rows = rows_array
    numbers = []
    for start, stop in stretches:
        n, last, reads, mates = stop - start, -1, k, 1
        for i in range(start, stop if mate is not None else start):
            if mate[i]:
                mates = 2
                break
        for i in range(min(n, most // mates) if n > most else n):
            at = start + i
            if n > most:
                at = start + <int64_t>((i + fmod(i * GOLDEN, 1)) * (<double>(n * mates) / most))
            first, behind = at, at + 1
            if mate is not None:
                first, behind = at - (mate[at] == 2), at + 1 + (mate[at] == 1)
            while first < behind:
                if first > last:
                    rows[k], last, k = first, first, k + 1
                first += 1
        numbers.append(k - reads)
    offsets_array = np.zeros(k + 1, np.uint32)
    cdef uint32_t[::1] ends = offsets_array
    for i in range(k):
        ends[i + 1] = ends[i] + offsets[rows[i] + 1] - offsets[rows[i]]
    bases_array = np.empty(ends[k], np.uint8)
    cdef uint8_t[::1] out = bases_array
    for i in range(k):
        if ends[i + 1] > ends[i]:
            memcpy(&out[ends[i]], &bases[offsets[rows[i]]], ends[i + 1] - ends[i])
    rows_array = rows_array[:k]
    return bases_array, offsets_array, None if mate is None else np.asarray(mate)[rows_array], rows_array, numbers


def pass_over(int fd, uint8_t[::1] buffer not None, size_t filled, uint32_t most, size_t enough):
    """Pass over records of FASTQ in an open file, by their lines alone, in one call without the GIL.

    Parameters
    ----------
    fd : int
        Read from its position on.
    buffer : uint8[n]
        For work. It begins with the last `filled` bytes before that position, from a record on or from empty lines
        before one, as `cut` takes them.
    most : int
        Records.
    enough : int
        Bytes: no record follows the one that reaches them.

    Returns
    -------
    tuple
        Bytes passed over, records in them, bytes at the beginning of `buffer` now, and why there are no more: `PASSED`
        where they are as many as asked for, `STRAY` where something else than a record follows, `AT_END` of the file,
        `TOO_LONG` where the next record exceeds the buffer, or the errno of a failure to read.
    """
    cdef fastx_input_t piece
    cdef uint8_t *begin = &buffer[0]
    cdef size_t room = buffer.shape[0], passed = 0
    cdef uint32_t n = 0
    cdef ssize_t added
    cdef bint stray = False
    cdef int why
    if filled > room:
        raise ValueError("more bytes than there is room for")
    piece.begun, piece.eof = True, False
    with nogil:
        while True:
            piece.p, piece.end = begin, begin + filled
            if filled:
                n += fastq_cut(&piece, most - n, enough - passed, &stray)
            passed += piece.p - begin
            filled = piece.end - piece.p
            memmove(begin, piece.p, filled)
            if stray:
                why = IS_STRAY
                break
            if n == most or passed >= enough:
                why = IS_PASSED
                break
            if filled == room:
                why = IS_TOO_LONG
                break
            added = read(fd, begin + filled, room - filled)
            if added > 0:
                filled += added
            elif added == 0:
                why = IS_AT_END
                break
            elif errno != EINTR:
                why = errno
                break
    return passed, n, filled, why


cdef int64_t plan_rows(const uint32_t[::1] offsets, uint32_t[::1] lengths, uint32_t[::1] plane_start, size_t bases,
                       uint32_t longest, uint32_t shortest) noexcept nogil:
    """Fills lengths and plane_start; returns the number of rows of planes, which is even, or -1 for bad offsets."""
    cdef size_t i
    cdef int64_t rows = 0
    for i in range(<size_t>lengths.shape[0]):
        if offsets[i + 1] < offsets[i] or offsets[i + 1] > bases or rows > UINT32_MAX:
            return -1
        lengths[i] = offsets[i + 1] - offsets[i]
        if not shortest <= lengths[i] <= longest:
            lengths[i] = 0
        plane_start[i] = <uint32_t>rows
        rows += 2 * ((<int64_t>lengths[i] + PACK_WORD - 1) // PACK_WORD)
    return rows


cdef pack_with(const uint8_t[::1] bases, const uint32_t[::1] offsets, uint32_t longest,
               const uint8_t[::1] conversions, uint32_t shortest, bint portable):
    cdef size_t size = bases.shape[0]
    cdef size_t n = offsets.shape[0] - 1 if offsets.shape[0] else 0
    lengths_array = np.empty(n, np.uint32)
    plane_start_array = np.empty(n, np.uint32)
    cdef uint32_t[::1] lengths = lengths_array, plane_start = plane_start_array
    cdef int64_t rows = plan_rows(offsets, lengths, plane_start, size, longest, shortest)
    if rows < 0:
        raise ValueError("offsets must not fall, nor pass the end of the bases")
    # One row of zeros more: 64 bases from any base of the last read on can be read without looking at the end.
    planes_array = np.empty((rows + 1, 3), np.uint64)
    planes_array[rows] = 0
    cdef uint64_t[:, ::1] planes = planes_array
    cdef const uint8_t *converted = NULL
    if conversions is not None and n:
        if <size_t>conversions.shape[0] != n:
            raise ValueError("not one conversion for each read")
        converted = &conversions[0]
    if rows:
        with nogil:
            pack_reads(&bases[0], &offsets[0], &lengths[0], &plane_start[0], converted, n, &planes[0, 0],
                       portable)
    return lengths_array, planes_array, plane_start_array


def pack(const uint8_t[::1] bases not None, const uint32_t[::1] offsets not None, uint32_t longest=UINT32_MAX,
         const uint8_t[::1] conversions=None, uint32_t shortest=0):
    """Planes of reads and of their reverse complements (`docs/pipeline.md`).

    Parameters
    ----------
    bases : uint8[]
        ASCII letters in either case; U counts as T, what is not A, C, G, T or U is masked.
    offsets : uint32[n+1]
        Read i is `bases[offsets[i]:offsets[i + 1]]`.
    longest, shortest : int
        Reads of more bases, or of fewer, are packed as empty ones.
    conversions : uint8[n], optional
        0 none; 1 C became T: every T may be a C; 2 G became A: every A may be a G.

    Returns
    -------
    tuple
        `lengths uint32[n]`, `planes uint64[w + 1, 3]`, `plane_start uint32[n]`.

    Raises
    ------
    ValueError
        Offsets that fall or pass the end of the bases.
    """
    return pack_with(bases, offsets, longest, conversions, shortest, False)


def pack_portable(const uint8_t[::1] bases not None, const uint32_t[::1] offsets not None,
                  uint32_t longest=UINT32_MAX, const uint8_t[::1] conversions=None):
    """`pack` without vector instructions of the processor; tests hold the two against each other."""
    return pack_with(bases, offsets, longest, conversions, 0, True)
