/* Least energies of sequences, one to a work-item: fold_cells.h, whose cells lie side by side with those of other items. */
#include "fold_model.h"
#define VEC short
#define REAL short
#define LANES 1
#define LANES_TARGET
#define FORM(name) name##_item
#define AT(v, l) (v)
#define SET(x) ((short)(x))
#define ADD(a, b) add_sat((short)(a), (short)(b))
#define SMALLER(a, b) min((short)(a), (short)(b))
#define IF(test, yes, no) ((test) ? (yes) : (no))
#define LOOK(table, size, index) ((table)[index])
#define ANY(type) (type)
#define INFINITE FOLD_INFINITE
#define FOLD_STRIDE ((long)get_global_size(0))
#include "fold_cells.h"

__kernel void fold(__global const fold_parameters *parameters, __global const int *hairpin, __global const uchar *codes,
                   __global const long *offsets, const long first, const int count, const int n, __global short *memory,
                   __global int *energy)
{
    const int item = get_global_id(0);
    if (item >= count)
        return;
    const fold_job job = {parameters, hairpin, codes, offsets};
    space_item s = {.job = &job, .first = first + item, .n = n, .pair = memory + item};
    const short low = filled_item(&s, 1);
    energy[first + item] = low < FOLD_LOWEST ? INT32_MIN : s.exterior[0];
}
