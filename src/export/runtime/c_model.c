// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The content of an FMU that is made of one model in C: the model is compiled into the binary
// (couplet_model), and co-simulation integrates it.
#include "export/runtime/fmu.h"
#include "model/cmodel.h"
#ifdef CPL_FMU_CO_SIMULATION
#include "couplet/solver.h"
#include "solver/integrate.h"
#endif

// Written by `couplet build` next to the model (fmu_config.c).
extern const char cpl_fmu_guid[];
extern const cpl_dependency* const cpl_fmu_dependencies;  // Nullable: as the model declares

typedef struct content {
  cpl_source source;
  cpl_model_def def;  // the model's, with the dependencies that were found when the FMU was built
  cpli_cmodel* cm;
  // saved states as bytes
  cpl_component_ops model_ops, stepper_ops;
  unsigned char* bytes;
} content;

static void destroy(cpl_source* source) {
  if (source == NULL) return;
  content* c = (content*)source;
  cpl_context* ctx = source->ctx;
  cpli_cmodel_destroy(c->cm);
  cpli_free(ctx, c->bytes);
  cpli_free(ctx, c);
}

//------------------------------------ saved states ------------------------------------

// Models in C and their steppers get these operations here.
static cpl_status to_bytes(content* c, size_t own, size_t model, cpl_binary* bytes) {
  unsigned char* room = cpli_realloc(c->source.ctx, c->bytes, own + model, 1);
  if (room == NULL) return cpli_nomem(c->source.ctx);
  c->bytes = room;
  *bytes = (cpl_binary){room, own + model};
  return CPL_OK;
}

#define CONTENT_OF(component, table) \
  ((content*)((char*)(uintptr_t)(component)->ops - offsetof(content, table)))

static cpl_status model_serialize(cpl_component* m, const cpl_snapshot* s, cpl_binary* bytes) {
  content* c = CONTENT_OF(m, model_ops);
  cpl_status st = to_bytes(c, 0, cpli_cmodel_serialize((cpl_model*)m, s, NULL), bytes);
  if (st >= 0) cpli_cmodel_serialize((cpl_model*)m, s, c->bytes);
  return st;
}

static cpl_status model_deserialize(cpl_component* m, const cpl_binary* bytes, cpl_snapshot* s) {
  return cpli_cmodel_deserialize((cpl_model*)m, bytes->data, bytes->size, s);
}

static void add_model_ops(content* c, cpl_component* m) {
  if (!m->can.serialize || m->ops->serialize != NULL) return;
  c->model_ops = *m->ops;
  c->model_ops.serialize = model_serialize;
  c->model_ops.deserialize = model_deserialize;
  m->ops = &c->model_ops;
}

#ifdef CPL_FMU_CO_SIMULATION
static cpl_model* model_of(const cpl_component* stepper) {
  cpl_inspection inside = {0};
  stepper->ops->inspect(stepper, 0, &inside);
  return (cpl_model*)inside.component;
}

static cpl_status stepper_serialize(cpl_component* s, const cpl_snapshot* saved,
                                    cpl_binary* bytes) {
  content* c = CONTENT_OF(s, stepper_ops);
  const cpl_snapshot* inner = cpli_integrate_model_snapshot(saved);
  size_t own = cpli_integrate_serialize((cpl_stepper*)s, saved, NULL);
  cpl_status st = to_bytes(c, own, cpli_cmodel_serialize(model_of(s), inner, NULL), bytes);
  if (st < 0) return st;
  cpli_integrate_serialize((cpl_stepper*)s, saved, c->bytes);
  cpli_cmodel_serialize(model_of(s), inner, c->bytes + own);
  return CPL_OK;
}

static cpl_status stepper_deserialize(cpl_component* s, const cpl_binary* bytes,
                                      cpl_snapshot* saved) {
  size_t own = 0;
  cpl_status st =
      cpli_integrate_deserialize((cpl_stepper*)s, bytes->data, bytes->size, saved, &own);
  return st < 0 ? st
                : cpli_cmodel_deserialize(model_of(s), bytes->data + own, bytes->size - own,
                                          cpli_integrate_model_snapshot(saved));
}
#endif

//------------------------------------ content ------------------------------------

static cpl_status make_model(cpl_source* source, const char* name, cpl_model** out) {
  content* c = (content*)source;
  cpl_status st = cpli_cmodel_instance(c->cm, source->ctx, name, out);
  if (st >= 0) add_model_ops(c, &(*out)->base);
  return st;
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
  cpl_status st = cpli_cmodel_create(ctx, &c->def, false, &c->cm);
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
  bool serializes = st >= 0 && m->base.can.serialize;
  if (st >= 0) st = cpl_integrate(m, &def, out);
  if (st < 0 || !serializes || (*out)->base.ops->serialize != NULL) return st;
  own->stepper_ops = *(*out)->base.ops;
  own->stepper_ops.serialize = stepper_serialize;
  own->stepper_ops.deserialize = stepper_deserialize;
  (*out)->base.ops = &own->stepper_ops;
  (*out)->base.can.serialize = true;
  return CPL_OK;
}
#else
cpl_status fmu_content_stepper(const fmu_content* c, const char* name, double rtol,
                               cpl_stepper** out) {
  (void)name, (void)rtol;
  *out = NULL;
  return cpl_fail(c->source->ctx, CPL_ERR_UNSUPPORTED, "the sources are for model exchange only");
}
#endif
