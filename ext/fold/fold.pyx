"""RNA folding: `fold.h`. Arrays are those of `gassst.fold`, which checks them; `run` releases the GIL."""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

include "../lanes/tables.pxi"

cdef extern from "fold.h" nogil:
    enum:
        FOLD_NONE
        FOLD_INFINITE
    ctypedef struct fold_few:
        pass
    ctypedef struct fold_parameters:
        pass
    ctypedef struct fold_weights:
        double kt
        const double *hairpin
        double mismatch_multi[128]
        double mismatch_exterior[128]
        double dangle5[32]
        double dangle3[32]
    ctypedef struct fold_found:
        char *texts
        int32_t *energies
        int64_t count, room
        int is_full
    ctypedef struct fold_job:
        const fold_parameters *parameters
        const int32_t *hairpin
        const uint8_t *codes
        const int64_t *offsets
        const int32_t *stop
    ctypedef struct fold_kernels:
        const char *name
        int (*usable)() noexcept nogil
        int32_t lanes
        void (*fold)(const fold_job *, int64_t first, int64_t count, int64_t longest, void *memory, int32_t *energy,
                     char *structure) noexcept nogil
    const fold_kernels *const *fold_tables
    const fold_kernels fold_wide
    size_t fold_memory(int64_t n, int32_t lanes)
    size_t fold_ensemble_memory(int64_t n)
    double fold_ensemble(const fold_job *, int64_t number, double least, const fold_weights *, double *memory, double *pairs)
    void fold_zuker(const fold_job *, int64_t number, int32_t range, const fold_weights *, void *memory, char *text,
                    fold_found *found)

NONE, INFINITE = FOLD_NONE, FOLD_INFINITE
PARAMETERS, FEW = sizeof(fold_parameters) // sizeof(int16_t), sizeof(fold_few) // sizeof(int16_t)
OVERFLOW = -(1 << 31)


def instruction_sets():
    """Names of those that this processor has, the fastest first."""
    return lanes_names(<const lanes_head *const *>fold_tables)


def memory(int64_t n, int32_t lanes):
    """Bytes that folding takes for sequences of n bases."""
    return fold_memory(n, lanes)


def ensemble_memory(int64_t n):
    """Bytes that probabilities take for a sequence of n bases."""
    return fold_ensemble_memory(n)


cdef class Folder:
    """Sequences, and the energies of the model.

    `parameters` int16[PARAMETERS], as `fold_parameters`; `hairpin` int32, by unpaired bases; `codes` uint8 and `offsets`
    int64[n + 1] of all sequences.
    """

    cdef fold_job job
    cdef const fold_kernels *kernels
    cdef int32_t stopped
    cdef object arrays

    def __init__(self, const int16_t[::1] parameters, const int32_t[::1] hairpin, const uint8_t[::1] codes,
                 const int64_t[::1] offsets, str instruction_set):
        self.kernels = <const fold_kernels *>lanes_find(<const lanes_head *const *>fold_tables, instruction_set)
        if parameters.shape[0] != PARAMETERS or codes.shape[0] != offsets[offsets.shape[0] - 1] or not codes.shape[0]:
            raise ValueError("sizes of the arrays of a folder")
        self.arrays = parameters, hairpin, codes, offsets
        self.job = fold_job(<const fold_parameters *>&parameters[0], &hairpin[0], &codes[0], &offsets[0], &self.stopped)

    @property
    def lanes(self):
        """Sequences of a group."""
        return self.kernels.lanes

    def stop(self):
        """Ends all calls of `run` soon, from any thread; what they return is incomplete."""
        self.stopped = 1

    def run(self, int64_t first, int64_t last, bint is_wide, int32_t[::1] energy, uint8_t[::1] structure=None):
        """Energies of sequences first .. last - 1, OVERFLOW where 16 bits are too narrow, and their structures."""
        cdef const fold_kernels *kernels = &fold_wide if is_wide else self.kernels
        cdef int64_t longest = 0, i, k, n
        cdef const int64_t *at = self.job.offsets
        cdef void *space
        cdef char *to = <char *>&structure[0] if structure is not None else NULL
        for i in range(first, last):
            longest = max(longest, at[i + 1] - at[i])
        space = malloc(fold_memory(longest, kernels.lanes) + 64)
        if space == NULL:
            raise MemoryError("no memory for the matrices of a fold")
        with nogil:
            i = first
            while i < last and not self.stopped:
                n = 0
                for k in range(i, min(last, i + kernels.lanes)):
                    n = max(n, at[k + 1] - at[k])
                kernels.fold(&self.job, i, min(last - i, <int64_t>kernels.lanes), n,
                             <void *>((<size_t>space + 63) & ~<size_t>63), &energy[i], to)
                i += kernels.lanes
            free(space)

    cdef fold_weights weights(self, int64_t n, double kt, const double[::1] beside, const double[::1] hairpin) except *:
        """`beside` float64[320] has the weights of `fold_weights`, `hairpin` energies by unpaired bases."""
        cdef fold_weights weights
        if beside.shape[0] != 320 or hairpin.shape[0] < n:
            raise ValueError("sizes of the arrays of weights")
        weights.kt, weights.hairpin = kt, &hairpin[0]
        memcpy(weights.mismatch_multi, &beside[0], 320 * sizeof(double))
        return weights

    def ensemble(self, int64_t number, double least, double kt, const double[::1] beside, const double[::1] hairpin,
                 double[:, ::1] pairs):
        """Probabilities of pairs of one sequence, whose least free energy is known; returns the free energy of all
        structures. Energies are in .01 kcal/mol."""
        cdef int64_t n = self.job.offsets[number + 1] - self.job.offsets[number]
        cdef fold_weights weights = self.weights(n, kt, beside, hairpin)
        cdef double energy
        cdef double *space
        if pairs.shape[0] != n or pairs.shape[1] != n:
            raise ValueError("sizes of the arrays of an ensemble")
        space = <double *>malloc(fold_ensemble_memory(n))
        if space == NULL:
            raise MemoryError("no memory for the matrices of an ensemble")
        with nogil:
            energy = fold_ensemble(&self.job, number, least, &weights, space, &pairs[0, 0])
            free(space)
        return energy

    def zuker(self, int32_t width, const double[::1] beside, const double[::1] hairpin):
        """Texts and energies of `fold_zuker`, of the first sequence. Weights are energies whose sign is turned."""
        cdef int64_t n = self.job.offsets[1], k
        cdef fold_found found = fold_found(NULL, NULL, 0, 0, 0)
        cdef fold_weights weights = self.weights(n, 1, beside, hairpin)
        cdef char *space = <char *>malloc(fold_memory(n, 1) + 64 + n + fold_ensemble_memory(n))
        if space == NULL:
            raise MemoryError("no memory for the matrices of a fold")
        cdef void *matrices = space + n + (-(<size_t>space + n) & 63)
        try:
            with nogil:
                fold_zuker(&self.job, 0, width, &weights, matrices, space, &found)
            if found.is_full:
                raise MemoryError("no memory for the structures of a fold")
            return [(found.texts[k * n:(k + 1) * n], found.energies[k]) for k in range(found.count)]
        finally:
            free(space)
            free(found.texts)
            free(found.energies)
