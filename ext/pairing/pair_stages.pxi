"""The search of pairs: mates help each other, so that a pair costs less than two reads.

docs/pipeline.md says how every stage goes on (Pairs). What must be true: the result of a pair depends on the pair, the
reference, the parameters and the insert sizes alone.
"""

cdef class PairStages(Stages):
    """Searches reads of which some are pairs, for the thread that it belongs to; made as `Stages` is.

    Attributes
    ----------
    rescued, pairs_ns : int
        Of the last search: bands scored around places of mates, and the time that it took to choose these.
    """

    cdef int64_t gaps
    cdef const uint8_t[::1] mate
    cdef uint32_t shortest          # mate that is looked for beside the other one
    cdef const int64_t[::1] borders
    cdef windows_t windows, wide    # `wide`: as gaps may move an alignment away from its seed
    cdef int most_places
    # Of each read its errors in the best concordant pair, the most where there are several; NO_SCORE: there is none.
    cdef uint16_t *paired
    cdef int64_t *starts            # of the places of each read, in ORDER
    cdef Py_ssize_t n_beside, n_keys
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
        self.mate, self.shortest, self.borders = pairs.mate, pairs.shortest, pairs.borders
        self.windows, self.wide = windows_of(pairs.insert), windows_of(pairs.insert, self.gaps)
        self.most_places = most_places
        self.rescued = self.pairs_ns = 0

    # --- one block ---------------------------------------------------------------------------------------------------

    cdef int run_block(self, uint32_t first, uint32_t stop) except -1 nogil:
        """Of whole pairs: a last mate belongs to the block of the first one."""
        cdef Py_ssize_t n
        first += self.mate[first] == 2
        if stop < self.reads.n:
            stop += self.mate[stop] == 2
        n = stop - first
        self.first, self.stop, self.n_beside = first, stop, 0
        self.paired = <uint16_t *>enlarged(&self.rooms[MATES], n * sizeof(uint16_t)) - first
        memset(self.paired + first, 0xff, n * sizeof(uint16_t))  # NO_SCORE
        return Stages.run_block(self, first, stop)

    cdef double missed(self, int stage, uint32_t r) noexcept nogil:
        """Where neither of two mates has a place, the share is at most that of both together."""
        cdef uint32_t other
        if self.mate[r]:
            other = partner_of(&self.mate[0], r)
            if self.states.best[other] == NO_SCORE:
                return (self.lost[1, stage, self.reads.lengths[r]]
                        * self.lost[1, stage, self.reads.lengths[other]])
        return Stages.missed(self, stage, r)

    cdef bint is_doubtful(self, uint32_t r, const uint16_t *second) except -1 nogil:
        """Of mates with a concordant place whether copies of both together may be."""
        cdef uint32_t other = partner_of(&self.mate[0], r)
        if self.paired[r] == NO_SCORE:
            return Stages.is_doubtful(self, r, second)
        return (second[r] > self.states.best[r] or second[other] > self.states.best[other]) and self.copies.may_be_unseen(
            &self.reads, &self.states, r, self.paired[r], second[r] != NO_SCORE, other, self.paired[other],
            second[other] != NO_SCORE)

    cdef int run_stage(self, int stage, Py_ssize_t a) except -1 nogil:
        """As of single reads; then mates are looked for beside each other."""
        Stages.run_stage(self, stage, a)
        self.pair_up()
        if self.rescue():
            self.pair_up()
        return 0

    # --- places ------------------------------------------------------------------------------------------------------

    cdef int pair_up(self) except -1 nogil:
        """Find the concordant places of all pairs, and with how many errors the best ones are.

        BESIDE has of each place of the block the errors of the mate's best one in its window, 0 once the mate has been
        looked for there. Those of a read are at ORDER[starts[r]] .. ORDER[starts[r + 1] - 1], as found.
        """
        cdef Py_ssize_t n = self.n_places - self.before, reads = self.stop - self.first
        cdef const place_t *places = <const place_t *>enlarged(
            &self.rooms[PLACES], self.n_places * sizeof(place_t)) + self.before
        cdef uint32_t *order = <uint32_t *>enlarged(&self.rooms[ORDER], n * sizeof(uint32_t))
        cdef uint16_t *beside = <uint16_t *>enlarged(&self.rooms[BESIDE], n * sizeof(uint16_t))
        cdef uint32_t r
        cdef int64_t began = now()
        memset(beside + self.n_beside, 0xff, (n - self.n_beside) * sizeof(uint16_t))  # NO_SCORE
        self.n_beside = n
        self.starts = <int64_t *>enlarged(&self.rooms[PLACED_STARTS], (reads + 2) * sizeof(int64_t))
        order_by_read(places, n, self.first, reads, self.starts, order)
        self.starts -= self.first
        for r in range(self.first, self.stop):
            if self.mate[r] == 1 and self.starts[r] < self.starts[r + 1] < self.starts[r + 2]:
                self.pair_mates(r, places, beside)
        self.pairs_ns += now() - began
        return 0

    cdef int pair_mates(self, uint32_t r, const place_t *places, uint16_t *beside) except -1 nogil:
        """The concordant places of a first mate and the last one."""
        cdef const uint32_t *own = <const uint32_t *>self.rooms[ORDER].p + self.starts[r]
        cdef const uint32_t *other = <const uint32_t *>self.rooms[ORDER].p + self.starts[r + 1]
        cdef Py_ssize_t n = self.starts[r + 2] - self.starts[r + 1], i, j, k, at
        cdef uint64_t *keys = <uint64_t *>enlarged(&self.rooms[SORTING], 2 * n * sizeof(uint64_t))
        cdef uint16_t *paired = &self.paired[r]
        cdef const place_t *a
        cdef const place_t *b
        cdef beside_t near
        cdef uint32_t least = 2 * NO_SCORE, errors
        for j in range(n):
            b = &places[other[j]]
            keys[j] = place_key(b.read_strand & 1, b.first + b.end) << KEY_ROW_BITS | <uint64_t>j
        sort_keys(keys, keys + n, n)
        for i in range(self.starts[r + 1] - self.starts[r]):
            a = &places[own[i]]
            for k in range(self.windows.n):
                near = self.beside(&self.windows.each[k], a)
                j = first_from(keys, n, place_key(near.strand, near.low) << KEY_ROW_BITS)
                while j < n and keys[j] >> KEY_ROW_BITS <= place_key(near.strand, near.high):
                    at = other[keys[j] & KEY_ROW_MASK]
                    b = &places[at]
                    beside[own[i]], beside[at] = min(beside[own[i]], b.edits), min(beside[at], a.edits)
                    errors = <uint32_t>a.edits + b.edits
                    if errors < least:
                        least, paired[0], paired[1] = errors, a.edits, b.edits
                    elif errors == least:
                        paired[0], paired[1] = max(paired[0], a.edits), max(paired[1], b.edits)
                    j += 1
        return 0

    cdef beside_t beside(self, const window_t *w, const place_t *place) noexcept nogil:
        """Where the mate may lie in a window beside a place."""
        cdef uint32_t r = place.read_strand >> 1
        return beside(w, &self.borders[0], self.borders.shape[0] - 1, place.read_strand & 1, self.mate[r] == 1,
                      self.reads.lengths[r], self.reads.lengths[partner_of(&self.mate[0], r)], place.first + place.end)

    cdef bint rescue(self) except -1 nogil:
        """Score the bands in which the mates of the best places may lie, in the pairs that take part in this stage. In
        those alone: whether a stage is run at all depends on the rest of the block. Returns whether there are any."""
        cdef const uint8_t *goes_on = <const uint8_t *>self.rooms[GOES_ON].p - self.first
        cdef uint32_t r, other
        cdef Py_ssize_t i
        cdef buckets_t fresh
        cdef int64_t began = now()
        self.merge_seen(self.first, self.stop)
        self.n_keys = 0
        for r in range(self.first, self.stop):
            other = partner_of(&self.mate[0], r)
            if (self.mate[r] and self.reads.lengths[r] >= self.shortest and (goes_on[r] or goes_on[other])
                    and self.states.best[other] != NO_SCORE):
                self.look_around(other, r)
        self.seen.fresh, self.seen.n_fresh = <uint64_t *>self.rooms[KEYS].p, self.n_keys
        self.rooms[KEYS], self.rooms[SEEN_FRESH] = self.rooms[SEEN_FRESH], self.rooms[KEYS]
        fresh.n = self.n_keys
        fresh.read_strand = <uint32_t *>enlarged(&self.rooms[SORTING], 2 * fresh.n * sizeof(uint32_t))
        fresh.bucket = fresh.read_strand + fresh.n
        for i in range(fresh.n):
            fresh.read_strand[i] = strand_of_key(self.seen.fresh[i])
            fresh.bucket[i] = <uint32_t>place_of_key(self.seen.fresh[i])
        self.pairs_ns += now() - began
        self.rescued += fresh.n
        # Nearly all hold other bases, and show it in their first rows.
        self.score(&fresh, self.states.limit)
        return fresh.n > 0

    cdef int look_around(self, uint32_t guide, uint32_t r) except -1 nogil:
        """Add the buckets that were not seen in which read r may lie, beside its mate's best places, to KEYS. No place is
        looked around twice, nor where one of the read's best places has been found, and none beyond the ends of its contig."""
        cdef const place_t *places = <const place_t *>self.rooms[PLACES].p + self.before
        cdef const uint32_t *order = <const uint32_t *>self.rooms[ORDER].p
        cdef uint16_t *beside = <uint16_t *>self.rooms[BESIDE].p
        cdef const int64_t *start = <const int64_t *>self.rooms[SEEN_STARTS].p - self.first
        cdef const uint64_t *seen = self.seen.keys + start[r]
        cdef Py_ssize_t known = start[r + 1] - start[r], n, i, j, at, within = 0
        cdef int own = min(self.states.best[r], NO_SCORE - 1)
        cdef beside_t near
        cdef uint64_t *keys
        for i in range(self.starts[guide], self.starts[guide + 1]):
            within += places[order[i]].edits == self.states.best[guide]
        if within > self.most_places:
            return 0
        n = self.n_keys
        for i in range(self.starts[guide], self.starts[guide + 1]):
            if places[order[i]].edits > self.states.best[guide] or beside[order[i]] <= own:
                continue
            beside[order[i]] = 0
            for j in range(self.wide.n):
                near = self.beside(&self.wide.each[j], &places[order[i]])
                keys = <uint64_t *>enlarged(&self.rooms[KEYS], (n + near.high - near.low + 2) * sizeof(uint64_t))
                for at in range(near.low >> self.shift, (near.high >> self.shift) + (near.low <= near.high)):
                    keys[n] = place_key(2 * r + near.strand, at)
                    n += 1
        if n == self.n_keys:
            return 0
        sort_keys(keys + self.n_keys, <uint64_t *>enlarged(&self.rooms[SORTING], n * sizeof(uint64_t)), n - self.n_keys)
        j, at = self.n_keys, 0
        for i in range(self.n_keys, n):
            while at < known and seen[at] < keys[i]:
                at += 1
            if (at == known or seen[at] != keys[i]) and (j == self.n_keys or keys[j - 1] != keys[i]):
                keys[j] = keys[i]
                j += 1
        self.n_keys = j
        return 0
