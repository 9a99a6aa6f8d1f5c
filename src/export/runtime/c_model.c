// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The content of an FMU that is made of one model in C: the model is compiled into the binary
// (couplet_model) with its tangent functions, and co-simulation integrates it.
#include "export/runtime/fmu.h"
#include "model/cmodel.h"
#ifdef CPL_FMU_CO_SIMULATION
#include "couplet/solver.h"
#include "solver/integrate.h"
#endif

// Written by `couplet build` next to the model (fmu_config.c).
extern const char cpl_fmu_guid[];
extern const cpl_dependency* const cpl_fmu_dependencies;  // Nullable: as the model declares
extern const cpl_model_tangent couplet_model_tangent;

typedef struct content {
  cpl_source source;
  cpl_model_def def;  // the model's, with the dependencies that were found when the FMU was built
  cpli_cmodel* cm;
} content;

static void destroy(cpl_source* source) {
  if (source == NULL) return;
  content* c = (content*)source;
  cpl_context* ctx = source->ctx;
  cpli_cmodel_destroy(c->cm);
  cpli_free(ctx, c);
}

//------------------------------------ content ------------------------------------

static cpl_status make_model(cpl_source* source, const char* name, cpl_model** out) {
  return cpli_cmodel_instance(((content*)source)->cm, source->ctx, name, out);
}

static const cpl_source_ops ops = {
    .size = sizeof(cpl_source_ops), .kind = "c", .destroy = destroy, .make_model = make_model};

cpl_status fmu_content_open(cpl_context* ctx, const char* resources, fmu_content* out) {
  (void)resources;
  *out = (fmu_content){.guid = cpl_fmu_guid};
  content* c = cpli_alloc(ctx, 1, sizeof *c);
  if (c == NULL) return cpli_nomem(ctx);
  out->source = &c->source;
  c->source = (cpl_source){.ops = &ops, .ctx = ctx, .path = ""};
  c->def = couplet_model;
  if (cpl_fmu_dependencies != NULL) c->def.dependencies = cpl_fmu_dependencies;
  const cpli_cmodel_host host = {.tangent = &couplet_model_tangent};
  cpl_status st = cpli_cmodel_create_hosted(ctx, &c->def, false, &host, &c->cm);
  if (st >= 0) c->source.desc = &c->cm->desc;
  return st;
}

void fmu_content_close(fmu_content* c) {
  if (c->source != NULL) c->source->ops->destroy(c->source);
  *c = (fmu_content){0};
}

#ifdef CPL_FMU_CO_SIMULATION
// The integrator begins anew at every step, so that a restored state leads to the same bits.
cpl_status fmu_content_stepper(const fmu_content* c, const char* name, double rtol,
                               cpl_stepper** out) {
  content* own = (content*)c->source;
  const cpl_default_experiment* e = &c->source->desc->experiment;
  cpl_model* m = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  def.rtol = rtol > 0 ? rtol : e->has_tolerance ? e->tolerance : 1e-6;
  def.restart_each_step = true;
  cpl_status st = cpli_cmodel_instance(own->cm, c->source->ctx, name, &m);
  return st < 0 ? st : cpl_integrate(m, &def, out);
}
#else
cpl_status fmu_content_stepper(const fmu_content* c, const char* name, double rtol,
                               cpl_stepper** out) {
  (void)name, (void)rtol;
  *out = NULL;
  return cpl_fail(c->source->ctx, CPL_ERR_UNSUPPORTED, "the sources are for model exchange only");
}
#endif
