// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The linear systems of Newton's method for a large model without a linear solver of its own whose
// states depend on few others: (I - gamma J) dx = r in the rows of states, J in those of residuals,
// with the sparsity pattern of the model. The library solves them with KLU; an FMU has its own
// factorisation, and no residuals.
#ifndef CPL_FMU_PARTS
#include "model/history.h"
#endif
#include "numeric/factors.h"
#include "numeric/sparse_lu.h"
#include "solver/integrated.h"

#ifdef CPL_FMU_PARTS
typedef cpli_factors backend;
#else
typedef cpli_sparse_lu backend;
#endif

struct cpli_linear {
  backend* of;
  cpl_status (*evaluate)(void* user, double t, const double* x, double* entries);
  double* entries;
  size_t n_entries;
  double gamma;
};

#ifdef CPL_FMU_PARTS

static cpl_status make(cpl_context* ctx, const cpli_pattern* p, backend** out) {
  static const double max_filled = 0.1;  // above this density a dense matrix is faster
  return cpli_factors_make(ctx, p, max_filled, out);
}

static bool factor(const cpli_integrate* s) {
  return cpli_factors_find(s->linear->of, s->linear->entries, s->linear->gamma);
}

static void solve_for(const cpli_integrate* s, const double* r, double* dx) {
  cpli_factors_solve(s->linear->of, r, dx);
}

static void destroy(backend* of) { cpli_factors_destroy(of); }

void cpli_linear_forget(cpli_integrate* s) { (void)s; }

#else

static cpl_status make(cpl_context* ctx, const cpli_pattern* p, backend** out) {
  return cpli_sparse_lu_make(ctx, p, out);
}

// Rows of states are divided by gamma.
static bool factor(const cpli_integrate* s) {
  const struct cpli_linear* k = s->linear;
  return cpli_sparse_lu_factor_mixed(k->of, k->entries, 1 / k->gamma, (int32_t)s->n);
}

static void solve_for(const cpli_integrate* s, const double* r, double* dx) {
  for (size_t i = 0; i < s->all; i++) dx[i] = i < s->n ? r[i] / s->linear->gamma : r[i];
  cpli_sparse_lu_solve(s->linear->of, dx);
}

static void destroy(backend* of) { cpli_sparse_lu_destroy(of); }

void cpli_linear_forget(cpli_integrate* s) {
  if (s->linear != NULL) cpli_sparse_lu_forget(s->linear->of);
}

void cpli_linear_list(cpli_integrate* s, cpli_serial* serial) {
  struct cpli_linear* k = s->linear;
  cpli_serial_same(serial, k != NULL && k->of != NULL);
  if (k == NULL || k->of == NULL || serial->st < 0) return;
  cpli_serial_real(serial, &k->gamma);
  cpli_serial_reals(serial, k->entries, k->n_entries);
  cpli_serial_sparse_lu(serial, k->of, false);
}

#endif

static cpl_status setup(void* user, double t, const double* x, double gamma, bool fresh) {
  cpli_integrate* s = user;
  cpl_status st = fresh ? s->linear->evaluate(s, t, x, s->linear->entries) : CPL_OK;
  s->linear->gamma = gamma;
  if (st != CPL_OK || factor(s)) return st;
  return cpl_fail_in(s->base.base.ctx, CPL_RETRY, s->base.base.name, NULL, s->t_start + t,
                     "Newton's matrix is singular at t=%.12g", s->t_start + t);
}

static cpl_status solve(void* user, const double* r, double* dx) {
  solve_for(user, r, dx);
  return CPL_OK;
}

cpl_status cpli_linear_make(cpli_integrate* s, cpli_ode* ode) {
  cpl_context* ctx = s->base.base.ctx;
  const cpli_pattern* p = ode->pattern;
  bool direct = s->def.linear == CPL_LINEAR_DIRECT;
  if (!direct || p == NULL || ode->entries == NULL || !cpli_pattern_is_sparse(p)) return CPL_OK;
  struct cpli_linear* k = s->linear = cpli_alloc(ctx, 1, sizeof *k);
  if (k == NULL) return cpli_nomem(ctx);
  k->evaluate = ode->entries;
  k->n_entries = (size_t)p->n_entries;
  k->entries = cpli_alloc(ctx, (size_t)p->n_entries, sizeof *k->entries);
  cpl_status st = k->entries != NULL ? make(ctx, p, &k->of) : cpli_nomem(ctx);
  if (st < 0 || k->of == NULL) return st;  // too much fill-in
  ode->newton_setup = setup;
  ode->newton_solve = solve;
  return CPL_OK;
}

void cpli_linear_destroy(cpli_integrate* s) {
  if (s->linear == NULL) return;
  destroy(s->linear->of);
  cpli_free(s->base.base.ctx, s->linear->entries);
  cpli_free(s->base.base.ctx, s->linear);
}
