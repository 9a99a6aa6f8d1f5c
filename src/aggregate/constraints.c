// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Constraints of the whole: those of the components, then those of the aggregate itself, which are
// signals with a constant value. Inputs of components depend on states of others, so residuals are
// those of an evaluated point; gradients.c has their derivatives.
#include <math.h>

#include "aggregate/aggregate.h"

enum { MAX_ROUNDS = 20 };  // of components that project themselves, one by one

static bool has_constraints(const cpli_part* part) {
  return part->m->base.desc->n_constraints > 0 && part->m->ops->constraints != NULL;
}

// The values of "at start", after the events of the start.
static cpl_status remember_start(cpli_aggregate* a) {
  if (a->start_known || a->n_constraints == 0) return CPL_OK;
  cpl_status st = cpli_evaluate(a);
  if (st != CPL_OK) return st;
  for (int32_t i = 0; i < a->n_constraints; i++) {
    const cpl_constraint* k = &a->constraints[i];
    a->at_start[i] = k->at_start ? a->value[a->first_signal + k->signal] : 0;
  }
  a->start_known = true;
  return CPL_OK;
}

static cpl_status count(cpl_model* m, size_t* n) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  cpl_status st = cpli_give_point(a);
  if (st == CPL_OK) st = remember_start(a);
  cpli_gradients_recount(a->gradients);
  *n = (size_t)a->n_constraints;
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
    cpli_part* part = &a->parts[k];
    part->n_active = 0;
    if (!has_constraints(part)) continue;
    st = part->m->ops->constraints->count(part->m, &part->n_active);
    *n += part->n_active;
  }
  return st;
}

static void name_in_part(const cpl_model* m, size_t i, char* out, size_t size) {
  char inner[200];
  snprintf(inner, sizeof inner, "constraint %zu", i + 1);
  if (m->ops->constraints->name != NULL) m->ops->constraints->name(m, i, inner, sizeof inner);
  snprintf(out, size, "%s of %s", inner, m->base.name);
}

static void name(const cpl_model* m, size_t constraint, char* out, size_t size) {
  const cpli_aggregate* a = (const cpli_aggregate*)m;
  for (int32_t k = 0; k < a->n_parts; k++) {
    const cpli_part* part = &a->parts[k];
    if (constraint < part->n_active) {
      name_in_part(part->m, constraint, out, size);
      return;
    }
    constraint -= part->n_active;
  }
  snprintf(out, size, "%s", a->signals[a->constraints[constraint].signal].name);
}

static cpl_status get(cpl_model* m, double* c) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  cpl_status st = cpli_evaluate(a);
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
    cpli_part* part = &a->parts[k];
    if (part->n_active == 0) continue;
    st = part->m->ops->constraints->get(part->m, a->constraint_room);
    memcpy(c, a->constraint_room, part->n_active * sizeof *c);
    c += part->n_active;
  }
  for (int32_t i = 0; i < a->n_constraints && st == CPL_OK; i++)
    c[i] = a->value[a->first_signal + a->constraints[i].signal] - a->at_start[i];
  return st;
}

//------------------------------------ parts that only project themselves -------------------------

static cpl_status part_projection(cpli_part* part, double tolerance, size_t max, double* change) {
  const cpl_constraint_ops* ops = part->m->ops->constraints;
  if (ops->projection != NULL) return ops->projection(part->m, tolerance, max, change);
  return ops->projection_step(part->m, change);
}

static double nominal(const cpli_part* part, int32_t state) {
  const cpl_description* d = part->m->base.desc;
  return d->states[state] >= 0 ? d->vars[d->states[state]].nominal : 1;
}

// One by one until none moves any more: each projection changes inputs of the others.
static cpl_status projection(cpl_model* m, double tolerance, size_t max, double* change) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  size_t n = (size_t)a->n_states;
  double *before = a->constraint_room, *x = before + n;
  memcpy(before, a->x, n * sizeof *x);
  memcpy(x, a->x, n * sizeof *x);
  cpl_status st = CPL_OK;
  bool moves = true;
  for (int round = 0; moves && st == CPL_OK; round++) {
    moves = false;
    if (round == MAX_ROUNDS)
      return cpl_fail_in(m->base.ctx, CPL_RETRY, a->name, NULL, a->t,
                         "the projections of the models do not converge at t=%.12g", a->t);
    for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
      cpli_part* part = &a->parts[k];
      if (part->n_active == 0) continue;
      double* own = change + part->first_state;
      st = cpli_evaluate(a);
      if (st == CPL_OK) st = part_projection(part, tolerance, max, own);
      for (int32_t i = 0; i < part->n_states && st == CPL_OK; i++) {
        double* at = &x[part->first_state + i];
        moves = moves || fabs(own[i]) > 1e-3 * tolerance * fmax(nominal(part, i), fabs(*at));
        *at += own[i];
      }
      if (st == CPL_OK) st = m->ops->set_states(m, x);
    }
  }
  for (size_t i = 0; i < n; i++) change[i] = x[i] - before[i];
  if (st < 0) return st;
  cpl_status back = m->ops->set_states(m, before);
  return st != CPL_OK ? st : back;
}

//------------------------------------ which ------------------------------------

cpl_status cpli_constraints_take(cpli_aggregate* a, const cpl_aggregate_def* def) {
  size_t n = (size_t)def->n_constraints;
  a->n_constraints = def->n_constraints;
  a->constraints = cpli_arena_alloc(&a->arena, n, sizeof *a->constraints);
  a->at_start = cpli_arena_alloc(&a->arena, n, sizeof *a->at_start);
  if (a->constraints == NULL || a->at_start == NULL) return cpli_nomem(a->base.base.ctx);
  if (n > 0) memcpy(a->constraints, def->constraints, n * sizeof *a->constraints);
  return CPL_OK;
}

static const cpl_constraint_ops projection_ops = {
    .size = sizeof projection_ops, .count = count, .name = name, .projection = projection};
static const cpl_constraint_ops residual_ops = {.size = sizeof residual_ops,
                                                .count = count,
                                                .name = name,
                                                .get = get,
                                                .pattern = cpli_gradients_pattern,
                                                .entries = cpli_gradients_entries};

cpl_status cpli_constraints_make(cpli_aggregate* a) {
  cpl_context* ctx = a->base.base.ctx;
  size_t max = 0, n = (size_t)a->n_states, own = (size_t)a->n_constraints;
  bool residuals = true;
  for (int32_t k = 0; k < a->n_parts; k++) {
    cpli_part* part = &a->parts[k];
    if (!has_constraints(part)) continue;
    size_t here = (size_t)part->m->base.desc->n_constraints;
    a->desc->n_constraints += (int32_t)here;
    if (here > max) max = here;
    residuals = residuals && part->m->ops->constraints->get != NULL;
  }
  a->desc->n_constraints += a->n_constraints;
  if (a->desc->n_constraints == 0) return CPL_OK;
  if (!residuals && own > 0)
    return cpl_fail_in(ctx, CPL_ERR_UNSUPPORTED, a->name, NULL, NAN,
                       "constraints of the system cannot be combined with those of a model that "
                       "offers a projection but no residuals");
  a->constraint_room = cpli_arena_alloc(&a->arena, max + 2 * n + 1, sizeof(double));
  if (a->constraint_room == NULL) return cpli_nomem(ctx);
  a->ops.constraints = residuals ? &residual_ops : &projection_ops;
  return residuals ? cpli_gradients_make(a, &a->gradients) : CPL_OK;
}
