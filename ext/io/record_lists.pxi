# Part of records.pyx: the tags XA and SA, in which a record lists other rows of its read. They come last, since their
# size is known only when they are written.

ctypedef uint8_t *(*put_listed)(uint8_t *to, const listed_hit *hit) noexcept nogil


cdef int open_list(bam1_t *record, const char *name) noexcept nogil:
    cdef int status = reserve(record, <uint64_t>record.l_data + 4)
    if status == BUILT:
        record.l_data = <int>(put_tag(record.data + record.l_data, name, b'Z') - record.data)
    return status


cdef inline void close_list(bam1_t *record) noexcept nogil:
    """Every item ends in ';' for which one byte more than it takes is reserved."""
    record.data[record.l_data] = 0
    record.l_data += 1


cdef int add_listed(cursor_t *c, bam1_t *record, size_t row, put_listed put) noexcept nogil:
    cdef const hit_t *hit = c.batch.hits + row
    cdef placement_t place
    cdef listed_hit item
    cdef int status = locate(c, hit, &place)
    if status != BUILT or place.tid < 0:
        return status if status != BUILT else BAD_POSITION
    item.contig = sam_hdr_tid2name(c.target.header, place.tid)
    item.contig_length = strlen(item.contig)
    item.position, item.reverse = place.position, (hit.flag & BAM_FREVERSE) != 0
    item.cigar, item.runs = c.batch.cigars + hit.cigar_start, hit.cigar_runs
    item.mapq, item.edits = hit.mapq, hit.edits
    status = reserve(record, <uint64_t>record.l_data + item.contig_length + 3 * MAX_DECIMAL
                     + 10 * <uint64_t>item.runs + 8)
    if status == BUILT:
        record.l_data = <int>(put(record.data + record.l_data, &item) - record.data)
    return status


cdef int add_xa(cursor_t *c, bam1_t *record) noexcept nogil:
    """Folds the secondary rows into the record of the group's first."""
    cdef size_t row
    cdef int status = open_list(record, "XA")
    for row in range(c.group_start + 1, c.group_end):
        if status == BUILT and is_secondary(c.batch.hits + row):
            status = add_listed(c, record, row, put_xa_hit)
    if status == BUILT:
        close_list(record)
    return status


cdef int add_sa(cursor_t *c, bam1_t *record) noexcept nogil:
    """The other parts of the read that row `c.row` is a part of: the primary first, then the supplementary rows."""
    cdef size_t row
    cdef int status = open_list(record, "SA")
    for row in range(c.group_start, c.group_end):
        if status == BUILT and row != c.row and not is_secondary(c.batch.hits + row):
            status = add_listed(c, record, row, put_sa_hit)
    if status == BUILT:
        close_list(record)
    return status
