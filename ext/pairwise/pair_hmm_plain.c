/* The pair HMM in logarithms, its best path, and posterior probabilities in a band. */
#include "pair_hmm.h"
#include "one_lane.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double lanes_log_add(double a, double b)
{
    const double larger = a > b ? a : b, difference = a > b ? b - a : a - b;
    return larger == -INFINITY ? larger : larger + log1p(exp(difference));
}

#define LOGS 1
#define KIND F64
#define LARGEST 0
#include "numbers.h"
#include "pair_hmm_lanes.h"
#undef LARGEST
#define LARGEST 1
#include "numbers.h"
#include "pair_hmm_lanes.h"

int hmm_log_sum(const hmm_batch *batch, double *logs)
{
    return logs_sum_F64_plain(batch, logs);
}

int hmm_log_largest(const hmm_batch *batch, double *logs)
{
    return logs_largest_F64_plain(batch, logs);
}

/* What led to each state at a place: for M and D one of the three states, for I whether it was I. */
enum { STATE_M, STATE_I, STATE_D, FROM_OF_M = 3, I_FROM_I = 4, D_FROM_D = 8 };

int64_t hmm_path(const hmm_batch *batch, int64_t pair, uint8_t *trace, double *memory, uint8_t *steps, int64_t *first,
                 double *log_probability)
{
    const int32_t read = batch->pairs[2 * pair], haplotype = batch->pairs[2 * pair + 1];
    const int64_t m = batch->offsets[read + 1] - batch->offsets[read];
    const int64_t n = batch->haplotype_offsets[haplotype + 1] - batch->haplotype_offsets[haplotype];
    const uint8_t *bases = batch->bases + batch->offsets[read];
    const uint8_t *facing = batch->haplotypes + batch->haplotype_offsets[haplotype];
    double *match = memory, *insertion = match + n + 1, *deletion = insertion + n + 1, best = -INFINITY;
    int64_t i = m, j, at = 0, end = 1, state = STATE_M;
    for (j = 0; j <= n; j++) {
        match[j] = insertion[j] = -INFINITY;
        deletion[j] = -log((double)n);
    }
    for (i = 1; i <= m; i++) {
        if (*batch->stop)
            return 0;
        const hmm_step *s = batch->steps + batch->offsets[read] + i - 1;
        const double mm = log(s->mm), mi = log(s->mi), md = log(s->md), gm = log(s->im), gg = log(s->ii);
        const double yes = log(s->match), no = log(s->mismatch);
        double before[3] = {match[0], insertion[0], deletion[0]};
        match[0] = insertion[0] = deletion[0] = -INFINITY;
        for (j = 1; j <= n; j++) {
            const double old[3] = {match[j], insertion[j], deletion[j]};
            const double from[3] = {mm + before[0], gm + before[1], gm + before[2]};
            uint8_t how = from[1] > from[0];
            if (from[2] > from[how])
                how = STATE_D;
            match[j] = from[how] + (bases[i - 1] & facing[j - 1] ? yes : no);
            insertion[j] = mi + old[0];
            if (gg + old[1] > insertion[j])
                insertion[j] = gg + old[1], how |= I_FROM_I;
            deletion[j] = md + match[j - 1];
            if (gg + deletion[j - 1] > deletion[j])
                deletion[j] = gg + deletion[j - 1], how |= D_FROM_D;
            trace[i * (n + 1) + j] = how;
            memcpy(before, old, sizeof old);
        }
    }
    for (j = 1; j <= n; j++) {
        if (match[j] > best)
            best = match[j], end = j, state = STATE_M;
        if (insertion[j] > best)
            best = insertion[j], end = j, state = STATE_I;
    }
    *log_probability = best;
    for (i = m, j = end; i > 0;) {
        const uint8_t how = trace[i * (n + 1) + j];
        steps[at++] = (uint8_t)state;
        if (state == STATE_M)
            i--, j--, state = how & FROM_OF_M;
        else if (state == STATE_I)
            i--, state = how & I_FROM_I ? STATE_I : STATE_M;
        else
            j--, state = how & D_FROM_D ? STATE_D : STATE_M;
        if (i == 0 || best == -INFINITY)
            break;
    }
    *first = j;
    return at;
}

/* A row of M, I, D with a place before it and behind it that stay 0: column j is at [j - first + 1]. */
typedef struct {
    double *m, *i, *d;
    int32_t first, last;
} band_row;

static double at(const double *values, const band_row *row, int32_t j)
{
    return j < row->first || j > row->last ? 0 : values[j - row->first];
}

static int is_stopped(const hmm_pair *p)
{
    return p->stop && *p->stop;
}

static double emission(const hmm_pair *p, int32_t i, int32_t j)
{
    const hmm_step *s = p->steps + i - 1;
    const unsigned a = p->read[i - 1], b = p->haplotype[j - 1];
    return a & b ? s->match : s->mismatch;
}

/* Forward numbers of all rows into `match` and `insertion`, each row divided by its sum, which goes to `sums`. */
static void forward_rows(const hmm_pair *p, double *match, double *insertion, size_t stride, double *deletions,
                         double *sums)
{
    const int32_t width = 2 * p->band + 1;
    band_row before = {0}, row = {0};
    for (int32_t i = 1; i <= p->m && !is_stopped(p); i++) {
        const hmm_step *s = p->steps + i - 1;
        double sum = 0;
        row.m = match + (i - 1) * stride, row.i = insertion + (i - 1) * stride;
        row.d = deletions + (i & 1) * (width + 1);
        row.first = hmm_first(p, i), row.last = hmm_last(p, i);
        for (int32_t j = row.first; j <= row.last; j++) {
            const int32_t k = j - row.first;
            const double e = emission(p, i, j);
            if (i == 1) {
                row.m[k] = e * p->begin_match;
                row.i[k] = p->insertion * p->begin_insertion;
            } else {
                row.m[k] = e * (s->mm * at(before.m, &before, j - 1) + s->im * at(before.i, &before, j - 1) +
                                s->dm * at(before.d, &before, j - 1));
                row.i[k] = p->insertion * (s->mi * at(before.m, &before, j) + s->ii * at(before.i, &before, j));
            }
            row.d[k] = k ? s->md * row.m[k - 1] + s->dd * row.d[k - 1] : 0;
            sum += row.m[k] + row.i[k] + row.d[k];
        }
        sums[i - 1] = sum;
        for (int32_t k = 0; k <= row.last - row.first && sum > 0; k++)
            row.m[k] /= sum, row.i[k] /= sum, row.d[k] /= sum;
        before = row;
    }
}

double hmm_posterior(const hmm_pair *p, double *match, double *insertion, size_t stride, void *memory)
{
    const int32_t width = 2 * p->band + 1;
    double *const sums = memory, *const rows = sums + p->m;
    double total = 0, log_probability = 0;
    band_row behind = {0}, row = {0};
    forward_rows(p, match, insertion, stride, rows, sums);
    if (is_stopped(p))
        return 0;
    for (int32_t j = hmm_first(p, p->m), k = 0; j <= hmm_last(p, p->m); j++, k++)
        total += match[(p->m - 1) * stride + k] + insertion[(p->m - 1) * stride + k];
    for (int32_t i = 0; i < p->m; i++)
        log_probability += log(sums[i]);
    log_probability += log(total);
    if (!(total > 0))
        return -INFINITY;
    for (int32_t i = p->m; i >= 1 && !is_stopped(p); i--) {
        const hmm_step *s = p->steps + i - 1, *next = s + 1;
        double *store = rows + (i & 1) * 3 * (width + 1), deletion = 0;
        row.m = store, row.i = store + width + 1, row.d = store + 2 * (width + 1);
        row.first = hmm_first(p, i), row.last = hmm_last(p, i);
        for (int32_t j = row.last; j >= row.first; j--) {
            const int32_t k = j - row.first;
            if (i == p->m) {
                row.m[k] = row.i[k] = 1;
                deletion = 0;
            } else {
                const double pair =
                    j < p->n ? emission(p, i + 1, j + 1) * at(behind.m, &behind, j + 1) / sums[i] : 0;
                const double inserted = p->insertion * at(behind.i, &behind, j) / sums[i];
                row.m[k] = next->mm * pair + next->mi * inserted + s->md * deletion;
                row.i[k] = next->im * pair + next->ii * inserted;
                deletion = next->dm * pair + s->dd * deletion;
            }
            row.d[k] = deletion;
        }
        behind = row;
        for (int32_t k = 0; k <= row.last - row.first; k++) {
            match[(i - 1) * stride + k] *= row.m[k] / total;
            insertion[(i - 1) * stride + k] *= row.i[k] / total;
        }
    }
    return log_probability;
}
