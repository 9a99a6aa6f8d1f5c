// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The forward run of the adjoint method: every step of the solver becomes a polynomial of the
// trajectory, and every event is recorded with the saved state of the model before it, from which
// the run backwards goes on.
#include <math.h>

#include "analysis/adjoint.h"

// Those of Chebyshev and Lobatto: (1 - cos(pi i / 5)) / 2.
const double cpli_tape_nodes[CPLI_TAPE_NODES - 2] = {0.09549150281252627, 0.3454915028125263,
                                                     0.6545084971874737, 0.9045084971874737};

//------------------------------------ the trajectory ------------------------------------

static cpl_status add_point(cpli_adjoint* a, double t) {
  cpli_tape* k = &a->tape;
  cpl_context* ctx = a->s.base.base.ctx;
  size_t n = a->s.n;
  if (!cpli_grow(ctx, (void**)&k->t, &k->cap_t, k->n, sizeof *k->t) ||
      !cpli_grow(ctx, (void**)&k->x, &k->cap_x, k->n, n * sizeof *k->x))
    return cpli_nomem(ctx);
  k->t[k->n] = t;
  memcpy(k->x + n * k->n, a->s.x, n * sizeof *k->x);
  k->n++;
  return CPL_OK;
}

static cpl_status end_piece(cpli_adjoint* a) {
  cpli_tape* k = &a->tape;
  cpl_context* ctx = a->s.base.base.ctx;
  if (k->n - k->begun < 2) return CPL_OK;
  if (!cpli_grow(ctx, (void**)&k->pieces, &k->cap_pieces, k->n_pieces, sizeof *k->pieces))
    return cpli_nomem(ctx);
  k->pieces[k->n_pieces++] = (cpli_tape_piece){k->begun, k->n - k->begun};
  k->begun = k->n - 1;
  return CPL_OK;
}

cpl_status cpli_adjoint_sample(cpli_adjoint* a) {
  const cpli_tape* k = &a->tape;
  if (k->n == 0 || a->s.t <= k->t[k->n - 1] || k->n - k->begun >= CPLI_TAPE_NODES) return CPL_OK;
  return add_point(a, a->s.t);
}

static size_t last_piece(const cpli_adjoint* a, size_t segment) {
  return segment + 1 < a->n_jumps ? a->jumps[segment + 1].first_piece : a->tape.n_pieces;
}

// Newton's form would need differences kept; Lagrange's needs nothing, and pieces are short.
static void interpolate(const cpli_adjoint* a, const cpli_tape_piece* p, double t, double* x) {
  const double *at = a->tape.t + p->first, *from = a->tape.x + a->s.n * p->first;
  for (size_t i = 0; i < a->s.n; i++) x[i] = 0;
  for (size_t k = 0; k < p->n; k++) {
    double weight = 1;
    for (size_t j = 0; j < p->n; j++) weight *= j == k ? 1 : (t - at[j]) / (at[k] - at[j]);
    if (weight == 0) continue;
    for (size_t i = 0; i < a->s.n; i++) x[i] += weight * from[a->s.n * k + i];
  }
}

void cpli_tape_at(const cpli_adjoint* a, size_t segment, double t, double* x) {
  const cpli_tape* k = &a->tape;
  size_t low = a->jumps[segment].first_piece, high = last_piece(a, segment);
  if (low == high) {  // it has no duration
    memcpy(x, a->jumps[segment].after, a->s.n * sizeof *x);
    return;
  }
  high--;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const cpli_tape_piece* p = &k->pieces[middle];
    if (k->t[p->first + p->n - 1] < t) low = middle + 1;
    else high = middle;
  }
  interpolate(a, &k->pieces[low], t, x);
}

//------------------------------------ saved states ------------------------------------

static const cpl_model* cannot_save(const cpl_model* m) {
  const cpl_model* found = NULL;
  int32_t n = cpl_aggregate_count(m);
  for (int32_t i = 0; i < n && found == NULL; i++) found = cannot_save(cpl_aggregate_part(m, i));
  return found != NULL ? found : m->base.can.save_restore ? NULL : m;
}

// Of the model, then of each instance.
static cpl_model* instance(cpli_adjoint* a, size_t i) {
  return i == 0 ? a->s.m : a->s.to[(i - 1) / 2].of[(i - 1) % 2].m;
}

static cpl_status save(cpli_adjoint* a, cpli_jump* j) {
  cpl_context* ctx = a->s.base.base.ctx;
  size_t n = 1 + 2 * a->s.n_to;
  const cpl_model* stuck = cannot_save(a->s.m);
  if (stuck != NULL)
    return cpl_fail_in(
        ctx, CPL_ERR_UNSUPPORTED, a->s.base.base.name, NULL, a->s.t,
        "no adjoint gradients across the event at t=%.12g: the state of %s cannot be "
        "saved; sensitivities without --adjoint go across it",
        a->s.t, stuck->base.name);
  j->saved = cpli_alloc(ctx, n, sizeof *j->saved);
  if (j->saved == NULL) return cpli_nomem(ctx);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    cpl_component* c = &instance(a, i)->base;
    st = c->ops->save(c, &j->saved[i]);
  }
  return st;
}

cpl_status cpli_adjoint_restore(cpli_adjoint* a, const cpli_jump* j) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < 1 + 2 * a->s.n_to && st == CPL_OK; i++) {
    cpl_component* c = &instance(a, i)->base;
    st = c->ops->restore(c, &j->saved[i]);
  }
  return st;
}

static void free_jump(cpli_adjoint* a, cpli_jump* j) {
  cpl_context* ctx = a->s.base.base.ctx;
  for (size_t i = 0; j->saved != NULL && i < 1 + 2 * a->s.n_to; i++) {
    cpl_component* c = &instance(a, i)->base;
    if (j->saved[i].data != NULL) c->ops->forget(c, &j->saved[i]);
  }
  cpli_free(ctx, j->saved);
  cpli_free(ctx, j->before);
  cpli_free(ctx, j->crossed);
}

void cpli_adjoint_forget(cpli_adjoint* a) {
  for (size_t i = 0; i < a->n_jumps; i++) free_jump(a, &a->jumps[i]);
  a->n_jumps = 0;
  a->open = false;
  a->tape.n = a->tape.n_pieces = a->tape.begun = 0;
}

//------------------------------------ events ------------------------------------

cpl_status cpli_adjoint_scalars(cpli_adjoint* a, cpl_model* m, double* y) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < a->s.n_of && st == CPL_OK; i++)
    st = m->base.ops->get_real(&m->base, &a->scalars[i].ref, 1, &y[i]);
  return st;
}

static cpl_status add_jump(cpli_adjoint* a) {
  cpli_sens* s = &a->s;
  cpl_context* ctx = s->base.base.ctx;
  size_t n = s->n, groups = s->n_to, of = s->n_of;
  if (!cpli_grow(ctx, (void**)&a->jumps, &a->cap_jumps, a->n_jumps, sizeof *a->jumps))
    return cpli_nomem(ctx);
  cpli_jump* j = &a->jumps[a->n_jumps];
  *j = (cpli_jump){.t = s->t};
  j->before = cpli_alloc(ctx, 4 * n + 2 * of + n * groups + groups, sizeof *j->before);
  j->crossed = cpli_alloc(ctx, s->nz, sizeof *j->crossed);
  a->n_jumps++;
  if (j->before == NULL || j->crossed == NULL) return cpli_nomem(ctx);
  j->after = j->before + n;
  j->f_before = j->after + n;
  j->f_after = j->f_before + n;
  j->y_before = j->f_after + n;
  j->y_after = j->y_before + of;
  j->by = j->y_after + of;
  j->later = j->by + n * groups;
  return CPL_OK;
}

// One that has begun did not take place after all.
static void drop_open(cpli_adjoint* a) {
  if (a->open) free_jump(a, &a->jumps[--a->n_jumps]);
  a->open = false;
}

// An event is due at the end of this step: the state before it.
static cpl_status begin_jump(cpli_adjoint* a) {
  cpli_sens* s = &a->s;
  drop_open(a);
  if (a->grouped) {
    a->separate = true;
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_UNSUPPORTED, s->base.base.name, NULL, s->t,
                       "instances are shared by parameters, and there is an event at t=%.12g",
                       s->t);
  }
  cpl_status st = add_jump(a);
  if (st < 0) return st;
  a->open = true;
  cpli_jump* j = &a->jumps[a->n_jumps - 1];
  memcpy(j->before, s->x, s->n * sizeof *s->x);
  st = cpli_adjoint_scalars(a, s->m, j->y_before);
  return st == CPL_OK ? save(a, j) : st;
}

static cpl_status is_event_due(cpli_adjoint* a, bool* due) {
  cpli_sens* s = &a->s;
  *due = s->t >= s->next;
  cpl_status st = s->nz > 0 ? s->m->ops->get_indicators(s->m, s->z) : CPL_OK;
  for (size_t i = 0; i < s->nz; i++) *due = *due || (s->z[i] > 0 ? 1 : -1) != s->signs[i];
  return st;
}

cpl_status cpli_adjoint_completed_step(cpl_model* m, bool* event, bool* end) {
  cpli_adjoint* a = (cpli_adjoint*)m;
  bool due = false;
  cpl_status st = a->s.t > a->tape.t[a->tape.n - 1] ? add_point(a, a->s.t) : CPL_OK;
  if (st == CPL_OK) st = end_piece(a);
  if (st == CPL_OK) st = is_event_due(a, &due);
  if (st == CPL_OK && due) st = begin_jump(a);
  return st == CPL_OK ? cpli_sens_completed_step(m, event, end) : st;
}

cpl_status cpli_adjoint_enter_event(cpl_model* m) {
  cpli_adjoint* a = (cpli_adjoint*)m;
  cpli_sens* s = &a->s;
  bool begun = a->open && a->jumps[a->n_jumps - 1].t == s->t;
  cpl_status st = begun ? CPL_OK : begin_jump(a);
  if (st == CPL_OK) st = cpli_sens_enter_event(m);
  if (st != CPL_OK) return st;
  cpli_jump* j = &a->jumps[a->n_jumps - 1];
  memcpy(j->f_before, s->f, s->n * sizeof *s->f);
  j->crosses = s->crossed_at == s->t;
  j->due = s->t >= s->next;
  j->step = s->step;
  j->longest = s->longest;
  if (s->nz > 0) memcpy(j->crossed, s->crossed, s->nz * sizeof *s->crossed);
  return CPL_OK;
}

cpl_status cpli_adjoint_event_update(cpl_model* m, cpl_event_info* info) {
  cpli_adjoint* a = (cpli_adjoint*)m;
  cpl_status st = cpli_sens_event_update(m, info);
  if (st != CPL_OK || !info->terminate) return st;
  return cpl_fail_in(m->base.ctx, CPL_ERR_UNSUPPORTED, m->base.name, NULL, a->s.t,
                     "no adjoint gradients: the model ends the run at t=%.12g, a time that may "
                     "depend on parameters; give an earlier --stop",
                     a->s.t);
}

// Where parameters share instances, the states at the start must be those of the model, but for
// start values: otherwise it is not known which parameter has changed them.
static cpl_status attribute_starts(cpli_adjoint* a, const cpli_jump* j) {
  cpli_sens* s = &a->s;
  for (size_t g = 0; g < s->n_to; g++) {
    if (s->to[g].next == NULL) continue;
    for (size_t i = 0; i < s->n; i++) {
      double change = j->by[s->n * g + i] * s->to[g].width, known = 0;
      for (CPLI_EACH_MEMBER(&s->to[g], k)) {
        if (k->is_state &&
            cpli_root_variable(s->m->base.desc, s->m->base.desc->states[i]) == k->var)
          known = k->width;
      }
      if (fabs(change - known) <= 1e-6 * known) continue;
      a->separate = true;
      return cpl_fail_in(s->base.base.ctx, CPL_ERR_UNSUPPORTED, s->base.base.name, NULL, s->t,
                         "instances are shared by parameters, and states begin with them");
    }
  }
  return CPL_OK;
}

static cpl_status finish_jump(cpli_adjoint* a, cpli_jump* j, bool starts) {
  cpli_sens* s = &a->s;
  size_t n = s->n;
  memcpy(j->after, s->x, n * sizeof *s->x);
  if (!starts) memcpy(j->f_after, s->f_after, n * sizeof *s->x);
  memcpy(j->by, s->x + n, n * s->n_to * sizeof *s->x);
  for (size_t g = 0; g < s->n_to; g++)
    j->later[g] = starts ? 0 : (s->to[g].of[0].shift - s->to[g].of[1].shift) / s->to[g].width;
  memset(s->x + n, 0, n * s->n_to * sizeof *s->x);
  s->point++;
  j->next = s->next;
  j->first_piece = a->tape.n_pieces;
  for (size_t i = 0; i < n && !starts; i++)
    j->changes = j->changes || j->before[i] != j->after[i] || j->f_before[i] != j->f_after[i];
  cpl_status st = cpli_adjoint_scalars(a, s->m, j->y_after);
  for (size_t i = 0; i < s->n_of; i++)
    j->changes = j->changes || (!starts && j->y_before[i] != j->y_after[i]);
  if (st != CPL_OK || starts) return st == CPL_OK ? attribute_starts(a, j) : st;
  if (!j->changes || j->crosses || j->due) return CPL_OK;
  return cpl_fail_in(s->base.base.ctx, CPL_ERR_UNSUPPORTED, s->base.base.name, NULL, s->t,
                     "no adjoint gradients: a step event changes the model at t=%.12g", s->t);
}

cpl_status cpli_adjoint_enter_continuous(cpl_model* m) {
  cpli_adjoint* a = (cpli_adjoint*)m;
  bool starts = !a->s.began;
  cpl_status st = starts ? add_jump(a) : CPL_OK;
  if (st == CPL_OK) st = cpli_sens_enter_continuous(m);
  if (st == CPL_OK) st = finish_jump(a, &a->jumps[a->n_jumps - 1], starts);
  a->open = false;
  if (st != CPL_OK) return st;
  a->tape.begun = a->tape.n;
  return add_point(a, a->s.t);
}

cpl_status cpli_adjoint_end(cpli_adjoint* a) {
  drop_open(a);
  a->t_end = a->s.t;
  return end_piece(a);
}
