"""One read at a time, for callers that wait for its places: a block of one (`stages.pyx`), without arrays around it.

A read has the places that it has in any batch. Where ends may be clipped, this is for clear reads: no gap, and errors
that no clipped or gapped alignment betters, nor any other place. The batches have to say what becomes of all others.
"""

import numpy as np

from libc.stdint cimport int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from gassst._core.alignments cimport CIGARS, Traces, ungapped_diagonal
from gassst._core.banded cimport band_batch, bands_at, local_ends, local_scoring
from gassst._core.coordinates cimport coordinate_t
from gassst._core.cigar cimport cigar_length, cigar_op, cigar_span
from gassst._core.layouts cimport NO_SCORE, hit_t, rating_t, read_summary_t
from gassst._core.contigs cimport contig_near, contigs_before, contigs_t
from gassst._core.mapq cimport Rater, place_t as rated_t
from gassst._core.planes cimport bases_at, count_bits, first_base, first_bases, planes_t, unknown_bases
from gassst._core.read_through cimport adapter_start, adapters_of, adapters_t
from gassst._core.rooms cimport enlarged, room_t
from gassst._core.seeds cimport orient_read, reads_t
from gassst._core.selection cimport place_t, select_places, sought_t
from gassst._core.stages cimport PLACES, Stages, states_t
from gassst.model.params import MIN_READ_LENGTH, SPECIFIC_LENGTH

cdef extern from "pack.h" nogil:
    void pack_read(const uint8_t *bases, const uint8_t *end, uint32_t length, uint64_t *rows, int portable,
                   int conversion)

cdef enum:  # what memory is for
    SORTING
    ROWS
    CHOSEN
    PLANES
    N_ROOMS


cdef class OneRead:
    """Finds the places of one read at a time, for the thread that it belongs to.

    Parameters
    ----------
    index : seeding.seed_index.SeedIndex
        Its arrays, and those of `plan`, are read where they are.
    plan : seeding.plan.SearchPlan
    cascade : search.filters.Cascade
    params : model.params.MapParams
        Of single reads. In mode "local" the search is for clear reads.
    instruction_set : str
        One of `banded.instruction_sets()`.
    margin : int
        Errors beyond the best place with which others are kept.
    library : pairing.error_rate.ErrorRate
    adapters : tuple
        Codes of the known ones, uint8[a, b], and `reads.adapters.RULES`: a read with one of them is not clear.
    ends : tuple
        The penalties as the local kernel takes them, int16[7]; widths of bands, and what an alignment loses at least that
        leaves them, int64[widths, 2]; least loss of one with a gap or a clipped end.
    """

    cdef object plan
    cdef Rater rater
    cdef list names
    cdef planes_t reads
    cdef bint is_local, any_perfect
    cdef int longest, breaking, match, error_cost, spared, least_score, perfect_ends
    cdef const int16_t[::1] costs
    cdef const int64_t[:, ::1] leaving
    cdef const uint8_t[:, ::1] adapter_codes
    cdef adapters_t adapters
    cdef const uint8_t[::1] known_length
    # The read at hand.
    cdef sought_t read
    cdef uint32_t length, row
    cdef uint8_t flip, looked, capped
    cdef uint16_t best, limit, complete, planned
    cdef read_summary_t summary
    cdef int loss  # of score, of the first place
    # What it needs, kept for the next one.
    cdef Stages stages
    cdef Traces traces
    cdef room_t rooms[N_ROOMS]
    cdef hit_t *found

    def __cinit__(self, index, plan, cascade, params, str instruction_set, int margin, library, adapters, ends):
        memset(self.rooms, 0, sizeof(self.rooms))
        self.plan, self.names, scoring = plan, list(index.reference.names), params.scoring
        self.known_length = plan.known_lengths.view(np.uint8)
        self.read.margin, self.read.max_hits, self.longest = margin, params.max_hits, params.longest_read
        self.rater, self.is_local = plan.rater(library), params.mode == "local"
        self.match = scoring.match if self.is_local else 0
        self.error_cost = scoring.match + scoring.mismatch if self.is_local else 1
        self.spared = self.error_cost - (self.match + 1)
        self.least_score, self.any_perfect = scoring.least_score, scoring.min_score is None
        self.costs, self.leaving, self.breaking = ends
        self.perfect_ends = 2 * scoring.clip
        self.adapter_codes, first_part, shortest, bases_an_error = adapters
        self.adapters = adapters_of(self.adapter_codes, first_part, shortest, bases_an_error)
        self.stages = Stages(index, None, cascade, plan, margin, instruction_set)
        self.traces = Traces(index)
        self.traces.kernels, self.traces.rater = self.stages.kernels, self.rater
        self.stages.given_up = 1.0 if self.is_local else 0.0  # a read that the first stage does not place is not clear
        self.row = 0

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
        cdef bint usable
        cdef rating_t rating
        cdef uint8_t quality = 0
        cdef int specific = SPECIFIC_LENGTH
        if not MIN_READ_LENGTH <= bases.shape[0] <= self.longest:
            return None
        if not self.known_length[bases.shape[0]]:
            self.plan.prepare(np.array([bases.shape[0]], np.uint32))
        with nogil:
            self.begin(&bases[0], <uint32_t>bases.shape[0])
            usable = not (self.is_local and adapter_start(self.reads, 0, self.length, &self.adapters, specific))
            if usable:
                self.stages.run_block(0, 1)
                self.choose()
                usable = self.is_settled()
            if usable and self.summary.n_reported:
                self.align(&rating)
                quality = self.traces.rate(&rating, self.found, self.loss / <double>self.error_cost)
        if not usable:
            return None
        return [make(self.place(i, 0 if i else quality, i == 0)) for i in range(self.summary.n_reported)]

    cdef tuple place(self, Py_ssize_t i, int quality, bint is_primary):
        """The fields of a `hits.Hit`."""
        cdef const hit_t *hit = self.found + i
        cdef const uint32_t *runs = <const uint32_t *>self.traces.rooms[CIGARS].p + hit.cigar_start
        cdef Py_ssize_t contig = contigs_before(self.traces.contigs.starts, self.traces.contigs.n, hit.position) - 1
        cdef int64_t start = hit.position - self.traces.contigs.starts[contig]
        cigar = tuple([(cigar_op(runs[j]), cigar_length(runs[j])) for j in range(hit.cigar_runs)])
        return (self.names[contig], start, start + cigar_span(runs, hit.cigar_runs), "-" if hit.strand else "+", quality, cigar,
                hit.edits, <int>self.length * self.match - (self.loss if is_primary else hit.edits * self.error_cost),
                is_primary, False, False, "", "")

    # --- search ------------------------------------------------------------------------------------------------------

    cdef int begin(self, const uint8_t *bases, uint32_t m) except -1 nogil:
        cdef uint32_t words = (m + 63) >> 6
        cdef reads_t reads
        cdef states_t states
        cdef uint64_t *planes = <uint64_t *>enlarged(&self.rooms[PLANES], 3 * (2 * words + 1) * sizeof(uint64_t))
        pack_read(bases, bases + m, m, planes, 0, 0)
        memset(&planes[6 * words], 0, 3 * sizeof(uint64_t))  # seeds at the end of the last row are read beyond it
        self.reads.words, self.reads.rows, self.length = planes, 2 * words + 1, m
        self.read.length, self.read.flip = m, orient_read(planes, m, &self.read.digest)
        self.flip = self.read.flip
        self.best, self.limit, self.complete, self.planned = NO_SCORE, self.stages.errors[m], 0, 0
        self.looked = self.capped = 0
        reads = reads_t(self.reads, &self.row, &self.length, &self.flip, NULL, 1)
        states = states_t(&self.best, &self.limit, &self.complete, &self.planned, &self.looked, &self.capped)
        self.stages.open_reads(&reads, &states)
        self.traces.reads = reads

    # --- choice and alignment ----------------------------------------------------------------------------------------

    cdef int choose(self) except -1 nogil:
        """Fills `summary`, and rows of places to report."""
        cdef Py_ssize_t n = self.stages.n_places
        return select_places(<const place_t *>self.stages.rooms[PLACES].p, n, &self.read, &self.rooms[SORTING], &self.summary,
                             <int64_t *>enlarged(&self.rooms[ROWS], n * sizeof(int64_t)))

    cdef bint is_settled(self) noexcept nogil:
        """Whether the places of whole reads are those to report: where ends may be clipped, only of clear reads."""
        cdef const read_summary_t *s = &self.summary
        cdef const place_t *place
        cdef int64_t first, masked
        cdef coordinate_t diagonal
        self.loss = s.best * self.error_cost
        if not self.is_local or s.n_best == 0:
            return not self.is_local
        place = <const place_t *>self.stages.rooms[PLACES].p + (<const int64_t *>self.rooms[ROWS].p)[0]
        first = first_base(0, place.read_strand, self.length)
        diagonal = ungapped_diagonal(self.stages.reference, place.first + place.end, self.reads, first, self.length,
                                     place.edits, place.reach)
        masked = self.masked_bases(diagonal, first) if diagonal else -1
        if masked < 0 or masked > 0 and self.spared < 0:
            return False
        self.loss -= <int>masked * self.spared
        if <int>self.length * self.match - self.loss < self.least_score and not (self.any_perfect and self.loss == 0):
            return False
        if s.best > 0 and (s.n_best > 1 or s.second != NO_SCORE) and not self.leads_others(place):
            return False
        return masked == 0 and self.loss < self.breaking or self.is_best(place, diagonal, s.best * self.error_cost)

    cdef bint leads_others(self, const place_t *chosen) noexcept nogil:
        """Whether no other place scores more, in a band that holds all those in which `LocalAligner.known` looks for it.

        It finds the best alignment in the band of the place, and looks around that in a band which costs more to leave
        than it loses or scores.
        """
        cdef const place_t *place = <const place_t *>self.stages.rooms[PLACES].p
        cdef int64_t total = <int64_t>self.length * self.match + self.perfect_ends
        cdef Py_ssize_t i, w = self.rank_of_width(total // 2), n = self.leaving.shape[0]
        cdef int64_t widest = self.leaving[n - 1, 0]
        cdef uint16_t rows, end
        if w == n or 2 * (64 * self.stages.words[self.length] + self.stages.errors[self.length]) + self.leaving[w, 0] > widest:
            return False
        for i in range(self.stages.n_places):
            if place + i != chosen and total - self.loss < self.best_in(
                    &place[i], place[i].first + place[i].end - (widest >> 1), widest, &rows, &end) >> 1:
                return False
        return True

    cdef bint is_best(self, const place_t *place, coordinate_t diagonal, int expected) noexcept nogil:
        """Whether nothing scores as much as the whole read in the bands that `LocalAligner.known` looks at.

        These are as wide as what the read is `expected` to lose asks for.
        """
        cdef int64_t widest = 64 * <int64_t>self.stages.words[self.length], width
        cdef Py_ssize_t w = self.rank_of_width(expected)
        if w == self.leaving.shape[0] or self.leaving[w, 0] > widest:
            return False
        width = self.leaving[w, 0]
        return (self.leads(place, diagonal, diagonal - (width >> 1), width)
                and (width < widest or self.leads(place, diagonal, place.first, width)))

    cdef Py_ssize_t rank_of_width(self, int64_t loss) noexcept nogil:
        """Return the rank of the narrowest band that costs more to leave."""
        cdef Py_ssize_t w = 0
        while w < self.leaving.shape[0] and self.leaving[w, 1] <= loss:
            w += 1
        return w

    cdef bint leads(self, const place_t *place, coordinate_t diagonal, coordinate_t first, int64_t width) noexcept nogil:
        """Whether the whole read on a diagonal scores most in a band."""
        cdef uint16_t rows = 0, end = 0, key = self.best_in(place, first, width, &rows, &end)
        return (not key & 1 and rows == self.length and first + end == diagonal
                and key >> 1 == <int>self.length * self.match + self.perfect_ends - self.loss)

    cdef uint16_t best_in(self, const place_t *place, coordinate_t first, int64_t width, uint16_t *rows,
                          uint16_t *end) noexcept nogil:
        """Twice the total of what scores most in a band, and 1 where its first base is clipped; and where it ends."""
        cdef uint16_t key = 0
        cdef band_batch batch = bands_at(&self.stages.reference, &self.stages.reads, &place.read_strand, &first, 1)
        cdef local_ends ends = local_ends(&key, rows, end)
        self.stages.kernels.local_score(&batch, <const local_scoring *>&self.costs[0], <uint32_t>width, &ends)
        return key

    cdef int64_t masked_bases(self, int64_t diagonal, int64_t first) noexcept nogil:
        """How many masked bases an ungapped alignment has on either side; -1 where it is not inside a contig."""
        cdef int64_t m = self.length, i, masked = 0
        cdef const contigs_t *contigs = &self.traces.contigs
        cdef Py_ssize_t contig = contig_near(contigs.starts, contigs.lengths, contigs.n, diagonal + (m >> 1))
        cdef int64_t start = contigs.starts[contig]
        if diagonal < start or diagonal + m > start + contigs.lengths[contig]:
            return -1
        for i in range(0, m, 64):
            masked += count_bits(first_bases(min(m - i, 64)) & unknown_bases(
                bases_at(self.stages.reference, diagonal + i), bases_at(self.reads, first + i)))
        return masked

    cdef int align(self, rating_t *rating) except -1 nogil:
        """The alignments of the reported places, and the rating of the first one but for copies beside it."""
        cdef const place_t *places = <const place_t *>self.stages.rooms[PLACES].p
        cdef const int64_t *rows = <const int64_t *>self.rooms[ROWS].p
        cdef Py_ssize_t n = self.summary.n_reported, i
        cdef place_t *chosen = <place_t *>enlarged(&self.rooms[CHOSEN], n * sizeof(place_t))
        cdef rated_t seen
        for i in range(n):
            chosen[i] = places[rows[i]]
        self.traces.n_runs = 0
        self.traces.align(chosen, n, False)
        self.found = self.traces.finish(chosen, n)
        self.rater.whole(&self.summary, &self.stages.reads, &self.stages.states, 0, &seen)
        self.rater.alone(&seen, rating)
        return 0
