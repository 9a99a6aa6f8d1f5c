// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The linear systems of Newton's method for a large model that has none of its own, (I - gamma J)
// dx = r, with those entries of J that its structure has. Divided by gamma they are (1/gamma) I -
// J.
#include "aggregate/jacobian.h"
#include "solver/integrated.h"
#include "solver/sparse_lu.h"

struct cpli_sparse_newton {
  cpli_sparse_lu* lu;
  double* entries;
  double gamma;
};

bool cpli_sparse_newton_pays(const cpli_integrate* s) {
  return s->def.linear == CPL_LINEAR_DIRECT && cpli_sparse_lu_pays(cpli_jacobian_pattern(s->jac));
}

cpl_status cpli_sparse_newton_make(cpli_integrate* s) {
  cpl_context* ctx = s->base.base.ctx;
  const cpli_pattern* p = cpli_jacobian_pattern(s->jac);
  struct cpli_sparse_newton* k = s->sparse = cpli_alloc(ctx, 1, sizeof *k);
  if (k == NULL) return cpli_nomem(ctx);
  k->entries = cpli_alloc(ctx, (size_t)p->n_entries, sizeof *k->entries);
  return k->entries != NULL ? cpli_sparse_lu_make(ctx, p, &k->lu) : cpli_nomem(ctx);
}

void cpli_sparse_newton_destroy(cpli_integrate* s) {
  if (s->sparse == NULL) return;
  cpli_sparse_lu_destroy(s->sparse->lu);
  cpli_free(s->base.base.ctx, s->sparse->entries);
  cpli_free(s->base.base.ctx, s->sparse);
}

cpl_status cpli_sparse_newton_setup(void* user, double t, const double* x, double gamma,
                                    bool fresh) {
  cpli_integrate* s = user;
  struct cpli_sparse_newton* k = s->sparse;
  cpl_status st = fresh ? cpli_integrate_entries(s, t, x, k->entries) : CPL_OK;
  k->gamma = gamma;
  if (st != CPL_OK || cpli_sparse_lu_factor_real(k->lu, k->entries, 1 / gamma)) return st;
  return cpl_fail(s->base.base.ctx, CPL_RETRY, "%s: Newton's matrix is singular at t=%.12g",
                  s->base.base.name, t);
}

cpl_status cpli_sparse_newton_solve(void* user, const double* r, double* dx) {
  cpli_integrate* s = user;
  for (size_t i = 0; i < s->n; i++) dx[i] = r[i] / s->sparse->gamma;
  cpli_sparse_lu_solve(s->sparse->lu, dx);
  return CPL_OK;
}
