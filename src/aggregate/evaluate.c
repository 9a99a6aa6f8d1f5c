// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Executes an evaluation plan: gets and sets of components, couplings and loops, in the order of
// plan.c. The values and gradients of couplings are computed here, too; a gradient that a coupling
// does not provide is found by central differences, one-sided where the other side has a jump.
#include <float.h>
#include <math.h>

#include "aggregate/aggregate.h"
#include "model/jacobian.h"

void cpli_gather(const cpli_aggregate* a, const int32_t* nodes, int32_t n, double* out) {
  for (int32_t i = 0; i < n; i++) out[i] = a->value[nodes[i]];
}

//------------------------------------ couplings ------------------------------------

cpl_status cpli_coupling_value(cpli_aggregate* a, cpli_coupling_edge* l, double* out) {
  const cpl_coupling* c = &l->def;
  if (c->function.value == NULL) {
    *out = c->factor * a->value[l->sources[0]] + c->offset;
    return CPL_OK;
  }
  cpli_gather(a, l->sources, l->n_sources, l->values);
  return c->function.value(c->function.user, a->t, l->values, out);
}

double cpli_node_nominal(const cpli_aggregate* a, int32_t node) {
  const cpli_node* k = &a->nodes[node];
  return k->part >= 0 && k->var >= 0 ? a->parts[k->part].m->base.desc->vars[k->var].nominal : 1;
}

// The central difference, unless one side has a jump: then the derivative of the other side.
static double slope(double minus, double at, double plus, double h) {
  double left = (at - minus) / h, right = (plus - at) / h;
  if (fabs(left) < 1e-3 * fabs(right)) return left;
  if (fabs(right) < 1e-3 * fabs(left)) return right;
  return (plus - minus) / (2 * h);
}

static cpl_status by_differences(cpli_aggregate* a, cpli_coupling_edge* l) {
  const cpl_function* f = &l->def.function;
  double base, plus, minus;
  cpl_status st = f->value(f->user, a->t, l->values, &base);
  for (int32_t k = 0; k < l->n_sources && st == CPL_OK; k++) {
    double at = l->values[k];
    double h = cbrt(DBL_EPSILON) * fmax(fabs(at), cpli_node_nominal(a, l->sources[k]));
    l->values[k] = at + h;
    st = f->value(f->user, a->t, l->values, &plus);
    l->values[k] = at - h;
    if (st == CPL_OK) st = f->value(f->user, a->t, l->values, &minus);
    l->values[k] = at;
    if (st == CPL_OK) l->gradient[k] = slope(minus, base, plus, h);
  }
  return st;
}

cpl_status cpli_coupling_gradient(cpli_aggregate* a, cpli_coupling_edge* l) {
  const cpl_function* f = &l->def.function;
  if (l->known) return CPL_OK;
  cpl_status st = CPL_OK;
  if (f->value == NULL) {
    l->gradient[0] = l->def.factor;
  } else {
    cpli_gather(a, l->sources, l->n_sources, l->values);
    st = f->gradient != NULL ? f->gradient(f->user, a->t, l->values, l->gradient)
                             : by_differences(a, l);
  }
  l->known = st == CPL_OK && (f->value == NULL || f->linear);
  return st;
}

//------------------------------------ point ------------------------------------

static cpl_status give(cpli_aggregate* a, cpli_part* part) {
  cpl_status st = part->m->ops->set_time(part->m, a->t);
  if (st == CPL_OK && part->n_states > 0)
    st = part->m->ops->set_states(part->m, a->x + part->first_state);
  if (st != CPL_OK) return st;
  a->points[part - a->parts] = a->point;
  return CPL_OK;
}

// Components of other processes are given the point together with the calls that follow, and it is
// not known which of these has not succeeded.
static void forget_remote_points(cpli_aggregate* a) {
  if (a->base.base.can.remote == 0 || a->phase != CPLI_PLAN_CONTINUOUS) return;
  for (int32_t k = 0; k < a->n_parts; k++)
    if (a->parts[k].m->base.can.remote > 1) a->points[k] = a->point - 1;
  a->pending = true;
}

static cpli_task_kind kind_of_part(const void* aggregate, int32_t k) {
  const cpli_aggregate* a = aggregate;
  if (a->points[k] == a->point) return CPLI_TASK_STAYS;
  const int remote = a->parts[k].m->base.can.remote;
  return remote > 1 ? CPLI_TASK_REMOTE : remote > 0 ? CPLI_TASK_WAITS : CPLI_TASK_STAYS;
}

static cpl_status give_part(void* aggregate, int32_t k, int32_t worker) {
  cpli_aggregate* a = aggregate;
  (void)worker;
  return a->points[k] != a->point ? give(a, &a->parts[k]) : CPL_OK;
}

cpl_status cpli_give_point(cpli_aggregate* a) {
  cpl_status st = CPL_OK;
  if (!a->pending) return CPL_OK;
  if (a->base.base.can.remote > 0) {
    st = cpli_overlap(a->base.base.ctx, a->n_parts, kind_of_part, give_part, a);
    if (st != CPL_OK) forget_remote_points(a);
  }
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) st = give_part(a, k, 0);
  if (st == CPL_OK) a->pending = false;
  return st;
}

void cpli_forget_point(cpli_aggregate* a) {
  for (int32_t k = 0; k < a->n_parts; k++) a->points[k] = a->point;
  a->pending = false;
}

//------------------------------------ operations ------------------------------------

// Whether some components of this one are in other processes.
static bool is_composed(const cpli_aggregate* a, const cpli_eval_op* op) {
  return a->parts[op->part].m->base.can.remote == 1;
}

// The scratch of a thread; that of the operation, where other calls of this thread may come between
// the first and the last use of it.
static double* reals_of(const cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op,
                        int32_t worker) {
  if (p->apart != NULL && is_composed(a, op)) return p->apart + op->first;
  return a->gathered + (size_t)worker * (size_t)a->n_nodes;
}
static int64_t* integers_of(const cpli_aggregate* a, const cpli_eval_plan* p,
                            const cpli_eval_op* op, int32_t worker) {
  if (p->apart != NULL && is_composed(a, op)) return p->apart_integers + op->first;
  return a->gathered_integers + (size_t)worker * (size_t)a->n_nodes;
}

static cpl_status get(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op,
                      int32_t worker) {
  cpl_component* c = &a->parts[op->part].m->base;
  const uint32_t* refs = p->refs + op->first;
  const int32_t* nodes = p->nodes + op->first;
  size_t n = (size_t)op->count;
  if (op->in_row) return c->ops->get_real(c, refs, n, a->value + nodes[0]);
  if (op->type == CPL_REAL) {
    double* reals = reals_of(a, p, op, worker);
    cpl_status st = c->ops->get_real(c, refs, n, reals);
    for (size_t i = 0; i < n; i++) a->value[nodes[i]] = reals[i];
    return st;
  }
  int64_t* integers = integers_of(a, p, op, worker);
  cpl_status st = c->ops->get_integer(c, (cpl_type)op->type, refs, n, integers);
  for (size_t i = 0; i < n; i++) a->value[nodes[i]] = (double)integers[i];
  return st;
}

// The value of a node that is an input; a plain coupling is computed here.
static double input(cpli_aggregate* a, const cpli_wire* w, int32_t node) {
  if (w->source >= 0) a->value[node] = w->factor * a->value[w->source] + w->offset;
  return a->value[node];
}

// The same for inputs whose nodes follow each other.
static void set_row(const double* value, const cpli_wire* wires, size_t n, double* to) {
  for (size_t i = 0; i < n; i++) {
    const cpli_wire* w = &wires[i];
    if (w->source >= 0) to[i] = w->factor * value[w->source] + w->offset;
  }
}

static cpl_status set(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op,
                      int32_t worker) {
  cpl_component* c = &a->parts[op->part].m->base;
  const uint32_t* refs = p->refs + op->first;
  const int32_t* nodes = p->nodes + op->first;
  const cpli_wire* wires = p->wires + op->first;
  size_t n = (size_t)op->count;
  if (op->in_row) {
    set_row(a->value, wires, n, a->value + nodes[0]);
    return c->ops->set_real(c, refs, n, a->value + nodes[0]);
  }
  if (op->type == CPL_REAL) {
    double* reals = reals_of(a, p, op, worker);
    for (size_t i = 0; i < n; i++) reals[i] = input(a, &wires[i], nodes[i]);
    return c->ops->set_real(c, refs, n, reals);
  }
  int64_t* integers = integers_of(a, p, op, worker);
  for (size_t i = 0; i < n; i++) {
    double value = a->value[nodes[i]];
    if (!(fabs(value) < 9e15)) {
      return cpl_fail_in(c->ctx, CPL_ERR_MODEL, c->name, NULL, a->t,
                         "an integer input would get the value %g at t=%.17g", value, a->t);
    }
    integers[i] = llround(value);
  }
  return c->ops->set_integer(c, (cpl_type)op->type, refs, n, integers);
}

static cpl_status couple(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op) {
  const int32_t* nodes = p->nodes + op->first;
  const cpli_wire* wires = p->wires + op->first;
  int32_t done = 0;
  for (int32_t k = 0; k < op->n_batches; k++) {
    const cpli_batch* b = &p->batches[op->first_batch + k];
    cpl_status st = cpli_batch_evaluate(a, p, b);
    if (st != CPL_OK) return st;
    done += b->count;
  }
  for (int32_t i = done; i < op->count - op->merged; i++) {
    if (wires[i].source >= 0) {
      a->value[nodes[i]] = wires[i].factor * a->value[wires[i].source] + wires[i].offset;
      continue;
    }
    cpl_status st =
        cpli_coupling_value(a, &a->links[a->nodes[nodes[i]].coupling], &a->value[nodes[i]]);
    if (st != CPL_OK) return st;
  }
  return CPL_OK;
}

static cpl_status derive(cpli_aggregate* a, cpli_part* part) {
  return part->m->ops->get_derivatives(part->m, a->derivatives + part->first_state);
}

static cpl_status call(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op,
                       int32_t worker) {
  cpli_part* part = &a->parts[op->part];
  cpl_status st = a->points[op->part] != a->point ? give(a, part) : CPL_OK;
  if (st != CPL_OK) return st;
  st = op->kind == CPLI_OP_GET ? get(a, p, op, worker) : set(a, p, op, worker);
  return st == CPL_OK && op->last && a->derivatives != NULL ? derive(a, part) : st;
}

cpl_status cpli_walk(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* ops,
                     size_t n) {
  for (size_t i = 0; i < n; i++) {
    cpl_status st = CPL_OK;
    switch (ops[i].kind) {
      case CPLI_OP_GET:
      case CPLI_OP_SET: st = call(a, p, &ops[i], 0); break;
      case CPLI_OP_COUPLE: st = couple(a, p, &ops[i]); break;
      case CPLI_OP_LOOP: st = cpli_loop_solve(a, p, p->loops[ops[i].first]); break;
    }
    if (st != CPL_OK) return st;
  }
  return CPL_OK;
}

//------------------------------------ segments ------------------------------------

typedef struct walk {
  cpli_aggregate* a;
  const cpli_eval_plan* p;
  const int32_t* tasks;  // of the segment, or of a batch
  const cpli_eval_call* calls;
} walk;

static cpl_status call_part(void* user, int32_t task, int32_t worker) {
  const walk* w = user;
  cpl_status st = CPL_OK;
  for (int32_t i = w->tasks[task]; i < w->tasks[task + 1] && st == CPL_OK; i++)
    st = call(w->a, w->p, &w->p->ops[w->p->by_part[i]], worker);
  return st;
}

// The arguments of all components of a batch; its operands begin with those of `op`.
static cpl_evaluation arguments(cpli_aggregate* a, const walk* w, const cpli_eval_call* c,
                                const cpli_eval_op* op, bool given, double* reals) {
  const cpli_part* part = &a->parts[op->part];
  const int32_t *first = w->p->operands + c->operands, n = first[c->n];
  cpl_evaluation e = {.t = a->t, .first = first};
  if (!given) e.x = a->x + part->first_state;
  if (op->kind == CPLI_OP_GET) {
    e.outputs = w->p->refs + op->first;
    e.y = reals;
    return e;
  }
  const int32_t* nodes = w->p->nodes + op->first;
  const cpli_wire* wires = w->p->wires + op->first;
  for (int32_t i = 0; i < n && !c->in_row; i++) reals[i] = input(a, &wires[i], nodes[i]);
  if (c->in_row && c->wired) set_row(a->value, wires, (size_t)n, reals);
  e.inputs = w->p->refs + op->first;
  e.u = reals;
  if (op->last && a->derivatives != NULL) e.dx = a->derivatives + part->first_state;
  return e;
}

static cpl_status call_batch(const walk* w, const cpli_eval_call* c, int32_t worker) {
  cpli_aggregate* a = w->a;
  const int32_t* tasks = w->tasks + c->task;
  const cpli_eval_op* op = &w->p->ops[w->p->by_part[tasks[0]]];
  const int32_t *first = w->p->operands + c->operands, *nodes = w->p->nodes + op->first;
  int64_t* points = a->points + op->part;
  double* reals = c->in_row ? a->value + nodes[0] : reals_of(a, w->p, op, worker);
  size_t done = 0;
  bool given = true;
  for (int32_t i = 0; i < c->n; i++) given = given && points[i] == a->point;
  const cpl_evaluation e = arguments(a, w, c, op, given, reals);
  const cpl_status st =
      a->parts[op->part].m->ops->evaluate(w->p->called + tasks[0], (size_t)c->n, &e, &done);
  for (int32_t i = 0; i < (int32_t)done; i++) points[i] = a->point;
  for (int32_t i = 0; i < first[done] && e.y != NULL && !c->in_row; i++)
    a->value[nodes[i]] = reals[i];
  if (st <= 0) return st;
  walk rest = {.a = a, .p = w->p, .tasks = tasks};
  return cpli_parallel_finish(w->p->ctx, (int32_t)done + 1, c->n, call_part, &rest, worker, st);
}

static cpl_status call_some(void* user, int32_t i, int32_t worker) {
  const walk* w = user;
  const cpli_eval_call* c = &w->calls[i];
  return c->n > 1 ? call_batch(w, c, worker) : call_part(user, c->task, worker);
}

cpl_status cpli_walk_segments(cpli_aggregate* a, const cpli_eval_plan* p) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < p->n_segments && st == CPL_OK; i++) {
    const cpli_eval_segment* s = &p->segments[i];
    walk w = {a, p, p->tasks + s->first_task, p->calls + s->first_call};
    if (s->n_calls > 1 || s->parallel != NULL)
      st = cpli_parallel_run(p->ctx, s->parallel, s->n_calls, call_some, &w);
    else if (s->n_calls == 1) st = call_some(&w, 0, 0);
    else st = cpli_walk(a, p, &p->ops[s->first], (size_t)(s->end - s->first));
  }
  if (st == CPL_OK && p->calls_all) a->pending = false;
  return st;
}

cpl_status cpli_evaluate(cpli_aggregate* a) {
  if (a->fresh) return CPL_OK;
  cpl_status st = cpli_walk_segments(a, a->plans[a->phase]);
  if (st != CPL_OK) forget_remote_points(a);
  if (st == CPL_OK) st = cpli_give_point(a);
  a->fresh = st == CPL_OK;
  a->evaluations++;
  return st;
}

typedef struct rest {
  cpli_aggregate* a;
  const bool* derived;  // those whose derivatives are there. Nullable
} rest;

static cpl_status derive_part(void* user, int32_t k, int32_t worker) {
  const rest* r = user;
  cpli_part* part = &r->a->parts[k];
  (void)worker;
  if (part->n_states == 0 || (r->derived != NULL && r->derived[k])) return CPL_OK;
  return derive(r->a, part);
}

// Of one component that nothing is coupled to: its outputs are not needed.
static cpl_status derive_alone(cpli_aggregate* a, double* dx) {
  cpli_part* part = &a->parts[0];
  cpl_status st = a->points[0] != a->point ? give(a, part) : CPL_OK;
  if (st == CPL_OK) a->pending = false;
  return st == CPL_OK && part->n_states > 0 ? part->m->ops->get_derivatives(part->m, dx) : st;
}

cpl_status cpli_evaluate_derivatives(cpli_aggregate* a, double* dx) {
  bool early = !a->fresh && a->phase == CPLI_PLAN_CONTINUOUS;
  if (early && a->uncoupled) return derive_alone(a, dx);
  const cpli_eval_plan* p = a->plans[a->phase];
  double* outer = a->derivatives;
  a->derivatives = early ? dx : NULL;
  cpl_status st = cpli_evaluate(a);
  a->derivatives = dx;
  rest r = {a, early ? p->derived : NULL};
  if (st == CPL_OK && !(early && p->derives_all))
    st = cpli_each_part(a, a->derivatives_of, derive_part, &r);
  a->derivatives = outer;
  return st;
}

cpl_status cpli_part_jacobian(cpli_aggregate* a, int32_t part, cpl_jacobian* jac, bool entries,
                              double* out, bool* changed) {
  cpli_since since = {.run = a->phase != CPLI_PLAN_INITIAL ? a->runs : 0,
                      .event = a->phase == CPLI_PLAN_CONTINUOUS ? a->events : 0};
  return cpli_jacobian_refresh(jac, a->x + a->parts[part].first_state, since, entries, out,
                               changed);
}
