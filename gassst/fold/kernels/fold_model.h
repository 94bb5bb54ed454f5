/* The model of fold.h, for compiled code and OpenCL. */
#ifdef __OPENCL_VERSION__
#define FOLD_SHARED __global
typedef uchar uint8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
#define INT16_MIN (-32768)
#define INT32_MIN (-2147483647 - 1)
#else
#define FOLD_SHARED
#endif

enum {
    FOLD_LOOP = 30,         /* unpaired bases of a loop with two pairs, at most */
    FOLD_HAIRPIN = 3,       /* of a hairpin, at least */
    FOLD_NONE = INT16_MIN,  /* of a hairpin that has no energy of its own */
    FOLD_INFINITE = 16000,  /* in 16 bits */
    FOLD_LOWEST = -15000,   /* a lane below it is done again: infinity and this are more than any hairpin */
};

/* The tables of a model, of energies or of weights; all members are numbers, in the order of `gassst.fold.parameters`.
 *
 * `few` does not depend on bases: the first three by unpaired bases, `uneven` by how many more one side has. Indexes of others:
 * mismatches [type][5' side][3' side] as seen from within the loop; int11, int21, int22 [type][turned type of the inner
 * pair][bases]; hairpins by the codes of all their bases, or FOLD_NONE. */
#define FOLD_TABLES(T, few_tables, tables)                                                                           \
    typedef struct {                                                                                                 \
        T bulge[32], internal[32], uneven[32], terminal, closing, branch, unpaired;                                  \
    } few_tables;                                                                                                    \
    typedef struct {                                                                                                 \
        few_tables few;                                                                                              \
        T mismatch_hairpin[128], mismatch_internal[128], mismatch_internal_1n[128], mismatch_internal_23[128];       \
        T mismatch_multi[128], mismatch_exterior[128], dangle5[32], dangle3[32], stack[64];                          \
        T int11[1024], int21[4096], int22[16384], triloops[1024], tetraloops[4096], hexaloops[65536], padding[32];   \
    } tables;
FOLD_TABLES(int16_t, fold_few, fold_parameters)
