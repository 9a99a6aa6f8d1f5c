// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Initialisation, and rounds of event updates at one time. In the first round a part that has an
// event sees the values that led to it, and so does a part that requested another update in later
// rounds. Then changes propagate through the data flow: each part whose inputs changed since its
// last update is updated once, after the parts it depends on (update_plan.c). Only loops need more
// rounds. A part that samples its inputs once per time is updated in the data flow also in its own
// event, when the parts before it have settled.
#include <math.h>
#include <stdio.h>

#include "master/master.h"

enum { MAX_ROUNDS = 1000 };

static cpl_status walk_all(cpli_master* m, cpli_step_plan_kind kind) {
  const cpli_step_plan* plan = &m->plans[kind];
  return cpli_master_walk(m, plan, 0, plan->n_ops, m->t);
}

cpl_status cpli_master_propagate(cpli_master* m) {
  for (int32_t i = 0; i < m->n_links; i++) m->links[i].sent.fresh = true;
  return walk_all(m, CPLI_PLAN_INITIAL);
}

cpl_status cpli_master_settle(cpli_master* m) {
  m->touched = false;
  cpl_status st = walk_all(m, CPLI_PLAN_SETTLE);
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) st = cpli_master_get_slopes(m, i);
  for (int32_t i = 0; i < m->n_links && st >= 0; i++) {
    cpli_master_link* l = &m->links[i];
    if (l->discrete || l->n_past == 0) continue;
    double now = cpli_link_value(m, l);
    if (!cpli_link_jumped(l, now, l->past[0])) continue;
    l->past[0] = l->next = now;
    l->past_slope[0] = cpli_link_slope(m, l);
    l->n_past = 1;  // it jumped: earlier values are no basis for extrapolation
  }
  return st;
}

//------------------------------------ what changed ------------------------------------

static bool can_update(const cpli_master* m, const cpli_master_part* p) {
  return p->s->base.can.zero_step && p->t == m->t;
}

static bool is_bytes(const cpli_master_link* l) {
  return l->type == CPL_STRING || l->type == CPL_BINARY;
}

// Whether a link carries a value other than in the last update of its part, or a clock ticked
// since.
static bool has_changed(const cpli_master* m, const cpli_master_link* l) {
  const cpli_out* o = &m->outs[l->out];
  if (l->fixed) return false;
  if (is_bytes(l)) return o->version != l->seen_version;
  if (o->type == CPL_CLOCK) return o->integer != 0 && o->version != l->seen_version;
  double now = cpli_link_value(m, l);
  return l->discrete ? cpli_values_differ(now, l->seen) : cpli_link_jumped(l, now, l->seen);
}

static bool inputs_changed(const cpli_master* m, const cpli_master_part* p) {
  for (int32_t i = p->first_link; i < p->first_link + p->n_links; i++) {
    if (has_changed(m, &m->links[i])) return true;
  }
  return false;
}

static void note_inputs(cpli_master* m, const cpli_master_part* p) {
  for (int32_t i = p->first_link; i < p->first_link + p->n_links; i++) {
    cpli_master_link* l = &m->links[i];
    l->seen = cpli_link_value(m, l);
    l->seen_version = m->outs[l->out].version;
  }
}

//------------------------------------ updates ------------------------------------

static cpl_status update_part(cpli_master* m, cpli_master_part* p) {
  for (int32_t i = p->first_link; i < p->first_link + p->n_links; i++)
    cpli_link_renew(m, &m->links[i], m->t, false);
  note_inputs(m, p);
  cpl_status st = cpli_master_inputs(m, p, p->t);
  p->pending = p->given = false;
  p->n_updates++;
  p->calls++;
  p->touched = ++m->changes;
  if (st >= 0) st = p->s->ops->step(p->s, p->own_t, p->own_t, &p->result);
  if (st == CPL_RETRY)
    st = cpl_fail_prefix(p->s->base.ctx, CPL_ERR_MODEL, "the event at t=%.12g", p->t);
  if (st < 0) return st;
  p->pending = p->result.end == CPL_STEP_EVENT;
  p->kinks = p->kinks || p->pending;
  m->ended = m->ended || p->result.end == CPL_STEP_TERMINATE;
  return CPL_OK;
}

// Parts that sample their inputs once wait for a round without such updates, after which their
// inputs are known.
static cpl_status update_pending(cpli_master* m) {
  cpl_status st = CPL_OK;
  m->sampling = true;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
    cpli_master_part* p = &m->parts[i];
    if (!p->pending || !can_update(m, p) || p->samples) continue;
    m->sampling = false;
    st = update_part(m, p);
  }
  return st;
}

//------------------------------------ the data flow ------------------------------------

static bool is_unsettled(const cpli_master* m, const cpli_master_part* p) {
  return can_update(m, p) && (p->pending || inputs_changed(m, p));
}

// Whether parts before a part that samples its inputs once may still change them.
static bool must_wait(const cpli_master* m, const cpli_master_part* p) {
  for (int32_t i = 0; i < m->n_parts && m->sampling; i++) {
    if (m->parts[i].rank < p->rank && is_unsettled(m, &m->parts[i])) return true;
  }
  return !m->sampling;
}

// Parts that do not sample have been updated in their own events already.
static bool update_is_due(const cpli_master* m, const cpli_master_part* p) {
  if (p->samples) return is_unsettled(m, p) && !must_wait(m, p);
  return can_update(m, p) && inputs_changed(m, p);
}

// Whether an op, or one op of a loop, has work left to do.
static bool is_due(const cpli_master* m, const cpli_step_plan* plan, const cpli_step_op* op,
                   int64_t done) {
  const int32_t* items = plan->items + op->first;
  switch (op->kind) {
    case CPLI_OP_STEP: return update_is_due(m, &m->parts[op->part]);
    case CPLI_OP_GET: return m->parts[op->part].touched > done;
    case CPLI_OP_SET:
      for (int32_t i = 0; i < op->n; i++) {
        if (m->outs[m->links[items[i]].out].changed_at > done) return true;
      }
      return false;
    case CPLI_OP_LOOP:
      for (int32_t i = 1; i <= op->n; i++) {
        if (is_due(m, plan, op + i, done)) return true;
      }
      return false;
  }
  return false;
}

// Records the effect of an op. Values of a loop count as changed.
static void note_done(cpli_master* m, const cpli_step_plan* plan, const cpli_step_op* op,
                      bool in_loop) {
  cpli_master_part* p = &m->parts[op->part];
  if (op->kind == CPLI_OP_SET) p->touched = ++m->changes;
  for (int32_t i = 0; i < op->n && op->kind == CPLI_OP_GET; i++) {
    cpli_out* o = &m->outs[plan->items[op->first + i]];
    if (o->changed || in_loop) o->changed_at = ++m->changes;
  }
}

static cpl_status follow(cpli_master* m, const cpli_step_plan* plan, int32_t at) {
  const cpli_step_op* op = &plan->ops[at];
  if (op->kind == CPLI_OP_STEP) {
    m->parts[op->part].kinks = true;
    return update_part(m, &m->parts[op->part]);
  }
  cpl_status st = cpli_master_walk(m, plan, at, at + 1, m->t);
  bool loop = op->kind == CPLI_OP_LOOP;
  if (!loop) note_done(m, plan, op, false);
  for (int32_t i = 1; i <= op->n && loop; i++) note_done(m, plan, op + i, true);
  return st;
}

// Without `updates`: only values that changed after they were read, in loops of updates.
static cpl_status follow_data_flow(cpli_master* m, bool updates) {
  const cpli_step_plan* plan = &m->plans[CPLI_PLAN_EVENT];
  cpl_status st = CPL_OK;
  for (int32_t i = 0, n; i < plan->n_ops && st >= 0; i += n) {
    const cpli_step_op* op = &plan->ops[i];
    n = op->kind == CPLI_OP_LOOP ? 1 + op->n : 1;
    if (op->kind == CPLI_OP_STEP && (!updates || m->ended)) continue;
    if (is_due(m, plan, op, plan->done[i])) st = follow(m, plan, i);
    plan->done[i] = m->changes;
  }
  return st;
}

//------------------------------------ rounds ------------------------------------

// Superdense time: before an event changes a value, all parts see the values that led to it. A part
// whose input varies within the step was last set to another value. Parts that can tell by their
// indicators whether it matters have been asked already.
static void show_left_side(cpli_master* m) {
  for (int32_t i = 0; i < m->n_links; i++) {
    const cpli_master_link* l = &m->links[i];
    cpli_master_part* p = &m->parts[l->part];
    bool asked = p->s->ops->wants_update != NULL && p->s->base.desc->n_indicators > 0;
    if (!l->discrete && can_update(m, p) && !asked) p->pending = true;
  }
}

static void begin(cpli_master* m) {
  m->margin_t = NAN;  // conditions may have changed sides from here on
  m->kink = NAN;      // the kinks of a table are known up to its next jump only
  m->n_events++;
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpli_master_part* p = &m->parts[i];
    p->kinks = p->pending;
    p->pending = p->pending || !m->pending;  // an event from outside: for all that can have one
    note_inputs(m, p);
  }
  show_left_side(m);
}

// Inputs from outside are an event for their part. A surrounding master sets them in every round:
// after the first round they are an event only where the part says so.
static cpl_status process_given(const cpli_master* m, cpli_master_part* p) {
  bool wanted = true;
  double margin;
  cpl_status st = CPL_OK;
  if (!p->given) return CPL_OK;
  if (m->rounds > 0 && p->s->ops->wants_update != NULL)
    st = p->s->ops->wants_update(p->s, &wanted, &margin);
  p->pending = p->pending || wanted;
  p->kinks = p->kinks || wanted;
  p->given = false;
  return st == CPL_RETRY ? cpl_fail_prefix(p->s->base.ctx, CPL_ERR_MODEL, "inputs") : st;
}

// First the parts that have an event or requested another update, all with the values that led to
// it, except parts that sample their inputs once; then changes propagate through the data flow.
static cpl_status update_round(cpli_master* m) {
  const cpli_step_plan* plan = &m->plans[CPLI_PLAN_EVENT];
  for (int32_t i = 0; i < plan->n_ops; i++) plan->done[i] = m->changes;  // all is up to date
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) st = process_given(m, &m->parts[i]);
  if (st >= 0) st = update_pending(m);
  if (st >= 0) st = follow_data_flow(m, true);
  return st < 0 ? st : follow_data_flow(m, false);
}

static bool is_open(const cpli_master* m) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    if (is_unsettled(m, &m->parts[i])) return true;
  }
  return false;
}

static cpl_status endless(const cpli_master* m) {
  enum { MAX_NAMED = 4 };
  char names[1024] = "";
  size_t used = 0;
  int named = 0;
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpli_master_part* p = &m->parts[i];
    if (!is_unsettled(m, p) || named++ >= MAX_NAMED || used >= sizeof names) continue;
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                             p->s->base.name);
    const cpli_master_link* l = &m->links[p->first_link];
    while (l < &m->links[p->first_link + p->n_links] && !has_changed(m, l)) l++;
    if (used >= sizeof names) break;
    if (l == &m->links[p->first_link + p->n_links])
      used += (size_t)snprintf(names + used, sizeof names - used, " requests another update");
    else
      used += (size_t)snprintf(names + used, sizeof names - used, ".%s (%.6g, then %.6g)",
                               p->s->base.desc->vars[l->var].name, l->seen, cpli_link_value(m, l));
  }
  return cpl_fail_in(
      m->base.base.ctx, CPL_ERR_MODEL, m->base.base.name, NULL, m->t,
      "the event at t=%.12g does not settle: %d rounds of updates, and these go on: %s%s", m->t,
      m->rounds, names, named > MAX_NAMED ? ", and others" : "");
}

// A part with a grid of its own is stepped when the others have reached its next point.
static void warn_late(cpli_master* m) {
  for (int32_t i = 0; i < m->n_links && !m->warned_late; i++) {
    const cpli_master_link* l = &m->links[i];
    const cpli_master_part* p = &m->parts[l->part];
    if (p->t == m->t || p->step == 0 || !has_changed(m, l)) continue;
    const char* name = p->s->base.name;
    m->warned_late = true;
    cpl_log(m->base.base.ctx, CPL_LOG_WARNING, m->base.base.name,
            "%s.%s jumps from %.6g to %.6g at t=%.12g, within a step of %s, which keeps its own "
            "communication points (%s): it takes the new value for the whole step from t=%.12g to "
            "t=%.12g (this warning comes once)",
            name, p->s->base.desc->vars[l->var].name, l->seen, cpli_link_value(m, l), m->t, name,
            p->keeps_own ? "its step cannot vary" : "steps", p->t, p->t + p->step);
  }
}

// Whether inputs of a part have a jump or a kink that its outputs have as well. Inputs of a part
// that was updated are those of its last update.
static bool passes_kink(const cpli_master* m, const cpli_master_part* p) {
  for (int32_t i = p->first_link; i < p->first_link + p->n_links; i++) {
    const cpli_master_link* l = &m->links[i];
    if (has_changed(m, l) || (l->feeds && m->parts[m->outs[l->out].part].kinks)) return true;
  }
  return false;
}

// In the order of the data flow; only loops need more than one pass.
static void propagate_kinks(cpli_master* m) {
  const cpli_step_plan* plan = &m->plans[CPLI_PLAN_EVENT];
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = 0; i < plan->n_ops; i++) {
      cpli_master_part* p = &m->parts[plan->ops[i].part];
      if (plan->ops[i].kind != CPLI_OP_STEP || p->kinks || !passes_kink(m, p)) continue;
      p->kinks = changed = true;
    }
  }
}

// The values after an event, from which the next step begins. Values that the event did not affect
// are extrapolated from before it: otherwise they would be constant over the next step, and a
// condition over them could change back, without end. A loop that is solved once more gives
// values that differ by rounding: the part goes on from those of its last update. Otherwise an
// indicator that just changed its sign could change back, and the model would count an event twice.
static cpl_status begin_anew(cpli_master* m) {
  cpl_status st = CPL_OK;
  propagate_kinks(m);
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) st = cpli_master_get_slopes(m, i);
  for (int32_t i = 0; i < m->n_links; i++) {
    cpli_master_link* l = &m->links[i];
    if (l->discrete) continue;
    bool jumped = cpli_link_jumped(l, cpli_link_value(m, l), l->seen);
    cpli_link_renew(m, l, m->t, m->parts[m->outs[l->out].part].kinks);
    if (!jumped) l->past[0] = l->next = l->seen;
  }
  return st;
}

static cpl_status iterate(cpli_master* m, bool once) {
  m->pending = false;
  for (bool open = true; open;) {
    cpl_status st = update_round(m);
    if (st < 0) return st;
    m->rounds++;
    open = !m->ended && is_open(m);
    if (open && m->rounds >= MAX_ROUNDS) return endless(m);
    m->pending = open && once;
    if (m->pending) return CPL_OK;
  }
  for (int32_t i = 0; i < m->n_parts; i++) {
    if (m->parts[i].t == m->t) m->parts[i].pending = false;  // its next step begins with the event
  }
  m->rounds = 0;
  warn_late(m);
  return begin_anew(m);
}

cpl_status cpli_master_update(cpli_master* m, bool once) {
  if (m->rounds == 0) begin(m);
  return iterate(m, once);
}

//------------------------------------ the start ------------------------------------

static cpl_status start_part(cpli_master* m, cpli_master_part* p) {
  cpl_component* c = &p->s->base;
  p->t = p->own_t = m->t;
  p->due = true;
  p->calls++;
  note_inputs(m, p);
  return c->ops->exit_init(c);
}

// A part that samples its inputs once per time begins with the values of the others after their
// first event.
static cpl_status start_sampling(cpli_master* m, cpli_master_part* p) {
  cpl_status st = CPL_OK;
  for (int32_t i = p->first_link; i < p->first_link + p->n_links && st >= 0; i++) {
    int32_t out = m->links[i].out;
    const cpli_master_part* from = &m->parts[m->outs[out].part];
    bool started = !from->samples || from->rank < p->rank;
    if (started) st = cpli_master_get(m, m->outs[out].part, &out, 1);
    if (st >= 0) st = cpli_master_set(m, (int32_t)(p - m->parts), &i, 1);
  }
  return st < 0 ? st : start_part(m, p);
}

static cpl_status start_parts(cpli_master* m) {
  const cpli_step_plan* plan = &m->plans[CPLI_PLAN_EVENT];
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
    if (!m->parts[i].samples) st = start_part(m, &m->parts[i]);
  }
  for (int32_t i = 0; i < plan->n_ops && st >= 0 && m->samples; i++) {
    cpli_master_part* p = &m->parts[plan->ops[i].part];
    if (plan->ops[i].kind == CPLI_OP_STEP && p->samples) st = start_sampling(m, p);
  }
  return st;
}

cpl_status cpli_master_initialize(cpli_master* m) {
  cpl_status st = cpli_master_propagate(m);
  if (st >= 0) st = start_parts(m);
  if (st < 0) return st;
  m->running = true;
  st = walk_all(m, CPLI_PLAN_SETTLE);
  if (st >= 0) st = cpli_master_sample(m, m->t, true);
  if (st < 0) return st;
  return is_open(m) ? iterate(m, false) : CPL_OK;  // first updates changed values, or clocks ticked
}

// The lowest stop number of the parts that request to stop; 0: none.
int32_t cpli_master_stop(const cpli_master* m) {
  int32_t stop = 0;
  for (int32_t i = 0; i < m->n_parts && m->ended; i++) {
    const cpl_step_result* r = &m->parts[i].result;
    bool ended = r->end == CPL_STEP_TERMINATE && r->stop > 0;
    if (ended && (stop == 0 || r->stop < stop)) stop = r->stop;
  }
  return stop;
}
