// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Fits parameters to measurements by least squares, and optimizes parameters for the measures of a
// run.
//
//   cpl_experiment_settings settings = cpl_default_experiment_settings();
//   settings.path = "car.yaml";
//   cpl_vary vary = {0};
//   cpl_fit_data data = {.path = "measured.csv"};
//   cpl_fit_def def = cpl_default_fit_def();
//   cpl_fit* fit = NULL;
//   cpl_status st = cpl_vary_read(ctx, "left.m=1:0.5:2", &vary);
//   def.experiment = &settings;
//   def.vary = &vary, def.n_vary = 1;
//   def.data = &data, def.n_data = 1;
//   if (st >= 0) st = cpl_fit_run(ctx, &def, &fit);
//   if (st >= 0) printf("%g +- %g\n", fit->parameters[0].value, fit->parameters[0].deviation);
//   cpl_fit_destroy(fit);
//   cpl_vary_free(ctx, &vary);
#pragma once

#include "couplet/study.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A number of workers: one for each processor that this process may use.
enum { CPL_WORKERS_PER_PROCESSOR = -1 };

//------------------------------------ what is varied ------------------------------------

/// A parameter or start value that is varied.
typedef struct cpl_vary {
  const char* name;        ///< a Real
  const char* unit;        ///< of its three numbers. Nullable: the variable's own
  double guess;            ///< where the search begins; NAN: the value it has without being varied
  double least, greatest;  ///< -INFINITY, INFINITY: the limits of the variable, if it has any
} cpl_vary;

/// Read it from its text: NAME, NAME=GUESS or NAME=GUESS:LEAST:GREATEST, where each number may be
/// empty or have a unit ("T=20 degC:10 degC:40 degC").
/// Owned:   *out by the caller, who calls cpl_vary_free(), not needed after a failure.
/// Returns: CPL_ERR_INPUT with the text and what is expected; *out is then empty.
CPL_API cpl_status cpl_vary_read(cpl_context* ctx, const char* text, cpl_vary* out);
/// Only for those made by cpl_vary_read().
CPL_API void cpl_vary_free(cpl_context* ctx, cpl_vary* vary);  ///< Nullable: vary

/// A varied parameter after a fit or an optimization, in the unit of the variable.
typedef struct cpl_varied {
  const char* name;
  const char* unit;  ///< "": none
  double value, guess, least, greatest;
  int32_t at_bound;  ///< -1, 1: the value is held by its least or greatest value; 0: it is not
  // of fits only; NAN: unknown, since the parameter is at a bound or the data do not determine it
  double deviation;   ///< standard deviation
  double low, high;   ///< of its confidence interval
  bool undetermined;  ///< the data do not determine it
} cpl_varied;

/// How far a search is, reported after each run.
typedef struct cpl_search_progress {
  int64_t runs, failed;  ///< simulations so far, and those of them that failed
  double value;          ///< the smallest so far: sum of squares, or objective; NAN: none yet
} cpl_search_progress;

//------------------------------------ fits ------------------------------------

/// How a residual r, in standard deviations, counts: as rho(r^2). With c for the scale:
#define CPL_LOSS_LIST(X)                                                          \
  X(CPL_LOSS_SQUARES, "squares", "r^2: least squares")                            \
  X(CPL_LOSS_HUBER, "huber", "r^2 up to c (1.345), then linear")                  \
  X(CPL_LOSS_SOFT_L1, "soft_l1", "2 c^2 (sqrt(1 + (r/c)^2) - 1): smooth; c is 1") \
  X(CPL_LOSS_CAUCHY, "cauchy", "c^2 log(1 + (r/c)^2): outliers hardly count; c is 2.385")

typedef enum cpl_loss {
#define X(kind, name, text) kind,
  CPL_LOSS_LIST(X)
#undef X
      CPL_LOSS_OF_FILE = -1  ///< that of the section `fit` of a system file, or CPL_LOSS_SQUARES
} cpl_loss;

/// The names of CPL_LOSS_LIST. Returns false for any other name.
CPL_API bool cpl_loss_by_name(const char* name, cpl_loss* out);

/// Measurements of one experiment: columns over time. A column with the name of an input or of a
/// tunable parameter drives it; one with the name of another parameter sets it, and has the same
/// value in all rows; sigma(NAME) has the standard deviations of column NAME; all others are
/// compared with the variables of their names.
typedef struct cpl_fit_data {
  const char* path;         ///< CSV, or MAT as results are written; with `table`: its name
  const cpl_table* table;   ///< Nullable: the file is read
  const cpl_start* starts;  ///< parameters and start values of this experiment
  size_t n_starts;
  double weight;  ///< of its squares; 0: 1
} cpl_fit_data;

/// The standard deviation of the errors of a measured variable.
typedef struct cpl_fit_sigma {
  const char* name;
  double value;  ///< in the unit of the variable
} cpl_fit_sigma;

/// What to fit. Start from cpl_default_fit_def(), then change what you need. The section `fit` of a
/// system file (docs/fit.md) has what is not given: what varies and the data where there are none
/// here, standard deviations of other variables, loss, scale and confidence.
typedef struct cpl_fit_def {
  size_t size;  ///< set by cpl_default_fit_def()
  /// The file and how it is simulated. Tolerances that are not given are 1e-9, or those of the file
  /// where they are tighter. Not used: record, on_model, serve, processes.
  const cpl_experiment_settings* experiment;
  const cpl_vary* vary;
  size_t n_vary;
  const cpl_fit_data* data;
  size_t n_data;
  const cpl_fit_sigma* sigmas;  ///< those of other columns are estimated from their residuals
  size_t n_sigmas;
  cpl_loss loss;      ///< CPL_LOSS_OF_FILE
  double scale;       ///< c of the loss; 0: that of CPL_LOSS_LIST
  double confidence;  ///< of the intervals; 0: 0.95
  bool ignore_extra;  ///< columns that match no variable are no error
  bool differences;   ///< derivatives by differences of runs, also where sensitivities are offered
  int32_t max_runs;   ///< 0: 10000
  void (*on_progress)(void* user, const cpl_search_progress* progress);  ///< Nullable
  void* user;                                                            ///< passed to it
  /// Processes that simulate; 0, 1: this one. They are forked when the search begins, and results
  /// do not depend on their number: data sets, and the runs of differences, are divided among them.
  /// With several, this process calls no model, so that functions of the program that models call
  /// are called in others; one that crashes is a run that has failed.
  int32_t workers;
} cpl_fit_def;

CPL_DEFAULTS(fit_def)  ///< cpl_default_fit_def()

/// A measured variable of one experiment. NAN in `fitted`: there is none.
typedef struct cpl_fit_column {
  const char* name;
  const char* unit;  ///< "": none
  size_t data;       ///< which of the data
  size_t n;
  const double *time, *measured, *fitted;  ///< in the unit of the variable
  const double* sigma;                     ///< standard deviations, given or estimated
  bool estimated;
  double rms;  ///< of the residuals, measured - fitted
} cpl_fit_column;

/// A direction in which the parameters can change and the results hardly do.
typedef struct cpl_fit_direction {
  double ratio;         ///< of the change of the results to that in the most influential direction
  bool singular;        ///< nothing but rounding is left: the parameters in it are undetermined
  const double* parts;  ///< change of each parameter, relative to its value; the largest is 1
  const char* text;     ///< "a +1 %, b -1 %"
} cpl_fit_direction;

/// The result of a fit.
typedef struct cpl_fit {
  bool converged;
  const char* end;  ///< why the search ended
  const cpl_varied* parameters;
  size_t n_parameters;
  const double* correlation;  ///< n_parameters^2; NAN: unknown
  size_t n_points, n_columns, n_directions;
  const cpl_fit_column* columns;
  const cpl_fit_direction* directions;
  double squares;           ///< sum of the squares of the residuals in standard deviations
  double variance;          ///< the same per degree of freedom
  double freedom;           ///< points less parameters
  double confidence;        ///< of the intervals
  int64_t runs;             ///< simulations in all
  int64_t failed;           ///< of them; the search went on with others
  const char* failure;      ///< the reason of the first that failed; NULL: none
  const char* derivatives;  ///< "sensitivities" or "differences"
  const char* const* data;  ///< the names of the data
  size_t n_data;
} cpl_fit;

/// Find the values of the parameters for which the results are nearest to the data, by
/// Levenberg-Marquardt's method (cminpack), with parameters held at bounds that they would cross.
/// Runs that fail at trial values are reported, and other values are tried.
/// Owned:    *out by the caller, who calls cpl_fit_destroy().
/// Returns:  CPL_ERR_UNSUPPORTED without the library cminpack; CPL_ERR_SOLVER or CPL_ERR_CANCELLED
///           where the search did not come to its end: *out then has the best values so far, where
///           there are any, without deviations; otherwise *out is NULL after a failure.
CPL_API cpl_status cpl_fit_run(cpl_context* ctx, const cpl_fit_def* def, cpl_fit** out);
CPL_API void cpl_fit_destroy(cpl_fit* fit);  ///< Nullable: fit

//------------------------------------ optimization ------------------------------------

/// The algorithms (of NLopt): constant, name, description.
#define CPL_OPTIMIZER_LIST(X)                                                           \
  X(CPL_OPTIMIZER_SLSQP, "slsqp", "sequential quadratic programming, with derivatives") \
  X(CPL_OPTIMIZER_COBYLA, "cobyla",                                                     \
    "linear models, without derivatives: where the objective is not smooth")

typedef enum cpl_optimizer {
#define X(kind, name, text) kind,
  CPL_OPTIMIZER_LIST(X)
#undef X
} cpl_optimizer;

/// The names of CPL_OPTIMIZER_LIST. Returns false for any other name.
CPL_API bool cpl_optimizer_by_name(const char* name, cpl_optimizer* out);

/// What to optimize. Start from cpl_default_optimize_def(), then change what you need.
typedef struct cpl_optimize_def {
  size_t size;  ///< set by cpl_default_optimize_def()
  /// The file and how it is simulated, as in cpl_fit_def.
  const cpl_experiment_settings* experiment;
  const cpl_vary* vary;
  size_t n_vary;
  const cpl_measure_def* measures;  ///< that expressions can use; with those of the file
  size_t n_measures;
  const char* minimize;  ///< an expression over measures and functions of the run (docs/studies.md)
  bool maximize;         ///< its value, instead
  const char* const* subject_to;  ///< "EXPR <= EXPR", "EXPR >= EXPR" or "EXPR == EXPR"
  size_t n_subject_to;
  cpl_optimizer method;
  double tolerance;             ///< relative change of parameters that ends the search; 0: 1e-6
  double constraint_tolerance;  ///< by which constraints may be violated; 0: 1e-6
  int32_t max_runs;             ///< 0: 10000
  void (*on_progress)(void* user, const cpl_search_progress* progress);  ///< Nullable
  void* user;                                                            ///< passed to it
  int32_t workers;  ///< as in cpl_fit_def; the runs of differences are divided among them
} cpl_optimize_def;

CPL_DEFAULTS(optimize_def)  ///< cpl_default_optimize_def()

typedef struct cpl_optimum_constraint {
  const char* text;
  double excess;     ///< by which it is violated; negative: how far it is from its limit
  bool met, active;  ///< active: at its limit, to a hundred tolerances
} cpl_optimum_constraint;

/// The result of an optimization. Of the parameters, deviations and intervals are unknown.
typedef struct cpl_optimum {
  bool converged;
  const char* end;  ///< why the search ended
  const cpl_varied* parameters;
  size_t n_parameters;
  double value;  ///< of the objective
  const cpl_optimum_constraint* constraints;
  size_t n_constraints;
  int64_t runs, failed;
  const char* failure;  ///< the reason of the first run that failed; NULL: none
} cpl_optimum;

/// Find the values of the parameters within their bounds for which an objective is smallest, or
/// largest, and constraints hold: a local optimum.
/// Owned:    *out by the caller, who calls cpl_optimum_destroy().
/// Returns:  CPL_ERR_UNSUPPORTED without the library NLopt; CPL_ERR_SOLVER where no values meet the
///           constraints or the search did not come to its end, CPL_ERR_CANCELLED: *out then has
///           the best values so far, where there are any; otherwise *out is NULL after a failure.
CPL_API cpl_status cpl_optimize_run(cpl_context* ctx, const cpl_optimize_def* def,
                                    cpl_optimum** out);
CPL_API void cpl_optimum_destroy(cpl_optimum* optimum);  ///< Nullable: optimum

#ifdef __cplusplus
}
#endif
