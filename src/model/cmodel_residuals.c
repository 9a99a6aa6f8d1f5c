// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Algebraic variables of models in C. The model solves for them itself, except in continuous time
// in the form with residuals, where the solver sets them. The initial guess is always the last
// accepted step, never a trial point, so that an evaluation does not depend on the ones before it.
#include <math.h>

#include "model/cmodel_instance.h"

static void run_residuals(void* user) {
  cpli_c_call* c = user;
  c->result = c->def->residuals(c->v, c->out);
}
static void run_constraints(void* user) {
  cpli_c_call* c = user;
  c->result = c->def->constraints(c->v, c->out);
}

static cpl_status evaluate(cpli_c_instance* in, double* g) {
  return cpli_cmodel_invoke(in, "residuals", run_residuals,
                            &(cpli_c_call){.out = g, .early = true});
}

static cpl_status residuals_at(void* user, const double* z, double* g) {
  cpli_c_instance* in = user;
  memcpy(in->v + in->cm->at.a, z, in->cm->at.na * sizeof *z);
  cpl_status st = evaluate(in, g);
  double sum = 0;
  for (uint32_t i = 0; i < in->cm->at.na && st == CPL_OK; i++) sum += g[i] - g[i];
  return sum == 0 ? st : CPL_RETRY;
}

cpl_status cpli_cmodel_undetermined(const cpli_c_instance* in, int32_t algebraic) {
  const cpl_description* d = &in->cm->desc;
  const char* name = d->vars[d->algebraics[algebraic]].name;
  return cpl_fail_in(in->base.base.ctx, CPL_RETRY, in->base.base.name, name, in->t,
                     "the residuals do not determine %s at t=%.12g: they do not depend on it, "
                     "or only in combination with others",
                     name, in->t);
}

static cpl_status no_way(cpli_c_instance* in) {
  if (in->algebra.bad >= 0) return cpli_cmodel_undetermined(in, in->algebra.bad);
  double max = 0;
  for (uint32_t i = 0; i < in->cm->at.na; i++) max = fmax(max, fabs(in->algebra.g[i]));
  return cpl_fail_in(in->base.base.ctx, CPL_RETRY, in->base.base.name, NULL, in->t,
                     "no algebraic variables were found that make the residuals zero at t=%.12g "
                     "(the largest is %.3g)",
                     in->t, max);
}

cpl_status cpli_cmodel_solve_algebraics(cpli_c_instance* in) {
  const cpli_layout* at = &in->cm->at;
  if (cpli_cmodel_algebraics_given(in)) return CPL_OK;
  cpl_status st = cpli_cmodel_initialize(in);
  if (st != CPL_OK) return st;
  memcpy(in->sought, in->guess, at->na * sizeof(double));
  st = cpli_algebra_solve(&in->algebra, in->sought);
  memcpy(in->v + at->a, in->sought, at->na * sizeof(double));
  in->a_known = st == CPL_OK;
  return st == CPL_RETRY ? no_way(in) : st;
}

cpl_status cpli_cmodel_need_residuals(cpli_c_instance* in) {
  const cpli_layout* at = &in->cm->at;
  cpl_status st = cpli_cmodel_need_algebraics(in);
  if (st == CPL_OK) st = evaluate(in, in->v + at->g);
  if (st == CPL_OK && at->nc > 0)
    st = cpli_cmodel_invoke(in, "constraints", run_constraints,
                            &(cpli_c_call){.out = in->v + at->c});
  return st;
}

void cpli_cmodel_keep_algebraics(cpli_c_instance* in) {
  memcpy(in->guess, in->v + in->cm->at.a, in->cm->at.na * sizeof(double));
}

//------------------------------------ the form with residuals ------------------------------------

void cpli_cmodel_as_residuals(cpl_model* m, bool as_residuals) {
  ((cpli_c_instance*)m)->as_residuals = as_residuals;
}

void cpli_cmodel_give_algebraics(cpl_model* m, bool given) {
  ((cpli_c_instance*)m)->a_given = given;
}

static cpl_status use_residuals(cpl_model* m, size_t* n) {
  cpli_cmodel_as_residuals(m, true);
  *n = ((cpli_c_instance*)m)->cm->at.na;
  return CPL_OK;
}

static cpl_status set_algebraics(cpl_model* m, const double* z) {
  cpli_c_instance* in = (cpli_c_instance*)m;
  memcpy(in->v + in->cm->at.a, z, in->cm->at.na * sizeof *z);
  in->dx_known = in->y_known = in->exact.ready = false;
  return CPL_OK;
}

static cpl_status get_algebraics(cpl_model* m, double* z) {
  cpli_c_instance* in = (cpli_c_instance*)m;
  cpl_status st = cpli_cmodel_need_algebraics(in);
  memcpy(z, in->v + in->cm->at.a, in->cm->at.na * sizeof *z);
  return st;
}

static cpl_status get_nominals(cpl_model* m, double* nominals) {
  const cpl_description* d = m->base.desc;
  for (int32_t i = 0; i < d->n_algebraics; i++) nominals[i] = d->vars[d->algebraics[i]].nominal;
  return CPL_OK;
}

static cpl_status get_residuals(cpl_model* m, double* g) {
  cpli_c_instance* in = (cpli_c_instance*)m;
  cpl_status st = cpli_cmodel_need_algebraics(in);
  return st == CPL_OK ? evaluate(in, g) : st;
}

//------------------------------------ life ------------------------------------

static const cpl_dae_ops dae_ops = {.size = sizeof dae_ops,
                                    .use_residuals = use_residuals,
                                    .set_algebraics = set_algebraics,
                                    .get_algebraics = get_algebraics,
                                    .get_algebraic_nominals = get_nominals,
                                    .get_residuals = get_residuals};

cpl_status cpli_cmodel_residual_ops(cpli_c_instance* in, cpl_context* ctx) {
  uint32_t na = in->cm->at.na;
  if (na == 0) return CPL_OK;
  in->ops.dae = &dae_ops;
  in->algebra = (cpli_algebra){.n = na, .user = in, .residuals = residuals_at};
  cpl_status st = cpli_algebra_init(&in->algebra, ctx);
  return st < 0 ? st : get_nominals(&in->base, in->algebra.nominal);
}

void cpli_cmodel_residual_free(cpli_c_instance* in) {
  if (in->algebra.ctx != NULL) cpli_algebra_free(&in->algebra);
  cpli_free(in->base.base.ctx, in->exact.matrix);
  cpli_free(in->base.base.ctx, in->exact.pivot);
}
