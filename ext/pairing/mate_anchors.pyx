"""Candidates of mates: those that lie near each other, the best supported ones, those not scored before."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from gassst._core.coordinates cimport coordinate_t, place_key, place_of_key, strand_of_key
from gassst._core.key_sort cimport first_from, sort_nearly
from gassst._core.orientation cimport leads, partner_strand, partner_window, window_of, window_t
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


cdef struct run_t:
    # Anchors of one read and strand, sorted by diagonal.
    const coordinate_t *diagonal
    uint8_t *near           # what is marked
    Py_ssize_t size
    int64_t length          # of the read


def mark_near_mates(anchors, context, pairs):
    """Anchors that have an anchor of the mate in the window of the template length.

    Parameters
    ----------
    anchors : search.arrays.Anchors
        c anchors by read, canonical strand, diagonal. Read: `read_strand`, `diagonal`, `start`, `reads`.
    context : search.context.BatchContext
        Read: `flip`, `lengths`; `plan.gaps`, by which gaps may move an alignment away from its seed.
    pairs : search.context.PairContext
        Read: `mate`, `insert`.

    Returns
    -------
    uint8[c]
        1 where the mate is near.
    """
    cdef const uint32_t[::1] read_strand = anchors.read_strand, reads = anchors.reads
    cdef const coordinate_t[::1] diagonal = anchors.diagonal
    cdef const int64_t[::1] start = anchors.start
    cdef const uint8_t[::1] mate = pairs.mate, flip = context.flip
    cdef const uint32_t[::1] lengths = context.lengths
    cdef window_t w = window_of(pairs.insert)
    cdef int64_t slack = context.plan.gaps
    cdef Py_ssize_t n = read_strand.shape[0], i, a
    cdef int64_t bounds[2][3]  # of both mates: where the canonical strands begin and end
    cdef int strand
    cdef uint32_t read
    cdef run_t own, other
    out_array = np.zeros(n, np.uint8)
    cdef uint8_t[::1] out = out_array
    w.low -= slack
    w.high += slack
    with nogil:
        for i in range(reads.shape[0] - 1):
            read = reads[i]
            if mate[read] != 1 or reads[i + 1] != read + 1:
                continue
            if start[i] == start[i + 1] or start[i + 1] == start[i + 2]:
                continue
            for a in range(2):
                bounds[a][0], bounds[a][2] = start[i + a], start[i + a + 1]
                bounds[a][1] = bounds[a][0]
                while bounds[a][1] < bounds[a][2] and (read_strand[bounds[a][1]] & 1) == flip[read + a]:
                    bounds[a][1] += 1
            for strand in range(2):
                own = run_on_strand(&diagonal[0], &out[0], &bounds[0][strand ^ flip[read]], lengths[read])
                other = run_on_strand(&diagonal[0], &out[0],
                                      &bounds[1][partner_strand(&w, strand) ^ flip[read + 1]], lengths[read + 1])
                mark_near(&w, leads(&w, strand, True), &own, &other)
    return out_array


cdef inline run_t run_on_strand(const coordinate_t *diagonal, uint8_t *near, const int64_t *bounds,
                                int64_t length) noexcept nogil:
    return run_t(diagonal + bounds[0], near + bounds[0], bounds[1] - bounds[0], length)


cdef void mark_near(const window_t *w, bint leading, const run_t *own, const run_t *other) noexcept nogil:
    """Mark what lies near in two runs. The window moves along, so that each anchor is looked at and marked once."""
    cdef int64_t lo, hi
    cdef Py_ssize_t a = 0, b = 0, marked = 0
    while a < own.size and b < other.size:
        partner_window(w, leading, own.length, other.length, own.diagonal[a], &lo, &hi)
        while b < other.size and other.diagonal[b] < lo:
            b += 1
        if b < other.size and other.diagonal[b] <= hi:
            own.near[a] = 1
            marked = max(marked, b)
            while marked < other.size and other.diagonal[marked] <= hi:
                other.near[marked] = 1
                marked += 1
        a += 1


def outside_buckets(anchors, const uint8_t[::1] chosen, buckets, int shift):
    """Chosen anchors that lie in none of the buckets.

    Parameters
    ----------
    anchors : search.arrays.Anchors
        c anchors. Read: `read_strand`, `diagonal`, `start`, `reads`.
    chosen : uint8[c]
    buckets : search.arrays.Buckets
        From `best_supported`: at most one of each read, in the order of the reads.
    shift : int
        log2 of the bucket span.

    Returns
    -------
    uint8[c]
    """
    cdef const uint32_t[::1] read_strand = anchors.read_strand, reads = anchors.reads
    cdef const coordinate_t[::1] diagonal = anchors.diagonal
    cdef const uint32_t[::1] strand_of_bucket = buckets.read_strand, number = buckets.bucket
    cdef const int64_t[::1] start = anchors.start
    cdef Py_ssize_t a = 0, i, j
    out_array = np.array(chosen)
    cdef uint8_t[::1] out = out_array
    with nogil:
        for i in range(number.shape[0]):
            while reads[a] < strand_of_bucket[i] >> 1:
                a += 1
            for j in range(start[a], start[a + 1]):
                out[j] &= (diagonal[j] >> shift != number[i]) | (read_strand[j] != strand_of_bucket[i])
    return out_array


def unscored_buckets(const uint32_t[::1] read_strand, const uint32_t[::1] bucket, *known):
    """Distinct buckets among these that are in none of the known arrays.

    Parameters
    ----------
    read_strand : uint32[k], bucket : uint32[k]
    *known : uint64[]
        `place_key` of each, sorted.

    Returns
    -------
    read_strand : uint32[n], bucket : uint32[n], keys : uint64[n]
        Sorted; `keys` as the known ones.
    """
    cdef Py_ssize_t k = read_strand.shape[0], i, j, n = 0, m
    keys_array, scratch_array = np.empty(k, np.uint64), np.empty(k, np.uint64)
    cdef uint64_t[::1] keys = keys_array, scratch = scratch_array
    cdef const uint64_t[::1] some
    cdef uint64_t last = ~<uint64_t>0
    if k:
        with nogil:
            for i in range(k):
                keys[i] = place_key(read_strand[i], bucket[i])
            sort_nearly(&keys[0], &scratch[0], k)
            for i in range(k):
                if keys[i] != last:
                    last = keys[n] = keys[i]
                    n += 1
    for some in known:
        with nogil:
            j, m = 0, 0
            for i in range(n):
                j = next_from(some, j, keys[i])
                if j == some.shape[0] or some[j] != keys[i]:
                    keys[m] = keys[i]
                    m += 1
            n = m
    strand_array, bucket_array = np.empty(n, np.uint32), np.empty(n, np.uint32)
    cdef uint32_t[::1] strand_out = strand_array, bucket_out = bucket_array
    with nogil:
        for i in range(n):
            strand_out[i], bucket_out[i] = strand_of_key(keys[i]), <uint32_t>place_of_key(keys[i])
    return strand_array, bucket_array, keys_array[:n].copy()


cdef inline Py_ssize_t next_from(const uint64_t[::1] some, Py_ssize_t i, uint64_t key) noexcept nogil:
    """The first of sorted keys that is not below `key`; those before i are. In ever longer steps, then by halves."""
    cdef Py_ssize_t n = some.shape[0], step = 1
    while i + step < n and some[i + step] < key:
        i += step
        step *= 2
    return i + <Py_ssize_t>first_from(&some[i], min(i + step, n) - i, key) if i < n else n


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
