"""Banded alignment on the CPU: `gassst/gpu/kernels/band.h`, eight, four or two pairs at a time, and local alignment,
`gassst/gpu/kernels/local.h`, 64, 32 or 16 at a time, half as many of those that lose much.

All functions release the GIL for the whole call.
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


cdef class Band:
    """The batch that all functions work on: reference, reads, and the pairs of one call.

    Keeps the arrays alive. `reference` and `reads` are planes uint64[rows, 3], `read_row` and
    `read_length` uint32 by read; `instruction_set` is one of `instruction_sets()`, else ValueError.
    """

    def __init__(self, const uint64_t[:, ::1] reference, const uint64_t[:, ::1] reads,
                 const uint32_t[::1] read_row, const uint32_t[::1] read_length, str instruction_set):
        self.kernels = kernels_of(instruction_set)
        self.arrays = (reference, reads, read_row, read_length)
        self.batch.reference = &reference[0, 0] if reference.shape[0] else NULL
        self.batch.reference_rows = reference.shape[0]
        self.batch.reads = &reads[0, 0] if reads.shape[0] else NULL
        self.batch.read_row = &read_row[0] if read_row.shape[0] else NULL
        self.batch.read_length = &read_length[0] if read_length.shape[0] else NULL

    cdef band_batch pairs(self, const uint32_t[::1] read_strand, const coordinate_t[::1] band_start) noexcept:
        """A batch of its own for each call. At least one pair."""
        cdef band_batch batch = self.batch
        batch.read_strand = &read_strand[0]
        batch.band_start = &band_start[0]
        batch.n = <uint32_t>read_strand.shape[0]
        return batch

    def score(self, const uint32_t[::1] read_strand, const coordinate_t[::1] band_start, int words,
              const uint16_t[::1] limit=None):
        """Least errors and the leftmost diagonal that has them: `(best, end)`, uint16[n] each.

        `limit` uint16[reads]: pairs with more errors than that of their read get 65535 and 0. None: all errors matter.
        """
        cdef band_batch batch = self.pairs(read_strand, band_start)
        cdef int width = words.bit_length() - 1
        cdef uint16_t[::1] best = np.empty(batch.n, np.uint16), end = np.empty(batch.n, np.uint16)
        cdef const uint16_t *limits = &limit[0] if limit is not None else NULL
        with nogil:
            self.kernels.score[width](&batch, limits, &best[0], &end[0])
        return best.base, end.base
