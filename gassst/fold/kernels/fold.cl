/* Least energies of sequences, one to a work-group: fold_cells.h, with a work-item for each of the cells that are as wide.
 * MATRICES says where the matrices lie, __local or __global; ITEMS is the size of a group, at least that of a sequence. */
#include "fold_model.h"
#define VEC int
#define BITS int
#define REAL short
#define LANES 1
#define LANES_TARGET __attribute__((always_inline)) /* what is kept from cell to cell lies in registers */
#define FORM(name) name##_item
#define AT(v, l) (v)
#define SET(x) ((int)(x))
#define COUNTED 0
#define TWICE 0
#define SMALLER(a, b) min((int)(a), (int)(b))
#define ADD(a, b) ((a) + (b))
#define NOTHING FOLD_INFINITE
#define IF(test, yes, no) ((test) ? (yes) : (no))
#define LOOK(table, size, index) ((table)[index])
#define TYPE(a, b) ((int)(0x0406302001005000UL >> 4 * ((a) << 2 | (b))) & 7)
#define ANY(type) (type)
#define FEW (s->job->few)
#define CODE(i) ((int)s->code[i])
#define KEPT (FOLD_LOOP + 3) /* widths that a cell needs, and its own */
#define ROW(width) ((width) - s->first < 0 ? (width) - s->first + KEPT : (width) - s->first)
#define CELL(matrix, i, j) (s->matrix[ROW((j) - (i)) * s->n + (i)])
#define MULTI(i, j) (s->multi[((j) - (i)) * (2 * s->n + 1 - (j) + (i)) / 2 + (i)])
#define MEET barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

typedef struct {
    __global const fold_parameters *parameters;
    __global const int *hairpin;
    __constant fold_few *few;
} fold_job;

typedef struct {
    const fold_job *job;
    int n, length, first; /* the width whose cells lie first, of those that are kept */
    MATRICES short *internal, *one, *bulge, *multi, *code;
} space_item;

#include "fold_cells.h"

/* The cell of a work-item among those of one width, all of whose centres lie side by side; returns `low`, or less. */
LANES_TARGET static int of_width(space_item *s, int width, around_item *a, __global short *outer, int low)
{
    const int i = (int)get_local_id(0) - width / 2, j = i + width;
    s->first = width / KEPT * KEPT;
    MEET;
    if (i >= 0 && j < s->n) {
        low = min(low, cell_item(s, i, j, a));
        outer[j * s->n + i] = CELL(bulge, i, j) + side_item(s, i, j, i > 0, j + 1 < s->n);
    }
    return low;
}

/* The least energy of one sequence; all items of a group return it. */
LANES_TARGET static int of_sequence(space_item *s, __global const uchar *codes, __global short *outer, __local int *lowest)
{
    const int item = get_local_id(0), n = s->n;
    MATRICES short *exterior = s->multi; /* whose numbers are done with by then */
    around_item even, odd;
    int low = 0, best = 0;
    if (item == 0)
        *lowest = 0;
    if (item < n)
        s->code[item] = codes[item];
    if (item + FOLD_HAIRPIN < n)
        MULTI(item, item + FOLD_HAIRPIN) = NOTHING;
    even.parts = odd.parts = NOTHING;
    for (int width = FOLD_HAIRPIN + 1; width < n; width += 2) {
        low = of_width(s, width, &even, outer, low);
        low = of_width(s, width + 1, &odd, outer, low);
    }
    MEET;
    atomic_min(lowest, low);
    if (item == 0)
        exterior[n] = 0;
    for (int j = n; j > 0; j--) {
        MEET;
        if (item == j - 1)
            exterior[item] = min(best, (int)exterior[j]);
        else if (item + FOLD_HAIRPIN + 1 < j)
            best = min(best, outer[(j - 1) * n + item] + exterior[j]);
    }
    MEET;
    best = *lowest < FOLD_LOWEST ? INT32_MIN : exterior[0];
    MEET;
    return best;
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
fold(__global const fold_parameters *parameters, __constant fold_few *few, __global const int *hairpin,
     __global const uchar *codes, __global const long *begins, __global const long *lengths, const long first,
     const long last, MATRICES short *memory, const long size, __global short *outside, const long longest,
     __global int *taken, __global int *energy)
{
    __local int lowest, number;
    const long group = get_group_id(0);
    const fold_job job = {parameters, hairpin, few};
    for (;;) {
        if (get_local_id(0) == 0)
            number = atomic_inc(taken);
        MEET;
        const long k = last - 1 - number; /* the longest first */
        if (k < first)
            break;
        const int n = (int)lengths[k];
        space_item s = {.job = &job, .n = n, .length = n, .internal = memory + group * size};
        s.one = s.internal + KEPT * n;
        s.bulge = s.one + KEPT * n;
        s.code = s.bulge + KEPT * n;
        s.multi = s.code + n;
        const int found = of_sequence(&s, codes + begins[k], outside + group * longest * longest, &lowest);
        if (get_local_id(0) == 0)
            energy[k] = found;
    }
}
