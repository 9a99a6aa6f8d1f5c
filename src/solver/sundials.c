// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Empty matrices and linear solvers that delegate linear systems to the equation, the mapping of
// status codes and messages, and the end of steps that failed, were too short or did not advance
// the time.
#include "solver/sundials.h"
#include <float.h>

#include <math.h>

#include "model/serial.h"

//------------------------------------ linear systems ------------------------------------

// The integrator gets an empty matrix and a solver that delegates to the equation.
static SUNMatrix_ID no_matrix(SUNMatrix m) {
  (void)m;
  return SUNMATRIX_CUSTOM;
}

static int zero_matrix(SUNMatrix m) {
  (void)m;
  return 0;
}

static SUNLinearSolver_Type own_type(SUNLinearSolver s) {
  (void)s;
  return SUNLINEARSOLVER_DIRECT;
}

static int own_setup(SUNLinearSolver s, SUNMatrix m) {
  (void)s, (void)m;
  return 0;
}

static int own_initialize(SUNLinearSolver s) {
  (void)s;
  return 0;
}

bool cpli_sun_empty_solver(SUNContext sun,
                           int (*solve)(SUNLinearSolver, SUNMatrix, N_Vector, N_Vector, realtype),
                           void* content, SUNMatrix* matrix, SUNLinearSolver* linear) {
  *matrix = SUNMatNewEmpty(sun);
  *linear = SUNLinSolNewEmpty(sun);
  if (*matrix == NULL || *linear == NULL) return false;
  (*matrix)->ops->getid = no_matrix;
  (*matrix)->ops->zero = zero_matrix;  // IDA does so before it asks for a Jacobian
  (*linear)->ops->gettype = own_type;
  (*linear)->ops->initialize = own_initialize;
  (*linear)->ops->setup = own_setup;
  (*linear)->ops->solve = solve;
  (*linear)->content = content;
  return true;
}

static bool make_dense(cpli_sun* s) {
  s->matrix = SUNDenseMatrix((sunindextype)s->ode.n, (sunindextype)s->ode.n, s->sun);
  if (s->matrix != NULL) s->linear = SUNLinSol_Dense(s->x, s->matrix, s->sun);
  return s->linear != NULL;
}

bool cpli_sun_set_up(cpli_sun* s, bool implicit,
                     int (*solve)(SUNLinearSolver, SUNMatrix, N_Vector, N_Vector, realtype)) {
  if (SUNContext_Create(NULL, &s->sun) < 0) return false;
  s->x = N_VNew_Serial((sunindextype)s->ode.n, s->sun);
  s->atol = N_VNew_Serial((sunindextype)s->ode.n, s->sun);
  s->lent = N_VNewEmpty_Serial((sunindextype)s->ode.n, s->sun);
  if (s->x == NULL || s->atol == NULL || s->lent == NULL) return false;
  N_VConst(0, s->x);
  N_VConst(1, s->atol);
  s->own_system = implicit && s->ode.newton_setup != NULL;
  if (!implicit) return true;
  return s->own_system ? cpli_sun_empty_solver(s->sun, solve, s, &s->matrix, &s->linear)
                       : make_dense(s);
}

void cpli_sun_free(cpli_sun* s) {
  if (s->linear != NULL && s->own_system) SUNLinSolFreeEmpty(s->linear);
  if (s->linear != NULL && !s->own_system) SUNLinSolFree(s->linear);
  if (s->matrix != NULL && s->own_system) SUNMatFreeEmpty(s->matrix);
  if (s->matrix != NULL && !s->own_system) SUNMatDestroy(s->matrix);
  N_Vector vectors[] = {s->x, s->atol, s->lent};
  for (size_t i = 0; i < CPLI_COUNT(vectors); i++) {
    if (vectors[i] != NULL) N_VDestroy(vectors[i]);
  }
  if (s->sun != NULL) SUNContext_Free(&s->sun);
}

//------------------------------------ callbacks ------------------------------------

int cpli_sun_passed_on(cpli_sun* s, cpl_status st) {
  if (st != CPL_OK) s->failure = st;
  return st < 0 ? -1 : st > 0 ? 1 : 0;
}

void cpli_sun_message(int code, const char* module, const char* function, char* text, void* user) {
  cpli_sun* s = user;
  (void)module;
  if (code > 0) cpl_log(s->base.ctx, CPL_LOG_DEBUG, s->base.name, "%s: %s", function, text);
}

//------------------------------------ steps ------------------------------------

cpl_status cpli_sun_failed(cpli_sun* s, double h, int flag, const cpli_sun_cause* causes, size_t n,
                           const char* otherwise) {
  static const char format[] = "%s: the solver stopped at t=%.12g (step %.3g): %s";
  cpli_sun_cause why = {flag, otherwise, true};
  for (size_t i = 0; i < n; i++) {
    if (causes[i].flag == flag) why = causes[i];
  }
  double now = cpli_solver_time(&s->base, s->t);
  if (s->failure < 0) return s->failure;
  if (s->failure == CPL_RETRY && why.models_fault)
    return cpl_fail_prefix(s->base.ctx, CPL_ERR_MODEL, format, s->base.name, now, h, why.text);
  return cpl_fail(s->base.ctx, CPL_ERR_SOLVER, format, s->base.name, now, h, why.text);
}

void cpli_move_along(const cpli_ode* ode, double t, double h, double* at, double* x) {
  cpl_status st = ode->rhs(ode->user, t, at, x);
  for (size_t i = 0; i < ode->n - ode->n_algebraic && st == CPL_OK; i++) at[i] += h * x[i];
  memcpy(x, at, ode->n * sizeof *x);
}

bool cpli_sun_too_close(double t, double t_limit) {
  return t_limit - t <= 256 * DBL_EPSILON * fmax(fabs(t), fabs(t_limit));
}

cpl_status cpli_sun_skipped(cpli_sun* s, double t_limit, double* t, double* x) {
  cpli_move_along(&s->ode, s->t, t_limit - s->t, N_VGetArrayPointer(s->x), x);
  *t = s->t = t_limit;
  s->unmoved = true;
  return CPL_OK;
}

cpl_status cpli_sun_reached(cpli_sun* s, double reached, double* t, double* x) {
  s->unmoved = false;
  s->stuck = reached > s->t ? 0 : s->stuck + 1;
  if (s->stuck > 10) {
    return cpl_fail_in(s->base.ctx, CPL_ERR_SOLVER, s->base.name, NULL,
                       cpli_solver_time(&s->base, s->t),
                       "time does not advance any more at t=%.12g: the solution has a singularity "
                       "there, or a derivative is far too large",
                       cpli_solver_time(&s->base, s->t));
  }
  *t = s->t = reached;
  memcpy(x, N_VGetArrayPointer(s->x), s->ode.n * sizeof *x);
  return CPL_OK;
}

//------------------------------------ history ------------------------------------

void cpli_sun_list_vector(cpli_serial* serial, N_Vector v) {
  cpli_serial_reals(serial, N_VGetArrayPointer(v), (size_t)N_VGetLength(v));
}

void cpli_sun_list(cpli_sun* s, cpli_serial* serial) {
  int32_t stuck = s->stuck, failure = (int32_t)s->failure;
  cpli_sun_list_vector(serial, s->x);
  cpli_sun_list_vector(serial, s->atol);
  cpli_serial_real(serial, &s->t);
  cpli_serial_real(serial, &s->max_step);
  cpli_serial_bool(serial, &s->unmoved);
  cpli_serial_count32(serial, &stuck);
  cpli_serial_bytes(serial, &failure, sizeof failure);
  s->stuck = stuck;
  s->failure = (cpl_status)failure;
}

void cpli_sun_list_dense(cpli_sun* s, cpli_serial* serial) {
  if (s->linear == NULL || s->own_system) return;
  SUNLinearSolverContent_Dense dense = s->linear->content;
  cpli_serial_reals(serial, SUNDenseMatrix_Data(s->matrix), s->ode.n * s->ode.n);
  for (size_t i = 0; i < s->ode.n; i++) {
    int32_t pivot = (int32_t)dense->pivots[i];
    cpli_serial_int(serial, &pivot, 0, (int32_t)s->ode.n - 1);
    dense->pivots[i] = pivot;
  }
}
