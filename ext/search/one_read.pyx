"""One read at a time, for callers that wait for its places: the schedule of `gassst/search/single.py` for a batch of one.

The passes are those of the batches, called here without arrays of one element between them: a batch of one read costs
1.6 ms, of which the passes themselves take 10 us. What must be true: a read has the places that it has in any batch.

Where ends may be clipped, this is for clear reads: one place, no gap, and errors that no clipped or gapped alignment
betters (`_Realignment._clear` in `gassst/local/realign.py`). The batches have to say what becomes of all others.
"""

from functools import lru_cache

import numpy as np

from libc.stdint cimport UINT64_MAX, int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from gassst._core.alignments cimport contigs_t, fit_contig, ungapped_diagonal
from gassst._core.anchors cimport (
    Anchors,
    KeyBuffer,
    best_bucket,
    buckets_t,
    distinct_buckets,
    gather_read,
    keys_t,
    read_t,
)
from gassst._core.chance cimport word_letters
from gassst._core.banded cimport band_batch, band_paths, cpu_kernels, kernels_of, local_ends, local_scoring
from gassst._core.coordinates cimport coordinate_t, place_key
from gassst._core.bookkeeping cimport knowledge_t, needs_stage, take_band
from gassst._core.cigar cimport cigar_length, cigar_op, cigar_span
from gassst._core.filters cimport FLANK_STAGES, columns_t, job_t, pass_band32, pass_flanks, use_kernels
from gassst._core.key_sort cimport sort_keys
from gassst._core.layouts cimport NO_SCORE, NO_SUBOPTIMAL, read_summary_t
from gassst._core.lookup cimport seed_index_t, step_range_t
from gassst._core.contigs cimport contig_near
from gassst._core.planes cimport bases_at, first_bases, planes_t
from gassst._core.read_through cimport adapter_start, adapters_of, adapters_t
from gassst._core.seeds cimport (
    Seed,
    copy_stepped,
    lengthen_stepped,
    limit_occurrences,
    orient_read,
    plan_seeds,
    resolve_seeds,
    resolve_stepped,
    seed_plan_t,
    view_of,
)
from gassst._core.selection cimport choice_t, read_bands_t, scratch_t, select_places
from gassst._core.tandem cimport rivals_beside

cdef extern from "pack.h" nogil:
    void pack_read(const uint8_t *bases, const uint8_t *end, uint32_t length, uint64_t *rows, int portable,
                   int conversion)

cdef enum:
    FLANKS
    BAND32

cdef enum:  # what memory is for
    SEEDS
    RANGES
    COPIED
    BUCKETS
    BANDS
    PLACES
    SCORED
    REJECTED
    SORTING
    ROWS
    RUNS
    FOUND
    PLANES
    N_ROOMS

FILTERS = {"flanks": FLANKS, "band32": BAND32}
"""Of `search.filters.FILTERS`, those that may be run on one read."""



cdef struct place_t:
    # A scored band within the limits, as in search.arrays.Bands.
    coordinate_t first
    uint32_t read_strand
    uint16_t end, edits


cdef struct room_t:
    # Memory that grows.
    void *p
    size_t bytes


cdef struct found_t:
    # An alignment: its contig, first base in the concatenated reference, runs in `RUNS`, and errors.
    Py_ssize_t contig, first_run, n_runs
    int64_t position
    uint32_t read_strand
    uint16_t edits


cdef void *enlarged(room_t *room, size_t bytes) except NULL nogil:
    """Memory for so many bytes; those that are there stay."""
    cdef void *p
    if bytes > room.bytes:
        bytes += bytes >> 1
        p = realloc(room.p, bytes)
        if p == NULL:
            with gil:
                raise MemoryError
        room.p, room.bytes = p, bytes
    return room.p


cdef class OneRead:
    """Finds the places of one read at a time, for the thread that it belongs to.

    Parameters
    ----------
    index : seeding.seed_index.SeedIndex
        Its arrays, and those of `plan`, are read where they are.
    plan : seeding.plan.SearchPlan
    cascade : search.filters.Cascade
        Of filters among `FILTERS`.
    rules : one_read.Rules
        What the modules above this one say of a read.
    instruction_set : str
        One of `banded.instruction_sets()`.
    max_hits : int
        Most places reported.
    """

    cdef object index, plan, rate, rate_beside
    cdef list names
    cdef seed_index_t view
    cdef planes_t reference, reads
    cdef contigs_t contigs
    cdef const cpu_kernels *kernels
    cdef job_t job
    cdef const uint8_t[::1] filters     # of FILTERS, in their order
    cdef bint is_local
    cdef int longest, free_errors, match, error_cost, least_score, perfect_ends
    cdef bint any_perfect
    cdef const int16_t[::1] costs
    cdef const int64_t[:, ::1] leaving
    cdef const uint8_t[:, ::1] adapter_codes
    cdef adapters_t adapters
    cdef int specific
    cdef int shortest, margin, strata, shift, stages, least_beside, most_beside, longest_seed
    cdef uint32_t max_hits
    cdef const uint16_t[::1] errors
    cdef const uint8_t[::1] words, known_length
    cdef const uint16_t[:, ::1] seed_length, seed_count, seed_every, disjoint
    cdef const int16_t[:, ::1] settled
    cdef const uint32_t[::1] caps
    cdef const int64_t[::1] starts, lengths
    # The read at hand.
    cdef uint64_t *planes
    cdef int64_t rejections[FLANK_STAGES]
    cdef uint32_t length, row
    cdef uint64_t digest
    cdef bint flip
    cdef uint8_t looked
    cdef uint16_t planned
    cdef knowledge_t known
    cdef read_summary_t summary
    # What it needs, kept for the next one.
    cdef KeyBuffer keys
    cdef Anchors anchors, kept
    cdef room_t rooms[N_ROOMS]
    cdef Py_ssize_t n_places, n_scored, n_rejected, n_found

    def __cinit__(self, index, plan, cascade, rules, str instruction_set, uint32_t max_hits):
        cdef const uint64_t[:, ::1] planes = index.reference.planes
        memset(self.rooms, 0, sizeof(self.rooms))
        self.index, self.plan, self.names = index, plan, list(index.reference.names)
        self.view = view_of(index)
        self.reference.words, self.reference.rows = &planes[0, 0], planes.shape[0]
        self.starts, self.lengths = index.reference.starts, index.reference.lengths
        self.contigs = contigs_t(&self.starts[0], &self.lengths[0], self.starts.shape[0])
        self.kernels = kernels_of(instruction_set)
        self.errors, self.words, self.known_length = plan.errors, plan.words, plan.known_lengths.view(np.uint8)
        self.seed_length, self.seed_count, self.seed_every = plan.seed_length, plan.seed_count, plan.seed_every
        self.disjoint, self.settled = plan.disjoint, plan.settled
        self.caps, self.stages, self.shift, self.strata = plan.caps, plan.MAX_STAGES, plan.shift, plan.preset.strata
        self.longest_seed, self.max_hits, self.shortest = index.longest_seed, max_hits, rules.shortest
        self.margin = rules.margin
        self.least_beside, self.most_beside = rules.least_beside, rules.most_beside
        self.rate, self.rate_beside = lru_cache(maxsize=1 << 16)(rules.rate), rules.rate_beside
        self.is_local, self.longest = rules.is_local, rules.longest
        self.free_errors, self.match, self.error_cost = rules.free_errors, rules.match, rules.error_cost
        self.least_score, self.any_perfect = rules.least_score, rules.any_perfect
        self.perfect_ends = rules.perfect_ends
        self.costs, self.leaving = rules.costs, rules.leaving
        self.adapter_codes, self.specific = rules.adapters[0], rules.specific
        _, first_part, shortest, bases_an_error = rules.adapters
        self.adapters = adapters_of(self.adapter_codes, first_part, shortest, bases_an_error)
        self.keys, self.anchors, self.kept = KeyBuffer(), Anchors(), Anchors()
        self.row = 0
        self.filters = bytes([FILTERS[name] for name in cascade.names])
        memset(&self.job, 0, sizeof(job_t))
        self.job.reads, self.job.reference, self.job.gaps = self.reads, self.reference, cascade.gaps
        self.job.plane_start, self.job.read_lengths, self.job.limits = &self.row, &self.length, &self.known.limit
        self.job.n_reads, self.job.rejections = 1, self.rejections
        use_kernels(&self.job, None)

    def __dealloc__(self):
        for i in range(N_ROOMS):
            free(self.rooms[i].p)

    def hits(self, const uint8_t[::1] bases not None, make):
        """The places of a read, the primary first.

        Parameters
        ----------
        bases : uint8[m]
            Letters, as `reads.pack` takes them.
        make : callable
            Called for each place, with a tuple of the fields of `hits.Hit`.

        Returns
        -------
        list or None
            What `make` has returned. None: the batches have to say what becomes of the read, as it is too short or too
            long for a search, is not clear, or has a candidate outside the reference.
        """
        cdef Py_ssize_t i
        cdef bint usable
        cdef int quality = 0
        cdef list made = []
        if not self.shortest <= bases.shape[0] <= self.longest:
            return None
        if not self.known_length[bases.shape[0]]:
            self.plan.prepare(np.array([bases.shape[0]], np.uint32))
        with nogil:
            self.begin(&bases[0], <uint32_t>bases.shape[0])
            usable = not (self.is_local and adapter_start(self.reads, 0, self.length, &self.adapters, self.specific))
            usable = usable and self.search() and self.choose() and self.is_settled() and self.align()
        if not usable:
            return None
        if self.n_found:
            quality = self.quality()
        for i in range(self.n_found):
            made.append(make(self.place(i, 0 if i else quality, i == 0)))
        return made

    cdef tuple place(self, Py_ssize_t i, int quality, bint is_primary):
        """The fields of a `hits.Hit`."""
        cdef const found_t *found = <const found_t *>self.rooms[FOUND].p + i
        cdef const uint32_t *runs = <const uint32_t *>self.rooms[RUNS].p + found.first_run
        cdef int64_t start = found.position - self.starts[found.contig]
        cdef int lost = found.edits * self.error_cost
        cigar = tuple([(cigar_op(runs[j]), cigar_length(runs[j])) for j in range(found.n_runs)])
        return (self.names[found.contig], start, start + cigar_span(runs, found.n_runs),
                "-" if found.read_strand & 1 else "+", quality, cigar, found.edits, <int>self.length * self.match - lost, is_primary,
                False, False)

    # --- search ------------------------------------------------------------------------------------------------------

    cdef int begin(self, const uint8_t *bases, uint32_t m) except -1 nogil:
        cdef uint32_t words = (m + 63) >> 6
        cdef int i
        self.planes = <uint64_t *>enlarged(&self.rooms[PLANES], 3 * (2 * words + 1) * sizeof(uint64_t))
        self.reads.words = self.job.reads.words = self.planes
        pack_read(bases, bases + m, m, self.planes, 0, 0)
        for i in range(3):  # seeds at the end of the last row are read beyond it
            self.planes[6 * words + i] = 0
        self.reads.rows = self.job.reads.rows = 2 * words + 1
        self.length = m
        self.flip = orient_read(self.planes, m, &self.digest)
        self.known = knowledge_t(NO_SCORE, self.errors[m], 0)
        self.looked = 0
        self.planned = 0
        self.n_places = self.n_scored = self.n_rejected = 0

    cdef bint search(self) except -1 nogil:
        """Look up stages of seeds until the read is settled (`single.run_stages`).

        False where a filter fails, and for a read that is not clear.
        """
        cdef int stage
        cdef uint32_t m = self.length
        for stage in range(self.stages):
            if self.seed_count[stage, m] and needs_stage(&self.known, self.errors[m], self.strata,
                                                         self.settled[stage, m]):
                if self.is_local and stage and self.known.best == NO_SCORE:
                    return False
                if not self.run_stage(stage):
                    return False
        return True

    cdef bint run_stage(self, int stage) except -1 nogil:
        """`single.run_stage`."""
        cdef columns_t here, there
        cdef buckets_t top_buckets, found
        cdef uint32_t *memory
        cdef Py_ssize_t n
        self.look_up(stage)
        n = self.anchors.n
        if n == 0:
            return True
        self.kept.reserve(n)
        here, there = self.anchors.columns, self.kept.columns
        memory = <uint32_t *>enlarged(&self.rooms[BUCKETS], 2 * (n + 1) * sizeof(uint32_t))
        top_buckets, found = buckets_t(memory, memory + 1, 1), buckets_t(memory + 2, memory + 2 + n, 0)
        best_bucket(&here, NULL, 0, n, self.shift, top_buckets.read_strand, top_buckets.bucket)
        self.score(&top_buckets)
        n = self.filter(&here, &there, n)
        if n < 0:
            return False
        distinct_buckets(&here, n, self.shift, &top_buckets, &found)
        self.score(&found)
        self.note_scored(&top_buckets)
        self.note_scored(&found)
        return True

    cdef int look_up(self, int stage) except -1 nogil:
        """`HostBackend.look_up`, `merge_scored` and `gather`: the anchors of a stage."""
        cdef uint32_t m = self.length
        cdef seed_plan_t plan = seed_plan_t(m, self.seed_length[stage, m], self.seed_count[stage, m],
                                            self.seed_every[stage, m], self.flip, self.longest_seed, 0)
        cdef Py_ssize_t n = 2 * ((plan.count + plan.every - 1) // plan.every), i
        cdef Seed *seeds = <Seed *>enlarged(&self.rooms[SEEDS], n * sizeof(Seed))
        cdef const coordinate_t *copied = NULL
        cdef uint64_t *sorting
        cdef uint16_t clipped, disjoint
        cdef read_t read
        plan_seeds(&plan, self.planes, 0, seeds)
        if self.view.p == 0:
            limit_occurrences(seeds, n, &self.caps[0], &clipped)
        elif self.view.step == 1:
            resolve_seeds(&self.view, seeds, n, &self.caps[0], 0, UINT64_MAX)
            limit_occurrences(seeds, n, &self.caps[0], &clipped)
        else:
            copied = self.resolve_stepped(seeds, n, &clipped)
        self.looked |= <uint8_t>(1 << stage)
        disjoint = <uint16_t>((self.disjoint[stage, m] + plan.every - 1) // plan.every)
        self.planned = max(self.planned, disjoint)
        self.known.complete = max(self.known.complete, <uint16_t>(disjoint - min(clipped, disjoint)))
        sorting = <uint64_t *>enlarged(&self.rooms[SORTING], (max(self.n_scored, self.n_rejected) + 1) * 8)
        sort_keys(<uint64_t *>self.rooms[SCORED].p, sorting, self.n_scored)
        sort_keys(<uint64_t *>self.rooms[REJECTED].p, sorting, self.n_rejected)
        read = read_t(0, self.flip, self.shift, seeds, n, self.view.positions, copied,
                      keys_t(<uint64_t *>self.rooms[SCORED].p, self.n_scored, 0),
                      keys_t(<uint64_t *>self.rooms[REJECTED].p, self.n_rejected, 0), False)
        self.anchors.n = 0
        return gather_read(&read, self.keys, self.anchors)

    cdef const coordinate_t *resolve_stepped(self, Seed *seeds, Py_ssize_t n, uint16_t *clipped) except NULL nogil:
        """Where the index has not every position: look up the seeds, and copy the coordinates at which they begin."""
        cdef int step = <int>self.view.step
        cdef step_range_t *ranges = <step_range_t *>enlarged(&self.rooms[RANGES], n * step * sizeof(step_range_t))
        cdef coordinate_t *copied
        cdef Py_ssize_t i
        cdef size_t total = 0
        memset(ranges, 0, n * step * sizeof(step_range_t))
        resolve_stepped(&self.view, seeds, ranges, n, 0, UINT64_MAX)
        while lengthen_stepped(seeds, ranges, n, step, &self.caps[0]):
            resolve_stepped(&self.view, seeds, ranges, n, 0, UINT64_MAX)
        limit_occurrences(seeds, n, &self.caps[0], clipped)
        for i in range(n):
            seeds[i].lo = <uint32_t>total
            total += seeds[i].count
        copied = <coordinate_t *>enlarged(&self.rooms[COPIED], (total + 1) * sizeof(coordinate_t))
        copy_stepped(&self.view, seeds, ranges, n, 0, UINT64_MAX, copied)
        return copied

    cdef Py_ssize_t filter(self, columns_t *here, columns_t *there, Py_ssize_t n) except -2 nogil:
        """Run the filters; returns how many candidates pass, which are `here`, or -1 where one fails."""
        cdef columns_t swapped
        cdef coordinate_t *rejected
        cdef uint64_t *keys
        cdef int i
        cdef int64_t kept, j
        for i in range(self.filters.shape[0]):
            if n == 0:
                break
            self.job.n, self.job.candidates, self.job.kept = n, here[0], there[0]
            if self.filters[i] == FLANKS:
                kept = pass_flanks(&self.job)
            else:
                rejected = <coordinate_t *>enlarged(&self.rooms[ROWS], 2 * (n + 1) * sizeof(coordinate_t))
                self.job.rejected_diagonal, self.job.rejected_read_strand = rejected, <uint32_t *>(rejected + n + 1)
                kept = pass_band32(&self.job)
            if kept < 0:
                return -1
            if self.filters[i] == BAND32:
                keys = <uint64_t *>enlarged(&self.rooms[REJECTED], (self.n_rejected + n) * 8)
                for j in range(n - kept):
                    keys[self.n_rejected] = place_key(self.job.rejected_read_strand[j], rejected[j])
                    self.n_rejected += 1
            swapped = here[0]
            here[0], there[0] = there[0], swapped
            n = kept
        return n

    cdef int note_scored(self, const buckets_t *buckets) except -1 nogil:
        cdef uint64_t *keys = <uint64_t *>enlarged(&self.rooms[SCORED], (self.n_scored + buckets.n + 1) * 8)
        cdef Py_ssize_t i
        for i in range(buckets.n):
            keys[self.n_scored] = place_key(buckets.read_strand[i], buckets.bucket[i])
            self.n_scored += 1
        return 0

    cdef int width_rank(self) noexcept nogil:
        """Of the tables of kernels: log2 of the words of the bands."""
        cdef int words = self.words[self.length]
        return (words > 1) + (words > 2) + (words > 4)

    cdef band_batch bands_at(self, const uint32_t *read_strand, const coordinate_t *first, uint32_t n) noexcept nogil:
        cdef band_batch batch
        batch.reference, batch.reference_rows = self.reference.words, self.reference.rows
        batch.reads, batch.read_row, batch.read_length = self.planes, &self.row, &self.length
        batch.read_strand, batch.band_start, batch.n = read_strand, first, n
        return batch

    cdef int score(self, const buckets_t *buckets) except -1 nogil:
        """`single.score`: the bands of buckets; those within the limit become places."""
        cdef Py_ssize_t n = buckets.n, i
        cdef uint32_t lead = 32 * <uint32_t>self.words[self.length] - ((<uint32_t>1 << self.shift) >> 1)
        cdef coordinate_t *first = <coordinate_t *>enlarged(&self.rooms[BANDS], (n + 1) * 12)
        cdef uint16_t *edits = <uint16_t *>(first + n)
        cdef uint16_t *end = edits + n
        cdef band_batch batch
        cdef place_t *places
        if n == 0:
            return 0
        for i in range(n):
            first[i] = (<coordinate_t>buckets.bucket[i] << self.shift) - lead
        batch = self.bands_at(buckets.read_strand, first, <uint32_t>n)
        self.kernels.score[self.width_rank()](&batch, NULL, edits, end)
        places = <place_t *>enlarged(&self.rooms[PLACES], (self.n_places + n) * sizeof(place_t))
        for i in range(n):
            if take_band(&self.known, edits[i], self.margin):
                places[self.n_places] = place_t(first[i], buckets.read_strand[i], end[i], edits[i])
                self.n_places += 1
        return 0

    # --- choice and alignment ----------------------------------------------------------------------------------------

    cdef bint choose(self) except -1 nogil:
        """`selection.select_best`: fills `summary`, and rows of places to report."""
        cdef Py_ssize_t n = self.n_places, i
        cdef const place_t *places = <const place_t *>self.rooms[PLACES].p
        cdef int64_t *rows
        cdef uint64_t *keys
        cdef uint32_t *read_strand
        cdef coordinate_t *ends
        cdef uint16_t *edits
        cdef read_bands_t bands
        cdef choice_t choice = choice_t(self.margin, self.max_hits)
        cdef scratch_t scratch
        memset(&self.summary, 0, sizeof(read_summary_t))
        self.summary.best = self.summary.second = NO_SCORE
        self.summary.suboptimal = NO_SUBOPTIMAL
        if n == 0:
            return True
        rows = <int64_t *>enlarged(&self.rooms[ROWS], n * sizeof(int64_t))
        if n == 1:
            self.summary.best, self.summary.n_best, self.summary.n_reported, rows[0] = places[0].edits, 1, 1, 0
            return True
        # 16 bytes of keys, 12 + 2 of columns and 1 of strata for each.
        keys = <uint64_t *>enlarged(&self.rooms[SORTING], 32 * n)
        scratch.keys, scratch.sorting = keys, keys + n
        ends = <coordinate_t *>(keys + 2 * n)
        read_strand = <uint32_t *>(ends + n)
        edits = <uint16_t *>(read_strand + n)
        scratch.stratum = <uint8_t *>(edits + n)
        for i in range(n):
            read_strand[i], edits[i] = places[i].read_strand, places[i].edits
            ends[i] = places[i].first + places[i].end + self.length
        bands = read_bands_t(read_strand, ends, edits, 0, n, self.flip, self.digest)
        select_places(&bands, &choice, &scratch, &self.summary, rows)
        return True

    cdef bint is_settled(self) noexcept nogil:
        """Whether the places of whole reads are those to report: where ends may be clipped, only of clear reads."""
        cdef const read_summary_t *s = &self.summary
        cdef int score = <int>self.length * self.match - s.best * self.error_cost
        if not self.is_local:
            return True
        if s.n_reported != 1:
            return False
        if score < self.least_score and not (self.any_perfect and s.best == 0):
            return False
        return s.best == 0 if s.n_best > 1 else s.second == NO_SCORE

    cdef bint is_best(self, const place_t *place, coordinate_t diagonal) noexcept nogil:
        """Whether nothing that touches the diagonal scores more than the whole read, or as much: `Aligner.score`.

        A band is wide enough where leaving it costs more than the errors do.
        """
        cdef int loss = place.edits * self.error_cost
        cdef uint32_t width = 64 * <uint32_t>self.words[self.length]
        cdef coordinate_t first
        cdef uint16_t key = 0, rows = 0, end = 0
        cdef Py_ssize_t w = 0
        cdef band_batch batch
        cdef local_ends ends
        if place.edits <= self.free_errors:
            return True
        while w < self.leaving.shape[0] and self.leaving[w, 1] <= loss:
            w += 1
        if w == self.leaving.shape[0] or self.leaving[w, 0] > width:
            return False
        width = <uint32_t>self.leaving[w, 0]
        first = diagonal - (width >> 1)
        batch = self.bands_at(&place.read_strand, &first, 1)
        ends.key, ends.rows, ends.end = &key, &rows, &end
        self.kernels.local_score(&batch, <const local_scoring *>&self.costs[0], width, &ends)
        # A key is twice the total, and 1 where the first base is aligned.
        return (key & 1 and rows == self.length and first + end == diagonal
                and key >> 1 == <int>self.length * self.match + self.perfect_ends - loss)

    cdef bint is_plain(self, int64_t diagonal, int64_t first) noexcept nogil:
        """Whether an ungapped alignment lies inside a contig, and no base that faces another is masked."""
        cdef int64_t m = self.length, i, start
        cdef Py_ssize_t contig = contig_near(self.contigs.starts, self.contigs.lengths, self.contigs.n, diagonal + (m >> 1))
        cdef uint64_t masked = 0
        start = self.contigs.starts[contig]
        if diagonal < start or diagonal + m > start + self.contigs.lengths[contig]:
            return False
        for i in range(0, m, 64):
            masked |= first_bases(min(m - i, 64)) & (
                bases_at(self.reference, diagonal + i).masked | bases_at(self.reads, first + i).masked)
        return masked == 0

    cdef bint align(self) except -1 nogil:
        """`HostBackend.trace_back`: the alignments of the reported places.

        False where a band has no such alignment, and for a read that is not clear.
        """
        cdef const place_t *places = <const place_t *>self.rooms[PLACES].p
        cdef const int64_t *rows = <const int64_t *>self.rooms[ROWS].p
        cdef Py_ssize_t n = self.summary.n_reported, i, n_runs = 0
        cdef found_t *found = <found_t *>enlarged(&self.rooms[FOUND], (n + 1) * sizeof(found_t))
        self.n_found = n
        for i in range(n):
            if not self.align_place(&places[rows[i]], &found[i], n_runs):
                return False
            n_runs += found[i].n_runs
        return True

    cdef bint align_place(self, const place_t *place, found_t *found, Py_ssize_t first_run) except -1 nogil:
        cdef uint32_t m = self.length, slot_end = 2 * <uint32_t>place.edits + 1
        cdef int64_t first = 64 * (<int64_t>(place.read_strand & 1) * ((m + 63) >> 6))
        cdef coordinate_t diagonal = ungapped_diagonal(self.reference, place.first + place.end, self.reads, first, m,
                                                   place.edits, place.edits)
        # What a contig cuts has two runs more; behind them is room for the walk back.
        cdef size_t room = first_run + 2 * slot_end + 4
        cdef uint32_t *runs = <uint32_t *>enlarged(&self.rooms[RUNS], room * sizeof(uint32_t))
        cdef uint32_t *walked = runs + first_run + slot_end + 4
        cdef uint16_t n_runs = 1, start = 0
        cdef band_batch batch
        cdef band_paths paths
        found.read_strand, found.edits, found.first_run = place.read_strand, place.edits, first_run
        if self.is_local and not (diagonal and self.is_plain(diagonal, first) and self.is_best(place, diagonal)):
            return False
        if diagonal:
            found.position = diagonal
            walked[slot_end - 1] = m << 4
        else:
            batch = self.bands_at(&place.read_strand, &place.first, 1)
            paths.end, paths.edits, paths.slot_end = &place.end, &place.edits, &slot_end
            paths.start, paths.n_runs, paths.runs = &start, &n_runs, walked
            if self.kernels.align[self.width_rank()](&batch, &paths, m):
                with gil:
                    raise MemoryError("no memory for the traceback")
            if n_runs == NO_SCORE:
                return False
            found.position = place.first + start
        found.n_runs = n_runs
        found.contig = fit_contig(walked + slot_end - n_runs, &found.n_runs, &found.position, m, &self.contigs,
                                  runs + first_run)
        return True

    # --- mapping quality ---------------------------------------------------------------------------------------------

    cdef int quality(self) except -1:
        """The mapping quality of the primary (`mapq.mapping_quality`, `beside_copies`)."""
        cdef const found_t *primary = <const found_t *>self.rooms[FOUND].p
        cdef const read_summary_t *s = &self.summary
        cdef int64_t first = 64 * (<int64_t>(primary.read_strand & 1) * ((self.length + 63) >> 6))
        cdef uint16_t errors = NO_SCORE, count = 0
        cdef double letters = word_letters(self.reads, 0, self.length, self.plan.letters)
        cdef int quality = self.rate(letters, s.best, s.second, s.n_best, s.n_second, self.length, self.known.complete,
                                     self.looked, self.planned)
        if quality >= self.least_beside:
            count = rivals_beside(self.reference, primary.position, self.reads, first, self.length, self.length,
                                  primary.edits + self.most_beside, &errors)
        if count:
            quality = min(quality, <int>self.rate_beside(count, errors, primary.edits, self.length))
        return quality
