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
  double t_stop;
  double margin, margin_t;
  cpli_trace trace;
  bool running, ended, pending, touched;
  cpl_snapshot* parts;
  cpli_master_part* states;  // only t, pending, given, calls and result are restored
  cpli_master_link* links;
  cpli_out* outs;
  struct text {  // of the outs that are Strings or Binaries
    char* bytes;
    size_t size, cap;
  } * texts;
  bool* given_up;  // of the operations of all plans
} saved;

static bool is_text(const cpli_out* o) { return o->type == CPL_STRING || o->type == CPL_BINARY; }

static size_t n_ops(const cpli_master* m) {
  size_t n = 0;
  for (size_t i = 0; i < CPLI_PLANS; i++) n += (size_t)m->plans[i].n_ops;
  return n;
}

static saved* make_saved(cpli_master* m) {
  size_t np = (size_t)m->n_parts, nl = (size_t)m->n_links, no = (size_t)m->n_outs;
  size_t size = sizeof(saved) + np * (sizeof(cpl_snapshot) + sizeof(cpli_master_part)) +
                nl * sizeof(cpli_master_link) + no * (sizeof(cpli_out) + sizeof(struct text)) +
                n_ops(m) * sizeof(bool);
  saved* k = cpli_alloc(m->base.base.ctx, 1, size);
  if (k == NULL) return NULL;
  k->owner = m;
  k->states = (cpli_master_part*)(k + 1);
  k->links = (cpli_master_link*)(k->states + np);
  k->outs = (cpli_out*)(k->links + nl);
  k->texts = (struct text*)(k->outs + no);
  k->parts = (cpl_snapshot*)(k->texts + no);
  k->given_up = (bool*)(k->parts + np);
  return k;
}

// Copies bytes into memory that grows.
static cpl_status copy_text(cpl_context* ctx, const char* from, size_t size, char** to,
                            size_t* to_size, size_t* cap) {
  if (size > *cap) {
    char* larger = cpli_realloc(ctx, *to, size, 1);
    if (larger == NULL) return cpli_nomem(ctx);
    *to = larger;
    *cap = size;
  }
  if (size > 0) memcpy(*to, from, size);
  *to_size = size;
  return CPL_OK;
}

static cpl_status copy_texts(cpli_master* m, saved* k, bool save) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_outs && st >= 0; i++) {
    struct text* t = &k->texts[i];
    cpli_out* o = &m->outs[i];
    if (!is_text(o)) continue;
    if (save) st = copy_text(m->base.base.ctx, o->bytes, o->size, &t->bytes, &t->size, &t->cap);
    else st = copy_text(m->base.base.ctx, t->bytes, t->size, &o->bytes, &o->size, &o->cap);
  }
  return st;
}

// A loop that was given up stays so.
static void copy_given_up(cpli_master* m, saved* k, bool save) {
  bool* flag = k->given_up;
  for (size_t i = 0; i < CPLI_PLANS; i++) {
    for (int32_t op = 0; op < m->plans[i].n_ops; op++, flag++) {
      bool* own = &m->plans[i].ops[op].given_up;
      if (save) *flag = *own;
      else *own = *own || *flag;
    }
  }
}

cpl_status cpli_master_save(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_master* m = (cpli_master*)c;
  if (snapshot->data == NULL) snapshot->data = make_saved(m);
  saved* k = snapshot->data;
  if (k == NULL) return cpli_nomem(c->ctx);
  assert(k->owner == m);
  k->t = m->t;
  k->t_start = m->t_start;
  k->t_stop = m->t_stop;
  k->h = m->h;
  k->short_step = m->short_step;
  k->margin = m->margin, k->margin_t = m->margin_t;
  k->trace = m->trace;
  k->running = m->running, k->ended = m->ended, k->pending = m->pending, k->touched = m->touched;
  memcpy(k->links, m->links, (size_t)m->n_links * sizeof *k->links);
  memcpy(k->outs, m->outs, (size_t)m->n_outs * sizeof *k->outs);
  memcpy(k->states, m->parts, (size_t)m->n_parts * sizeof *k->states);
  copy_given_up(m, k, true);
  cpl_status st = copy_texts(m, k, true);
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++)
    st = m->parts[i].s->base.ops->save(&m->parts[i].s->base, &k->parts[i]);
  return st;
}

cpl_status cpli_master_restore(cpl_component* c, const cpl_snapshot* snapshot) {
  cpli_master* m = (cpli_master*)c;
  saved* k = snapshot->data;
  assert(k != NULL && k->owner == m);
  m->rounds = 0;  // snapshots are taken between events
  m->kink = NAN;
  m->t = k->t;
  m->t_start = k->t_start;
  if (!m->running) m->t_stop = k->t_stop;  // else that of this run
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
    m->outs[i].version = k->outs[i].version;
  }
  copy_given_up(m, k, false);
  cpl_status st = copy_texts(m, k, false);
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
    m->parts[i].t = k->states[i].t;
    m->parts[i].own_t = k->states[i].own_t;
    m->parts[i].pending = k->states[i].pending;
    m->parts[i].given = k->states[i].given;
    m->parts[i].calls = k->states[i].calls;
    m->parts[i].result = k->states[i].result;
    st = m->parts[i].s->base.ops->restore(&m->parts[i].s->base, &k->parts[i]);
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
  for (int32_t i = 0; i < m->n_outs; i++) cpli_free(c->ctx, k->texts[i].bytes);
  cpli_free(c->ctx, k);
  snapshot->data = NULL;
}

//------------------------------------ bytes ------------------------------------

static void list_version(cpli_serial* s, uint32_t* version) {
  cpli_serial_bytes(s, version, sizeof *version);
}

static void list_sent(cpli_serial* s, cpli_sent* k) {
  cpli_serial_real(s, &k->value);
  list_version(s, &k->version);
  cpli_serial_bool(s, &k->fresh);
}

static void list_link(cpli_serial* s, cpli_master_link* l) {
  list_sent(s, &l->sent);
  list_sent(s, &l->saved);
  cpli_serial_real(s, &l->next);
  cpli_serial_real(s, &l->seen);
  list_version(s, &l->seen_version);
  cpli_serial_real(s, &l->noise);
  cpli_serial_reals(s, l->past_t, CPLI_SAMPLES);
  cpli_serial_reals(s, l->past, CPLI_SAMPLES);
  cpli_serial_reals(s, l->past_slope, CPLI_SAMPLES);
  cpli_serial_int(s, &l->n_past, 0, CPLI_SAMPLES);
}

static void list_out(cpli_serial* s, cpli_out* o, struct text* text) {
  cpli_serial_real(s, &o->real);
  cpli_serial_real(s, &o->slope);
  cpli_serial_long(s, &o->integer);
  list_version(s, &o->version);
  if (!is_text(o)) return;
  cpli_serial_text(s, &text->bytes, &text->size);
  if (cpli_serial_reads(s)) text->cap = text->size;
}

static void list_part(cpli_serial* s, cpli_master_part* p) {
  int32_t end = (int32_t)p->result.end;
  cpli_serial_real(s, &p->t);
  cpli_serial_real(s, &p->own_t);
  cpli_serial_bool(s, &p->pending);
  cpli_serial_bool(s, &p->given);
  list_version(s, &p->calls);
  cpli_serial_int(s, &end, CPL_STEP_DONE, CPL_STEP_TERMINATE);
  cpli_serial_real(s, &p->result.time);
  cpli_serial_bool(s, &p->result.event_handled);
  cpli_serial_count32(s, &p->result.stop);
  cpli_serial_bool(s, &p->result.again);
  p->result.end = (cpl_step_end)end;
}

static void list_trace(cpli_serial* s, cpli_trace* t) {
  cpli_serial_reals(s, t->t, CPLI_SAMPLES);
  cpli_serial_reals(s, t->margin, CPLI_SAMPLES);
  cpli_serial_int(s, &t->n, 0, CPLI_SAMPLES);
  cpli_serial_count32(s, &t->extra);
}

static void list(cpli_serial* s, cpl_component* c, cpl_snapshot* snapshot) {
  cpli_master* m = (cpli_master*)c;
  bool reads = cpli_serial_reads(s);
  if (reads) snapshot->data = make_saved(m);
  if (!cpli_serial_made(s, snapshot)) return;
  saved* k = snapshot->data;
  if (reads) {  // for what does not change
    memcpy(k->links, m->links, (size_t)m->n_links * sizeof *k->links);
    memcpy(k->outs, m->outs, (size_t)m->n_outs * sizeof *k->outs);
  }
  const size_t sizes[] = {(size_t)m->n_parts, (size_t)m->n_links, (size_t)m->n_outs, n_ops(m)};
  double* times[] = {&k->t,          &k->t_start, &k->t_stop,  &k->h,
                     &k->short_step, &k->margin,  &k->margin_t};
  bool* flags[] = {&k->running, &k->ended, &k->pending, &k->touched};
  for (size_t i = 0; i < CPLI_COUNT(sizes); i++) cpli_serial_same(s, sizes[i]);
  for (size_t i = 0; i < CPLI_COUNT(times); i++) cpli_serial_real(s, times[i]);
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(s, flags[i]);
  list_trace(s, &k->trace);
  for (size_t i = 0; i < n_ops(m); i++) cpli_serial_bool(s, &k->given_up[i]);
  for (int32_t i = 0; i < m->n_links; i++) list_link(s, &k->links[i]);
  for (int32_t i = 0; i < m->n_outs; i++) list_out(s, &k->outs[i], &k->texts[i]);
  for (int32_t i = 0; i < m->n_parts; i++) list_part(s, &k->states[i]);
  for (int32_t i = 0; i < m->n_parts; i++) cpli_serial_part(s, &m->parts[i].s->base, &k->parts[i]);
}

cpl_status cpli_master_to_bytes(cpl_component* c, const cpl_snapshot* snapshot, cpl_binary* bytes) {
  return cpli_serial_write(c, &((cpli_master*)c)->bytes, list, snapshot, bytes);
}

cpl_status cpli_master_from_bytes(cpl_component* c, const cpl_binary* bytes,
                                  cpl_snapshot* snapshot) {
  return cpli_serial_read(c, bytes, list, snapshot);
}
