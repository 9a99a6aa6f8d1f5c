// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs the cases of a study in a worker: makes the stepper once, and for each case resets it, sets
// the factors and collects measures and curves. A component that cannot be reset, or that does not
// give the same bits after a reset, is made anew for each case; one that does not give them in the
// same process at all runs each case in a new process.
#pragma once

#include "couplet/study.h"
#include "model/units.h"
#include "study/measure.h"

/// How a component is brought back to its beginning between cases.
typedef enum cpli_reuse {
  CPLI_REUSE_RESET,    // by a reset
  CPLI_REUSE_NEW,      // it is made anew
  CPLI_REUSE_PROCESS,  // it is made anew in a new process: something in the process is kept
} cpli_reuse;

/// What all cases have in common. It is complete before workers are made.
typedef struct cpli_study_plan {
  cpl_context* ctx;
  cpl_experiment_settings settings;
  const cpl_design* design;
  size_t n_factors;
  cpli_conversion* conversions;  // of each factor to the unit of its variable
  bool* converted;
  bool* fixed;          // when the file is opened: which of the factors
  bool reopens;         // any of them: the file is opened for each case
  _Atomic(int)* reuse;  // cpli_reuse, as far as any worker of this machine found out; shared memory
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
