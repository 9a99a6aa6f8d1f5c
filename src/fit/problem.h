// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The problem of a fit: which columns of the data are compared with which standard deviations, what
// varies, and the residuals at values of it.
#pragma once

#include "fit/covariance.h"
#include "fit/data.h"
#include "fit/points.h"
#include "fit/section.h"

// Columns of the same variable: they have the same standard deviation.
typedef struct cpli_fit_group {
  const cpl_variable* v;
  double deviation;
  double floor;  // the least one
  bool given;    // also where each row has its own
} cpli_fit_group;

// A column of a data set, and where its rows are among all of them.
typedef struct cpli_fit_rows {
  cpli_measured* m;
  size_t data, n, first, group;
  double weight;
} cpli_fit_rows;

typedef struct cpli_fitting {
  cpl_context* ctx;
  cpl_fit_def def;  // with the section of the file
  cpli_fit_section section;
  cpli_trials trials;
  cpli_data* data;
  cpli_points points;
  cpli_fit_rows* columns;
  cpli_fit_group* groups;
  size_t n_columns, n_groups, m, n;
  double* residuals;  // in standard deviations, without the loss
  double* sorted;
  int32_t* held;
  double* x;
  size_t* sizes;   // results of each data set
  double scale;    // of the loss
  double best;     // the smallest sum of squares; NAN: none
  bool all_given;  // all standard deviations are
  bool left_out;   // columns, which count no more
  const char* end;
} cpli_fitting;

/// The result, in one arena.
typedef struct cpli_fit_result {
  cpl_fit fit;  // must be first
  cpl_context* ctx;
  cpli_arena arena;
} cpli_fit_result;

/// Check data and parameters. Owned: the contents by the caller, who calls cpli_fitting_close(),
/// also after a failure.
cpl_status cpli_fitting_open(cpli_fitting* f, const cpl_fit_def* def);
void cpli_fitting_close(cpli_fitting* f);
/// Everything that depends on which columns count: made, and released.
cpl_status cpli_fitting_arrange(cpli_fitting* f, bool sensitivities);
void cpli_fitting_forget(cpli_fitting* f);

/// How much the values of a group vary.
double cpli_fit_spread(const cpli_fitting* f, size_t g);
double cpli_fit_sigma_at(const cpli_fitting* f, const cpli_fit_rows* c, size_t i);
/// Fitted less measured, in standard deviations.
void cpli_fit_residuals(const cpli_fitting* f, const double* y, double* r);
/// The derivatives of residuals: those of the results, in standard deviations; with the loss.
void cpli_fit_slopes(const cpli_fitting* f, const cpli_fit_point* point, bool loss, double* out);

//------------------------------------ describe.c ------------------------------------

/// Of the residuals of a column at the best values, in the unit of the variable.
double cpli_fit_rms(const cpli_fitting* f, const cpli_fit_rows* c);
/// Everything but deviations.
cpl_status cpli_fit_describe(const cpli_fitting* f, cpli_fit_result* r);
/// Deviations of parameters, from the derivatives at the solution.
cpl_status cpli_fit_intervals(cpli_fitting* f, cpli_fit_result* r);
