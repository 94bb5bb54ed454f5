"""FASTQ and FASTA records into arrays, and bases into codes and planes (`docs/pipeline.md`)."""

import numpy as np

from gassst.errors import InputError

cimport numpy as cnp
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef extern from "fastx.h" nogil:
    enum:
        FASTX_MAX_NAME

    ctypedef enum fastx_error_t:
        FASTX_OK, FASTX_FIRST_BYTE, FASTX_CUT_SHORT, FASTX_NO_MARKER, FASTX_NO_NAME, FASTX_LONG_NAME
        FASTX_LONG_SEQUENCE, FASTX_BAD_BASE, FASTX_NO_PLUS, FASTX_QUALITY_LENGTH, FASTX_BAD_QUALITY, FASTX_MIXED

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

    bint fastx_full(const fastx_t *)
    bint fastx_add(fastx_t *, const uint8_t *, size_t, const uint8_t *, size_t, const uint8_t *, size_t)
    const uint8_t *fastx_parse(fastx_t *, const uint8_t *, const uint8_t *, bint)


cdef extern from "pack.h" nogil:
    enum:
        PACK_WORD, PACK_SLACK
    void pack_reads(const uint8_t *, const uint32_t *, const uint32_t *, size_t, uint8_t *, uint64_t *, bint)


# Name offsets are uint32: no more reads than have room for a name of the greatest length each.
MAX_READS = (1 << 32) // (FASTX_MAX_NAME + 2)
MAX_LENGTH_LIMIT = 1 << 26

MESSAGES = {
    FASTX_FIRST_BYTE: "begins with {a!r}, neither '@' (FASTQ) nor '>' (FASTA)",
    FASTX_CUT_SHORT: "cut short, the file ends inside it",
    FASTX_NO_MARKER: "does not begin with {marker!r}",
    FASTX_NO_NAME: "has no name",
    FASTX_LONG_NAME: f"its name is longer than the {FASTX_MAX_NAME} characters that SAM allows",
    FASTX_LONG_SEQUENCE: "longer than {max_length} bases",
    FASTX_BAD_BASE: "{a!r} at base {v[1]} is not a letter",
    FASTX_NO_PLUS: "its third line does not begin with '+'",
    FASTX_QUALITY_LENGTH: "{v[0]} bases but {v[1]} qualities",
    FASTX_BAD_QUALITY: "{a!r} at quality {v[1]} is not one of the characters 33 to 126",
    FASTX_MIXED: "all records of a batch must have qualities, or none",
}


cdef cnp.ndarray grown(cnp.ndarray array, size_t used, size_t needed):
    """`array` if it holds `needed` items, else a larger copy of its first `used`."""
    if needed <= <size_t>array.shape[0]:
        return array
    larger = np.empty(max(needed, used + used // 2), array.dtype)
    larger[:used] = array[:used]
    return larger


cdef class RecordParser:
    """Turns the pieces of one FASTQ or FASTA file into the arrays of one batch after the other.

    Parameters
    ----------
    path : str
        What error messages call the file.
    max_reads, max_bases : int
        A batch is full once it holds `max_reads` reads or at least `max_bases` bases.
    max_length : int
        Longest read accepted, bases.
    """

    cdef fastx_t fastx
    cdef readonly str path
    cdef uint64_t taken
    cdef cnp.ndarray names, name_offsets, bases, quals, offsets

    def __cinit__(self, str path, uint32_t max_reads, uint32_t max_bases, uint32_t max_length):
        self.path = path
        self.fastx.max_reads = max_reads
        self.fastx.max_bases = max_bases
        self.fastx.max_length = max_length
        self.start_batch(0, 0, 0)

    cdef start_batch(self, size_t reads, size_t name_bytes, size_t bases):
        """Fresh arrays with room for as much as the batch before held: they are rarely copied to grow."""
        self.fastx.n = 0
        self.names = np.empty(name_bytes, np.uint8)
        self.bases = np.empty(bases, np.uint8)
        self.quals = np.empty(bases if self.fastx.marker != c">" else 0, np.uint8)
        self.name_offsets = np.zeros(reads + 1, np.uint32)
        self.offsets = np.zeros(reads + 1, np.uint32)
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
        self.fastx.names = <uint8_t *>cnp.PyArray_DATA(self.names)
        self.fastx.bases = <uint8_t *>cnp.PyArray_DATA(self.bases)
        self.fastx.quals = <uint8_t *>cnp.PyArray_DATA(self.quals)
        self.fastx.name_offsets = <uint32_t *>cnp.PyArray_DATA(self.name_offsets)
        self.fastx.offsets = <uint32_t *>cnp.PyArray_DATA(self.offsets)

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
        cdef const uint8_t *start
        cdef const uint8_t *stop
        cdef size_t size = data.shape[0]
        if size == 0:
            return 0
        # The shortest records are ">a\n", and ">a" at the end.
        self.make_room(min(size // 3 + 1, self.fastx.max_reads - self.fastx.n), size, size)
        start = &data[0]
        with nogil:
            stop = fastx_parse(&self.fastx, start, start + size, eof)
        if self.fastx.error:
            raise self.failure()
        return stop - start

    def add(self, bytes name not None, bytes sequence not None, bytes quality=None):
        """Append one record (ASCII; quality phred+33 or None), by the rules for files.

        Raises
        ------
        InputError
            As `parse`; also when some records of a batch have qualities and others not, or the batch is full.
        """
        cdef const uint8_t *quality_text = NULL
        if quality is not None:
            quality_text = quality
        if fastx_full(&self.fastx):
            raise InputError(f"{self.path}: too many records for one batch")
        self.make_room(1, len(name), len(sequence))
        fastx_add(
            &self.fastx, name, len(name), sequence, len(sequence),
            quality_text, 0 if quality is None else len(quality),
        )
        if self.fastx.error:
            raise self.failure()

    cdef object failure(self):
        record = f"{self.path}: record {self.records + 1}"
        if self.fastx.named:
            name = self.names[self.fastx.name_offsets[self.fastx.n]:self.fastx.name_offsets[self.fastx.n + 1]]
            record += f" ({name.tobytes().decode('utf-8', 'backslashreplace')})"
        what = MESSAGES[self.fastx.error].format(
            a=chr(self.fastx.value[0] & 255), v=self.fastx.value, marker=chr(self.fastx.marker),
            max_length=self.fastx.max_length,
        )
        return InputError(f"{record}: {what}")

    @property
    def full(self):
        """The batch takes no more records."""
        return fastx_full(&self.fastx)

    @property
    def records(self):
        """Records read so far, of this batch and those before."""
        return self.taken + self.fastx.n

    def __len__(self):
        """Reads in the batch under way."""
        return self.fastx.n

    def take(self):
        """Hand over the batch and begin the next.

        Returns
        -------
        tuple
            `names uint8[]`, `name_offsets uint32[n+1]`, `bases uint8[]`, `quals uint8[]` or None (FASTA),
            `offsets uint32[n+1]`, and the 1-based ordinal of the first record in the file.
        """
        cdef size_t n = self.fastx.n
        cdef size_t names = self.fastx.name_offsets[n]
        cdef size_t bases = self.fastx.offsets[n]
        batch = (
            self.names[:names], self.name_offsets[:n + 1], self.bases[:bases],
            self.quals[:bases] if self.fastx.marker == c"@" else None, self.offsets[:n + 1], self.taken + 1,
        )
        self.taken += n
        self.start_batch(n, names, bases)
        return batch


cdef uint64_t plan_rows(const uint32_t[::1] offsets, uint32_t[::1] lengths, uint32_t[::1] plane_start,
                        size_t bases) except 1:
    """Fills lengths and plane_start; returns the number of rows of planes, which is even."""
    cdef size_t i
    cdef uint64_t rows = 0
    for i in range(<size_t>lengths.shape[0]):
        if offsets[i + 1] < offsets[i] or offsets[i + 1] > bases or rows > 0xFFFFFFFF:
            raise ValueError("offsets must not fall, nor pass the end of the bases")
        lengths[i] = offsets[i + 1] - offsets[i]
        plane_start[i] = <uint32_t>rows
        rows += 2 * ((<uint64_t>lengths[i] + PACK_WORD - 1) // PACK_WORD)
    return rows


cdef pack_with(const uint8_t[::1] bases, const uint32_t[::1] offsets, bint portable):
    cdef size_t size = bases.shape[0]
    cdef size_t n = offsets.shape[0] - 1 if offsets.shape[0] else 0
    lengths_array = np.empty(n, np.uint32)
    plane_start_array = np.empty(n, np.uint32)
    # The last word of the last read is read in full.
    codes_array = np.empty(size + PACK_SLACK, np.uint8)
    cdef uint32_t[::1] plane_start = plane_start_array
    cdef uint8_t[::1] codes = codes_array
    cdef uint64_t rows = plan_rows(offsets, lengths_array, plane_start, size)
    # One row of zeros more: 64 bases from any base of the last read on can be read without looking at the end.
    planes_array = np.empty((rows + 1, 3), np.uint64)
    planes_array[rows] = 0
    cdef uint64_t[:, ::1] planes = planes_array
    if rows:
        with nogil:
            pack_reads(&bases[0], &offsets[0], &plane_start[0], n, &codes[0], &planes[0, 0], portable)
    return codes_array[:size], lengths_array, planes_array, plane_start_array


def pack(const uint8_t[::1] bases not None, const uint32_t[::1] offsets not None):
    """Codes and planes of reads and of their reverse complements (`docs/pipeline.md`).

    Parameters
    ----------
    bases : uint8[]
        ASCII letters in either case; U counts as T, what is not A, C, G, T or U is masked.
    offsets : uint32[n+1]
        Read i is `bases[offsets[i]:offsets[i + 1]]`.

    Returns
    -------
    tuple
        `codes uint8[]` (0-3, 4 masked; same offsets), `lengths uint32[n]`, `planes uint64[w + 1, 3]`,
        `plane_start uint32[n]`.

    Raises
    ------
    ValueError
        Offsets that fall or pass the end of the bases.
    """
    return pack_with(bases, offsets, False)


def pack_portable(const uint8_t[::1] bases not None, const uint32_t[::1] offsets not None):
    """`pack` without vector instructions of the processor; tests hold the two against each other."""
    return pack_with(bases, offsets, True)
