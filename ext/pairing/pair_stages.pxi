"""The search of pairs: mates help each other, so that a pair costs less than two reads.

docs/pipeline.md says how every stage goes on (Pairs). What must be true: the result of a pair depends on the pair, the
reference, the parameters and the insert sizes alone.
"""

cdef struct placed_t:
    uint64_t key       # place_key(read_strand, end)
    uint16_t edits
    uint16_t beside    # errors of the mate's best place in its window; 0 once the mate has been looked for there


cdef struct mate_t:
    # What is known of a read and its mate.
    uint32_t least      # errors in all of the best concordant pair, at its first mate
    uint16_t paired     # errors of the read in it, the most where there are several; NO_SCORE: there is none
    uint8_t is_open     # the pair is not settled


cdef class PairStages(Stages):
    """Searches reads of which some are pairs, for the thread that it belongs to; made as `Stages` is.

    Attributes
    ----------
    rescued, pairs_ns : int
        Of the last search: bands scored around places of mates, and the time that it took to choose these and to settle
        pairs.
    """

    cdef int64_t gaps
    cdef const uint8_t[::1] mate, rescuable
    cdef const int64_t[::1] borders
    cdef windows_t windows, wide    # `wide`: as gaps may move an alignment away from its seed
    cdef int most_places
    cdef uint32_t stop              # of the block
    cdef mate_t *mates              # by read
    cdef placed_t *placed           # the places of the block, sorted
    cdef int64_t *starts            # of those of each read and strand
    cdef Py_ssize_t n_placed, n_keys
    cdef readonly int64_t rescued, pairs_ns

    def __cinit__(self, index, lookup, cascade, plan, int margin, str instruction_set):
        self.gaps = plan.gaps

    def open_pairs(self, pairs, int most_places):
        """Say how mates lie.

        Parameters
        ----------
        pairs : search.context.PairContext
        most_places : int
            A read with more places as good as its best is no guide to its mate.
        """
        self.mate, self.rescuable, self.borders = pairs.mate, pairs.rescuable, pairs.borders
        self.windows, self.wide = windows_of(pairs.insert), windows_of(pairs.insert, self.gaps)
        self.most_places = most_places
        self.rescued = self.pairs_ns = 0

    cdef int take_stage(self, found) except -1:
        """Places, and keys of the buckets scored and of the diagonals rejected, each in the order of the reads."""
        cdef uint64_t[::1] scored = found.scored, rejected = found.rejected
        cdef Py_ssize_t before = self.n_places
        Stages.take_stage(self, found)
        self.scored.fresh, self.scored.n_fresh = &scored[0] if scored.shape[0] else NULL, scored.shape[0]
        self.rejected.fresh, self.rejected.n_fresh = &rejected[0] if rejected.shape[0] else NULL, rejected.shape[0]
        return self.note_places(before)

    # --- one block ---------------------------------------------------------------------------------------------------

    cdef int run_block(self, uint32_t first, uint32_t stop) except -1 nogil:
        """Of whole pairs: a last mate belongs to the block of the first one."""
        cdef Py_ssize_t n
        cdef uint32_t r
        first += self.mate[first] == 2
        if stop < self.reads.n:
            stop += self.mate[stop] == 2
        n = stop - first
        self.first, self.stop, self.n_placed = first, stop, 0
        self.mates = <mate_t *>enlarged(&self.rooms[MATES], n * sizeof(mate_t)) - first
        for r in range(first, stop):
            self.mates[r] = mate_t(2 * NO_SCORE, NO_SCORE, True)
        self.starts = <int64_t *>enlarged(&self.rooms[PLACED_STARTS], (2 * n + 1) * sizeof(int64_t))
        memset(self.starts, 0, (2 * n + 1) * sizeof(int64_t))
        self.starts -= 2 * first
        return Stages.run_block(self, first, stop)

    cdef double missed(self, int stage, uint32_t r) noexcept nogil:
        """Where neither of two mates has a place, the share is at most that of both together."""
        cdef uint32_t other
        if self.mate[r]:
            other = self.other(r)
            if self.states.best[other] == NO_SCORE:
                return (self.lost[1, stage, self.reads.lengths[r]]
                        * self.lost[1, stage, self.reads.lengths[other]])
        return Stages.missed(self, stage, r)

    cdef Py_ssize_t unsettled(self, int stage, uint32_t first, uint32_t stop) except -1 nogil:
        """Without the reads of settled pairs. A mate that its partner cannot find takes all stages, as a single read."""
        cdef Py_ssize_t a = Stages.unsettled(self, stage, first, stop), i, n = 0
        cdef uint32_t *active = <uint32_t *>self.rooms[ACTIVE].p
        cdef uint8_t *goes_on = <uint8_t *>self.rooms[GOES_ON].p
        for i in range(a):
            goes_on[active[i] - first] = self.mates[active[i]].is_open
            active[n] = active[i]
            n += self.mates[active[i]].is_open
        return n

    cdef bint is_doubtful(self, uint32_t r, const uint16_t *second) except -1 nogil:
        """Of mates with a concordant place whether copies of both together may be."""
        cdef uint32_t other = self.other(r)
        if self.mates[r].paired == NO_SCORE:
            return Stages.is_doubtful(self, r, second)
        return (second[r] > self.states.best[r] or second[other] > self.states.best[other]) and self.copies.may_be_unseen(
            &self.reads, &self.states, r, self.mates[r].paired, second[r] != NO_SCORE, other, self.mates[other].paired,
            second[other] != NO_SCORE)

    cdef int run_stage(self, int stage, Py_ssize_t a) except -1 nogil:
        """As of single reads; then mates are looked for beside each other."""
        cdef const uint32_t *active = <const uint32_t *>self.rooms[ACTIVE].p
        cdef Py_ssize_t i
        for i in range(a if stage == self.stages else 0):
            self.mates[active[i]].is_open = True
        Stages.run_stage(self, stage, a)
        self.rescue()
        self.settle()
        return 0

    # --- places ------------------------------------------------------------------------------------------------------

    cdef int note_places(self, Py_ssize_t before) except -1 nogil:
        """Put new places among those known, and pair them up."""
        cdef const place_t *places = <const place_t *>self.rooms[PLACES].p
        cdef Py_ssize_t n = self.n_places - before, k = 0, i, j
        cdef placed_t *new
        cdef Py_ssize_t *at
        cdef uint64_t key
        cdef uint32_t read
        cdef int64_t began = now()
        if n == 0:
            return 0
        new = <placed_t *>enlarged(&self.rooms[ADDED], n * (sizeof(placed_t) + sizeof(Py_ssize_t)))
        at = <Py_ssize_t *>(new + n)
        for i in range(before, before + n):
            read = places[i].read_strand >> 1
            if not self.mate[read]:
                continue
            key = place_key(places[i].read_strand, places[i].first + places[i].end + self.reads.lengths[read])
            j = k
            while j > 0 and new[j - 1].key > key:  # nearly in order, as bands are
                new[j] = new[j - 1]
                j -= 1
            new[j] = placed_t(key, places[i].edits, NO_SCORE)
            k += 1
        self.placed = <placed_t *>enlarged(&self.rooms[PLACED], (self.n_placed + k) * sizeof(placed_t))
        self.merge_places(new, k, at)
        for i in range(k):
            for j in range(self.windows.n):
                self.pair_up(&self.windows.each[j], &self.placed[at[i]])
        self.pairs_ns += now() - began
        self.effort.score_ns -= now() - began
        return 0

    cdef void merge_places(self, const placed_t *fresh, Py_ssize_t k, Py_ssize_t *at) noexcept nogil:
        """Put new places, sorted, among the old ones, from the last backwards; `at`: where they are then."""
        cdef Py_ssize_t i = self.n_placed, j = 2 * self.first + 1, new = k, behind
        self.n_placed += k
        while new:
            behind = self.starts[strand_of_key(fresh[new - 1].key) + 1]
            if i > behind:  # those of later strands
                memmove(&self.placed[behind + new], &self.placed[behind], (i - behind) * sizeof(placed_t))
                i = behind
            if i > 0 and self.placed[i - 1].key > fresh[new - 1].key:
                i -= 1
                self.placed[i + new] = self.placed[i]
            else:
                new -= 1
                at[new] = i + new
                self.placed[i + new] = fresh[new]
        for new in range(k + 1):
            behind = <Py_ssize_t>strand_of_key(fresh[new].key) + 1 if new < k else 2 * self.stop + 1
            while j < behind:
                self.starts[j] += new
                j += 1

    cdef uint32_t other(self, uint32_t read) noexcept nogil:
        return partner_of(&self.mate[0], read)

    cdef uint32_t other_strand(self, const window_t *w, const placed_t *place) noexcept nogil:
        """`read_strand` of the mate in a concordant pair."""
        return self.other(strand_of_key(place.key) >> 1) << 1 | partner_strand(w, strand_of_key(place.key) & 1)

    cdef void partners(self, const window_t *w, const placed_t *place, int64_t *lo, int64_t *hi) noexcept nogil:
        """Diagonals of the mate within the window of a place and on its contig."""
        cdef uint32_t read = strand_of_key(place.key) >> 1
        cdef int64_t own = self.reads.lengths[read], length = self.reads.lengths[self.other(read)]
        cdef int64_t diagonal = diagonal_of(place, own)
        cdef Py_ssize_t contig
        partner_window(w, leads(w, strand_of_key(place.key) & 1, self.mate[read] == 1), own, length, diagonal, lo, hi)
        contig = contigs_before(&self.borders[0], self.borders.shape[0], diagonal + (own >> 1)) - 1
        contig = min(max(contig, 0), self.borders.shape[0] - 2)
        lo[0] = max(lo[0], self.borders[contig] - (length >> 1))
        hi[0] = min(hi[0], self.borders[contig + 1] - 1 - (length >> 1))

    cdef void pair_up(self, const window_t *w, placed_t *place) noexcept nogil:
        cdef uint32_t read = strand_of_key(place.key) >> 1, other = self.other(read), run = self.other_strand(w, place)
        cdef uint32_t *least = &self.mates[min(read, other)].least
        cdef mate_t *own = &self.mates[read]
        cdef mate_t *its = &self.mates[other]
        cdef uint32_t errors
        cdef Py_ssize_t i, end
        cdef int64_t lo, hi, length = self.reads.lengths[other]
        self.partners(w, place, &lo, &hi)
        i, end = self.first_place(run, lo, length), self.starts[run + 1]
        while i < end and diagonal_of(&self.placed[i], length) <= hi:
            place.beside = min(place.beside, self.placed[i].edits)
            self.placed[i].beside = min(self.placed[i].beside, place.edits)
            errors = <uint32_t>place.edits + self.placed[i].edits
            if errors < least[0]:
                least[0], own.paired, its.paired = errors, place.edits, self.placed[i].edits
            elif errors == least[0]:
                own.paired, its.paired = max(own.paired, place.edits), max(its.paired, self.placed[i].edits)
            i += 1

    cdef Py_ssize_t first_place(self, uint32_t run, int64_t diagonal, int64_t length) noexcept nogil:
        """The first of the places of a read and strand from this diagonal on."""
        cdef Py_ssize_t i = self.starts[run], end = self.starts[run + 1], mid
        while i < end:
            mid = (i + end) >> 1
            if diagonal_of(&self.placed[mid], length) < diagonal:
                i = mid + 1
            else:
                end = mid
        return i

    # --- pairs -------------------------------------------------------------------------------------------------------

    cdef int rescue(self) except -1 nogil:
        """Score the bands in which the mates of the best places may lie, in the pairs that take part in this stage. In
        those alone: whether a stage is run at all depends on the rest of the block."""
        cdef const uint8_t *goes_on = <const uint8_t *>self.rooms[GOES_ON].p - self.first
        cdef uint32_t r
        cdef int64_t began = now(), before = self.effort.scored
        self.n_keys = 0
        for r in range(self.first, self.stop):
            if (self.mate[r] and self.mates[r].is_open and self.rescuable[self.reads.lengths[self.other(r)]]
                    and (goes_on[r] or goes_on[self.other(r)]) and self.states.best[r] != NO_SCORE):
                self.look_around(r)
        self.pairs_ns += now() - began
        self.score_fresh()
        self.rescued += self.effort.scored - before
        return 0

    cdef int score_fresh(self) except -1 nogil:
        """Score those of the buckets in KEYS that were not scored before, in order."""
        cdef Py_ssize_t k = self.n_keys, n = 0, i, in_scored = 0, in_stage = 0, n_stage = self.scored.n_fresh
        cdef Py_ssize_t n_scored = (<const int64_t *>self.rooms[SCORED_STARTS].p)[self.stop - self.first]
        cdef uint64_t *keys = <uint64_t *>self.rooms[KEYS].p
        cdef uint64_t *of_stage = self.scored.fresh
        cdef uint64_t *sorting
        cdef buckets_t fresh
        cdef int64_t began = now()
        if k == 0:
            return 0
        sorting = <uint64_t *>enlarged(&self.rooms[SORTING], max(k, n_stage) * sizeof(uint64_t))
        sort_nearly(keys, sorting, k)
        sort_nearly(of_stage, sorting, n_stage)
        for i in range(k):
            if i and keys[i] == keys[i - 1]:
                continue
            in_scored = next_from(self.scored.keys, n_scored, in_scored, keys[i])
            in_stage = next_from(of_stage, n_stage, in_stage, keys[i])
            if (in_scored == n_scored or self.scored.keys[in_scored] != keys[i]) and (
                    in_stage == n_stage or of_stage[in_stage] != keys[i]):
                keys[n] = keys[i]
                n += 1
        enlarged(&self.rooms[MERGED], (n_stage + n) * sizeof(uint64_t))
        self.scored.n_fresh = merge(of_stage, n_stage, keys, n, <uint64_t *>self.rooms[MERGED].p)
        self.rooms[SCORED_FRESH], self.rooms[MERGED] = self.rooms[MERGED], self.rooms[SCORED_FRESH]
        self.scored.fresh = <uint64_t *>self.rooms[SCORED_FRESH].p
        fresh.read_strand = <uint32_t *>enlarged(&self.rooms[SORTING], 2 * n * sizeof(uint32_t))
        fresh.bucket, fresh.n = fresh.read_strand + n, n
        for i in range(n):
            fresh.read_strand[i], fresh.bucket[i] = strand_of_key(keys[i]), <uint32_t>place_of_key(keys[i])
        self.effort.candidates_ns += now() - began
        # Nearly all hold other bases, and show it in their first rows.
        return self.score(&fresh, self.states.limit)

    cdef int look_around(self, uint32_t read) except -1 nogil:
        """The buckets in which the mate may lie, beside a read's best places. No place is looked around twice, nor where
        one of the mate's best places has been found, and none beyond the ends of its contig."""
        cdef int best = self.states.best[read], its = min(self.states.best[self.other(read)], NO_SCORE - 1), within = 0
        cdef int64_t lo, hi, b
        cdef Py_ssize_t i, j
        cdef placed_t *place
        cdef uint64_t *keys
        for i in range(self.starts[2 * read], self.starts[2 * read + 2]):
            within += self.placed[i].edits == best
        if within > self.most_places:
            return 0
        for i in range(self.starts[2 * read], self.starts[2 * read + 2]):
            place = &self.placed[i]
            if place.edits > best or place.beside <= its:
                continue
            place.beside = 0
            for j in range(self.wide.n):
                self.partners(&self.wide.each[j], place, &lo, &hi)
                lo = max(lo, 0)
                keys = <uint64_t *>enlarged(&self.rooms[KEYS], (self.n_keys + max(hi - lo, 0) + 2) * sizeof(uint64_t))
                for b in range(lo >> self.shift, (hi >> self.shift) + 1 if lo <= hi else 0):
                    keys[self.n_keys] = place_key(self.other_strand(&self.wide.each[j], place), <uint32_t>b)
                    self.n_keys += 1
        return 0

    cdef void settle(self) noexcept nogil:
        """Close the pairs of which both mates are settled at their concordant places. One is not enough: it is
        looked for beside the best places of the other alone."""
        cdef uint32_t r
        cdef mate_t *first
        cdef int64_t began = now()
        for r in range(self.first, self.stop):
            first = &self.mates[r]
            if self.mate[r] == 1 and first.is_open and first.paired != NO_SCORE and (
                    self.is_settled(r) and self.is_settled(r + 1)):
                first.is_open = self.mates[r + 1].is_open = False
        self.pairs_ns += now() - began

    cdef bint is_settled(self, uint32_t read) noexcept nogil:
        """Whether a read with as many errors as in its pair needs no stage behind the last one in which it was looked up."""
        cdef int stage = 63 - leading_zeros(2 * <uint64_t>self.states.looked[read] + 1)  # behind the last one
        return not self.states.capped[read] and stage < self.stages and (
            self.mates[read].paired <= self.settled[stage, self.reads.lengths[read]])


cdef inline int64_t diagonal_of(const placed_t *place, int64_t length) noexcept nogil:
    return place_of_key(place.key) - length


cdef inline Py_ssize_t next_from(const uint64_t *keys, Py_ssize_t n, Py_ssize_t i, uint64_t key) noexcept nogil:
    """The first of sorted keys that is not below `key`; those before i are. In ever longer steps, then by halves."""
    cdef Py_ssize_t step = 1
    while i + step < n and keys[i + step] < key:
        i += step
        step *= 2
    return i + <Py_ssize_t>first_from(keys + i, min(i + step, n) - i, key) if i < n else n
