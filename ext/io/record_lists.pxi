# Part of records.pyx: the tags XA and SA, in which a record lists other rows of its read. They come last, since their
# size is known only when they are written.

ctypedef uint8_t *(*put_listed)(uint8_t *to, const listed_hit *hit) noexcept nogil


cdef int open_list(byte_buffer *out, const record_t *r, const char *name, bint text) noexcept nogil:
    cdef int status = reserve(out, r.start, 7)
    if status == BUILT:
        out.size = open_string(out.data + out.size, name, text) - out.data
    return status


cdef inline void close_list(byte_buffer *out, bint text) noexcept nogil:
    """Every item ends in ';' for which one byte more than it takes is reserved."""
    out.size = close_string(out.data + out.size, text) - out.data


cdef uint32_t edits_as_tagged(cursor_t *c, const hit_t *hit) noexcept nogil:
    """NM of any row of the group. `c.mismatch` may be that of this row afterwards."""
    cdef bint reverse = (hit.flag & BAM_FREVERSE) != 0
    if c.target.meth_tags != OF_BISMARK:
        return hit.edits
    compare(c, hit, oriented(c.batch, &c.strands[reverse], hit.read, reverse))
    return all_differences(c, hit)


cdef int add_listed(cursor_t *c, const record_t *r, byte_buffer *out, size_t row, put_listed put) noexcept nogil:
    cdef const hit_t *hit = c.batch.hits + row
    cdef placement_t place
    cdef listed_hit item
    cdef int status = locate(c, hit, &place)
    if status != BUILT or place.tid < 0:
        return status if status != BUILT else BAD_POSITION
    item.contig = c.target.names[place.tid]
    item.position, item.reverse = place.position, (hit.flag & BAM_FREVERSE) != 0
    item.cigar, item.runs = c.batch.cigars + hit.cigar_start, hit.cigar_runs
    item.mapq, item.edits = hit.mapq, edits_as_tagged(c, hit)
    status = reserve(out, r.start, item.contig.length + 3 * MAX_DECIMAL + 10 * <uint64_t>item.runs + 8)
    if status == BUILT:
        out.size = put(out.data + out.size, &item) - out.data
    return status


cdef int add_xa(cursor_t *c, const record_t *r, byte_buffer *out, bint text) noexcept nogil:
    """Folds the secondary rows of a part into its record."""
    cdef size_t row
    cdef int status = open_list(out, r, TAG_XA, text)
    for row in range(c.part.first_secondary, c.part.first_secondary + c.part.n_secondary):
        if status == BUILT:
            status = add_listed(c, r, out, row, put_xa_hit)
    if status == BUILT:
        close_list(out, text)
    return status


cdef int add_sa(cursor_t *c, const record_t *r, byte_buffer *out, bint text) noexcept nogil:
    """The other parts of the read that row `c.row` is a part of: the primary first, then the supplementary rows."""
    cdef size_t row
    cdef int status = open_list(out, r, TAG_SA, text)
    for row in range(c.group_start, c.group_end):
        if status == BUILT and row != c.row and not is_secondary(c.batch.hits + row):
            status = add_listed(c, r, out, row, put_sa_hit)
    if status == BUILT:
        close_list(out, text)
    return status
