// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Inputs that are functions of time. A new curve may start at another value than the one before
// ended at; when an indicator of the model changes its sign there, that is an event.
#include <assert.h>
#include <float.h>
#include <math.h>

#include "solver/integrated.h"

static cpl_status before_change(cpli_integrate* s) {
  cpl_status st = CPL_OK;
  if (s->running && !s->moved && !s->in_event && s->nz > 0)
    st = s->m->ops->get_indicators(s->m, s->z_before);
  s->moved = s->stale = s->running;
  return st;
}

cpl_status cpli_curves_reserve(cpli_integrate* s, size_t n) {
  if (n <= s->cap_curves) return CPL_OK;
  size_t cap = s->cap_curves > 0 ? 2 * s->cap_curves : 8;
  if (cap < n) cap = n;
  cpl_context* ctx = s->base.base.ctx;
  cpl_curve* curves = cpli_realloc(ctx, s->curves, cap, sizeof *curves);
  if (curves != NULL) s->curves = curves;
  uint32_t* refs = cpli_realloc(ctx, s->curve_refs, cap, sizeof *refs);
  if (refs != NULL) s->curve_refs = refs;
  double* values = cpli_realloc(ctx, s->curve_values, cap, sizeof *values);
  if (values != NULL) s->curve_values = values;
  if (curves == NULL || refs == NULL || values == NULL) return cpli_nomem(ctx);
  s->cap_curves = cap;
  return CPL_OK;
}

// Curves mostly arrive in the same order.
static size_t find(const cpli_integrate* s, uint32_t ref) {
  size_t i = s->last_curve + 1;
  if (i < s->n_curves && s->curve_refs[i] == ref) return i;
  for (i = 0; i < s->n_curves && s->curve_refs[i] != ref;) i++;
  return i;
}

const cpl_curve* cpli_curves_find(const cpli_integrate* s, uint32_t ref) {
  size_t i = find(s, ref);
  return i < s->n_curves ? &s->curves[i] : NULL;
}

const cpl_variable* cpli_curves_input(const cpli_integrate* s, uint32_t ref) {
  const cpl_description* d = s->m->base.desc;
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    if (v->ref == ref && v->type == CPL_REAL) return v;
  }
  return NULL;
}

cpl_status cpli_curves_set(cpl_stepper* base, uint32_t ref, const cpl_curve* curve) {
  cpli_integrate* s = (cpli_integrate*)base;
  cpl_status st = before_change(s);
  size_t i = find(s, ref);
  if (st == CPL_OK && i == s->cap_curves) st = cpli_curves_reserve(s, i + 1);
  if (st != CPL_OK) return st;
  if (i == s->n_curves) s->n_curves++;
  assert(s->n_curves <= s->cap_curves && i < s->n_curves);
  s->curves[i] = *curve;
  s->curve_refs[i] = ref;
  s->last_curve = i;
  return CPL_OK;
}

cpl_status cpli_curves_refresh(cpli_integrate* s) {
  if (!s->stale || (s->in_event && s->rounds == 0)) return CPL_OK;
  s->stale = false;
  return cpli_set_inputs(s, s->t);
}

cpl_status cpli_curves_begin(cpli_integrate* s, bool* jumped, double* margin) {
  cpl_status st = CPL_OK;
  *jumped = false;
  *margin = NAN;
  if (s->moved && !s->in_event && s->nz > 0) {
    double* z = s->z_before + s->nz;
    st = cpli_set_inputs(s, s->t);
    if (st == CPL_OK) st = s->m->ops->get_indicators(s->m, z);
    for (size_t i = 0; i < s->nz && st == CPL_OK; i++) {
      bool turned = (z[i] > 0) != (s->z_before[i] > 0);
      if (turned) cpli_watch_turned(s, i);
      *jumped = *jumped || turned;
      *margin = fmax(*margin, s->z_before[i] > 0 ? -z[i] : z[i]);
    }
    if (!*jumped && *margin == 0) *margin = -DBL_MIN;  // zero is not positive
  }
  s->moved = s->stale = false;
  return st;
}

cpl_status cpli_curves_want_update(cpl_stepper* base, bool* wanted, double* margin) {
  cpli_integrate* s = (cpli_integrate*)base;
  bool jumped, unseen = s->stale && (s->nz == 0 || s->in_event);
  cpl_status st = cpli_curves_begin(s, &jumped, margin);
  s->stale = unseen;  // without indicators the model has not got the inputs yet
  if (st == CPL_OK && jumped) s->pending = INPUT_EVENT;
  *wanted = s->pending != NO_EVENT;
  return st;
}
