# Memory that grows and is used again; nothing here is to be imported at run time.
from libc.stdint cimport uint8_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy


cdef struct room_t:
    void *p
    size_t bytes


cdef inline void *enlarged(room_t *room, size_t bytes) except NULL nogil:
    """Memory for so many bytes and a few more; those that are there stay."""
    cdef void *p
    if bytes + 8 > room.bytes:
        bytes += (bytes >> 1) + 64
        p = realloc(room.p, bytes)
        if p == NULL:
            with gil:
                raise MemoryError
        room.p, room.bytes = p, bytes
    return room.p


cdef inline object array_of(const void *p, Py_ssize_t n, dtype):
    """What is in memory, as an array."""
    from numpy import empty
    array = empty(n, dtype)
    cdef uint8_t[::1] to = array.view("u1")
    if n:
        with nogil:
            memcpy(&to[0], p, to.shape[0])
    return array
