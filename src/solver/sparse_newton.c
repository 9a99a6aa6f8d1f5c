// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The linear systems of Newton's method for a large model that has none of its own: (I - gamma J)
// dx = r in the rows of states, J as it is in those of residuals, with the entries that the model's
// structure has. Rows of states are divided by gamma: (1/gamma) I - J.
#include "solver/integrated.h"
#include "solver/sparse_lu.h"

struct cpli_sparse_newton {
  cpli_sparse_lu* lu;
  cpl_status (*evaluate)(void* user, double t, const double* x, double* entries);
  double* entries;
  double gamma;
};

static cpl_status setup(void* user, double t, const double* x, double gamma, bool fresh) {
  cpli_integrate* s = user;
  struct cpli_sparse_newton* k = s->sparse;
  cpl_status st = fresh ? k->evaluate(s, t, x, k->entries) : CPL_OK;
  k->gamma = gamma;
  if (st != CPL_OK) return st;
  if (cpli_sparse_lu_factor_mixed(k->lu, k->entries, 1 / gamma, (int32_t)s->n)) return CPL_OK;
  return cpl_fail(s->base.base.ctx, CPL_RETRY, "%s: Newton's matrix is singular at t=%.12g",
                  s->base.base.name, t);
}

static cpl_status solve(void* user, const double* r, double* dx) {
  cpli_integrate* s = user;
  for (size_t i = 0; i < s->all; i++) dx[i] = i < s->n ? r[i] / s->sparse->gamma : r[i];
  cpli_sparse_lu_solve(s->sparse->lu, dx);
  return CPL_OK;
}

cpl_status cpli_sparse_newton_make(cpli_integrate* s, cpli_ode* ode) {
  cpl_context* ctx = s->base.base.ctx;
  const cpli_pattern* p = ode->pattern;
  bool direct = s->def.linear == CPL_LINEAR_DIRECT;
  if (!direct || p == NULL || ode->entries == NULL || !cpli_sparse_lu_pays(p)) return CPL_OK;
  struct cpli_sparse_newton* k = s->sparse = cpli_alloc(ctx, 1, sizeof *k);
  if (k == NULL) return cpli_nomem(ctx);
  k->evaluate = ode->entries;
  k->entries = cpli_alloc(ctx, (size_t)p->n_entries, sizeof *k->entries);
  if (k->entries == NULL) return cpli_nomem(ctx);
  ode->newton_setup = setup;
  ode->newton_solve = solve;
  return cpli_sparse_lu_make(ctx, p, &k->lu);
}

void cpli_sparse_newton_destroy(cpli_integrate* s) {
  if (s->sparse == NULL) return;
  cpli_sparse_lu_destroy(s->sparse->lu);
  cpli_free(s->base.base.ctx, s->sparse->entries);
  cpli_free(s->base.base.ctx, s->sparse);
}
