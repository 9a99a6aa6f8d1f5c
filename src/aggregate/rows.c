// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Algebraic loops as equations of the integrator: 0 = z - f(t, x, z), where z are the torn values
// of all loops between events. An evaluation takes z from the integrator and evaluates each loop
// once; at the start and at events loops are solved as usual, and z is the result. The values of z
// are those of their nodes, so they are saved and restored with them. Components that are
// differential-algebraic systems themselves switch to their form with residuals: their algebraic
// variables and residuals are unknowns and rows, too.
#include <math.h>

#include "aggregate/aggregate.h"

static const cpli_eval_plan* plan_of(const cpli_aggregate* a) {
  return a->plans[CPLI_PLAN_CONTINUOUS];
}

static int32_t count_rows(const cpli_aggregate* a) {
  const cpli_eval_plan* p = plan_of(a);
  int32_t n = 0;
  for (size_t i = 0; i < p->n_loops; i++) n += cpli_loop_torn(p->loops[i]).n;
  return n;
}

static void take_loops(cpli_aggregate* a) {
  const cpli_eval_plan* p = plan_of(a);
  cpli_loop_rows* r = a->rows;
  for (size_t i = 0; i < p->n_loops; i++) {
    cpli_torn torn = cpli_loop_torn(p->loops[i]);
    if (torn.n == 0) continue;
    memcpy(r->nodes + r->n, torn.nodes, (size_t)torn.n * sizeof *torn.nodes);
    memcpy(r->nominals + r->n, torn.nominals, (size_t)torn.n * sizeof *torn.nominals);
    cpli_loop_report(p->loops[i], r->residuals + r->n);
    r->n += torn.n;
  }
  for (int32_t i = 0; i < r->n; i++) a->nodes[r->nodes[i]].row = true;
}

// Plain couplings of rows are equations now, not substitutions.
static cpl_status renew_newton(cpli_aggregate* a) {
  if (a->newton == NULL) return CPL_OK;
  cpli_newton_destroy(a->newton);
  a->newton = NULL;
  return cpli_newton_make(a, &a->newton);
}

// A component with residuals. One whose variables are hidden keeps the other form.
static bool has_algebraics(const cpli_part* part) {
  const cpl_description* d = part->m->base.desc;
  bool named = d->n_algebraics > 0 && part->m->ops->dae != NULL && d->form_error == NULL;
  for (int32_t i = 0; i < d->n_algebraics && named; i++)
    named = d->algebraics[i] >= 0 && d->residuals[i] >= 0;
  return named;
}

static int32_t count_algebraics(const cpli_aggregate* a) {
  int32_t n = 0;
  for (int32_t k = 0; k < a->n_parts; k++)
    n += has_algebraics(&a->parts[k]) ? a->parts[k].m->base.desc->n_algebraics : 0;
  return n;
}

static cpl_status turn_parts(cpli_aggregate* a) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < a->n_parts && st >= 0; k++) {
    size_t n = 0;
    cpl_model* m = a->parts[k].m;
    if (!has_algebraics(&a->parts[k])) continue;
    st = m->ops->dae->use_residuals(m, &n);
    a->rows->algebraics[k] = (int32_t)n;
    a->rows->n_algebraics += (int32_t)n;
  }
  return st;
}

cpl_status cpli_rows_use(cpl_model* m, size_t* n) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  size_t loops = (size_t)count_rows(a),
         algebraics = a->newton != NULL ? (size_t)count_algebraics(a) : 0;
  *n = a->n_states > 0 ? loops + algebraics : 0;  // without states there is no integrator
  if (*n == 0 || a->rows != NULL) return CPL_OK;
  cpli_loop_rows* r = cpli_arena_alloc(&a->arena, 1, sizeof *r);
  int32_t* nodes = cpli_arena_alloc(&a->arena, loops + (size_t)a->n_parts, sizeof *nodes);
  double* values = cpli_arena_alloc(&a->arena, 2 * loops + algebraics, sizeof *values);
  if (r == NULL || nodes == NULL || values == NULL) return cpli_nomem(m->base.ctx);
  *r = (cpli_loop_rows){.nodes = nodes,
                        .nominals = values,
                        .residuals = values + loops,
                        .algebraics = nodes + loops,
                        .z = values + 2 * loops};
  a->rows = r;
  a->component_ops.directional = NULL;  // the values of loops are independent from here on
  m->base.can.directional = false;
  m->base.can.parameter_directions = 0;
  take_loops(a);
  cpl_status st = algebraics > 0 ? turn_parts(a) : CPL_OK;
  return st < 0 ? st : renew_newton(a);
}

cpl_status cpli_rows_match(cpli_aggregate* a) {
  const cpli_eval_plan* p = plan_of(a);
  const cpli_loop_rows* r = a->rows;
  int32_t n = 0;
  bool same = count_rows(a) == r->n;
  for (size_t i = 0; i < p->n_loops && same; i++) {
    cpli_torn torn = cpli_loop_torn(p->loops[i]);
    if (torn.n == 0) continue;
    same = memcmp(r->nodes + n, torn.nodes, (size_t)torn.n * sizeof *torn.nodes) == 0;
    cpli_loop_report(p->loops[i], r->residuals + n);
    n += torn.n;
  }
  if (same) return CPL_OK;
  return cpl_fail_in(a->base.base.ctx, CPL_ERR_UNSUPPORTED, a->name, NULL, NAN,
                     "outputs of a model depend on inputs contrary to its description, so the "
                     "algebraic loops differ from it and cannot be rows of the integrator: "
                     "solve them nested");
}

cpl_status cpli_rows_set(cpl_model* m, const double* z) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  cpli_loop_rows* r = a->rows;
  a->fresh = a->fresh && r->given;
  r->given = true;
  for (int32_t i = 0; i < r->n; i++) {
    double* value = &a->value[r->nodes[i]];
    a->fresh = a->fresh && *value == z[i];
    *value = z[i];
  }
  const double* given = z + r->n;
  a->fresh = a->fresh && memcmp(r->z, given, (size_t)r->n_algebraics * sizeof *z) == 0;
  if (a->fresh || r->n_algebraics == 0) return CPL_OK;
  memcpy(r->z, given, (size_t)r->n_algebraics * sizeof *z);
  cpl_status st = cpli_give_point(a);
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
    cpl_model* part = a->parts[k].m;
    if (r->algebraics[k] > 0) st = part->ops->dae->set_algebraics(part, given);
    given += r->algebraics[k];
  }
  return st;
}

// Of the components, one after the other.
static cpl_status gather_parts(cpli_aggregate* a, double* out,
                               cpl_status (*get)(cpl_model* m, double* values)) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
    if (a->rows->algebraics[k] > 0) st = get(a->parts[k].m, out);
    out += a->rows->algebraics[k];
  }
  return st;
}

static cpl_status algebraics_of(cpl_model* m, double* z) {
  return m->ops->dae->get_algebraics(m, z);
}
static cpl_status residuals_of(cpl_model* m, double* g) { return m->ops->dae->get_residuals(m, g); }
static cpl_status nominals_of(cpl_model* m, double* nominals) {
  return m->ops->dae->get_algebraic_nominals(m, nominals);
}

cpl_status cpli_rows_get(cpl_model* m, double* z) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  cpl_status st = cpli_evaluate(a);
  if (st == CPL_OK) cpli_gather(a, a->rows->nodes, a->rows->n, z);
  return st == CPL_OK ? gather_parts(a, z + a->rows->n, algebraics_of) : st;
}

cpl_status cpli_rows_nominals(cpl_model* m, double* nominals) {
  const cpli_loop_rows* r = ((cpli_aggregate*)m)->rows;
  if (r->n > 0) memcpy(nominals, r->nominals, (size_t)r->n * sizeof *nominals);
  return gather_parts((cpli_aggregate*)m, nominals + r->n, nominals_of);
}

cpl_status cpli_rows_residuals(cpl_model* m, double* g) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  const cpli_loop_rows* r = a->rows;
  cpl_status st = cpli_evaluate(a);
  for (int32_t i = 0; i < r->n && st == CPL_OK; i++) {
    g[i] = r->given ? r->residuals[i] : 0;
    if (isfinite(g[i])) continue;
    st = cpl_fail_in(m->base.ctx, CPL_RETRY, a->name, cpli_node_name(a, r->nodes[i]), a->t,
                     "the algebraic loop through %s gives %g at t=%.17g",
                     cpli_node_name(a, r->nodes[i]), g[i], a->t);
  }
  return st == CPL_OK ? gather_parts(a, g + r->n, residuals_of) : st;
}
