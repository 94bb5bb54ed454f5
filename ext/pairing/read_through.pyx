"""Where the fragment of a read ends, by its bases alone, and reads cut there."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.cigar cimport CIGAR_MATCH, CIGAR_SOFT_CLIP, cigar_length, cigar_op, cigar_push
from gassst._core.coordinates cimport coordinate_t
from gassst._core.intrinsics cimport leading_zeros, trailing_zeros
from gassst._core.planes cimport (
    ambiguous_bases,
    bases64_t,
    bases_at,
    count_differences,
    differences,
    first_bases,
    planes_of,
    planes_t,
)


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
    the reverse strand of the other one. The longest fragment counts.
    """
    cdef int64_t word, size
    cdef uint64_t once, twice, live
    cdef int j
    if <int64_t>length < shortest + stem:
        return 0
    for word in range((<int64_t>length - stem) & ~63, -1, -64):
        once = twice = 0
        for j in range(stem):
            count_one(differences(bases_at(reads, one + word + j), bases_at(reads, other + word + j)), &once, &twice)
        live = ~twice & first_bases(length - stem + 1 - word)
        while live:
            size = word + 63 - leading_zeros(live)
            if size < shortest:
                return 0
            if count_differences(reads, one, reads, tail - size, size, size // bases_an_error) <= size // bases_an_error:
                return <uint16_t>size
            live &= ~(<uint64_t>1 << (size - word))
    return 0


cdef inline uint64_t differs(bases64_t x, int i, uint8_t code) noexcept nogil:
    """1 where base i is not `code`, else 0."""
    return ((x.masked & ~x.high) >> i | (x.low >> i ^ code)
            | ((x.high >> i ^ code >> 1) & ~(ambiguous_bases(x) >> i))) & 1


cdef inline void find_differences(planes_t reads, int64_t at, int64_t left, Py_ssize_t n,
                                  uint64_t[16] *differ) noexcept nogil:
    """`differ[c][j]`: at which of 64 positions from `at` on the base j behind is not c. `left` bases are there."""
    cdef Py_ssize_t j
    cdef uint64_t live, ambiguous
    cdef bases64_t x
    for j in range(n):
        live = first_bases(left - j) if left > j else 0
        x = bases_at(reads, at + j)
        ambiguous = ambiguous_bases(x)
        x.masked &= ~ambiguous
        differ[0][j] = (x.low | (x.high & ~ambiguous) | x.masked) & live
        differ[1][j] = (~x.low | (x.high & ~ambiguous) | x.masked) & live
        differ[2][j] = (x.low | ~x.high | x.masked) & live
        differ[3][j] = (~x.low | ~x.high | x.masked) & live


cdef uint16_t adapter_start(planes_t reads, int64_t base, int64_t m, const adapters_t *known,
                            int64_t earliest) noexcept nogil:
    """Bases before the known adapter of a read of `m` bases at `base`, `earliest` or more; 0: it has none.

    Of several the one with the fewest differences counts, of equals the first.
    """
    cdef int64_t word, at, n, unequal, fewest = m, start = 0
    cdef Py_ssize_t a, j
    cdef const uint8_t *codes
    cdef uint64_t once, twice, found
    cdef uint64_t[4][16] differ     # from each of the four bases, of 64 positions, so many bases behind them
    for word in range(earliest, m - known.shortest + 1, 64):
        find_differences(reads, base + word, m - word, known.first_part, &differ[0])
        for a in range(known.number):
            codes = known.codes + a * known.length
            once = twice = 0
            for j in range(known.first_part >> 1):  # of which one may differ: then the other half does not
                once |= differ[codes[j]][j]
                twice |= differ[codes[j + (known.first_part >> 1)]][j + (known.first_part >> 1)]
            if once & twice == ~<uint64_t>0:
                continue
            once = twice = 0
            for j in range(known.first_part):
                count_one(differ[codes[j]][j], &once, &twice)
            found = ~twice & first_bases(m - known.shortest + 1 - word)
            while found:
                at = word + trailing_zeros(found)
                found &= found - 1
                if at + known.first_part > m and once >> (at - word) & 1:
                    continue
                n, unequal = min(known.length, m - at), 0
                for j in range(n):
                    unequal += differs(bases_at(reads, base + at + j), 0, codes[j])
                if unequal <= n // known.bases_an_error and (unequal < fewest or unequal == fewest and at < start):
                    start, fewest = at, unequal
    return <uint16_t>start


cdef adapters_t adapters_of(const uint8_t[:, ::1] codes, int first_part, int shortest, int bases_an_error) noexcept:
    return adapters_t(&codes[0, 0], codes.shape[0], codes.shape[1], first_part, shortest, bases_an_error)


def fragment_ends(packed, const uint8_t[:, ::1] adapters not None, int first_part, int shortest, int bases_an_error,
                  int64_t earliest, const uint8_t[::1] mate=None):
    """Where the fragments of reads end: where both mates run into one adapter, or a read into a known one.

    Of the bases of an adapter one in `bases_an_error` may differ, and one of its first ones. At the end of a read fewer
    than these show it, if all are equal. What two mates show needs no known adapter: the head of one is then all of the
    fragment, and so is that of the other one, on the opposite strand. Behind it both go on into the stem of an adapter,
    whose strands are paired: there the mates have the same bases.

    Parameters
    ----------
    packed : model.read_batch.PackedReads
    adapters : uint8[a, b]
        Codes of the first bases of each.
    first_part : int
        At most 16 and b.
    shortest : int
        Bases of an adapter that show it at the end of a read, and of a stem, of which one may differ.
    bases_an_error : int
        Heads of mates differ in one base of so many at most, too.
    earliest : int
        Bases of the shortest fragment, 1 or more.
    mate : uint8[n], optional
        0 single, 1 first, 2 last mate, which follows its first one. None: all single.

    Returns
    -------
    uint16[n]
        Bases of each read that are of its fragment; 0 where nothing shows its end. Of several adapters the one with the
        fewest differences counts, of equals the first; of mates the longest fragment.
    """
    cdef const uint32_t[::1] lengths = packed.lengths, plane_start = packed.plane_start
    cdef planes_t reads = planes_of(packed.planes)
    cdef adapters_t known = adapters_of(adapters, first_part, shortest, bases_an_error)
    cdef Py_ssize_t i
    ends_array = np.zeros(lengths.shape[0], np.uint16)
    cdef uint16_t[::1] ends = ends_array
    with nogil:
        for i in range(lengths.shape[0]):
            if mate is not None and mate[i] == 1:
                ends[i] = ends[i + 1] = shared_end(
                    reads, 64 * <int64_t>plane_start[i], 64 * <int64_t>plane_start[i + 1],
                    min(lengths[i], lengths[i + 1]), 64 * (plane_start[i + 1] + rows_of(lengths[i + 1])) + lengths[i + 1],
                    <int>earliest, shortest, bases_an_error)
            if not ends[i]:
                ends[i] = adapter_start(reads, 64 * <int64_t>plane_start[i], lengths[i], &known, earliest)
    return ends_array


def first_bases_of(packed, const int64_t[::1] rows, const uint16_t[::1] kept):
    """Reads cut behind their first bases.

    Parameters
    ----------
    packed : io.read_batch.PackedReads
    rows : int64[k]
        Reads.
    kept : uint16[k]
        Bases that are left of each, at most all.

    Returns
    -------
    lengths : uint32[k], planes : uint64[w + 1, 3], plane_start : uint32[k]
        The fields of `PackedReads`.
    """
    cdef const uint32_t[::1] lengths = packed.lengths, plane_start = packed.plane_start
    cdef planes_t reads = planes_of(packed.planes)
    cdef Py_ssize_t k = rows.shape[0], i, strand, j
    cdef int64_t at = 0, words, base
    cdef uint32_t m
    cdef uint64_t live
    cdef bases64_t bases
    cut_lengths = np.asarray(kept).astype(np.uint32)
    words_of = 2 * ((cut_lengths.astype(np.int64) + 63) >> 6)
    start_array = (np.cumsum(words_of) - words_of).astype(np.uint32)
    planes_array = np.zeros((int(words_of.sum()) + 1, 3), np.uint64)
    cdef uint64_t[:, ::1] planes = planes_array
    with nogil:
        for i in range(k):
            m, words = lengths[rows[i]], rows_of(kept[i])
            for strand in range(2):
                base = 64 * <int64_t>plane_start[rows[i]]
                if strand:
                    base += 64 * rows_of(m) + m - kept[i]
                for j in range(words):
                    bases, live = bases_at(reads, base + 64 * j), first_bases(kept[i] - 64 * j)
                    planes[at, 0], planes[at, 1] = bases.low & live, bases.high & live
                    planes[at, 2] = bases.masked & live
                    at += 1
    return cut_lengths, planes_array, start_array


def with_tails(hits, const uint32_t[::1] cigars, const uint32_t[::1] tails, bint clipped=False):
    """Alignments of cut reads as alignments of the whole ones: they go on, without a gap, behind the cut.

    An alignment that ends before the cut stays, and more is clipped. With `clipped` all of them stay.

    Parameters
    ----------
    hits : HIT[k]
        Mapped ones. Read: `position`, `strand`, `cigar_start`, `cigar_runs`.
    cigars : uint32[]
    tails : uint32[k]
        Bases that were cut off the read of each hit.

    Returns
    -------
    position : int64[k], cigars : uint32[], start : uint32[k], n_runs : uint16[k]
        As `local.places.Aligned` has them.
    """
    position, cigar_start, cigar_runs, reverse = (
        np.ascontiguousarray(hits[name]) for name in ("position", "cigar_start", "cigar_runs", "strand")
    )
    cdef Py_ssize_t k = tails.shape[0], i, j, n, done = 0
    cdef uint32_t op
    position_array, start_array, runs_array = position.copy(), np.empty(k, np.uint32), np.empty(k, np.uint16)
    cigars_array = np.empty(int(cigar_runs.sum(dtype=np.int64)) + k, np.uint32)
    cdef const uint32_t[::1] first_run = cigar_start
    cdef const uint16_t[::1] runs = cigar_runs
    cdef const uint8_t[::1] strand = reverse
    cdef coordinate_t[::1] position_out = position_array
    cdef uint32_t[::1] start = start_array, out = cigars_array
    cdef uint16_t[::1] n_runs = runs_array
    with nogil:
        for i in range(k):
            n, start[i] = 0, <uint32_t>done
            op = cigar_op(cigars[first_run[i] if strand[i] else first_run[i] + runs[i] - 1])
            op = CIGAR_MATCH if op == CIGAR_MATCH and not clipped else CIGAR_SOFT_CLIP
            if strand[i]:
                n = cigar_push(&out[done], n, op, tails[i])
                position_out[i] -= tails[i] if op == CIGAR_MATCH else 0
            for j in range(first_run[i], first_run[i] + runs[i]):
                n = cigar_push(&out[done], n, cigar_op(cigars[j]), cigar_length(cigars[j]))
            if not strand[i]:
                n = cigar_push(&out[done], n, op, tails[i])
            n_runs[i] = <uint16_t>n
            done += n
    return position_array, cigars_array[:done], start_array, runs_array
