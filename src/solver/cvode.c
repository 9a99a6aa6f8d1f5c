// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// CVODE of SUNDIALS: BDF with Newton's method and a dense matrix, the equation's own linear solver
// or GMRES, or Adams with functional iteration.
#include <cvode/cvode.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#include "solver/solver.h"
#include "solver/sun_newton.h"
#include "solver/sundials.h"
#include "solver/vectors.h"
#ifdef CPL_SUNDIALS_PRIVATE
#include "cvode_impl.h"
#include "cvode_ls_impl.h"
#endif

enum { KRYLOV = 30 };  // maximum dimension of the Krylov space

typedef struct cvode {
  cpli_solver base;
  cpli_ode ode;
  double rtol;
  SUNContext sun;
  void* mem;
  N_Vector x, atol, lent;  // lent: an array of the caller
  N_Vector begin;          // Adams: x at the beginning of the step. Nullable.
  SUNMatrix matrix;
  SUNLinearSolver linear;
  SUNNonlinearSolver nonlinear;
  cpl_status failure;  // last status other than success of a function of the equation
  double t;            // end of the last step
  double max_step;     // as set in CVODE
  double refused_at;   // time at which the model last could not be evaluated
  int stuck;           // consecutive steps that did not advance the time
  bool fresh;          // no step since the last start
  bool unmoved;  // the last step was a few roundings long and was skipped: there is no history
  int64_t counted_steps, counted_rejected, counted_jacobians, counted_newton, counted_linear;
  bool gmres;
} cvode;

//------------------------------------ callbacks ------------------------------------

// SUNDIALS wants 0, positive (recoverable) or negative.
static int passed_on(cvode* s, double t, cpl_status st) {
  if (st != CPL_OK) s->failure = st;
  if (st == CPL_RETRY) s->refused_at = t;
  return st < 0 ? -1 : st > 0 ? 1 : 0;
}

static int rhs(realtype t, N_Vector x, N_Vector dx, void* user) {
  cvode* s = user;
  s->base.stats->rhs_evals++;
  return passed_on(s, t, s->ode.rhs(s->ode.user, t, N_VGetArrayPointer(x), N_VGetArrayPointer(dx)));
}

static int jacobian(realtype t, N_Vector x, N_Vector fx, SUNMatrix out, void* user, N_Vector a,
                    N_Vector b, N_Vector c) {
  cvode* s = user;
  (void)fx, (void)a, (void)b, (void)c;
  return passed_on(
      s, t, s->ode.jacobian(s->ode.user, t, N_VGetArrayPointer(x), SUNDenseMatrix_Data(out)));
}

static int correct(realtype t, N_Vector x, N_Vector correction, realtype reach, N_Vector error,
                   void* user) {
  cvode* s = user;
  (void)reach;
  double* e = error != NULL ? N_VGetArrayPointer(error) : NULL;
  return passed_on(
      s, t,
      s->ode.correct(s->ode.user, t, N_VGetArrayPointer(x), N_VGetArrayPointer(correction), e));
}

// CVODE's error weights in one loop; with a shift of the solution instead of x.
static int weights(N_Vector x, N_Vector out, void* user) {
  cvode* s = user;
  const double *at = N_VGetArrayPointer(x), *atol = N_VGetArrayPointer(s->atol);
  const double* shift = s->ode.shift;
  double *w = N_VGetArrayPointer(out), least = INFINITY;
  for (size_t i = 0; i < s->ode.n; i++) {
    double tolerance = s->rtol * fabs(shift != NULL ? at[i] + shift[i] : at[i]) + atol[i];
    least = fmin(least, tolerance);
    w[i] = 1 / tolerance;
  }
  return least > 0 ? 0 : -1;
}

static int set_tolerances(cvode* s) { return CVodeWFtolerances(s->mem, weights); }

//------------------------------------ its own linear solver ------------------------------------

// CVODE gets an empty matrix and a solver that delegates to the equation. As a direct solver with a
// function for the whole linear system, it receives gamma and CVODE's flag whether an old Jacobian
// is acceptable.
static int own_system(realtype t, N_Vector x, N_Vector fx, SUNMatrix m, booleantype old_will_do,
                      booleantype* is_new, realtype gamma, void* user, N_Vector a, N_Vector b,
                      N_Vector c) {
  cvode* s = user;
  (void)fx, (void)m, (void)a, (void)b, (void)c;
  *is_new = !old_will_do;
  s->base.stats->jac_evals += !old_will_do;
  return passed_on(s, t,
                   s->ode.newton_setup(s->ode.user, t, N_VGetArrayPointer(x), gamma, !old_will_do));
}

static int own_solve(SUNLinearSolver linear, SUNMatrix m, N_Vector x, N_Vector b,
                     realtype tolerance) {
  cvode* s = linear->content;
  (void)m, (void)tolerance;
  return passed_on(s, s->t,
                   s->ode.newton_solve(s->ode.user, N_VGetArrayPointer(b), N_VGetArrayPointer(x)));
}

static bool attach_own_solver(cvode* s) {
  return cpli_sun_empty_solver(s->sun, own_solve, s, &s->matrix, &s->linear) &&
         CVodeSetLinearSolver(s->mem, s->linear, s->matrix) >= 0 &&
         CVodeSetLinSysFn(s->mem, own_system) >= 0;
}

//------------------------------------ GMRES ------------------------------------

static int times(N_Vector v, N_Vector out, realtype t, N_Vector x, N_Vector fx, void* user,
                 N_Vector a) {
  cvode* s = user;
  (void)fx, (void)a;
  s->base.stats->products++;
  return passed_on(s, t,
                   s->ode.jacobian_times(s->ode.user, t, N_VGetArrayPointer(x),
                                         N_VGetArrayPointer(v), N_VGetArrayPointer(out)));
}

static bool attach_gmres(cvode* s) {
  s->linear = SUNLinSol_SPGMR(s->x, SUN_PREC_NONE, KRYLOV, s->sun);
  if (s->linear == NULL || CVodeSetLinearSolver(s->mem, s->linear, NULL) < 0) return false;
  return s->ode.jacobian_times == NULL || CVodeSetJacTimes(s->mem, NULL, times) >= 0;
}

static const char* const linear_names[] = {
    [CPL_LINEAR_DIRECT] = "direct", [CPL_LINEAR_GMRES] = "gmres"};

bool cpl_linear_solver_by_name(const char* name, cpl_linear_solver* out) {
  int32_t i = cpli_find_text(linear_names, CPLI_COUNT(linear_names), name);
  if (i >= 0) *out = (cpl_linear_solver)i;
  return i >= 0;
}

const char* cpl_linear_solver_name(cpl_linear_solver linear) { return linear_names[linear]; }

//------------------------------------ messages ------------------------------------

static void take_message(int code, const char* module, const char* function, char* text,
                         void* user) {
  cvode* s = user;
  (void)module;
  if (code == CV_WARNING)
    cpl_log(s->base.ctx, CPL_LOG_DEBUG, s->base.name, "%s: %s", function, text);
}

//------------------------------------ steps ------------------------------------

// CVODE resets its counters at every restart; these accumulate.
static void count(cvode* s) {
  long steps = 0, failed = 0, jacobians = 0, newton = 0, convergence = 0, linear = 0;
  CVodeGetNumSteps(s->mem, &steps);
  CVodeGetNumErrTestFails(s->mem, &failed);
  CVodeGetNumNonlinSolvConvFails(s->mem, &convergence);
  CVodeGetNumNonlinSolvIters(s->mem, &newton);
  bool dense = s->linear != NULL && s->ode.newton_setup == NULL && !s->gmres;
  if (dense) CVodeGetNumJacEvals(s->mem, &jacobians);
  if (s->gmres) CVodeGetNumLinIters(s->mem, &linear);
  cpl_solver_stats* stats = s->base.stats;
  stats->steps += steps - s->counted_steps;
  stats->rejected += failed + convergence - s->counted_rejected;
  stats->jac_evals += jacobians - s->counted_jacobians;
  stats->newton_iters += newton - s->counted_newton;
  stats->linear_iters += linear - s->counted_linear;
  s->counted_steps = steps;
  s->counted_rejected = failed + convergence;
  s->counted_jacobians = jacobians;
  s->counted_newton = newton;
  s->counted_linear = linear;
}

// CVODE counts from zero after each start.
static void begin_count(cvode* s) {
  s->counted_steps = s->counted_rejected = s->counted_jacobians = s->counted_newton = 0;
  s->counted_linear = 0;
  s->base.stats->restarts++;
}

static cpl_status start(cpli_solver* base, double t, const double* x, const double* atol) {
  cvode* s = (cvode*)base;
  memcpy(N_VGetArrayPointer(s->x), x, s->ode.n * sizeof *x);
  memcpy(N_VGetArrayPointer(s->atol), atol, s->ode.n * sizeof *atol);
  int flag = CVodeReInit(s->mem, t, s->x);
  if (flag >= 0) flag = set_tolerances(s);  // CVODE keeps a copy
  if (flag < 0)
    return cpl_fail_in(base->ctx, CPL_ERR_SOLVER, base->name, NULL, cpli_solver_time(base, t),
                       "CVODE cannot restart at t=%.12g (%s)", cpli_solver_time(base, t),
                       CVodeGetReturnFlagName(flag));
  begin_count(s);
  s->t = t;
  s->stuck = 0;
  s->fresh = true;
  s->refused_at = INFINITY;
  return CPL_OK;
}

typedef struct cause {
  int flag;
  const char* text;
} cause;

static const cause causes[] = {
    {CV_TOO_MUCH_ACC, "the tolerance is finer than the machine can compute"},
    {CV_ERR_FAILURE, "the error test fails even with the shortest step"},
    {CV_CONV_FAILURE, "Newton's iteration does not converge even with the shortest step"},
    {CV_LSETUP_FAIL, "the Jacobian cannot be evaluated or factorised"},
    {CV_RHSFUNC_FAIL, "the derivatives cannot be evaluated"},
    {CV_FIRST_RHSFUNC_ERR, "the derivatives cannot be evaluated at the start"},
    {CV_REPTD_RHSFUNC_ERR, "the derivatives cannot be evaluated even with the shortest step"},
    {CV_UNREC_RHSFUNC_ERR, "the derivatives cannot be evaluated even with the shortest step"},
    {CV_PROJFUNC_FAIL, "the projection onto the constraints failed"},
    {CV_REPTD_PROJFUNC_ERR, "the constraints cannot be met even with the shortest step"},
};

// The model's own message (the last one recorded) is more useful than CVODE's code.
static cpl_status failed(cvode* s, int flag) {
  double h = 0;
  CVodeGetCurrentStep(s->mem, &h);
  char code[32];
  char* name = CVodeGetReturnFlagName(flag);  // owned here
  snprintf(code, sizeof code, "%s", name != NULL ? name : "");
  free(name);
  const char* text = code;
  for (size_t i = 0; i < CPLI_COUNT(causes); i++) {
    if (causes[i].flag == flag) text = causes[i].text;
  }
  double now = cpli_solver_time(&s->base, s->t);
  if (s->failure < 0) return s->failure;
  if (s->failure == CPL_RETRY && flag != CV_ERR_FAILURE) {
    return cpl_fail_prefix(s->base.ctx, CPL_ERR_MODEL,
                           "%s: the solver stopped at t=%.12g (step %.3g): %s", s->base.name, now,
                           h, text);
  }
  return cpl_fail_in(s->base.ctx, CPL_ERR_SOLVER, s->base.name, NULL, now,
                     "the solver stopped at t=%.12g (step %.3g): %s", now, h, text);
}

static cpl_status stuck(cvode* s) {
  // the last message recorded is that of the model, if it cannot be evaluated beyond this point
  if (fabs(s->refused_at - s->t) <= 1e-9 * fabs(s->t)) {
    return cpl_fail_prefix(s->base.ctx, CPL_ERR_MODEL, "%s: the solver cannot go on at t=%.12g",
                           s->base.name, cpli_solver_time(&s->base, s->t));
  }
  return cpl_fail_in(
      s->base.ctx, CPL_ERR_SOLVER, s->base.name, NULL, cpli_solver_time(&s->base, s->t),
      "time does not advance any more at t=%.12g: the solution has a singularity there, or a "
      "derivative is far too large",
      cpli_solver_time(&s->base, s->t));
}

// CVODE changes its order only together with its step size: at the maximum step it would keep its
// current order, which after a start is one. So the maximum step always differs from the current
// one.
static void limit_step(cvode* s, double max_step) {
  static const double a_little = 1e-6;
  if (isinf(max_step) && isinf(s->max_step)) return;
  double h = 0;
  if (!s->fresh) CVodeGetCurrentStep(s->mem, &h);  // after a start that would be the previous one
  s->max_step = h > max_step * (1 - 0.5 * a_little) ? max_step * (1 - a_little) : max_step;
  CVodeSetMaxStep(s->mem, isinf(max_step) ? 0 : s->max_step);
}

// Adams of high order takes a step across a jump of the derivatives whose error is thousands of
// times its estimate. A step that failed the error test twice has met one: it is repeated without
// the history, whose polynomial is not that of the solution there.
static int one_step(cvode* s, double t_limit, double* reached) {
  long before = 0, after = 0;
  int order = 0;
  bool looks = s->begin != NULL && !s->fresh;
  if (looks) {
    N_VScale(1, s->x, s->begin);
    CVodeGetNumErrTestFails(s->mem, &before);
    CVodeGetCurrentOrder(s->mem, &order);
  }
  CVodeSetStopTime(s->mem, t_limit);
  int flag = CVode(s->mem, t_limit, s->x, reached, CV_ONE_STEP);
  if (looks) CVodeGetNumErrTestFails(s->mem, &after);
  if (flag < 0 || after < before + 2 || order < 3) return flag;
  count(s);
  N_VScale(1, s->begin, s->x);
  flag = CVodeReInit(s->mem, s->t, s->x);
  if (flag < 0) return flag;
  begin_count(s);
  CVodeSetStopTime(s->mem, t_limit);
  return CVode(s->mem, t_limit, s->x, reached, CV_ONE_STEP);
}

static cpl_status step(cpli_solver* base, double t_limit, double max_step, double* t, double* x) {
  cvode* s = (cvode*)base;
  if (s->fresh && cpli_sun_too_close(s->t, t_limit)) {
    cpli_move_along(&s->ode, s->t, t_limit - s->t, N_VGetArrayPointer(s->x), x);
    *t = s->t = t_limit;
    s->unmoved = true;
    return CPL_OK;
  }
  limit_step(s, max_step);
  s->failure = CPL_OK;
  double reached = s->t;
  int flag = one_step(s, t_limit, &reached);
  s->fresh = false;
  count(s);
  if (flag < 0) return failed(s, flag);
  s->stuck = reached > s->t ? 0 : s->stuck + 1;
  if (s->stuck > 10) return stuck(s);  // CVODE only warns and would continue for ever
  *t = s->t = reached;
  s->unmoved = false;
  memcpy(x, N_VGetArrayPointer(s->x), s->ode.n * sizeof *x);
  return CPL_OK;
}

#ifdef CPL_SUNDIALS_PRIVATE
// CVodeGetDky for times inside the last step, with the same bits: the polynomial of the history.
static bool evaluate_history(const cvode* s, double t, double* x) {
  const CVodeMem k = s->mem;
  double rounding = 100 * k->cv_uround * (fabs(k->cv_tn) + fabs(k->cv_hu));
  if (k->cv_hu < 0 || !(t >= k->cv_tn - k->cv_hu - rounding && t <= k->cv_tn + rounding))
    return false;
  double at = (t - k->cv_tn) / k->cv_h, power[L_MAX];
  int q = k->cv_q;
  power[0] = 1;
  for (int j = 1; j <= q; j++) power[j] = power[j - 1] * at;
  for (size_t i = 0; i < s->ode.n; i++) {
    double sum = power[q] * NV_Ith_S(k->cv_zn[q], i);
    for (int j = q - 1; j >= 0; j--) sum = power[j] * NV_Ith_S(k->cv_zn[j], i) + sum;
    x[i] = sum;
  }
  return true;
}
#else
static bool evaluate_history(const cvode* s, double t, double* x) {
  (void)s, (void)t, (void)x;
  return false;
}
#endif

static cpl_status interpolate(cpli_solver* base, double t, double* x) {
  cvode* s = (cvode*)base;
  if (s->unmoved) {
    memcpy(x, N_VGetArrayPointer(s->x), s->ode.n * sizeof *x);
    return CPL_OK;
  }
  if (evaluate_history(s, t, x)) return CPL_OK;
  N_VSetArrayPointer(x, s->lent);
  int flag = CVodeGetDky(s->mem, t, 0, s->lent);
  return flag < 0 ? failed(s, flag) : CPL_OK;
}

//------------------------------------ create ------------------------------------

static void destroy(cpli_solver* base) {
  if (base == NULL) return;
  cvode* s = (cvode*)base;
  if (s->mem != NULL) CVodeFree(&s->mem);
  bool own = s->ode.newton_setup != NULL && !s->gmres;  // empty objects have no free operation
  if (s->linear != NULL && own) SUNLinSolFreeEmpty(s->linear);
  if (s->linear != NULL && !own) SUNLinSolFree(s->linear);
  if (s->matrix != NULL && own) SUNMatFreeEmpty(s->matrix);
  if (s->matrix != NULL && !own) SUNMatDestroy(s->matrix);
  if (s->nonlinear != NULL) SUNNonlinSolFree(s->nonlinear);
  if (s->x != NULL) N_VDestroy(s->x);
  if (s->atol != NULL) N_VDestroy(s->atol);
  if (s->lent != NULL) N_VDestroy(s->lent);
  if (s->begin != NULL) N_VDestroy(s->begin);
  if (s->sun != NULL) SUNContext_Free(&s->sun);
  cpli_free(base->ctx, s);
}

//------------------------------------ history ------------------------------------

#ifdef CPL_SUNDIALS_PRIVATE

// Orders and indices, which have limits.
static void list_orders(cpli_serial* s, CVodeMem k) {
  int* orders[] = {&k->cv_q, &k->cv_qprime, &k->cv_next_q, &k->cv_qu, &k->cv_indx_acor};
  for (size_t i = 0; i < CPLI_COUNT(orders); i++) {
    int32_t order = *orders[i];
    cpli_serial_int(s, &order, 0, k->cv_qmax);
    *orders[i] = order;
  }
  int32_t wait = k->cv_qwait;
  cpli_serial_int(s, &wait, 0, 2 * L_MAX);
  k->cv_qwait = wait;
  k->cv_L = k->cv_q + 1;
  if (s->st >= 0 && cpli_serial_reads(s) && k->cv_q < 1) cpli_serial_refuse(s, "it has no order");
}

static void list_numbers(cpli_serial* s, CVodeMem k) {
  CPLI_LIST(s, k->cv_tstopset), CPLI_LIST(s, k->cv_tstop);
  CPLI_LIST(s, k->cv_h), CPLI_LIST(s, k->cv_hprime), CPLI_LIST(s, k->cv_next_h),
      CPLI_LIST(s, k->cv_eta);
  CPLI_LIST(s, k->cv_hscale), CPLI_LIST(s, k->cv_tn), CPLI_LIST(s, k->cv_tretlast);
  CPLI_LIST(s, k->cv_tau), CPLI_LIST(s, k->cv_tq), CPLI_LIST(s, k->cv_l);
  CPLI_LIST(s, k->cv_rl1), CPLI_LIST(s, k->cv_gamma), CPLI_LIST(s, k->cv_gammap),
      CPLI_LIST(s, k->cv_gamrat);
  CPLI_LIST(s, k->cv_crate), CPLI_LIST(s, k->cv_delp), CPLI_LIST(s, k->cv_acnrm),
      CPLI_LIST(s, k->cv_acnrmcur);
  CPLI_LIST(s, k->cv_etamax), CPLI_LIST(s, k->cv_nfe), CPLI_LIST(s, k->cv_ncfn),
      CPLI_LIST(s, k->cv_nni);
  CPLI_LIST(s, k->cv_nnf), CPLI_LIST(s, k->cv_netf), CPLI_LIST(s, k->cv_nsetups),
      CPLI_LIST(s, k->cv_nhnil);
  CPLI_LIST(s, k->cv_etaqm1), CPLI_LIST(s, k->cv_etaq), CPLI_LIST(s, k->cv_etaqp1);
  CPLI_LIST(s, k->convfail), CPLI_LIST(s, k->cv_nstlp), CPLI_LIST(s, k->cv_h0u),
      CPLI_LIST(s, k->cv_hu);
  CPLI_LIST(s, k->cv_saved_tq5), CPLI_LIST(s, k->cv_jcur), CPLI_LIST(s, k->cv_tolsf);
  CPLI_LIST(s, k->proj_applied), CPLI_LIST(s, k->proj_p);
  if (k->proj_mem == NULL) return;
  CPLI_LIST(s, k->proj_mem->first_proj), CPLI_LIST(s, k->proj_mem->nstlprj);
  CPLI_LIST(s, k->proj_mem->nproj), CPLI_LIST(s, k->proj_mem->npfails);
}

static void list_matrix(cpli_serial* s, SUNMatrix m, size_t n) {
  cpli_serial_same(s, m != NULL);
  if (m != NULL) cpli_serial_reals(s, SUNDenseMatrix_Data(m), n * n);
}

// The dense factors and the Jacobian they come from; other systems are the equation's.
static void list_linear(cpli_serial* serial, const cvode* s, CVodeMem k) {
  CVLsMem l = k->cv_lmem;
  if (l == NULL) return;
  CPLI_LIST(serial, l->jbad), CPLI_LIST(serial, l->nstlj), CPLI_LIST(serial, l->nje),
      CPLI_LIST(serial, l->nfeDQ);
  CPLI_LIST(serial, l->npe), CPLI_LIST(serial, l->nli), CPLI_LIST(serial, l->nps),
      CPLI_LIST(serial, l->ncfl);
  CPLI_LIST(serial, l->njtsetup), CPLI_LIST(serial, l->njtimes), CPLI_LIST(serial, l->last_flag);
  if (s->gmres || s->ode.newton_setup != NULL) return;
  SUNLinearSolverContent_Dense dense = s->linear->content;
  list_matrix(serial, s->matrix, s->ode.n);
  list_matrix(serial, l->savedJ, s->ode.n);
  for (size_t i = 0; i < s->ode.n; i++) {
    int32_t pivot = (int32_t)dense->pivots[i];
    cpli_serial_int(serial, &pivot, 0, (int32_t)s->ode.n - 1);
    dense->pivots[i] = pivot;
  }
}

// A history is written as a whole, also vectors that no step has used yet.
static void clear(cvode* s) {
  CVodeMem k = s->mem;
  N_Vector vectors[] = {k->cv_ewt, k->cv_acor, k->cv_tempv, k->cv_ftemp};
  for (int i = 1; i <= k->cv_qmax; i++) N_VConst(0, k->cv_zn[i]);
  for (size_t i = 0; i < CPLI_COUNT(vectors); i++) N_VConst(0, vectors[i]);
}

// What CVODE does before the first step after a start.
static bool prepare(cvode* s, CVodeMem k) {
  bool fine = set_tolerances(s) >= 0;
  k->cv_e_data = k->cv_user_efun ? k->cv_user_data : k;
  return fine && (k->cv_linit == NULL || k->cv_linit(k) == 0) && cvNlsInit(k) == CV_SUCCESS;
}

static void history(cpli_solver* base, cpli_serial* serial) {
  cvode* s = (cvode*)base;
  CVodeMem k = s->mem;
  int32_t stuck = s->stuck, failure = (int32_t)s->failure;
  double* numbers[] = {&s->t, &s->max_step, &s->refused_at};
  bool* flags[] = {&s->fresh, &s->unmoved};
  int64_t* counts[] = {&s->counted_steps, &s->counted_rejected, &s->counted_jacobians,
                       &s->counted_newton, &s->counted_linear};
  cpli_sun_list_vector(serial, s->x);
  cpli_sun_list_vector(serial, s->atol);
  for (size_t i = 0; i < CPLI_COUNT(numbers); i++) cpli_serial_real(serial, numbers[i]);
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(serial, flags[i]);
  for (size_t i = 0; i < CPLI_COUNT(counts); i++) cpli_serial_long(serial, counts[i]);
  cpli_serial_count32(serial, &stuck);
  cpli_serial_bytes(serial, &failure, sizeof failure);
  s->stuck = stuck;
  s->failure = (cpl_status)failure;
  CPLI_LIST(serial, k->cv_hmax_inv), CPLI_LIST(serial, k->cv_nst);
  if (k->cv_nst == 0 || serial->st < 0) return;  // it has just been started
  if (cpli_serial_reads(serial) && !prepare(s, k))
    cpli_serial_refuse(serial, "CVODE cannot be prepared for it");
  list_orders(serial, k);
  list_numbers(serial, k);
  N_Vector vectors[] = {k->cv_ewt, k->cv_acor, k->cv_tempv, k->cv_ftemp};
  for (int i = 0; i <= k->cv_qmax; i++) cpli_sun_list_vector(serial, k->cv_zn[i]);
  for (size_t i = 0; i < CPLI_COUNT(vectors); i++) cpli_sun_list_vector(serial, vectors[i]);
  list_linear(serial, s, k);
  if (s->begin == NULL) cpli_sun_newton_list(s->nonlinear, serial);
}
#define HISTORY history
#else
static void clear(cvode* s) { (void)s; }
#define HISTORY NULL
#endif

static const cpli_solver_ops ops = {.destroy = destroy,
                                    .start = start,
                                    .step = step,
                                    .interpolate = interpolate,
                                    .history = HISTORY};

static bool attach_linear_solver(cvode* s) {
  if (s->gmres) return attach_gmres(s);
  if (s->ode.newton_setup != NULL) return attach_own_solver(s);
  s->matrix = SUNDenseMatrix((sunindextype)s->ode.n, (sunindextype)s->ode.n, s->sun);
  if (s->matrix == NULL) return false;
  s->linear = SUNLinSol_Dense(s->x, s->matrix, s->sun);
  if (s->linear == NULL || CVodeSetLinearSolver(s->mem, s->linear, s->matrix) < 0) return false;
  return CVodeSetJacFn(s->mem, jacobian) >= 0;
}

static bool attach_nonlinear_solver(cvode* s, bool adams) {
  s->nonlinear =
      adams ? SUNNonlinSol_FixedPoint(s->x, 0, s->sun) : cpli_sun_newton(s->base.ctx, s->x, s->sun);
  return s->nonlinear != NULL && CVodeSetNonlinearSolver(s->mem, s->nonlinear) >= 0;
}

static bool set_up(cvode* s, bool adams) {
  if (SUNContext_Create(NULL, &s->sun) < 0) return false;
  s->x = cpli_sun_vector(s->ode.n, s->sun);
  s->atol = cpli_sun_vector(s->ode.n, s->sun);
  s->lent = N_VNewEmpty_Serial((sunindextype)s->ode.n, s->sun);
  s->mem = CVodeCreate(adams ? CV_ADAMS : CV_BDF, s->sun);
  if (s->x == NULL || s->atol == NULL || s->lent == NULL || s->mem == NULL) return false;
  if (adams) s->begin = cpli_sun_vector(s->ode.n, s->sun);
  if (adams && s->begin == NULL) return false;
  N_VConst(0, s->x);
  N_VConst(1, s->atol);
  return CVodeInit(s->mem, rhs, 0, s->x) >= 0 && CVodeSetUserData(s->mem, s) >= 0 &&
         CVodeSetErrHandlerFn(s->mem, take_message, s) >= 0 && set_tolerances(s) >= 0 &&
         CVodeSetMaxNumSteps(s->mem, -1) >= 0 && CVodeSetMaxHnilWarns(s->mem, -1) >= 0 &&
         (s->ode.correct == NULL || adams ||
          (CVodeSetProjFn(s->mem, correct) >= 0 && CVodeSetProjErrEst(s->mem, SUNTRUE) >= 0)) &&
         attach_nonlinear_solver(s, adams) && (adams || attach_linear_solver(s));
}

cpl_status cpli_cvode_create(cpl_context* ctx, const cpli_ode* ode, const cpl_solver_def* def,
                             cpl_solver_stats* stats, cpli_solver** out) {
  *out = NULL;
  cvode* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  *s = (cvode){.base = {.ops = &ops, .ctx = ctx, .name = "", .stats = stats},
               .ode = *ode,
               .rtol = def->rtol,
               .gmres = def->kind == CPL_SOLVER_CVODE && def->linear == CPL_LINEAR_GMRES,
               .max_step = INFINITY,
               .refused_at = INFINITY};
  if (!set_up(s, def->kind == CPL_SOLVER_ADAMS)) {
    destroy(&s->base);
    return cpli_nomem(ctx);
  }
  clear(s);
  *out = &s->base;
  return CPL_OK;
}
