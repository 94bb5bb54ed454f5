/* The recurrence of Gotoh, the one source of the compiled kernels that score: C in vectors of any width, and without
 * them. scores.cl has it in the order that suits a GPU. The user defines for values of its own type CELL_ADD,
 * CELL_SUBTRACT and CELL_MAX, and CELL_FLOOR(h), which is h or, where the arithmetic does not saturate at the score of an
 * empty alignment, the larger of both.
 *
 * CELLS_STEP does one row of a strip of COLUMNS neighbouring columns. On entry, for each column c, `diagonal[c]` is H
 * of the row before in the column before; `down[c]` the best that ends here with a gap in the target; `left` and
 * `along` are H of this row in the column before the strip, and the best that ends in its first column with a gap in the
 * query. It leaves all of these for the next row, H of the last column in `left`, `along` for the next strip, and
 * in `highest[c]` the largest H of the column. KEEP(c, h) may take note of each H. */
#ifndef PAIRWISE_CELLS_H
#define PAIRWISE_CELLS_H

#define CELLS_STEP(VALUE, COLUMNS, SCORE, KEEP)                                        \
    for (int c = 0; c < (COLUMNS); c++) {                                              \
        VALUE h = CELL_MAX(CELL_MAX(CELL_ADD(diagonal[c], SCORE(c)), along), down[c]); \
        h = CELL_FLOOR(h);                                                             \
        highest[c] = CELL_MAX(highest[c], h);                                          \
        diagonal[c] = left;                                                            \
        left = h;                                                                      \
        KEEP(c, h);                                                                    \
        VALUE opened = CELL_SUBTRACT(h, first);                                        \
        along = CELL_MAX(CELL_SUBTRACT(along, extend), opened);                        \
        down[c] = CELL_MAX(CELL_SUBTRACT(down[c], extend), opened);                    \
    }

#endif
