// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The linear systems of Newton's method for a model that does not solve them itself, when it is
// large and its states depend on few others each.
#include <math.h>

#include "aggregate/jacobian.h"
#include "solver/factors.h"
#include "solver/integrated.h"

enum { SMALL = 40 };                   // states: a dense matrix is as fast below
static const double dense_from = 0.2;  // part of the entries

struct cpli_linear {
  cpli_factors* factors;
  double* jac;  // entries of the pattern
};

static cpl_status evaluate(cpli_integrate* s, double t, const double* x) {
  size_t n = (size_t)cpli_jacobian_pattern(s->jac)->n_entries;
  cpl_status st = cpli_place(s, t, x);
  if (st == CPL_OK) st = cpli_jacobian_entries(s->jac, x, s->linear->jac);
  if (st != CPL_OK) return st;
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += s->linear->jac[i] - s->linear->jac[i];
  if (sum == 0) return CPL_OK;
  return cpl_fail(s->base.base.ctx, CPL_RETRY, "%s: the Jacobian is not finite at t=%.12g",
                  s->base.base.name, t);
}

static cpl_status setup(void* user, double t, const double* x, double gamma, bool fresh) {
  cpli_integrate* s = user;
  double since = cpli_clock_if(s);
  cpl_status st = fresh ? evaluate(s, t, x) : CPL_OK;
  cpli_account(s, since);
  if (st != CPL_OK || cpli_factors_find(s->linear->factors, s->linear->jac, gamma)) return st;
  return cpl_fail(s->base.base.ctx, CPL_RETRY, "%s: Newton's matrix is singular at t=%.12g",
                  s->base.base.name, t);
}

static cpl_status solve(void* user, const double* r, double* dx) {
  cpli_integrate* s = user;
  cpli_factors_solve(s->linear->factors, r, dx);
  return CPL_OK;
}

cpl_status cpli_linear_make(cpli_integrate* s, cpli_ode* ode) {
  cpl_context* ctx = s->base.base.ctx;
  const cpli_pattern* p = ode->pattern;
  double n = (double)s->n;
  if (p == NULL || n < SMALL || p->n_entries > dense_from * n * n) return CPL_OK;
  cpli_factors* e = NULL;
  cpl_status st = cpli_factors_make(ctx, p, &e);
  if (st < 0 || e == NULL) return st;
  s->linear = cpli_alloc(ctx, 1, sizeof *s->linear);
  if (s->linear != NULL) s->linear->jac = cpli_alloc(ctx, (size_t)p->n_entries, sizeof(double));
  if (s->linear == NULL || s->linear->jac == NULL) {
    cpli_factors_destroy(e);
    return cpli_nomem(ctx);
  }
  s->linear->factors = e;
  ode->newton_setup = setup;
  ode->newton_solve = solve;
  return CPL_OK;
}

void cpli_linear_destroy(cpli_integrate* s) {
  if (s->linear == NULL) return;
  cpli_factors_destroy(s->linear->factors);
  cpli_free(s->base.base.ctx, s->linear->jac);
  cpli_free(s->base.base.ctx, s->linear);
}
