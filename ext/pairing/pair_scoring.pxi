"""The best pair of places of the mates of a batch, and how sure it is."""

cdef struct spot_t:
    # A place of a mate.
    coordinate_t end        # behind the last aligned base
    uint32_t read_strand
    int loss                # points of score


cdef struct mate_t:
    # A mate and its places, of which the first is the one that it has alone.
    room_t spots
    Py_ssize_t n
    int64_t length
    int best                # least loss
    double odds             # how much less likely a place becomes with one more lost


cdef struct choice_t:
    Py_ssize_t[2] place     # of both mates
    double[2] wrong         # what all pairs of places without it weigh, relative to those with it
    bint concordant
    bint are_best           # each is the best one of its mate


cdef struct option_t:
    Py_ssize_t[2] place
    double weight   # relative to the best places of both mates, at the mean template length


cdef inline double power(double base, int exponent) noexcept nogil:
    cdef double x = 1.0
    while exponent > 0:
        if exponent & 1:
            x *= base
        base *= base
        exponent >>= 1
    return x


cdef inline double likelihood(const mate_t *mate, Py_ssize_t i) noexcept nogil:
    """Of a place, relative to the best one of its read."""
    return power(mate.odds, (<const spot_t *>mate.spots.p)[i].loss - mate.best)


cdef class PairChooser:
    """Chooses the best pair of places of two mates, pair by pair.

    Parameters
    ----------
    pairs : search.context.PairContext
        Read: `insert`, `borders`.
    odds : Odds
    points : int
        What an error costs, in points of score.
    worth : int
        What concordant mates are worth, in points.
    """

    cdef const int64_t[::1] borders
    cdef windows_t windows          # of each orientation of the library
    cdef double[3] mean, sd
    cdef double[3] weight   # of a pair whose template length is the mean, relative to a library of the first one alone
    cdef Odds odds
    cdef int points, worth  # of score: an error, and what concordant mates are worth
    cdef mate_t[2] mates
    cdef room_t keys, options
    cdef Py_ssize_t n_options

    def __cinit__(self, pairs, Odds odds, int points, int worth):
        self.borders, self.windows = pairs.borders, windows_of(pairs.insert)
        self.odds, self.points, self.worth = odds, points, worth
        for i, (library, share) in enumerate(pairs.insert.shares):
            self.mean[i], self.sd[i] = library.mean, library.sd
            self.weight[i] = share * self.sd[0] / library.sd

    def __dealloc__(self):
        for room in range(2):
            free(self.mates[room].spots.p)
        free(self.keys.p)
        free(self.options.p)

    cdef void open(self, int side, int64_t length) noexcept nogil:
        """Begin with a mate without places."""
        self.mates[side].n, self.mates[side].length = 0, length

    cdef int add(self, int side, uint32_t read_strand, coordinate_t end, int loss) except -1 nogil:
        """Add a place of a mate."""
        cdef mate_t *mate = &self.mates[side]
        cdef spot_t *spots = <spot_t *>enlarged(&mate.spots, (mate.n + 1) * sizeof(spot_t))
        spots[mate.n] = spot_t(end, read_strand, loss)
        mate.best = min(mate.best, loss) if mate.n else loss
        mate.n += 1
        return 0

    cdef void note_errors(self, int side, int64_t errors, int64_t length) noexcept nogil:
        """Say how many errors the best place of a mate has, in so many aligned bases."""
        self.mates[side].odds = pow(self.odds.of_one(errors, length), 1. / self.points)

    cdef int choose(self, uint64_t digest, choice_t *choice) except -1 nogil:
        """Choose the places of two mates, each of which has some. They are concordant also where each is taken for
        itself, because the template length is so far from the mean that chance is the better explanation.

        Among equals the draw goes by the bases of both mates and the places: which mate is first does not matter.
        """
        cdef const mate_t *a = &self.mates[0]
        cdef const mate_t *b = &self.mates[1]
        cdef const option_t *options
        cdef double unpaired = power(sqrt(a.odds * b.odds), self.worth), most = unpaired, sum_a = 0, sum_b = 0, total = 0
        cdef double[2] with_own
        cdef Py_ssize_t i, chosen = -1
        cdef int side, which
        cdef uint64_t lot, drawn = 0
        cdef uint64_t *keys = <uint64_t *>enlarged(&self.keys, 2 * b.n * sizeof(uint64_t))
        for i in range(b.n):
            keys[i] = place_key((<const spot_t *>b.spots.p)[i].read_strand & 1, (<const spot_t *>b.spots.p)[i].end)
            keys[i] = keys[i] << KEY_ROW_BITS | <uint64_t>i
        sort_keys(keys, keys + b.n, b.n)
        self.n_options = 0
        for which in range(self.windows.n):
            list_pairs(self, which, keys)
        options = <const option_t *>self.options.p
        for i in range(a.n):
            sum_a += likelihood(a, i)
        for i in range(b.n):
            sum_b += likelihood(b, i)
        for i in range(self.n_options):
            total += options[i].weight
            most = max(most, options[i].weight)
        for i in range(self.n_options):
            if options[i].weight == most:
                lot = mix(digest + mix((<const spot_t *>a.spots.p)[options[i].place[0]].end)
                          + mix((<const spot_t *>b.spots.p)[options[i].place[1]].end))
                if chosen < 0 or lot < drawn:
                    chosen, drawn = i, lot
        choice.concordant, choice.are_best = False, True
        for side in range(2):
            choice.place[side] = options[chosen].place[side] if chosen >= 0 else 0
            choice.are_best &= ((<const spot_t *>self.mates[side].spots.p)[choice.place[side]].loss
                                == self.mates[side].best)
        with_own[0] = unpaired * likelihood(a, choice.place[0]) * sum_b
        with_own[1] = unpaired * likelihood(b, choice.place[1]) * sum_a
        total += unpaired * sum_a * sum_b
        for i in range(self.n_options):
            choice.concordant |= (options[i].place[0] == choice.place[0] and options[i].place[1] == choice.place[1])
            for side in range(2):
                if options[i].place[side] == choice.place[side]:
                    with_own[side] += options[i].weight
        for side in range(2):
            choice.wrong[side] = max(total - with_own[side], 0) / with_own[side]
        return 0


cdef int list_pairs(PairChooser chooser, int which, const uint64_t *keys) except -1 nogil:
    """Add all pairs of places that are concordant in one orientation of the library to the options. `keys`, of the places
    of the last mate, ascend: strand, end, place."""
    cdef const mate_t *a = &chooser.mates[0]
    cdef const mate_t *b = &chooser.mates[1]
    cdef const spot_t *own
    cdef const spot_t *other
    cdef option_t *option
    cdef Py_ssize_t i, j, row
    cdef uint64_t last
    cdef beside_t near
    cdef int64_t d
    cdef double z
    cdef const window_t *window = &chooser.windows.each[which]
    for i in range(a.n):
        own = <const spot_t *>a.spots.p + i
        near = beside(window, &chooser.borders[0], chooser.borders.shape[0] - 1, own.read_strand & 1, True, a.length,
                      b.length, own.end - a.length)
        j = first_from(keys, b.n, place_key(near.strand, near.low + b.length) << KEY_ROW_BITS)
        last = place_key(near.strand, near.high + b.length) << KEY_ROW_BITS | KEY_ROW_MASK
        while j < b.n and keys[j] <= last:
            row = keys[j] & KEY_ROW_MASK
            other = <const spot_t *>b.spots.p + row
            j += 1
            d = template_length(leads(window, own.read_strand & 1, True), a.length, b.length, own.end - a.length,
                                other.end - b.length)
            z = (d - chooser.mean[which]) / chooser.sd[which]
            option = <option_t *>enlarged(&chooser.options, (chooser.n_options + 1) * sizeof(option_t)) + chooser.n_options
            option.place[0], option.place[1] = i, row
            option.weight = likelihood(a, i) * likelihood(b, row) * (chooser.weight[which] * exp(-z * z / 2))
            chooser.n_options += 1
    return 0
