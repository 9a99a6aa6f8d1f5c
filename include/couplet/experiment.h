// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model or system and settings become a run: opens any file that couplet can simulate, takes
// times, tolerances and solvers from the settings, from the system file and from the default
// experiment of the model, in this order, and makes the stepper.
//
//   cpl_experiment* e = NULL;
//   cpl_simulation* sim = NULL;
//   cpl_experiment_settings settings = cpl_default_experiment_settings();
//   settings.path = "pump.fmu";
//   cpl_status st = cpl_experiment_create(ctx, &settings, &e);
//   if (st >= 0) st = cpl_experiment_prepare(e);
//   if (st >= 0)
//     st = cpl_simulation_create(cpl_experiment_stepper(e), cpl_experiment_run_def(e), &sim);
//   ...
//   cpl_simulation_destroy(sim);
//   cpl_experiment_destroy(e);
#pragma once

#include "couplet/assemble.h"
#include "couplet/run.h"
#include "couplet/sensitivity.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Open an .fmu, a model in C (.c), or a system (.yaml, .xml, tlm.config, .ssp, .ssd) by its name.
/// `calls` is not used for systems.
/// Owned: *out by the caller, who calls cpl_source_destroy() after all instances are gone.
CPL_API cpl_status cpl_open_any(cpl_context* ctx, const cpl_open_def* def, cpl_source** out);
/// Whether cpl_open_any() reads a file of this name as a system.
CPL_API bool cpl_is_system_path(const char* path);
/// Read a table of inputs: CSV, or MAT as results are written.
/// Owned: *out by the caller, who calls cpl_table_destroy().
CPL_API cpl_status cpl_input_table_read(cpl_context* ctx, const char* path, cpl_table** out);

/// What to simulate, and how. Start from cpl_default_experiment_settings(), then change what you
/// need.
typedef struct cpl_experiment_settings {
  size_t size;         ///< set by cpl_default_experiment_settings()
  const char* path;    ///< the file; with `source`: its name in messages
  cpl_source* source;  ///< an opened source, which is not owned. Nullable: the file is opened
  /// Times, tolerances, solver: those that are given override the file's. `step` is the
  /// communication step where there is one. Nullable.
  const cpl_experiment_def* experiment;
  cpl_member_as as;  ///< for FMUs with both; a model in C as a stepper has its own solver
  cpl_form form;     ///< of models with algebraic variables
  const cpl_model_solver* solvers;  ///< of single models of a system with delay lines
  int32_t n_solvers;
  const cpl_start* starts;  ///< parameters and start values
  size_t n_starts;
  const char* const* record;  ///< names or patterns; none: those of the file, or outputs and states
  size_t n_record;
  const cpl_table* table;   ///< its columns drive the inputs of their names. Nullable
  const char* table_name;   ///< of the table, in messages. Nullable
  bool ignore_extra;        ///< columns that match no variable are no error
  const cpl_input* inputs;  ///< further inputs
  size_t n_inputs;
  bool one_solver;      ///< also for independent subsystems
  bool timing;          ///< measure the time spent in models
  bool saves;           ///< the state is to be saved and restored, where models offer it, also in
                        ///< checkpoints
  bool isolate;         ///< when the file is opened: models run in processes of their own
  double call_timeout;  ///< [s]; when the file is opened: isolates; with `processes`: of a step; 0:
                        ///< none
  const char* call_log;           ///< when the file is opened. Nullable
  const char* variant;            ///< of an SSP package that is opened (see cpl_ssp_def). Nullable
  const char* const* parameters;  ///< likewise
  size_t n_parameters;
  // systems with delay lines
  bool processes;   ///< every component in a process of its own
  int32_t threads;  ///< of all systems: cpl_context_use_threads(); of studies: always 1 per worker
  const cpl_tlm_serve_def* serve;  ///< filled before cpl_experiment_prepare(). Nullable
  /// Called with a model before it gets its solver. Nullable.
  cpl_status (*on_model)(void* user, cpl_model* model);
  void* user;
  /// The model gets these sensitivities, which are recorded after the variables of `record`, or
  /// alone where there are none; adjoint ones: see cpl_experiment_gradients(). Nullable.
  const cpl_sensitivity_def* sensitivity;
  bool no_ad;  ///< when the file is opened: cpl_context_use_differences()
} cpl_experiment_settings;

CPL_DEFAULTS(experiment_settings)  ///< cpl_default_experiment_settings()

typedef struct cpl_experiment cpl_experiment;

/// Open the file, determine the times and the recorded variables, find the inputs of the table.
/// Owned:    *out by the caller, who calls cpl_experiment_destroy(); *out is NULL after a failure.
/// Borrowed: what the settings point to, as long as *out lives.
CPL_API cpl_status cpl_experiment_create(cpl_context* ctx, const cpl_experiment_settings* settings,
                                         cpl_experiment** out);
/// Make the stepper, once.
CPL_API cpl_status cpl_experiment_prepare(cpl_experiment* e);
CPL_API void cpl_experiment_destroy(cpl_experiment* e);  ///< Nullable: e

/// How gradients were computed.
typedef struct cpl_gradient_stats {
  double reached;                      ///< simulated time
  cpl_solver_stats forward, backward;  ///< of both runs
  int64_t points;                      ///< of the trajectory that is kept in memory
  int64_t events;
  int32_t instances;  ///< of the model, with those that have a parameter a little changed
} cpl_gradient_stats;

/// The gradients of the scalars of settings.sensitivity, which is adjoint: n_of * n_to values, `to`
/// running fastest; `values` gets the n_of scalars. The experiment is run forwards and its adjoint
/// equation backwards, here, instead of by cpl_experiment_prepare() and cpl_run(); once per
/// experiment. The trajectory is kept in memory: six points per step of the solver.
/// Nullable: values, stats
/// Returns:  CPL_ERR_UNSUPPORTED for a model that the method is not right for: with constraints, a
///           variable structure, or an event at which the state of a model cannot be saved, which
///           the message names.
CPL_API cpl_status cpl_experiment_gradients(cpl_experiment* e, double* gradients, double* values,
                                            cpl_gradient_stats* stats);

/// What the results of the experiment depend on, one line per property, with hashes of the contents
/// of files (cpl_checkpoints_def.identity). Borrowed: *out until the next call, as long as the
/// experiment lives.
CPL_API cpl_status cpl_experiment_identity(cpl_experiment* e, const char** out);

CPL_API cpl_source* cpl_experiment_source(const cpl_experiment* e);
/// The run, to be completed by the caller and passed to cpl_run() or cpl_simulation_create().
/// Borrowed: as long as the experiment lives.
CPL_API cpl_run_def* cpl_experiment_run_def(cpl_experiment* e);
// After cpl_experiment_prepare().
CPL_API cpl_stepper* cpl_experiment_stepper(const cpl_experiment* e);
/// The model that the stepper integrates, which it owns; NULL: it is no integrated model.
CPL_API cpl_model* cpl_experiment_model(const cpl_experiment* e);
CPL_API const cpl_solver_def* cpl_experiment_solver(const cpl_experiment* e);

#ifdef __cplusplus
}
#endif
