// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Saved states of a stepper made by cpl_integrate().
#include <assert.h>
#include <math.h>

#include "solver/integrated.h"

// The solver's history is not saved: with restart_each_step every step starts without one,
// otherwise the one after a restore.
typedef struct saved {
  cpl_snapshot model;
  double t, t_start, next_time, careful_until, careful_step, stuck_since;
  int32_t stuck;
  cpli_cause pending;
  bool running, in_event, ended;
  bool moved;       // curves were set since the last step
  size_t size;      // total size: the structure of the model may have grown
  int32_t stop;     // with ended
  int32_t rounds;   // with in_event
  size_t n_curves;  // NOT_SAVED: curves are not included
  double x[];       // followed by indicators before curves moved, trails, curves and their refs
} saved;

#define NOT_SAVED SIZE_MAX

// Size of what can be serialised: without curves.
static size_t saved_size(const cpli_integrate* s) {
  return sizeof(saved) + (s->all + s->nz) * sizeof(double) + 2 * s->nz * sizeof *s->trails;
}

static_assert(sizeof(saved) % _Alignof(cpl_curve) == 0 && offsetof(saved, x) == sizeof(saved),
              "numbers and curves behind the head are aligned");

static size_t curves_size(const cpli_integrate* s) {
  return s->n_curves * (sizeof *s->curves + sizeof *s->curve_refs);
}

static saved* make_room(const cpli_integrate* s, saved* old) {
  size_t size = saved_size(s) + curves_size(s);
  if (old != NULL && old->size >= size) return old;
  saved* k = cpli_alloc(s->base.base.ctx, 1, size);
  if (k == NULL) return NULL;
  k->size = size;
  if (old != NULL) k->model = old->model;
  cpli_free(s->base.base.ctx, old);
  return k;
}

cpl_status cpli_integrate_save(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_integrate* s = (cpli_integrate*)c;
  saved* k = make_room(s, snapshot->data);
  if (k == NULL) return cpli_nomem(c->ctx);
  snapshot->data = k;
  *k = (saved){.model = k->model,
               .t = s->t,
               .t_start = s->t_start,
               .next_time = s->next_time,
               .careful_until = s->careful_until,
               .careful_step = s->careful_step,
               .stuck_since = s->stuck_since,
               .stuck = s->stuck,
               .pending = s->pending,
               .running = s->running,
               .in_event = s->in_event,
               .ended = s->ended,
               .rounds = s->rounds,
               .moved = s->moved,
               .size = k->size,
               .stop = s->stop,
               .n_curves = s->n_curves};
  assert(k->size >= saved_size(s) + curves_size(s));
  cpl_curve* curves = (cpl_curve*)((unsigned char*)k + saved_size(s));
  if (s->n_curves > 0) {
    memcpy(curves, s->curves, s->n_curves * sizeof *curves);
    memcpy(curves + s->n_curves, s->curve_refs, s->n_curves * sizeof *s->curve_refs);
  }
  memcpy(k->x, s->t < s->t_step ? s->x_at : s->x, s->all * sizeof(double));
  memcpy(k->x + s->all, s->z_before, s->nz * sizeof(double));
  memcpy(k->x + s->all + s->nz, s->trails, 2 * s->nz * sizeof *s->trails);
  return cpli_model_of(c)->ops->save(cpli_model_of(c), &k->model);
}

cpl_status cpli_integrate_restore(cpl_component* c, const cpl_snapshot* snapshot) {
  cpli_integrate* s = (cpli_integrate*)c;
  const saved* k = snapshot->data;
  s->t = s->t_step = k->t;
  s->t_start = k->t_start;
  s->next_time = k->next_time;
  s->careful_until = k->careful_until;
  s->careful_step = k->careful_step;
  s->stuck_since = k->stuck_since;
  s->stuck = k->stuck;
  s->pending = k->pending;
  s->running = k->running;
  s->in_event = k->in_event;
  s->ended = k->ended;
  s->rounds = k->rounds;
  s->stop = k->stop;
  s->step_open = false;
  s->moved = s->stale = k->moved;
  s->at_end = NO_EVENT;
  cpl_status st = cpli_model_of(c)->ops->restore(cpli_model_of(c), &k->model);
  if (st >= 0) st = cpli_structures_follow(s);
  if (st < 0) return st;
  assert(k->size >= saved_size(s));  // of the structure it was made in
  memcpy(s->x, k->x, s->all * sizeof(double));
  memcpy(s->z_before, k->x + s->all, s->nz * sizeof(double));
  memcpy(s->trails, k->x + s->all + s->nz, 2 * s->nz * sizeof *s->trails);
  if (k->n_curves != NOT_SAVED) {
    const cpl_curve* curves = (const cpl_curve*)((const unsigned char*)k + saved_size(s));
    s->n_curves = k->n_curves;
    s->last_curve = 0;
    if (k->n_curves > 0) {
      memcpy(s->curves, curves, k->n_curves * sizeof *curves);
      memcpy(s->curve_refs, curves + k->n_curves, k->n_curves * sizeof *s->curve_refs);
    }
  }
  st = cpli_projection_recount(s);
  bool goes_on = s->running && !s->in_event && !s->ended && s->pending == NO_EVENT;
  if (st < 0 || s->def.restart_each_step || !goes_on) return st;
  st = cpli_integrate_restart(&s->base);
  return st > 0 ? CPL_ERR_MODEL : st;
}

void cpli_integrate_forget(cpl_component* c, cpl_snapshot* snapshot) {
  saved* k = snapshot->data;
  if (k == NULL) return;
  cpli_model_of(c)->ops->forget(cpli_model_of(c), &k->model);
  cpli_free(c->ctx, k);
  snapshot->data = NULL;
}

size_t cpli_integrate_serialize(const cpl_stepper* s, const cpl_snapshot* snapshot,
                                unsigned char* bytes) {
  size_t size = saved_size((const cpli_integrate*)s);
  if (bytes == NULL) return size;
  memcpy(bytes, snapshot->data, size);
  memset(bytes + offsetof(saved, model), 0, sizeof(cpl_snapshot));  // a pointer is meaningless here
  memset(bytes + offsetof(saved, n_curves), 0xff, sizeof(size_t));  // NOT_SAVED
  return size;
}

cpl_status cpli_integrate_deserialize(cpl_stepper* s, const unsigned char* bytes, size_t size,
                                      cpl_snapshot* snapshot, size_t* used) {
  size_t own = saved_size((const cpli_integrate*)s);
  if (size < own) {
    return cpl_fail_in(s->base.ctx, CPL_ERR_INPUT, s->base.name, NULL, NAN,
                       "%zu bytes are too few for a saved state", size);
  }
  if (snapshot->data == NULL) snapshot->data = cpli_alloc(s->base.ctx, 1, own);
  if (snapshot->data == NULL) return cpli_nomem(s->base.ctx);
  cpl_snapshot model = *cpli_integrate_model_snapshot(snapshot);
  memcpy(snapshot->data, bytes, own);
  ((saved*)snapshot->data)->size = own;
  ((saved*)snapshot->data)->n_curves = NOT_SAVED;
  *cpli_integrate_model_snapshot(snapshot) = model;
  *used = own;
  return CPL_OK;
}

cpl_snapshot* cpli_integrate_model_snapshot(const cpl_snapshot* snapshot) {
  return &((saved*)snapshot->data)->model;
}
