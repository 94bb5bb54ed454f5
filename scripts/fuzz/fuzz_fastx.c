/* ext/io/fastx.h: a file of reads, or two, parsed whole and in pieces. The room is that of `RecordParser`.
 *
 * Input: a byte of options, the bytes of a piece, the share of the first of two files, then the text. */
#include <stdio.h>
#include <stdlib.h>

#include "fastx.h"

enum { TAG_ROOM = 16, MAX_LENGTH = 200, HEAD = 3 };

typedef struct {
    const uint8_t *text[2];
    size_t size[2];
} files_t;

static void *room(size_t bytes)
{
    void *found = calloc(bytes ? bytes : 1, 1);
    if (!found)
        abort();
    return found;
}

static fastx_t open_parser(uint8_t options, size_t size)
{
    size_t reads = size / 3 + 4;
    fastx_t f = {.max_reads = UINT32_MAX - 2, .max_bases = UINT32_MAX, .max_length = MAX_LENGTH};
    f.pairing = (fastx_pairing_t)((options & 3) % 3);
    f.names = room(size);
    f.bases = room(size);
    f.quals = room(size);
    f.name_offsets = room(4 * (reads + 1));
    f.offsets = room(4 * (reads + 1));
    f.mate = room(reads);
    f.tag_offsets = room(4 * (reads + 1));
    f.copies = options >> 2 & 1;
    f.barcodes = options >> 3 & 1;
    f.separator = options >> 4 & 1 ? ':' : 0;
    f.dropped = DROPPED_ALWAYS | (options >> 5 & 1 ? 0 : DROPPED_WITH_GROUPS | DROPPED_WITH_METH);
    f.lenient = options >> 6 & 1;
    if (f.copies || f.barcodes || f.separator)
        f.tags = room(size + TAG_ROOM * reads);
    return f;
}

static void close_parser(fastx_t *f)
{
    void *owned[] = {f->names, f->bases, f->quals, f->name_offsets, f->offsets, f->mate, f->tag_offsets, f->tags};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

/* All of both files; each call is given `piece` bytes more in a block of their own, behind which nothing may be read. */
static void parse(fastx_t *f, const files_t *files, size_t piece)
{
    size_t used[2] = {0, 0}, given[2] = {0, 0};
    fastx_input_t in[2] = {{0}, {0}};
    fastx_step_t step = FASTX_WAITS;
    int n_files = 1 + (f->pairing == FASTX_TWO_FILES), last = 0;
    while (!f->error && step != FASTX_ENDED && !last) {
        uint8_t *block[2] = {NULL, NULL};
        size_t wanted = n_files == 2 ? f->input : 0;
        size_t left = files->size[wanted] - given[wanted];
        given[wanted] += left < piece ? left : piece;
        last = n_files == 1 && given[0] == files->size[0];
        for (int i = 0; i < n_files; i++) {
            size_t size = given[i] - used[i];
            block[i] = size ? room(size) : NULL;
            if (size)
                memcpy(block[i], files->text[i] + used[i], size);
            in[i].p = block[i];
            in[i].end = size ? block[i] + size : NULL;
            in[i].eof = given[i] == files->size[i];
        }
        if (n_files == 2)
            step = fastx_parse_pairs(f, in);
        else if (in[0].p)
            fastx_parse(f, in);
        for (int i = 0; i < n_files; i++) {
            used[i] += in[i].p ? (size_t)(in[i].p - block[i]) : 0;
            free(block[i]);
        }
    }
}

static void demand(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fastx: %s depends on where the file was cut\n", what);
    abort();
}

static void compare(const fastx_t *a, const fastx_t *b)
{
    demand(a->error == b->error, "the error");
    demand(a->n == b->n, "the number of records");
    demand(a->renamed == b->renamed && a->left_out == b->left_out, "a count");
    if (!a->n)
        return;
    demand(!memcmp(a->name_offsets, b->name_offsets, 4 * (size_t)(a->n + 1)), "the length of a name");
    demand(!memcmp(a->offsets, b->offsets, 4 * (size_t)(a->n + 1)), "the length of a read");
    demand(!memcmp(a->names, b->names, a->name_offsets[a->n]), "a name");
    demand(!memcmp(a->bases, b->bases, a->offsets[a->n]), "a base");
    if (a->marker == '@')
        demand(!memcmp(a->quals, b->quals, a->offsets[a->n]), "a quality");
    if (a->pairing != FASTX_SINGLE && !a->error)
        demand(!memcmp(a->mate, b->mate, a->n - a->pending), "a mate");
    if (a->tags) {
        demand(!memcmp(a->tag_offsets, b->tag_offsets, 4 * (size_t)(a->n + 1)), "the length of tags");
        demand(!memcmp(a->tags, b->tags, a->tag_offsets[a->n]), "a tag");
    }
}

/* Whatever the text is, what is cut off are whole lines of it. */
static void cut_lines(const uint8_t *text, size_t size)
{
    uint8_t *block = room(size);
    if (size)
        memcpy(block, text, size);
    fastx_input_t in = {block, block + size, 0, 1};
    int stray;
    fastq_cut(&in, 3, SIZE_MAX, &stray);
    if (in.p > block && in.p[-1] != '\n' && in.p[-1] != '\r')
        abort();
    free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    size_t text = size - HEAD, first = (data[0] & 3) % 3 == FASTX_TWO_FILES ? text * data[2] / 255 : text;
    files_t files = {{data + HEAD, data + HEAD + first}, {first, text - first}};
    fastx_t whole = open_parser(data[0], text), cut = open_parser(data[0], text);
    parse(&whole, &files, text + 1);
    parse(&cut, &files, 1 + data[1]);
    compare(&whole, &cut);
    cut_lines(data + HEAD, text);
    close_parser(&whole);
    close_parser(&cut);
    return 0;
}
