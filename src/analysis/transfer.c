// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Poles and zeros, sorted.
#include "couplet/transfer.h"

#include <math.h>
#include <stdlib.h>

#include "numeric/eigen.h"
#include "numeric/zeros.h"

static int by_magnitude(const void* a, const void* b) {
  const cpl_root *x = a, *y = b;
  double p = hypot(x->re, x->im), q = hypot(y->re, y->im);
  if (p != q) return p < q ? -1 : 1;
  if (x->re != y->re) return x->re < y->re ? -1 : 1;
  return x->im > y->im ? -1 : x->im < y->im;
}

static cpl_status take(cpl_context* ctx, const double* re, const double* im, int32_t n,
                       cpl_root** out) {
  cpl_root* roots = *out = cpli_alloc(ctx, (size_t)n, sizeof *roots);
  if (roots == NULL) return cpli_nomem(ctx);
  for (int32_t i = 0; i < n; i++)
    roots[i] = (cpl_root){re[i] == 0 ? 0 : re[i], im[i] == 0 ? 0 : im[i]};
  qsort(roots, (size_t)n, sizeof *roots, by_magnitude);
  return CPL_OK;
}

cpl_status cpl_linear_poles(cpl_context* ctx, const cpl_linear* l, cpl_root** out, int32_t* n) {
  size_t size = (size_t)l->n_states;
  double* room = cpli_alloc(ctx, size * size + 2 * size, sizeof *room);
  *out = NULL;
  *n = l->n_states;
  if (room == NULL) return cpli_nomem(ctx);
  double *re = room + size * size, *im = re + size;
  if (size > 0) memcpy(room, l->a, size * size * sizeof *room);
  cpl_status st =
      cpli_eigenvalues(l->n_states, room, re, im)
          ? take(ctx, re, im, l->n_states, out)
          : cpl_fail(ctx, CPL_ERR_MODEL, "the iteration for the poles does not converge");
  cpli_free(ctx, room);
  return st;
}

cpl_status cpl_linear_zeros(cpl_context* ctx, const cpl_linear* l, cpl_root** out, int32_t* n,
                            int32_t* rank) {
  int32_t found = 0;
  double* re = cpli_alloc(ctx, 2 * (size_t)l->n_states, sizeof *re);
  *out = NULL;
  *n = 0;
  if (re == NULL) return cpli_nomem(ctx);
  double* im = re + l->n_states;
  cpl_status st = cpli_zeros(ctx, l->n_states, l->n_inputs, l->n_outputs, l->a, l->b, l->c, l->d,
                             &found, n, re, im);
  if (st >= 0) st = take(ctx, re, im, *n, out);
  if (rank != NULL) *rank = found;
  cpli_free(ctx, re);
  return st;
}

void cpl_roots_free(cpl_context* ctx, cpl_root* roots) { cpli_free(ctx, roots); }
