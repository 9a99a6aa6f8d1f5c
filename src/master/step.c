// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One communication step: algorithms 2 and 3 of "Determinate Composition of FMUs for Co-Simulation"
// (Broman and others, EMSOFT 2013), on plans. Parts that roll back find the step all of them
// accept, then the legacy part takes it, then the parts that predicted their limit. Where a part
// that rolls back depends on one that does not, it is tried beforehand with extrapolated inputs
// (probe), and takes the step with those inputs if it does not accept it otherwise.
#include <float.h>
#include <math.h>

#include "base/parallel.h"
#include "base/thread_pool.h"
#include "master/master.h"

enum { MAX_TRIES = 1000 };

//------------------------------------ one part ------------------------------------

static bool waits_for_inputs(const cpli_master* m, const cpli_master_part* p) {
  for (int32_t i = p->first_link; i < p->first_link + p->n_links; i++) {
    if (m->links[i].with_step) return true;
  }
  return false;
}

static cpl_status violates(cpli_master_part* p, double t_end, const char* how) {
  return cpl_fail_in(p->s->base.ctx, CPL_ERR_MODEL, p->s->base.name, NULL, p->t,
                     "the step from t=%.12g to t=%.12g: it %s (it reports t=%.17g)", p->t, t_end,
                     how, p->result.time);
}

// Validates a step result: assumptions A0, A1 and A4 of the paper.
static cpl_status validate(cpli_master* m, cpli_master_part* p, double t_end) {
  const cpl_step_result* r = &p->result;
  if (!(r->time >= p->t)) return violates(p, t_end, "went back in time");
  if (r->time > t_end) return violates(p, t_end, "went beyond the end of the step");
  if (r->end == CPL_STEP_DONE && r->time != t_end)
    return violates(p, t_end, "reports the step as done but stopped before its end");
  if (r->time == t_end) {
    p->accepted = fmax(p->accepted, t_end);
    return CPL_OK;
  }
  p->n_rejected++;
  if (p->predicted) return violates(p, t_end, "stopped earlier than it predicted it would");
  bool as_before = m->blind || !waits_for_inputs(m, p);  // it had the same inputs
  if (r->end == CPL_STEP_REFUSED && t_end <= p->accepted && as_before &&
      m->def.algorithm != CPL_MASTER_ITERATIVE)
    return violates(p, t_end, "refuses a shorter step than it accepted before");
  if (r->end == CPL_STEP_REFUSED && !(p->can_restore && m->saves)) {
    return violates(p, t_end,
                    p->can_restore ? "refused the step, and this algorithm does not roll back"
                                   : "refused the step and cannot be rolled back");
  }
  return CPL_OK;
}

// Steps to t_end, through events that are pending at the start: a part may find one again there, by
// rounding, or because its inputs jumped. A part without steps of size zero has handled it already.
// A part with a grid of its own does not report events within its step: the others are past them.
static cpl_status step_past_start(cpli_master* m, cpli_master_part* p, double t_end) {
  double last = p->t;
  for (int32_t i = 0;; i++) {
    p->calls++;
    cpl_status st = p->s->ops->step(p->s, t_end, t_end, &p->result);
    double here = p->result.time;
    bool event = st >= 0 && p->result.end == CPL_STEP_EVENT;
    bool inside = event && p->step > 0 && here > p->t && here < t_end;
    if (here > last) i = 0, last = here;
    bool stands = inside || (event && here <= p->t);
    if (!stands || i == MAX_TRIES) return st;
    p->n_updates++;
    p->calls++;
    if (p->s->base.can.zero_step) st = p->s->ops->step(p->s, here, here, &p->result);
    if (st < 0 || p->result.end == CPL_STEP_TERMINATE) return st;
    st = cpli_master_inputs(m, p, t_end);  // FMUs take derivatives for one step only
    if (st < 0) return st;
  }
}

static bool holds_next(const cpli_master* m, const cpli_master_part* p) {
  for (int32_t i = p->first_link; i < p->first_link + p->n_links; i++) {
    if (m->links[i].with_step && !m->links[i].discrete) return p->order == 0;
  }
  return false;
}

// Inputs that are constant at their values of the end of the step may cause an event at its
// beginning.
static cpl_status check_inputs(const cpli_master* m, cpli_master_part* p) {
  bool wanted = false;
  p->early = false;
  if (p->s->ops->wants_update == NULL || !holds_next(m, p)) return CPL_OK;
  cpl_status st = p->s->ops->wants_update(p->s, &wanted, &p->margin);
  p->early = wanted && p->margin >= 0;
  return st == CPL_RETRY ? cpl_fail_prefix(p->s->base.ctx, CPL_ERR_MODEL, "inputs") : st;
}

static double rounding(const cpli_master_part* p, double t_end) {
  return 1e-13 * fmax(fabs(t_end), t_end - p->t);
}

static void take_step(cpli_master* m, cpli_master_part* p, double t_end) {
  p->margin = NAN;
  p->st = cpli_master_inputs(m, p, t_end);
  if (p->st >= 0) p->st = check_inputs(m, p);
  if (p->st < 0) return;
  double from = p->own_t;
  p->stepped = true;
  p->st = step_past_start(m, p, t_end);
  if (p->st == CPL_RETRY)
    p->st = cpl_fail_prefix(p->s->base.ctx, CPL_ERR_MODEL, "the step to t=%.12g", t_end);
  // values of the end of the step ended the run at its beginning: it ends with the step
  bool ended = p->early && p->st >= 0 && p->result.end == CPL_STEP_TERMINATE;
  if (ended && p->result.time <= p->t) p->result.time = t_end;
  p->own_t = p->result.time;
  // an event of its own at the end of the step but for rounding: parts sum up time differently
  bool event = p->result.end == CPL_STEP_EVENT, ends = p->result.end == CPL_STEP_TERMINATE;
  if ((event || ends) && t_end - p->own_t <= rounding(p, t_end)) p->result.time = t_end;
  else if (p->own_t >= from && p->own_t < p->t) p->result.time = p->t;
  p->jumped = event && !p->s->base.can.zero_step;
}

// Whether inputs differ at the beginning of a step from the values known there: a part that takes
// only values gets a mean over the step, and with order 0 inputs that are known at the end of the
// step are constant at that value.
static bool inputs_are_ahead(const cpli_master* m, const cpli_master_part* p) {
  if (p->order == 0) return holds_next(m, p);
  for (int32_t i = p->first_link; i < p->first_link + p->n_links; i++) {
    if (!m->links[i].discrete) return p->s->ops->set_curve == NULL;
  }
  return false;
}

// An event that such inputs cause in the first half of a step may be spurious: a shorter step has
// other inputs. If the step were repeated to the time of the event, the event would move by a few
// roundings each time.
static bool stopped_by_inputs(const cpli_master* m, const cpli_master_part* p, double t_end) {
  bool ends = p->result.end == CPL_STEP_EVENT || p->result.end == CPL_STEP_TERMINATE;
  double h = t_end - p->t, to = p->result.time - p->t;
  if (!ends || to >= h || !(p->early || to < h / 2)) return false;
  return h > 4 * rounding(p, t_end) && p->can_restore && m->saves && inputs_are_ahead(m, p);
}

// A refused step without progress is halved, because the part does not report what it would accept.
static void note_reach(cpli_master* m, const cpli_master_part* p, double t_end) {
  double to = p->result.time;
  bool nowhere = p->result.end == CPL_STEP_REFUSED && to <= p->t;
  if (nowhere || stopped_by_inputs(m, p, t_end)) to = p->t + (t_end - p->t) / 2;
  if (to < m->reach) m->limiter = (int32_t)(p - m->parts);
  m->reach = fmin(m->reach, to);
}

//------------------------------------ a plan ------------------------------------

typedef struct batch {
  cpli_master* m;
  const cpli_step_op* ops;
  int32_t n;
  double t_end;
  const cpli_step_plan* plan;  // of gets
} batch;

static bool is_active(const cpli_master_part* p) { return p->due && !p->stays; }

static void step_one(batch* b, int32_t i) {
  cpli_master_part* p = &b->m->parts[b->ops[i].part];
  if (is_active(p)) take_step(b->m, p, b->t_end);
}

static void step_apart(batch* b, int32_t i) {
  cpl_context* ctx = b->m->base.base.ctx;
  cpli_error* before = cpli_divert_errors(ctx, &b->m->errors[b->ops[i].part]);
  step_one(b, i);
  cpli_end_diversion(before);
}

static bool stays(const batch* b, int32_t i) {
  return b->m->parts[b->ops[i].part].s->base.can.own_thread;
}

// The same in one of several threads: messages are stored separately, and the first in order of
// parts is reported, not the first in time.
static void step_in_threads(void* user, cpli_job* job, int32_t worker) {
  batch* b = user;
  for (int32_t i = 0; i < b->n && worker == 0; i++)
    if (stays(b, i)) step_apart(b, i);
  for (int32_t i = cpli_job_next(job); i >= 0; i = cpli_job_next(job))
    if (!stays(b, i)) step_apart(b, i);
}

// Stops at the first failure, whose message is reported.
static void step_in_order(batch* b) {
  for (int32_t i = 0; i < b->n; i++) {
    const cpli_master_part* p = &b->m->parts[b->ops[i].part];
    step_one(b, i);
    if (is_active(p) && p->st < 0) return;
  }
}

// Calls of components in other processes overlap.
static cpli_task_kind kind_of(const cpli_master_part* p) {
  return p->s->base.can.remote > 0 ? CPLI_TASK_WAITS : CPLI_TASK_ANY;
}

static cpli_task_kind kind_of_step(const void* user, int32_t i) {
  const batch* b = user;
  return kind_of(&b->m->parts[b->ops[i].part]);
}

static cpl_status step_task(void* user, int32_t i, int32_t worker) {
  batch* b = user;
  const cpli_master_part* p = &b->m->parts[b->ops[i].part];
  (void)worker;
  step_one(b, i);
  return is_active(p) && p->st < 0 ? p->st : CPL_OK;
}

// Threads pay when a step costs more than waking them; an explicit number of threads is always
// used.
static void step_parts(cpli_master* m, batch* b) {
  static const double worth_it = 30e-6;
  if (m->base.base.can.remote > 0) {
    cpli_overlap(m->base.base.ctx, b->n, kind_of_step, step_task, b);
    return;
  }
  if (m->pool == NULL || b->n < 2) {
    step_in_order(b);
    return;
  }
  bool together = m->threads_always || m->cost > worth_it;
  int32_t threads = 1;
  double since = cpli_now();
  if (together) threads = cpli_thread_pool_run(m->pool, m->threads, b->n, step_in_threads, b);
  else step_in_order(b);
  double cost = (cpli_now() - since) / b->n * threads;
  m->cost += 0.1 * (cost - m->cost);
  for (int32_t i = 0; i < b->n && together; i++) {
    const cpli_master_part* p = &m->parts[b->ops[i].part];
    if (!is_active(p) || p->st >= 0) continue;
    cpli_fail_again(m->base.base.ctx, &m->errors[b->ops[i].part].data);
    return;
  }
}

static cpl_status step_some(cpli_master* m, const cpli_step_op* ops, int32_t n, double t_end) {
  batch b = {.m = m, .ops = ops, .n = n, .t_end = t_end};
  step_parts(m, &b);
  for (int32_t i = 0; i < n; i++) {
    cpli_master_part* p = &m->parts[ops[i].part];
    if (!is_active(p)) continue;
    if (p->st < 0) return p->st;
    cpl_status st = validate(m, p, t_end);
    if (st < 0) return st;
    note_reach(m, p, t_end);
  }
  return CPL_OK;
}

// Steps of one level, class after class: a part that cannot be rolled back is not stepped farther
// than the others are known to come.
static cpl_status step_level(cpli_master* m, const cpli_step_op* ops, int32_t n, double t_end) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < n && st == CPL_OK;) {
    int32_t k = 1;
    cpli_master_class kind = m->parts[ops[i].part].kind;
    while (i + k < n && m->parts[ops[i + k].part].kind == kind) k++;
    if (m->reach < t_end) return CPL_RETRY;
    st = step_some(m, ops + i, k, t_end);
    i += k;
  }
  return st < 0 ? st : m->reach < t_end ? CPL_RETRY : CPL_OK;
}

//------------------------------------ outputs ------------------------------------

static cpl_status get_one(void* user, int32_t i, int32_t worker) {
  const batch* b = user;
  const cpli_step_op* op = &b->ops[i];
  const cpli_step_plan* plan = b->plan;
  (void)worker;
  cpl_status st = cpli_master_get(b->m, op->part, plan->items + op->first, op->n);
  const bool slopes = plan == &b->m->plans[CPLI_PLAN_STEP] && b->m->end_slopes;
  return st == CPL_OK && slopes ? cpli_master_get_slopes(b->m, op->part) : st;
}

// The scratch of gets is that of the master: only a component that is itself in another process
// copies its arguments at once.
static cpli_task_kind kind_of_get(const void* user, int32_t i) {
  const batch* b = user;
  const bool apart = b->m->parts[b->ops[i].part].s->base.can.remote > 1;
  return apart ? CPLI_TASK_WAITS : CPLI_TASK_ANY;
}

static bool gets(const cpli_master* m, const cpli_step_plan* plan, const cpli_step_op* op) {
  const bool steps = plan == &m->plans[CPLI_PLAN_STEP];
  return op->kind == CPLI_OP_GET && (!steps || m->parts[op->part].due);
}

// How many operations from here on get outputs of different parts.
static int32_t count_gets(cpli_master* m, const cpli_step_plan* plan, int32_t first, int32_t end) {
  int32_t n = 0;
  if (m->base.base.can.remote == 0) return 1;
  while (first + n < end && gets(m, plan, &plan->ops[first + n]) &&
         !m->parts[plan->ops[first + n].part].gets)
    m->parts[plan->ops[first + n++].part].gets = true;
  for (int32_t i = first; i < first + n; i++) m->parts[plan->ops[i].part].gets = false;
  return n;
}

static cpl_status get_some(cpli_master* m, const cpli_step_plan* plan, int32_t first, int32_t n) {
  batch b = {.m = m, .ops = plan->ops + first, .n = n, .plan = plan};
  return n > 1 ? cpli_overlap(m->base.base.ctx, n, kind_of_get, get_one, &b) : get_one(&b, 0, 0);
}

cpl_status cpli_master_walk(cpli_master* m, const cpli_step_plan* plan, int32_t first, int32_t end,
                            double t_end) {
  bool steps = plan == &m->plans[CPLI_PLAN_STEP];
  cpl_status st = CPL_OK;
  for (int32_t i = first; i < end && st == CPL_OK;) {
    const cpli_step_op* op = &plan->ops[i];
    int32_t n = 1;
    bool idle = steps && op->kind != CPLI_OP_LOOP && !m->parts[op->part].due;
    switch (op->kind) {
      case CPLI_OP_STEP:
        while (i + n < end && op[n].kind == CPLI_OP_STEP && op[n].level == op->level) n++;
        st = step_level(m, op, n, t_end);
        break;
      case CPLI_OP_GET:
        if (idle) break;
        n = count_gets(m, plan, i, end);
        st = get_some(m, plan, i, n);
        break;
      case CPLI_OP_SET:
        if (!idle) st = cpli_master_set(m, op->part, plan->items + op->first, op->n);
        break;
      case CPLI_OP_LOOP:
        st = cpli_master_loop(m, plan, op, t_end);
        n = 1 + op->n;
        break;
    }
    i += n;
  }
  return st;
}

//------------------------------------ rollback ------------------------------------

// A part that fails to save its state continues as one that cannot be rolled back, unless the
// master itself needs rollback.
static cpl_status save_part(cpli_master* m, cpli_master_part* p) {
  cpl_component* c = &p->s->base;
  cpl_status st = c->ops->save(c, &p->saved);
  p->saved_t = p->own_t;
  for (int32_t i = p->first_link; i < p->first_link + p->n_links; i++)
    m->links[i].saved = m->links[i].sent;
  if (st >= 0 || st == CPL_ERR_NOMEM || st == CPL_ERR_CANCELLED) return st;
  if (m->iterates || m->def.tolerance > 0) return st;
  p->can_restore = false;
  cpl_log(c->ctx, CPL_LOG_WARNING, m->base.base.name,
          "%s is not rolled back from here on, since its state cannot be saved: %s", c->name,
          cpl_context_error(c->ctx));
  return CPL_OK;
}

static cpli_task_kind kind_of_part(const void* user, int32_t i) {
  return kind_of(&((const cpli_master*)user)->parts[i]);
}

static cpl_status save_one(void* user, int32_t i, int32_t worker) {
  cpli_master* m = user;
  cpli_master_part* p = &m->parts[i];
  (void)worker;
  return p->can_restore && p->due ? save_part(m, p) : CPL_OK;
}

static cpl_status save_all(cpli_master* m) {
  cpl_status st = CPL_OK;
  if (!m->saves) return CPL_OK;
  if (m->base.base.can.remote > 0)
    return cpli_overlap(m->base.base.ctx, m->n_parts, kind_of_part, save_one, m);
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) st = save_one(m, i, 0);
  return st;
}

cpl_status cpli_master_rewind(cpli_master* m, cpli_master_part* p) {
  p->stepped = false;
  p->own_t = p->saved_t;
  p->n_rollbacks++;
  for (int32_t i = p->first_link; i < p->first_link + p->n_links; i++)
    m->links[i].sent = m->links[i].saved;
  return p->s->base.ops->restore(&p->s->base, &p->saved);
}

static bool restores(const cpli_master* m, const cpli_master_part* p) {
  return p->can_restore && m->saves;
}

static bool stands_at(const cpli_master_part* p, double t) {
  return p->result.time == t && p->result.end != CPL_STEP_REFUSED;
}

// The part that stopped first, and one that has gone farther and cannot be rolled back; NULL: none.
static const cpli_master_part* find_stopped(const cpli_master* m) {
  const cpli_master_part* stopped = NULL;
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpli_master_part* p = &m->parts[i];
    if (p->stepped && (stopped == NULL || p->result.time < stopped->result.time)) stopped = p;
  }
  return stopped;
}

static const cpli_master_part* find_lost(const cpli_master* m) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpli_master_part* p = &m->parts[i];
    if (p->stepped && !restores(m, p) && !stands_at(p, m->reach)) return p;
  }
  return NULL;
}

static cpl_status cannot_go_back(const cpli_master* m, const cpli_master_part* lost, double t_end) {
  const cpli_master_part* stopped = find_stopped(m);
  const char* name = stopped->s->base.name;
  return cpl_fail_in(m->base.base.ctx, CPL_ERR_MODEL, m->base.base.name, NULL, stopped->result.time,
                     "%s stops at t=%.12g, but %s has gone on to t=%.12g and cannot be rolled "
                     "back%s%s%s",
                     name, stopped->result.time, lost->s->base.name, t_end,
                     lost->can_restore ? " by this algorithm" : "",
                     restores(m, stopped) ? "" : ", and neither can ",
                     restores(m, stopped) ? "" : name);
}

// A part stopped at m->reach. Parts that went farther are rolled back; those at m->reach stay. When
// one that cannot be rolled back has gone farther, all others repeat the step with the inputs of
// the probe (*again: to the same end).
static cpl_status go_back(cpli_master* m, double t_end, bool* again) {
  const cpli_master_part* lost = find_lost(m);
  *again = lost != NULL && !m->blind && restores(m, find_stopped(m));
  if (lost != NULL && !*again) return cannot_go_back(m, lost, t_end);
  m->blind = *again;
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpli_master_part* p = &m->parts[i];
    if (!p->stepped) continue;
    bool stays = !*again && stands_at(p, m->reach) && !waits_for_inputs(m, p);
    p->stays = !restores(m, p) || stays;
    cpl_status st = p->stays ? CPL_OK : cpli_master_rewind(m, p);
    if (st < 0) return st;
  }
  return CPL_OK;
}

// Values of a loop that has not converged may show an event that is not there. Where the step was
// cut again and again for such events, each time by little, it is halved instead.
static void cut_deeper(cpli_master* m, int32_t tries) {
  enum { PATIENCE = 8 };
  if (tries < PATIENCE || !m->iterates || m->blind) return;
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpli_master_part* p = &m->parts[i];
    if (p->stepped && !restores(m, p)) return;
  }
  double half = m->t + (m->reach - m->t) / 2;
  if (!(half - m->t > 4 * DBL_EPSILON * fabs(half))) return;
  m->reach = half;
  m->halved = true;
}

// Several parts can neither roll back nor predict: when one of them stops early, the others may
// have passed an event.
static cpl_status check_legacy(cpli_master* m, double t_end) {
  int32_t n = 0;
  const cpli_master_part* stopped = NULL;
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpli_master_part* p = &m->parts[i];
    if (p->can_restore || p->predicted) continue;
    n++;
    bool first = stopped == NULL || p->result.time < stopped->result.time;
    if (p->stepped && p->result.time < t_end && first) stopped = p;
  }
  if (n < 2 || stopped == NULL) return CPL_OK;
  return cpl_fail_in(m->base.base.ctx, CPL_ERR_MODEL, m->base.base.name, NULL, stopped->result.time,
                     "%s stopped at t=%.12g instead of t=%.12g; %d steppers of this system can "
                     "neither be rolled back nor predict their steps, so it cannot go on",
                     stopped->s->base.name, stopped->result.time, t_end, n);
}

//------------------------------------ the step ------------------------------------

static cpl_status predict(cpli_master* m, double* target) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpli_master_part* p = &m->parts[i];
    double h = NAN;
    p->predicted = false;
    if (p->s->ops->max_step == NULL || !p->due) continue;
    cpl_status st = p->s->ops->max_step(p->s, &h);
    if (st < 0) return st;
    // otherwise it steps without a prediction
    p->predicted = p->kind == CPLI_PREDICTS && !isnan(h);
    if (p->t + h < *target) *target = p->t + h, m->limiter = i;
  }
  if (*target > m->t) return CPL_OK;
  return cpl_fail_in(m->base.base.ctx, CPL_ERR_MODEL, m->base.base.name, NULL, m->t,
                     "a part predicts that it cannot go on at t=%.12g", m->t);
}

// Probes parts that are stepped only after one that cannot be rolled back: how far would they come?
static cpl_status probe(cpli_master* m, double* target) {
  bool again = m->n_probes > 0 && m->saves;
  m->blind = again;  // inputs that depend on later steps are not known yet
  for (int32_t tries = 0; again && tries < MAX_TRIES; tries++) {
    again = false;
    for (int32_t i = 0; i < m->n_probes; i++) {
      cpli_master_part* p = &m->parts[m->probes[i]];
      if (!p->due || !p->can_restore) continue;
      m->reach = *target;
      take_step(m, p, *target);
      cpl_status st = p->st < 0 ? p->st : validate(m, p, *target);
      if (st >= 0) note_reach(m, p, *target);
      if (st >= 0) st = cpli_master_rewind(m, p);
      if (st < 0) return st;
      again = again || m->reach < *target;
      *target = m->reach;
    }
  }
  m->blind = false;
  return CPL_OK;
}

// Whether a part takes a step that ends at `target`: one with a grid of its own only at its points.
static bool is_due(const cpli_master_part* p, double target) {
  return p->step == 0 || p->t + p->step * (1 - 1e-9) <= target;
}

static void begin(cpli_master* m, double target) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpli_master_part* p = &m->parts[i];
    p->due = is_due(p, target);
    p->stepped = p->stays = p->jumped = false;
    p->accepted = -INFINITY;
  }
  m->blind = false;
}

// A discrete value that changed is an event for a part that takes it and can have one without a
// step.
static void note_changes(cpli_master* m) {
  for (int32_t i = 0; i < m->n_links; i++) {
    const cpli_master_link* l = &m->links[i];
    cpli_master_part* p = &m->parts[l->part];
    const cpli_out* o = &m->outs[l->out];
    if (!l->discrete || !o->changed || !p->s->base.can.zero_step) continue;
    if (o->type == CPL_CLOCK && o->integer == 0) continue;  // a tick that is over
    p->pending = m->pending = true;
  }
}

// So is a value that causes an event in the part that takes it.
cpl_status cpli_master_ask(cpli_master* m) {
  m->crossed = m->early = false;
  m->margin = NAN;
  m->margin_t = m->t;
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpli_master_part* p = &m->parts[i];
    bool wanted = false;
    double margin = NAN;
    if (p->early) m->crossed = m->early = true, m->crosser = i;
    m->margin = fmax(m->margin, p->margin);
    p->early = false;
    p->margin = NAN;
    if (p->s->ops->wants_update == NULL || p->t != m->t) continue;
    cpl_status st = CPL_OK;
    for (int32_t l = p->first_link; l < p->first_link + p->n_links && st == CPL_OK; l++) {
      if (!p->follows && !m->links[l].with_step) st = cpli_master_set(m, i, &l, 1);
    }
    if (st == CPL_OK) st = p->s->ops->wants_update(p->s, &wanted, &margin);
    if (st != CPL_OK) return st < 0 ? st : cpl_fail_prefix(p->s->base.ctx, CPL_ERR_MODEL, "inputs");
    if (wanted) p->pending = m->pending = true;
    if (wanted && margin >= 0) m->crossed = true, m->crosser = i;
    m->margin = fmax(m->margin, margin);
  }
  return CPL_OK;
}

static cpl_status commit(cpli_master* m, double t) {
  m->t = t;
  m->n_steps++;
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpli_master_part* p = &m->parts[i];
    if (!p->due) continue;
    p->t = t;
    p->n_steps++;
    if (p->result.end == CPL_STEP_EVENT) p->pending = m->pending = true;
    if (p->result.end == CPL_STEP_TERMINATE) m->ended = true;
  }
  cpl_status st = cpli_master_sample(m, t, false);
  note_changes(m);
  return st < 0 ? st : cpli_master_ask(m);
}

// Whether a part ends where the step begins, as a guard does that is past its turning point by
// rounding only.
static bool ends_here(const cpli_master* m) {
  for (int32_t i = 0; i < m->n_parts && m->reach <= m->t; i++) {
    const cpli_master_part* p = &m->parts[i];
    bool ends = p->stepped && p->result.end == CPL_STEP_TERMINATE;
    if (ends && p->result.time <= m->t) return true;
  }
  return false;
}

// Then no part steps.
static void stay_here(cpli_master* m) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpl_step_result* r = &m->parts[i].result;
    if (r->end != CPL_STEP_TERMINATE || r->time > m->t) *r = (cpl_step_result){.time = m->t};
  }
}

// The limit of the last step usually limits the next, too: steps approach it, and grow again behind
// it.
static double limit_target(const cpli_master* m, double target) {
  return m->short_step > 0 ? fmin(target, m->t + 2 * m->short_step) : target;
}

static void note_length(cpli_master* m, double wanted, double limited, double reached) {
  bool whole = reached == limited;
  if (m->halved || (whole && limited < wanted)) m->short_step = reached - m->t;
  else if (whole) m->short_step = 0;
}

cpl_status cpli_master_step(cpli_master* m, double wanted) {
  const cpli_step_plan* plan = &m->plans[CPLI_PLAN_STEP];
  m->limiter = -1;
  double target = limit_target(m, wanted), limited = target;
  m->halved = false;
  begin(m, target);
  cpl_status st = predict(m, &target);
  begin(m, target);
  if (st >= 0) st = save_all(m);
  if (st >= 0) st = probe(m, &target);
  for (int32_t tries = 0; st >= 0; tries++) {
    m->reach = target;
    st = cpli_master_walk(m, plan, 0, plan->n_ops, target);
    if (st != CPL_RETRY) break;
    m->n_repeated++;
    bool again = false, ends = ends_here(m);
    if (!ends) cut_deeper(m, tries);
    st = check_legacy(m, target);
    if (st >= 0) st = go_back(m, target, &again);
    if (!again) target = m->reach;
    if (st >= 0 && ends && !again) {
      stay_here(m);
      break;
    }
    for (int32_t i = 0; i < m->n_parts; i++)
      m->parts[i].due = m->parts[i].stays || is_due(&m->parts[i], target);
    if (st >= 0 && (tries == MAX_TRIES || !(target > m->t)))
      st = cpl_fail_in(m->base.base.ctx, CPL_ERR_MODEL, m->base.base.name, NULL, m->t,
                       "no step is accepted by all steppers at t=%.12g", m->t);
  }
  if (st >= 0) note_length(m, wanted, limited, target);
  if (st >= 0) st = commit(m, target);
  return st < 0 ? st : CPL_OK;
}
