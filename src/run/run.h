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

/// The next time after t where the slope of an input that follows a table jumps, by enough to
/// matter at this tolerance; INFINITY: never.
double cpli_inputs_next_kink(cpli_inputs* in, double t, double tolerance);
/// The next time an input jumps; INFINITY: never.
double cpli_inputs_next_jump(const cpli_inputs* in);

//------------------------------------ rows.c ------------------------------------

// Rows between communication points wait until the next one is known: continuous Reals are then
// interpolated, all other values are those of the last communication point at or before the row.
typedef struct cpli_rows {
  cpl_context* ctx;
  size_t n;               // columns
  bool *moves, *is_text;  // of each column: it is interpolated; it is a String or a Binary
  cpl_value* last;        // of each column: at its last communication point,
  double* last_t;         // and when that was; NAN: nothing is known yet
  size_t* open;           // of each column: the number of the first row without its value
  double* times;          // a ring of rows,
  cpl_value* values;      // n of each
  size_t cap, first, end;
  size_t held;    // rows that had to be written without the value at their time
  double held_t;  // and the time of the last value known then
} cpli_rows;

cpl_status cpli_rows_open(cpli_rows* rows, cpl_context* ctx, size_t n);
void cpli_rows_close(cpli_rows* rows);
/// Values now; since: the time each of them belongs to.
cpl_status cpli_rows_sample(cpli_rows* rows, const double* since, const cpl_value* now);
/// A row at t, not before the last one.
cpl_status cpli_rows_add(cpli_rows* rows, double t);
/// The first row when all of its values are known, or `all` when they need not be: *row is valid
/// until the next call. Returns: false when there is none.
bool cpli_rows_take(cpli_rows* rows, bool all, double* t, const cpl_value** row);

//------------------------------------ record.c ------------------------------------

typedef struct cpli_recorder {
  cpl_component* c;
  cpl_stepper* s;
  const cpl_run_def* def;
  cpl_column* columns;
  cpl_value* row;
  size_t n;
  struct cpli_record_group* groups;  // columns of one type are read in one call
  size_t n_groups;
  bool waits;  // rows are written when their values are known
  cpli_rows rows;
  double* since;  // of each column: the time its value belongs to
  double next;    // when a value that keeps points of its own is renewed; INFINITY: none does
  bool* told;     // of each column: it was warned of, since it is not finite
  int32_t n_told;
  double spent_s;
  int64_t points;
} cpli_recorder;

cpl_status cpli_recorder_open(cpli_recorder* r, cpl_stepper* s, const cpl_run_def* def);
/// Rows may lie between communication points: cpli_recorder_sample() is called at each of those.
cpl_status cpli_recorder_wait(cpli_recorder* r);
/// Announce the columns: to be called when the component is initialised, so that a run that cannot
/// begin touches no result.
cpl_status cpli_recorder_begin(cpli_recorder* r);
void cpli_recorder_close(cpli_recorder* r);
/// A row with the values now, at t.
cpl_status cpli_recorder_point(cpli_recorder* r, double t);
/// A communication point at t that is no row.
cpl_status cpli_recorder_sample(cpli_recorder* r, double t);
/// A row at t, which lies before the communication point that comes next.
cpl_status cpli_recorder_await(cpli_recorder* r, double t);
/// The end: rows that still wait are written with the last values known.
cpl_status cpli_recorder_finish(cpli_recorder* r);

//------------------------------------ memory.c ------------------------------------

// Rows in memory: where nobody else takes them.
typedef struct cpli_memory {
  cpl_context* ctx;
  const cpl_column* columns;
  size_t n_columns;  // of the run; n_kept of them are numbers
  size_t n_kept, n_rows, cap;
  double* rows;  // time, then the numbers
  cpl_table table;
  char* table_memory;
} cpli_memory;

cpl_status cpli_memory_begin(cpli_memory* m, const cpl_column* columns, size_t n);
cpl_status cpli_memory_add(cpli_memory* m, double t, const cpl_value* values);
/// Rows later than t are forgotten.
void cpli_memory_cut(cpli_memory* m, double t);
cpl_status cpli_memory_table(cpli_memory* m, const cpl_table** out);
void cpli_memory_free(cpli_memory* m);

//------------------------------------ run.c ------------------------------------

// Points start, start + d, start + 2 d, ..., stop: computed, not added up, so that no rounding
// accumulates.
typedef struct cpli_grid {
  double start, stop, spacing;
  int64_t next, last;
} cpli_grid;

struct cpl_simulation {
  cpl_stepper* s;
  cpl_run_def def;
  cpl_run_stats stats;
  double since;  // when it was opened
  cpli_inputs inputs;
  cpli_recorder recorder;
  cpli_grid output, exchange;
  double t, until;  // reached, and where the present advance ends
  bool dense;
  double tolerance;  // of communication steps that follow their error; 0: they do not
  bool any_time;     // without dense output: output points are communication points
  bool ended;
  bool running;    // it is initialised
  bool changed;    // a value was set since the last step
  bool recorded;   // t is recorded with the values that hold now
  bool said_late;  // that jumps of inputs take effect later
  bool stepped;    // who steps tells of its steps itself
  cpli_pace pace;  // where it does not
  // when on_step is called next
  double shown, looked;
  int32_t skip, skipped;
  cpli_memory memory;  // rows, where no callback takes them
};

/// Checks the definition and opens inputs and recorder.
cpl_status cpli_run_open(cpl_simulation* r, cpl_stepper* s, const cpl_run_def* def);
/// Initialises the stepper and records the start.
cpl_status cpli_run_start(cpl_simulation* r);
/// Advances to r->until, or to the end before it.
cpl_status cpli_run_advance(cpl_simulation* r);
/// One update of an event where it is.
cpl_status cpli_run_update(cpl_simulation* r);
/// The end of a run that went well so far (st >= 0), or not: rows that wait are written, the
/// stepper is terminated, and r->stats is complete.
cpl_status cpli_run_finish(cpl_simulation* r, cpl_status st);
void cpli_run_close(cpl_simulation* r);
