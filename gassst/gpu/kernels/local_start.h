/* How the place of a whole read is scored with clipped ends, for C and OpenCL. */
#ifndef GASSST_LOCAL_START_H
#define GASSST_LOCAL_START_H

#include "planes.h"

/* What is lost by a base that differs, by a masked one, by a gap of one base, and at least by a gap or a clipped end. And most
 * errors beyond those of the chosen place that a mate can make up for. */
typedef struct {
    int32_t differs, masked, gap, breaking, worse;
} whole_costs;

typedef struct {
    int64_t touched; /* a diagonal of its best alignment, to which a band belongs */
    int64_t loss;    /* what that is expected to lose */
    int is_plain;    /* it lies along the diagonal, end to end, and loses that: there is no need of a band */
} whole_start;

/* What a device has made of the place of a whole read (local_ends): what band was around it, and the best alignment there. */
typedef struct {
    uint32_t touched, diagonal; /* of the band, 0 where the host is to score the place; of the last aligned base */
    uint16_t key, rows, scored; /* in how many bands */
} whole_end;

/* The diagonal of an ungapped alignment of m bases from `first` on with so few `edits`, the best of a band; or 0.
 *
 * An ungapped alignment is preferred to gapped ones with as many errors. The leftmost optimal end, `diagonal`, may lie before
 * the ungapped one: a mismatch in the last base can be had as an insertion. So `reach` more diagonals are tried. */
INLINE int64_t ungapped_diagonal(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int64_t m, int edits,
                                 uint32_t reach)
{
    for (uint32_t shift = 0; shift <= reach; shift++)
        if (count_differences(reference, diagonal + shift, reads, first, m, edits) == edits)
            return diagonal + shift;
    return 0;
}

/* Diagonals of a band that holds all alignments of a whole read with so many errors that end in its middle: an error takes one
 * a diagonal aside at most. */
INLINE uint32_t whole_width(uint32_t errors)
{
    uint32_t width = 16;
    while (width <= 2 * errors)
        width *= 2;
    return width;
}

/* What a whole read of m bases loses on a diagonal, or something above `limit`. */
INLINE int64_t lost_by_whole(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int64_t m, whole_costs costs,
                             int64_t limit)
{
    int64_t loss = 0;
    for (int64_t at = 0; at < m && loss <= limit; at += 64) {
        const bases64_t x = bases_at(reference, diagonal + at), y = bases_at(reads, first + at);
        const uint64_t live = first_bases(m - at), masked = unknown_bases(x, y) & live;
        loss += costs.differs * count_bits(differences(x, y) & live & ~masked) + costs.masked * count_bits(masked);
    }
    return loss;
}

/* Of a read of m bases from `first` on, whose band of fewest errors has so many `edits` on the diagonal `end`. */
INLINE whole_start start_of_whole(planes_t reference, int64_t end, planes_t reads, int64_t first, int64_t m, int edits,
                                  uint32_t reach, whole_costs costs)
{
    const int64_t touched = edits ? ungapped_diagonal(reference, end, reads, first, m, edits, reach) : end;
    whole_start start = {touched, (int64_t)edits * costs.differs, 0};
    if (!start.touched) {
        start.touched = end;
        start.loss += costs.gap - costs.differs;
    } else if (start.loss < costs.breaking) { /* one that a masked base makes cheaper is scored in a band */
        start.is_plain = !edits || lost_by_whole(reference, touched, reads, first, m, costs, start.loss) == start.loss;
    }
    return start;
}

#endif
