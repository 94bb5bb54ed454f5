"""The filters of the thesis over batches of candidates, for `gassst.search.filters`; the loops are in `thesis_filters.h`."""

import numpy as np

from gassst._core.common cimport *
from gassst._core.stages cimport *

cdef extern from "thesis_filters.h" nogil:
    void fill_scores(uint8_t *scores, int l)
    int64_t keep_tnw4_4(const job_t *job)
    int64_t keep_fd(const job_t *job)
    int64_t keep_tnw4_16(const job_t *job)
    int64_t keep_tnw5_full(const job_t *job)
    int64_t keep_first(const job_t *job)

cdef dict _score_tables = {}


def score_table(int l):
    """PST_l (Rizk 4.4.2): best semi-global score of every pair of words of `l` bases, 1 <= l <= 6.

    Returns uint8[4**l, 4**l], read only, built at first use. Base k of a word is bits 2k and 2k + 1 of its
    number.
    """
    if not 1 <= l <= 6:
        raise ValueError(f"no score table for words of {l} bases")
    if l not in _score_tables:
        table = np.empty((1 << 2 * l, 1 << 2 * l), np.uint8)
        fill_scores(<uint8_t *><size_t>table.ctypes.data, l)
        table.setflags(write=False)
        _score_tables[l] = table
    return _score_tables[l]


cdef const uint8_t *scores_of(int l) except NULL:
    cdef const uint8_t[:, ::1] scores = score_table(l)
    return &scores[0, 0]  # the table is kept


def filter_of(str name, int gaps):
    """A `Filter` of the thesis, for alignments with up to `gaps` gap bases.

    "tnw4-4" is TNW_4(4) (Rizk 4.6.3): it rejects where the scores of 4 bases either side sum to more than the limit, if
    that is 7 at most. "fd" is FD-vec (4.6.4): the same with the frequency distances of up to 16 bases. "tnw4-16" is
    TNW_4(16) (4.4.2) and "tnw5-full" TNW_5(full) (4.6.3), of both flanks.

    "duplicate" is isDuplicate (4.6.6), made lossless. It needs candidates sorted by (read_strand, diagonal, offset). Of
    those whose seeds lie in one run of equal bases of one diagonal the first stays, its seed grown to the whole run.
    """
    cdef Filter one = Filter()
    one.of = filter_t(keep_first, NULL, gaps)
    if name == "fd":
        one.of.keep = keep_fd
    elif name == "tnw5-full":
        one.of.keep, one.of.scores = keep_tnw5_full, scores_of(5)
    elif name == "tnw4-4":
        one.of.keep, one.of.scores = keep_tnw4_4, scores_of(4)
    elif name == "tnw4-16":
        one.of.keep, one.of.scores = keep_tnw4_16, scores_of(4)
    return one


cdef int _columns(arrays, Py_ssize_t n, columns_t *columns) except -1:
    cdef const uint32_t[::1] read_strand = arrays[0]
    cdef const coordinate_t[::1] diagonal = arrays[1]
    cdef const uint16_t[::1] offset = arrays[2], length = arrays[3]
    if not n == read_strand.shape[0] == diagonal.shape[0] == offset.shape[0] == length.shape[0]:
        raise ValueError("the four arrays of the candidates differ in length")
    columns.read_strand, columns.diagonal = <uint32_t *>&read_strand[0], <coordinate_t *>&diagonal[0]
    columns.offset, columns.length = <uint16_t *>&offset[0], <uint16_t *>&length[0]
    return 0


cdef int _planes(const uint64_t[:, ::1] words, planes_t *planes) except -1:
    if words.shape[0] == 0 or words.shape[1] != 3:
        raise ValueError(f"planes are uint64[n, 3] with n > 0, not [{words.shape[0]}, {words.shape[1]}]")
    planes[0] = planes_of(words)
    return 0


cdef int _reads(
    const uint64_t[:, ::1] planes,
    const uint32_t[::1] plane_start,
    const uint32_t[::1] lengths,
    const uint16_t[::1] limits,
    job_t *job,
) except -1:
    if not 0 < limits.shape[0] == lengths.shape[0] == plane_start.shape[0]:
        raise ValueError(f"{limits.shape[0]} limits for {lengths.shape[0]} reads")
    job.plane_start, job.read_lengths, job.limits = &plane_start[0], &lengths[0], &limits[0]
    job.n_reads = lengths.shape[0]
    return _planes(planes, &job.reads)


def passed(Filter one, candidates, limits, packed, reference_planes, str instruction_set=None):
    """Run one filter on candidates of a batch.

    Parameters
    ----------
    one : Filter
    candidates : search.arrays.Candidates
        c candidates.
    limits : uint16[n]
        Most errors of each read.
    packed : model.read_batch.PackedReads
        Of n reads.
    reference_planes : uint64[r, 3]
    instruction_set : str, optional
        One of `stages.instruction_sets()`.

    Returns
    -------
    tuple
        The four arrays of the candidates that pass, in their order.

    Raises
    ------
    ValueError
        Arrays do not fit together, or the processor has no such instruction set.
    IndexError
        A candidate is not inside its read or the reference.
    """
    cdef job_t job
    cdef int64_t n = len(candidates.read_strand), kept
    columns = candidates.read_strand, candidates.diagonal, candidates.offset, candidates.length
    survivors = tuple(np.empty_like(column) for column in columns)
    job.n = n
    job.kernels = kernels_of(instruction_set)
    if n == 0:
        return columns
    _columns(columns, n, &job.candidates)
    _columns(survivors, n, &job.kept)
    _reads(packed.planes, packed.plane_start, packed.lengths, limits, &job)
    _planes(reference_planes, &job.reference)
    with nogil:
        kept = pass_filter(&one.of, &job)
    if kept == -1:
        raise MemoryError
    if kept < 0:
        raise IndexError(f"candidate {-2 - kept} lies outside the reads or the reference")
    return tuple(column[:kept] for column in survivors)
