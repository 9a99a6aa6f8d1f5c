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
  double t, t_start, t_stop, next_time, careful_until, careful_step, stuck_since;
  int32_t stuck;
  cpli_cause pending;
  bool running, in_event, ended;
  bool moved;      // curves were set since the last step
  size_t size;     // total size: the structure of the model may have grown
  int32_t stop;    // with ended
  int32_t rounds;  // with in_event
  size_t n_curves;
  size_t all, nz;  // of the structure it was made in
  double x[];      // followed by indicators before curves moved, trails, curves and their refs
} saved;

// Size without curves.
static size_t saved_size(size_t all, size_t nz) {
  return sizeof(saved) + (all + nz) * sizeof(double) + 2 * nz * sizeof(struct cpli_trail);
}

static struct cpli_trail* trails_of(saved* k) {
  return (struct cpli_trail*)(k->x + k->all + k->nz);
}

static cpl_curve* curves_of(const saved* k) {
  return (cpl_curve*)((unsigned char*)k + saved_size(k->all, k->nz));
}

static uint32_t* refs_of(const saved* k) { return (uint32_t*)(curves_of(k) + k->n_curves); }

static_assert(sizeof(saved) % _Alignof(cpl_curve) == 0 && offsetof(saved, x) == sizeof(saved),
              "numbers and curves behind the head are aligned");

static size_t curves_size(size_t n) { return n * (sizeof(cpl_curve) + sizeof(uint32_t)); }

static saved* make_room(const cpli_integrate* s, saved* old) {
  size_t size = saved_size(s->all, s->nz) + curves_size(s->n_curves);
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
  s->restored = NULL;
  cpli_linear_forget(s);  // continued and restored runs factorise alike
  *k = (saved){.model = k->model,
               .t = s->t,
               .t_start = s->t_start,
               .t_stop = s->t_stop,
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
               .n_curves = s->n_curves,
               .all = s->all,
               .nz = s->nz};
  assert(k->size >= saved_size(k->all, k->nz) + curves_size(k->n_curves));
  if (s->n_curves > 0) {
    memcpy(curves_of(k), s->curves, s->n_curves * sizeof *s->curves);
    memcpy(refs_of(k), s->curve_refs, s->n_curves * sizeof *s->curve_refs);
  }
  memcpy(k->x, s->t < s->t_step ? s->x_at : s->x, s->all * sizeof(double));
  memcpy(k->x + s->all, s->z_before, s->nz * sizeof(double));
  memcpy(trails_of(k), s->trails, 2 * s->nz * sizeof *s->trails);
  return cpli_model_of(c)->ops->save(cpli_model_of(c), &k->model);
}

//------------------------------------ restore ------------------------------------

static bool any_set_again(const saved* k) {
  bool any = false;
  for (size_t i = 0; i < k->n_curves; i++) any = any || curves_of(k)[i].order == CPLI_SET_AGAIN;
  return any;
}

// Curves that were functions of time in another process are those that are set here.
static cpl_status complete_curves(const cpli_integrate* s, const saved* k, cpl_curve* curves) {
  for (size_t i = 0; i < k->n_curves; i++) {
    uint32_t ref = refs_of(k)[i];
    curves[i] = curves_of(k)[i];
    if (curves[i].order != CPLI_SET_AGAIN) continue;
    const cpl_curve* present = cpli_curves_find(s, ref);
    if (present == NULL)
      return cpli_curve_missing(&s->base.base, cpli_curves_input(s, ref)->name, k->t);
    curves[i] = *present;
  }
  return CPL_OK;
}

static cpl_status restore_curves(cpli_integrate* s, const saved* k) {
  cpl_curve* completed = NULL;
  cpl_status st = cpli_curves_reserve(s, k->n_curves);
  if (st >= 0 && any_set_again(k)) {
    completed = cpli_alloc(s->base.base.ctx, k->n_curves, sizeof *completed);
    st = completed != NULL ? complete_curves(s, k, completed) : cpli_nomem(s->base.base.ctx);
  }
  if (st >= 0 && k->n_curves > 0) {
    const cpl_curve* from = completed != NULL ? completed : curves_of(k);
    memcpy(s->curves, from, k->n_curves * sizeof *from);
    memcpy(s->curve_refs, refs_of(k), k->n_curves * sizeof *s->curve_refs);
  }
  if (st >= 0) s->n_curves = k->n_curves, s->last_curve = 0;
  cpli_free(s->base.base.ctx, completed);
  return st;
}

// The model is restored, and with it the structure.
static cpl_status restore_numbers(cpli_integrate* s, saved* k) {
  if (k->all != s->all || k->nz != s->nz)
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_INPUT, s->base.base.name, NULL, k->t,
                       "the saved state has %zu states and %zu event indicators instead of %zu "
                       "and %zu",
                       k->all, k->nz, s->all, s->nz);
  memcpy(s->x, k->x, s->all * sizeof(double));
  memcpy(s->z_before, k->x + s->all, s->nz * sizeof(double));
  memcpy(s->trails, trails_of(k), 2 * s->nz * sizeof *s->trails);
  return CPL_OK;
}

cpl_status cpli_integrate_restore(cpl_component* c, const cpl_snapshot* snapshot) {
  cpli_integrate* s = (cpli_integrate*)c;
  saved* k = snapshot->data;
  cpl_status st = restore_curves(s, k);
  if (st < 0) return st;
  s->t = s->t_step = k->t;
  s->t_start = k->t_start;
  if (!s->running) s->t_stop = k->t_stop;  // else that of this run
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
  st = cpli_model_of(c)->ops->restore(cpli_model_of(c), &k->model);
  if (st >= 0) st = cpli_structures_follow(s);
  cpli_structures_forget(s);  // events of other structures may be later ones
  if (st >= 0) st = restore_numbers(s, k);
  cpli_linear_forget(s);
  if (st >= 0) st = cpli_projection_recount(s);
  bool goes_on = s->running && !s->in_event && !s->ended && s->pending == NO_EVENT;
  s->restored = &k->model;
  if (st < 0 || s->def.restart_each_step || !goes_on) return st;
  st = cpli_integrate_restart(&s->base);
  return st > 0 ? CPL_ERR_MODEL : st;
}

void cpli_integrate_forget(cpl_component* c, cpl_snapshot* snapshot) {
  saved* k = snapshot->data;
  if (k == NULL) return;
  if (((cpli_integrate*)c)->restored == &k->model) ((cpli_integrate*)c)->restored = NULL;
  cpli_model_of(c)->ops->forget(cpli_model_of(c), &k->model);
  cpli_free(c->ctx, k);
  snapshot->data = NULL;
}

//------------------------------------ bytes ------------------------------------

void cpli_serial_trail(cpli_serial* s, struct cpli_trail* k) {
  double* times[] = {&k->last, &k->distance, &k->begin, &k->end};
  for (size_t i = 0; i < CPLI_COUNT(times); i++) cpli_serial_real(s, times[i]);
  cpli_serial_count32(s, &k->close);
  cpli_serial_count32(s, &k->shrunk);
}

static void list_curve(cpli_serial* s, const cpli_integrate* of, cpl_curve* curve, uint32_t* ref) {
  cpli_serial_curve(s, curve);
  cpli_serial_bytes(s, ref, sizeof *ref);
  if (s->st >= 0 && cpli_serial_reads(s) && cpli_curves_input(of, *ref) == NULL)
    cpli_serial_refuse(s, "it has other inputs");
}

// Sizes, and the memory for a snapshot that is read. Another structure has other sizes.
static saved* list_sizes(cpli_serial* s, const cpli_integrate* of, cpl_snapshot* snapshot) {
  saved* k = snapshot->data;
  size_t all = 0, nz = 0, curves = 0;
  if (k != NULL) all = k->all, nz = k->nz, curves = k->n_curves;
  cpli_serial_count(s, &all, sizeof(double));
  cpli_serial_count(s, &nz, sizeof(double));
  cpli_serial_count(s, &curves, sizeof(double));
  bool fits = of->m->ops->structure != NULL || (all == of->all && nz == of->nz);
  if (s->st >= 0 && cpli_serial_reads(s) && !fits) cpli_serial_refuse(s, "it has other sizes");
  if (s->st < 0 || !cpli_serial_reads(s)) return k;
  size_t size = saved_size(all, nz) + curves_size(curves);
  snapshot->data = k = cpli_alloc(s->c->ctx, 1, size);
  if (k == NULL) cpli_serial_nomem(s);
  else k->size = size, k->all = all, k->nz = nz, k->n_curves = curves;
  return k;
}

static void list(cpli_serial* s, cpl_component* c, cpl_snapshot* snapshot) {
  const cpli_integrate* of = (const cpli_integrate*)c;
  saved* k = list_sizes(s, of, snapshot);
  if (s->st < 0) return;
  double* times[] = {&k->t,          &k->t_start,       &k->t_stop,
                     &k->next_time,  &k->careful_until, &k->careful_step,
                     &k->stuck_since};
  bool* flags[] = {&k->running, &k->in_event, &k->ended, &k->moved};
  int32_t pending = (int32_t)k->pending;
  for (size_t i = 0; i < CPLI_COUNT(times); i++) cpli_serial_real(s, times[i]);
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(s, flags[i]);
  cpli_serial_count32(s, &k->stuck);
  cpli_serial_int(s, &pending, NO_EVENT, INPUT_EVENT);
  cpli_serial_count32(s, &k->stop);
  cpli_serial_int(s, &k->rounds, 0, CPLI_MAX_ROUNDS);
  k->pending = (cpli_cause)pending;
  cpli_serial_reals(s, k->x, k->all + k->nz);
  for (size_t i = 0; i < 2 * k->nz; i++) cpli_serial_trail(s, &trails_of(k)[i]);
  for (size_t i = 0; i < k->n_curves; i++) list_curve(s, of, &curves_of(k)[i], &refs_of(k)[i]);
  cpli_serial_part(s, cpli_model_of(c), &k->model);
}

cpl_status cpli_integrate_to_bytes(cpl_component* c, const cpl_snapshot* snapshot,
                                   cpl_binary* bytes) {
  return cpli_serial_write(c, &((cpli_integrate*)c)->bytes, list, snapshot, bytes);
}

cpl_status cpli_integrate_from_bytes(cpl_component* c, const cpl_binary* bytes,
                                     cpl_snapshot* snapshot) {
  return cpli_serial_read(c, bytes, list, snapshot);
}

// The length precedes the bytes.
