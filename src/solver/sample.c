// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Samples of a step: the solution of the method, and the model where a variable is no state.
#include "solver/sample.h"

#include "model/description.h"
#include "solver/integrated.h"

struct cpli_sampler {
  cpl_context* ctx;
  cpli_integrate* s;
  size_t n;        // variables
  int32_t* state;  // of each: the number of the state that it is, or -1: it is none
  // variables that are no states, read in one call
  uint32_t* refs;
  size_t* place;
  double* got;
  size_t n_others;
};

static int32_t find_state(const cpl_description* d, uint32_t ref) {
  for (int32_t i = 0; i < d->n_states; i++) {
    const cpl_variable* v = d->states[i] >= 0 ? &d->vars[d->states[i]] : NULL;
    if (v != NULL && v->type == CPL_REAL && v->ref == ref && !v->mode_dependent) return i;
  }
  return -1;
}

cpl_status cpli_sampler_create(cpl_stepper* s, const uint32_t* refs, size_t n, cpli_sampler** out) {
  cpl_context* ctx = s->base.ctx;
  cpli_integrate* integrate = cpli_integrate_of(s);
  *out = NULL;
  if (integrate == NULL || integrate->m->ops->structure != NULL) return CPL_OK;
  cpli_sampler* one = cpli_alloc(ctx, 1, sizeof *one);
  if (one == NULL) return cpli_nomem(ctx);
  *one = (cpli_sampler){.ctx = ctx, .s = integrate, .n = n};
  one->state = cpli_alloc(ctx, n, sizeof *one->state);
  one->refs = cpli_alloc(ctx, n, sizeof *one->refs);
  one->place = cpli_alloc(ctx, n, sizeof *one->place);
  one->got = cpli_alloc(ctx, n, sizeof *one->got);
  if (one->state == NULL || one->refs == NULL || one->place == NULL || one->got == NULL) {
    cpli_sampler_destroy(one);
    return cpli_nomem(ctx);
  }
  for (size_t i = 0; i < n; i++) {
    one->state[i] = find_state(s->base.desc, refs[i]);
    if (one->state[i] >= 0) continue;
    one->refs[one->n_others] = refs[i];
    one->place[one->n_others++] = i;
  }
  *out = one;
  return CPL_OK;
}

void cpli_sampler_destroy(cpli_sampler* sampler) {
  if (sampler == NULL) return;
  cpl_context* ctx = sampler->ctx;
  cpli_free(ctx, sampler->state);
  cpli_free(ctx, sampler->refs);
  cpli_free(ctx, sampler->place);
  cpli_free(ctx, sampler->got);
  cpli_free(ctx, sampler);
}

static cpl_status read_others(cpli_sampler* a, double t, double* row) {
  cpl_component* m = &a->s->m->base;
  cpl_status st = cpli_set_point(a->s, t, a->s->x_kept);
  if (st == CPL_OK) st = m->ops->get_real(m, a->refs, a->n_others, a->got);
  for (size_t i = 0; i < a->n_others; i++) row[a->place[i]] = a->got[i];
  return st;
}

cpl_status cpli_sampler_read(cpli_sampler* a, const double* t, size_t n, double* values) {
  cpli_integrate* s = a->s;
  cpl_status st = CPL_OK;
  if (n == 0) return CPL_OK;
  if (!s->running || s->in_event || s->pending != NO_EVENT || s->moved || !(t[0] > s->t) ||
      !(t[n - 1] < s->t_step))
    return CPL_RETRY;
  for (size_t k = 0; k < n && st == CPL_OK; k++) {
    double* row = values + k * a->n;
    st = cpli_solution_for_output(s, t[k], s->x_kept);
    for (size_t i = 0; i < a->n && st == CPL_OK; i++)
      if (a->state[i] >= 0) row[i] = s->x_kept[a->state[i]];
    if (st == CPL_OK && a->n_others > 0) st = read_others(a, t[k], row);
  }
  if (a->n_others == 0 || st < 0) return st;
  const cpl_status back = cpli_set_point(s, s->t, s->x_at);
  return back == CPL_OK ? st : back == CPL_RETRY ? CPL_ERR_MODEL : back;
}

// New curves of inputs can be an event only where the model has indicators, and then points inside
// of a step are compared as well.
cpl_status cpli_sampler_ahead(cpli_sampler* a, double t_end, double t_limit, double* until) {
  cpli_integrate* s = a->s;
  *until = s->t;
  if (s->nz > 0 || s->def.restart_each_step) return CPL_OK;
  if (!s->ended && !s->in_event && s->pending == NO_EVENT) s->moved = s->stale = false;
  return s->base.ops->ahead(&s->base, t_end, t_limit, until);
}
