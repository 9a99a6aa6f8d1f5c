// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The results of all data sets as functions of the parameters, with their derivatives: each value
// of the parameters is simulated once. The derivatives come from sensitivities where all models
// have them, else from central differences.
#pragma once

#include "fit/data.h"

/// Results at one value of the parameters.
typedef struct cpli_fit_point {
  double* x;            // NAN: nothing was simulated yet
  double* y;            // of all rows of all columns of all data
  double* derivatives;  // of each parameter, one after the other
  bool has_derivatives;
} cpli_fit_point;

typedef struct cpli_points {
  cpl_context* ctx;
  cpli_trials* trials;
  cpli_data* data;
  size_t n_data, m, n;        // n: parameters
  cpli_fit_point last, best;  // of the last trial; of the best one so far
  double *shifted[2], *at;    // for differences
  double step;                // of differences, relative
  double* memory;
  void (*on_run)(void* user);  // Nullable
  void* user;
} cpli_points;

/// Borrowed: trials and data. Owned: the contents by the caller, who calls cpli_points_free(), also
/// after a failure.
cpl_status cpli_points_init(cpli_points* p, cpli_trials* trials, cpli_data* data, size_t n_data);
void cpli_points_free(cpli_points* p);

/// The results at x, simulated unless `last` or `best` has them. Returns: CPL_RETRY where a run
/// failed or gave values that are not finite.
cpl_status cpli_points_at(cpli_points* p, const double* x, const cpli_fit_point** out);
/// The same with derivatives.
cpl_status cpli_points_derive(cpli_points* p, const double* x, const cpli_fit_point** out);
/// The last point is the best one.
void cpli_points_keep(cpli_points* p);
/// Simulate once more: whether the results at x are the same bits.
cpl_status cpli_points_repeat(cpli_points* p, const double* x, bool* same);

/// Relative errors of derivatives.
double cpli_points_noise(const cpli_points* p);
