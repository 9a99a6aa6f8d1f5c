// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The scheduler of independent steppers. The one that is furthest behind works ahead next (a heap),
// so that all others are past an event when it is found; only the stepper with the event stops
// there. The others are brought to the present, by interpolation, when their values are read. The
// cost of an event does not depend on the number of steppers but for the logarithm of their heap.
//
// A stepper that cannot work ahead, such as a master with its communication steps, takes its step
// first. The others follow to where it stopped; until then its cached values from before the step
// are shown, so that events of others do not interrupt it. value_time() gives the time they belong
// to.
//
// Several threads advance members that cannot meet an event before a known time, after the others
// have found where all stop: these are in no need of the order of the heap.
#include "solver/independent.h"

#include <assert.h>
#include <math.h>

#include "base/heap.h"
#include "base/parallel.h"
#include "model/inspect.h"
#include "model/serial.h"
#include "solver/cached.h"
#include "solver/integrate.h"

typedef struct member {
  cpl_stepper* s;
  double at;            // time of its outputs
  double until;         // how far it has worked ahead; no event comes before
  bool waits;           // an update is due
  bool moved;           // curves were set since its last step
  bool coarse;          // it cannot work ahead
  bool free;            // in this step: advanced by any thread, without events on the way
  cpl_step_result end;  // of a coarse one: the result of its step, at `until`
} member;

typedef struct independent {
  cpl_stepper base;
  cpl_component_ops component_ops;
  cpl_stepper_ops stepper_ops;
  cpli_shared_desc* desc;  // Nullable: the description of `whole`
  cpl_model* whole;        // Nullable
  cpl_status (*restart)(cpl_stepper* s);
  cpli_starter* starter;  // borrowed. Nullable
  cpli_router router;
  cpl_route* routes;  // own. Nullable
  cpli_cached cached;
  char* name;
  member* members;
  int32_t n;
  cpli_heap heap;
  int32_t* memory;   // of the heap and the lists below
  int32_t* waiting;  // members with an update that is due
  int32_t n_waiting;
  int32_t *coarse, n_coarse;  // members that cannot work ahead
  cpli_parallel* parallel;    // a task per member. Nullable
  double t;                   // output time
  double limit;               // t_limit of the last step: at it, inputs may jump
  double examined;            // t_end of the last step: conditions of all were evaluated there
  bool running, ended;
  bool moved;              // a member has new curves
  int32_t n_unsearched;    // steps that are not searched for free members
  bool again;              // the event continues: a member requests another update
  int32_t stop;            // the stop number of the member that ended the run
  cpli_serial_room bytes;  // of the last saved state that became bytes
} independent;

static independent* self_of(cpl_component* c) { return (independent*)c; }

//------------------------------------ order ------------------------------------

static double key(const member* m) { return m->coarse || m->free ? INFINITY : m->until; }

// Whether its step is ahead of the present, so that its cached values are shown.
static bool is_hidden(const member* m) { return m->coarse && m->at < m->until; }

// At equal times, members with an open step come first: an event may happen at its end.
static bool before(const void* user, int32_t i, int32_t k) {
  const independent* b = user;
  const member *x = &b->members[i], *y = &b->members[k];
  if (key(x) != key(y)) return key(x) < key(y);
  bool open = x->at < x->until;
  return open != (y->at < y->until) ? open : i < k;
}

//------------------------------------ steps ------------------------------------

static void add_waiting(independent* b, int32_t i) {
  assert(b->members[i].waits || b->n_waiting < b->n);
  if (!b->members[i].waits) b->waiting[b->n_waiting++] = i;
  b->members[i].waits = true;
  assert(b->n_waiting <= b->n);
}

static void forget_waiting(independent* b) {
  for (int32_t k = 0; k < b->n_waiting; k++) b->members[b->waiting[k]].waits = false;
  b->n_waiting = 0;
}

static void process_result(independent* b, int32_t i, const cpl_step_result* r) {
  b->members[i].at = r->time;
  b->ended = b->ended || r->end == CPL_STEP_TERMINATE;
  bool first = r->stop > 0 && (b->stop == 0 || r->stop < b->stop);
  if (r->end == CPL_STEP_TERMINATE && first) b->stop = r->stop;
  if (r->end == CPL_STEP_EVENT) add_waiting(b, i);
  b->again = b->again || r->again;
}

// Brings a member to the present. An event before it that is visible only there (two changes of
// sign within one step) is handled by this member alone: the others have advanced, and none depends
// on it.
static cpl_status present(independent* b, int32_t i) {
  member* m = &b->members[i];
  cpl_status st = CPL_OK;
  while (st >= 0 && b->running && m->at < b->t && !m->coarse && !b->ended) {
    cpl_step_result r;
    st = m->s->ops->step(m->s, b->t, b->limit, &r);
    if (st < 0) break;
    m->at = r.time;
    if (r.end == CPL_STEP_DONE) continue;
    if (r.end != CPL_STEP_EVENT || m->at >= b->t) process_result(b, i, &r);
    m->until = m->at;
    cpli_heap_sort_in(&b->heap, i);
  }
  return st;
}

// `once`: one update of the event, which may continue.
static cpl_status update(independent* b, int32_t i, bool once) {
  member* m = &b->members[i];
  cpl_step_result r = {0};
  if (is_hidden(m)) return CPL_OK;
  cpl_status st = present(b, i);
  do {
    if (st >= 0) st = m->s->ops->step(m->s, b->t, b->t, &r);
  } while (st >= 0 && r.again && !once);
  if (st < 0) return st;
  m->waits = m->moved = false;
  process_result(b, i, &r);
  m->until = m->at;
  cpli_heap_sort_in(&b->heap, i);
  return CPL_OK;
}

// Updates the waiting members, or all of them when none waits or inputs may have jumped.
static cpl_status update_waiting(independent* b, bool once) {
  int32_t n = b->n_waiting;
  cpl_status st = CPL_OK;
  bool all = n == 0 || b->t >= b->limit;
  forget_waiting(b);  // a member that waits again takes a slot that has been read
  for (int32_t k = 0; k < (all ? b->n : n) && st >= 0; k++)
    st = update(b, all ? k : b->waiting[k], once);
  return st;
}

// New curves that begin at another value may cause an event.
static cpl_status examine_curves(independent* b) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < b->n && st >= 0 && b->moved; i++) {
    member* m = &b->members[i];
    bool wanted = false;
    double margin;
    if (!m->moved || m->coarse || m->waits) continue;
    st = present(b, i);
    if (st >= 0 && m->s->ops->wants_update != NULL)
      st = m->s->ops->wants_update(m->s, &wanted, &margin);
    if (wanted) add_waiting(b, i);
    m->moved = false;
  }
  b->moved = false;
  return st;
}

static cpl_status restart_all(independent* b) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < b->n && st >= 0; i++) {
    st = present(b, i);
    if (st >= 0) st = b->restart(b->members[i].s);
    b->members[i].until = b->members[i].at;
  }
  cpli_heap_sort(&b->heap);
  return st;
}

static cpl_status work_ahead(independent* b, int32_t i, double t_end, double t_limit) {
  member* m = &b->members[i];
  cpl_status st = m->s->ops->ahead(m->s, t_end, t_limit, &m->until);
  if (st >= 0 && m->until <= m->at) add_waiting(b, i);
  cpli_heap_sort_in(&b->heap, i);
  return st;
}

// Members that are ahead of the end of the step evaluate their conditions there, before others are
// stepped past an event.
static cpl_status examine_all(independent* b, double t_end, double t_limit) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < b->n && st >= 0 && t_end != b->examined; i++) {
    const member* m = &b->members[i];
    if (!m->coarse && !m->waits && m->until > t_end) st = work_ahead(b, i, t_end, t_limit);
  }
  b->examined = t_end;
  return st;
}

// To the end of the member's step, or the next step.
static cpl_status go_on(independent* b, int32_t i, double t_end, double t_limit) {
  member* m = &b->members[i];
  if (m->at >= m->until) return work_ahead(b, i, t_end, t_limit);
  cpl_step_result r;
  cpl_status st = m->s->ops->step(m->s, m->until, t_limit, &r);
  if (st >= 0) process_result(b, i, &r);
  return st;
}

//------------------------------------ threads ------------------------------------

// Finds the members that meet no event before a time that they know. *stop becomes the first of
// these times, if it is before. Returns: whether there are several. After a search in vain some
// steps make none: of many members, it would cost more than they do.
static bool find_free(independent* b, double* stop) {
  int32_t n = 0;
  double first = INFINITY;
  if (b->parallel == NULL || b->n_unsearched-- > 0) return false;
  for (int32_t i = 0; i < b->n; i++) {
    member* m = &b->members[i];
    double time = -INFINITY;
    bool sure = false;
    m->free = false;
    if (m->coarse || m->waits || m->moved || m->s->ops->next_event == NULL) continue;
    if (m->s->ops->next_event(m->s, &time, &sure) < 0 || !sure || time <= m->until) continue;
    m->free = true, n++;
    first = fmin(first, time);
  }
  for (int32_t i = 0; i < b->n && n == 1; i++) b->members[i].free = false;
  b->n_unsearched = n > 1 ? 0 : b->n / 32;
  if (n > 1) *stop = fmin(*stop, first);
  return n > 1;
}

// Who comes next in the order of the heap.
typedef struct turn {
  double key;
  bool open;
  int32_t member;
} turn;

static turn turn_of(const independent* b, int32_t i) {
  const member* m = &b->members[i];
  return (turn){m->until, m->at < m->until, i};
}

static bool comes_before(turn x, turn y) {
  if (x.key != y.key) return x.key < y.key;
  return x.open != y.open ? x.open : x.member < y.member;
}

typedef struct stage {
  independent* b;
  double t_end, t_limit, stop;
  turn last;  // the member that ended the run; all are advanced up to its turn
} stage;

static bool goes_on(const stage* a, int32_t i) {
  const member* m = &a->b->members[i];
  if (a->b->ended) return comes_before(turn_of(a->b, i), a->last);
  return m->until <= a->stop && !(m->at >= m->until && m->until >= a->stop);
}

// The same steps as go_on(), up to the end; what they find is processed later.
static cpl_status advance_free(void* user, int32_t i, int32_t worker) {
  const stage* a = user;
  member* m = &a->b->members[i];
  cpl_status st = CPL_OK;
  (void)worker;
  m->end = (cpl_step_result){.time = m->at};
  while (m->free && st >= 0 && m->end.end == CPL_STEP_DONE && goes_on(a, i)) {
    if (m->at < m->until) {
      st = m->s->ops->step(m->s, m->until, a->t_limit, &m->end);
      if (st >= 0) m->at = m->end.time;
      continue;
    }
    st = m->s->ops->ahead(m->s, a->t_end, a->t_limit, &m->until);
    if (m->until <= m->at) m->end.end = CPL_STEP_EVENT;
  }
  return st < 0 ? st : CPL_OK;
}

static cpl_status advance_all_free(stage* a) {
  independent* b = a->b;
  cpl_status st = cpli_parallel_run(b->base.base.ctx, b->parallel, b->n, advance_free, a);
  for (int32_t i = 0; i < b->n; i++) {
    member* m = &b->members[i];
    if (m->free && st >= 0 && m->end.end != CPL_STEP_DONE) process_result(b, i, &m->end);
    m->free = false;
  }
  cpli_heap_sort(&b->heap);
  return st;
}

//------------------------------------ a step ------------------------------------

// Steps the members that cannot work ahead. *stop: how far all can go.
static cpl_status step_coarse(independent* b, double t_end, double* stop) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < b->n_coarse && st >= 0; k++) {
    member* m = &b->members[b->coarse[k]];
    cpl_step_result r = {.time = t_end};
    if (!is_hidden(m)) {
      st = cpli_cached_take(&b->cached, b->coarse[k], &m->s->base);
      if (st >= 0) st = m->s->ops->step(m->s, t_end, t_end, &r);
      m->at = b->t;
      m->until = r.time;
      m->end = r;
    }
    *stop = fmin(*stop, m->until);
  }
  return st;
}

// Shows coarse members that the others have caught up with.
static void show_coarse(independent* b) {
  for (int32_t k = 0; k < b->n_coarse; k++) {
    member* m = &b->members[b->coarse[k]];
    if (b->t < m->until) continue;
    process_result(b, b->coarse[k], &m->end);
    m->end.end = CPL_STEP_DONE;
  }
}

// Advances all to t_end, or to the first event before it; simultaneous events are found together.
static cpl_status advance(independent* b, double t_end, double t_limit) {
  double stop = t_end;
  turn last = {0};
  cpl_status st = step_coarse(b, t_end, &stop);
  if (st >= 0) st = examine_all(b, t_end, t_limit);
  const bool free = st >= 0 && find_free(b, &stop);
  if (free) cpli_heap_sort(&b->heap);
  while (st >= 0 && !b->ended) {
    int32_t i = cpli_heap_first(&b->heap);
    member* m = &b->members[i];
    if (key(m) > stop || (m->at >= m->until && m->until >= stop)) break;
    last = turn_of(b, i);
    st = go_on(b, i, t_end, t_limit);
    if (b->n_waiting > 0 || b->ended) stop = fmin(stop, m->at);
    cpli_heap_sort_in(&b->heap, i);
  }
  if (free && st >= 0) st = advance_all_free(&(stage){b, t_end, t_limit, stop, last});
  b->t = stop;
  if (st >= 0) show_coarse(b);
  return st;
}

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  independent* b = (independent*)s;
  bool once = t_end <= b->t;
  *result = (cpl_step_result){0};
  b->again = false;
  cpl_status st = b->ended ? CPL_OK : examine_curves(b);
  if (st >= 0 && !b->ended && (b->n_waiting > 0 || once)) {
    st = update_waiting(b, once);
    result->event_handled = true;
  } else if (st >= 0 && !b->ended && b->restart != NULL) {
    st = restart_all(b);
  }
  if (!once) b->limit = t_limit;
  if (st >= 0 && !b->ended && b->n_waiting == 0 && !once) st = advance(b, t_end, t_limit);
  result->end = b->ended ? CPL_STEP_TERMINATE : b->n_waiting > 0 ? CPL_STEP_EVENT : CPL_STEP_DONE;
  result->time = b->t;
  result->stop = b->stop;
  result->again = b->again && !b->ended && b->n_waiting > 0;
  return st;
}

//------------------------------------ values ------------------------------------

// A member whose value is set has an event of its own there.
static cpl_status forward(cpl_component* c, const cpli_access* run) {
  independent* b = self_of(c);
  member* m = &b->members[run->component];
  if (m->coarse && !run->set) cpli_cached_note(&b->cached, run->outer, run->n);
  cpl_status st = present(b, run->component);
  bool hidden = is_hidden(m);
  if (st < 0 || (!run->set && hidden && cpli_cached_get(&b->cached, run))) return st;
  st = cpli_access_values(&m->s->base, run);
  if (!run->set || !b->running || hidden) return st;
  add_waiting(b, run->component);
  m->until = m->at;
  cpli_heap_sort_in(&b->heap, run->component);
  return st;
}

static cpl_status access_values(cpl_component* c, const cpli_access* a) {
  independent* b = self_of(c);
  cpl_status st = a->set ? cpli_starter_note(b->starter, c, a) : CPL_OK;
  if (st >= 0) st = cpli_router_access(&b->router, c, a);
  return a->set && st == CPL_OK ? cpli_starter_noted(b->starter, c) : st;
}

CPLI_DEFINE_VALUE_OPS(access_values)

static cpl_status find(const independent* b, uint32_t ref, const cpl_route** at, int32_t* n) {
  if (ref >= b->router.n)
    return cpl_fail(b->base.base.ctx, CPL_ERR_INPUT, "%s: there is no variable %u", b->name,
                    (unsigned)ref);
  *at = cpli_router_find(&b->router, ref, n);
  return CPL_OK;
}

static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  independent* b = (independent*)s;
  const cpl_route* at = NULL;
  int32_t n = 0;
  cpl_status st = find(b, ref, &at, &n);
  for (int32_t k = 0; k < n && st >= 0; k++) {
    member* m = &b->members[at[k].component];
    st = present(b, at[k].component);
    if (st >= 0) st = m->s->ops->set_curve(m->s, at[k].ref, curve);
    m->moved = b->moved = b->running;
  }
  return st;
}

static cpl_status value_time(cpl_stepper* s, uint32_t ref, double* since, double* next) {
  independent* b = (independent*)s;
  const cpl_route* at = NULL;
  int32_t n;
  cpl_status st = find(b, ref, &at, &n);
  if (st < 0) return st;
  const member* m = &b->members[at->component];
  *since = b->t;
  *next = INFINITY;
  if (m->s->ops->value_time != NULL) st = m->s->ops->value_time(m->s, at->ref, since, next);
  if (!is_hidden(m)) return st;
  *since = fmin(*since, m->at);
  *next = m->until;
  return st;
}

static double next_break(cpl_stepper* s, double tolerance) {
  independent* b = (independent*)s;
  double next = INFINITY;
  for (int32_t i = 0; i < b->n; i++) {
    cpl_stepper* one = b->members[i].s;
    if (present(b, i) >= 0) next = fmin(next, one->ops->next_break(one, tolerance));
  }
  return next;
}

// Members that have worked ahead met no event on the way; a coarse one may have ended at one.
static cpl_status next_event(cpl_stepper* s, double* time, bool* sure) {
  independent* b = (independent*)s;
  cpl_status st = CPL_OK;
  *time = b->n_waiting > 0 ? b->t : (double)INFINITY;
  *sure = true;
  for (int32_t i = 0; i < b->n && st >= 0; i++) {
    const member* m = &b->members[i];
    double one = INFINITY;
    bool certain = false;
    if (is_hidden(m) && m->end.end == CPL_STEP_EVENT) one = m->until;
    else if (m->s->ops->next_event != NULL) st = m->s->ops->next_event(m->s, &one, &certain);
    *time = fmin(*time, one);
    *sure = *sure && certain;
  }
  *sure = *sure || b->n_waiting > 0;
  return st;
}

//------------------------------------ life cycle ------------------------------------

#define FOR_EACH_MEMBER(b, st, call)                     \
  for (int32_t k_ = 0; k_ < (b)->n && (st) >= 0; k_++) { \
    cpl_component* inner = &(b)->members[k_].s->base;    \
    (st) = (call);                                       \
  }

static cpl_status setup(cpl_component* c, const cpl_setup* settings) {
  independent* b = self_of(c);
  cpl_status st = cpli_starter_setup(b->starter, c);
  b->t = settings->start_time;
  FOR_EACH_MEMBER(b, st, inner->ops->setup(inner, settings));
  return st;
}

static cpl_status enter_init(cpl_component* c) {
  cpl_status st = CPL_OK;
  FOR_EACH_MEMBER(self_of(c), st, inner->ops->enter_init(inner));
  return st;
}

static cpl_status exit_init(cpl_component* c) {
  independent* b = self_of(c);
  cpl_status st = CPL_OK;
  cpli_starter_close(b->starter);
  FOR_EACH_MEMBER(b, st, inner->ops->exit_init(inner));
  for (int32_t i = 0; i < b->n; i++) b->members[i].at = b->members[i].until = b->t;
  b->running = true, b->limit = INFINITY, b->examined = NAN;
  cpli_heap_sort(&b->heap);
  return st;
}

static cpl_status terminate(cpl_component* c) {
  independent* b = self_of(c);
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < b->n && st >= 0; i++) st = present(b, i);
  b->running = false;
  FOR_EACH_MEMBER(b, st, inner->ops->terminate(inner));
  return st;
}

static cpl_status reset(cpl_component* c) {
  independent* b = self_of(c);
  cpl_status st = CPL_OK;
  forget_waiting(b);
  b->running = b->ended = b->moved = false;
  b->stop = 0;
  FOR_EACH_MEMBER(b, st, inner->ops->reset(inner));
  return st < 0 ? st : cpli_starter_reset(b->starter, c);
}

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  independent* b = self_of(c);
  cpl_context* ctx = c->ctx;
  for (int32_t i = 0; i < b->n; i++) b->members[i].s->base.ops->destroy(&b->members[i].s->base);
  if (b->whole != NULL) b->whole->base.ops->destroy(&b->whole->base);
  cpli_parallel_destroy(b->parallel);
  if (b->cached.ctx != NULL) cpli_cached_free(&b->cached);
  cpli_serial_free(ctx, &b->bytes);
  cpli_shared_desc_release(b->desc);
  cpli_free(ctx, b->routes);
  cpli_free(ctx, b->members);
  cpli_free(ctx, b->memory);
  cpli_free(ctx, b->name);
  cpli_free(ctx, b);
}

//------------------------------------ save and restore ------------------------------------

typedef struct saved {
  const independent* owner;  // a snapshot is restored by the object that made it
  double t, limit;
  bool running, ended;
  int32_t stop;
  struct saved_member {
    cpl_snapshot snapshot;
    double at;
    bool waits, moved;
  } members[];
} saved;

// All are brought to the present: how far they are ahead need not be saved.
static cpl_status save(cpl_component* c, cpl_snapshot* snapshot) {
  independent* b = self_of(c);
  saved* k = snapshot->data;
  if (k == NULL) k = cpli_alloc(c->ctx, 1, sizeof *k + (size_t)b->n * sizeof *k->members);
  if (k == NULL) return cpli_nomem(c->ctx);
  assert(snapshot->data == NULL || k->owner == b);
  snapshot->data = k;
  k->owner = b;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < b->n && st >= 0; i++) {
    member* m = &b->members[i];
    st = present(b, i);
    if (st >= 0) st = m->s->base.ops->save(&m->s->base, &k->members[i].snapshot);
    k->members[i].at = m->at, k->members[i].waits = m->waits, k->members[i].moved = m->moved;
  }
  k->t = b->t, k->limit = b->limit, k->running = b->running, k->ended = b->ended;
  k->stop = b->stop;
  return st;
}

static cpl_status restore(cpl_component* c, const cpl_snapshot* snapshot) {
  independent* b = self_of(c);
  const saved* k = snapshot->data;
  cpl_status st = CPL_OK;
  assert(k != NULL && k->owner == b);
  forget_waiting(b);
  b->t = k->t, b->limit = k->limit, b->running = k->running, b->ended = k->ended;
  b->stop = k->stop, b->examined = NAN, b->moved = true;
  for (int32_t i = 0; i < b->n && st >= 0; i++) {
    member* m = &b->members[i];
    st = m->s->base.ops->restore(&m->s->base, &k->members[i].snapshot);
    m->at = m->until = k->members[i].at;
    m->moved = k->members[i].moved;
    if (k->members[i].waits) add_waiting(b, i);
  }
  cpli_heap_sort(&b->heap);
  return st;
}

static void forget(cpl_component* c, cpl_snapshot* snapshot) {
  independent* b = self_of(c);
  saved* k = snapshot->data;
  if (k == NULL) return;
  assert(k->owner == b);
  for (int32_t i = 0; i < b->n; i++) {
    cpl_component* one = &b->members[i].s->base;
    one->ops->forget(one, &k->members[i].snapshot);
  }
  cpli_free(c->ctx, k);
  snapshot->data = NULL;
}

static void list(cpli_serial* s, cpl_component* c, cpl_snapshot* snapshot) {
  independent* b = self_of(c);
  if (cpli_serial_reads(s))
    snapshot->data =
        cpli_alloc(c->ctx, 1, sizeof(saved) + (size_t)b->n * sizeof(struct saved_member));
  if (!cpli_serial_made(s, snapshot)) return;
  saved* k = snapshot->data;
  k->owner = b;
  cpli_serial_same(s, (size_t)b->n);
  cpli_serial_real(s, &k->t);
  cpli_serial_real(s, &k->limit);
  cpli_serial_bool(s, &k->running);
  cpli_serial_bool(s, &k->ended);
  cpli_serial_count32(s, &k->stop);
  for (int32_t i = 0; i < b->n && s->st >= 0; i++) {
    cpli_serial_real(s, &k->members[i].at);
    cpli_serial_bool(s, &k->members[i].waits);
    cpli_serial_bool(s, &k->members[i].moved);
    cpli_serial_part(s, &b->members[i].s->base, &k->members[i].snapshot);
  }
}

// How far members are ahead, and what is due; saving brings all to the present.
static void list_history(cpli_serial* s, void* user) {
  independent* b = user;
  cpli_serial_same(s, (size_t)b->n);
  cpli_serial_real(s, &b->examined);
  cpli_serial_bool(s, &b->moved);
  cpli_serial_bool(s, &b->again);
  if (s->st >= 0 && cpli_serial_reads(s)) forget_waiting(b);
  for (int32_t i = 0; i < b->n && s->st >= 0; i++) {
    member* m = &b->members[i];
    bool waits = m->waits;
    cpli_serial_real(s, &m->at);
    cpli_serial_real(s, &m->until);
    cpli_serial_bool(s, &m->moved);
    cpli_serial_bool(s, &waits);
    cpli_serial_history(s, &m->s->base, true);
    if (cpli_serial_reads(s) && s->st >= 0 && waits) add_waiting(b, i);
  }
  if (cpli_serial_reads(s) && s->st >= 0) cpli_heap_sort(&b->heap);
}

static cpl_status get_history(cpl_component* c, cpl_binary* bytes, bool* complete) {
  return cpli_serial_put(c, &self_of(c)->bytes, list_history, c, bytes, complete);
}

static cpl_status set_history(cpl_component* c, const cpl_binary* bytes) {
  return cpli_serial_get(c, bytes, list_history, c);
}

static cpl_status to_bytes(cpl_component* c, const cpl_snapshot* snapshot, cpl_binary* bytes) {
  return cpli_serial_write(c, &self_of(c)->bytes, list, snapshot, bytes);
}

static cpl_status from_bytes(cpl_component* c, const cpl_binary* bytes, cpl_snapshot* snapshot) {
  return cpli_serial_read(c, bytes, list, snapshot);
}

//------------------------------------ create ------------------------------------

// The counters of all members together.
static cpl_status inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  const independent* b = (const independent*)c;
  out->self = (void*)b;
  out->n_children = b->n;
  if (child >= b->n) return CPL_OK;
  if (child >= 0) cpli_inspection_child(out, &b->members[child].s->base);
  for (int32_t i = 0; i < b->n && child < 0; i++) cpli_inspection_sum(out, &b->members[i].s->base);
  return CPL_OK;
}

static const char kinds[2][12] = {"independent", "integrate"};  // [is a split model]

// The capabilities and operations that all members have.
static void find_capabilities(independent* b) {
  cpl_capabilities can = {.variable_step = true,
                          .save_restore = b->n_coarse == 0,
                          .serialize = b->n_coarse == 0,
                          .zero_step = true,
                          .stops_early = true,
                          .get_after_set = true,
                          .dense_output = b->n_coarse == 0,
                          .input_derivatives = 3};
  bool curves = true, kinks = b->n_coarse == 0;
  for (int32_t i = 0; i < b->n; i++) {
    const cpl_stepper* s = b->members[i].s;
    const cpl_capabilities* one = &s->base.can;
    cpli_capabilities_of_both(&can, one);
    can.save_restore = can.save_restore && s->base.ops->save != NULL;
    can.serialize = can.serialize && cpli_serial_can(&s->base);
    can.zero_step = can.zero_step && one->zero_step;
    curves = curves && s->ops->set_curve != NULL;
    kinks = kinks && s->ops->next_break != NULL;
  }
  can.serialize = can.serialize && can.save_restore;
  b->base.base.can = can;
  b->component_ops = (cpl_component_ops){.size = sizeof(cpl_component_ops),
                                         .kind = kinds[b->whole != NULL],
                                         .destroy = destroy,
                                         .setup = setup,
                                         .enter_init = enter_init,
                                         .exit_init = exit_init,
                                         .terminate = terminate,
                                         .reset = reset,
                                         CPLI_VALUE_OPS,
                                         .inspect = inspect,
                                         .save = can.save_restore ? save : NULL,
                                         .restore = can.save_restore ? restore : NULL,
                                         .forget = can.save_restore ? forget : NULL,
                                         .serialize = can.serialize ? to_bytes : NULL,
                                         .deserialize = can.serialize ? from_bytes : NULL,
                                         .get_history = can.serialize ? get_history : NULL,
                                         .set_history = can.serialize ? set_history : NULL};
  b->stepper_ops = (cpl_stepper_ops){.size = sizeof(cpl_stepper_ops),
                                     .step = step,
                                     .set_curve = curves ? set_curve : NULL,
                                     .value_time = b->n_coarse > 0 ? value_time : NULL,
                                     .next_break = kinks ? next_break : NULL,
                                     .next_event = next_event};
}

static cpl_status make_router(independent* b, const cpli_independent_def* def) {
  const cpl_subsystems* split = def->subsystems;
  uint32_t n = split != NULL ? split->n_refs : (uint32_t)def->desc->desc.n_vars;
  b->router = (cpli_router){.n = n, .forward = forward};
  if (split != NULL) {
    b->router.first = split->first;
    b->router.routes = split->refs;
  } else if (def->routes != NULL) {
    b->router.routes = b->routes = cpli_alloc(b->base.base.ctx, n, sizeof *b->routes);
    if (b->routes == NULL) return cpli_nomem(b->base.base.ctx);
    memcpy(b->routes, def->routes, n * sizeof *b->routes);
  } else {
    b->router.routes = def->desc->routes;
  }
  return CPL_OK;
}

static cpli_task_kind kind_of(const void* user, int32_t i) {
  const cpl_capabilities* can = &((const independent*)user)->members[i].s->base.can;
  return can->remote > 0 ? CPLI_TASK_WAITS : can->own_thread ? CPLI_TASK_STAYS : CPLI_TASK_ANY;
}

static cpl_status fill(independent* b, const cpli_independent_def* def) {
  cpl_context* ctx = b->base.base.ctx;
  cpli_heap_init(&b->heap, b->memory, def->n, before, b);
  b->waiting = b->memory + 2 * (size_t)def->n;
  b->coarse = b->waiting + def->n;
  for (int32_t i = 0; i < def->n; i++) {
    b->members[i] = (member){.s = def->steppers[i], .coarse = def->steppers[i]->ops->ahead == NULL};
    if (b->members[i].coarse) b->coarse[b->n_coarse++] = i;
  }
  b->n = def->n;
  b->whole = def->whole;
  b->restart = def->restart;
  b->starter = def->starter;
  if (def->desc != NULL) b->desc = cpli_shared_desc_retain(def->desc);
  const cpl_description* desc = def->desc != NULL ? &def->desc->desc : def->whole->base.desc;
  find_capabilities(b);
  b->base.base.ops = &b->component_ops;
  b->base.base.desc = desc;
  b->base.base.name = b->name;
  b->base.ops = &b->stepper_ops;
  cpl_status st = make_router(b, def);
  if (st >= 0) st = cpli_parallel_make(ctx, INT32_MAX, b->n, kind_of, b, &b->parallel);
  return st >= 0 && b->n_coarse > 0 ? cpli_cached_init(&b->cached, ctx, desc, &b->router) : st;
}

cpl_status cpli_independent(cpl_context* ctx, const cpli_independent_def* def, cpl_stepper** out) {
  *out = NULL;
  independent* b = cpli_alloc(ctx, 1, sizeof *b);
  member* members = cpli_alloc(ctx, (size_t)def->n, sizeof *members);
  int32_t* memory = cpli_alloc(ctx, 4 * (size_t)def->n, sizeof *memory);
  char* name = cpli_strdup(ctx, def->name);
  if (b == NULL || members == NULL || memory == NULL || name == NULL) {
    for (int32_t i = 0; i < def->n; i++) cpl_stepper_destroy(def->steppers[i]);
    cpl_model_destroy(def->whole);
    cpli_free(ctx, b);
    cpli_free(ctx, members);
    cpli_free(ctx, memory);
    cpli_free(ctx, name);
    return cpli_nomem(ctx);
  }
  *b = (independent){.name = name, .members = members, .memory = memory, .base.base.ctx = ctx};
  cpl_status st = fill(b, def);
  if (st < 0) destroy(&b->base.base);
  else *out = &b->base;
  return st;
}

const cpl_component* cpli_independent_coarse(const cpl_component* c) {
  const independent* b = cpli_component_self(c, kinds[0]);
  return b != NULL && b->n_coarse > 0 ? &b->members[b->coarse[0]].s->base : NULL;
}
