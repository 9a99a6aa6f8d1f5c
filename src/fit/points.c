// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Results and derivatives at values of the parameters.
#include "fit/points.h"

#include <assert.h>
#include <math.h>

#include "base/thread_pool.h"

enum { MAX_UNDERIVED = 3 };

//------------------------------------ life ------------------------------------

static cpl_status run_one(void* user, const cpli_fit_case* c, const double* in, double* out) {
  const cpli_points* p = user;
  return p->def.run(p->def.user, (cpli_case_kind)c->kind, (size_t)c->part, in, c->quiet, out);
}

static bool goes_on(void* user, cpl_status st) {
  (void)user;
  return cpli_trial_may_fail(st);
}

static void on_end(void* user, const cpli_fit_case* c) {
  cpli_points* p = user;
  if (c->kind != CPLI_CASE_RUN && c->kind != CPLI_CASE_DERIVE) return;
  p->n_ended++;
  p->n_failed += c->st < 0;
  if (p->def.on_run == NULL) return;
  p->def.on_run(p->def.user, p->def.trials->runs + p->n_ended, p->def.trials->failed + p->n_failed);
}

// A call log is a file of this process.
int32_t cpli_fit_workers(int32_t given, const cpli_trials* trials) {
  if (trials->settings.call_log != NULL) return 1;
  return given == CPL_WORKERS_PER_PROCESSOR ? cpli_count_processors() : given;
}

// Two points for the differences of each parameter; the other cases need less memory.
static cpl_status open_batch(cpli_points* p) {
  const size_t n_points = 2 * p->n;
  const cpli_fit_cases_def def = {.ctx = p->ctx,
                                  .workers = p->def.workers,
                                  .n_cases = n_points * p->def.n_parts,
                                  .n_numbers = n_points * (2 * p->n + p->m),
                                  .user = p,
                                  .run = run_one,
                                  .goes_on = goes_on,
                                  .on_end = on_end};
  return cpli_fit_cases_open(&p->batch, &def);
}

cpl_status cpli_points_init(cpli_points* p, const cpli_points_def* def) {
  *p = (cpli_points){.ctx = def->trials->ctx, .def = *def, .n = def->trials->n};
  for (size_t i = 0; i < def->n_parts; i++) p->m += def->sizes[i];
  assert(p->m > 0);
  const size_t each = p->n + p->m + p->m * p->n;
  p->memory = cpli_alloc(p->ctx, 2 * each + 3 * p->n, sizeof *p->memory);
  p->st = cpli_alloc(p->ctx, 2 * p->n, sizeof *p->st);
  if (p->memory == NULL || p->st == NULL) return cpli_nomem(p->ctx);
  double* at = p->memory;
  cpli_fit_point* points[] = {&p->last, &p->best};
  for (int i = 0; i < 2; i++, at += each) {
    *points[i] = (cpli_fit_point){.x = at, .y = at + p->n, .derivatives = at + p->n + p->m};
    points[i]->x[0] = NAN;
  }
  p->steps = at;
  p->failed = at + 2 * p->n;
  p->failed[0] = NAN;
  // the error of a difference is that of the solver, divided by the step, and the step's square
  p->step = fmin(fmax(cbrt(def->trials->experiment.rtol), 1e-5), 1e-2);
  return open_batch(p);
}

void cpli_points_free(cpli_points* p) {
  if (p->ctx == NULL) return;
  cpli_fit_cases_close(&p->batch);
  cpli_free(p->ctx, p->memory);
  cpli_free(p->ctx, p->st);
}

double cpli_points_noise(const cpli_points* p) {
  return p->n_differences > 0 || !p->def.sensitivities ? 10 * p->step * p->step : 1e-6;
}

//------------------------------------ batches ------------------------------------

// The k-th point of a batch with the sizes of its parameters, and its results; of a point with
// derivatives those of each part have theirs behind them.
static double* batch_x(const cpli_points* p, size_t k) { return p->batch.numbers + 2 * k * p->n; }
static double* batch_y(const cpli_points* p, size_t k) {
  return p->batch.numbers + 4 * p->n * p->n + k * p->m;
}

cpl_status cpli_points_ask(cpli_points* p, cpli_case_kind kind, size_t part, const double** out) {
  cpli_fit_case* one = &p->batch.list[0];
  *one = (cpli_fit_case){
      .kind = kind, .part = (int32_t)part, .out = (size_t)(batch_y(p, 0) - p->batch.numbers)};
  *out = batch_y(p, 0);
  const cpl_status st = cpli_fit_cases_run(&p->batch, 1);
  return st < 0 || one->st >= 0 ? st : cpli_fail_again(p->ctx, &one->error);
}

cpl_status cpli_points_guess(cpli_points* p) {
  const double* found = NULL;
  cpl_status st = CPL_OK;
  if (cpli_trials_need_guesses(p->def.trials)) st = cpli_points_ask(p, CPLI_CASE_GUESS, 0, &found);
  return st < 0 ? st : cpli_trials_take_guesses(p->def.trials, found);
}

static size_t list_cases(cpli_points* p, size_t n_points, bool derive) {
  const size_t width = derive ? 1 + p->n : 1;
  size_t n = 0;
  for (size_t k = 0; k < n_points; k++) {
    double* x = batch_x(p, k);
    for (size_t j = 0; j < p->n; j++) x[p->n + j] = cpli_points_size(p, j, x[j]);
    size_t at = (size_t)(batch_y(p, k) - p->batch.numbers);
    for (size_t i = 0; i < p->def.n_parts; at += width * p->def.sizes[i++]) {
      if (p->def.sizes[i] == 0) continue;
      p->batch.list[n] = (cpli_fit_case){.kind = derive ? CPLI_CASE_DERIVE : CPLI_CASE_RUN,
                                         .part = (int32_t)i,
                                         .group = (int32_t)k,
                                         .quiet = p->def.trials->runs > 0 || n > 0,
                                         .in = (size_t)(batch_x(p, k) - p->batch.numbers),
                                         .out = at};
      n++;
    }
  }
  return n;
}

// What one process would have counted, in the order of the cases.
static cpl_status count_cases(cpli_points* p, size_t n) {
  cpli_trials* t = p->def.trials;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) {
    const cpli_fit_case* c = &p->batch.list[i];
    cpl_status* point = &p->st[c->group];
    if (i >= p->batch.limit)
      return cpli_fail_again(p->ctx, &p->batch.list[p->batch.limit - 1].error);
    if (*point == CPL_RETRY) continue;
    t->runs++;
    if (c->st >= 0) continue;
    if (!cpli_trial_may_fail(c->st)) return cpli_fail_again(p->ctx, &c->error);
    st = *point = cpli_trial_failed(t, c->error.text);
  }
  return st;
}

// Simulates the first points of the batch; p->st has CPL_RETRY where a run has failed. derive: of
// one point, with sensitivities.
static cpl_status run_points(cpli_points* p, size_t n_points, bool derive) {
  const cpli_trials* t = p->def.trials;
  const size_t n = list_cases(p, n_points, derive), left = (size_t)(t->max_runs - t->runs);
  for (size_t k = 0; k < n_points; k++) p->st[k] = CPL_OK;
  p->n_ended = p->n_failed = 0;
  cpl_status st = cpli_fit_cases_run(&p->batch, n < left ? n : left);
  if (st >= 0) st = count_cases(p, n < left ? n : left);
  if (st < 0 || n <= left) return st < 0 ? st : CPL_OK;
  return cpl_fail(p->ctx, CPL_ERR_SOLVER, "the search did not end within %lld runs",
                  (long long)t->max_runs);
}

//------------------------------------ points ------------------------------------

static bool is_at(const cpli_points* p, const cpli_fit_point* point, const double* x) {
  return memcmp(point->x, x, p->n * sizeof *x) == 0;
}

// Results of all parts, and derivatives, from the first point of the batch.
static void take_results(const cpli_points* p, bool derived, double* y, double* derivatives) {
  const double* from = batch_y(p, 0);
  size_t first = 0;
  for (size_t i = 0; i < p->def.n_parts; i++) {
    const size_t size = p->def.sizes[i];
    memcpy(y + first, from, size * sizeof *y);
    from += size;
    for (size_t j = 0; j < p->n && derived; j++, from += size)
      memcpy(derivatives + j * p->m + first, from, size * sizeof *y);
    first += size;
  }
}

// Runs with sensitivities that have failed do not count as failed trials.
static void forgive(cpli_points* p, int64_t failed, bool first) {
  cpli_trials* t = p->def.trials;
  t->failed = failed;
  if (!first) return;
  cpl_log(p->ctx, CPL_LOG_INFO, "", "derivatives are differences where sensitivities fail: %s",
          t->failure);
  cpli_free(p->ctx, t->failure);
  t->failure = NULL;
}

// Where a run with sensitivities fails, as at an event that is not differentiable, one without them
// may not. Where that is so again and again, they are requested no more.
static cpl_status compute(cpli_points* p, const double* x, double* y, double* derivatives,
                          bool* derived) {
  const cpli_trials* t = p->def.trials;
  const int64_t failed = t->failed;
  const bool first = t->failure == NULL;
  *derived = p->def.sensitivities && p->n_underived < MAX_UNDERIVED;
  memcpy(batch_x(p, 0), x, p->n * sizeof *x);
  cpl_status st = run_points(p, 1, *derived);
  if (st >= 0 && p->st[0] == CPL_RETRY && *derived) {
    *derived = false;
    forgive(p, failed, first);
    st = run_points(p, 1, false);
    p->n_underived += st >= 0 && p->st[0] != CPL_RETRY;
  } else if (*derived) {
    p->n_underived = 0;
  }
  if (st < 0 || p->st[0] == CPL_RETRY) return st < 0 ? st : CPL_RETRY;
  take_results(p, *derived, y, derivatives);
  return CPL_OK;
}

static cpl_status point_at(cpli_points* p, const double* x, cpli_fit_point** out) {
  *out = &p->last;
  if (is_at(p, &p->last, x)) return CPL_OK;
  if (is_at(p, &p->best, x)) *out = &p->best;
  if (*out == &p->best) return CPL_OK;
  p->last.x[0] = NAN;
  p->last.has_derivatives = false;
  const cpl_status st = compute(p, x, p->last.y, p->last.derivatives, &p->last.has_derivatives);
  if (st >= 0) memcpy(st == CPL_RETRY ? p->failed : p->last.x, x, p->n * sizeof *x);
  return st;
}

cpl_status cpli_points_at(cpli_points* p, const double* x, const cpli_fit_point** out) {
  cpli_fit_point* point = NULL;
  const cpl_status st = point_at(p, x, &point);
  *out = point;
  return st;
}

void cpli_points_keep(cpli_points* p) {
  const cpli_fit_point last = p->last;
  p->last = p->best;
  p->best = last;
  p->last.x[0] = NAN;
}

bool cpli_points_failed_near(const cpli_points* p, const double* x) {
  static const double near = 1e-6;
  if (isnan(p->failed[0])) return false;
  for (size_t j = 0; j < p->n; j++)
    if (fabs(p->failed[j] - x[j]) > near * cpli_points_size(p, j, x[j])) return false;
  return true;
}

cpl_status cpli_points_repeat(cpli_points* p, const double* x, bool* same) {
  const cpli_fit_point* before = NULL;
  bool derived = false;
  cpl_status st = cpli_points_at(p, x, &before);
  if (st < 0 || st == CPL_RETRY) return st;
  cpli_fit_point* other = before == &p->best ? &p->last : &p->best;
  other->x[0] = NAN;
  other->has_derivatives = false;
  st = compute(p, x, other->y, other->derivatives, &derived);
  *same = st == CPL_OK && memcmp(before->y, other->y, p->m * sizeof *before->y) == 0;
  return st;
}

//------------------------------------ differences ------------------------------------

double cpli_points_size(const cpli_points* p, size_t j, double x) {
  const cpl_varied* v = &p->def.trials->list[j];
  if (x != 0) return fmax(fabs(x), 1e-2 * fabs(v->guess));
  if (v->guess != 0) return fabs(v->guess);
  const double range = v->greatest - v->least;
  return isfinite(range) ? range : 1;
}

// Both steps stay within the bounds: at a bound they go to the same side.
static void choose_steps(const cpli_points* p, size_t j, double x, double h[2]) {
  const cpl_varied* v = &p->def.trials->list[j];
  double step = p->step * cpli_points_size(p, j, x);
  if (isfinite(v->greatest - v->least)) step = fmin(step, 0.2 * (v->greatest - v->least));
  h[0] = -step, h[1] = step;
  if (x + h[0] < v->least) h[0] = 2 * step;
  else if (x + h[1] > v->greatest) h[1] = -2 * step;
}

static void shift(cpli_points* p, const double* x, size_t j, double* h, size_t k) {
  double* at = batch_x(p, k);
  memcpy(at, x, p->n * sizeof *x);
  at[j] = x[j] + *h;
  *h = at[j] - x[j];
}

// The slope at 0 of the parabola through y and the values at two steps; `out` may be one of them.
static void differentiate(const cpli_points* p, const double* y, const double h[2],
                          const double* y0, const double* y1, double* out) {
  const double a = h[1] / (h[0] * (h[1] - h[0])), b = -h[0] / (h[1] * (h[1] - h[0]));
  for (size_t i = 0; i < p->m; i++) out[i] = a * (y0[i] - y[i]) + b * (y1[i] - y[i]);
}

static cpl_status no_derivative(const cpli_points* p, const cpli_fit_point* point, size_t j) {
  return cpl_fail(p->ctx, CPL_ERR_SOLVER,
                  "no derivative for %s can be found at %.12g: runs on both sides fail: %s",
                  p->def.trials->list[j].name, point->x[j], p->def.trials->failure);
}

// Where the run on one side has failed, both are made on the other one, whose results are kept in
// the place of the derivatives. n: how many.
static cpl_status difference_on_one_side(cpli_points* p, cpli_fit_point* point, size_t n) {
  size_t k = 0;
  cpl_status st = n > 0 ? run_points(p, n, false) : CPL_OK;
  for (size_t j = 0; j < p->n && st >= 0 && k < n; j++) {
    double *h = p->steps + 2 * j, *out = point->derivatives + j * p->m;
    if (batch_x(p, k)[j] == point->x[j]) continue;  // it is another parameter that differs
    if (p->st[k] == CPL_RETRY) return no_derivative(p, point, j);
    differentiate(p, point->y, h, out, batch_y(p, k++), out);
  }
  return st;
}

static cpl_status find_differences(cpli_points* p, cpli_fit_point* point) {
  size_t n = 0;
  for (size_t j = 0; j < p->n; j++) {
    double* h = p->steps + 2 * j;
    choose_steps(p, j, point->x[j], h);
    for (size_t i = 0; i < 2; i++) shift(p, point->x, j, &h[i], 2 * j + i);
  }
  cpl_status st = run_points(p, 2 * p->n, false);
  for (size_t j = 0; j < p->n && st >= 0; j++) {
    double *h = p->steps + 2 * j, *out = point->derivatives + j * p->m;
    const bool failed[] = {p->st[2 * j] == CPL_RETRY, p->st[2 * j + 1] == CPL_RETRY};
    if (failed[0] && failed[1]) return no_derivative(p, point, j);
    const size_t good = failed[0] ? 1 : 0;
    if (!failed[0] && !failed[1]) {
      differentiate(p, point->y, h, batch_y(p, 2 * j), batch_y(p, 2 * j + 1), out);
      continue;
    }
    memcpy(out, batch_y(p, 2 * j + good), p->m * sizeof *out);
    h[0] = h[good];
    h[1] = 0.5 * h[0];
    shift(p, point->x, j, &h[1], n++);
  }
  return st < 0 ? st : difference_on_one_side(p, point, n);
}

cpl_status cpli_points_derive(cpli_points* p, const double* x, const cpli_fit_point** out) {
  cpli_fit_point* point = NULL;
  cpl_status st = point_at(p, x, &point);
  *out = point;
  if (st < 0 || st == CPL_RETRY || point->has_derivatives) return st;
  p->n_differences++;
  st = find_differences(p, point);
  point->has_derivatives = st >= 0;
  return st;
}
