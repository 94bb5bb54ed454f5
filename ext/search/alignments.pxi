"""From scored bands to the alignments that are reported.

`loss_of` weighs deaminated bases, and `Traces` aligns the places of whole reads.
"""

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


cdef class Aligner:
    """Scores and aligns in bands, for the thread that it belongs to. Its memory is used again.

    Attributes, of the batch: bands that were `scored`, those among them that a device has scored (`found`), and those with
    alignments that were `traced` back; `calls` of the host's kernels, of how many bands (`pairs`), and their nanoseconds
    (`kernel`).
    """

    cdef const cpu_kernels *kernels
    cdef ground_t ground
    cdef room_t rooms[N_ROOMS]
    cdef Py_ssize_t n_runs
    cdef readonly int64_t scored, traced, found, calls, pairs, kernel

    def __dealloc__(self):
        for i in range(N_ROOMS):
            free(self.rooms[i].p)

    cdef int begin(self, context) except -1:
        """Begin with a batch (search.context.BatchContext), which must outlive what is asked for it."""
        self.kernels = kernels_of(None)
        self.ground = ground_of(context.reference, context.params.scoring)
        self.ground.reads = reads_of(context.packed, context.flip)
        self.n_runs = self.scored = self.traced = self.found = self.calls = self.pairs = self.kernel = 0
        return 0

    cdef int open_paths(self, uint32_t m, int64_t runs, bint are_whole, local_paths *paths) except -1 nogil:
        """Memory for m alignments with so many runs in all; where those of each end is in SLOTS."""
        cdef uint16_t *shorts = <uint16_t *>enlarged(&self.rooms[SHORTS], 2 * m * sizeof(uint16_t))
        if runs >> 32:
            with gil:
                raise ValueError("too many alignments for one call")
        paths[0] = local_paths(<const uint32_t *>self.rooms[SLOTS].p,
                               <coordinate_t *>enlarged(&self.rooms[POSITIONS], m * sizeof(coordinate_t)), shorts, shorts + m,
                               <uint32_t *>enlarged(&self.rooms[RUNS], runs * sizeof(uint32_t)), are_whole)
        return 0

    cdef int run_kernel(self, const local_scoring *costs, int64_t width, uint32_t m, const local_paths *paths,
                        uint32_t longest) except -1 nogil:
        """The best alignments in the m bands of STRANDS and FIRSTS: fills ENDS, and `paths` unless that is NULL."""
        cdef uint16_t *end = <uint16_t *>enlarged(&self.rooms[ENDS], 3 * m * sizeof(uint16_t))
        cdef local_ends ends = local_ends(end, end + m, end + 2 * m)
        cdef band_batch batch = bands_at(&self.ground.reference, &self.ground.reads, <const uint32_t *>self.rooms[STRANDS].p,
                                         <const coordinate_t *>self.rooms[FIRSTS].p, m)
        cdef int64_t began = now()
        if paths == NULL:
            self.kernels.local_score(&batch, costs, <uint32_t>width, &ends)
            self.scored += m
        elif self.kernels.local_align(&batch, costs, <uint32_t>width, &ends, paths, longest):
            with gil:
                raise MemoryError("no memory for the traceback")
        else:
            self.traced += m
        self.calls, self.pairs, self.kernel = self.calls + 1, self.pairs + m, self.kernel + now() - began
        return 0


cdef class Traces(Aligner):
    """Aligns the places of whole reads: their hits are in HITS, with a `flag` that holds the strand only."""

    cdef int take(self, traced, const place_t *place, const int64_t *rows, Py_ssize_t k) except -1:
        """The alignments of k places that a device has made: `rows` of gpu.found.TracedRows."""
        cdef const uint32_t[::1] diagonal = traced.diagonal, start = traced.start, runs = traced.cigars
        cdef const uint16_t[::1] n_runs = traced.n_runs, edits = traced.edits
        cdef const uint32_t *first = &runs[0] if runs.shape[0] else NULL
        cdef Py_ssize_t i
        enlarged(&self.rooms[HITS], k * sizeof(hit_t))
        with nogil:
            for i in range(k):
                self.put(i, &place[i], diagonal[rows[i]], first + start[rows[i]], n_runs[rows[i]], edits[rows[i]])
        return 0

    cdef int align(self, const place_t *place, Py_ssize_t k) except -1 nogil:
        """Align k places. An ungapped alignment is taken where there is one (`ungapped_diagonal`); else one with the fewest
        errors, and of these the fewest gaps, that ends where the place does."""
        cdef const reads_t *reads = &self.ground.reads
        cdef Py_ssize_t *row = <Py_ssize_t *>enlarged(&self.rooms[ROWS], k * sizeof(Py_ssize_t))
        cdef Py_ssize_t i, gapped = 0, done = 0
        cdef uint32_t r, width = 16
        cdef coordinate_t diagonal
        enlarged(&self.rooms[HITS], k * sizeof(hit_t))
        for i in range(k):
            if i + AHEAD < k:
                prefetch_read(self.ground.reference, place[i + AHEAD].first + place[i + AHEAD].end)
            r = place[i].read_strand >> 1
            diagonal = ungapped_diagonal(
                self.ground.reference, place[i].first + place[i].end, reads.planes,
                first_base(reads.plane_start[r], place[i].read_strand, reads.lengths[r]), reads.lengths[r], place[i].edits,
                place[i].reach)
            if diagonal:
                self.put(i, &place[i], diagonal, NULL, 0, place[i].edits)
            else:
                row[gapped] = i
                gapped += 1
        while done < gapped:
            done += self.walk(place, row, gapped, width)
            width *= 2
        return 0

    cdef uint32_t walk(self, const place_t *place, const Py_ssize_t *row, Py_ssize_t gapped, uint32_t width) except? 0 nogil:
        """Align those of the gapped places that need a band of this width, around their ends; returns how many there are."""
        cdef uint32_t *pairs = <uint32_t *>enlarged(&self.rooms[PAIRS], gapped * sizeof(uint32_t))
        cdef uint32_t *strands = <uint32_t *>enlarged(&self.rooms[STRANDS], gapped * sizeof(uint32_t))
        cdef coordinate_t *firsts = <coordinate_t *>enlarged(&self.rooms[FIRSTS], gapped * sizeof(coordinate_t))
        cdef uint32_t *slots = <uint32_t *>enlarged(&self.rooms[SLOTS], gapped * sizeof(uint32_t))
        cdef uint16_t *end
        cdef const place_t *one
        cdef int64_t runs = 0
        cdef uint32_t m = 0, longest = 0, j
        cdef local_paths paths
        for j in range(gapped):
            one = &place[row[j]]
            if whole_width(one.edits) == width:
                pairs[m], strands[m], firsts[m] = <uint32_t>row[j], one.read_strand, one.first + one.end - width // 2
                longest, runs = max(longest, self.ground.reads.lengths[one.read_strand >> 1]), runs + 2 * one.edits + 1
                slots[m] = <uint32_t>runs
                m += 1
        if m == 0:
            return 0
        end = <uint16_t *>enlarged(&self.rooms[ENDS], 3 * m * sizeof(uint16_t))
        for j in range(m):
            end[m + j], end[2 * m + j] = <uint16_t>self.ground.reads.lengths[strands[j] >> 1], <uint16_t>(width // 2)
        self.open_paths(m, runs, True, &paths)
        self.run_kernel(&of_whole_reads, width, m, &paths, longest)
        for j in range(m):
            self.put(pairs[j], &place[pairs[j]], paths.position[j], paths.runs + slots[j] - paths.n_runs[j], paths.n_runs[j],
                     paths.edits[j])
        return m

    cdef int put(self, Py_ssize_t i, const place_t *place, int64_t position, const uint32_t *runs, Py_ssize_t n,
                 uint16_t edits) except -1 nogil:
        """Make an alignment, which has no runs where it is ungapped, hit i."""
        cdef uint32_t r = place.read_strand >> 1, m = self.ground.reads.lengths[r], whole = m << 4 | CIGAR_MATCH
        cdef uint32_t *cigars
        if n == 0:
            runs, n = &whole, 1
        elif cigar_op(runs[n - 1]) == CIGAR_DELETION:  # no seed led to the better place where that begins
            n -= 1
            edits -= <uint16_t>cigar_length(runs[n])
        # What a contig cuts has two runs more.
        cigars = <uint32_t *>enlarged(&self.rooms[CIGARS], (self.n_runs + n + 4) * sizeof(uint32_t)) + self.n_runs
        fit_contig(runs, &n, &position, m, &self.ground.contigs, cigars)
        (<hit_t *>self.rooms[HITS].p)[i] = hit_t(
            r, position, <uint32_t>self.n_runs, <uint16_t>n, edits, REVERSE * (place.read_strand & 1), 0,
            place.read_strand & 1, -<int32_t>edits, 0, 0)
        self.n_runs += n
        return 0
