# Layouts shared by the extensions; `gassst/model/layouts.py` holds the NumPy dtypes, a test asserts they agree.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

from gassst._core.coordinates cimport coordinate_t

ctypedef uint8_t bool_t

cdef enum:
    NO_SCORE = 0xFFFF                # errors where there is no alignment
    NO_SUBOPTIMAL = -0x7FFFFFFF - 1  # INT32_MIN: score where there is no second alignment

cdef packed struct hit_t:
    uint32_t read           # row in the ReadBatch
    coordinate_t position   # concatenated reference coordinate of the first aligned base; 0 when unmapped
    uint32_t cigar_start    # first run in the CIGAR array
    uint16_t cigar_runs     # number of runs; 0 when unmapped
    uint16_t edits          # NM: mismatches + inserted + deleted bases
    uint16_t flag           # the SAM flags 0x2, 0x4, 0x10, 0x100, 0x800; what tells of the mate comes with the record
    uint8_t mapq
    uint8_t strand          # 0 forward, 1 reverse
    int32_t score           # tag AS; -edits where the whole read is aligned; 0 when unmapped
    uint32_t mate           # row of the mate that the record names, from the primary one on; 0 for single reads
    uint32_t part           # 0 where the summary of the read speaks of it, i where the i-th of the parts does

cdef packed struct rating_t:
    double known            # weight of the other known places, relative to the one reported
    double unseen           # of copies that no seed led to
    double chance           # places where as much of a read fits by chance
    uint8_t mapq
    uint8_t cap             # most that another rule leaves of it
    uint8_t capped_by       # which, as in mapq.pyx

# Of a read, or of a supplementary alignment.
cdef packed struct read_summary_t:
    uint16_t best           # edits of the best hit, NO_SCORE when there is none
    uint16_t second         # edits of the best hit of a worse stratum, NO_SCORE when there is none
    uint32_t n_best         # hits with `best` edits (tag X0)
    uint32_t n_second       # hits with `second` edits (tag X1)
    uint32_t n_reported     # rows this read has in the hit array (tag NH)
    int32_t suboptimal      # score of the best hit but one (tag XS), NO_SUBOPTIMAL when there is none
    rating_t rating         # of the rows of a result (tag mt)

cdef inline void open_summary(read_summary_t *summary) noexcept nogil:
    memset(summary, 0, sizeof(read_summary_t))
    summary.best = summary.second = NO_SCORE
    summary.suboptimal = NO_SUBOPTIMAL

cdef packed struct local_place_t:
    uint32_t read_strand
    coordinate_t band_start     # the widest band: its first diagonal
    uint16_t width              # and how many there are
    int32_t score               # of the best alignment, by its CIGAR
    int32_t total               # with the bonus of each end of the read that is reached
    uint8_t reached             # bit 0: the first, bit 1: the last base of the strand is aligned
    uint16_t strand_end         # bases of the strand before the end of the alignment
    coordinate_t diagonal       # concatenated coordinate that base 0 faces by the last aligned base
    bool_t given                # the place that the whole-read search chose
    coordinate_t first_diagonal # on which the alignment begins, where it is known; else `diagonal`

cdef packed struct local_line_t:
    uint32_t read_strand
    int64_t begin               # the first aligned base of the read as sequenced
    int64_t end                 # and the one behind the last
    int32_t total               # as of a place
    coordinate_t first_diagonal # on which the alignment begins
    coordinate_t last_diagonal  # and ends
    bool_t given                # as of a place
