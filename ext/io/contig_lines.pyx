"""Lines @SQ of a SAM header, of which a draft genome has millions: where their names lie, and the lengths."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memchr, memcpy

import numpy as np

cdef int64_t MOST_BASES = 2**31 - 1  # of a contig that SAM and BAM can hold


def parsed(const uint8_t[::1] text not None):
    """The contigs of lines @SQ, whose fields may have any order; `text` has no other lines.

    Returns
    -------
    starts : int64[c]
        Where the names begin in `text`.
    widths : uint32[c]
        Their bytes.
    lengths : int64[c]
        Bases of the contigs.

    Raises
    ------
    ValueError
        For the first line without a name that SAM allows, or without a length of 1 to 2^31 - 1 bases.
    """
    cdef Py_ssize_t n = 0, i = 0
    cdef const uint8_t *at = &text[0] if text.shape[0] else NULL
    cdef const uint8_t *end = at + text.shape[0]
    cdef const uint8_t *line = at
    cdef bint is_sound = True
    with nogil:
        while line < end and is_sound:
            line = <const uint8_t *>memchr(line, c"\n", end - line)
            is_sound = line != NULL
            line += 1
            n += 1
    if not is_sound:
        raise ValueError("the last line of a contig has no end")
    starts_array, widths_array, lengths_array = np.empty(n, np.int64), np.empty(n, np.uint32), np.empty(n, np.int64)
    cdef int64_t[::1] starts = starts_array, lengths = lengths_array
    cdef uint32_t[::1] widths = widths_array
    cdef const uint8_t *name
    with nogil:
        line = at
        for i in range(n):
            line = parse_line(line, end, &name, &widths[i], &lengths[i])
            if line == NULL:
                break
            starts[i] = name - at
    if n and line == NULL:
        raise ValueError(f"line {i + 1} of contigs: no name that SAM allows, or no length from 1 to {MOST_BASES:,}")
    return starts_array, widths_array, lengths_array


cdef const uint8_t *parse_line(const uint8_t *line, const uint8_t *end, const uint8_t **name, uint32_t *width,
                               int64_t *length) noexcept nogil:
    """The next line; NULL if this one is no contig. The text has a newline before its `end`."""
    cdef const uint8_t *field
    cdef const uint8_t *stop = <const uint8_t *>memchr(line, c"\n", end - line)
    name[0], width[0], length[0] = NULL, 0, 0
    if not (line[0] == c"@" and line[1] == c"S" and line[2] == c"Q"):  # no byte behind the end of the line is read
        return NULL
    line += 3
    while line[0] == c"\t":
        field = line + 1
        line = field
        if field[0] == c"S" and field[1] == c"N" and field[2] == c":":
            line = name[0] = field + 3
            while c"!" <= line[0] <= c"~":
                line += 1
            width[0] = <uint32_t>(line - name[0])
            if width[0] == 0 or name[0][0] == c"*" or name[0][0] == c"=":
                return NULL
        elif field[0] == c"L" and field[1] == c"N" and field[2] == c":":
            line, length[0] = field + 3, 0
            while c"0" <= line[0] <= c"9" and length[0] <= MOST_BASES:
                length[0] = 10 * length[0] + (line[0] - c"0")
                line += 1
        else:
            line = <const uint8_t *>memchr(field, c"\t", stop - field)
            if line == NULL:
                line = stop
    return line + 1 if line == stop and name[0] != NULL and 1 <= length[0] <= MOST_BASES else NULL


def bam_table(const uint8_t[::1] text not None, const int64_t[::1] starts not None,
              const uint32_t[::1] widths not None, const int64_t[::1] lengths not None):
    """The contigs that `parsed` has found, as the header of BAM has them behind its text: bytes."""
    cdef Py_ssize_t n = starts.shape[0], i
    cdef int64_t size = 4 + 9 * n
    for i in range(n):
        size += widths[i]
    cdef bytes table = PyBytes_FromStringAndSize(NULL, size)
    cdef char *to = PyBytes_AS_STRING(table)
    put_int(&to, <int32_t>n)
    for i in range(n):
        put_int(&to, <int32_t>widths[i] + 1)
        memcpy(to, &text[starts[i]], widths[i])
        to[widths[i]] = 0
        to += widths[i] + 1
        put_int(&to, <int32_t>lengths[i])
    return table


cdef void put_int(char **to, int32_t value) noexcept nogil:
    memcpy(to[0], &value, 4)  # little-endian, as all machines that gassst is built for
    to[0] += 4
