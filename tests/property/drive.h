// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs a written system with the library and keeps all rows.
#pragma once

#include "couplet/couplet.h"
#include "whole.h"

/// How to run. The rest is as the file says.
typedef struct settings {
  cpl_solver_kind solver;
  double rtol, atol;
  double longest;  ///< step; 0: the solver decides
  bool one_solver, gmres, loops_as_rows;
  int intervals;      ///< output intervals for each one of the file
  int record_modulo;  ///< only columns whose number has this remainder 0; 0: all
} settings;

/// Rows of a run. Columns are those of system_columns(); those that were not recorded are NaN.
typedef struct outcome {
  cpl_status status;
  char error[600], warning[300];
  int n_rows, room, n_columns;
  double *t, *v;  ///< v has n_columns values a row
} outcome;

typedef struct opened {
  cpl_context* ctx;
  cpl_source* source;
  outcome* log;  ///< takes warnings
} opened;

bool drive_open(const char* path, opened* o, outcome* out);
void drive_close(opened* o);
void drive_run(opened* o, const random_system* s, const settings* how, outcome* out);

enum { SAVED_STEPS = 24 };

/// Values after each of SAVED_STEPS steps, with states saved at random moments; where go_back is
/// set, several steps are taken from there, and the states restored. Saving alone forgets what is
/// only kept to save work. Returns false when the system cannot do that.
bool drive_saved(opened* o, const random_system* s, const settings* how, bool go_back,
                 outcome* out);

void outcome_release(outcome* out);
