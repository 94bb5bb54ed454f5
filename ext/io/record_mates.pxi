# Part of records.pyx: what a record says of the other read of its pair: what the mate's primary row says or, of a
# secondary record, the row of the mate that lies beside it. Rows of the two mates are neighbours.


cdef int open_mate(cursor_t *c, size_t row) noexcept nogil:
    """The mate of the group's read, at its `row`."""
    cdef const batch_t *batch = c.batch
    cdef mate_t *mate = &c.mate
    cdef size_t read = c.next_read - 1
    cdef uint8_t which = batch.mate[read]
    cdef const hit_t *hit = batch.hits + row
    cdef int status
    if row >= batch.n_hits or hit.read != (read + 1 if which == 1 else read - 1):
        return BAD_READ_ORDER
    mate.hit = hit
    mate.flags = BAM_FPAIRED | (BAM_FREAD1 if which == 1 else BAM_FREAD2)
    mate.flags |= BAM_FMUNMAP if hit.flag & BAM_FUNMAP else 0
    mate.flags |= BAM_FMREVERSE if hit.flag & BAM_FREVERSE else 0
    status = locate(c, batch.hits + c.group_start if hit.flag & BAM_FUNMAP else hit, &mate.place)
    if status != BUILT:
        c.row = c.group_start if hit.flag & BAM_FUNMAP else row
        return status
    note_mate_cigar(c)
    return BUILT


cdef void note_mate_cigar(cursor_t *c) noexcept nogil:
    cdef const hit_t *hit = c.mate.hit
    cdef int reverse = (hit.flag & BAM_FREVERSE) != 0
    c.mate.cigar, c.mate.runs = c.batch.cigars + hit.cigar_start, hit.cigar_runs
    if hit.flag & BAM_FUNMAP:
        c.mate.runs = 0
    elif c.target.eqx:
        c.mate_strand.ready = False
        compare(c, hit, oriented(c.batch, &c.mate_strand, hit.read, reverse))
        c.mate.runs = <uint32_t>(put_cigar_eqx(c.mate_runs, c.mate.cigar, c.mate.runs, c.mismatch) - c.mate_runs)
        c.mate.cigar = c.mate_runs


cdef inline uint16_t with_mate_flags(const mate_t *mate, uint16_t flag) noexcept nogil:
    if mate.hit == NULL:
        return flag
    flag |= mate.flags
    return flag & ~BAM_FPROPER_PAIR if flag & (BAM_FUNMAP | BAM_FMUNMAP) else flag


cdef inline int64_t outer_end(const placement_t *place, const hit_t *hit) noexcept nogil:
    """The reference base under the first base sequenced, clips left aside."""
    return place.position + place.span - 1 if hit.flag & BAM_FREVERSE else place.position


cdef int64_t NEAR_BORDER = LEAST_SCORE  # bases: the search finds a part that is further away


cdef int64_t beyond_origin(const cursor_t *c, size_t row, const hit_t *hit, const placement_t *place) noexcept nogil:
    """How far the 5' end lies from the outer end of the alignment, if it is in a part at the other end of a circle.

    The rows of the read begin at `row`. Negative before the first base.
    """
    cdef bint reverse = (hit.flag & BAM_FREVERSE) != 0
    cdef int64_t length = c.target.lengths[place.tid], left = to_border(place, reverse, length)
    cdef const hit_t *other
    cdef placement_t there
    while left < NEAR_BORDER and row < c.batch.n_hits and c.batch.hits[row].read == hit.read:
        other = c.batch.hits + row
        row += 1
        if other == hit or is_secondary(other) or (other.flag ^ hit.flag) & BAM_FREVERSE:
            continue
        if locate(c, other, &there) != BUILT or there.tid != place.tid:
            continue
        if to_border(&there, not reverse, length) < NEAR_BORDER:
            left += there.position + there.span if reverse else length - there.position
            return left if reverse else -left
    return 0


cdef inline int64_t to_border(const placement_t *place, bint right, int64_t length) noexcept nogil:
    """Bases between an alignment and an end of its contig."""
    return length - place.position - place.span if right else place.position


cdef int64_t template_length(const cursor_t *c, const hit_t *hit, const placement_t *place) noexcept nogil:
    """From 5' end to 5' end, both included; positive when the mate's is further right, as bwa has it.

    On a circular contig it is counted the shorter way round.
    """
    cdef const mate_t *mate = &c.mate
    cdef int64_t distance, length
    if (hit.flag | mate.hit.flag) & BAM_FUNMAP or place.tid != mate.place.tid:
        return 0
    distance = outer_end(&mate.place, mate.hit) - outer_end(place, hit)
    if c.target.circular != NULL and c.target.circular[place.tid]:
        length = c.target.lengths[place.tid]
        distance += beyond_origin(c, c.mate_start, mate.hit, &mate.place)
        distance -= beyond_origin(c, c.group_start, hit, place)
        distance -= length * ((2 * distance > length) - (2 * distance < -length))
    return distance + (distance > 0) - (distance < 0)


cdef inline void place_mate(record_core *core, const cursor_t *c, const hit_t *hit, const placement_t *place) noexcept nogil:
    cdef const mate_t *mate = &c.mate
    if mate.hit == NULL:
        core.mate_tid, core.mate_position, core.template_length = -1, -1, 0
    else:
        core.mate_tid, core.mate_position = mate.place.tid, mate.place.position
        core.template_length = template_length(c, hit, place)


cdef inline uint8_t *put_mate_tags(uint8_t *to, const mate_t *mate, bint text) noexcept nogil:
    """MC and MQ, which an unmapped mate does not have."""
    if mate.hit.flag & BAM_FUNMAP:
        return to
    return put_int_tag(put_mate_cigar(to, mate.cigar, mate.runs, text), TAG_MQ, mate.hit.mapq, text)
