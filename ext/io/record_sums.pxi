# Part of records.pyx: a count and a running checksum of records, by which parts of a run are told to be whole.

# Odd, so that no record ever loses its weight.
cdef uint64_t FACTOR = <uint64_t>0x9e3779b97f4a7c15
ORDER_FACTOR = FACTOR


cdef inline uint64_t u64_at(const uint8_t *p) noexcept nogil:
    return u32_at(p) | <uint64_t>u32_at(p + 4) << 32


cdef uint64_t hash_of(const uint8_t *p, size_t size) noexcept nogil:
    """Of the bytes of a record."""
    cdef uint64_t h = size
    cdef uint8_t last[8]
    while size >= 8:
        h = (h ^ u64_at(p)) * FACTOR
        h ^= h >> 32
        p, size = p + 8, size - 8
    memset(last, 0, 8)
    memcpy(last, p, size)
    return mix(h ^ u64_at(last))


def sum_of_records(const uint8_t[::1] data not None, *, bint bam):
    """How many records there are, and what they sum up to modulo 2**64.

    Parameters
    ----------
    data : uint8[]
        Records of BAM, or lines of SAM.
    bam : bool

    Returns
    -------
    tuple of int
        Their number; the sum of the hashes of all records, whatever their order; and that in which the hash of each
        counts `ORDER_FACTOR` times as much as that of the next.

    Raises
    ------
    ValueError
        The last record is cut short.
    """
    cdef size_t size = data.shape[0], at = 0, length, n = 0
    cdef uint64_t total = 0, ordered = 0, h
    cdef const uint8_t *end
    with nogil:
        while at < size:
            length = 0
            if not bam:
                end = <const uint8_t *>memchr(&data[at], b'\n', size - at)
                length = end - &data[at] + 1 if end != NULL else 0
            elif size - at >= BAM_CORE:
                length = record_size(&data[at])
            if length == 0 or length > size - at:
                break
            h = hash_of(&data[at], length)
            total, ordered = total + h, ordered * FACTOR + h
            at, n = at + length, n + 1
    if at < size:
        raise ValueError("the last record is cut short")
    return n, total, ordered
