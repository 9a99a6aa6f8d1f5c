// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Prepares a fit: data, groups of columns with the same standard deviation, runs, residuals.
#include "fit/problem.h"

#include <math.h>

#include "couplet/component.h"
#include "fit/libraries.h"
#include "fit/loss.h"

static const double least_deviation = 1e-9;  // of a column, relative to how much it varies

void cpl_init_fit_def(cpl_fit_def* def, size_t size) {
  const cpl_fit_def all = {.loss = CPL_LOSS_OF_FILE};
  cpli_init_def(def, size, &all, sizeof all);
}

//------------------------------------ preparation ------------------------------------

static cpl_status open_data(cpli_fitting* f) {
  const cpl_fit_def* def = &f->def;
  if (def->n_data == 0)
    return cpl_fail(f->ctx, CPL_ERR_INPUT,
                    "there are no data to fit to (--data, or the section fit of a system file)");
  f->data = cpli_alloc(f->ctx, def->n_data, sizeof *f->data);
  if (f->data == NULL) return cpli_nomem(f->ctx);
  for (size_t i = 0; i < def->n_data; i++) {
    cpl_status st = cpli_data_open(&f->data[i], &f->trials, def, &def->data[i]);
    if (st < 0) return cpli_fit_section_in_data(&f->section, st, i);
    f->n_columns += f->data[i].n_columns;
    for (size_t k = 0; k < i; k++)
      if (cpli_data_same(&f->data[k], &f->data[i]))
        cpl_log(f->ctx, CPL_LOG_WARNING, "",
                "%s and %s are the same measurements with the same start values: they count twice",
                f->data[k].name, f->data[i].name);
  }
  return CPL_OK;
}

static size_t group_of(cpli_fitting* f, const cpl_variable* v) {
  for (size_t g = 0; g < f->n_groups; g++)
    if (f->groups[g].v == v) return g;
  f->groups[f->n_groups] = (cpli_fit_group){.v = v};
  return f->n_groups++;
}

static void list_columns(cpli_fitting* f) {
  size_t k = 0;
  for (size_t i = 0; i < f->def.n_data; i++)
    for (size_t c = 0; c < f->data[i].n_columns; c++, k++) {
      cpli_measured* m = &f->data[i].columns[c];
      f->columns[k] = (cpli_fit_rows){.m = m,
                                      .data = i,
                                      .n = f->data[i].n_rows,
                                      .first = f->m,
                                      .group = group_of(f, m->v),
                                      .weight = f->data[i].weight};
      f->m += f->columns[k].n;
    }
}

// How much the values of a variable vary: the deviation to begin with.
double cpli_fit_spread(const cpli_fitting* f, size_t g) {
  double sum = 0, squares = 0, largest = 0;
  size_t n = 0;
  for (size_t k = 0; k < f->n_columns; k++) {
    const cpli_fit_rows* c = &f->columns[k];
    if (c->group != g) continue;
    for (size_t i = 0; i < c->n; i++) sum += c->m->values[i];
    n += c->n;
  }
  const double mean = sum / (double)n;
  for (size_t k = 0; k < f->n_columns; k++) {
    const cpli_fit_rows* c = &f->columns[k];
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
  return ((const cpli_fitting*)user)->groups[i].v->name;
}

static cpl_status take_sigma(cpli_fitting* f, const cpl_fit_sigma* s) {
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

static cpl_status make_groups(cpli_fitting* f) {
  f->columns = cpli_alloc(f->ctx, f->n_columns, sizeof *f->columns);
  f->groups = cpli_alloc(f->ctx, f->n_columns, sizeof *f->groups);
  if (f->columns == NULL || f->groups == NULL) return cpli_nomem(f->ctx);
  list_columns(f);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < f->def.n_sigmas && st >= 0; i++)
    st = cpli_fit_section_in_sigma(&f->section, take_sigma(f, &f->def.sigmas[i]), i);
  f->all_given = true;
  for (size_t g = 0; g < f->n_groups; g++) {
    cpli_fit_group* one = &f->groups[g];
    bool rows = true;  // each of its columns has deviations of its own
    for (size_t k = 0; k < f->n_columns; k++)
      if (f->columns[k].group == g) rows = rows && f->columns[k].m->sigma != NULL;
    if (!one->given) one->deviation = cpli_fit_spread(f, g);
    one->floor = least_deviation * cpli_fit_spread(f, g);
    one->given = one->given || rows;
    f->all_given = f->all_given && one->given;
  }
  return st;
}

static cpl_status check_points(const cpli_fitting* f) {
  const size_t least = f->all_given ? f->n : f->n + 1;
  if (f->m >= least) return CPL_OK;
  return cpl_fail(f->ctx, CPL_ERR_INPUT,
                  "%zu measured value%s: too few for %zu parameter%s, at least %zu are needed",
                  f->m, f->m == 1 ? "" : "s", f->n, f->n == 1 ? "" : "s", least);
}

static cpl_status check_def(cpli_fitting* f) {
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

static void report_run(void* user, int64_t runs, int64_t failed) {
  const cpli_fitting* f = user;
  if (f->def.on_progress == NULL) return;
  const cpl_search_progress p = {runs, failed, f->best};
  f->def.on_progress(f->def.user, &p);
}

// A run of one data set: the rows of its columns, and behind them those of their derivatives.
static cpl_status simulate(cpli_fitting* f, cpli_data* d, const double* x, bool derive, bool quiet,
                           double* out) {
  const cpli_trial_def def = cpli_data_trial(d, derive);
  memcpy(d->sizes, x + f->n, f->n * sizeof *d->sizes);
  cpl_status st = cpli_trial_run(&f->trials, &def, x, quiet);
  if (st < 0) return st;
  const size_t n_rows = d->n_rows, n = n_rows * d->n_columns, n_all = derive ? n * (1 + f->n) : n;
  for (size_t k = 0; k < n_all; k++)
    if (!isfinite(d->values[k]))
      return cpl_fail(f->ctx, CPL_ERR_MODEL, "%s: %s is %g at t=%.12g", d->name,
                      d->record[k / n_rows], d->values[k], d->table->time[k % n_rows]);
  memcpy(out, d->values, n * sizeof *out);
  // of a run, parameters run fastest
  for (size_t k = 0; k < d->n_columns * f->n && derive; k++)
    memcpy(out + n + k % f->n * n + k / f->n * n_rows, d->values + n + k * n_rows,
           n_rows * sizeof *out);
  return CPL_OK;
}

static cpl_status probe(cpli_fitting* f, cpli_data* d, double* out) {
  const cpli_trial_def trial = cpli_data_trial(d, true);
  bool can = false;
  const cpl_status st = cpli_trial_probe(&f->trials, &trial, &can);
  *out = can;
  return st;
}

static cpl_status run_one(void* user, cpli_case_kind kind, size_t part, const double* x, bool quiet,
                          double* out) {
  cpli_fitting* f = user;
  cpli_data* d = &f->data[part];
  const cpli_trial_def guess = {
      .starts = d->starts, .n_starts = d->n_starts, .inputs = d->inputs, .n_inputs = d->n_inputs};
  switch (kind) {
    case CPLI_CASE_PROBE: return probe(f, d, out);
    case CPLI_CASE_GUESS: return cpli_trials_find_guesses(&f->trials, &guess, out);
    default: return simulate(f, d, x, kind == CPLI_CASE_DERIVE, quiet, out);
  }
}

// Sensitivities are used where every data set has them.
static cpl_status find_sensitivities(cpli_fitting* f) {
  cpl_status st = CPL_OK;
  bool can = !f->def.differences;
  for (size_t i = 0; i < f->def.n_data && can && st >= 0; i++) {
    const double* found = NULL;
    can = cpli_data_can_derive(&f->data[i]);
    if (can) st = cpli_points_ask(&f->points, CPLI_CASE_PROBE, i, &found);
    can = can && st >= 0 && *found != 0;
  }
  f->points.def.sensitivities = can;
  return st;
}

cpl_status cpli_fitting_arrange(cpli_fitting* f, bool sensitivities) {
  cpl_status st = make_groups(f);
  if (st >= 0) st = check_points(f);
  if (st < 0) return st;
  f->residuals = cpli_alloc(f->ctx, 2 * f->m, sizeof *f->residuals);
  if (f->residuals == NULL) return cpli_nomem(f->ctx);
  f->sorted = f->residuals + f->m;
  for (size_t i = 0; i < f->def.n_data; i++) f->sizes[i] = f->data[i].n_rows * f->data[i].n_columns;
  const cpli_points_def points = {.trials = &f->trials,
                                  .n_parts = f->def.n_data,
                                  .sizes = f->sizes,
                                  .user = f,
                                  .run = run_one,
                                  .on_run = report_run,
                                  .sensitivities = sensitivities,
                                  .workers = cpli_fit_workers(f->def.workers, &f->trials)};
  return cpli_points_init(&f->points, &points);
}

void cpli_fitting_forget(cpli_fitting* f) {
  cpli_points_free(&f->points);
  cpli_free(f->ctx, f->columns);
  cpli_free(f->ctx, f->groups);
  cpli_free(f->ctx, f->residuals);
  f->points = (cpli_points){0};
  f->columns = NULL, f->groups = NULL, f->residuals = f->sorted = NULL;
  f->n_columns = f->n_groups = f->m = 0;
}

cpl_status cpli_fitting_open(cpli_fitting* f, const cpl_fit_def* def) {
  const cpli_minpack* library = NULL;
  cpl_status st = cpli_read_def(f->ctx, "cpl_fit_def", def, &f->def, sizeof f->def);
  if (st >= 0) st = cpli_minpack_load(f->ctx, &library);
  if (st >= 0) st = cpli_trials_open(&f->trials, f->ctx, f->def.experiment, f->def.max_runs);
  if (st >= 0)
    st = cpli_fit_section_read(&f->section, f->ctx, cpl_system_definition(f->trials.source),
                               &f->def);
  if (st >= 0) st = check_def(f);
  if (st >= 0 && f->def.n_vary == 0)
    st = cpl_fail(f->ctx, CPL_ERR_INPUT,
                  "no parameter varies: say which (--vary, or the section fit of a system file)");
  const cpli_setting* of_file = f->section.vary != NULL ? f->section.texts->vary : NULL;
  if (st >= 0) st = cpli_trials_vary(&f->trials, f->def.vary, f->def.n_vary, of_file);
  f->n = f->trials.n;
  if (st >= 0) st = open_data(f);
  if (st < 0) return st;
  f->x = cpli_alloc(f->ctx, f->n, sizeof *f->x);
  f->held = cpli_alloc(f->ctx, f->n, sizeof *f->held);
  f->sizes = cpli_alloc(f->ctx, f->def.n_data, sizeof *f->sizes);
  if (f->x == NULL || f->held == NULL || f->sizes == NULL) return cpli_nomem(f->ctx);
  st = cpli_fitting_arrange(f, false);
  if (st >= 0) st = cpli_points_guess(&f->points);
  if (st >= 0) st = find_sensitivities(f);
  for (size_t j = 0; j < f->n && st >= 0; j++) f->x[j] = f->trials.list[j].guess;
  return st;
}

void cpli_fitting_close(cpli_fitting* f) {
  cpli_fitting_forget(f);
  for (size_t i = 0; f->data != NULL && i < f->def.n_data; i++) cpli_data_free(&f->data[i]);
  cpli_trials_free(&f->trials);
  cpli_fit_section_free(&f->section);
  cpli_free(f->ctx, f->data);
  cpli_free(f->ctx, f->held);
  cpli_free(f->ctx, f->x);
  cpli_free(f->ctx, f->sizes);
}

//------------------------------------ residuals ------------------------------------

double cpli_fit_sigma_at(const cpli_fitting* f, const cpli_fit_rows* c, size_t i) {
  return c->m->sigma != NULL ? c->m->sigma[i] : f->groups[c->group].deviation;
}

void cpli_fit_residuals(const cpli_fitting* f, const double* y, double* r) {
  for (size_t k = 0; k < f->n_columns; k++) {
    const cpli_fit_rows* c = &f->columns[k];
    for (size_t i = 0; i < c->n; i++)
      r[c->first + i] =
          sqrt(c->weight) * (y[c->first + i] - c->m->values[i]) / cpli_fit_sigma_at(f, c, i);
  }
}

void cpli_fit_slopes(const cpli_fitting* f, const cpli_fit_point* point, bool loss, double* out) {
  for (size_t k = 0; k < f->n_columns; k++) {
    const cpli_fit_rows* c = &f->columns[k];
    for (size_t i = 0; i < c->n; i++) {
      const size_t row = c->first + i;
      double slope = 1, factor = sqrt(c->weight) / cpli_fit_sigma_at(f, c, i);
      if (loss)
        cpli_loss_residual(f->def.loss, f->scale, (point->y[row] - c->m->values[i]) * factor,
                           &slope);
      for (size_t j = 0; j < f->n; j++)
        out[j * f->m + row] = slope * factor * point->derivatives[j * f->m + row];
    }
  }
}
