// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The linear system of Newton's method for a model with its sensitivities: the same matrix for the
// states and for the sensitivities to each parameter (simultaneous corrector). It is the model's
// own, or sparse or dense factors of its Jacobian.
#include "analysis/sensitivity.h"
#include "model/jacobian.h"
#include "numeric/lu.h"

static cpl_status own_setup(cpl_model* m, double gamma, bool fresh) {
  cpli_sens* s = cpli_sens_of(m);
  return s->m->ops->newton->setup(s->m, gamma, fresh);
}

static cpl_status own_solve(cpl_model* m, const double* r, double* dx) {
  cpli_sens* s = cpli_sens_of(m);
  cpl_status st = CPL_OK;
  for (size_t k = 0; k <= s->n_to && st == CPL_OK; k++)
    st = s->m->ops->newton->solve(s->m, r + s->n * k, dx + s->n * k);
  return st;
}

// The scaling is that of the matrix with the last new Jacobian.
static bool factor_dense(cpli_sens* s, double gamma, bool fresh) {
  const size_t n = s->n;
  for (size_t i = 0; i < n * n; i++) s->matrix[i] = -gamma * s->entries[i];
  for (size_t i = 0; i < n; i++) s->matrix[i * (n + 1)] += 1;
  if (fresh) {
    cpli_lu_equilibrate(s->matrix, (int32_t)n, s->row, s->column);
  } else {
    for (size_t j = 0; j < n; j++)
      for (size_t i = 0; i < n; i++) s->matrix[j * n + i] *= s->row[i] * s->column[j];
  }
  return cpli_lu_factor(s->matrix, s->pivot, (int32_t)n) < 0;
}

static cpl_status setup(cpl_model* m, double gamma, bool fresh) {
  cpli_sens* s = cpli_sens_of(m);
  cpl_status st = CPL_OK;
  if (fresh) {
    st = s->sparse != NULL ? cpli_jacobian_entries(s->jac, s->x, s->entries)
                           : cpl_jacobian_evaluate(s->jac, s->x, s->entries);
  }
  if (st != CPL_OK) return st;
  s->gamma = gamma;
  bool fine = s->sparse != NULL
                  ? cpli_sparse_lu_factor_mixed(s->sparse, s->entries, 1 / gamma, (int32_t)s->n)
                  : factor_dense(s, gamma, fresh);
  return fine ? CPL_OK
              : cpl_fail(m->base.ctx, CPL_RETRY, "%s: Newton's matrix is singular", m->base.name);
}

static void solve_dense(const cpli_sens* s, const double* from, double* to) {
  const size_t n = s->n;
  for (size_t i = 0; i < n; i++) to[i] = from[i] * s->row[i];
  cpli_lu_solve(s->matrix, s->pivot, (int32_t)n, to);
  for (size_t i = 0; i < n; i++) to[i] *= s->column[i];
}

static cpl_status solve(cpl_model* m, const double* r, double* dx) {
  cpli_sens* s = cpli_sens_of(m);
  for (size_t k = 0; k <= s->n_to; k++, r += s->n, dx += s->n) {
    if (s->sparse == NULL) {
      solve_dense(s, r, dx);
      continue;
    }
    for (size_t i = 0; i < s->n; i++) dx[i] = r[i] / s->gamma;
    cpli_sparse_lu_solve(s->sparse, dx);
  }
  return CPL_OK;
}

static const cpl_newton_ops own_ops = {
    .size = sizeof own_ops, .setup = own_setup, .solve = own_solve};
static const cpl_newton_ops newton_ops = {
    .size = sizeof newton_ops, .setup = setup, .solve = solve};

static cpl_status make_dense(cpli_sens* s) {
  cpli_arena* a = &s->arena;
  s->entries = cpli_arena_alloc(a, s->n * s->n, sizeof *s->entries);
  s->matrix = cpli_arena_alloc(a, s->n * s->n, sizeof *s->matrix);
  s->row = cpli_arena_alloc(a, s->n, sizeof *s->row);
  s->column = cpli_arena_alloc(a, s->n, sizeof *s->column);
  s->pivot = cpli_arena_alloc(a, s->n, sizeof *s->pivot);
  bool fine = s->entries != NULL && s->matrix != NULL && s->row != NULL && s->column != NULL &&
              s->pivot != NULL;
  return fine ? CPL_OK : cpli_nomem(s->base.base.ctx);
}

cpl_status cpli_sens_make_newton(cpli_sens* s) {
  const cpl_description* d = s->m->base.desc;
  if (s->m->ops->newton != NULL) s->ops.newton = &own_ops;
  if (s->n == 0 || s->m->ops->newton != NULL || s->m->ops->structure != NULL) return CPL_OK;
  for (int32_t i = 0; i < d->n_states; i++) {
    if (d->states[i] < 0 || d->derivatives[i] < 0) return CPL_OK;  // the solver's differences
  }
  cpl_jacobian_def def = cpl_default_jacobian_def();
  def.rows = d->derivatives;
  def.columns = d->states;
  def.n_rows = def.n_columns = d->n_states;
  cpl_status st = cpl_jacobian_create(s->m, &def, &s->jac);
  if (st < 0) return st;
  const cpli_pattern* p = cpli_jacobian_pattern(s->jac);
  s->ops.newton = &newton_ops;
  if (!cpli_pattern_is_sparse(p)) return make_dense(s);
  s->entries = cpli_arena_alloc(&s->arena, (size_t)p->n_entries, sizeof *s->entries);
  if (s->entries == NULL) return cpli_nomem(s->base.base.ctx);
  st = cpli_sparse_lu_make(s->base.base.ctx, p, &s->sparse);
  return st < 0 || s->sparse != NULL ? st : make_dense(s);
}

void cpli_sens_free_newton(cpli_sens* s) {
  cpl_jacobian_destroy(s->jac);
  cpli_sparse_lu_destroy(s->sparse);
}
