/* The bounds of flank_bounds.h for blocks of candidates, in as many lanes as a vector has. Included after bound_band.h. */
#include "flank_bounds.h"

#define FLANK_LANES (BOUND_BYTES / 2)

typedef uint16_t flank_anywhere __attribute__((vector_size(BOUND_BYTES), aligned(2), may_alias));
#define FLANK_LOAD(p) ((flank_vec)(*(const flank_anywhere *)(p)))

BOUND_FN flank_planes flank_open(const flank_side *side, int start)
{
    flank_planes p = {FLANK_LOAD(side->read_low + start), FLANK_LOAD(side->read_high + start),
                      FLANK_LOAD(side->low + start), FLANK_LOAD(side->high + start), FLANK_LOAD(side->over + start)};
    return p;
}

/* Lanes behind the last candidate hold anything; their results are not looked at. */
static BOUND_TARGET void flank_bounds(const flank_block *block, int n, uint16_t *rejected_by)
{
    for (int start = 0; start < n; start += FLANK_LANES) {
        const flank_planes before = flank_mirrored(flank_open(&block->left, start)), behind = flank_open(&block->right, start);
        const flank_bounds_t a = flank_bounds_of(&before), b = flank_bounds_of(&behind);
        const flank_signed limit = (flank_signed)FLANK_LOAD(block->limit + start);
        const flank_signed tnw4 = a.tnw4 + b.tnw4 > limit, square = a.square + b.square > limit;
        const flank_signed frequency = ~tnw4 & (a.frequency + b.frequency > limit);
        *(flank_anywhere *)(rejected_by + start) =
            (flank_vec)((tnw4 & FLANK_TNW4) | (frequency & FLANK_FREQUENCY) | (square & ~tnw4 & ~frequency & FLANK_SQUARE));
    }
}
