/* Bands of buckets: listed, scored, held against the limits, collected by read. */

/* The distinct buckets of the live anchors of every read (`buckets`): pairs uint[2, room], read strand and first diagonal; bands uint2[a], first and number of those of each read. */
__kernel void list_bands(__global const uint *read_length, __global const uchar *read_flip,
                         __global const uint *active, __global const short *plan, uint shift,
                         __global const uint2 *segment, __global const ulong *anchors, uint room, __global uint *pairs, __global uint2 *bands, __global uint *counters)
{
    __local uint sums[GROUP];
    uint i = get_global_id(0), read = 0, n = 0, to = 0, n_active = counters[ACTIVE];
    uint2 own = (uint2)(0, 0);
    if (i < n_active) {
        read = active[i];
        own = segment[read];
    }
    for (int writes = 0; writes < 2; writes++) {
        ulong here = ~(ulong)0;
        uint lead = writes && i < n_active ? lead_of(PLAN(BAND_WORDS, read_length[read]), shift) : 0, found = 0;
        for (uint j = own.x; j < own.x + own.y; j++) {
            ulong anchor = anchors[j], bucket = anchor >> 31 >> shift;
            if (anchor_fate(anchor) != ANCHOR_LIVE || bucket == here)
                continue;
            here = bucket;
            if (writes) {
                pairs[to + found] = read << 1 | (anchor_strand(anchor) ^ read_flip[read]);
                pairs[room + to + found] = (anchor_diagonal(anchor) >> shift << shift) - lead;
            }
            found++;
        }
        if (!writes) {
            n = found;
            to = reserve(n, sums, counters + BANDS, counters + OVERFLOW);
        }
    }
    if (i < n_active)
        bands[i] = (uint2)(to, n);
}

/* Scores bands of 64 * WORDS diagonals; reads with bands of another width are left to another program. There are
 * counters[count] pairs. found: best ushort[room], then end ushort[room]. */
__kernel void score_bands(READ_ARGS, __global const short *plan, REFERENCE_ARGS, __global const uint *pairs, uint room,
                          __global const uint *counters, uint count, __global ushort *found)
{
    uint n = counters[count];
    band_batch batch = BANDS_OF_READS(pairs, room, n);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
        if (pairs[i] == NOWHERE || PLAN(BAND_WORDS, read_length[pairs[i] >> 1]) != WORDS)
            continue;
        band_score(&batch, &i, found, found + room);
    }
}

/* Marks the bands within the limits of their reads, which tighten on the way (`take_band`). Where `bands`
 * is not of use, each read has the one band of its top bucket. kept: uchar[room], number: uint[n], those of each read. */
__kernel void keep_bands(uint n_reads, __global const uint *counters, __global const uint *active, int is_top,
                         __global const uint2 *bands, __global const uint *pairs, uint room,
                         __global const ushort *found, int margin, __global ushort *state, __global uchar *kept,
                         __global uint *number)
{
    uint i = get_global_id(0);
    if (i >= counters[ACTIVE])
        return;
    uint read = active[i], n = 0;
    uint2 own = is_top ? (uint2)(i, pairs[i] != NOWHERE) : bands[i];
    knowledge_t known = {STATE(BEST, read), STATE(LIMIT, read), 0};
    if (is_top)
        kept[i] = 0;
    for (uint j = own.x; j < own.x + own.y; j++)
        n += kept[j] = take_band(&known, found[j], margin);
    STATE(BEST, read) = known.best;
    STATE(LIMIT, read) = known.limit;
    number[read] += n;
}

/* Where the kept bands of each read begin, `number` uint[n] of each: next uint[n]. */
__kernel void reserve_bands(uint n_reads, __global const uint *number, __global uint *counters, __global uint *next)
{
    __local uint sums[GROUP];
    uint read = get_global_id(0);
    uint first = reserve(read < n_reads ? number[read] : 0, sums, counters + KEPT, counters + OVERFLOW);
    if (read < n_reads)
        next[read] = first;
}

/* The kept bands of a stage to the places of their reads, `next` uint[n]: columns uint[2, most] as pairs, scores
 * ushort[2, most]. Where all[KEPT], of all stages, do not fit there, none go. */
__kernel void collect_bands(__global const uint *counters, __global const uint *all, __global const uint *active, int is_top, __global const uint2 *bands,
                            __global const uint *pairs, uint room, __global const ushort *found,
                            __global const uchar *kept, __global uint *next, uint most, __global uint *columns,
                            __global ushort *scores)
{
    uint i = get_global_id(0);
    if (i >= counters[ACTIVE] || all[KEPT] > most)
        return;
    uint read = active[i], to = next[read];
    uint2 own = is_top ? (uint2)(i, 1) : bands[i];
    for (uint j = own.x; j < own.x + own.y; j++)
        if (kept[j]) {
            columns[to] = pairs[j];
            columns[most + to] = pairs[room + j];
            scores[to] = found[j];
            scores[most + to] = found[room + j];
            to++;
        }
    next[read] = to;
}
