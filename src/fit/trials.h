// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Trials: runs of one file with other values of the varied parameters. The file is opened once, and
// each trial makes its models anew, so that it does not depend on the trials before it.
#pragma once

#include "couplet/fit.h"
#include "run/run.h"
#include "system/definition.h"

/// What is varied, checked against the file.
typedef struct cpli_trials {
  cpl_context* ctx;
  cpl_experiment_settings settings;
  cpl_experiment_def experiment;  // of the settings, with tight tolerances
  cpl_experiment* opener;         // owns the source
  cpl_source* source;
  double start, stop;
  cpl_varied* list;
  const cpli_setting* of_file;  // where the file says that they vary. Nullable
  size_t n;
  cpl_start* starts;  // those of the settings, of one trial, and the varied ones
  char (*texts)[32];
  int64_t runs, failed, max_runs;
  char* failure;  // of the first trial that failed. Nullable
} cpli_trials;

/// Open the file. Nullable: experiment's members as in cpl_experiment_settings
/// Order: open, then vary.
/// Owned: the contents by the caller, who calls cpli_trials_free(), also after a failure.
cpl_status cpli_trials_open(cpli_trials* t, cpl_context* ctx,
                            const cpl_experiment_settings* settings, int32_t max_runs);
/// What varies.
/// Borrowed: of_file, as long as the trials live. Nullable: where the file says what varies
cpl_status cpli_trials_vary(cpli_trials* t, const cpl_vary* vary, size_t n_vary,
                            const cpli_setting* of_file);
void cpli_trials_free(cpli_trials* t);

static inline const cpl_description* cpli_trials_desc(const cpli_trials* t) {
  return t->source->desc;
}

/// What one kind of trials has of its own.
typedef struct cpli_trial_def {
  const cpl_start* starts;
  size_t n_starts;
  const cpl_input* inputs;  // with those of the settings
  size_t n_inputs;
  const cpl_sensitivity_def* sensitivity;                                      // Nullable
  void* user;                                                                  // passed to these:
  cpl_status (*on_model)(void* user, cpl_model* model);                        // Nullable
  void (*set_run)(void* user, cpl_experiment* e, cpl_run_def* run);            // what is recorded
  cpl_status (*simulate)(void* user, cpl_experiment* e, cpl_simulation* sim);  // all of the run
} cpli_trial_def;

/// Run it with these values. quiet: without messages of the log.
cpl_status cpli_trial_run(cpli_trials* t, const cpli_trial_def* def, const double* values,
                          bool quiet);

/// Whether a failure is one of the trial, after which the search goes on with other values.
bool cpli_trial_may_fail(cpl_status st);
/// Count and note a trial that has failed. Returns: CPL_RETRY.
cpl_status cpli_trial_failed(cpli_trials* t, const char* why);

/// Whether runs of this kind can be made, as those with sensitivities cannot always. Returns: the
/// failure where memory is exhausted or the search is interrupted.
cpl_status cpli_trial_probe(cpli_trials* t, const cpli_trial_def* def, bool* can);

/// Guesses that are not given are the values that parameters have without being varied, after an
/// initialisation with the start values and inputs of `def`. All must lie within their bounds.
/// Order: need, find, take. Nullable: found, where none are needed
bool cpli_trials_need_guesses(const cpli_trials* t);
cpl_status cpli_trials_find_guesses(cpli_trials* t, const cpli_trial_def* def, double* out);
cpl_status cpli_trials_take_guesses(cpli_trials* t, const double* found);
