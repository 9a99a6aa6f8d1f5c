// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The operations of a master as a stepper: values by reference, life cycle, steps.
#include "master/master.h"

#include <math.h>
#include <stdio.h>

#include "base/thread_pool.h"
#include "model/inspect.h"
#include "model/router.h"
#include "solver/independent.h"

static cpli_master* master_of(cpl_component* c) { return (cpli_master*)c; }

//------------------------------------ values ------------------------------------

// Propagates values set from outside to all parts before a value is read. In an initialisation
// values may still be missing, so that a failure does not count yet.
static cpl_status carry_on(cpl_component* c) {
  cpli_master* m = master_of(c);
  if (!m->touched) return CPL_OK;
  if (m->running) return cpli_master_settle(m);
  m->touched = false;
  cpli_master_propagate(m);
  return CPL_OK;
}

// A value set from outside at an event time is an event for its part.
static cpl_status forward(cpl_component* c, const cpli_access* run) {
  cpli_master* m = master_of(c);
  cpli_master_part* p = &m->parts[run->component];
  if (run->set && m->running && p->s->base.can.zero_step) p->pending = m->pending = true;
  cpl_status st = cpli_access_values(&p->s->base, run);
  if (st == CPL_OK && !run->set && run->type == CPL_REAL && m->running && p->n_constant > 0)
    cpli_master_show_cached(m, run->component, run->refs, run->n, run->values);
  return st;
}

static cpl_status access_values(cpl_component* c, const cpli_access* a) {
  cpli_master* m = master_of(c);
  cpli_router r = {NULL, m->merged->routes, (uint32_t)c->desc->n_vars, forward};
  cpl_status st = a->set ? CPL_OK : carry_on(c);
  if (a->set) st = cpli_starter_note(m->starter, c, a);
  if (st < 0) return st;
  if (a->set) m->touched = m->running || m->initializes;
  st = cpli_router_access(&r, c, a);
  return a->set && st == CPL_OK ? cpli_starter_noted(m->starter, c) : st;
}

CPLI_DEFINE_VALUE_OPS(access_values)

static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  cpli_master* m = (cpli_master*)s;
  cpl_stepper* p = m->parts[m->merged->routes[ref].component].s;
  uint32_t own = m->merged->routes[ref].ref;
  m->touched = m->running;
  m->parts[m->merged->routes[ref].component].given = m->running;
  if (p->ops->set_curve != NULL) return p->ops->set_curve(p, own, curve);
  double value =
      curve->value != NULL ? curve->value(curve->user, m->t) : cpli_curve_at(curve, m->t);
  return p->base.ops->set_real(&p->base, &own, 1, &value);
}

//------------------------------------ life ------------------------------------

static cpl_status setup(cpl_component* c, const cpl_setup* settings) {
  cpli_master* m = master_of(c);
  m->t_stop = settings->has_stop_time ? settings->stop_time : INFINITY;
  m->pace = (cpli_pace){0};
  double stop = settings->has_stop_time ? settings->stop_time : settings->start_time;
  cpl_status st = cpli_check_times(c->ctx, c->name, settings->start_time, stop, m->def.step,
                                   "communication points", false);
  if (st >= 0) st = cpli_starter_setup(m->starter, c);
  m->t = m->t_start = settings->start_time;
  m->kink = NAN;
  m->h = m->short_step = m->worst = 0;
  m->n_inaccurate = 0;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
    m->parts[i].t = m->parts[i].own_t = m->t;
    st = m->parts[i].s->base.ops->setup(&m->parts[i].s->base, settings);
  }
  return st;
}

static cpl_status enter_init(cpl_component* c) {
  cpli_master* m = master_of(c);
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++)
    st = m->parts[i].s->base.ops->enter_init(&m->parts[i].s->base);
  m->initializes = m->touched = st >= 0;
  return st;
}

static cpl_status exit_init(cpl_component* c) {
  cpli_master* m = master_of(c);
  m->initializes = m->touched = false;
  cpli_starter_close(m->starter);
  return cpli_master_initialize(m);
}

// Terminates all parts even when one fails; the first failure counts.
static cpl_status terminate(cpl_component* c) {
  cpli_master* m = master_of(c);
  cpl_status st = CPL_OK;
  m->running = false;
  cpli_master_report_inaccurate(m);
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpl_status one = m->parts[i].s->base.ops->terminate(&m->parts[i].s->base);
    if (st >= 0) st = one;
  }
  return st;
}

static cpl_status reset(cpl_component* c) {
  cpli_master* m = master_of(c);
  m->running = m->ended = m->pending = m->touched = m->initializes = false;
  m->rounds = 0;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_links; i++) m->links[i].n_past = 0;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
    m->parts[i].pending = false;
    st = m->parts[i].s->base.ops->reset(&m->parts[i].s->base);
  }
  return st < 0 ? st : cpli_starter_reset(m->starter, c);
}

void cpli_master_destroy(cpl_component* c) {
  if (c == NULL) return;
  cpli_master* m = master_of(c);
  cpl_context* ctx = c->ctx;
  cpli_thread_pool_leave(m->pool);
  if (m->n_remote > 0) cpli_stacks_leave(ctx, m->n_remote);
  for (int32_t i = 0; i < m->n_parts && m->parts != NULL; i++) {
    cpli_master_part* p = &m->parts[i];
    if (p->s == NULL) continue;
    if (p->s->base.ops->forget != NULL) {
      if (p->saved.data != NULL) p->s->base.ops->forget(&p->s->base, &p->saved);
      if (p->first.data != NULL) p->s->base.ops->forget(&p->s->base, &p->first);
    }
    p->s->base.ops->destroy(&p->s->base);
  }
  for (int32_t i = 0; i < m->n_outs && m->outs != NULL; i++) cpli_free(ctx, m->outs[i].bytes);
  cpli_serial_free(ctx, &m->bytes);
  cpli_shared_desc_release(m->merged);
  for (int32_t i = 0; m->errors != NULL && i < m->n_parts; i++)
    cpli_error_clear(&m->errors[i], ctx);
  cpli_arena_free(&m->arena);
  cpli_free(ctx, m);
}

//------------------------------------ steps ------------------------------------

// The next point of a part with a grid of its own.
static double own_point(const cpli_master* m, const cpli_master_part* p) {
  return m->t_start + round((p->t - m->t_start) / p->step + 1) * p->step;
}

// The next communication point: the end of the requested step, a point of the master's own grid, or
// one of a part's.
static double next_point(const cpli_master* m, double t_end) {
  double next = t_end;
  if (m->def.step > 0 && !(m->def.tolerance > 0)) {
    double k = floor((m->t - m->t_start) / m->def.step * (1 + 1e-12) + 1e-9) + 1;
    next = fmin(next, m->t_start + k * m->def.step);
    if (next > t_end - 1e-9 * m->def.step) next = t_end;
  }
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpli_master_part* p = &m->parts[i];
    if (p->step == 0) continue;
    double point = own_point(m, p);
    if (point < next - 1e-9 * p->step) next = point;
  }
  return next;
}

// The same with error control: kinks of tables and formulas are communication points.
static cpl_status step_on(cpli_master* m, double t_end) {
  bool controlled = m->def.tolerance > 0;
  if (controlled && !(m->kink > m->t)) m->kink = cpli_master_kink(m, m->def.tolerance);
  double next = next_point(m, t_end);
  if (controlled) next = fmin(next, m->kink);
  cpl_status st = cpli_master_located_step(m, next);
  if (st >= 0 && controlled && m->t >= m->kink) cpli_master_pass_kink(m);
  return st;
}

// A loop cut by the steps may be unstable and grow from step to step.
static cpl_status run_away(const cpli_master* m) {
  for (int32_t i = 0; i < m->n_outs; i++) {
    const cpli_out* o = &m->outs[i];
    if (o->type != CPL_REAL || !isinf(o->real)) continue;
    const cpl_component* c = &m->parts[o->part].s->base;
    cpl_fail(c->ctx, CPL_ERR_MODEL, "%s: the solution runs away: %s.%s is %g at t=%.12g",
             m->base.base.name, c->name, c->desc->vars[o->var].name, o->real, m->t);
    return cpli_fail_where(c->ctx, CPL_ERR_MODEL, c->name, c->desc->vars[o->var].name, m->t);
  }
  return CPL_OK;
}

// Counts a step, and names what keeps it short.
static cpl_status note_pace(cpli_master* m, double h) {
  char why[300] = "";
  bool due = m->pace.n + 1 >= CPLI_PACE;
  const char* part = due && m->limiter >= 0 ? m->parts[m->limiter].s->base.name : NULL;
  if (part != NULL) snprintf(why, sizeof why, " (limited by %s)", part);
  else if (due && m->def.tolerance > 0)
    snprintf(why, sizeof why, " (limited by the tolerance of the master)");
  if (cpli_pace_step(m->base.base.ctx, &m->pace, m->base.base.name, m->t, h, m->t_stop, why))
    return CPL_OK;
  return cpl_fail_in(m->base.base.ctx, CPL_ERR_MODEL, m->base.base.name, NULL, m->t,
                     "time does not advance any more at t=%.12g: the last communication step was "
                     "%.3g s long%s",
                     m->t, h, why);
}

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  cpli_master* m = (cpli_master*)s;
  cpl_status st = CPL_OK;
  (void)t_limit;
  bool updated = m->pending || t_end <= m->t;
  if (m->touched) st = cpli_master_settle(m);
  if (st >= 0 && updated && !m->ended) st = cpli_master_update(m, t_end <= m->t);
  while (st >= 0 && m->t < t_end && !m->ended && !m->pending) {
    double before = m->t;
    st = step_on(m, t_end);
    if (st >= 0) st = note_pace(m, m->t - before);
    if (st >= 0) st = run_away(m);
  }
  *result = (cpl_step_result){.end = m->ended     ? CPL_STEP_TERMINATE
                                     : m->pending ? CPL_STEP_EVENT
                                                  : CPL_STEP_DONE,
                              .time = m->t,
                              .event_handled = updated,
                              .again = m->rounds > 0 && m->pending && !m->ended,
                              .stop = cpli_master_stop(m)};
  return st;
}

static cpl_status max_step(cpl_stepper* s, double* h) {
  cpli_master* m = (cpli_master*)s;
  *h = INFINITY;
  for (int32_t i = 0; i < m->n_parts; i++) {
    double one = NAN;
    cpl_status st = m->parts[i].s->ops->max_step(m->parts[i].s, &one);
    if (st < 0) return st;
    *h = isnan(one) ? NAN : fmin(*h, one);
    if (isnan(one)) return CPL_OK;
  }
  return CPL_OK;
}

// Of the parts that know theirs. Others, and conditions on inputs, may cause an event before it.
static cpl_status next_event(cpl_stepper* s, double* time, bool* sure) {
  cpli_master* m = (cpli_master*)s;
  *time = m->pending ? m->t : (double)INFINITY;
  *sure = m->pending;
  for (int32_t i = 0; i < m->n_parts && !m->pending; i++) {
    cpl_stepper* p = m->parts[i].s;
    double one = INFINITY;
    bool certain;
    cpl_status st = p->ops->next_event != NULL ? p->ops->next_event(p, &one, &certain) : CPL_OK;
    if (st < 0) return st;
    *time = fmin(*time, one);
  }
  return CPL_OK;
}

static double next_break(cpl_stepper* s, double tolerance) {
  return cpli_master_kink((cpli_master*)s, tolerance);
}

static cpl_status value_time(cpl_stepper* s, uint32_t ref, double* since, double* next) {
  cpli_master* m = (cpli_master*)s;
  const cpli_master_part* p = &m->parts[m->merged->routes[ref].component];
  cpl_status st = CPL_OK;
  *since = p->t;
  *next = INFINITY;
  if (p->s->ops->value_time != NULL)
    st = p->s->ops->value_time(p->s, m->merged->routes[ref].ref, since, next);
  if (p->step > 0) *next = own_point(m, p);
  return st;
}

static bool has_own_points(const cpli_master* m) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    if (m->parts[i].step > 0 || m->parts[i].s->ops->value_time != NULL) return true;
  }
  return false;
}

static cpl_status wants_update(cpl_stepper* s, bool* wanted, double* margin) {
  cpli_master* m = (cpli_master*)s;
  cpl_status st = m->touched ? cpli_master_settle(m) : CPL_OK;
  if (st >= 0) st = cpli_master_ask(m);
  *wanted = m->pending;
  *margin = m->margin;
  return st;
}

// Whether connected parts can report events caused by their inputs.
static bool watches_inputs(const cpli_master* m) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    if (m->parts[i].s->ops->wants_update != NULL && m->parts[i].n_links > 0) return true;
  }
  return false;
}

//------------------------------------ operations ------------------------------------

void cpli_master_equip(cpli_master* m) {
  m->component_ops = (cpl_component_ops){.size = sizeof(cpl_component_ops),
                                         .kind = cpli_master_kind,
                                         .destroy = cpli_master_destroy,
                                         .setup = setup,
                                         .enter_init = enter_init,
                                         .exit_init = exit_init,
                                         .terminate = terminate,
                                         .reset = reset,
                                         CPLI_VALUE_OPS,
                                         .inspect = cpli_master_inspect};
  if (m->base.base.can.save_restore) {
    m->component_ops.save = cpli_master_save;
    m->component_ops.restore = cpli_master_restore;
    m->component_ops.forget = cpli_master_forget;
  }
  if (m->base.base.can.serialize) {
    m->component_ops.serialize = cpli_master_to_bytes;
    m->component_ops.deserialize = cpli_master_from_bytes;
    m->component_ops.get_history = cpli_master_get_history;
    m->component_ops.set_history = cpli_master_set_history;
  }
  m->stepper_ops = (cpl_stepper_ops){.size = sizeof(cpl_stepper_ops),
                                     .step = step,
                                     .set_curve = set_curve,
                                     .next_break = next_break,
                                     .next_event = next_event};
  if (m->base.base.can.predicts) m->stepper_ops.max_step = max_step;
  if (has_own_points(m)) m->stepper_ops.value_time = value_time;
  m->watches = watches_inputs(m);
  m->stepper_ops.wants_update = wants_update;
}

void cpli_master_begin_with(cpl_stepper* master, cpli_starter* starter) {
  ((cpli_master*)master)->starter = starter;
}

double cpli_master_tolerance(const cpl_stepper* s) {
  const cpli_master* m = cpli_as_master(s);
  double smallest = m != NULL ? m->def.tolerance : 0;
  for (int32_t i = 0; m != NULL && i < m->n_parts; i++) {
    double inner = cpli_master_tolerance(m->parts[i].s);
    if (inner > 0 && !(smallest > 0 && smallest <= inner)) smallest = inner;
  }
  return smallest;
}

// Also finds a master among independent steppers.
const cpli_master* cpli_as_master(const cpl_stepper* s) {
  const cpl_component* inner = cpli_independent_coarse(&s->base);
  return cpli_component_self(inner != NULL ? inner : &s->base, cpli_master_kind);
}
