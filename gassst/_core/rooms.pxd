# Memory that grows and is used again; nothing here is to be imported at run time.
from libc.stdlib cimport realloc


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
