# Part of records.pyx: the tags of reads of which bisulfite, or an enzyme, converted bases.

cdef enum meth_tags:
    NO_METH_TAGS
    OF_BWA_METH   # YC, YD
    OF_BISMARK    # XM, XR, XG


cdef inline int strand_conversion(const cursor_t *c, const hit_t *hit) noexcept nogil:
    """What was converted as the reference shows it: C on the original top strand, G on the original bottom one."""
    return conversion_of_strand(c.batch.conversions[hit.read], (hit.flag & BAM_FREVERSE) != 0)


cdef uint32_t all_differences(const cursor_t *c, const hit_t *hit) noexcept nogil:
    """Bases that differ from the reference, converted ones among them, and those of gaps."""
    cdef const uint32_t *cigar = c.batch.cigars + hit.cigar_start
    cdef uint32_t i, n = 0
    for i in range(read_length(c.batch, hit.read) // 64 + 1):
        n += count_bits(c.mismatch[i])
    for i in range(hit.cigar_runs):
        if bam_cigar_op(cigar[i]) != BAM_CSOFT_CLIP and bam_cigar_type(bam_cigar_op(cigar[i])) != 3:
            n += bam_cigar_oplen(cigar[i])
    return n


cdef uint8_t methylation_call(planes_t reference, int64_t at, int conversion, uint8_t letter) noexcept nogil:
    """Bismark's letter for a base of a read that faces `at`: z, x, h or u by the two bases behind the C, upper case
    where it is methylated; "." where there is no C, or the read has neither of the two letters."""
    cdef int c = 1 if conversion == C_TO_T else 2, step = 1 if conversion == C_TO_T else -1
    cdef int next_base, after
    cdef uint8_t call
    if base_at(reference, at) != c or (letter != b"C"[0] and letter != b"T"[0] if c == 1
                                       else letter != b"G"[0] and letter != b"A"[0]):
        return b"."[0]
    next_base, after = base_at(reference, at + step), base_at(reference, at + 2 * step)
    if next_base == 3 - c:
        call = b"z"[0]
    elif next_base == MASKED_BASE or after == MASKED_BASE:
        call = b"u"[0]
    else:
        call = b"x"[0] if after == 3 - c else b"h"[0]
    return call - 32 if letter == (b"C"[0] if c == 1 else b"G"[0]) else call


cdef uint8_t *put_calls(uint8_t *to, const record_t *r, const cursor_t *c, const hit_t *hit) noexcept nogil:
    """A call for each base of SEQ."""
    cdef const uint32_t *cigar = c.batch.cigars + hit.cigar_start
    cdef int conversion = strand_conversion(c, hit)
    cdef int64_t at = hit.position
    cdef uint32_t i, j, q = 0, length, kind
    cdef bint clipped
    for i in range(hit.cigar_runs):
        length, kind = bam_cigar_oplen(cigar[i]), bam_cigar_type(bam_cigar_op(cigar[i]))
        # Bases that a hard clip leaves out are not in SEQ.
        clipped = bam_cigar_op(cigar[i]) == BAM_CSOFT_CLIP
        if kind & 1 and not (clipped and leaves_out(c, hit)):
            for j in range(length):
                to[q + j] = b"."[0] if kind != 3 else methylation_call(
                    c.target.bases.planes, at + j, conversion, r.letters[q + j])
            q += length
        if kind & 2:
            at += length
    return to + q


cdef uint8_t *put_meth_tags(uint8_t *to, const record_t *r, const cursor_t *c, const hit_t *hit, bint text) noexcept nogil:
    cdef const char *read = "CT" if c.batch.conversions[hit.read] == C_TO_T else "GA"
    cdef bint top = strand_conversion(c, hit) == C_TO_T
    if c.target.meth_tags == OF_BWA_METH:
        to = put_string_tag(to, TAG_YC, read, 2, text)
        return put_string_tag(to, TAG_YD, "f" if top else "r", 1, text)
    if r.letters != NULL:
        to = close_string(put_calls(open_string(to, TAG_XM, text), r, c, hit), text)
    to = put_string_tag(to, TAG_XR, read, 2, text)
    return put_string_tag(to, TAG_XG, "CT" if top else "GA", 2, text)
