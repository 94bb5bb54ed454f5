# Pairs that whole reads do not decide: the known places of both mates are weighed together, by their scores. Mates are
# looked for in windows beside each other, on the diagonals on which some bases in a row fit.

cdef enum:
    WORD = 6                # bases of a word: its planes are 12 bits
    WORDS_AT_ONCE = 64 + 1 - WORD   # that begin in 64 bases


cdef struct words_t:
    # Where a strand has each word, from every base on.
    uint32_t read_strand
    uint16_t head[1 << 2 * WORD]    # 1 + the last base of each; 0: none
    uint16_t *next          # 1 + the base before with the same word; 0: none


cdef inline int word_of(bases64_t bases, int conversion, int i) noexcept nogil:
    """The low bits of the bases i .. i + 5, then the high bits as a converted read has them."""
    return (bases.low >> i & (1 << WORD) - 1
            | (converted_high(bases.low, bases.high, conversion) >> i & (1 << WORD) - 1) << WORD)


cdef int list_words(planes_t reads, int64_t first, int64_t m, int conversion, room_t *room, words_t *words) except -1 nogil:
    cdef int64_t at
    cdef int word
    memset(words.head, 0, sizeof(words.head))
    words.next = <uint16_t *>enlarged(room, m * sizeof(uint16_t))
    for at in range(m - WORD + 1):
        word = word_of(bases_at(reads, first + at), conversion, 0)
        words.next[at] = words.head[word]
        words.head[word] = <uint16_t>(at + 1)
    return 0


cdef struct pair_t:
    # Two mates; of each its first place (and behind the last ones), its line or NULL, and the places that it may have.
    Py_ssize_t read
    Py_ssize_t[3] first
    const local_line_t *line[2]
    local_place_t *known[2]
    Py_ssize_t[2] n


cdef class Joint:
    """The steps of `LocalAligner.join`.

    A mate without a concordant place is looked for in the windows that the insert sizes leave around the places of the
    other one. Of all concordant pairs of places the best one is taken, if it costs less than it is worth.
    """

    cdef PairChooser chooser
    cdef ground_t ground
    cdef int64_t least, worth, apart
    cdef int run
    cdef bint short_fit     # a read too short for the least score needs its score without an error
    cdef uint32_t shortest  # mate that is looked for beside the other one
    cdef const uint32_t *lengths
    cdef const uint8_t *mate
    cdef const uint8_t *clear   # reads whose place has no rival that a mate could tell it from
    cdef const uint64_t *digest
    cdef Py_ssize_t n
    cdef const local_place_t *places
    cdef const row_t *row       # the primary line of each read
    cdef Py_ssize_t n_places, n_found, n_moves
    cdef words_t words
    cdef room_t[N_ROOMS] rooms
    cdef double *wrong          # by read: what other pairs of places weigh; below 0: it has none beside its mate

    def __cinit__(self, scoring, pairs, PairChooser chooser, int worth, int run, int64_t apart):
        self.chooser, self.shortest, self.worth, self.run, self.apart = chooser, pairs.shortest, worth, run, apart
        self.least, self.short_fit = scoring.least_score - worth, scoring.min_score is None

    def __dealloc__(self):
        for i in range(N_ROOMS):
            free(self.rooms[i].p)

    cdef int look_around(self) except -1 nogil:
        """Choose clear pairs of places, and look for other mates beside the places that their partners may have.

        The diagonals where mates may lie are in STRANDS and FIRSTS, read by read. A clear pair has the best place of each
        mate, of which one has no other place that may be as good, and vouches for its partner.
        """
        cdef pair_t pair
        cdef choice_t choice
        cdef Py_ssize_t i
        cdef int side
        self.n_found = 0
        begin(&pair)
        while next_pair(self, &pair, False):
            list_known(self, &pair)
            if pair.n[0] and pair.n[1] and (self.clear[pair.read] or self.clear[pair.read + 1]):
                weigh(self, &pair, &choice)
                if choice.concordant and choice.are_best:
                    take(self, &pair, &choice)
                    continue
            for side in range(2):
                if pair.line[1 - side] != NULL and self.lengths[pair.read + side] >= self.shortest:
                    for i in range(pair.n[1 - side]):
                        look_beside(self, &pair, side, &pair.known[1 - side][i])
        return 0

    cdef int find_runs(self, uint32_t read_strand, int64_t low, int64_t high) except -1 nogil:
        """Add diagonals from `low` to `high` on which `run` bases of a strand, at least a word, are equal in a row: one of
        those that the narrowest band holds."""
        cdef const ground_t *ground = &self.ground
        cdef int64_t m = self.lengths[read_strand >> 1], at = low, diagonal, n_bands = max(high - low, 0) // self.apart + 1
        cdef int64_t first = first_base(ground.reads.plane_start[read_strand >> 1], read_strand, m)
        cdef uint8_t *is_found = <uint8_t *>enlarged(&self.rooms[TAKEN], n_bands)
        cdef words_t *words = &self.words
        cdef int i, conversion = 0
        cdef Py_ssize_t known, before
        cdef bases64_t bases
        if self.ground.reads.conversions != NULL:
            conversion = conversion_of_strand(self.ground.reads.conversions[read_strand >> 1], read_strand & 1)
        if words.next == NULL or words.read_strand != read_strand:
            list_words(ground.reads.planes, first, m, conversion, &self.rooms[STRAND_WORDS], words)
            words.read_strand = read_strand
        memset(is_found, False, n_bands)
        while at < high + m:
            bases = bases_at(ground.reference, at)
            for i in range(WORDS_AT_ONCE):
                before = words.head[word_of(bases, conversion, i)]
                while before:
                    known, before = before - 1, words.next[before - 1]
                    diagonal = at + i - known
                    if (low <= diagonal <= high and not is_found[(diagonal - low) // self.apart]
                            and known + self.run <= m
                            and first_bases(self.run) & differences(bases_at(ground.reference, at + i),
                                                                    bases_at(ground.reads.planes, first + known)) == 0):
                        is_found[(diagonal - low) // self.apart] = True
                        add_diagonal(self, read_strand, diagonal)
            at += WORDS_AT_ONCE
        return 0

    cdef int choose(self) except -1 nogil:
        """Choose the places of the mates of other pairs; returns how many mates are to be aligned elsewhere, in `moves`."""
        cdef pair_t pair
        cdef choice_t choice
        begin(&pair)
        while next_pair(self, &pair, False):
            list_known(self, &pair)
            if pair.n[0] and pair.n[1]:
                weigh(self, &pair, &choice)
                if choice.concordant:
                    take(self, &pair, &choice)
        return <int>self.n_moves

    cdef int judge(self) except -1 nogil:
        """Weigh all pairs of places against those in which mates are together; returns 0.

        A place of other bases of a read is no rival of its line.
        """
        cdef pair_t pair
        cdef choice_t choice
        cdef int side
        begin(&pair)
        while next_pair(self, &pair, True):
            list_known(self, &pair)
            for side in range(2):
                leave_rivals(self, &pair, side)
            if pair.n[0] and pair.n[1] and pair.n[0] + pair.n[1] > 2:
                weigh(self, &pair, &choice)
                for side in range(2):
                    self.wrong[pair.read + side] = max(self.wrong[pair.read + side], choice.wrong[side])
        return 0


cdef void open_joint(Joint all, LocalParts of, const uint8_t *mate) noexcept nogil:
    """Begin with a batch, which an aligner has open."""
    all.ground, all.lengths, all.n = of.ground, of.ground.reads.lengths, of.n
    all.digest, all.mate, all.n_moves, all.words.next = of.digest, mate, 0, NULL


cdef inline int64_t least_of(Joint all, uint32_t read) noexcept nogil:
    """Score that a place needs which a concordant mate makes up for."""
    return min(<int64_t>all.lengths[read] * all.ground.costs.match, all.least) if all.short_fit else all.least


cdef int add_diagonal(Joint all, uint32_t read_strand, coordinate_t diagonal) except -1 nogil:
    cdef uint32_t *strands = <uint32_t *>enlarged(&all.rooms[STRANDS], (all.n_found + 1) * sizeof(uint32_t))
    cdef coordinate_t *diagonals = <coordinate_t *>enlarged(&all.rooms[FIRSTS], (all.n_found + 1) * sizeof(coordinate_t))
    strands[all.n_found], diagonals[all.n_found] = read_strand, diagonal
    all.n_found += 1
    return 0


cdef void begin(pair_t *pair) noexcept nogil:
    pair.read, pair.first[2] = -1, 0


cdef bint next_pair(Joint all, pair_t *pair, bint are_together) noexcept nogil:
    """Go on to the next pair of which one mate has a line, and that is placed together or not yet."""
    cdef Py_ssize_t n = all.n, at
    cdef const row_t *own
    cdef int side
    while True:
        pair.read += 1
        if pair.read + 1 >= n:
            return False
        if all.mate[pair.read] != 1 or (all.wrong[pair.read] >= 0) != are_together:
            continue
        for side in range(2):
            at = pair.first[2]
            while at < all.n_places and all.places[at].read_strand >> 1 < pair.read + side:
                at += 1
            pair.first[side] = at
            while at < all.n_places and all.places[at].read_strand >> 1 == pair.read + side:
                at += 1
            pair.first[2], own = at, &all.row[pair.read + side]
            pair.line[side] = &own.line if own.hit.cigar_runs else NULL
        if pair.line[0] != NULL or pair.line[1] != NULL:
            return True


cdef int list_known(Joint all, pair_t *pair) except -1 nogil:
    """The places that both mates may have, by strand and diagonal.

    A mate can make up for what they score less than the best place of their read. Of places on neighbouring diagonals
    it is the best one, of equals the one that the search of whole reads chose, else the first.
    """
    cdef Py_ssize_t first, k, i, n
    cdef int side
    cdef int64_t best, least
    cdef uint64_t *keys
    cdef const local_place_t *place
    cdef const local_place_t *before
    cdef local_place_t *known
    for side in range(2):
        first, k, n, best = pair.first[side], pair.first[side + 1] - pair.first[side], 0, INT64_MIN
        least = least_of(all, <uint32_t>(pair.read + side))
        keys = <uint64_t *>enlarged(&all.rooms[SORTED], 2 * k * sizeof(uint64_t))
        known = pair.known[side] = <local_place_t *>enlarged(&all.rooms[CANDIDATES + side], k * sizeof(local_place_t))
        for i in range(first, first + k):
            if all.places[i].score >= least:
                best = max(best, <int64_t>all.places[i].total)
        for i in range(k):
            place = &all.places[first + i]
            if place.score >= least and place.total >= best - all.worth:
                keys[n] = place_key(place.read_strand & 1, place.diagonal) << KEY_ROW_BITS | <uint64_t>i
                n += 1
        sort_keys(keys, keys + k, n)
        pair.n[side], before = 0, NULL
        for i in range(n):
            place = &all.places[first + <Py_ssize_t>(keys[i] & KEY_ROW_MASK)]
            if (before == NULL or place.read_strand != before.read_strand
                    or place.diagonal - before.diagonal > SAME_PLACE):
                known[pair.n[side]] = place[0]
                pair.n[side] += 1
            elif 2 * place.total + place.given > 2 * known[pair.n[side] - 1].total + known[pair.n[side] - 1].given:
                known[pair.n[side] - 1] = place[0]
            before = place
    return 0


cdef int look_beside(Joint all, const pair_t *pair, int side, const local_place_t *guide) except -1 nogil:
    """Look in the windows that a guide leaves the mate on a `side`, if no place that the mate may have is in
    one of them. A window ends where the contig of the guide does."""
    cdef const int64_t[::1] borders = all.chooser.borders
    cdef beside_t[3] near
    cdef const local_place_t *known
    cdef Py_ssize_t i, j
    for i in range(all.chooser.windows.n):
        near[i] = beside(&all.chooser.windows.each[i], &borders[0], borders.shape[0] - 1, guide.read_strand & 1, side == 1,
                         all.lengths[pair.read + 1 - side], all.lengths[pair.read + side], guide.diagonal)
        for j in range(pair.n[side]):
            known = &pair.known[side][j]
            if known.read_strand & 1 == near[i].strand and near[i].low <= known.diagonal <= near[i].high:
                return 0
    for i in range(all.chooser.windows.n):
        all.find_runs(<uint32_t>(2 * (pair.read + side) + near[i].strand), near[i].low, near[i].high)
    return 0


cdef int weigh(Joint all, const pair_t *pair, choice_t *choice) except -1 nogil:
    """The best pair of the places of both mates.

    What one point of score says of a place comes from the errors of the line of a mate, or of its best place.
    """
    cdef const local_place_t *place
    cdef const local_line_t *line
    cdef int64_t m, aligned, errors, each = all.ground.costs.match + all.ground.costs.mismatch
    cdef Py_ssize_t i
    cdef int side
    for side in range(2):
        line, m = pair.line[side], all.lengths[pair.read + side]
        all.chooser.open(side, m)
        for i in range(pair.n[side]):
            place = &pair.known[side][i]
            all.chooser.add(side, place.read_strand, place.diagonal + m,
                            <int>(m * all.ground.costs.match + 2 * all.ground.costs.bonus - place.total))
        aligned, errors = m, all.chooser.mates[side].best
        if line != NULL:
            aligned = line.end - line.begin
            errors = aligned * all.ground.costs.match - all.row[pair.read + side].hit.score
        errors = min((max(errors, 0) + each - 1) // each, aligned)
        all.chooser.note_errors(side, errors, aligned)
    return all.chooser.choose(all.digest[pair.read] + all.digest[pair.read + 1], choice)


cdef int take(Joint all, const pair_t *pair, const choice_t *choice) except -1 nogil:
    """Place mates together."""
    cdef const local_place_t *place
    cdef int side
    for side in range(2):
        place = &pair.known[side][choice.place[side]]
        if not is_of(place, pair.line[side]):
            (<local_place_t *>enlarged(&all.rooms[MOVES], (all.n_moves + 1) * sizeof(local_place_t)))[all.n_moves] = place[0]
            all.n_moves += 1
        all.wrong[pair.read + side] = 0
    return 0


cdef inline bint is_of(const local_place_t *place, const local_line_t *line) noexcept nogil:
    """Whether the line of the read is the alignment of a place."""
    return line != NULL and line.read_strand == place.read_strand and (
        same_place(line.first_diagonal, place.diagonal) or same_place(line.last_diagonal, place.diagonal))


cdef void leave_rivals(Joint all, pair_t *pair, int side) noexcept nogil:
    """Take the places of a mate away that are no rivals of its line."""
    cdef local_place_t *known = pair.known[side]
    cdef Py_ssize_t i, kept = 0, own = -1
    for i in range(pair.n[side]):
        if is_of(&known[i], pair.line[side]) and (own < 0 or known[i].total > known[own].total):
            own = i
    for i in range(pair.n[side]):
        if i == own or is_rival(&known[i], all.lengths[pair.read + side], all.ground.costs.match, pair.line[side]):
            known[kept] = known[i]
            kept += 1
    pair.n[side] = kept
