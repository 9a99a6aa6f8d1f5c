// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The results of trials as functions of the parameters, with their derivatives: each value of the
// parameters is simulated once. The derivatives come from sensitivities where the caller has them,
// else from central differences.
#pragma once

#include "fit/trials.h"

/// Results at one value of the parameters.
typedef struct cpli_fit_point {
  double* x;            // NAN: nothing was simulated yet
  double* y;            // m results
  double* derivatives;  // of each parameter, one after the other
  bool has_derivatives;
} cpli_fit_point;

/// What is simulated. Borrowed: all of it, as long as the points live.
typedef struct cpli_points_def {
  cpli_trials* trials;
  size_t m;  // results
  void* user;
  /// The results at x; CPL_RETRY: the run failed. derivatives: likewise, where sensitivities are
  /// requested. Nullable: derivatives
  cpl_status (*simulate)(void* user, const double* x, double* y, double* derivatives);
  bool sensitivities;  // simulate() has them
} cpli_points_def;

typedef struct cpli_points {
  cpl_context* ctx;
  cpli_points_def def;
  size_t m, n;                // n: parameters
  cpli_fit_point last, best;  // of the last trial; of the best one so far
  double *shifted[2], *at;    // for differences
  double step;                // of differences, relative
  int64_t n_differences;      // points whose derivatives are differences
  double* memory;
} cpli_points;

/// Owned: the contents by the caller, who calls cpli_points_free(), also after a failure.
cpl_status cpli_points_init(cpli_points* p, const cpli_points_def* def);
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

/// The size of changes of a parameter: its value, or what is known of it where that is zero.
double cpli_points_size(const cpli_points* p, size_t j, double x);
/// Relative errors of derivatives.
double cpli_points_noise(const cpli_points* p);
