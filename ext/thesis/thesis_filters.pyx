"""The filters of the thesis over batches of candidates, for `gassst.search.filters`; the loops are in `thesis_filters.h`.

Each takes what the filters of `gassst._core.filters` take, then

* `gaps`: the most gap bases an alignment may have,
* `shift`: a bucket is `2**shift` diagonals,
* `verified`: sorted uint64 of `place_key(read_strand, diagonal >> shift)`, the buckets whose bands have been scored.

It returns the four arrays of the candidates it passes, in their order.
"""

import numpy as np
from libc.stdint cimport int64_t, uint8_t, uint64_t

from gassst._core.filters cimport Filter, filter_t, job_t, keep_t, run_filter

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
    """The `Filter` called "tnw4-4", "fd", "duplicate", "tnw4-16" or "tnw5-full", for alignments with up to `gaps` gap bases."""
    cdef Filter one = Filter()
    one.of = filter_t(keep_first, NULL, gaps, False)
    if name == "fd":
        one.of.keep = keep_fd
    elif name == "tnw5-full":
        one.of.keep, one.of.scores = keep_tnw5_full, scores_of(5)
    elif name == "tnw4-4":
        one.of.keep, one.of.scores = keep_tnw4_4, scores_of(4)
    elif name == "tnw4-16":
        one.of.keep, one.of.scores = keep_tnw4_16, scores_of(4)
    return one


cdef tuple _bound(keep_t keep, int l, int gaps, candidates, limits, packed, reference_planes):
    """Runs a filter that looks words of `l` bases up, or none where `l` is 0."""
    cdef job_t job
    job.gaps, job.scores = gaps, scores_of(l) if l else NULL
    return run_filter(keep, &job, candidates, limits, packed, reference_planes)


def tnw4_4(candidates, limits, packed, reference_planes, int gaps, int shift=0, verified=None):
    """TNW_4(4) (Rizk 4.6.3): rejects where the scores of 4 bases either side sum to more than the limit.

    Candidates with a limit above 7 pass.
    """
    return _bound(keep_tnw4_4, 4, gaps, candidates, limits, packed, reference_planes)


def frequency_distance(candidates, limits, packed, reference_planes, int gaps, int shift=0, verified=None):
    """FD-vec (Rizk 4.6.4): the same with the frequency distances of up to 16 bases either side."""
    return _bound(keep_fd, 0, gaps, candidates, limits, packed, reference_planes)


def tnw4_16(candidates, limits, packed, reference_planes, int gaps, int shift=0, verified=None):
    """TNW_4(16) (Rizk 4.4.2) of both flanks."""
    return _bound(keep_tnw4_16, 4, gaps, candidates, limits, packed, reference_planes)


def tnw5_full(candidates, limits, packed, reference_planes, int gaps, int shift=0, verified=None):
    """TNW_5(full) (Rizk 4.6.3) of both flanks."""
    return _bound(keep_tnw5_full, 5, gaps, candidates, limits, packed, reference_planes)


def duplicate(candidates, limits, packed, reference_planes, int gaps=0, int shift=0, verified=None):
    """isDuplicate (Rizk 4.6.6), made lossless.

    Needs candidates sorted by (read_strand, diagonal, offset). Of those whose seeds lie in one run of equal
    bases of one diagonal the first stays, its seed grown to the whole run. A candidate of a `verified` bucket is dropped.
    """
    cdef job_t job
    cdef const uint64_t[::1] keys
    if not 0 <= shift < 32:
        raise ValueError(f"buckets of 2**{shift} diagonals")
    job.bucket_shift, job.n_verified = shift, 0
    if verified is not None and len(verified):
        keys = verified
        job.verified, job.n_verified = &keys[0], keys.shape[0]
    return run_filter(keep_first, &job, candidates, limits, packed, reference_planes)
