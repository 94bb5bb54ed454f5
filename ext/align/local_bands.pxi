# Places and alignments in bands as narrow as is safe.
#
# An alignment that touches a diagonal and leaves the band of `width` diagonals around it loses what `width / 2` gap bases
# cost. Where the best one in the band loses less, it is the best of all that touch the diagonal; else the band doubles.
# A read that loses less than a gap and less than a clipped end lies along its diagonal as a whole, and needs no band.

cdef enum:
    WHOLE = 3               # both ends of a read are reached
    PLAIN = 0               # in the place of a width: a read along its diagonal


cdef struct turn_t:
    # How a place is looked for next.
    coordinate_t touched    # a diagonal of its alignment
    uint16_t width          # of the band around that, or PLAIN


cdef class LocalBands:
    """The places of reads in bands, and their alignments, in memory that is used again. Base of `LocalAligner`.

    Parameters
    ----------
    params : model.params.MapParams
        Unless of mode "local", whole reads are aligned, with the fewest errors and of these with the fewest gaps.
    scoring : int16[8]
        As the kernels take it: `local.align.doubled`.
    widths, leaving : int64[w]
        Of bands, ascending, and the least loss of an alignment that leaves each.
    wholes : int32[5]
        What a whole read loses (kernels/local_start.h).

    Attributes, of the batch: bands that were `scored`, those among them that a device has scored (`found`), and those with
    alignments that were `traced` back; `calls` of the host's kernels, of how many bands (`pairs`), and their nanoseconds
    (`kernel`).
    """

    cdef double usual_loss      # of a base, by the mismatches of its library
    cdef object context, scoring
    cdef const cpu_kernels *kernels
    cdef ground_t ground
    cdef room_t rooms[N_ROOMS]
    cdef Py_ssize_t n_runs
    cdef readonly int64_t scored, traced, found, calls, pairs, kernel
    cdef local_scoring costs
    cdef whole_costs wholes
    cdef const int64_t[::1] widths, leaving
    cdef int64_t least_gap
    cdef const uint8_t *flip
    cdef const uint64_t *digest
    cdef Py_ssize_t n, n_places, n_lines
    cdef int32_t least_score

    cdef inline int64_t length_of(self, uint32_t read_strand) noexcept nogil:
        return self.ground.reads.lengths[read_strand >> 1]

    cdef inline int64_t first_of(self, uint32_t read_strand) noexcept nogil:
        """The first base of a strand in the planes of the reads."""
        return first_base(self.ground.reads.plane_start[read_strand >> 1], read_strand, self.length_of(read_strand))

    def __dealloc__(self):
        for i in range(N_ROOMS):
            free(self.rooms[i].p)

    def __cinit__(self, params, const int16_t[::1] scoring, const int64_t[::1] widths, const int64_t[::1] leaving,
                  const int32_t[::1] wholes, *_):
        self.widths, self.leaving = widths, leaving
        memcpy(&self.costs, &scoring[0], sizeof(local_scoring))
        self.scoring, self.ground.costs, self.ground.is_whole = params.scoring, costs_of(params.scoring), params.mode != "local"
        if self.ground.is_whole:
            self.costs = of_whole_reads
        memcpy(&self.wholes, &wholes[0], sizeof(whole_costs))
        self.least_score = params.scoring.least_score
        self.least_gap = min(self.costs.open_deletion, self.costs.open_insertion) // 2  # of a gap's first base

    def open(self, context):
        """Begin with a batch (search.context.BatchContext), or None."""
        cdef const uint8_t[::1] flip
        cdef const uint64_t[::1] digest
        self.context = context
        self.n = self.n_runs = self.scored = self.traced = self.found = self.calls = self.pairs = self.kernel = 0
        if context is None:
            return
        self.kernels, self.ground = kernels_of(None), ground_of(context.reference, self.scoring, self.ground.is_whole)
        self.ground.reads = reads_of(context.packed, context.flip)
        self.n = self.ground.reads.n
        self.expect(context.library)
        flip, digest = context.flip, context.digest
        if self.n:
            self.flip, self.digest = &flip[0], &digest[0]

    cdef int expect(self, library) except -1:
        """Expect the errors of a library."""
        cdef const costs_t *costs = &self.ground.costs
        self.usual_loss = library.rate * (costs.match + costs.mismatch) if library.is_known else 0
        return 0

    @property
    def cigars(self):
        """uint32[]: the runs of all alignments made so far; hits point into it."""
        return array_of(self.rooms[CIGARS].p, self.n_runs, np.uint32)

    cdef int score_wholes(self, const place_t *whole, const whole_end *end, const uint8_t *given, Py_ssize_t k) except -1 nogil:
        """Into PLACES: the best places that touch the diagonals of k whole reads, and those beside them (`widen`).

        `end`: what a device has found of each.
        """
        cdef local_place_t *place = open_targets(self, k)
        cdef turn_t *turn = <turn_t *>self.rooms[TURNS].p
        cdef const place_t *one
        cdef whole_start start
        cdef int64_t m
        cdef Py_ssize_t i
        for i in range(k):
            if i + AHEAD < k and end[i + AHEAD].touched == 0:
                prefetch_read(self.ground.reference, whole[i + AHEAD].first + whole[i + AHEAD].end)
            one, turn[i].width = &whole[i], PLAIN
            m = self.length_of(one.read_strand)
            if end[i].touched:
                place[i] = band_of(one.read_strand, end[i].touched - 32 * one.words, 64 * one.words, given[i])
                take_end(self, &place[i], end[i].key, end[i].rows, end[i].diagonal)
                self.scored, self.found = self.scored + end[i].scored, self.found + end[i].scored
                continue
            start = start_of_whole(self.ground.reference, one.first + one.end, self.ground.reads.planes,
                                   self.first_of(one.read_strand), m, one.edits, one.reach, self.wholes)
            place[i] = band_of(one.read_strand, start.touched - 32 * one.words, 64 * one.words, given[i])
            if start.is_plain:
                take_end(self, &place[i], <uint16_t>(2 * (perfect(self, one.read_strand) - start.loss)), <uint16_t>m,
                         start.touched)
            else:
                turn[i] = turn_t(start.touched, expected(self, start.loss, 64 * one.words))
        by_width(self, place, turn, k, False)
        return widen(self)

    cdef int score_bands(self, const uint32_t *read_strand, const coordinate_t *diagonal, Py_ssize_t k) except -1 nogil:
        """Into PLACES: the best places in the narrowest bands around k diagonals, and those beside them (`widen`)."""
        cdef local_place_t *place = open_targets(self, k)
        cdef turn_t *turn = <turn_t *>self.rooms[TURNS].p
        cdef Py_ssize_t i
        for i in range(k):
            place[i] = band_of(read_strand[i], diagonal[i] - (self.widths[0] >> 1), self.widths[0], False)
            turn[i] = turn_t(diagonal[i], place[i].width)
        by_width(self, place, turn, k, False)
        return widen(self)

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
        return array_of(self.rooms[HITS].p, self.n_lines, HIT), array_of(self.rooms[LINES].p, self.n_lines, LOCAL_LINE)

    cdef int align_rows(self, const local_place_t *places, const int64_t *rows, Py_ssize_t k) except -1 nogil:
        """Add the alignments of the k places at `rows`, or of all where that is NULL, to HITS and LINES."""
        cdef local_place_t *target = <local_place_t *>enlarged(&self.rooms[TARGETS], k * sizeof(local_place_t))
        cdef turn_t *turn = <turn_t *>enlarged(&self.rooms[TURNS], k * sizeof(turn_t))
        cdef aligned_t one
        cdef Py_ssize_t i
        enlarged(&self.rooms[HITS], (self.n_lines + k) * sizeof(hit_t))
        enlarged(&self.rooms[LINES], (self.n_lines + k) * sizeof(local_line_t))
        for i in range(k):
            if i + AHEAD < k:
                prefetch_read(self.ground.reference, places[rows[i + AHEAD] if rows != NULL else i + AHEAD].diagonal)
            target[i] = places[rows[i] if rows != NULL else i]
            turn[i] = turn_t(target[i].diagonal, width_of_walk(self, &target[i]))
            if turn[i].width == PLAIN:
                one = aligned_t(target[i].read_strand, target[i].diagonal, NULL, 0, target[i].score,
                                0 if target[i].total == perfect(self, target[i].read_strand) else NO_SCORE)
                put_line(self, self.n_lines + i, one, target[i].given)
        by_width(self, target, turn, k, True)
        self.n_lines += k
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
        best = best_stretch(self.ground.reference, place.diagonal + begin, self.ground.reads.planes,
                            self.first_of(place.read_strand) + begin, <int>(end - begin), costs, self.least_score)
        if best.total < self.least_score or best.end == best.begin:
            return 0
        n = cigar_push(&runs[0], n, CIGAR_SOFT_CLIP, <uint32_t>(begin + best.begin))
        n = cigar_push(&runs[0], n, CIGAR_MATCH, <uint32_t>(best.end - best.begin))
        n = cigar_push(&runs[0], n, CIGAR_SOFT_CLIP, <uint32_t>(m - begin - best.end))
        one = aligned_t(place.read_strand, place.diagonal + begin + best.begin, &runs[0], n, 0, NO_SCORE)
        enlarged(&self.rooms[HITS], (self.n_lines + 1) * sizeof(hit_t))
        enlarged(&self.rooms[LINES], (self.n_lines + 1) * sizeof(local_line_t))
        self.n_lines += 1
        return put_line(self, self.n_lines - 1, one, False)

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


cdef local_place_t place_of_whole(LocalBands self, const place_t *whole, bint given) noexcept nogil:
    """The place of a whole read, by its errors. WHOLE: it is ungapped."""
    cdef int64_t m = self.length_of(whole.read_strand), end = whole.first + whole.end
    cdef int64_t ungapped = ungapped_diagonal(self.ground.reference, end, self.ground.reads.planes,
                                              self.first_of(whole.read_strand), m, whole.edits, whole.reach)
    cdef uint16_t width = <uint16_t>whole_width(whole.edits)
    return local_place_t(whole.read_strand, end - (width >> 1), width, -<int32_t>whole.edits, -<int32_t>whole.edits,
                         WHOLE if ungapped else 0, <uint16_t>m, ungapped if ungapped else end, given)


cdef local_place_t *open_targets(LocalBands self, Py_ssize_t k) except NULL nogil:
    """Memory for k targets, which become places."""
    self.n_places = k
    enlarged(&self.rooms[TURNS], k * sizeof(turn_t))
    return <local_place_t *>enlarged(&self.rooms[PLACES], k * sizeof(local_place_t))


cdef inline local_place_t band_of(uint32_t read_strand, coordinate_t start, int64_t width, bint given) noexcept nogil:
    """A place that is still to be scored."""
    return local_place_t(read_strand, start, <uint16_t>width, 0, 0, 0, 0, start, given)


cdef inline int64_t perfect(LocalBands self, uint32_t read_strand) noexcept nogil:
    """Total of an alignment without an error."""
    return self.length_of(read_strand) * self.ground.costs.match + 2 * self.ground.costs.bonus


cdef inline void take_end(LocalBands self, local_place_t *p, uint16_t key, uint16_t rows, coordinate_t diagonal) noexcept nogil:
    """Know where the best alignment of a band ends, and its `key` and `rows` (kernels/local.h)."""
    cdef int first = rows and ~key & 1, last = rows and rows == self.length_of(p.read_strand)
    p.total = key >> 1 if rows else 0
    p.score, p.reached = p.total - self.ground.costs.bonus * (first + last), <uint8_t>(first | last << 1)
    p.strand_end, p.diagonal = rows, diagonal


cdef uint16_t expected(LocalBands self, int64_t loss, int64_t widest) noexcept nogil:
    """The narrowest band that proves an alignment which loses as much as expected."""
    cdef int w = 0
    while w < self.widths.shape[0] - 1 and self.leaving[w] <= loss:
        w += 1
    return <uint16_t>min(self.widths[w], widest)


cdef int by_width(LocalBands self, local_place_t *place, turn_t *turn, Py_ssize_t k, bint walks) except -1 nogil:
    """Score places in bands of the width whose turn it is, and in twice as wide ones where that proves nothing.

    If it `walks`, the alignments are put behind the lines that are there.
    """
    cdef Py_ssize_t i, j
    cdef uint32_t m
    cdef uint32_t *pairs = <uint32_t *>enlarged(&self.rooms[PAIRS], k * sizeof(uint32_t))
    cdef uint32_t *strands = <uint32_t *>enlarged(&self.rooms[STRANDS], k * sizeof(uint32_t))
    cdef coordinate_t *firsts = <coordinate_t *>enlarged(&self.rooms[FIRSTS], k * sizeof(coordinate_t))
    cdef const uint16_t *end
    cdef int64_t width
    cdef int w
    cdef local_place_t *p
    cdef local_paths paths
    cdef aligned_t one
    for w in range(self.widths.shape[0]):
        width, m = self.widths[w], 0
        for i in range(k):
            if turn[i].width == width:
                pairs[m], strands[m] = <uint32_t>i, place[i].read_strand
                firsts[m] = place[i].band_start if place[i].width <= width else turn[i].touched - (width >> 1)
                m += 1
        if m == 0:
            continue
        run_kernel(self, <uint16_t>width, m, &paths if walks else NULL)
        end = <const uint16_t *>self.rooms[ENDS].p  # keys, rows, ends
        for j in range(m):
            i = pairs[j]
            p = &place[i]
            if not self.ground.is_whole:
                take_end(self, p, end[j], end[m + j], firsts[j] + end[2 * m + j])
            if perfect(self, p.read_strand) - p.total >= self.leaving[w] and width < p.width:
                turn[i].width *= 2
            elif walks:
                one = aligned_t(p.read_strand, paths.position[j], paths.runs + paths.slot_end[j] - paths.n_runs[j],
                                paths.n_runs[j], -<int32_t>paths.edits[j] if self.ground.is_whole else p.score, paths.edits[j])
                put_line(self, self.n_lines + i, one, p.given)
    return 0


cdef int run_kernel(LocalBands self, uint16_t width, uint32_t m, local_paths *paths) except -1 nogil:
    """The best alignments in the m bands of STRANDS and FIRSTS: fills ENDS, and `paths` unless that is NULL."""
    cdef uint16_t *end = <uint16_t *>enlarged(&self.rooms[ENDS], 3 * m * sizeof(uint16_t))
    cdef const uint32_t *strands = <const uint32_t *>self.rooms[STRANDS].p
    cdef local_ends ends = local_ends(end, end + m, end + 2 * m)
    cdef band_batch batch = bands_at(&self.ground.reference, &self.ground.reads, strands,
                                     <const coordinate_t *>self.rooms[FIRSTS].p, m)
    cdef uint32_t rows = open_slots(self, width, m, paths) if paths != NULL else 0, j
    cdef int64_t began = now()
    for j in range(m if self.ground.is_whole else 0):  # the search knows where they end
        ends.rows[j], ends.end[j] = <uint16_t>self.length_of(strands[j]), width >> 1
    if paths == NULL:
        self.kernels.local_score(&batch, &self.costs, width, &ends)
        self.scored += m
    elif self.kernels.local_align(&batch, &self.costs, width, &ends, paths, rows):
        with gil:
            raise MemoryError("no memory for the traceback")
    else:
        self.traced += m
    self.calls, self.pairs, self.kernel = self.calls + 1, self.pairs + m, self.kernel + now() - began
    return 0


cdef uint32_t open_slots(LocalBands self, uint16_t width, uint32_t m, local_paths *paths) except? 0 nogil:
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
        gaps = length if self.least_gap == 0 else min(perfect(self, strands[j]) // self.least_gap, length)
        gaps = width >> 1 if self.ground.is_whole else gaps
        end += 2 * gaps + 3
        slots[j] = <uint32_t>end
    if end >> 32:
        with gil:
            raise ValueError("too many alignments for one call")
    paths[0] = local_paths(slots, <coordinate_t *>enlarged(&self.rooms[POSITIONS], m * sizeof(coordinate_t)), shorts,
                           shorts + m, <uint32_t *>enlarged(&self.rooms[RUNS], end * sizeof(uint32_t)), self.ground.is_whole)
    return longest


cdef int widen(LocalBands self) except -1 nogil:
    """Take out places that align nothing, and put what scores more in bands as wide as scores pay behind the others.

    An alignment that leaves a band has a gap with a part on either side. Each part has to score more than the gap
    costs, or the other one alone would score more than both. So a place is looked at in the narrowest band that
    costs more to leave than it loses, or than it scores. It may be the better part of one that scores -T.
    """
    cdef local_place_t *place = <local_place_t *>self.rooms[PLACES].p
    cdef Py_ssize_t k = self.n_places, i, j = 0, n = 0, added = 0
    cdef local_place_t *wider = <local_place_t *>enlarged(&self.rooms[TARGETS], k * sizeof(local_place_t))
    cdef int64_t *origin = <int64_t *>enlarged(&self.rooms[ORIGINS], k * sizeof(int64_t))
    cdef turn_t *turn = <turn_t *>enlarged(&self.rooms[TURNS], k * sizeof(turn_t))
    cdef int64_t loss, before, width
    for i in range(k):
        if place[i].score > 0:
            place[j] = place[i]
            j += 1
    k = self.n_places = j
    for i in range(k):
        loss = perfect(self, place[i].read_strand) - place[i].total
        if min(loss, place[i].total) < self.leaving[0] or 2 * place[i].total < self.least_score + self.leaving[0]:
            continue
        width = expected(self, min(loss, place[i].total), self.widths[self.widths.shape[0] - 1])
        before = place[i].diagonal - place[i].band_start
        if width > 2 * min(before + 1, place[i].width - before):
            wider[n] = band_of(place[i].read_strand, place[i].diagonal - (width >> 1), width, False)
            turn[n], origin[n] = turn_t(place[i].diagonal, expected(self, loss, width)), i
            n += 1
    by_width(self, wider, turn, n, False)
    for j in range(n):
        i = origin[j]
        if wider[j].total > place[i].total and wider[j].diagonal == place[i].diagonal:
            place[i] = wider[j]
        # A part that ends elsewhere is a place of its own: it may be one of a split read.
        elif wider[j].total > place[i].total:
            wider[added], origin[added] = wider[j], i
            added += 1
    place = <local_place_t *>enlarged(&self.rooms[PLACES], (k + added) * sizeof(local_place_t))
    self.n_places, i = k + added, k
    while added:
        i -= 1
        if origin[added - 1] == i:
            place[i + added] = wider[added - 1]
            added -= 1
        place[i + added] = place[i]
    return 0


cdef uint16_t width_of_walk(LocalBands self, const local_place_t *place) noexcept nogil:
    """In which band a place is aligned."""
    cdef int64_t loss = perfect(self, place.read_strand) - place.total
    if self.ground.is_whole:
        return PLAIN if place.reached == WHOLE else place.width
    if loss < self.wholes.breaking:
        return PLAIN
    # What scores as much as the whole read on its last diagonal is that: the walk back prefers diagonal steps.
    if place.reached == WHOLE and loss == lost_by_whole(
            self.ground.reference, place.diagonal, self.ground.reads.planes, self.first_of(place.read_strand),
            self.length_of(place.read_strand), self.wholes, loss):
        return PLAIN
    return expected(self, loss, place.width)


cdef int put_line(LocalBands self, Py_ssize_t i, aligned_t one, bint given) except -1 nogil:
    """Make an alignment line i, which has no runs where a contig's end leaves nothing of it."""
    cdef uint32_t whole = <uint32_t>self.length_of(one.read_strand) << 4 | CIGAR_MATCH
    cdef uint32_t *cigars = <uint32_t *>enlarged(&self.rooms[CIGARS], (self.n_runs + one.runs + 3) * sizeof(uint32_t))
    cdef hit_t *hit = <hit_t *>self.rooms[HITS].p + i
    cdef local_line_t *line = <local_line_t *>self.rooms[LINES].p + i
    cdef Py_ssize_t runs
    if one.runs == 0:
        one.cigar, one.runs = &whole, 1
    runs = hit_of(&self.ground, one, cigars + self.n_runs, hit, line)
    hit.cigar_start, line.given = <uint32_t>self.n_runs, given
    self.n_runs += runs
    return 0
