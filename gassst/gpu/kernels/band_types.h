/* Arguments of banded alignment, the same for all lanes and widths. Wanted: BAND_GLOBAL, u64, u32, u16, and
 * coordinate_t: of 32 bits on a device. */
#ifndef BAND_TYPES
#define BAND_TYPES
typedef struct {
    BAND_GLOBAL const u64 *reference; /* planes: low, high, masked; 64 bases a row */
    u64 reference_rows;
    BAND_GLOBAL const u64 *reads;
    BAND_GLOBAL const u32 *read_row, *read_length;     /* by read */
    BAND_GLOBAL const u32 *read_strand;                /* by pair */
    BAND_GLOBAL const coordinate_t *band_start;        /* by pair */
    u32 n;
} band_batch;
#endif
