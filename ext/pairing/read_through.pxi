"""Where the fragment of a read ends, by its bases alone, and reads cut there."""

cdef extern from "words.h" nogil:
    void letters_unlike(bases64_t a, uint64_t *unlike)
    uint64_t differ_from(const uint64_t *unlike, const uint8_t *codes, int64_t n)

cpdef enum:
    FIRST_PART = 12     # bases of an adapter of which one may differ

cdef enum:
    HALF = FIRST_PART >> 1


cdef struct adapters_t:
    const uint8_t *codes    # `length` of each
    Py_ssize_t number, length
    int shortest, bases_an_error
    int64_t earliest        # bases of the shortest fragment


cdef inline int64_t rows_of(uint32_t length) noexcept nogil:
    """Rows of planes of one strand."""
    return (<int64_t>length + 63) >> 6


cdef inline void count_one(uint64_t unequal, uint64_t *once, uint64_t *twice) noexcept nogil:
    """At which of 64 positions one base more differs; `twice`: at which two or more do."""
    twice[0] |= once[0] & unequal
    once[0] |= unequal


cdef uint16_t shared_end(planes_t reads, int64_t one, int64_t other, uint32_t length, int64_t tail, int shortest,
                         int stem, int bases_an_error) noexcept nogil:
    """Bases of the fragment that two mates run through, 0 where they do not.

    `one`, `other`: their first bases in the planes; both are cut to the same `length`. `tail`: behind the last base of
    the reverse strand of the other one. The longest fragment counts."""
    cdef int64_t word, size, j
    cdef uint64_t once, twice, live, here, behind   # where 64 bases differ, and the 64 behind them
    if <int64_t>length < shortest + stem:
        return 0
    word = (<int64_t>length - stem) & ~63
    here = differences(bases_at(reads, one + word + 64), bases_at(reads, other + word + 64))
    for word in range(word, -1, -64):
        behind, here = here, differences(bases_at(reads, one + word), bases_at(reads, other + word))
        once = twice = 0
        for j in range(stem):
            count_one(funnel_shift(here, behind, <int>j), &once, &twice)
        live = ~twice & first_bases(length - stem + 1 - word)
        while live:
            size = word + 63 - leading_zeros(live)
            if size < shortest:
                return 0
            if count_differences(reads, one, reads, tail - size, size, size // bases_an_error) <= size // bases_an_error:
                return <uint16_t>size
            live &= ~(<uint64_t>1 << (size - word))
    return 0


cdef inline void unlike_at(planes_t reads, int64_t at, int64_t left, uint64_t *unlike) noexcept nogil:
    """`letters_unlike` of 64 bases, of which `left` are there: those behind are like all."""
    cdef int c
    letters_unlike(bases_at(reads, at), unlike)
    for c in range(4):
        unlike[c] &= first_bases(left)


cdef uint16_t adapter_start(planes_t reads, int64_t base, int64_t m, const adapters_t *known) noexcept nogil:
    """Bases before the known adapter of a read of `m` bases at `base`, `earliest` or more; 0: it has none. Of several the
    one with the fewest differences counts, of equals the first."""
    cdef int64_t word, at, n, unequal, fewest = m, start = 0, at_once = 64 + 1 - FIRST_PART
    cdef Py_ssize_t a, j
    cdef const uint8_t *codes
    cdef uint64_t found, live
    cdef uint64_t[4] here, there
    for word from known.earliest <= word <= m - known.shortest by at_once:
        unlike_at(reads, base + word, m - word, here)
        live = first_bases(min(m - known.shortest + 1 - word, at_once))
        for a in range(known.number):
            codes = known.codes + a * known.length
            # Of the first part one base may differ: then one of its halves does not.
            found = ~(differ_from(here, codes, HALF) & differ_from(here, codes + HALF, HALF) >> HALF) & live
            while found:
                at = word + trailing_zeros(found)
                found &= found - 1
                unlike_at(reads, base + at, m - at, there)
                n, unequal = min(known.length, m - at), 0
                for j in range(n):
                    unequal += there[codes[j]] >> j & 1
                    if j < FIRST_PART and unequal > (at + FIRST_PART <= m):
                        break
                else:
                    if unequal <= n // known.bases_an_error and (unequal < fewest or unequal == fewest and at < start):
                        start, fewest = at, unequal
    return <uint16_t>start


def fragment_ends(packed, const uint8_t[:, ::1] adapters not None, int shortest, int bases_an_error,
                  int64_t earliest, const uint8_t[::1] mate=None):
    """Where the fragments of reads (`PackedReads`) end: where both mates run into one adapter, or a read into a known one.

    What two mates show needs no known adapter: the head of one is then all of the fragment, and so is that of the other
    one, on the opposite strand. Behind it both go on into the stem of an adapter, whose strands are paired: there the
    mates have the same bases.

    Parameters
    ----------
    adapters : uint8[a, b]
        Codes of the first bases of each, at most 64. Of `FIRST_PART` of them one may differ, and of all one of each
        `bases_an_error`, as in heads of mates.
    shortest : int
        Bases of an adapter that show it at the end of a read, if all are equal, and of a stem, of which one may differ.
    earliest : int
        Bases of the shortest fragment, 1 or more.
    mate : uint8[n], optional
        0 single, 1 first, 2 last mate, which follows its first one. None: all single.

    Returns
    -------
    uint16[n]
        Bases of each read that are of its fragment; 0 where nothing shows its end.
    """
    cdef const uint32_t[::1] lengths = packed.lengths, plane_start = packed.plane_start
    cdef planes_t reads = planes_of(packed.planes)
    cdef adapters_t known = adapters_t(&adapters[0, 0], adapters.shape[0], adapters.shape[1], shortest,
                                       bases_an_error, earliest)
    cdef Py_ssize_t n = lengths.shape[0]
    ends_array = np.empty(n, np.uint16)
    cdef uint16_t[::1] ends = ends_array
    if n:
        with nogil:
            find_ends(reads, &plane_start[0], &lengths[0], n, &known, NULL if mate is None else &mate[0], &ends[0])
    return ends_array


cdef void find_ends(planes_t reads, const uint32_t *plane_start, const uint32_t *lengths, Py_ssize_t n,
                    const adapters_t *known, const uint8_t *mate, uint16_t *ends) noexcept nogil:
    """`fragment_ends` of n reads; no `mate`: all are single."""
    cdef Py_ssize_t i
    for i in range(n):
        if mate == NULL or mate[i] != 2:
            ends[i] = 0
        if mate != NULL and mate[i] == 1:
            ends[i] = ends[i + 1] = shared_end(
                reads, 64 * <int64_t>plane_start[i], 64 * <int64_t>plane_start[i + 1],
                min(lengths[i], lengths[i + 1]), 64 * (plane_start[i + 1] + rows_of(lengths[i + 1])) + lengths[i + 1],
                <int>known.earliest, known.shortest, known.bases_an_error)
        if not ends[i]:
            ends[i] = adapter_start(reads, 64 * <int64_t>plane_start[i], lengths[i], known)


cdef Py_ssize_t write_first_bases(planes_t reads, int64_t start, uint32_t m, uint32_t kept, uint64_t *planes) noexcept nogil:
    """The planes of the first bases of a read of `m` bases, of both strands; returns how many rows these are."""
    cdef int64_t strand, j, words = rows_of(kept), base = 64 * start
    for strand in range(2):
        for j in range(words):
            put_bases(planes, bases_at(reads, base + 64 * j), kept - 64 * j)
            planes += 3
        base += 64 * rows_of(m) + m - kept
    return 2 * words


def cut(packed, const uint16_t[::1] kept):
    """Reads cut behind their first bases.

    Parameters
    ----------
    packed : model.read_batch.PackedReads
    kept : uint16[n]
        Bases that are left of each read, at most all; 0: it stays whole.

    Returns
    -------
    lengths : uint32[n], planes : uint64[w + 1, 3], plane_start : uint32[n]
        The fields of `PackedReads`. Those that are cut have their planes behind all others, as have empty ones.
    """
    cdef const uint32_t[::1] old_lengths = packed.lengths, old_start = packed.plane_start
    cdef const uint64_t[:, ::1] old = packed.planes
    cdef planes_t reads = planes_of(packed.planes)
    cdef Py_ssize_t n = kept.shape[0], i
    cdef int64_t first = old.shape[0] - 1, at = first
    cdef bint are_whole = True
    for i in range(n):
        at += 2 * rows_of(kept[i])
        are_whole &= not kept[i] and old_lengths[i] > 0
    if are_whole:
        return packed.lengths, packed.planes, packed.plane_start
    lengths_array, start_array = np.empty((2, n), np.uint32)
    planes_array = np.empty((at + 1, 3), np.uint64)
    cdef uint32_t[::1] lengths = lengths_array, start = start_array
    cdef uint64_t[:, ::1] planes = planes_array
    with nogil:
        memcpy(&planes[0, 0], &old[0, 0], first * 3 * sizeof(uint64_t))
        memset(&planes[at, 0], 0, 3 * sizeof(uint64_t))
        at = first
        for i in range(n):
            lengths[i], start[i] = old_lengths[i], old_start[i]
            if kept[i] or not old_lengths[i]:
                lengths[i], start[i] = kept[i], <uint32_t>at
                at += write_first_bases(reads, old_start[i], old_lengths[i], kept[i], &planes[at, 0])
    return lengths_array, planes_array, start_array
