/* The flanks: three lower bounds on the errors in up to 16 bases either side of the seed, one candidate in each 16-bit
 * lane. Rizk's tnw4-4 and frequency distance (4.6.3, 4.6.4), and the exact score of the square of 16 x 16 bases, which his
 * TNW_4(16) bounds from below: the least errors of any path from the corner at the seed to the far column or row.
 *
 * The square goes column by column (Myers 1999), a bit-vector of 16 rows in each lane. Where the read has fewer
 * than 16 bases left, the rows behind its end match everything and so cost nothing. Masked bases count as A.
 *
 * A work-item of OpenCL has one lane. Wanted: FLANK, 16; of C also BOUND_BYTES and what bound_lanes.h defines. */
#ifdef __OPENCL_VERSION__
#define BOUND_FN static
#define BOUND_UNROLL _Pragma("unroll")
#define BOUND_OR_XOR(a, b, c) ((a) | ((b) ^ (c)))
#define BOUND_OR_NOT(a, b) ((a) | ~(b))
#define BOUND_OR_NOR(a, b, c) ((a) | ~((b) | (c)))
#define BOUND_MIN_I8(a, b) min(a, b)
#define BOUND_MIN_I16(a, b) min(a, b)
typedef char2 band_bytes;
typedef ushort flank_vec;
typedef short flank_signed;
#define FLANK_BYTES(words) as_char2((flank_vec)(words))
#define FLANK_WORDS(bytes) as_ushort(bytes)
#else
typedef uint16_t flank_vec __attribute__((vector_size(BOUND_BYTES)));
typedef int16_t flank_signed __attribute__((vector_size(BOUND_BYTES)));
#define FLANK_BYTES(words) ((band_bytes)(words))
#define FLANK_WORDS(bytes) ((flank_vec)(bytes))
#endif
#define FLANK_SPREAD(bits, j) ((flank_vec)((flank_signed)((bits) << (15 - (j))) >> 15))
#define FLANK_MIN(a, b) BOUND_MIN_I16((flank_signed)(a), (flank_signed)(b))

/* Up to 16 bases of the read and of what they face, from the seed on; `over`: rows behind the end of the read. */
typedef struct {
    flank_vec read_low, read_high, low, high, over;
} flank_planes;

typedef struct {
    flank_signed tnw4, frequency, square;
} flank_bounds_t;

BOUND_FN flank_vec flank_mirror(flank_vec v)
{
    v = (v >> 8) | (v << 8);
    v = (v >> 4 & 0x0F0F) | (v & 0x0F0F) << 4;
    v = (v >> 2 & 0x3333) | (v & 0x3333) << 2;
    return (v >> 1 & 0x5555) | (v & 0x5555) << 1;
}

/* Planes of bases before a seed, which are in the order of the read, from the seed on. */
BOUND_FN flank_planes flank_mirrored(flank_planes p)
{
    p.read_low = flank_mirror(p.read_low), p.read_high = flank_mirror(p.read_high);
    p.low = flank_mirror(p.low), p.high = flank_mirror(p.high);
    return p;
}

BOUND_FN flank_signed flank_count(flank_vec v)
{
    v -= v >> 1 & 0x5555;
    v = (v & 0x3333) + (v >> 2 & 0x3333);
    v = (v + (v >> 4)) & 0x0F0F;
    return (flank_signed)((v + (v >> 8)) & 0x1F);
}

/* Both stretches have the same number of bases: the surpluses of three bases give that of the fourth, and the positive
   ones add up to the distance. */
BOUND_FN flank_signed flank_frequency(const flank_planes *p)
{
    const flank_vec among = ~p->over;
    const flank_signed c = flank_count(p->read_low & ~p->read_high & among) - flank_count(p->low & ~p->high & among);
    const flank_signed g = flank_count(p->read_high & ~p->read_low & among) - flank_count(p->high & ~p->low & among);
    const flank_signed t = flank_count(p->read_low & p->read_high & among) - flank_count(p->low & p->high & among);
    const flank_signed a = 0 - (c + g + t);
    return (a & ~(a >> 15)) + (c & ~(c >> 15)) + (g & ~(g >> 15)) + (t & ~(t >> 15));
}

/* The least errors in the first four rows of column four, from the bottom up. */
BOUND_FN flank_signed flank_tnw4(flank_signed bottom, flank_signed least, flank_vec vp, flank_vec vn)
{
    BOUND_UNROLL
    for (int i = 3; i >= 0; i--) {
        bottom += (flank_signed)(vn >> i & 1) - (flank_signed)(vp >> i & 1);
        least = FLANK_MIN(least, bottom);
    }
    return least;
}

/* The least errors in any row of the last column: prefix sums of VP - VN, in bytes of eight rows. */
BOUND_FN flank_signed flank_least(flank_vec vp, flank_vec vn)
{
    const flank_vec ones = (flank_vec){0} + 0x0101;
    band_bytes sum = FLANK_BYTES((flank_vec){0}), low = sum;
    BOUND_UNROLL
    for (int j = 0; j < 8; j++) {
        if (j)
            low = BOUND_MIN_I8(low, sum);
        sum += FLANK_BYTES(vp >> j & ones) - FLANK_BYTES(vn >> j & ones);
    }
    const flank_signed upper = (flank_signed)(FLANK_WORDS(low) << 8) >> 8, lower = (flank_signed)FLANK_WORDS(low) >> 8;
    const flank_signed middle = (flank_signed)(FLANK_WORDS(sum) << 8) >> 8;
    return FLANK + FLANK_MIN(upper, middle + lower);
}

BOUND_FN flank_bounds_t flank_bounds_of(const flank_planes *p)
{
    flank_vec vp = ~(flank_vec){0}, vn = {0};
    flank_signed row4 = (flank_signed){0} + 4, least4 = row4, row16 = (flank_signed){0} + FLANK, least = row16;
    flank_bounds_t bounds;
    bounds.frequency = flank_frequency(p);
    BOUND_UNROLL
    for (int j = 0; j < FLANK; j++) {
        const flank_vec differ = BOUND_OR_XOR(p->read_low ^ FLANK_SPREAD(p->low, j), p->read_high, FLANK_SPREAD(p->high, j));
        const flank_vec match = BOUND_OR_NOT(p->over, differ);
        const flank_vec d0 = BOUND_OR_XOR(match | vn, (match & vp) + vp, vp);
        const flank_vec hp = BOUND_OR_NOR(vn, d0, vp), hn = d0 & vp;
        if (j < 4) {
            row4 += (flank_signed)(hp >> 3 & 1) - (flank_signed)(hn >> 3 & 1);
            least4 = FLANK_MIN(least4, row4);
        }
        row16 += (flank_signed)(hp >> 15) - (flank_signed)(hn >> 15);
        least = FLANK_MIN(least, row16);
        const flank_vec down = hp << 1 | 1;
        vp = BOUND_OR_NOR(hn << 1, d0, down);
        vn = down & d0;
        if (j == 3)
            bounds.tnw4 = flank_tnw4(row4, least4, vp, vn);
    }
    bounds.square = FLANK_MIN(least, flank_least(vp, vn));
    return bounds;
}
