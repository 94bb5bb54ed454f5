/* Every processor: vectors of 16 bytes, which are SSE2 or NEON registers, or what the compiler makes of loops over them.
 * A vector is an array of lanes here, and each operation a loop over it: compilers turn these into single
 * instructions where there are such, and it is plain C where there are none. */
#include "cells.h"
#include "lanes.h"
#if defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif
#define LANES_ISA generic
#define LANES_BYTES 16
#define LANES_TARGET

static inline void lookup_bytes(const u8 *row, const u8 *codes, u8 *to)
{
#if defined(__ARM_NEON) && defined(__aarch64__)
    uint8x16x2_t table = {{vld1q_u8(row), vld1q_u8(row + 16)}};
    vst1q_u8(to, vqtbl2q_u8(table, vld1q_u8(codes)));
#else
    for (int l = 0; l < LANES_BYTES; l++)
        to[l] = row[codes[l]];
#endif
}

/* The operations on vectors of n lanes of type T, wide enough for sums in type W. */
#define LANES_OPERATIONS(bits, T, W, n, least, most)                                       \
    typedef struct {                                                                       \
        T lane[n];                                                                         \
    } vec_##bits;                                                                          \
    LANES_INLINE vec_##bits load_##bits(const T *p)                                        \
    {                                                                                      \
        vec_##bits v;                                                                      \
        memcpy(&v, p, sizeof v);                                                           \
        return v;                                                                          \
    }                                                                                      \
    LANES_INLINE void store_##bits(vec_##bits v, T *p)                                     \
    {                                                                                      \
        memcpy(p, &v, sizeof v);                                                           \
    }                                                                                      \
    LANES_INLINE vec_##bits splat_##bits(T x)                                              \
    {                                                                                      \
        vec_##bits v;                                                                      \
        for (int l = 0; l < n; l++)                                                        \
            v.lane[l] = x;                                                                 \
        return v;                                                                          \
    }                                                                                      \
    LANES_INLINE vec_##bits add_##bits(vec_##bits a, vec_##bits b)                         \
    {                                                                                      \
        for (int l = 0; l < n; l++) {                                                      \
            W sum = (W)((W)a.lane[l] + b.lane[l]);                                         \
            a.lane[l] = (T)(sum < (least) ? (least) : sum > (most) ? (most) : sum);        \
        }                                                                                  \
        return a;                                                                          \
    }                                                                                      \
    LANES_INLINE vec_##bits subtract_##bits(vec_##bits a, vec_##bits b)                    \
    {                                                                                      \
        for (int l = 0; l < n; l++) {                                                      \
            W sum = (W)((W)a.lane[l] - b.lane[l]);                                         \
            a.lane[l] = (T)(sum < (least) ? (least) : sum > (most) ? (most) : sum);        \
        }                                                                                  \
        return a;                                                                          \
    }                                                                                      \
    LANES_INLINE vec_##bits max_##bits(vec_##bits a, vec_##bits b)                         \
    {                                                                                      \
        for (int l = 0; l < n; l++)                                                        \
            a.lane[l] = a.lane[l] > b.lane[l] ? a.lane[l] : b.lane[l];                     \
        return a;                                                                          \
    }                                                                                      \
    LANES_INLINE vec_##bits equal_##bits(vec_##bits a, vec_##bits b)                       \
    {                                                                                      \
        for (int l = 0; l < n; l++)                                                        \
            a.lane[l] = (T)-(a.lane[l] == b.lane[l]);                                      \
        return a;                                                                          \
    }                                                                                      \
    LANES_INLINE vec_##bits pick_##bits(vec_##bits m, vec_##bits a, vec_##bits b)          \
    {                                                                                      \
        for (int l = 0; l < n; l++)                                                        \
            a.lane[l] = (T)((m.lane[l] & a.lane[l]) | (~m.lane[l] & b.lane[l]));           \
        return a;                                                                          \
    }

LANES_OPERATIONS(8, i8, i16, 16, INT8_MIN, INT8_MAX)
LANES_OPERATIONS(16, i16, i32, 8, INT16_MIN, INT16_MAX)
LANES_OPERATIONS(32, i32, i32, 4, INT32_MIN, INT32_MAX)
#define LANES_BITS 8
#define LANES_NAME(x) x##_8
#define LANES_INT i8
#define V vec_8
#define V_LOAD load_8
#define V_STORE store_8
#define V_SPLAT(x) splat_8((i8)(x))
#define V_ADD add_8
#define V_SUB subtract_8
#define V_MAX max_8
#define V_PICK pick_8
#define V_MASK vec_8
#define V_EQUAL equal_8
#define V_ONLY(s, m, v) pick_8(m, v, s)
#include "lanes_columns.h"

#define LANES_BITS 16
#define LANES_NAME(x) x##_16
#define LANES_INT i16
#define V vec_16
#define V_LOAD load_16
#define V_STORE store_16
#define V_SPLAT(x) splat_16((i16)(x))
#define V_ADD add_16
#define V_SUB subtract_16
#define V_MAX max_16
#define V_PICK pick_16
#define V_MASK vec_16
#define V_EQUAL equal_16
#define V_ONLY(s, m, v) pick_16(m, v, s)
#include "lanes_columns.h"

#define LANES_BITS 32
#define LANES_NAME(x) x##_32
#define LANES_INT i32
#define V vec_32
#define V_LOAD load_32
#define V_STORE store_32
#define V_SPLAT(x) splat_32((i32)(x))
#define V_ADD add_32
#define V_SUB subtract_32
#define V_MAX max_32
#define V_PICK pick_32
#define V_MASK vec_32
#define V_EQUAL equal_32
#define V_ONLY(s, m, v) pick_32(m, v, s)
#include "lanes_columns.h"

#include "lanes_table.h"
