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
  bool foreign;  // it was made of bytes: start values and curves are part of it
  cpl_setup setup;
  cpli_transition *pending, *arriving;
  struct saved_mode {
    cpl_snapshot snapshot;
    int64_t stay;   // the present one of the mode
    int64_t after;  // the stay at whose end the snapshot was taken; 0: within one, or never
    bool left;
    cpli_starts starts;  // of a foreign one: those that were set from outside
  } * modes;
  int32_t* trail;
  double* kept;                  // of all modes, in order
  struct cpli_shrinking* watch;  // of all transitions, in order
  cpli_modes_shared* shared;     // inputs, then parameters
  double* arrived;               // values that `arriving` has computed
} saved;

static const cpli_seen_kind shared_kinds[] = {CPLI_SEEN_INPUT, CPLI_SEEN_PARAMETER};

// The number of values that a transition has computed.
static size_t n_arrived(const cpli_transition* t) {
  return (size_t)t->def.n_targets + (size_t)t->set.n;
}

static saved* make_saved(const cpli_modes* m) {
  size_t n = (size_t)m->n_modes, kept = 0, transitions = 0, shared = 0, arrived = 0;
  for (int32_t k = 0; k < m->n_modes; k++) {
    const cpli_mode* mode = &m->modes[k];
    kept += (size_t)mode->n_kept;
    transitions += (size_t)mode->n_transitions;
    for (int32_t i = 0; i < mode->n_transitions; i++) {
      size_t values = n_arrived(&mode->transitions[i]);
      if (values > arrived) arrived = values;
    }
  }
  for (size_t i = 0; i < CPLI_COUNT(shared_kinds); i++)
    shared += (size_t)m->n_shared[shared_kinds[i]];
  size_t size = sizeof(saved) + n * sizeof(struct saved_mode) + (kept + arrived) * sizeof(double) +
                transitions * sizeof(struct cpli_shrinking) + shared * sizeof(cpli_modes_shared) +
                CPLI_TRAIL * sizeof(int32_t);
  saved* k = cpli_alloc(m->base.base.ctx, 1, size);
  if (k == NULL) return NULL;
  k->owner = m;
  k->modes = (struct saved_mode*)(k + 1);
  k->shared = (cpli_modes_shared*)(k->modes + n);
  k->watch = (struct cpli_shrinking*)(k->shared + shared);
  k->kept = (double*)(k->watch + transitions);
  k->arrived = k->kept + kept;
  k->trail = (int32_t*)(k->arrived + arrived);
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

// A model may be saved between the two phases of a transition.
static void copy_arrived(saved* k, bool save) {
  if (k->arriving == NULL) return;
  cpli_transition* t = k->arriving;
  size_t results = (size_t)t->def.n_targets, set = (size_t)t->set.n;
  double* at[] = {t->results, t->set.values};
  const size_t n[] = {results, set};
  double* kept = k->arrived;
  for (size_t i = 0; i < CPLI_COUNT(at); kept += n[i++]) {
    if (n[i] > 0) memcpy(save ? kept : at[i], save ? at[i] : kept, n[i] * sizeof *kept);
  }
}

//------------------------------------ a state from bytes ------------------------------------

// Start values that were set from outside replace those of this object.
static cpl_status restore_starts(cpli_modes* m, cpli_mode* mode, const cpli_starts* from) {
  cpl_context* ctx = m->base.base.ctx;
  cpl_status st = CPL_OK;
  mode->starts.n = mode->own_starts;
  mode->starts.n_others = mode->own_others;
  for (size_t i = 0; i < from->n && st >= 0; i++) {
    cpli_other real = {.type = CPL_REAL, .ref = from->refs[i]};
    st = cpli_starts_add(ctx, &mode->starts, real, from->values[i]);
  }
  for (size_t i = 0; i < from->n_others && st >= 0; i++) {
    cpli_other other = from->others[i];
    if (other.text != NULL) other.text = cpli_arena_strdup(&m->arena, other.text);
    if (from->others[i].text != NULL && other.text == NULL) return cpli_nomem(ctx);
    st = cpli_starts_add(ctx, &mode->starts, other, 0);
  }
  return st;
}

// Inputs that were functions of time are those that are set now, also in the modes.
static cpl_status restore_curves(cpli_modes* m, saved* k) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_shared[CPLI_SEEN_INPUT] && st >= 0; i++) {
    const cpli_modes_shared* own = &m->shared[CPLI_SEEN_INPUT][i];
    cpli_modes_shared* in = &k->shared[i];
    if (!in->by_curve || !in->set_again) continue;
    if (!own->by_curve) return cpli_curve_missing(&m->base.base, "an input", k->t);
    in->curve = own->curve;
    for (int32_t mode = 0; mode < m->n_modes && st >= 0; mode++) {
      cpl_stepper* s = m->modes[mode].s;
      if (in->at[mode].slot >= 0 && k->modes[mode].stay > 0)
        st = s->ops->set_curve(s, in->at[mode].ref, &in->curve);
    }
  }
  return st;
}

static cpl_status restore_foreign(cpli_modes* m, saved* k) {
  if (!k->foreign) return CPL_OK;
  cpl_status st = restore_curves(m, k);
  for (int32_t i = 0; i < m->n_modes && st >= 0; i++)
    st = restore_starts(m, &m->modes[i], &k->modes[i].starts);
  return st;
}

//------------------------------------ operations ------------------------------------

cpl_status cpli_modes_save(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_modes* m = (cpli_modes*)c;
  if (snapshot->data != NULL && ((saved*)snapshot->data)->foreign)
    cpli_modes_forget_saved(c, snapshot);
  if (snapshot->data == NULL) snapshot->data = make_saved(m);
  saved* k = snapshot->data;
  if (k == NULL) return cpli_nomem(c->ctx);
  assert(k->owner == m && m->n_trail >= 0 && m->n_trail <= CPLI_TRAIL);
  k->active = m->active, k->left = m->left, k->n_trail = m->n_trail;
  k->t = m->t, k->entered = m->entered;
  k->running = m->running, k->ended = m->ended, k->wants_stop = m->wants_stop;
  k->pending = m->pending, k->arriving = m->arriving;
  k->setup = m->setup;
  assert(!k->foreign);
  copy_arrived(k, true);
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
  assert(k != NULL && k->owner == m && k->active >= 0 && k->active < m->n_modes);
  cpl_status st = restore_foreign(m, k);
  if (st < 0) return st;
  m->active = k->active, m->left = k->left, m->n_trail = k->n_trail;
  m->t = k->t, m->entered = k->entered;
  if (!m->running) m->setup = k->setup;  // else that of this run
  m->running = k->running, m->ended = k->ended, m->wants_stop = k->wants_stop;
  m->pending = k->pending, m->arriving = k->arriving;
  copy_arrived(k, false);
  memcpy(m->trail, k->trail, (size_t)k->n_trail * sizeof *k->trail);
  copy_mode(k, m, false);
  copy_shared(k, m, false);
  cpli_modes_show_structure(m);
  for (int32_t i = 0; i < m->n_modes && st >= 0; i++) {
    cpl_component* mode = m->modes[i].c;
    bool same = m->modes[i].stay == k->modes[i].stay && i != m->active;
    if (!same && k->modes[i].stay > 0) st = mode->ops->restore(mode, &k->modes[i].snapshot);
    if (k->modes[i].stay > 0) m->modes[i].stay = k->modes[i].stay, m->modes[i].used = true;
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
    cpli_starts* starts = &k->modes[i].starts;
    for (size_t o = 0; o < starts->n_others; o++) cpli_free(c->ctx, (char*)starts->others[o].text);
    cpli_free(c->ctx, starts->refs);
    cpli_free(c->ctx, starts->values);
    cpli_free(c->ctx, starts->others);
  }
  cpli_free(c->ctx, k);
  snapshot->data = NULL;
}

//------------------------------------ bytes ------------------------------------

// A transition as the numbers of its mode and among those of the mode.
static void list_transition(cpli_serial* s, cpli_modes* m, cpli_transition** t) {
  int32_t mode = -1, number = 0;
  for (int32_t i = 0; i < m->n_modes && *t != NULL; i++) {
    const cpli_mode* one = &m->modes[i];
    for (int32_t k = 0; k < one->n_transitions; k++) {
      if (*t == &one->transitions[k]) mode = i, number = k;
    }
  }
  cpli_serial_int(s, &mode, -1, m->n_modes - 1);
  if (s->st < 0 || mode < 0) return;
  cpli_serial_int(s, &number, 0, m->modes[mode].n_transitions - 1);
  if (s->st >= 0) *t = &m->modes[mode].transitions[number];
}

static void list_shrinking(cpli_serial* s, struct cpli_shrinking* k) {
  double* values[] = {&k->last, &k->distance, &k->began, &k->ratio, &k->steadiness, &k->end};
  for (size_t i = 0; i < CPLI_COUNT(values); i++) cpli_serial_real(s, values[i]);
  cpli_serial_count32(s, &k->shrunk);
  cpli_serial_count32(s, &k->stuck);
}

static void list_setup(cpli_serial* s, cpl_setup* k) {
  if (cpli_serial_reads(s)) k->size = sizeof *k;
  cpli_serial_real(s, &k->start_time);
  cpli_serial_bool(s, &k->has_stop_time);
  cpli_serial_real(s, &k->stop_time);
  cpli_serial_bool(s, &k->has_tolerance);
  cpli_serial_real(s, &k->tolerance);
}

static void list_other(cpli_serial* s, cpl_component* mode, cpli_other* o) {
  int32_t type = o->type;
  size_t size = o->text != NULL ? strlen(o->text) : 0;
  cpli_serial_int(s, &type, 0, UINT8_MAX);
  cpli_serial_bytes(s, &o->ref, sizeof o->ref);
  cpli_serial_long(s, &o->integer);
  o->type = (uint8_t)type;
  if (type == CPL_STRING) cpli_serial_text(s, (char**)&o->text, &size);
  if (s->st >= 0 && !cpli_serial_has(mode, o->type, o->ref))
    cpli_serial_refuse(s, "a mode has other variables");
}

// Start values that were set from outside; when they are written, of the object itself.
static void list_starts(cpli_serial* s, cpl_component* mode, const cpli_starts* from, size_t first,
                        size_t first_other, cpli_starts* to) {
  bool reads = cpli_serial_reads(s);
  size_t n = reads ? 0 : from->n - first, others = reads ? 0 : from->n_others - first_other;
  cpli_serial_count(s, &n, sizeof(double));
  for (size_t i = 0; i < n && s->st >= 0; i++) {
    cpli_other real = {.type = CPL_REAL, .ref = reads ? 0 : from->refs[first + i]};
    double value = reads ? 0 : from->values[first + i];
    cpli_serial_bytes(s, &real.ref, sizeof real.ref);
    cpli_serial_real(s, &value);
    if (s->st >= 0 && !cpli_serial_has(mode, CPL_REAL, real.ref))
      cpli_serial_refuse(s, "a mode has other variables");
    if (reads && s->st >= 0 && cpli_starts_add(mode->ctx, to, real, value) < 0)
      cpli_serial_nomem(s);
  }
  cpli_serial_count(s, &others, sizeof(double));
  for (size_t i = 0; i < others && s->st >= 0; i++) {
    cpli_other other = {0};
    if (!reads) other = from->others[first_other + i];
    list_other(s, mode, &other);
    if (!reads) continue;
    if (s->st >= 0 && cpli_starts_add(mode->ctx, to, other, 0) < 0) cpli_serial_nomem(s);
    if (s->st < 0) cpli_free(mode->ctx, (char*)other.text);
  }
}

static void list_mode(cpli_serial* s, cpli_modes* m, saved* k, int32_t i) {
  cpli_mode* mode = &m->modes[i];
  struct saved_mode* one = &k->modes[i];
  bool entered = one->stay > 0 && one->snapshot.data != NULL, own = !k->foreign;
  cpli_serial_bool(s, &one->left);
  list_starts(s, mode->c, own ? &mode->starts : &one->starts, own ? mode->own_starts : 0,
              own ? mode->own_others : 0, &one->starts);
  cpli_serial_bool(s, &entered);
  if (s->st < 0) return;
  if (i == k->active && k->running && !entered)
    cpli_serial_refuse(s, "the active mode has not been entered");
  if (entered) cpli_serial_part(s, mode->c, &one->snapshot);
  if (!cpli_serial_reads(s) || !entered) return;
  one->stay = ++m->stays;  // stays of another object mean nothing here
  one->after = i != k->active ? one->stay : 0;
}

static void list_shared(cpli_serial* s, cpli_modes* m, saved* k) {
  size_t n = 0;
  for (size_t i = 0; i < CPLI_COUNT(shared_kinds); i++) n += (size_t)m->n_shared[shared_kinds[i]];
  cpli_serial_same(s, n);
  for (size_t i = 0; i < n && s->st >= 0; i++) {
    cpli_serial_real(s, &k->shared[i].value);
    cpli_serial_bool(s, &k->shared[i].given);
    cpli_serial_bool(s, &k->shared[i].by_curve);
    cpli_serial_curve(s, &k->shared[i].curve);
    if (cpli_serial_reads(s)) k->shared[i].set_again = k->shared[i].curve.order == CPLI_SET_AGAIN;
    if (k->shared[i].by_curve && i >= (size_t)m->n_shared[CPLI_SEEN_INPUT])
      cpli_serial_refuse(s, "a parameter is no curve");
  }
}

static void list_values(cpli_serial* s, cpli_modes* m, saved* k) {
  size_t kept = 0, watch = 0;
  for (int32_t i = 0; i < m->n_modes; i++) {
    kept += (size_t)m->modes[i].n_kept;
    watch += (size_t)m->modes[i].n_transitions;
  }
  cpli_serial_same(s, kept);
  cpli_serial_same(s, watch);
  cpli_serial_reals(s, k->kept, kept);
  for (size_t i = 0; i < watch; i++) list_shrinking(s, &k->watch[i]);
  if (k->arriving != NULL) cpli_serial_reals(s, k->arrived, n_arrived(k->arriving));
}

static void list(cpli_serial* s, cpl_component* c, cpl_snapshot* snapshot) {
  cpli_modes* m = (cpli_modes*)c;
  bool reads = cpli_serial_reads(s);
  if (reads) snapshot->data = make_saved(m);
  if (!cpli_serial_made(s, snapshot)) return;
  saved* k = snapshot->data;
  if (reads) copy_shared(k, m, true);  // for what does not change
  bool foreign = k->foreign;
  cpli_serial_same(s, (size_t)m->n_modes);
  cpli_serial_int(s, &k->active, 0, m->n_modes - 1);
  cpli_serial_int(s, &k->left, 0, m->n_modes - 1);
  cpli_serial_int(s, &k->n_trail, 0, CPLI_TRAIL);
  for (int32_t i = 0; i < k->n_trail; i++) cpli_serial_int(s, &k->trail[i], 0, m->n_modes - 1);
  cpli_serial_real(s, &k->t);
  cpli_serial_real(s, &k->entered);
  bool* flags[] = {&k->running, &k->ended, &k->wants_stop};
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(s, flags[i]);
  list_setup(s, &k->setup);
  list_transition(s, m, &k->pending);
  list_transition(s, m, &k->arriving);
  if (s->st >= 0) list_values(s, m, k);
  if (s->st >= 0) list_shared(s, m, k);
  for (int32_t i = 0; i < m->n_modes && s->st >= 0; i++) list_mode(s, m, k, i);
  k->foreign = foreign || reads;
}

cpl_status cpli_modes_to_bytes(cpl_component* c, const cpl_snapshot* snapshot, cpl_binary* bytes) {
  return cpli_serial_write(c, &((cpli_modes*)c)->bytes, list, snapshot, bytes);
}

cpl_status cpli_modes_from_bytes(cpl_component* c, const cpl_binary* bytes,
                                 cpl_snapshot* snapshot) {
  return cpli_serial_read(c, bytes, list, snapshot);
}

//------------------------------------ history ------------------------------------

// A snapshot has what the modes share; those that were entered have histories of their own.
static void list_history(cpli_serial* s, void* user) {
  cpli_modes* m = user;
  cpli_serial_same(s, (size_t)m->n_modes);
  cpli_serial_count64(s, &m->switches);
  for (int32_t i = 0; i < m->n_modes && s->st >= 0; i++) {
    bool entered = m->modes[i].stay > 0, made = entered;
    cpli_serial_bool(s, &entered);
    if (entered && !made) cpli_serial_refuse(s, "other modes were entered");
    if (entered) cpli_serial_history(s, m->modes[i].c, !m->is_model);
  }
}

cpl_status cpli_modes_get_history(cpl_component* c, cpl_binary* bytes, bool* complete) {
  return cpli_serial_put(c, &((cpli_modes*)c)->bytes, list_history, c, bytes, complete);
}

cpl_status cpli_modes_set_history(cpl_component* c, const cpl_binary* bytes) {
  return cpli_serial_get(c, bytes, list_history, c);
}
