/* How long the header of SAM or BAM is, before htslib takes memory for it. */
#ifndef GASSST_HEADER_SIZE_H
#define GASSST_HEADER_SIZE_H

#include <stdint.h>
#include <string.h>

#include <htslib/bgzf.h>

enum { HEADER_PIECE = 1 << 16 };

static uint32_t little_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Reads over bytes; 0 where the file ends before. */
static int skipped(BGZF *file, uint64_t bytes, uint8_t *piece)
{
    while (bytes) {
        size_t wanted = bytes < HEADER_PIECE ? (size_t)bytes : HEADER_PIECE;
        if (bgzf_read(file, piece, wanted) != (ssize_t)wanted) return 0;
        bytes -= wanted;
    }
    return 1;
}

/* Behind the magic number. Text, then the length of each name, the name, and the length of the contig. */
static int bam_header_fits(BGZF *file, uint64_t most, uint8_t *piece)
{
    uint64_t size;
    if (bgzf_read(file, piece, 4) != 4) return 1;
    size = little_endian(piece);
    if (size > most) return 0;
    if (!skipped(file, size, piece) || bgzf_read(file, piece, 4) != 4) return 1;
    for (uint32_t contigs = little_endian(piece); contigs; contigs--) {
        if (bgzf_read(file, piece, 4) != 4) return 1;
        uint32_t name = little_endian(piece);
        size += 8 + (uint64_t)name;
        if (size > most) return 0;
        if (!skipped(file, name + UINT64_C(4), piece)) return 1;
    }
    return 1;
}

/* Lines that begin with @; `piece` holds the first `n` bytes. */
static int sam_header_fits(BGZF *file, uint64_t most, uint8_t *piece, ssize_t n)
{
    uint64_t size = 0;
    int begins = 1; /* the next byte begins a line */
    for (; n > 0; n = bgzf_read(file, piece, HEADER_PIECE)) {
        for (const uint8_t *at = piece, *end = piece + n; at < end;) {
            if (begins && *at != '@') return 1;
            const uint8_t *line = memchr(at, '\n', (size_t)(end - at));
            begins = line != NULL;
            at = line ? line + 1 : end;
        }
        size += (uint64_t)n;
        if (size > most) return 0;
    }
    return 1;
}

/* Whether the header has at most so many bytes. What is damaged fits: htslib says what is wrong. */
static int header_fits(BGZF *file, uint64_t most)
{
    static const uint8_t magic[4] = {'B', 'A', 'M', 1};
    uint8_t piece[HEADER_PIECE];
    ssize_t n = bgzf_read(file, piece, 4);
    if (n == 4 && !memcmp(piece, magic, 4)) return bam_header_fits(file, most, piece);
    return sam_header_fits(file, most, piece, n);
}

#endif
