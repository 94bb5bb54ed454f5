/* ext/io/record_check.h: a record of BAM that is taken for sound is one that ext/io/record_ends.h can read.
 *
 * Input: a byte, whose lowest bit makes the size of the block fit, then the record. */
#include <stdio.h>
#include <stdlib.h>

#include "record_check.h"

enum { N_REFERENCES = 3 };

static void read_all(const uint8_t *record, size_t size)
{
    static const char *const names[] = {"RG", "RX", "MC", "BX"};
    bam_record r = open_record(record);
    int64_t first, last;
    size_t length;
    uint64_t surface, sum = 0;
    uint32_t x, y;
    unclipped_ends(&r, &first, &last);
    sum_of_qualities(&r);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const uint8_t *text = text_of_tag(&r, (const uint8_t *)names[i], &length);
        if (text)
            hash_of(text, length);
    }
    read_spot(r.name, record[12] - 1u, &surface, &x, &y);
    for (const uint8_t *p = r.name; p < record + size; p++)
        sum += *p;
    if (r.end != record + size || sum == UINT64_MAX) {
        fprintf(stderr, "record: ends elsewhere than its block\n");
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t lengths[N_REFERENCES] = {1, 100000, INT32_MAX};
    if (!size)
        return 0;
    size_t bytes = size - 1;
    uint8_t *record = malloc(bytes ? bytes : 1); /* a block of its own, behind which nothing may be read */
    if (!record)
        abort();
    if (bytes)
        memcpy(record, data + 1, bytes);
    if (data[0] & 1 && bytes >= 4)
        for (int i = 0; i < 4; i++)
            record[i] = (uint8_t)((bytes - 4) >> 8 * i);
    if (record_is_sound(record, bytes, lengths, N_REFERENCES))
        read_all(record, bytes);
    free(record);
    return 0;
}
