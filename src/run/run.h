// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A run: start values are set, inputs are followed, a stepper is advanced from output point to
// output point, and chosen variables are recorded. Each of these is a file of its own.
#pragma once

#include "base/base.h"
#include "couplet/run.h"
#include "model/table.h"

//------------------------------------ inputs.c ------------------------------------

// One input that follows a table or a callback.
typedef struct cpli_follower {
  const cpl_variable* var;
  cpl_curve curve;    // what a stepper with curves is given
  cpli_curve pieces;  // of a table
  cpli_cursor cursor;
  bool from_table;
  bool by_curve;  // the stepper evaluates it itself; otherwise it is set at points
  double last;    // value set last; NAN: none yet
} cpli_follower;

typedef struct cpli_inputs {
  cpl_stepper* s;
  cpli_follower* list;
  size_t n;
} cpli_inputs;

cpl_status cpli_inputs_open(cpli_inputs* in, cpl_stepper* s, const cpl_run_def* def);
void cpli_inputs_close(cpli_inputs* in);

/// Hand over the values at the start, before initialisation.
cpl_status cpli_inputs_start(cpli_inputs* in, double t);

/// Hand over the values that hold from t on: curves once, other inputs where they changed.
cpl_status cpli_inputs_set(cpli_inputs* in, double t);

/// The next time an input jumps; INFINITY: never.
double cpli_inputs_next_jump(const cpli_inputs* in);

//------------------------------------ record.c ------------------------------------

typedef struct cpli_recorder {
  cpl_component* c;
  const cpl_run_def* def;
  cpl_column* columns;
  cpl_value* row;
  size_t n;
  struct cpli_record_group* groups;  // columns of one type are read in one call
  size_t n_groups;
  double spent_s;
  int64_t points;
} cpli_recorder;

cpl_status cpli_recorder_open(cpli_recorder* r, cpl_component* c, const cpl_run_def* def);
/// Announce the columns: to be called when the component is initialised, so that a run that cannot
/// begin touches no result.
cpl_status cpli_recorder_begin(cpli_recorder* r);
void cpli_recorder_close(cpli_recorder* r);
cpl_status cpli_recorder_point(cpli_recorder* r, double t);
