"""From packed reads to what is reported of them: of a batch, or of one read or pair for callers that wait for it.

Stages of seeds, or a device, find the places of whole reads. One of each read is chosen, or of two mates together, and
rated. Where ends may be clipped, places are then compared by score, and mates are placed beside each other
(`LocalAligner`); else whole reads are aligned.

A read has the places that it has in any batch, as the same calls find them. The batches have to say what becomes of
reads that are cut at an adapter.
"""

from math import comb

import numpy as np

from gassst._core.common cimport *
from gassst._core.stages cimport *
from gassst.model.layouts import HIT, LOCAL_LINE, LOCAL_PLACE, OVER as OVER_TYPE, PLACE, RATING, READ_SUMMARY
from gassst.model.params import LEAST_SHARE, MAX_READ_LENGTH, MIN_READ_LENGTH

include "selection.pxi"
include "tandem.pxi"
include "../align/stretches.pxi"
include "../align/local_hits.pxi"
include "../align/local_places.pxi"
include "mapq.pxi"
include "../pairing/proper_pairs.pxi"
include "../pairing/pair_scoring.pxi"
include "../pairing/read_through.pxi"
include "../align/local_bands.pxi"
include "../align/local_parts.pxi"
include "../align/local_aligner.pxi"
include "../pairing/joint.pxi"


cdef extern from "pack.h" nogil:
    void pack_read(const uint8_t *bases, const uint8_t *end, uint32_t length, uint64_t *rows, int portable,
                   int conversion)


cdef class ReadSearch:
    """Places reads, single or in pairs, for the thread that it belongs to. Its memory is used again.

    Parameters
    ----------
    stages : Stages
        `PairStages` for pairs, unless all places are wanted.
    ends : LocalAligner

    Attributes
    ----------
    capped, select_ns, local_ns : int
        Of the last batch: reads of which a seed was passed over; how long it took to choose among places, and all that
        came then.
    """

    cdef readonly Stages stages
    cdef readonly LocalAligner ends
    cdef Rater rater
    cdef PairChooser chooser
    cdef object made_of, kept
    cdef bint is_known      # errors of the library
    cdef int64_t gaps, cost
    cdef uint32_t max_hits
    cdef bint stay, strata
    cdef int points     # of score, an error
    cdef double *wrong  # by read, what other known places weigh; below 0: that is told by their errors
    cdef double window, average_cost
    cdef const uint16_t[:, :, ::1] costs    # of deaminated bases
    cdef const uint8_t *mate
    cdef const uint64_t *digest
    cdef room_t rooms[N_ROOMS]
    # What was found: of each read its places begin at `start`, and their rows, the chosen one first, there, too.
    cdef const place_t *places
    cdef int64_t *start
    cdef int64_t *rows
    cdef read_summary_t *summary

    cdef readonly int64_t capped, select_ns, local_ns

    def __cinit__(self, Stages stages not None, LocalAligner ends not None, *_):
        self.stages, self.ends = stages, ends

    def __dealloc__(self):
        for i in range(N_ROOMS):
            free(self.rooms[i].p)

    cdef int prepare_pairs(self, pairs, tuple mates) except -1:
        """Say how mates lie (search.context.PairContext), and `mates` as for `place`."""
        made_of = pairs.insert, pairs.borders, self.rater
        if self.made_of is None or any([a is not b for a, b in zip(made_of, self.made_of)]):
            worth, _, run = mates
            self.chooser = PairChooser(pairs, self.rater.odds, self.points, worth)
            self.ends.prepare_pairs(pairs, self.chooser, worth, run)
            self.window, self.made_of = pairs.window_bases, made_of
        return 0

    def place(self, context, pairs, found, uint32_t block, double given_up, tuple mates):
        """Find the places of a batch, and of each read the best one; with local ends, the best alignment of each alone.

        Parameters
        ----------
        context : search.context.BatchContext
            Of n reads, which `ends` has open.
        pairs : search.context.PairContext or None
            None: all reads are single.
        found : gpu.found.Found or None
            What a device has found in single reads, instead of a search.
        block : int
            Reads of a block.
        given_up : float
            A read without a place is left once the stages have missed less than this share of its library.
        mates : tuple
            Score that a mate beside adds; places of a read that is a guide to its mate; bases in a row that are equal
            where a mate is looked for.
        """
        cdef const uint8_t[::1] mate
        cdef const uint64_t[::1] digest = context.digest
        cdef Py_ssize_t i
        cdef int64_t began
        cdef const aligned_t *traced
        library, params = context.library, context.params
        self.rater, self.stay, self.capped, self.mate = context.rater, bool(library.damage), 0, NULL
        self.gaps, self.max_hits, self.strata = context.plan.gaps, params.max_hits, params.strata
        self.points, self.is_known = params.scoring.match + params.scoring.mismatch, library.is_known
        # Where bases are deaminated, the likeliest place stays although another one has fewer errors, or scores more.
        self.stages.open(context, given_up, self.stages.margin if self.stay else 0)
        self.kept = context, pairs
        self.ends.keeps_wholes, self.ends.n_reported, self.ends.n_further = context.whole_reads, 0, 0
        if self.stay:
            self.costs, self.cost, self.average_cost = library.costs, library.cost, library.average_cost
        if self.stages.reads.n == 0:
            return
        self.digest = &digest[0]
        if pairs is not None:
            mate = pairs.mate
            self.mate = &mate[0]
            self.prepare_pairs(pairs, mates)
            if not self.stages.exhaustive:
                self.stages.open_pairs(pairs, mates[1])
            self.ends.open_pairs(self.mate)
        self.stages.run(block, found)
        traced = self.aligned_of(found.traced if found is not None else None)
        with nogil:
            self.choose()
            began = now()
            self.look_again(self.know(traced))
            self.local_ns = now() - began
            for i in range(self.stages.reads.n):
                self.capped += self.stages.states.capped[i] > 0

    @property
    def states(self):
        """What is known of each read, uint16[n] and uint8[n]: the arrays of `states_t`."""
        return self.stages.known

    @property
    def found(self):
        """PLACE[h], and int64[n + 1] where those of each read begin: all places within the limits."""
        cdef Py_ssize_t n = self.stages.reads.n
        start = array_of(self.start, n + 1, np.int64) if n else np.zeros(1, np.int64)
        return array_of(self.places, start[n], PLACE), start

    @property
    def chosen(self):
        """int64[h], READ_SUMMARY[n]: of each read `n_reported` rows among its places, from where these begin; its summary."""
        cdef Py_ssize_t n = self.stages.reads.n
        return array_of(self.rows, self.start[n] if n else 0, np.int64), array_of(self.summary, n, READ_SUMMARY)

    @property
    def over(self):
        """OVER[n]: what dense seeds have shown of each read."""
        return array_of(self.rooms[OVER].p, self.stages.reads.n, OVER_TYPE)

    def report(self, bint split, const over_t[::1] over=None):
        """Choose what is reported of each read, and give it its mapping quality; `ends` has it then.

        `split`: whether reads are split into parts. `over` (OVER[n]): in place of what dense seeds have shown.
        """
        cdef int64_t began = now()
        if self.stages.reads.n:
            if over is not None:
                memcpy(self.rooms[OVER].p, &over[0], over.shape[0] * sizeof(over_t))
            with nogil:
                self.report_all(split)
        self.local_ns += now() - began

    def add_copies(self):
        """Find copies of what is reported that are to be listed, and align them.

        A copy that scores LEAST_SHARE has one of the disjoint seeds without an error. Seeds as long are looked up at every
        STRIDE-th base, too, where several of these occur too often; for all copies that score -T dense seeds alone are.

        Returns how many reads the last seeds were looked up of.
        """
        cdef uint32_t[::1] reads
        cdef int32_t[::1] least
        cdef const uint16_t *clipped
        cdef bint is_all = self.kept[0].params.all_hits
        cdef Py_ssize_t a, i, n = 0, most = max(MOST_SCORED, self.ends.most), kept
        cdef int row = DENSE_SEEDS if is_all else DISJOINT, last = DENSE_SEEDS if is_all else DENSE_DISJOINT
        reads, least = self.ends.least_listed()
        a = reads.shape[0]
        while row <= last and a:
            with nogil:
                self.know_buckets(row, &reads[0], a, most, &least[0], -1 if is_all else <int>self.gaps)
                clipped, kept = <const uint16_t *>self.stages.rooms[CLIPPED].p, 0
                for i in range(a):
                    reads[kept], least[kept] = reads[i], least[i]
                    kept += clipped[i] > 1
            n, a, row = a, kept, row + 1
        self.ends.add_further(*self.ends.align(*self.ends.further_places()))
        return n if row > last else 0

    def close(self):
        """Forget the batch."""
        self.kept = None
        self.ends.open(None)

    cdef int choose(self) except -1 nogil:
        """Choose a place of each read, or of two mates together."""
        cdef const reads_t *reads = &self.stages.reads
        cdef Py_ssize_t n = reads.n, r
        cdef int64_t began = now()
        cdef bint exhaustive = self.stages.exhaustive, by_likelihood = self.stay and self.mate == NULL and not exhaustive
        cdef bint is_whole = self.ends.ground.is_whole
        cdef int margin = self.stages.margin if not exhaustive else NO_SCORE
        cdef uint32_t most = self.max_hits if not exhaustive or self.strata else <uint32_t>-1
        cdef sought_t sought
        if not is_whole:
            margin, most = max(margin, self.ends.wholes.worse), MOST_SCORED
        self.summary = <read_summary_t *>enlarged(&self.rooms[SUMMARY], n * sizeof(read_summary_t))
        self.wrong = <double *>enlarged(&self.rooms[WRONG], n * sizeof(double))
        self.start = <int64_t *>enlarged(&self.rooms[STARTS], (n + 2) * sizeof(int64_t))
        self.places = self.stages.group_places(self.start)
        self.rows = <int64_t *>enlarged(&self.rooms[ROWS], self.start[n] * sizeof(int64_t))
        for r in range(n):
            sought = sought_t(reads.lengths[r], reads.flip[r], self.digest[r], margin, -1 if exhaustive else SAME_PLACE)
            select_places(self.places + self.start[r], self.start[r + 1] - self.start[r], &sought, &self.rooms[SORTING],
                          &self.summary[r], self.rows + self.start[r])
            self.wrong[r] = self.put_likeliest_first(r) if by_likelihood else -1
        for r in range(n - 1 if self.mate != NULL else 0):
            # Where a mate has more places than are scored, the best pairs would be missed among those.
            if self.mate[r] == 1 and min(self.summary[r].n_reported, self.summary[r + 1].n_reported) and (
                    is_whole or max(self.summary[r].n_reported, self.summary[r + 1].n_reported) > MOST_SCORED):
                self.choose_pair(r)
        for r in range(n):
            self.summary[r].n_reported = min(self.summary[r].n_best if self.strata else self.summary[r].n_reported, most)
        self.select_ns = now() - began
        return 0

    cdef int choose_pair(self, Py_ssize_t r) except -1 nogil:
        """Choose among the whole places of a first mate and its partner, by errors; with local ends only the best of each."""
        cdef const uint32_t *lengths = self.stages.reads.lengths
        cdef const place_t *place
        cdef choice_t choice
        cdef Py_ssize_t i, s
        cdef int side
        for side in range(2):
            s = r + side
            self.chooser.open(side, lengths[s])
            for i in range(self.summary[s].n_reported):
                place = self.places + self.start[s] + self.rows[self.start[s] + i]
                self.chooser.add(side, place.read_strand, place.first + place.end + lengths[s], place.edits * self.points)
            self.chooser.note_errors(side, self.summary[s].best, lengths[s])
        self.chooser.choose(self.digest[r] + self.digest[r + 1], &choice)
        if not self.ends.ground.is_whole and not (choice.concordant and choice.are_best):
            return 0
        for side in range(2):
            self.wrong[r + side] = choice.wrong[side]
            put_first(self.rows + self.start[r + side], choice.place[side])
        return 0

    cdef double put_likeliest_first(self, Py_ssize_t r) except -1 nogil:
        """Put the likeliest place of a read first, of equally likely ones one that is drawn by the hash of its bases.

        Returns what its other places weigh.
        """
        cdef int64_t *rows = self.rows + self.start[r]
        cdef Py_ssize_t n = self.summary[r].n_reported, i
        cdef int64_t *lost = <int64_t *>enlarged(&self.rooms[SORTING], n * sizeof(int64_t))
        cdef int64_t least = 0
        cdef uint64_t equal = 0
        cdef double odds, weight = 0
        if n == 0:
            return 0
        for i in range(n):
            lost[i] = loss_of(self.places + self.start[r] + rows[i], self.stages.reference, &self.stages.reads, self.costs,
                              self.cost)
            if i == 0 or lost[i] < least:
                least, equal = lost[i], 0
            equal += lost[i] == least
        odds = self.rater.odds.of_one(<int64_t>ceil(least / self.average_cost), self.stages.reads.lengths[r])
        for i in range(n):
            weight += pow(odds, (lost[i] - least) / self.average_cost)
        equal = self.digest[r] % equal
        i = 0
        while lost[i] != least or equal:
            equal -= lost[i] == least
            i += 1
        put_first(rows, i)
        return max(weight - 1, 0)

    cdef const aligned_t *aligned_of(self, traced) except? NULL:
        """The alignments that a device has made of the places found (gpu.found.TracedRows), without their reads, or NULL."""
        if traced is None:
            return NULL
        cdef const uint32_t[::1] diagonal = traced.diagonal, start = traced.start, runs = traced.cigars
        cdef const uint16_t[::1] n_runs = traced.n_runs
        cdef Py_ssize_t n = diagonal.shape[0], i
        cdef aligned_t *aligned = <aligned_t *>enlarged(&self.rooms[PATHS], n * sizeof(aligned_t))
        for i in range(n):
            aligned[i] = aligned_t(0, diagonal[i], &runs[start[i]], n_runs[i], 0, NO_SCORE)
        return aligned

    cdef Py_ssize_t know(self, const aligned_t *traced) except -1 nogil:
        """Know the places of each read by score; returns how many reads are to be looked up once more, in ROWS of `ends`.

        Whole reads are aligned, unless a device has `traced` their places."""
        cdef Py_ssize_t n = self.stages.reads.n, r, i, row, k = 0
        cdef place_t *whole = <place_t *>enlarged(&self.rooms[WHOLES], self.start[n] * sizeof(place_t))
        cdef whole_end *end = <whole_end *>enlarged(&self.rooms[ENDS], self.start[n] * sizeof(whole_end))
        cdef uint8_t *given = <uint8_t *>enlarged(&self.rooms[GIVEN], self.start[n])
        cdef aligned_t *aligned = NULL
        if traced != NULL:
            aligned = <aligned_t *>enlarged(&self.rooms[PICKED], self.start[n] * sizeof(aligned_t))
        for r in range(n):
            for i in range(self.summary[r].n_reported):
                row = self.start[r] + self.rows[self.start[r] + i]
                if traced != NULL:
                    aligned[k], aligned[k].read_strand = traced[row], self.places[row].read_strand
                whole[k], given[k], end[k] = self.places[row], i == 0, (<whole_end *>self.stages.rooms[ENDS].p)[row]
                k += 1
        if self.ends.ground.is_whole:
            return self.ends.align_wholes(whole, given, aligned, k)
        return self.ends.know_wholes(whole, end, given, k, self.stay, self.gaps)

    cdef int look_again(self, Py_ssize_t a) except -1 nogil:
        """Look up dense seeds of the `a` reads in ROWS of `ends`, and align these again with the places that they lead to.

        Of a read of a length of which hardly any has a place, a part has to be in the genome: of seeds beside each other one
        occurs.
        """
        cdef over_t *over = <over_t *>enlarged(&self.rooms[OVER], self.stages.reads.n * sizeof(over_t))
        cdef uint32_t *reads = <uint32_t *>enlarged(&self.rooms[ACTIVE], 2 * a * sizeof(uint32_t))
        cdef uint32_t *asked = reads + a
        cdef int32_t *least = <int32_t *>enlarged(&self.rooms[LEAST], a * sizeof(int32_t))
        cdef const uint32_t *lengths = self.stages.reads.lengths
        cdef const int64_t *start
        cdef const uint16_t *clipped
        cdef int64_t first, end
        cdef Py_ssize_t i, j = 0, k = 0, kept = 0
        cdef bint fits
        memset(over, 0, self.stages.reads.n * sizeof(over_t))
        memcpy(reads, self.ends.rooms[ROWS].p, a * sizeof(uint32_t))
        for i in range(a):
            asked[k] = reads[i]
            k += not self.is_known and self.stages.missed(self.stages.stages - 1, reads[i]) < self.stages.given_up
        if k:
            self.stages.look_again(SIDE_BY_SIDE, asked, k)
            start, clipped = <const int64_t *>self.stages.rooms[STARTS].p, <const uint16_t *>self.stages.rooms[CLIPPED].p
            for i in range(a):
                fits = True
                if j < k and asked[j] == reads[i]:
                    fits = start[j] < start[j + 1] or clipped[j] > 0
                    j += 1
                reads[kept] = reads[i]
                kept += fits
            a = kept
        if a == 0:
            return 0
        for i in range(a):
            least[i] = min(<int32_t>lengths[reads[i]] * self.ends.ground.costs.match, self.ends.least_score)
        k = self.promising(DENSE_SEEDS, reads, a, MOST_SCORED, least, -1)
        clipped = <const uint16_t *>self.stages.rooms[CLIPPED].p
        for i in range(a):
            self.stages.seeds.clipped_span(i, &first, &end)
            over[reads[i]] = over_t(clipped[i] * <double>self.stages.stride, first,
                                    end + self.stages.stride if end >= 0 else first, True)
        return self.ends.look_further(<const uint32_t *>self.rooms[STRANDS].p, <const coordinate_t *>self.rooms[FIRSTS].p, k)

    cdef Py_ssize_t promising(self, int row, const uint32_t *reads, Py_ssize_t a, Py_ssize_t most, const int32_t *least,
                              int gaps) except -1 nogil:
        """`promising_buckets` of some reads by a row of seeds behind the stages."""
        self.stages.look_again(row, reads, a)
        return promising_buckets(self.stages.reference, &self.stages.reads, &self.ends.ground.costs,
                                 &self.stages.anchors.columns, <const int64_t *>self.stages.rooms[STARTS].p, a,
                                 self.stages.shift, most, least, gaps, self.rooms)

    cdef int know_buckets(self, int row, const uint32_t *reads, Py_ssize_t a, Py_ssize_t most, const int32_t *least,
                          int gaps) except -1 nogil:
        """Know the places, too, on those of these diagonals that no place of a read is on."""
        cdef Py_ssize_t k = self.promising(row, reads, a, most, least, gaps), n = self.ends.n_known, i, at, fresh = 0
        cdef uint32_t *read_strand = <uint32_t *>self.rooms[STRANDS].p
        cdef coordinate_t *diagonal = <coordinate_t *>self.rooms[FIRSTS].p
        cdef const local_place_t *place = <const local_place_t *>self.ends.rooms[KNOWN].p
        cdef uint64_t *keys = <uint64_t *>enlarged(&self.rooms[KEYS], 2 * n * sizeof(uint64_t))
        cdef uint64_t key
        for i in range(n):
            keys[i] = place_key(place[i].read_strand, place[i].diagonal)
        sort_keys(keys, keys + n, n)
        for i in range(k):
            key = place_key(read_strand[i], diagonal[i])
            at = first_from(keys, n, key)
            read_strand[fresh], diagonal[fresh] = read_strand[i], diagonal[i]
            fresh += at == n or keys[at] != key
        return self.ends.know_further(read_strand, diagonal, fresh, 0)

    cdef int report_all(self, bint split) except -1 nogil:
        """As `report`."""
        cdef coverage_t seen
        if self.mate != NULL and not self.ends.ground.is_whole:
            self.ends.join(self.summary, self.stages.margin, self.wrong)
        seen = coverage_t(self.stages.states, <const over_t *>self.rooms[OVER].p, self.ends.ground.costs.match,
                          self.ends.ground.costs.match + self.ends.ground.costs.mismatch, <int>self.ends.much_clipped,
                          self.stages.dense_length, self.stages.stride)
        return self.ends.rate(self.rater, self.summary, self.wrong, self.mate, self.window, &seen,
                              split and not self.ends.ground.is_whole)


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


cdef class OneRead(ReadSearch):
    """Finds the places of one read or pair at a time, for the thread that it belongs to.

    Parameters
    ----------
    stages, ends
        Those of `ReadSearch`.
    plan : search.plan.SearchPlan
    params : model.params.MapParams
        Of single reads, or of pairs.
    given_up : float
        As `ReadSearch.place` takes it.
    library : pairing.error_rate.ErrorRate
    adapters : tuple
        Codes of the known ones, uint8[a, b], `reads.adapters.RULES`, and bases of the shortest fragment.
    split : bool
        Whether reads are split into parts.
    keeps_wholes : bool
        Whether a read that fits as a whole is reported whatever it scores.
    pairs : search.context.PairContext or None
        How mates lie, of pairs: `mate` is that of one.
    mates : tuple
        As `ReadSearch.place` takes it.
    """

    cdef object plan
    cdef list names
    cdef bint has_circles, split
    cdef int longest
    cdef const uint8_t[:, ::1] adapter_codes
    cdef adapters_t adapters
    cdef const uint8_t[::1] known_length, mate_array
    cdef windows_t windows
    # The read at hand, or both mates.
    cdef Py_ssize_t n
    cdef uint32_t[2] length, row
    cdef uint8_t[2] flip, looked, passed_over
    cdef uint16_t[2] best, limit, complete, planned, fragment
    cdef uint64_t[2] digests
    # What was found.
    cdef hit_t *found
    cdef const uint32_t *cigars

    def __cinit__(self, Stages stages, LocalAligner ends, plan, params, double given_up, library, adapters, bint split,
                  bint keeps_wholes, pairs, mates):
        index = stages.index
        self.plan, self.names, self.split = plan, list(index.reference.names), split
        self.known_length, self.longest = plan.known_lengths.view(np.uint8), params.longest_read
        self.rater = self.stages.copies = plan.rater(library)
        self.adapter_codes, shortest, bases_an_error, earliest = adapters
        self.adapters = adapters_t(&self.adapter_codes[0, 0], self.adapter_codes.shape[0], self.adapter_codes.shape[1],
                                   shortest, bases_an_error, earliest)
        self.gaps, self.max_hits, self.is_known = plan.gaps, params.max_hits, library.is_known
        self.points = params.scoring.match + params.scoring.mismatch
        stages.given_up, self.has_circles = given_up, index.reference.circular is not None
        self.digest, self.n = &self.digests[0], 1
        ends.ground = ground_of(index.reference, ends.scoring, ends.ground.is_whole)
        ends.kernels, ends.keeps_wholes = stages.kernels, keeps_wholes
        ends.flip, ends.digest = &self.flip[0], self.digest
        ends.expect(library)
        if pairs is not None:
            self.prepare_pairs(pairs, mates)
            stages.open_pairs(pairs, mates[1])
            self.windows, self.mate_array, self.n = windows_of(pairs.insert), pairs.mate, 2
            self.mate = &self.mate_array[0]

    def hits(self, make, const uint8_t[::1] bases not None, const uint8_t[::1] others=None):
        """The places of a read, or of the mates of a pair, the primary one of each first.

        Parameters
        ----------
        make : callable
            Called for each place, with a tuple of the fields of `hits.Hit`.
        bases, others : uint8[m]
            Letters, as `reads.pack` takes them; those of the last mate.

        Returns
        -------
        list or None
            A list for each read, of what `make` has returned. None: the batches have to say what becomes of the read or
            pair, as one is too short or too long for a search, has an adapter, or has a candidate outside the reference.
        """
        cdef const contigs_t *contigs
        cdef Py_ssize_t n, i
        self.length[0], self.length[1] = <uint32_t>bases.shape[0], <uint32_t>(0 if others is None else others.shape[0])
        for i in range(self.n):
            if not MIN_READ_LENGTH <= self.length[i] <= self.longest:
                return None
            if not self.known_length[self.length[i]]:
                self.plan.prepare(np.array([self.length[i]], np.uint32))
        with nogil:
            self.begin(&bases[0], NULL if self.n < 2 else &others[0])
            n = -1 if not self.ends.ground.is_whole and self.is_cut() else self.find()
        if n < 0:
            return None
        found, contigs = [[] for _ in range(self.n)], &self.ends.ground.contigs
        for i in range(n):
            found[self.found[i].read].append(
                make(fields_of(&self.found[i], self.cigars, contigs.starts, contigs.n, self.names)))
        return found

    cdef int begin(self, const uint8_t *bases, const uint8_t *others) except -1 nogil:
        cdef uint32_t rows = 0, m
        cdef Py_ssize_t i
        cdef uint64_t *planes
        for i in range(self.n):
            self.row[i] = rows
            rows += 2 * ((self.length[i] + 63) >> 6)
        planes = <uint64_t *>enlarged(&self.rooms[PLANES], 3 * (rows + 1) * sizeof(uint64_t))
        memset(&planes[3 * rows], 0, 3 * sizeof(uint64_t))  # seeds at the end of the last row are read beyond it
        cdef reads_t reads = reads_t(planes_t(planes, rows + 1), &self.row[0], &self.length[0], &self.flip[0], NULL, self.n)
        cdef states_t states = states_t(&self.best[0], &self.limit[0], &self.complete[0], &self.planned[0], &self.looked[0],
                                        &self.passed_over[0])
        for i in range(self.n):
            m = self.length[i]
            pack_read(others if i else bases, (others if i else bases) + m, m, planes + 3 * self.row[i], 0, 0)
            self.flip[i] = orient_read(planes + 3 * self.row[i], m, &self.digests[i])
            self.best[i], self.limit[i], self.complete[i], self.planned[i] = NO_SCORE, self.stages.errors[m], 0, 0
            self.looked[i] = self.passed_over[i] = 0
        self.stages.open_reads(&reads, &states)
        self.ends.ground.reads, self.ends.n, self.ends.n_runs = reads, self.n, 0
        if self.n > 1:
            self.ends.open_pairs(self.mate)
        return 0

    cdef bint is_cut(self) noexcept nogil:
        """Whether a fragment ends before its read does."""
        find_ends(self.stages.reads.planes, &self.row[0], &self.length[0], self.n, &self.adapters, self.mate,
                  &self.fragment[0])
        return self.fragment[0] or self.n > 1 and self.fragment[1]

    cdef Py_ssize_t find(self) except? -1 nogil:
        """Search, choose among the places, and align them. Returns how many are `found`; -1: a batch is needed."""
        cdef Py_ssize_t i
        cdef row_t **row
        cdef Py_ssize_t[2] primary
        self.stages.run_block(0, <uint32_t>self.n)
        self.choose()
        self.look_again(self.know(NULL))
        self.report_all(self.split)
        row = <row_t **>self.ends.rooms[REPORTED].p
        self.cigars = <const uint32_t *>self.ends.rooms[CIGARS].p
        self.found = <hit_t *>enlarged(&self.rooms[HITS], (self.ends.n_reported + self.ends.n_further) * sizeof(hit_t))
        primary[0] = primary[1] = -1
        for i in range(self.ends.n_reported):
            self.found[i] = row[i].hit
            if not row[i].hit.flag & SUPPLEMENTARY:
                primary[row[i].hit.read] = i
            if self.has_circles and row[i].hit.cigar_runs > 1:  # a clipped end may lie behind the origin
                return -1
        if self.n > 1 and primary[0] >= 0 and primary[1] >= 0:
            for i in range(self.windows.n):
                flag_pair(&self.found[primary[0]], &self.found[primary[1]], self.cigars, self.stages.starts,
                          &self.windows.each[i])
        if self.ends.n_further:
            memcpy(self.found + self.ends.n_reported, self.ends.rooms[FURTHER].p, self.ends.n_further * sizeof(hit_t))
        return self.ends.n_reported + self.ends.n_further
