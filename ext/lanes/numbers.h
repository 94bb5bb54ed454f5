/* Vectors of one kind of numbers, and a semiring over them: KIND is F32, F64, I8, I16 or I32; LARGEST is 1 where PLUS is the
 * larger of two, 0 where it is their sum; LOGS is 1 where probabilities are logarithms, so that TIMES adds. each_isa.h or
 * one_lane.h comes first. A template is included for each form, and names of a form are FORM(name). */
#define TYPE_F32 float
#define TYPE_F64 double
#define TYPE_I8 int8_t
#define TYPE_I16 int16_t
#define TYPE_I32 int32_t
#define BITS_F32 I32
#define BITS_F64 I64
#define BITS_I8 I8
#define BITS_I16 I16
#define BITS_I32 I32
#define REAL LANES_JOIN(TYPE, KIND)
#define VEC ISA_(KIND)
#define BITS ISA_(LANES_JOIN(BITS, KIND))
#define LANES (LANES_BYTES ? LANES_BYTES / (int)sizeof(REAL) : 1)
/* The first for vectors, the second where there are none. */
#define LANES_WHERE LANES_JOIN(LANES_WHERE, LANES_BYTES)
#define LANES_WHERE_64(vectors, scalars) (vectors)
#define LANES_WHERE_32(vectors, scalars) (vectors)
#define LANES_WHERE_16(vectors, scalars) (vectors)
#define LANES_WHERE_0(vectors, scalars) (scalars)
#define AT(v, l) LANES_WHERE((v)[l], (v))
#define SET(x) LANES_WHERE((REAL)(x) - (VEC){0}, (REAL)(x)) /* x + 0 would be computed, as it is not x where x is -0 */
#define IF(test, yes, no) \
    LANES_WHERE((VEC)(((BITS)(test) & (BITS)(yes)) | (~(BITS)(test) & (BITS)(no))), ((test) ? (yes) : (no)))
#define ADD(a, b) LANES_JOIN(ADD, KIND)(a, b)
#define LARGER(a, b) LANES_JOIN(MAX, KIND)(a, b)
#define SMALLER(a, b) LANES_JOIN(MIN, KIND)(a, b)
#undef PLUS
#define PLUS(a, b) LANES_NAMED(PLUS_, LARGEST, LOGS)(a, b)
#define PLUS_00(a, b) ((a) + (b))
#define PLUS_01(a, b) lanes_log_add(a, b)
#define PLUS_10(a, b) LARGER(a, b)
#define PLUS_11(a, b) LARGER(a, b)
#define PLUS_ONE(a, b) LANES_NAMED(PLUS_ONE_, LARGEST, LOGS)(a, b)
#define PLUS_ONE_00(a, b) ((a) + (b))
#define PLUS_ONE_01(a, b) lanes_log_add(a, b)
#define PLUS_ONE_10(a, b) ((a) > (b) ? (a) : (b))
#define PLUS_ONE_11(a, b) ((a) > (b) ? (a) : (b))
#define FORM(name) LANES_JOIN(LANES_JOIN(name, LANES_JOIN(FORM, LARGEST)), LANES_JOIN(KIND, ISA))
#define FORM_0 sum
#define FORM_1 largest
#undef TIMES
#undef NUMBER
#undef NOTHING
#if LOGS
#define TIMES(a, b) ((a) + (b))
#define NUMBER(p) log(p)
#define NOTHING (-INFINITY)
#else
#define TIMES(a, b) ((a) * (b))
#define NUMBER(p) (p)
#define NOTHING 0
#endif
