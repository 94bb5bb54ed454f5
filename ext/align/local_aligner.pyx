"""Local alignments in bands as narrow as is safe.

An alignment that touches a diagonal and leaves the band of `width` diagonals around it has at least `width / 2` gap
bases between there and here. So it loses what they cost. Where the best alignment in the band loses less, it is the
best of all that touch the diagonal. Where it loses more, the band doubles.

A read that loses less than a gap and less than a clipped end has one alignment: along the diagonal, from its first
base to its last. Most reads of a good run do, and they need no band at all.
"""

import numpy as np

from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, llabs
from libc.string cimport memcpy, memset

from gassst._core.alignments cimport ungapped_diagonal
from gassst._core.banded cimport Band, band_batch, cpu_kernels, local_ends, local_paths, local_scoring
from gassst._core.cigar cimport CIGAR_MATCH, CIGAR_SOFT_CLIP, cigar_push
from gassst._core.clock cimport now
from gassst._core.contigs cimport contigs_before
from gassst._core.coordinates cimport coordinate_t
from gassst._core.costs cimport costs_t
from gassst._core.layouts cimport NO_SCORE, hit_t, local_line_t, local_place_t
from gassst._core.local_hits cimport aligned_t, ground_of, ground_t, hit_of
from gassst._core.local_places cimport best_rows
from gassst._core.planes cimport (
    AHEAD,
    bases64_t,
    bases_at,
    count_bits,
    differences,
    first_base,
    first_bases,
    planes_t,
    prefetch_read,
    unknown_bases,
)
from gassst._core.rooms cimport enlarged, room_t

cdef extern from "stretches.h" nogil:
    ctypedef struct stretch_t:
        int32_t total
        int begin, end
    stretch_t best_stretch(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int m, costs_t costs,
                           int32_t least)


from gassst.model.layouts import HIT, LOCAL_LINE, LOCAL_PLACE


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
    SCRATCH
    N_ROOMS

cdef enum:
    WHOLE = 3               # both ends of a read are reached
    PLAIN = 0               # in the place of a width: a read along its diagonal


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
    """The local alignments of one batch. It owns their CIGAR runs, and memory that is used again from call to call.

    Places and lines are in the order of their reads, before and after.

    Parameters
    ----------
    context : search.context.BatchContext
        Read: `packed`, `flip`, `digest`, `reference`, `params.scoring`.
    handle : bands.base.ReadsHandle
        Its reads, where they are open. Kernels of the host are called without the interpreter's lock.
    scoring : int16[7]
        As the kernels take it: `bands.base.doubled`.
    widths, leaving : int64[w]
        Of bands, ascending, and the least loss of an alignment that leaves each.
    breaking : int
        Least loss of an alignment with a gap or a clipped end.

    Attributes
    ----------
    scored, traced : int
        Bands that were scored, and in which alignments were walked back.
    calls, pairs, kernel : int
        Calls of kernels of the host, in how many bands, and their nanoseconds.
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
    cdef Py_ssize_t n_places, n_lines, n_runs
    cdef readonly int64_t breaking, scored, traced, calls, pairs, kernel

    def __cinit__(self, context, handle, const int16_t[::1] scoring, const int64_t[::1] widths,
                  const int64_t[::1] leaving, int64_t breaking):
        cdef Band band
        memset(self.rooms, 0, sizeof(self.rooms))
        self.context, self.handle, self.doubled, self.breaking = context, handle, np.asarray(scoring), breaking
        self.ground = ground_of(context)
        cdef const uint8_t[::1] flip = context.flip
        cdef const uint64_t[::1] digest = context.digest
        if flip.shape[0]:
            self.flip, self.digest = &flip[0], &digest[0]
        self.kernels = NULL
        self.host = getattr(handle, "band", None)
        if self.host is not None:
            band = self.host
            self.kernels, self.batch = band.kernels, band.batch
        memcpy(&self.costs, &scoring[0], sizeof(local_scoring))
        self.widths, self.leaving = widths, leaving
        self.least_gap = min(self.costs.open_deletion, self.costs.open_insertion) // 2  # of a gap's first base

    def __dealloc__(self):
        for i in range(N_ROOMS):
            free(self.rooms[i].p)

    @property
    def cigars(self):
        """uint32[]: the runs of all alignments made so far; hits point into it."""
        return self.copy_of(CIGARS, self.n_runs, np.uint32)

    cdef object copy_of(self, int room, Py_ssize_t n, dtype):
        """What is in a room, as an array."""
        array = np.empty(n, dtype)
        cdef uint8_t[::1] to = array.view(np.uint8)
        if n:
            with nogil:  # its memory may be touched for the first time
                memcpy(&to[0], self.rooms[room].p, to.shape[0])
        return array

    cdef tuple lines_out(self):
        """HIT[l] and LOCAL_LINE[l] of what was aligned last."""
        return self.copy_of(HITS, self.n_lines, HIT), self.copy_of(LINES, self.n_lines, LOCAL_LINE)

    # --- what is asked -----------------------------------------------------------------------------------------------

    def known(self, bands, const int64_t[::1] rows, const uint8_t[::1] given, bint stay):
        """The best places that touch the diagonals of alignments of whole reads, and those beside them (`widen`).

        Parameters
        ----------
        bands : search.arrays.Bands
        rows : int64[k], given : uint8[k]
            As `local_places.known_places` returns them.
        stay : bool
            Whether no place may score more than the given one. Of a damaged library that is the likeliest place: that
            another one scores more, as it has no deaminated base, is no reason.

        Returns
        -------
        LOCAL_PLACE[]
        HIT[l], LOCAL_LINE[l]
            The alignment of the best place of every read.
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
        cdef uint16_t *turn
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
            self.align_best(NULL)
        return self.copy_of(PLACES, self.n_places, LOCAL_PLACE), *self.lines_out()

    def score(self, const uint32_t[::1] read_strand, const coordinate_t[::1] diagonal,
              const coordinate_t[::1] band_start, const int64_t[::1] width, const int64_t[::1] begin,
              bint beside=True):
        """The best places that touch diagonals.

        Where nothing is proved in a narrow band the best one anywhere in the widest is taken.

        Parameters
        ----------
        read_strand : uint32[k], diagonal, band_start : int64[k]
            Read by read; the first diagonals of the widest bands.
        width, begin : int64[k]
            Diagonals of the widest band, and of the one to begin with.
        beside : bool
            As `known`. Else one place for each diagonal, as it is.

        Returns
        -------
        LOCAL_PLACE[]
        """
        cdef Py_ssize_t k = read_strand.shape[0], i
        cdef local_place_t *place
        cdef uint16_t *turn
        with nogil:
            place = self.open_targets(k)
            turn = <uint16_t *>self.rooms[TURNS].p
            for i in range(k):
                self.aim(&place[i], read_strand[i], diagonal[i], band_start[i], <uint16_t>width[i], False)
                turn[i] = <uint16_t>begin[i]
            self.by_width(place, turn, k, NULL)
            if beside:
                self.keep_found()
                self.widen()
        return self.copy_of(PLACES, self.n_places, LOCAL_PLACE)

    def align(self, const local_place_t[::1] places, const uint32_t[::1] part=None):
        """The alignments of places in their order, without those that a contig's end leaves nothing of.

        Parameters
        ----------
        places : LOCAL_PLACE[k]
        part : uint32[k], optional
            The parts of their reads that they are of; by default the first ones.

        Returns
        -------
        HIT[l], LOCAL_LINE[l]
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

    def with_further(self, const local_place_t[::1] places, const uint32_t[::1] read_strand,
                     const coordinate_t[::1] diagonal):
        """LOCAL_PLACE[]: the places, and the best ones that touch further diagonals, as in `look_further`."""
        self.score_promising(places, read_strand, diagonal)
        return self.copy_of(PLACES, self.n_places, LOCAL_PLACE)

    cdef int score_promising(self, const local_place_t[::1] places, const uint32_t[::1] read_strand,
                             const coordinate_t[::1] diagonal) except -1:
        """Fills PLACES with the best ones that touch further diagonals, and the places."""
        cdef int32_t least = self.context.params.scoring.least_score
        self.score(read_strand, diagonal, np.asarray(diagonal) - self.widths[0] // 2,
                   *2 * [np.full(diagonal.shape[0], self.widths[0])])
        with nogil:
            self.merge_places(places, least)
        return 0

    def look_further(self, const local_place_t[::1] places, const hit_t[::1] hits, const local_line_t[::1] lines,
                     const uint8_t[::1] far, const uint32_t[::1] read_strand, const coordinate_t[::1] diagonal):
        """Reads again with the best places that touch further diagonals.

        Of a read that is split near a diagonal, the part on it is a place of its own. Where several places lie in the
        band of the line of a read, it is found out where they begin.

        Parameters
        ----------
        places : LOCAL_PLACE[k]
        hits : HIT[l], lines : LOCAL_LINE[l]
            One a read at most.
        far : uint8[n]
            The reads.
        read_strand : uint32[d], diagonal : int64[d]
            Of these reads.

        Returns
        -------
        LOCAL_PLACE[]
        HIT[], LOCAL_LINE[]
            Those of the other reads, and the new ones.
        """
        cdef const uint8_t[::1] words = self.context.words
        cdef Py_ssize_t i, j = 0, done = 0
        cdef const hit_t *new_hits
        cdef const local_line_t *new_lines
        self.score_promising(places, read_strand, diagonal)
        hits_array, lines_array = np.empty(far.shape[0], HIT), np.empty(far.shape[0], LOCAL_LINE)
        cdef hit_t[::1] hits_out = hits_array
        cdef local_line_t[::1] lines_out = lines_array
        with nogil:
            self.align_best(&far[0])
            self.note_begun(&words[0])
            new_hits, new_lines = <const hit_t *>self.rooms[HITS].p, <const local_line_t *>self.rooms[LINES].p
            for i in range(lines.shape[0] + 1):  # the line of a read is either an old one or a new one
                while j < self.n_lines and (i == lines.shape[0] or new_lines[j].read_strand < lines[i].read_strand):
                    hits_out[done], lines_out[done] = new_hits[j], new_lines[j]
                    j, done = j + 1, done + 1
                if i < lines.shape[0] and not far[lines[i].read_strand >> 1]:
                    hits_out[done], lines_out[done] = hits[i], lines[i]
                    done += 1
        return self.copy_of(PLACES, self.n_places, LOCAL_PLACE), hits_array[:done], lines_array[:done]

    def left_over(self, const local_line_t[::1] lines, const local_place_t[::1] places):
        """The best ungapped alignments of what lines, one a read at most, leave over, on the diagonals of places.

        Two parts of a read on one diagonal are one place, which has one alignment, and so are parts that score as much
        with a gap between them.

        Returns
        -------
        HIT[l], LOCAL_LINE[l]
            Read by read: first those before each line, then those behind it.
        """
        cdef int32_t least = self.context.params.scoring.least_score
        cdef Py_ssize_t k = places.shape[0], l, i, first = 0, stop = 0
        cdef int side
        self.n_lines = 0
        with nogil:
            for l in range(lines.shape[0]):
                first = stop
                while first < k and places[first].read_strand >> 1 < lines[l].read_strand >> 1:
                    first += 1
                stop = first
                while stop < k and places[stop].read_strand >> 1 == lines[l].read_strand >> 1:
                    stop += 1
                for side in range(2):
                    for i in range(first, stop):
                        self.add_stretch(&places[i], &lines[l], side, least)
        return self.lines_out()

    # --- scores ------------------------------------------------------------------------------------------------------

    cdef inline int64_t length_of(self, uint32_t read_strand) noexcept nogil:
        return self.ground.lengths[read_strand >> 1]

    cdef inline int64_t first_of(self, uint32_t read_strand) noexcept nogil:
        """The first base of a strand in the planes of the reads."""
        return first_base(self.ground.plane_start[read_strand >> 1], read_strand, self.length_of(read_strand))

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

    cdef int merge_places(self, const local_place_t[::1] known, int32_t least) except -1 nogil:
        """Add known places before those in PLACES, read by read, of which only new and good ones stay."""
        cdef const local_place_t *new = <const local_place_t *>self.rooms[PLACES].p
        cdef Py_ssize_t k = known.shape[0], n = self.n_places, i = 0, j, first, done = 0
        cdef local_place_t *out = <local_place_t *>enlarged(&self.rooms[SCRATCH], (k + n) * sizeof(local_place_t))
        cdef uint32_t r
        for j in range(n):
            r = new[j].read_strand >> 1
            while i < k and known[i].read_strand >> 1 <= r:
                out[done] = known[i]
                i, done = i + 1, done + 1
            if new[j].score + (self.ground.costs.bonus if self.hangs_over(&new[j]) else 0) < least:
                continue
            first = i
            while first and known[first - 1].read_strand >> 1 == r and not repeats(&new[j], &known[first - 1]):
                first -= 1
            if first == 0 or known[first - 1].read_strand >> 1 != r:
                out[done] = new[j]
                done += 1
        if i < k:
            memcpy(out + done, &known[i], (k - i) * sizeof(local_place_t))
        self.rooms[PLACES], self.rooms[SCRATCH] = self.rooms[SCRATCH], self.rooms[PLACES]
        self.n_places = done + k - i
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
        cdef local_place_t *place = <local_place_t *>self.rooms[PLACES].p
        cdef const local_line_t *line = <const local_line_t *>self.rooms[LINES].p
        cdef int64_t *rows = <int64_t *>self.rooms[ROWS].p
        cdef Py_ssize_t n_lines = self.n_lines, n_runs = self.n_runs, i = 0, l, n = 0, first
        cdef int64_t away
        cdef bint crowded
        for l in range(n_lines):
            while place[i].read_strand >> 1 < line[l].read_strand >> 1:
                i += 1
            first, crowded = n, False
            while i < self.n_places and place[i].read_strand >> 1 == line[l].read_strand >> 1:
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
        """Align the best place of every read, or of the chosen ones."""
        cdef const local_place_t *place = <const local_place_t *>self.rooms[PLACES].p
        cdef int64_t *rows = <int64_t *>enlarged(&self.rooms[ROWS], self.n_places * sizeof(int64_t))
        self.n_lines = 0
        self.align_rows(place, rows, best_rows(place, self.n_places, chosen, self.flip, self.digest,
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

    cdef int add_stretch(self, const local_place_t *place, const local_line_t *line, int side,
                         int32_t least) except -1 nogil:
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
                            self.first_of(place.read_strand) + begin, <int>(end - begin), costs, least)
        if best.total < least or best.end == best.begin:
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
