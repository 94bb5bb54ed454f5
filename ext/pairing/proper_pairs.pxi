"""Pairs as they lie in the end: which of them are proper, and which further places of mates lie together."""

def flag_proper(hit_t[::1] hits, const uint32_t[::1] cigars, const uint8_t[::1] mate, const int64_t[::1] starts,
                insert):
    """Set the flag of the primary alignments of proper pairs that have none, by the reference bases that they cover.

    Parameters
    ----------
    hits : HIT[h]
        One or more of every read, in order, the primary first. Changed in place.
    cigars : uint32[]
    mate : uint8[n]
        Of the batch.
    starts : int64[c]
        Contig starts.
    insert : InsertModel

    Returns
    -------
    int
        Pairs that are proper now.
    """
    cdef Py_ssize_t i, a = -1
    cdef int64_t proper = 0
    cdef window_t w = window_of(insert)
    cdef const uint32_t *runs = &cigars[0] if cigars.shape[0] else NULL
    with nogil:
        for i in range(hits.shape[0]):
            if i and hits[i].read == hits[i - 1].read:
                continue
            if mate[hits[i].read] == 1:
                a = i
            elif mate[hits[i].read] == 2:
                proper += flag_pair(&hits[a], &hits[i], runs, starts, &w)
    return proper


def pair_templates(const hit_t[::1] hits, const uint32_t[::1] cigars, const int64_t[::1] first,
                   const int64_t[::1] starts, int orientation):
    """int64[p]: template lengths of the pairs whose mates are the rows `first` (int64[p]) and those behind them.

    They count in one orientation (index into ORIENTATIONS), and are at most 0 for mates that face the wrong way; 0 where
    one is unmapped, or on another contig or strand than that asks for. `hits`, `cigars` and `starts` are as for
    `flag_proper`.
    """
    cdef window_t w = window_t(orientation, 0, 0)
    cdef Py_ssize_t i
    lengths_array = np.zeros(first.shape[0], np.int64)
    cdef int64_t[::1] lengths = lengths_array
    with nogil:
        for i in range(first.shape[0]):
            if mates_fit(&hits[first[i]], &hits[first[i] + 1], starts, &w):
                lengths[i] = template_of(&hits[first[i]], &hits[first[i] + 1], &cigars[0], &w)
    return lengths_array


def name_mates(hit_t[::1] hits, const uint32_t[::1] cigars, const uint8_t[::1] mate, const int64_t[::1] starts, insert):
    """Let secondary alignments of mates name the place of the other one that makes a proper pair, and flag them.

    Of several the one whose template length is nearest to the mean. Those that are proper stay as they are.

    Parameters
    ----------
    hits : HIT[h]
        As for `flag_proper`. `mate` and flag of secondary rows change.
    cigars, mate, starts, insert
        As for `flag_proper`.
    """
    cdef Py_ssize_t i, a = 0, b = 0, end = 0, h = hits.shape[0], widest
    cdef double mean = insert.mean
    cdef window_t w = window_of(insert)
    cdef const uint32_t *runs = &cigars[0] if cigars.shape[0] else NULL
    widest = int(np.bincount(np.asarray(hits)["read"], minlength=1).max())
    if not 1 < widest <= KEY_ROW_MASK:
        return
    cdef uint64_t[::1] keys = np.empty(2 * widest, np.uint64)
    with nogil:
        while a < h:
            b = a + 1
            while b < h and hits[b].read == hits[a].read:
                b += 1
            if mate[hits[a].read] == 1 and b < h:
                end = b + 1
                while end < h and hits[end].read == hits[b].read:
                    end += 1
                name_rows(&hits[a], b - a, &hits[b], end - b, True, runs, starts, &w, mean, &keys[0])
                name_rows(&hits[b], end - b, &hits[a], b - a, False, runs, starts, &w, mean, &keys[0])
                b = end
            a = b


cdef void name_rows(hit_t *own, Py_ssize_t n, const hit_t *other, Py_ssize_t n_other, bint is_first,
                    const uint32_t *cigars, const int64_t[::1] starts, const window_t *w, double mean,
                    uint64_t *keys) noexcept nogil:
    """`name_mates` of the rows of one mate; `keys` has room for twice the rows of the other."""
    cdef Py_ssize_t i, j, row, sorted_rows = 0
    cdef int64_t template
    cdef double least
    cdef const hit_t *a
    cdef const hit_t *b
    if n == 1:
        return
    for j in range(n_other):
        if not other[j].flag & (SUPPLEMENTARY | UNMAPPED):
            keys[sorted_rows] = place_key(0, other[j].position) << KEY_ROW_BITS | <uint64_t>j
            sorted_rows += 1
    sort_keys(keys, keys + sorted_rows, sorted_rows)
    for i in range(n):
        if not own[i].flag & SECONDARY or own[i].flag & PROPER_PAIR:
            continue
        # A template covers both mates.
        j = first_from(keys, sorted_rows, place_key(0, max(own[i].position - w.high, 0)) << KEY_ROW_BITS)
        least = w.high + 1
        while j < sorted_rows:
            row = <Py_ssize_t>(keys[j] & KEY_ROW_MASK)
            if other[row].position > own[i].position + w.high:
                break
            j += 1
            a, b = &own[i], &other[row]
            template = concordant_template(a if is_first else b, b if is_first else a, cigars, starts, w)
            if template >= 0 and fabs(template - mean) < least:
                least = fabs(template - mean)
                own[i].mate = <uint32_t>row
                own[i].flag |= PROPER_PAIR
