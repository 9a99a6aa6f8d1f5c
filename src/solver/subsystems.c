// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model that consists of subsystems, which do not influence each other: each has its own stepper
// with its own solver, and together they are one stepper. The subsystem whose solver is furthest
// behind steps next, so that all have been integrated up to the first event. Only the subsystem
// with the event has to stop there: the others stay ahead and are interpolated when their values
// are requested. The cost of an event does not depend on the number of subsystems but for the
// logarithm of their heap.
#include <math.h>

#include "base/heap.h"
#include "solver/integrated.h"

typedef struct subsystems {
  cpl_stepper base;
  cpl_model* whole;  // the model before the split; it has the description
  cpl_subsystems map;
  cpli_integrate** steppers;
  int32_t n;
  cpli_heap heap;    // the subsystem furthest behind first
  int32_t* memory;   // of the heap and the waiting list
  int32_t* waiting;  // subsystems with an event whose update is pending
  int32_t n_waiting;
  bool* waits;
  double t;       // output time
  bool again;     // the event continues: subsystems request another update
  double limit;   // t_limit of the last step: at it, inputs may jump
  double looked;  // t_end of the last step: indicators of all subsystems were compared there
  bool running, ended;
  int32_t stop;  // stop number of the subsystem that ended the run
  cpl_solver_stats sum;
} subsystems;

//------------------------------------ scheduling ------------------------------------

// At equal times, a subsystem with an incomplete step comes first: an event may be due at its end.
static bool before(const void* user, int32_t i, int32_t k) {
  const subsystems* p = user;
  const cpli_integrate *a = p->steppers[i], *b = p->steppers[k];
  if (a->t_step != b->t_step) return a->t_step < b->t_step;
  bool open = cpli_integrate_open(a);
  return open != cpli_integrate_open(b) ? open : i < k;
}

//------------------------------------ steps ------------------------------------

// Takes over the outcome of a step of a subsystem.
static void take_outcome(subsystems* p, int32_t i) {
  const cpli_integrate* s = p->steppers[i];
  p->ended = p->ended || s->ended;
  if (s->ended && s->stop > 0 && (p->stop == 0 || s->stop < p->stop)) p->stop = s->stop;
  if (s->pending != NO_EVENT && !p->waits[i]) {
    p->waits[i] = true;
    p->waiting[p->n_waiting++] = i;
  }
}

// A subsystem at the current time. An event before it that is visible only there (two crossings
// within one step) is handled later by this subsystem alone: the others have advanced, and none
// depends on it.
static cpl_status bring(subsystems* p, int32_t i) {
  cpli_integrate* s = p->steppers[i];
  cpl_status st = cpli_integrate_look(s, p->t);
  if (st < 0 || s->t_step >= p->t) return st;
  while (st >= 0 && !s->ended && s->t < p->t) {
    if (s->pending != NO_EVENT) st = cpli_integrate_update(s, false);
    else if (p->t < s->t_step) st = cpli_integrate_look(s, p->t);
    else if (cpli_integrate_open(s)) st = cpli_integrate_close(s);
    else st = cpli_integrate_ahead(s, p->t, p->limit);
  }
  cpli_heap_sort_in(&p->heap, i);
  take_outcome(p, i);
  return st;
}

static cpl_status update(subsystems* p, int32_t i, bool once) {
  cpl_status st = bring(p, i);
  if (st >= 0) st = cpli_integrate_update(p->steppers[i], once);
  cpli_heap_sort_in(&p->heap, i);
  take_outcome(p, i);
  return st;
}

static cpl_status update_all(subsystems* p, bool once) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < p->n && st >= 0; i++) st = update(p, i, once);
  return st;
}

static void forget_waiting(subsystems* p) {
  for (int32_t k = 0; k < p->n_waiting; k++) p->waits[p->waiting[k]] = false;
  p->n_waiting = 0;
}

// Subsystems with a pending event; all of them when none has one, where inputs may have jumped, and
// between updates of one event. Subsystems that request another update become pending again.
static cpl_status update_waiting(subsystems* p, bool once) {
  int32_t n = p->n_waiting;
  cpl_status st = CPL_OK;
  forget_waiting(p);
  if (n == 0 || p->t >= p->limit || p->again) return update_all(p, once);
  for (int32_t k = 0; k < n && st >= 0; k++) st = update(p, p->waiting[k], once);
  return st;
}

static cpl_status restart_all(subsystems* p) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < p->n && st >= 0; i++) {
    st = bring(p, i);
    if (st >= 0) st = cpli_integrate_restart(p->steppers[i]);
  }
  cpli_heap_sort(&p->heap);
  return st;
}

// Subsystems that are ahead of t_end compare their indicators there, before others advance.
static cpl_status look_at_end(subsystems* p, double t_end) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < p->n && st >= 0 && t_end != p->looked; i++) {
    cpli_integrate* s = p->steppers[i];
    if (s->nz == 0 || s->t_step <= t_end) continue;
    st = bring(p, i);
    double before = s->t_step;
    if (st >= 0 && before > t_end) st = cpli_integrate_look(s, t_end);
    if (s->t_step != before) cpli_heap_sort_in(&p->heap, i);
  }
  p->looked = t_end;
  return st;
}

static cpl_status go_on(cpli_integrate* s, double t_end, double t_limit) {
  if (cpli_integrate_open(s)) return cpli_integrate_close(s);
  cpl_status st = cpli_integrate_ahead(s, t_end, t_limit);
  return st >= 0 && s->nz > 0 && s->t_step > t_end ? cpli_integrate_look(s, t_end) : st;
}

// Advances all to t_end, or to the first event before it; simultaneous events are found together.
static cpl_status advance(subsystems* p, double t_end, double t_limit) {
  cpl_status st = look_at_end(p, t_end);
  double stop = t_end;
  while (st >= 0 && !p->ended) {
    int32_t i = cpli_heap_first(&p->heap);
    cpli_integrate* s = p->steppers[i];
    if (s->t_step > stop) break;
    if (!cpli_integrate_open(s) && s->t_step >= stop) break;
    st = go_on(s, t_end, t_limit);
    take_outcome(p, i);
    if (p->n_waiting > 0 || p->ended) stop = fmin(stop, s->t);
    cpli_heap_sort_in(&p->heap, i);
  }
  p->t = stop;
  return st;
}

static cpl_status step(cpl_stepper* base, double t_end, double t_limit, cpl_step_result* result) {
  subsystems* p = (subsystems*)base;
  cpl_status st = CPL_OK;
  *result = (cpl_step_result){0};
  if (!p->ended && (p->n_waiting > 0 || t_end <= p->t)) {
    st = update_waiting(p, t_end <= p->t);
    result->event_handled = true;
    p->again = result->again = st >= 0 && !p->ended && p->n_waiting > 0;
  } else if (!p->ended && p->steppers[0]->def.restart_each_step) {
    st = restart_all(p);
  }
  if (t_end > p->t) p->limit = t_limit;
  if (st >= 0 && !p->ended && t_end > p->t) st = advance(p, t_end, t_limit);
  result->end = p->ended ? CPL_STEP_TERMINATE : p->n_waiting > 0 ? CPL_STEP_EVENT : CPL_STEP_DONE;
  result->time = p->t;
  result->stop = p->stop;
  return st;
}

//------------------------------------ values ------------------------------------

enum { RUN = 64 };  // references per call

static cpl_status refuse(const subsystems* p, uint32_t ref) {
  return cpl_fail(p->base.base.ctx, CPL_ERR_INPUT, "%s: there is no variable %u", p->base.base.name,
                  (unsigned)ref);
}

// The stepper of a subsystem, brought to the current time.
static cpl_status present(subsystems* p, int32_t i, cpl_component** out) {
  *out = &p->steppers[i]->base.base;
  return p->running ? bring(p, i) : CPL_OK;
}

// The leading references that belong to one subsystem, at most RUN of them; n > 0.
static cpl_status run_of(subsystems* p, const uint32_t* refs, size_t n, cpl_component** c,
                         uint32_t* inner, size_t* count) {
  int32_t subsystem = -1;
  for (*count = 0; *count < n && *count < RUN; ++*count) {
    uint32_t ref = refs[*count];
    if (ref >= p->map.n_refs) return refuse(p, ref);
    const cpl_route* at = &p->map.refs[p->map.first[ref]];
    if (subsystem >= 0 && at->component != subsystem) break;
    subsystem = at->component;
    inner[*count] = at->ref;
  }
  return present(p, subsystem, c);
}

static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  uint32_t inner[RUN];
  cpl_component* s;
  cpl_status st = CPL_OK;
  for (size_t i = 0, count; i < n && st == CPL_OK; i += count) {
    st = run_of((subsystems*)c, refs + i, n - i, &s, inner, &count);
    if (st == CPL_OK) st = s->ops->get_real(s, inner, count, values + i);
  }
  return st;
}

static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  uint32_t inner[RUN];
  cpl_component* s;
  cpl_status st = CPL_OK;
  for (size_t i = 0, count; i < n && st == CPL_OK; i += count) {
    st = run_of((subsystems*)c, refs + i, n - i, &s, inner, &count);
    if (st == CPL_OK) st = s->ops->get_integer(s, type, inner, count, values + i);
  }
  return st;
}

static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  uint32_t inner[RUN];
  cpl_component* s;
  cpl_status st = CPL_OK;
  for (size_t i = 0, count; i < n && st == CPL_OK; i += count) {
    st = run_of((subsystems*)c, refs + i, n - i, &s, inner, &count);
    if (st == CPL_OK) st = s->ops->get_string(s, inner, count, values + i);
  }
  return st;
}

static cpl_status get_binary(cpl_component* c, const uint32_t* refs, size_t n, cpl_binary* values) {
  uint32_t inner[RUN];
  cpl_component* s;
  cpl_status st = CPL_OK;
  for (size_t i = 0, count; i < n && st == CPL_OK; i += count) {
    st = run_of((subsystems*)c, refs + i, n - i, &s, inner, &count);
    if (st == CPL_OK) st = s->ops->get_binary(s, inner, count, values + i);
  }
  return st;
}

// Sets one value in all subsystems that have a copy of it.
static cpl_status set_one(subsystems* p, uint32_t ref, cpl_type type, const void* value) {
  if (ref >= p->map.n_refs) return refuse(p, ref);
  cpl_status st = CPL_OK;
  for (int32_t k = p->map.first[ref]; k < p->map.first[ref + 1] && st >= 0; k++) {
    const cpl_route* at = &p->map.refs[k];
    cpl_component* c;
    st = present(p, at->component, &c);
    if (st < 0) return st;
    if (type == CPL_REAL) st = c->ops->set_real(c, &at->ref, 1, value);
    else if (type == CPL_STRING) st = c->ops->set_string(c, &at->ref, 1, value);
    else if (type == CPL_BINARY) st = c->ops->set_binary(c, &at->ref, 1, value);
    else st = c->ops->set_integer(c, type, &at->ref, 1, value);
    if (!p->running) continue;
    take_outcome(p, at->component);
    cpli_heap_sort_in(&p->heap, at->component);
  }
  return st;
}

static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++)
    st = set_one((subsystems*)c, refs[i], CPL_REAL, &values[i]);
  return st;
}

static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) st = set_one((subsystems*)c, refs[i], type, &values[i]);
  return st;
}

static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++)
    st = set_one((subsystems*)c, refs[i], CPL_STRING, &values[i]);
  return st;
}

static cpl_status set_binary(cpl_component* c, const uint32_t* refs, size_t n,
                             const cpl_binary* values) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++)
    st = set_one((subsystems*)c, refs[i], CPL_BINARY, &values[i]);
  return st;
}

static cpl_status set_curve(cpl_stepper* base, uint32_t ref, const cpl_curve* curve) {
  subsystems* p = (subsystems*)base;
  if (ref >= p->map.n_refs) return refuse(p, ref);
  cpl_status st = CPL_OK;
  for (int32_t k = p->map.first[ref]; k < p->map.first[ref + 1] && st >= 0; k++) {
    cpl_stepper* s = &p->steppers[p->map.refs[k].component]->base;
    st = s->ops->set_curve(s, p->map.refs[k].ref, curve);
  }
  return st;
}

//------------------------------------ life ------------------------------------

#define FOR_EACH_SUBSYSTEM(p, st, call)                       \
  for (int32_t k_ = 0; k_ < (p)->n && (st) >= 0; k_++) {      \
    cpl_component* subsystem = &(p)->steppers[k_]->base.base; \
    (st) = (call);                                            \
  }

static cpl_status setup(cpl_component* c, const cpl_setup* settings) {
  cpl_status st = CPL_OK;
  ((subsystems*)c)->t = settings->start_time;
  FOR_EACH_SUBSYSTEM((subsystems*)c, st, subsystem->ops->setup(subsystem, settings));
  return st;
}

static cpl_status enter_init(cpl_component* c) {
  cpl_status st = CPL_OK;
  FOR_EACH_SUBSYSTEM((subsystems*)c, st, subsystem->ops->enter_init(subsystem));
  return st;
}

static cpl_status exit_init(cpl_component* c) {
  subsystems* p = (subsystems*)c;
  cpl_status st = CPL_OK;
  FOR_EACH_SUBSYSTEM(p, st, subsystem->ops->exit_init(subsystem));
  p->running = true;
  p->limit = INFINITY;
  p->looked = p->t;
  for (int32_t i = 0; i < p->n; i++) take_outcome(p, i);
  cpli_heap_sort(&p->heap);
  return st;
}

static cpl_status terminate(cpl_component* c) {
  subsystems* p = (subsystems*)c;
  cpl_status st = CPL_OK;
  p->running = false;
  FOR_EACH_SUBSYSTEM(p, st, subsystem->ops->terminate(subsystem));
  return st;
}

static cpl_status reset(cpl_component* c) {
  subsystems* p = (subsystems*)c;
  cpl_status st = CPL_OK;
  forget_waiting(p);
  p->running = p->ended = false;
  p->stop = 0;
  FOR_EACH_SUBSYSTEM(p, st, subsystem->ops->reset(subsystem));
  return st;
}

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  subsystems* p = (subsystems*)c;
  for (int32_t i = 0; i < p->n && p->steppers != NULL; i++) {
    cpl_component* s = p->steppers[i] != NULL ? &p->steppers[i]->base.base : NULL;
    if (s != NULL) s->ops->destroy(s);
  }
  p->whole->base.ops->destroy(&p->whole->base);
  cpli_free(c->ctx, p->steppers);
  cpli_free(c->ctx, p->memory);
  cpli_free(c->ctx, p->waits);
  cpli_free(c->ctx, p);
}

//------------------------------------ save and restore ------------------------------------

typedef struct saved {
  double t, limit;
  bool running, ended;
  cpl_snapshot subsystem[];
} saved;

static cpl_status save(cpl_component* c, cpl_snapshot* snapshot) {
  subsystems* p = (subsystems*)c;
  saved* k = snapshot->data;
  if (k == NULL) k = cpli_alloc(c->ctx, 1, sizeof *k + (size_t)p->n * sizeof *k->subsystem);
  if (k == NULL) return cpli_nomem(c->ctx);
  snapshot->data = k;
  k->t = p->t, k->limit = p->limit, k->running = p->running, k->ended = p->ended;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < p->n && st >= 0; i++) {
    cpl_component* s;
    st = present(p, i, &s);
    if (st >= 0) st = s->ops->save(s, &k->subsystem[i]);
  }
  return st;
}

static cpl_status restore(cpl_component* c, const cpl_snapshot* snapshot) {
  subsystems* p = (subsystems*)c;
  const saved* k = snapshot->data;
  cpl_status st = CPL_OK;
  forget_waiting(p);
  p->stop = 0;
  p->t = k->t, p->limit = k->limit, p->running = k->running, p->ended = k->ended;
  for (int32_t i = 0; i < p->n && st >= 0; i++) {
    cpl_component* s = &p->steppers[i]->base.base;
    st = s->ops->restore(s, &k->subsystem[i]);
    take_outcome(p, i);
  }
  cpli_heap_sort(&p->heap);
  return st;
}

static void forget(cpl_component* c, cpl_snapshot* snapshot) {
  subsystems* p = (subsystems*)c;
  saved* k = snapshot->data;
  if (k == NULL) return;
  for (int32_t i = 0; i < p->n; i++) {
    cpl_component* s = &p->steppers[i]->base.base;
    s->ops->forget(s, &k->subsystem[i]);
  }
  cpli_free(c->ctx, k);
  snapshot->data = NULL;
}

//------------------------------------ create ------------------------------------

#define COMMON_OPS                                                                      \
  .kind = "integrate", .destroy = destroy, .setup = setup, .enter_init = enter_init,    \
  .exit_init = exit_init, .terminate = terminate, .reset = reset, .get_real = get_real, \
  .set_real = set_real, .get_integer = get_integer, .set_integer = set_integer,         \
  .get_string = get_string, .set_string = set_string, .get_binary = get_binary,         \
  .set_binary = set_binary
static const cpl_component_ops component_ops[2] = {
    {COMMON_OPS},  // rolls back or not
    {COMMON_OPS, .save = save, .restore = restore, .forget = forget}};
static double next_break(cpl_stepper* base, double tolerance) {
  const subsystems* p = (const subsystems*)base;
  double next = INFINITY;
  for (int32_t i = 0; i < p->n; i++) {
    cpl_model* m = p->steppers[i]->m;
    if (m->ops->next_break == NULL) continue;
    next = fmin(next, m->ops->next_break(m, p->t + 1e-13 * fabs(p->t), tolerance).time);
  }
  return next;
}

static const cpl_stepper_ops stepper_ops = {
    .step = step, .set_curve = set_curve, .next_break = next_break};

// The capabilities that all subsystems have.
static void find_capabilities(subsystems* p) {
  cpl_capabilities can = p->steppers[0]->base.base.can;
  can.directional = false;
  for (int32_t i = 1; i < p->n; i++) {
    const cpl_capabilities* one = &p->steppers[i]->base.base.can;
    can.save_restore = can.save_restore && one->save_restore;
    can.once_per_process = can.once_per_process || one->once_per_process;
    can.needs_tool = can.needs_tool || one->needs_tool;
  }
  p->base.base.can = can;
  p->base.base.ops = &component_ops[can.save_restore];
}

static cpl_status allocate(subsystems* p) {
  cpl_context* ctx = p->base.base.ctx;
  size_t n = (size_t)p->n;
  p->steppers = cpli_alloc(ctx, n, sizeof(cpli_integrate*));
  p->memory = cpli_alloc(ctx, 3 * n, sizeof *p->memory);
  p->waits = cpli_alloc(ctx, n, sizeof *p->waits);
  if (p->steppers == NULL || p->memory == NULL || p->waits == NULL) return cpli_nomem(ctx);
  cpli_heap_init(&p->heap, p->memory, (int32_t)n, before, p);
  p->waiting = p->memory + 2 * n;
  return CPL_OK;
}

static void destroy_models(const cpl_subsystems* from, int32_t first) {
  for (int32_t i = first; i < from->n; i++)
    from->models[i]->base.ops->destroy(&from->models[i]->base);
}

static cpl_status make_steppers(subsystems* p, const cpl_solver_def* def) {
  cpl_status st = allocate(p);
  int32_t i = 0;
  for (; i < p->n && st >= 0; i++) {
    cpl_stepper* one = NULL;
    st = cpli_integrate_one(p->map.models[i], def, &one);
    p->steppers[i] = (cpli_integrate*)one;
  }
  destroy_models(&p->map, i);
  return st;
}

cpl_status cpli_integrate_subsystems(cpl_model* whole, const cpl_subsystems* map,
                                     const cpl_solver_def* def, cpl_stepper** out) {
  cpl_context* ctx = whole->base.ctx;
  subsystems* p = cpli_alloc(ctx, 1, sizeof *p);
  *out = NULL;
  if (p == NULL) {
    destroy_models(map, 0);
    whole->base.ops->destroy(&whole->base);
    return cpli_nomem(ctx);
  }
  *p = (subsystems){.whole = whole, .map = *map, .n = map->n};
  p->base = (cpl_stepper){.base = {.ops = &component_ops[0],
                                   .desc = whole->base.desc,
                                   .ctx = ctx,
                                   .name = whole->base.name},
                          .ops = &stepper_ops};
  cpl_status st = make_steppers(p, def);
  if (st < 0) {
    destroy(&p->base.base);
    return st;
  }
  find_capabilities(p);
  *out = &p->base;
  return CPL_OK;
}

void cpli_stats_add(cpl_solver_stats* to, const cpl_solver_stats* from) {
  to->steps += from->steps;
  to->rejected += from->rejected;
  to->rhs_evals += from->rhs_evals;
  to->jac_evals += from->jac_evals;
  to->newton_iters += from->newton_iters;
  to->indicator_evals += from->indicator_evals;
  to->state_events += from->state_events;
  to->time_events += from->time_events;
  to->step_events += from->step_events;
  to->restarts += from->restarts;
  to->switches += from->switches;
  to->structures += from->structures;
  to->linear_iters += from->linear_iters;
  to->products += from->products;
  to->projections += from->projections;
  to->largest_projection = fmax(to->largest_projection, from->largest_projection);
  to->largest_residual = fmax(to->largest_residual, from->largest_residual);
  to->algebraics += from->algebraics;
  to->groups += from->groups;
  to->in_models_s += from->in_models_s;
}

const cpl_solver_stats* cpli_subsystems_stats(const cpl_stepper* base) {
  if (base->ops != &stepper_ops) return NULL;
  subsystems* p = (subsystems*)base;
  p->sum = (cpl_solver_stats){0};
  for (int32_t i = 0; i < p->n; i++) cpli_stats_add(&p->sum, &p->steppers[i]->stats);
  p->sum.groups = p->n;
  return &p->sum;
}
