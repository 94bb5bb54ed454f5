/* Tables of kernels (each_isa.h), for those who choose one at run time. */
#ifndef GASSST_LANES_TABLES_H
#define GASSST_LANES_TABLES_H
#if defined(__GNUC__)
#define LANES_HIDDEN __attribute__((visibility("hidden")))
#define LANES_ALWAYS __attribute__((always_inline)) static inline
#else
#define LANES_HIDDEN
#define LANES_ALWAYS static inline
#endif
#if defined(__GNUC__) && defined(__x86_64__)
#define LANES_GNU_X86
#endif
#define LANES_JOIN_(a, b) a##_##b
#define LANES_JOIN(a, b) LANES_JOIN_(a, b)
#define LANES_NAMED_(a, b, c) a##b##c
#define LANES_NAMED(a, b, c) LANES_NAMED_(a, b, c)
#define LANES_TEXT_(name) #name
#define LANES_TEXT(name) LANES_TEXT_(name)
#define ISA_(name) LANES_JOIN(name, ISA)
#define LANES_HEAD LANES_TEXT(ISA), ISA_(usable)
#endif
