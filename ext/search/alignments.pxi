"""From scored bands to the alignments that are reported.

`loss_of` weighs deaminated bases, and `Traces` aligns the places of whole reads.
"""

cdef struct path_t:
    # An alignment: the diagonal on which it begins, its runs in RUNS, none of an ungapped one, and its errors.
    int64_t position
    Py_ssize_t first_run, n_runs
    uint16_t edits


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


cdef class Traces:
    """Aligns the places of whole reads in an index, for the thread that it belongs to. Its memory is used again.

    Attributes
    ----------
    scored, traced : int
        Of the last call: bands that were scored, and alignments that were walked back.
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
        cdef const uint16_t[::1] n_runs = traced.n_runs, edits = traced.edits
        cdef Py_ssize_t i
        cdef path_t *path = <path_t *>enlarged(&self.rooms[PATHS], k * sizeof(path_t))
        enlarged(&self.rooms[RUNS], runs.shape[0] * sizeof(uint32_t))
        with nogil:
            if runs.shape[0]:
                memcpy(self.rooms[RUNS].p, &runs[0], runs.shape[0] * sizeof(uint32_t))
            for i in range(k):
                path[i] = path_t(diagonal[rows[i]], start[rows[i]], n_runs[rows[i]], edits[rows[i]])

    cdef int align(self, const place_t *place, Py_ssize_t k) except -1 nogil:
        """Align k places: fills PATHS. An ungapped alignment is taken where there is one (`ungapped_diagonal`); else one with
        the fewest errors, and of these the fewest gaps, that ends where the place does."""
        cdef path_t *path = <path_t *>enlarged(&self.rooms[PATHS], k * sizeof(path_t))
        cdef Py_ssize_t *row = <Py_ssize_t *>enlarged(&self.rooms[ROWS], 2 * k * sizeof(Py_ssize_t))
        cdef Py_ssize_t *some = row + k
        cdef Py_ssize_t i, gapped = 0, done = 0, walked = 0
        cdef uint32_t r, length, m, width = 16
        for i in range(k):
            if i + AHEAD < k:
                prefetch_read(self.reference, place[i + AHEAD].first + place[i + AHEAD].end)
            r = place[i].read_strand >> 1
            length = self.reads.lengths[r]
            path[i] = path_t(ungapped_diagonal(
                self.reference, place[i].first + place[i].end, self.reads.planes,
                first_base(self.reads.plane_start[r], place[i].read_strand, length), length, place[i].edits,
                place[i].reach), 0, 0, place[i].edits)
            row[gapped] = i
            gapped += path[i].position == 0
        while done < gapped:
            m = 0
            for i in range(gapped):
                if whole_width(place[row[i]].edits) == width:
                    some[m] = row[i]
                    m += 1
            walked = self.walk(place, some, m, width, walked)
            done, width = done + m, 2 * width
        return 0

    cdef Py_ssize_t walk(self, const place_t *place, const Py_ssize_t *row, uint32_t m, uint32_t width,
                         Py_ssize_t walked) except -1 nogil:
        """Align m places in bands of a width around their ends, with runs behind the `walked` ones; returns how many there
        are then."""
        cdef path_t *path = <path_t *>self.rooms[PATHS].p
        cdef coordinate_t *first = <coordinate_t *>enlarged(
            &self.rooms[PAIRS], m * (2 * sizeof(coordinate_t) + 2 * sizeof(uint32_t) + 4 * sizeof(uint16_t)))
        cdef coordinate_t *position = first + m
        cdef uint32_t *strands = <uint32_t *>(position + m)
        cdef uint32_t *slots = strands + m
        cdef uint16_t *length = <uint16_t *>(slots + m)
        cdef uint16_t *end = length + m
        cdef uint16_t *edits = end + m
        cdef uint16_t *n_runs = edits + m
        cdef uint32_t slot_end = 0, longest = 0, j
        cdef int64_t began = now()
        cdef band_batch batch
        cdef local_ends ends = local_ends(NULL, length, end)
        cdef local_paths paths
        for j in range(m):
            first[j], strands[j] = place[row[j]].first + place[row[j]].end - width // 2, place[row[j]].read_strand
            length[j], end[j] = self.reads.lengths[strands[j] >> 1], width // 2
            longest = max(longest, length[j])
            slot_end += 2 * <uint32_t>place[row[j]].edits + 1
            slots[j] = slot_end
        paths.slot_end, paths.position, paths.edits, paths.n_runs, paths.are_whole = slots, position, edits, n_runs, True
        paths.runs = <uint32_t *>enlarged(&self.rooms[RUNS], (walked + slot_end) * sizeof(uint32_t)) + walked
        batch = bands_at(&self.reference, &self.reads, strands, first, m)
        if m and self.kernels.local_align(&batch, &of_whole_reads, width, &ends, &paths, longest):
            with gil:
                raise MemoryError("no memory for the traceback")
        for j in range(m):
            path[row[j]] = path_t(position[j], walked + slots[j] - n_runs[j], n_runs[j], edits[j])
        self.traced, self.calls, self.pairs = self.traced + m, self.calls + 1, self.pairs + m
        self.kernel += now() - began
        return walked + slot_end

    cdef hit_t *finish(self, const place_t *place, Py_ssize_t k) except NULL nogil:
        """The hits of k places that were aligned; their `flag` holds the strand only. Adds their runs to CIGARS."""
        cdef hit_t *hit = <hit_t *>enlarged(&self.rooms[HITS], k * sizeof(hit_t))
        cdef const path_t *path = <const path_t *>self.rooms[PATHS].p
        cdef const uint32_t *runs
        cdef uint32_t *cigars
        cdef Py_ssize_t i, n
        cdef uint32_t r, m, whole
        cdef uint16_t edits
        cdef int64_t position
        for i in range(k):
            r = place[i].read_strand >> 1
            m, position, n = self.reads.lengths[r], path[i].position, path[i].n_runs
            runs, whole = <const uint32_t *>self.rooms[RUNS].p + path[i].first_run, m << 4 | CIGAR_MATCH
            edits = path[i].edits
            if n == 0:
                runs, n = &whole, 1
            elif cigar_op(runs[n - 1]) == CIGAR_DELETION:  # no seed led to the better place where that begins
                n -= 1
                edits -= <uint16_t>cigar_length(runs[n])
            # What a contig cuts has two runs more.
            cigars = <uint32_t *>enlarged(&self.rooms[CIGARS], (self.n_runs + n + 4) * sizeof(uint32_t)) + self.n_runs
            fit_contig(runs, &n, &position, m, &self.contigs, cigars)
            hit[i] = hit_t(r, position, <uint32_t>self.n_runs, <uint16_t>n, edits,
                           REVERSE * (place[i].read_strand & 1), 0, place[i].read_strand & 1, -<int32_t>edits, 0, 0)
            self.n_runs += n
        return hit

    cdef uint8_t rate(self, rating_t *rating, const hit_t *hit, double loss) noexcept nogil:
        """The quality of a hit that has this rating, with the copies beside it. `loss`: in mismatches."""
        self.rater.cap_beside(rating, self.reference, &self.reads, hit.read << 1 | hit.strand, hit.position, 0,
                              self.reads.lengths[hit.read], loss)
        return rating.mapq

