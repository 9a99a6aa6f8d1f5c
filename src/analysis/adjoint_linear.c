// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The transposed linear systems of the adjoint method, in the sparse descriptor form of the model
// (kept_descriptor.h): E dw' = J dw. Equations of states have the multipliers lambda, algebraic
// ones mu with J_aa' mu = -(J_xa' lambda + w y_a), so that loops and couplings need no elimination.
#include "analysis/adjoint.h"

#include <math.h>

cpl_status cpli_transposed_init(cpli_transposed* k, cpl_model* m, const double* x,
                                const int32_t* outputs, int32_t n_outputs) {
  cpl_context* ctx = m->base.ctx;
  *k = (cpli_transposed){.ctx = ctx, .name = m->base.name};
  cpl_status st = cpli_kept_descriptor_make(m, x, outputs, n_outputs, &k->kept);
  if (st != CPL_OK) return st < 0 ? st : CPL_ERR_MODEL;
  k->d = cpli_kept_descriptor_of(k->kept);
  const cpli_compressed* j = &k->d->j;
  k->n = k->d->n_states;
  k->na = k->d->n - k->n;
  size_t all = (size_t)k->d->n, entries = (size_t)j->first[all];
  k->first_a = cpli_alloc(ctx, (size_t)k->na + 1, sizeof *k->first_a);
  k->row_a = cpli_alloc(ctx, entries, sizeof *k->row_a);
  k->entries_a = cpli_alloc(ctx, entries, sizeof *k->entries_a);
  k->first = cpli_alloc(ctx, all + 1, sizeof *k->first);
  k->row = cpli_alloc(ctx, entries + (size_t)k->n, sizeof *k->row);
  k->entries = cpli_alloc(ctx, entries + (size_t)k->n, sizeof *k->entries);
  if (k->first_a == NULL || k->row_a == NULL || k->entries_a == NULL || k->first == NULL ||
      k->row == NULL || k->entries == NULL)
    return cpli_nomem(ctx);
  int32_t n = 0, n_a = 0;
  for (int32_t c = 0; c < k->d->n; c++) {
    bool diagonal = c >= k->n;  // of a state: it is there
    for (int32_t e = j->first[c]; e < j->first[c + 1]; e++) {
      if (!diagonal && j->row[e] >= c) {
        if (j->row[e] > c) k->row[n++] = c;
        diagonal = true;
      }
      k->row[n++] = j->row[e];
      if (c >= k->n && j->row[e] >= k->n) k->row_a[n_a++] = j->row[e] - k->n;
    }
    if (!diagonal) k->row[n++] = c;
    k->first[c + 1] = n;
    if (c >= k->n) k->first_a[c - k->n + 1] = n_a;
  }
  st = cpli_sparse_make(ctx, k->d->n, k->first, k->row, true, &k->newton);
  if (st >= 0 && k->na > 0)
    st = cpli_sparse_make(ctx, k->na, k->first_a, k->row_a, true, &k->algebraic);
  return st;
}

void cpli_transposed_free(cpli_transposed* k) {
  cpli_sparse_destroy(k->newton);
  cpli_sparse_destroy(k->algebraic);
  cpli_kept_descriptor_destroy(k->kept);
  cpli_free(k->ctx, k->first_a);
  cpli_free(k->ctx, k->row_a);
  cpli_free(k->ctx, k->entries_a);
  cpli_free(k->ctx, k->first);
  cpli_free(k->ctx, k->row);
  cpli_free(k->ctx, k->entries);
}

cpl_status cpli_transposed_refresh(cpli_transposed* k) {
  const cpli_compressed* j = &k->d->j;
  cpl_status st = cpli_kept_descriptor_refresh(k->kept);
  if (st != CPL_OK || k->na == 0) return st;
  int32_t n = 0;
  for (int32_t e = j->first[k->n]; e < j->first[k->d->n]; e++) {
    if (j->row[e] >= k->n) k->entries_a[n++] = j->entries[e];
  }
  if (cpli_sparse_factor(k->algebraic, k->entries_a)) return CPL_OK;
  return cpl_fail_in(k->ctx, CPL_ERR_MODEL, k->name, NULL, NAN,
                     "adjoint gradients: its algebraic equations are singular");
}

void cpli_transposed_product(cpli_transposed* k, int32_t output, double w, double* lambda,
                             double* out) {
  const cpli_compressed* j = &k->d->j;
  int32_t y = k->d->outputs[output];
  double* mu = lambda + k->n;
  for (int32_t c = k->n; c < k->d->n; c++) {
    double sum = c == y ? w : 0;
    for (int32_t e = j->first[c]; e < j->first[c + 1]; e++)
      if (j->row[e] < k->n) sum += j->entries[e] * lambda[j->row[e]];
    mu[c - k->n] = -sum;
  }
  if (k->na > 0) cpli_sparse_solve(k->algebraic, mu);
  for (int32_t c = 0; c < k->n; c++) {
    double sum = c == y ? w : 0;
    for (int32_t e = j->first[c]; e < j->first[c + 1]; e++)
      sum += j->entries[e] * lambda[j->row[e]];
    out[c] = sum;
  }
}

bool cpli_transposed_factor(cpli_transposed* k, double gamma) {
  const cpli_compressed* j = &k->d->j;
  k->gamma = gamma;
  for (int32_t c = 0, n = 0; c < k->d->n; c++) {
    int32_t e = j->first[c];
    for (; n < k->first[c + 1]; n++) {
      bool is_entry = e < j->first[c + 1] && j->row[e] == k->row[n];
      double value = is_entry ? j->entries[e++] : 0;
      k->entries[n] = c >= k->n ? value : (k->row[n] == c ? 1 : 0) - gamma * value;
    }
  }
  return cpli_sparse_factor(k->newton, k->entries);
}

void cpli_transposed_solve(cpli_transposed* k, const double* r, double* lambda) {
  memcpy(lambda, r, (size_t)k->n * sizeof *r);
  for (int32_t i = k->n; i < k->d->n; i++) lambda[i] = 0;
  cpli_sparse_solve(k->newton, lambda);
}
