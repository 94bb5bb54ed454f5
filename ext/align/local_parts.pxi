# What is known of each read of a batch: its places, its primary line, the rivals of that, which are other places for its
# bases, and of a split read its further parts, which are lines of other bases.

cdef inline bint repeats(const local_place_t *place, const local_place_t *other) noexcept nogil:
    """Whether another place of the read is on the same diagonal, and scores as well."""
    return (place.read_strand == other.read_strand and place.diagonal == other.diagonal
            and place.total <= other.total)


cdef struct split_t:
    # A read that is split, and its places in KNOWN.
    Py_ssize_t read, first, end


cdef class LocalParts(LocalBands):
    """What is known of the reads of a batch, read by read. Base of `LocalAligner`, with its parameters."""

    cdef Py_ssize_t n_known, n_reported, n_parts
    cdef bint is_asked, keeps_wholes    # of single reads, whatever they score
    cdef double share
    cdef int64_t much_clipped

    cdef inline int64_t least_reported(self, uint32_t r, int32_t bonus=0) noexcept nogil:
        """The least score of a read that is reported (-T): unless it is asked for, that of all its bases is enough."""
        cdef int64_t least = self.least_score - bonus
        return least if self.is_asked else min(self.length_of(2 * r) * self.ground.costs.match, least)

    cdef inline int64_t least_of_copies(self, const hit_t *hit) noexcept nogil:
        """The least score of what is listed beside an alignment: that is no less than what is reported, unless it is."""
        cdef int64_t least = self.least_reported(hit.read)
        return max(least if hit.score >= least else 0, <int64_t>ceil(self.share * hit.score))

    cdef inline int64_t score_of(self, const row_t *row, const read_summary_t *wholes) noexcept nogil:
        """What a primary alignment scores; of a whole read by the errors that the search knows."""
        return -<int64_t>wholes[row.hit.read].best if self.ground.is_whole else row.hit.score

    cdef inline size_t summary_of(self, const hit_t *hit) noexcept nogil:
        """The row of the summary of a read, or of its part."""
        return self.n + hit.part - 1 if hit.part else hit.read

    def __cinit__(self, params, scoring, widths, leaving, wholes, int64_t much_clipped, _):
        self.much_clipped, self.is_asked = much_clipped, params.scoring.min_score is not None
        self.share = 0 if params.all_hits else LEAST_SHARE

    cdef Py_ssize_t know_wholes(self, const place_t *whole, const whole_end *end, const uint8_t *given, Py_ssize_t k, bint stay,
                                int64_t gaps) except -1 nogil:
        """Know the best places that touch the diagonals of k `whole` alignments, and those beside them (`widen`).

        The best one of every read is aligned, which makes its primary line. `given`: the places that the search chose. Where
        these `stay`, no place may score more: of a damaged library they are the likeliest ones, and that another one scores
        more, as it has no deaminated base, is no reason. `gaps`: most gap bases of an alignment that the search cannot miss.

        Returns how many reads are to be looked up once more, which are in ROWS: without an alignment, with much of it
        clipped, with more gap bases, or with a gap and twice the loss of more of them, beyond what the library explains.
        """
        cdef const row_t *primary
        cdef const local_line_t *line
        cdef uint8_t *far = <uint8_t *>enlarged(&self.rooms[FAR], self.n)
        cdef uint32_t *reads
        cdef Py_ssize_t i, a = 0
        cdef int64_t gap, twice = min(self.costs.open_deletion, self.costs.open_insertion) + gaps * self.costs.extend_deletion
        self.score_wholes(whole, end, given, k)
        self.rooms[KNOWN], self.rooms[PLACES] = self.rooms[PLACES], self.rooms[KNOWN]
        self.n_known = self.n_places
        let_given_lead(self, stay)
        align_best(self, NULL)
        primary = open_primary(self)
        keep_lines(self)
        reads = <uint32_t *>enlarged(&self.rooms[ROWS], self.n * sizeof(uint32_t))
        for i in range(self.n):
            line = &primary[i].line
            gap = max(line.first_diagonal, line.last_diagonal) - min(line.first_diagonal, line.last_diagonal)
            far[i] = (primary[i].hit.cigar_runs == 0 or clipped_bases(self, line) >= self.much_clipped or gap > gaps
                      or gap != 0 and perfect(self, line.read_strand) - line.total
                      >= twice + self.usual_loss * self.length_of(line.read_strand))
            if far[i]:
                reads[a] = <uint32_t>i
                a += 1
        return a

    cdef int know_further(self, const uint32_t *read_strand, const coordinate_t *diagonal, Py_ssize_t k,
                          int32_t vouched) except -1 nogil:
        """Know the best places, too, that touch k further diagonals. `vouched`: score that a mate beside these makes up for."""
        if k:
            self.score_bands(read_strand, diagonal, k)
            merge_places(self, vouched)
        return 0

    def with_further(self, const uint32_t[::1] read_strand, const coordinate_t[::1] diagonal):
        """`know_further` of diagonals in arrays."""
        self.know_further(&read_strand[0], &diagonal[0], diagonal.shape[0], 0)

    cdef int look_further(self, const uint32_t *read_strand, const coordinate_t *diagonal, Py_ssize_t k) except -1 nogil:
        """Align reads that are to be looked up once more again, with the best places that touch further diagonals.

        Of a read that is split near one of k diagonals, the part on it is a place of its own.
        """
        cdef const uint8_t *far = <const uint8_t *>self.rooms[FAR].p
        cdef row_t *row = <row_t *>self.rooms[PRIMARY].p
        cdef Py_ssize_t i
        self.know_further(read_strand, diagonal, k, 0)
        let_given_lead(self, False)
        align_best(self, far)
        for i in range(self.n):
            if far[i]:
                row[i].hit.cigar_runs = 0
        keep_lines(self)
        return 0

    @property
    def places(self):
        """LOCAL_PLACE[k]: all that are known."""
        return array_of(self.rooms[KNOWN].p, self.n_known, LOCAL_PLACE)

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
            row = open_primary(self)
            for i in range(hits.shape[0]):
                if row[hits[i].read].hit.cigar_runs:
                    new_part(self)[0] = row_t(hits[i], lines[i], 0, 0)
                else:
                    row[hits[i].read].hit, row[hits[i].read].line = hits[i], lines[i]

    cdef int add_parts(self) except -1 nogil:
        """Align parts of split reads that better ones leave over.

        The best of the places that no part of a read overlaps is its next one, if it scores enough. In the end the
        best ungapped alignment beside the primary line is one more, on the diagonals of all places: two parts of a read
        on one diagonal are one place, with one alignment, and so are parts that score as much with a gap between them.
        """
        cdef split_t split = split_t(-1, 0, 0)
        cdef Py_ssize_t n = 0, i = 0
        while next_split(self, &split):
            n += choose_parts(self, &split, n)
        self.n_lines = 0
        self.align_rows(<const local_place_t *>self.rooms[FREE].p, NULL, n)
        self.drop_empty()
        split = split_t(-1, 0, 0)
        while next_split(self, &split):
            while i < self.n_lines and (<const hit_t *>self.rooms[HITS].p)[i].read == <uint32_t>split.read:
                if is_left_over(self, i):
                    add_part(self, i)
                i += 1
            add_left_over(self, &split)
        return 0

    cdef row_t **number_parts(self) except NULL nogil:
        """All alignments to report, read by read, the primary one first."""
        cdef row_t *part = <row_t *>self.rooms[PARTS].p
        cdef row_t *primary = <row_t *>self.rooms[PRIMARY].p
        cdef row_t **row = <row_t **>enlarged(&self.rooms[REPORTED], (self.n + self.n_parts) * sizeof(row_t *))
        cdef Py_ssize_t r, j = 0
        for r in range(self.n):
            if primary[r].hit.cigar_runs:
                row[self.n_reported] = &primary[r]
                self.n_reported += 1
            while j < self.n_parts and part[j].hit.read == <uint32_t>r:
                row[self.n_reported] = &part[j]
                j += 1
                row[self.n_reported].hit.part = <uint32_t>j
                row[self.n_reported].hit.flag |= SUPPLEMENTARY
                self.n_reported += 1
        return row

    cdef Py_ssize_t compare(self, uint32_t *listed) except -1 nogil:
        """Note the rivals of all alignments. Unless `listed` is NULL, list those to be reported; returns how many.

        It has room for the rows and the parts of all places. One that is a rival of several parts is the first's.
        """
        cdef row_t **row = <row_t **>self.rooms[REPORTED].p
        cdef const local_place_t *place = <const local_place_t *>self.rooms[KNOWN].p
        cdef uint8_t *taken = <uint8_t *>enlarged(&self.rooms[ORDER], self.n_known)
        cdef const local_place_t **order
        cdef Py_ssize_t k = self.n_known, i, j, at, n = 0, first = 0, stop = 0, done = 0
        cdef uint32_t r
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
            row[i].first_rival = n
            n = rivals_of(&row[i].line, place + first, stop - first, self.length_of(2 * r), self.ground.costs.match,
                          &self.rooms[RIVALS], n)
            row[i].n_rivals = n - row[i].first_rival
            if listed == NULL:
                continue
            order = <const local_place_t **>self.rooms[RIVALS].p
            for j in range(row[i].first_rival, n):
                at = order[j] - place
                if not taken[at]:
                    taken[at] = True
                    if place[at].score >= self.least_of_copies(&row[i].hit):
                        listed[done], listed[k + done] = <uint32_t>at, row[i].hit.part
                        done += 1
        return done


cdef row_t *open_primary(LocalParts self) except NULL nogil:
    """Memory for a primary line of each read, which has none yet."""
    cdef row_t *row = <row_t *>enlarged(&self.rooms[PRIMARY], self.n * sizeof(row_t))
    cdef Py_ssize_t i
    self.n_parts = 0
    for i in range(self.n):
        row[i].hit.cigar_runs = 0
    return row


cdef void keep_lines(LocalParts self) noexcept nogil:
    """Make what was aligned last the primary lines of its reads."""
    cdef const hit_t *hits = <const hit_t *>self.rooms[HITS].p
    cdef const local_line_t *lines = <const local_line_t *>self.rooms[LINES].p
    cdef row_t *row = <row_t *>self.rooms[PRIMARY].p
    cdef Py_ssize_t i
    for i in range(self.n_lines):
        row[hits[i].read].hit, row[hits[i].read].line = hits[i], lines[i]


cdef bint next_split(LocalParts self, split_t *split) noexcept nogil:
    """Go on to the next read of which much is clipped even after another look."""
    cdef const row_t *row = <const row_t *>self.rooms[PRIMARY].p
    cdef const uint8_t *far = <const uint8_t *>self.rooms[FAR].p
    cdef const local_place_t *known = <const local_place_t *>self.rooms[KNOWN].p
    split.read += 1
    while split.read < self.n and not (far[split.read] and row[split.read].hit.cigar_runs
                                       and clipped_bases(self, &row[split.read].line) >= self.much_clipped):
        split.read += 1
    while split.end < self.n_known and known[split.end].read_strand >> 1 < <uint32_t>split.read:
        split.end += 1
    split.first = split.end
    while split.end < self.n_known and known[split.end].read_strand >> 1 == <uint32_t>split.read:
        split.end += 1
    return split.read < self.n


cdef Py_ssize_t choose_parts(LocalParts self, const split_t *split, Py_ssize_t n) except -1 nogil:
    """Add the places of parts of a read to the n in FREE; returns how many these are."""
    cdef const local_place_t *known = <const local_place_t *>self.rooms[KNOWN].p
    cdef const local_line_t *line = &(<const row_t *>self.rooms[PRIMARY].p)[split.read].line
    cdef local_place_t *own = <local_place_t *>enlarged(
        &self.rooms[FREE], (n + split.end - split.first) * sizeof(local_place_t)) + n
    cdef stretch_of_read_t taken = stretch_of_read_t(line.begin, line.end)
    cdef Py_ssize_t i, left = 0, kept, chosen = 0
    cdef int64_t best
    for i in range(split.first, split.end):
        own[left] = known[i]
        left += known[i].score >= self.least_score
    while True:
        kept = 0
        for i in range(left):
            own[kept] = own[i]
            kept += not overlap(aligned_for_certain(&own[i], self.ground.reads.lengths[split.read], self.ground.costs.match),
                                taken.begin, taken.end)
        if kept == 0:
            return chosen
        best_rows(own, kept, NULL, self.flip, self.digest, &self.rooms[SCRATCH], &best)
        own[0], own[best] = own[best], own[0]
        taken = aligned_for_certain(own, self.ground.reads.lengths[split.read], self.ground.costs.match)
        own, left, chosen = own + 1, kept - 1, chosen + 1


cdef row_t *new_part(LocalParts self) except NULL nogil:
    self.n_parts += 1
    return <row_t *>enlarged(&self.rooms[PARTS], self.n_parts * sizeof(row_t)) + self.n_parts - 1


cdef bint is_left_over(LocalParts self, Py_ssize_t i) noexcept nogil:
    """Whether line i scores enough, and has some bases, other ones than the lines of the read so far."""
    cdef const hit_t *hit = <const hit_t *>self.rooms[HITS].p + i
    cdef const local_line_t *line = <const local_line_t *>self.rooms[LINES].p + i
    cdef const row_t *other = <const row_t *>self.rooms[PRIMARY].p + hit.read
    cdef Py_ssize_t j = self.n_parts
    if line.end <= line.begin or hit.score < self.least_score:
        return False
    while not overlap(stretch_of_read_t(line.begin, line.end), other.line.begin, other.line.end):
        j -= 1
        other = <const row_t *>self.rooms[PARTS].p + j
        if j < 0 or other.hit.read != hit.read:
            return True
    return False


cdef int add_part(LocalParts self, Py_ssize_t i) except -1 nogil:
    """Make line i the newest part of its read."""
    cdef row_t *part = new_part(self)
    part.hit, part.line = (<const hit_t *>self.rooms[HITS].p)[i], (<const local_line_t *>self.rooms[LINES].p)[i]
    return 0


cdef int add_left_over(LocalParts self, const split_t *split) except -1 nogil:
    """Add the best ungapped alignment of what the primary line leaves over, before it or behind it."""
    cdef const local_place_t *place = <const local_place_t *>self.rooms[KNOWN].p
    cdef const hit_t *hits
    cdef Py_ssize_t i, first = self.n_lines, best = -1
    cdef int side
    for side in range(2):
        for i in range(split.first, split.end):
            if place[i].score >= self.least_score:
                self.add_stretch(&place[i], &(<const row_t *>self.rooms[PRIMARY].p)[split.read].line, side)
    hits = <const hit_t *>self.rooms[HITS].p
    for i in range(first, self.n_lines):
        if is_left_over(self, i) and (best < 0 or hits[i].score > hits[best].score):
            best = i
    if best >= 0:
        add_part(self, best)
    self.n_lines = first
    return 0


cdef int merge_places(LocalParts self, int32_t vouched) except -1 nogil:
    """Know new ones of PLACES, too, read by read: those `vouched` for by a mate that score enough beside it; else those that
    score enough, with rivals `worse` errors below, of a read that has one."""
    cdef const local_place_t *known = <const local_place_t *>self.rooms[KNOWN].p
    cdef const local_place_t *new = <const local_place_t *>self.rooms[PLACES].p
    cdef Py_ssize_t k = self.n_known, n = self.n_places, i = 0, j, first, done = 0, before = 0
    cdef local_place_t *out = <local_place_t *>enlarged(&self.rooms[SCRATCH], (k + n) * sizeof(local_place_t))
    cdef int64_t score, best = 0
    cdef uint32_t r
    for j in range(n):
        r = new[j].read_strand >> 1
        while i < k and known[i].read_strand >> 1 <= r:
            out[done] = known[i]
            i, done = i + 1, done + 1
        if j == 0 or r != new[j - 1].read_strand >> 1:
            before, best = done, 0
        score = new[j].score if vouched else new[j].total  # an end that a contig cuts may cost more than its bonus
        best, first = max(best, score), i
        while first and known[first - 1].read_strand >> 1 == r and not repeats(&new[j], &known[first - 1]):
            first -= 1
        if score >= self.least_reported(r, vouched) - (0 if vouched else self.wholes.worse * self.wholes.differs) and (
                first == 0 or known[first - 1].read_strand >> 1 != r):
            out[done] = new[j]
            done += 1
        if not vouched and best < self.least_score and (j + 1 == n or r != new[j + 1].read_strand >> 1):
            done = before
    memcpy(out + done, known + i, (k - i) * sizeof(local_place_t))
    self.rooms[KNOWN], self.rooms[SCRATCH] = self.rooms[SCRATCH], self.rooms[KNOWN]
    self.n_known = done + k - i
    return 0


cdef void let_given_lead(LocalParts self, bint stay) noexcept nogil:
    """Lower totals above that of a read's given place: where these `stay`, or a read is kept whatever it scores."""
    cdef local_place_t *place = <local_place_t *>self.rooms[KNOWN].p
    cdef Py_ssize_t i = 0, j, first
    cdef int32_t most, best
    while i < self.n_known:
        first, most, best = i, INT32_MAX, 0
        while i < self.n_known and place[i].read_strand >> 1 == place[first].read_strand >> 1:
            if place[i].given:
                most = place[i].total
            best = max(best, place[i].score)
            i += 1
        for j in range(first, i if stay or self.keeps_wholes and best < self.least_reported(place[first].read_strand >> 1)
                       else first):
            place[j].total = min(place[j].total, most)


cdef int align_best(LocalParts self, const uint8_t *chosen) except -1 nogil:
    """Align the best known place of every read, or of the chosen ones."""
    cdef const local_place_t *place = <const local_place_t *>self.rooms[KNOWN].p
    cdef int64_t *rows = <int64_t *>enlarged(&self.rooms[ROWS], self.n_known * sizeof(int64_t))
    self.n_lines = 0
    self.align_rows(place, rows, best_rows(place, self.n_known, chosen, self.flip, self.digest,
                                           &self.rooms[SCRATCH], rows))
    self.drop_empty()
    return 0


cdef inline int64_t clipped_bases(LocalParts self, const local_line_t *line) noexcept nogil:
    """Bases of its read that a line leaves out."""
    return self.length_of(line.read_strand) - (line.end - line.begin)
