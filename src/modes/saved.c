// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The snapshot of modes: the active one, the kept values of those that were left, and a snapshot of
// each mode that was entered. An inactive mode does not change: it is saved and restored only if it
// has been entered since.
#include <assert.h>

#include "modes/modes.h"

typedef struct saved {
  const cpli_modes* owner;  // a snapshot is restored by the object that made it
  int32_t active, left, n_trail;
  double t, entered;
  bool running, ended, wants_stop;
  cpli_transition *pending, *arriving;
  struct saved_mode {
    cpl_snapshot snapshot;
    int64_t stay;   // the present one of the mode
    int64_t after;  // the stay at whose end the snapshot was taken; 0: within one, or never
    bool left;
  } * modes;
  int32_t* trail;
  double* kept;                  // of all modes, in order
  struct cpli_shrinking* watch;  // of all transitions, in order
  cpli_modes_shared* shared;     // inputs, then parameters
} saved;

static const cpli_seen_kind shared_kinds[] = {CPLI_SEEN_INPUT, CPLI_SEEN_PARAMETER};

static saved* make_saved(const cpli_modes* m) {
  size_t n = (size_t)m->n_modes, kept = 0, transitions = 0, shared = 0;
  for (int32_t k = 0; k < m->n_modes; k++) {
    kept += (size_t)m->modes[k].n_kept;
    transitions += (size_t)m->modes[k].n_transitions;
  }
  for (size_t i = 0; i < CPLI_COUNT(shared_kinds); i++)
    shared += (size_t)m->n_shared[shared_kinds[i]];
  size_t size = sizeof(saved) + n * sizeof(struct saved_mode) + kept * sizeof(double) +
                transitions * sizeof(struct cpli_shrinking) + shared * sizeof(cpli_modes_shared) +
                CPLI_TRAIL * sizeof(int32_t);
  saved* k = cpli_alloc(m->base.base.ctx, 1, size);
  if (k == NULL) return NULL;
  k->owner = m;
  k->modes = (struct saved_mode*)(k + 1);
  k->shared = (cpli_modes_shared*)(k->modes + n);
  k->watch = (struct cpli_shrinking*)(k->shared + shared);
  k->kept = (double*)(k->watch + transitions);
  k->trail = (int32_t*)(k->kept + kept);
  return k;
}

//------------------------------------ kept values ------------------------------------

// Copies in one of two directions.
static void copy_mode(saved* k, cpli_modes* m, bool save) {
  double* kept = k->kept;
  struct cpli_shrinking* watch = k->watch;
  for (int32_t i = 0; i < m->n_modes; i++) {
    cpli_mode* mode = &m->modes[i];
    size_t n = (size_t)mode->n_kept;
    if (save) k->modes[i].left = mode->left;
    else mode->left = k->modes[i].left;
    if (n > 0)
      memcpy(save ? kept : mode->kept_values, save ? mode->kept_values : kept, n * sizeof *kept);
    kept += n;
    for (int32_t w = 0; w < mode->n_transitions; w++, watch++) {
      if (save) *watch = mode->transitions[w].watch;
      else mode->transitions[w].watch = *watch;
    }
  }
}

static void copy_shared(saved* k, cpli_modes* m, bool save) {
  cpli_modes_shared* at = k->shared;
  for (size_t i = 0; i < CPLI_COUNT(shared_kinds); i++) {
    size_t n = (size_t)m->n_shared[shared_kinds[i]];
    cpli_modes_shared* own = m->shared[shared_kinds[i]];
    if (n > 0) memcpy(save ? at : own, save ? own : at, n * sizeof *at);
    at += n;
  }
}

//------------------------------------ operations ------------------------------------

cpl_status cpli_modes_save(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_modes* m = (cpli_modes*)c;
  if (snapshot->data == NULL) snapshot->data = make_saved(m);
  saved* k = snapshot->data;
  if (k == NULL) return cpli_nomem(c->ctx);
  assert(k->owner == m && m->n_trail >= 0 && m->n_trail <= CPLI_TRAIL);
  k->active = m->active, k->left = m->left, k->n_trail = m->n_trail;
  k->t = m->t, k->entered = m->entered;
  k->running = m->running, k->ended = m->ended, k->wants_stop = m->wants_stop;
  k->pending = m->pending, k->arriving = m->arriving;
  memcpy(k->trail, m->trail, (size_t)m->n_trail * sizeof *k->trail);
  copy_mode(k, m, true);
  copy_shared(k, m, true);
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_modes && st >= 0; i++) {
    cpl_component* mode = m->modes[i].c;
    k->modes[i].stay = m->modes[i].stay;
    if (i != m->active && k->modes[i].after == m->modes[i].stay) continue;
    st = mode->ops->save(mode, &k->modes[i].snapshot);
    k->modes[i].after = i != m->active ? m->modes[i].stay : 0;
  }
  return st;
}

cpl_status cpli_modes_restore(cpl_component* c, const cpl_snapshot* snapshot) {
  cpli_modes* m = (cpli_modes*)c;
  saved* k = snapshot->data;
  cpl_status st = CPL_OK;
  assert(k != NULL && k->owner == m && k->active >= 0 && k->active < m->n_modes);
  m->active = k->active, m->left = k->left, m->n_trail = k->n_trail;
  m->t = k->t, m->entered = k->entered;
  m->running = k->running, m->ended = k->ended, m->wants_stop = k->wants_stop;
  m->pending = k->pending, m->arriving = k->arriving;
  memcpy(m->trail, k->trail, (size_t)k->n_trail * sizeof *k->trail);
  copy_mode(k, m, false);
  copy_shared(k, m, false);
  cpli_modes_show_structure(m);
  for (int32_t i = 0; i < m->n_modes && st >= 0; i++) {
    cpl_component* mode = m->modes[i].c;
    bool same = m->modes[i].stay == k->modes[i].stay && i != m->active;
    if (!same && k->modes[i].stay > 0) st = mode->ops->restore(mode, &k->modes[i].snapshot);
    if (k->modes[i].stay > 0) m->modes[i].stay = k->modes[i].stay;
  }
  m->modes[m->active].stay = ++m->stays;  // the stay may end differently this time
  return st;
}

void cpli_modes_forget_saved(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_modes* m = (cpli_modes*)c;
  saved* k = snapshot->data;
  assert(k == NULL || k->owner == m);
  for (int32_t i = 0; k != NULL && i < m->n_modes; i++) {
    cpl_component* mode = m->modes[i].c;
    if (k->modes[i].snapshot.data != NULL) mode->ops->forget(mode, &k->modes[i].snapshot);
  }
  cpli_free(c->ctx, k);
  snapshot->data = NULL;
}
