// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A random system as one hybrid system for the reference integrator, and its solution.
#pragma once

#include "reference.h"
#include "system.h"

enum { MAX_COLUMNS = 64, MAX_GRID = 64 };

typedef struct solution {
  ref_status status;
  int n_columns, n_grid, n_events;
  double t[MAX_GRID], grid[MAX_GRID][MAX_COLUMNS];
  struct {
    double t, left[MAX_COLUMNS], right[MAX_COLUMNS];
  } events[REF_MAX_EVENTS];
} solution;

/// Integrates the system. noise > 0: errors of noise * (rtol |x| + atol) are added to the states
/// now and then, with signs that follow from `seed`.
void whole_solve(const random_system* s, double noise, uint64_t seed, solution* out);
