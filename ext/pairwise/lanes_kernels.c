/* Scores of pairs and alignments for every instruction set. */
#include "cells.h"
#include "lanes.h"
#include "trace.h"

#define LANES_TEMPLATE "lanes_forms.h"
#define LANES_KERNELS lanes_kernels
#define LANES_TABLE lanes_tables
#include "each_isa.h"
