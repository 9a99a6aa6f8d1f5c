// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMUs of the layered standard FMI-LS-DAE as differential-algebraic models. Residuals before they
// were differentiated are constraints, unless the FMU has functions for those.
#include "fmi/fmi3_calls.h"

static cpli_fmi3* instance_of(cpl_model* m) { return (cpli_fmi3*)m; }

static size_t n_algebraics(const cpl_model* m) { return (size_t)m->base.desc->n_algebraics; }

static cpl_status use_residuals(cpl_model* m, size_t* n) {
  cpli_fmi3* in = instance_of(m);
  in->as_residuals = true;
  *n = n_algebraics(m);
  return cpli_fmi3_configure(in);
}

static cpl_status set_algebraics(cpl_model* m, const double* z) {
  return cpli_fmi3_set_real(&m->base, instance_of(m)->algebraic_refs, n_algebraics(m), z);
}

static cpl_status get_algebraics(cpl_model* m, double* z) {
  return cpli_fmi3_get_real(&m->base, instance_of(m)->algebraic_refs, n_algebraics(m), z);
}

static cpl_status get_residuals(cpl_model* m, double* g) {
  return cpli_fmi3_get_real(&m->base, instance_of(m)->residual_refs, n_algebraics(m), g);
}

static cpl_status get_nominals(cpl_model* m, double* nominals) {
  const cpl_description* d = m->base.desc;
  const cpli_fmi3* in = instance_of(m);
  for (int32_t i = 0; i < d->n_algebraics; i++) {
    nominals[i] = d->vars[d->algebraics[i]].nominal;
    if (in->base.fmu->dae.nominals[i] < 0) continue;
    cpl_status st = cpli_fmi3_get_real(&m->base, &in->nominal_refs[i], 1, &nominals[i]);
    if (st != CPL_OK) return st;
  }
  cpli_clean_nominals(nominals, n_algebraics(m));
  return CPL_OK;
}

// The manifest speaks of this form only.
static cpl_status count_constraints(cpl_model* m, size_t* n) {
  *n = instance_of(m)->as_residuals ? (size_t)m->base.desc->n_formulations : 0;
  return CPL_OK;
}

static cpl_status get_constraints(cpl_model* m, double* c) {
  return cpli_fmi3_get_real(&m->base, instance_of(m)->formulation_refs,
                            (size_t)m->base.desc->n_formulations, c);
}

static const cpl_dae_ops dae_ops = {.size = sizeof dae_ops,
                                    .use_residuals = use_residuals,
                                    .set_algebraics = set_algebraics,
                                    .get_algebraics = get_algebraics,
                                    .get_algebraic_nominals = get_nominals,
                                    .get_residuals = get_residuals};
static const cpl_constraint_ops constraint_ops = {
    .size = sizeof constraint_ops, .count = count_constraints, .get = get_constraints};

//------------------------------------ life ------------------------------------

static bool list_refs(cpli_fmi3* in, uint32_t** out, const int32_t* vars, int32_t n) {
  const cpl_description* d = &in->base.fmu->desc;
  *out = cpli_alloc(in->base.head.component.ctx, (size_t)n, sizeof **out);
  for (int32_t i = 0; *out != NULL && i < n; i++)
    (*out)[i] = vars[i] >= 0 ? d->vars[vars[i]].ref : 0;
  return *out != NULL;
}

cpl_status cpli_fmi3_offer_residuals(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  const cpl_description* d = &fmu->desc;
  cpl_model_ops* ops = &in->base.model_ops;
  if (!fmu->dae.present || d->n_algebraics == 0) return CPL_OK;
  if (!list_refs(in, &in->algebraic_refs, d->algebraics, d->n_algebraics) ||
      !list_refs(in, &in->nominal_refs, fmu->dae.nominals, d->n_algebraics) ||
      !list_refs(in, &in->residual_refs, d->residuals, d->n_algebraics) ||
      !list_refs(in, &in->formulation_refs, d->formulation_vars, d->n_formulations))
    return cpli_nomem(in->base.head.component.ctx);
  ops->dae = &dae_ops;
  if (d->n_formulations > 0 && ops->constraints == NULL) ops->constraints = &constraint_ops;
  return CPL_OK;
}

void cpli_fmi3_residuals_release(cpli_fmi3* in) {
  cpl_context* ctx = in->base.head.component.ctx;
  cpli_free(ctx, in->algebraic_refs);
  cpli_free(ctx, in->nominal_refs);
  cpli_free(ctx, in->residual_refs);
  cpli_free(ctx, in->formulation_refs);
}
