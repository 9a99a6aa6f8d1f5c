// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Steps independent steppers. The one with the smallest time works ahead next, so that all others
// are past an event when it is found; only the stepper with the event stops there. The others are
// brought to the present when their values are read. solver/subsystems.c does the same for models.
//
// A stepper that cannot work ahead, such as a master with its communication steps, takes its step
// first. The others follow to where it stopped; until then its cached values from before the step
// are shown, so that events of others do not interrupt it. value_time() gives the time they belong
// to.
#include "master/independent.h"

#include <math.h>

#include "base/heap.h"
#include "master/cached.h"

typedef struct part {
  cpl_stepper* s;
  double at;            // time of its outputs
  double until;         // how far it has worked ahead; no event comes before
  bool waits;           // an update is due
  bool coarse;          // it cannot work ahead
  cpl_step_result end;  // of a coarse one: the result of its step, at `until`
} part;

typedef struct independent {
  cpl_stepper base;
  cpli_shared_desc* merged;
  const cpli_independent_slot* slots;  // of each variable
  cpli_cached cached;
  char* name;
  part* parts;
  int32_t n;
  cpli_heap heap;
  int32_t* memory;  // of the heap and of `waiting`
  int32_t* waiting;
  int32_t n_waiting;
  int32_t *coarse, n_coarse;  // parts that cannot work ahead
  double t, limit;
  double examined;  // the last end of a step at which parts ahead of it were examined
  bool running, ended;
  bool again;    // an event requests another update
  int32_t stop;  // the stop number of the part that ended the run
} independent;

static independent* self_of(cpl_component* c) { return (independent*)c; }

//------------------------------------ order ------------------------------------

static double key(const part* p) { return p->waits || p->coarse ? INFINITY : p->until; }

// Whether its step is ahead of the present, so that its cached values are shown.
static bool is_hidden(const part* p) { return p->coarse && p->at < p->until; }

// At equal times, parts with an open step come first: an event may happen at its end.
static bool before(const void* user, int32_t i, int32_t k) {
  const independent* b = user;
  const part *x = &b->parts[i], *y = &b->parts[k];
  if (key(x) != key(y)) return key(x) < key(y);
  bool open = x->at < x->until;
  return open != (y->at < y->until) ? open : i < k;
}

//------------------------------------ steps ------------------------------------

static void add_waiting(independent* b, int32_t i) {
  if (!b->parts[i].waits) b->waiting[b->n_waiting++] = i;
  b->parts[i].waits = true;
}

static void process_result(independent* b, int32_t i, const cpl_step_result* r) {
  b->parts[i].at = r->time;
  b->ended = b->ended || r->end == CPL_STEP_TERMINATE;
  bool first = r->stop > 0 && (b->stop == 0 || r->stop < b->stop);
  if (r->end == CPL_STEP_TERMINATE && first) b->stop = r->stop;
  if (r->end == CPL_STEP_EVENT) add_waiting(b, i);
  b->again = b->again || r->again;
}

static cpl_status present(independent* b, int32_t i) {
  part* p = &b->parts[i];
  cpl_status st = CPL_OK;
  while (st >= 0 && b->running && p->at < b->t && !p->coarse && !b->ended) {
    cpl_step_result r;
    st = p->s->ops->step(p->s, b->t, b->limit, &r);
    if (st < 0) break;
    p->at = r.time;
    if (r.end == CPL_STEP_DONE) continue;
    // an event that appears only at this output point is repeated by this part alone
    if (r.end != CPL_STEP_EVENT || p->at >= b->t) process_result(b, i, &r);
    p->until = p->at;
    cpli_heap_sort_in(&b->heap, i);
  }
  return st;
}

static cpl_status update(independent* b, int32_t i) {
  part* p = &b->parts[i];
  cpl_step_result r = {0};
  if (is_hidden(p)) return CPL_OK;
  cpl_status st = present(b, i);
  if (st >= 0) st = p->s->ops->step(p->s, b->t, b->t, &r);
  if (st < 0) return st;
  p->waits = false;
  process_result(b, i, &r);
  p->until = p->at;
  cpli_heap_sort_in(&b->heap, i);
  return CPL_OK;
}

// Updates the waiting parts, or all of them when none waits or inputs may have jumped.
static cpl_status update_waiting(independent* b) {
  int32_t n = b->n_waiting;
  cpl_status st = CPL_OK;
  bool all = n == 0 || b->t >= b->limit;
  b->n_waiting = 0;  // a part that waits again takes a slot that has been read
  for (int32_t k = 0; k < (all ? b->n : n) && st >= 0; k++) {
    int32_t i = all ? k : b->waiting[k];
    b->parts[i].waits = false;
    st = update(b, i);
  }
  return st;
}

// A part that is ahead of the end of the step evaluates its conditions there, before others are
// stepped past an event.
static cpl_status examine(independent* b, int32_t i, double t_end) {
  part* p = &b->parts[i];
  if (p->coarse || p->waits || p->until <= t_end) return CPL_OK;
  cpl_status st = p->s->ops->ahead(p->s, t_end, &p->until);
  cpli_heap_sort_in(&b->heap, i);
  return st;
}

static cpl_status examine_all(independent* b, double t_end) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < b->n && st >= 0 && t_end != b->examined; i++) st = examine(b, i, t_end);
  b->examined = t_end;
  return st;
}

static cpl_status go_on(independent* b, int32_t i, double t_end, double t_limit) {
  part* p = &b->parts[i];
  cpl_step_result r;
  cpl_status st;
  if (p->at < p->until) {
    st = p->s->ops->step(p->s, p->until, t_limit, &r);
    if (st >= 0) process_result(b, i, &r);
  } else {
    st = p->s->ops->ahead(p->s, t_limit, &p->until);
    if (st >= 0 && p->until <= p->at) add_waiting(b, i);
    if (st >= 0) st = examine(b, i, t_end);
  }
  return st;
}

// Steps the parts that cannot work ahead. *stop: how far all can go.
static cpl_status go_first(independent* b, double t_end, double* stop) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < b->n_coarse && st >= 0; k++) {
    part* p = &b->parts[b->coarse[k]];
    cpl_step_result r = {.time = t_end};
    if (!is_hidden(p)) {
      st = cpli_cached_take(&b->cached, b->coarse[k], &p->s->base);
      if (st >= 0) st = p->s->ops->step(p->s, t_end, t_end, &r);
      p->at = b->t;
      p->until = r.time;
      p->end = r;
    }
    *stop = fmin(*stop, p->until);
  }
  return st;
}

// Shows coarse parts that the others have caught up with.
static void show_coarse(independent* b) {
  for (int32_t k = 0; k < b->n_coarse; k++) {
    part* p = &b->parts[b->coarse[k]];
    if (b->t < p->until) continue;
    process_result(b, b->coarse[k], &p->end);
    p->end.end = CPL_STEP_DONE;
  }
}

static cpl_status advance(independent* b, double t_end, double t_limit) {
  double stop = t_end;
  cpl_status st = go_first(b, t_end, &stop);
  if (st >= 0) st = examine_all(b, t_end);
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
  independent* b = (independent*)s;
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

static cpl_status refuse(const independent* b, uint32_t ref) {
  return cpl_fail(b->base.base.ctx, CPL_ERR_INPUT, "%s: there is no variable %u", b->name,
                  (unsigned)ref);
}

// A run of references into one part; n > 0.
static cpl_status run_of(independent* b, const uint32_t* refs, size_t n, cpl_component** c,
                         uint32_t* inner, size_t* count, bool* hidden) {
  int32_t at = -1;
  for (*count = 0; *count < n && *count < RUN; ++*count) {
    uint32_t ref = refs[*count];
    if (ref >= (uint32_t)b->merged->desc.n_vars) return refuse(b, ref);
    if (at >= 0 && b->slots[ref].part != at) break;
    at = b->slots[ref].part;
    inner[*count] = b->slots[ref].ref;
    if (b->parts[at].coarse) cpli_cached_note(&b->cached, ref);
  }
  *c = &b->parts[at].s->base;
  *hidden = is_hidden(&b->parts[at]);
  return present(b, at);
}

// Reads run by run: from cached values of a part, or from the part itself.
#define GET_RUNS(CACHED, CALL)                                               \
  independent* b = self_of(c);                                               \
  uint32_t inner[RUN];                                                       \
  cpl_component* p;                                                          \
  cpl_status st = CPL_OK;                                                    \
  bool hidden = false;                                                       \
  for (size_t i = 0, count; i < n && st == CPL_OK; i += count) {             \
    st = run_of(b, refs + i, n - i, &p, inner, &count, &hidden);             \
    if (st != CPL_OK) break;                                                 \
    if (hidden && CACHED(&b->cached, refs + i, count, values + i)) continue; \
    st = CALL;                                                               \
  }                                                                          \
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

// A part whose input is set has an event of its own there.
static cpl_status set_one(independent* b, uint32_t ref, cpl_type type, const void* value) {
  if (ref >= (uint32_t)b->merged->desc.n_vars) return refuse(b, ref);
  int32_t i = b->slots[ref].part;
  uint32_t inner = b->slots[ref].ref;
  cpl_component* c = &b->parts[i].s->base;
  cpl_status st = present(b, i);
  if (st < 0) return st;
  if (type == CPL_REAL) st = c->ops->set_real(c, &inner, 1, value);
  else if (type == CPL_STRING) st = c->ops->set_string(c, &inner, 1, value);
  else st = c->ops->set_integer(c, type, &inner, 1, value);
  if (!b->running || is_hidden(&b->parts[i])) return st;
  add_waiting(b, i);
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
  independent* b = (independent*)s;
  if (ref >= (uint32_t)b->merged->desc.n_vars) return refuse(b, ref);
  cpl_stepper* p = b->parts[b->slots[ref].part].s;
  return p->ops->set_curve(p, b->slots[ref].ref, curve);
}

static cpl_status value_time(cpl_stepper* s, uint32_t ref, double* since, double* next) {
  independent* b = (independent*)s;
  if (ref >= (uint32_t)b->merged->desc.n_vars) return refuse(b, ref);
  const part* p = &b->parts[b->slots[ref].part];
  cpl_status st = CPL_OK;
  *since = b->t;
  *next = INFINITY;
  if (p->s->ops->value_time != NULL)
    st = p->s->ops->value_time(p->s, b->slots[ref].ref, since, next);
  if (!is_hidden(p)) return st;
  *since = fmin(*since, p->at);
  *next = p->until;
  return st;
}

//------------------------------------ life cycle ------------------------------------

#define FOR_EACH_PART(b, st, call)                       \
  for (int32_t k_ = 0; k_ < (b)->n && (st) >= 0; k_++) { \
    cpl_component* inner = &(b)->parts[k_].s->base;      \
    (st) = (call);                                       \
  }

static cpl_status setup(cpl_component* c, const cpl_setup* settings) {
  independent* b = self_of(c);
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
  independent* b = self_of(c);
  cpl_status st = CPL_OK;
  FOR_EACH_PART(b, st, inner->ops->exit_init(inner));
  for (int32_t i = 0; i < b->n; i++) b->parts[i].at = b->parts[i].until = b->t;
  b->running = true;
  b->limit = INFINITY;
  b->examined = NAN;
  cpli_heap_sort(&b->heap);
  return st;
}

static cpl_status terminate(cpl_component* c) {
  independent* b = self_of(c);
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < b->n && st >= 0; i++) st = present(b, i);
  b->running = false;
  FOR_EACH_PART(b, st, inner->ops->terminate(inner));
  return st;
}

static cpl_status reset(cpl_component* c) {
  independent* b = self_of(c);
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
  independent* b = self_of(c);
  cpl_context* ctx = c->ctx;
  for (int32_t i = 0; i < b->n; i++) b->parts[i].s->base.ops->destroy(&b->parts[i].s->base);
  cpli_cached_free(&b->cached);
  cpli_shared_desc_release(b->merged);
  cpli_free(ctx, (void*)b->slots);
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

static void find_capabilities(independent* b) {
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

static bool has_curves(const independent* b) {
  for (int32_t i = 0; i < b->n; i++) {
    if (b->parts[i].s->ops->set_curve == NULL) return false;
  }
  return true;
}

static void fill(independent* b, cpl_stepper* const* parts, cpli_shared_desc* merged) {
  cpli_heap_init(&b->heap, b->memory, b->n, before, b);
  for (int32_t i = 0; i < b->n; i++) {
    b->parts[i] = (part){.s = parts[i], .coarse = parts[i]->ops->ahead == NULL};
    if (b->parts[i].coarse) b->coarse[b->n_coarse++] = i;
  }
  b->merged = cpli_shared_desc_retain(merged);
  b->base.ops = &stepper_ops[has_curves(b)][b->n_coarse > 0];
  find_capabilities(b);
}

cpl_status cpli_independent(cpl_context* ctx, const char* name, cpl_stepper* const* parts,
                            int32_t n, cpli_shared_desc* merged, const cpli_independent_slot* slots,
                            cpl_stepper** out) {
  size_t vars = (size_t)merged->desc.n_vars;
  *out = NULL;
  independent* b = cpli_alloc(ctx, 1, sizeof *b);
  part* list = cpli_alloc(ctx, (size_t)n, sizeof *list);
  int32_t* memory = cpli_alloc(ctx, 4 * (size_t)n, sizeof *memory);
  cpli_independent_slot* own_slots = cpli_alloc(ctx, vars, sizeof *own_slots);
  char* own_name = cpli_strdup(ctx, name);
  if (b == NULL || list == NULL || memory == NULL || own_name == NULL || own_slots == NULL) {
    for (int32_t i = 0; i < n; i++) parts[i]->base.ops->destroy(&parts[i]->base);
    cpli_free(ctx, b);
    cpli_free(ctx, list);
    cpli_free(ctx, memory);
    cpli_free(ctx, own_slots);
    cpli_free(ctx, own_name);
    return cpli_nomem(ctx);
  }
  for (size_t v = 0; v < vars; v++)
    own_slots[v] =
        slots != NULL ? slots[v]
                      : (cpli_independent_slot){merged->routes[v].component, merged->routes[v].ref};
  *b = (independent){.name = own_name,
                     .slots = own_slots,
                     .parts = list,
                     .n = n,
                     .memory = memory,
                     .waiting = memory + 2 * (size_t)n,
                     .coarse = memory + 3 * (size_t)n};
  b->base.base =
      (cpl_component){.ops = &component_ops, .desc = &merged->desc, .ctx = ctx, .name = own_name};
  fill(b, parts, merged);
  cpl_status st = cpli_cached_init(&b->cached, ctx, &merged->desc, own_slots);
  if (st < 0) destroy(&b->base.base);
  else *out = &b->base;
  return st;
}

static const independent* as_independent(const cpl_stepper* s) {
  return s->base.ops == &component_ops ? (const independent*)s : NULL;
}

int32_t cpli_independent_count(const cpl_stepper* s) {
  const independent* b = as_independent(s);
  return b != NULL ? b->n : 0;
}

const cpl_stepper* cpli_independent_part(const cpl_stepper* s, int32_t i) {
  return as_independent(s)->parts[i].s;
}

const cpl_stepper* cpli_independent_coarse(const cpl_stepper* s) {
  const independent* b = as_independent(s);
  return b != NULL && b->n_coarse > 0 ? b->parts[b->coarse[0]].s : NULL;
}
