/* Double precision: numbers from 2^-1022 to 2^1023, the largest of a row above 2^400. No guard: each use is one choice. */
#define REAL double
#define INT int64_t
#define HMM_LANES HMM_LANES_OF(8)
#define TIMES(a, b) ((a) * (b))
#define NUMBER(p) (p)
#define NOTHING 0
#define HMM_SCALED
#define SMALL 0x1p400
#define SCALE 0x1p512
#define SCALE_BITS 512
