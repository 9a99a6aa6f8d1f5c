// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A run: sets start values, follows inputs, advances a stepper from output point to output point,
// and records the chosen variables. Each of these tasks has a file.
#pragma once

#include "base/base.h"
#include "base/stopwatch.h"
#include "couplet/run.h"
#include "model/description.h"
#include "model/serial.h"
#include "model/table.h"
#include "solver/sample.h"

//------------------------------------ inputs.c ------------------------------------

// An input that follows a table or a callback.
typedef struct cpli_follower {
  const cpl_variable* var;
  cpl_curve curve;         // for steppers that take curves
  cpli_curve table_curve;  // of a table
  cpli_cursor cursor;
  bool from_table;
  bool by_curve;  // the stepper evaluates it itself; otherwise it is set at communication points
  double last;    // the last value set; NAN: none yet
} cpli_follower;

typedef struct cpli_inputs {
  cpl_stepper* s;
  cpli_follower* list;
  size_t n;
} cpli_inputs;

cpl_status cpli_inputs_open(cpli_inputs* in, cpl_stepper* s, const cpl_run_def* def);
void cpli_inputs_close(cpli_inputs* in);
/// Back to before the start, for another run from t on.
void cpli_inputs_rewind(cpli_inputs* in, double t);

/// Sets the values at the start, before initialisation.
cpl_status cpli_inputs_start(cpli_inputs* in, double t);

/// Sets the values from t on: curves once, other inputs where they changed.
cpl_status cpli_inputs_set(cpli_inputs* in, double t);

/// The integer of a variable that is no Real: false when it cannot have this value. Values are
/// doubles, in which the largest integers of 64 bits are rounded; these are mapped back.
bool cpli_to_integer(const cpl_variable* v, double value, int64_t* out);

/// The next time after t at which the slope of an input from a table jumps by an amount relevant at
/// this tolerance; INFINITY: never.
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
  double* last_t;         // and its time; NAN: nothing is known yet
  size_t* open;           // of each column: the number of the first row without its value
  double* times;          // a ring of rows,
  cpl_value* values;      // n of each
  size_t cap, first, end;
  size_t n_incomplete;  // rows that were written without the value at their time
  double incomplete_t;  // the time of the last value known then
} cpli_rows;

cpl_status cpli_rows_open(cpli_rows* rows, cpl_context* ctx, size_t n);
void cpli_rows_close(cpli_rows* rows);
/// Forgets all rows and values.
void cpli_rows_rewind(cpli_rows* rows);
/// Adds the present values; since: the time each of them belongs to.
cpl_status cpli_rows_sample(cpli_rows* rows, const double* since, const cpl_value* now);
/// Adds a row at t, not before the last one.
cpl_status cpli_rows_add(cpli_rows* rows, double t);
/// The first row if all of its values are known, or in any case with `all`: *row is valid until the
/// next call. Returns: false when there is none.
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
  // when a value with communication points of its own is next renewed; INFINITY: none
  double next;
  bool* warned;  // of each column: a warning was given that it is not finite
  int32_t n_warned;
  bool untimed;  // the time of callbacks is not measured
  cpli_stopwatch writing;
  int64_t points;
  struct cpli_memory* memory;  // takes the rows as well. Nullable.
} cpli_recorder;

cpl_status cpli_recorder_open(cpli_recorder* r, cpl_stepper* s, const cpl_run_def* def);
/// Enables rows between communication points: cpli_recorder_sample() is called at each of those.
cpl_status cpli_recorder_wait(cpli_recorder* r);
/// Announces the columns; called when the component is initialised, so that a run that cannot start
/// touches no result.
cpl_status cpli_recorder_begin(cpli_recorder* r);
void cpli_recorder_close(cpli_recorder* r);
/// Back to before the first row; warnings that were given are not repeated.
void cpli_recorder_rewind(cpli_recorder* r);
/// Adds a row with the present values, at t.
cpl_status cpli_recorder_point(cpli_recorder* r, double t);
/// Adds a communication point at t that is no row.
cpl_status cpli_recorder_sample(cpli_recorder* r, double t);
/// Adds a row at t, which is before the next communication point.
cpl_status cpli_recorder_await(cpli_recorder* r, double t);
/// At the end: writes waiting rows with the last known values.
cpl_status cpli_recorder_finish(cpli_recorder* r);

//------------------------------------ memory.c ------------------------------------

// Rows in memory, where no callback takes them.
typedef struct cpli_memory {
  cpl_context* ctx;
  const cpl_column* columns;
  size_t n_columns;  // of the run; n_kept of them are numbers
  size_t n_kept, n_rows, cap;
  double* rows;  // time, then the numbers
  cpl_table table;
  char* table_memory;
} cpli_memory;

void cpli_memory_begin(cpli_memory* m, const cpl_column* columns, size_t n);
cpl_status cpli_memory_add(cpli_memory* m, double t, const cpl_value* values);
/// Rows later than t are forgotten.
void cpli_memory_cut(cpli_memory* m, double t);
cpl_status cpli_memory_table(cpli_memory* m, const cpl_table** out);
void cpli_memory_free(cpli_memory* m);

//------------------------------------ segments.c ------------------------------------

// A point of a segment. With segments, every row has one of these kinds.
typedef enum cpli_point_kind {
  CPLI_POINT_BEGIN,   // the start, or the values after an event: a segment begins
  CPLI_POINT_NODE,    // inside of a segment
  CPLI_POINT_END,     // a segment ends, and the next one begins
  CPLI_POINT_OUTPUT,  // an output point only
} cpli_point_kind;

enum { CPLI_MAX_NODES = 16 };

// Between events the solution consists of segments on which it is smooth: steps of the solver, or
// communication steps. With segments, all their ends are rows, and of a stepper with dense output
// also points inside of them, so that integrals and extrema of the solution can be computed as
// accurately as the solution itself.
typedef struct cpli_segments {
  const double* nodes;   // ascending fractions of a segment, between 0 and 1
  size_t n;              // nodes; at most CPLI_MAX_NODES
  int32_t parts;         // each step of the solver is divided into so many segments; at least 1
  cpli_point_kind kind;  // of the row that on_point receives
  // Nodes are read by `sampler` into n rows of `samples` when a segment begins, instead of being
  // rows of the run, where the stepper allows it. Nullable
  cpli_sampler* sampler;
  double* samples;
  // the present segment
  double begin, end;
  size_t next;                     // node
  size_t n_sampled;                // nodes that were read when it began, and
  double sampled[CPLI_MAX_NODES];  // their times
  double step_end;                 // of the solver's step
  int32_t remaining;               // segments of that step
} cpli_segments;

struct cpl_simulation;

/// Before the first row.
void cpli_segments_start(struct cpl_simulation* r);
/// Where the stepper goes next, at most to `target`: a node or the end of a segment. Integrates
/// ahead to the end of the solver's next step where a segment begins.
cpl_status cpli_segments_target(struct cpl_simulation* r, double limit, double* target);
/// The kind of the row at r->t, which the stepper has reached. `stopped`: by an event.
void cpli_segments_reached(struct cpl_simulation* r, bool stopped);

//------------------------------------ checkpoint.c ------------------------------------

// Checkpoints of a run, and what may be left of the one it came from.
typedef struct cpli_checkpoints {
  cpl_checkpoints_def def;
  bool on;          // they are written
  bool restarts;    // at `barrier`, since a history is incomplete
  int64_t barrier;  // number of the next one
  double due;       // when the next one is written
  int lock;         // descriptor of the file, which is locked; -1: none
  cpli_serial_room state, history;
} cpli_checkpoints;

/// After the initialisation: the first checkpoint.
cpl_status cpli_checkpoints_begin(struct cpl_simulation* r);
/// Between two steps. `last`: at the end of the run.
cpl_status cpli_checkpoints_step(struct cpl_simulation* r, bool last);
void cpli_checkpoints_close(struct cpl_simulation* r);
/// Goes on from def.resume, in place of the first row.
cpl_status cpli_checkpoint_resume(struct cpl_simulation* r);
/// The state of def.start_from, and the time there; nothing of its recording and inputs.
cpl_status cpli_checkpoint_state(struct cpl_simulation* r);

//------------------------------------ run.c ------------------------------------

// Points start, start + d, start + 2 d, ..., stop: computed as products, so that no rounding
// accumulates.
typedef struct cpli_grid {
  double start, stop, spacing;
  int64_t next, last;
} cpli_grid;

/// Its points: `last` is the number of the stop time.
cpli_grid cpli_grid_make(double start, double stop, double spacing);
static inline double cpli_grid_time(const cpli_grid* g, int64_t i) {
  return i >= g->last ? g->stop : g->start + (double)i * g->spacing;
}

/// The value of a column that is no text.
static inline double cpli_column_number(const cpl_column* c, cpl_value value) {
  if (c->type == CPL_REAL) return value.real;
  return c->is_unsigned ? (double)(uint64_t)value.integer : (double)value.integer;
}

struct cpl_simulation {
  cpl_stepper* s;
  cpl_run_def def;
  cpl_run_stats stats;
  double since;  // when it was opened
  cpli_inputs inputs;
  cpli_recorder recorder;
  cpli_grid output, exchange;
  double t, until;  // reached, and where the present advance ends
  double limit;     // to which the stepper may integrate ahead
  bool dense;
  double tolerance;  // of the error control of communication steps; 0: none
  bool any_time;     // without dense output: output points are communication points
  bool ended;
  bool running;      // it is initialised
  bool has_starts;   // the start values of the definition are set
  cpl_status st;     // of the simulation so far
  bool changed;      // a value was set since the last step
  bool recorded;     // t is recorded with the present values
  bool warned_late;  // a warning was given that jumps of inputs take effect later
  bool stepped;      // the stepper reports its steps itself
  cpli_pace pace;    // for steppers that do not
  // the next call of on_step
  double shown, looked;
  int32_t skip, skipped;
  cpli_memory memory;       // rows, where no callback takes them
  cpli_segments* segments;  // Nullable
  cpli_checkpoints checkpoints;
  bool quiet;  // nothing is recorded: on the way to start_time
};

/// Checks the definition and opens inputs and recorder.
cpl_status cpli_run_open(cpl_simulation* r, cpl_stepper* s, const cpl_run_def* def);
/// Back to before the start, after the stepper was reset: start values are set again.
void cpli_run_rewind(cpl_simulation* r);
/// Initialises the stepper and records the start.
cpl_status cpli_run_start(cpl_simulation* r);
/// Advances to r->until, or to the end before it.
cpl_status cpli_run_advance(cpl_simulation* r);
/// One update of an event where it is.
cpl_status cpli_run_update(cpl_simulation* r);
/// Sets inputs, tunable parameters and states, as texts, where it is; their values take effect.
cpl_status cpli_run_change(cpl_simulation* r, const cpl_start* changes, size_t n);
/// The end of a run that went well so far (st >= 0), or not: rows that wait are written, the
/// stepper is terminated, and r->stats is complete.
cpl_status cpli_run_finish(cpl_simulation* r, cpl_status st);
void cpli_run_close(cpl_simulation* r);
/// Sets the start values of the definition, once: those that are set later replace them.
cpl_status cpli_run_set_starts(cpl_simulation* r);

//------------------------------------ simulation.c ------------------------------------

/// Values that were set take effect: both sides are recorded.
cpl_status cpli_take_effect(cpl_simulation* sim);
cpl_status cpli_simulation_find(const cpl_simulation* sim, const char* name,
                                const cpl_variable** out);
/// Whether a variable can be set during a run. *state: the number of a state that is set as such;
/// -1: the variable is set by its reference.
cpl_status cpli_simulation_target(const cpl_simulation* sim, const cpl_variable* v, int32_t* state);
/// Whether a number that is no String or Binary can have this value: as for start values, it is
/// finite and within the limits. *integer: of one that is no Real.
cpl_status cpli_simulation_value(const cpl_simulation* sim, const cpl_variable* v, double value,
                                 int64_t* integer);
/// Fails: Strings and Binaries are no numbers.
cpl_status cpli_simulation_number(const cpl_simulation* sim, const cpl_variable* v);
