// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A frozen design. Kinds differ in their points in the unit cube, one coordinate per factor, which
// quantiles of the factors make values. Every coordinate is a function of the number of the case.
#pragma once

#include "base/base.h"
#include "couplet/design.h"
#include "study/random.h"
#include "study/sobol.h"

// A dimension of a Sobol' sequence with its digital shift.
typedef struct cpli_sobol_dimension {
  uint32_t directions[CPLI_SOBOL_BITS];
  uint64_t shift;
} cpli_sobol_dimension;

struct cpl_design {
  cpl_context* ctx;
  cpl_design_def def;   // factors: below
  cpl_factor* factors;  // def.n_factors
  int64_t cases;
  uint64_t hash;
  int64_t* strides;                // grid: cases between two values of a factor
  cpli_permutation* permutations;  // LHS: of the strata, per factor
  int jitter_bits;                 // LHS: inside a stratum
  double* rows;                    // table, or read from a file: case after case; otherwise NULL
  cpli_sobol_dimension* sobol;     // Sobol': one per factor; Saltelli: two, all A before all B
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
  CPLI_STREAM_BOOTSTRAP = 6,
};
static inline uint64_t cpli_stream(int use, uint64_t i) { return (uint64_t)use << 56 | i; }

/// cpl_design_values() of one factor.
double cpli_design_value(const cpl_design* d, int64_t i, size_t factor);

// The cases of a base point of Saltelli's design follow each other: A, then for each factor A with
// the value of B (case 1 + factor), then B (case 1 + n_factors).

//------------------------------------ Morris ------------------------------------

// A trajectory of Morris' design begins at random levels and moves one factor after the other, in a
// random order, by half of the levels.
typedef struct cpli_trajectory {
  const cpl_design* design;
  int64_t number;
  cpli_permutation order;
} cpli_trajectory;

// Cases from number `step` of the trajectory on have the factor at level `to`.
typedef struct cpli_move {
  int64_t step;  // 1 to n_factors
  int32_t from, to;
} cpli_move;

cpli_trajectory cpli_trajectory_of(const cpl_design* d, int64_t number);
cpli_move cpli_trajectory_move(const cpli_trajectory* t, size_t factor);
/// The value of a factor in a case of the trajectory, from 0.
double cpli_trajectory_value(const cpli_trajectory* t, int64_t i, size_t factor);
