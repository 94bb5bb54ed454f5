"""Seeds of a batch of reads, looked up in the seed index.

`Seeds` goes over the batch without the GIL and asks for its cache lines ahead of time; from the ranges of positions
that it finds anchors are made. Everything runs on the read's canonical orientation, the smaller of
the read and its reverse complement (`of_reads`), so that both take the same decisions.
"""

import numpy as np
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


def of_reads(packed, plan):
    """What the search knows of reads before it begins. The plan learns the lengths that are new to it.

    Parameters
    ----------
    packed : model.read_batch.PackedReads
    plan : search.plan.SearchPlan

    Returns
    -------
    errors : uint16[n]
        As `BatchContext` has them.
    flip : uint8[n]
        1 where the reverse complement is the smaller one: the canonical orientation.
    digest : uint64[n]
        Hash of the canonical bases: equal for a read and its reverse complement, seeds every random choice.
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
    """Tell the canonical orientation and the hash of one read, whose planes begin at `forward`: returns its `flip`."""
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
    cdef int strand, front
    cdef uint64_t[2 * CODES + 2] codes  # of both strands, each with one more that any seed may reach into
    cdef const uint64_t *forward = planes + 3 * first_row
    # Where seeds are more than rows, the bases are brought into their order once.
    cdef bint coded = 0 < w and plan.every * rows < count and m <= 32 * CODES and plan.longest <= 32
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
            s.clipped = s.known = s.front = 0
            s.conversion = <uint8_t>conversions[s.reverse]
            if coded:
                take_seed(codes + s.reverse * (CODES + 1), m, s, plan.longest)
            else:
                read_seed(planes, 64 * (first_row + <uint64_t>s.reverse * rows), m, s, plan.longest)
            if plan.step == 2 and s.room >= s.length:
                s.front = <uint8_t>bases_before_kept(code_of(s, 0), s.length, plan.k)
            s += 1
            if plan.step == 4:
                for front in range(1, 4):
                    s[0] = (s - 1)[0]
                    s.front = <uint8_t>front
                    s += 1
        j += plan.every
    return s


# --- lookup -------------------------------------------------------------------------------------------------

cdef inline uint64_t code_of(const Seed *seed, int front) noexcept nogil:
    """The code of a seed that is whole, without its first bases; one at least remains."""
    cdef uint64_t code = seed.code >> 2 * (seed.room - seed.length)
    return code & ~<uint64_t>0 >> (64 - 2 * (seed.length - front)) if front else code


cdef inline uint32_t bases_before(const Seed *seed, int front) noexcept nogil:
    """Code of the first `front` bases of the seed."""
    return <uint32_t>(code_of(seed, 0) >> 2 * (seed.length - front))


cdef inline bint is_within(const Seed *seed, const seed_index_t *index, uint64_t kmer_from,
                           uint64_t kmer_to) noexcept nogil:
    """Whether the seed is whole, is converted as the index is, and without its front begins with a k-mer of the range."""
    cdef int front = seed.front
    return (front < seed.length <= seed.room and seed.conversion == index.conversion
            and (kmer_to == UINT64_MAX
                 or kmer_from <= lookup_kmer(index, code_of(seed, front), seed.length - front) < kmer_to))


cdef void resolve_seeds(const seed_index_t *index, Seed *seeds, Py_ssize_t n, uint64_t kmer_from,
                        uint64_t kmer_to) noexcept nogil:
    """Look up a block of seeds, but for those that are known."""
    cdef lookup_seed_t[GROUP] wanted
    cdef seed_range_t[GROUP] found
    cdef Py_ssize_t[GROUP] group
    cdef Py_ssize_t i, j
    cdef int m = 0, front
    for i in range(n if index.p else 0):
        if i + GROUP < n and not seeds[i + GROUP].known and seeds[i + GROUP].front < seeds[i + GROUP].length <= seeds[i + GROUP].room:
            front = seeds[i + GROUP].front
            lookup_prefetch_table(index, code_of(&seeds[i + GROUP], front), seeds[i + GROUP].length - front)
        front = seeds[i].front
        if not seeds[i].known and is_within(&seeds[i], index, kmer_from, kmer_to):
            wanted[m] = lookup_seed_t(code_of(&seeds[i], front), bases_before(&seeds[i], front),
                                      <uint8_t>(seeds[i].length - front), <uint8_t>front)
            group[m] = i
            m += 1
        if m == GROUP or i == n - 1:
            lookup_group(index, wanted, found, m)
            for j in range(m):
                seeds[group[j]].lo, seeds[group[j]].count, seeds[group[j]].known = found[j].lo, found[j].hi - found[j].lo, 1
            m = 0


cdef inline int64_t count_of(const Seed *seed, int turns) noexcept nogil:
    """Occurrences of a seed, which stands there so many times."""
    cdef int64_t count = seed.count
    cdef int front
    for front in range(1, turns):
        count += seed[front].count
    return count


cdef bint lengthen_seeds(Seed *seeds, Py_ssize_t n, int turns, const uint32_t *caps) noexcept nogil:
    """Make seeds that occur too often longer to the right, to be looked up again; return whether there are any."""
    cdef Py_ssize_t i
    cdef int front
    cdef bint found = False
    for i from 0 <= i < n by turns:
        if count_of(&seeds[i], turns) > caps[seeds[i].length]:
            seeds[i].clipped = 1
            if seeds[i].room > seeds[i].length:
                found = True
                for front in range(turns):
                    seeds[i + front].length, seeds[i + front].count, seeds[i + front].known = seeds[i].room, 0, 0
    return found


cdef bint limit_occurrences(Seed *seeds, Py_ssize_t n, int turns, const uint32_t *caps, uint16_t *clipped,
                            int64_t *left) noexcept nogil:
    """Pass over the seeds of one read that occur too often; return whether there are any.

    If the read would be left with nothing at all, the rarest of them is looked at up to the cap. `left` gets the number of
    occurrences, `clipped` that of seeds of which not every one is looked at.
    """
    cdef Py_ssize_t i, j, rarest = -1
    cdef int64_t count, fewest = INT64_MAX, most
    clipped[0] = 0
    left[0] = 0
    for i from 0 <= i < n by 2 * turns:
        clipped[0] += seeds[i].clipped | seeds[i + turns].clipped
    for i from 0 <= i < n by turns:
        count = count_of(&seeds[i], turns)
        if count <= caps[seeds[i].length]:
            left[0] += count
        elif count < fewest:
            rarest, fewest = i, count
    if rarest < 0:
        return False
    if left[0]:
        rarest = -1
    for i from 0 <= i < n by turns:
        if count_of(&seeds[i], turns) > caps[seeds[i].length]:
            most = caps[seeds[i].length] if i == rarest else 0
            left[0] += most
            for j in range(i, i + turns):
                seeds[j].count = <uint32_t>min(<int64_t>seeds[j].count, most)
                most -= seeds[j].count
    return True


cdef class Seeds:
    """The seeds of one stage of a batch, read by read: first planned, then resolved, then limited.

    `index`: it is planned for the step, the k and the longest seed of this one.
    """

    def __cinit__(self, index):
        self.step, self.turns, self.k, self.longest = index.step, lookup_unit(index.step), index.k, index.longest_seed

    cdef int fill(self, const reads_t *reads, const uint32_t *active, Py_ssize_t a, const uint16_t *seed_length,
                  const uint16_t *seed_count, const uint16_t *seed_every) except -1 nogil:
        """Plan the seeds of `a` active reads, ascending, and forget those before. `seed_*`: by read length. The
        first seed of each read is taken and every `seed_every`-th after it."""
        cdef int64_t *start = <int64_t *>enlarged(&self.rooms[STARTS], (a + 1) * sizeof(int64_t))
        cdef Py_ssize_t i, m
        cdef uint32_t r
        cdef seed_plan_t plan
        cdef Seed *s
        self.n, self.n_reads, self.shortest, self.are_copied = 0, a, self.longest, False
        self.start = start
        self.first_key = <int64_t *>enlarged(&self.rooms[FIRSTS], (a + 1) * sizeof(int64_t))
        self.first_key[0] = self.first_key[a] = 0
        for i in range(a):
            start[i] = self.n
            m = reads.lengths[active[i]]
            self.n += 2 * self.turns * ((seed_count[m] + seed_every[m] - 1) // seed_every[m])
            if seed_count[m]:
                self.shortest = min(self.shortest, <int>seed_length[m])
        start[a] = self.n
        s = self.seeds = <Seed *>enlarged(&self.rooms[SEEDS], self.n * sizeof(Seed))
        for i in range(a):
            r = active[i]
            m = reads.lengths[r]
            plan = seed_plan_t(m, seed_length[m], seed_count[m], seed_every[m], self.step, self.k, reads.flip[r],
                               self.longest, reads.conversions[r] if reads.conversions != NULL else 0)
            s = plan_seeds(&plan, reads.planes.words, reads.plane_start[r], s)
        return 0

    def __dealloc__(self):
        cdef int i
        for i in range(N_ROOMS):
            free(self.rooms[i].p)

    cdef void look_up(self, const seed_index_t *view, const uint32_t *caps) noexcept nogil:
        """Look up all seeds in an index that is in one piece, and make those that occur too often longer."""
        resolve_seeds(view, self.seeds, self.n, 0, UINT64_MAX)
        while lengthen_seeds(self.seeds, self.n, self.turns, caps):
            resolve_seeds(view, self.seeds, self.n, 0, UINT64_MAX)

    cdef bint limit_read(self, Py_ssize_t i, const uint32_t *caps, uint16_t *clipped) noexcept nogil:
        """Apply the caps to active read i, which comes behind the one before.

        Tells of how many seeds not every occurrence is looked at, on one strand or both; returns whether one was passed
        over.
        """
        cdef int64_t left
        cdef bint capped = limit_occurrences(self.seeds + self.start[i], self.start[i + 1] - self.start[i], self.turns, caps,
                                             clipped, &left)
        self.first_key[i + 1] = self.first_key[i] + left
        return capped

    cdef Py_ssize_t put_keys(self, const seed_index_t *view, Py_ssize_t i, uint64_t kmer_from, uint64_t kmer_to,
                             uint64_t *keys) noexcept nogil:
        """Write a key for each occurrence of the seeds of active read i whose first k-mer is in the range.

        It has the canonical strand and the diagonal, as `place_key`, then 16 and 8 bits with the seed's offset and length.
        Returns how many belong to the first strand, which come before the others.
        """
        cdef const Seed *seeds = self.seeds + self.start[i]
        cdef Py_ssize_t n = self.start[i + 1] - self.start[i], j, first = 0
        cdef int strand, front, shift = trailing_zeros(self.turns)
        cdef uint32_t entry, next_entry, found, left
        cdef uint64_t low
        cdef uint64_t *to[2]
        for j in range(n):
            first += seeds[j].count if j >> shift & 1 == 0 else 0
        to[0], to[1] = keys, keys + first
        for j in range(n if view.p else 0):
            left, strand, front = seeds[j].count, j >> shift & 1, seeds[j].front
            if left and is_within(&seeds[j], view, kmer_from, kmer_to):
                low = (place_key(<uint32_t>strand, 0) - seeds[j].offset - front) << 24
                low |= <uint64_t>seeds[j].offset << 8 | seeds[j].length
                if front == 0:
                    for entry in range(left):
                        to[strand][entry] = low + (<uint64_t>view.positions[seeds[j].lo + entry] << shift << 24)
                    left = 0
                # The file may be overwritten meanwhile, so that nothing is found now.
                next_entry = seeds[j].lo
                while left and next_entry < view.p:
                    entry = next_entry
                    found = lookup_with_before(view, entry, view.p, bases_before(&seeds[j], front), front, &next_entry)
                    while found and left:
                        to[strand][seeds[j].count - left] = low + (
                            <uint64_t>view.positions[entry + trailing_zeros(found)] << shift << 24)
                        found &= found - 1
                        left -= 1
            to[strand] += seeds[j].count
        return first

    cdef int gather_read(self, const seed_index_t *view, Py_ssize_t i, read_t *read, AnchorBuffer out) except -1 nogil:
        """Add the anchors of active read i."""
        cdef Py_ssize_t n = self.first_key[i + 1] - self.first_key[i], first, j, at, span
        cdef uint64_t *keys
        cdef uint64_t *scratch
        cdef columns_t end
        if not self.are_copied:
            for j in range(self.start[min(i + READS_AHEAD, self.n_reads)], self.start[min(i + READS_AHEAD + 1, self.n_reads)]):
                if self.seeds[j].count:
                    # Where some of the entries have the front, all are read. 16 positions are a cache line.
                    span = min(<uint64_t>self.seeds[j].count << 2 * self.seeds[j].front, <uint64_t>GROUP)
                    for at from 0 <= at < span by 16:
                        prefetch(view.positions + self.seeds[j].lo + at)
                    prefetch(view.positions + self.seeds[j].lo + span - 1)
                    if self.seeds[j].front:
                        prefetch(<const uint8_t *>view.following + self.seeds[j].lo)
                        prefetch(<const uint8_t *>view.following + self.seeds[j].lo + span - 1)
        if n == 0:
            return 0
        keys = <uint64_t *>enlarged(&self.rooms[KEYS], n * sizeof(uint64_t))
        scratch = <uint64_t *>enlarged(&self.rooms[SORTING], n * sizeof(uint64_t))
        if self.are_copied:
            keys += self.first_key[i]
        # No seed begins in an empty range: parts of an index have written their keys before.
        first = self.put_keys(view, i, 0, 0 if self.are_copied else UINT64_MAX, keys)
        sort_keys(keys, scratch, first)
        sort_keys(keys + first, scratch, n - first)
        out.reserve(out.n + n)
        end = out.end()
        out.n += merge_anchors(keys, n, read, &end)
        return 0

    def resolve(self, index, uint64_t kmer_from, uint64_t kmer_to):
        """Look up the seeds whose first k-mer is in [kmer_from, kmer_to). `lengthen` follows once every k-mer had its turn."""
        cdef seed_index_t view = view_of(index)
        # A seed must not occur in two parts of an index, and at step 2 the index has one of its positions.
        if self.n and self.shortest < index.shortest_seed:
            raise ValueError(f"a seed of {self.shortest} bases in an index that takes {index.shortest_seed} or more")
        with nogil:
            resolve_seeds(&view, self.seeds, self.n, kmer_from, kmer_to)

    def lengthen(self, const uint32_t[::1] caps):
        """Make the seeds that occur more often than `caps` (uint32[index.longest_seed + 1]) says for their length longer.

        Returns whether there are any: they are to be looked up again. Then call this again.
        """
        cdef bint again
        with nogil:
            again = lengthen_seeds(self.seeds, self.n, self.turns, &caps[0])
        return again

    cdef void clipped_span(self, Py_ssize_t i, int64_t *first, int64_t *last) noexcept nogil:
        """Tell where the first and the last seed begin of which not every occurrence is looked at, in active read i as
        sequenced; -1 where there is none."""
        cdef Py_ssize_t j
        cdef int64_t at
        first[0] = last[0] = -1
        for j from self.start[i] <= j < self.start[i + 1] by 2 * self.turns:
            if self.seeds[j].clipped | self.seeds[j + self.turns].clipped:
                # Of the two strands of a seed the forward one.
                at = self.seeds[j + self.turns * self.seeds[j].reverse].offset
                first[0] = at if first[0] < 0 else min(first[0], at)
                last[0] = max(last[0], at)

    def copy_positions(self, index, uint64_t kmer_from, uint64_t kmer_to):
        """Copy the places of the seeds whose first k-mer is in [kmer_from, kmer_to) out of the index.

        When every range has been copied, `gather` no longer touches the index: so a part of it can be
        dropped from memory before the next one is read.
        """
        cdef seed_index_t view = view_of(index)
        cdef uint64_t *keys = <uint64_t *>enlarged(&self.rooms[KEYS], self.first_key[self.n_reads] * sizeof(uint64_t))
        cdef Py_ssize_t i
        self.are_copied = True
        with nogil:
            for i in range(self.n_reads):
                self.put_keys(&view, i, kmer_from, kmer_to, keys + self.first_key[i])


cdef reads_t reads_of(packed, const uint8_t[::1] flip) except *:
    """The view of `PackedReads` and their orientation, whose arrays must outlive it."""
    cdef const uint64_t[:, ::1] planes = packed.planes
    cdef const uint32_t[::1] plane_start = packed.plane_start, lengths = packed.lengths
    cdef const uint8_t[::1] conversions = packed.conversions
    cdef reads_t reads = reads_t(planes_of(planes), NULL, NULL, NULL, NULL, lengths.shape[0])
    if reads.n:
        reads.plane_start, reads.lengths, reads.flip = &plane_start[0], &lengths[0], &flip[0]
        reads.conversions = &conversions[0] if conversions.shape[0] else NULL
    return reads


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
