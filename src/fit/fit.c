// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A fit: parameters are found by least squares, standard deviations of columns that nobody has
// given estimated from their residuals, and columns that are no measurements of their own left out.
#include <math.h>
#include <stdlib.h>

#include "fit/least_squares.h"
#include "fit/loss.h"
#include "fit/problem.h"
#include "fit/redundant.h"
#include "fit/serial.h"

enum { MAX_ROUNDS = 12 };  // of estimating standard deviations

static const double round_tolerance = 0.005;  // change of deviations that ends the rounds
// Residuals that are smaller, relative to how much a column varies, are no errors of data.
static const double least_misfit = 1e-3;

//------------------------------------ residuals ------------------------------------

static cpl_status residuals(void* user, const double* x, double* r) {
  cpli_fitting* f = user;
  const cpli_fit_point* point = NULL;
  cpl_status st = cpli_points_at(&f->points, x, &point);
  if (st < 0 || st == CPL_RETRY) return st;
  double sum = 0, slope;
  cpli_fit_residuals(f, point->y, r);
  for (size_t i = 0; i < f->m; i++) {
    r[i] = cpli_loss_residual(f->def.loss, f->scale, r[i], &slope);
    sum += r[i] * r[i];
  }
  if (isnan(f->best) || sum < f->best) {
    f->best = sum;
    if (point == &f->points.last) cpli_points_keep(&f->points);
  }
  return CPL_OK;
}

static cpl_status jacobian(void* user, const double* x, double* out) {
  cpli_fitting* f = user;
  const cpli_fit_point* point = NULL;
  cpl_status st = cpli_points_derive(&f->points, x, &point);
  if (st >= 0 && st != CPL_RETRY) cpli_fit_slopes(f, point, true, out);
  return st == CPL_RETRY ? CPL_ERR_SOLVER : st;
}

//------------------------------------ standard deviations ------------------------------------

static int compare_numbers(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// That of normal errors with this median of absolute residuals.
static double median_deviation(double* r, size_t n) {
  for (size_t i = 0; i < n; i++) r[i] = fabs(r[i]);
  qsort(r, n, sizeof *r, compare_numbers);
  const double median = n % 2 != 0 ? r[n / 2] : 0.5 * (r[n / 2 - 1] + r[n / 2]);
  return 1.4826022185056018 * median;
}

// Of the residuals of a group, in its present deviation; robust where the loss is.
static double group_deviation(cpli_fitting* f, size_t g) {
  size_t n = 0;
  double squares = 0;
  for (size_t k = 0; k < f->n_columns; k++) {
    const cpli_fit_rows* c = &f->columns[k];
    if (c->group != g || c->m->sigma != NULL) continue;
    for (size_t i = 0; i < c->n; i++) {
      const double r = f->sorted[n++] = f->residuals[c->first + i] / sqrt(c->weight);
      squares += r * r;
    }
  }
  size_t n_free = 0;
  for (size_t j = 0; j < f->n; j++) n_free += f->held[j] == 0;
  const double share = 1 - (double)n_free / (double)f->m;
  if (f->def.loss == CPL_LOSS_SQUARES) return sqrt(squares / ((double)n * share));
  return median_deviation(f->sorted, n) / sqrt(share);
}

// Returns the largest relative change.
static double estimate_deviations(cpli_fitting* f) {
  double largest = 0;
  cpli_fit_residuals(f, f->points.best.y, f->residuals);
  for (size_t g = 0; g < f->n_groups; g++) {
    cpli_fit_group* one = &f->groups[g];
    if (one->given) continue;
    const double before = one->deviation;
    one->deviation = fmax(one->deviation * group_deviation(f, g), one->floor);
    largest = fmax(largest, fabs(one->deviation / before - 1));
  }
  return largest;
}

static size_t count_estimated(const cpli_fitting* f) {
  size_t n = 0;
  for (size_t g = 0; g < f->n_groups; g++) n += !f->groups[g].given;
  return n;
}

// One deviation that is common to all residuals changes nothing in least squares.
static bool needs_rounds(const cpli_fitting* f) {
  const size_t n = count_estimated(f);
  return n > 1 || (n == 1 && (f->n_groups > 1 || f->def.loss != CPL_LOSS_SQUARES));
}

static cpl_status solve(cpli_fitting* f) {
  const size_t n = f->n;
  double* bounds = cpli_alloc(f->ctx, 2 * n, sizeof *bounds);
  if (bounds == NULL) return cpli_nomem(f->ctx);
  for (size_t j = 0; j < n; j++) {
    bounds[j] = f->trials.list[j].least;
    bounds[n + j] = f->trials.list[j].greatest;
  }
  const cpli_least_squares problem = {.ctx = f->ctx,
                                      .m = f->m,
                                      .n = n,
                                      .least = bounds,
                                      .greatest = bounds + n,
                                      .user = f,
                                      .residuals = residuals,
                                      .jacobian = jacobian};
  cpl_status st = CPL_OK;
  const bool rounds = needs_rounds(f);
  for (int i = 0; i < MAX_ROUNDS && st == CPL_OK; i++) {
    f->best = NAN;
    st = cpli_least_squares_solve(&problem, f->x, f->held, &f->end);
    if (st != CPL_OK) break;
    const double change = estimate_deviations(f);
    if (!rounds || change < round_tolerance) break;
  }
  cpli_free(f->ctx, bounds);
  if (st != CPL_RETRY) return st;
  return cpl_fail(f->ctx, CPL_ERR_MODEL, "the run with the guesses failed: %s", f->trials.failure);
}

//------------------------------ columns that do not count ------------------------------

static cpl_status find_told(cpli_fitting* f, cpli_told* out) {
  const cpli_fit_point* point = NULL;
  cpl_status st = cpli_points_derive(&f->points, f->points.best.x, &point);
  if (st < 0 || st == CPL_RETRY) return st;
  cpli_column_rows* rows = cpli_alloc(f->ctx, f->n_columns, sizeof *rows);
  double* values = cpli_alloc(f->ctx, f->m + f->n, sizeof *values);
  *out = (cpli_told){.columns = rows,
                     .n_columns = f->n_columns,
                     .m = f->m,
                     .n = f->n,
                     .measured = values,
                     .results = point->y,
                     .derivatives = point->derivatives,
                     .noise = cpli_points_noise(&f->points)};
  if (rows == NULL || values == NULL) return cpli_nomem(f->ctx);
  out->sizes = values + f->m;
  for (size_t k = 0; k < f->n_columns; k++) {
    const cpli_fit_rows* c = &f->columns[k];
    rows[k] = (cpli_column_rows){c->data, c->first, c->n};
    memcpy(values + c->first, c->m->values, c->n * sizeof *values);
  }
  for (size_t j = 0; j < f->n; j++) values[f->m + j] = cpli_points_size(&f->points, j, point->x[j]);
  return CPL_OK;
}

static void free_told(const cpli_fitting* f, cpli_told* t) {
  cpli_free(f->ctx, (void*)t->columns);
  cpli_free(f->ctx, (void*)t->measured);
}

// Marks them; one column remains in any case.
static size_t mark_left_out(const cpli_fitting* f, const cpli_told* t, bool* leave) {
  size_t n = 0;
  for (size_t k = 0; k < t->n_columns; k++) n += leave[k] = cpli_without_influence(t, k);
  if (n == t->n_columns) return 0;
  for (size_t k = 0; k < t->n_columns; k++) {
    const char *data = f->data[f->columns[k].data].name, *name = f->columns[k].m->v->name;
    const ptrdiff_t same = leave[k] ? -1 : cpli_repeats_column(t, k);
    if (leave[k])
      cpl_log(f->ctx, CPL_LOG_WARNING, "",
              "%s: %s does not depend on the parameters that vary: the column does not count", data,
              name);
    if (same < 0) continue;
    leave[k] = true;
    n++;
    cpl_log(f->ctx, CPL_LOG_WARNING, "",
            "%s: %s and %s are one measurement, in the data and in the model: it counts once", data,
            f->columns[same].m->v->name, name);
  }
  return n;
}

static cpl_status leave_out(cpli_fitting* f, const bool* leave) {
  const bool sensitivities = f->points.def.sensitivities;
  const int64_t n_differences = f->points.n_differences;
  cpl_status st = CPL_OK;
  size_t n = 0;
  for (size_t k = f->n_columns; k > 0 && st >= 0; k--) {
    cpli_data* d = &f->data[f->columns[k - 1].data];
    if (leave[k - 1])
      st = cpli_data_leave_out(d, &f->trials, (size_t)(f->columns[k - 1].m - d->columns));
  }
  if (st < 0) return st;
  memcpy(f->x, f->points.best.x, f->n * sizeof *f->x);
  cpli_fitting_forget(f);
  f->left_out = true;
  for (size_t i = 0; i < f->def.n_data; i++) n += f->data[i].n_columns;
  f->n_columns = n;
  st = cpli_fitting_arrange(f, sensitivities);
  f->points.n_differences = n_differences;
  return st;
}

// Columns that are no measurements of their own are left out, and the fit goes on without them.
static cpl_status solve_once_each(cpli_fitting* f) {
  cpl_status st = solve(f);
  if (st < 0) return st;
  cpli_told told = {0};
  bool* leave = cpli_alloc(f->ctx, f->n_columns, sizeof *leave);
  st = leave != NULL ? find_told(f, &told) : cpli_nomem(f->ctx);
  const size_t n = st == CPL_OK ? mark_left_out(f, &told, leave) : 0;
  free_told(f, &told);
  if (n > 0) st = leave_out(f, leave);
  cpli_free(f->ctx, leave);
  return n > 0 && st >= 0 ? solve(f) : st;
}

//------------------------------------ result ------------------------------------

// Runs that differ for no reason make all of this worthless.
static cpl_status check_repetition(cpli_fitting* f) {
  bool same = false;
  cpl_status st = cpli_points_repeat(&f->points, f->points.best.x, &same);
  if (st < 0 || same) return st;
  cpl_log(f->ctx, CPL_LOG_WARNING, "",
          "two runs with the same parameters gave different results: the model keeps something "
          "between runs, or is random, and the fit may depend on it");
  return CPL_OK;
}

// Intervals take errors for independent. Residuals that are as small as errors of integration are
// correlated in any case.
static void check_independence(const cpli_fitting* f) {
  double statistic = 2;
  for (size_t k = 0; k < f->n_columns; k++) {
    const cpli_fit_rows* c = &f->columns[k];
    if (!cpli_serially_correlated(f->residuals + c->first, c->n, &statistic) ||
        cpli_fit_rms(f, c) < least_misfit * cpli_fit_spread(f, c->group))
      continue;
    cpl_log(
        f->ctx, CPL_LOG_WARNING, "",
        "%s: the residuals of %s are alike from row to row (Durbin-Watson statistic %.2g; "
        "independent errors: 2): with these values the model does not follow the data, or errors "
        "are not independent; other guesses may lead to a better optimum, and intervals are too "
        "narrow",
        f->data[c->data].name, c->m->v->name, statistic);
  }
}

// How far the best values are from an optimum of the parameters that are not held at bounds: the
// largest cosine of the angle between the residuals and one of their derivatives.
static cpl_status largest_cosine(cpli_fitting* f, double* out) {
  double* r = cpli_alloc(f->ctx, f->m * (f->n + 1), sizeof *r);
  double* slopes = r != NULL ? r + f->m : NULL;
  cpl_status st = r != NULL ? residuals(f, f->points.best.x, r) : cpli_nomem(f->ctx);
  if (st == CPL_OK) st = jacobian(f, f->points.best.x, slopes);
  *out = 0;
  for (size_t j = 0; j < f->n && st == CPL_OK; j++) {
    double product = 0, squares = 0, all = 0;
    for (size_t i = 0; i < f->m; i++) {
      const double slope = slopes[j * f->m + i];
      product += slope * r[i];
      squares += slope * slope;
      all += r[i] * r[i];
    }
    if (f->held[j] == 0 && squares > 0 && all > 0)
      *out = fmax(*out, fabs(product) / sqrt(squares * all));
  }
  cpli_free(f->ctx, r);
  return st;
}

// Where runs fail in the direction in which the sum of squares falls, the search ends without an
// optimum.
static cpl_status check_edge(cpli_fitting* f) {
  static const double optimal = 1e-3;
  double cosine = 0;
  if (!cpli_points_failed_near(&f->points, f->points.best.x)) return CPL_OK;
  const cpl_status st = largest_cosine(f, &cosine);
  if (st != CPL_OK || cosine <= optimal) return st < 0 ? st : CPL_OK;
  f->end = "runs fail at values next to these";
  cpl_log(
      f->ctx, CPL_LOG_WARNING, "",
      "the search ended where runs begin to fail: the values found are no optimum, since the "
      "residuals still become smaller towards values at which runs fail, and deviations and "
      "intervals are not valid; bounds (--vary NAME=GUESS:LEAST:GREATEST) keep a parameter from "
      "such values (%s)",
      f->trials.failure);
  return CPL_OK;
}

static cpl_status finish(cpli_fitting* f, cpl_status st, cpli_fit_result* r) {
  const bool found = st >= 0;
  if (found) st = check_repetition(f);
  if (found && st >= 0) st = check_edge(f);
  cpl_status described = cpli_fit_describe(f, r);
  if (described < 0) return described;
  if (found && st >= 0) st = cpli_fit_intervals(f, r);
  if (found && st >= 0) check_independence(f);
  r->fit.runs = f->trials.runs;
  r->fit.failed = f->trials.failed;
  r->fit.converged = st >= 0;
  r->fit.derivatives = !f->points.def.sensitivities   ? "differences"
                       : f->points.n_differences == 0 ? "sensitivities"
                                                      : "sensitivities and differences";
  return st;
}

cpl_status cpl_fit_run(cpl_context* ctx, const cpl_fit_def* def, cpl_fit** out) {
  *out = NULL;
  cpli_fitting f = {.ctx = ctx, .def = cpl_default_fit_def(), .best = NAN, .end = "it did not end"};
  cpli_fit_result* r = cpli_alloc(ctx, 1, sizeof *r);
  if (r == NULL) return cpli_nomem(ctx);
  r->ctx = ctx;
  cpli_arena_init(&r->arena, ctx);
  cpl_status st = cpli_fitting_open(&f, def);
  bool begun = false;
  if (st >= 0) {
    st = solve_once_each(&f);
    begun = !isnan(f.points.best.x[0]);
    if (begun) {
      char* kept = st < 0 ? cpli_strdup(ctx, cpl_context_error(ctx)) : NULL;
      if (kept != NULL) f.end = kept;
      st = finish(&f, st, r);
      cpli_free(ctx, kept);
    }
  }
  if (begun && (st >= 0 || st == CPL_ERR_CANCELLED || st == CPL_ERR_SOLVER)) *out = &r->fit;
  else cpl_fit_destroy(&r->fit);
  cpli_fitting_close(&f);
  return st;
}

void cpl_fit_destroy(cpl_fit* fit_) {
  cpli_fit_result* r = (cpli_fit_result*)fit_;
  if (r == NULL) return;
  cpl_context* ctx = r->ctx;
  cpli_arena_free(&r->arena);
  cpli_free(ctx, r);
}
