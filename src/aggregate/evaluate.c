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
  part->point = a->point;
  a->pending = ++a->n_given < a->n_parts;
  return CPL_OK;
}

cpl_status cpli_give_point(cpli_aggregate* a) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < a->n_parts && a->pending && st == CPL_OK; k++) {
    if (a->parts[k].point != a->point) st = give(a, &a->parts[k]);
  }
  return st;
}

void cpli_forget_point(cpli_aggregate* a) {
  for (int32_t k = 0; k < a->n_parts; k++) a->parts[k].point = a->point;
  a->pending = false;
}

//------------------------------------ operations ------------------------------------

static cpl_status get(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op) {
  cpl_component* c = &a->parts[op->part].m->base;
  const uint32_t* refs = p->refs + op->first;
  const int32_t* nodes = p->nodes + op->first;
  size_t n = (size_t)op->count;
  if (op->type == CPL_REAL) {
    cpl_status st = c->ops->get_real(c, refs, n, a->gathered);
    for (size_t i = 0; i < n; i++) a->value[nodes[i]] = a->gathered[i];
    return st;
  }
  cpl_status st = c->ops->get_integer(c, (cpl_type)op->type, refs, n, a->gathered_integers);
  for (size_t i = 0; i < n; i++) a->value[nodes[i]] = (double)a->gathered_integers[i];
  return st;
}

static cpl_status set(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op) {
  cpl_component* c = &a->parts[op->part].m->base;
  const uint32_t* refs = p->refs + op->first;
  const int32_t* nodes = p->nodes + op->first;
  const cpli_wire* wires = p->wires + op->first;
  size_t n = (size_t)op->count;
  if (op->type == CPL_REAL) {
    for (size_t i = 0; i < n; i++) {
      const cpli_wire* w = &wires[i];
      if (w->source >= 0) a->value[nodes[i]] = w->factor * a->value[w->source] + w->offset;
      a->gathered[i] = a->value[nodes[i]];
    }
    return c->ops->set_real(c, refs, n, a->gathered);
  }
  for (size_t i = 0; i < n; i++) {
    double value = a->value[nodes[i]];
    if (!(fabs(value) < 9e15)) {
      return cpl_fail_in(c->ctx, CPL_ERR_MODEL, c->name, NULL, a->t,
                         "an integer input would get the value %g at t=%.17g", value, a->t);
    }
    a->gathered_integers[i] = llround(value);
  }
  return c->ops->set_integer(c, (cpl_type)op->type, refs, n, a->gathered_integers);
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

static cpl_status call(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op) {
  cpli_part* part = &a->parts[op->part];
  cpl_status st = part->point != a->point ? give(a, part) : CPL_OK;
  if (st != CPL_OK) return st;
  st = op->kind == CPLI_OP_GET ? get(a, p, op) : set(a, p, op);
  return st == CPL_OK && op->last && a->derivatives != NULL ? derive(a, part) : st;
}

cpl_status cpli_walk(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* ops,
                     size_t n) {
  for (size_t i = 0; i < n; i++) {
    cpl_status st = CPL_OK;
    switch (ops[i].kind) {
      case CPLI_OP_GET:
      case CPLI_OP_SET: st = call(a, p, &ops[i]); break;
      case CPLI_OP_COUPLE: st = couple(a, p, &ops[i]); break;
      case CPLI_OP_LOOP: st = cpli_loop_solve(a, p, p->loops[ops[i].first]); break;
    }
    if (st != CPL_OK) return st;
  }
  return CPL_OK;
}

cpl_status cpli_evaluate(cpli_aggregate* a) {
  if (a->fresh) return CPL_OK;
  const cpli_eval_plan* p = a->plans[a->phase];
  cpl_status st = cpli_walk(a, p, p->ops, p->n_ops);
  if (st == CPL_OK) st = cpli_give_point(a);
  a->fresh = st == CPL_OK;
  a->evaluations++;
  return st;
}

cpl_status cpli_evaluate_derivatives(cpli_aggregate* a, double* dx) {
  bool early = !a->fresh && a->phase == CPLI_PLAN_CONTINUOUS;
  const cpli_eval_plan* p = a->plans[a->phase];
  double* outer = a->derivatives;
  a->derivatives = early ? dx : NULL;
  cpl_status st = cpli_evaluate(a);
  a->derivatives = dx;
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
    if (early && p->derived[k]) continue;
    if (a->parts[k].n_states > 0) st = derive(a, &a->parts[k]);
  }
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
