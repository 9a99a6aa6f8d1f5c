// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Constraints of models in C.
#include "model/cmodel_instance.h"

static void run_active(void* user) {
  cpli_c_call* c = user;
  c->count = c->def->active_constraints(c->v);
}
static void run_constraints(void* user) {
  cpli_c_call* c = user;
  c->result = c->def->constraints(c->v, c->out);
}
static void run_jacobian(void* user) {
  cpli_c_call* c = user;
  c->result = c->def->constraint_jacobian(c->v, c->out);
}
static void run_projection(void* user) {
  cpli_c_call* c = user;
  c->result = c->def->projection(c->v, c->out);
}

static cpl_status count(cpl_model* m, size_t* n) {
  cpli_c_instance* in = (cpli_c_instance*)m;
  const cpl_model_def* def = in->cm->def;
  cpli_c_call c = {.count = def->n_constraints};
  cpl_status st = cpli_cmodel_initialize(in);
  if (st == CPL_OK && def->active_constraints != NULL)
    st = cpli_cmodel_invoke(in, "active_constraints", run_active, &c);
  if (st == CPL_OK && (c.count < 0 || c.count > def->n_constraints)) {
    return cpl_fail_in(m->base.ctx, CPL_ERR_MODEL, m->base.name, NULL, in->t,
                       "active_constraints at t=%.12g returned %d; there are %d constraints", in->t,
                       c.count, def->n_constraints);
  }
  *n = (size_t)c.count;
  return st;
}

static cpl_status evaluate(cpl_model* m, const char* name, void (*run)(void*), double* out) {
  cpli_c_instance* in = (cpli_c_instance*)m;
  cpl_status st = cpli_cmodel_initialize(in);
  return st == CPL_OK ? cpli_cmodel_invoke(in, name, run, &(cpli_c_call){.out = out}) : st;
}

static cpl_status get(cpl_model* m, double* c) {
  return evaluate(m, "constraints", run_constraints, c);
}

static cpl_status jacobian(cpl_model* m, double* out) {
  return evaluate(m, "constraint_jacobian", run_jacobian, out);
}

static cpl_status projection(cpl_model* m, double tolerance, size_t max, double* change) {
  (void)tolerance, (void)max;
  return evaluate(m, "projection", run_projection, change);
}

#define COMMON_OPS .size = sizeof(cpl_constraint_ops), .count = count, .get = get
static const cpl_constraint_ops tables[2][2] = {
    // [Jacobian][projection]
    {{COMMON_OPS}, {COMMON_OPS, .projection = projection}},
    {{COMMON_OPS, .jacobian = jacobian},
     {COMMON_OPS, .jacobian = jacobian, .projection = projection}}};

void cpli_cmodel_constraint_ops(const cpl_model_def* def, cpl_model_ops* ops) {
  if (def->n_constraints == 0) return;
  ops->constraints = &tables[def->constraint_jacobian != NULL][def->projection != NULL];
}
