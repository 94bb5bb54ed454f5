"""Local alignments in bands as narrow as is safe.

An alignment that touches a diagonal and leaves the band of `width` diagonals around it has at least `width / 2` gap
bases between there and here. So it loses what they cost. Where the best alignment in the band loses less, it is the
best of all that touch the diagonal. Where it loses more, the band doubles.

A read that loses less than a gap and less than a clipped end has one alignment: along the diagonal, from its first
base to its last. Most reads of a good run do, and they need no band at all.
"""

import numpy as np

from libc.math cimport ceil
from libc.stdint cimport INT16_MAX, INT32_MAX, UINT8_MAX
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, llabs
from libc.string cimport memcpy, memset

from gassst._core.alignments cimport ungapped_diagonal
from gassst._core.banded cimport Band, band_batch, cpu_kernels, local_ends, local_paths, local_scoring
from gassst._core.cigar cimport CIGAR_MATCH, CIGAR_SOFT_CLIP, cigar_push
from gassst._core.clock cimport now
from gassst._core.contigs cimport contigs_before
from gassst._core.coordinates cimport KEY_ROW_BITS, KEY_ROW_MASK, coordinate_t, place_key
from gassst._core.costs cimport costs_t
from gassst._core.layouts cimport NO_SCORE, NO_SUBOPTIMAL, hit_t, local_line_t, local_place_t, rating_t, read_summary_t
from gassst._core.local_hits cimport aligned_t, ground_of, ground_t, hit_of
from gassst._core.key_sort cimport sort_keys
from gassst._core.local_places cimport aligned_for_certain, best_rows, overlap, rival_t, rivals_of, stretch_of_read_t
from gassst._core.mapq cimport Rater, coverage_t, over_t, place_t, states_of
from gassst._core.planes cimport AHEAD, bases64_t, bases_at, count_bits, differences, first_base, first_bases
from gassst._core.planes cimport planes_t, prefetch_read, unknown_bases
from gassst._core.rooms cimport array_of, enlarged, room_t
from gassst._core.sam_flags cimport SECONDARY, SUPPLEMENTARY, UNMAPPED
from gassst._core.same_place cimport SAME_PLACE
from gassst._core.seeds cimport reads_t

cdef extern from "stretches.h" nogil:
    ctypedef struct stretch_t:
        int32_t total
        int begin, end
    stretch_t best_stretch(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int m, costs_t costs,
                           int32_t least)


from gassst.model.layouts import HIT, LOCAL_LINE, LOCAL_PLACE, RATING, READ_SUMMARY
from gassst.model.params import LEAST_SHARE


include "../pairing/joint.pxi"


cdef enum:  # what memory is for
    PLACES
    TARGETS
    ORIGINS
    ROWS
    TURNS
    PATHS
    PAIRS
    STRANDS
    FIRSTS
    ENDS
    SLOTS
    POSITIONS
    SHORTS
    RUNS
    WALKED
    CIGARS
    HITS
    LINES
    KNOWN
    PRIMARY
    FAR
    FREE
    PARTS
    REPORTED
    RATED
    MATES
    OVER
    RIVALS
    TAKEN
    FURTHER
    KEYS
    ORDER
    SCRATCH
    N_ROOMS

cdef enum:
    WHOLE = 3               # both ends of a read are reached
    PLAIN = 0               # in the place of a width: a read along its diagonal


cdef struct row_t:
    # An alignment, and the next best place for its part of the read.
    hit_t hit
    local_line_t line
    rival_t rival


cdef struct part_t:
    # The primary line of a split read, or a further part of one.
    row_t row
    Py_ssize_t split            # of the read, among those that are split
    Py_ssize_t before           # the part that was found before, -1 for none
    # Of a primary line: the part that was found last, and its places in KNOWN.
    Py_ssize_t newest, places, places_end


cdef struct path_t:
    # An alignment in a band, its runs in WALKED.
    coordinate_t position
    Py_ssize_t first_run
    uint16_t n_runs, edits


cdef int64_t lost_by_whole(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int64_t m,
                           const costs_t *costs, int64_t limit) noexcept nogil:
    """What a whole read of m bases loses on a diagonal, or something above `limit`. A masked base scores -1."""
    cdef int64_t at, loss = 0
    cdef bases64_t x, y
    cdef uint64_t masked, live
    for at in range(0, m, 64):
        x, y = bases_at(reference, diagonal + at), bases_at(reads, first + at)
        live = first_bases(m - at)
        masked = unknown_bases(x, y) & live
        loss += ((costs.match + costs.mismatch) * count_bits(differences(x, y) & live & ~masked)
                 + (costs.match + 1) * count_bits(masked))
        if loss > limit:
            break
    return loss


cdef inline bint repeats(const local_place_t *place, const local_place_t *other) noexcept nogil:
    """Whether another place of the read is on the same diagonal, and scores as well."""
    return (place.read_strand == other.read_strand and place.diagonal == other.diagonal
            and place.total <= other.total)


cdef class LocalAligner:
    """The local alignments of one batch of n reads after the other, in memory that is used again.

    First `open` and `known`, then perhaps `look_further`, then `report`; where next best places are wanted,
    `with_further`, `further_places` and `add_further`; then `rows`. Places and lines are in the order of their reads.

    Parameters
    ----------
    params : model.params.MapParams
    scoring : int16[7]
        As the kernels take it: `bands.base.doubled`.
    widths, leaving : int64[w]
        Of bands, ascending, and the least loss of an alignment that leaves each.
    breaking : int
        Least loss of an alignment with a gap or a clipped end.
    much_clipped : int
        Clipped bases from which a read is looked up once more, and may have further parts.
    mate_bonus : int
        What a concordant mate adds to a score.

    Attributes, of the batch: bands that were `scored`, and in which alignments were `traced` back; `calls` of the
    host's kernels, of how many bands (`pairs`), and their nanoseconds (`kernel`).
    """

    cdef object context, handle, host, doubled
    cdef const cpu_kernels *kernels
    cdef band_batch batch
    cdef local_scoring costs
    cdef ground_t ground
    cdef const int64_t[::1] widths, leaving
    cdef int64_t least_gap
    cdef const uint8_t *flip
    cdef const uint64_t *digest
    cdef room_t rooms[N_ROOMS]
    cdef Py_ssize_t n, n_places, n_known, n_lines, n_runs, n_reported, n_further
    # Split reads and all parts, places that are left for parts, and how many parts there were a round ago.
    cdef Py_ssize_t n_split, n_parts, n_free, found_before
    cdef int32_t least_score, gap, mate_bonus, most
    cdef bint is_asked
    cdef double share
    cdef int64_t much_clipped
    cdef readonly int64_t breaking, scored, traced, calls, pairs, kernel

    def __cinit__(self, params, const int16_t[::1] scoring, const int64_t[::1] widths, const int64_t[::1] leaving,
                  int64_t breaking, int64_t much_clipped, int32_t mate_bonus):
        memset(self.rooms, 0, sizeof(self.rooms))
        scores = params.scoring
        self.doubled, self.breaking = np.asarray(scoring), breaking
        memcpy(&self.costs, &scoring[0], sizeof(local_scoring))
        self.widths, self.leaving = widths, leaving
        self.much_clipped, self.mate_bonus = much_clipped, mate_bonus
        self.least_score, self.is_asked = scores.least_score, scores.min_score is not None
        self.gap = max(1, min(map(sum, zip(scores.gap_open, scores.gap_extend))))
        self.most, self.share = params.most_hits, 0 if params.all_hits else LEAST_SHARE
        self.least_gap = min(self.costs.open_deletion, self.costs.open_insertion) // 2  # of a gap's first base

    def open(self, context, handle):
        """Begin with a batch (search.context.BatchContext), or None; its reads are open (bands.base.ReadsHandle)."""
        cdef Band band
        cdef const uint8_t[::1] flip
        cdef const uint64_t[::1] digest
        self.context, self.handle, self.host, self.kernels = context, handle, getattr(handle, "band", None), NULL
        self.n = self.n_runs = self.scored = self.traced = self.calls = self.pairs = self.kernel = 0
        if context is None:
            return
        self.ground, self.n = ground_of(context), len(context.packed.lengths)
        flip, digest = context.flip, context.digest
        if self.n:
            self.flip, self.digest = &flip[0], &digest[0]
        if self.host is not None:
            band = self.host
            self.kernels, self.batch = band.kernels, band.batch

    def __dealloc__(self):
        for i in range(N_ROOMS):
            free(self.rooms[i].p)

    @property
    def cigars(self):
        """uint32[]: the runs of all alignments made so far; hits point into it."""
        return array_of(self.rooms[CIGARS].p, self.n_runs, np.uint32)

    cdef tuple lines_out(self):
        """HIT[l] and LOCAL_LINE[l] of what was aligned last."""
        return array_of(self.rooms[HITS].p, self.n_lines, HIT), array_of(self.rooms[LINES].p, self.n_lines, LOCAL_LINE)

    # --- what is asked -----------------------------------------------------------------------------------------------

    def known(self, bands, const int64_t[::1] rows, const uint8_t[::1] given, bint stay, int64_t gaps):
        """Know the best places that touch the diagonals of alignments of whole reads, and those beside them (`widen`).

        The best one of every read is aligned, which makes its primary line.

        Parameters
        ----------
        bands : search.arrays.Bands
        rows : int64[k], given : uint8[k]
            As `local_places.known_places` returns them.
        stay : bool
            Whether no place may score more than the given one. Of a damaged library that is the likeliest place: that
            another one scores more, as it has no deaminated base, is no reason.
        gaps : int
            Most gap bases of an alignment that the search cannot miss.

        Returns
        -------
        uint32[a]
            Reads to look up once more: without an alignment, with much of it clipped, or with more gap bases. With so
            many the search may have missed a better place.
        """
        cdef const uint32_t[::1] read_strand = bands.read_strand
        cdef const coordinate_t[::1] band_start = bands.band_start
        cdef const uint16_t[::1] end = bands.end, edits = bands.edits, reach = bands.reach
        cdef const uint8_t[::1] words = bands.words
        cdef const costs_t *costs = &self.ground.costs
        cdef Py_ssize_t k = rows.shape[0], i
        cdef int64_t row, at, first, m, loss, each = costs.match + costs.mismatch
        cdef int64_t gap = (max(costs.open_gap[1], costs.open_gap[2]) + max(costs.extend_gap[1], costs.extend_gap[2])
                            + costs.match)
        cdef local_place_t *place
        cdef const row_t *primary
        cdef const local_line_t *line
        cdef uint16_t *turn
        cdef uint8_t *far
        cdef Py_ssize_t a = 0
        reads_array = np.empty(self.n, np.uint32)
        cdef uint32_t[::1] reads = reads_array
        with nogil:
            place = self.open_targets(k)
            turn = <uint16_t *>self.rooms[TURNS].p
            for i in range(k):
                if i + AHEAD < k:
                    prefetch_read(self.ground.reference, band_start[rows[i + AHEAD]] + end[rows[i + AHEAD]])
                row = rows[i]
                m, first = self.length_of(read_strand[row]), self.first_of(read_strand[row])
                at = ungapped_diagonal(self.ground.reference, band_start[row] + end[row], self.ground.reads, first, m,
                                       edits[row], reach[row])
                loss = edits[row] * each
                # One that a masked base makes cheaper is scored in a band.
                if (at and loss < self.breaking
                        and lost_by_whole(self.ground.reference, at, self.ground.reads, first, m, costs, loss) == loss):
                    place[i] = local_place_t(
                        read_strand[row], at - 32 * words[row], 64 * words[row], <int32_t>(m * costs.match - loss),
                        <int32_t>(self.perfect(read_strand[row]) - loss), WHOLE, <uint16_t>m, at, given[i], at)
                    turn[i] = PLAIN
                    continue
                if at == 0:  # one gap base
                    at, loss = band_start[row] + end[row], loss + gap - each
                self.aim(&place[i], read_strand[row], at, at - 32 * words[row], 64 * words[row], given[i])
                turn[i] = self.expected(loss, 64 * words[row])
            self.by_width(place, turn, k, NULL)
            self.keep_found()
            self.widen()
            if stay:
                self.let_given_lead()
            self.rooms[KNOWN], self.rooms[PLACES] = self.rooms[PLACES], self.rooms[KNOWN]
            self.n_known = self.n_places
            self.align_best(NULL)
            self.open_primary()
            self.keep_lines()
            primary = <const row_t *>self.rooms[PRIMARY].p
            far = <uint8_t *>enlarged(&self.rooms[FAR], self.n)
            for i in range(self.n):
                line = &primary[i].line
                far[i] = (primary[i].hit.cigar_runs == 0 or self.clipped(line) >= self.much_clipped
                          or llabs(line.last_diagonal - line.first_diagonal) > gaps)
                if far[i]:
                    reads[a] = <uint32_t>i
                    a += 1
        return reads_array[:a]

    def score(self, const uint32_t[::1] read_strand, const coordinate_t[::1] diagonal,
              const coordinate_t[::1] band_start, const int64_t[::1] width, const int64_t[::1] begin,
              bint beside=True):
        """LOCAL_PLACE[]: the best places that touch diagonals, and those `beside` them (`widen`).

        Where nothing is proved in a narrow band the best one anywhere in the widest is taken.

        Parameters
        ----------
        read_strand : uint32[k], diagonal, band_start : int64[k]
            Read by read; the first diagonals of the widest bands.
        width, begin : int64[k]
            Diagonals of the widest band, and of the one to begin with.
        """
        cdef Py_ssize_t k = read_strand.shape[0]
        self.n_places = 0
        if k:
            with nogil:
                self.score_bands(&read_strand[0], &diagonal[0], &band_start[0], &width[0], &begin[0], k, beside)
        return array_of(self.rooms[PLACES].p, self.n_places, LOCAL_PLACE)

    cdef int score_bands(self, const uint32_t *read_strand, const coordinate_t *diagonal, const coordinate_t *band_start,
                         const int64_t *width, const int64_t *begin, Py_ssize_t k, bint beside) except -1 nogil:
        """As `score`, with the places in PLACES."""
        cdef local_place_t *place = self.open_targets(k)
        cdef uint16_t *turn = <uint16_t *>self.rooms[TURNS].p
        cdef Py_ssize_t i
        for i in range(k):
            self.aim(&place[i], read_strand[i], diagonal[i], band_start[i], <uint16_t>width[i], False)
            turn[i] = <uint16_t>begin[i]
        self.by_width(place, turn, k, NULL)
        if beside:
            self.keep_found()
            self.widen()
        return 0

    def align(self, const local_place_t[::1] places, const uint32_t[::1] part=None):
        """HIT[l], LOCAL_LINE[l]: the alignments of places (LOCAL_PLACE[k]) in their order.

        Without those that a contig's end leaves nothing of. `part` uint32[k]: the parts of reads that they are of.
        """
        cdef Py_ssize_t i
        cdef hit_t *hits
        self.n_lines = 0
        if places.shape[0]:
            with nogil:
                self.align_rows(&places[0], NULL, places.shape[0])
                if part is not None:
                    hits = <hit_t *>self.rooms[HITS].p
                    for i in range(places.shape[0]):
                        hits[i].part = part[i]
                self.drop_empty()
        return self.lines_out()

    def pair_up(self, pairs, decided, places, hits, lines, int worth, double edit_phred, Py_ssize_t most, int run):
        """Place mates together.

        Parameters
        ----------
        pairs : search.context.PairContext
            Read: `mate`, `insert`, `borders`, `rescuable`. Of the context `shift`, `lead`, `words` and `library.table`, too.
        decided : uint8[n]
            Mates that keep their places.
        places : LOCAL_PLACE[k], hits : HIT[l], lines : LOCAL_LINE[l]
            Read by read, one line a read at most.
        worth, edit_phred : int, float
            Score that a concordant mate adds, and what a mismatch costs.
        most, run : int
            Buckets of the widest window, and how many bases in a row are equal in a band.

        Returns
        -------
        places, primary, joined, wrong
            As `local.mates.pair_up` returns them: LOCAL_PLACE[], HIT[] and LOCAL_LINE[], uint32[j], float64[n].
        """
        cdef Joint joint = Joint(self.context, pairs, decided, places, hits, lines, worth, edit_phred, most, run)
        cdef const coordinate_t *start
        cdef const int64_t *width
        with nogil:
            if joint.list_bands():
                start, width = <const coordinate_t *>joint.bands.start.p, <const int64_t *>joint.bands.width.p
                self.score_bands(<const uint32_t *>joint.bands.read_strand.p, start, start, width, width, joint.bands.n,
                                 True)
                joint.add(<const local_place_t *>self.rooms[PLACES].p, self.n_places)
            if joint.choose():
                self.n_lines = 0
                self.align_rows(<const local_place_t *>joint.rooms[MOVES].p, NULL, joint.n_moves)
                self.drop_empty()
                joint.move(<const hit_t *>self.rooms[HITS].p, <const local_line_t *>self.rooms[LINES].p, self.n_lines)
        return joint.result

    def with_further(self, const uint32_t[::1] read_strand, const coordinate_t[::1] diagonal):
        """Know the best places, too, that touch further diagonals (uint32[d], int64[d]), as `look_further`."""
        cdef Py_ssize_t k = diagonal.shape[0], i
        cdef uint16_t width = <uint16_t>self.widths[0]
        cdef local_place_t *place
        with nogil:
            place = self.open_targets(k)
            for i in range(k):
                self.aim(&place[i], read_strand[i], diagonal[i], diagonal[i] - (width >> 1), width, False)
                (<uint16_t *>self.rooms[TURNS].p)[i] = width
            self.by_width(place, <uint16_t *>self.rooms[TURNS].p, k, NULL)
            self.keep_found()
            self.widen()
            self.merge_places()

    def look_further(self, const uint32_t[::1] read_strand, const coordinate_t[::1] diagonal):
        """Align reads that are to be looked up once more again, with the best places that touch further diagonals.

        Of a read that is split near a diagonal (uint32[d], int64[d]), the part on it is a place of its own. Where
        several places lie in the band of the line of a read, it is found out where they begin.
        """
        cdef const uint8_t[::1] words = self.context.words
        cdef const uint8_t *far = <const uint8_t *>self.rooms[FAR].p
        cdef row_t *row = <row_t *>self.rooms[PRIMARY].p
        cdef Py_ssize_t i
        self.with_further(read_strand, diagonal)
        with nogil:
            self.align_best(far)
            self.note_begun(&words[0])
            for i in range(self.n):
                if far[i]:
                    row[i].hit.cigar_runs = 0
            self.keep_lines()

    @property
    def places(self):
        """LOCAL_PLACE[k]: all that are known."""
        return array_of(self.rooms[KNOWN].p, self.n_known, LOCAL_PLACE)

    def lines(self, pairs=None):
        """HIT[l], LOCAL_LINE[l]: the primary lines.

        Those that score less than -T even beside a concordant mate are dropped, where there are `pairs`.
        """
        cdef const uint8_t[::1] mate = None if pairs is None else pairs.mate
        cdef const row_t *row = <const row_t *>self.rooms[PRIMARY].p
        cdef hit_t *hits
        cdef local_line_t *lines
        cdef Py_ssize_t i
        self.n_lines = 0
        with nogil:
            if mate is not None and self.n:
                self.drop_low(&mate[0], NULL)
            hits = <hit_t *>enlarged(&self.rooms[HITS], self.n * sizeof(hit_t))
            lines = <local_line_t *>enlarged(&self.rooms[LINES], self.n * sizeof(local_line_t))
            for i in range(self.n):
                if row[i].hit.cigar_runs:
                    hits[self.n_lines], lines[self.n_lines] = row[i].hit, row[i].line
                    self.n_lines += 1
        return self.lines_out()

    def know(self, const local_place_t[::1] places, const hit_t[::1] hits, const local_line_t[::1] lines,
             const uint8_t[::1] far=None):
        """Know these places (LOCAL_PLACE[k]) and lines (HIT[l], LOCAL_LINE[l]) alone, both read by read.

        The first line of a read is the primary one, the others are further parts. `far` uint8[n]: reads to look up once
        more; by default they stay the same.
        """
        cdef row_t *row
        cdef local_place_t *known
        cdef Py_ssize_t i
        if far is not None and self.n:
            memcpy(enlarged(&self.rooms[FAR], self.n), &far[0], self.n)
        with nogil:
            self.n_known = places.shape[0]
            known = <local_place_t *>enlarged(&self.rooms[KNOWN], self.n_known * sizeof(local_place_t))
            for i in range(self.n_known):
                known[i] = places[i]
            row = self.open_primary()
            for i in range(hits.shape[0]):
                if row[hits[i].read].hit.cigar_runs:
                    self.new_part()[0] = part_t(row_t(hits[i], lines[i], rival_t(0, 0, 0)), hits[i].read, -1, 0, 0, 0)
                else:
                    row[hits[i].read].hit, row[hits[i].read].line = hits[i], lines[i]

    cdef row_t *open_primary(self) except NULL nogil:
        """Memory for a primary line of each read, which has none yet."""
        cdef row_t *row = <row_t *>enlarged(&self.rooms[PRIMARY], self.n * sizeof(row_t))
        cdef Py_ssize_t i
        self.n_parts = self.n_split = 0
        for i in range(self.n):
            row[i].hit.cigar_runs = 0
        return row

    cdef void keep_lines(self) noexcept nogil:
        """Make what was aligned last the primary lines of its reads."""
        cdef const hit_t *hits = <const hit_t *>self.rooms[HITS].p
        cdef const local_line_t *lines = <const local_line_t *>self.rooms[LINES].p
        cdef row_t *row = <row_t *>self.rooms[PRIMARY].p
        cdef Py_ssize_t i
        for i in range(self.n_lines):
            row[hits[i].read].hit, row[hits[i].read].line = hits[i], lines[i]

    # --- further parts -----------------------------------------------------------------------------------------------

    cdef int add_parts(self) except -1 nogil:
        """Align parts of split reads that better ones leave over.

        The best of the places that no line of a read overlaps is its next part, if it scores enough. In the end the
        best ungapped alignment beside the primary line is one more, on the diagonals of all places: two parts of a read
        on one diagonal are one place, with one alignment, and so are parts that score as much with a gap between them.
        """
        cdef Py_ssize_t split
        self.open_parts()
        while self.add_round():
            pass
        for split in range(self.n_split):
            self.add_left_over(split)
        return 0

    cdef int open_parts(self) except -1 nogil:
        """The primary lines of split reads, and in FREE their places that score enough."""
        cdef const row_t *row = <const row_t *>self.rooms[PRIMARY].p
        cdef const uint8_t *far = <const uint8_t *>self.rooms[FAR].p
        cdef const local_place_t *known = <const local_place_t *>self.rooms[KNOWN].p
        cdef local_place_t *place = <local_place_t *>enlarged(&self.rooms[FREE], self.n_known * sizeof(local_place_t))
        cdef Py_ssize_t r, first, j = 0
        cdef part_t *part
        self.n_parts = self.n_free = self.found_before = 0
        for r in range(self.n):
            if not far[r] or row[r].hit.cigar_runs == 0 or self.clipped(&row[r].line) < self.much_clipped:
                continue
            while j < self.n_known and known[j].read_strand >> 1 < r:
                j += 1
            first = j
            while j < self.n_known and known[j].read_strand >> 1 == r:
                if known[j].score >= self.least_score:
                    place[self.n_free] = known[j]
                    self.n_free += 1
                j += 1
            part = self.new_part()
            part[0] = part_t(row[r], self.n_parts - 1, -1, self.n_parts - 1, first, j)
        self.n_split = self.n_parts
        return 0

    cdef part_t *new_part(self) except NULL nogil:
        self.n_parts += 1
        return <part_t *>enlarged(&self.rooms[PARTS], self.n_parts * sizeof(part_t)) + self.n_parts - 1

    cdef bint add_round(self) except -1 nogil:
        """Add a part of each read that got one before and has places left; whether there were any."""
        cdef local_place_t *place = <local_place_t *>self.rooms[FREE].p
        cdef const part_t *split = <const part_t *>self.rooms[PARTS].p
        cdef const part_t *newest
        cdef Py_ssize_t i, kept = 0, at = 0
        cdef int64_t *rows
        for i in range(self.n_free):
            while split[at].row.line.read_strand >> 1 < place[i].read_strand >> 1:
                at += 1
            newest = split + split[at].newest
            if split[at].newest >= self.found_before and not overlap(
                    aligned_for_certain(&place[i], self.length_of(place[i].read_strand), self.ground.costs.match),
                    newest.row.line.begin, newest.row.line.end):
                place[kept] = place[i]
                kept += 1
        self.n_free, self.found_before, self.n_lines = kept, self.n_parts, 0
        if kept:
            rows = <int64_t *>enlarged(&self.rooms[ROWS], kept * sizeof(int64_t))
            self.align_rows(place, rows,
                            best_rows(place, kept, NULL, self.flip, self.digest, &self.rooms[SCRATCH], rows))
            self.drop_empty()
            at = 0
            for i in range(self.n_lines):
                while ((<const part_t *>self.rooms[PARTS].p)[at].row.hit.read
                       < (<const hit_t *>self.rooms[HITS].p)[i].read):
                    at += 1
                if self.is_left_over(at, i):
                    self.add_part(at, i)
        return kept > 0

    cdef bint is_left_over(self, Py_ssize_t split, Py_ssize_t i) noexcept nogil:
        """Whether line i scores enough, and has some bases, other ones than the lines of the read so far."""
        cdef const part_t *part = <const part_t *>self.rooms[PARTS].p
        cdef const local_line_t *line = <const local_line_t *>self.rooms[LINES].p + i
        cdef Py_ssize_t j = part[split].newest
        if line.end <= line.begin or (<const hit_t *>self.rooms[HITS].p)[i].score < self.least_score:
            return False
        while j >= 0 and not overlap(stretch_of_read_t(line.begin, line.end), part[j].row.line.begin,
                                     part[j].row.line.end):
            j = part[j].before
        return j < 0

    cdef int add_part(self, Py_ssize_t split, Py_ssize_t i) except -1 nogil:
        """Make line i the newest part of a split read."""
        cdef part_t *part = self.new_part()
        cdef part_t *first = <part_t *>self.rooms[PARTS].p + split
        part.row.hit = (<const hit_t *>self.rooms[HITS].p)[i]
        part.row.line = (<const local_line_t *>self.rooms[LINES].p)[i]
        part.split, part.before, first.newest = split, first.newest, self.n_parts - 1
        return 0

    cdef int add_left_over(self, Py_ssize_t split) except -1 nogil:
        """Add the best ungapped alignment of what the primary line leaves over, before it or behind it."""
        cdef const part_t *primary = <const part_t *>self.rooms[PARTS].p + split
        cdef const local_place_t *place = <const local_place_t *>self.rooms[KNOWN].p
        cdef const hit_t *hits
        cdef Py_ssize_t i, best = -1
        cdef int side
        self.n_lines = 0
        for side in range(2):
            for i in range(primary.places, primary.places_end):
                if place[i].score >= self.least_score:
                    self.add_stretch(&place[i], &primary.row.line, side)
        hits = <const hit_t *>self.rooms[HITS].p
        for i in range(self.n_lines):
            if self.is_left_over(split, i) and (best < 0 or hits[i].score > hits[best].score):
                best = i
        if best >= 0:
            self.add_part(split, best)
        return 0

    # --- scores ------------------------------------------------------------------------------------------------------

    cdef inline int64_t length_of(self, uint32_t read_strand) noexcept nogil:
        return self.ground.lengths[read_strand >> 1]

    cdef inline int64_t first_of(self, uint32_t read_strand) noexcept nogil:
        """The first base of a strand in the planes of the reads."""
        return first_base(self.ground.plane_start[read_strand >> 1], read_strand, self.length_of(read_strand))

    cdef inline int64_t clipped(self, const local_line_t *line) noexcept nogil:
        """Bases of its read that a line leaves out."""
        return self.length_of(line.read_strand) - (line.end - line.begin)

    cdef inline int64_t perfect(self, uint32_t read_strand) noexcept nogil:
        """Total of an alignment without an error."""
        return self.length_of(read_strand) * self.ground.costs.match + 2 * self.ground.costs.bonus

    cdef local_place_t *open_targets(self, Py_ssize_t k) except NULL nogil:
        """Memory for k targets, which become places."""
        self.n_places = k
        enlarged(&self.rooms[TURNS], k * sizeof(uint16_t))
        return <local_place_t *>enlarged(&self.rooms[PLACES], k * sizeof(local_place_t))

    cdef inline void aim(self, local_place_t *target, uint32_t read_strand, coordinate_t diagonal,
                         coordinate_t band_start, uint16_t width, bint given) noexcept nogil:
        """A target: `first_diagonal` is the one to touch."""
        target[0] = local_place_t(read_strand, band_start, width, 0, 0, 0, 0, diagonal, given, diagonal)

    cdef uint16_t expected(self, int64_t loss, int64_t widest) noexcept nogil:
        """The narrowest band that proves an alignment which loses as much as expected."""
        cdef int w = 0
        while w < self.widths.shape[0] - 1 and self.leaving[w] <= loss:
            w += 1
        return <uint16_t>min(self.widths[w], widest)

    cdef int by_width(self, local_place_t *place, uint16_t *turn, Py_ssize_t k, path_t *path) except -1 nogil:
        """Score targets in bands of the width whose `turn` it is, and in twice as wide ones where that proves nothing.

        `path` may be NULL; else what is found is walked back.
        """
        cdef Py_ssize_t i, j, walked = 0
        cdef uint32_t m
        cdef uint32_t *pairs
        cdef uint32_t *strands
        cdef coordinate_t *firsts
        cdef const uint16_t *end
        cdef const uint32_t *slots
        cdef int64_t width
        cdef int w, first, last
        cdef int32_t bonus = self.ground.costs.bonus
        cdef local_place_t *p
        pairs = <uint32_t *>enlarged(&self.rooms[PAIRS], k * sizeof(uint32_t))
        strands = <uint32_t *>enlarged(&self.rooms[STRANDS], k * sizeof(uint32_t))
        firsts = <coordinate_t *>enlarged(&self.rooms[FIRSTS], k * sizeof(coordinate_t))
        for w in range(self.widths.shape[0]):
            width, m = self.widths[w], 0
            for i in range(k):
                if turn[i] == width:
                    p = &place[i]
                    pairs[m], strands[m] = <uint32_t>i, p.read_strand
                    firsts[m] = p.band_start if p.width <= width else p.first_diagonal - (width >> 1)
                    m += 1
            if m == 0:
                continue
            self.run_kernel(width, m, path != NULL)
            end = <const uint16_t *>self.rooms[ENDS].p  # keys, rows, ends
            for j in range(m):
                i = pairs[j]
                p = &place[i]
                p.score = p.total = 0
                p.reached = 0
                if end[m + j]:
                    first, last = ~end[j] & 1, end[m + j] == self.length_of(p.read_strand)
                    p.total = end[j] >> 1
                    p.score, p.reached = p.total - bonus * (first + last), <uint8_t>(first | last << 1)
                p.strand_end, p.diagonal = end[m + j], firsts[j] + end[2 * m + j]
                if self.perfect(p.read_strand) - p.total >= self.leaving[w] and width < p.width:
                    turn[i] *= 2
            if path != NULL:
                walked = self.note_paths(path, m, walked)
        if path == NULL:
            for i in range(k):
                place[i].first_diagonal = place[i].diagonal
        return 0

    cdef int run_kernel(self, int64_t width, uint32_t m, bint walks) except -1 nogil:
        """The best alignments of m pairs in bands of `width` diagonals: fills ENDS, and what `walks` asks for."""
        cdef const uint32_t *strands = <const uint32_t *>self.rooms[STRANDS].p
        cdef uint16_t *end = <uint16_t *>enlarged(&self.rooms[ENDS], 3 * m * sizeof(uint16_t))
        cdef uint32_t rows = 0
        cdef band_batch batch = self.batch
        cdef local_ends ends = local_ends(end, end + m, end + 2 * m)
        cdef local_paths paths
        cdef int64_t began = now()
        if walks:
            rows = self.open_slots(m, &paths)
            self.traced += m
        else:
            self.scored += m
        if self.kernels == NULL:
            with gil:
                self.ask_device(width, m, walks, rows, &paths)
            return 0
        batch.read_strand, batch.band_start, batch.n = strands, <const coordinate_t *>self.rooms[FIRSTS].p, m
        if not walks:
            self.kernels.local_score(&batch, &self.costs, <uint32_t>width, &ends)
        elif self.kernels.local_align(&batch, &self.costs, <uint32_t>width, &ends, &paths, rows):
            with gil:
                raise MemoryError("no memory for the traceback")
        self.calls += 1
        self.pairs += m
        self.kernel += now() - began
        return 0

    cdef uint32_t open_slots(self, uint32_t m, local_paths *paths) except? 0 nogil:
        """Room for the runs of m alignments, as kernels/local.h wants it. Returns the length of the longest read."""
        cdef const uint32_t *strands = <const uint32_t *>self.rooms[STRANDS].p
        cdef uint32_t *slots = <uint32_t *>enlarged(&self.rooms[SLOTS], m * sizeof(uint32_t))
        cdef uint16_t *shorts = <uint16_t *>enlarged(&self.rooms[SHORTS], 2 * m * sizeof(uint16_t))
        cdef int64_t end = 0, gaps, length
        cdef uint32_t longest = 0, j
        for j in range(m):
            length = self.length_of(strands[j])
            longest = max(longest, <uint32_t>length)
            # Matches and bonus pay for all gaps.
            gaps = length if self.least_gap == 0 else min(self.perfect(strands[j]) // self.least_gap, length)
            end += 2 * gaps + 3
            slots[j] = <uint32_t>end
        if end >> 32:
            with gil:
                raise ValueError("too many alignments for one call")
        paths.slot_end, paths.edits, paths.n_runs = slots, shorts, shorts + m
        paths.position = <coordinate_t *>enlarged(&self.rooms[POSITIONS], m * sizeof(coordinate_t))
        paths.runs = <uint32_t *>enlarged(&self.rooms[RUNS], end * sizeof(uint32_t))
        return longest

    cdef int ask_device(self, int64_t width, uint32_t m, bint walks, uint32_t rows, local_paths *paths) except -1:
        """As the kernels of the host."""
        cdef uint32_t[::1] strands = <uint32_t[:m]><uint32_t *>self.rooms[STRANDS].p
        cdef coordinate_t[::1] firsts = <coordinate_t[:m]><coordinate_t *>self.rooms[FIRSTS].p
        cdef uint32_t[::1] slots
        pairs = np.asarray(strands), np.asarray(firsts), width, self.doubled
        if not walks:
            self.copy_in(self.rooms[ENDS].p, self.handle._local(*pairs))
            return 0
        slots = <uint32_t[:m]><uint32_t *>self.rooms[SLOTS].p
        ends, position, edits, n_runs, runs = self.handle._align_local(*pairs, np.asarray(slots), rows)
        self.copy_in(self.rooms[ENDS].p, ends)
        self.copy_in(paths.position, position)
        self.copy_in(paths.edits, edits)
        self.copy_in(paths.n_runs, n_runs)
        self.copy_in(paths.runs, runs)
        return 0

    cdef int copy_in(self, void *to, array) except -1:
        cdef const uint8_t[::1] bytes_of = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        memcpy(to, &bytes_of[0], bytes_of.shape[0])
        return 0

    cdef Py_ssize_t note_paths(self, path_t *path, uint32_t m, Py_ssize_t walked) except -1 nogil:
        """Keep what the last call has walked, its runs behind those in WALKED; returns how many runs there are now."""
        cdef const uint32_t *pairs = <const uint32_t *>self.rooms[PAIRS].p
        cdef const uint32_t *slots = <const uint32_t *>self.rooms[SLOTS].p
        cdef const uint16_t *shorts = <const uint16_t *>self.rooms[SHORTS].p
        cdef const coordinate_t *position = <const coordinate_t *>self.rooms[POSITIONS].p
        cdef const uint32_t *runs = <const uint32_t *>self.rooms[RUNS].p
        cdef uint32_t *to = <uint32_t *>enlarged(&self.rooms[WALKED], (walked + slots[m - 1]) * sizeof(uint32_t))
        cdef uint32_t j
        for j in range(m):
            path[pairs[j]] = path_t(position[j], walked, shorts[m + j], shorts[j])
            memcpy(to + walked, runs + slots[j] - shorts[m + j], shorts[m + j] * sizeof(uint32_t))
            walked += shorts[m + j]
        return walked

    cdef void keep_found(self) noexcept nogil:
        """Without the places that align nothing."""
        cdef local_place_t *place = <local_place_t *>self.rooms[PLACES].p
        cdef Py_ssize_t i, kept = 0
        for i in range(self.n_places):
            if place[i].score > 0:
                place[kept] = place[i]
                kept += 1
        self.n_places = kept

    cdef int widen(self) except -1 nogil:
        """Add what scores more than places in bands as wide as their scores pay, behind the places of its read.

        An alignment that leaves a band has a gap with a part on either side. Each part has to score more than the gap
        costs, or the other one alone would score more than both. So a place is looked at in the narrowest band that
        costs more to leave than it loses, or than it scores.
        """
        cdef local_place_t *place = <local_place_t *>self.rooms[PLACES].p
        cdef local_place_t *target
        cdef int64_t *origin
        cdef uint16_t *turn
        cdef Py_ssize_t k = self.n_places, i, j, added = 0, n = 0, done = 0
        cdef int64_t loss, before, width
        target = <local_place_t *>enlarged(&self.rooms[TARGETS], k * sizeof(local_place_t))
        origin = <int64_t *>enlarged(&self.rooms[ORIGINS], k * sizeof(int64_t))
        turn = <uint16_t *>enlarged(&self.rooms[TURNS], k * sizeof(uint16_t))
        for i in range(k):
            loss = self.perfect(place[i].read_strand) - place[i].total
            if min(loss, place[i].total) < self.leaving[0]:
                continue
            width = self.expected(min(loss, place[i].total), self.widths[self.widths.shape[0] - 1])
            before = place[i].diagonal - place[i].band_start
            if width > 2 * min(before + 1, place[i].width - before):
                self.aim(&target[n], place[i].read_strand, place[i].diagonal, place[i].diagonal - (width >> 1),
                         <uint16_t>width, False)
                turn[n], origin[n] = self.expected(loss, width), i
                n += 1
        if n == 0:
            return 0
        self.by_width(target, turn, n, NULL)
        for j in range(n):
            added += target[j].total > place[origin[j]].total
        self.rooms[PLACES], self.rooms[SCRATCH] = self.rooms[SCRATCH], self.rooms[PLACES]
        place = <local_place_t *>self.rooms[SCRATCH].p
        self.n_places = k + added
        self.merge_wider(place, k, target, origin, n)
        return 0

    cdef int merge_wider(self, const local_place_t *place, Py_ssize_t k, const local_place_t *wider,
                         const int64_t *origin, Py_ssize_t n) except -1 nogil:
        """Into PLACES: k places, and those of n `wider` ones that score more than the places that they come from."""
        cdef local_place_t *out = <local_place_t *>enlarged(&self.rooms[PLACES], self.n_places * sizeof(local_place_t))
        cdef Py_ssize_t i, j = 0, first = 0, done = 0
        for i in range(k):
            out[done] = place[i]
            done += 1
            if j < n and origin[j] == i:
                # A part that ends elsewhere is a place of its own: it may be one of a split read.
                if wider[j].total > place[i].total and wider[j].diagonal == place[i].diagonal:
                    done -= 1
                j += 1
            if i + 1 == k or place[i + 1].read_strand >> 1 != place[i].read_strand >> 1:
                while first < j:
                    if wider[first].total > place[origin[first]].total:
                        out[done] = wider[first]
                        done += 1
                    first += 1
        self.n_places = done
        return 0

    cdef int merge_places(self) except -1 nogil:
        """Know those in PLACES, too, read by read, of which only new and good ones stay."""
        cdef const local_place_t *known = <const local_place_t *>self.rooms[KNOWN].p
        cdef const local_place_t *new = <const local_place_t *>self.rooms[PLACES].p
        cdef Py_ssize_t k = self.n_known, n = self.n_places, i = 0, j, first, done = 0
        cdef local_place_t *out = <local_place_t *>enlarged(&self.rooms[SCRATCH], (k + n) * sizeof(local_place_t))
        cdef uint32_t r
        for j in range(n):
            r = new[j].read_strand >> 1
            while i < k and known[i].read_strand >> 1 <= r:
                out[done] = known[i]
                i, done = i + 1, done + 1
            if new[j].score + (self.ground.costs.bonus if self.hangs_over(&new[j]) else 0) < self.least_score:
                continue
            first = i
            while first and known[first - 1].read_strand >> 1 == r and not repeats(&new[j], &known[first - 1]):
                first -= 1
            if first == 0 or known[first - 1].read_strand >> 1 != r:
                out[done] = new[j]
                done += 1
        memcpy(out + done, known + i, (k - i) * sizeof(local_place_t))
        self.rooms[KNOWN], self.rooms[SCRATCH] = self.rooms[SCRATCH], self.rooms[KNOWN]
        self.n_known = done + k - i
        return 0

    cdef bint hangs_over(self, const local_place_t *place) noexcept nogil:
        """Whether a place reaches an end of its read beyond one of its contig.

        There it is cut. So it may score as much more as the bonus of that end has outweighed.
        """
        cdef int64_t end = place.diagonal + place.strand_end
        cdef size_t contig = contigs_before(self.ground.contigs.starts, self.ground.contigs.n, end - 1)
        cdef int64_t start = self.ground.contigs.starts[contig - 1 if contig else self.ground.contigs.n - 1]
        cdef int64_t length = self.ground.contigs.lengths[contig - 1 if contig else self.ground.contigs.n - 1]
        return (place.reached & 1 and place.diagonal < start) or (place.reached & 2 and end > start + length)

    cdef int note_begun(self, const uint8_t *words) except -1 nogil:
        """Set where places begin of which several lie in the band of the line of their read."""
        cdef local_place_t *place = <local_place_t *>self.rooms[KNOWN].p
        cdef const local_line_t *line = <const local_line_t *>self.rooms[LINES].p
        cdef int64_t *rows = <int64_t *>self.rooms[ROWS].p
        cdef Py_ssize_t n_lines = self.n_lines, n_runs = self.n_runs, i = 0, l, n = 0, first
        cdef int64_t away
        cdef bint crowded
        for l in range(n_lines):
            while place[i].read_strand >> 1 < line[l].read_strand >> 1:
                i += 1
            first, crowded = n, False
            while i < self.n_known and place[i].read_strand >> 1 == line[l].read_strand >> 1:
                away = llabs(place[i].diagonal - line[l].last_diagonal)
                if (place[i].read_strand == line[l].read_strand
                        and away <= max(place[i].width, 64 * <int64_t>words[line[l].read_strand >> 1],
                                    llabs(line[l].last_diagonal - line[l].first_diagonal))):
                    crowded |= away > 0
                    rows[n] = i
                    n += 1
                i += 1
            if not crowded:
                n = first
        self.align_rows(place, rows, n)
        line = <const local_line_t *>self.rooms[LINES].p
        for i in range(n):
            place[rows[i]].first_diagonal = line[n_lines + i].first_diagonal
        self.n_lines, self.n_runs = n_lines, n_runs
        return 0

    cdef void let_given_lead(self) noexcept nogil:
        """Lower the total of places that score more than the given one of their read."""
        cdef local_place_t *place = <local_place_t *>self.rooms[PLACES].p
        cdef Py_ssize_t i = 0, j, first
        cdef int32_t most
        while i < self.n_places:
            first, most = i, INT32_MAX
            while i < self.n_places and place[i].read_strand >> 1 == place[first].read_strand >> 1:
                if place[i].given:
                    most = place[i].total
                i += 1
            for j in range(first, i):
                place[j].total = min(place[j].total, most)

    # --- alignments --------------------------------------------------------------------------------------------------

    cdef int align_rows(self, const local_place_t *places, const int64_t *rows, Py_ssize_t k) except -1 nogil:
        """Add the alignments of the k places at `rows`, or of all where that is NULL, to HITS and LINES."""
        cdef local_place_t *target = <local_place_t *>enlarged(&self.rooms[TARGETS], k * sizeof(local_place_t))
        cdef uint16_t *turn = <uint16_t *>enlarged(&self.rooms[TURNS], k * sizeof(uint16_t))
        cdef path_t *path = <path_t *>enlarged(&self.rooms[PATHS], k * sizeof(path_t))
        cdef uint32_t whole
        cdef aligned_t one
        cdef Py_ssize_t i
        for i in range(k):
            if i + AHEAD < k:
                prefetch_read(self.ground.reference, places[rows[i + AHEAD] if rows != NULL else i + AHEAD].diagonal)
            target[i] = places[rows[i] if rows != NULL else i]
            target[i].first_diagonal = target[i].diagonal
            turn[i] = self.width_of_walk(&target[i])
        self.by_width(target, turn, k, path)
        for i in range(k):
            if turn[i] == PLAIN:
                whole = <uint32_t>self.length_of(target[i].read_strand) << 4 | CIGAR_MATCH
                one = aligned_t(target[i].read_strand, target[i].diagonal, &whole, 1, 0, NO_SCORE)
            else:
                one = aligned_t(target[i].read_strand, path[i].position,
                                <const uint32_t *>self.rooms[WALKED].p + path[i].first_run, path[i].n_runs,
                                target[i].score, path[i].edits)
            self.add_line(&one, target[i].given)
        return 0

    cdef int align_best(self, const uint8_t *chosen) except -1 nogil:
        """Align the best known place of every read, or of the chosen ones."""
        cdef const local_place_t *place = <const local_place_t *>self.rooms[KNOWN].p
        cdef int64_t *rows = <int64_t *>enlarged(&self.rooms[ROWS], self.n_known * sizeof(int64_t))
        self.n_lines = 0
        self.align_rows(place, rows, best_rows(place, self.n_known, chosen, self.flip, self.digest,
                                               &self.rooms[SCRATCH], rows))
        self.drop_empty()
        return 0

    cdef uint16_t width_of_walk(self, const local_place_t *place) noexcept nogil:
        """In which band a place is aligned."""
        cdef int64_t loss = self.perfect(place.read_strand) - place.total
        if loss < self.breaking:
            return PLAIN
        # What scores as much as the whole read on its last diagonal is that: the walk back prefers diagonal steps.
        if place.reached == WHOLE and loss == lost_by_whole(
                self.ground.reference, place.diagonal, self.ground.reads, self.first_of(place.read_strand),
                self.length_of(place.read_strand), &self.ground.costs, loss):
            return PLAIN
        return self.expected(loss, place.width)

    cdef int add_line(self, const aligned_t *one, bint given) except -1 nogil:
        """The line of an alignment, which has no runs where a contig's end leaves nothing of it."""
        cdef uint32_t *cigars = <uint32_t *>enlarged(&self.rooms[CIGARS],
                                                     (self.n_runs + one.runs + 2) * sizeof(uint32_t))
        cdef hit_t *hits = <hit_t *>enlarged(&self.rooms[HITS], (self.n_lines + 1) * sizeof(hit_t))
        cdef local_line_t *lines = <local_line_t *>enlarged(&self.rooms[LINES],
                                                            (self.n_lines + 1) * sizeof(local_line_t))
        cdef Py_ssize_t n = self.n_lines
        cdef Py_ssize_t runs = hit_of(&self.ground, one, False, &self.rooms[SCRATCH], cigars + self.n_runs, &hits[n],
                                      &lines[n])
        hits[n].cigar_start, lines[n].given = <uint32_t>self.n_runs, given
        self.n_runs += runs
        self.n_lines += 1
        return 0

    cdef int add_stretch(self, const local_place_t *place, const local_line_t *line, int side) except -1 nogil:
        """The best ungapped alignment on the diagonal of a place, of the bases of its strand on one side of a line."""
        cdef int64_t m = self.length_of(place.read_strand), begin = 0, end = line.begin
        cdef costs_t costs = self.ground.costs
        cdef stretch_t best
        cdef uint32_t runs[3]
        cdef Py_ssize_t n = 0
        cdef aligned_t one
        if place.read_strand & 1:
            end = m - line.end
        if side:
            begin, end = end + line.end - line.begin, m
        if end - begin < m:
            costs.bonus = 0
        best = best_stretch(self.ground.reference, place.diagonal + begin, self.ground.reads,
                            self.first_of(place.read_strand) + begin, <int>(end - begin), costs, self.least_score)
        if best.total < self.least_score or best.end == best.begin:
            return 0
        n = cigar_push(&runs[0], n, CIGAR_SOFT_CLIP, <uint32_t>(begin + best.begin))
        n = cigar_push(&runs[0], n, CIGAR_MATCH, <uint32_t>(best.end - best.begin))
        n = cigar_push(&runs[0], n, CIGAR_SOFT_CLIP, <uint32_t>(m - begin - best.end))
        one = aligned_t(place.read_strand, place.diagonal + begin + best.begin, &runs[0], n, 0, NO_SCORE)
        return self.add_line(&one, False)

    cdef void drop_empty(self) noexcept nogil:
        """Without the lines that have no runs."""
        cdef hit_t *hits = <hit_t *>self.rooms[HITS].p
        cdef local_line_t *lines = <local_line_t *>self.rooms[LINES].p
        cdef Py_ssize_t i, kept = 0
        for i in range(self.n_lines):
            if hits[i].cigar_runs:
                hits[kept], lines[kept] = hits[i], lines[i]
                kept += 1
        self.n_lines = kept

    # --- what is reported --------------------------------------------------------------------------------------------

    @property
    def ratings(self):
        """RATING[n + p]: of each read, and of each further part."""
        return array_of(self.rooms[RATED].p, self.n + self.n_parts - self.n_split, RATING)

    def decided(self, found, pairs, int strata):
        """Mates of the pairs that stay where the search of whole reads has placed them.

        Their places are the best ones by score, too. No other one is known with up to `strata` more errors, or the mate
        has told which of several places without an error it is.

        Parameters
        ----------
        found : search.arrays.GlobalResult
        pairs : search.context.PairContext

        Returns
        -------
        uint8[n]
        """
        cdef const read_summary_t[::1] summary = found.summary
        cdef const uint8_t[::1] proper = found.proper.view(np.uint8), mate = pairs.mate
        cdef const row_t *row = <const row_t *>self.rooms[PRIMARY].p
        cdef const uint8_t *far = <const uint8_t *>self.rooms[FAR].p
        cdef const read_summary_t *one
        cdef uint8_t *stays
        cdef Py_ssize_t r
        decided_array = np.empty(self.n, np.uint8)
        cdef uint8_t[::1] decided = decided_array
        with nogil:
            stays = <uint8_t *>enlarged(&self.rooms[TAKEN], self.n)
            for r in range(self.n):
                one = &summary[r]
                stays[r] = (row[r].hit.cigar_runs and row[r].line.given and not far[r]
                            and (one.best == 0
                                 or one.n_best < 2 and (one.second == NO_SCORE or one.second > one.best + strata))
                            and row[r].hit.score >= self.least_reported(<uint32_t>r, self.mate_bonus if mate[r] else 0))
            for r in range(self.n):
                decided[r] = proper[r] and stays[r] and stays[partner_of(&mate[0], <uint32_t>r)]
        return decided_array

    cdef int drop_low(self, const uint8_t *vouched, const uint8_t *mate) except -1 nogil:
        """Without primary lines that score too little. A mate vouches for some reads: one with a line, if not NULL."""
        cdef row_t *row = <row_t *>self.rooms[PRIMARY].p
        cdef uint8_t *is_aligned = <uint8_t *>enlarged(&self.rooms[KEYS], self.n)
        cdef Py_ssize_t r
        for r in range(self.n):
            is_aligned[r] = row[r].hit.cigar_runs > 0
        for r in range(self.n):
            if is_aligned[r] and row[r].hit.score < self.least_reported(<uint32_t>r, self.mate_bonus if vouched[r] and (
                    mate == NULL or is_aligned[partner_of(mate, <uint32_t>r)]) else 0):
                row[r].hit.cigar_runs = 0
        return 0

    cdef inline int64_t least_reported(self, uint32_t r, int32_t bonus=0) noexcept nogil:
        """The least score of a read that is reported (-T): unless it is asked for, that of all its bases is enough."""
        cdef int64_t least = self.least_score - bonus
        return least if self.is_asked else min(self.length_of(2 * r) * self.ground.costs.match, least)

    cdef inline int64_t least_listed(self, const hit_t *hit) noexcept nogil:
        """The least score of what is listed beside an alignment."""
        return max(self.least_reported(hit.read), <int64_t>ceil(self.share * hit.score))

    # --- qualities ---------------------------------------------------------------------------------------------------

    def report(self, found, const uint32_t[::1] reseeded, passed_over, seeds, bint split, pairs=None,
               const uint8_t[::1] decided=None, const uint32_t[::1] joined=None, const double[::1] wrong=None):
        """Choose what is reported of each read, and give it its mapping quality.

        Parameters
        ----------
        found : search.arrays.GlobalResult
            Read: `summary`, `proper`, `seen`; `rated`, which holds where the search has placed a whole read for good.
        reseeded : uint32[a], passed_over : local.reseed.PassedOver or None
            Reads with dense seeds, and what was passed over of these.
        seeds : tuple of int
            Bases of a dense seed, and from one to the next.
        split : bool
            Whether reads are split into parts.
        pairs : search.context.PairContext, optional
            With `decided` (uint8[n]), mates that keep the quality that the search gave them, and those that are rated
            together, `joined` (uint32[j]) and `wrong` (float64[n]) as `local.mates.pair_up` returns them.
        """
        cdef Rater rater = self.context.rater
        cdef const rating_t[::1] rated = found.rated
        cdef const read_summary_t[::1] summary = found.summary
        cdef const uint8_t[::1] proper = found.proper.view(np.uint8)
        cdef const uint8_t[::1] mate
        cdef Py_ssize_t n_joined = 0
        cdef double window = 0
        cdef const double[::1] bases
        cdef const int64_t[::1] first, end
        cdef const costs_t *costs = &self.ground.costs
        cdef coverage_t seen
        cdef reads_t reads
        cdef rating_t *rating
        cdef place_t *mates
        cdef place_t place
        cdef row_t **row
        cdef const row_t *primary = NULL
        cdef uint8_t *vouched
        cdef Py_ssize_t i, j = 0
        cdef uint32_t r
        cdef bint is_joined
        self.n_reported = self.n_further = 0
        if self.n == 0:
            return
        bases, first, end = passed_over or (None, None, None)
        if pairs is not None:
            mate, n_joined, window = pairs.mate, joined.shape[0], pairs.window_bases
        reads = reads_t(self.ground.reads, self.ground.plane_start, self.ground.lengths, NULL, NULL, self.n)
        seen = coverage_t(states_of(found.seen), NULL, costs.match, costs.match + costs.mismatch,
                          <int>self.much_clipped, seeds[0], seeds[1])
        with nogil:
            vouched = <uint8_t *>enlarged(&self.rooms[TAKEN], self.n)
            memset(vouched, False, self.n)
            if decided is not None:
                memcpy(vouched, &decided[0], self.n)
            for i in range(n_joined):
                vouched[joined[i]] = True
            self.drop_low(vouched, &mate[0] if pairs is not None else NULL)
            if split:
                self.add_parts()
            row = self.number_parts()
            self.compare(NULL)
            seen.over = self.passed_over(reseeded, bases, first, end)
            rating = <rating_t *>enlarged(&self.rooms[RATED], (self.n + self.n_parts - self.n_split) * sizeof(rating_t))
            memcpy(rating, &rated[0], self.n * sizeof(rating_t))
            mates = <place_t *>enlarged(&self.rooms[MATES], n_joined * sizeof(place_t))
            for i in range(n_joined):
                mates[i].how = 0
            for i in range(self.n_reported):
                r = row[i].hit.read
                if row[i].hit.part:
                    rater.line(&row[i].hit, &row[i].line, &row[i].rival, &primary.line, &reads, &seen, &place)
                    rater.alone(&place, &rating[self.summary_of(&row[i].hit)])
                    continue
                primary = row[i]
                while j < n_joined and joined[j] < r:
                    j += 1
                is_joined = j < n_joined and joined[j] == r
                # What the search of whole reads says holds for alignments of whole reads, and for what pairs decide.
                if is_joined or not vouched[r] and (row[i].hit.cigar_runs > 1 or not row[i].line.given
                                                    or seen.over[r].reseeded):
                    rater.line(&row[i].hit, &row[i].line, &row[i].rival, &row[i].line, &reads, &seen, &place)
                    if is_joined:
                        mates[j] = place
                    else:
                        rater.alone(&place, &rating[r])
            for i in range(n_joined):
                if mates[i].how == 0:  # it has no line
                    rater.whole(&summary[joined[i]], &reads, &seen.states, joined[i], &mates[i])
                    mates[i].chance = 0
            for i in range(n_joined):
                r = joined[i]
                # Mates of concordant pairs of whole reads have been weighed in more places: the lower quality holds.
                rater.mate(&mates[i], &mates[i ^ 1], wrong[r], window,
                           rating[r].mapq if proper[r] and not seen.over[r].reseeded
                           and not seen.over[partner_of(&mate[0], r)].reseeded else UINT8_MAX, &rating[r])
            for i in range(self.n_reported):
                if row[i].hit.part == 0:
                    self.cap_beside(rater, &reads, row[i], &rating[row[i].hit.read])
                row[i].hit.mapq = rating[self.summary_of(&row[i].hit)].mapq

    cdef row_t **number_parts(self) except NULL nogil:
        """All alignments to report, read by read, the primary one first."""
        cdef part_t *part = <part_t *>self.rooms[PARTS].p
        cdef row_t *primary = <row_t *>self.rooms[PRIMARY].p
        cdef Py_ssize_t n = self.n_parts - self.n_split, i, r, j = 0
        cdef uint64_t *keys = <uint64_t *>enlarged(&self.rooms[KEYS], 2 * n * sizeof(uint64_t))
        cdef row_t **row = <row_t **>enlarged(&self.rooms[REPORTED], (self.n + n) * sizeof(row_t *))
        cdef row_t *one
        for i in range(n):
            keys[i] = <uint64_t>part[self.n_split + i].split << 32 | <uint64_t>(self.n_split + i)
        sort_keys(keys, keys + n, n)
        for r in range(self.n):
            if primary[r].hit.cigar_runs:
                row[self.n_reported] = &primary[r]
                self.n_reported += 1
            while j < n and part[<uint32_t>keys[j]].row.hit.read == r:
                one = row[self.n_reported] = &part[<uint32_t>keys[j]].row
                j += 1
                one.hit.part, one.hit.flag = <uint32_t>j, one.hit.flag | SUPPLEMENTARY
                self.n_reported += 1
        return row

    cdef inline size_t summary_of(self, const hit_t *hit) noexcept nogil:
        """The row of the summary of a read, or of its part."""
        return self.n + hit.part - 1 if hit.part else hit.read

    cdef over_t *passed_over(self, const uint32_t[::1] reads, const double[::1] bases, const int64_t[::1] first,
                             const int64_t[::1] end) except NULL nogil:
        """What dense seeds of some reads have shown, for each read."""
        cdef over_t *over = <over_t *>enlarged(&self.rooms[OVER], self.n * sizeof(over_t))
        cdef Py_ssize_t i
        memset(over, 0, self.n * sizeof(over_t))
        for i in range(reads.shape[0]):
            over[reads[i]].reseeded = True
            if bases is not None:
                over[reads[i]] = over_t(bases[i], first[i], end[i], True)
        return over

    cdef void cap_beside(self, Rater rater, const reads_t *reads, const row_t *row, rating_t *rating) noexcept nogil:
        """Cap the quality of a primary alignment by copies of a tandem repeat beside it."""
        cdef const costs_t *costs = &self.ground.costs
        cdef const local_line_t *line = &row.line
        cdef int64_t span = line.end - line.begin, begin = line.begin
        if line.read_strand & 1:
            begin = self.length_of(line.read_strand) - line.end
        rater.cap_beside(rating, self.ground.reference, reads, line.read_strand, line.first_diagonal, begin,
                         begin + span, (span * costs.match - row.hit.score) / <double>(costs.match + costs.mismatch))

    cdef Py_ssize_t compare(self, uint32_t *listed) except -1 nogil:
        """Note the rivals of all alignments. Unless `listed` is NULL, list those to be reported; returns how many.

        It has room for the rows and the parts of all places. One that is a rival of several parts is the first's.
        """
        cdef row_t **row = <row_t **>self.rooms[REPORTED].p
        cdef const local_place_t *place = <const local_place_t *>self.rooms[KNOWN].p
        cdef uint8_t *taken = <uint8_t *>enlarged(&self.rooms[ORDER], self.n_known)
        cdef const int64_t *order
        cdef Py_ssize_t k = self.n_known, i, j, at, n, first = 0, stop = 0, done = 0
        cdef uint32_t r
        if listed != NULL:
            memset(taken, False, k)
        for i in range(self.n_reported):
            r = row[i].hit.read
            if i == 0 or r != row[i - 1].hit.read:
                first = stop
                while first < k and place[first].read_strand >> 1 < r:
                    first += 1
                stop = first
                while stop < k and place[stop].read_strand >> 1 == r:
                    stop += 1
            n = rivals_of(&row[i].line, place + first, stop - first, self.length_of(2 * r), self.ground.costs.match,
                          &self.rooms[RIVALS], &row[i].rival)
            if listed == NULL:
                continue
            order = <const int64_t *>self.rooms[RIVALS].p
            for j in range(n):
                at = first + order[j]
                if not taken[at]:
                    taken[at] = True
                    if place[at].score >= self.least_listed(&row[i].hit):
                        listed[done], listed[k + done] = <uint32_t>at, row[i].hit.part
                        done += 1
        return done

    # --- next best places --------------------------------------------------------------------------------------------

    def least_stretches(self):
        """Say of which reads next best places are wanted, and what the longest part between their gaps scores at least.

        The more gaps there are, the less need each part score; but each costs what the parts have to make up for.
        Returns uint32[a] and int32[n].
        """
        cdef row_t **row = <row_t **>self.rooms[REPORTED].p
        cdef Py_ssize_t i, a = 0
        cdef int64_t score, gaps
        cdef uint32_t r
        reads_array, least_array = np.empty(self.n_reported, np.uint32), np.full(self.n, INT32_MAX, np.int32)
        cdef uint32_t[::1] reads = reads_array
        cdef int32_t[::1] least = least_array
        with nogil:
            for i in range(self.n_reported):
                r = row[i].hit.read
                if a == 0 or reads[a - 1] != r:
                    reads[a] = r
                    a += 1
                score = self.least_listed(&row[i].hit)
                gaps = max(self.length_of(2 * r) * self.ground.costs.match - score, 0) // self.gap
                score = min(score, (score + gaps * self.gap) // (gaps + 1))
                least[r] = <int32_t>min(least[r], score)
        return reads_array[:a], least_array

    def further_places(self):
        """LOCAL_PLACE[c], uint32[c]: the next best places of each alignment that score enough, and its part of a read.

        By alignment, total (highest first), strand and diagonal. They are its rivals from now on.
        """
        cdef Py_ssize_t c = 0
        listed_array = np.empty((2, self.n_known), np.uint32)
        cdef uint32_t[:, ::1] listed = listed_array
        if self.n_known:
            with nogil:
                c = self.compare(&listed[0, 0])
        return np.take(self.places, listed_array[0, :c]), listed_array[1, :c]

    def add_further(self, const hit_t[::1] hits, const local_line_t[::1] lines):
        """Take as many alignments of further places (HIT[k], LOCAL_LINE[k]) as are wanted of each part, the best first.

        Not those that begin or end where a better one of their read does.
        """
        cdef row_t **row = <row_t **>self.rooms[REPORTED].p
        cdef Py_ssize_t k = hits.shape[0], i = 0, j, first, stop = 0
        with nogil:
            enlarged(&self.rooms[FURTHER], k * sizeof(hit_t))
            while i < k:
                j = i
                while j < k and hits[j].read == hits[i].read:
                    j += 1
                while row[stop].hit.read < hits[i].read:
                    stop += 1
                first = stop
                while stop < self.n_reported and row[stop].hit.read == hits[i].read:
                    stop += 1
                self.add_of_read(row + first, stop - first, &hits[i], &lines[i], j - i)
                i = j

    cdef int add_of_read(self, row_t **row, Py_ssize_t known, const hit_t *hits, const local_line_t *lines,
                         Py_ssize_t k) except -1 nogil:
        """`add_further` of one read, which has so many `known` alignments."""
        cdef uint64_t *keys = <uint64_t *>enlarged(&self.rooms[KEYS], 4 * (known + k) * sizeof(uint64_t))
        cdef uint64_t *order = <uint64_t *>enlarged(&self.rooms[ORDER], k * sizeof(uint64_t))
        cdef uint8_t *is_new = <uint8_t *>enlarged(&self.rooms[TAKEN], known + k)
        cdef hit_t *further = <hit_t *>self.rooms[FURTHER].p
        cdef const local_line_t *line
        cdef Py_ssize_t i, j, n = 0, m, least, rank = 0
        cdef uint32_t part = 0
        for i in range(k):
            if hits[i].score >= self.least_reported(hits[i].read):
                order[n] = (<uint64_t>hits[i].part << KEY_ROW_BITS + 16
                            | <uint64_t>(INT16_MAX - lines[i].total) << KEY_ROW_BITS | <uint64_t>i)
                n += 1
        sort_keys(order, keys, n)
        m = known + n
        for i in range(2 * m):
            j = i >> 1
            line = &row[j].line if j < known else &lines[order[j - known] & KEY_ROW_MASK]
            keys[i] = place_key(line.read_strand & 1, line.last_diagonal if i & 1 else line.first_diagonal)
            keys[i] = keys[i] << KEY_ROW_BITS | j
        sort_keys(keys, keys + 2 * m, 2 * m)
        memset(is_new, True, m)
        i = 0
        while i < 2 * m:
            j, least = i, keys[i] & KEY_ROW_MASK
            while j + 1 < 2 * m and (keys[j + 1] >> KEY_ROW_BITS) - (keys[j] >> KEY_ROW_BITS) <= SAME_PLACE:
                j += 1
                least = min(least, <Py_ssize_t>(keys[j] & KEY_ROW_MASK))
            while i <= j:
                is_new[keys[i] & KEY_ROW_MASK] &= <Py_ssize_t>(keys[i] & KEY_ROW_MASK) == least
                i += 1
        for i in range(n):
            j = order[i] & KEY_ROW_MASK
            rank = rank if i and hits[j].part == part else 0
            part = hits[j].part
            if is_new[known + i] and rank < self.most - 1:
                further[self.n_further] = hits[j]
                further[self.n_further].flag |= SECONDARY
                self.n_further, rank = self.n_further + 1, rank + 1
        return 0

    # --- rows ----------------------------------------------------------------------------------------------------

    def rows(self):
        """The rows of all reads in order, and what is to be said of each read and of each further part.

        Returns
        -------
        HIT[h]
            Of each read its primary alignment, its further parts, their next best places; or that it is unmapped.
        READ_SUMMARY[n + p]
            Part i is row n + i - 1. `second` is not known, nor `n_reported` of parts.
        """
        cdef row_t **row = <row_t **>self.rooms[REPORTED].p
        cdef const hit_t *further = <const hit_t *>self.rooms[FURTHER].p
        cdef Py_ssize_t i = 0, f = 0, at = 0, first, unmapped = self.n, r
        cdef bint tied
        cdef const rival_t *rival
        cdef read_summary_t *one
        table_array = np.empty(self.n + self.n_parts - self.n_split, READ_SUMMARY)
        cdef read_summary_t[::1] table = table_array
        with nogil:
            for r in range(table.shape[0]):
                table[r] = read_summary_t(NO_SCORE, NO_SCORE, 0, 0, 0, NO_SUBOPTIMAL)
            for i in range(self.n_reported):
                one, rival = &table[self.summary_of(&row[i].hit)], &row[i].rival
                tied = rival.total >= row[i].line.total and rival.count > 0
                one.best = row[i].hit.edits
                one.n_best = <uint32_t>(1 + (rival.count if tied else 0))
                one.n_second = <uint32_t>(0 if tied else rival.count)
                # A rival that would score more but for the ends that it does not reach is no better.
                one.suboptimal = (min(rival.score, row[i].hit.score) if rival.total <= row[i].line.total
                                  else rival.score)
                unmapped -= row[i].hit.part == 0
        hits_array = np.empty(self.n_reported + self.n_further + unmapped, HIT)
        cdef hit_t[::1] hits = hits_array
        with nogil:
            i = 0
            for r in range(self.n):
                first = at
                while i < self.n_reported and row[i].hit.read == r:
                    hits[at] = row[i].hit
                    i, at = i + 1, at + 1
                while f < self.n_further and further[f].read == r:
                    hits[at] = further[f]
                    f, at = f + 1, at + 1
                table[r].n_reported = <uint32_t>(at - first)
                if at == first:
                    memset(&hits[at], 0, sizeof(hit_t))
                    hits[at].read, hits[at].flag = <uint32_t>r, UNMAPPED
                    at += 1
        return hits_array, table_array
