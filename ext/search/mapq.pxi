"""Mapping qualities: the one place where they are made (docs/mapq.md).

The other places of a read weigh, relative to the reported one: those that are known, copies that were not seen, and
places by chance. `rating_t` keeps each term, and says whose the rule was that lowered a quality.

Copies: one of the reported place is as far from it as the spectrum of the genome says (`gassst.index.spectrum`). How
many errors the read has there, and whether the seeds that led to the reported place lead to the copy, too, is exact.
Most reads are like others before them: what copies weigh is kept by case, once for all threads (`Cases`).
"""

cpdef enum:
    DIFFERENCES = 20    # copies with fewer differences are weighed


cdef struct case_t:
    # Places that were found alike, and what their copies weigh, by how many differences these have.
    uint64_t what, how          # as in `rated_t`
    int64_t length
    double odds                 # how much less likely one more error makes a place
    double lost[DIFFERENCES]    # share of reads with so many errors more of which no seed leads to the place
    double missed[DIFFERENCES]  # where no seed leads to the copy
    double both[DIFFERENCES]    # where none leads to it nor to the place
    double alone[2]             # of a single read, without and with a near copy that is known


cdef struct case_pair_t:
    # What copies of two cases weigh.
    uint64_t key
    double unseen


cdef struct rated_t:
    # What is known of one place.
    uint64_t what       # aligned bases, errors, complete and planned seeds or 128ths passed over: 16 bits each
    uint64_t how        # bases of the read and stages looked up; or bases of dense seeds, and their distance
    double known        # weight of the other known places
    double chance       # how many places fit by chance, for each base of reference
    bint near           # a near copy is known


cdef struct over_t:
    # Of a read with dense seeds: at how many bases among first .. end - 1 those begin that occur too often.
    double bases
    int64_t first, end
    uint8_t reseeded


cdef struct coverage_t:
    # What the search has looked at, and dense seeds of each read; costs of alignments.
    states_t states
    const over_t *over
    int match, error_cost, much_clipped
    uint64_t seed_length, stride


cdef struct looked_t:
    # What the seeds that were looked up of a read miss, as `index.miss_model.SeedsLooked` says.
    int64_t length          # bases of a seed
    Py_ssize_t n
    const double *missed    # [n]: share of alignments with as many errors that none leads to, 1 of those with more
    Py_ssize_t n_copies
    const double *copies    # [n_copies]: share of copies with as many differences that the reference's seeds do not lead to


# How many times more copies are expected for each disjoint seed of a single read that was passed over, as it occurs too
# often, beside each one that was not: the read lies in a large family. Dense seeds that overlap say so only once.
cdef double PASSED_OVER = 80.0
# Weight of what no model knows: other places of no more weight count as none.
cdef double UNKNOWN = 1e-5
# Weight of other places that counts as that of the one reported: where a mate has gaps, its pair in a copy on the other
# strand is taken to be a base or two longer or shorter, at most as much as that.
cdef double AS_LIKELY = 0.8

cdef extern from *:
    """
    /* The natural logarithm of one Phred: ln 10 / 10. */
    static const double PHRED_TO_LOG = 0.23025850929940458;
    """
    const double PHRED_TO_LOG

cdef enum:
    CASES = 1 << 14     # that are kept, each in one of the places that its hash names
    CASE_PAIRS = 1 << 12     # pairs of cases that a thread keeps

cdef enum:
    LEAST_BESIDE_COPIES = 10    # qualities below it are not compared with the copies of a tandem repeat

cdef uint64_t LOOKED_UP = <uint64_t>1 << 62, DENSE = <uint64_t>1 << 63  # of `rated_t.how`

cdef enum:  # whose cap holds; `put_terms` has the letters
    NOBODY
    TANDEM      # copies of a tandem repeat


def _sums(double first):
    """int64[]: logarithms of first, first + 1 and so on, added up. Of whole numbers, so that their order is no matter."""
    logs = np.log(first + np.arange(MAX_READ_LENGTH))
    return np.rint(2.0**32 * np.concatenate([[0.0], np.cumsum(logs)])).astype(np.int64)


cdef const int64_t[::1] of_pairs = _sums(0.5), of_bases = _sums(2.0)


cdef double word_letters(planes_t reads, int64_t first, int64_t m, double most) noexcept nogil:
    """Logarithm of how many letters a base is worth, of the bases first .. first + m - 1: as many would be found at a place
    as often. `most`: that of the index, of which no word is worth more. The same for the reverse complement.

    Genomes are full of words of low complexity: chance finds one far more often than a word of random bases. How likely
    it is follows from itself, from how often each base was behind the one before it (the estimator of Krichevsky and
    Trofimov, for a Markov chain). One formula holds for any genome.
    """
    cdef int64_t counts[4][4]
    cdef int64_t i, x, y, row, column, known = 0, likely = 0, by_row = 0, by_column = 0
    cdef uint64_t inside, before
    cdef bases64_t a, b
    memset(counts, 0, sizeof(counts))
    for i in range(0, m - 1, 64):
        a, b = bases_at(reads, first + i), bases_at(reads, first + i + 1)
        inside = first_bases(m - 1 - i) & ~unknown_bases(a, b)
        for x in range(4):
            before = inside & (a.low ^ (x & 1) - 1) & (a.high ^ (x >> 1) - 1)
            for y in range(4):
                counts[x][y] += count_bits(before & (b.low ^ (y & 1) - 1) & (b.high ^ (y >> 1) - 1))
    for x in range(4):
        row = column = 0
        for y in range(4):
            likely += of_pairs[counts[x][y]]
            row += counts[x][y]
            column += counts[y][x]
        known, by_row, by_column = known + row, by_row + of_bases[row], by_column + of_bases[column]
    # As the strand says that foretells more. What no neighbour foretells is worth as much as any base.
    likely -= min(by_row, by_column)
    return fmin(most, ((m - known) * most - likely * 2.0**-32) / m) if m else most


# --- odds ------------------------------------------------------------------------------------------------------------

cdef class Odds:
    """How much less likely one more error makes a place, in reads of one library (`pairing.error_rate.ErrorRate`).

    A read is of its library (`rate`, `bases`), or is one of the share that is `unlike` it and speaks for itself
    (`unknown_rate`, `unknown_bases`), as its errors say.
    """

    cdef double rate, bases, unknown_rate, unknown_bases, unlike
    cdef const double[:, ::1] log_chance

    def __cinit__(self, double rate, double bases, double unknown_rate, double unknown_bases, double unlike):
        self.rate, self.bases, self.unknown_rate, self.unknown_bases = rate, bases, unknown_rate, unknown_bases
        self.unlike = unlike
        # Ratios of gamma functions by errors, by the other bases, and by all of them.
        tables = []
        for r, b in ((rate, bases), (unknown_rate, unknown_bases)):
            firsts = np.array([[r * b], [(1 - r) * b], [b]])
            with np.errstate(divide="ignore"):
                logs = np.log(firsts + np.arange(MAX_READ_LENGTH))
            tables.append(np.concatenate([np.zeros((3, 1)), np.cumsum(logs, axis=1)], axis=1))
        self.log_chance = tables[1] - tables[0]

    cdef double of_one(self, int64_t errors, int64_t length) noexcept nogil:
        cdef int64_t most = self.log_chance.shape[1] - 1, e = min(errors, most), right = max(length - e, 0)
        cdef double chance = self.log_chance[0, e] + self.log_chance[1, right] - self.log_chance[2, e + right]
        cdef double alone = 1 / (1 + (1 - self.unlike) / self.unlike * exp(-chance))
        return (alone * odds_at(errors, length, self.unknown_rate, self.unknown_bases)
                + (1 - alone) * odds_at(errors, length, self.rate, self.bases))

    def of(self, const int64_t[::1] errors, const int64_t[::1] lengths):
        """float64[n]: the odds of one error more than `errors` in reads of `lengths` bases, at most MAX_READ_LENGTH."""
        cdef Py_ssize_t i
        odds_array = np.empty(errors.shape[0])
        cdef double[::1] odds = odds_array
        with nogil:
            for i in range(errors.shape[0]):
                odds[i] = self.of_one(errors[i], lengths[i])
        return odds_array


cdef inline double odds_at(double errors, double length, double rate, double bases) noexcept nogil:
    """One error in three makes a base look like the other place."""
    cdef double share = (errors + rate * bases) / (length + bases)
    return share / (3 * fmax(1 - share, 1 / 3.))


# --- copies ----------------------------------------------------------------------------------------------------------

cdef double binomial[DIFFERENCES][DIFFERENCES]
cdef double alike[DIFFERENCES][DIFFERENCES]   # chance that j of i errors are the bases of a copy: one in three is
for i in range(DIFFERENCES):
    for j in range(DIFFERENCES):
        binomial[i][j] = comb(i, j)
        alike[i][j] = comb(i, j) * 2.0 ** (i - j) / 3.0 ** i

cdef const double[::1] log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 4097)))])


cdef inline double log_choose(int64_t n, int64_t k) noexcept nogil:
    return log_factorial[n] - log_factorial[k] - log_factorial[n - k]


cdef inline double missed_with(const looked_t *seeds, int64_t errors) noexcept nogil:
    return seeds.missed[errors] if errors < seeds.n else 1.0


cdef void weigh_copies(case_t *case, int64_t m, int64_t errors, const looked_t *seeds) noexcept nogil:
    """What copies with each number of differences weigh, relative to a place of `m` bases with `errors`.

    Of the differences, `hit` ones lie where the read has errors; of these, `same` errors are the base of the copy.
    """
    cdef int64_t differences, hit, same, other, further, low, w = seeds.length, most = min(DIFFERENCES - 1, errors)
    cdef double chance, weight, instead, own, both, hidden
    cdef double seed_hit[DIFFERENCES]
    cdef double of_odds[2 * DIFFERENCES]
    cdef double missed_both[DIFFERENCES][DIFFERENCES]
    memset(case.missed, 0, sizeof(case.missed))
    memset(case.both, 0, sizeof(case.both))
    for hit in range(DIFFERENCES):
        case.lost[hit] = missed_with(seeds, errors + hit)
        seed_hit[hit] = 1 - pow(1 - fmin(<double>hit / m, 1.0), w)
    for further in range(-most, DIFFERENCES):
        of_odds[DIFFERENCES + further] = pow(case.odds, further)
    for same in range(most + 1):
        for other in range(DIFFERENCES - same):
            # A seed misses both where an error of both lies in it, or one of each: as if so many were of both.
            instead = errors - same
            if same and other:
                instead += m * (1 - pow(1 - seed_hit[other] * seed_hit[same], 1. / w))
            low = <int64_t>instead
            both = missed_with(seeds, low)
            missed_both[same][other] = both + (instead - low) * (missed_with(seeds, low + 1) - both)
    for differences in range(min(DIFFERENCES - 1, m) + 1):
        hidden = 0
        for hit in range(max(0, differences - (m - errors)), min(differences, errors) + 1):
            other = differences - hit
            chance = exp(log_choose(errors, hit) + log_choose(m - errors, other) - log_choose(m, differences))
            for same in range(hit + 1):
                further = other - same
                weight = chance * alike[hit][same] * of_odds[DIFFERENCES + further]
                own = missed_with(seeds, errors + further)
                case.missed[differences] += weight * own
                case.both[differences] += weight * fmin(missed_both[same][other], own)
                hidden += weight
        if differences < seeds.n_copies:
            case.missed[differences] = fmin(case.missed[differences], hidden * seeds.copies[differences])
            case.both[differences] = fmin(case.both[differences], case.missed[differences])


def chance_hits(int64_t m, int64_t d, double n_bases, double letters=4.0):
    """Expected places on both strands of `n_bases` random bases within `d` errors of a random read of `m` bases.

    About C(m, d) * 8^d words of four letters lie within d errors: 3 substitutions, 4 insertions and 1 deletion for each
    base. Bases of a repeat are worth fewer letters (`word_letters`).
    """
    return n_bases * hits_of_a_base(m, d, log(letters))


cdef double hits_of_a_base(int64_t m, int64_t d, double letters) noexcept nogil:
    d = min(d, m)
    return 2 * exp(fmin(log_choose(m, d) + d * (log(2) + letters) - m * letters, 0))


# --- cases -----------------------------------------------------------------------------------------------------------

cdef extern from *:
    """
    #define load_acquire(at) __atomic_load_n(at, __ATOMIC_ACQUIRE)
    #define store_release(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)
    """
    case_t *load_acquire(case_t **at) nogil
    void store_release(case_t **at, case_t *value) nogil


cdef class Cases:
    """What copies weigh in each case that was met, for all threads that rate places of one library by one plan.

    The `plan` says what seeds miss, and what the genome is like; the shares of its spectrum belong to so many bases
    (`lengths`). `looked_densely`: `index.miss_model.dense_seeds`. A case that is kept stays as it is. Threads that write
    hold the interpreter's lock, and readers need none.
    """

    cdef object __weakref__, looked_up, looked_densely
    cdef Odds odds
    cdef const double[:, :, :, ::1] shares
    cdef const double[::1] log_lengths
    cdef case_t no_mate
    cdef case_t **cases

    def __cinit__(self, plan, Odds odds, lengths, looked_densely):
        self.looked_up, self.looked_densely, self.odds = plan.looked_up, looked_densely, odds
        self.shares, self.log_lengths = plan.spectrum.shares.astype(np.float64), np.log(lengths)
        self.no_mate.missed[0] = self.no_mate.both[0] = self.no_mate.lost[0] = 1
        self.cases = <case_t **>calloc(CASES, sizeof(case_t *))
        if self.cases == NULL:
            raise MemoryError

    def __dealloc__(self):
        for i in range(CASES if self.cases != NULL else 0):
            free(self.cases[i])
        free(self.cases)

    @property
    def kept(self):
        """Each case that is kept, as a dict."""
        return [self.cases[i][0] for i in range(CASES) if self.cases[i] != NULL]

    cdef case_t **slot(self, uint64_t what, uint64_t how, case_t **found) noexcept nogil:
        """Where the case of a place is kept (`found` is not NULL), or may be; NULL where others are in all its places."""
        cdef uint64_t at = mix(mix(what) ^ how), i
        for i in range(4):
            found[0] = load_acquire(&self.cases[(at + i) & (CASES - 1)])
            if found[0] == NULL or found[0].how == how and found[0].what == what:
                return &self.cases[(at + i) & (CASES - 1)]
        return NULL

    cdef const case_t *find(self, uint64_t what, uint64_t how, case_t *own) except NULL nogil:
        """The case of a place (`rated_t`); in the caller's `own` one where no room is left to keep it."""
        cdef case_t *found
        if self.slot(what, how, &found) != NULL and found != NULL:
            return found
        if own.what != what or own.how != how:
            self.make(own, what, how)
        return own

    cdef int make(self, case_t *case, uint64_t what, uint64_t how) except -1 with gil:
        """Computes a case, and keeps a copy where there is room."""
        cdef int64_t length = what >> 48, errors = what >> 32 & 0xFFFF
        cdef int complete = what >> 16 & 0xFFFF, planned = what & 0xFFFF, near
        cdef bytes missed, copies
        cdef looked_t seeds
        cdef case_t **kept
        cdef case_t *copy
        cdef double over, more = PASSED_OVER
        if how & DENSE:
            over = complete / 128.
            more *= (how & 0xFFFF) / <double>(how >> 16 & 0xFFFF)
            found = self.looked_densely(<int>length, how >> 16 & 0xFFFF, how & 0xFFFF, over)
        else:
            over = max(planned - complete, 0) / <double>max(planned, 1)
            found = self.looked_up(how >> 16 & 0xFFFF, complete, how & 0xFFFF, over)
        seeds.length, missed, copies = found
        seeds.n_copies, seeds.copies = len(copies) // <Py_ssize_t>sizeof(double), <const double *><const char *>copies
        seeds.n, seeds.missed = len(missed) // <Py_ssize_t>sizeof(double), <const double *><const char *>missed
        with nogil:
            case.what, case.how, case.length = what, how, <int>length
            case.odds = self.odds.of_one(errors, length)
            weigh_copies(case, max(length, 1), min(errors, max(length, 1)), &seeds)  # a mate may be empty
            for near in range(2):
                case.alone[near] = (self.unseen(case, &self.no_mate, 2 * near)
                                    * (1 + more * over / fmax(1 - over, 1 / more)))
        kept = self.slot(what, how, &copy)
        if kept != NULL and copy == NULL:
            copy = <case_t *>malloc(sizeof(case_t))
            if copy != NULL:
                copy[0] = case[0]
                store_release(kept, copy)
        return 0

    cdef double unseen(self, const case_t *one, const case_t *two, int known) noexcept nogil:
        """What copies weigh that no seed led to, relative to the place of a read and of its mate.

        A copy was seen where a seed led to either mate: mates are looked for around each other. The nearest copy of a
        pair has as many differences in both mates together as the spectrum says. They lie anywhere in its bases; a mate
        without bases has none. `known`: how many of both mates have a near copy that is known. Between none and both
        there is the geometric mean.
        """
        cdef bint of_pairs = one.length > 0 and two.length > 0
        cdef int64_t bases = one.length + two.length
        cdef double part = one.length / <double>max(bases, 1), alone, beside, hidden = 0, missed, both, weight, at
        cdef double share[DIFFERENCES]
        cdef double of_one[DIFFERENCES]
        cdef double of_two[DIFFERENCES]
        cdef Py_ssize_t last = self.log_lengths.shape[0] - 1, low = 0, d, i
        if of_pairs:
            bases = <int64_t>rint(sqrt(<double>one.length * two.length))
        at = fmin(fmax(log(max(bases, 1)), self.log_lengths[0]), self.log_lengths[last])
        while low < last - 1 and at >= self.log_lengths[low + 1]:
            low += 1
        at = (at - self.log_lengths[low]) / (self.log_lengths[low + 1] - self.log_lengths[low])
        for d in range(DIFFERENCES):
            alone, beside = self.shares[of_pairs, 0, low, d], self.shares[of_pairs, 1, low, d]
            alone += at * (self.shares[of_pairs, 0, low + 1, d] - alone)
            beside += at * (self.shares[of_pairs, 1, low + 1, d] - beside)
            share[d] = alone if known == 0 else beside if known == 2 else sqrt(alone) * sqrt(beside)
            of_one[d] = of_one[d - 1] * part if d else 1
            of_two[d] = of_two[d - 1] * (1 - part) if d else 1
        for d in range(DIFFERENCES):
            missed = both = 0
            for i in range(DIFFERENCES - d):
                weight = share[i + d] * binomial[i + d][i] * of_one[i] * of_two[d]
                missed += one.missed[i] * weight
                both += one.both[i] * weight
            hidden += missed * two.missed[d] - both * two.both[d]
        return fmax(hidden, 0) / fmax(1 - one.lost[0] * two.lost[0], UNKNOWN)


# --- ratings ---------------------------------------------------------------------------------------------------------

cdef class Rater(Copies):
    """Rates places for the thread that it belongs to.

    A copy is near up to so many `further` errors. `beside`: whether the copies of a tandem repeat beside a place count.
    """

    cdef readonly Cases cases
    cdef Odds odds
    cdef double letters, n_bases
    cdef int further
    cdef bint beside
    cdef case_t one, two     # that could not be kept
    cdef case_pair_t *pairs

    def __cinit__(self, plan, Cases cases, int further, bint beside=True):
        self.cases, self.odds, self.further, self.beside = cases, cases.odds, further, beside
        self.letters, self.n_bases = log(plan.letters), plan.n_bases
        self.pairs = <case_pair_t *>calloc(CASE_PAIRS, sizeof(case_pair_t))
        if self.pairs == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.pairs)

    cdef double unseen_alone(self, const rated_t *place) except -1 nogil:
        """What copies weigh that no seed led to, of a read without a mate."""
        return self.cases.find(place.what, place.how, &self.one).alone[place.near]

    cdef double unseen_pair(self, const rated_t *one, const rated_t *two, double wrong) except -1 nogil:
        """The same of a mate and its partner; the other known pairs of places weigh `wrong`."""
        cdef uint64_t known = 2 if wrong > UNKNOWN else one.near + two.near
        cdef uint64_t key = mix(mix(mix(mix(one.what) ^ one.how) ^ two.what) ^ two.how) & ~<uint64_t>3 | known + 1
        cdef case_pair_t *pair = self.pairs + (key >> 2 & (CASE_PAIRS - 1))
        if pair.key != key:
            pair[0] = case_pair_t(key, self.cases.unseen(self.cases.find(one.what, one.how, &self.one),
                                                    self.cases.find(two.what, two.how, &self.two), <int>known))
        return pair.unseen

    # --- places ------------------------------------------------------------------------------------------------------

    cdef void found(self, const reads_t *reads, const states_t *states, uint32_t r, uint64_t errors, bint near,
                    rated_t *place) noexcept nogil:
        """How the place of a whole read was found, which has so many errors."""
        cdef uint64_t m = reads.lengths[r]
        place.what = m << 48 | errors << 32 | <uint64_t>states.complete[r] << 16 | states.planned[r]
        place.how = LOOKED_UP | m << 16 | states.looked[r]
        place.near = near

    cdef bint may_be_unseen(self, const reads_t *reads, const states_t *states, uint32_t r, uint16_t errors, bint near,
                            uint32_t mate, uint16_t its_errors, bint its_near) except -1 nogil:
        cdef rated_t place, other
        self.found(reads, states, r, errors, near, &place)
        if mate == r:
            return self.unseen_alone(&place) > UNKNOWN
        self.found(reads, states, mate, its_errors, its_near, &other)
        return self.unseen_pair(&place, &other, 0) > UNKNOWN

    cdef int line(self, const row_t *row, int64_t score, const local_place_t **rival, const local_line_t *beside,
                  const read_summary_t *whole, const reads_t *reads, const coverage_t *seen, rated_t *place) except -1 nogil:
        """The place of a part of a read, which scores so much, and its rivals. `beside`: the primary line of the read, of which
        it is no part. `whole`: the places of the whole read, where these count by their errors, too; or NULL.

        Errors are those that cost what the alignment loses. A wrong place leaves out what errors hide of the true one, so
        ends count as errors. A long one is an adapter or a bad tail, unless seeds of the read were passed over: then the
        place where it fits may not have been seen. What the primary line aligns is no such end of a further part.
        """
        cdef const local_line_t *line = &row.line
        cdef uint32_t r = line.read_strand >> 1
        cdef int64_t m = reads.lengths[r], begin = line.begin, end = line.end, span = max(end - begin, 1)
        cdef int64_t clipped = m - (end - begin), before = max(min(beside.end, begin) - beside.begin, 0)
        cdef int64_t hidden = clipped - before - max(beside.end - max(beside.begin, end), 0)
        cdef int64_t longer = max(begin - before, hidden - begin + before)
        cdef int64_t cost = seen.error_cost, i
        cdef int64_t common = max(min(end, seen.over[r].end) - max(begin, seen.over[r].first), 0)
        cdef double over = seen.over[r].bases * common / max(seen.over[r].end - seen.over[r].first, 1)  # spread evenly
        cdef uint64_t errors
        cdef const case_t *case
        if longer > seen.much_clipped and seen.over[r].bases == 0:
            hidden -= longer
        errors = <uint64_t>min(rounded_up((span + hidden) * seen.match - score, cost), span + hidden)
        place.what = <uint64_t>(span + hidden) << 48 | errors << 32
        if seen.over[r].reseeded:
            over = fmin(over / max(span - <int64_t>(seen.seed_length - seen.stride), 1), 1)
            place.what |= <uint64_t>rint(128 * over) << 16
            place.how = DENSE | seen.seed_length << 16 | seen.stride
        else:
            place.what |= <uint64_t>seen.states.complete[r] << 16 | seen.states.planned[r]
            place.how = LOOKED_UP | <uint64_t>m << 16 | seen.states.looked[r]
        case = self.cases.find(place.what, place.how, &self.one)
        place.known = 0
        rival += row.first_rival
        for i in range(row.n_rivals):
            place.known += is_another(rival, i) * weight_of_known(case, max(line.total - rival[i].total, 0) / <double>cost)
        place.near = row.n_rivals > 0 and line.total - rival[0].total <= self.further * cost
        if whole != NULL:
            place.known = fmax(place.known, weight_of_wholes(whole, case))
            place.near |= whole.n_best > 1 or whole.second <= whole.best + self.further
        # Chance may choose any part of a read.
        place.chance = (clipped + 1) * hits_of_a_base(
            span, rounded_up((end - begin) * seen.match - score, cost),
            word_letters(reads.planes, 64 * <int64_t>reads.plane_start[r] + begin, end - begin, self.letters))
        return 0

    cdef int rate(self, const rated_t *place, const rated_t *other, double wrong, double window,
                  rating_t *rating) except -1 nogil:
        """Rate a place that no mate vouches for (`other` is NULL), or of a mate beside the other one, on `window` diagonals.

        The other known pairs of places weigh `wrong`. Beside these, both mates may lie in copies that no seed led to, or
        this one may fit near the other by chance: often only its mate places a short read, or one of low complexity.
        """
        if other == NULL:
            rating.known, rating.unseen, rating.chance = place.known, self.unseen_alone(place), place.chance * self.n_bases
        else:
            rating.known, rating.unseen = wrong, self.unseen_pair(place, other, wrong)
            rating.chance = place.chance * window / 2
        rating.mapq = phred(rating.known + rating.unseen + rating.chance)
        rating.cap, rating.capped_by = UINT8_MAX, NOBODY
        return 0

    cdef void cap_beside(self, rating_t *rating, planes_t reference, const reads_t *reads, uint32_t read_strand,
                         int64_t diagonal, int64_t begin, int64_t end, double loss) noexcept nogil:
        """Cap the quality of a place by the copies of a tandem repeat beside it.

        Bases begin .. end - 1 of the strand are aligned there. `loss`: in mismatches, against an alignment without errors.
        """
        cdef int64_t m = reads.lengths[read_strand >> 1]
        cdef int64_t first = first_base(reads.plane_start[read_strand >> 1], read_strand, m) + begin
        cdef double odds
        cdef uint16_t errors = NO_SCORE, count
        cdef uint8_t most
        if not (self.beside and rating.mapq >= LEAST_BESIDE_COPIES and may_repeat(reads.planes, first, end - begin, m)):
            return
        odds = self.odds.of_one(<int64_t>ceil(loss), end - begin)
        if odds < 1:  # with more errors all copies together weigh nothing
            errors = <uint16_t>fmin(errors, loss + log(UNKNOWN / (2 * FURTHEST)) / log(odds) + 1)
        count = rivals_beside(reference, diagonal + begin, reads.planes, first, end - begin, &errors)
        most = phred(count * pow(odds, fmax(errors - loss, 0)))
        if most < rating.mapq:
            rating.mapq, rating.cap, rating.capped_by = most, most, TANDEM


cdef inline double weight_of_known(const case_t *case, double further) noexcept nogil:
    """What a known place with so many errors more weighs, with those like it that seeds miss; alone where these miss all."""
    cdef double found = 1 - case.lost[min(<int>further, DIFFERENCES - 1)]
    return pow(case.odds, further) / (found if found > UNKNOWN else 1)


cdef inline double weight_of_wholes(const read_summary_t *summary, const case_t *case) noexcept nogil:
    """What the other places of a whole read weigh: the best ones, and the second best ones."""
    cdef int further = 0 if summary.second == NO_SCORE else summary.second - <int>summary.best
    return ((max(<double>summary.n_best, 1) - 1) * weight_of_known(case, 0)
            + summary.n_second * weight_of_known(case, further))


cdef inline int64_t rounded_up(int64_t a, int64_t b) noexcept nogil:
    """a / b, rounded up; at least 0."""
    return (max(a, 0) + b - 1) // b


cdef uint8_t phred(double others) noexcept nogil:
    """How sure a place is beside others of such weight, by the probability that one of them is the true one.

    0 from `AS_LIKELY` on: callers count on it that a read that may as well be elsewhere has no quality. 60 where other
    places count as none.
    """
    cdef double wrong = UNKNOWN / 10 if others <= UNKNOWN else others + UNKNOWN
    return 0 if wrong > AS_LIKELY else <uint8_t>floor(-log(wrong / (1 + wrong)) / PHRED_TO_LOG)


def qualities(const double[::1] others):
    """uint8[k]: mapping qualities beside other places of such weights (float64[k])."""
    return np.array([phred(weight) for weight in others], np.uint8)
