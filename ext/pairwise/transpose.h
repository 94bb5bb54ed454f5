/* Eight scores of eight lanes each, from the profiles of the lanes to rows of lanes. */
#ifndef GASSST_TRANSPOSE_H
#define GASSST_TRANSPOSE_H
#include <stdint.h>

#if defined(__GNUC__)
typedef int16_t transpose_row __attribute__((vector_size(16)));
typedef int16_t transpose_anywhere __attribute__((vector_size(16), aligned(2), may_alias));
#if defined(__clang__) || __GNUC__ >= 12
#define TRANSPOSE_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TRANSPOSE_MIX(a, b, ...) __builtin_shuffle(a, b, (transpose_row){__VA_ARGS__})
#endif

/* An 8 x 8 transpose in three rounds. Lane l reads at from + letters[l] * letter_stride + l * lane_stride. */
__attribute__((always_inline)) static inline void transpose_scores(const int16_t *from, const int16_t *letters,
                                                                   int64_t letter_stride, int64_t lane_stride,
                                                                   int16_t *to, int64_t to_stride)
{
    transpose_row a[8], b[8];
    for (int i = 0; i < 8; i++)
        a[i] = (transpose_row)(*(const transpose_anywhere *)(from + letters[i] * letter_stride + i * lane_stride));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            b[2 * i] = TRANSPOSE_MIX(a[i], a[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            b[2 * i + 1] = TRANSPOSE_MIX(a[i], a[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        for (int i = 0; i < 8; i++)
            a[i] = b[i];
    }
    for (int i = 0; i < 8; i++)
        *(transpose_anywhere *)(to + i * to_stride) = (transpose_anywhere)a[i];
}
#endif
#endif
