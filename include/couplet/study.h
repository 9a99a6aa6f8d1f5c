// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Studies: many cases of one experiment, on all processors and on clusters. Factors (parameters and
// start values) vary over the cases as a design says (couplet/design.h); of each case measures are
// recorded, such as max(left.x), and curves.
//
//   cpl_study_def def = cpl_default_study_def();
//   def.experiment = &settings;  // the file, its solver, times
//   def.design = design;
//   def.measures = &(cpl_measure_def){.name = "highest", .text = "max(left.x)"};
//   def.n_measures = 1;
//   def.outputs = (const char*[]){"study.csv"}, def.n_outputs = 1;
//   cpl_study_summary summary;
//   cpl_status st = cpl_study_run(ctx, &def, &summary);
#pragma once

#include "couplet/design.h"
#include "couplet/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

//------------------------------------ what is studied ------------------------------------

/// A number that describes a run: an expression over functions of the run, which docs/studies.md
/// lists: max(abs(left.x))/initial(left.x).
typedef struct cpl_measure_def {
  const char* name;
  const char* text;
  const char* file;      ///< where it is written, for messages. Nullable
  int32_t line, column;  ///< of the text, from 1; 0: unknown
} cpl_measure_def;

/// A design as texts. What is not given is taken from the section `study` of the system file.
typedef struct cpl_design_texts {
  size_t size;              ///< set by cpl_default_design_texts()
  const char* const* over;  ///< factors (cpl_factor_read()); any replace all of the file
  size_t n_over;
  const char* design;  ///< "grid", "random", ...; NULL: a grid, or random with a number of samples
  const char* sample;  ///< number of samples, trajectories or base points. Nullable
  const char* seed;    ///< Nullable
  const char* table;   ///< CSV file with the cases. Nullable
} cpl_design_texts;

CPL_DEFAULTS(design_texts)  ///< cpl_default_design_texts()

/// Make the design of a study from texts and from the system file.
/// Owned:    *out by the caller, who calls cpl_design_destroy().
/// Nullable: source, where there is no system file
CPL_API cpl_status cpl_study_design(cpl_context* ctx, const cpl_source* source,
                                    const cpl_design_texts* texts, cpl_design** out);

//------------------------------------ run ------------------------------------

typedef struct cpl_study_progress {
  int64_t total, done, failed;  ///< cases; those that failed are done
  int64_t resumed;              ///< done by an earlier run of the study
  int64_t repeated;             ///< cases that ended their worker and were repeated
  double seconds, rate;         ///< of this run; cases per second of late
  int32_t workers;
} cpl_study_progress;

/// A fact about the study as a whole, an attribute of its NetCDF file: a text, or a number.
typedef struct cpl_study_fact {
  const char* name;  ///< letters, digits and '_', a letter first
  const char* text;  ///< NULL: a number
  double number;
} cpl_study_fact;

/// The columns of the results.
typedef struct cpl_study_columns {
  size_t n_factors, n_measures, n_curves, n_times;
  const char* const* factors;  ///< names
  const char* const* factor_units;
  const char* const* measures;
  const char* const* measure_units;  ///< "": none or unknown
  const char* const* curves;
  const char* const* curve_units;
  const double* times;  ///< of the points of all curves
  const char* const* measure_texts;
  const cpl_study_fact* facts;  ///< title, file, design, seed, times, solver, ...
  size_t n_facts;
} cpl_study_columns;

/// The result of a case.
typedef struct cpl_study_case {
  int64_t i;               ///< from 0
  const double* factors;   ///< values
  const double* measures;  ///< values; NULL: the case failed
  const double* curves;    ///< n_times values of each, one after the other; NULL: the case failed
  const char* failure;     ///< the reason; NULL: it did not fail
} cpl_study_case;

/// What to run. Start from cpl_default_study_def(), then change what you need.
typedef struct cpl_study_def {
  size_t size;  ///< set by cpl_default_study_def()
  /// The file and how it is simulated. Each worker opens it; with settings.source, instances are
  /// made of that source. Not used: record, on_model, serve, processes.
  const cpl_experiment_settings* experiment;
  const cpl_design* design;
  const cpl_measure_def* measures;  ///< none: those of the file, or final values of its outputs
  size_t n_measures;
  /// Variables over time, at the output points, for NetCDF files and on_case. At an event they have
  /// the value behind it; behind an early end they are NaN.
  const char* const* curves;
  size_t n_curves;
  const char* const* outputs;  ///< files .csv (measures) and .nc (NetCDF-4, with curves)
  size_t n_outputs;
  /// The file in which finished cases are kept until the study is complete. Nullable: the first
  /// output with ".journal" behind its name; required where there is none.
  const char* journal;
  bool resume;          ///< go on with what the journal has
  bool restart;         ///< a journal of an interrupted study is replaced, instead of refused
  int32_t workers;      ///< processes; 0: one per processor
  double case_timeout;  ///< a case that takes longer fails [s]; 0: none
  /// Called at most ten times per second, and at the end. Nullable
  void (*on_progress)(void* user, const cpl_study_progress* progress);
  /// Called for each case in their order, when all are done. Nullable
  cpl_status (*on_case)(void* user, const cpl_study_columns* columns, const cpl_study_case* one);
  void* user;  ///< passed to both
  /// With settings.source: identifies its content (a version, a hash), so that a journal of another
  /// content is refused. Nullable
  const char* content;
} cpl_study_def;

CPL_DEFAULTS(study_def)  ///< cpl_default_study_def()

/// What became of a study.
typedef struct cpl_study_summary {
  cpl_study_progress progress;
  bool is_coordinator;  ///< false in the other processes of a cluster, which have nothing to report
} cpl_study_summary;

/// Run all cases, each with its own values of the factors, and write the results. They do not
/// depend on the number of workers or on interruptions. Files are written when all cases are done,
/// whole or not at all; then the journal is removed. After a failure or a cancellation it is kept.
/// Nullable: summary
CPL_API cpl_status cpl_study_run(cpl_context* ctx, const cpl_study_def* def,
                                 cpl_study_summary* summary);

#ifdef __cplusplus
}
#endif
