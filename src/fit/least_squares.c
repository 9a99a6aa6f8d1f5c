// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The active set around lmder().
#include "fit/least_squares.h"

#include <limits.h>
#include <math.h>

#include "fit/libraries.h"

enum { LEAVE = -2, FAILED = -1 };  // results of evaluate()

// Smaller relative changes of the sum of squares, or of the parameters, end the search; the second
// is that of the derivatives.
static const double value_tolerance = 1e-12, step_tolerance = 1e-10;
// A residual of a trial that failed: lmder() takes a shorter step. Larger numbers, and what is
// none, never reach lmder(), which may not end with them.
static const double refused = 1e100;
static const double step_bound = 1;  // of the first step, relative to the parameters

typedef struct search {
  const cpli_least_squares* p;
  double *x, *trial;     // all parameters: the last point that was accepted, and one that is tried
  double *r, *jacobian;  // there
  double* gradient;
  size_t* free;  // parameters that lmder() has
  size_t n_free;
  int32_t* held;
  cpl_status st;
} search;

// The first number that is as large as `refused`, or is none; n: there is no such number.
static size_t find_unusable(const double* v, size_t n) {
  size_t i = 0;
  while (i < n && fabs(v[i]) < refused) i++;
  return i;
}

//------------------------------------ bounds ------------------------------------

static double project(const search* s, size_t j, double x) {
  return fmin(fmax(x, s->p->least[j]), s->p->greatest[j]);
}

static cpl_status find_gradient(search* s, const double* x) {
  const cpli_least_squares* p = s->p;
  cpl_status st = p->jacobian(p->user, x, s->jacobian);
  const size_t at = st >= 0 ? find_unusable(s->jacobian, p->m * p->n) : 0;
  if (st >= 0 && at < p->m * p->n)
    st = cpl_fail(p->ctx, CPL_ERR_SOLVER,
                  "the derivative of a residual is %g: standard deviations are too small for it",
                  s->jacobian[at]);
  for (size_t j = 0; j < p->n && st >= 0; j++) {
    double sum = 0;
    for (size_t i = 0; i < p->m; i++) sum += s->jacobian[j * p->m + i] * s->r[i];
    s->gradient[j] = sum;
  }
  return st;
}

// The bound at which a parameter is held: the sum of squares falls outwards.
static int32_t bound_at(const search* s, const double* x, size_t j) {
  if (x[j] <= s->p->least[j]) return s->gradient[j] > 0 ? -1 : 0;
  if (x[j] >= s->p->greatest[j]) return s->gradient[j] < 0 ? 1 : 0;
  return 0;
}

static void list_free(search* s) {
  s->n_free = 0;
  for (size_t j = 0; j < s->p->n; j++)
    if (s->held[j] == 0) s->free[s->n_free++] = j;
}

// Returns whether the parameters that are held are others than before.
static bool hold(search* s, const double* x) {
  bool changed = false;
  for (size_t j = 0; j < s->p->n; j++) {
    const int32_t bound = bound_at(s, x, j);
    changed = changed || bound != s->held[j];
    s->held[j] = bound;
  }
  list_free(s);
  return changed;
}

//------------------------------------ lmder ------------------------------------

static int evaluate_residuals(search* s, const double* x, double* r) {
  const cpli_least_squares* p = s->p;
  memcpy(s->trial, s->x, p->n * sizeof *s->trial);
  for (size_t k = 0; k < s->n_free; k++) s->trial[s->free[k]] = project(s, s->free[k], x[k]);
  s->st = p->residuals(p->user, s->trial, r);
  if (s->st < 0) return FAILED;
  const bool failed = s->st == CPL_RETRY || find_unusable(r, p->m) < p->m;
  for (size_t i = 0; i < p->m && failed; i++) r[i] = refused;
  return 0;
}

// lmder() needs the derivatives where it has accepted a point. Where that is beyond a bound, or a
// parameter is to be held, the search begins anew there with fewer parameters.
static int evaluate_jacobian(search* s, const double* x, const double* r, double* jacobian,
                             size_t rows) {
  const cpli_least_squares* p = s->p;
  bool beyond = false;
  for (size_t k = 0; k < s->n_free; k++) s->x[s->free[k]] = project(s, s->free[k], x[k]);
  memcpy(s->r, r, p->m * sizeof *r);
  s->st = find_gradient(s, s->x);
  if (s->st < 0) return FAILED;
  for (size_t k = 0; k < s->n_free; k++) {
    const size_t j = s->free[k];
    if (x[k] < s->x[j]) s->held[j] = -1;
    else if (x[k] > s->x[j]) s->held[j] = 1;
    else s->held[j] = bound_at(s, s->x, j);
    beyond = beyond || s->held[j] != 0;
  }
  if (beyond) return LEAVE;
  for (size_t k = 0; k < s->n_free; k++)
    memcpy(jacobian + k * rows, s->jacobian + s->free[k] * p->m, p->m * sizeof *jacobian);
  return 0;
}

static int evaluate(void* user, int m, int n, const double* x, double* fvec, double* fjac,
                    int ldfjac, int iflag) {
  (void)m, (void)n;
  search* s = user;
  if (iflag == 1) return evaluate_residuals(s, x, fvec);
  if (iflag == 2) return evaluate_jacobian(s, x, fvec, fjac, (size_t)ldfjac);
  return 0;
}

// Minimizes over the free parameters. Returns the result of lmder().
static int minimize(search* s, const cpli_minpack* library) {
  const size_t m = s->p->m, n = s->n_free;
  cpl_context* ctx = s->p->ctx;
  double* v = cpli_alloc(ctx, n * m + 6 * n + 2 * m, sizeof *v);
  int* pivots = cpli_alloc(ctx, n, sizeof *pivots);
  int info = FAILED, n_values = 0, n_jacobians = 0;
  if (v == NULL || pivots == NULL) s->st = cpli_nomem(ctx);
  if (s->st >= 0) {
    double *jacobian = v, *x = v + n * m, *diag = x + n, *qtf = diag + n, *wa1 = qtf + n,
           *wa2 = wa1 + n, *wa3 = wa2 + n, *fvec = wa3 + n, *wa4 = fvec + m;
    for (size_t k = 0; k < n; k++) x[k] = s->x[s->free[k]];
    info = library->lmder(evaluate, s, (int)m, (int)n, x, fvec, jacobian, (int)m, value_tolerance,
                          step_tolerance, 0, INT_MAX, diag, 1, step_bound, 0, &n_values,
                          &n_jacobians, pivots, qtf, wa1, wa2, wa3, wa4);
    for (size_t k = 0; k < n && info >= 0; k++) s->x[s->free[k]] = project(s, s->free[k], x[k]);
    if (info >= 0) memcpy(s->r, fvec, m * sizeof *fvec);
  }
  cpli_free(ctx, v);
  cpli_free(ctx, pivots);
  return info;
}

//------------------------------------ the search ------------------------------------

static const char* reason(int info) {
  switch (info) {
    case 1: return "the sum of squares changes no more";
    case 2: return "the parameters change no more";
    case 3: return "neither the sum of squares nor the parameters change";
    case 4: return "the residuals are orthogonal to their derivatives";
    default: return "no further improvement is possible";
  }
}

static cpl_status begin(search* s, double* x) {
  const cpli_least_squares* p = s->p;
  s->st = p->residuals(p->user, x, s->r);
  if (s->st < 0 || s->st == CPL_RETRY) return s->st;
  const size_t at = find_unusable(s->r, p->m);
  if (at < p->m)
    return cpl_fail(p->ctx, CPL_ERR_INPUT,
                    "a residual is %g standard deviations with the guesses: standard deviations or "
                    "weights of the data do not fit to their values",
                    s->r[at]);
  s->st = find_gradient(s, x);
  if (s->st >= 0) hold(s, x);
  return s->st;
}

// Parameters that would cross a bound are held there; where lmder() has ended, those whose gradient
// points inwards are released. Each round has a smaller sum of squares than the one before.
static cpl_status iterate(search* s, const cpli_minpack* library, const char** end) {
  const size_t most = 20 + 10 * s->p->n;
  for (size_t round = 0; round < most; round++) {
    const int info = s->n_free > 0 ? minimize(s, library) : 0;
    if (s->st < 0) return s->st;
    if (info == LEAVE) {
      list_free(s);
      continue;
    }
    s->st = find_gradient(s, s->x);
    if (s->st < 0) return s->st;
    *end = s->n_free > 0 ? reason(info) : "all parameters are held at their bounds";
    if (!hold(s, s->x)) return CPL_OK;
  }
  return cpl_fail(s->p->ctx, CPL_ERR_SOLVER,
                  "the search did not end: parameters reach their bounds and leave them again");
}

cpl_status cpli_least_squares_solve(const cpli_least_squares* p, double* x, int32_t* held,
                                    const char** end) {
  const cpli_minpack* library = NULL;
  const size_t m = p->m, n = p->n;
  cpl_status st = cpli_minpack_load(p->ctx, &library);
  if (st < 0) return st;
  double* memory = cpli_alloc(p->ctx, m * n + m + 2 * n, sizeof *memory);
  size_t* list = cpli_alloc(p->ctx, n, sizeof *list);
  search s = {.p = p, .x = x, .held = held, .free = list};
  if (memory == NULL || list == NULL) st = cpli_nomem(p->ctx);
  if (m > INT_MAX / 4)
    st = cpl_fail(p->ctx, CPL_ERR_UNSUPPORTED, "more than %d points", INT_MAX / 4);
  if (st >= 0) {
    s.jacobian = memory, s.r = memory + m * n, s.gradient = s.r + m, s.trial = s.gradient + n;
    st = begin(&s, x);
    if (st >= 0 && st != CPL_RETRY) st = iterate(&s, library, end);
  }
  cpli_free(p->ctx, memory);
  cpli_free(p->ctx, list);
  return st;
}
