// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Snapshots: parts, their present intervals, and the waves in transit.
#include "tlm/saved.h"

#include <assert.h>

typedef struct wave {
  cpli_segment* items;
  size_t n, cap;
} wave;

typedef struct saved {
  const cpli_tlm* owner;  // a snapshot is restored by the object that made it
  double t, t_start, t_stop;
  bool running;
  cpl_snapshot* inner;   // by part
  cpli_tlm_part* parts;  // copies; pointers in them are invalid
  cpli_tlm_end* ends;    // likewise
  wave* waves;           // two per end: sent, filtered
} saved;

bool cpli_tlm_saves(const cpli_tlm* m) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpl_component* c = &m->parts[i].s->base;
    if (c->ops->save == NULL || !c->can.save_restore) return false;
  }
  return true;
}

static saved* make_saved(const cpli_tlm* m) {
  size_t np = (size_t)m->n_parts, ne = (size_t)m->n_ends;
  saved* k = cpli_alloc(m->base.base.ctx, 1,
                        sizeof *k + np * (sizeof *k->parts + sizeof *k->inner) +
                            ne * (sizeof *k->ends + 2 * sizeof *k->waves));
  if (k == NULL) return NULL;
  k->owner = m;
  k->parts = (cpli_tlm_part*)(k + 1);
  k->ends = (cpli_tlm_end*)(k->parts + np);
  k->waves = (wave*)(k->ends + ne);
  k->inner = (cpl_snapshot*)(k->waves + 2 * ne);
  return k;
}

//------------------------------------ waves ------------------------------------

// Has the capacity of the ring, which grows with events only.
static cpl_status save_wave(cpl_context* ctx, const cpli_wave* from, wave* to) {
  if (to->cap < from->cap) {
    cpli_segment* items = cpli_realloc(ctx, to->items, from->cap, sizeof *items);
    if (items == NULL) return cpli_nomem(ctx);
    to->items = items;
    to->cap = from->cap;
  }
  to->n = from->n;
  for (size_t i = 0; i < from->n; i++)
    to->items[i] = from->items[(from->first + i) & (from->cap - 1)];
  return CPL_OK;
}

// Rings only grow; one of a state from bytes may have been larger.
static cpl_status restore_wave(const wave* from, cpli_wave* to) {
  cpl_status st = from->n > to->cap ? cpli_wave_reserve(to, from->n) : CPL_OK;
  if (st < 0) return st;
  to->first = 0;
  to->n = from->n;
  if (from->n > 0) memcpy(to->items, from->items, from->n * sizeof *to->items);
  return CPL_OK;
}

// All of an end except the memory it owns.
static cpl_status restore_end(const saved* k, int32_t i, cpli_tlm_end* e) {
  cpl_status st = restore_wave(&k->waves[2 * i], &e->sent);
  if (st >= 0) st = restore_wave(&k->waves[2 * i + 1], &e->filtered);
  cpli_wave sent = e->sent, filtered = e->filtered;
  *e = k->ends[i];
  e->sent = sent;
  e->filtered = filtered;
  return st;
}

//------------------------------------ the whole ------------------------------------

cpl_status cpli_tlm_save(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_tlm* m = (cpli_tlm*)c;
  if (snapshot->data == NULL) snapshot->data = make_saved(m);
  saved* k = snapshot->data;
  if (k == NULL) return cpli_nomem(c->ctx);
  assert(k->owner == m);
  cpl_status st = CPL_OK;
  k->t = m->t, k->t_start = m->t_start, k->t_stop = m->t_stop;
  k->running = m->running;
  memcpy(k->parts, m->parts, (size_t)m->n_parts * sizeof *k->parts);
  memcpy(k->ends, m->ends, (size_t)m->n_ends * sizeof *k->ends);
  for (int32_t i = 0; i < m->n_ends && st >= 0; i++) {
    st = save_wave(c->ctx, &m->ends[i].sent, &k->waves[2 * i]);
    if (st >= 0) st = save_wave(c->ctx, &m->ends[i].filtered, &k->waves[2 * i + 1]);
  }
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
    cpl_component* p = &m->parts[i].s->base;
    st = p->ops->save(p, &k->inner[i]);
  }
  return st;
}

// The waves of the present interval are inputs, which a part's own snapshot does not contain.
cpl_status cpli_tlm_restore(cpl_component* c, const cpl_snapshot* snapshot) {
  cpli_tlm* m = (cpli_tlm*)c;
  const saved* k = snapshot->data;
  cpl_status st = CPL_OK;
  assert(k != NULL && k->owner == m);
  m->t = k->t, m->t_start = k->t_start;
  // a run that starts from the state of another one ends when it wants
  if (!m->running) m->t_stop = k->t_stop;
  m->running = k->running;
  for (int32_t i = 0; i < m->n_ends && st >= 0; i++) st = restore_end(k, i, &m->ends[i]);
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
    cpli_tlm_part* p = &m->parts[i];
    *p = k->parts[i];
    if (cpli_part_sets_again(p)) st = cpli_part_give_curves(m, p, p->s);
    if (st >= 0) st = p->s->base.ops->restore(&p->s->base, &k->inner[i]);
  }
  return st;
}

void cpli_tlm_forget(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_tlm* m = (cpli_tlm*)c;
  saved* k = snapshot->data;
  if (k == NULL) return;
  assert(k->owner == m);
  for (int32_t i = 0; i < 2 * m->n_ends; i++) cpli_free(c->ctx, k->waves[i].items);
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpl_component* p = &m->parts[i].s->base;
    if (k->inner[i].data != NULL) p->ops->forget(p, &k->inner[i]);
  }
  cpli_free(c->ctx, k);
  snapshot->data = NULL;
}

//------------------------------------ bytes ------------------------------------

static void list_segment(cpli_serial* s, cpli_segment* k) {
  cpli_serial_real(s, &k->from);
  cpli_serial_real(s, &k->to);
  cpli_serial_bool(s, &k->jump);
  cpli_serial_reals(s, &k->c[0][0], sizeof k->c / sizeof(double));
}

// Segments have a length and follow each other without gaps.
static bool in_order(const wave* w) {
  for (size_t i = 0; i < w->n; i++) {
    if (!(w->items[i].from < w->items[i].to)) return false;
    if (i > 0 && !(w->items[i].from <= w->items[i - 1].to)) return false;
  }
  return true;
}

static void list_wave(cpli_serial* s, wave* w) {
  cpli_serial_count(s, &w->n, sizeof(cpli_segment) - sizeof(double));
  if (s->st < 0) return;
  if (cpli_serial_reads(s)) {
    w->items = cpli_alloc(s->c->ctx, w->n, sizeof *w->items);
    if (w->items == NULL) cpli_serial_nomem(s);
    w->cap = w->n;
  }
  for (size_t i = 0; i < w->n && s->st >= 0; i++) list_segment(s, &w->items[i]);
  if (s->st >= 0 && cpli_serial_reads(s) && !in_order(w)) cpli_serial_refuse(s, "a wave has gaps");
}

static void list_swing(cpli_serial* s, cpli_swing* k) {
  double* values[] = {&k->turned_at, &k->extreme, &k->width,    &k->width_before,
                      &k->seen,      &k->calm,    &k->reference};
  for (size_t i = 0; i < CPLI_COUNT(values); i++) cpli_serial_real(s, values[i]);
  cpli_serial_count32(s, &k->turns);
  cpli_serial_count32(s, &k->age);
  cpli_serial_count32(s, &k->doublings);
}

static void list_end(cpli_serial* s, cpli_tlm_end* e) {
  for (int32_t i = 0; i < CPLI_NODES; i++) {
    cpli_serial_real(s, &e->samples[i].t);
    cpli_serial_reals(s, e->samples[i].v, CPLI_WIDTH);
  }
  cpli_serial_int(s, &e->n_samples, 0, CPLI_NODES);
  cpli_serial_count32(s, &e->fresh);
  list_segment(s, &e->now);
  list_segment(s, &e->next);
  for (int32_t i = 0; i < CPLI_WIDTH; i++) {
    cpli_serial_reals(s, e->arriving[i].from, 2);
    cpli_serial_reals(s, &e->arriving[i].c[0][0], 2 * CPLI_NODES);
  }
  double* lists[] = {e->last, e->speed, e->slope, e->growth};
  for (size_t i = 0; i < CPLI_COUNT(lists); i++) cpli_serial_reals(s, lists[i], CPLI_WIDTH);
  cpli_serial_real(s, &e->scale);
  cpli_serial_real(s, &e->window);
  for (int32_t i = 0; i < CPLI_WIDTH; i++) list_swing(s, &e->swings[i]);
}

static void list_part(cpli_serial* s, cpli_tlm_part* p) {
  double* times[] = {&p->t, &p->published, &p->begin, &p->end, &p->horizon};
  bool* flags[] = {&p->open, &p->dirty, &p->restarted, &p->ended, &p->ahead};
  cpli_serial_count64(s, &p->grid);
  for (size_t i = 0; i < CPLI_COUNT(times); i++) cpli_serial_real(s, times[i]);
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(s, flags[i]);
  int32_t nodes = p->substeps >= CPLI_NODES ? p->substeps + 1 : CPLI_NODES;
  cpli_serial_int(s, &p->node, 0, nodes);
  cpli_serial_count64(s, &p->n_pieces);
  cpli_serial_count64(s, &p->n_events);
}

static void list(cpli_serial* s, cpl_component* c, cpl_snapshot* snapshot) {
  cpli_tlm* m = (cpli_tlm*)c;
  bool reads = cpli_serial_reads(s);
  if (reads) snapshot->data = make_saved(m);
  if (!cpli_serial_made(s, snapshot)) return;
  saved* k = snapshot->data;
  if (reads) {  // for what does not change
    memcpy(k->parts, m->parts, (size_t)m->n_parts * sizeof *k->parts);
    memcpy(k->ends, m->ends, (size_t)m->n_ends * sizeof *k->ends);
  }
  cpli_serial_same(s, (size_t)m->n_parts);
  cpli_serial_same(s, (size_t)m->n_ends);
  cpli_serial_real(s, &k->t);
  cpli_serial_real(s, &k->t_start);
  cpli_serial_real(s, &k->t_stop);
  cpli_serial_bool(s, &k->running);
  for (int32_t i = 0; i < m->n_ends && s->st >= 0; i++) {
    list_end(s, &k->ends[i]);
    list_wave(s, &k->waves[2 * i]);
    list_wave(s, &k->waves[2 * i + 1]);
  }
  for (int32_t i = 0; i < m->n_parts && s->st >= 0; i++) {
    list_part(s, &k->parts[i]);
    cpli_serial_part(s, &m->parts[i].s->base, &k->inner[i]);
  }
}

cpl_status cpli_tlm_to_bytes(cpl_component* c, const cpl_snapshot* snapshot, cpl_binary* bytes) {
  return cpli_serial_write(c, &((cpli_tlm*)c)->bytes, list, snapshot, bytes);
}

cpl_status cpli_tlm_from_bytes(cpl_component* c, const cpl_binary* bytes, cpl_snapshot* snapshot) {
  return cpli_serial_read(c, bytes, list, snapshot);
}

//------------------------------------ history ------------------------------------

// The lines have none besides a snapshot.
static void list_history(cpli_serial* s, void* user) {
  cpli_tlm* m = user;
  cpli_serial_same(s, (size_t)m->n_parts);
  for (int32_t i = 0; i < m->n_parts && s->st >= 0; i++)
    cpli_serial_history(s, &m->parts[i].s->base, true);
}

cpl_status cpli_tlm_get_history(cpl_component* c, cpl_binary* bytes, bool* complete) {
  return cpli_serial_put(c, &((cpli_tlm*)c)->bytes, list_history, c, bytes, complete);
}

cpl_status cpli_tlm_set_history(cpl_component* c, const cpl_binary* bytes) {
  return cpli_serial_get(c, bytes, list_history, c);
}
