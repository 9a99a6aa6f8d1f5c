// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Implements the interface SUNNonlinearSolver; per row, the largest recently confirmed ratio of
// residual and correction is kept.
#include "solver/sun_newton.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { ENOUGH = 3 };  // checks in a row

static const double range = 6;        // multiple of the confirmed ratio that requires a new check
static const double matters = 3;      // size of a residual, in units of the iteration's tolerance
static const double contracts = 0.7;  // contraction at which the Jacobian is confirmed
static const double forgotten = 0.5;  // decay of a confirmed ratio where smaller ones occur

typedef struct content {
  cpl_context* ctx;
  SUNNonlinSolSysFn residual;
  SUNNonlinSolLSetupFn setup;
  SUNNonlinSolLSolveFn solve;
  SUNNonlinSolConvTestFn converged;
  void* converged_data;
  N_Vector r, d;            // the residual and its correction
  N_Vector last_r, last_d;  // those of the iteration before
  N_Vector ratio;           // of residual and correction, per row: the largest confirmed recently
  int confirmed;            // consecutive checks that confirmed larger ones
  int max_iterations, iteration;
  long iterations, failures;  // of the last solution
  booleantype current;        // the Jacobian was evaluated in this solution
} content;

static content* of(SUNNonlinearSolver nls) { return nls->content; }

//------------------------------------ checks ------------------------------------

typedef struct rows {
  sunindextype n;
  const double *r, *d, *last_r, *last_d, *w;
  double* ratio;
} rows;

static rows rows_of(const content* k, N_Vector weight) {
  return (rows){.n = N_VGetLength(k->r),
                .r = N_VGetArrayPointer(k->r),
                .d = N_VGetArrayPointer(k->d),
                .last_r = N_VGetArrayPointer(k->last_r),
                .last_d = N_VGetArrayPointer(k->last_d),
                .w = N_VGetArrayPointer(weight),
                .ratio = N_VGetArrayPointer(k->ratio)};
}

// Whether a row has a residual above the tolerance that led to a much smaller correction, by more
// than the confirmed ratio.
static bool is_doubtful(const rows* k, double min) {
  bool doubtful = false;
  for (sunindextype i = 0; i < k->n; i++) {
    double r = fabs(k->r[i]), d = fabs(k->d[i]);
    if (r * k->w[i] <= min) continue;
    doubtful = doubtful || r > range * k->ratio[i] * d;
    if (range * r < k->ratio[i] * d) k->ratio[i] = fmax(forgotten * k->ratio[i], 1);
  }
  return doubtful;
}

// After one more iteration: whether the residuals followed the corrections. Where they did not, the
// next correction is as large as the previous one.
static bool is_confirmed(const rows* k, double min) {
  for (sunindextype i = 0; i < k->n; i++) {
    if (fabs(k->r[i]) * k->w[i] > min && fabs(k->r[i]) > contracts * fabs(k->last_r[i]) &&
        fabs(k->d[i]) > contracts * fabs(k->last_d[i]))
      return false;
  }
  return true;
}

// Larger ratios confirmed in several consecutive steps: the function is stiff. Where it is steep
// only locally, one step may end there, but the next ones do not.
static void trust(const rows* k, double min) {
  for (sunindextype i = 0; i < k->n; i++) {
    double r = fabs(k->last_r[i]), d = fmax(fabs(k->last_d[i]), DBL_MIN);
    if (r * k->w[i] > min) k->ratio[i] = fmax(k->ratio[i], fmin(r / d, DBL_MAX));
  }
}

//------------------------------------ iteration ------------------------------------

static void swap(N_Vector* a, N_Vector* b) {
  N_Vector kept = *a;
  *a = *b;
  *b = kept;
}

// The correction for the residual of y, and y with it.
static int correct(content* k, N_Vector y, void* mem) {
  k->iterations++;
  swap(&k->d, &k->last_d);
  N_VScale(-1, k->r, k->d);
  int flag = k->solve(k->d, mem);
  if (flag == SUN_NLS_SUCCESS) N_VLinearSum(1, y, 1, k->d, y);
  return flag;
}

static int next_residual(content* k, N_Vector y, void* mem) {
  swap(&k->r, &k->last_r);
  return k->residual(y, k->r, mem);
}

// With the current linear system, from the residual of y.
static int iterate(SUNNonlinearSolver nls, N_Vector y, N_Vector weight, double tol, void* mem) {
  content* k = of(nls);
  bool checking = false;
  for (k->iteration = 0;;) {
    int flag = correct(k, y, mem);
    if (flag != SUN_NLS_SUCCESS) return flag;
    flag = k->converged(nls, y, k->d, tol, weight, k->converged_data);
    rows all = rows_of(k, weight);
    double min = matters * tol;
    if (checking && flag >= 0) {
      k->confirmed = is_confirmed(&all, min) ? k->confirmed + 1 : 0;
      if (k->confirmed == 0) return SUN_NLS_CONV_RECVR;
      if (k->confirmed % ENOUGH == 0) trust(&all, min);
    }
    bool last = k->iteration + 1 >= k->max_iterations;
    bool check = flag == SUN_NLS_SUCCESS && !checking && !last && is_doubtful(&all, min);
    if (flag != SUN_NLS_CONTINUE && !check) return flag;
    if (last) return SUN_NLS_CONV_RECVR;
    k->iteration++;
    checking = check;
    flag = next_residual(k, y, mem);
    if (flag != SUN_NLS_SUCCESS) return flag;
  }
}

// y, initially zero, is added to the prediction. An attempt with an old Jacobian that does not
// converge is repeated with a new one.
static int solve(SUNNonlinearSolver nls, N_Vector predicted, N_Vector y, N_Vector weight,
                 realtype tol, booleantype set_up, void* mem) {
  content* k = of(nls);
  (void)predicted;
  k->iterations = k->failures = 0;
  booleantype is_bad = SUNFALSE;
  for (;;) {
    int flag = next_residual(k, y, mem);
    if (flag == SUN_NLS_SUCCESS && set_up) flag = k->setup(is_bad, &k->current, mem);
    if (flag != SUN_NLS_SUCCESS) return flag;
    flag = iterate(nls, y, weight, tol, mem);
    if (flag == SUN_NLS_SUCCESS) k->current = SUNFALSE;
    if (flag <= 0) return flag;
    k->failures++;
    if (k->current || k->setup == NULL) return flag;
    set_up = is_bad = SUNTRUE;
    N_VConst(0, y);
  }
}

//------------------------------------ operations ------------------------------------

static SUNNonlinearSolver_Type type(SUNNonlinearSolver nls) {
  (void)nls;
  return SUNNONLINEARSOLVER_ROOTFIND;
}

static int initialize(SUNNonlinearSolver nls) {
  content* k = of(nls);
  k->iterations = k->failures = 0;
  k->confirmed = 0;
  k->current = SUNFALSE;
  N_VConst(1, k->ratio);
  return SUN_NLS_SUCCESS;
}

static int set_residual(SUNNonlinearSolver nls, SUNNonlinSolSysFn f) {
  of(nls)->residual = f;
  return SUN_NLS_SUCCESS;
}
static int set_setup(SUNNonlinearSolver nls, SUNNonlinSolLSetupFn f) {
  of(nls)->setup = f;
  return SUN_NLS_SUCCESS;
}
static int set_solve(SUNNonlinearSolver nls, SUNNonlinSolLSolveFn f) {
  of(nls)->solve = f;
  return SUN_NLS_SUCCESS;
}
static int set_converged(SUNNonlinearSolver nls, SUNNonlinSolConvTestFn f, void* data) {
  of(nls)->converged = f;
  of(nls)->converged_data = data;
  return SUN_NLS_SUCCESS;
}
static int set_max_iterations(SUNNonlinearSolver nls, int n) {
  of(nls)->max_iterations = n;
  return SUN_NLS_SUCCESS;
}

static int iterations(SUNNonlinearSolver nls, long* n) {
  *n = of(nls)->iterations;
  return SUN_NLS_SUCCESS;
}
static int iteration(SUNNonlinearSolver nls, int* n) {
  *n = of(nls)->iteration;
  return SUN_NLS_SUCCESS;
}
static int failures(SUNNonlinearSolver nls, long* n) {
  *n = of(nls)->failures;
  return SUN_NLS_SUCCESS;
}

static int destroy(SUNNonlinearSolver nls) {
  if (nls == NULL) return SUN_NLS_SUCCESS;
  content* k = nls->content;
  if (k != NULL) {
    N_Vector all[] = {k->r, k->d, k->last_r, k->last_d, k->ratio};
    for (size_t i = 0; i < CPLI_COUNT(all); i++) {
      if (all[i] != NULL) N_VDestroy(all[i]);
    }
    cpli_free(k->ctx, k);
  }
  nls->content = NULL;
  SUNNonlinSolFreeEmpty(nls);
  return SUN_NLS_SUCCESS;
}

static bool make_vectors(content* k, N_Vector like) {
  N_Vector* all[] = {&k->r, &k->d, &k->last_r, &k->last_d, &k->ratio};
  for (size_t i = 0; i < CPLI_COUNT(all); i++) {
    *all[i] = N_VClone(like);
    if (*all[i] == NULL) return false;
    N_VConst(0, *all[i]);
  }
  return true;
}

SUNNonlinearSolver cpli_sun_newton(cpl_context* ctx, N_Vector like, SUNContext sun) {
  SUNNonlinearSolver nls = SUNNonlinSolNewEmpty(sun);
  if (nls == NULL) return NULL;
  content* k = nls->content = cpli_alloc(ctx, 1, sizeof *k);
  if (k != NULL) *k = (content){.ctx = ctx};
  *nls->ops = (struct _generic_SUNNonlinearSolver_Ops){.gettype = type,
                                                       .initialize = initialize,
                                                       .solve = solve,
                                                       .free = destroy,
                                                       .setsysfn = set_residual,
                                                       .setlsetupfn = set_setup,
                                                       .setlsolvefn = set_solve,
                                                       .setctestfn = set_converged,
                                                       .setmaxiters = set_max_iterations,
                                                       .getnumiters = iterations,
                                                       .getcuriter = iteration,
                                                       .getnumconvfails = failures};
  if (k != NULL && make_vectors(k, like)) return nls;
  destroy(nls);
  return NULL;
}

void cpli_sun_newton_list(SUNNonlinearSolver nls, cpli_serial* s) {
  content* k = of(nls);
  int32_t confirmed = k->confirmed;
  cpli_serial_reals(s, N_VGetArrayPointer(k->ratio), (size_t)N_VGetLength(k->ratio));
  cpli_serial_count32(s, &confirmed);
  cpli_serial_bytes(s, &k->current, sizeof k->current);
  k->confirmed = confirmed;
}
