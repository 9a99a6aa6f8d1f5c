// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// IDA of SUNDIALS: BDF for the residual x' - f(t, x), followed by the residuals of the algebraic
// variables.
#include <ida/ida.h>
#include <math.h>

#include "model/serial.h"
#include "solver/sundials.h"
#ifdef CPL_SUNDIALS_PRIVATE
#include <sunnonlinsol/sunnonlinsol_newton.h>

#include "ida_impl.h"
#include "ida_ls_impl.h"
#endif

typedef struct ida {
  cpli_sun sun;
  void* mem;
  N_Vector dx;
  N_Vector right;  // right-hand side, with the equation's own linear system
  double scale;    // likewise: IDA's rows of states are this multiple of I - gamma df/dx
  int64_t counted_steps, counted_rejected, counted_newton, counted_jacobians;
} ida;

//------------------------------------ callbacks ------------------------------------

static size_t n_states(const cpli_sun* s) { return s->ode.n - s->ode.n_algebraic; }

static int residual(realtype t, N_Vector x, N_Vector dx, N_Vector out, void* user) {
  cpli_sun* s = user;
  double *r = N_VGetArrayPointer(out), *d = N_VGetArrayPointer(dx);
  s->base.stats->rhs_evals++;
  cpl_status st = s->ode.rhs(s->ode.user, t, N_VGetArrayPointer(x), r);
  for (size_t i = 0; i < n_states(s); i++) r[i] = d[i] - r[i];
  return cpli_sun_passed_on(s, st);
}

static int jacobian(realtype t, realtype cj, N_Vector x, N_Vector dx, N_Vector r, SUNMatrix out,
                    void* user, N_Vector a, N_Vector b, N_Vector c) {
  cpli_sun* s = user;
  size_t n = s->ode.n;
  double* m = SUNDenseMatrix_Data(out);
  (void)dx, (void)r, (void)a, (void)b, (void)c;
  cpl_status st = s->ode.jacobian(s->ode.user, t, N_VGetArrayPointer(x), m);
  size_t nx = n_states(s);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < nx; i++) m[j * n + i] = -m[j * n + i];
  }
  for (size_t i = 0; i < nx; i++) m[i * n + i] += cj;
  return cpli_sun_passed_on(s, st);
}

static int own_system(realtype t, realtype cj, N_Vector x, N_Vector dx, N_Vector r, SUNMatrix out,
                      void* user, N_Vector a, N_Vector b, N_Vector c) {
  ida* s = user;
  (void)dx, (void)r, (void)out, (void)a, (void)b, (void)c;
  s->scale = cj;
  s->sun.base.stats->jac_evals++;
  return cpli_sun_passed_on(
      &s->sun, s->sun.ode.newton_setup(s->sun.ode.user, t, N_VGetArrayPointer(x), 1 / cj, true));
}

static int own_solve(SUNLinearSolver linear, SUNMatrix m, N_Vector x, N_Vector b,
                     realtype tolerance) {
  ida* s = linear->content;
  double *right = N_VGetArrayPointer(s->right), *given = N_VGetArrayPointer(b);
  size_t nx = n_states(&s->sun);
  (void)m, (void)tolerance;
  for (size_t i = 0; i < nx; i++) right[i] = given[i] / s->scale;
  for (size_t i = nx; i < s->sun.ode.n; i++) right[i] = given[i];
  return cpli_sun_passed_on(&s->sun,
                            s->sun.ode.newton_solve(s->sun.ode.user, right, N_VGetArrayPointer(x)));
}

//------------------------------------ steps ------------------------------------

static void count(ida* s) {
  long steps = 0, failed = 0, convergence = 0, newton = 0, jacobians = 0;
  IDAGetNumSteps(s->mem, &steps);
  IDAGetNumErrTestFails(s->mem, &failed);
  IDAGetNumNonlinSolvConvFails(s->mem, &convergence);
  IDAGetNumNonlinSolvIters(s->mem, &newton);
  if (!s->sun.own_system) IDAGetNumJacEvals(s->mem, &jacobians);
  cpl_solver_stats* stats = s->sun.base.stats;
  stats->steps += steps - s->counted_steps;
  stats->rejected += failed + convergence - s->counted_rejected;
  stats->newton_iters += newton - s->counted_newton;
  stats->jac_evals += jacobians - s->counted_jacobians;
  s->counted_steps = steps;
  s->counted_rejected = failed + convergence;
  s->counted_newton = newton;
  s->counted_jacobians = jacobians;
}

static cpl_status start(cpli_solver* base, double t, const double* x, const double* atol) {
  ida* s = (ida*)base;
  memcpy(N_VGetArrayPointer(s->sun.x), x, s->sun.ode.n * sizeof *x);
  memcpy(N_VGetArrayPointer(s->sun.atol), atol, s->sun.ode.n * sizeof *atol);
  base->stats->rhs_evals++;
  cpl_status st = s->sun.ode.rhs(s->sun.ode.user, t, x, N_VGetArrayPointer(s->dx));
  if (st == CPL_OK && s->sun.ode.n_algebraic > 0)
    st = s->sun.ode.slopes(s->sun.ode.user, t, x, N_VGetArrayPointer(s->dx));
  if (st != CPL_OK)
    return cpl_fail_prefix(base->ctx, st < 0 ? st : CPL_ERR_MODEL,
                           "%s: the derivatives cannot be evaluated at the start", base->name);
  int flag = IDAReInit(s->mem, t, s->sun.x, s->dx);
  if (flag >= 0) flag = IDASVtolerances(s->mem, s->sun.rtol, s->sun.atol);
  if (flag < 0)
    return cpl_fail_in(base->ctx, CPL_ERR_SOLVER, base->name, NULL, cpli_solver_time(base, t),
                       "IDA cannot restart at t=%.12g (%d)", cpli_solver_time(base, t), flag);
  s->counted_steps = s->counted_rejected = s->counted_newton = s->counted_jacobians = 0;
  s->sun.t = t;
  s->sun.stuck = 0;
  base->stats->restarts++;
  return CPL_OK;
}

static const cpli_sun_cause causes[] = {
    {IDA_TOO_MUCH_ACC, "the tolerance is finer than the machine can compute", false},
    {IDA_ERR_FAIL, "the error test fails even with the shortest step", false},
    {IDA_CONV_FAIL, "Newton's iteration does not converge even with the shortest step", true},
    {IDA_LSETUP_FAIL, "the Jacobian cannot be evaluated or factorised", true},
    {IDA_RES_FAIL, "the derivatives cannot be evaluated", true},
    {IDA_REP_RES_ERR, "the derivatives cannot be evaluated even with the shortest step", true},
};

static cpl_status failed(ida* s, int flag) {
  double h = 0;
  IDAGetCurrentStep(s->mem, &h);
  return cpli_sun_failed(&s->sun, h, flag, causes, CPLI_COUNT(causes), "IDA cannot go on");
}

static cpl_status step(cpli_solver* base, double t_limit, double max_step, double* t, double* x) {
  ida* s = (ida*)base;
  if (max_step != s->sun.max_step) {
    IDASetMaxStep(s->mem, isinf(max_step) ? 0 : max_step);
    s->sun.max_step = max_step;
  }
  s->sun.failure = CPL_OK;
  if (s->counted_steps == 0 && cpli_sun_too_close(s->sun.t, t_limit))
    return cpli_sun_skipped(&s->sun, t_limit, t, x);
  double reached = s->sun.t;
  IDASetStopTime(s->mem, t_limit);
  int flag = IDASolve(s->mem, t_limit, &reached, s->sun.x, s->dx, IDA_ONE_STEP);
  count(s);
  if (flag < 0) return failed(s, flag);
  return cpli_sun_reached(&s->sun, reached, t, x);
}

static cpl_status interpolate(cpli_solver* base, double t, double* x) {
  ida* s = (ida*)base;
  if (s->sun.unmoved) {
    memcpy(x, N_VGetArrayPointer(s->sun.x), s->sun.ode.n * sizeof *x);
    return CPL_OK;
  }
  N_VSetArrayPointer(x, s->sun.lent);
  int flag = IDAGetDky(s->mem, t, 0, s->sun.lent);
  return flag < 0 ? failed(s, flag) : CPL_OK;
}

//------------------------------------ create ------------------------------------

static void destroy(cpli_solver* base) {
  if (base == NULL) return;
  ida* s = (ida*)base;
  if (s->mem != NULL) IDAFree(&s->mem);
  if (s->dx != NULL) N_VDestroy(s->dx);
  if (s->right != NULL) N_VDestroy(s->right);
  cpli_sun_free(&s->sun);
  cpli_free(base->ctx, s);
}

//------------------------------------ history ------------------------------------

#ifdef CPL_SUNDIALS_PRIVATE

enum { DIFFERENCES = MXORDP1 };  // vectors of the divided differences

// What IDA does before the first step after a start.
static bool prepare(ida* s, IDAMem k) {
  bool fine = IDASVtolerances(s->mem, s->sun.rtol, s->sun.atol) >= 0;
  k->ida_edata = k;
  fine = fine && (k->ida_linit == NULL || k->ida_linit(k) == 0) && idaNlsInit(k) == IDA_SUCCESS;
  k->ida_SetupDone = fine;
  return fine;
}

// Orders, which are indices of vectors.
static void list_orders(cpli_serial* s, IDAMem k) {
  int* orders[] = {&k->ida_kk, &k->ida_kused, &k->ida_knew, &k->ida_phase, &k->ida_ns};
  const int max[] = {k->ida_maxord, k->ida_maxord, k->ida_maxord, 1, k->ida_maxord + 2};
  for (size_t i = 0; i < CPLI_COUNT(orders); i++) {
    int32_t order = *orders[i];
    cpli_serial_int(s, &order, i < 2, max[i]);
    *orders[i] = order;
  }
}

static void list_numbers(cpli_serial* s, IDAMem k) {
  SUNNonlinearSolverContent_Newton newton = k->NLS->content;
  CPLI_LIST(s, k->ida_psi), CPLI_LIST(s, k->ida_alpha), CPLI_LIST(s, k->ida_beta);
  CPLI_LIST(s, k->ida_sigma), CPLI_LIST(s, k->ida_gamma);
  CPLI_LIST(s, k->ida_cvals), CPLI_LIST(s, k->ida_dvals);
  CPLI_LIST(s, k->ida_tstopset), CPLI_LIST(s, k->ida_tstop), CPLI_LIST(s, k->ida_h0u);
  CPLI_LIST(s, k->ida_hh), CPLI_LIST(s, k->ida_hused), CPLI_LIST(s, k->ida_eta);
  CPLI_LIST(s, k->ida_tretlast), CPLI_LIST(s, k->ida_cj), CPLI_LIST(s, k->ida_cjlast);
  CPLI_LIST(s, k->ida_cjold), CPLI_LIST(s, k->ida_cjratio), CPLI_LIST(s, k->ida_ss);
  CPLI_LIST(s, k->ida_oldnrm), CPLI_LIST(s, k->ida_epsNewt), CPLI_LIST(s, k->ida_toldel);
  CPLI_LIST(s, k->ida_nre), CPLI_LIST(s, k->ida_ncfn), CPLI_LIST(s, k->ida_netf);
  CPLI_LIST(s, k->ida_nni), CPLI_LIST(s, k->ida_nnf), CPLI_LIST(s, k->ida_nsetups);
  CPLI_LIST(s, k->ida_tolsf), CPLI_LIST(s, newton->jcur), CPLI_LIST(s, newton->curiter);
  CPLI_LIST(s, newton->niters), CPLI_LIST(s, newton->nconvfails);
}

static void list_linear(cpli_serial* s, ida* k, IDALsMem l) {
  CPLI_LIST(s, l->nje), CPLI_LIST(s, l->npe), CPLI_LIST(s, l->nli), CPLI_LIST(s, l->nps);
  CPLI_LIST(s, l->ncfl), CPLI_LIST(s, l->nreDQ), CPLI_LIST(s, l->last_flag);
  CPLI_LIST(s, l->nst0), CPLI_LIST(s, l->nni0), CPLI_LIST(s, l->ncfn0);
  CPLI_LIST(s, l->ncfl0), CPLI_LIST(s, l->nwarn);
  cpli_sun_list_dense(&k->sun, s);
}

// A history is written as a whole, also vectors that no step has used yet.
static void clear(ida* s) {
  IDAMem k = s->mem;
  N_Vector vectors[] = {k->ida_ewt,       k->ida_ee,        k->ida_delta,
                        k->ida_yypredict, k->ida_yppredict, k->ida_savres};
  for (int i = 0; i < DIFFERENCES; i++) N_VConst(0, k->ida_phi[i]);
  for (size_t i = 0; i < CPLI_COUNT(vectors); i++) N_VConst(0, vectors[i]);
}

static void history(cpli_solver* base, cpli_serial* serial) {
  ida* s = (ida*)base;
  IDAMem k = s->mem;
  int64_t* counts[] = {&s->counted_steps, &s->counted_rejected, &s->counted_newton,
                       &s->counted_jacobians};
  cpli_sun_list(&s->sun, serial);
  cpli_sun_list_vector(serial, s->dx);
  cpli_serial_real(serial, &s->scale);
  for (size_t i = 0; i < CPLI_COUNT(counts); i++) cpli_serial_long(serial, counts[i]);
  CPLI_LIST(serial, k->ida_hmax_inv), CPLI_LIST(serial, k->ida_tn), CPLI_LIST(serial, k->ida_nst);
  for (int i = 0; i < 2; i++) cpli_sun_list_vector(serial, k->ida_phi[i]);
  if (k->ida_nst == 0 || serial->st < 0) return;  // it has just been started
  if (cpli_serial_reads(serial) && !prepare(s, k))
    cpli_serial_refuse(serial, "IDA cannot be prepared for it");
  list_orders(serial, k);
  list_numbers(serial, k);
  N_Vector vectors[] = {k->ida_ewt,       k->ida_ee,        k->ida_delta,
                        k->ida_yypredict, k->ida_yppredict, k->ida_savres};
  for (int i = 2; i < DIFFERENCES; i++) cpli_sun_list_vector(serial, k->ida_phi[i]);
  for (size_t i = 0; i < CPLI_COUNT(vectors); i++) cpli_sun_list_vector(serial, vectors[i]);
  list_linear(serial, s, k->ida_lmem);
}
#define HISTORY history
#else
static void clear(ida* s) { (void)s; }
#define HISTORY NULL
#endif

static const cpli_solver_ops ops = {.destroy = destroy,
                                    .start = start,
                                    .step = step,
                                    .interpolate = interpolate,
                                    .history = HISTORY};

static bool set_up(ida* s) {
  if (!cpli_sun_set_up(&s->sun, true, own_solve)) return false;
  s->dx = N_VNew_Serial((sunindextype)s->sun.ode.n, s->sun.sun);
  s->right = N_VNew_Serial((sunindextype)s->sun.ode.n, s->sun.sun);
  s->mem = IDACreate(s->sun.sun);
  if (s->dx == NULL || s->right == NULL || s->mem == NULL) return false;
  N_VConst(0, s->dx);
  if (s->sun.own_system) s->sun.linear->content = s;
  IDALsJacFn jac = s->sun.own_system ? own_system : jacobian;
  return IDAInit(s->mem, residual, 0, s->sun.x, s->dx) >= 0 && IDASetUserData(s->mem, s) >= 0 &&
         IDASetErrHandlerFn(s->mem, cpli_sun_message, s) >= 0 &&
         IDASVtolerances(s->mem, s->sun.rtol, s->sun.atol) >= 0 &&
         IDASetMaxNumSteps(s->mem, -1) >= 0 &&
         IDASetLinearSolver(s->mem, s->sun.linear, s->sun.matrix) >= 0 &&
         IDASetJacFn(s->mem, jac) >= 0;
}

cpl_status cpli_ida_create(cpl_context* ctx, const cpli_ode* ode, const cpl_solver_def* def,
                           cpl_solver_stats* stats, cpli_solver** out) {
  *out = NULL;
  ida* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  s->sun = (cpli_sun){.base = {.ops = &ops, .ctx = ctx, .name = "", .stats = stats},
                      .ode = *ode,
                      .rtol = def->rtol,
                      .max_step = INFINITY};
  if (!set_up(s)) {
    destroy(&s->sun.base);
    return cpli_nomem(ctx);
  }
  clear(s);
  *out = &s->sun.base;
  return CPL_OK;
}
