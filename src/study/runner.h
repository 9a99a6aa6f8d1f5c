// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs the cases of a study in a worker: makes the stepper once, and for each case resets it, sets
// the factors and collects measures and curves. A component that cannot be reset, or that does not
// give the same bits after a reset, is made anew for each case.
#pragma once

#include "couplet/study.h"
#include "model/units.h"
#include "study/measure.h"

/// What all cases have in common. It is complete before workers are made.
typedef struct cpli_study_plan {
  cpl_context* ctx;
  cpl_experiment_settings settings;
  const cpl_design* design;
  size_t n_factors;
  cpli_conversion* conversions;  // of each factor to the unit of its variable
  bool* converted;
  cpli_measures* measures;
  const char* const* curves;
  size_t n_curves;
  double start, stop, interval;  // of the output points
  double* times;                 // of the curves
  size_t n_times;
} cpli_study_plan;

/// The number of values of a case: measures, then the curves one after the other.
static inline size_t cpli_study_values(const cpli_study_plan* plan) {
  return plan->measures->n + plan->n_curves * plan->n_times;
}

typedef struct cpli_runner cpli_runner;

/// Owned:    *out by the caller, who calls cpli_runner_close().
/// Borrowed: plan, as long as *out lives.
cpl_status cpli_runner_open(const cpli_study_plan* plan, cpli_runner** out);
/// cpli_cases.run of study/executor.h.
cpl_status cpli_runner_case(cpli_runner* r, int64_t i, double* values, char* failure, size_t size);
void cpli_runner_close(cpli_runner* r);  // Nullable: r
