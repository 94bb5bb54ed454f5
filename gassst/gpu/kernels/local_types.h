/* Arguments of local alignment, the same for all kinds of lanes. Wanted: BAND_GLOBAL, coordinate_t, u32, u16, i16. */
#ifndef LOCAL_TYPES
#define LOCAL_TYPES
/* Penalties are positive; `open` is for the first base of a gap. All doubled. */
typedef struct {
    i16 match, mismatch, open_deletion, extend_deletion, open_insertion, extend_insertion, bonus, masked;
} local_scoring;

#define LOCAL_INFINITE 28000 /* of losses, in lanes of 16 bits */
/* A whole read is aligned with the fewest errors, and of these with the fewest gaps: an error counts as 32 gaps. */
#define WHOLE_ERROR 64
#define WHOLE_SCORING                                                                                                   \
    {0, WHOLE_ERROR, WHOLE_ERROR + 2, WHOLE_ERROR, WHOLE_ERROR + 2, WHOLE_ERROR, LOCAL_INFINITE, WHOLE_ERROR}

/* Slot of pair p: runs[slot_end[p - 1] .. slot_end[p]], 2 * g + 3 places where g gaps are more than the score of the
 * whole read pays for: gaps that follow each other have bases between them or are of two kinds, and both ends may be
 * clipped. Of a whole read 2 * e + 1, where it has e errors at most. */
typedef struct {
    BAND_GLOBAL const u32 *slot_end;
    BAND_GLOBAL coordinate_t *position; /* of the first aligned base */
    BAND_GLOBAL u16 *edits, *n_runs;
    BAND_GLOBAL u32 *runs;
    int are_whole; /* by WHOLE_SCORING: `rows` and `end` are given */
} local_paths;

/* By pair: the doubled score, the row behind the last aligned base, 0 where nothing is worth aligning, and the
 * diagonal of that base. */
typedef struct {
    BAND_GLOBAL u16 *key, *rows, *end;
} local_ends;
#endif
