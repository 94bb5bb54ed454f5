/* Single precision: numbers from 2^-126 to 2^127, the largest of a row above 2^30. No guard: each use is one choice. */
#define REAL float
#define INT int32_t
#define HMM_LANES HMM_LANES_OF(4)
#define TIMES(a, b) ((a) * (b))
#define NUMBER(p) (p)
#define NOTHING 0
#define HMM_SCALED
#define SMALL 0x1p30f
#define SCALE 0x1p64f
#define SCALE_BITS 64
