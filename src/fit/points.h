// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The results of trials as functions of the parameters, with their derivatives: each value of the
// parameters is simulated once. The derivatives come from sensitivities where the caller has them,
// else from central differences. What can be simulated at the same time is one batch, which workers
// share: all parts of a point, and all points of differences.
#pragma once

#include "fit/cases.h"
#include "fit/trials.h"

/// Results at one value of the parameters.
typedef struct cpli_fit_point {
  double* x;            // NAN: nothing was simulated yet
  double* y;            // m results
  double* derivatives;  // of each parameter, one after the other
  bool has_derivatives;
} cpli_fit_point;

/// What a case does with one part of a point.
typedef enum cpli_case_kind {
  CPLI_CASE_RUN,     // its results
  CPLI_CASE_DERIVE,  // and behind them their derivatives, parameter by parameter
  CPLI_CASE_PROBE,   // one number: whether CPLI_CASE_DERIVE is possible
  CPLI_CASE_GUESS,   // the values that the parameters have without being varied
} cpli_case_kind;

/// What is simulated. Borrowed: all of it, as long as the points live.
typedef struct cpli_points_def {
  cpli_trials* trials;
  size_t n_parts;
  const size_t* sizes;  // results of each part; their sum is that of a point
  void* user;
  /// A case. x: the parameters, and behind them their sizes (cpli_points_size()); not of probes and
  /// guesses. Returns: a failure of the model: the trial has failed
  cpl_status (*run)(void* user, cpli_case_kind kind, size_t part, const double* x, bool quiet,
                    double* out);
  void (*on_run)(void* user, int64_t runs, int64_t failed);  // after each. Nullable
  bool sensitivities;                                        // derivatives are requested
  int32_t workers;                                           // 0, 1: this process
} cpli_points_def;

/// The number of workers for a number that a caller has given: 0 and 1: this process simulates.
int32_t cpli_fit_workers(int32_t given, const cpli_trials* trials);

typedef struct cpli_points {
  cpl_context* ctx;
  cpli_points_def def;
  size_t m, n;                // results; parameters
  cpli_fit_point last, best;  // of the last trial; of the best one so far
  double step;                // of differences, relative
  int64_t n_differences;      // points whose derivatives are differences
  int32_t n_underived;  // points one after the other at which runs with sensitivities have failed
  double* memory;
  double* steps;   // of differences: two for each parameter
  double* failed;  // the last point at which a run has failed; NAN: none
  cpl_status* st;  // of points of a batch
  cpli_fit_cases batch;
  int64_t n_ended, n_failed;  // of its trials
} cpli_points;

/// Owned: the contents by the caller, who calls cpli_points_free(), also after a failure.
cpl_status cpli_points_init(cpli_points* p, const cpli_points_def* def);
void cpli_points_free(cpli_points* p);

/// A case that is no trial. Borrowed: *out, until the next case. Returns its failure.
cpl_status cpli_points_ask(cpli_points* p, cpli_case_kind kind, size_t part, const double** out);
/// Guesses that were not given are the values that parameters have without being varied.
cpl_status cpli_points_guess(cpli_points* p);

/// The results at x, simulated unless `last` or `best` has them. Returns: CPL_RETRY where a run
/// failed or gave values that are not finite.
cpl_status cpli_points_at(cpli_points* p, const double* x, const cpli_fit_point** out);
/// The same with derivatives.
cpl_status cpli_points_derive(cpli_points* p, const double* x, const cpli_fit_point** out);
/// The last point is the best one.
void cpli_points_keep(cpli_points* p);
/// Simulate once more: whether the results at x are the same bits.
cpl_status cpli_points_repeat(cpli_points* p, const double* x, bool* same);

/// Whether the last run that failed was at almost these values.
bool cpli_points_failed_near(const cpli_points* p, const double* x);

/// The size of changes of a parameter: its value, or what is known of it where that is zero.
double cpli_points_size(const cpli_points* p, size_t j, double x);
/// Relative errors of derivatives.
double cpli_points_noise(const cpli_points* p);
