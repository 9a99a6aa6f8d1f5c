// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Measurements of one experiment: columns that are compared with variables, that drive inputs, and
// that set parameters; and the values of the variables at the times of the rows, taken from a run.
#pragma once

#include "fit/trials.h"
#include "model/units.h"

/// A column that is compared. Values are in the unit of the variable.
typedef struct cpli_measured {
  const cpl_variable* v;
  const char* unit;
  double* values;
  double* sigma;     // of each row; NULL: the same for all
  double deviation;  // that one; NAN: not given, and estimated
} cpli_measured;

/// invariant: times do not decrease, and lie between start and stop of the run.
typedef struct cpli_data {
  cpl_context* ctx;
  const char* name;  // for messages
  cpl_table* owned;  // Nullable
  const cpl_table* table;
  size_t n_rows, n_columns;
  cpli_measured* columns;
  cpl_start* starts;  // those of the definition, then those of columns
  size_t n_starts;
  char (*texts)[32];
  cpl_input* inputs;
  size_t n_inputs;
  const char** record;  // the names of the columns, then those of their sensitivities
  char** pairs;         // those names; n_pairs are made
  size_t n_vary, n_pairs;
  const char** varied;  // names
  double* sizes;        // of a run
  cpl_sensitivity_def sensitivity;
  bool derive;  // the run has sensitivities
  double weight;
  // a run
  double* values;     // n_rows of each column
  size_t next;        // the next row
  double last_t;      // of the last point,
  double* last;       // and its values
  int32_t* recorded;  // of each column: that of the run
  cpl_simulation* sim;
} cpli_data;

/// Read and check the data, and find what their columns are.
/// Owned: the contents by the caller, who calls cpli_data_free(), also after a failure.
cpl_status cpli_data_open(cpli_data* d, const cpli_trials* trials, const cpl_fit_def* def,
                          const cpl_fit_data* data);
void cpli_data_free(cpli_data* d);
/// The same table with the same start values: one experiment.
bool cpli_data_same(const cpli_data* a, const cpli_data* b);
/// A column counts no more.
cpl_status cpli_data_leave_out(cpli_data* d, const cpli_trials* trials, size_t column);

/// Names of sensitivities, so that runs can have them. Returns false where a column is no Real.
bool cpli_data_can_derive(const cpli_data* d);
/// A trial that fills `values`; derive: with sensitivities of each column to each parameter in
/// turn.
cpli_trial_def cpli_data_trial(cpli_data* d, bool derive);
