/* The pair HMM of pair_hmm_lanes.h, a pair to a work-item: one row of M, I and D along the haplotype, side by side with
 * those of the other items of the call.
 *
 * Wanted from whoever builds this: REAL, SMALL, SCALE, SCALE_BITS, and for the largest alignment instead of the sum of
 * all LARGEST. */
#if defined(cl_khr_fp64) && defined(DOUBLE)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef LARGEST
#define PLUS(a, b) fmax(a, b)
#else
#define PLUS(a, b) ((a) + (b))
#endif
enum { MATCH, MISMATCH, MM, MI, MD, IM, II, STEP = 9 }; /* of `hmm_step` */

__kernel void pair_hmm(__global const uchar *bases, __global const long *offsets, __global const REAL *steps,
                       __global const uchar *haplotypes, __global const long *haplotype_offsets,
                       __global const int *pairs, const long first, const int n_pairs, __global REAL *rows,
                       __global REAL *sums, __global int *exponents)
{
    const size_t item = get_global_id(0), items = get_global_size(0);
    if (item >= n_pairs)
        return;
    const int read = pairs[2 * (first + item)], haplotype = pairs[2 * (first + item) + 1];
    const int m = offsets[read + 1] - offsets[read], n = haplotype_offsets[haplotype + 1] - haplotype_offsets[haplotype];
    __global const uchar *base = bases + offsets[read], *facing = haplotypes + haplotype_offsets[haplotype];
    __global const REAL *s = steps + STEP * offsets[read];
    /* M, I, D of column j at row[3 * j * items], and behind each other. */
    __global REAL *row = rows + item;
    REAL factor = 1, sum = 0;
    int exponent = 0;
    for (int j = 0; j <= n; j++) {
        row[3 * j * items] = row[(3 * j + 1) * items] = 0;
        row[(3 * j + 2) * items] = (REAL)1 / n;
    }
    for (int i = 0; i < m; i++, s += STEP) {
        const REAL mm = factor * s[MM], mi = factor * s[MI], gm = factor * s[IM], gap = factor * s[II];
        const REAL md = s[MD], gg = s[II];
        REAL before = row[0], gaps_before = PLUS(row[items], row[2 * items]), match = 0, deletion = 0, largest = 0;
        row[0] = row[items] = row[2 * items] = 0;
        sum = 0;
        for (int j = 1; j <= n; j++) {
            __global REAL *here = row + 3 * j * items;
            const REAL old = here[0], old_insertion = here[items], old_deletion = here[2 * items];
            const REAL emission = base[i] & facing[j - 1] ? s[MATCH] : s[MISMATCH];
            const REAL insertion = PLUS(mi * old, gap * old_insertion);
            deletion = PLUS(md * match, gg * deletion);
            match = emission * PLUS(mm * before, gm * gaps_before);
            before = old;
            gaps_before = PLUS(old_insertion, old_deletion);
            here[0] = match;
            here[items] = insertion;
            here[2 * items] = deletion;
            largest = fmax(largest, fmax(match, insertion));
            sum = PLUS(sum, PLUS(match, insertion));
        }
        factor = 1;
        if (largest < SMALL && i + 1 < m) {
            factor = SCALE;
            exponent += SCALE_BITS;
        }
    }
    sums[first + item] = sum;
    exponents[first + item] = exponent;
}
