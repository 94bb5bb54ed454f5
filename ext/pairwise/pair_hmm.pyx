"""The pair HMM of batches: `pair_hmm.h`. Arrays are those of `gassst.align.pair_hmm`, which checks them.

All functions release the GIL.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

include "../lanes/tables.pxi"

cdef extern from "pair_hmm.h" nogil:
    ctypedef struct hmm_step:
        double match, mismatch, mm, mi, md, im, ii, dm, dd
    ctypedef struct hmm_batch:
        const uint8_t *bases
        const int64_t *offsets
        const hmm_step *steps
        const uint8_t *haplotypes
        const int64_t *haplotype_offsets
        const int32_t *pairs
        int64_t n
        const int32_t *stop
    ctypedef int (*hmm_function)(const hmm_batch *, double *logs) noexcept nogil
    ctypedef struct hmm_kernels:
        const char *name
        int (*usable)() noexcept nogil
        hmm_function function[2][2]
    ctypedef struct hmm_pair:
        const uint8_t *read
        const uint8_t *haplotype
        int32_t m, n, band
        const hmm_step *steps
        double begin_match, begin_insertion, insertion
        const int32_t *stop
    const hmm_kernels *const *hmm_tables
    int hmm_log_sum(const hmm_batch *, double *) noexcept nogil
    int hmm_log_largest(const hmm_batch *, double *) noexcept nogil
    size_t hmm_posterior_memory(const hmm_pair *) noexcept
    double hmm_posterior(const hmm_pair *, double *match, double *insertion, size_t stride, void *memory) noexcept
    int64_t hmm_path(const hmm_batch *, int64_t pair, uint8_t *trace, double *memory, uint8_t *steps, int64_t *first,
                     double *log_probability) noexcept


def instruction_sets():
    """Names of those that this processor has, the fastest first."""
    return lanes_names(<const lanes_head *const *>hmm_tables)


cdef class PairHmmBatch:
    """Reads with a step for each base, and haplotypes; bases are bits.

    Parameters
    ----------
    bases : uint8[total]
    offsets : int64[reads + 1]
    steps : float64[total, 9]
        As `hmm_step`: match, mismatch, mm, mi, md, im, ii, dm, dd.
    haplotypes : uint8[total]
    haplotype_offsets : int64[haplotypes + 1]
    """

    cdef const uint8_t[::1] bases, haplotypes
    cdef const int64_t[::1] offsets, haplotype_offsets
    cdef const double[:, ::1] steps
    cdef int32_t stopped

    def __cinit__(self, const uint8_t[::1] bases, const int64_t[::1] offsets, const double[:, ::1] steps,
                  const uint8_t[::1] haplotypes, const int64_t[::1] haplotype_offsets):
        if not (bases.shape[0] and haplotypes.shape[0] and steps.shape[0] == bases.shape[0] and steps.shape[1] == 9
                and offsets[offsets.shape[0] - 1] == bases.shape[0]
                and haplotype_offsets[haplotype_offsets.shape[0] - 1] == haplotypes.shape[0]):
            raise ValueError("sizes of the arrays of a batch disagree")
        self.bases, self.offsets, self.steps = bases, offsets, steps
        self.haplotypes, self.haplotype_offsets = haplotypes, haplotype_offsets

    cdef hmm_batch of(self, const int32_t[:, ::1] pairs) except *:
        cdef hmm_batch b
        if pairs.shape[1] != 2 or not pairs.shape[0]:
            raise ValueError("pairs")
        b.bases, b.offsets, b.steps = &self.bases[0], &self.offsets[0], <const hmm_step *>&self.steps[0, 0]
        b.haplotypes, b.haplotype_offsets = &self.haplotypes[0], &self.haplotype_offsets[0]
        b.pairs, b.n, b.stop = &pairs[0, 0], pairs.shape[0], &self.stopped
        return b

    def stop(self):
        """Ends all other calls soon, from any thread; what they return is incomplete."""
        self.stopped = 1

    def logs(self, const int32_t[:, ::1] pairs, bint largest, str form, str instruction_set, double[::1] out):
        """Natural logarithms of the probabilities of pairs, int32[n, 2], to `out`, float64[n].

        `form` is "single", "double" or "log".
        """
        cdef hmm_batch b = self.of(pairs)
        cdef hmm_function function = NULL
        cdef const hmm_kernels *kernels
        cdef int status
        if form == "log":
            function = hmm_log_largest if largest else hmm_log_sum
        else:
            kernels = <const hmm_kernels *>lanes_find(<const lanes_head *const *>hmm_tables, instruction_set)
            function = kernels.function[largest][form == "double"]
        if out.shape[0] != pairs.shape[0]:
            raise ValueError("no room for the results")
        with nogil:
            status = function(&b, &out[0])
        if status < 0:
            raise MemoryError("no memory for a row of the pair HMM")

    def path(self, const int32_t[:, ::1] pairs, int64_t pair):
        """The most probable alignment: (natural logarithm, first base of the haplotype, steps uint8[]).

        Steps are 0 for a pair, 1 for an insertion, 2 for a deletion.
        """
        cdef hmm_batch b = self.of(pairs)
        cdef int64_t m = self.offsets[pairs[pair, 0] + 1] - self.offsets[pairs[pair, 0]], first, count
        cdef int64_t n = self.haplotype_offsets[pairs[pair, 1] + 1] - self.haplotype_offsets[pairs[pair, 1]]
        cdef uint8_t[::1] trace = np.empty((m + 1) * (n + 1), np.uint8), steps = np.empty(m + n + 1, np.uint8)
        cdef double[::1] memory = np.empty(3 * (n + 1))
        cdef double log_probability
        with nogil:
            count = hmm_path(&b, pair, &trace[0], &memory[0], &steps[0], &first, &log_probability)
        return log_probability, first, np.asarray(steps[:count])[::-1].copy()

    def posterior(self, int32_t read, int32_t haplotype):
        """(natural logarithm, float64[m, n]): of each base of the read and of the haplotype, that they are paired."""
        cdef hmm_pair p
        cdef int64_t m = self.offsets[read + 1] - self.offsets[read], h = self.haplotype_offsets[haplotype]
        cdef int64_t n = self.haplotype_offsets[haplotype + 1] - h
        cdef double log_probability
        p.read, p.haplotype = &self.bases[self.offsets[read]], &self.haplotypes[h]
        p.m, p.n, p.band = <int32_t>m, <int32_t>n, <int32_t>(m + n)
        p.steps = <const hmm_step *>&self.steps[self.offsets[read], 0]
        p.begin_match = p.steps[0].dm / n
        p.begin_insertion, p.insertion = 0, 1
        p.stop = &self.stopped
        match = np.empty((m, n))
        cdef double[:, ::1] to = match, insertion = np.empty((m, n))
        cdef uint8_t[::1] memory = np.empty(hmm_posterior_memory(&p), np.uint8)
        with nogil:
            log_probability = hmm_posterior(&p, &to[0, 0], &insertion[0, 0], n, &memory[0])
        return log_probability, match
