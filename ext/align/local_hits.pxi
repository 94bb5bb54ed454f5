"""Local alignments to hits: cut where a contig ends, scored anew from their bases."""

cdef struct ground_t:
    # What the reads of a batch are aligned to, and how. Its arrays belong to the context that it was made of.
    planes_t reference
    planes_t reads
    const uint32_t *plane_start
    const uint32_t *lengths
    contigs_t contigs
    costs_t costs


cdef struct aligned_t:
    # An alignment in a band, before it is cut at the ends of its contig.
    uint32_t read_strand
    int64_t position        # of the first aligned base
    const uint32_t *cigar
    Py_ssize_t runs
    int32_t score
    uint16_t edits          # NO_SCORE: these and the score are to be counted


cdef struct column_t:
    uint8_t op
    uint8_t differs
    int32_t score

# Columns of one alignment between its clipped ends, and what of it is kept: from..to-1.
cdef struct alignment_t:
    column_t *columns
    Py_ssize_t n, first, to
    uint32_t clipped     # read bases before the first column
    uint32_t length      # of the read
    int64_t position     # of the first column


cdef inline uint32_t clipped(uint32_t run) noexcept nogil:
    """Bases of the run, if it is a clip."""
    return cigar_length(run) if cigar_op(run) == CIGAR_SOFT_CLIP else 0


cdef void expand(const uint32_t *cigar, Py_ssize_t runs, planes_t reference, planes_t reads, int64_t base,
                 const costs_t *costs, alignment_t *a) noexcept nogil:
    """Fill `a` from a CIGAR at a.position; `base` is the first base of the strand in `reads`."""
    cdef Py_ssize_t i
    cdef uint32_t j, op, length
    cdef int64_t at = a.position
    cdef bases64_t x, y
    cdef bint unknown
    cdef column_t *column
    a.n = a.clipped = 0
    for i in range(runs):
        op, length = cigar_op(cigar[i]), cigar_length(cigar[i])
        if op == CIGAR_SOFT_CLIP:
            if i == 0:
                a.clipped = length
                base += length
            continue
        for j in range(length):
            column = &a.columns[a.n]
            a.n += 1
            column.op, column.differs = <uint8_t>op, 1
            if op == CIGAR_MATCH:
                x, y = bases_at(reads, base), bases_at(reference, at)
                unknown = unknown_bases(x, y) & 1 or base_at(reference, at) == MASKED_BASE
                column.differs = unknown or differences(x, y) & 1
                column.score = -1 if unknown else -costs.mismatch if column.differs else costs.match
            else:
                column.score = -costs.extend_gap[op] - (costs.open_gap[op] if j == 0 else 0)
            base += op != CIGAR_DELETION
            at += op != CIGAR_INSERTION
    a.first, a.to = 0, a.n


cdef void cut_columns(int64_t contig_start, int64_t contig_end, int32_t bonus, bint at_start, bint at_end,
              alignment_t *a) noexcept nogil:
    """Of what lies inside the contig keep the stretch with the best score, the shortest one of equals."""
    cdef int64_t at = a.position
    cdef int32_t running = 0, best = 0, total
    cdef Py_ssize_t c, begin = 0
    a.first = a.to = 0
    for c in range(a.n):
        if at >= contig_start and at < contig_end:
            if running <= 0:
                begin, running = c, bonus if at_start and c == 0 else 0
            running += a.columns[c].score
            total = running + (bonus if at_end and c == a.n - 1 else 0)
            if total > best:
                best, a.first, a.to = total, begin, c + 1
        at += a.columns[c].op != CIGAR_INSERTION


cdef void write(const alignment_t *a, uint32_t *cigars, hit_t *hit, uint16_t *begin, uint16_t *end) noexcept nogil:
    """Runs, position, score and edits of what is kept; no runs where nothing is."""
    cdef Py_ssize_t c, n = 0
    cdef uint32_t q = a.clipped, edits = 0
    cdef int64_t at = a.position
    cdef int32_t score = 0
    for c in range(a.first):
        q += a.columns[c].op != CIGAR_DELETION
        at += a.columns[c].op != CIGAR_INSERTION
    begin[0] = <uint16_t>q
    hit.position = at
    n = cigar_push(cigars, n, CIGAR_SOFT_CLIP, q)
    for c in range(a.first, a.to):
        n = cigar_push(cigars, n, a.columns[c].op, 1)
        q += a.columns[c].op != CIGAR_DELETION
        edits += a.columns[c].differs
        score += a.columns[c].score
    end[0] = <uint16_t>q
    n = cigar_push(cigars, n, CIGAR_SOFT_CLIP, a.length - q)
    hit.cigar_runs = <uint16_t>(n if a.to > a.first else 0)
    hit.edits = <uint16_t>edits
    hit.score = score


cdef void inside(const uint32_t *cigar, Py_ssize_t runs, planes_t reference, planes_t reads, int64_t base, int64_t at,
                 const costs_t *costs, hit_t *hit) noexcept nogil:
    """Score and edits of an alignment that lies inside a contig, 64 bases at once; `at` is its first base."""
    cdef Py_ssize_t i
    cdef uint32_t op, length, j
    cdef uint64_t live, differ, masked
    cdef bases64_t x, y
    cdef int32_t score = 0, edits = 0, unequal, unknown
    for i in range(runs):
        op, length = cigar_op(cigar[i]), cigar_length(cigar[i])
        if op == CIGAR_MATCH:
            unequal = unknown = 0
            for j in range(0, length, 64):
                x, y = bases_at(reads, base + j), bases_at(reference, at + j)
                live = first_bases(length - j)
                differ, masked = differences(x, y) & live, unknown_bases(x, y) & live
                unequal += count_bits(differ)
                unknown += count_bits(masked)
            edits += unequal
            score += costs.match * (<int32_t>length - unequal) - costs.mismatch * (unequal - unknown) - unknown
        elif op != CIGAR_SOFT_CLIP:
            edits += length
            score -= costs.open_gap[op] + costs.extend_gap[op] * <int32_t>length
        base += length if op != CIGAR_DELETION else 0
        at += length if op == CIGAR_MATCH or op == CIGAR_DELETION else 0
    hit.edits, hit.score = <uint16_t>edits, score


cdef ground_t ground_of(context) except *:
    """What the reads of a search.context.BatchContext are aligned to: `packed`, `reference`, `params.scoring`."""
    cdef const uint32_t[::1] plane_start = context.packed.plane_start, lengths = context.packed.lengths
    cdef const int64_t[::1] starts = context.reference.starts, contig_lengths = context.reference.lengths
    cdef ground_t ground
    ground.reference, ground.reads = planes_of(context.reference.planes), planes_of(context.packed.planes)
    ground.plane_start = &plane_start[0] if plane_start.shape[0] else NULL
    ground.lengths = &lengths[0] if lengths.shape[0] else NULL
    ground.contigs = contigs_t(&starts[0], &contig_lengths[0], starts.shape[0])
    ground.costs = costs_of(context.params.scoring)
    return ground


cdef Py_ssize_t hit_of(const ground_t *ground, const aligned_t *aligned, bint best_part, room_t *room, uint32_t *out,
                       hit_t *hit, local_line_t *line) except -1 nogil:
    """The hit of an alignment, and where it lies. Returns how many runs it has in `out`, two more than before at most.

    None where nothing inside a contig is worth aligning. `flag` holds the strand only; `mapq` and `cigar_start` are 0.
    `best_part`: the part with the highest score is kept, and the rest is clipped. `room` is used.
    """
    cdef uint32_t r = aligned.read_strand >> 1, strand = aligned.read_strand & 1
    cdef const uint32_t *cigar = aligned.cigar
    cdef Py_ssize_t runs = aligned.runs, j
    cdef int64_t span = cigar_span(cigar, runs), start, end
    cdef int32_t bonus = ground.costs.bonus
    cdef uint16_t first = 0, last = 0
    cdef size_t columns = 0
    cdef alignment_t a
    a.length, a.position = ground.lengths[r], aligned.position
    cdef int64_t base = first_base(ground.plane_start[r], aligned.read_strand, a.length)
    j = contig_near(ground.contigs.starts, ground.contigs.lengths, ground.contigs.n, a.position + (span >> 1))
    start = ground.contigs.starts[j]
    end = start + ground.contigs.lengths[j]
    memset(hit, 0, sizeof(hit_t))
    hit.read, hit.strand, hit.flag = r, <uint8_t>strand, <uint16_t>(REVERSE * strand)
    if not best_part and a.position >= start and a.position + span <= end:
        hit.position = a.position
        if aligned.edits == NO_SCORE:
            inside(cigar, runs, ground.reference, ground.reads, base, a.position, &ground.costs, hit)
        else:
            hit.score, hit.edits = aligned.score, aligned.edits
        first = <uint16_t>clipped(cigar[0])
        last = <uint16_t>(a.length - clipped(cigar[runs - 1]))
        hit.cigar_runs = <uint16_t>(runs if span > 0 else 0)
        memcpy(out, cigar, hit.cigar_runs * sizeof(uint32_t))
    else:
        for j in range(runs):
            columns += cigar_length(cigar[j])
        a.columns = <column_t *>enlarged(room, columns * sizeof(column_t))
        expand(cigar, runs, ground.reference, ground.reads, base, &ground.costs, &a)
        cut_columns(start, end, bonus, clipped(cigar[0]) == 0, clipped(cigar[runs - 1]) == 0, &a)
        write(&a, out, hit, &first, &last)
        span = cigar_span(out, hit.cigar_runs)
    line.read_strand, line.begin, line.end = aligned.read_strand, first, last
    if strand:
        line.begin, line.end = a.length - last, a.length - first
    line.total = hit.score + bonus * (<int32_t>(first == 0) + <int32_t>(last == a.length))
    line.first_diagonal, line.last_diagonal = hit.position - first, hit.position + span - last
    return hit.cigar_runs
