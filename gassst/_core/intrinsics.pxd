# What the compiler knows as one instruction; GCC and Clang name it alike.
from libc.stdint cimport uint64_t

cdef extern from * nogil:
    int popcount "__builtin_popcountll"(uint64_t x)
    int leading_zeros "__builtin_clzll"(uint64_t x)      # undefined for 0
    int trailing_zeros "__builtin_ctzll"(uint64_t x)     # undefined for 0
    void prefetch "__builtin_prefetch"(const void *address)
