"""Local alignments to hits: cut where a contig ends, scored anew from their bases."""

cdef struct ground_t:
    # What the reads of a batch are aligned to, and how. Its arrays belong to the context that it was made of.
    planes_t reference
    reads_t reads
    contigs_t contigs
    costs_t costs
    bint is_whole           # reads are aligned from end to end


cdef struct aligned_t:
    # An alignment in a band, before it is cut at the ends of its contig.
    uint32_t read_strand
    int64_t position        # of the first aligned base
    const uint32_t *cigar
    Py_ssize_t runs         # 0: all bases lie along the diagonal
    int32_t score
    uint16_t edits          # NO_SCORE: these and the score are to be counted


cdef inline uint32_t clipped(uint32_t run) noexcept nogil:
    """Bases of the run, if it is a clip."""
    return cigar_length(run) if cigar_op(run) == CIGAR_SOFT_CLIP else 0


cdef Py_ssize_t best_columns(const aligned_t *aligned, const ground_t *ground, int64_t base, int64_t start, int64_t end,
                             Py_ssize_t *first) noexcept nogil:
    """Of an alignment's columns within start .. end - 1 the stretch with the best total, the shortest one of equals; all of
    these of a whole read.

    `first` gets its first column, and what is returned is behind its last. `base` is the first base of the strand.
    """
    cdef const costs_t *costs = &ground.costs
    cdef Py_ssize_t i, c = 0, begin = 0, to = 0
    cdef int64_t at = aligned.position
    cdef uint32_t op, length, j
    cdef int32_t score, total, running = 0, best = 0
    cdef bases64_t x, y
    first[0] = 0
    for i in range(aligned.runs):
        op, length = cigar_op(aligned.cigar[i]), cigar_length(aligned.cigar[i])
        for j in range(length if op != CIGAR_SOFT_CLIP else 0):
            score = -costs.extend_gap[op] - (costs.open_gap[op] if j == 0 else 0)
            if ground.is_whole:
                score = 1
            elif op == CIGAR_MATCH:
                x, y = bases_at(ground.reads.planes, base + j), bases_at(ground.reference, at)
                score = -1 if unknown_bases(x, y) & 1 else -costs.mismatch if differences(x, y) & 1 else costs.match
            if start <= at < end:
                if running <= 0:
                    begin, running = c, costs.bonus if i == j == 0 else 0
                running += score
                total = running + (costs.bonus if i == aligned.runs - 1 and j == length - 1 else 0)
                if total > best:
                    best, first[0], to = total, begin, c + 1
            at += op != CIGAR_INSERTION
            c += 1
        base += length if op != CIGAR_DELETION else 0
    return to


cdef Py_ssize_t trimmed(const aligned_t *aligned, Py_ssize_t first, Py_ssize_t to, int64_t m, uint32_t outer, uint32_t *out,
                        int64_t *position) noexcept nogil:
    """Columns first .. to - 1 of an alignment of m bases: how many runs they have, and where they begin. All else is `outer`,
    clipped or inserted."""
    cdef Py_ssize_t i, before, kept, n = 0
    cdef uint32_t op, length, bases = 0
    position[0] = aligned.position
    for i in range(aligned.runs):
        op, length = cigar_op(aligned.cigar[i]), cigar_length(aligned.cigar[i])
        before, kept = length, 0
        if op != CIGAR_SOFT_CLIP:
            before = min(max(first, 0), <Py_ssize_t>length)
            kept = min(max(to, 0), <Py_ssize_t>length) - before
            first, to = first - length, to - length
        if n == 0:
            bases += <uint32_t>before if op != CIGAR_DELETION else 0
            position[0] += before if op == CIGAR_MATCH or op == CIGAR_DELETION else 0
            n = cigar_push(out, n, outer, bases if kept > 0 else 0)
        if kept > 0:
            n = cigar_push(out, n, op, <uint32_t>kept)
            bases += <uint32_t>kept if op != CIGAR_DELETION else 0
    return cigar_push(out, n, outer, <uint32_t>m - bases) if n else 0


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


cdef ground_t ground_of(reference, scoring, bint is_whole) except *:
    """What reads are aligned to, by the costs of a params.Scoring."""
    cdef const int64_t[::1] starts = reference.starts, lengths = reference.lengths
    cdef ground_t ground
    memset(&ground, 0, sizeof(ground))
    ground.reference, ground.costs, ground.is_whole = planes_of(reference.planes), costs_of(scoring), is_whole
    ground.contigs = contigs_t(&starts[0], &lengths[0], starts.shape[0])
    return ground


cdef Py_ssize_t hit_of(const ground_t *ground, aligned_t aligned, uint32_t *out, hit_t *hit, local_line_t *line) noexcept nogil:
    """The hit of an alignment, and where it lies. Returns how many runs it has in `out`, two more than before at most.

    None where nothing inside a contig is worth aligning. `flag` holds the strand only; `mapq` and `cigar_start` are 0. Ends
    that hang over a contig are clipped; of a whole read they are inserted.
    """
    cdef uint32_t r = aligned.read_strand >> 1, strand = aligned.read_strand & 1, tail = 0
    cdef Py_ssize_t runs, j, begin, to
    cdef int64_t m = ground.reads.lengths[r], span = cigar_span(aligned.cigar, aligned.runs), start, end, first = 0, last = 0
    cdef int64_t base = first_base(ground.reads.plane_start[r], aligned.read_strand, m)
    j = contig_near(ground.contigs.starts, ground.contigs.lengths, ground.contigs.n, aligned.position + (span >> 1))
    start = ground.contigs.starts[j]
    end = start + ground.contigs.lengths[j]
    if ground.is_whole and aligned.runs > 1:
        tail = cigar_length(aligned.cigar[aligned.runs - 1])
        if cigar_op(aligned.cigar[aligned.runs - 1]) == CIGAR_DELETION:  # no seed led to the better place where that begins
            aligned.runs, aligned.edits, span, tail = aligned.runs - 1, NO_SCORE, span - tail, 0
        elif cigar_op(aligned.cigar[aligned.runs - 1]) == CIGAR_MATCH:
            tail = 0
    runs = aligned.runs
    memset(hit, 0, sizeof(hit_t))
    hit.read, hit.strand, hit.flag = r, <uint8_t>strand, <uint16_t>(REVERSE * strand)
    hit.position, hit.score, hit.edits = aligned.position, aligned.score, aligned.edits
    if aligned.position < start or aligned.position + span + tail > end:
        to = best_columns(&aligned, ground, base, start, end, &begin)
        runs = trimmed(&aligned, begin, to, m, CIGAR_INSERTION if ground.is_whole else CIGAR_SOFT_CLIP, out, &hit.position)
        hit.edits, span = NO_SCORE, cigar_span(out, runs)
    else:
        memcpy(out, aligned.cigar, runs * sizeof(uint32_t))
        if tail:  # an insertion at the end of the read costs no less than mismatches
            runs -= 1
            out[runs - 1] += tail << 4
    hit.cigar_runs = <uint16_t>(runs if span > 0 else 0)
    if hit.edits == NO_SCORE:
        inside(out, hit.cigar_runs, ground.reference, ground.reads.planes, base, hit.position, &ground.costs, hit)
    if hit.cigar_runs:
        first, last = clipped(out[0]), m - clipped(out[runs - 1])
    line.read_strand, line.begin, line.end = aligned.read_strand, first, last
    if strand:
        line.begin, line.end = m - last, m - first
    line.total = hit.score + ground.costs.bonus * (<int32_t>(first == 0) + <int32_t>(last == m))
    line.first_diagonal = line.last_diagonal = line.low_diagonal = line.high_diagonal = hit.position - first
    for j in range(hit.cigar_runs):
        line.last_diagonal += cigar_length(out[j]) if cigar_op(out[j]) == CIGAR_DELETION else 0
        line.last_diagonal -= cigar_length(out[j]) if cigar_op(out[j]) == CIGAR_INSERTION else 0
        line.low_diagonal = min(line.low_diagonal, line.last_diagonal)
        line.high_diagonal = max(line.high_diagonal, line.last_diagonal)
    return hit.cigar_runs
