"""Lossless filters over batches of candidates, for `gassst.search.filters`; the loops are in `filters.h`."""

cdef extern from "filters.h" nogil:
    int REACH "BAND_REACH"
    int64_t keep_band(const job_t *job)

BAND_REACH = REACH


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


cdef int64_t pass_filter(const filter_t *one, job_t *job) noexcept nogil:
    """Run a filter on the candidates of a job; returns what it returns."""
    job.scores, job.gaps = one.scores, one.gaps
    return one.keep(job)


cdef class Filter:
    """One filter of a run, for compiled code that runs it without the interpreter."""


def filter_of(str name, int gaps):
    """The `Filter` called "band32", for alignments with up to `gaps` gap bases.

    It knows the least errors of the whole read on the 32 diagonals around the candidate (`ext/isa/bound_band.h`), and
    rejects where these are more than the limit, and no alignment within the limit and with so many gap bases leaves
    the 32 diagonals.
    """
    cdef Filter one = Filter()
    one.of = filter_t(keep_band, NULL, gaps, True)
    return one


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
    kept : tuple
        The four arrays of the candidates that pass, in their order.
    rejected : read_strand uint32[d], diagonal int64[d]
        The diagonals of the others, where the filter tells them.

    Raises
    ------
    ValueError
        Arrays do not fit together, or the processor has no such instruction set.
    IndexError
        A candidate is not inside its read or the reference.
    """
    cdef job_t job
    cdef int64_t n = len(candidates.read_strand), kept
    cdef uint32_t[::1] read_strand = np.empty(n + 1, np.uint32)
    cdef coordinate_t[::1] diagonal = np.empty(n + 1, np.int64)
    columns = candidates.read_strand, candidates.diagonal, candidates.offset, candidates.length
    survivors = tuple(np.empty_like(column) for column in columns)
    job.n = n
    job.rejected_read_strand, job.rejected_diagonal = &read_strand[0], &diagonal[0]
    job.kernels = kernels_of(instruction_set)
    if n == 0:
        return columns, (read_strand.base[:0], diagonal.base[:0])
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
    n = n - kept if one.of.tells_rejected else 0
    return tuple(column[:kept] for column in survivors), (read_strand.base[:n], diagonal.base[:n])
