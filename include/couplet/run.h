// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs a stepper from start to stop: sets start values and inputs, and records variables.
//
//   cpl_run_def def = cpl_default_run_def();
//   def.stop_time = 2;
//   def.on_columns = open_file, def.on_point = write_row, def.user = &file;
//   cpl_run_stats stats;
//   cpl_status st = cpl_run(stepper, &def, &stats);
//   if (st >= 0) printf("%lld points\n", (long long)stats.points);
#pragma once

#include "couplet/checkpoint.h"
#include "couplet/solver.h"
#include "couplet/table.h"

#ifdef __cplusplus
extern "C" {
#endif

//------------------------------------ recording ------------------------------------

/// One recorded variable.
typedef struct cpl_column {
  const char* name;
  const char* unit;         ///< Nullable
  const char* description;  ///< never NULL
  cpl_type type;
  bool constant;     ///< a parameter or constant: the same in every row
  bool is_unsigned;  ///< of integers: all 64 bits are digits
} cpl_column;

/// A recorded value; the member follows from the column's type (Integer, Boolean and Enumeration:
/// integer).
typedef union cpl_value {
  double real;
  int64_t integer;
  const char* string;
} cpl_value;

/// Called before the first point with the columns (without time), valid until the run ends.
typedef cpl_status cpl_columns_fn(void* user, const cpl_column* columns, size_t n);

/// Called at every output point; at an event twice with the same t, before and after it. values[i]
/// belongs to columns[i] and is valid during the call only.
typedef cpl_status cpl_point_fn(void* user, double t, const cpl_value* values);

//------------------------------------ settings ------------------------------------

/// An input as a function of time: a column of a table, or a callback (a smooth function; use a
/// table for discontinuities).
typedef struct cpl_input {
  const char* name;
  const cpl_table* table;  ///< Nullable: the callback
  size_t column;
  double (*value)(const void* user, double t);
  const void* user;
} cpl_input;

/// How to run. Start from cpl_default_run_def(), then change what you need.
typedef struct cpl_run_def {
  size_t size;  ///< set by cpl_default_run_def()
  double start_time;
  /// INFINITY: of a simulation that is advanced step by step without an end; models are not told a
  /// stop time, and without an interval there are no output points but the ends of advances.
  double stop_time;
  double interval;   ///< between output points; 0: `step` for steppers, else a 500th of the run
  double step;       ///< communication step of steppers without dense output; 0: `interval`
  double tolerance;  ///< passed to the component (cpl_setup); 0: none
  const cpl_start* starts;
  size_t n_starts;
  const cpl_input* inputs;
  size_t n_inputs;
  const char* const* record;  ///< names or patterns with * and ?; none: every output and state
  size_t n_record;
  cpl_columns_fn* on_columns;                 ///< Nullable
  cpl_point_fn* on_point;                     ///< Nullable
  void (*on_progress)(void* user, double t);  ///< called after every step of the run. Nullable.
  /// Called at most ten times per second, also between output points: the time reached by the
  /// solver's steps, and the size of the last one. Nullable.
  void (*on_step)(void* user, double t, double h);
  void* user;                              ///< passed to the four functions
  const cpl_checkpoints_def* checkpoints;  ///< written during the run. Nullable
  /// The run goes on from there, with the same definition: its start is not recorded again,
  /// on_point gets the rows behind the checkpoint. Rows in memory (cpl_simulation_table()) are all
  /// there. Nullable.
  const cpl_checkpoint* resume;
  /// Another run begins with the state of a checkpoint: it goes on to start_time unrecorded, where
  /// the `starts`, of inputs, tunable parameters and states, are set. start_time must not lie
  /// before the checkpoint. Nullable.
  const cpl_checkpoint* start_from;
} cpl_run_def;

typedef struct cpl_run_stats {
  cpl_solver_stats solver;      ///< of a model under integrate, of all modes; else zero
  int64_t communication_steps;  ///< of a stepper
  int64_t refused_steps;        ///< steps that it did not complete
  int64_t points;               ///< recorded
  double reached;               ///< simulated time
  bool terminated;              ///< the model ended the run before the stop time
  double wall_s, in_output_s;
  int64_t switches;  ///< between modes
  double in_switches_s, in_mapping_s;
} cpl_run_stats;

CPL_DEFAULTS(run_def)  ///< cpl_default_run_def()

/// Initialise the stepper and advance it from start to stop.
/// Order:    once per stepper; call its reset before the next run.
/// Nullable: stats
/// Returns:  CPL_TERMINATE when the model ended the run, CPL_ERR_CANCELLED when it was cancelled
///           (cpl_context_cancel()). on_point has received all points before a failure.
CPL_API cpl_status cpl_run(cpl_stepper* s, const cpl_run_def* def, cpl_run_stats* stats);

//------------------------------------ step by step ------------------------------------

/// What cpl_run() does, in pieces: values can be read and set between advances, and the state can
/// be saved and restored.
typedef struct cpl_simulation cpl_simulation;

/// Prepare a run of a stepper. Where def->on_point is NULL, rows are kept in memory
/// (cpl_simulation_table()).
/// Order:    create, [set start values] start, then advance, get, set, save, restore in any order,
///           finish, destroy.
/// Owned:    *out by the caller, who calls cpl_simulation_destroy(); *out is NULL after a failure.
/// Borrowed: the stepper and the lists of def, as long as *out lives.
CPL_API cpl_status cpl_simulation_create(cpl_stepper* s, const cpl_run_def* def,
                                         cpl_simulation** out);
/// Initialise; the first row is recorded.
CPL_API cpl_status cpl_simulation_start(cpl_simulation* sim);
/// Advance to `until`, at most to the stop time: output points on the way, both sides of events and
/// the end are recorded. A stepper whose communication step cannot vary may end at the
/// communication point behind it.
/// Returns: CPL_TERMINATE when the model ended the run.
CPL_API cpl_status cpl_simulation_advance(cpl_simulation* sim, double until);
CPL_API double cpl_simulation_time(const cpl_simulation* sim);

/// A Real, Integer, Boolean, Enumeration or Clock by its name.
CPL_API cpl_status cpl_simulation_get(cpl_simulation* sim, const char* name, double* value);
/// Set an input, a tunable parameter or a continuous state; before the start also any start value.
/// It takes effect where the simulation is: where the stepper can update its events without a step,
/// a row with the new values follows the one before. A value that is not finite, no integer of an
/// Integer, or beyond the limits of the variable is refused; the simulation can continue.
CPL_API cpl_status cpl_simulation_set(cpl_simulation* sim, const char* name, double value);
/// A String by its name. Borrowed: *value, until the next call.
CPL_API cpl_status cpl_simulation_get_text(cpl_simulation* sim, const char* name,
                                           const char** value);
/// Before the start: a start value as a text, with a unit perhaps: "30 deg".
CPL_API cpl_status cpl_simulation_set_text(cpl_simulation* sim, const char* name,
                                           const char* value);

/// Variables of a simulation, found once, in order to read or set all of them in one call.
typedef struct cpl_selection cpl_selection;

/// Find variables by their names; that of an array stands for all its elements.
/// Owned: *out by the caller, who calls cpl_selection_destroy() before cpl_simulation_destroy().
CPL_API cpl_status cpl_selection_create(cpl_simulation* sim, const char* const* names, size_t n,
                                        cpl_selection** out);
CPL_API void cpl_selection_destroy(cpl_selection* selection);        ///< Nullable: selection
CPL_API size_t cpl_selection_count(const cpl_selection* selection);  ///< of single variables
CPL_API const cpl_variable* cpl_selection_variable(const cpl_selection* selection, size_t i);
/// cpl_simulation_get() of every variable, in their order.
CPL_API cpl_status cpl_selection_get(cpl_selection* selection, double* values);
/// cpl_simulation_set() of every variable. Nothing is set where one of them cannot be set.
CPL_API cpl_status cpl_selection_set(cpl_selection* selection, const double* values);

/// Save the state of the simulation. A zeroed snapshot is allocated, a used one is overwritten;
/// released by cpl_simulation_forget(). A restore deletes the rows in memory that are later than
/// the saved state; on_point is called with earlier times than before.
/// Returns: CPL_ERR_UNSUPPORTED where the stepper cannot, or where rows wait for its communication
///          points.
CPL_API cpl_status cpl_simulation_save(cpl_simulation* sim, cpl_snapshot* snapshot);
CPL_API cpl_status cpl_simulation_restore(cpl_simulation* sim, const cpl_snapshot* snapshot);
CPL_API void cpl_simulation_forget(cpl_simulation* sim, cpl_snapshot* snapshot);

/// Write a checkpoint now, in addition to those of the definition. When the stepper, or a component
/// in it, has no complete history, its solvers are restarted here.
/// Returns: CPL_ERR_UNSUPPORTED with the component whose states cannot become bytes.
CPL_API cpl_status cpl_simulation_checkpoint(cpl_simulation* sim, const cpl_checkpoints_def* def);

/// The rows in memory; Strings are left out.
/// Borrowed: *out, until the next call of this simulation that advances, restores or destroys it.
CPL_API cpl_status cpl_simulation_table(cpl_simulation* sim, const cpl_table** out);

/// End the run: rows that wait are written, the stepper is terminated.
/// Nullable: stats
CPL_API cpl_status cpl_simulation_finish(cpl_simulation* sim, cpl_run_stats* stats);
CPL_API void cpl_simulation_destroy(cpl_simulation* sim);  ///< Nullable: sim

#ifdef __cplusplus
}
#endif
