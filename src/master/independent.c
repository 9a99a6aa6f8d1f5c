// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Steppers side by side. The one that has come least far works ahead next, so that an event is
// found when all others are past it; only its part stops there. The others are brought to the
// present when somebody asks for their values. It is for steppers what solver/subsystems.c is for
// models.
//
// A stepper that cannot work ahead, a master with its communication steps, takes its step first.
// The others follow to where it stopped, and until they are there it shows the values it had
// before: an event of another costs it nothing. value_time() says which time they belong to.
#include "master/independent.h"

#include <math.h>

#include "base/heap.h"
#include "master/cached.h"

typedef struct part {
  cpl_stepper* s;
  double at;            // where its outputs are
  double until;         // how far it has worked ahead; nothing happens before
  bool waits;           // for an update
  bool coarse;          // it cannot work ahead
  cpl_step_result end;  // of a coarse one: what its step came to, at `until`
} part;

typedef struct beside {
  cpl_stepper base;
  cpli_merged* merged;
  const cpli_independent_slot* places;  // of each variable
  cpli_cached held;
  char* name;
  part* parts;
  int32_t n;
  cpli_heap heap;
  int32_t* memory;  // of it and of those who wait
  int32_t* waiting;
  int32_t n_waiting;
  int32_t *coarse, n_coarse;  // parts that cannot work ahead
  double t, limit;
  double looked;  // the last end of a step at which parts that are past it were looked at
  bool running, ended;
  bool again;    // an event asks for another update
  int32_t stop;  // the number of who ended it
} beside;

static beside* self_of(cpl_component* c) { return (beside*)c; }

//------------------------------------ who is next ------------------------------------

static double key(const part* p) { return p->waits || p->coarse ? INFINITY : p->until; }

// Whether it has gone on to where the others are not yet.
static bool is_hidden(const part* p) { return p->coarse && p->at < p->until; }

// At the same time those whose step is still open: something may happen at its end.
static bool before(const void* user, int32_t i, int32_t k) {
  const beside* b = user;
  const part *x = &b->parts[i], *y = &b->parts[k];
  if (key(x) != key(y)) return key(x) < key(y);
  bool open = x->at < x->until;
  return open != (y->at < y->until) ? open : i < k;
}

//------------------------------------ steps ------------------------------------

static void let_wait(beside* b, int32_t i) {
  if (!b->parts[i].waits) b->waiting[b->n_waiting++] = i;
  b->parts[i].waits = true;
}

static void heed(beside* b, int32_t i, const cpl_step_result* r) {
  b->parts[i].at = r->time;
  b->ended = b->ended || r->end == CPL_STEP_TERMINATE;
  bool first = r->stop > 0 && (b->stop == 0 || r->stop < b->stop);
  if (r->end == CPL_STEP_TERMINATE && first) b->stop = r->stop;
  if (r->end == CPL_STEP_EVENT) let_wait(b, i);
  b->again = b->again || r->again;
}

static cpl_status present(beside* b, int32_t i) {
  part* p = &b->parts[i];
  cpl_status st = CPL_OK;
  while (st >= 0 && b->running && p->at < b->t && !p->coarse && !b->ended) {
    cpl_step_result r;
    st = p->s->ops->step(p->s, b->t, b->limit, &r);
    if (st < 0) break;
    p->at = r.time;
    if (r.end == CPL_STEP_DONE) continue;
    // an event that shows only at this output point is made up for by this part alone
    if (r.end != CPL_STEP_EVENT || p->at >= b->t) heed(b, i, &r);
    p->until = p->at;
    cpli_heap_sort_in(&b->heap, i);
  }
  return st;
}

static cpl_status update(beside* b, int32_t i) {
  part* p = &b->parts[i];
  cpl_step_result r = {0};
  if (is_hidden(p)) return CPL_OK;
  cpl_status st = present(b, i);
  if (st >= 0) st = p->s->ops->step(p->s, b->t, b->t, &r);
  if (st < 0) return st;
  p->waits = false;
  heed(b, i, &r);
  p->until = p->at;
  cpli_heap_sort_in(&b->heap, i);
  return CPL_OK;
}

// Those who wait; all of them when nobody does, or where inputs may have jumped.
static cpl_status update_waiting(beside* b) {
  int32_t n = b->n_waiting;
  cpl_status st = CPL_OK;
  bool all = n == 0 || b->t >= b->limit;
  b->n_waiting = 0;  // who has to wait again is behind the one looked at
  for (int32_t k = 0; k < (all ? b->n : n) && st >= 0; k++) {
    int32_t i = all ? k : b->waiting[k];
    b->parts[i].waits = false;
    st = update(b, i);
  }
  return st;
}

// A part that has worked past the end of the step compares its conditions there, before others are
// stepped past what that may show.
static cpl_status look(beside* b, int32_t i, double t_end) {
  part* p = &b->parts[i];
  if (p->coarse || p->waits || p->until <= t_end) return CPL_OK;
  cpl_status st = p->s->ops->ahead(p->s, t_end, &p->until);
  cpli_heap_sort_in(&b->heap, i);
  return st;
}

static cpl_status look_at_end(beside* b, double t_end) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < b->n && st >= 0 && t_end != b->looked; i++) st = look(b, i, t_end);
  b->looked = t_end;
  return st;
}

static cpl_status go_on(beside* b, int32_t i, double t_end, double t_limit) {
  part* p = &b->parts[i];
  cpl_step_result r;
  cpl_status st;
  if (p->at < p->until) {
    st = p->s->ops->step(p->s, p->until, t_limit, &r);
    if (st >= 0) heed(b, i, &r);
  } else {
    st = p->s->ops->ahead(p->s, t_limit, &p->until);
    if (st >= 0 && p->until <= p->at) let_wait(b, i);
    if (st >= 0) st = look(b, i, t_end);
  }
  return st;
}

// Those who cannot work ahead go first. *stop: how far all can go.
static cpl_status go_first(beside* b, double t_end, double* stop) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < b->n_coarse && st >= 0; k++) {
    part* p = &b->parts[b->coarse[k]];
    cpl_step_result r = {.time = t_end};
    if (!is_hidden(p)) {
      st = cpli_cached_take(&b->held, b->coarse[k], &p->s->base);
      if (st >= 0) st = p->s->ops->step(p->s, t_end, t_end, &r);
      p->at = b->t;
      p->until = r.time;
      p->end = r;
    }
    *stop = fmin(*stop, p->until);
  }
  return st;
}

// The others have come to where they are.
static void show_coarse(beside* b) {
  for (int32_t k = 0; k < b->n_coarse; k++) {
    part* p = &b->parts[b->coarse[k]];
    if (b->t < p->until) continue;
    heed(b, b->coarse[k], &p->end);
    p->end.end = CPL_STEP_DONE;
  }
}

static cpl_status advance(beside* b, double t_end, double t_limit) {
  double stop = t_end;
  cpl_status st = go_first(b, t_end, &stop);
  if (st >= 0) st = look_at_end(b, t_end);
  while (st >= 0 && !b->ended) {
    int32_t i = cpli_heap_first(&b->heap);
    part* p = &b->parts[i];
    if (key(p) > stop || (p->at >= p->until && p->until >= stop)) break;
    st = go_on(b, i, t_end, t_limit);
    if (b->n_waiting > 0 || b->ended) stop = fmin(stop, p->at);
    cpli_heap_sort_in(&b->heap, i);
  }
  b->t = stop;
  if (st >= 0) show_coarse(b);
  return st;
}

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  beside* b = (beside*)s;
  cpl_status st = CPL_OK;
  *result = (cpl_step_result){0};
  b->again = false;
  if (!b->ended && (b->n_waiting > 0 || t_end <= b->t)) {
    st = update_waiting(b);
    result->event_handled = true;
  }
  if (t_end > b->t) b->limit = t_limit;
  if (st >= 0 && !b->ended && b->n_waiting == 0 && t_end > b->t) st = advance(b, t_end, t_limit);
  result->end = b->ended ? CPL_STEP_TERMINATE : b->n_waiting > 0 ? CPL_STEP_EVENT : CPL_STEP_DONE;
  result->time = b->t;
  result->stop = b->stop;
  result->again = b->again && !b->ended && b->n_waiting > 0;
  return st;
}

//------------------------------------ values ------------------------------------

enum { RUN = 64 };

static cpl_status refuse(const beside* b, uint32_t ref) {
  return cpl_fail(b->base.base.ctx, CPL_ERR_INPUT, "%s: there is no variable %u", b->name,
                  (unsigned)ref);
}

// References that follow each other in one part; n > 0.
static cpl_status run_of(beside* b, const uint32_t* refs, size_t n, cpl_component** c,
                         uint32_t* inner, size_t* count, bool* hidden) {
  int32_t at = -1;
  for (*count = 0; *count < n && *count < RUN; ++*count) {
    uint32_t ref = refs[*count];
    if (ref >= (uint32_t)b->merged->desc.n_vars) return refuse(b, ref);
    if (at >= 0 && b->places[ref].part != at) break;
    at = b->places[ref].part;
    inner[*count] = b->places[ref].ref;
    if (b->parts[at].coarse) cpli_cached_note(&b->held, ref);
  }
  *c = &b->parts[at].s->base;
  *hidden = is_hidden(&b->parts[at]);
  return present(b, at);
}

// Run after run: from what is kept of a part, or from itself.
#define GET_RUNS(HELD, CALL)                                             \
  beside* b = self_of(c);                                                \
  uint32_t inner[RUN];                                                   \
  cpl_component* p;                                                      \
  cpl_status st = CPL_OK;                                                \
  bool hidden = false;                                                   \
  for (size_t i = 0, count; i < n && st == CPL_OK; i += count) {         \
    st = run_of(b, refs + i, n - i, &p, inner, &count, &hidden);         \
    if (st != CPL_OK) break;                                             \
    if (hidden && HELD(&b->held, refs + i, count, values + i)) continue; \
    st = CALL;                                                           \
  }                                                                      \
  return st

static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  GET_RUNS(cpli_cached_reals, p->ops->get_real(p, inner, count, values + i));
}

static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  GET_RUNS(cpli_cached_integers, p->ops->get_integer(p, type, inner, count, values + i));
}

static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  GET_RUNS(cpli_cached_texts, p->ops->get_string(p, inner, count, values + i));
}

// Who gets a value has an event of its own there.
static cpl_status set_one(beside* b, uint32_t ref, cpl_type type, const void* value) {
  if (ref >= (uint32_t)b->merged->desc.n_vars) return refuse(b, ref);
  int32_t i = b->places[ref].part;
  uint32_t inner = b->places[ref].ref;
  cpl_component* c = &b->parts[i].s->base;
  cpl_status st = present(b, i);
  if (st < 0) return st;
  if (type == CPL_REAL) st = c->ops->set_real(c, &inner, 1, value);
  else if (type == CPL_STRING) st = c->ops->set_string(c, &inner, 1, value);
  else st = c->ops->set_integer(c, type, &inner, 1, value);
  if (!b->running || is_hidden(&b->parts[i])) return st;
  let_wait(b, i);
  b->parts[i].until = b->parts[i].at;
  cpli_heap_sort_in(&b->heap, i);
  return st;
}

static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) st = set_one(self_of(c), refs[i], CPL_REAL, &values[i]);
  return st;
}

static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) st = set_one(self_of(c), refs[i], type, &values[i]);
  return st;
}

static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++)
    st = set_one(self_of(c), refs[i], CPL_STRING, &values[i]);
  return st;
}

static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  beside* b = (beside*)s;
  if (ref >= (uint32_t)b->merged->desc.n_vars) return refuse(b, ref);
  cpl_stepper* p = b->parts[b->places[ref].part].s;
  return p->ops->set_curve(p, b->places[ref].ref, curve);
}

static cpl_status value_time(cpl_stepper* s, uint32_t ref, double* since, double* next) {
  beside* b = (beside*)s;
  if (ref >= (uint32_t)b->merged->desc.n_vars) return refuse(b, ref);
  const part* p = &b->parts[b->places[ref].part];
  cpl_status st = CPL_OK;
  *since = b->t;
  *next = INFINITY;
  if (p->s->ops->value_time != NULL)
    st = p->s->ops->value_time(p->s, b->places[ref].ref, since, next);
  if (!is_hidden(p)) return st;
  *since = fmin(*since, p->at);
  *next = p->until;
  return st;
}

//------------------------------------ life ------------------------------------

#define FOR_EACH_PART(b, st, call)                       \
  for (int32_t k_ = 0; k_ < (b)->n && (st) >= 0; k_++) { \
    cpl_component* inner = &(b)->parts[k_].s->base;      \
    (st) = (call);                                       \
  }

static cpl_status setup(cpl_component* c, const cpl_setup* settings) {
  beside* b = self_of(c);
  cpl_status st = CPL_OK;
  b->t = settings->start_time;
  FOR_EACH_PART(b, st, inner->ops->setup(inner, settings));
  return st;
}

static cpl_status enter_init(cpl_component* c) {
  cpl_status st = CPL_OK;
  FOR_EACH_PART(self_of(c), st, inner->ops->enter_init(inner));
  return st;
}

static cpl_status exit_init(cpl_component* c) {
  beside* b = self_of(c);
  cpl_status st = CPL_OK;
  FOR_EACH_PART(b, st, inner->ops->exit_init(inner));
  for (int32_t i = 0; i < b->n; i++) b->parts[i].at = b->parts[i].until = b->t;
  b->running = true;
  b->limit = INFINITY;
  b->looked = NAN;
  cpli_heap_sort(&b->heap);
  return st;
}

static cpl_status terminate(cpl_component* c) {
  beside* b = self_of(c);
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < b->n && st >= 0; i++) st = present(b, i);
  b->running = false;
  FOR_EACH_PART(b, st, inner->ops->terminate(inner));
  return st;
}

static cpl_status reset(cpl_component* c) {
  beside* b = self_of(c);
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < b->n; i++) b->parts[i].waits = false;
  b->n_waiting = 0;
  b->running = b->ended = false;
  b->stop = 0;
  FOR_EACH_PART(b, st, inner->ops->reset(inner));
  return st;
}

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  beside* b = self_of(c);
  cpl_context* ctx = c->ctx;
  for (int32_t i = 0; i < b->n; i++) b->parts[i].s->base.ops->destroy(&b->parts[i].s->base);
  cpli_cached_free(&b->held);
  cpli_merged_release(b->merged);
  cpli_free(ctx, (void*)b->places);
  cpli_free(ctx, b->parts);
  cpli_free(ctx, b->memory);
  cpli_free(ctx, b->name);
  cpli_free(ctx, b);
}

//------------------------------------ create ------------------------------------

static const cpl_component_ops component_ops = {.kind = "beside",
                                                .destroy = destroy,
                                                .setup = setup,
                                                .enter_init = enter_init,
                                                .exit_init = exit_init,
                                                .terminate = terminate,
                                                .reset = reset,
                                                .get_real = get_real,
                                                .set_real = set_real,
                                                .get_integer = get_integer,
                                                .set_integer = set_integer,
                                                .get_string = get_string,
                                                .set_string = set_string};
// [takes curves][a part cannot work ahead]
static const cpl_stepper_ops stepper_ops[2][2] = {
    {{.step = step}, {.step = step, .value_time = value_time}},
    {{.step = step, .set_curve = set_curve},
     {.step = step, .set_curve = set_curve, .value_time = value_time}}};

static void find_capabilities(beside* b) {
  cpl_capabilities can = {.variable_step = true,
                          .zero_step = true,
                          .stops_early = true,
                          .get_after_set = true,
                          .dense_output = true,
                          .input_derivatives = 3};
  for (int32_t i = 0; i < b->n; i++) {
    const cpl_capabilities* one = &b->parts[i].s->base.can;
    can.once_per_process = can.once_per_process || one->once_per_process;
    can.needs_tool = can.needs_tool || one->needs_tool;
    can.zero_step = can.zero_step && one->zero_step;
    can.variable_step = can.variable_step && one->variable_step;
    can.get_after_set = can.get_after_set && one->get_after_set;
    can.dense_output = can.dense_output && !b->parts[i].coarse;
    if (one->input_derivatives < can.input_derivatives)
      can.input_derivatives = one->input_derivatives;
  }
  b->base.base.can = can;
}

static bool has_curves(const beside* b) {
  for (int32_t i = 0; i < b->n; i++) {
    if (b->parts[i].s->ops->set_curve == NULL) return false;
  }
  return true;
}

static void fill(beside* b, cpl_stepper* const* parts, cpli_merged* merged) {
  cpli_heap_init(&b->heap, b->memory, b->n, before, b);
  for (int32_t i = 0; i < b->n; i++) {
    b->parts[i] = (part){.s = parts[i], .coarse = parts[i]->ops->ahead == NULL};
    if (b->parts[i].coarse) b->coarse[b->n_coarse++] = i;
  }
  b->merged = cpli_merged_hold(merged);
  b->base.ops = &stepper_ops[has_curves(b)][b->n_coarse > 0];
  find_capabilities(b);
}

cpl_status cpli_independent(cpl_context* ctx, const char* name, cpl_stepper* const* parts,
                            int32_t n, cpli_merged* merged, const cpli_independent_slot* places,
                            cpl_stepper** out) {
  size_t vars = (size_t)merged->desc.n_vars;
  *out = NULL;
  beside* b = cpli_alloc(ctx, 1, sizeof *b);
  part* list = cpli_alloc(ctx, (size_t)n, sizeof *list);
  int32_t* memory = cpli_alloc(ctx, 4 * (size_t)n, sizeof *memory);
  cpli_independent_slot* own_places = cpli_alloc(ctx, vars, sizeof *own_places);
  char* own_name = cpli_strdup(ctx, name);
  if (b == NULL || list == NULL || memory == NULL || own_name == NULL || own_places == NULL) {
    for (int32_t i = 0; i < n; i++) parts[i]->base.ops->destroy(&parts[i]->base);
    cpli_free(ctx, b);
    cpli_free(ctx, list);
    cpli_free(ctx, memory);
    cpli_free(ctx, own_places);
    cpli_free(ctx, own_name);
    return cpli_nomem(ctx);
  }
  for (size_t v = 0; v < vars; v++)
    own_places[v] = places != NULL
                        ? places[v]
                        : (cpli_independent_slot){merged->part_of_var[v], merged->ref_of_var[v]};
  *b = (beside){.name = own_name,
                .places = own_places,
                .parts = list,
                .n = n,
                .memory = memory,
                .waiting = memory + 2 * (size_t)n,
                .coarse = memory + 3 * (size_t)n};
  b->base.base =
      (cpl_component){.ops = &component_ops, .desc = &merged->desc, .ctx = ctx, .name = own_name};
  fill(b, parts, merged);
  cpl_status st = cpli_cached_init(&b->held, ctx, &merged->desc, own_places);
  if (st < 0) destroy(&b->base.base);
  else *out = &b->base;
  return st;
}

static const beside* as_beside(const cpl_stepper* s) {
  return s->base.ops == &component_ops ? (const beside*)s : NULL;
}

int32_t cpli_independent_count(const cpl_stepper* s) {
  const beside* b = as_beside(s);
  return b != NULL ? b->n : 0;
}

const cpl_stepper* cpli_independent_part(const cpl_stepper* s, int32_t i) {
  return as_beside(s)->parts[i].s;
}

const cpl_stepper* cpli_independent_coarse(const cpl_stepper* s) {
  const beside* b = as_beside(s);
  return b != NULL && b->n_coarse > 0 ? b->parts[b->coarse[0]].s : NULL;
}
