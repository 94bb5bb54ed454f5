"""From scored bands to the alignments that are reported.

`loss_of` weighs deaminated bases, and `Traces` aligns the places of whole reads.
"""

cdef struct path_t:
    # An alignment: the diagonal on which it begins, and its runs in RUNS; none of an ungapped one.
    int64_t position
    Py_ssize_t first_run, n_runs


cdef int64_t loss_of(const place_t *place, planes_t reference, const reads_t *reads, const uint16_t[:, :, ::1] costs,
                     int64_t cost) noexcept nogil:
    """What a place loses where bases are deaminated, in Phred: some mismatches `cost` less, as `ErrorRate.costs` says.

    With a gap no error counts as deaminated.
    """
    cdef uint32_t r = place.read_strand >> 1
    cdef int64_t m = reads.lengths[r], first = first_base(reads.plane_start[r], place.read_strand, m)
    cdef int64_t ungapped = ungapped_diagonal(reference, place.first + place.end, reads.planes, first, m, place.edits,
                                              place.reach)
    cdef int64_t lost = cost * place.edits, at, five, three, most = costs.shape[0] - 1
    cdef int kind, reverse = place.read_strand & 1
    cdef uint64_t left, known, c_to_t
    cdef bases64_t a, b
    for at in range(0, m if ungapped else 0, 64):
        a, b = bases_at(reference, ungapped + at), bases_at(reads.planes, first + at)
        known = first_bases(m - at) & ~(a.masked | b.masked)
        c_to_t = known & a.low & ~a.high & b.low & b.high
        left = c_to_t | known & ~a.low & a.high & ~(b.low | b.high)
        while left:
            five = at + trailing_zeros(left)
            kind = (c_to_t >> trailing_zeros(left) & 1) == reverse  # the machine saw the complement
            three = m - 1 - five
            if reverse:
                five, three = three, five
            lost += min(costs[min(five, most), 0, kind], costs[min(three, most), 1, kind]) - cost
            left &= left - 1
    return lost


cdef Py_ssize_t fit_contig(const uint32_t *cigar, Py_ssize_t *n, int64_t *position, int64_t m, const contigs_t *contigs,
                           uint32_t *out) noexcept nogil:
    """Write the runs of a read of m bases with every column outside its contig as an insertion; move `position` inside.

    `n`, the number of runs, becomes that of those written. Returns the contig: the one that holds the middle of the
    alignment, or the nearest one when the middle hangs over.

    An insertion at the end of the read becomes an aligned stretch as far as the contig reaches: it costs the same,
    as none of its bases can match in an optimal alignment.
    """
    cdef int64_t at = position[0], inside, before
    cdef Py_ssize_t i, k = 0, contig = contig_near(contigs.starts, contigs.lengths, contigs.n, at + (m >> 1))
    cdef int64_t contig_start = contigs.starts[contig], contig_end = contig_start + contigs.lengths[contig]
    cdef uint32_t op, length
    cdef bint placed = False
    for i in range(n[0]):
        op, length = cigar_op(cigar[i]), cigar_length(cigar[i])
        if op == CIGAR_INSERTION and i == n[0] - 1 and n[0] > 1:
            op = CIGAR_MATCH
        if op == CIGAR_MATCH:
            before = min(max(contig_start - at, 0), length)
            inside = min(max(contig_end - max(at, contig_start), 0), length - before)
            k = cigar_push(out, k, CIGAR_INSERTION, <uint32_t>before)
            if inside and not placed:
                position[0] = at + before
                placed = True
            k = cigar_push(out, k, CIGAR_MATCH, <uint32_t>inside)
            k = cigar_push(out, k, CIGAR_INSERTION, <uint32_t>(length - before - inside))
            at += length
        else:
            k = cigar_push(out, k, op, length)
            at += length if op == CIGAR_DELETION else 0
    n[0] = k
    return contig


cdef struct cell_t:
    # Costs of reaching a cell: at all, by an insertion, by a deletion; errors << GAP_BITS | gaps.
    uint32_t any, insertion, deletion

cdef enum:
    GAP_BITS = 12       # a read has fewer gaps
    AN_ERROR = 1 << GAP_BITS
    NOWHERE = 1 << 30
    DIAGONAL = 1        # how a cell is reached, for the way back
    INSERTION = 2
    INSERTION_GOES_ON = 4
    DELETION_GOES_ON = 8


cdef Py_ssize_t fewest_gaps(const uint32_t *cigar, Py_ssize_t n, uint32_t *runs, int64_t *first, planes_t reference,
                            planes_t reads, int64_t base, int64_t m) noexcept nogil:
    """Write the runs of the alignment of a read of m bases that has as many errors as `cigar`, the same end, and the fewest
    gaps that need no further diagonal. `first` is the diagonal of base 0; `runs` may begin before `cigar`.

    Returns the number of runs, at most 2 * n + 1; -1 when there is no memory.
    """
    cdef int64_t d = first[0], low = d, high = d, i, j, width, gaps = 0
    cdef uint32_t differs, gapped, run = 0, op, last = 0
    cdef Py_ssize_t k = 0
    cdef uint8_t how
    for j in range(n):
        runs[j] = cigar[j]
        gaps += cigar_op(runs[j]) != CIGAR_MATCH
        d += (cigar_op(runs[j]) == CIGAR_DELETION) * <int64_t>cigar_length(runs[j])
        d -= (cigar_op(runs[j]) == CIGAR_INSERTION) * <int64_t>cigar_length(runs[j])
        low, high = min(low, d), max(high, d)
    if gaps < 2:
        return n
    width = high - low + 1
    cdef cell_t *cells = <cell_t *>calloc(width + 1, sizeof(cell_t))
    cdef uint8_t *ways = <uint8_t *>malloc((m + 1) * width)
    if cells == NULL or ways == NULL:
        free(cells)
        free(ways)
        return -1
    for j in range(width + 1):
        cells[j].any = 0 if j < width else NOWHERE
        cells[j].insertion = cells[j].deletion = NOWHERE
    for i in range(1, m + 1):
        for j in range(width):
            # cells[j] and behind are those of the row before, and those before it of this one.
            how = 0
            differs = bases_differ(reference, low + j + i - 1, reads, base + i - 1)
            gapped = cells[j + 1].any + 1
            if cells[j + 1].insertion <= gapped:
                gapped, how = cells[j + 1].insertion, INSERTION_GOES_ON
            cells[j].insertion = gapped + AN_ERROR
            gapped = cells[j - 1].any + 1 if j else NOWHERE
            if j and cells[j - 1].deletion <= gapped:
                gapped, how = cells[j - 1].deletion, how | DELETION_GOES_ON
            cells[j].deletion = gapped + AN_ERROR
            cells[j].any += differs * AN_ERROR
            if cells[j].any <= min(cells[j].insertion, cells[j].deletion):
                how |= DIAGONAL
            elif cells[j].insertion <= cells[j].deletion:
                cells[j].any, how = cells[j].insertion, how | INSERTION
            else:
                cells[j].any = cells[j].deletion
            ways[i * width + j] = how
    i, j, op = m, d - low, CIGAR_MATCH
    while i > 0:
        how = ways[i * width + j]
        if op == CIGAR_MATCH and not how & DIAGONAL:
            op = CIGAR_INSERTION if how & INSERTION else CIGAR_DELETION
        if op != last:
            k = push_back(runs, k, last, run)
            run, last = 0, op
        run += 1
        if op == CIGAR_MATCH:
            i -= 1
        elif op == CIGAR_INSERTION:
            op = CIGAR_INSERTION if how & INSERTION_GOES_ON else CIGAR_MATCH
            i, j = i - 1, j + 1
        else:
            op = CIGAR_DELETION if how & DELETION_GOES_ON else CIGAR_MATCH
            j -= 1
    k = push_back(runs, k, last, run)
    first[0] = low + j
    for i in range(k // 2):
        runs[i], runs[k - 1 - i] = runs[k - 1 - i], runs[i]
    free(cells)
    free(ways)
    return k


cdef inline Py_ssize_t push_back(uint32_t *runs, Py_ssize_t k, uint32_t op, uint32_t length) noexcept nogil:
    if length:
        runs[k] = length << 4 | op
        k += 1
    return k


cdef inline bint bases_differ(planes_t reference, int64_t at, planes_t reads, int64_t base) noexcept nogil:
    return differences(bases_at(reference, at), bases_at(reads, base)) & 1


cdef class Traces:
    """Aligns the places of whole reads in an index, for the thread that it belongs to. Its memory is used again.

    Attributes
    ----------
    scored, traced : int
        Of the last call: bands that were scored, and in which alignments were walked back.
    calls, pairs, kernel : int
        Calls of kernels of the host, in how many bands, and their nanoseconds.
    """

    cdef Rater rater
    cdef const cpu_kernels *kernels
    cdef planes_t reference
    cdef contigs_t contigs
    cdef reads_t reads
    cdef const int64_t[::1] starts, lengths
    cdef room_t rooms[N_ROOMS]
    cdef Py_ssize_t n_runs
    cdef readonly int64_t scored, traced, calls, pairs, kernel

    def __cinit__(self, index):
        cdef const uint64_t[:, ::1] planes = index.reference.planes
        memset(self.rooms, 0, sizeof(self.rooms))
        self.starts, self.lengths = index.reference.starts, index.reference.lengths
        self.reference = planes_of(planes)
        self.contigs = contigs_t(&self.starts[0], &self.lengths[0], self.starts.shape[0])

    def __dealloc__(self):
        for i in range(N_ROOMS):
            free(self.rooms[i].p)

    cdef void open_reads(self, reads_t reads, const cpu_kernels *kernels, Rater rater) noexcept:
        """Take the reads of a batch, which must outlive what is asked for them."""
        self.kernels, self.reads, self.rater = kernels, reads, rater
        self.n_runs = self.scored = self.traced = self.calls = self.pairs = self.kernel = 0

    cdef int take(self, traced, const int64_t *rows, Py_ssize_t k) except -1:
        """The alignments of k places that a device has made: `rows` of gpu.found.TracedRows."""
        cdef const uint32_t[::1] diagonal = traced.diagonal, start = traced.start, runs = traced.cigars
        cdef const uint16_t[::1] n_runs = traced.n_runs
        cdef Py_ssize_t i
        cdef path_t *path = <path_t *>enlarged(&self.rooms[PATHS], k * sizeof(path_t))
        enlarged(&self.rooms[RUNS], runs.shape[0] * sizeof(uint32_t))
        with nogil:
            if runs.shape[0]:
                memcpy(self.rooms[RUNS].p, &runs[0], runs.shape[0] * sizeof(uint32_t))
            for i in range(k):
                path[i] = path_t(diagonal[rows[i]], start[rows[i]], n_runs[rows[i]])

    cdef int align(self, place_t *place, Py_ssize_t k, bint centred) except -1 nogil:
        """Align k places: fills PATHS. Where bands are `centred`, they may move."""
        cdef path_t *path = <path_t *>enlarged(&self.rooms[PATHS], k * sizeof(path_t))
        cdef Py_ssize_t *row = <Py_ssize_t *>enlarged(&self.rooms[ROWS], 2 * k * sizeof(Py_ssize_t))
        cdef Py_ssize_t *some = row + k
        cdef Py_ssize_t i, gapped = 0, m, walked = 0
        cdef uint32_t r, length
        cdef int width
        for i in range(k):
            if i + AHEAD < k:
                prefetch_read(self.reference, place[i + AHEAD].first + place[i + AHEAD].end)
            r = place[i].read_strand >> 1
            length = self.reads.lengths[r]
            path[i] = path_t(ungapped_diagonal(
                self.reference, place[i].first + place[i].end, self.reads.planes,
                first_base(self.reads.plane_start[r], place[i].read_strand, length), length, place[i].edits,
                place[i].reach), 0, 0)
            row[gapped] = i
            gapped += path[i].position == 0
        for width in range(4):
            m = 0
            for i in range(gapped):
                if place[row[i]].words == 1 << width:
                    some[m] = row[i]
                    m += 1
                if m and (i == gapped - 1 or m * (64 << width) >= PROFILE_CELLS):
                    walked = self.walk(place, some, <uint32_t>m, width, centred, walked)
                    m = 0
        return 0

    cdef Py_ssize_t walk(self, place_t *place, const Py_ssize_t *row, uint32_t m, int width, bint centred,
                         Py_ssize_t walked) except -1 nogil:
        """Walk m bands of a width back, their runs behind the `walked` ones; returns how many these are then."""
        cdef path_t *path = <path_t *>self.rooms[PATHS].p
        cdef coordinate_t *first = <coordinate_t *>enlarged(
            &self.rooms[PAIRS], m * (sizeof(coordinate_t) + 2 * sizeof(uint32_t) + 4 * sizeof(uint16_t)))
        cdef uint32_t *strands = <uint32_t *>(first + m)
        cdef uint32_t *slots = strands + m
        cdef uint16_t *end = <uint16_t *>(slots + m)
        cdef uint16_t *edits = end + m
        cdef uint16_t *start = edits + m
        cdef uint16_t *n_runs = start + m
        cdef uint32_t slot_end = 0, longest = 0, j
        cdef int64_t began = now()
        cdef band_batch batch
        cdef band_paths paths
        if centred:
            self.centre(place, row, m, width)
        for j in range(m):
            first[j], strands[j] = place[row[j]].first, place[row[j]].read_strand
            end[j], edits[j] = place[row[j]].end, place[row[j]].edits
            longest = max(longest, self.reads.lengths[strands[j] >> 1])
            slot_end += 2 * <uint32_t>edits[j] + 1
            slots[j] = slot_end
        paths.end, paths.edits, paths.slot_end, paths.start, paths.n_runs = end, edits, slots, start, n_runs
        paths.runs = <uint32_t *>enlarged(&self.rooms[RUNS], (walked + slot_end) * sizeof(uint32_t)) + walked
        self.traced += m
        batch = bands_at(&self.reference, &self.reads, strands, first, m)
        if self.kernels.align[width](&batch, &paths, longest):
            with gil:
                raise MemoryError("no memory for the traceback")
        self.note(m, began)
        for j in range(m):
            if n_runs[j] == NO_SCORE:
                with gil:
                    raise ValueError(f"a band has no alignment with {edits[j]} errors on diagonal {end[j]}")
            path[row[j]] = path_t(first[j] + start[j], walked + slots[j] - n_runs[j], n_runs[j])
        return walked + slot_end

    cdef int centre(self, place_t *place, const Py_ssize_t *row, uint32_t m, int width) except -1 nogil:
        """Move m bands of a width so that each has its end in the middle.

        Of several bands that hold a place any may have come first. At its edge some of the equally good alignments are
        missing, in the middle none is, so which of them is walked depends on the place alone. A band stays where it is
        if the moved one has fewer errors: no seed led there.
        """
        cdef coordinate_t *first = <coordinate_t *>self.rooms[PAIRS].p
        cdef uint32_t *strands = <uint32_t *>(first + m)
        cdef uint16_t middle = 32 << width
        cdef uint16_t *errors = <uint16_t *>enlarged(&self.rooms[PROFILE], m * (<size_t>128 << width))
        cdef int64_t began = now()
        cdef band_batch batch
        cdef uint32_t j
        for j in range(m):
            first[j], strands[j] = place[row[j]].first + place[row[j]].end - middle, place[row[j]].read_strand
        self.scored += m
        batch = bands_at(&self.reference, &self.reads, strands, first, m)
        self.kernels.profile[width](&batch, <uint64_t *>errors)
        self.note(m, began)
        for j in range(m):
            if errors[(<size_t>j * 2 + 1) * middle] == place[row[j]].edits:
                place[row[j]].first, place[row[j]].end = first[j], middle
        return 0

    cdef void note(self, uint32_t m, int64_t began) noexcept nogil:
        self.calls += 1
        self.pairs += m
        self.kernel += now() - began

    cdef hit_t *finish(self, const place_t *place, Py_ssize_t k) except NULL nogil:
        """The hits of k places that were aligned; their `flag` holds the strand only. Adds their runs to CIGARS."""
        cdef hit_t *hit = <hit_t *>enlarged(&self.rooms[HITS], k * sizeof(hit_t))
        cdef const path_t *path = <const path_t *>self.rooms[PATHS].p
        cdef const uint32_t *runs = <const uint32_t *>self.rooms[RUNS].p
        cdef uint32_t *fewest
        cdef uint32_t *cigars
        cdef Py_ssize_t i, n
        cdef uint32_t r, m
        cdef int64_t position
        for i in range(k):
            r = place[i].read_strand >> 1
            m, position, n = self.reads.lengths[r], path[i].position, path[i].n_runs
            fewest = <uint32_t *>enlarged(&self.rooms[FEWEST], (2 * n + 1) * sizeof(uint32_t))
            if n == 0:
                fewest[0], n = m << 4 | CIGAR_MATCH, 1
            else:
                n = fewest_gaps(runs + path[i].first_run, n, fewest, &position, self.reference, self.reads.planes,
                                first_base(self.reads.plane_start[r], place[i].read_strand, m), m)
                if n < 0:
                    with gil:
                        raise MemoryError("no memory for the traceback")
            # What a contig cuts has two runs more.
            cigars = <uint32_t *>enlarged(&self.rooms[CIGARS], (self.n_runs + n + 4) * sizeof(uint32_t)) + self.n_runs
            fit_contig(fewest, &n, &position, m, &self.contigs, cigars)
            hit[i] = hit_t(r, position, <uint32_t>self.n_runs, <uint16_t>n, place[i].edits,
                           REVERSE * (place[i].read_strand & 1), 0, place[i].read_strand & 1, -<int32_t>place[i].edits, 0, 0)
            self.n_runs += n
        return hit

    cdef uint8_t rate(self, rating_t *rating, const hit_t *hit, double loss) noexcept nogil:
        """The quality of a hit that has this rating, with the copies beside it. `loss`: in mismatches."""
        self.rater.cap_beside(rating, self.reference, &self.reads, hit.read << 1 | hit.strand, hit.position, 0,
                              self.reads.lengths[hit.read], loss)
        return rating.mapq

