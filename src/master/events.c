// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What happens while time stands still: initialisation, and event updates that go from part to part
// until nothing changes any more.
#include <math.h>

#include "master/master.h"

enum { MOST_ROUNDS = 1000 };

static cpl_status walk_all(cpli_master* m, cpli_plan_kind kind) {
  const cpli_plan* plan = &m->plans[kind];
  return cpli_master_walk(m, plan, 0, plan->n_ops, m->t);
}

// The event at the end of the initialisation may have been one of clocks that others wait for.
static bool note_first_ticks(cpli_master* m) {
  for (int32_t i = 0; i < m->n_links; i++) {
    const cpli_master_link* l = &m->links[i];
    const cpli_out* o = &m->outs[l->out];
    cpli_master_part* p = &m->parts[l->part];
    bool tick = o->type == CPL_CLOCK && o->integer != 0 && o->version != l->version;
    if (tick && !p->follows && p->s->base.can.zero_step) p->pending = m->pending = true;
  }
  return m->pending;
}

static cpl_status start_part(cpli_master* m, cpli_master_part* p) {
  cpl_component* c = &p->s->base;
  p->t = p->own_t = m->t;
  p->due = true;
  p->calls++;
  return c->ops->exit_init(c);
}

// A part that takes its inputs once at a time begins with what others have after their first event.
static cpl_status start_sampling(cpli_master* m, cpli_master_part* p) {
  cpl_status st = CPL_OK;
  for (int32_t i = p->first_link; i < p->first_link + p->n_links && st >= 0; i++) {
    const cpli_master_part* from = &m->parts[m->outs[m->links[i].out].part];
    if (!from->s->base.can.samples || from->rank < p->rank)
      st = cpli_master_get(m, m->outs[m->links[i].out].part, &m->links[i].out, 1);
    if (st >= 0) st = cpli_master_set(m, (int32_t)(p - m->parts), &i, 1);
  }
  return st < 0 ? st : start_part(m, p);
}

// The rank after this one, of parts that sample; INT32_MAX: there is none.
static int32_t next_rank(const cpli_master* m, int32_t rank) {
  int32_t next = INT32_MAX;
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpli_master_part* p = &m->parts[i];
    if (p->s->base.can.samples && p->rank > rank && p->rank < next) next = p->rank;
  }
  return next;
}

static cpl_status start_parts(cpli_master* m) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
    if (!m->parts[i].s->base.can.samples) st = start_part(m, &m->parts[i]);
  }
  if (!m->samples) return st;
  for (int32_t rank = next_rank(m, -1); rank < INT32_MAX && st >= 0; rank = next_rank(m, rank)) {
    for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
      cpli_master_part* p = &m->parts[i];
      if (p->s->base.can.samples && p->rank == rank) st = start_sampling(m, p);
    }
  }
  return st;
}

cpl_status cpli_master_initialize(cpli_master* m) {
  for (int32_t i = 0; i < m->n_links; i++) m->links[i].fresh = true;
  cpl_status st = walk_all(m, CPLI_PLAN_INITIAL);
  if (st >= 0) st = start_parts(m);
  if (st < 0) return st;
  m->running = true;
  st = walk_all(m, CPLI_PLAN_SETTLE);
  if (st >= 0) cpli_master_sample(m, m->t, true);
  if (st >= 0 && note_first_ticks(m)) st = cpli_master_update(m);
  return st;
}

// Whether a continuous value is another one, but for rounding: compared with its own size, now,
// then and at the last communication points.
static bool has_jumped(const cpli_master_link* l, double now, double then) {
  double size = fmax(fabs(now), fabs(then));
  for (int32_t i = 0; i < l->n_past; i++) size = fmax(size, fabs(l->past[i]));
  return fabs(now - then) > 1e-9 * size;
}

cpl_status cpli_master_settle(cpli_master* m) {
  m->touched = false;
  cpl_status st = walk_all(m, CPLI_PLAN_SETTLE);
  for (int32_t i = 0; i < m->n_links && st >= 0; i++) {
    cpli_master_link* l = &m->links[i];
    if (l->discrete || l->n_past == 0) continue;
    double now = cpli_link_value(m, l);
    if (!has_jumped(l, now, l->past[0])) continue;
    l->past[0] = l->next = now;
    l->n_past = 1;  // it jumped: what was before does not count any more
  }
  return st;
}

//------------------------------------ event updates ------------------------------------

static bool can_update(const cpli_master* m, const cpli_master_part* p) {
  return p->s->base.can.zero_step && p->t == m->t;
}

static cpl_status update_part(cpli_master* m, cpli_master_part* p) {
  cpl_status st = cpli_master_inputs(m, p, p->t);
  p->pending = false;
  p->stats.updates++;
  p->calls++;
  if (st >= 0) st = p->s->ops->step(p->s, p->own_t, p->own_t, &p->result);
  if (st == CPL_RETRY)
    st = cpl_fail_prefix(p->s->base.ctx, CPL_ERR_MODEL, "the event at t=%.12g", p->t);
  if (st < 0) return st;
  p->pending = p->result.end == CPL_STEP_EVENT;
  m->ended = m->ended || p->result.end == CPL_STEP_TERMINATE;
  return CPL_OK;
}

static void remember(cpli_master* m) {
  for (int32_t i = 0; i < m->n_links; i++) m->links[i].before = cpli_link_value(m, &m->links[i]);
}

static bool has_moved(const cpli_master* m, const cpli_master_link* l) {
  const cpli_out* o = &m->outs[l->out];
  if (l->type == CPL_STRING || l->type == CPL_BINARY) return o->changed;
  if (o->type == CPL_CLOCK) return o->integer != 0 && m->parts[o->part].updated;  // it ticked now
  double now = cpli_link_value(m, l);
  if (l->discrete) return now != l->before;
  return has_jumped(l, now, l->before);
}

// Who takes a value that moved has an event, too.
static void spread(cpli_master* m) {
  for (int32_t i = 0; i < m->n_links; i++) {
    cpli_master_part* p = &m->parts[m->links[i].part];
    if (can_update(m, p) && has_moved(m, &m->links[i])) p->pending = true;
  }
}

// Superdense time: before anyone's event changes a value, all see the values that led to it. Who
// takes one that moves in a step has met another value last. Those who can tell whether it matters
// have been asked already.
static void show_left_side(cpli_master* m) {
  for (int32_t i = 0; i < m->n_links; i++) {
    const cpli_master_link* l = &m->links[i];
    cpli_master_part* p = &m->parts[l->part];
    if (l->discrete || !can_update(m, p) || p->s->ops->wants_update != NULL) continue;
    if (p->s->base.desc->n_indicators > 0) p->pending = true;
  }
}

// The lowest rank of parts whose event waits. Those of higher ranks that sample wait for it.
static int32_t lowest_rank(const cpli_master* m) {
  int32_t lowest = INT32_MAX;
  for (int32_t i = 0; i < m->n_parts && m->samples; i++) {
    const cpli_master_part* p = &m->parts[i];
    if (p->pending && can_update(m, p) && p->rank < lowest) lowest = p->rank;
  }
  return lowest;
}

cpl_status cpli_master_update(cpli_master* m) {
  m->pending = false;
  m->margin_t = NAN;  // conditions may be on their other sides from here on
  m->stats.events++;
  show_left_side(m);
  for (int32_t round = 0; round < MOST_ROUNDS; round++) {
    bool any = false;
    cpl_status st = CPL_OK;
    int32_t lowest = lowest_rank(m);
    remember(m);
    cpli_master_sample(m, m->t, true);
    for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
      cpli_master_part* p = &m->parts[i];
      p->updated = p->pending && can_update(m, p);
      if (p->s->base.can.samples && p->rank > lowest) p->updated = false;
      if (!p->updated) continue;
      any = true;
      st = update_part(m, p);
    }
    if (st >= 0 && any) st = walk_all(m, CPLI_PLAN_SETTLE);
    if (st < 0) return st;
    if (any) spread(m);
    if (!any || m->ended) {
      for (int32_t i = 0; i < m->n_parts; i++) {
        if (m->parts[i].t == m->t) m->parts[i].pending = false;  // its next step begins with it
      }
      cpli_master_sample(m, m->t, true);
      return CPL_OK;
    }
  }
  return cpl_fail(m->base.base.ctx, CPL_ERR_MODEL,
                  "%s: the event at t=%.12g does not settle: after %d rounds values still change",
                  m->base.base.name, m->t, MOST_ROUNDS);
}

// The lowest number of those who wish to stop.
int32_t cpli_master_stop(const cpli_master* m) {
  int32_t stop = 0;
  for (int32_t i = 0; i < m->n_parts && m->ended; i++) {
    const cpl_step_result* r = &m->parts[i].result;
    bool ended = r->end == CPL_STEP_TERMINATE && r->stop > 0;
    if (ended && (stop == 0 || r->stop < stop)) stop = r->stop;
  }
  return stop;
}
