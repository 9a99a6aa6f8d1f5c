// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The product of the Jacobian of the whole with a vector, without the Jacobian: the states change
// in one direction, and the plan is evaluated with changes instead of values. Every component gives
// the directional derivatives of its outputs and derivatives, couplings use their gradients, and
// loops are linear systems.
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "aggregate/aggregate.h"
#include "base/error.h"

typedef struct share {     // of a component
  int32_t first, n_known;  // its states, then its coupled inputs, in known and seed
  int32_t n_states;
} share;

typedef struct cpli_direction {
  cpl_context* ctx;
  share* shares;
  uint32_t* known;       // references
  double* seed;          // change of each of them
  uint32_t* derivative;  // references, in the order of all states
  int32_t* position;     // node: where it stands in seed (an input, or a state that is read)
                         // or -1
  double* change;        // of the nodes
  uint32_t* asked;       // scratch
  double* got;
  int32_t* of;
  bool fails;  // a component failed once: differences are used
  double *x, *base, *moved;
} direction;

//------------------------------------ make ------------------------------------

// FMI allows derivatives of outputs and state derivatives, not of other variables.
static bool may_be_asked(const cpl_description* d, int32_t var) {
  return d->vars[var].causality == CPL_CAUSALITY_OUTPUT;
}

static int32_t state_index(const cpl_description* d, int32_t var) {
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->states[k] == var) return k;
  }
  return -1;
}

// Whether every component has the derivatives needed; and the positions of nodes.
static bool place_nodes(const cpli_aggregate* a, direction* d) {
  for (int32_t k = 0; k < a->n_parts; k++) d->shares[k].n_known = a->parts[k].n_states;
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    d->position[i] = -1;
    if (node->part < 0 || !cpli_is_smooth(node)) continue;
    const cpl_component* c = &a->parts[node->part].m->base;
    if (node->kind == CPLI_NODE_INPUT) d->position[i] = d->shares[node->part].n_known++;
    else d->position[i] = state_index(c->desc, node->var);
    bool asked = node->kind == CPLI_NODE_OUTPUT && d->position[i] < 0;
    if (asked && (c->ops->directional == NULL || !may_be_asked(c->desc, node->var))) return false;
  }
  int32_t first = 0;
  for (int32_t k = 0; k < a->n_parts; k++) {
    d->shares[k].first = first;
    first += d->shares[k].n_known;
    if (a->parts[k].n_states > 0 && a->parts[k].m->base.ops->directional == NULL) return false;
  }
  return true;
}

static void fill(const cpli_aggregate* a, direction* d) {
  for (int32_t k = 0; k < a->n_parts; k++) {
    const cpli_part* part = &a->parts[k];
    const cpl_description* desc = part->m->base.desc;
    for (int32_t i = 0; i < part->n_states; i++) {
      d->known[d->shares[k].first + i] = desc->vars[desc->states[i]].ref;
      d->derivative[part->first_state + i] = desc->vars[desc->derivatives[i]].ref;
    }
  }
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    if (d->position[i] < 0) continue;
    d->position[i] += d->shares[node->part].first;
    if (node->kind == CPLI_NODE_INPUT) d->known[d->position[i]] = node->ref;
  }
}

cpl_status cpli_direction_make(cpli_aggregate* a, struct cpli_direction** out) {
  cpl_context* ctx = a->base.base.ctx;
  size_t nodes = (size_t)a->n_nodes, states = (size_t)a->n_states;
  direction* d = cpli_alloc(ctx, 1, sizeof *d);
  *out = NULL;
  if (d == NULL) return cpli_nomem(ctx);
  d->ctx = ctx;
  d->shares = cpli_alloc(ctx, (size_t)a->n_parts, sizeof *d->shares);
  d->position = cpli_alloc(ctx, 2 * nodes, sizeof *d->position);
  d->known = cpli_alloc(ctx, 2 * (nodes + states), sizeof *d->known);
  d->seed = cpli_alloc(ctx, 3 * nodes + 4 * states, sizeof *d->seed);
  bool there = d->shares != NULL && d->position != NULL && d->known != NULL && d->seed != NULL;
  if (!there || !place_nodes(a, d)) {
    cpli_direction_destroy(d);
    return there ? CPL_OK : cpli_nomem(ctx);
  }
  d->of = d->position + nodes;
  d->derivative = d->known + nodes + states;
  d->asked = d->derivative + states;
  d->change = d->seed + nodes + states;
  d->got = d->change + nodes;
  d->x = d->got + nodes;
  d->base = d->x + states;
  d->moved = d->base + states;
  fill(a, d);
  *out = d;
  return CPL_OK;
}

void cpli_direction_destroy(struct cpli_direction* d) {
  if (d == NULL) return;
  cpli_free(d->ctx, d->shares);
  cpli_free(d->ctx, d->position);
  cpli_free(d->ctx, d->known);
  cpli_free(d->ctx, d->seed);
  cpli_free(d->ctx, d);
}

//------------------------------------ walk ------------------------------------

double* cpli_direction_of(cpli_aggregate* a, int32_t node) { return &a->direction->change[node]; }

cpl_status cpli_coupling_direction(cpli_aggregate* a, cpli_coupling_edge* l, double* out) {
  cpl_status st = cpli_coupling_gradient(a, l);
  *out = 0;
  for (int32_t i = 0; i < l->n_sources && st == CPL_OK; i++)
    *out += l->gradient[i] * a->direction->change[l->sources[i]];
  return st;
}

static cpl_status ask(cpli_aggregate* a, int32_t part, const uint32_t* refs, size_t n,
                      double* out) {
  const direction* d = a->direction;
  const share* s = &d->shares[part];
  cpl_component* c = &a->parts[part].m->base;
  memset(out, 0, n * sizeof *out);
  if (s->n_known == 0 || n == 0) return CPL_OK;
  return c->ops->directional(c, refs, n, d->known + s->first, (size_t)s->n_known,
                             d->seed + s->first, out);
}

static cpl_status get(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op) {
  direction* d = a->direction;
  size_t n = 0;
  for (int32_t i = op->first; i < op->first + op->count; i++) {
    int32_t node = p->nodes[i];
    if (d->position[node] >= 0) {  // a state
      d->change[node] = d->seed[d->position[node]];
      continue;
    }
    d->of[n] = node;
    d->asked[n++] = p->refs[i];
  }
  cpl_status st = ask(a, op->part, d->asked, n, d->got);
  for (size_t i = 0; i < n && st == CPL_OK; i++) d->change[d->of[i]] = d->got[i];
  return st;
}

static cpl_status walk_one(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op) {
  direction* d = a->direction;
  cpl_status st = CPL_OK;
  if (op->kind == CPLI_OP_LOOP) return cpli_loop_direction(a, p->loops[op->first]);
  if (op->kind == CPLI_OP_GET) return op->type == CPL_REAL ? get(a, p, op) : CPL_OK;
  for (int32_t i = op->first; i < op->first + op->count && st == CPL_OK; i++) {
    int32_t node = p->nodes[i];
    if (!cpli_is_smooth(&a->nodes[node])) continue;
    if (op->kind == CPLI_OP_SET) d->seed[d->position[node]] = d->change[node];
    else st = cpli_coupling_direction(a, &a->links[a->nodes[node].coupling], &d->change[node]);
  }
  return st;
}

cpl_status cpli_direction_walk(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* ops,
                               size_t n) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) st = walk_one(a, p, &ops[i]);
  return st;
}

// Without directional derivatives: a difference in the direction, with a step that moves the state
// with the largest relative change by the square root of the rounding unit.
static cpl_status by_difference(cpl_model* m, const double* v, double* out) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  direction* d = a->direction;
  size_t n = (size_t)a->n_states;
  double length = 0;
  memcpy(d->x, a->x, n * sizeof *d->x);
  cpl_status st = m->ops->get_nominals(m, d->moved);
  for (size_t i = 0; i < n && st == CPL_OK; i++)
    length = fmax(length, fabs(v[i]) / fmax(fabs(d->x[i]), d->moved[i]));
  memset(out, 0, n * sizeof *out);
  if (st != CPL_OK || length == 0) return st;
  double h = sqrt(DBL_EPSILON) / length;
  st = m->ops->get_derivatives(m, d->base);
  for (size_t i = 0; i < n; i++) d->moved[i] = d->x[i] + h * v[i];
  if (st == CPL_OK) st = m->ops->set_states(m, d->moved);
  if (st == CPL_OK) st = m->ops->get_derivatives(m, out);
  for (size_t i = 0; i < n && st == CPL_OK; i++) out[i] = (out[i] - d->base[i]) / h;
  cpl_status back = m->ops->set_states(m, d->x);
  return st == CPL_OK ? back : st;
}

static cpl_status by_directions(cpl_model* m, const double* v, double* out) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  direction* d = a->direction;
  cpl_status st = cpli_evaluate(a);
  memset(d->seed, 0, ((size_t)a->n_nodes + (size_t)a->n_states) * sizeof *d->seed);
  memset(d->change, 0, (size_t)a->n_nodes * sizeof *d->change);
  for (int32_t k = 0; k < a->n_parts; k++) {
    const cpli_part* part = &a->parts[k];
    if (part->n_states > 0)
      memcpy(d->seed + d->shares[k].first, v + part->first_state,
             (size_t)part->n_states * sizeof *v);
  }
  const cpli_eval_plan* p = a->plans[CPLI_PLAN_CONTINUOUS];
  if (st == CPL_OK) st = cpli_direction_walk(a, p, p->ops, p->n_ops);
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
    const cpli_part* part = &a->parts[k];
    if (part->n_states == 0) continue;
    st = ask(a, k, d->derivative + part->first_state, (size_t)part->n_states,
             out + part->first_state);
  }
  return st;
}

cpl_status cpli_jacobian_times(cpl_model* m, const double* v, double* out) {
  direction* d = ((cpli_aggregate*)m)->direction;
  if (d->fails) return by_difference(m, v, out);
  cpl_status st = by_directions(m, v, out);
  if (st >= 0) return st;
  cpli_error ignored = {0};
  cpli_error* before = cpli_divert_errors(d->ctx, &ignored);
  d->fails = true;
  cpl_status without = by_difference(m, v, out);
  cpli_end_diversion(before);
  cpli_error_clear(&ignored, d->ctx);
  if (without < 0) return st;
  cpl_log(d->ctx, CPL_LOG_WARNING, m->base.name,
          "differences replace directional derivatives from now on: %s", cpl_context_error(d->ctx));
  return without;
}
