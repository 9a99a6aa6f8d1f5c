// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The content of an FMU of sources that is made of a system of models in C: the plan, the models
// and the tables are part of the program.
#include "export/plan.h"
#include "export/runtime/fmu.h"
#include "export/runtime/portable.h"
#include "model/cmodel.h"

typedef struct c_source {
  cpl_source base;
  cpli_cmodel* cm;
} c_source;

static void destroy(cpl_source* source) {
  if (source == NULL) return;
  cpl_context* ctx = source->ctx;
  cpli_cmodel_destroy(((c_source*)source)->cm);
  cpli_free(ctx, source);
}

static cpl_status make_model(cpl_source* source, const char* name, cpl_model** out) {
  return cpli_cmodel_instance(((c_source*)source)->cm, source->ctx, name, out);
}

static const cpl_source_ops ops = {
    .size = sizeof(cpl_source_ops), .kind = "c", .destroy = destroy, .make_model = make_model};

static cpl_status open_model(void* user, cpli_arena* arena, size_t number,
                             const cpli_plan_source* s, cpl_source** out) {
  cpl_context* ctx = arena->ctx;
  const cpl_description* known = NULL;
  (void)user;
  *out = NULL;
  if (number >= cpl_fmu_n_models)
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s is not part of the sources", s->name);
  c_source* source = cpli_alloc(ctx, 1, sizeof *source);
  if (source == NULL) return cpli_nomem(ctx);
  source->base = (cpl_source){.ops = &ops, .ctx = ctx, .path = s->name};
  cpl_status st = cpli_plan_structure(ctx, arena, s, &known);
  const cpli_cmodel_host host = {.tangent = st >= 0 ? cpl_fmu_tangents[number] : NULL};
  if (st >= 0)
    st = cpli_cmodel_create_hosted(ctx, cpl_fmu_models[number], false, &host, &source->cm);
  if (st < 0) {
    destroy(&source->base);
    return st;
  }
  source->cm->desc.structure = known->structure;
  source->cm->desc.residual_structure = known->residual_structure;
  source->base.desc = &source->cm->desc;
  *out = &source->base;
  return CPL_OK;
}

static cpl_status find_table(void* user, cpli_arena* arena, const char* name, cpli_input* in) {
  (void)user;
  for (size_t i = 0; i < cpl_fmu_n_tables; i++) {
    if (strcmp(cpl_fmu_tables[i].path, name) != 0) continue;
    in->kind = CPLI_INPUT_TABLE;
    in->table = &cpl_fmu_tables[i];
    return CPL_OK;
  }
  return cpl_fail(arena->ctx, CPL_ERR_INPUT, "%s is not part of the sources", name);
}

cpl_status fmu_content_open(cpl_context* ctx, const char* resources, fmu_content* out) {
  const cpli_plan_parts parts = {.open = open_model, .table = find_table, .place = "fmu_config.c"};
  cpli_packed* p = NULL;
  (void)resources;
  *out = (fmu_content){0};
  cpl_status st = cpli_packed_make(ctx, cpl_fmu_plan, cpl_fmu_plan_size, &parts, &p);
  if (st < 0) return st;
  *out = (fmu_content){
      .source = cpli_packed_source(p), .guid = cpli_packed_guid(p), .self = p, .sets_starts = true};
  return CPL_OK;
}

void fmu_content_close(fmu_content* c) {
  cpli_packed_close(c->self);
  *c = (fmu_content){0};
}

cpl_status fmu_content_stepper(const fmu_content* c, const char* name, double rtol,
                               cpl_stepper** out) {
  (void)name, (void)rtol;
  *out = NULL;
  return cpl_fail(c->source->ctx, CPL_ERR_UNSUPPORTED, "the sources are for model exchange only");
}
