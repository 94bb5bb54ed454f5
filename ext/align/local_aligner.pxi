"""The local alignments of reads: where bands place them, what is known of each, and what is reported."""


cdef class LocalAligner(LocalParts):
    """The local alignments of one batch of n reads after the other, in memory that is used again.

    First `open` and `know_wholes`, then perhaps `look_further`, then `rate`; where next best places are wanted,
    `know_further`, `further_places` and `add_further`; then `rows`. Places and lines are in the order of their reads.

    Parameters
    ----------
    params, scoring, widths, leaving, wholes
        Those of `LocalBands`.
    much_clipped : int
        Clipped bases from which a read is looked up once more, and may have further parts.
    mate_bonus : int
        What a concordant mate adds to a score.
    """

    cdef Py_ssize_t n_further
    cdef const read_summary_t *wholes_of    # each read, as `rate` takes them
    cdef int32_t mate_bonus, most
    cdef bint five_prime
    cdef object joint

    def __cinit__(self, params, scoring, widths, leaving, wholes, much_clipped, int32_t mate_bonus):
        self.mate_bonus, self.most, self.five_prime = mate_bonus, params.most_hits, params.five_prime

    cdef int prepare_pairs(self, pairs, PairChooser chooser, int worth, int run) except -1:
        """Say how mates lie (search.context.PairContext).

        `worth`: score that a concordant mate adds. `run`: bases in a row that are equal where a mate is looked for.
        """
        self.joint = Joint(self.scoring, pairs, chooser, worth, run, self.widths[0] >> 1)
        return 0

    cdef void open_pairs(self, const uint8_t *mate) noexcept nogil:
        """Begin with the pairs of the open batch."""
        open_joint(<Joint>self.joint, self, mate)

    cdef int join(self, const read_summary_t *summary, int strata, double *wrong) except -1 nogil:
        """Place mates together: places are found beside mates, and primary lines move.

        `wrong`: by read, what other pairs of places weigh; below 0 where a mate is not beside it. Given lines keep theirs.
        No place is looked for beside a clear one: the search of whole reads knows none with up to `strata` more errors, or
        it has no error, and none scores more. Lines that score less than -T even beside a concordant one go first.
        """
        drop_low(self, (<Joint>self.joint).mate, NULL, summary)
        return join_mates(self, <Joint>self.joint, clear_reads(self, summary, strata), wrong)

    cdef int align_wholes(self, const place_t *whole, const uint8_t *given, const aligned_t *traced, Py_ssize_t k) except -1 nogil:
        """Align the k places of whole reads that are reported, unless a device has `traced` them. The `given` one of each read
        makes its primary line."""
        cdef row_t *row = open_primary(self)
        cdef hit_t *further = <hit_t *>enlarged(&self.rooms[FURTHER], k * sizeof(hit_t))
        cdef local_place_t *place
        cdef const hit_t *hit
        cdef Py_ssize_t first = 0, i, n
        self.n_further = self.n_known = 0
        while first < k:
            n, self.n_lines = min(k - first, ROWS_AT_ONCE), 0
            place = <local_place_t *>enlarged(&self.rooms[KNOWN], n * sizeof(local_place_t))
            for i in range(n if traced == NULL else 0):
                if i + AHEAD < n:
                    prefetch_read(self.ground.reference, whole[first + i + AHEAD].first + whole[first + i + AHEAD].end)
                place[i] = place_of_whole(self, &whole[first + i], given[first + i])
            self.align_rows(place, NULL, n if traced == NULL else 0)
            enlarged(&self.rooms[HITS], n * sizeof(hit_t))
            enlarged(&self.rooms[LINES], n * sizeof(local_line_t))
            for i in range(n):
                if traced != NULL:
                    put_line(self, i, traced[first + i], given[first + i])
                hit = <const hit_t *>self.rooms[HITS].p + i
                if given[first + i]:
                    row[hit.read].hit, row[hit.read].line = hit[0], (<const local_line_t *>self.rooms[LINES].p)[i]
                elif hit.cigar_runs:
                    further[self.n_further] = hit[0]
                    further[self.n_further].flag |= SECONDARY
                    self.n_further += 1
            first += n
        return 0

    cdef int rate(self, Rater rater, const read_summary_t *summary, const double *wrong, const uint8_t *mate, double window,
                  const coverage_t *seen, bint split) except -1 nogil:
        """Of what was `seen` of each read. `summary`: their whole places; the given ones are the best of them. `wrong`: weight
        of other pairs, as `join` says; without `mate` of other places. `window`: diagonals on which a mate may lie."""
        cdef const reads_t *reads = &self.ground.reads
        cdef rating_t *rating
        cdef rated_t *places
        cdef const rated_t *other
        cdef rated_t place
        cdef row_t **row
        cdef const row_t *primary = NULL
        cdef const local_place_t **rivals
        cdef uint8_t *vouched = <uint8_t *>enlarged(&self.rooms[TAKEN], self.n)
        cdef Py_ssize_t i
        cdef uint32_t r, counts
        self.n_reported, self.wholes_of = 0, summary
        for r in range(self.n):
            vouched[r] = mate != NULL and wrong[r] >= 0
        drop_low(self, vouched, mate, summary)
        if split:
            self.add_parts()
        row = self.number_parts()
        self.compare(NULL)
        rivals = <const local_place_t **>self.rooms[RIVALS].p
        rating = <rating_t *>enlarged(&self.rooms[RATED], (self.n + self.n_parts) * sizeof(rating_t))
        memset(rating, 0, self.n * sizeof(rating_t))
        places = <rated_t *>enlarged(&self.rooms[MATES], self.n * sizeof(rated_t))
        for r in range(self.n):
            places[r].how = 0
        for i in range(self.n_reported):
            r = row[i].hit.read
            if row[i].hit.part:
                rater.line(row[i], row[i].hit.score, rivals, &primary.line, NULL, reads, seen, &place)
                rater.rate(&place, NULL, 0, 0, &rating[self.summary_of(&row[i].hit)])
                continue
            primary = row[i]
            counts = row[i].line.given and (self.ground.is_whole or row[i].hit.score < self.least_reported(r)
                                            or summary[r].n_best + summary[r].n_second > MOST_SCORED)
            rater.line(row[i], self.score_of(row[i], summary), rivals, &row[i].line, &summary[r] if counts else NULL, reads,
                       seen, &places[r])
            if mate == NULL and wrong[r] >= 0 and row[i].line.given:
                places[r].known = wrong[r]
        for i in range(self.n_reported):
            r = row[i].hit.read
            if row[i].hit.part == 0:
                other = &places[partner_of(mate, r)] if vouched[r] else NULL
                rater.rate(&places[r], other if vouched[r] and other.how else NULL, wrong[r], window, &rating[r])
                cap_beside(self, rater, row[i], self.score_of(row[i], summary), &rating[r])
            row[i].hit.mapq = rating[self.summary_of(&row[i].hit)].mapq
        if self.five_prime:
            put_five_prime_first(row, self.n_reported)
        return 0

    def least_listed(self):
        """uint32[a], int32[a]: reads of which next best places are wanted, and what these score at least."""
        cdef row_t **row = <row_t **>self.rooms[REPORTED].p
        cdef Py_ssize_t i, a = 0
        cdef uint32_t[::1] reads = np.empty(self.n_reported, np.uint32)
        cdef int32_t[::1] least = np.full(self.n_reported, INT32_MAX, np.int32)
        with nogil:
            for i in range(self.n_reported):
                a += a == 0 or reads[a - 1] != row[i].hit.read
                reads[a - 1] = row[i].hit.read
                least[a - 1] = <int32_t>min(least[a - 1], self.least_of_copies(&row[i].hit))
        return reads.base[:a], least.base[:a]

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
                add_of_read(self, row + first, stop - first, &hits[i], &lines[i], j - i)
                i = j

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
        cdef const local_place_t **rival
        cdef Py_ssize_t i, f = 0, at = 0, first, r, j
        cdef uint32_t equal, tied
        cdef read_summary_t *one
        table_array = np.empty(self.n + self.n_parts, READ_SUMMARY)
        cdef read_summary_t[::1] table = table_array
        hits_array = np.empty(self.n_reported + self.n_further + self.n, HIT)
        cdef hit_t[::1] hits = hits_array
        with nogil:
            for r in range(table.shape[0]):
                open_summary(&table[r])
            for i in range(self.n_reported):
                one = &table[self.summary_of(&row[i].hit)]
                if self.ground.is_whole:
                    one[0] = self.wholes_of[row[i].hit.read]
                    one.rating = (<const rating_t *>self.rooms[RATED].p)[row[i].hit.read]
                    continue
                one.best, one.n_best = row[i].hit.edits, 1
                one.rating = (<const rating_t *>self.rooms[RATED].p)[self.summary_of(&row[i].hit)]
                if row[i].n_rivals == 0:
                    continue
                rival, equal = <const local_place_t **>self.rooms[RIVALS].p + row[i].first_rival, 0
                for j in range(row[i].n_rivals):
                    equal += rival[j].total == rival[0].total and is_another(rival, j)
                tied = rival[0].total >= row[i].line.total
                one.n_best, one.n_second = 1 + tied * equal, (not tied) * equal
                # A rival that would score more but for the ends that it does not reach is no better.
                one.suboptimal = min(rival[0].score, row[i].hit.score if rival[0].total <= row[i].line.total else INT32_MAX)
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
        return hits_array[:at], table_array


cdef uint8_t *clear_reads(LocalAligner self, const read_summary_t *summary, int strata) except NULL nogil:
    """Mark reads that `join` calls clear."""
    cdef const row_t *row = <const row_t *>self.rooms[PRIMARY].p
    cdef const uint8_t *far = <const uint8_t *>self.rooms[FAR].p
    cdef uint8_t *clear = <uint8_t *>enlarged(&self.rooms[TAKEN], self.n)
    cdef const read_summary_t *one
    cdef Py_ssize_t r
    for r in range(self.n):
        one = &summary[r]
        clear[r] = (row[r].hit.cigar_runs and row[r].line.given and not far[r]
                    and (one.best == 0
                         or one.n_best < 2 and (one.second == NO_SCORE or one.second > one.best + strata)))
    return clear


cdef int join_mates(LocalAligner self, Joint joint, const uint8_t *clear, double *wrong) except -1 nogil:
    cdef row_t *row = <row_t *>self.rooms[PRIMARY].p
    cdef Py_ssize_t i
    joint.row, joint.places, joint.n_places = row, <const local_place_t *>self.rooms[KNOWN].p, self.n_known
    joint.clear, joint.wrong = clear, wrong
    for i in range(self.n):
        if wrong[i] >= 0 and not (row[i].hit.cigar_runs and row[i].line.given):
            wrong[i] = wrong[partner_of(joint.mate, <uint32_t>i)] = -1
    joint.look_around()
    self.know_further(<const uint32_t *>joint.rooms[STRANDS].p, <const coordinate_t *>joint.rooms[FIRSTS].p,
                      joint.n_found, self.mate_bonus)
    joint.places, joint.n_places = <const local_place_t *>self.rooms[KNOWN].p, self.n_known
    if joint.choose():
        self.n_lines = 0
        self.align_rows(<const local_place_t *>joint.rooms[MOVES].p, NULL, joint.n_moves)
        self.drop_empty()
        for i in range(joint.n_moves):
            row[(<const local_place_t *>joint.rooms[MOVES].p)[i].read_strand >> 1].hit.cigar_runs = 0
        keep_lines(self)
        for i in range(self.n):  # pairs that have no two lines are not joined
            if row[i].hit.cigar_runs == 0:
                wrong[i] = wrong[partner_of(joint.mate, <uint32_t>i)] = -1
    return joint.judge()


cdef int drop_low(LocalAligner self, const uint8_t *vouched, const uint8_t *mate,
                  const read_summary_t *wholes) except -1 nogil:
    """Without primary lines that score too little. A mate vouches for some reads: one with a line, if not NULL.

    Single reads may keep theirs where they fit as `wholes`.
    """
    cdef row_t *row = <row_t *>self.rooms[PRIMARY].p
    cdef uint8_t *is_aligned = <uint8_t *>enlarged(&self.rooms[KEYS], self.n)
    cdef Py_ssize_t r
    for r in range(self.n):
        is_aligned[r] = row[r].hit.cigar_runs > 0
    for r in range(self.n):
        if self.ground.is_whole or self.keeps_wholes and wholes[r].n_reported:
            continue
        if is_aligned[r] and row[r].hit.score < self.least_reported(<uint32_t>r, self.mate_bonus if vouched[r] and (
                mate == NULL or is_aligned[partner_of(mate, <uint32_t>r)]) else 0):
            row[r].hit.cigar_runs = 0
    return 0


cdef void put_five_prime_first(row_t **row, Py_ssize_t n) noexcept nogil:
    """Make the part of a read that is nearest to its 5' end, as sequenced, the primary one; of equals the best."""
    cdef Py_ssize_t i, first = 0
    for i in range(1, n):
        if row[i].hit.read != row[first].hit.read:
            first = i
        elif row[i].line.begin < row[first].line.begin:
            row[i].hit.flag, row[first].hit.flag = row[i].hit.flag ^ SUPPLEMENTARY, row[first].hit.flag ^ SUPPLEMENTARY
            row[i], row[first] = row[first], row[i]


cdef void cap_beside(LocalAligner self, Rater rater, const row_t *row, int64_t score, rating_t *rating) noexcept nogil:
    """Cap the quality of a primary alignment, which scores so much, by copies of a tandem repeat beside it."""
    cdef const costs_t *costs = &self.ground.costs
    cdef const local_line_t *line = &row.line
    cdef int64_t span = line.end - line.begin
    cdef int64_t begin = self.length_of(line.read_strand) - line.end if line.read_strand & 1 else line.begin
    rater.cap_beside(rating, self.ground.reference, &self.ground.reads, line.read_strand, line.first_diagonal, begin,
                     begin + span, (span * costs.match - score) / <double>(costs.match + costs.mismatch))


cdef int add_of_read(LocalAligner self, row_t **row, Py_ssize_t known, const hit_t *hits, const local_line_t *lines,
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
        if hits[i].score >= self.least_reported(hits[i].read) or row[0].hit.score < self.least_reported(hits[i].read):
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
