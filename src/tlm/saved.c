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
  double t, t_start;
  bool running;
  cpl_snapshot* inner;   // by part
  cpli_tlm_part* parts;  // copies; pointers in them are invalid
  cpli_tlm_end* ends;    // likewise
  wave* waves;           // two per end: sent, filtered
} saved;

bool cpli_tlm_saves(const cpli_tlm* m) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpl_component* c = &m->parts[i].s->base;
    if (m->parts[i].out_of_process || c->ops->save == NULL || !c->can.save_restore) return false;
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

static void restore_wave(const wave* from, cpli_wave* to) {
  assert(from->n <= to->cap);  // rings only grow
  to->first = 0;
  to->n = from->n;
  if (from->n > 0) memcpy(to->items, from->items, from->n * sizeof *to->items);
}

// All of an end except the memory it owns.
static void restore_end(const saved* k, int32_t i, cpli_tlm_end* e) {
  cpli_wave sent = e->sent, filtered = e->filtered;
  *e = k->ends[i];
  restore_wave(&k->waves[2 * i], &sent);
  restore_wave(&k->waves[2 * i + 1], &filtered);
  e->sent = sent;
  e->filtered = filtered;
}

//------------------------------------ the whole ------------------------------------

cpl_status cpli_tlm_save(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_tlm* m = (cpli_tlm*)c;
  if (snapshot->data == NULL) snapshot->data = make_saved(m);
  saved* k = snapshot->data;
  if (k == NULL) return cpli_nomem(c->ctx);
  assert(k->owner == m);
  cpl_status st = CPL_OK;
  k->t = m->t, k->t_start = m->t_start;
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
  m->running = k->running;
  for (int32_t i = 0; i < m->n_ends; i++) restore_end(k, i, &m->ends[i]);
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
    cpli_tlm_part* p = &m->parts[i];
    *p = k->parts[i];
    if (p->open && p->is_model && p->node > 0) st = cpli_part_give_curves(m, p);
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
