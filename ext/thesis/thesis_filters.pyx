"""The filters of the thesis over batches of candidates, for `gassst.search.filters`; the loops are in `thesis_filters.h`."""

import numpy as np
from libc.stdint cimport int64_t, uint8_t, uint64_t

from gassst._core.stages cimport Filter, filter_t, job_t

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
