"""Seeds of a batch of reads, looked up in the seed index.

`Seeds` goes over the batch without the GIL and asks for its cache lines ahead of time; from the ranges of positions
that it finds `_anchors.gather` makes anchors. Everything runs on the read's canonical orientation, the smaller of
the read and its reverse complement (`orient`), so that both take the same decisions.
"""

import numpy as np
from cython.view cimport array

from gassst._core.common cimport *

include "seed_misses.pxi"


cdef extern from "lookup.h":
    cdef enum:
        GROUP "LOOKUP_GROUP"


cdef inline bint is_flipped(const uint64_t *forward, const uint64_t *reverse, Py_ssize_t words) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(3 * words):
        if forward[i] != reverse[i]:
            return reverse[i] < forward[i]
    return False


def orient(const uint64_t[:, ::1] planes, const uint32_t[::1] plane_start, const uint32_t[::1] lengths):
    """Canonical orientation and a hash of every read.

    Parameters
    ----------
    planes, plane_start, lengths
        Of a `PackedReads`.

    Returns
    -------
    flip : uint8[n]
        1 where the reverse complement is the smaller one.
    digest : uint64[n]
        Hash of the canonical bases: equal for a read and its reverse complement, seeds every random choice.
    """
    cdef Py_ssize_t n = lengths.shape[0], r
    flip_array = np.empty(n, np.uint8)
    digest_array = np.empty(n, np.uint64)
    cdef uint8_t[::1] flip = flip_array
    cdef uint64_t[::1] digest = digest_array
    with nogil:
        for r in range(n):
            flip[r] = orient_read(&planes[plane_start[r], 0] if lengths[r] else NULL, lengths[r], &digest[r])
    return flip_array, digest_array


def of_reads(packed, plan):
    """What the search knows of reads before it begins. The plan learns the lengths that are new to it.

    Parameters
    ----------
    packed : model.read_batch.PackedReads
    plan : search.plan.SearchPlan

    Returns
    -------
    errors : uint16[n], flip : uint8[n], digest : uint64[n]
        As `BatchContext` has them.
    """
    cdef const uint32_t[::1] lengths = packed.lengths, plane_start = packed.plane_start
    cdef const uint64_t[:, ::1] planes = packed.planes
    cdef const uint8_t[::1] known = plan.known_lengths.view(np.uint8)
    cdef const uint16_t[::1] errors_of = plan.errors
    cdef Py_ssize_t n = lengths.shape[0], r
    cdef bint is_known = True
    arrays = tuple(np.empty(n, dtype) for dtype in (np.uint16, np.uint8, np.uint64))
    cdef uint16_t[::1] errors = arrays[0]
    cdef uint8_t[::1] flip = arrays[1]
    cdef uint64_t[::1] digest = arrays[2]
    for r in range(n):
        is_known &= known[lengths[r]]
    if not is_known:
        plan.prepare(packed.lengths)
    with nogil:
        for r in range(n):
            errors[r] = errors_of[lengths[r]]
            flip[r] = orient_read(&planes[plane_start[r], 0] if lengths[r] else NULL, lengths[r], &digest[r])
    return arrays


cdef bint orient_read(const uint64_t *forward, uint32_t length, uint64_t *digest) noexcept nogil:
    """`orient` of one read, whose planes begin at `forward`: returns its `flip`."""
    cdef Py_ssize_t words = (<Py_ssize_t>length + 63) >> 6, i
    cdef uint64_t h = mix(length)
    cdef bint flip = words > 0 and is_flipped(forward, forward + 3 * words, words)
    if flip:
        forward += 3 * words
    for i in range(3 * words):
        h = mix(h ^ forward[i])
    digest[0] = h
    return flip


cdef inline void read_seed(const uint64_t *planes, uint64_t first, Py_ssize_t length, Seed *seed,
                           int longest) noexcept nogil:
    """Fill `code` and `room` of a seed from the planes of its strand, which begin at base `first`."""
    cdef seed_bases_t bases = seed_bases(planes, first + seed.offset, min(length - seed.offset, longest), seed.conversion)
    seed.code, seed.room = bases.code, <uint8_t>bases.room


cdef enum:
    CODES = 16              # of 32 bases each: longer reads have few seeds for their length


cdef bint fill_codes(const uint64_t *planes, Py_ssize_t m, int conversion, uint64_t *codes) noexcept nogil:
    """Codes of a strand of `m` bases, at most 32 * CODES; false, and nothing of use, where one is masked."""
    cdef Py_ssize_t i, rows = (m + 63) >> 6
    cdef uint64_t masked = 0, low, high
    for i in range(rows):
        low, high = planes[3 * i], planes[3 * i + 1]
        masked |= planes[3 * i + 2] & ~high & (~<uint64_t>0 >> max(64 * (i + 1) - m, 0))
        high = converted_high(low, high, conversion)
        codes[2 * i] = interleave(<uint32_t>low, <uint32_t>high)
        codes[2 * i + 1] = interleave(<uint32_t>(low >> 32), <uint32_t>(high >> 32))
    codes[2 * rows] = 0
    return masked == 0


cdef inline void take_seed(const uint64_t *codes, Py_ssize_t length, Seed *seed, int longest) noexcept nogil:
    """`read_seed` from the codes of a strand, of which no base is masked. The seed has a base."""
    cdef uint64_t *at = <uint64_t *>codes + (seed.offset >> 5)
    cdef int shift = 2 * (seed.offset & 31), n = <int>min(length - seed.offset, longest)
    seed.code = (at[0] << shift | at[1] >> 1 >> (63 - shift)) >> (64 - 2 * n)
    seed.room = <uint8_t>n


cdef Seed *plan_seeds(const seed_plan_t *plan, const uint64_t *planes, uint64_t first_row, Seed *s) noexcept nogil:
    """Write the seeds of a read whose planes begin at row `first_row`, both strands of each; returns where they end."""
    cdef Py_ssize_t j = 0, o, m = plan.m, w = plan.w, count = plan.count, rows = (m + 63) >> 6
    cdef int strand
    cdef uint64_t[2 * CODES + 2] codes  # of both strands, each with one more that any seed may reach into
    cdef const uint64_t *forward = planes + 3 * first_row
    # Many seeds overlap: the bases are brought into their order once.
    cdef bint coded = 0 < w and 4 * plan.every <= count and m <= 32 * CODES and plan.longest <= 32
    cdef int[2] conversions
    for strand in range(2):
        conversions[strand] = conversion_of_strand(plan.conversion, strand)
        coded = coded and fill_codes(forward + 3 * strand * rows, m, conversions[strand], codes + strand * (CODES + 1))
    while j < count:
        o = seed_offset(<unsigned>j, <unsigned>count, <unsigned>(m - w))
        if plan.flip:
            o = m - w - o
        for strand in range(2):
            s.reverse = strand ^ plan.flip
            s.offset = <uint16_t>(m - w - o if s.reverse else o)
            s.length = <uint8_t>w
            s.lo = s.count = 0
            s.clipped = s.known = 0
            s.conversion = <uint8_t>conversions[s.reverse]
            if coded:
                take_seed(codes + s.reverse * (CODES + 1), m, s, plan.longest)
            else:
                read_seed(planes, 64 * (first_row + <uint64_t>s.reverse * rows), m, s, plan.longest)
            s += 1
        j += plan.every
    return s


cdef inline uint64_t code_of(const Seed *seed) noexcept nogil:
    """Of a seed that is whole."""
    return seed.code >> 2 * (seed.room - seed.length)


cdef inline bint is_within(const Seed *seed, const seed_index_t *index, uint64_t kmer_from,
                           uint64_t kmer_to) noexcept nogil:
    """Whether the seed is whole, is converted as the index is, and its first k-mer lies in the range."""
    cdef uint64_t kmer
    cdef int k = index.k
    if seed.room < seed.length or seed.conversion != index.conversion:
        return False
    kmer = seed.code >> 2 * (seed.room - k) if seed.room >= k else seed.code << 2 * (k - seed.room)
    return kmer_from <= kmer < kmer_to


cdef void resolve_group(const seed_index_t *index, Seed **seeds, int n) noexcept nogil:
    cdef uint64_t[GROUP] codes
    cdef uint8_t[GROUP] widths
    cdef seed_range_t[GROUP] found
    cdef int i
    for i in range(n):
        codes[i], widths[i] = code_of(seeds[i]), seeds[i].length
    lookup_group(index, codes, widths, found, n)
    for i in range(n):
        seeds[i].lo, seeds[i].count = found[i].lo, found[i].hi - found[i].lo


cdef void resolve_seeds(const seed_index_t *index, Seed *seeds, Py_ssize_t n, const uint32_t *caps,
                        uint64_t kmer_from, uint64_t kmer_to) noexcept nogil:
    """Ranges of a block of seeds. Those that occur too often are made longer to the right and looked up again."""
    cdef Py_ssize_t i, start = 0, stop
    cdef int m, longer = 0
    cdef Seed *group[GROUP]
    cdef Seed *again[GROUP]
    while start < n:
        stop = min(start + GROUP, n)
        m = 0
        for i in range(start, stop):
            if i + GROUP < n and seeds[i + GROUP].room >= seeds[i + GROUP].length:
                lookup_prefetch_table(index, code_of(&seeds[i + GROUP]), seeds[i + GROUP].length)
            if is_within(&seeds[i], index, kmer_from, kmer_to):
                group[m] = &seeds[i]
                m += 1
        resolve_group(index, group, m)
        for i in range(m):
            if group[i].count > caps[group[i].length]:
                group[i].clipped = 1
                if group[i].room > group[i].length:
                    group[i].length = group[i].room
                    again[longer] = group[i]
                    longer += 1
                    if longer == GROUP:  # a few at a time would wait for each other's cache lines
                        resolve_group(index, again, longer)
                        longer = 0
        start = stop
    resolve_group(index, again, longer)


# --- step 2 and 4 -------------------------------------------------------------------------------------------
# The index has every second or fourth position. A seed becomes `step` seeds, each without one base more of its front:
# of any place of the seed, one of them begins on a position that the index has. The bases before that position tell
# whether the front is there, too. So a seed has the places that it has in an index of every base.

cdef inline uint64_t without_front(uint64_t code, int w, int n) noexcept nogil:
    """Code of a seed of `w` bases without its first `n`, of which one at least remains."""
    return code & (~<uint64_t>0 >> (64 - 2 * (w - n)))


cdef void resolve_stepped(const seed_index_t *index, Seed *seeds, step_range_t *ranges, Py_ssize_t n,
                          uint64_t kmer_from, uint64_t kmer_to) noexcept nogil:
    """Add to seeds, not known before, the ranges of their shorter seeds whose first k-mer is in the range."""
    cdef uint64_t[GROUP] codes
    cdef uint8_t[GROUP] widths
    cdef seed_range_t[GROUP] found
    cdef Py_ssize_t[GROUP] owner
    cdef Py_ssize_t i, j
    cdef int m = 0, front, step = <int>index.step, shift = trailing_zeros(index.step)
    cdef uint64_t code
    cdef Seed *seed
    for i in range(n):
        if not seeds[i].known and seeds[i].room >= seeds[i].length:
            for front in range(min(step, <int>seeds[i].length)):
                codes[m] = without_front(code_of(&seeds[i]), seeds[i].length, front)
                widths[m] = <uint8_t>(seeds[i].length - front)
                owner[m] = step * i + front
                if kmer_from <= lookup_kmer(index, codes[m], widths[m]) < kmer_to:
                    m += 1
        if m > GROUP - step or i == n - 1:
            lookup_group(index, codes, widths, found, m)
            for j in range(m):
                if found[j].lo < found[j].hi:
                    seed, front = &seeds[owner[j] >> shift], owner[j] & (step - 1)
                    code = code_of(seed) >> 2 * widths[j]
                    ranges[owner[j]] = lookup_count_before(index, found[j], <uint32_t>code, front)
                    seed.count += ranges[owner[j]].count
            m = 0


cdef bint lengthen_stepped(Seed *seeds, step_range_t *ranges, Py_ssize_t n, int step, const uint32_t *caps) noexcept nogil:
    """Make seeds that occur too often longer to the right, to be looked up again; return whether there are any."""
    cdef Py_ssize_t i
    cdef int front
    cdef bint found = False
    for i in range(n):
        if seeds[i].known:
            continue
        seeds[i].known = 1
        if seeds[i].count > caps[seeds[i].length]:
            seeds[i].clipped = 1
            if seeds[i].room > seeds[i].length:
                found, seeds[i].known = True, 0
                seeds[i].length, seeds[i].count = seeds[i].room, 0
                for front in range(step):
                    ranges[step * i + front] = step_range_t(0, 0, 0)
    return found


cdef inline uint64_t front_kmer(const seed_index_t *index, const Seed *seed, int front) noexcept nogil:
    """First k-mer of the seed without its first `front` bases."""
    return lookup_kmer(index, without_front(code_of(seed), seed.length, front), seed.length - front)


cdef inline uint32_t bases_before(const Seed *seed, int front) noexcept nogil:
    """Code of the first `front` bases of the seed."""
    return <uint32_t>(code_of(seed) >> 2 * (seed.length - front))


cdef void copy_stepped(const seed_index_t *index, const Seed *seeds, const step_range_t *ranges, Py_ssize_t n,
                       uint64_t kmer_from, uint64_t kmer_to, coordinate_t *copied) noexcept nogil:
    """Copy where seeds begin, of those shorter seeds whose first k-mer is in the range."""
    cdef Py_ssize_t i
    cdef int front, step = <int>index.step
    cdef uint32_t left, most
    cdef const step_range_t *one
    for i in range(n):
        if i + AHEAD < n and seeds[i + AHEAD].count:  # here: gcc drops calls of what does nothing else
            for front in range(step):
                one = &ranges[step * (i + AHEAD) + front]
                if one.count:
                    prefetch(index.positions + one.lo)
                    if one.count < one.size:
                        lookup_prefetch_element(index, one.lo, index.step)
        left = seeds[i].count
        for front in range(step):
            one = &ranges[step * i + front]
            most = min(left, one.count)
            if most and kmer_from <= front_kmer(index, &seeds[i], front) < kmer_to:
                lookup_copy_before(index, one[0], bases_before(&seeds[i], front), front, most, copied)
            copied += most
            left -= most


cdef bint limit_occurrences(Seed *seeds, Py_ssize_t n, const uint32_t *caps, uint16_t *clipped) noexcept nogil:
    """Pass over the seeds of one read that occur too often; return whether there are any.

    If the read would be left with nothing at all, the rarest of them is looked at up to the cap.
    """
    cdef Py_ssize_t i, rarest = -1
    cdef uint32_t rarest_count = 0
    cdef uint64_t total = 0
    clipped[0] = 0
    for i in range(0, n, 2):
        clipped[0] += seeds[i].clipped | seeds[i + 1].clipped
    for i in range(n):
        if seeds[i].count > caps[seeds[i].length]:
            if rarest < 0 or seeds[i].count < rarest_count:
                rarest, rarest_count = i, seeds[i].count
            seeds[i].count = 0
        total += seeds[i].count
    if total == 0 and rarest >= 0:
        seeds[rarest].count = caps[seeds[rarest].length]
    return rarest >= 0


cdef class Seeds:
    """The seeds of one stage of a batch, read by read: first planned, then resolved, then limited.

    Parameters
    ----------
    context : BatchContext
        `packed`, the reads; `flip` uint8[n], their orientation; `index.longest_seed` and `index.step`.
    active : uint32[a]
        Reads that take part, ascending.
    rows : SeedRows
        Length and number of the seeds by read length, uint16[MAX_READ_LENGTH + 1]. The first seed of each read is
        taken and every `rows.every`-th after it.

    Attributes
    ----------
    occurrences : int
        Sum of the occurrences of all seeds that are looked at, after `limit`.
    """

    def __init__(self, context, const uint32_t[::1] active, rows):
        cdef const uint64_t[:, ::1] planes = context.packed.planes
        cdef const uint32_t[::1] plane_start = context.packed.plane_start, lengths = context.packed.lengths
        cdef const uint8_t[::1] flip = context.flip, conversions = context.packed.conversions
        cdef const uint16_t[::1] seed_length = rows.length, seed_count = rows.number, seed_every = rows.every
        cdef Py_ssize_t a = active.shape[0]
        cdef int longest = context.index.longest_seed
        cdef reads_t reads
        self.step = context.index.step
        if a == 0:
            self.fill(&reads, NULL, 0, NULL, NULL, NULL, longest)
            return
        reads.planes, reads.n = planes_of(planes), lengths.shape[0]
        reads.plane_start, reads.lengths, reads.flip = &plane_start[0], &lengths[0], &flip[0]
        reads.conversions = &conversions[0] if conversions.shape[0] else NULL
        with nogil:
            self.fill(&reads, &active[0], a, &seed_length[0], &seed_count[0], &seed_every[0], longest)

    cdef int fill(self, const reads_t *reads, const uint32_t *active, Py_ssize_t a, const uint16_t *seed_length,
                  const uint16_t *seed_count, const uint16_t *seed_every, int longest) except -1 nogil:
        """Plan the seeds of `a` active reads, and forget those before. `seed_*`: of `SeedRows`, by read length."""
        cdef int64_t *start = <int64_t *>enlarged(&self.rooms[STARTS], (a + 1) * sizeof(int64_t))
        cdef Py_ssize_t i, m
        cdef uint32_t r
        cdef seed_plan_t plan
        cdef Seed *s
        self.n, self.n_reads, self.shortest, self.occurrences = 0, a, longest, 0
        self.start, self.copied = start, NULL
        for i in range(a):
            start[i] = self.n
            m = reads.lengths[active[i]]
            self.n += 2 * ((seed_count[m] + seed_every[m] - 1) // seed_every[m])
            if seed_count[m]:
                self.shortest = min(self.shortest, <int>seed_length[m])
        start[a] = self.n
        s = self.seeds = <Seed *>enlarged(&self.rooms[SEEDS], self.n * sizeof(Seed))
        if self.step > 1:
            self.ranges = <step_range_t *>enlarged(&self.rooms[RANGES], self.n * self.step * sizeof(step_range_t))
            if self.n:
                memset(self.ranges, 0, self.n * self.step * sizeof(step_range_t))
        for i in range(a):
            r = active[i]
            m = reads.lengths[r]
            plan = seed_plan_t(m, seed_length[m], seed_count[m], seed_every[m], reads.flip[r], longest,
                               reads.conversions[r] if reads.conversions != NULL else 0)
            s = plan_seeds(&plan, reads.planes.words, reads.plane_start[r], s)
        return 0

    def __dealloc__(self):
        cdef int i
        for i in range(N_ROOMS):
            free(self.rooms[i].p)

    cdef void look_up(self, const seed_index_t *view, const uint32_t *caps) noexcept nogil:
        """Look up all seeds in an index that is in one piece, and make those that occur too often longer."""
        if self.step == 1:
            resolve_seeds(view, self.seeds, self.n, caps, 0, UINT64_MAX)
            return
        resolve_stepped(view, self.seeds, self.ranges, self.n, 0, UINT64_MAX)
        while lengthen_stepped(self.seeds, self.ranges, self.n, self.step, caps):
            resolve_stepped(view, self.seeds, self.ranges, self.n, 0, UINT64_MAX)

    cdef bint limit_read(self, Py_ssize_t i, const uint32_t *caps, uint16_t *clipped) noexcept nogil:
        """`limit` of active read i: its clipped seeds, and whether one was passed over."""
        cdef Seed *seeds = self.seeds + self.start[i]
        cdef Py_ssize_t n = self.start[i + 1] - self.start[i], j
        cdef bint capped = limit_occurrences(seeds, n, caps, clipped)
        cdef int64_t occurrences = 0
        for j in range(n):
            occurrences += seeds[j].count
        self.occurrences += occurrences
        return capped

    cdef int copy_all(self, const seed_index_t *view, uint64_t kmer_from, uint64_t kmer_to) except -1 nogil:
        """`copy_positions` of a view."""
        cdef Py_ssize_t i, j
        cdef int64_t at = 0
        if self.copied == NULL:
            self.copied = <coordinate_t *>enlarged(&self.rooms[COPIED], (self.occurrences + 1) * sizeof(coordinate_t))
        if view.p == 0:
            return 0
        if self.step > 1:
            copy_stepped(view, self.seeds, self.ranges, self.n, kmer_from, kmer_to, self.copied)
            return 0
        for i in range(self.n):
            if self.seeds[i].count and is_within(&self.seeds[i], view, kmer_from, kmer_to):
                for j in range(self.seeds[i].count):
                    self.copied[at + j] = view.positions[self.seeds[i].lo + j]
            at += self.seeds[i].count
        return 0

    cdef void number_copied(self) noexcept nogil:
        """Where the positions were copied, `lo` of each seed becomes their first row there."""
        cdef Py_ssize_t i
        cdef uint32_t at = 0
        if self.copied == NULL:
            return
        for i in range(self.n):
            self.seeds[i].lo = at
            at += self.seeds[i].count

    def resolve(self, index, const uint32_t[::1] caps, uint64_t kmer_from, uint64_t kmer_to):
        """Look up the seeds whose first k-mer is in [kmer_from, kmer_to).

        Of an index of step 2 or 4, add the places found there; `lengthen` follows once every k-mer had its turn.

        Parameters
        ----------
        index : SeedIndex
        caps : uint32[index.longest_seed + 1]
            Most occurrences of a seed, by its length.
        """
        cdef seed_index_t view = view_of(index)
        self.check_lengths(index)
        if view.p == 0 or self.n == 0:
            return
        with nogil:
            if self.step == 1:
                resolve_seeds(&view, self.seeds, self.n, &caps[0], kmer_from, kmer_to)
            else:
                resolve_stepped(&view, self.seeds, self.ranges, self.n, kmer_from, kmer_to)

    cdef int check_lengths(self, index) except -1:
        """A seed must not occur in two parts of an index."""
        if self.n and index.cut_bases and self.shortest < index.cut_bases + self.step - 1:
            raise ValueError(f"a seed of {self.shortest} bases in an index that is cut after {index.cut_bases}")
        return 0

    def lengthen(self, const uint32_t[::1] caps):
        """Of an index of step 2 or 4, make the seeds that occur too often longer.

        Returns whether there are any: they are to be looked up again. Then call this again.
        """
        cdef bint again = False
        if self.step > 1:
            with nogil:
                again = lengthen_stepped(self.seeds, self.ranges, self.n, self.step, &caps[0])
        return again

    def limit(self, const uint32_t[::1] caps):
        """Apply the occurrence caps.

        Returns
        -------
        clipped : uint16[a]
            Seeds of each read of which not every occurrence is looked at, on one strand or both.
        capped : uint8[a]
            1 where a seed was passed over.
        """
        cdef Py_ssize_t a = self.n_reads, i
        clipped_array, capped_array = np.zeros(a, np.uint16), np.zeros(a, np.uint8)
        cdef uint16_t[::1] clipped = clipped_array
        cdef uint8_t[::1] capped = capped_array
        self.occurrences = 0
        with nogil:
            for i in range(a):
                capped[i] = self.limit_read(i, &caps[0], &clipped[i])
        return clipped_array, capped_array

    def clipped_span(self):
        """Where the seeds begin of which not every occurrence is looked at.

        Returns
        -------
        first, last : int64[a]
            Of each read as sequenced, the first base of the first such seed and of the last; -1 where there is none.
        """
        cdef Py_ssize_t a = self.n_reads, i, j
        cdef int64_t at
        span_array = np.full((2, a), -1, np.int64)
        cdef int64_t[:, ::1] span = span_array
        with nogil:
            for i in range(a):
                for j in range(self.start[i], self.start[i + 1], 2):
                    if self.seeds[j].clipped | self.seeds[j + 1].clipped:
                        # Of the two strands of a seed the forward one.
                        at = self.seeds[j + self.seeds[j].reverse].offset
                        span[0, i] = at if span[0, i] < 0 else min(span[0, i], at)
                        span[1, i] = max(span[1, i], at)
        return span_array[0], span_array[1]

    def copy_positions(self, index, uint64_t kmer_from, uint64_t kmer_to):
        """Copy the places of the seeds whose first k-mer is in [kmer_from, kmer_to) out of the index.

        When every range has been copied, `gather` no longer touches the index: so a part of it can be
        dropped from memory before the next one is read.
        """
        cdef seed_index_t view = view_of(index)
        with nogil:
            self.copy_all(&view, kmer_from, kmer_to)


cdef seed_index_t view_of(index):
    """The arrays of a `SeedIndex` or of an `IndexPart`, which must outlive the view."""
    cdef const uint32_t[::1] table = index.table, positions = index.positions
    cdef const uint8_t[::1] following = index.following.view(np.uint8)
    cdef const uint64_t[:, ::1] planes = index.reference.planes
    cdef seed_index_t view
    view.k, view.p, view.rows, view.step = index.k, <uint32_t>positions.shape[0], planes.shape[0], index.step
    view.conversion = index.conversion
    view.table = view.positions = NULL
    view.following = NULL
    view.planes = NULL
    if view.p:
        # The table of a part begins with its first k-mer, of which the lookups need not know.
        view.table = <const uint32_t *>(<uintptr_t>&table[0] - <uintptr_t>index.kmers[0] * sizeof(uint32_t))
        view.positions, view.following = &positions[0], &following[0]
        view.planes = &planes[0, 0]
    return view


include "anchors.pxi"
