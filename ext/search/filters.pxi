"""Lossless filters over batches of candidates, for `gassst.search.filters`; the loops are in `filters.h`."""

cdef extern from "filters.h" nogil:
    int REACH "BAND_REACH"
    int64_t keep_band(const job_t *job)

BAND_REACH = REACH


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
    one.of = filter_t(keep_band, NULL, gaps)
    return one
