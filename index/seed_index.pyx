"""Compiled parts of `gassst.model.reference` and `gassst.index.seed_index`: packing, building, batch lookup.

Every function checks nothing but what its docstring says: the Python modules that call them make the arrays.
Those that take a range of rows or a part number write to memory no other range or part touches, so they may
run in any number of threads.
"""

import numpy as np

from gassst._core.common cimport *
from gassst._core.seeds cimport (
    interleave,
    is_kept,
    lookup_group,
    lookup_seed_t,
    lookup_inline,
    lookup_unit,
    seed_index_t,
    seed_range_t,
)

cdef extern from "bucket_sort.h" nogil:
    void sort_entries(uint64_t *entries, size_t n)


cdef uint8_t[256] CODE      # of an upper-case letter; 4 is masked
cdef int _letter
for _letter in range(256):
    CODE[_letter] = 4
for _letter in range(4):
    CODE[b"ACGT"[_letter]] = _letter


# --- reference ----------------------------------------------------------------------------------------------

cdef Py_ssize_t _pack(const uint8_t *text, Py_ssize_t n, uint64_t start, uint64_t *planes) noexcept nogil:
    cdef Py_ssize_t i = 0, j, count, masked = 0
    cdef uint64_t low, high, mask, code, bit
    cdef uint64_t *row
    while i < n:
        bit = (start + i) & 63
        count = min(64 - <Py_ssize_t>bit, n - i)
        row = planes + 3 * ((start + i) >> 6)
        low = high = mask = 0
        for j in range(count):
            code = CODE[text[i + j]]
            low |= (code & 1) << (bit + j)
            high |= (code >> 1 & 1) << (bit + j)
            mask |= (code >> 2) << (bit + j)
            masked += code >> 2
        row[0] |= low
        row[1] |= high
        row[2] = (row[2] & ~(((<uint64_t>-1) >> (64 - count)) << bit)) | mask
        i += count
    return masked


def pack(const uint8_t[::1] text, uint64_t start, uint64_t[:, ::1] planes):
    """Write upper-case `text` (uint8[n], n > 0) into planes that are masked there, from coordinate `start` on.

    Returns how many letters are none of A, C, G, T; they stay masked.
    """
    cdef Py_ssize_t masked
    with nogil:
        masked = _pack(&text[0], text.shape[0], start, &planes[0, 0])
    return masked


cdef Py_ssize_t _exceptions(const uint8_t *text, Py_ssize_t n, uint64_t start, coordinate_t *starts,
                            uint32_t *lengths, uint8_t *letters) noexcept nogil:
    """Counts the runs; writes them too unless `starts` is NULL."""
    cdef Py_ssize_t i = 0, first, runs = 0
    while i < n:
        if CODE[text[i]] < 4:
            i += 1
            continue
        first = i
        while i < n and text[i] == text[first]:
            i += 1
        if starts != NULL:
            starts[runs] = <coordinate_t>(start + first)
            lengths[runs] = <uint32_t>(i - first)
            letters[runs] = text[first]
        runs += 1
    return runs


def exceptions(const uint8_t[::1] text, uint64_t start):
    """Runs of one letter other than A, C, G, T in `text` (uint8[n], n > 0), which begins at coordinate `start`.

    Returns (start int64[r], length uint32[r], letter uint8[r]).
    """
    cdef Py_ssize_t runs
    with nogil:
        runs = _exceptions(&text[0], text.shape[0], start, NULL, NULL, NULL)
    cdef coordinate_t[::1] starts = np.empty(runs, np.int64)
    cdef uint32_t[::1] lengths = np.empty(runs, np.uint32)
    cdef uint8_t[::1] letters = np.empty(runs, np.uint8)
    if runs:
        with nogil:
            _exceptions(&text[0], text.shape[0], start, &starts[0], &lengths[0], &letters[0])
    return starts.base, lengths.base, letters.base


# --- build --------------------------------------------------------------------------------------------------
# 32 bases a word with the first most significant, for the time of the build only: the k-mer and the 16 bases
# behind it are then two loads and two shifts from anywhere, where the planes need fifty operations.

cdef inline uint64_t _window(const uint64_t *codes, uint64_t coordinate) noexcept nogil:
    """The 32 bases from a coordinate on."""
    cdef unsigned shift = 2 * (coordinate & 31)
    cdef const uint64_t *word = codes + (coordinate >> 5)
    return (word[0] << shift) | (word[1] >> 1 >> (63 - shift))


def pack_codes(const uint64_t[:, ::1] planes, Py_ssize_t first, Py_ssize_t last, uint64_t[::1] codes, int conversion=0):
    """Write rows [first, last) of the planes as codes of 32 bases, two a row, to uint64[2n + 1].

    `conversion`: one of planes.h, which makes two letters one.
    """
    cdef Py_ssize_t i
    cdef uint64_t low, high
    with nogil:
        for i in range(first, last):
            low = planes[i, 0]
            high = converted_high(low, planes[i, 1], conversion)
            codes[2 * i] = interleave(<uint32_t>low, <uint32_t>high)
            codes[2 * i + 1] = interleave(<uint32_t>(low >> 32), <uint32_t>(high >> 32))


cdef inline bint is_indexed(uint64_t window, unsigned step, unsigned k) noexcept nogil:
    """Whether the index has the position where these 32 bases begin, if it is one of the multiples that are gone through."""
    return step != 2 or is_kept(window, k)


def count_parts(const uint64_t[:, ::1] planes, const uint64_t[::1] codes, Py_ssize_t first, Py_ssize_t last,
                int prefix, unsigned step, unsigned k, uint32_t[::1] counts):
    """Add the unmasked bases of rows [first, last) to `counts` (uint32[4**prefix]) by the `prefix` bases there.

    Of the bases those count whose coordinate is a multiple of `step`, which divides 64.
    """
    cdef Py_ssize_t i
    cdef uint64_t unmasked, window
    cdef unsigned j
    cdef unsigned shift = 64 - 2 * prefix
    with nogil:
        for i in range(first, last):
            unmasked = ~planes[i, 2]
            for j from 0 <= j < 64 by lookup_unit(step):
                window = _window(&codes[0], 64 * i + j)
                counts[window >> shift] += unmasked >> j & is_indexed(window, step, k)


LEFT_OUT = 0xFFFFFFFF  # larger than any cursor: there are fewer positions
cdef uint32_t _LEFT_OUT = LEFT_OUT


def scatter_parts(const uint64_t[:, ::1] planes, const uint64_t[::1] codes, Py_ssize_t first, Py_ssize_t last,
                  int prefix, unsigned step, unsigned k, uint32_t[::1] cursors, uint32_t[::1] positions):
    """Write the coordinate of each base that `count_parts` counts, divided by the unit, to `positions`, at the cursor of its
    part.

    `cursors` (uint32[4**prefix], from the counts) is moved on. A part whose cursor is LEFT_OUT is passed over.
    """
    cdef Py_ssize_t i
    cdef uint64_t unmasked, part, window
    cdef unsigned j
    cdef unsigned shift = 64 - 2 * prefix
    with nogil:
        for i in range(first, last):
            unmasked = ~planes[i, 2]
            for j from 0 <= j < 64 by lookup_unit(step):
                window = _window(&codes[0], 64 * i + j)
                if unmasked >> j & is_indexed(window, step, k):
                    part = window >> shift
                    if cursors[part] != _LEFT_OUT:
                        positions[cursors[part]] = <uint32_t>((64 * <uint64_t>i + j) // lookup_unit(step))
                        cursors[part] += 1


cdef enum:
    ENTRIES_AHEAD = 24      # entries between a prefetch and its use


cdef struct order_t:
    # How positions are sorted: by k-mer, by so many bases behind it, then by themselves, which are divided by the unit.
    unsigned k, behind
    uint64_t unit


cdef inline void _prefetch_window(const uint64_t *codes, const uint32_t *positions, Py_ssize_t i, Py_ssize_t n,
                                  uint64_t unit) noexcept nogil:
    if i + ENTRIES_AHEAD < n:
        prefetch(codes + (positions[i + ENTRIES_AHEAD] * unit >> 5))


cdef void _bucket_entries(const uint64_t *codes, const order_t *order, const uint32_t *positions, Py_ssize_t n,
                          uint64_t kmer_mask, uint32_t lo, uint32_t *ends, uint64_t *entries) noexcept nogil:
    """Counting sort by k-mer: fills `ends` (zero before) and `entries`; stable, so coordinates ascend."""
    cdef Py_ssize_t i
    cdef uint64_t window, kmer, unit = order.unit
    cdef uint32_t count, start = lo
    cdef unsigned k = order.k, bits = 64 - 2 * order.behind
    for i in range(n):
        _prefetch_window(codes, positions, i, n, unit)
        ends[_window(codes, positions[i] * unit) >> (64 - 2 * k) & kmer_mask] += 1
    for kmer in range(kmer_mask + 1):
        count = ends[kmer]
        ends[kmer] = start
        start += count
    for i in range(n):
        _prefetch_window(codes, positions, i, n, unit)
        window = _window(codes, positions[i] * unit)
        kmer = window >> (64 - 2 * k) & kmer_mask
        entries[ends[kmer] - lo] = (window << 2 * k >> bits << bits) | positions[i]
        ends[kmer] += 1


cdef void _sort_buckets(uint64_t kmers, uint32_t lo, uint32_t *ends, uint64_t *entries) noexcept nogil:
    """Sorts each bucket; turns where buckets end into where they begin."""
    cdef uint64_t kmer
    cdef uint32_t begin = lo, end
    for kmer in range(kmers):
        end = ends[kmer]
        ends[kmer] = begin
        sort_entries(entries + (begin - lo), end - begin)
        begin = end


cdef void _write_entries(const uint64_t *entries, Py_ssize_t n, unsigned behind, uint32_t *positions) noexcept nogil:
    """The positions of sorted entries."""
    cdef Py_ssize_t i
    cdef uint64_t mask = (1ULL << (64 - 2 * behind)) - 1
    for i in range(n):
        positions[i] = <uint32_t>(entries[i] & mask)


cdef void _write_bytes(const uint64_t *codes, const uint64_t *entries, const uint32_t *positions, Py_ssize_t n,
                       int step, uint8_t *following) noexcept nogil:
    """Write, of step 1, the 4 bases behind the k-mer; of step 2, 2 of them and the 2 before the position."""
    cdef Py_ssize_t i
    for i in range(n):
        following[i] = <uint8_t>(entries[i] >> 56)
    if step == 2:
        for i in range(n):
            _prefetch_window(codes, positions, i, n, 1)
            following[i] = following[i] & 0xf0 | <uint8_t>(_window(codes, <uint64_t>positions[i] - 2) >> 60)


cdef void _write_words(const uint64_t *codes, const uint64_t *entries, const uint32_t *positions, Py_ssize_t n,
                       uint16_t *following) noexcept nogil:
    """Of step 4, 5 bases behind the k-mer and the 3 before the position."""
    cdef Py_ssize_t i
    for i in range(n):
        _prefetch_window(codes, positions, i, n, 4)
        following[i] = <uint16_t>(entries[i] >> 54 << 6 | _window(codes, 4 * <uint64_t>positions[i] - 3) >> 58)


def sort_part(const uint64_t[::1] codes, int k, int behind, int step, int prefix, Py_ssize_t part, const int64_t[::1] bounds,
              uint32_t[::1] table, uint32_t[::1] positions, uint8_t[::1] following):
    """Sort the positions that begin with the `prefix` bases `part` by k-mer, the `behind` bases after it, coordinate.

    They are those from `bounds[part]` to `bounds[part + 1]`. Fills in the part's share of `table` (zero before) and of
    `following`, which is the bytes of an array of 16-bit words if `step` is 4. Takes 8 bytes an entry for the time of
    the call; raises MemoryError when there are none.
    """
    cdef uint32_t lo = <uint32_t>bounds[part]
    cdef Py_ssize_t n = bounds[part + 1] - bounds[part]
    cdef uint64_t kmers = 1ULL << 2 * (k - prefix)
    cdef uint32_t *begins = &table[part * kmers]
    cdef uint32_t *own = &positions[0] + lo
    cdef order_t order = order_t(k, behind, lookup_unit(step))
    cdef uint64_t *entries = <uint64_t *>malloc(8 * n + 8)
    if entries == NULL:
        raise MemoryError(f"{8 * n} bytes to sort a part of the seed index")
    with nogil:
        _bucket_entries(&codes[0], &order, own, n, kmers - 1, lo, begins, entries)
        _sort_buckets(kmers, lo, begins, entries)
        _write_entries(entries, n, behind, own)
        if step == 4:
            _write_words(&codes[0], entries, own, n, <uint16_t *>&following[0] + lo)
        else:
            _write_bytes(&codes[0], entries, own, n, step, &following[0] + lo)
        free(entries)


# --- lookup -------------------------------------------------------------------------------------------------

cdef enum:
    ROUND = 64      # seeds prefetched together


cdef void _lookup_all(const seed_index_t *index, const uint64_t *seeds, Py_ssize_t n, unsigned w,
                      uint32_t *lo, uint32_t *hi) noexcept nogil:
    cdef Py_ssize_t first = 0, last, i
    cdef seed_range_t[ROUND] found
    cdef lookup_seed_t[ROUND] wanted
    while first < n:
        last = min(first + ROUND, n)
        for i in range(first, last):
            wanted[i - first] = lookup_seed_t(seeds[i], 0, <uint8_t>w, 0)
        lookup_group(index, wanted, found, <unsigned>(last - first))
        for i in range(first, last):
            lo[i] = found[i - first].lo
            hi[i] = found[i - first].hi
        first = last


def lookup(const uint32_t[::1] table, const uint32_t[::1] positions, const uint8_t[::1] following,
           const uint64_t[:, ::1] planes, int k, int longest, int step, const uint64_t[::1] seeds, int w):
    """Ranges of `positions` that begin with seeds of `w` bases (codes, first base most significant).

    `following`: its bytes. Returns (lo uint32[n], hi uint32[n]). Raises ValueError unless 1 <= w <= longest and every
    seed is below 4**w.
    """
    cdef Py_ssize_t n = seeds.shape[0], i
    cdef uint64_t all_bits = 0
    if not 1 <= w <= longest:
        raise ValueError(f"a seed has 1 to {longest} bases, not {w}")
    for i in range(n):
        all_bits |= seeds[i]
    if all_bits >> 2 * w:
        raise ValueError(f"a seed code beyond {w} bases")
    cdef uint32_t[::1] lo = np.zeros(n, np.uint32)
    cdef uint32_t[::1] hi = np.zeros(n, np.uint32)
    cdef seed_index_t index
    if n and positions.shape[0]:
        index = seed_index_t(&table[0], &positions[0], &following[0], &planes[0, 0], k,
                             <uint32_t>positions.shape[0], planes.shape[0], step, 0)
        with nogil:
            _lookup_all(&index, &seeds[0], n, w, &lo[0], &hi[0])
    return lo.base, hi.base
