# Tables of kernels by name: their structs begin with `lanes_head`, and NULL ends the table (each_isa.h).
cdef struct lanes_head:
    const char *name
    int (*usable)() noexcept nogil


cdef list lanes_names(const lanes_head *const *tables):
    """Names of the instruction sets that this processor has, the fastest first."""
    cdef list names = []
    cdef int i = 0
    while tables[i] != NULL:
        if tables[i].usable():
            names.append(tables[i].name.decode())
        i += 1
    return names


cdef const lanes_head *lanes_find(const lanes_head *const *tables, str name) except NULL:
    """The kernels of that name. Raises ValueError where this processor has none."""
    cdef int i = 0
    while tables[i] != NULL:
        if tables[i].usable() and tables[i].name.decode() == name:
            return tables[i]
        i += 1
    raise ValueError(f"this processor has no {name!r}")
