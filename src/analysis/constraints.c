// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The gradients of the constraints of a model as a full matrix: from the entries of their pattern,
// from the model's own Jacobian, or by central differences.
#include <float.h>
#include <math.h>

#include "analysis/rest.h"
#include "model/adopt.h"

static cpl_status from_entries(cpl_model* m, int32_t n_constraints, double* out) {
  const cpl_constraint_ops* ops = m->ops->constraints;
  const int32_t *first = NULL, *column = NULL;
  size_t n = (size_t)m->base.desc->n_states;
  cpl_status st = ops->pattern(m, &first, &column);
  if (st != CPL_OK) return st;
  double* entries = cpli_alloc(m->base.ctx, (size_t)first[n_constraints], sizeof *entries);
  if (entries == NULL) return cpli_nomem(m->base.ctx);
  st = ops->entries(m, entries);
  for (int32_t i = 0; i < n_constraints && st == CPL_OK; i++) {
    for (int32_t e = first[i]; e < first[i + 1]; e++)
      out[(size_t)i * n + (size_t)column[e]] += entries[e];
  }
  cpli_free(m->base.ctx, entries);
  return st;
}

static cpl_status by_differences(cpl_model* m, const double* x, int32_t n_constraints,
                                 double* out) {
  int32_t n = m->base.desc->n_states, most = m->base.desc->n_constraints;
  double* room = cpli_alloc(m->base.ctx, (size_t)n + 2 * (size_t)most, sizeof *room);
  if (room == NULL) return cpli_nomem(m->base.ctx);
  double *moved = room, *plus = room + n, *minus = plus + most;
  cpl_status st = CPL_OK;
  memcpy(moved, x, (size_t)n * sizeof *x);
  for (int32_t j = 0; j < n && st == CPL_OK; j++) {
    double h = cbrt(DBL_EPSILON) * fmax(fabs(x[j]), 1);
    moved[j] = x[j] + h;
    st = m->ops->set_states(m, moved);
    if (st == CPL_OK) st = m->ops->constraints->get(m, plus);
    moved[j] = x[j] - h;
    if (st == CPL_OK) st = m->ops->set_states(m, moved);
    if (st == CPL_OK) st = m->ops->constraints->get(m, minus);
    moved[j] = x[j];
    for (int32_t i = 0; i < n_constraints && st == CPL_OK; i++)
      out[(size_t)i * (size_t)n + (size_t)j] = (plus[i] - minus[i]) / (2 * h);
  }
  if (st == CPL_OK) st = m->ops->set_states(m, x);
  cpli_free(m->base.ctx, room);
  return st;
}

cpl_status cpli_constraint_gradients(cpl_model* m, const double* x, int32_t n_constraints,
                                     double* out) {
  const cpl_constraint_ops* ops = m->ops->constraints;
  if (n_constraints == 0) return CPL_OK;
  memset(out, 0, (size_t)n_constraints * (size_t)m->base.desc->n_states * sizeof *out);
  if (CPLI_OFFERS(ops, entries)) return from_entries(m, n_constraints, out);
  if (CPLI_OFFERS(ops, jacobian)) return ops->jacobian(m, out);
  return by_differences(m, x, n_constraints, out);
}
