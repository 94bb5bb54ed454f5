/* Vectors of one kind of numbers, and a semiring over them: KIND is F32, F64, I8, I16 or I32; LARGEST says that PLUS is the
 * larger of two and not their sum; LOGS that probabilities are logarithms, so that TIMES adds. each_isa.h or one_lane.h
 * comes first. A template includes this for each form; names of a form are FORM(name). */
#undef REAL
#undef LANES
#undef VEC
#undef BITS
#undef NUMBER_BITS
#undef AT
#undef SET
#undef IF
#undef LOAD
#undef STORE
#undef SHIFT
#undef MASK
#undef EQUAL
#undef GREATER
#undef CHOOSE
#undef ADD
#undef SUBTRACT
#undef PUT_MASKS
#undef MASK_BIT
#undef LEAST
#undef LARGER
#undef SMALLER
#undef PLUS
#undef PLUS_ONE
#undef TIMES
#undef NUMBER
#undef NOTHING
#undef FORM
#undef SMALL
#undef SCALE
#undef SCALE_BITS
#ifndef TYPE_OF
#define TYPE_OF(kind) LANES_JOIN(TYPE, kind)
#define TYPE_F32 float
#define TYPE_F64 double
#define TYPE_I8 int8_t
#define TYPE_I16 int16_t
#define TYPE_I32 int32_t
#define BITS_OF(kind) LANES_JOIN(BITS, kind)
#define BITS_F32 I32
#define BITS_F64 I64
#define BITS_I8 I8
#define BITS_I16 I16
#define BITS_I32 I32
#define NUMBER_BITS_I8 8
#define NUMBER_BITS_I16 16
#define NUMBER_BITS_I32 32
/* The least number of scores; of 32 bits one that penalties do not lead beyond the range. */
#define LEAST_I8 INT8_MIN
#define LEAST_I16 INT16_MIN
#define LEAST_I32 (-(1 << 30))
#define LARGER_ONE(a, b) ((a) > (b) ? (a) : (b))
/* Rescaling: numbers of a row are kept such that the largest lies above SMALL, which leaves the range below it to lesser
 * ones. A row below it is multiplied by SCALE, 2^SCALE_BITS, which rounds nothing. */
#define SMALL_F32 0x1p30f
#define SCALE_F32 0x1p64f
#define SCALE_BITS_F32 64
#define SMALL_F64 0x1p400
#define SCALE_F64 0x1p512
#define SCALE_BITS_F64 512
#endif
#define REAL TYPE_OF(KIND)
#define VEC ISA_(KIND)
#define BITS ISA_(BITS_OF(KIND))
#define LANES (LANES_BYTES ? LANES_BYTES / (int)sizeof(REAL) : 1)
#define SMALL LANES_JOIN(SMALL, KIND)
#define SCALE LANES_JOIN(SCALE, KIND)
#define SCALE_BITS LANES_JOIN(SCALE_BITS, KIND)
#if LANES_BYTES
#define AT(v, l) ((v)[l])
#define SET(x) ((VEC){0} + (REAL)(x))
#define IF(test, yes, no) ((VEC)(((BITS)(test) & (BITS)(yes)) | (~(BITS)(test) & (BITS)(no))))
#else
#define AT(v, l) (v)
#define SET(x) ((REAL)(x))
#define IF(test, yes, no) ((test) ? (yes) : (no))
#endif
#if LANES_BYTES
#define LOAD(p) ((VEC)(*(const ISA_(anywhere) *)(p)))
#define STORE(v, p) (*(ISA_(anywhere) *)(p) = (ISA_(anywhere))(v))
#else
#define LOAD(p) (*(p))
#define STORE(v, p) (*(p) = (v))
#endif
#define NUMBER_BITS LANES_JOIN(NUMBER_BITS, KIND)
#define LEAST LANES_JOIN(LEAST, KIND)
#define SHIFT(v, first) LANES_JOIN(shift, VEC)(v, first)
#define MASK MASK_OF(KIND)
#define EQUAL(a, b) EQUAL_OF(NUMBER_BITS, a, b)
#define GREATER(a, b) GREATER_OF(NUMBER_BITS, a, b)
#define CHOOSE(mask, yes, no) CHOOSE_OF(NUMBER_BITS, mask, yes, no)
#define PUT_MASKS(to, a, b, c, d) LANES_JOIN(PUT, KIND)(to, a, b, c, d)
#define MASK_BIT(mask, l) BIT_OF(NUMBER_BITS, mask, l)
#define ADD(a, b) LANES_JOIN(ADD, KIND)(a, b)
#define SUBTRACT(a, b) ADD(a, -(b))
#define LARGER(a, b) LANES_JOIN(MAX, KIND)(a, b)
#define SMALLER(a, b) LANES_JOIN(MIN, KIND)(a, b)
#if LARGEST
#define PLUS(a, b) LARGER(a, b)
#define PLUS_ONE(a, b) LARGER_ONE(a, b)
#elif LOGS
#define PLUS(a, b) lanes_log_add(a, b)
#define PLUS_ONE(a, b) lanes_log_add(a, b)
#else
#define PLUS(a, b) ((a) + (b))
#define PLUS_ONE(a, b) ((a) + (b))
#endif
#if LOGS
#define TIMES(a, b) ((a) + (b))
#define NUMBER(p) log(p)
#define NOTHING (-INFINITY)
#else
#define TIMES(a, b) ((a) * (b))
#define NUMBER(p) (p)
#define NOTHING 0
#endif
#if LARGEST
#define FORM(name) LANES_JOIN(LANES_JOIN(name, largest), LANES_JOIN(KIND, ISA))
#else
#define FORM(name) LANES_JOIN(LANES_JOIN(name, sum), LANES_JOIN(KIND, ISA))
#endif
