/* The end of the file of an instruction set: its table, bound_kernels_<BOUND_NAME>. The including file sets BOUND_NAME
 * and defines usable(). */
#define BOUND_TEXT_(name) #name
#define BOUND_TEXT(name) BOUND_TEXT_(name)
#define BOUND_TABLE_(name) bound_kernels_##name
#define BOUND_TABLE(name) BOUND_TABLE_(name)
const bound_kernels BOUND_TABLE(BOUND_NAME) = {
    BOUND_TEXT(BOUND_NAME),
    usable,
    band_bounds,
    flank_bounds,
};
