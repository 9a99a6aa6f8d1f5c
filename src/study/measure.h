// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Measures: numbers that describe a run, such as max(abs(left.x)) or final(right.v)/2. A measure is
// an expression over reductions, and a reduction is a function of the whole course of an expression
// over variables of the model. The parsed measures are immutable; a meter has what changes during a
// run. Rows come from the segments of a run (run/run.h): between them the variables are polynomials
// of time, as in the dense output of the solver, so that integrals, extrema and times of conditions
// are as accurate as the solution and do not depend on output points.
#pragma once

#include "couplet/study.h"
#include "expr/expr.h"
#include "run/run.h"

typedef enum cpli_reduction_kind {
  CPLI_FINAL,
  CPLI_INITIAL,
  CPLI_MIN,
  CPLI_MAX,
  CPLI_TIME_OF_MIN,
  CPLI_TIME_OF_MAX,
  CPLI_INTEGRAL,
  CPLI_MEAN,
  CPLI_RMS,
  CPLI_AT,
  CPLI_TIME_WHEN,
  CPLI_COUNT,
  CPLI_DURATION,
  CPLI_EVENTS,
  CPLI_OVERSHOOT,
  CPLI_SETTLING_TIME,
} cpli_reduction_kind;

typedef struct cpli_reduction {
  cpli_reduction_kind kind;
  cpli_expr* expr;      // NULL: of events
  const int32_t* vars;  // the variable of each position of the expression
  size_t n_slots;
  bool plain;      // the expression is a variable
  double args[2];  // constants behind the expression; NAN: not given
} cpli_reduction;

typedef struct cpli_measure {
  const char* name;
  const char* unit;  // "" : none or unknown
  cpli_expr* expr;
  const int32_t* sources;  // of each position: a reduction, or ~m: the measure m
  size_t n_sources;
} cpli_measure;

typedef struct cpli_measures {
  cpl_context* ctx;
  cpli_arena arena;
  cpli_measure* list;
  const int32_t* order;  // in which they are evaluated
  size_t n;
  cpli_reduction* reductions;
  size_t n_reductions;
  const char** vars;  // variables that are recorded
  const bool* held;   // of each: it is constant between events
  size_t n_vars;
  double start, stop;   // of the run
  bool needs_segments;  // otherwise the first and the last row are enough
} cpli_measures;

/// Parse measures. Names are those of variables in `desc`.
/// Borrowed: nothing but the files in the source locations.
/// Returns: CPL_ERR_INPUT with the position of the mistake.
cpl_status cpli_measures_parse(cpl_context* ctx, const cpl_measure_def* defs, size_t n,
                               const cpl_description* desc, double start, double stop,
                               cpli_measures** out);
void cpli_measures_destroy(cpli_measures* m);  // Nullable: m

//------------------------------------ panel.c ------------------------------------

enum { CPLI_PANEL_POINTS = 6 };

/// The nodes of a segment: the interior points of Gauss and Lobatto's rule with six points.
extern const double cpli_panel_nodes[CPLI_PANEL_POINTS - 2];

// The variables on a segment, as polynomials through their values at two to six points.
typedef struct cpli_panel {
  size_t n;       // points
  bool standard;  // the points are the ends and cpli_panel_nodes
  double t[CPLI_PANEL_POINTS];
  bool has_weights;
  double weights[CPLI_PANEL_POINTS];  // barycentric
  const double* values;               // n rows with n_vars values each
  size_t n_vars;
  const bool* held;  // variables that have the value of the first row
} cpli_panel;

/// An expression along a panel.
typedef struct cpli_course {
  cpli_panel* panel;
  const cpli_reduction* of;
  cpl_context* ctx;
  double at[CPLI_PANEL_POINTS];  // its values at the points
  cpl_status st;                 // of the evaluations so far
} cpli_course;

/// Evaluates the expression at all points.
cpl_status cpli_course_begin(cpli_course* c, cpl_context* ctx, cpli_panel* panel,
                             const cpli_reduction* of);
double cpli_course_value(cpli_course* c, double t);
/// The integral over the panel; of the square with `squared`.
double cpli_course_integral(cpli_course* c, bool squared);
/// A value above *best (sign 1) or below it (sign -1) replaces it, and *when is its time.
void cpli_course_extremum(cpli_course* c, double sign, double* best, double* when);
/// The next time after t at which a condition changes, and its value then. false: it does not
/// change any more.
bool cpli_course_change(cpli_course* c, double* t, bool* value);
/// How much of a variable the polynomial may miss, relative to the largest value.
double cpli_panel_tail(const cpli_panel* p, size_t var);

//------------------------------------ meter.c ------------------------------------

typedef struct cpli_meter cpli_meter;

/// Owned: *out by the caller, who calls cpli_meter_destroy() before cpli_measures_destroy().
cpl_status cpli_meter_create(const cpli_measures* measures, cpli_meter** out);
void cpli_meter_destroy(cpli_meter* meter);  // Nullable: meter

/// The relative tolerance of the solver; 1e-6 where it is not set.
void cpli_meter_set_tolerance(cpli_meter* meter, double rtol);
/// Connect it with a run, whose recorded variables include those of the measures.
cpl_status cpli_meter_attach(cpli_meter* meter, cpl_simulation* run);
/// The stepper of that run is destroyed, and the meter remains.
void cpli_meter_detach(cpli_meter* meter);
/// Before a run.
void cpli_meter_start(cpli_meter* meter);
/// A row of the run.
cpl_status cpli_meter_row(cpli_meter* meter, double t, const cpl_value* values);
/// After a run: the measures.
cpl_status cpli_meter_finish(cpli_meter* meter, double* values);
