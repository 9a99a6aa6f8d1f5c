// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// ARKODE of SUNDIALS: one-step methods, explicit and diagonally implicit.
#include <arkode/arkode_arkstep.h>
#include <math.h>

#include "model/serial.h"
#include "solver/rk87.h"
#include "solver/sundials.h"
#ifdef CPL_SUNDIALS_PRIVATE
#include <sunnonlinsol/sunnonlinsol_newton.h>

#include "arkode_arkstep_impl.h"
#include "arkode_interp_impl.h"
#endif

enum { MAX_TRIES = 20 };           // attempts per step that cannot be projected or evaluated
static const double too_far = 10;  // longest projection accepted, in units of the tolerance

typedef struct arkode {
  cpli_sun sun;
  void* mem;
  bool implicit;
  double t0;  // start of the current step
  double* x0;
  ARKodeButcherTable table;  // Butcher table of an explicit method that repeats steps. Nullable.
  double* stages;            // derivatives at its stages, one after the other
  bool not_projected;
  int64_t counted_steps, counted_rejected, counted_newton, counted_jacobians;
} arkode;

typedef struct method {
  ARKODE_ERKTableID explicit_table;
  ARKODE_DIRKTableID implicit_table;
  const cpli_rk87* own_table;  // replaces both tables. Nullable.
} method;

static const method methods[] = {
    [CPL_SOLVER_DOPRI5] = {ARKODE_DORMAND_PRINCE_7_4_5, ARKODE_DIRK_NONE, NULL},
    [CPL_SOLVER_ERK8] = {ARKODE_ERK_NONE, ARKODE_DIRK_NONE, &cpli_rk87_table},
    [CPL_SOLVER_ESDIRK5] = {ARKODE_ERK_NONE, ARKODE_ESDIRK547L2SA_7_4_5, NULL},
};

//------------------------------------ callbacks ------------------------------------

static int rhs(realtype t, N_Vector x, N_Vector dx, void* user) {
  cpli_sun* s = user;
  s->base.stats->rhs_evals++;
  return cpli_sun_passed_on(
      s, s->ode.rhs(s->ode.user, t, N_VGetArrayPointer(x), N_VGetArrayPointer(dx)));
}

static int jacobian(realtype t, N_Vector x, N_Vector fx, SUNMatrix out, void* user, N_Vector a,
                    N_Vector b, N_Vector c) {
  cpli_sun* s = user;
  (void)fx, (void)a, (void)b, (void)c;
  return cpli_sun_passed_on(
      s, s->ode.jacobian(s->ode.user, t, N_VGetArrayPointer(x), SUNDenseMatrix_Data(out)));
}

static int own_system(realtype t, N_Vector x, N_Vector fx, SUNMatrix m, SUNMatrix mass,
                      booleantype old_will_do, booleantype* is_new, realtype gamma, void* user,
                      N_Vector a, N_Vector b, N_Vector c) {
  cpli_sun* s = user;
  (void)fx, (void)m, (void)mass, (void)a, (void)b, (void)c;
  *is_new = !old_will_do;
  s->base.stats->jac_evals += !old_will_do;
  return cpli_sun_passed_on(
      s, s->ode.newton_setup(s->ode.user, t, N_VGetArrayPointer(x), gamma, !old_will_do));
}

static int own_solve(SUNLinearSolver linear, SUNMatrix m, N_Vector x, N_Vector b,
                     realtype tolerance) {
  cpli_sun* s = linear->content;
  (void)m, (void)tolerance;
  return cpli_sun_passed_on(
      s, s->ode.newton_solve(s->ode.user, N_VGetArrayPointer(b), N_VGetArrayPointer(x)));
}

// After an accepted step. ARKODE cannot undo a step that ends here; step() can.
static int project(realtype t, N_Vector x, void* user) {
  arkode* s = user;
  cpl_status st = s->sun.ode.project(s->sun.ode.user, t, N_VGetArrayPointer(x), too_far);
  s->not_projected = st == CPL_RETRY;
  return cpli_sun_passed_on(&s->sun, st);
}

//------------------------------------ steps ------------------------------------

static void count(arkode* s) {
  long steps = 0, failed = 0, convergence = 0, newton = 0, jacobians = 0;
  ARKStepGetNumSteps(s->mem, &steps);
  ARKStepGetNumErrTestFails(s->mem, &failed);
  if (s->implicit) {
    ARKStepGetNumNonlinSolvConvFails(s->mem, &convergence);
    ARKStepGetNumNonlinSolvIters(s->mem, &newton);
    if (!s->sun.own_system) ARKStepGetNumJacEvals(s->mem, &jacobians);
  }
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

static void forget_counts(arkode* s) {
  s->counted_steps = s->counted_rejected = s->counted_newton = s->counted_jacobians = 0;
}

static cpl_status start(cpli_solver* base, double t, const double* x, const double* atol) {
  arkode* s = (arkode*)base;
  memcpy(N_VGetArrayPointer(s->sun.x), x, s->sun.ode.n * sizeof *x);
  memcpy(N_VGetArrayPointer(s->sun.atol), atol, s->sun.ode.n * sizeof *atol);
  int flag = ARKStepReInit(s->mem, s->implicit ? NULL : rhs, s->implicit ? rhs : NULL, t, s->sun.x);
  if (flag >= 0) flag = ARKStepSVtolerances(s->mem, s->sun.rtol, s->sun.atol);
  if (flag >= 0) flag = ARKStepSetInitStep(s->mem, 0);
  if (flag < 0)
    return cpl_fail_in(base->ctx, CPL_ERR_SOLVER, base->name, NULL, cpli_solver_time(base, t),
                       "ARKODE cannot restart at t=%.12g (%d)", cpli_solver_time(base, t), flag);
  forget_counts(s);
  s->sun.t = t;
  s->sun.stuck = 0;
  base->stats->restarts++;
  return CPL_OK;
}

static const cpli_sun_cause causes[] = {
    {ARK_TOO_MUCH_ACC, "the tolerance is finer than the machine can compute", false},
    {ARK_ERR_FAILURE, "the error test fails even with the shortest step", false},
    {ARK_CONV_FAILURE, "Newton's iteration does not converge even with the shortest step", true},
    {ARK_LSETUP_FAIL, "the Jacobian cannot be evaluated or factorised", true},
    {ARK_RHSFUNC_FAIL, "the derivatives cannot be evaluated", true},
    {ARK_FIRST_RHSFUNC_ERR, "the derivatives cannot be evaluated at the start", true},
    {ARK_REPTD_RHSFUNC_ERR, "the derivatives cannot be evaluated even with the shortest step",
     true},
    {ARK_UNREC_RHSFUNC_ERR, "the derivatives cannot be evaluated even with the shortest step",
     true},
    {ARK_POSTPROCESS_STEP_FAIL, "the constraints cannot be met even with the shortest step", true},
};

static cpl_status failed(arkode* s, int flag) {
  double h = 0;
  ARKStepGetCurrentStep(s->mem, &h);
  return cpli_sun_failed(&s->sun, h, flag, causes, CPLI_COUNT(causes), "ARKODE cannot go on");
}

// ARKODE gives up where an explicit stage cannot be evaluated or the end of a step cannot be
// projected. The step is restarted here with a quarter of its size.
static int evolve(arkode* s, double t_limit, double* reached) {
  size_t bytes = s->sun.ode.n * sizeof(double);
  int flag = 0;
  memcpy(s->x0, N_VGetArrayPointer(s->sun.x), bytes);
  s->t0 = s->sun.t;
  for (int tries = 0; tries < MAX_TRIES; tries++) {
    s->not_projected = false;
    ARKStepSetStopTime(s->mem, t_limit);
    flag = ARKStepEvolve(s->mem, t_limit, s->sun.x, reached, ARK_ONE_STEP);
    bool refused = flag == ARK_UNREC_RHSFUNC_ERR && s->sun.failure == CPL_RETRY;
    if (!s->not_projected && !refused) break;
    double h = 0;
    ARKStepGetCurrentStep(s->mem, &h);
    count(s);
    s->sun.base.stats->rejected++;
    memcpy(N_VGetArrayPointer(s->sun.x), s->x0, bytes);
    double shorter = fmin(h, t_limit - s->sun.t) / 4;
    if (!(s->sun.t + shorter > s->sun.t) || ARKStepReset(s->mem, s->sun.t, s->sun.x) < 0 ||
        ARKStepSetInitStep(s->mem, shorter) < 0)
      break;
  }
  return flag;
}

static cpl_status step(cpli_solver* base, double t_limit, double max_step, double* t, double* x) {
  arkode* s = (arkode*)base;
  if (max_step != s->sun.max_step) {
    ARKStepSetMaxStep(s->mem, isinf(max_step) ? 0 : max_step);
    s->sun.max_step = max_step;
  }
  s->sun.failure = CPL_OK;
  if (s->counted_steps == 0 && cpli_sun_too_close(s->sun.t, t_limit)) {
    s->t0 = s->sun.t;
    memcpy(s->x0, N_VGetArrayPointer(s->sun.x), s->sun.ode.n * sizeof *x);
    return cpli_sun_skipped(&s->sun, t_limit, t, x);
  }
  double reached = s->sun.t;
  int flag = evolve(s, t_limit, &reached);
  count(s);
  if (flag < 0) return failed(s, flag);
  return cpli_sun_reached(&s->sun, reached, t, x);
}

// ARKODE interpolates with a polynomial of degree 5 at most, so a method of higher order repeats
// steps to locate events. ARKODE itself stays at the end of its own step.
static cpl_status again(cpli_solver* base, double h, double* x) {
  arkode* s = (arkode*)base;
  const cpli_ode* ode = &s->sun.ode;
  const ARKodeButcherTable b = s->table;
  for (int k = 0; k <= b->stages; k++) {
    const double* weights = k < b->stages ? b->A[k] : b->b;
    memcpy(x, s->x0, ode->n * sizeof *x);
    for (int j = 0; j < k; j++) {
      const double* slope = s->stages + (size_t)j * ode->n;
      for (size_t i = 0; i < ode->n && weights[j] != 0; i++) x[i] += h * weights[j] * slope[i];
    }
    if (k == b->stages) break;
    base->stats->rhs_evals++;
    cpl_status st = ode->rhs(ode->user, s->t0 + b->c[k] * h, x, s->stages + (size_t)k * ode->n);
    if (st != CPL_OK) return st;
  }
  return ode->project != NULL ? ode->project(ode->user, s->t0 + h, x, too_far) : CPL_OK;
}

static cpl_status solution(cpli_solver* base, double t, double* x) {
  return again(base, t - ((arkode*)base)->t0, x);
}

static cpl_status interpolate(cpli_solver* base, double t, double* x) {
  arkode* s = (arkode*)base;
  if (s->sun.unmoved) {
    memcpy(x, N_VGetArrayPointer(s->sun.x), s->sun.ode.n * sizeof *x);
    return CPL_OK;
  }
  N_VSetArrayPointer(x, s->sun.lent);
  int flag = ARKStepGetDky(s->mem, t, 0, s->sun.lent);
  return flag < 0 ? failed(s, flag) : CPL_OK;
}

//------------------------------------ create ------------------------------------

static void destroy(cpli_solver* base) {
  if (base == NULL) return;
  arkode* s = (arkode*)base;
  if (s->mem != NULL) ARKStepFree(&s->mem);
  cpli_sun_free(&s->sun);
  cpli_free(base->ctx, s->x0);
  cpli_free(base->ctx, s->stages);
  cpli_free(base->ctx, s);
}

//------------------------------------ history ------------------------------------

#ifdef CPL_SUNDIALS_PRIVATE

// What ARKODE allocates before its first step after a start.
static bool prepare(ARKodeMem k) {
  if (!k->initsetup || k->step_init(k, k->init_type) != ARK_SUCCESS) return !k->initsetup;
  if (k->rwt_is_ewt) k->rwt = k->ewt;
  N_VConst(0, k->fn);
  return arkInterpInit(k, k->interp, k->tcur) == ARK_SUCCESS;
}

static void list_numbers(cpli_serial* s, ARKodeMem k) {
  ARKodeHAdaptMem a = k->hadapt_mem;
  ARKInterpContent_Hermite i = k->interp->content;
  CPLI_LIST(s, k->h), CPLI_LIST(s, k->hprime), CPLI_LIST(s, k->next_h), CPLI_LIST(s, k->eta);
  CPLI_LIST(s, k->tcur), CPLI_LIST(s, k->tretlast), CPLI_LIST(s, k->tn), CPLI_LIST(s, k->hold);
  CPLI_LIST(s, k->h0u), CPLI_LIST(s, k->tolsf), CPLI_LIST(s, k->tstopset), CPLI_LIST(s, k->tstop);
  CPLI_LIST(s, k->nst_attempts), CPLI_LIST(s, k->nst), CPLI_LIST(s, k->nhnil);
  CPLI_LIST(s, k->ncfn), CPLI_LIST(s, k->netf), CPLI_LIST(s, k->initsetup);
  CPLI_LIST(s, k->firststage), CPLI_LIST(s, k->initialized), CPLI_LIST(s, k->call_fullrhs);
  CPLI_LIST(s, a->etamax), CPLI_LIST(s, a->ehist), CPLI_LIST(s, a->hhist);
  CPLI_LIST(s, a->nst_acc), CPLI_LIST(s, a->nst_exp);
  CPLI_LIST(s, i->told), CPLI_LIST(s, i->tnew), CPLI_LIST(s, i->h);
}

// Of Newton's iteration: the stages are solved one after the other, the rest stays from step to
// step.
static void list_newton(cpli_serial* s, arkode* k, ARKodeARKStepMem m) {
  SUNNonlinearSolverContent_Newton newton = m->NLS->content;
  ARKLsMem l = m->lmem;
  CPLI_LIST(s, m->gamma), CPLI_LIST(s, m->gammap), CPLI_LIST(s, m->gamrat);
  CPLI_LIST(s, m->crate), CPLI_LIST(s, m->delp), CPLI_LIST(s, m->eRNrm);
  CPLI_LIST(s, m->nstlp), CPLI_LIST(s, m->convfail), CPLI_LIST(s, m->jcur);
  CPLI_LIST(s, m->nsetups), CPLI_LIST(s, m->nls_iters), CPLI_LIST(s, m->nls_fails);
  CPLI_LIST(s, newton->jcur), CPLI_LIST(s, newton->curiter);
  CPLI_LIST(s, newton->niters), CPLI_LIST(s, newton->nconvfails);
  CPLI_LIST(s, l->jbad), CPLI_LIST(s, l->tcur), CPLI_LIST(s, l->nje), CPLI_LIST(s, l->nfeDQ);
  CPLI_LIST(s, l->nstlj), CPLI_LIST(s, l->npe), CPLI_LIST(s, l->nli), CPLI_LIST(s, l->nps);
  CPLI_LIST(s, l->ncfl), CPLI_LIST(s, l->last_flag);
  N_Vector vectors[] = {m->sdata, m->zpred, m->zcor};
  for (size_t i = 0; i < CPLI_COUNT(vectors); i++) cpli_sun_list_vector(s, vectors[i]);
  if (l->savedJ != NULL && !k->sun.own_system)
    cpli_serial_reals(s, SUNDenseMatrix_Data(l->savedJ), k->sun.ode.n * k->sun.ode.n);
  cpli_sun_list_dense(&k->sun, s);
}

static void list_step(cpli_serial* s, arkode* k, ARKodeMem mem) {
  ARKodeARKStepMem m = mem->step_mem;
  ARKInterpContent_Hermite i = mem->interp->content;
  N_Vector vectors[] = {mem->ewt, mem->yn, mem->fn, i->fold, i->yold};
  N_Vector* stages = k->implicit ? m->Fi : m->Fe;
  for (size_t v = 0; v < CPLI_COUNT(vectors); v++) cpli_sun_list_vector(s, vectors[v]);
  for (int v = 0; v < m->stages; v++) cpli_sun_list_vector(s, stages[v]);
  CPLI_LIST(s, m->nfe), CPLI_LIST(s, m->nfi);
  if (k->implicit) list_newton(s, k, m);
}

static void history(cpli_solver* base, cpli_serial* serial) {
  arkode* s = (arkode*)base;
  ARKodeMem k = s->mem;
  int64_t* counts[] = {&s->counted_steps, &s->counted_rejected, &s->counted_newton,
                       &s->counted_jacobians};
  cpli_sun_list(&s->sun, serial);
  cpli_serial_real(serial, &s->t0);
  cpli_serial_reals(serial, s->x0, s->sun.ode.n);
  cpli_serial_bool(serial, &s->not_projected);
  for (size_t i = 0; i < CPLI_COUNT(counts); i++) cpli_serial_long(serial, counts[i]);
  CPLI_LIST(serial, k->hin), CPLI_LIST(serial, k->hmax_inv);
  bool stepped = !k->initsetup;
  cpli_serial_bool(serial, &stepped);
  if (!stepped || serial->st < 0) return;  // it has just been started
  if (cpli_serial_reads(serial) &&
      (ARKStepSVtolerances(s->mem, s->sun.rtol, s->sun.atol) < 0 || !prepare(k)))
    cpli_serial_refuse(serial, "ARKODE cannot be prepared for it");
  if (serial->st < 0) return;
  list_numbers(serial, k);
  list_step(serial, s, k);
}
#define HISTORY history
#else
#define HISTORY NULL
#endif

//------------------------------------ operations ------------------------------------

#define COMMON_OPS \
  .destroy = destroy, .start = start, .step = step, .interpolate = interpolate, .history = HISTORY
static const cpli_solver_ops ops[2] = {{COMMON_OPS},
                                       {COMMON_OPS, .again = again, .solution = solution}};

// Derivatives at stages follow from the solved stage, not from an evaluation there: for stiff
// models an evaluation would multiply the residual error of Newton's iteration by the step size,
// and it would dominate the error test. Three iterations, ARKODE's default limit, are too few from
// its initial guess, and a convergence rate remembered from easier stages ends an iteration too
// early.
static bool set_up_newton(arkode* s) {
  return ARKStepSetDeduceImplicitRhs(s->mem, 1) >= 0 && ARKStepSetMaxNonlinIters(s->mem, 7) >= 0 &&
         ARKStepSetNonlinCRDown(s->mem, 0.9) >= 0 && ARKStepSetNonlinConvCoef(s->mem, 0.01) >= 0 &&
         ARKStepSetMaxConvFails(s->mem, 20) >= 0;
}

static bool attach_linear_solver(arkode* s) {
  if (ARKStepSetLinearSolver(s->mem, s->sun.linear, s->sun.matrix) < 0 || !set_up_newton(s))
    return false;
  if (s->sun.own_system) return ARKStepSetLinSysFn(s->mem, own_system) >= 0;
  return ARKStepSetJacFn(s->mem, jacobian) >= 0;
}

static bool set_table(arkode* s, const method* how) {
  if (how->own_table == NULL)
    return ARKStepSetTableNum(s->mem, how->implicit_table, how->explicit_table) >= 0;
  cpli_rk87 t = *how->own_table;  // ARKODE takes no const
  ARKodeButcherTable table = ARKodeButcherTable_Create(CPLI_RK87_STAGES, 8, 7, t.c, t.a, t.b, t.d);
  bool fine = table != NULL && ARKStepSetTables(s->mem, 8, 7, NULL, table) >= 0;
  ARKodeButcherTable_Free(table);
  return fine;
}

enum { DENSE_ORDER = 5 };  // up to this order, a method interpolates as accurately as it steps

static bool prepare_again(arkode* s) {
  ARKodeButcherTable implicit_table = NULL, explicit_table = NULL;
  if (s->implicit) return true;
  if (ARKStepGetCurrentButcherTables(s->mem, &implicit_table, &explicit_table) < 0) return false;
  if (explicit_table == NULL || explicit_table->q <= DENSE_ORDER) return explicit_table != NULL;
  s->table = explicit_table;
  s->stages = cpli_alloc(s->sun.base.ctx, (size_t)s->table->stages * s->sun.ode.n, sizeof(double));
  s->sun.base.ops = &ops[1];
  return s->stages != NULL;
}

static bool set_up(arkode* s, const method* how) {
  if (!cpli_sun_set_up(&s->sun, s->implicit, own_solve)) return false;
  s->mem =
      ARKStepCreate(s->implicit ? NULL : rhs, s->implicit ? rhs : NULL, 0, s->sun.x, s->sun.sun);
  if (s->mem == NULL) return false;
  bool projects = s->sun.ode.project != NULL;
  s->x0 = cpli_alloc(s->sun.base.ctx, s->sun.ode.n, sizeof(double));
  return s->x0 != NULL && ARKStepSetUserData(s->mem, s) >= 0 &&
         ARKStepSetErrHandlerFn(s->mem, cpli_sun_message, s) >= 0 &&
         ARKStepSVtolerances(s->mem, s->sun.rtol, s->sun.atol) >= 0 && set_table(s, how) &&
         ARKStepSetMaxNumSteps(s->mem, -1) >= 0 && ARKStepSetMaxErrTestFails(s->mem, 20) >= 0 &&
         ARKStepSetMaxHnilWarns(s->mem, -1) >= 0 &&
         (!projects || ARKStepSetPostprocessStepFn(s->mem, project) >= 0) &&
         (!s->implicit || attach_linear_solver(s)) && prepare_again(s);
}

cpl_status cpli_arkode_create(cpl_context* ctx, const cpli_ode* ode, const cpl_solver_def* def,
                              cpl_solver_stats* stats, cpli_solver** out) {
  *out = NULL;
  arkode* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  s->sun = (cpli_sun){.base = {.ops = &ops[0], .ctx = ctx, .name = "", .stats = stats},
                      .ode = *ode,
                      .rtol = def->rtol,
                      .max_step = INFINITY};
  s->implicit = methods[def->kind].implicit_table != ARKODE_DIRK_NONE;
  if (!set_up(s, &methods[def->kind])) {
    destroy(&s->sun.base);
    return cpli_nomem(ctx);
  }
  *out = &s->sun.base;
  return CPL_OK;
}
