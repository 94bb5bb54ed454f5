"""Where mates may lie in windows: the bands in which some bases in a row fit."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from gassst._core.coordinates cimport coordinate_t
from gassst._core.planes cimport (
    bases64_t,
    bases_at,
    conversion_of_strand,
    converted_high,
    differences,
    first_bases,
    planes_of,
    planes_t,
)

from gassst.model.params import MAX_READ_LENGTH

cdef enum:
    WORD = 8                # bases of a word: its planes are 16 bits
    WORDS_AT_ONCE = 64 + 1 - WORD   # that begin in 64 bases
    CHAINS = 1024           # of words with equal hashes


cdef struct words_t:
    # The words of a strand: whether each occurs, and those from each base on, in chains of equal hashes.
    uint64_t occurs[1024]
    uint16_t head[CHAINS]   # 1 + the last base of each chain; 0: none
    uint16_t *at
    uint16_t *next          # 1 + the base before in the chain; 0: none
    Py_ssize_t n


cdef inline uint16_t word_of(bases64_t bases, int i) noexcept nogil:
    """The low bits of the bases i .. i + 7, then the high bits."""
    return <uint16_t>((bases.low >> i & 0xff) | (bases.high >> i & 0xff) << 8)


cdef inline bint is_known(bases64_t bases, int i) noexcept nogil:
    return bases.masked >> i & 0xff == 0


cdef inline int chain_of(uint16_t word) noexcept nogil:
    return (word ^ word >> 6) & (CHAINS - 1)


cdef inline bases64_t as_converted(bases64_t bases, int conversion) noexcept nogil:
    """Bases as the words of a strand have them, where a base may have been another before its conversion."""
    if conversion:
        bases.masked &= ~bases.high
        bases.high = converted_high(bases.low, bases.high, conversion)
    return bases


cdef void list_words(planes_t reads, int64_t first, int64_t m, int conversion, words_t *words) noexcept nogil:
    cdef int64_t at = 0
    cdef int i
    cdef uint16_t word
    cdef bases64_t bases
    memset(words.occurs, 0, sizeof(words.occurs))
    memset(words.head, 0, sizeof(words.head))
    words.n = max(m - WORD + 1, 0)
    while at < words.n:
        bases = as_converted(bases_at(reads, first + at), conversion)
        for i in range(<int>min(words.n - at, <int64_t>WORDS_AT_ONCE)):
            if is_known(bases, i):
                word = words.at[at + i] = word_of(bases, i)
                words.occurs[word >> 6] |= <uint64_t>1 << (word & 63)
                words.next[at + i] = words.head[chain_of(word)]
                words.head[chain_of(word)] = <uint16_t>(at + i + 1)
        at += WORDS_AT_ONCE


cdef struct strip_t:
    # Bands of neighbouring buckets, and which of them are wanted.
    int64_t start           # first diagonal of the first band
    int64_t width           # diagonals of each band
    int64_t n               # bands, 2^shift diagonals apart
    int shift
    uint8_t *wanted
    int64_t found           # how many are


cdef void want(strip_t *strip, int64_t diagonal) noexcept nogil:
    """The bands that hold a diagonal."""
    cdef int64_t i = max(diagonal - strip.start - strip.width + (1 << strip.shift), 0) >> strip.shift
    while i < strip.n and strip.start + (i << strip.shift) <= diagonal:
        strip.found += not strip.wanted[i]
        strip.wanted[i] = 1
        i += 1


cdef void find_runs(planes_t reference, planes_t reads, int64_t first, int64_t m, int conversion, int run,
                    const words_t *words, strip_t *strip) noexcept nogil:
    """Want the bands that hold a diagonal on which `run` bases of a strand, at least a word, are equal in a row."""
    cdef int64_t at = max(strip.start, 0), last = strip.start + ((strip.n - 1) << strip.shift) + strip.width + m
    cdef int64_t known = -1     # diagonal: a copy has many words on one
    cdef int i
    cdef Py_ssize_t o
    cdef uint16_t word
    cdef bases64_t bases
    while at < last and strip.found < strip.n:
        bases = as_converted(bases_at(reference, at), conversion)
        for i in range(WORDS_AT_ONCE):
            word = word_of(bases, i)
            if not words.occurs[word >> 6] >> (word & 63) & 1:
                continue
            o = words.head[chain_of(word)]
            while o:
                if words.at[o - 1] == word and is_known(bases, i) and at + i - (o - 1) != known:
                    if o - 1 + run <= m and differences(bases_at(reference, at + i),
                                                        bases_at(reads, first + o - 1)) & first_bases(run) == 0:
                        known = at + i - (o - 1)
                        want(strip, known)
                o = words.next[o - 1]
        at += WORDS_AT_ONCE


def bands_in_windows(const int64_t[::1] reads, const int64_t[:, ::1] windows, context, Py_ssize_t most, int run):
    """Bands in the windows of reads that may hold an alignment: some bases in a row are equal on a diagonal of theirs.

    Parameters
    ----------
    reads : int64[k]
    windows : int64[3, k]
        First and last diagonal and strand. A read may occur with several.
    context : search.context.BatchContext
        Read: `packed`, `reference.planes`, `shift`, `lead`, `words`.
    most : int
        Reads with more buckets in their windows are left out.
    run : int
        How many bases in a row, 8 to 64.

    Returns
    -------
    read_strand : uint32[b], band_start : int64[b], words : uint8[b]
        Bands of 64 * words diagonals, in the order of `reads`.
    """
    packed = context.packed
    cdef const uint32_t[::1] lengths = packed.lengths, plane_start = packed.plane_start, lead = context.lead
    cdef const uint8_t[::1] words_of_read = context.words
    cdef planes_t reference = planes_of(context.reference.planes), strands = planes_of(packed.planes)
    cdef int shift = context.shift
    cdef Py_ssize_t i, b, room = 0, k = 0
    cdef int64_t r, m, low, count, base, listed = -1
    cdef const uint8_t[::1] conversions = packed.conversions
    cdef int conversion
    cdef words_t words
    cdef strip_t strip
    of_words_array, wanted_array = np.empty((2, MAX_READ_LENGTH), np.uint16), np.empty(max(most, 1), np.uint8)
    cdef uint16_t[:, ::1] of_words = of_words_array
    cdef uint8_t[::1] wanted = wanted_array
    words.at, words.next, strip.wanted, strip.shift = &of_words[0, 0], &of_words[1, 0], &wanted[0], shift
    with nogil:
        for i in range(reads.shape[0]):
            count = (windows[1, i] >> shift) - (max(windows[0, i], 0) >> shift) + 1
            room += min(max(count, 0), most)
    strand_array, start_array = np.empty(room, np.uint32), np.empty(room, np.int64)
    words_array = np.empty(room, np.uint8)
    cdef uint32_t[::1] strand_out = strand_array
    cdef coordinate_t[::1] start_out = start_array
    cdef uint8_t[::1] words_out = words_array
    with nogil:
        for i in range(reads.shape[0]):
            r = reads[i]
            m, low = lengths[r], max(windows[0, i], 0) >> shift
            if windows[1, i] < max(windows[0, i], 0) or (windows[1, i] >> shift) - low >= most:
                continue
            strip.n, strip.found = (windows[1, i] >> shift) - low + 1, 0
            strip.start, strip.width = (low << shift) - lead[r], 64 * words_of_read[r]
            memset(strip.wanted, 0, strip.n)
            base = 64 * (plane_start[r] + windows[2, i] * ((m + 63) >> 6))
            conversion = conversion_of_strand(conversions[r], <int>windows[2, i]) if conversions.shape[0] else 0
            if base != listed:
                list_words(strands, base, m, conversion, &words)
                listed = base
            find_runs(reference, strands, base, m, conversion, run, &words, &strip)
            for b in range(strip.n):
                if strip.wanted[b]:
                    strand_out[k], start_out[k] = <uint32_t>(2 * r + windows[2, i]), strip.start + (b << shift)
                    words_out[k] = words_of_read[r]
                    k += 1
    return strand_array[:k], start_array[:k], words_array[:k]
