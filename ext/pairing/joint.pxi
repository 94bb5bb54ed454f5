# Pairs that whole reads do not decide: the known places of both mates are weighed together, by their scores. Mates are
# looked for in windows beside each other, in the bands in which some bases in a row fit.

cdef enum:
    WORD = 8                # bases of a word: its planes are 16 bits
    WORDS_AT_ONCE = 64 + 1 - WORD   # that begin in 64 bases
    CHAINS = 1024           # of words with equal hashes


cdef struct words_t:
    # The words of a strand: whether each occurs, and those from each base on, in chains of equal hashes.
    uint64_t occurs[1024]
    uint16_t head[CHAINS]   # 1 + the last base of each chain; 0: none
    uint16_t *at
    uint16_t *next          # 1 + the base before in the chain; 0: none
    Py_ssize_t n


cdef struct strip_t:
    # Bands of neighbouring buckets, and which of them are wanted.
    int64_t start           # first diagonal of the first band
    int64_t width           # diagonals of each band
    int64_t n               # bands, 2^shift diagonals apart
    int shift
    uint8_t *wanted
    int64_t found           # how many are


cdef inline uint16_t word_of(bases64_t bases, int i) noexcept nogil:
    """The low bits of the bases i .. i + 7, then the high bits."""
    return <uint16_t>((bases.low >> i & 0xff) | (bases.high >> i & 0xff) << 8)


cdef inline bint is_known(bases64_t bases, int i) noexcept nogil:
    return bases.masked >> i & 0xff == 0


cdef inline int chain_of(uint16_t word) noexcept nogil:
    return (word ^ word >> 6) & (CHAINS - 1)


cdef inline bases64_t as_converted(bases64_t bases, int conversion) noexcept nogil:
    """Bases as the words of a strand have them, where a base may have been another before its conversion."""
    if conversion:
        bases.masked &= ~bases.high
        bases.high = converted_high(bases.low, bases.high, conversion)
    return bases


cdef void list_words(planes_t reads, int64_t first, int64_t m, int conversion, words_t *words) noexcept nogil:
    cdef int64_t at = 0
    cdef int i
    cdef uint16_t word
    cdef bases64_t bases
    memset(words.occurs, 0, sizeof(words.occurs))
    memset(words.head, 0, sizeof(words.head))
    words.n = max(m - WORD + 1, 0)
    while at < words.n:
        bases = as_converted(bases_at(reads, first + at), conversion)
        for i in range(<int>min(words.n - at, <int64_t>WORDS_AT_ONCE)):
            if is_known(bases, i):
                word = words.at[at + i] = word_of(bases, i)
                words.occurs[word >> 6] |= <uint64_t>1 << (word & 63)
                words.next[at + i] = words.head[chain_of(word)]
                words.head[chain_of(word)] = <uint16_t>(at + i + 1)
        at += WORDS_AT_ONCE


cdef void want(strip_t *strip, int64_t diagonal) noexcept nogil:
    """The bands that hold a diagonal."""
    cdef int64_t i = max(diagonal - strip.start - strip.width + (1 << strip.shift), 0) >> strip.shift
    while i < strip.n and strip.start + (i << strip.shift) <= diagonal:
        strip.found += not strip.wanted[i]
        strip.wanted[i] = 1
        i += 1


cdef void find_runs(planes_t reference, planes_t reads, int64_t first, int64_t m, int conversion, int run,
                    const words_t *words, strip_t *strip) noexcept nogil:
    """Want the bands that hold a diagonal on which `run` bases of a strand, at least a word, are equal in a row."""
    cdef int64_t at = max(strip.start, 0), last = strip.start + ((strip.n - 1) << strip.shift) + strip.width + m
    cdef int64_t known = -1     # diagonal: a copy has many words on one
    cdef int i
    cdef Py_ssize_t o
    cdef uint16_t word
    cdef bases64_t bases
    while at < last and strip.found < strip.n:
        bases = as_converted(bases_at(reference, at), conversion)
        for i in range(WORDS_AT_ONCE):
            word = word_of(bases, i)
            if not words.occurs[word >> 6] >> (word & 63) & 1:
                continue
            o = words.head[chain_of(word)]
            while o:
                if words.at[o - 1] == word and is_known(bases, i) and at + i - (o - 1) != known:
                    if o - 1 + run <= m and differences(bases_at(reference, at + i),
                                                        bases_at(reads, first + o - 1)) & first_bases(run) == 0:
                        known = at + i - (o - 1)
                        want(strip, known)
                o = words.next[o - 1]
        at += WORDS_AT_ONCE


cdef class BandsInWindows:
    """Bands in windows of reads that may hold an alignment: `run` bases (8 to 64) in a row are equal on a diagonal of
    theirs. A window of more than `most` buckets has none.

    There are `n`: `read_strand` uint32[n], their first diagonals `start` int64[n], `width` int64[n].
    """

    cdef ground_t ground
    cdef const uint8_t[::1] band_words  # by length
    cdef const uint8_t *conversions     # NULL where none is converted
    cdef uint16_t[:, ::1] of_words
    cdef uint8_t[::1] wanted
    cdef words_t words
    cdef strip_t strip
    cdef int64_t listed, most
    cdef int run
    cdef room_t read_strand, start, width
    cdef Py_ssize_t n

    def __cinit__(self, const uint8_t[::1] band_words, int shift, Py_ssize_t most, int run):
        self.band_words, self.of_words = band_words, np.empty((2, MAX_READ_LENGTH), np.uint16)
        self.wanted = np.empty(max(most, 1), np.uint8)
        self.words.at, self.words.next = &self.of_words[0, 0], &self.of_words[1, 0]
        self.strip.wanted, self.strip.shift = &self.wanted[0], shift
        self.most, self.run = most, run

    cdef void open(self, const ground_t *ground, const uint8_t *conversions) noexcept nogil:
        """Begin with a batch, whose arrays must outlive this."""
        self.ground, self.conversions, self.n, self.listed = ground[0], conversions, 0, -1

    def __dealloc__(self):
        free(self.read_strand.p)
        free(self.start.p)
        free(self.width.p)

    cdef int add(self, uint32_t read_strand, int64_t low, int64_t high) except -1 nogil:
        """Add the bands in a window, of its first to its last diagonal. A read may have several."""
        cdef strip_t *strip = &self.strip
        cdef uint32_t r = read_strand >> 1
        cdef int64_t m = self.ground.lengths[r], first = max(low, 0) >> strip.shift, base, b
        cdef int conversion = 0
        if high < max(low, 0) or (high >> strip.shift) - first >= self.most:
            return 0
        strip.n, strip.found = (high >> strip.shift) - first + 1, 0
        strip.width = 64 * self.band_words[m]
        strip.start = (first << strip.shift) - (strip.width - (1 << strip.shift) >> 1)
        memset(strip.wanted, 0, strip.n)
        if self.conversions != NULL:
            conversion = conversion_of_strand(self.conversions[r], read_strand & 1)
        base = first_base(self.ground.plane_start[r], read_strand, m)
        if base != self.listed:
            list_words(self.ground.reads, base, m, conversion, &self.words)
            self.listed = base
        find_runs(self.ground.reference, self.ground.reads, base, m, conversion, self.run, &self.words, strip)
        cdef uint32_t *strands = <uint32_t *>enlarged(&self.read_strand, (self.n + strip.found) * sizeof(uint32_t))
        cdef coordinate_t *starts = <coordinate_t *>enlarged(&self.start, (self.n + strip.found) * sizeof(coordinate_t))
        cdef int64_t *widths = <int64_t *>enlarged(&self.width, (self.n + strip.found) * sizeof(int64_t))
        for b in range(strip.n):
            if strip.wanted[b]:
                strands[self.n], starts[self.n] = read_strand, strip.start + (b << strip.shift)
                widths[self.n] = strip.width
                self.n += 1
        return 0

    def found_in(self, context, windows):
        """list of tuple: strand, first diagonal and diagonals of each band in windows, which are (strand, first diagonal,
        last one)."""
        cdef ground_t ground = ground_of(context)
        self.open(&ground, NULL)
        for read_strand, low, high in windows:
            self.add(read_strand, low, high)
        return [((<uint32_t *>self.read_strand.p)[i], (<coordinate_t *>self.start.p)[i], (<int64_t *>self.width.p)[i])
                for i in range(self.n)]


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

    cdef BandsInWindows bands
    cdef PairChooser chooser
    cdef costs_t costs
    cdef int64_t least, worth
    cdef bint short_fit     # a read too short for the least score needs its score without an error
    cdef const uint8_t[::1] rescuable
    cdef const uint32_t *lengths
    cdef const uint8_t *mate
    cdef const uint8_t *clear   # reads whose place has no rival that a mate could tell it from
    cdef const uint64_t *digest
    cdef Py_ssize_t n
    cdef const local_place_t *places
    cdef const row_t *row       # the primary line of each read
    cdef Py_ssize_t n_places, n_moves
    cdef room_t[N_ROOMS] rooms
    cdef double *wrong          # by read: what other pairs of places weigh; below 0: it has none beside its mate

    def __cinit__(self, scoring, pairs, PairChooser chooser, const uint8_t[::1] band_words, int shift, int worth,
                  Py_ssize_t most, int run):
        self.costs, self.worth = costs_of(scoring), worth
        self.least, self.short_fit = scoring.least_score - worth, scoring.min_score is None
        self.bands, self.chooser = BandsInWindows(band_words, shift, most, run), chooser
        self.rescuable = pairs.rescuable

    def __dealloc__(self):
        for i in range(N_ROOMS):
            free(self.rooms[i].p)

    cdef int list_bands(self) except -1 nogil:
        """Choose clear pairs of places, and look for other mates beside the places that their partners may have.

        Returns in how many bands, read by read. A clear pair has the best place of each mate.
        """
        cdef pair_t pair
        cdef choice_t choice
        cdef Py_ssize_t i
        cdef int side
        begin(&pair)
        while next_pair(self, &pair, False):
            list_known(self, &pair)
            if self.clear[pair.read] and self.clear[pair.read + 1]:
                weigh(self, &pair, &choice)
                if choice.concordant and choice.are_best:
                    take(self, &pair, &choice)
                    continue
            for side in range(2):
                if pair.line[1 - side] != NULL and self.rescuable[self.lengths[pair.read + side]]:
                    for i in range(pair.n[1 - side]):
                        look_beside(self, &pair, side, &pair.known[1 - side][i])
        return <int>self.bands.n

    cdef bint add(self, const local_place_t *found, Py_ssize_t n) except -1 nogil:
        """Put n places, read by read, behind the others of their reads, into MERGED; whether any scores enough."""
        cdef local_place_t *out = <local_place_t *>enlarged(&self.rooms[MERGED], (self.n_places + n) * sizeof(local_place_t))
        cdef Py_ssize_t i, at = 0, done = 0
        for i in range(n):
            if found[i].score < least_of(self, found[i].read_strand >> 1):
                continue
            while at < self.n_places and self.places[at].read_strand >> 1 <= found[i].read_strand >> 1:
                out[done] = self.places[at]
                at, done = at + 1, done + 1
            out[done] = found[i]
            done += 1
        if done:
            memcpy(out + done, self.places + at, (self.n_places - at) * sizeof(local_place_t))
            self.places, self.n_places = out, done + self.n_places - at
        return done > 0

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


cdef void open_joint(Joint all, LocalParts of, const uint8_t *mate, const uint8_t *conversions) noexcept nogil:
    """Begin with a batch, which an aligner has open."""
    all.bands.open(&of.ground, conversions)
    all.lengths, all.n = of.ground.lengths, of.n
    all.digest, all.mate = of.digest, mate
    all.n_moves = 0


cdef inline int64_t least_of(Joint all, uint32_t read) noexcept nogil:
    """Score that a place needs which a concordant mate makes up for."""
    return min(<int64_t>all.lengths[read] * all.costs.match, all.least) if all.short_fit else all.least


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
    """Add the bands in the windows that a guide leaves the mate on a `side`, if no place that the mate may have is in
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
        all.bands.add(<uint32_t>(2 * (pair.read + side) + near[i].strand), near[i].low, near[i].high)
    return 0


cdef int weigh(Joint all, const pair_t *pair, choice_t *choice) except -1 nogil:
    """The best pair of the places of both mates.

    What one point of score says of a place comes from the errors of the line of a mate, or of its best place.
    """
    cdef const local_place_t *place
    cdef const local_line_t *line
    cdef int64_t m, aligned, errors, each = all.costs.match + all.costs.mismatch
    cdef Py_ssize_t i
    cdef int side
    for side in range(2):
        line, m = pair.line[side], all.lengths[pair.read + side]
        all.chooser.open(side, m)
        for i in range(pair.n[side]):
            place = &pair.known[side][i]
            all.chooser.add(side, place.read_strand, place.diagonal + m,
                            <int>(m * all.costs.match + 2 * all.costs.bonus - place.total))
        aligned, errors = m, all.chooser.mates[side].best
        if line != NULL:
            aligned = line.end - line.begin
            errors = aligned * all.costs.match - all.row[pair.read + side].hit.score
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
        if i == own or is_rival(&known[i], all.lengths[pair.read + side], all.costs.match, pair.line[side]):
            known[kept] = known[i]
            kept += 1
    pair.n[side] = kept
