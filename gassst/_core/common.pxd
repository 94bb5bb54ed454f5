# What the compiled modules share: plain layouts, C headers and inline functions. Nothing here is to be imported at run time.
from libc.math cimport ceil, exp, fabs, floor, fmax, fmin, log, log10, pow, rint, sqrt
from libc.stdint cimport INT16_MAX, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, UINT8_MAX, UINT64_MAX
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcpy, memmove, memset
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

ctypedef uint8_t bool_t


# What the compiler knows as one instruction; GCC and Clang name it alike.
cdef extern from * nogil:
    int popcount "__builtin_popcountll"(uint64_t x)
    int leading_zeros "__builtin_clzll"(uint64_t x)      # undefined for 0
    int trailing_zeros "__builtin_ctzll"(uint64_t x)     # undefined for 0
    void prefetch "__builtin_prefetch"(const void *address)


# A clock that never goes back.
cdef inline int64_t now() noexcept nogil:
    """Nanoseconds."""
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return <int64_t>time.tv_sec * 1000000000 + time.tv_nsec


# One hash of 64 bits, from ext/common/hashing.h.
cdef extern from "hashing.h" nogil:
    uint64_t mix(uint64_t h)


# Coordinates and keys of places, from ext/common/coordinates.h.
cdef extern from "coordinates.h" nogil:
    ctypedef int64_t coordinate_t
    enum:
        COORDINATE_BITS
        KEY_ROW_BITS
        KEY_ROW_MASK
    uint64_t place_key(uint32_t read_strand, coordinate_t place)
    uint32_t strand_of_key(uint64_t key)
    coordinate_t place_of_key(uint64_t key)


cdef enum:
    # Diagonals. Alignments on one strand whose ends lie this near to each other are one place: so the benchmarks count
    # places, too (docs/benchmarks, "right": within 10 bases of the true one).
    SAME_PLACE = 10


cdef inline bint same_place(int64_t diagonal, int64_t other) noexcept nogil:
    return -SAME_PLACE <= diagonal - other <= SAME_PLACE


# Bit planes, from gassst/gpu/kernels/planes.h.
cdef extern from "planes.h" nogil:
    ctypedef struct planes_t:
        const uint64_t *words
        int64_t rows
    ctypedef struct bases64_t:
        uint64_t low, high, masked
    bases64_t bases_at(planes_t planes, int64_t coordinate)
    uint64_t ambiguous_bases(bases64_t a)
    uint64_t unknown_bases(bases64_t a, bases64_t b)
    uint64_t differences(bases64_t a, bases64_t b)
    int C_TO_T, G_TO_A
    int conversion_of_strand(int conversion, int strand)
    uint64_t converted_high(uint64_t low, uint64_t high, int conversion)
    uint64_t first_bases(int64_t n)
    int64_t clamped(int64_t row, int64_t rows)
    uint64_t funnel_shift(uint64_t first, uint64_t second, int shift)
    int count_bits(uint64_t x)
    int count_differences(planes_t a, int64_t a_first, planes_t b, int64_t b_first, int64_t n, int limit)
    bint any_masked(planes_t planes, int64_t first, int64_t last)
    int64_t first_base(uint32_t plane_start, uint32_t read_strand, int64_t m)
    int MASKED_BASE
    int base_at(planes_t planes, int64_t coordinate)
    int AHEAD
    void prefetch_bases(planes_t planes, int64_t first, int64_t end)
    void prefetch_read(planes_t planes, int64_t first)


cdef inline void put_bases(uint64_t *row, bases64_t bases, int64_t n) noexcept nogil:
    """Write the first n of 64 bases, all where n is larger, as a row of planes."""
    cdef uint64_t live = first_bases(n)
    row[0], row[1], row[2] = bases.low & live, bases.high & live, bases.masked & live


cdef inline planes_t planes_of(const uint64_t[:, ::1] rows) noexcept:
    """The view of an array of planes, uint64[rows, 3]; it must outlive the view."""
    cdef planes_t planes
    planes.words, planes.rows = NULL, rows.shape[0]
    if rows.shape[0]:
        planes.words = &rows[0, 0]
    return planes


# Sorting of 64-bit keys, and looking for one, from ext/common/key_sort.h.
cdef extern from "key_sort.h" nogil:
    void sort_keys(uint64_t *a, uint64_t *scratch, size_t n)

cdef extern from "sorted_keys.h" nogil:
    size_t first_from(const uint64_t *keys, size_t n, uint64_t key)


# Memory that grows and is used again.
cdef struct room_t:
    void *p
    size_t bytes


cdef inline void *enlarged(room_t *room, size_t bytes) except NULL nogil:
    """Memory for so many bytes and a few more; those that are there stay."""
    cdef void *p
    if bytes + 8 > room.bytes:
        bytes += (bytes >> 1) + 64
        p = realloc(room.p, bytes)
        if p == NULL:
            with gil:
                raise MemoryError
        room.p, room.bytes = p, bytes
    return room.p


cdef enum:  # what the memory of a class is for
    # Of Seeds:
    STARTS, SEEDS
    # Of Stages:
    ACTIVE, GOES_ON, BUCKETS, BANDS, PLACES, SEEN, SEEN_FRESH, SEEN_STARTS
    MERGED, PROFILE, MINIMA, GROUPED, FOUND_ENDS
    # Of PairStages:
    MATES, PLACED_STARTS, BESIDE, KEYS, SORTING
    # Of LocalBands:
    ROWS, PAIRS, STRANDS, FIRSTS, ENDS, SLOTS, POSITIONS, SHORTS, RUNS, CIGARS, HITS
    TARGETS, ORIGINS, TURNS, LINES, SCRATCH
    # Of LocalParts:
    WHOLES, KNOWN, PRIMARY, FAR, FREE, PARTS, REPORTED, RIVALS, ORDER
    # Of Joint:
    SORTED, MOVES, CANDIDATES, CANDIDATES_OF_MATE, STRAND_WORDS
    # Of LocalAligner and ReadSearch:
    PATHS, RATED, OVER, TAKEN, FURTHER, SUMMARY, WRONG, PICKED, GIVEN, PLANES, CLIPPED, LEAST, GROUPS, HELD
    N_ROOMS


cdef inline object array_of(const void *p, Py_ssize_t n, dtype):
    """What is in memory, as an array."""
    from numpy import empty
    array = empty(n, dtype)
    cdef uint8_t[::1] to = array.view("u1")
    if n:
        with nogil:
            memcpy(&to[0], p, to.shape[0])
    return array


# The contig of a coordinate, from ext/common/contigs.h; `gassst.model.reference.contig_before` is the same for NumPy arrays.
cdef extern from "contigs.h" nogil:
    Py_ssize_t contigs_before(const int64_t *starts, size_t n, int64_t coordinate)
    Py_ssize_t contig_near(const int64_t *starts, const int64_t *lengths, size_t n, int64_t coordinate)


cdef struct contigs_t:
    const int64_t *starts
    const int64_t *lengths
    size_t n


# CIGAR runs, from ext/common/cigar.h: length << 4 | operation, as BAM has them.
cdef extern from "cigar.h" nogil:
    enum:
        CIGAR_MATCH      # M: aligned bases, equal or not
        CIGAR_INSERTION
        CIGAR_DELETION
        CIGAR_SOFT_CLIP
    uint32_t cigar_op(uint32_t run)
    uint32_t cigar_length(uint32_t run)
    Py_ssize_t cigar_push(uint32_t *runs, Py_ssize_t n, uint32_t op, uint32_t length)
    int64_t cigar_span(const uint32_t *runs, Py_ssize_t n)


# The bits of a SAM record's FLAG field; `gassst/model/sam_flags.py` has the same names, and says what each means.
cdef enum:
    PAIRED = 0x1
    PROPER_PAIR = 0x2
    UNMAPPED = 0x4
    MATE_UNMAPPED = 0x8
    REVERSE = 0x10
    MATE_REVERSE = 0x20
    FIRST_IN_PAIR = 0x40
    SECOND_IN_PAIR = 0x80
    SECONDARY = 0x100
    FAILED_QC = 0x200
    DUPLICATE = 0x400
    SUPPLEMENTARY = 0x800
    NOT_PRIMARY = 0x900


# Layouts shared by the extensions; `gassst/model/layouts.py` holds the NumPy dtypes, a test asserts they agree.
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
    uint8_t capped_by       # which, as in mapq.pxi

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

cdef packed struct local_line_t:
    uint32_t read_strand
    int64_t begin               # the first aligned base of the read as sequenced
    int64_t end                 # and the one behind the last
    int32_t total               # as of a place
    coordinate_t first_diagonal # on which the alignment begins
    coordinate_t last_diagonal  # and ends
    coordinate_t low_diagonal   # the lowest one that it passes
    coordinate_t high_diagonal  # and the highest
    bool_t given                # as of a place


# Where the mate of a read lies in a concordant pair, from ext/common/orientation.h.
cdef extern from "orientation.h" nogil:
    cdef enum:
        FR "ORIENTATION_FR"
        RF "ORIENTATION_RF"
        FF "ORIENTATION_FF"
    ctypedef struct window_t:
        int orientation
        int64_t low, high
    bint leads(const window_t *w, bint reverse, bint is_first)
    bint partner_strand(const window_t *w, bint reverse)
    ctypedef struct beside_t:
        uint32_t strand
        int64_t low, high
    beside_t beside(const window_t *w, const int64_t *borders, size_t n, bint reverse, bint is_first, int64_t own,
                    int64_t other, int64_t diagonal)


cdef inline uint32_t partner_of(const uint8_t *mate, uint32_t r) noexcept nogil:
    """The row of the mate of a read, by the `mate` of a batch; a single read is its own partner."""
    return r + (mate[r] == 1) - (mate[r] == 2)


cdef inline window_t window_of(insert) except *:
    """Of a pairing.insert_size.InsertModel."""
    return window_t(insert.code, insert.low, insert.high)


cdef struct windows_t:
    window_t each[3]  # at most one of each orientation
    int n


cdef inline windows_t windows_of(insert, int64_t slack=0) except *:
    """Of all orientations of an InsertModel, each wider by `slack` diagonals on both sides."""
    cdef windows_t windows
    windows.n = 0
    for library in insert.libraries:
        windows.each[windows.n] = window_t(library.code, library.low - slack, library.high + slack)
        windows.n += 1
    return windows


cdef inline int64_t template_length(bint leading, int64_t own, int64_t other, int64_t diagonal,
                                    int64_t other_diagonal) noexcept nogil:
    return other_diagonal + other - diagonal if leading else diagonal + own - other_diagonal


# Two mates as rows of hits: whether they make a pair, and how long its template is.
cdef inline bint mates_fit(const hit_t *a, const hit_t *b, const int64_t[::1] starts, const window_t *w) noexcept nogil:
    """Both mates are mapped, on one contig, on the strands that the orientation asks for."""
    if (a.flag | b.flag) & UNMAPPED or b.strand != partner_strand(w, a.strand):
        return False
    return (contigs_before(&starts[0], starts.shape[0], a.position)
            == contigs_before(&starts[0], starts.shape[0], b.position))


cdef inline int64_t template_of(const hit_t *a, const hit_t *b, const uint32_t *cigars, const window_t *w) noexcept nogil:
    """Template length of a first mate and a second one that fit."""
    return template_length(leads(w, a.strand, True), cigar_span(cigars + a.cigar_start, a.cigar_runs),
                           cigar_span(cigars + b.cigar_start, b.cigar_runs), a.position, b.position)


cdef inline int64_t concordant_template(const hit_t *a, const hit_t *b, const uint32_t *cigars, const int64_t[::1] starts,
                                        const window_t *w) noexcept nogil:
    """Template length of a first mate and a second one that fit in a window of these; -1: they do not."""
    cdef int64_t template = template_of(a, b, cigars, w) if mates_fit(a, b, starts, w) else -1
    return template if w.low <= template <= w.high else -1


cdef inline bint flag_pair(hit_t *a, hit_t *b, const uint32_t *cigars, const int64_t[::1] starts,
                           const window_t *w) noexcept nogil:
    """Flag a first mate and a second one that are concordant, unless they are flagged already."""
    if a.flag & PROPER_PAIR or concordant_template(a, b, cigars, starts, w) < 0:
        return False
    a.flag |= PROPER_PAIR
    b.flag |= PROPER_PAIR
    return True
