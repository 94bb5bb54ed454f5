/* What surrounds local.h where it is compiled more than once, for lanes of bytes and of 16 bits, for each
 * instruction set. Names are told apart by ISA. */
#define LOCAL_VARIANT__(name, isa) name##_##isa
#define LOCAL_VARIANT_(name, isa) LOCAL_VARIANT__(name, isa)
#define LOCAL_VARIANT(name) LOCAL_VARIANT_(name, ISA)
#define local_lanes LOCAL_VARIANT(local_lanes)
#define local_costs LOCAL_VARIANT(local_costs)
#define local_state LOCAL_VARIANT(local_state)
#define local_block LOCAL_VARIANT(local_block)
#define local_larger LOCAL_VARIANT(local_larger)
#define local_losses LOCAL_VARIANT(local_losses)
#define local_open LOCAL_VARIANT(local_open)
#define local_planes LOCAL_VARIANT(local_planes)
#define local_unpack LOCAL_VARIANT(local_unpack)
#define local_load_reference LOCAL_VARIANT(local_load_reference)
#define local_load LOCAL_VARIANT(local_load)
#define local_reset LOCAL_VARIANT(local_reset)
#define local_behind LOCAL_VARIANT(local_behind)
#define local_note LOCAL_VARIANT(local_note)
#define local_row LOCAL_VARIANT(local_row)
#define local_forward LOCAL_VARIANT(local_forward)
#define local_put_ends LOCAL_VARIANT(local_put_ends)
#define local_score LOCAL_VARIANT(local_score)
#define local_push LOCAL_VARIANT(local_push)
#define local_walk LOCAL_VARIANT(local_walk)
#define local_align LOCAL_VARIANT(local_align)
#define local_vec LOCAL_VARIANT(local_vec)
#define local_int LOCAL_VARIANT(local_int)

/* Scores and alignments of the groups first, first + step, .. of 2 * lanes pairs each: with lanes of bytes where all that
 * a group loses fits, else with 16 bits, half as many pairs at a time. Where one did not fit, the next ones may not
 * either, and the trial costs half of what they do. `widest`: the widest band whose diagonals are bytes, 0 where there are
 * no lanes of bytes. trace: bytes [rows, width, 2 * lanes], which each group overwrites. */
#define LOCAL_UNTRIED 3
/* Called for the pairs first .. first + n - 1 one group ahead of their turn. */
#ifndef LOCAL_AHEAD
#define LOCAL_AHEAD(batch, first, n, width)
#endif
#define LOCAL_GROUPS(isa, lanes, bytes, widest)                                                                   \
    static void local_scores_##isa(const band_batch *batch, const local_scoring *scoring, u32 width, u32 first,   \
                                   u32 step, const local_ends *ends)                                              \
    {                                                                                                             \
        u32 wait = width > widest ? ~(u32)0 : 0;                                                                  \
        LOCAL_AHEAD(batch, 2 * first * lanes, 2 * lanes, width);                                                  \
        for (u32 group = 2 * first; group * lanes < batch->n; group += 2 * step) {                                \
            LOCAL_AHEAD(batch, (group + 2 * step) * lanes, 2 * lanes, width);                                     \
            if (wait == 0 && local_score_group_##bytes(batch, scoring, width, group / 2, ends))                   \
                continue;                                                                                         \
            wait = wait ? wait - 1 : LOCAL_UNTRIED;                                                               \
            for (u32 one = group; one < group + 2 && one * lanes < batch->n; one++)                           \
                local_score_group_##isa(batch, scoring, width, one, ends);                                       \
        }                                                                                                         \
    }                                                                                                             \
    static void local_alignments_##isa(const band_batch *batch, const local_scoring *scoring, u32 width,          \
                                       u32 first, u32 step, const local_ends *ends, const local_paths *paths,     \
                                       BAND_GLOBAL u8 *trace)                                                     \
    {                                                                                                             \
        u32 wait = width > widest ? ~(u32)0 : 0;                                                                  \
        LOCAL_AHEAD(batch, 2 * first * lanes, 2 * lanes, width);                                                  \
        for (u32 group = 2 * first; group * lanes < batch->n; group += 2 * step) {                                \
            LOCAL_AHEAD(batch, (group + 2 * step) * lanes, 2 * lanes, width);                                     \
            if (wait == 0 && local_align_group_##bytes(batch, scoring, width, group / 2, ends, paths, trace))     \
                continue;                                                                                         \
            wait = wait ? wait - 1 : LOCAL_UNTRIED;                                                               \
            for (u32 one = group; one < group + 2 && one * lanes < batch->n; one++)                           \
                local_align_group_##isa(batch, scoring, width, one, ends, paths, trace);                         \
        }                                                                                                         \
    }
