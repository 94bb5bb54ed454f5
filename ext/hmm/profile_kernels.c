/* Profiles for every instruction set. */
#include <string.h>

#include "profile.h"

#define LANES_TEMPLATE "profile_forms.h"
#define LANES_KERNELS profile_kernels
#define LANES_TABLE profile_tables
#include "each_isa.h"
