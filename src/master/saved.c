// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The snapshot of a master: its values and links, and a snapshot of every part.
#include <math.h>

#include <assert.h>

#include "master/master.h"

typedef struct saved {
  const cpli_master* owner;          // a snapshot is restored by the object that made it
  double t, t_start, h, short_step;  // a mode may have been re-entered since
  double margin, margin_t;
  cpli_trace trace;
  bool running, ended, pending, touched;
  cpl_snapshot* parts;
  cpli_master_part* states;  // only t, pending, calls and result are copied
  cpli_master_link* links;
  cpli_out* outs;
} saved;

static saved* make_saved(cpli_master* m) {
  size_t np = (size_t)m->n_parts, nl = (size_t)m->n_links, no = (size_t)m->n_outs;
  size_t size = sizeof(saved) + np * (sizeof(cpl_snapshot) + sizeof(cpli_master_part)) +
                nl * sizeof(cpli_master_link) + no * sizeof(cpli_out);
  saved* k = cpli_alloc(m->base.base.ctx, 1, size);
  if (k == NULL) return NULL;
  k->owner = m;
  k->states = (cpli_master_part*)(k + 1);
  k->links = (cpli_master_link*)(k->states + np);
  k->outs = (cpli_out*)(k->links + nl);
  k->parts = (cpl_snapshot*)(k->outs + no);
  return k;
}

cpl_status cpli_master_save(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_master* m = (cpli_master*)c;
  if (snapshot->data == NULL) snapshot->data = make_saved(m);
  saved* k = snapshot->data;
  if (k == NULL) return cpli_nomem(c->ctx);
  assert(k->owner == m);
  k->t = m->t;
  k->t_start = m->t_start;
  k->h = m->h;
  k->short_step = m->short_step;
  k->margin = m->margin, k->margin_t = m->margin_t;
  k->trace = m->trace;
  k->running = m->running, k->ended = m->ended, k->pending = m->pending, k->touched = m->touched;
  memcpy(k->links, m->links, (size_t)m->n_links * sizeof *k->links);
  memcpy(k->outs, m->outs, (size_t)m->n_outs * sizeof *k->outs);
  memcpy(k->states, m->parts, (size_t)m->n_parts * sizeof *k->states);
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++)
    st = m->parts[i].s->base.ops->save(&m->parts[i].s->base, &k->parts[i]);
  return st;
}

cpl_status cpli_master_restore(cpl_component* c, const cpl_snapshot* snapshot) {
  cpli_master* m = (cpli_master*)c;
  const saved* k = snapshot->data;
  cpl_status st = CPL_OK;
  assert(k != NULL && k->owner == m);
  m->rounds = 0;  // snapshots are taken between events
  m->kink = NAN;
  m->t = k->t;
  m->t_start = k->t_start;
  m->h = k->h;
  m->short_step = k->short_step;
  m->margin = k->margin, m->margin_t = k->margin_t;
  m->trace = k->trace;
  m->running = k->running, m->ended = k->ended, m->pending = k->pending, m->touched = k->touched;
  memcpy(m->links, k->links, (size_t)m->n_links * sizeof *k->links);
  for (int32_t i = 0; i < m->n_outs; i++) {
    m->outs[i].real = k->outs[i].real;
    m->outs[i].slope = k->outs[i].slope;
    m->outs[i].integer = k->outs[i].integer;
    if (m->outs[i].type == CPL_CLOCK) m->outs[i].version = k->outs[i].version;
  }
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
    m->parts[i].t = k->states[i].t;
    m->parts[i].own_t = k->states[i].own_t;
    m->parts[i].pending = k->states[i].pending;
    m->parts[i].calls = k->states[i].calls;
    m->parts[i].result = k->states[i].result;
    st = m->parts[i].s->base.ops->restore(&m->parts[i].s->base, &k->parts[i]);
  }
  for (int32_t i = 0; i < m->n_outs && st >= 0; i++) {  // texts are not in the snapshot
    bool bytes = m->outs[i].type == CPL_STRING || m->outs[i].type == CPL_BINARY;
    if (bytes && m->running) st = cpli_master_get(m, m->outs[i].part, &i, 1);
  }
  return st;
}

void cpli_master_forget(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_master* m = (cpli_master*)c;
  saved* k = snapshot->data;
  if (k == NULL) return;
  assert(k->owner == m);
  for (int32_t i = 0; i < m->n_parts; i++) {
    if (k->parts[i].data != NULL)
      m->parts[i].s->base.ops->forget(&m->parts[i].s->base, &k->parts[i]);
  }
  cpli_free(c->ctx, k);
  snapshot->data = NULL;
}
