"""Duplicates among templates: signatures of the records of a batch, and who of equal ones is marked.

`gassst.records.duplicates` says what a duplicate is, and what the rows of signatures hold; here is what is done for each
record and each template, without the GIL.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcmp, memcpy, strcmp

from gassst._core.common cimport FIRST_IN_PAIR, NOT_PRIMARY, REVERSE, SECOND_IN_PAIR, UNMAPPED, mix

cdef extern from "record_ends.h" nogil:
    ctypedef struct bam_record:
        const uint8_t *name
        const uint8_t *end
        int32_t tid, position
        uint32_t flag
    bam_record open_record(const uint8_t *start) noexcept
    void unclipped_ends(const bam_record *record, int64_t *first, int64_t *last) noexcept
    uint32_t sum_of_qualities(const bam_record *record) noexcept
    const uint8_t *text_of_tag(const bam_record *record, const uint8_t *name, size_t *length) noexcept
    uint64_t hash_of(const uint8_t *text, size_t length) noexcept
    int read_spot(const uint8_t *name, size_t length, uint64_t *surface, uint32_t *x, uint32_t *y) noexcept

cdef enum:
    # Bits of the columns of a row: LEFT is library, coordinate, strand; RIGHT kind and coordinate; RANK badness, ordinal.
    COORDINATE_BITS = 42
    LIBRARY_SHIFT = 43
    KIND_SHIFT = 61
    ORDINAL_BITS = 40
    MOST_SCORE = (1 << 24) - 1
    MOST_COLUMNS = 6
    # Kinds of templates: how the mates of a pair lie to each other, or one mapped read.
    FORWARD_REVERSE = 0
    REVERSE_FORWARD = 1
    TANDEM = 2
    TANDEM_TURNED = 3
    SINGLE = 4
    # Columns of the counts of a batch.
    PAIRS = 0
    SINGLES = 1
    NOT_PRIMARY_RECORDS = 2
    UNMAPPED_READS = 3
    # Bytes of a record of BAM.
    POSITION_AT = 8
    POSITION_BYTES = 4
    NAME_LENGTH_AT = 12
    NAME_AT = 36
    TIE_BITS = 32  # of a filter for each template that ties

MOST_LIBRARIES = (1 << (64 - LIBRARY_SHIFT)) - 1
MARGIN = 1 << 16  # bases that a read may hang over either end of its contig
FIRST_COLUMNS = 3  # LEFT, RIGHT, RANK; with barcodes one more before RANK, with spots two more at the end


cdef struct end_t:
    bint is_mapped
    uint64_t first, last  # where the read begins and ends without clips, on the axis of all contigs
    bint reverse
    bint is_first_mate
    int32_t tid
    uint64_t barcode
    uint32_t score
    uint64_t reach  # how far the further one of its ends lies from its position


cdef inline uint64_t end_key(uint64_t library, const end_t *e) noexcept nogil:
    """Where the sequencing of a read began, and in which direction it went."""
    return library << LIBRARY_SHIFT | (e.last if e.reverse else e.first) << 1 | e.reverse


def origins_of(lengths):
    """Where each contig begins on the axis of all contigs, and where one more would: uint64[contigs + 1]."""
    sizes = np.asarray(lengths, np.uint64) + np.uint64(2 * MARGIN)
    return np.cumsum(np.concatenate([np.array([MARGIN], np.uint64), sizes]), dtype=np.uint64)


def coordinates_of(left not None):
    """Where on the axis of all contigs these values of LEFT lie, each once, ascending: int64[n]."""
    mask = np.uint64((<uint64_t>1 << COORDINATE_BITS) - 1)
    return np.unique(left >> np.uint64(1) & mask).astype(np.int64)


cdef class Signer:
    """Makes signatures of the templates of a batch; shared by threads.

    Parameters
    ----------
    lengths : int64[contigs]
    groups : sequence of bytes
        IDs of the read groups.
    libraries : uint32[groups + 1]
        Ordinal of the library of each read group; the last is that of reads without one.
    barcode_tag : bytes
        Two characters, or none.
    spots : bool
        Whether rows tell where on the flow cell their templates were read.

    Raises
    ------
    ValueError
        The contigs or the libraries are too many for the rows.
    """

    cdef const uint64_t[::1] origins
    cdef const uint32_t[::1] libraries
    cdef list groups
    cdef size_t n_libraries
    cdef bytes barcode_tag
    cdef readonly bint barcodes, spots
    cdef readonly size_t columns

    def __init__(self, lengths, groups, libraries, bytes barcode_tag not None, bint spots):
        origins = origins_of(lengths)
        self.libraries = np.ascontiguousarray(libraries, np.uint32)
        self.n_libraries = int(np.max(libraries)) + 1
        if int(origins.max()) >> COORDINATE_BITS or self.n_libraries > MOST_LIBRARIES:
            raise ValueError("too many contigs or libraries for duplicates to be marked")
        if len(groups) + 1 != len(libraries) or len(barcode_tag) not in (0, 2):
            raise ValueError("a library for each read group and one more, a tag of two characters")
        self.origins = origins
        self.groups = list(groups)
        self.barcode_tag, self.barcodes, self.spots = barcode_tag, bool(barcode_tag), spots
        self.columns = FIRST_COLUMNS + self.barcodes + 2 * spots

    def sign(self, const uint8_t[::1] bam not None, size_t n):
        """Signatures of the templates of `n` records in the order of their reads.

        A template begins with each primary record but those of second mates.

        Returns
        -------
        templates : uint64[n]
            Ordinal of the template of each record.
        rows : uint64[t, columns]
            Of the templates with a mapped read, sorted.
        ends : uint64[e, 1 or 2]
            Of the mapped pairs, where each of their reads begins, and with barcodes its barcode; sorted.
        counts : int64[libraries, 4]
            Pairs with both mates mapped; other mapped reads; secondary and supplementary records; unmapped reads.
        reach : int
            No position of a mapped read is further than this from its ends without clips.

        Raises
        ------
        ValueError
            The bytes are not so many records, or the first one is not primary.
        """
        cdef size_t at = 0, size = bam.shape[0], i, found = 0, n_ends = 0, n_templates = 0, key_columns
        templates_array = np.empty(n, np.uint64)
        rows_array = np.empty((n, self.columns), np.uint64)
        ends_array = np.empty((2 * n, 1 + self.barcodes), np.uint64)
        counts_array = np.zeros((self.n_libraries, 4), np.int64)
        cdef uint64_t[::1] templates = templates_array
        cdef uint64_t[:, ::1] rows = rows_array, ends = ends_array
        cdef int64_t[:, ::1] counts = counts_array
        cdef const uint8_t *tag = <const uint8_t *>self.barcode_tag
        cdef bam_record record, first_record
        cdef end_t mates[2]
        cdef size_t n_mates = 0
        cdef uint64_t library = self.libraries[self.libraries.shape[0] - 1]
        cdef bint fits = True
        cdef uint64_t reach = 0
        with nogil:
            for i in range(n):
                fits = at + 36 <= size
                if fits:
                    record = open_record(&bam[at])
                    at = record.end - &bam[0]
                    fits = at <= size
                if not fits:
                    break
                if not record.flag & NOT_PRIMARY and not (record.flag & SECOND_IN_PAIR and n_mates == 1):
                    found += self._put(mates, n_mates, library, n_templates - 1, &first_record, rows, found,
                                       ends, &n_ends, counts)
                    n_mates = 0
                    if self.n_libraries > 1:
                        library = self._library_of(&record, &first_record if n_templates else NULL, library)
                    n_templates += 1
                    first_record = record
                if n_templates == 0:
                    fits = False
                    break
                templates[i] = n_templates - 1
                if record.flag & NOT_PRIMARY:
                    counts[library, NOT_PRIMARY_RECORDS] += 1
                else:
                    self._look(&record, tag, &mates[n_mates])
                    reach = max(reach, mates[n_mates].reach)
                    n_mates += 1
            if fits:
                found += self._put(mates, n_mates, library, n_templates - 1, &first_record, rows, found,
                                   ends, &n_ends, counts)
        if not fits or at != size:
            raise ValueError(f"not {n} records, the first of them primary")
        rows_array, ends_array = rows_array[:found].copy(), ends_array[:n_ends].copy()
        sort_rows(rows_array)
        sort_rows(ends_array)
        return templates_array, rows_array, ends_array, counts_array, int(reach)

    cdef uint64_t _library_of(self, const bam_record *record, const bam_record *before, uint64_t library) noexcept nogil:
        """The library of a record; `library` is that of the record before, which is asked for once."""
        cdef size_t length = 0, length_before = 0
        cdef const uint8_t *text = text_of_tag(record, b"RG", &length)
        cdef const uint8_t *text_before = NULL if before == NULL else text_of_tag(before, b"RG", &length_before)
        if text == NULL:
            return self.libraries[self.libraries.shape[0] - 1]
        if text_before != NULL and length == length_before and memcmp(text, text_before, length) == 0:
            return library
        return self._library_named(text, length)

    cdef uint64_t _library_named(self, const uint8_t *text, size_t length) noexcept with gil:
        name = text[:length]
        return self.libraries[self.groups.index(name) if name in self.groups else self.libraries.shape[0] - 1]

    cdef void _look(self, const bam_record *record, const uint8_t *tag, end_t *e) noexcept nogil:
        """What the signature of a template takes of one of its primary records."""
        cdef int64_t first = 0, last = 0
        cdef size_t length = 0
        cdef const uint8_t *text
        e.is_mapped, e.reach = not record.flag & UNMAPPED and record.tid >= 0, 0
        if not e.is_mapped:
            return
        unclipped_ends(record, &first, &last)
        e.reach = <uint64_t>max(record.position + 1 - first, last - record.position)
        e.tid, e.reverse = record.tid, (record.flag & REVERSE) != 0
        e.is_first_mate = (record.flag & FIRST_IN_PAIR) != 0
        e.first, e.last = self.origins[record.tid] + first, self.origins[record.tid] + last
        e.score = sum_of_qualities(record)
        e.barcode = 0
        if self.barcodes:
            text = text_of_tag(record, tag, &length)
            e.barcode = hash_of(text, length) if text != NULL else 0

    cdef size_t _put(self, const end_t *mates, size_t n_mates, uint64_t library, uint64_t ordinal,
                     const bam_record *record, uint64_t[:, ::1] rows, size_t row, uint64_t[:, ::1] ends,
                     size_t *n_ends, int64_t[:, ::1] counts) noexcept nogil:
        """The row of a template, if it has one, and the ends of a pair; returns how many rows."""
        cdef size_t mapped = 0, i, rank = 2 + self.barcodes
        cdef const end_t *one = NULL
        cdef uint64_t score, barcode
        cdef bint turned = False
        for i in range(n_mates):
            if mates[i].is_mapped:
                mapped += 1
                one = &mates[i]
            else:
                counts[library, UNMAPPED_READS] += 1
        if mapped == 0:
            return 0
        if mapped == 1:
            counts[library, SINGLES] += 1
            rows[row, 0] = end_key(library, one)
            rows[row, 1] = <uint64_t>SINGLE << KIND_SHIFT
            barcode, score = one.barcode, one.score
        else:
            counts[library, PAIRS] += 1
            barcode = put_pair(mates, library, &rows[row, 0], &turned)
            score = <uint64_t>mates[0].score + mates[1].score
            for i in range(2):
                ends[n_ends[0], 0] = end_key(library, &mates[i])
                if self.barcodes:
                    ends[n_ends[0], 1] = mates[i].barcode
                n_ends[0] += 1
        if self.barcodes:
            rows[row, 2] = barcode
        rows[row, rank] = (MOST_SCORE - min(score, <uint64_t>MOST_SCORE)) << ORDINAL_BITS | ordinal
        if self.spots:
            put_spot(record, turned, &rows[row, rank + 1])
        return 1


cdef uint64_t put_pair(const end_t *mates, uint64_t library, uint64_t *row, bint *turned) noexcept nogil:
    """LEFT and RIGHT of a pair; returns its barcode. `turned`: the second mate is the left one."""
    cdef const end_t *a = &mates[0]
    cdef const end_t *b = &mates[1]
    cdef bint tandem = a.reverse == b.reverse, a_is_left
    cdef const end_t *left
    cdef const end_t *right
    cdef uint64_t kind, from_, to
    if a.tid != b.tid:
        a_is_left = a.tid < b.tid
    elif tandem:
        a_is_left = a.last <= b.last if a.reverse else a.first <= b.first
    else:
        a_is_left = a.first <= b.last if b.reverse else not b.first <= a.last
    left, right = (a, b) if a_is_left else (b, a)
    if tandem:
        kind = TANDEM if left.is_first_mate != left.reverse else TANDEM_TURNED
        from_, to = left.first, right.last
    elif left.reverse:
        kind, from_, to = REVERSE_FORWARD, left.last, right.first
    else:
        kind, from_, to = FORWARD_REVERSE, left.first, right.last
    row[0] = library << LIBRARY_SHIFT | from_ << 1
    row[1] = kind << KIND_SHIFT | to
    turned[0] = not left.is_first_mate
    # Two barcodes make one; that of pairs without any is 0.
    return mix(mix(left.barcode + 1) + right.barcode) if left.barcode or right.barcode else 0


cdef void put_spot(const bam_record *record, bint turned, uint64_t *columns) noexcept nogil:
    """SURFACE, 0 where the name tells none, and X and Y. Pairs that lie the other way round were read elsewhere."""
    cdef uint32_t x = 0, y = 0
    cdef uint64_t surface = 0
    cdef size_t length = strlen_of_name(record)
    columns[0] = columns[1] = 0
    if read_spot(record.name, length, &surface, &x, &y):
        columns[0] = mix(surface + turned) | 1
        columns[1] = <uint64_t>x << 32 | y


cdef inline size_t strlen_of_name(const bam_record *record) noexcept nogil:
    cdef size_t length = 0
    while record.name[length]:
        length += 1
    return length


# --- sorting ------------------------------------------------------------------------------------------------

cdef inline int compared(const uint64_t *a, const uint64_t *b, int columns) noexcept nogil:
    cdef int i
    for i in range(columns):
        if a[i] != b[i]:
            return 1 if a[i] > b[i] else -1
    return 0


cdef int compared_2(const void *a, const void *b) noexcept nogil:
    return compared(<const uint64_t *>a, <const uint64_t *>b, 2)


cdef int compared_3(const void *a, const void *b) noexcept nogil:
    return compared(<const uint64_t *>a, <const uint64_t *>b, 3)


cdef int compared_4(const void *a, const void *b) noexcept nogil:
    return compared(<const uint64_t *>a, <const uint64_t *>b, 4)


def sort_rows(uint64_t[:, ::1] rows not None):
    """Sort rows in place: ends by all of their columns, signatures up to RANK, which is never the same twice."""
    cdef size_t n = rows.shape[0], width = rows.shape[1] * sizeof(uint64_t)
    cdef Py_ssize_t columns = rows.shape[1]
    if n < 2:
        return
    if columns == 1:
        np.asarray(rows)[:, 0].sort()
        return
    with nogil:
        if columns == 2:
            qsort(&rows[0, 0], n, width, compared_2)
        elif columns % 2:  # LEFT, RIGHT, RANK, and maybe the spot
            qsort(&rows[0, 0], n, width, compared_3)
        else:
            qsort(&rows[0, 0], n, width, compared_4)


def bounds(const uint64_t[:, ::1] rows not None, const uint64_t[::1] keys not None):
    """How many of the sorted rows have a first column below each key: int64[k]."""
    found_array = np.empty(keys.shape[0], np.int64)
    cdef int64_t[::1] found = found_array
    cdef Py_ssize_t i, low, high, middle
    with nogil:
        for i in range(keys.shape[0]):
            low, high = 0, rows.shape[0]
            while low < high:
                middle = (low + high) // 2
                if rows[middle, 0] < keys[i]:
                    low = middle + 1
                else:
                    high = middle
            found[i] = low
    return found_array


# --- judging ------------------------------------------------------------------------------------------------

cdef struct spot_t:
    uint64_t surface
    uint32_t strip  # of the surface, which are one wider than the distance: any two in one are near in y
    uint32_t x, y
    size_t member  # of its set
    size_t parent  # another spot of its cluster


cdef int compared_spots(const void *a, const void *b) noexcept nogil:
    cdef const spot_t *p = <const spot_t *>a
    cdef const spot_t *q = <const spot_t *>b
    if p.surface != q.surface:
        return 1 if p.surface > q.surface else -1
    if p.strip != q.strip:
        return 1 if p.strip > q.strip else -1
    if p.x != q.x:
        return 1 if p.x > q.x else -1
    return (p.member > q.member) - (p.member < q.member)


cdef inline size_t root_of(spot_t *spots, size_t i) noexcept nogil:
    while spots[i].parent != i:
        spots[i].parent = spots[spots[i].parent].parent
        i = spots[i].parent
    return i


cdef inline void join(spot_t *spots, size_t i, size_t j) noexcept nogil:
    """Makes the clusters of two spots one, whose root is the best of it."""
    cdef size_t a = root_of(spots, i), b = root_of(spots, j)
    if spots[a].member > spots[b].member:
        a, b = b, a
    spots[b].parent = a


cdef inline int64_t apart(uint32_t a, uint32_t b) noexcept nogil:
    return <int64_t>a - <int64_t>b


cdef void join_strips(spot_t *spots, size_t first, size_t stop, size_t other, size_t other_stop, bint above,
                      int64_t distance, size_t *queue) noexcept nogil:
    """Joins each spot of one strip with one of the other that is near, and not behind it in x, if there is any.

    Spots of the other that are near in x lie near to each other, so one stands for all: that nearest in y. `queue`
    holds those that can become it, the nearest first. `above`: the first strip lies above the other.
    """
    cdef size_t i, head = 0, tail = 0
    cdef bint nearer
    for i in range(first, stop):
        while other < other_stop and spots[other].x <= spots[i].x:
            while tail > head:
                nearer = spots[other].y >= spots[queue[tail - 1]].y if above else (
                    spots[other].y <= spots[queue[tail - 1]].y)
                if not nearer:
                    break
                tail -= 1
            queue[tail] = other
            tail += 1
            other += 1
        while head < tail and apart(spots[i].x, spots[queue[head]].x) > distance:
            head += 1
        if head < tail and -distance <= apart(spots[i].y, spots[queue[head]].y) <= distance:
            join(spots, i, queue[head])


cdef size_t mark_optical(const uint64_t[:, ::1] rows, size_t first, size_t stop, size_t column, int64_t distance,
                         spot_t *spots, size_t *queue, uint8_t *optical) noexcept nogil:
    """Of members that were read near to each other, directly or by way of others, all but the best are optical.

    `optical` is for each member of the set, rows `first` to `stop` - 1; returns how many are.
    """
    cdef size_t n = 0, i, begin = 0, end = 0, before, found = 0
    cdef bint adjoin
    for i in range(first, stop):
        optical[i - first] = 0
        if rows[i, column]:
            spots[n].surface, spots[n].member = rows[i, column], i - first
            spots[n].x, spots[n].y = <uint32_t>(rows[i, column + 1] >> 32), <uint32_t>rows[i, column + 1]
            spots[n].strip = <uint32_t>(spots[n].y // (distance + 1))
            n += 1
    if n < 2:
        return 0
    qsort(spots, n, sizeof(spot_t), compared_spots)
    for i in range(n):
        spots[i].parent = i
    while end < n:
        before, begin = begin, end
        end = begin + 1
        while end < n and spots[end].surface == spots[begin].surface and spots[end].strip == spots[begin].strip:
            if apart(spots[end].x, spots[end - 1].x) <= distance:
                join(spots, end - 1, end)
            end += 1
        adjoin = (begin > 0 and spots[before].surface == spots[begin].surface
                  and spots[before].strip + 1 == spots[begin].strip)
        if adjoin:
            join_strips(spots, begin, end, before, begin, True, distance, queue)
            join_strips(spots, before, begin, begin, end, False, distance, queue)
    for i in range(n):
        if spots[i].parent != i:
            optical[spots[i].member] = 1
            found += 1
    return found


def judge(const uint64_t[:, ::1] rows not None, const uint64_t[:, ::1] ends not None, bint barcodes,
          int64_t distance, bint settled, size_t libraries):
    """Which templates are duplicates of others.

    Parameters
    ----------
    rows : uint64[t, columns]
        All signatures of some range of LEFT, sorted.
    ends : uint64[e, 1 or 2]
        All ends of that range, sorted.
    barcodes : bool
    distance : int
        Of spots that are optical duplicates; -1 where rows have none.
    settled : bool
        The first of each set is to be kept, even if others have its score.
    libraries : int

    Returns
    -------
    marked : uint64[d]
        Ordinals of duplicates.
    optical : uint8[d]
        Which of them are optical ones.
    undecided : uint64[u, columns]
        Sets of which several templates have the best score; nothing else tells of them.
    counts : int64[libraries, 3]
        Marked pairs, marked single reads, optical duplicates among the pairs.
    sizes : uint32[s, 2]
        Of each set of several pairs: how many, and how many of these are optical duplicates.
    """
    cdef size_t n = rows.shape[0], columns = rows.shape[1], keys = 2 + barcodes, i = 0, j, k, e = 0, found = 0
    cdef size_t n_undecided = 0, n_sizes = 0, n_ends = ends.shape[0], n_optical
    marked_array, optical_array = np.empty(n, np.uint64), np.zeros(n, np.uint8)
    undecided_array = np.empty(n, bool)
    counts_array, sizes_array = np.zeros((libraries, 3), np.int64), np.empty((n // 2, 2), np.uint32)
    cdef uint64_t[::1] marked = marked_array
    cdef uint8_t[::1] optical = optical_array, undecided = undecided_array.view(np.uint8)
    cdef int64_t[:, ::1] counts = counts_array
    cdef uint32_t[:, ::1] sizes = sizes_array
    cdef uint8_t *flags = <uint8_t *>malloc(n + 1)
    cdef spot_t *spots = <spot_t *>malloc((n if distance >= 0 else 0) * sizeof(spot_t) + 1)
    cdef size_t *queue = <size_t *>malloc((n if distance >= 0 else 0) * sizeof(size_t) + 1)
    cdef bint single, blocked
    cdef uint64_t library
    if flags == NULL or spots == NULL or queue == NULL:
        free(flags)
        free(spots)
        free(queue)
        raise MemoryError("no memory for duplicates")
    with nogil:
        while i < n:
            j = i + 1
            while j < n and compared(&rows[i, 0], &rows[j, 0], <int>keys) == 0:
                j += 1
            single = rows[i, 1] >> KIND_SHIFT == SINGLE
            library = rows[i, 0] >> LIBRARY_SHIFT
            blocked = False
            if single:
                while e < n_ends and is_below(ends, e, rows, i, barcodes):
                    e += 1
                blocked = e < n_ends and is_equal(ends, e, rows, i, barcodes)
            for k in range(i, j):
                undecided[k] = (not settled and not blocked and j > i + 1
                                and rows[i, keys] >> ORDINAL_BITS == rows[i + 1, keys] >> ORDINAL_BITS)
            if not undecided[i] and (blocked or j > i + 1):
                n_optical = 0
                if distance >= 0:
                    n_optical = mark_optical(rows, i, j, keys + 1, distance, spots, queue, flags)
                for k in range(i if blocked else i + 1, j):
                    marked[found] = rows[k, keys] & ((<uint64_t>1 << ORDINAL_BITS) - 1)
                    if distance >= 0:
                        optical[found] = flags[k - i]
                    found += 1
                counts[library, 1 if single else 0] += j - i - (not blocked)
                if not single:
                    counts[library, 2] += n_optical
                    sizes[n_sizes, 0], sizes[n_sizes, 1] = <uint32_t>(j - i), <uint32_t>n_optical
                    n_sizes += 1
            i = j
    free(flags)
    free(spots)
    free(queue)
    return (marked_array[:found].copy(), optical_array[:found].copy(), np.asarray(rows)[undecided_array],
            counts_array, sizes_array[:n_sizes].copy())


cdef inline bint is_below(const uint64_t[:, ::1] ends, size_t e, const uint64_t[:, ::1] rows, size_t i,
                          bint barcodes) noexcept nogil:
    if ends[e, 0] != rows[i, 0]:
        return ends[e, 0] < rows[i, 0]
    return barcodes and ends[e, 1] < rows[i, 2]


cdef inline bint is_equal(const uint64_t[:, ::1] ends, size_t e, const uint64_t[:, ::1] rows, size_t i,
                          bint barcodes) noexcept nogil:
    return ends[e, 0] == rows[i, 0] and (not barcodes or ends[e, 1] == rows[i, 2])


# --- ties ---------------------------------------------------------------------------------------------------

cdef class Ties:
    """Sets of which several templates have the best score, until their records decide.

    Of pairs the one with the least name is kept, by bytes. Of single reads it is the first in the sorted file.

    Parameters
    ----------
    rows : uint64[u, columns]
        As `judge` returns them, whole sets one behind the other.
    barcodes : bool
    """

    cdef readonly object rows
    cdef object _ordinals, _found, _keep, _bits
    cdef size_t keys
    cdef uint64_t mask

    def __init__(self, rows, bint barcodes):
        self.rows = np.array(rows, np.uint64, order="C")
        self.keys = 2 + barcodes
        ordinal = np.uint64((<uint64_t>1 << ORDINAL_BITS) - 1)
        self._ordinals = np.sort(self.rows[:, self.keys] & ordinal)
        self._found = np.zeros(len(self._ordinals), np.uint64)
        self._keep = []
        # A bit for the last digits of each ordinal: most records are told apart by them.
        self.mask = (1 << (len(self._ordinals) * TIE_BITS).bit_length()) - 1
        self._bits = np.zeros(self.mask // 8 + 1, np.uint8)
        set_bits(self._bits, self._ordinals & np.uint64(self.mask))

    def look(self, const uint8_t[::1] data not None, const uint64_t[::1] ends not None,
             const uint64_t[::1] templates not None):
        """Find the templates among records, and keep what decides: a copy of their positions and names."""
        cdef const uint64_t[::1] ordinals = self._ordinals
        cdef uint64_t[::1] found = self._found
        cdef const uint8_t[::1] bits = self._bits
        cdef size_t n = ordinals.shape[0], i, j, n_hits = 0, size = 0
        cdef uint64_t low
        cdef const uint8_t *record
        hits_array = np.empty((templates.shape[0], 2), np.uint64)
        cdef uint64_t[:, ::1] hits = hits_array
        with nogil:
            for i in range(<size_t>templates.shape[0]):
                low = templates[i] & self.mask
                if not bits[low >> 3] >> (low & 7) & 1:
                    continue
                low = place_of(ordinals, templates[i])
                record = &data[ends[i - 1] if i else 0]
                if low < n and ordinals[low] == templates[i] and not (
                        open_record(record).flag & (NOT_PRIMARY | UNMAPPED)):
                    hits[n_hits, 0], hits[n_hits, 1] = i, low
                    n_hits += 1
                    size += POSITION_BYTES + record[NAME_LENGTH_AT]
        kept_array = np.empty(size + 1, np.uint8)
        cdef uint8_t[::1] kept = kept_array
        self._keep.append(kept_array)
        size = 0
        with nogil:
            for j in range(n_hits):
                i = hits[j, 0]
                record = &data[ends[i - 1] if i else 0]
                found[hits[j, 1]] = <uint64_t>&kept[size]
                memcpy(&kept[size], record + POSITION_AT, POSITION_BYTES)
                memcpy(&kept[size] + POSITION_BYTES, record + NAME_AT, record[NAME_LENGTH_AT])
                size += POSITION_BYTES + record[NAME_LENGTH_AT]

    def settled(self):
        """The rows, in each set that which is to be kept first. Raises ValueError where a record was not found."""
        cdef uint64_t[:, ::1] rows = self.rows
        cdef const uint64_t[::1] ordinals = self._ordinals, found = self._found
        cdef size_t n = rows.shape[0], i = 0, j, best, keys = self.keys, c
        cdef uint64_t held
        cdef const uint8_t *first
        cdef const uint8_t *other
        cdef bint single
        if not self._found.all():
            raise ValueError("a template without a record")
        with nogil:
            while i < n:
                best, j = i, i + 1
                single = rows[i, 1] >> KIND_SHIFT == SINGLE
                first = kept_of(ordinals, found, rows[i, keys])
                while j < n and compared(&rows[i, 0], &rows[j, 0], <int>keys) == 0:
                    if rows[j, keys] >> ORDINAL_BITS == rows[i, keys] >> ORDINAL_BITS:
                        other = kept_of(ordinals, found, rows[j, keys])
                        if precedes(other, first, single):
                            best, first = j, other
                    j += 1
                if best != i:
                    for c in range(<size_t>rows.shape[1]):
                        held = rows[i, c]
                        rows[i, c] = rows[best, c]
                        rows[best, c] = held
                i = j
        return self.rows


cdef inline size_t place_of(const uint64_t[::1] ordinals, uint64_t ordinal) noexcept nogil:
    """Before how many ordinals, which ascend, this one lies or would lie."""
    cdef size_t low = 0, high = ordinals.shape[0], middle
    while low < high:
        middle = (low + high) // 2
        if ordinals[middle] < ordinal:
            low = middle + 1
        else:
            high = middle
    return low


cdef const uint8_t *kept_of(const uint64_t[::1] ordinals, const uint64_t[::1] found, uint64_t rank) noexcept nogil:
    return <const uint8_t *>found[place_of(ordinals, rank & ((<uint64_t>1 << ORDINAL_BITS) - 1))]


cdef bint precedes(const uint8_t *a, const uint8_t *b, bint single) noexcept nogil:
    """Positions and names of records on one strand of one contig, `a` behind `b` in the input."""
    cdef int32_t one, other
    if single:
        memcpy(&one, a, POSITION_BYTES)
        memcpy(&other, b, POSITION_BYTES)
        return one < other
    return strcmp(<const char *>a + POSITION_BYTES, <const char *>b + POSITION_BYTES) < 0


# --- marks --------------------------------------------------------------------------------------------------

def set_bits(uint8_t[::1] bits not None, const uint64_t[::1] ordinals not None):
    """Set the bits of these ordinals. Raises ValueError for one that lies behind the last bit."""
    cdef Py_ssize_t i
    cdef bint fits = True
    with nogil:
        for i in range(ordinals.shape[0]):
            fits = ordinals[i] >> 3 < <uint64_t>bits.shape[0]
            if not fits:
                break
            bits[ordinals[i] >> 3] |= 1 << (ordinals[i] & 7)
    if not fits:
        raise ValueError("an ordinal behind the last template")


def marks_of(const uint64_t[::1] templates not None, const uint8_t[::1] marked not None,
             const uint8_t[::1] optical not None):
    """The mark of each record, by its template: 0 for none, 1 for a duplicate, 2 for an optical one; uint8[n].

    `marked` and `optical` are bits by template. Raises ValueError for a template behind the last bit.
    """
    marks_array = np.zeros(templates.shape[0], np.uint8)
    cdef uint8_t[::1] marks = marks_array
    cdef uint64_t at
    cdef Py_ssize_t i
    cdef bint fits = marked.shape[0] == optical.shape[0]
    with nogil:
        for i in range(templates.shape[0]):
            at = templates[i] >> 3
            fits = fits and at < <uint64_t>marked.shape[0]
            if not fits:
                break
            if marked[at] >> (templates[i] & 7) & 1:
                marks[i] = 1 + (optical[at] >> (templates[i] & 7) & 1)
    if not fits:
        raise ValueError("a template behind the last bit")
    return marks_array
