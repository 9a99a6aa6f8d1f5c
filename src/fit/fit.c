// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A fit: data and parameters are checked, the parameters found by least squares, standard
// deviations of columns that nobody has given estimated from their residuals, and the result
// described.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "couplet/component.h"
#include "fit/covariance.h"
#include "fit/data.h"
#include "fit/least_squares.h"
#include "fit/libraries.h"
#include "fit/loss.h"
#include "fit/points.h"
#include "fit/redundant.h"
#include "study/distribution.h"

enum { MAX_ROUNDS = 12 };  // of estimating standard deviations

static const double round_tolerance = 0.005;  // change of deviations that ends the rounds
static const double least_deviation = 1e-9;   // of a column, relative to how much it varies

void cpl_init_fit_def(cpl_fit_def* def, size_t size) {
  const cpl_fit_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

// Columns of the same variable: they have the same standard deviation.
typedef struct group {
  const cpl_variable* v;
  double deviation;
  double floor;  // the least one
  bool given;    // also where each row has its own
} group;

// A column of a data set, and where its rows are among all of them.
typedef struct column {
  cpli_measured* m;
  size_t data, n, first, group;
  double weight;
} column;

typedef struct fit {
  cpl_context* ctx;
  cpl_fit_def def;
  cpli_trials trials;
  cpli_data* data;
  cpli_points points;
  column* columns;
  group* groups;
  size_t n_columns, n_groups, m, n;
  double* residuals;  // in standard deviations, without the loss
  double* sorted;
  int32_t* held;
  double* x;
  double scale;    // of the loss
  double best;     // the smallest sum of squares; NAN: none
  bool all_given;  // all standard deviations are
  bool left_out;   // columns, which count no more
  const char* end;
} fit;

/// The result, in one arena.
typedef struct result {
  cpl_fit fit;  // must be first
  cpl_context* ctx;
  cpli_arena arena;
} result;

//------------------------------------ preparation ------------------------------------

static cpl_status open_data(fit* f) {
  const cpl_fit_def* def = &f->def;
  if (def->n_data == 0)
    return cpl_fail(f->ctx, CPL_ERR_INPUT, "there are no data to fit to (--data)");
  f->data = cpli_alloc(f->ctx, def->n_data, sizeof *f->data);
  if (f->data == NULL) return cpli_nomem(f->ctx);
  for (size_t i = 0; i < def->n_data; i++) {
    cpl_status st = cpli_data_open(&f->data[i], &f->trials, def, &def->data[i]);
    if (st < 0) return st;
    f->n_columns += f->data[i].n_columns;
    for (size_t k = 0; k < i; k++)
      if (cpli_data_same(&f->data[k], &f->data[i]))
        cpl_log(f->ctx, CPL_LOG_WARNING, "",
                "%s and %s are the same measurements with the same start values: they count twice",
                f->data[k].name, f->data[i].name);
  }
  return CPL_OK;
}

static size_t group_of(fit* f, const cpl_variable* v) {
  for (size_t g = 0; g < f->n_groups; g++)
    if (f->groups[g].v == v) return g;
  f->groups[f->n_groups] = (group){.v = v};
  return f->n_groups++;
}

static void list_columns(fit* f) {
  size_t k = 0;
  for (size_t i = 0; i < f->def.n_data; i++)
    for (size_t c = 0; c < f->data[i].n_columns; c++, k++) {
      cpli_measured* m = &f->data[i].columns[c];
      f->columns[k] = (column){.m = m,
                               .data = i,
                               .n = f->data[i].n_rows,
                               .first = f->m,
                               .group = group_of(f, m->v),
                               .weight = f->data[i].weight};
      f->m += f->columns[k].n;
    }
}

// How much the values of a variable vary: the deviation to begin with.
static double spread(const fit* f, size_t g) {
  double sum = 0, squares = 0, largest = 0;
  size_t n = 0;
  for (size_t k = 0; k < f->n_columns; k++) {
    const column* c = &f->columns[k];
    if (c->group != g) continue;
    for (size_t i = 0; i < c->n; i++) sum += c->m->values[i];
    n += c->n;
  }
  const double mean = sum / (double)n;
  for (size_t k = 0; k < f->n_columns; k++) {
    const column* c = &f->columns[k];
    for (size_t i = 0; i < c->n && c->group == g; i++) {
      squares += (c->m->values[i] - mean) * (c->m->values[i] - mean);
      largest = fmax(largest, fabs(c->m->values[i]));
    }
  }
  const double deviation = sqrt(squares / (double)n);
  if (deviation > 1e-12 * largest) return deviation;
  return largest > 0 ? largest : 1;
}

static const char* measured_at(const void* user, size_t i) {
  return ((const fit*)user)->groups[i].v->name;
}

static cpl_status take_sigma(fit* f, const cpl_fit_sigma* s) {
  char near[256];
  if (!(s->value > 0 && isfinite(s->value)))
    return cpl_fail(f->ctx, CPL_ERR_INPUT, "the standard deviation of %s is %g, not positive",
                    s->name, s->value);
  for (size_t g = 0; g < f->n_groups; g++) {
    if (strcmp(f->groups[g].v->name, s->name) != 0) continue;
    f->groups[g].deviation = s->value;
    f->groups[g].given = true;
    return CPL_OK;
  }
  if (f->left_out) return CPL_OK;
  cpli_nearest(s->name, measured_at, f, f->n_groups, near, sizeof near);
  return cpl_fail(f->ctx, CPL_ERR_INPUT,
                  "the standard deviation of %s: no column is compared with it%s%s%s", s->name,
                  near[0] != '\0' ? " (is it " : "", near, near[0] != '\0' ? "?)" : "");
}

static cpl_status make_groups(fit* f) {
  f->columns = cpli_alloc(f->ctx, f->n_columns, sizeof *f->columns);
  f->groups = cpli_alloc(f->ctx, f->n_columns, sizeof *f->groups);
  if (f->columns == NULL || f->groups == NULL) return cpli_nomem(f->ctx);
  list_columns(f);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < f->def.n_sigmas && st >= 0; i++) st = take_sigma(f, &f->def.sigmas[i]);
  f->all_given = true;
  for (size_t g = 0; g < f->n_groups; g++) {
    group* one = &f->groups[g];
    bool rows = true;  // each of its columns has deviations of its own
    for (size_t k = 0; k < f->n_columns; k++)
      if (f->columns[k].group == g) rows = rows && f->columns[k].m->sigma != NULL;
    if (!one->given) one->deviation = spread(f, g);
    one->floor = least_deviation * spread(f, g);
    one->given = one->given || rows;
    f->all_given = f->all_given && one->given;
  }
  return st;
}

static cpl_status check_points(const fit* f) {
  const size_t least = f->all_given ? f->n : f->n + 1;
  if (f->m >= least) return CPL_OK;
  return cpl_fail(f->ctx, CPL_ERR_INPUT,
                  "%zu measured value%s: too few for %zu parameter%s, at least %zu are needed",
                  f->m, f->m == 1 ? "" : "s", f->n, f->n == 1 ? "" : "s", least);
}

static cpl_status check_def(fit* f, const cpl_fit_def* def) {
  cpl_status st = cpli_read_def(f->ctx, "cpl_fit_def", def, &f->def, sizeof f->def);
  if (st < 0) return st;
  if (f->def.confidence == 0) f->def.confidence = 0.95;
  if (!(f->def.confidence > 0 && f->def.confidence < 1))
    return cpl_fail(f->ctx, CPL_ERR_INPUT, "the confidence is %g, not between 0 and 1",
                    f->def.confidence);
  if (!(f->def.scale >= 0 && isfinite(f->def.scale)))
    return cpl_fail(f->ctx, CPL_ERR_INPUT, "the scale of the loss is %g, not positive",
                    f->def.scale);
  f->scale = f->def.scale > 0 ? f->def.scale : cpli_loss_scale(f->def.loss);
  return CPL_OK;
}

static void report_run(void* user) {
  const fit* f = user;
  if (f->def.on_progress == NULL) return;
  const cpl_search_progress p = {f->trials.runs, f->trials.failed, f->best};
  f->def.on_progress(f->def.user, &p);
}

// The results of all data sets: rows of columns of data, as the residuals are. Of a data set,
// derivatives are those of each column in turn.
static cpl_status simulate(void* user, const double* x, double* y, double* derivatives) {
  fit* f = user;
  size_t first = 0;
  for (size_t i = 0; i < f->def.n_data; i++) {
    cpli_data* d = &f->data[i];
    if (d->n_columns == 0) continue;
    const cpli_trial_def def = cpli_data_trial(d, derivatives != NULL);
    const cpl_status st = cpli_trial_run(&f->trials, &def, x);
    report_run(f);
    if (st < 0 || st == CPL_RETRY) return st;
    const size_t n_rows = d->n_rows, n = n_rows * d->n_columns;
    const size_t n_all = derivatives != NULL ? n * (1 + f->n) : n;
    for (size_t k = 0; k < n_all; k++)
      if (!isfinite(d->values[k]))
        return cpli_trial_failed(&f->trials, "%s: %s is %g at t=%.12g", d->name,
                                 d->record[k / n_rows], d->values[k], d->table->time[k % n_rows]);
    memcpy(y + first, d->values, n * sizeof *y);
    for (size_t k = 0; k < d->n_columns * f->n && derivatives != NULL; k++)
      memcpy(derivatives + k % f->n * f->m + first + k / f->n * n_rows, d->values + n + k * n_rows,
             n_rows * sizeof *y);
    first += n;
  }
  return CPL_OK;
}

// Sensitivities are used where every data set has them.
static cpl_status find_sensitivities(fit* f, bool* can) {
  cpl_status st = CPL_OK;
  *can = !f->def.differences;
  for (size_t i = 0; i < f->def.n_data && *can && st >= 0; i++) {
    const cpli_trial_def trial = cpli_data_trial(&f->data[i], true);
    *can = cpli_data_can_derive(&f->data[i]);
    if (*can) st = cpli_trial_probe(&f->trials, &trial, can);
  }
  return st;
}

// Everything that depends on which columns count.
static cpl_status arrange(fit* f, bool sensitivities) {
  cpl_status st = make_groups(f);
  if (st >= 0) st = check_points(f);
  if (st < 0) return st;
  f->residuals = cpli_alloc(f->ctx, 2 * f->m, sizeof *f->residuals);
  if (f->residuals == NULL) return cpli_nomem(f->ctx);
  f->sorted = f->residuals + f->m;
  const cpli_points_def points = {.trials = &f->trials,
                                  .m = f->m,
                                  .user = f,
                                  .simulate = simulate,
                                  .sensitivities = sensitivities};
  return cpli_points_init(&f->points, &points);
}

static void release_columns(fit* f) {
  cpli_points_free(&f->points);
  cpli_free(f->ctx, f->columns);
  cpli_free(f->ctx, f->groups);
  cpli_free(f->ctx, f->residuals);
  f->points = (cpli_points){0};
  f->columns = NULL, f->groups = NULL, f->residuals = f->sorted = NULL;
  f->n_columns = f->n_groups = f->m = 0;
}

static cpl_status prepare(fit* f, const cpl_fit_def* def) {
  const cpli_minpack* library = NULL;
  size_t starts = 0;
  cpl_status st = check_def(f, def);
  if (st >= 0) st = cpli_minpack_load(f->ctx, &library);
  for (size_t i = 0; i < f->def.n_data && st >= 0; i++) starts += f->def.data[i].n_starts;
  if (st >= 0)
    st = cpli_trials_open(&f->trials, f->ctx, f->def.experiment, f->def.vary, f->def.n_vary, starts,
                          f->def.max_runs);
  f->n = f->trials.n;
  if (st >= 0) st = open_data(f);
  if (st < 0) return st;
  f->x = cpli_alloc(f->ctx, f->n, sizeof *f->x);
  f->held = cpli_alloc(f->ctx, f->n, sizeof *f->held);
  if (f->x == NULL || f->held == NULL) return cpli_nomem(f->ctx);
  const cpli_data* first = &f->data[0];
  bool sensitivities = false;
  st =
      cpli_trials_guess(&f->trials, first->starts, first->n_starts, first->inputs, first->n_inputs);
  if (st >= 0) st = find_sensitivities(f, &sensitivities);
  if (st >= 0) st = arrange(f, sensitivities);
  for (size_t j = 0; j < f->n && st >= 0; j++) f->x[j] = f->trials.list[j].guess;
  return st;
}

static void release(fit* f) {
  release_columns(f);
  for (size_t i = 0; f->data != NULL && i < f->def.n_data; i++) cpli_data_free(&f->data[i]);
  cpli_trials_free(&f->trials);
  cpli_free(f->ctx, f->data);
  cpli_free(f->ctx, f->held);
  cpli_free(f->ctx, f->x);
}

//------------------------------------ residuals ------------------------------------

static double sigma_at(const fit* f, const column* c, size_t i) {
  return c->m->sigma != NULL ? c->m->sigma[i] : f->groups[c->group].deviation;
}

// Fitted less measured, in standard deviations.
static void find_residuals(const fit* f, const double* y, double* r) {
  for (size_t k = 0; k < f->n_columns; k++) {
    const column* c = &f->columns[k];
    for (size_t i = 0; i < c->n; i++)
      r[c->first + i] = sqrt(c->weight) * (y[c->first + i] - c->m->values[i]) / sigma_at(f, c, i);
  }
}

// The derivatives of residuals: those of the results, in standard deviations; with the loss.
static void find_slopes(const fit* f, const cpli_fit_point* point, bool loss, double* out) {
  for (size_t k = 0; k < f->n_columns; k++) {
    const column* c = &f->columns[k];
    for (size_t i = 0; i < c->n; i++) {
      const size_t row = c->first + i;
      double slope = 1, factor = sqrt(c->weight) / sigma_at(f, c, i);
      if (loss)
        cpli_loss_residual(f->def.loss, f->scale, (point->y[row] - c->m->values[i]) * factor,
                           &slope);
      for (size_t j = 0; j < f->n; j++)
        out[j * f->m + row] = slope * factor * point->derivatives[j * f->m + row];
    }
  }
}

static cpl_status residuals(void* user, const double* x, double* r) {
  fit* f = user;
  const cpli_fit_point* point = NULL;
  cpl_status st = cpli_points_at(&f->points, x, &point);
  if (st < 0 || st == CPL_RETRY) return st;
  double sum = 0, slope;
  find_residuals(f, point->y, r);
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
  fit* f = user;
  const cpli_fit_point* point = NULL;
  cpl_status st = cpli_points_derive(&f->points, x, &point);
  if (st >= 0 && st != CPL_RETRY) find_slopes(f, point, true, out);
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
static double group_deviation(fit* f, size_t g) {
  size_t n = 0;
  double squares = 0;
  for (size_t k = 0; k < f->n_columns; k++) {
    const column* c = &f->columns[k];
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
static double estimate_deviations(fit* f) {
  double largest = 0;
  find_residuals(f, f->points.best.y, f->residuals);
  for (size_t g = 0; g < f->n_groups; g++) {
    group* one = &f->groups[g];
    if (one->given) continue;
    const double before = one->deviation;
    one->deviation = fmax(one->deviation * group_deviation(f, g), one->floor);
    largest = fmax(largest, fabs(one->deviation / before - 1));
  }
  return largest;
}

static size_t count_estimated(const fit* f) {
  size_t n = 0;
  for (size_t g = 0; g < f->n_groups; g++) n += !f->groups[g].given;
  return n;
}

// One deviation that is common to all residuals changes nothing in least squares.
static bool needs_rounds(const fit* f) {
  const size_t n = count_estimated(f);
  return n > 1 || (n == 1 && (f->n_groups > 1 || f->def.loss != CPL_LOSS_SQUARES));
}

static cpl_status solve(fit* f) {
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

//------------------------------------ columns that do not count
//------------------------------------

static cpl_status find_told(fit* f, cpli_told* out) {
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
    const column* c = &f->columns[k];
    rows[k] = (cpli_column_rows){c->data, c->first, c->n};
    memcpy(values + c->first, c->m->values, c->n * sizeof *values);
  }
  for (size_t j = 0; j < f->n; j++) values[f->m + j] = cpli_points_size(&f->points, j, point->x[j]);
  return CPL_OK;
}

static void free_told(const fit* f, cpli_told* t) {
  cpli_free(f->ctx, (void*)t->columns);
  cpli_free(f->ctx, (void*)t->measured);
}

// Marks them; one column remains in any case.
static size_t mark_left_out(const fit* f, const cpli_told* t, bool* leave) {
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

static cpl_status leave_out(fit* f, const bool* leave) {
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
  release_columns(f);
  f->left_out = true;
  for (size_t i = 0; i < f->def.n_data; i++) n += f->data[i].n_columns;
  f->n_columns = n;
  st = arrange(f, sensitivities);
  f->points.n_differences = n_differences;
  return st;
}

// Columns that are no measurements of their own are left out, and the fit goes on without them.
static cpl_status solve_once_each(fit* f) {
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

static const char* copy_text(result* r, const char* text) {
  return cpli_arena_strdup(&r->arena, text != NULL ? text : "");
}

static cpl_status describe_parameters(const fit* f, result* r) {
  cpl_varied* list = cpli_arena_alloc(&r->arena, f->n, sizeof *list);
  if (list == NULL) return cpli_nomem(f->ctx);
  for (size_t j = 0; j < f->n; j++) {
    list[j] = f->trials.list[j];
    list[j].name = copy_text(r, list[j].name);
    list[j].unit = copy_text(r, list[j].unit);
    list[j].value = isnan(f->points.best.x[0]) ? f->x[j] : f->points.best.x[j];
    list[j].at_bound = f->held[j];
    if (list[j].name == NULL || list[j].unit == NULL) return cpli_nomem(f->ctx);
  }
  r->fit.parameters = list;
  r->fit.n_parameters = f->n;
  return CPL_OK;
}

static cpl_status describe_column(const fit* f, result* r, const column* c, cpl_fit_column* out) {
  double* v = cpli_arena_alloc(&r->arena, 4 * c->n, sizeof *v);
  *out = (cpl_fit_column){.name = copy_text(r, c->m->v->name),
                          .unit = copy_text(r, c->m->unit),
                          .data = c->data,
                          .n = c->n,
                          .time = v,
                          .measured = v + c->n,
                          .fitted = v + 2 * c->n,
                          .sigma = v + 3 * c->n,
                          .estimated = c->m->sigma == NULL && !f->groups[c->group].given};
  if (v == NULL || out->name == NULL || out->unit == NULL) return cpli_nomem(f->ctx);
  const bool known = !isnan(f->points.best.x[0]);
  double squares = 0;
  for (size_t i = 0; i < c->n; i++) {
    v[i] = f->data[c->data].table->time[i];
    v[c->n + i] = c->m->values[i];
    v[2 * c->n + i] = known ? f->points.best.y[c->first + i] : (double)NAN;
    v[3 * c->n + i] = sigma_at(f, c, i);
    squares += (v[2 * c->n + i] - v[c->n + i]) * (v[2 * c->n + i] - v[c->n + i]);
  }
  out->rms = sqrt(squares / (double)c->n);
  return CPL_OK;
}

static cpl_status describe(const fit* f, result* r) {
  cpl_fit_column* columns = cpli_arena_alloc(&r->arena, f->n_columns, sizeof *columns);
  cpl_status st = columns != NULL ? describe_parameters(f, r) : cpli_nomem(f->ctx);
  for (size_t k = 0; k < f->n_columns && st >= 0; k++)
    st = describe_column(f, r, &f->columns[k], &columns[k]);
  if (st < 0) return st;
  r->fit.columns = columns;
  r->fit.n_columns = f->n_columns;
  r->fit.n_points = f->m;
  r->fit.confidence = f->def.confidence;
  r->fit.squares = r->fit.variance = r->fit.freedom = NAN;
  r->fit.runs = f->trials.runs;
  r->fit.failed = f->trials.failed;
  r->fit.failure = f->trials.failure != NULL ? copy_text(r, f->trials.failure) : NULL;
  r->fit.end = copy_text(r, f->end);
  return r->fit.end != NULL ? CPL_OK : cpli_nomem(f->ctx);
}

// The variance of the parameters is this times the inverse of the normal equations. For robust
// losses it is Huber's formula, with his correction for the number of parameters.
static double variance_factor(const fit* f, double freedom) {
  double squares = 0, mean = 0, spread_of = 0;
  for (size_t i = 0; i < f->m; i++) {
    double slope;
    const double psi = cpli_loss_influence(f->def.loss, f->scale, f->residuals[i], &slope);
    squares += psi * psi;
    mean += slope / (double)f->m;
    spread_of += slope * slope / (double)f->m;
  }
  if (f->def.loss == CPL_LOSS_SQUARES) return f->all_given ? 1 : squares / freedom;
  if (!(mean > 0)) return (double)NAN;
  const double n_free = (double)f->m - freedom;
  const double k = 1 + n_free / (double)f->m * (spread_of - mean * mean) / (mean * mean);
  return k * k * squares / freedom / (mean * mean);
}

static cpl_status copy_directions(const fit* f, result* r, const cpli_covariance* c) {
  cpl_fit_direction* list = cpli_arena_alloc(&r->arena, c->n_directions, sizeof *list);
  if (list == NULL) return cpli_nomem(f->ctx);
  for (size_t i = 0; i < c->n_directions; i++) {
    double* parts = cpli_arena_alloc(&r->arena, c->n, sizeof *parts);
    list[i] = c->directions[i];
    list[i].text = copy_text(r, c->directions[i].text);
    if (parts == NULL || list[i].text == NULL) return cpli_nomem(f->ctx);
    memcpy(parts, c->directions[i].parts, c->n * sizeof *parts);
    list[i].parts = parts;
  }
  r->fit.directions = list;
  r->fit.n_directions = c->n_directions;
  return CPL_OK;
}

static cpl_status fill_intervals(const fit* f, result* r, const cpli_covariance* c, double factor,
                                 double quantile) {
  const size_t n = f->n;
  double* correlation = cpli_arena_alloc(&r->arena, n * n, sizeof *correlation);
  if (correlation == NULL) return cpli_nomem(f->ctx);
  cpl_varied* list = (cpl_varied*)r->fit.parameters;
  for (size_t i = 0; i < n; i++) {
    cpl_varied* v = &list[i];
    v->undetermined = c->undetermined[i];
    const bool known = f->held[i] == 0 && !v->undetermined;
    if (known) v->deviation = sqrt(factor * c->matrix[i * n + i]);
    v->low = v->value - quantile * v->deviation;
    v->high = v->value + quantile * v->deviation;
    for (size_t k = 0; k < n; k++) {
      const bool both = known && f->held[k] == 0 && !c->undetermined[k];
      const double product = c->matrix[i * n + i] * c->matrix[k * n + k];
      correlation[i * n + k] = both ? c->matrix[i * n + k] / sqrt(product) : (double)NAN;
    }
  }
  r->fit.correlation = correlation;
  return CPL_OK;
}

static void take_squares(const fit* f, cpl_fit* out, size_t n_free) {
  out->squares = 0;
  for (size_t i = 0; i < f->m; i++) out->squares += f->residuals[i] * f->residuals[i];
  out->freedom = (double)(f->m - n_free);
  out->variance = out->squares / out->freedom;
}

// Deviations of parameters, from the derivatives at the solution.
static cpl_status find_intervals(fit* f, result* r) {
  const cpli_fit_point* point = NULL;
  cpli_covariance c = {0};
  size_t n_free = 0;
  for (size_t j = 0; j < f->n; j++) n_free += f->held[j] == 0;
  double* slopes = cpli_alloc(f->ctx, f->m * f->n, sizeof *slopes);
  cpl_status st = slopes != NULL ? cpli_points_derive(&f->points, f->points.best.x, &point)
                                 : cpli_nomem(f->ctx);
  if (st >= 0) {
    find_slopes(f, point, false, slopes);
    find_residuals(f, point->y, f->residuals);
    st = cpli_covariance_make(f->ctx, slopes, f->m, r->fit.parameters, f->held, f->n,
                              cpli_points_noise(&f->points), &c);
  }
  if (st >= 0) {
    for (size_t i = 0; i < c.n_directions; i++) n_free -= c.directions[i].singular;
    take_squares(f, &r->fit, n_free);
    st = copy_directions(f, r, &c);
  }
  if (st >= 0) {
    const bool normal = f->all_given && f->def.loss == CPL_LOSS_SQUARES;
    const double quantile = cpli_student_quantile(0.5 + 0.5 * f->def.confidence,
                                                  normal ? (double)INFINITY : r->fit.freedom);
    st = fill_intervals(f, r, &c, variance_factor(f, r->fit.freedom), quantile);
  }
  cpli_covariance_free(&c);
  cpli_free(f->ctx, slopes);
  return st;
}

// Runs that differ for no reason make all of this worthless.
static cpl_status check_repetition(fit* f) {
  bool same = false;
  cpl_status st = cpli_points_repeat(&f->points, f->points.best.x, &same);
  if (st < 0 || same) return st;
  cpl_log(f->ctx, CPL_LOG_WARNING, "",
          "two runs with the same parameters gave different results: the model keeps something "
          "between runs, or is random, and the fit may depend on it");
  return CPL_OK;
}

static cpl_status finish(fit* f, cpl_status st, result* r) {
  const bool found = st >= 0;
  if (found) st = check_repetition(f);
  cpl_status described = describe(f, r);
  if (described < 0) return described;
  if (found && st >= 0) st = find_intervals(f, r);
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
  fit f = {.ctx = ctx, .def = cpl_default_fit_def(), .best = NAN, .end = "it did not end"};
  result* r = cpli_alloc(ctx, 1, sizeof *r);
  if (r == NULL) return cpli_nomem(ctx);
  r->ctx = ctx;
  cpli_arena_init(&r->arena, ctx);
  cpl_status st = prepare(&f, def);
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
  release(&f);
  return st;
}

void cpl_fit_destroy(cpl_fit* fit_) {
  result* r = (result*)fit_;
  if (r == NULL) return;
  cpl_context* ctx = r->ctx;
  cpli_arena_free(&r->arena);
  cpli_free(ctx, r);
}
