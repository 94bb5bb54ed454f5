"""The search of whole reads: stages of seeds, each looked up, filtered and scored, until every read is settled.

It goes block by block, a stage of all reads of a block before the next one, so that what a block needs stays in the
cache and lookups of many seeds wait for memory together. A block of any size gives the same places: those of a read
depend on the read, the reference and the parameters alone. Buckets of diagonals make it so (docs/pipeline.md): a band
is scored for a bucket, not for the seed that led to it.
"""

import numpy as np

from gassst._core.common cimport *
from gassst._core.seeds cimport *

include "../align/banded.pxi"
include "filters.pxi"


cdef extern from "knowledge.h" nogil:
    ctypedef struct knowledge_t:
        uint16_t best, limit, complete
    bint needs_stage(const knowledge_t *known, int errors, int strata, int settled)
    bint take_band(knowledge_t *known, uint16_t edits, int margin)

cdef extern from "pack.h" nogil:
    void pack_reverse_complement(const uint64_t *forward, uint64_t *reverse, uint32_t words, uint32_t spare)


cdef class Copies:
    """Says of which places copies may be left that no seed led to: `read_search.Rater`, which the search asks."""

    cdef bint may_be_unseen(self, const reads_t *reads, const states_t *states, uint32_t r, uint16_t errors, bint near,
                            uint32_t mate, uint16_t its_errors, bint its_near) except -1 nogil:
        """Whether copies of a place with so many `errors`, beside that of the mate, count. `near`: one is known. A single
        read is its own mate."""
        return False


cdef class Stages:
    """Searches reads for the thread that it belongs to. Its memory is used again from block to block.

    Parameters
    ----------
    index : index.seed_index.SeedIndex
        Its arrays, and those of `plan`, are read where they are.
    lookup : index.lookup.WholeIndex
        The index as it is kept in memory. One in parts is read once for each stage of a block.
    cascade : search.filters.Cascade
    plan : search.plan.SearchPlan
        Where all places are wanted (`params.exhaustive`), a place is every end of an alignment within the limit that is
        better than its neighbours.
    margin : int
        Errors beyond the best place with which others are kept, unless all are wanted.
    instruction_set : str
        One of `stages.instruction_sets()`.

    Attributes
    ----------
    funnel : int64[filters, 3]
        Of the last search: candidates into and out of each filter, and nanoseconds.

    Raises
    ------
    IndexError
        From a search: a candidate lies outside the reads or the reference, as in a damaged index.
    """

    def __cinit__(self, index, lookup, cascade, plan, int margin, str instruction_set):
        cdef const uint64_t[:, ::1] planes = index.reference.planes
        self.index, self.lookup = index, lookup if lookup is not None and lookup.copies else None
        self.view, self.reference = view_of(index), planes_of(planes)
        self.starts, self.left_out = index.reference.starts, None
        self.kernels = kernels_of(instruction_set)
        self.words, self.errors = plan.words, plan.errors
        self.seed_length, self.seed_count, self.seed_every = plan.seed_length, plan.seed_count, plan.seed_every
        self.disjoint, self.settled, self.lost = plan.disjoint, plan.settled, plan.lost
        self.caps, self.stages, self.shift, self.exhaustive = plan.caps, plan.MAX_STAGES, plan.shift, plan.params.exhaustive
        self.margin, self.strata = margin, plan.preset.strata
        self.dense_length, self.stride = plan.dense_length, plan.STRIDE
        self.seeds = Seeds(index)
        self.anchors, self.kept = AnchorBuffer(), AnchorBuffer()
        self.n_filters = len(cascade.names)
        if self.n_filters > MOST_FILTERS:
            raise ValueError(f"{self.n_filters} filters")
        self.funnel = np.zeros((self.n_filters, 3), np.int64)
        for i, one in enumerate(cascade.compiled()):
            self.filters[i] = (<Filter>one).of
        self.job.reference = self.reference
        self.job.kernels = self.kernels

    def __dealloc__(self):
        for i in range(N_ROOMS):
            free(self.rooms[i].p)

    @property
    def counts(self):
        """The seeds looked up, anchors and scored bands, calls of kernels, and nanoseconds of lookups, candidates, scores."""
        return (self.effort.occurrences, self.effort.candidates, self.effort.scored, self.effort.calls,
                self.effort.seeds_ns, self.effort.candidates_ns, self.effort.score_ns)

    cdef int open(self, context, double given_up, int further) except -1:
        """Begin with a batch (search.context.BatchContext).

        A read without a place is left once the stages have missed less than a share `given_up` of its library. Up to
        `further` errors beyond the best place another one may be as likely.
        """
        cdef const uint16_t[::1] errors = context.errors
        cdef Py_ssize_t n = errors.shape[0]
        shorts, marks = np.empty((4, n), np.uint16), np.empty((2, n), np.uint8)
        cdef uint16_t[:, ::1] short_of = shorts
        cdef uint8_t[:, ::1] mark_of = marks
        cdef reads_t reads = reads_of(context.packed, context.flip)
        cdef states_t states
        self.given_up, self.further, self.lost, self.copies = given_up, further, context.lost, context.rater
        self.left_out = None if context.left_out is None else context.left_out.view(np.uint8)
        self.funnel[:] = 0
        memset(&self.effort, 0, sizeof(self.effort))
        if n:
            states = states_t(&short_of[0, 0], &short_of[1, 0], &short_of[2, 0], &short_of[3, 0], &mark_of[0, 0],
                              &mark_of[1, 0])
            memset(states.best, 0xff, n * sizeof(uint16_t))  # NO_SCORE
            memcpy(states.limit, &errors[0], n * sizeof(uint16_t))
            memset(states.complete, 0, 2 * n * sizeof(uint16_t))
            memset(states.looked, 0, 2 * n)
        self.open_reads(&reads, &states)
        self.known = *shorts, *marks

    cdef int run(self, uint32_t block, found) except -1:
        """Search all reads, so many at a time. Every part of an index in parts is read once a stage. A device, which has
        `found` something (gpu.found.Found) or None, makes the stage for copies of all reads, too."""
        cdef uint32_t n = <uint32_t>self.reads.n, first = 0
        self.open_found(found)
        block = block if self.lookup is None and not self.makes_copies else n
        with nogil:
            while first < n:
                self.run_block(first, min(first + block, n))
                first += block
        self.open_found(None)

    cdef const place_t *group_places(self, int64_t *start) except? NULL nogil:
        """The places read by read, of each as they were found. `start` (n + 2) is filled: those of read r are
        start[r] .. start[r + 1]."""
        cdef const place_t *places = <const place_t *>self.rooms[PLACES].p
        cdef place_t *grouped = <place_t *>enlarged(&self.rooms[GROUPED], self.n_places * sizeof(place_t))
        cdef whole_end *end = <whole_end *>enlarged(&self.rooms[ENDS], self.n_places * sizeof(whole_end))
        cdef uint32_t *order = <uint32_t *>enlarged(&self.rooms[ORDER], self.n_places * sizeof(uint32_t))
        cdef Py_ssize_t i
        cdef whole_end *found = <whole_end *>enlarged(&self.rooms[FOUND_ENDS], self.n_places * sizeof(whole_end))
        memset(found + self.n_ends, 0, (self.n_places - self.n_ends) * sizeof(whole_end))
        order_by_read(places, self.n_places, 0, self.reads.n, start, order)
        for i in range(self.n_places):
            grouped[i], end[i] = places[order[i]], found[order[i]]
        return grouped

    cdef int open_found(self, found) except -1:
        """Take what a device has found (gpu.found.Found), block by block."""
        self.found, self.n_taken, self.makes_copies = found, 0, found is not None and found.copies is not None
        if found is not None:
            self.found_strand, self.found_first = found.read_strand, np.asarray(found.first, np.int64)
            self.found_end, self.found_edits, self.found_reach = found.end, found.edits, found.reach
            self.found_state, self.found_ends, self.found_seen = found.state, found.ends, found.seen

    cdef bint is_taken(self, Py_ssize_t a) except -1 with gil:
        """Whether the device makes the stage for copies, whose reads it gets now."""
        cdef reads_t texts
        with nogil:
            self.take_texts(a, &texts)
        self.open_found(self.found.copies(array_of(self.rooms[ACTIVE].p, a, np.uint32),
                                          array_of(texts.planes.words, 3 * texts.planes.rows, np.uint64), *self.known))
        return self.found is not None

    cdef int take_found(self) except -1 nogil:
        """The places of the block that the device has found, and what is known of its reads then."""
        cdef const uint16_t[:, ::1] state = self.found_state
        cdef Py_ssize_t n = self.found_strand.shape[0], i = self.n_taken, known = self.n_places
        cdef place_t *place = <place_t *>enlarged(&self.rooms[PLACES], (known + n - i) * sizeof(place_t))
        cdef whole_end *end
        while i < n and self.found_strand[i] >> 1 < self.stop:
            place[known] = place_t(self.found_first[i], self.found_strand[i], self.found_end[i], self.found_edits[i],
                                   self.found_reach[i], self.words_of(self.found_strand[i]))
            i, known = i + 1, known + 1
        if self.found_ends.shape[0]:
            end = <whole_end *>enlarged(&self.rooms[FOUND_ENDS], known * sizeof(whole_end))
            memset(end + self.n_ends, 0, (self.n_places - self.n_ends) * sizeof(whole_end))
            memcpy(end + self.n_places, &self.found_ends[0] + self.n_taken, (i - self.n_taken) * sizeof(whole_end))
            self.n_ends = known
        self.n_taken, self.n_places = i, known
        n = self.found_seen.shape[0]
        if n:
            i = first_from(&self.found_seen[0], n, place_key(2 * self.first, 0))
            n = first_from(&self.found_seen[0], n, place_key(2 * self.stop, 0))
            self.seen.fresh, self.seen.n_fresh = &self.found_seen[i], n - i
        for i in range(self.first, self.stop):
            self.states.best[i], self.states.limit[i], self.states.complete[i] = state[0, i], state[1, i], state[2, i]
            self.states.planned[i], self.states.capped[i], self.states.looked[i] = state[3, i], state[4, i], state[5, i]
        return 0

    # --- one block ---------------------------------------------------------------------------------------------------

    cdef void open_reads(self, const reads_t *reads, const states_t *states) noexcept nogil:
        """Take the reads of a batch, which must outlive the search, and what is known of them."""
        self.reads, self.states, self.n_places, self.n_ends, self.before = reads[0], states[0], 0, 0, 0
        self.job.reads, self.job.plane_start, self.job.read_lengths = reads.planes, reads.plane_start, reads.lengths
        self.job.limits, self.job.n_reads = states.limit, reads.n

    cdef int run_block(self, uint32_t first, uint32_t stop) except -1 nogil:
        """The places of the reads first .. stop - 1, added to those found before."""
        self.before = self.n_places
        return self.run_stages(0, first, stop)

    cdef int run_stages(self, int stage, uint32_t first, uint32_t stop) except -1 nogil:
        """The places of a block that this stage and later ones lead to. The last one looks for copies of places, unless
        these are listed anyway."""
        cdef Py_ssize_t a
        self.first, self.stop = first, stop
        self.forget(stop - first)
        for stage in range(stage, self.stages + (not self.exhaustive)):
            a = self.unsettled(stage, first, stop) if stage < self.stages else self.doubtful(first, stop)
            self.merge_seen(first, stop)
            if a:
                self.run_stage(stage, a)
        return 0

    cdef int forget(self, uint32_t n) except -1 nogil:
        """No bucket of the `n` reads of a block was seen."""
        memset(enlarged(&self.rooms[SEEN_STARTS], (n + 1) * sizeof(int64_t)), 0, (n + 1) * sizeof(int64_t))
        self.seen.n_fresh = 0
        return 0

    cdef Py_ssize_t unsettled(self, int stage, uint32_t first, uint32_t stop) except -1 nogil:
        """How many reads have seeds in this stage and still need them (`presets.Preset`): those in ACTIVE, ascending.

        A read without a place is given up where the stages before miss less than `given_up` of its library.
        """
        cdef uint32_t *active = <uint32_t *>enlarged(&self.rooms[ACTIVE], (stop - first) * sizeof(uint32_t))
        cdef uint8_t *goes_on = <uint8_t *>enlarged(&self.rooms[GOES_ON], stop - first)
        cdef const states_t *states = &self.states
        cdef Py_ssize_t a = 0
        cdef uint32_t r, m
        cdef knowledge_t known
        for r in range(first, stop):
            m = self.reads.lengths[r]
            known = knowledge_t(states.best[r], 0, states.complete[r])
            goes_on[r - first] = (
                self.seed_count[stage, m] > 0 and not states.looked[r] >> stage & 1
                and not (known.best == NO_SCORE and self.missed(stage, r) < self.given_up)
                and needs_stage(&known, self.errors[m], self.strata + self.further, self.settled[stage, m] - self.further)
            )
            active[a] = r
            a += goes_on[r - first]
        return a

    cdef Py_ssize_t doubtful(self, uint32_t first, uint32_t stop) except -1 nogil:
        """How many reads have a place of which copies may be unseen: those in ACTIVE, ascending, with their places in PICKED.

        The read shares errors with none of these copies but by chance, so that its own seeds may lead to none. Those of the
        reference where it lies do.
        """
        cdef uint32_t n = stop - first, r
        cdef uint32_t *active = <uint32_t *>enlarged(&self.rooms[ACTIVE], n * sizeof(uint32_t))
        cdef uint8_t *goes_on = <uint8_t *>enlarged(&self.rooms[GOES_ON], n)
        cdef int64_t *picked = <int64_t *>enlarged(&self.rooms[PICKED], n * (sizeof(int64_t) + sizeof(uint16_t)))
        cdef uint16_t *second = <uint16_t *>(picked + n)
        cdef const place_t *places = <const place_t *>self.rooms[PLACES].p
        cdef const place_t *best
        cdef Py_ssize_t a = 0, i
        memset(picked, 0xff, n * (sizeof(int64_t) + sizeof(uint16_t)))  # -1, NO_SCORE
        for i in range(self.before, self.n_places):
            r = (places[i].read_strand >> 1) - first
            best = &places[picked[r]] if picked[r] >= 0 else &places[i]
            if best.read_strand != places[i].read_strand or not same_place(best.first + best.end,
                                                                           places[i].first + places[i].end):
                second[r] = min(second[r], max(best.edits, places[i].edits))
            if picked[r] < 0 or places[i].edits < best.edits:
                picked[r] = i
        for r in range(first, stop):
            goes_on[r - first] = (
                picked[r - first] >= 0 and self.seed_count[self.stages, self.reads.lengths[r]] > 0
                and self.is_doubtful(r, second - first)
            )
            active[a] = r
            a += goes_on[r - first]
        return a

    cdef bint is_doubtful(self, uint32_t r, const uint16_t *second) except -1 nogil:
        """Whether copies of the place of a read may be unseen. `second`: errors of the next best place of each read. Where
        that is as good, more of these say nothing new."""
        cdef uint16_t best = self.states.best[r]
        return second[r] > best and self.copies.may_be_unseen(&self.reads, &self.states, r, best, second[r] != NO_SCORE, r,
                                                              best, False)

    cdef int take_texts(self, Py_ssize_t a, reads_t *texts) except -1 nogil:
        """The bases of the reference at the places of the active reads, in place of the reads."""
        cdef const uint32_t *active = <const uint32_t *>self.rooms[ACTIVE].p
        cdef const int64_t *picked = <const int64_t *>self.rooms[PICKED].p - self.first
        cdef const place_t *place
        cdef uint32_t *start = <uint32_t *>enlarged(&self.rooms[ROWS], self.reads.n * sizeof(uint32_t))
        cdef Py_ssize_t n = 0, i, j, rows
        cdef int64_t m
        cdef uint64_t *planes
        cdef uint64_t *text
        cdef uint64_t *own
        cdef uint64_t *other
        for i in range(a):
            start[active[i]] = <uint32_t>n
            n += 2 * ((self.reads.lengths[active[i]] + 63) >> 6)
        planes = <uint64_t *>enlarged(&self.rooms[PLANES], 3 * (n + 1) * sizeof(uint64_t))
        texts.planes, texts.plane_start = planes_t(planes, n + 1), start
        memset(planes + 3 * n, 0, 3 * sizeof(uint64_t))  # seeds at the end of the last row are read beyond it
        for i in range(a):
            m, place = self.reads.lengths[active[i]], <const place_t *>self.rooms[PLACES].p + picked[active[i]]
            rows, text = (m + 63) >> 6, planes + 3 * start[active[i]]
            own, other = text, text + 3 * rows
            if place.read_strand & 1:
                own, other = other, own
            for j in range(rows):
                put_bases(own + 3 * j, bases_at(self.reference, place.first + place.end + 64 * j), m - 64 * j)
            pack_reverse_complement(own, other, <uint32_t>rows, <uint32_t>(64 * rows - m))
        return 0

    cdef double missed(self, int stage, uint32_t r) noexcept nogil:
        """Share of the reads of this length that the stages before this one miss."""
        return self.lost[0, stage, self.reads.lengths[r]]

    cdef int merge_seen(self, uint32_t first, uint32_t stop) except -1 nogil:
        """Sort the fresh keys of each read into its others. Those of reads that do not go on are forgotten."""
        cdef seen_t *known = &self.seen
        cdef const uint8_t *goes_on = <const uint8_t *>self.rooms[GOES_ON].p
        cdef int64_t *start = <int64_t *>self.rooms[SEEN_STARTS].p
        cdef int64_t n = start[stop - first] + known.n_fresh, row = 0, next_row, fresh, fresh_stop = 0, to = 0
        cdef uint64_t *merged
        cdef uint32_t r
        if n == 0:
            return 0
        merged = <uint64_t *>enlarged(&self.rooms[MERGED], 2 * n * sizeof(uint64_t))  # the second half is for sorting
        for r in range(first, stop):
            fresh, next_row, start[r - first] = fresh_stop, start[r + 1 - first], to
            while fresh_stop < known.n_fresh and strand_of_key(known.fresh[fresh_stop]) >> 1 == r:
                fresh_stop += 1
            if goes_on[r - first]:
                sort_keys(known.fresh + fresh, merged + n, fresh_stop - fresh)
                to += merge(known.keys + row, next_row - row, known.fresh + fresh, fresh_stop - fresh, merged + to)
            row = next_row
        start[stop - first] = to
        self.rooms[SEEN], self.rooms[MERGED] = self.rooms[MERGED], self.rooms[SEEN]
        known.keys, known.n_fresh = merged, 0
        return 0

    cdef int run_stage(self, int stage, Py_ssize_t a) except -1 nogil:
        """Look up one stage of seeds of the active reads, and score what they lead to."""
        cdef const int64_t *start
        cdef columns_t here, there
        cdef buckets_t top, found
        cdef uint32_t *memory
        cdef Py_ssize_t n, i, k = 0, kept = 0
        cdef int64_t began = now(), t
        if stage == 0 and self.found is not None or stage == self.stages and self.makes_copies and self.is_taken(a):
            return self.take_found()
        self.look_up(stage, a)
        self.note_looked(stage, a)
        t = now()
        self.effort.seeds_ns += t - began
        self.gather(a)
        n = self.anchors.n
        self.effort.candidates += n
        self.kept.reserve(n)
        here, there = self.anchors.columns, self.kept.columns
        start = <const int64_t *>self.rooms[STARTS].p
        memory = <uint32_t *>enlarged(&self.rooms[BUCKETS], 2 * (n + a) * sizeof(uint32_t))
        top, found = buckets_t(memory, memory + a, 0), buckets_t(memory + 2 * a, memory + 2 * a + n, 0)
        for i in range(0 if self.exhaustive else a):
            top.n += best_bucket(&here, start[i], start[i + 1], self.shift, top.read_strand + top.n,
                                 top.bucket + top.n)
        if not self.exhaustive:  # a later stage finds all places again
            self.note_seen()
        self.effort.candidates_ns += now() - t
        # The best supported place tightens the limit, by which the filters reject more of the others.
        self.score(&top, NULL)
        t = now()
        for i in range(n):
            while k < top.n and top.read_strand[k] >> 1 < here.read_strand[i] >> 1:
                k += 1
            if k == top.n or top.read_strand[k] != here.read_strand[i] or top.bucket[k] != here.diagonal[i] >> self.shift:
                copy_anchor(&here, i, kept)
                kept += 1
        self.effort.candidates_ns += now() - t
        n = self.filter(&here, &there, kept)
        t = now()
        distinct_buckets(&here, n, self.shift, &found)
        self.effort.candidates_ns += now() - t
        return self.list_minima(&found) if self.exhaustive else self.score(&found, NULL)

    cdef int look_up(self, int row, Py_ssize_t a) except -1 nogil:
        """The seeds of a row of the plan, of the active reads: how many are clipped, then whether one is passed over, is
        in CLIPPED."""
        cdef uint16_t *clipped = <uint16_t *>enlarged(&self.rooms[CLIPPED], a * (sizeof(uint16_t) + sizeof(uint8_t)))
        cdef uint8_t *capped = <uint8_t *>(clipped + a)
        cdef Py_ssize_t i
        cdef reads_t reads = self.reads
        if row == self.stages + OF_COPIES:
            self.take_texts(a, &reads)
        self.seeds.fill(&reads, <const uint32_t *>self.rooms[ACTIVE].p, a, &self.seed_length[row, 0],
                        &self.seed_count[row, 0], &self.seed_every[row, 0])
        if self.lookup is not None:
            with gil:
                self.lookup.resolve(self.seeds, np.asarray(self.caps))
        else:
            self.seeds.look_up(&self.view, &self.caps[0])
        for i in range(a):
            capped[i] = self.seeds.limit_read(i, &self.caps[0], &clipped[i])
        if self.lookup is not None:
            with gil:
                self.lookup.copy_positions(self.seeds)
        return 0

    cdef void note_looked(self, int stage, Py_ssize_t a) noexcept nogil:
        """Change `capped`, `looked`, `planned` and `complete` by what was looked up."""
        cdef const uint16_t *clipped = <const uint16_t *>self.rooms[CLIPPED].p
        cdef const uint8_t *capped = <const uint8_t *>(clipped + a)
        cdef const states_t *states = &self.states
        cdef Py_ssize_t i
        cdef uint32_t r, m, disjoint
        self.effort.occurrences += self.seeds.first_key[a]
        for i in range(a):
            r = (<const uint32_t *>self.rooms[ACTIVE].p)[i]
            if stage == self.stages + OF_COPIES:
                states.looked[r] |= <uint8_t>((not capped[i]) << stage)
                continue
            m = self.reads.lengths[r]
            states.looked[r] |= <uint8_t>(1 << stage)
            states.capped[r] |= capped[i]
            disjoint = (self.disjoint[stage, m] + self.seed_every[stage, m] - 1) // self.seed_every[stage, m]
            states.planned[r] = <uint16_t>max(states.planned[r], disjoint)
            states.complete[r] = <uint16_t>max(states.complete[r], disjoint - min(<uint32_t>clipped[i], disjoint))

    cdef int look_again(self, int row, const uint32_t *reads, Py_ssize_t a) except -1 nogil:
        """All anchors of some reads, ascending, by a row of seeds behind the stages; nothing is noted of these reads."""
        self.first = 0
        self.forget(<uint32_t>self.reads.n)
        memcpy(enlarged(&self.rooms[ACTIVE], a * sizeof(uint32_t)), reads, a * sizeof(uint32_t))
        self.look_up(self.stages + row, a)
        return self.gather(a)

    cdef int gather(self, Py_ssize_t a) except -1 nogil:
        """The occurrences of the seeds as anchors, sorted and merged by diagonal, without those in buckets that were seen
        before; those of each read begin at STARTS."""
        cdef const uint32_t *active = <const uint32_t *>self.rooms[ACTIVE].p
        cdef int64_t *start = <int64_t *>enlarged(&self.rooms[STARTS], (a + 1) * sizeof(int64_t))
        cdef const int64_t *of_seen = <const int64_t *>self.rooms[SEEN_STARTS].p - self.first
        cdef Py_ssize_t i
        cdef uint32_t r
        cdef read_t read
        self.anchors.n = 0
        for i in range(a):
            r = active[i]
            start[i] = self.anchors.n
            read = read_t(r, self.reads.flip[r], self.shift,
                          keys_t(self.seen.keys + of_seen[r], of_seen[r + 1] - of_seen[r], 0))
            self.seeds.gather_read(&self.view, i, &read, self.anchors)
        start[a] = self.anchors.n
        if self.left_out is not None:
            self.leave_out(a)
        return 0

    cdef int leave_out(self, Py_ssize_t a) except -1 nogil:
        """Drop the anchors in contigs that are left out."""
        cdef int64_t *start = <int64_t *>self.rooms[STARTS].p
        cdef columns_t anchors = self.anchors.columns
        cdef Py_ssize_t i, n = 0, contig
        cdef int64_t j, first = 0, stop
        for i in range(a):
            stop = start[i + 1]
            start[i] = n
            for j in range(first, stop):
                contig = contigs_before(&self.starts[0], self.starts.shape[0], anchors.diagonal[j] + anchors.offset[j]) - 1
                if self.left_out[contig if contig >= 0 else self.starts.shape[0] - 1]:
                    continue
                copy_anchor(&anchors, j, n)
                n += 1
            first = stop
        start[a] = self.anchors.n = n
        return 0

    cdef Py_ssize_t filter(self, columns_t *here, columns_t *there, Py_ssize_t n) except -1 nogil:
        """Run the filters (Rizk 4.6.5) at the limits of the reads; returns how many candidates pass, which are `here`."""
        cdef columns_t swapped
        cdef int64_t kept, began
        cdef int i
        for i in range(self.n_filters):
            if n == 0:
                break
            began = now()
            self.job.n, self.job.candidates, self.job.kept = n, here[0], there[0]
            kept = pass_filter(&self.filters[i], &self.job)
            if kept < 0:
                with gil:
                    if kept == -1:
                        raise MemoryError
                    raise IndexError(f"candidate {-2 - kept} lies outside the reads or the reference")
            self.funnel[i, 0] += n
            self.funnel[i, 1] += kept
            self.funnel[i, 2] += now() - began
            swapped = here[0]
            here[0], there[0] = there[0], swapped
            n = kept
        return n

    # --- bands -------------------------------------------------------------------------------------------------------

    cdef int score(self, const buckets_t *buckets, const uint16_t *bounds) except -1 nogil:
        """Score the bands of buckets; those within the limits of their reads, which tighten, become places.

        Bands with more errors than `bounds` has for their read may have any number above it. NULL: all errors matter.
        """
        cdef Py_ssize_t n = buckets.n, i, k
        cdef coordinate_t *first
        cdef uint32_t *read_strand
        cdef uint16_t *edits
        cdef uint16_t *end
        cdef uint32_t r
        cdef int words, width, present = 0
        cdef place_t *places
        cdef band_batch batch
        cdef knowledge_t known
        cdef int64_t began = now()
        if n == 0:
            return 0
        first = <coordinate_t *>enlarged(&self.rooms[BANDS], n * 16)
        read_strand = <uint32_t *>(first + n)
        edits = <uint16_t *>(read_strand + n)
        end = edits + n
        places = <place_t *>enlarged(&self.rooms[PLACES], (self.n_places + n) * sizeof(place_t))
        for i in range(n):
            present |= self.words_of(buckets.read_strand[i])
        for width in range(4):
            words = 1 << width
            if not words & present:
                continue
            k = self.bands_of(buckets, words, read_strand, first)
            batch = bands_at(&self.reference, &self.reads, read_strand, first, <uint32_t>k)
            self.kernels.score[self.width_rank(words)](&batch, bounds, edits, end)
            self.effort.calls += 1
            for i in range(k):
                r = read_strand[i] >> 1
                known = knowledge_t(self.states.best[r], self.states.limit[r], 0)
                if take_band(&known, edits[i], self.margin):
                    self.states.best[r], self.states.limit[r] = known.best, known.limit
                    places[self.n_places] = place_t(first[i], read_strand[i], end[i], edits[i], edits[i], <uint8_t>words)
                    self.n_places += 1
        self.effort.scored += n
        self.effort.score_ns += now() - began
        return 0

    cdef Py_ssize_t bands_of(self, const buckets_t *buckets, int words, uint32_t *read_strand,
                             coordinate_t *first) noexcept nogil:
        """Write the bands of so many words, in the order of their buckets; returns how many there are."""
        cdef Py_ssize_t i, k = 0
        for i in range(buckets.n):
            if self.words_of(buckets.read_strand[i]) == words:
                read_strand[k] = buckets.read_strand[i]
                first[k] = (<coordinate_t>buckets.bucket[i] << self.shift) - (32 * words - ((1 << self.shift) >> 1))
                k += 1
        return k

    cdef int list_minima(self, const buckets_t *buckets) except -1 nogil:
        """Every alignment within the limits in the bands of buckets becomes a place.

        Seeds of a later stage lead to all that an earlier one has found of the active reads, which is forgotten.
        """
        cdef const uint8_t *goes_on = <const uint8_t *>self.rooms[GOES_ON].p
        cdef place_t *places = <place_t *>self.rooms[PLACES].p
        cdef coordinate_t *first = <coordinate_t *>enlarged(
            &self.rooms[BANDS], buckets.n * (sizeof(coordinate_t) + sizeof(uint32_t)))
        cdef uint32_t *read_strand = <uint32_t *>(first + buckets.n)
        cdef uint16_t *profile
        cdef Py_ssize_t i, k, stop, n = self.before
        cdef uint32_t r
        cdef int words, width
        cdef band_batch batch
        cdef int64_t began = now()
        for i in range(self.before, self.n_places):
            places[n] = places[i]
            n += not goes_on[(places[i].read_strand >> 1) - self.first]
        self.n_places = n
        for width in range(4):
            words = 1 << width
            i, k = 0, self.bands_of(buckets, words, read_strand, first)
            while i < k:  # bands of whole reads, as many as there is room for
                stop = min(i + PROFILE_CELLS // (64 * words), k)
                while stop < k and read_strand[stop] >> 1 == read_strand[stop - 1] >> 1:
                    stop += 1
                profile = <uint16_t *>enlarged(&self.rooms[PROFILE], (stop - i) * 128 * words)
                batch = bands_at(&self.reference, &self.reads, read_strand + i, first + i, <uint32_t>(stop - i))
                self.kernels.profile[width](&batch, <uint64_t *>profile)
                self.effort.calls += 1
                n = local_minima(profile, &batch, words, self.states.limit, &self.rooms[MINIMA], &self.rooms[PLACES], n)
                i = stop
        places = <place_t *>self.rooms[PLACES].p
        for i in range(self.n_places, n):
            r = places[i].read_strand >> 1
            self.states.best[r] = min(self.states.best[r], places[i].edits)
        self.n_places = n
        self.effort.scored += buckets.n
        self.effort.score_ns += now() - began
        return 0

    cdef int words_of(self, uint32_t read_strand) noexcept nogil:
        """Words of 64 diagonals of a band of a read."""
        return self.words[self.reads.lengths[read_strand >> 1]]

    cdef int width_rank(self, int words) noexcept nogil:
        """Of the tables of kernels: log2 of the words of the bands."""
        return (words > 1) + (words > 2) + (words > 4)

    cdef int note_seen(self) except -1 nogil:
        """The buckets of all anchors, which are scored in this stage or rejected for good."""
        cdef uint64_t *keys = <uint64_t *>enlarged(&self.rooms[SEEN_FRESH], self.anchors.n * sizeof(uint64_t))
        cdef columns_t anchors = self.anchors.columns
        cdef Py_ssize_t i, n = 0
        cdef uint64_t key
        for i in range(self.anchors.n):
            key = place_key(anchors.read_strand[i], anchors.diagonal[i] >> self.shift)
            if n == 0 or keys[n - 1] != key:
                keys[n] = key
                n += 1
        self.seen.fresh, self.seen.n_fresh = keys, n
        return 0


cdef void order_by_read(const place_t *places, Py_ssize_t n, uint32_t first, Py_ssize_t n_reads, int64_t *start,
                        uint32_t *order) noexcept nogil:
    """Fill `order` (n) with the rows of places read by read, as found, and `start` (`n_reads` + 2) with where those of each
    read from the `first` on begin."""
    cdef Py_ssize_t i, r
    memset(start, 0, (n_reads + 2) * sizeof(int64_t))
    for i in range(n):
        start[(places[i].read_strand >> 1) - first + 2] += 1
    for r in range(2, n_reads + 2):
        start[r] += start[r - 1]
    for i in range(n):  # start[r + 1] becomes the end of the places of read r
        r = (places[i].read_strand >> 1) - first
        order[start[r + 1]] = <uint32_t>i
        start[r + 1] += 1


cdef inline void copy_anchor(const columns_t *anchors, Py_ssize_t i, Py_ssize_t to) noexcept nogil:
    anchors.read_strand[to], anchors.diagonal[to] = anchors.read_strand[i], anchors.diagonal[i]
    anchors.offset[to], anchors.length[to] = anchors.offset[i], anchors.length[i]


cdef Py_ssize_t merge(const uint64_t *a, Py_ssize_t n_a, const uint64_t *b, Py_ssize_t n_b,
                      uint64_t *out) noexcept nogil:
    """Two sorted arrays as one; returns its length."""
    cdef Py_ssize_t i = 0, j = 0
    while i < n_a and j < n_b:
        if a[i] <= b[j]:
            out[i + j] = a[i]
            i += 1
        else:
            out[i + j] = b[j]
            j += 1
    for i in range(i, n_a):
        out[i + j] = a[i]
    for j in range(j, n_b):
        out[n_a + j] = b[j]
    return n_a + n_b


cdef Py_ssize_t local_minima(const uint16_t *profile, const band_batch *bands, int words, const uint16_t *limit,
                             room_t *room, room_t *found, Py_ssize_t n) except -1 nogil:
    """Append to the n places in `found` every end of an alignment within the limit that is better than its neighbours;
    returns how many places there are then.

    The bands of one read and strand are laid over each other, taking the smallest number of errors for every
    end; where every seed was looked at this is exactly the last row of the full dynamic programming matrix, cut off
    at the limit. Reported is the leftmost end of every stretch of equal values whose neighbours are higher. Its `reach`
    is how many further ends of equal value there are.

    `profile`: uint16[bands.n, 64 * words], errors by end diagonal of every band. Bands of one read and strand lie next to
    each other, by `band_start`. `limit`: uint16 of each read. `room` is used.
    """
    cdef const uint32_t *read_strand = bands.read_strand
    cdef const coordinate_t *first = bands.band_start
    cdef Py_ssize_t b = bands.n, width = 64 * words, i = 0, j, c, at, run, stop, span
    cdef uint16_t *value
    cdef uint32_t *origin
    cdef place_t *place
    cdef uint32_t most
    while i < b:
        stop = i + 1
        while stop < b and read_strand[stop] == read_strand[i] and first[stop] <= first[stop - 1] + width:
            stop += 1
        span = first[stop - 1] - first[i] + width
        origin = <uint32_t *>enlarged(room, span * (sizeof(uint32_t) + sizeof(uint16_t)))
        value = <uint16_t *>(origin + span)
        for c in range(span):
            value[c] = NO_SCORE
        for j in range(i, stop):
            at = first[j] - first[i]
            for c in range(width):
                if profile[j * width + c] < value[at + c]:
                    value[at + c], origin[at + c] = profile[j * width + c], <uint32_t>j
        most = limit[read_strand[i] >> 1]
        place = <place_t *>enlarged(found, (n + span) * sizeof(place_t))
        c = 0
        while c < span:
            if value[c] > most:  # as nearly all are
                c += 1
                continue
            run = c
            while run + 1 < span and value[run + 1] == value[c]:
                run += 1
            if (c == 0 or value[c - 1] > value[c]) and (run + 1 == span or value[run + 1] > value[c]):
                j = origin[c]
                place[n] = place_t(first[j], read_strand[i], <uint16_t>(first[i] + c - first[j]), value[c],
                                   <uint16_t>(run - c), <uint8_t>words)
                n += 1
            c = run + 1
        i = stop
    return n


include "../pairing/pair_stages.pxi"
