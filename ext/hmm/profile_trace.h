/* The most probable alignment of one sequence: one stretch of it with the model (profile.h). */

/* A row of cells, and where each comes from; returns the best match that a hit may end with. */
LANES_TARGET static int32_t ISA_(trace_row)(const profile_job *job, const int32_t *restrict emission, int32_t begin,
                                        const int32_t *restrict m, int32_t *restrict match, uint8_t *restrict marks)
{
    const int64_t nodes = job->nodes, size = nodes + 1;
    const int32_t *restrict s = job->whole, *x = m + size, *d = x + size;
    int32_t *restrict insertion = match + size, *restrict deletion = insertion + size, best = TRACE_LOW;
    for (int64_t k = 1; k <= nodes; k++) {
        const int32_t a = m[k - 1] + s[k], b = x[k - 1] + s[size + k], c = d[k - 1] + s[2 * size + k];
        const int32_t e = begin + s[3 * size + k], ab = a >= b ? a : b, ce = c >= e ? c : e;
        const int32_t into = (ab >= ce ? ab : ce) + emission[k], f = m[k] + s[4 * size + k], g = x[k] + s[5 * size + k];
        const int32_t from_ab = b > a ? 1 : 0, from_ce = e > c ? 3 : 2;
        match[k] = into > TRACE_LOW ? into : TRACE_LOW;
        insertion[k] = f >= g ? f : g;
        marks[k] = (uint8_t)((ab >= ce ? from_ab : from_ce) + (g > f ? TRACE_INSERTION : 0));
    }
    int32_t one = match[0], deleted = deletion[0];
    for (int64_t k = 1; k <= nodes; k++) {
        const int32_t f = one + s[6 * size + k], g = deleted + s[7 * size + k];
        deleted = f >= g ? f : g;
        deletion[k] = deleted;
        one = match[k];
    }
    for (int64_t k = 1; k <= nodes; k++)
        marks[k] += deletion[k] > match[k - 1] + s[6 * size + k] ? TRACE_DELETION : 0;
    for (int64_t k = job->exits; k <= nodes; k++)
        best = match[k] > best ? match[k] : best;
    return best;
}

LANES_TARGET static void ISA_(trace)(const void *given, int64_t number, int64_t count, void *memory)
{
    const profile_job *const job = given;
    const int64_t n = job->lengths[number], nodes = job->nodes, size = nodes + 1;
    const double loop = log((double)n / (n + 3));
    char *const operations = job->operations + job->begins[number] + number * size;
    int64_t begin = 0, end = 0, first = 0, last = 0, i, k;
    int32_t *rows = memory, best = TRACE_LOW;
    uint8_t *marks = (uint8_t *)(rows + 6 * size);
    char now = 'M';
    for (k = 0; k < 6 * size; k++)
        rows[k] = TRACE_LOW;
    for (i = 0; i < n && !*job->stop; i++) {
        int32_t *row = rows + (i & 1) * 3 * size;
        const int code = job->code[job->text[job->begins[number] + i]];
        const int32_t left = (int32_t)(loop * (double)(n - 1 - i) * PROFILE_UNITS);
        const int32_t match = ISA_(trace_row)(job, job->whole + (PROFILE_STEPS + code % PROFILE_LETTERS) * size,
                                              (int32_t)(loop * (double)i * PROFILE_UNITS), rows + (~i & 1) * 3 * size, row,
                                              marks + i * size);
        const int is_deleted = job->exits == nodes && row[2 * size + nodes] > match;
        const int32_t score = (is_deleted ? row[2 * size + nodes] : match) + left;
        job->seen[number] |= (uint8_t)code;
        if (score > best) {
            best = score;
            end = i + 1;
            now = is_deleted ? 'D' : 'M';
            for (last = job->exits; !is_deleted && row[last] < match; last++)
                ;
        }
    }
    job->logs[number] = best / (double)PROFILE_UNITS + 2 * log(3.0 / (n + 3)) + log(0.5);
    count = 0;
    for (i = end - 1, k = last; i >= 0 && now && !*job->stop; count++) {
        const uint8_t mark = marks[i * size + k];
        operations[count] = now;
        begin = i, first = k;
        if (now == 'M') {
            now = "MID"[mark & TRACE_FROM]; /* the end of the text where it comes from the start */
            i--, k--;
        } else if (now == 'I') {
            now = mark & TRACE_INSERTION ? 'I' : 'M';
            i--;
        } else {
            now = mark & TRACE_DELETION ? 'D' : 'M';
            k--;
        }
    }
    memcpy(job->places[number], ((const int64_t[]){begin, end, first, last, count}), sizeof *job->places);
}
