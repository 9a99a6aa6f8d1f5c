// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An experiment, as its files see it.
#pragma once

#include <stdio.h>

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
  char* identity;  // by open_memstream(). Nullable
  bool separate;   // adjoint gradients: no parameters share perturbed instances
};

/// As cpl_experiment_prepare(), also for adjoint gradients.
cpl_status cpli_experiment_stepper(cpl_experiment* e);

/// Fills e->run.inputs from the table and the inputs of the settings.
cpl_status cpli_experiment_inputs(cpl_experiment* e);

//------------------------------------ identity.c ------------------------------------

/// Lines of the text of an experiment: its files, its times, and its other settings.
cpl_status cpli_identity_files(FILE* out, const cpl_source* source,
                               const cpl_experiment_settings* s);
void cpli_identity_times(FILE* out, double start, double stop, double interval);
void cpli_identity_settings(FILE* out, const cpl_experiment_settings* s);

/// Reports connectors of components of an SSP package that their FMUs do not have.
void cpli_check_connectors(const cpl_source* source, const cpl_check_def* def);
