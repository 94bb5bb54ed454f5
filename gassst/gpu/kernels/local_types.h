/* Arguments of local alignment, the same for all kinds of lanes. Wanted: BAND_GLOBAL, coordinate_t, u32, u16, i16. */
#ifndef LOCAL_TYPES
#define LOCAL_TYPES
/* Penalties are positive; `open` is for the first base of a gap. All doubled. */
typedef struct {
    i16 match, mismatch, open_deletion, extend_deletion, open_insertion, extend_insertion, bonus;
} local_scoring;

/* Slot of pair p: runs[slot_end[p - 1] .. slot_end[p]], 2 * g + 3 places where g gaps are more than the score of the
 * whole read pays for: gaps that follow each other have bases between them or are of two kinds, and both ends may be
 * clipped. */
typedef struct {
    BAND_GLOBAL const u32 *slot_end;
    BAND_GLOBAL coordinate_t *position; /* of the first aligned base */
    BAND_GLOBAL u16 *edits, *n_runs;
    BAND_GLOBAL u32 *runs;
} local_paths;

/* By pair: the doubled score, the row behind the last aligned base, 0 where nothing is worth aligning, and the
 * diagonal of that base. */
typedef struct {
    BAND_GLOBAL u16 *key, *rows, *end;
} local_ends;
#endif
