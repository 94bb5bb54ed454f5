"""One hash of 64 bits, for draws that depend on nothing but what is hashed."""

from libc.stdint cimport uint64_t


cdef inline uint64_t mix(uint64_t h) noexcept nogil:
    h ^= h >> 32
    h *= <uint64_t>0xd6e8feb86659fd93
    h ^= h >> 32
    h *= <uint64_t>0xd6e8feb86659fd93
    return h ^ (h >> 32)
