/* What is known of one read: ext/search/stages.pyx and the kernels ask. */
#ifndef GASSST_KNOWLEDGE_H
#define GASSST_KNOWLEDGE_H

#include "portable.h"

/* Fewest errors of a band, the most that still matter, and the number below which every alignment has been seen. */
typedef struct {
    uint16_t best, limit, complete;
} knowledge_t;

/* Whether a read that may have so many errors needs a stage, if that has seeds for it. */
INLINE int needs_stage(const knowledge_t *known, int errors, int strata, int settled)
{
    const int wanted = known->best + strata < errors + 1 ? known->best + strata : errors + 1;
    return (known->complete < wanted) & (known->best > settled);
}

/* Whether a scored band is within the limit, which tightens. */
INLINE int take_band(knowledge_t *known, uint16_t edits, int margin)
{
    if (edits > known->limit)
        return 0;
    if (edits < known->best) {
        known->best = edits;
        known->limit = known->limit < edits + margin ? known->limit : (uint16_t)(edits + margin);
    }
    return 1;
}

#endif
