"""One read at a time, for callers that wait for its places: a block of one, without arrays around it.

A read has the places that it has in any batch, as the same compiled objects find them. The batches have to say what
becomes of reads that are cut at an adapter, or of which dense seeds are to be looked up.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from gassst._core cimport alignments
from gassst._core.alignments cimport Traces
from gassst._core.banded cimport bands_at
from gassst._core.cigar cimport cigar_length, cigar_op, cigar_span
from gassst._core.contigs cimport contigs_before
from gassst._core.costs cimport costs_of
from gassst._core.layouts cimport NO_SCORE, hit_t, rating_t, read_summary_t
from gassst._core.local_aligner cimport CIGARS, PRIMARY, LocalAligner, row_t, told_t
from gassst._core.local_places cimport MOST_SCORED, keep_known, known_of, known_t
from gassst._core.mapq cimport Rater, coverage_t, over_t, place_t as rated_t
from gassst._core.planes cimport planes_t
from gassst._core.read_through cimport adapter_start, adapters_of, adapters_t
from gassst._core.rooms cimport enlarged, room_t
from gassst._core.sam_flags cimport NOT_PRIMARY, PROPER_PAIR, REVERSE, SECONDARY, SUPPLEMENTARY, UNMAPPED
from gassst._core.seeds cimport orient_read, reads_t
from gassst._core.selection cimport place_t, select_places, sought_t
from gassst._core.stages cimport PLACES, Stages, states_t
from gassst.model.params import MIN_READ_LENGTH, SPECIFIC_LENGTH

cdef extern from "pack.h" nogil:
    void pack_read(const uint8_t *bases, const uint8_t *end, uint32_t length, uint64_t *rows, int portable,
                   int conversion)

cdef enum:  # what memory is for
    SORTING, ROWS, CHOSEN, PLANES, N_ROOMS


cdef tuple fields_of(const hit_t *hit, const uint32_t *cigars, const int64_t *starts, Py_ssize_t n_contigs, names):
    """The fields of a `hits.Hit`."""
    cdef const uint32_t *runs = cigars + hit.cigar_start
    cdef Py_ssize_t contig = contigs_before(starts, n_contigs, hit.position) - 1
    cdef int64_t start = hit.position - starts[contig]
    cigar = tuple([(cigar_op(runs[j]), cigar_length(runs[j])) for j in range(hit.cigar_runs)])
    return (names[contig], start, start + cigar_span(runs, hit.cigar_runs), "-" if hit.flag & REVERSE else "+", hit.mapq,
            cigar, hit.edits, hit.score, not hit.flag & NOT_PRIMARY, bool(hit.flag & SUPPLEMENTARY),
            bool(hit.flag & PROPER_PAIR), "", "")


def hits_of(Py_ssize_t n, const hit_t[::1] hits, const uint32_t[::1] cigars, reference, make):
    """What `make` returns of the places of each of n reads, as `OneRead.hits`, from the rows of a batch (HIT[h])."""
    cdef const int64_t[::1] starts = reference.starts
    cdef Py_ssize_t i
    found = [[] for _ in range(n)]
    for i in range(hits.shape[0]):
        if not hits[i].flag & UNMAPPED:
            found[hits[i].read].append(
                make(fields_of(&hits[i], &cigars[0], &starts[0], starts.shape[0], reference.names)))
    return found


cdef class OneRead:
    """Finds the places of one read at a time, for the thread that it belongs to.

    Parameters
    ----------
    index : seeding.seed_index.SeedIndex
        Its arrays, and those of `plan`, are read where they are.
    plan : seeding.plan.SearchPlan
    cascade : search.filters.Cascade
    params : model.params.MapParams
        Of single reads.
    instruction_set : str
        One of `banded.instruction_sets()`.
    margin : int
        Errors beyond the best place with which others are kept.
    given_up : float
        As `Stages.search` takes it.
    library : pairing.error_rate.ErrorRate
    adapters : tuple
        Codes of the known ones, uint8[a, b], and `reads.adapters.RULES`.
    ends : LocalAligner or None
        Where ends may be clipped, its own aligner.
    """

    cdef object plan
    cdef Rater rater
    cdef list names
    cdef bint has_circles
    cdef int longest
    cdef int64_t gaps
    cdef const uint8_t[:, ::1] adapter_codes
    cdef adapters_t adapters
    cdef const uint8_t[::1] known_length
    # The read at hand.
    cdef sought_t read
    cdef uint32_t length, row
    cdef uint8_t flip, looked, capped
    cdef uint16_t best, limit, complete, planned
    cdef read_summary_t summary
    cdef rating_t rating
    cdef over_t over
    # What it needs, kept for the next one.
    cdef Stages stages
    cdef Traces traces
    cdef LocalAligner ends
    cdef room_t rooms[N_ROOMS]
    # What was found.
    cdef const hit_t *found
    cdef const uint32_t *cigars

    def __cinit__(self, index, plan, cascade, params, str instruction_set, int margin, double given_up, library, adapters,
                  ends):
        memset(self.rooms, 0, sizeof(self.rooms))
        self.plan, self.names, self.gaps, self.ends = plan, list(index.reference.names), plan.gaps, ends
        self.known_length = plan.known_lengths.view(np.uint8)
        self.read.margin, self.read.max_hits, self.longest = margin, params.max_hits, params.longest_read
        self.rater = plan.rater(library)
        self.adapter_codes, first_part, shortest, bases_an_error = adapters
        self.adapters = adapters_of(self.adapter_codes, first_part, shortest, bases_an_error)
        self.stages = Stages(index, None, cascade, plan, margin, instruction_set)
        self.traces = Traces(index)
        self.traces.kernels, self.traces.rater = self.stages.kernels, self.rater
        self.stages.given_up, self.has_circles = given_up, index.reference.circular is not None
        if ends is not None:
            self.ends.ground.reference, self.ends.ground.contigs = self.stages.reference, self.traces.contigs
            self.ends.ground.costs, self.ends.kernels, self.ends.n = costs_of(params.scoring), self.stages.kernels, 1
            self.ends.flip, self.ends.digest = &self.flip, &self.read.digest

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
            long for a search, has an adapter, needs dense seeds, or has a candidate outside the reference.
        """
        cdef Py_ssize_t n
        cdef int specific = SPECIFIC_LENGTH
        if not MIN_READ_LENGTH <= bases.shape[0] <= self.longest:
            return None
        if not self.known_length[bases.shape[0]]:
            self.plan.prepare(np.array([bases.shape[0]], np.uint32))
        with nogil:
            self.begin(&bases[0], <uint32_t>bases.shape[0])
            n = -1 if self.ends is not None and adapter_start(
                self.stages.reads.planes, 0, self.length, &self.adapters, specific) else self.find()
        return None if n < 0 else [
            make(fields_of(&self.found[i], self.cigars, &self.traces.starts[0], self.traces.contigs.n, self.names))
            for i in range(n)]

    cdef int begin(self, const uint8_t *bases, uint32_t m) except -1 nogil:
        cdef uint32_t words = (m + 63) >> 6
        cdef uint64_t *planes = <uint64_t *>enlarged(&self.rooms[PLANES], 3 * (2 * words + 1) * sizeof(uint64_t))
        cdef reads_t reads = reads_t(planes_t(planes, 2 * words + 1), &self.row, &self.length, &self.flip, NULL, 1)
        cdef states_t states = states_t(&self.best, &self.limit, &self.complete, &self.planned, &self.looked, &self.capped)
        pack_read(bases, bases + m, m, planes, 0, 0)
        memset(&planes[6 * words], 0, 3 * sizeof(uint64_t))  # seeds at the end of the last row are read beyond it
        self.length = self.read.length = m
        self.read.flip = self.flip = orient_read(planes, m, &self.read.digest)
        self.best, self.limit, self.complete, self.planned = NO_SCORE, self.stages.errors[m], 0, 0
        self.looked = self.capped = 0
        self.stages.open_reads(&reads, &states)
        self.traces.reads = reads
        if self.ends is not None:
            self.ends.ground.reads, self.ends.ground.plane_start = reads.planes, reads.plane_start
            self.ends.ground.lengths, self.ends.n_runs = reads.lengths, 0
            self.ends.batch = bands_at(&self.stages.reference, &reads, NULL, NULL, 0)
        return 0

    cdef Py_ssize_t find(self) except? -1 nogil:
        """Search the read, choose among its places, and align them. Returns how many are `found`; -1: a batch is needed."""
        cdef const place_t *places
        cdef int64_t *rows
        cdef rated_t rated
        cdef Py_ssize_t n
        self.stages.run_block(0, 1)
        places, n = <const place_t *>self.stages.rooms[PLACES].p, self.stages.n_places
        rows = <int64_t *>enlarged(&self.rooms[ROWS], n * sizeof(int64_t))
        select_places(places, n, &self.read, &self.rooms[SORTING], &self.summary, rows)
        if self.summary.n_reported == 0:
            return 0 if self.ends is None else -1
        self.rater.whole(&self.summary, &self.stages.reads, &self.stages.states, 0, &rated)
        self.rater.alone(&rated, &self.rating)
        return self.align(places, rows) if self.ends is None else self.align_ends(places, n, rows[0])

    cdef Py_ssize_t align(self, const place_t *places, const int64_t *rows) except -1 nogil:
        """The alignments of the whole read at the reported places."""
        cdef Py_ssize_t n = self.summary.n_reported, i
        cdef place_t *chosen = <place_t *>enlarged(&self.rooms[CHOSEN], n * sizeof(place_t))
        cdef hit_t *hits
        for i in range(n):
            chosen[i] = places[rows[i]]
        self.traces.n_runs = 0
        self.traces.align(chosen, n, False)
        hits = self.traces.finish(chosen, n)
        hits.mapq = self.traces.rate(&self.rating, hits, self.summary.best)
        for i in range(1, n):
            hits[i].flag |= SECONDARY
        self.found, self.cigars = hits, <const uint32_t *>self.traces.rooms[alignments.CIGARS].p
        return n

    cdef Py_ssize_t align_ends(self, const place_t *places, Py_ssize_t n, int64_t chosen) except? -1 nogil:
        """The alignment of the read where its ends may be clipped."""
        cdef known_t known[MOST_SCORED]
        cdef place_t whole[MOST_SCORED]
        cdef uint8_t given[MOST_SCORED]
        cdef Py_ssize_t kept = 0, i
        cdef told_t told
        cdef coverage_t seen
        for i in range(n):
            if places[i].edits <= places[chosen].edits + self.ends.worse:
                kept = keep_known(known, kept, known_of(places[i].read_strand, places[i].first, places[i].end,
                                                        places[i].edits, self.flip, i, i == chosen))
        for i in range(kept):
            whole[i], given[i] = places[known[i].row], known[i].row == chosen
        if self.ends.know_wholes(whole, given, kept, False, self.gaps):
            return -1
        memset(&told, 0, sizeof(told))
        told.summary, told.rated = &self.summary, &self.rating
        seen = coverage_t(self.stages.states, &self.over, self.ends.ground.costs.match,
                          self.ends.ground.costs.match + self.ends.ground.costs.mismatch, <int>self.ends.much_clipped, 0, 0)
        self.ends.rate(self.rater, &told, &seen, False)
        self.found, self.cigars = &(<const row_t *>self.ends.rooms[PRIMARY].p).hit, <const uint32_t *>self.ends.rooms[CIGARS].p
        # On circles a clipped end may lie behind the origin.
        return 1 if self.ends.n_reported and (self.found.cigar_runs == 1 or not self.has_circles) else -1
