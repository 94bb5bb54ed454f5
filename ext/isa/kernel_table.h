/* The end of the file of an instruction set: its table, cpu_kernels_<CPU_NAME>. The including file sets CPU_NAME and
 * LOCAL_SHORTS, the 16-bit lanes of a vector, and has expanded LOCAL_GROUPS (local_groups.h). */
#include "processor.h"

static void local_score_all(const band_batch *batch, const local_scoring *scoring, u32 width, const local_ends *ends)
{
    local_scores_shorts(batch, scoring, width, 0, 1, ends);
}

static int local_align_all(const band_batch *batch, const local_scoring *scoring, u32 width, const local_ends *ends,
                           const local_paths *paths, u32 rows)
{
    u8 *trace = malloc((size_t)rows * width * 2 * (LOCAL_SHORTS == 1 ? 32 : LOCAL_SHORTS) + 1);
    if (!trace)
        return -1;
    local_alignments_shorts(batch, scoring, width, 0, 1, ends, paths, trace);
    free(trace);
    return 0;
}

#define EACH_WIDTH(name) {name##_1, name##_2, name##_4, name##_8}
#define CPU_TEXT_(name) #name
#define CPU_TEXT(name) CPU_TEXT_(name)
#define CPU_USABLE_(name) usable_##name
#define CPU_USABLE(name) CPU_USABLE_(name)
#define CPU_TABLE_(name) cpu_kernels_##name
#define CPU_TABLE(name) CPU_TABLE_(name)
const cpu_kernels CPU_TABLE(CPU_NAME) = {
    CPU_TEXT(CPU_NAME),
    CPU_USABLE(CPU_NAME),
    EACH_WIDTH(nw_score),
    EACH_WIDTH(nw_profile),
    EACH_WIDTH(nw_align),
    local_score_all,
    local_align_all,
};
