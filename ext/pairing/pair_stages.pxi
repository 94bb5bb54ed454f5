"""The search of pairs: mates help each other, so that a pair costs less than two reads.

docs/pipeline.md says how every stage goes on (Pairs). What must be true: the result of a pair depends on the pair, the
reference, the parameters and the insert sizes alone.
"""

cdef enum:
    NO_READ = 0xffffffff


cdef struct placed_t:
    uint64_t key       # place_key(read_strand, end)
    uint16_t edits
    uint8_t rescued    # the mate has been found, or looked for, in its window


cdef struct mate_t:
    # What is known of a read and its mate.
    uint32_t least      # errors in all of the best concordant pair, at its first mate
    uint16_t paired     # errors of the read in it, the most where there are several; NO_SCORE: there is none
    uint8_t is_open     # the pair is not settled
    uint8_t looked_row  # of `PairContext.missed`
    uint8_t unguided    # it has so many places that its mate was not looked for around them


cdef struct run_t:
    # Anchors of one read and strand, sorted by diagonal.
    const coordinate_t *diagonal
    uint8_t *near           # what is marked
    Py_ssize_t size
    int64_t length          # of the read


cdef class PairStages(Stages):
    """Searches reads of which some are pairs, for the thread that it belongs to; made as `Stages` is.

    Attributes
    ----------
    rescued, pairs_ns : int
        Of the last search: bands scored around places of mates, and the time that it took to choose these, to look for
        candidates near their mates, and to settle pairs.
    """

    cdef int64_t gaps
    cdef const uint8_t[::1] mate, rescuable
    cdef const int64_t[::1] borders
    cdef const double[:, :, ::1] missed_after
    cdef windows_t windows, wide    # `wide`: as gaps may move an alignment away from its seed
    cdef int most_places
    cdef double pair_missed
    cdef uint32_t stop              # of the block
    cdef mate_t *mates              # by read
    cdef placed_t *placed           # the places of the block, sorted
    cdef int64_t *starts            # of those of each read and strand
    cdef Py_ssize_t n_placed, n_keys, n_tried
    cdef AnchorBuffer chosen
    cdef readonly int64_t rescued, pairs_ns

    def __cinit__(self, index, lookup, cascade, plan, int margin, str instruction_set):
        self.gaps, self.pair_missed = plan.gaps, plan.preset.pair_missed
        self.chosen = AnchorBuffer()

    def open_pairs(self, pairs, int most_places):
        """Say how mates lie.

        Parameters
        ----------
        pairs : search.context.PairContext
        most_places : int
            A read with more places as good as its best is no guide to its mate.
        """
        self.mate, self.rescuable, self.borders, self.missed_after = pairs.mate, pairs.rescuable, pairs.borders, pairs.missed
        self.windows, self.wide = windows_of(pairs.insert), windows_of(pairs.insert, self.gaps)
        self.most_places = most_places
        self.rescued = self.pairs_ns = 0

    # --- one block ---------------------------------------------------------------------------------------------------

    cdef int run_block(self, uint32_t first, uint32_t stop) except -1 nogil:
        """Of whole pairs: a last mate belongs to the block of the first one."""
        cdef Py_ssize_t n
        cdef uint32_t r
        first += self.mate[first] == 2
        if stop < self.reads.n:
            stop += self.mate[stop] == 2
        n = stop - first
        self.first, self.stop, self.n_placed, self.n_keys, self.n_tried = first, stop, 0, 0, 0
        self.mates = <mate_t *>enlarged(&self.rooms[MATES], n * sizeof(mate_t)) - first
        for r in range(first, stop):
            self.mates[r] = mate_t(2 * NO_SCORE, NO_SCORE, True, 0, False)
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
        cdef const uint32_t *active = <const uint32_t *>self.rooms[ACTIVE].p
        cdef const uint32_t *read_strand
        cdef uint8_t *near
        cdef uint8_t *chosen
        cdef Py_ssize_t n, i, rejected
        cdef int64_t began = now(), t
        self.n_tried = 0
        self.look_up(stage, a)
        t = now()
        self.effort.seeds_ns += t - began
        self.gather(a)
        self.effort.candidates_ns += now() - t
        n = self.anchors.n
        read_strand = self.anchors.columns.read_strand
        self.effort.candidates += n
        for i in range(a):
            if stage < self.stages:
                self.mates[active[i]].looked_row = <uint8_t>(stage + 1)
            else:
                self.mates[active[i]].is_open = True
        near = <uint8_t *>enlarged(&self.rooms[NEAR], 2 * n)
        chosen = near + n
        memset(near, 0, n)
        if self.mark_near_mates(a, near):
            self.score_best_supported(a, near)
            self.verify(a, near)
        if stage < self.stages:
            self.settle(False)
        for i in range(n):
            chosen[i] = self.mates[read_strand[i] >> 1].is_open and not near[i]
        self.score_best_supported(a, chosen)
        self.rescue()
        rejected = self.rejected.n_fresh
        self.verify(a, chosen)
        if 0 < rejected < self.rejected.n_fresh:  # twice from the first read to the last
            rejected = self.rejected.n_fresh
            sort_keys(self.rejected.fresh, <uint64_t *>enlarged(&self.rooms[SORTING], 8 * rejected), rejected)
        self.rescue()
        self.settle(True)
        self.scored.fresh, self.scored.n_fresh = <uint64_t *>self.rooms[TRIED].p, self.n_tried
        return 0

    # --- candidates --------------------------------------------------------------------------------------------------

    cdef bint mark_near_mates(self, Py_ssize_t a, uint8_t *near) noexcept nogil:
        """Mark the anchors with an anchor of the mate in the window of the template length; returns whether any is."""
        cdef const uint32_t *active = <const uint32_t *>self.rooms[ACTIVE].p
        cdef const int64_t *start = <const int64_t *>self.rooms[STARTS].p
        cdef const uint32_t *read_strand = self.anchors.columns.read_strand
        cdef const uint8_t *flip = self.reads.flip
        cdef const coordinate_t *diagonal = self.anchors.columns.diagonal
        cdef int64_t bounds[2][3]  # of both mates: where the canonical strands begin and end
        cdef run_t own, other
        cdef const window_t *w
        cdef Py_ssize_t i, j
        cdef int strand
        cdef uint32_t read
        cdef bint found = False
        cdef int64_t began = now()
        for i in range(a - 1):
            read = active[i]
            if self.mate[read] != 1 or active[i + 1] != read + 1:
                continue
            if start[i] == start[i + 1] or start[i + 1] == start[i + 2]:
                continue
            for j in range(2):
                bounds[j][0], bounds[j][2] = start[i + j], start[i + j + 1]
                bounds[j][1] = bounds[j][0]
                while bounds[j][1] < bounds[j][2] and (read_strand[bounds[j][1]] & 1) == flip[read + j]:
                    bounds[j][1] += 1
            for strand in range(2):
                own = run_on_strand(diagonal, near, &bounds[0][strand ^ flip[read]], self.reads.lengths[read])
                for j in range(self.wide.n):
                    w = &self.wide.each[j]
                    other = run_on_strand(diagonal, near, &bounds[1][partner_strand(w, strand) ^ flip[read + 1]],
                                          self.reads.lengths[read + 1])
                    found |= mark_near(w, leads(w, strand, True), &own, &other)
        self.pairs_ns += now() - began
        return found

    cdef int score_best_supported(self, Py_ssize_t a, const uint8_t *chosen) except -1 nogil:
        """Score the best supported bucket of every read among the chosen anchors, which stay in BUCKETS by read."""
        cdef const int64_t *start = <const int64_t *>self.rooms[STARTS].p
        cdef uint32_t *read_strand = <uint32_t *>enlarged(&self.rooms[BUCKETS], 2 * a * sizeof(uint32_t))
        cdef columns_t anchors = self.anchors.columns
        cdef Py_ssize_t i
        cdef int64_t began = now()
        for i in range(a):
            if best_bucket(&anchors, chosen, start[i], start[i + 1], self.shift, read_strand + i, read_strand + a + i):
                self.add_key(read_strand[i], read_strand[a + i])
            else:
                read_strand[i] = NO_READ
        self.effort.candidates_ns += now() - began
        return self.score_fresh(NULL)

    cdef int verify(self, Py_ssize_t a, const uint8_t *chosen) except -1 nogil:
        """Filter the chosen anchors and score the buckets of those that pass.

        Anchors in the best supported buckets, which are scored, are left out: a filter would look at most of their
        read.
        """
        cdef const int64_t *start = <const int64_t *>self.rooms[STARTS].p
        cdef const uint32_t *top = <const uint32_t *>self.rooms[BUCKETS].p
        cdef columns_t anchors = self.anchors.columns, here, there
        cdef buckets_t none = buckets_t(NULL, NULL, 0), found
        cdef Py_ssize_t n = 0, i, j
        cdef int64_t began = now()
        self.chosen.reserve(self.anchors.n)
        self.kept.reserve(self.anchors.n)
        here, there = self.chosen.columns, self.kept.columns
        for i in range(a):
            for j in range(start[i], start[i + 1]):
                if chosen[j] and not (anchors.read_strand[j] == top[i] and anchors.diagonal[j] >> self.shift == top[a + i]):
                    put_anchor(&here, n, anchors.read_strand[j], anchors.diagonal[j], anchors.offset[j], anchors.length[j])
                    n += 1
        self.effort.candidates_ns += now() - began
        n = self.filter(&here, &there, n)
        began = now()
        found.read_strand = <uint32_t *>enlarged(&self.rooms[BUCKETS], 2 * n * sizeof(uint32_t))
        found.bucket, found.n = found.read_strand + n, 0
        distinct_buckets(&here, n, self.shift, &none, &found)
        for i in range(found.n):
            self.add_key(found.read_strand[i], found.bucket[i])
        self.effort.candidates_ns += now() - began
        return self.score_fresh(NULL)

    cdef int add_key(self, uint32_t read_strand, uint32_t bucket) except -1 nogil:
        """One bucket more for `score_fresh`."""
        cdef uint64_t *keys = <uint64_t *>enlarged(&self.rooms[KEYS], (self.n_keys + 1) * sizeof(uint64_t))
        keys[self.n_keys] = place_key(read_strand, bucket)
        self.n_keys += 1
        return 0

    cdef int score_fresh(self, const uint16_t *bounds) except -1 nogil:
        """Score those of the buckets in KEYS that were not scored before, in order; `bounds` as `score` takes it."""
        cdef Py_ssize_t k = self.n_keys, n = 0, i, in_scored = 0, in_tried = 0
        cdef Py_ssize_t n_scored = (<const int64_t *>self.rooms[SCORED_STARTS].p)[self.stop - self.first]
        cdef uint64_t *keys = <uint64_t *>self.rooms[KEYS].p
        cdef uint64_t *tried
        cdef uint64_t key, last = ~<uint64_t>0
        cdef buckets_t fresh
        cdef int64_t began = now()
        self.n_keys = 0
        if k == 0:
            return 0
        sort_nearly(keys, <uint64_t *>enlarged(&self.rooms[SORTING], k * sizeof(uint64_t)), k)
        tried = <uint64_t *>enlarged(&self.rooms[TRIED], self.n_tried * sizeof(uint64_t))
        for i in range(k):
            key = keys[i]
            if key == last:
                continue
            last = key
            in_scored = next_from(self.scored.keys, n_scored, in_scored, key)
            in_tried = next_from(tried, self.n_tried, in_tried, key)
            if (in_scored == n_scored or self.scored.keys[in_scored] != key) and (
                    in_tried == self.n_tried or tried[in_tried] != key):
                keys[n] = key
                n += 1
        enlarged(&self.rooms[TRIED_MERGED], (self.n_tried + n) * sizeof(uint64_t))
        self.n_tried = merge(tried, self.n_tried, keys, n, <uint64_t *>self.rooms[TRIED_MERGED].p)
        self.rooms[TRIED], self.rooms[TRIED_MERGED] = self.rooms[TRIED_MERGED], self.rooms[TRIED]
        fresh.read_strand = <uint32_t *>enlarged(&self.rooms[SORTING], 2 * n * sizeof(uint32_t))
        fresh.bucket, fresh.n = fresh.read_strand + n, n
        for i in range(n):
            fresh.read_strand[i], fresh.bucket[i] = strand_of_key(keys[i]), <uint32_t>place_of_key(keys[i])
        self.effort.candidates_ns += now() - began
        return self.score(&fresh, bounds)

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
            new[j] = placed_t(key, places[i].edits, 0)
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
            place.rescued = self.placed[i].rescued = 1
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
        for r in range(self.first, self.stop):
            if (self.mate[r] and self.mates[r].is_open and self.rescuable[self.reads.lengths[self.other(r)]]
                    and (goes_on[r] or goes_on[self.other(r)]) and self.states.best[r] != NO_SCORE):
                self.look_around(r)
        self.pairs_ns += now() - began
        # Nearly all hold other bases, and show it in their first rows.
        self.score_fresh(self.states.limit)
        self.rescued += self.effort.scored - before
        return 0

    cdef int look_around(self, uint32_t read) except -1 nogil:
        """The buckets in which the mate may lie, beside a read's best places and those no worse than the place in the
        concordant pair, as that pair's rivals may be among them. No place is looked around twice, nor where a mate has
        been found, and none beyond the ends of its contig."""
        cdef int limit = self.states.best[read], within = 0
        cdef int64_t lo, hi, b
        cdef Py_ssize_t i, j
        cdef placed_t *place
        cdef const window_t *w
        if self.mates[read].paired != NO_SCORE:
            limit = max(limit, self.mates[read].paired, self.mates[read].paired + self.mates[self.other(read)].paired - 1)
        for i in range(self.starts[2 * read], self.starts[2 * read + 2]):
            within += self.placed[i].edits <= limit
        if within > self.most_places:
            self.mates[read].unguided = True
            return 0
        for i in range(self.starts[2 * read], self.starts[2 * read + 2]):
            place = &self.placed[i]
            if place.edits > limit or place.rescued:
                continue
            place.rescued = 1
            for j in range(self.wide.n):
                w = &self.wide.each[j]
                self.partners(w, place, &lo, &hi)
                lo = max(lo, 0)
                if lo <= hi:
                    for b in range(lo >> self.shift, (hi >> self.shift) + 1):
                        self.add_key(self.other_strand(w, place), <uint32_t>b)
        return 0

    cdef void settle(self, bint guided) noexcept nogil:
        """Close the pairs whose concordant place is good enough: few rivals, as good as it, are unseen. One is when a mate
        has no seed free of errors there. Where the mates of all places were looked for (`guided`, but for reads that are
        `unguided`), only when neither has one."""
        cdef double most = self.pair_missed, own, its, unseen
        cdef uint32_t r
        cdef mate_t *first
        cdef mate_t *last
        cdef int64_t began = now()
        for r in range(self.first, self.stop):
            if self.mate[r] != 1:
                continue
            first, last = &self.mates[r], &self.mates[r + 1]
            if not first.is_open or first.paired == NO_SCORE or last.paired == NO_SCORE:
                continue
            own, its = self.share_missed(r), self.share_missed(r + 1)
            unseen = own + its
            if guided:
                unseen = min(unseen, (1.0 if first.unguided else own) * (1.0 if last.unguided else its))
            if unseen <= most:
                first.is_open = last.is_open = False
        self.pairs_ns += now() - began

    cdef double share_missed(self, uint32_t read) noexcept nogil:
        """Share of places with as many errors as in its pair that the seeds of a read looked up so far miss."""
        cdef const mate_t *mate = &self.mates[read]
        if self.states.capped[read]:
            return 1.0
        return self.missed_after[self.reads.lengths[read], mate.looked_row,
                                 min(mate.paired, self.missed_after.shape[2] - 1)]


cdef inline int64_t diagonal_of(const placed_t *place, int64_t length) noexcept nogil:
    return place_of_key(place.key) - length


cdef inline void put_anchor(columns_t *to, Py_ssize_t i, uint32_t read_strand, coordinate_t diagonal, uint16_t offset,
                            uint16_t length) noexcept nogil:
    to.read_strand[i], to.diagonal[i], to.offset[i], to.length[i] = read_strand, diagonal, offset, length


cdef inline Py_ssize_t next_from(const uint64_t *keys, Py_ssize_t n, Py_ssize_t i, uint64_t key) noexcept nogil:
    """The first of sorted keys that is not below `key`; those before i are. In ever longer steps, then by halves."""
    cdef Py_ssize_t step = 1
    while i + step < n and keys[i + step] < key:
        i += step
        step *= 2
    return i + <Py_ssize_t>first_from(keys + i, min(i + step, n) - i, key) if i < n else n


cdef inline run_t run_on_strand(const coordinate_t *diagonal, uint8_t *near, const int64_t *bounds,
                                int64_t length) noexcept nogil:
    return run_t(diagonal + bounds[0], near + bounds[0], bounds[1] - bounds[0], length)


cdef bint mark_near(const window_t *w, bint leading, const run_t *own, const run_t *other) noexcept nogil:
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
    return marked > 0
