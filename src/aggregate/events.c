// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Events of all components together: rounds of updates (updates.c) are repeated until neither a
// component nor its inputs request another.
#include <math.h>
#include <stdio.h>

#include "aggregate/aggregate.h"
#include "aggregate/updates.h"
#include "model/input_curve.h"
#include "model/sparsity.h"

enum { MAX_ROUNDS = 1000 };  // per event

// In an event there is no shorter step to try.
static cpl_status final(cpli_aggregate* a, cpl_status st) {
  const char* when = a->phase == CPLI_PLAN_INITIAL ? "at the start" : "in an event";
  return st == CPL_RETRY ? cpl_fail_prefix(a->base.base.ctx, CPL_ERR_MODEL, "%s: %s", a->name, when)
                         : st;
}

//------------------------------------ comparisons in couplings ------------------------------------

// Comparisons of couplings turn by their values before the event; the values after it follow from
// there. Values remain those before the event.
static cpl_status settle_links(cpli_aggregate* a, bool* changed) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < a->n_settling && st == CPL_OK; i++) {
    cpli_coupling_edge* l = &a->links[a->settling[i]];
    const cpl_function* f = &l->def.function;
    bool moved = false;
    cpli_gather(a, l->sources, l->n_sources, l->values);
    st = f->settle(f->user, a->t, l->values, &moved);
    *changed = *changed || moved;
  }
  return st;
}

static cpl_status accept_one(cpli_aggregate* a, const cpl_function* f, const int32_t* nodes,
                             int32_t n, double* values) {
  if (f->accept == NULL) return CPL_OK;
  cpli_gather(a, nodes, n, values);
  return f->accept(f->user, a->t, values);
}

cpl_status cpli_aggregate_accept(cpli_aggregate* a) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < a->n_settling && st == CPL_OK; i++) {
    cpli_coupling_edge* l = &a->links[a->settling[i]];
    st = accept_one(a, &l->def.function, l->sources, l->n_sources, l->values);
  }
  for (int32_t i = 0; i < a->n_outside && st == CPL_OK; i++) {
    cpli_outside* o = &a->outside[i];
    st = accept_one(a, &o->def.condition, o->condition, o->n_condition, o->condition_values);
  }
  return st;
}

static double next_of(cpli_aggregate* a, const cpl_function* f, const int32_t* nodes, int32_t n,
                      double* values) {
  if (f->next_time == NULL) return INFINITY;
  cpli_gather(a, nodes, n, values);
  return f->next_time(f->user, a->t, values);
}

// Time events of components, external events and comparisons that only depend on time.
static double next_time(cpli_aggregate* a) {
  double next = INFINITY;
  for (int32_t k = 0; k < a->n_parts; k++) next = fmin(next, a->parts[k].next_time);
  for (int32_t i = 0; i < a->n_settling; i++) {
    cpli_coupling_edge* l = &a->links[a->settling[i]];
    next = fmin(next, next_of(a, &l->def.function, l->sources, l->n_sources, l->values));
  }
  for (int32_t i = 0; i < a->n_outside; i++) {
    cpli_outside* o = &a->outside[i];
    if (o->next < o->def.n_times) next = fmin(next, o->def.times[o->next]);
    next = fmin(next,
                next_of(a, &o->def.condition, o->condition, o->n_condition, o->condition_values));
  }
  return next;
}

cpl_break cpli_aggregate_next_break(cpl_model* m, double t, double tolerance) {
  const cpli_aggregate* a = (const cpli_aggregate*)m;
  cpl_break next = {INFINITY, 0};
  for (int32_t k = 0; k < a->n_parts && a->any_breaks; k++) {
    cpl_model* part = a->parts[k].m;
    if (part->ops->next_break == NULL) continue;
    next = cpli_first_break(next, part->ops->next_break(part, t, tolerance));
  }
  for (int32_t i = 0; i < a->n_settling; i++) {
    const cpl_function* f = &a->links[a->settling[i]].def.function;
    if (f->next_break == NULL) continue;
    next = cpli_first_break(next, f->next_break(f->user, t, tolerance));
  }
  return next;
}

//------------------------------------ events from outside ------------------------------------

static cpl_status condition_holds(cpli_aggregate* a, cpli_outside* o, bool* holds) {
  const cpl_function* f = &o->def.condition;
  bool changed;
  double value = 0;
  cpli_gather(a, o->condition, o->n_condition, o->condition_values);
  cpl_status st =
      f->settle != NULL ? f->settle(f->user, a->t, o->condition_values, &changed) : CPL_OK;
  if (st == CPL_OK) st = f->value(f->user, a->t, o->condition_values, &value);
  *holds = value > 0;
  return st;
}

static cpli_setter* setter_of(cpli_aggregate* a, cpl_port port) {
  if (port.part < 0) return &a->setters[a->n_part_vars + port.var];
  const cpli_part* part = &a->parts[port.part];
  return &a->setters[part->first_var + cpli_root_variable(part->m->base.desc, port.var)];
}

static cpl_status contradiction(cpli_aggregate* a, const cpli_outside* o, int32_t target) {
  cpl_port port = o->def.targets[target];
  const cpli_setter* other = setter_of(a, port);
  bool signal = port.part < 0;
  const cpl_component* c = signal ? NULL : &a->parts[port.part].m->base;
  return cpl_fail_in(a->base.base.ctx, CPL_ERR_MODEL, a->name, NULL, a->t,
                     "the events %s and %s happen both at t=%.12g and set %s%s%s to %.12g and to "
                     "%.12g; give one of them another time or condition, or make one event of both",
                     other->event->def.name, o->def.name, a->t, signal ? "" : c->name,
                     signal ? "" : ".",
                     signal ? a->signals[port.var].name : c->desc->vars[port.var].name,
                     other->value, o->results[target]);
}

// Values are computed from those before the instant: two for one variable are a conflict unless
// they are equal.
static cpl_status compare_assignments(cpli_aggregate* a) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < a->n_outside && st == CPL_OK; i++) {
    const cpli_outside* o = &a->outside[i];
    for (int32_t k = 0; k < o->def.n_targets && o->firing && st == CPL_OK; k++) {
      cpli_setter* s = setter_of(a, o->def.targets[k]);
      if (s->event == NULL) *s = (cpli_setter){o, o->results[k]};
      else if (s->event != o && cpli_values_differ(s->value, o->results[k]))
        st = contradiction(a, o, k);
    }
  }
  for (int32_t i = 0; i < a->n_outside; i++) {
    const cpl_external_event* e = &a->outside[i].def;
    for (int32_t k = 0; k < e->n_targets && a->outside[i].firing; k++)
      setter_of(a, e->targets[k])->event = NULL;
  }
  return st;
}

// Which events fire here, and what each would assign; nothing is set yet.
static cpl_status look_outside(cpli_aggregate* a, bool* any) {
  cpl_status st = cpli_evaluate(a);
  *any = false;
  for (int32_t i = 0; i < a->n_outside && st == CPL_OK; i++) {
    cpli_outside* o = &a->outside[i];
    bool holds = o->last_value;
    o->firing = o->next < o->def.n_times && a->t >= o->def.times[o->next];
    while (o->next < o->def.n_times && a->t >= o->def.times[o->next]) o->next++;
    if (o->def.condition.value != NULL) st = condition_holds(a, o, &holds);
    o->firing = o->firing || (holds && !o->last_value);
    o->last_value = holds;
    *any = *any || o->firing;
    bool first = o->def.stop > 0 && (a->stop == 0 || o->def.stop < a->stop);
    if (o->firing && first) a->stop = o->def.stop;
  }
  for (int32_t i = 0; i < a->n_outside && st == CPL_OK && *any; i++) {
    cpli_outside* o = &a->outside[i];
    if (!o->firing || o->def.n_targets == 0) continue;
    bool changed;
    const cpl_function* f = &o->def.assign;
    cpli_gather(a, o->assign, o->n_assign, o->assign_values);
    if (f->settle != NULL) st = f->settle(f->user, a->t, o->assign_values, &changed);
    if (st == CPL_OK) st = f->value(f->user, a->t, o->assign_values, o->results);
  }
  return st == CPL_OK && *any ? compare_assignments(a) : st;
}

// States are set in continuous time, everything else in event mode.
static cpl_status assign(cpli_aggregate* a, bool states) {
  for (int32_t i = 0; i < a->n_outside; i++) {
    cpli_outside* o = &a->outside[i];
    for (int32_t k = 0; k < o->def.n_targets && o->firing; k++) {
      cpl_port port = o->def.targets[k];
      int32_t state = port.part >= 0 ? a->state_of[a->parts[port.part].first_var + port.var] : -1;
      if (state >= 0 && states) a->x[state] = o->results[k];
      if (state >= 0 || states) continue;
      cpl_component* c = port.part >= 0 ? &a->parts[port.part].m->base : NULL;
      if (c == NULL) {
        a->value[a->first_signal + port.var] = o->results[k];
        continue;
      }
      const cpl_variable* v = &c->desc->vars[port.var];
      int64_t integer = llround(o->results[k]);
      cpl_status st = v->type == CPL_REAL
                          ? c->ops->set_real(c, &v->ref, 1, &o->results[k])
                          : c->ops->set_integer(c, (cpl_type)v->type, &v->ref, 1, &integer);
      if (st < 0) return st;
    }
  }
  a->fresh = false;
  return CPL_OK;
}

static cpl_status enter_parts(cpli_aggregate* a) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < a->n_parts && st >= 0; k++)
    st = a->parts[k].m->ops->enter_event(a->parts[k].m);
  a->phase = CPLI_PLAN_EVENT;
  a->fresh = false;
  cpli_updates_begin(a);
  return st;
}

static cpl_status fire(cpli_aggregate* a) {
  cpl_status st = assign(a, true);
  for (int32_t k = 0; k < a->n_parts && st >= 0; k++) {
    cpli_part* part = &a->parts[k];
    if (part->n_states > 0) st = part->m->ops->set_states(part->m, a->x + part->first_state);
  }
  if (st >= 0) st = enter_parts(a);
  return st < 0 ? st : assign(a, false);
}

cpl_status cpli_aggregate_enter_event(cpl_model* m) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  bool any = false, turned = false;
  a->stop = a->rounds = 0;
  cpl_status st = final(a, cpli_give_point(a));
  if (st >= 0 && a->n_outside > 0) st = final(a, look_outside(a, &any));
  if (st >= 0 && a->n_settling > 0) st = final(a, cpli_evaluate(a));
  if (st >= 0 && a->n_settling > 0) st = final(a, settle_links(a, &turned));
  if (st < 0) return st;
  return any ? fire(a) : enter_parts(a);
}

//------------------------------------ iteration ------------------------------------

// Values over all couplings, until comparisons in couplings no longer change.
static cpl_status carry_over(cpli_aggregate* a) {
  for (int round = 0; round < 100; round++) {
    bool moved = false;
    a->fresh = false;
    cpl_status st = cpli_evaluate(a);
    if (st == CPL_OK) st = settle_links(a, &moved);
    if (st != CPL_OK) return final(a, st);
    if (!moved) return CPL_OK;
  }
  return cpl_fail_in(a->base.base.ctx, CPL_ERR_MODEL, a->name, NULL, a->t,
                     "comparisons in the couplings do not settle at t=%.17g", a->t);
}

static cpl_status read_states(cpli_aggregate* a) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
    cpli_part* part = &a->parts[k];
    if (part->n_states > 0) st = part->m->ops->get_states(part->m, a->x + part->first_state);
  }
  a->fresh = false;
  return st;
}

// Conditions that an update made true fire as well: a wall hit by a jump.
static cpl_status fire_again(cpli_aggregate* a, cpl_event_info* info) {
  bool any = false;
  cpl_status st = final(a, look_outside(a, &any));
  if (st < 0 || !any) return st;
  for (int32_t k = 0; k < a->n_parts && st >= 0; k++)
    st = a->parts[k].m->ops->enter_continuous(a->parts[k].m);
  if (st >= 0) st = fire(a);
  info->again = info->states_changed = true;
  return st;
}

cpl_status cpli_aggregate_event_update(cpl_model* m, cpl_event_info* info) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  // events of the system have set states before the first update
  *info =
      (cpl_event_info){.next_time = INFINITY, .states_changed = a->rounds == 0 && a->n_outside > 0};
  cpl_status st = carry_over(a);
  if (st >= 0) st = cpli_updates_carry_texts(a);
  if (st >= 0) st = cpli_updates_round(a, info);
  a->rounds++;
  if (st >= 0 && info->structure_changed) {  // the results belong to the previous structure
    info->again = true;
    a->runs++;  // a mode begins like a run: parameters may differ
    return cpli_variants_follow(a);
  }
  if (st >= 0) st = read_states(a);
  if (st >= 0) st = carry_over(a);
  if (st >= 0) st = cpli_updates_carry_texts(a);
  if (st >= 0) st = cpli_updates_open(a, &info->again);
  if (st >= 0 && info->again && a->rounds >= MAX_ROUNDS) return cpli_updates_endless(a);
  if (st >= 0 && !info->again && a->n_outside > 0) st = fire_again(a, info);
  info->next_time = next_time(a);
  // a request to stop is deferred until the event is over
  if (a->stop > 0 && !info->again && !info->terminate) info->terminate = true, info->stop = a->stop;
  return st;
}

// A run that stops at a time and restarts there does not stop again at once.
static bool is_past(const cpli_outside* o, double t) {
  double next = o->def.times[o->next];
  return o->def.stop > 0 ? next <= t : next < t;
}

static void begin_functions(cpli_aggregate* a) {
  for (int32_t i = 0; i < a->n_settling; i++) {
    const cpl_function* f = &a->links[a->settling[i]].def.function;
    if (f->begin != NULL) f->begin(f->user);
  }
  for (int32_t i = 0; i < a->n_outside; i++) {
    const cpl_external_event* e = &a->outside[i].def;
    if (e->condition.begin != NULL) e->condition.begin(e->condition.user);
    if (e->assign.begin != NULL) e->assign.begin(e->assign.user);
  }
}

// A condition that is true at the start does not fire unless it is defined to.
cpl_status cpli_aggregate_settle_start(cpli_aggregate* a) {
  a->stop = 0;
  begin_functions(a);
  cpl_status st = carry_over(a);
  for (int32_t i = 0; i < a->n_outside && st >= 0; i++) {
    cpli_outside* o = &a->outside[i];
    o->next = 0;
    while (o->next < o->def.n_times && is_past(o, a->t)) o->next++;
    if (o->def.condition.value != NULL) st = final(a, condition_holds(a, o, &o->last_value));
    if (o->def.at_start) o->last_value = false;  // it fires in the first update
  }
  return st;
}
