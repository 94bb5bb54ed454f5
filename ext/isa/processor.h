/* usable_<name>(): does this processor have the instructions that the files of that name are compiled for? */
#ifndef GASSST_PROCESSOR_H
#define GASSST_PROCESSOR_H

static inline int usable_generic(void)
{
    return 1;
}

#if defined(__GNUC__) && defined(__x86_64__)

static inline int usable_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

static inline int usable_avx512(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("bmi2");
}

#endif
#endif
