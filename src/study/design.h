// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A frozen design. Kinds differ in their points in the unit cube, one coordinate per factor, which
// quantiles of the factors make values. Every coordinate is a function of the number of the case.
#pragma once

#include "base/base.h"
#include "couplet/design.h"
#include "study/random.h"

struct cpl_design {
  cpl_context* ctx;
  cpl_design_def def;   // factors: below
  cpl_factor* factors;  // def.n_factors
  int64_t cases;
  uint64_t hash;
  int64_t* strides;                // grid: cases between two values of a factor
  cpli_permutation* permutations;  // LHS: of the strata, per factor
  int jitter_bits;                 // LHS: inside a stratum
  double* rows;                    // table: case after case
  uint32_t* directions;            // Sobol', Saltelli: 32 per dimension
  uint64_t* shifts;                // Sobol', Saltelli: of 52 bits, per dimension
};

// Streams of random numbers: the second counter, beside the number of a factor or trajectory. No
// two uses share one.
enum {
  CPLI_STREAM_SAMPLE = 0,
  CPLI_STREAM_STRATA = 1,
  CPLI_STREAM_JITTER = 2,
  CPLI_STREAM_SHIFT = 3,
  CPLI_STREAM_START = 4,
  CPLI_STREAM_ORDER = 5,
};
static inline uint64_t cpli_stream(int use, uint64_t i) { return (uint64_t)use << 56 | i; }
