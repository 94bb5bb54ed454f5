"""Banded alignment on the CPU: `gassst/gpu/kernels/band.h`, eight, four or two pairs at a time, and local alignment,
`gassst/gpu/kernels/local.h`, 64, 32 or 16 at a time, half as many of those that lose much.
"""

cdef extern from "banded.h" nogil:
    const cpu_kernels *const *cpu_tables
    int CPU_TABLES


def instruction_sets():
    """Names of the variants this processor can run, the fastest first; the last is always "generic"."""
    return [cpu_tables[i].name.decode() for i in range(CPU_TABLES) if cpu_tables[i].usable()]


cdef const cpu_kernels *kernels_of(str instruction_set) except NULL:
    """Those of one of `instruction_sets()`, else ValueError; of the first where it is None."""
    for i in range(CPU_TABLES):
        if cpu_tables[i].usable() and instruction_set in (None, cpu_tables[i].name.decode()):
            return cpu_tables[i]
    raise ValueError(f"this processor has no {instruction_set!r}")
