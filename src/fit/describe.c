// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The result of a fit: parameters with deviations and intervals, columns, what is undetermined.
#include <math.h>

#include "fit/loss.h"
#include "fit/problem.h"
#include "study/distribution.h"

static const char* copy_text(cpli_fit_result* r, const char* text) {
  return cpli_arena_strdup(&r->arena, text != NULL ? text : "");
}

static cpl_status describe_parameters(const cpli_fitting* f, cpli_fit_result* r) {
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

double cpli_fit_rms(const cpli_fitting* f, const cpli_fit_rows* c) {
  const double* y = f->points.best.y + c->first;
  double squares = 0;
  for (size_t i = 0; i < c->n; i++) squares += (y[i] - c->m->values[i]) * (y[i] - c->m->values[i]);
  return sqrt(squares / (double)c->n);
}

static cpl_status describe_column(const cpli_fitting* f, cpli_fit_result* r, const cpli_fit_rows* c,
                                  cpl_fit_column* out) {
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
  for (size_t i = 0; i < c->n; i++) {
    v[i] = f->data[c->data].table->time[i];
    v[c->n + i] = c->m->values[i];
    v[2 * c->n + i] = known ? f->points.best.y[c->first + i] : (double)NAN;
    v[3 * c->n + i] = cpli_fit_sigma_at(f, c, i);
  }
  out->rms = known ? cpli_fit_rms(f, c) : (double)NAN;
  return CPL_OK;
}

static cpl_status name_data(const cpli_fitting* f, cpli_fit_result* r) {
  const char** names = cpli_arena_alloc(&r->arena, f->def.n_data, sizeof *names);
  if (names == NULL) return cpli_nomem(f->ctx);
  for (size_t i = 0; i < f->def.n_data; i++) {
    names[i] = copy_text(r, f->data[i].name);
    if (names[i] == NULL) return cpli_nomem(f->ctx);
  }
  r->fit.data = names;
  r->fit.n_data = f->def.n_data;
  return CPL_OK;
}

cpl_status cpli_fit_describe(const cpli_fitting* f, cpli_fit_result* r) {
  cpl_fit_column* columns = cpli_arena_alloc(&r->arena, f->n_columns, sizeof *columns);
  cpl_status st = columns != NULL ? describe_parameters(f, r) : cpli_nomem(f->ctx);
  for (size_t k = 0; k < f->n_columns && st >= 0; k++)
    st = describe_column(f, r, &f->columns[k], &columns[k]);
  if (st >= 0) st = name_data(f, r);
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
static double variance_factor(const cpli_fitting* f, double freedom) {
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

static cpl_status copy_directions(const cpli_fitting* f, cpli_fit_result* r,
                                  const cpli_covariance* c) {
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

static cpl_status fill_intervals(const cpli_fitting* f, cpli_fit_result* r,
                                 const cpli_covariance* c, double factor, double quantile) {
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

static void take_squares(const cpli_fitting* f, cpl_fit* out, size_t n_free) {
  out->squares = 0;
  for (size_t i = 0; i < f->m; i++) out->squares += f->residuals[i] * f->residuals[i];
  out->freedom = (double)(f->m - n_free);
  out->variance = out->squares / out->freedom;
}

cpl_status cpli_fit_intervals(cpli_fitting* f, cpli_fit_result* r) {
  const cpli_fit_point* point = NULL;
  cpli_covariance c = {0};
  size_t n_free = 0;
  for (size_t j = 0; j < f->n; j++) n_free += f->held[j] == 0;
  double* slopes = cpli_alloc(f->ctx, f->m * f->n, sizeof *slopes);
  cpl_status st = slopes != NULL ? cpli_points_derive(&f->points, f->points.best.x, &point)
                                 : cpli_nomem(f->ctx);
  if (st >= 0) {
    cpli_fit_slopes(f, point, false, slopes);
    cpli_fit_residuals(f, point->y, f->residuals);
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
