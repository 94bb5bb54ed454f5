# Part of records.pyx: from rows of arrays to the bytes of records, all without the GIL. `next_record` is the way in;
# what the mate adds is in `record_mates.pxi`, the tags that list other rows in `record_lists.pxi`.

cdef enum build_status:
    END = 0
    BUILT = 1
    NO_MEMORY = -1
    BAD_READ_ORDER = -2
    BAD_CIGAR_RANGE = -3
    BAD_CIGAR = -4
    BAD_POSITION = -5
    TOO_LARGE = -6
    BAD_PART = -7

cdef enum record_form:
    SAM_LINE      # text, a line
    PAF_LINE      # the same, for mapped reads alone
    BAM_RECORD    # as in a BAM file
    HTSLIB_DATA   # what `bam1_t.data` points to

cdef struct batch_t:
    const uint8_t *names
    const uint32_t *name_offsets
    const uint8_t *bases
    const uint8_t *quals  # NULL when there are none
    const uint32_t *offsets
    const uint8_t *mate   # 1 first, 2 last in a pair, 0 single; NULL when all are
    const uint8_t *tags   # of the reads, as in SAM, a tab before each; NULL when there are none
    const uint32_t *tag_offsets
    int64_t read_group     # ordinal in the header, -1 for none
    const uint8_t *conversions  # by read; NULL when none is converted
    const read_summary_t *summaries
    const hit_t *hits
    const uint32_t *cigars
    size_t n_reads
    size_t n_parts         # their summaries are behind those of the reads
    size_t n_hits
    size_t n_cigars

cdef struct target_t:
    reference_bases bases
    const int64_t *starts
    const int64_t *lengths
    const uint8_t *circular  # by contig; NULL where none is
    const contig_name *names
    size_t longest_name
    size_t n_contigs
    const contig_name *read_groups  # their IDs
    size_t n_read_groups
    size_t longest_read_group
    bint eqx
    bint xa
    uint32_t most_xa     # reads with more other positions have no XA
    bint xs_always
    bint soft_clip_supplementary
    bint mark_secondary
    bint secondary_seq
    bint tag_x0
    bint tag_x1
    bint tag_nh
    bint tag_hi
    bint tag_mt
    bint tag_bq
    bint tag_cs
    int meth_tags     # of `record_meth.pxi`

cdef struct placement_t:
    int32_t tid
    int64_t position  # 0-based, on the contig
    int64_t span      # reference bases

cdef struct oriented_t:
    bint ready
    uint8_t *letters
    uint64_t *words   # of the planes
    planes_t planes

cdef struct mate_t:
    const hit_t *hit       # the row that is named, mostly the primary one; NULL for a single read
    placement_t place      # of that row, where it is unmapped of this read's primary
    const uint32_t *cigar  # as written
    uint32_t runs
    uint16_t flags         # what it adds to the flags of this read's rows

cdef struct record_t:
    record_core core
    const uint8_t *name
    const uint32_t *cigar    # as written
    const uint8_t *letters   # of SEQ, where it is not empty
    const uint8_t *quals     # of SEQ in the order of the read; NULL when there are none
    int64_t span             # reference bases
    size_t start             # of the record in the buffer

cdef struct part_t:
    uint32_t number
    uint32_t n_secondary      # rows of the group
    size_t first_secondary    # of these, the first

cdef struct cursor_t:
    const batch_t *batch
    const target_t *target
    size_t row
    size_t group_start
    size_t group_end
    size_t next_read
    uint32_t n_supplementary
    part_t part            # of the row at hand
    mate_t mate
    size_t mate_start         # first row of the other read of a pair
    int least_mapq         # of a read with records, or of its mate; 0: of any that is mapped, -1: of all
    oriented_t strands[2]  # of the group's read, made when first needed
    oriented_t mate_strand
    uint64_t *mismatch
    uint32_t *mate_runs    # room for the longest CIGAR with = and X
    uint32_t *own_runs     # the same, for the row at hand
    void *memory


cdef int open_cursor(cursor_t *c, const batch_t *batch, const target_t *target,
                     uint32_t longest) noexcept nogil:
    cdef size_t rows = (<size_t>longest + 63) // 64 + 1, runs = UINT16_MAX + <size_t>longest, i
    cdef oriented_t *slots[3]
    cdef uint8_t *letters
    memset(c, 0, sizeof(cursor_t))
    c.batch = batch
    c.target = target
    c.least_mapq = -1
    c.memory = malloc(rows * (10 * sizeof(uint64_t) + 3 * 64) + 2 * runs * sizeof(uint32_t))
    if c.memory == NULL:
        return NO_MEMORY
    c.mismatch = <uint64_t *>c.memory
    c.mate_runs = <uint32_t *>(c.mismatch + 10 * rows)
    c.own_runs = c.mate_runs + runs
    letters = <uint8_t *>(c.own_runs + runs)
    slots[0], slots[1], slots[2] = &c.strands[0], &c.strands[1], &c.mate_strand
    for i in range(3):
        slots[i].words = c.mismatch + (1 + 3 * i) * rows
        slots[i].letters = letters + 64 * i * rows
    return BUILT


cdef inline uint32_t read_length(const batch_t *batch, size_t read) noexcept nogil:
    return batch.offsets[read + 1] - batch.offsets[read]


cdef inline uint64_t read_tags_size(const batch_t *batch, size_t read) noexcept nogil:
    """Bytes of the tags that come with a read."""
    return batch.tag_offsets[read + 1] - batch.tag_offsets[read] if batch.tags != NULL else 0


cdef const oriented_t *oriented(const batch_t *batch, oriented_t *o, size_t read, int strand) noexcept nogil:
    """The read on a strand, in the slot `o`, which keeps it until it is no longer `ready`."""
    cdef uint32_t length = read_length(batch, read)
    if not o.ready:
        o.planes = orient(batch.bases + batch.offsets[read], length, strand, o.letters, o.words)
        o.ready = True
    return o


cdef int open_group(cursor_t *c) noexcept nogil:
    """The rows of the next read; each read of the batch must have its own, in order."""
    cdef size_t end = c.row, before = c.group_start
    if c.row == c.batch.n_hits:
        return END if c.next_read == c.batch.n_reads else BAD_READ_ORDER
    if c.next_read >= c.batch.n_reads or c.batch.hits[c.row].read != c.next_read:
        return BAD_READ_ORDER
    c.n_supplementary = 0
    while end < c.batch.n_hits and c.batch.hits[end].read == c.next_read:
        c.n_supplementary += is_supplementary(c.batch.hits + end)
        end += 1
    c.group_start, c.group_end = c.row, end
    count_part(c, 0)
    c.next_read += 1
    c.strands[0].ready = c.strands[1].ready = False
    c.mate.hit = NULL
    if c.batch.mate != NULL and c.batch.mate[c.next_read - 1]:
        c.mate_start = end if c.batch.mate[c.next_read - 1] == 1 else before
        return open_mate(c, c.mate_start)
    return BUILT


cdef void count_part(cursor_t *c, uint32_t number) noexcept nogil:
    """Fill `c.part`: rows that list places of one part of the read are neighbours."""
    cdef size_t row
    c.part = part_t(number, 0, c.group_end)
    for row in range(c.group_end, c.group_start, -1):
        if c.batch.hits[row - 1].part == number and is_secondary(c.batch.hits + row - 1):
            c.part.n_secondary += 1
            c.part.first_secondary = row - 1


cdef inline bint is_secondary(const hit_t *hit) noexcept nogil:
    return (hit.flag & (BAM_FSECONDARY | BAM_FSUPPLEMENTARY)) == BAM_FSECONDARY


cdef inline bint is_supplementary(const hit_t *hit) noexcept nogil:
    return (hit.flag & BAM_FSUPPLEMENTARY) != 0


cdef inline size_t contig_of(const target_t *t, coordinate_t coordinate) noexcept nogil:
    """Last contig that starts at or before `coordinate`; n_contigs when there is none."""
    cdef size_t before = contigs_before(t.starts, t.n_contigs, coordinate)
    return before - 1 if before else t.n_contigs


cdef int check_cigar(const batch_t *batch, const hit_t *hit, int64_t *span) noexcept nogil:
    cdef uint64_t in_read = 0
    cdef uint32_t i, run
    if <uint64_t>hit.cigar_start + hit.cigar_runs > batch.n_cigars:
        return BAD_CIGAR_RANGE
    span[0] = 0
    for i in range(hit.cigar_runs):
        run = batch.cigars[hit.cigar_start + i]
        if bam_cigar_op(run) > BAM_CSOFT_CLIP or bam_cigar_op(run) == BAM_CREF_SKIP:
            return BAD_CIGAR
        if bam_cigar_op(run) == BAM_CSOFT_CLIP and 0 < i < <uint32_t>hit.cigar_runs - 1:
            return BAD_CIGAR
        if bam_cigar_type(bam_cigar_op(run)) & 1:
            in_read += bam_cigar_oplen(run)
        if bam_cigar_type(bam_cigar_op(run)) & 2:
            span[0] += bam_cigar_oplen(run)
    return BUILT if hit.cigar_runs and in_read == read_length(batch, hit.read) else BAD_CIGAR


cdef int locate(const cursor_t *c, const hit_t *hit, placement_t *place) noexcept nogil:
    cdef const target_t *t = c.target
    cdef size_t contig
    cdef int status
    if hit.flag & BAM_FUNMAP:
        place[0] = placement_t(-1, -1, 0)
        return BUILT
    status = check_cigar(c.batch, hit, &place.span)
    if status != BUILT:
        return status
    contig = contig_of(t, hit.position)
    if contig == t.n_contigs:
        return BAD_POSITION
    place.tid = <int32_t>contig
    place.position = hit.position - t.starts[contig]
    if place.position >= t.lengths[contig] or place.position + place.span > t.lengths[contig]:
        return BAD_POSITION
    return BUILT


cdef struct clips_t:
    uint32_t first  # bases left out of SEQ before the alignment
    uint32_t last   # and behind it


cdef inline bint has_bases(const cursor_t *c, const hit_t *hit) noexcept nogil:
    """Whether SEQ and QUAL of a row are written."""
    return not is_secondary(hit) or c.target.secondary_seq


cdef inline bint leaves_out(const cursor_t *c, const hit_t *hit) noexcept nogil:
    """Whether SEQ leaves out the clipped bases of a row: the primary record has them."""
    return hit.flag & (BAM_FSECONDARY | BAM_FSUPPLEMENTARY) and has_bases(c, hit) and not c.target.soft_clip_supplementary


cdef clips_t hard_clips(const cursor_t *c, const hit_t *hit) noexcept nogil:
    cdef const uint32_t *cigar = c.batch.cigars + hit.cigar_start
    cdef clips_t clips = clips_t(0, 0)
    cdef uint32_t last = hit.cigar_runs - 1
    if not leaves_out(c, hit) or not hit.cigar_runs:
        return clips
    if bam_cigar_op(cigar[0]) == BAM_CSOFT_CLIP:
        clips.first = bam_cigar_oplen(cigar[0])
    if last and bam_cigar_op(cigar[last]) == BAM_CSOFT_CLIP:
        clips.last = bam_cigar_oplen(cigar[last])
    return clips


cdef inline uint16_t record_flag(const cursor_t *c, const hit_t *hit) noexcept nogil:
    cdef uint16_t flag = hit.flag
    if is_supplementary(hit) and c.target.mark_secondary:
        flag = (flag & ~BAM_FSUPPLEMENTARY) | BAM_FSECONDARY
    return with_mate_flags(&c.mate, flag)


cdef void compare(cursor_t *c, const hit_t *hit, const oriented_t *read) noexcept nogil:
    """Fills `c.mismatch`, one bit a read base; bases outside M runs are left 0."""
    cdef const uint32_t *cigar = c.batch.cigars + hit.cigar_start
    cdef uint64_t p = hit.position
    cdef uint32_t q = 0, i, length, kind
    memset(c.mismatch, 0, (<size_t>read_length(c.batch, hit.read) // 64 + 1) * sizeof(uint64_t))
    if not hit.edits and c.batch.conversions == NULL:
        return
    for i in range(hit.cigar_runs):
        length, kind = bam_cigar_oplen(cigar[i]), bam_cigar_type(bam_cigar_op(cigar[i]))
        if kind == 3:
            mark_mismatches(read.planes, q, c.target.bases.planes, p, length, c.mismatch)
        if kind & 1:
            q += length
        if kind & 2:
            p += length


cdef void set_cigar(record_t *r, cursor_t *c, const hit_t *hit, clips_t clips) noexcept nogil:
    """The runs as written: with = and X, with hard clips, or as they are in the batch."""
    cdef const uint32_t *cigar = c.batch.cigars + hit.cigar_start
    r.cigar, r.core.runs = cigar, hit.cigar_runs
    if c.target.eqx:
        r.core.runs = <uint32_t>(put_cigar_eqx(c.own_runs, cigar, hit.cigar_runs, c.mismatch) - c.own_runs)
    elif clips.first or clips.last:
        memcpy(c.own_runs, cigar, hit.cigar_runs * sizeof(uint32_t))
    else:
        return
    r.cigar = c.own_runs
    if clips.first or clips.last:
        harden_clips(c.own_runs, r.core.runs)


cdef void set_bases(record_t *r, cursor_t *c, const hit_t *hit, clips_t clips) noexcept nogil:
    """SEQ and QUAL, which hard clips shorten."""
    cdef const batch_t *batch = c.batch
    cdef bint reverse = (hit.flag & BAM_FREVERSE) != 0
    r.core.length = read_length(batch, hit.read) - clips.first - clips.last if has_bases(c, hit) else 0
    r.letters = r.quals = NULL
    if not r.core.length:
        return
    r.letters = oriented(batch, &c.strands[reverse], hit.read, reverse).letters + clips.first
    if batch.quals != NULL:
        r.quals = batch.quals + batch.offsets[hit.read] + (clips.last if reverse else clips.first)


cdef int describe(record_t *r, cursor_t *c, const hit_t *hit, record_form form) noexcept nogil:
    """All of a row's record but the tags; what is compared with the reference stays in `c.mismatch`."""
    cdef const batch_t *batch = c.batch
    cdef bint mapped = not hit.flag & BAM_FUNMAP, reverse = (hit.flag & BAM_FREVERSE) != 0
    cdef clips_t clips = hard_clips(c, hit)
    cdef placement_t place
    cdef int status = locate(c, hit, &place)
    if status != BUILT:
        return status
    r.span = place.span
    if not mapped and c.mate.hit != NULL:
        place = c.mate.place
    r.name = batch.names + batch.name_offsets[hit.read]
    r.core.name_length = batch.name_offsets[hit.read + 1] - batch.name_offsets[hit.read]
    r.core.tid, r.core.position, r.core.mapq = place.tid, place.position, hit.mapq
    r.core.flag = record_flag(c, hit)
    if form != SAM_LINE:
        r.core.bin = <uint16_t>hts_reg2bin(place.position, place.position + (place.span if place.span else 1), 14, 5)
    place_mate(&r.core, c, hit, &place)
    r.core.runs = 0
    if mapped:
        compare(c, hit, oriented(batch, &c.strands[reverse], hit.read, reverse))
        set_cigar(r, c, hit, clips)
    set_bases(r, c, hit, clips)
    return BUILT


cdef uint64_t record_bound(const cursor_t *c, const record_t *r, const hit_t *hit) noexcept nogil:
    """Most bytes a record can take in any form, without SA and XA; each part is bounded beside its function in
    bam_fields.h."""
    cdef uint64_t cigar = 10 * <uint64_t>r.core.runs + 16
    cdef uint64_t md = 2 * (<uint64_t>r.span + hit.cigar_runs) + 1
    cdef uint64_t tags = OWN_TAG_BYTES + OWN_TAG_BYTES_PER_BASE * <uint64_t>r.core.length
    tags += md + c.target.longest_read_group + MOST_TAG_GROWTH * read_tags_size(c.batch, hit.read)
    if c.mate.hit != NULL:
        tags += 10 * <uint64_t>c.mate.runs
    if c.target.tag_cs:
        tags += 3 * (<uint64_t>r.span + read_length(c.batch, hit.read)) + 11 * <uint64_t>hit.cigar_runs
    return (BAM_CORE + r.core.name_length + 4 + 2 * c.target.longest_name + 7 * MAX_DECIMAL + cigar
            + 2 * <uint64_t>r.core.length + 4 + tags + 1)


cdef int reserve(byte_buffer *out, size_t start, uint64_t more) noexcept nogil:
    """Room for more bytes of the record that begins at `start`."""
    if out.size - start + more > INT32_MAX:
        return TOO_LARGE
    return BUILT if grow_buffer(out, more) else NO_MEMORY


cdef uint8_t *put_fields(uint8_t *to, const record_t *r, const contig_name *contigs, record_form form) noexcept nogil:
    """All but the tags."""
    cdef bint reverse = (r.core.flag & BAM_FREVERSE) != 0, text = form == SAM_LINE
    if text:
        to = put_sam_core(to, &r.core, r.name, contigs, r.cigar)
        to = put_text(to, <const char *>r.letters, r.core.length) if r.core.length else put_text(to, "*", 1)
        to = put_text(to, "\t", 1)
    else:
        if form == BAM_RECORD:
            to = put_bam_core(to, &r.core)
        to = put_name(to, r.name, r.core.name_length, form == HTSLIB_DATA)
        if form == BAM_RECORD and r.core.runs > MAX_BAM_CIGAR:
            to = put_cigar_stand_in(to, r.core.length, <uint32_t>r.span)
        else:
            to = put_cigar(to, r.cigar, r.core.runs)
        to = put_sequence(to, r.letters, r.core.length)
    if r.quals != NULL:
        return put_qualities(to, r.quals, r.core.length, reverse, text)
    if text:
        return put_text(to, "*", 1)
    memset(to, 0xff, r.core.length)
    return to + r.core.length


cdef inline const read_summary_t *summary_of(const cursor_t *c, const hit_t *hit) noexcept nogil:
    """What is known beside the part of the read that a row is of."""
    return c.batch.summaries + (c.batch.n_reads + hit.part - 1 if hit.part else hit.read)


cdef uint8_t *put_cs_tag(uint8_t *to, const cursor_t *c, const hit_t *hit, bint text) noexcept nogil:
    to = open_string(to, TAG_cs, text)
    to = put_cs(to, c.batch.cigars + hit.cigar_start, hit.cigar_runs, c.mismatch, &c.target.bases, hit.position,
                c.strands[(hit.flag & BAM_FREVERSE) != 0].letters)
    return close_string(to, text)


cdef uint8_t *put_terms(uint8_t *to, const rating_t *rating, bint text) noexcept nogil:
    """What a mapping quality was made of: weights in millionths, and the cap with its letter."""
    cdef double[3] weights = [rating.known, rating.unseen, rating.chance]
    cdef const char *letters = "-r"  # of NOBODY, TANDEM
    cdef int i
    to = open_string(to, TAG_mt, text)
    for i in range(3):
        to = put_decimal(put_text(to, ",", 1 if i else 0), <uint64_t>(1e6 * min(weights[i], 1e9) + 0.5))
    if rating.capped_by:
        to = put_text(put_decimal(put_text(to, ",", 1), rating.cap), letters + rating.capped_by, 1)
    return close_string(to, text)


cdef uint8_t *put_mapped_tags(uint8_t *to, const cursor_t *c, const hit_t *hit, bint text) noexcept nogil:
    cdef const uint32_t *cigar = c.batch.cigars + hit.cigar_start
    cdef const read_summary_t *summary = summary_of(c, hit)
    to = put_int_tag(to, TAG_NM, all_differences(c, hit) if c.target.meth_tags == OF_BISMARK else hit.edits, text)
    to = open_string(to, TAG_MD, text)
    to = put_md(to, cigar, hit.cigar_runs, c.mismatch, &c.target.bases, hit.position)
    to = close_string(to, text)
    to = put_int_tag(to, TAG_AS, hit.score, text)
    if summary.suboptimal != INT32_MIN:
        to = put_int_tag(to, TAG_XS, summary.suboptimal, text)
    elif c.target.xs_always:
        to = put_int_tag(to, TAG_XS, 0, text)
    if c.target.tag_x0:
        to = put_int_tag(to, TAG_X0, summary.n_best, text)
    if c.target.tag_x1:
        to = put_int_tag(to, TAG_X1, summary.n_second, text)
    if c.target.tag_nh:
        to = put_int_tag(to, TAG_NH, max(summary.n_best, 1 + c.part.n_secondary), text)
    if c.target.tag_cs:
        to = put_cs_tag(to, c, hit, text)
    if c.target.tag_hi:
        to = put_int_tag(to, TAG_HI, c.row - c.part.first_secondary + 2 if is_secondary(hit) else 1, text)
    if c.target.tag_mt and not is_secondary(hit):
        to = put_terms(to, &summary.rating, text)
    return to


cdef uint8_t *put_tags(uint8_t *to, const cursor_t *c, const hit_t *hit, bint text) noexcept nogil:
    """All tags but SA, XA and CG."""
    cdef const contig_name *group
    if not hit.flag & BAM_FUNMAP:
        to = put_mapped_tags(to, c, hit, text)
    if c.mate.hit != NULL:
        to = put_mate_tags(to, &c.mate, text)
    if 0 <= c.batch.read_group < <int64_t>c.target.n_read_groups:
        group = c.target.read_groups + c.batch.read_group
        to = put_string_tag(to, TAG_RG, group.text, group.length, text)
    if c.batch.tags != NULL:
        to = put_read_tags(to, c.batch.tags + c.batch.tag_offsets[hit.read], read_tags_size(c.batch, hit.read), text)
    return to


cdef inline bint is_clip(uint32_t run) noexcept nogil:
    return bam_cigar_op(run) == BAM_CSOFT_CLIP or bam_cigar_op(run) == BAM_CHARD_CLIP


cdef uint8_t *put_paf(uint8_t *to, const record_t *r, const cursor_t *c, const hit_t *hit) noexcept nogil:
    """A line of PAF but for its end: tags tp, NM, AS, XS, cs and cg."""
    cdef const read_summary_t *summary = summary_of(c, hit)
    cdef const uint32_t *cigar = r.cigar
    cdef uint32_t runs = r.core.runs, i, length, kind, aligned = 0
    cdef paf_line line
    memset(&line, 0, sizeof(paf_line))
    line.name, line.name_length, line.read_length = r.name, r.core.name_length, read_length(c.batch, hit.read)
    line.mate = c.batch.mate[hit.read] if c.batch.mate != NULL else 0
    line.reverse = (hit.flag & BAM_FREVERSE) != 0
    line.contig, line.contig_length = c.target.names[r.core.tid], c.target.lengths[r.core.tid]
    line.position, line.span, line.mapq = r.core.position, r.span, hit.mapq
    if runs and is_clip(cigar[0]):
        line.first = bam_cigar_oplen(cigar[0])
        cigar, runs = cigar + 1, runs - 1
    if runs and is_clip(cigar[runs - 1]):
        line.last = bam_cigar_oplen(cigar[runs - 1])
        runs -= 1
    for i in range(runs):
        length, kind = bam_cigar_oplen(cigar[i]), bam_cigar_type(bam_cigar_op(cigar[i]))
        line.columns += length
        aligned += length if kind == 3 else 0
    # What is no gap among the errors is a mismatch.
    line.equal = aligned - (hit.edits - (line.columns - aligned))
    to = put_paf_core(to, &line)
    to = put_text(to, "\ttp:A:S" if is_secondary(hit) else "\ttp:A:P", 7)
    to = put_int_tag(to, TAG_NM, hit.edits, True)
    to = put_int_tag(to, TAG_AS, hit.score, True)
    if summary.suboptimal != INT32_MIN:
        to = put_int_tag(to, TAG_XS, summary.suboptimal, True)
    if c.target.tag_cs:
        to = put_cs_tag(to, c, hit, True)
    to = put_text(to, "\tcg:Z:", 6)
    return put_cigar_text(to, cigar, runs)


cdef int put_base_alignment_qualities(uint8_t **to, const record_t *r, const cursor_t *c, bint text) noexcept nogil:
    """Tag BQ of a mapped record with bases and qualities."""
    cdef baq_read read
    cdef uint8_t *begin = to[0]
    cdef int status
    if r.letters == NULL or r.quals == NULL or r.core.flag & BAM_FUNMAP:
        return BUILT
    read.letters, read.quals, read.length = r.letters, r.quals, r.core.length
    read.reverse = (r.core.flag & BAM_FREVERSE) != 0
    read.cigar, read.runs = r.cigar, r.core.runs
    read.reference = c.target.bases.planes
    read.contig_start, read.contig_length = c.target.starts[r.core.tid], c.target.lengths[r.core.tid]
    read.position = r.core.position
    begin = open_string(begin, TAG_BQ, text)
    status = baq_string(&read, begin)
    if status > 0:
        to[0] = close_string(begin + r.core.length, text)
    return NO_MEMORY if status < 0 else BUILT


cdef int build(record_t *r, cursor_t *c, const hit_t *hit, byte_buffer *out, record_form form) noexcept nogil:
    """Appends the record of one row but for SA, XA and what comes behind them."""
    cdef bint text = form == SAM_LINE or form == PAF_LINE
    cdef uint8_t *to
    cdef int status = describe(r, c, hit, form)
    if status == BUILT:
        r.start = out.size
        status = reserve(out, r.start, record_bound(c, r, hit))
    if status != BUILT:
        return status
    if form == PAF_LINE:
        out.size = put_paf(out.data + out.size, r, c, hit) - out.data
        return BUILT
    to = put_fields(out.data + out.size, r, c.target.names, form)
    to = put_tags(to, c, hit, text)
    if c.batch.conversions != NULL and not hit.flag & BAM_FUNMAP:
        to = put_meth_tags(to, r, c, hit, text)
    if c.target.tag_bq:
        status = put_base_alignment_qualities(&to, r, c, text)
    out.size = to - out.data
    return status


cdef int complete(const record_t *r, byte_buffer *out, record_form form) noexcept nogil:
    """Appends what comes behind the last tag; a CIGAR too long for BAM is such a thing."""
    cdef bint is_long = form == BAM_RECORD and r.core.runs > MAX_BAM_CIGAR
    cdef int status = reserve(out, r.start, 4 * <uint64_t>r.core.runs + 8 if is_long else 1)
    if status != BUILT:
        return status
    if form == SAM_LINE or form == PAF_LINE:
        out.data[out.size] = b"\n"
        out.size += 1
    if is_long:
        out.size = put_long_cigar(out.data + out.size, r.cigar, r.core.runs) - out.data
    if form == BAM_RECORD:
        close_bam(out.data + r.start, out.size - r.start)
    return BUILT


cdef inline bint is_wanted(const cursor_t *c, size_t primary) noexcept nogil:
    cdef const hit_t *hit = c.batch.hits + primary
    return (-1 if hit.flag & BAM_FUNMAP else <int>hit.mapq) >= c.least_mapq


cdef inline bint left_out(const cursor_t *c, const hit_t *hit) noexcept nogil:
    """Rows without a record: those of reads that nobody wants, and what tag XA of their part lists.

    The mate of a wanted read stays: a paired record without its mate is invalid (Picard: MATE_NOT_FOUND).
    """
    if not is_wanted(c, c.group_start) and (c.mate.hit == NULL or not is_wanted(c, c.mate_start)):
        return True
    return c.target.xa and c.row > c.group_start and is_secondary(hit)


cdef int next_record(cursor_t *c, record_t *r, byte_buffer *out, record_form form) noexcept nogil:
    """Appends the next record of the batch to `out`: BUILT, END, or what is wrong with row `c.row`."""
    cdef const hit_t *hit
    cdef const hit_t *ahead
    cdef bint text = form == SAM_LINE
    cdef int status
    while True:
        if c.row == c.group_end:
            status = open_group(c)
            if status != BUILT:
                return status
        hit = c.batch.hits + c.row
        if c.row + AHEAD < c.batch.n_hits:  # here: gcc drops calls of a function that does nothing but prefetch
            ahead = hit + AHEAD
            prefetch_bases(c.target.bases.planes, ahead.position, ahead.position + <int64_t>PREFETCHED)
        if not left_out(c, hit) and (form != PAF_LINE or not hit.flag & BAM_FUNMAP):
            break
        c.row += 1
    if hit.part > c.batch.n_parts:
        return BAD_PART
    if hit.part != c.part.number:
        count_part(c, hit.part)
    if c.mate.hit != NULL and c.mate.hit != c.batch.hits + c.mate_start + hit.mate:
        status = open_mate(c, c.mate_start + hit.mate)
        if status != BUILT:
            return status
    status = build(r, c, hit, out, form)
    if form == PAF_LINE:
        if status == BUILT:
            status = complete(r, out, form)
        c.row += status == BUILT
        return status
    if status == BUILT and c.n_supplementary and not is_secondary(hit):
        status = add_sa(c, r, out, text)
    if status == BUILT and c.target.xa and 0 < c.part.n_secondary <= c.target.most_xa and not is_secondary(hit):
        status = add_xa(c, r, out, text)
    if status == BUILT:
        status = complete(r, out, form)
    c.row += status == BUILT
    return status


cdef int next_bam1(cursor_t *c, bam1_t *record, byte_buffer *out) noexcept nogil:
    """The next record as htslib has it in memory; `out` is for work."""
    cdef record_t r
    cdef bam1_core_t *core = &record.core
    cdef int status
    out.size = 0
    status = next_record(c, &r, out, HTSLIB_DATA)
    if status != BUILT:
        return status
    core.tid, core.pos, core.qual, core.flag, core.bin = r.core.tid, r.core.position, r.core.mapq, r.core.flag, r.core.bin
    core.mtid, core.mpos, core.isize = r.core.mate_tid, r.core.mate_position, r.core.template_length
    core.n_cigar, core.l_qseq = r.core.runs, <int32_t>r.core.length
    core.l_qname = <uint16_t>(r.core.name_length + 4 - (r.core.name_length & 3))
    core.l_extranul = <uint8_t>(3 - (r.core.name_length & 3))
    return BUILT if set_record_data(record, out.data, <uint32_t>out.size) else NO_MEMORY
