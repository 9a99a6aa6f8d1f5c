// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An experiment, as its files see it.
#pragma once

#include "base/base.h"
#include "couplet/check.h"
#include "couplet/component.h"
#include "couplet/experiment.h"
#include "couplet/master.h"
#include "couplet/results.h"

struct cpl_experiment {
  cpl_context* ctx;
  cpl_experiment_settings settings;
  cpl_experiment_def wanted;  // of the settings
  cpl_experiment_def file;    // of a system file
  const char* path;           // in messages
  cpl_source* source;
  bool owns_source;
  cpl_stepper* stepper;
  cpl_model* model;  // belongs to the stepper. Nullable
  cpl_solver_def solver;
  cpl_run_def run;
  const char** record;  // of a system file
  cpl_start* starts;    // of the settings
  const char** names;   // likewise: what is recorded
  char** pairs;         // names of sensitivities
  size_t n_pairs;
  cpl_input* inputs;
};

/// Fills e->run.inputs from the table and the inputs of the settings.
cpl_status cpli_experiment_inputs(cpl_experiment* e);

/// Reports connectors of components of an SSP package that their FMUs do not have.
void cpli_check_connectors(const cpl_source* source, const cpl_check_def* def);
