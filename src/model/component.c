// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The operations of sources, components, models and steppers as functions, over their tables.
#include "couplet/component.h"
#include "format/source_loc.h"

#include <math.h>

#include "base/base.h"
#include "model/adopt.h"
#include "model/input_curve.h"

static cpl_status cannot(const cpl_component* c, const char* what) {
  return cpl_fail_in(c->ctx, CPL_ERR_UNSUPPORTED, c->name, NULL, NAN, "%s is not offered by %s",
                     what, c->ops->kind);
}

static bool saves(const cpl_component* c) { return cpl_component_capabilities(c).save_restore; }
static bool has_bytes(const cpl_component* c) { return cpl_component_capabilities(c).serialize; }

// What a composed component does not offer since one of its components cannot: names that one.
static cpl_status cannot_inside(const cpl_component* c, const char* what,
                                bool (*can)(const cpl_component* c)) {
  const cpl_component* cause = c;
  cpl_inspection here, child;
  for (bool deeper = true; deeper;) {
    deeper = false;
    int32_t n = cpl_component_inspect(cause, -1, &here) >= 0 ? here.n_children : 0;
    for (int32_t i = 0; i < n && !deeper; i++) {
      if (cpl_component_inspect(cause, i, &child) < 0 || child.component == NULL) continue;
      if (can(child.component)) continue;
      cause = child.component;
      deeper = true;
    }
  }
  if (cause == c) return cannot(c, what);
  return cpl_fail_in(c->ctx, CPL_ERR_UNSUPPORTED, c->name, NULL, NAN,
                     "%s is not offered, since %s (%s) does not offer it", what, cause->name,
                     cause->ops->kind);
}

//------------------------------------ sources ------------------------------------

void cpl_source_destroy(cpl_source* source) {
  if (source != NULL && source->ops->destroy != NULL) source->ops->destroy(source);
}

const cpl_description* cpl_source_description(const cpl_source* source) { return source->desc; }
const char* cpl_source_kind(const cpl_source* source) { return source->ops->kind; }
bool cpl_source_has_model(const cpl_source* source) { return CPLI_OFFERS(source->ops, make_model); }
bool cpl_source_has_stepper(const cpl_source* source) {
  return CPLI_OFFERS(source->ops, make_stepper);
}

cpl_status cpl_source_make_model(cpl_source* source, const char* name, cpl_model** out) {
  *out = NULL;
  if (CPLI_OFFERS(source->ops, make_model)) return source->ops->make_model(source, name, out);
  return cpli_fail_file(source->ctx, CPL_ERR_UNSUPPORTED, source->path,
                        "it has co-simulation only: no model can be made of it");
}

cpl_status cpl_source_make_stepper(cpl_source* source, const char* name, cpl_stepper** out) {
  *out = NULL;
  if (CPLI_OFFERS(source->ops, make_stepper)) return source->ops->make_stepper(source, name, out);
  return cpli_fail_file(source->ctx, CPL_ERR_UNSUPPORTED, source->path,
                        "it has model exchange only: cpl_integrate() makes a stepper of its model");
}

//------------------------------------ components ------------------------------------

cpl_component* cpl_model_component(cpl_model* model) { return &model->base; }
cpl_component* cpl_stepper_component(cpl_stepper* stepper) { return &stepper->base; }

const char* cpl_component_name(const cpl_component* c) { return c->name; }
const char* cpl_component_kind(const cpl_component* c) { return c->ops->kind; }
const cpl_description* cpl_component_description(const cpl_component* c) { return c->desc; }
cpl_context* cpl_component_context(const cpl_component* c) { return c->ctx; }

cpl_capabilities cpl_component_capabilities(const cpl_component* c) {
  cpl_capabilities can = c->can;  // a declared capability requires its operation
  can.save_restore = can.save_restore && CPLI_OFFERS(c->ops, save);
  can.serialize = can.serialize && CPLI_OFFERS(c->ops, serialize);
  can.directional = can.directional && CPLI_OFFERS(c->ops, directional);
  if (!can.directional) can.parameter_directions = 0;
  return can;
}

void cpl_component_destroy(cpl_component* c) {
  if (c != NULL && c->ops->destroy != NULL) c->ops->destroy(c);
}

void cpl_init_setup(cpl_setup* def, size_t size) {
  const cpl_setup all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

cpl_status cpl_component_setup(cpl_component* c, const cpl_setup* given) {
  cpl_setup setup = cpl_default_setup();
  cpl_status st = cpli_check_component(c);  // the first operation that is called
  if (st >= 0) st = cpli_read_def(c->ctx, "cpl_setup", given, &setup, sizeof setup);
  return st < 0 ? st : c->ops->setup(c, &setup);
}

cpl_status cpl_component_enter_init(cpl_component* c) { return c->ops->enter_init(c); }
cpl_status cpl_component_exit_init(cpl_component* c) { return c->ops->exit_init(c); }
cpl_status cpl_component_terminate(cpl_component* c) { return c->ops->terminate(c); }
cpl_status cpl_component_reset(cpl_component* c) { return c->ops->reset(c); }

cpl_status cpl_component_get_real(cpl_component* c, const uint32_t* refs, size_t n,
                                  double* values) {
  return c->ops->get_real(c, refs, n, values);
}

cpl_status cpl_component_set_real(cpl_component* c, const uint32_t* refs, size_t n,
                                  const double* values) {
  return c->ops->set_real(c, refs, n, values);
}

cpl_status cpl_component_get_integer(cpl_component* c, cpl_type type, const uint32_t* refs,
                                     size_t n, int64_t* values) {
  return c->ops->get_integer(c, type, refs, n, values);
}

cpl_status cpl_component_set_integer(cpl_component* c, cpl_type type, const uint32_t* refs,
                                     size_t n, const int64_t* values) {
  return c->ops->set_integer(c, type, refs, n, values);
}

cpl_status cpl_component_get_string(cpl_component* c, const uint32_t* refs, size_t n,
                                    const char** values) {
  return c->ops->get_string(c, refs, n, values);
}

cpl_status cpl_component_set_string(cpl_component* c, const uint32_t* refs, size_t n,
                                    const char* const* values) {
  return c->ops->set_string(c, refs, n, values);
}

cpl_status cpl_component_get_binary(cpl_component* c, const uint32_t* refs, size_t n,
                                    cpl_binary* values) {
  return CPLI_OFFERS(c->ops, get_binary) ? c->ops->get_binary(c, refs, n, values)
                                         : cannot(c, "reading a Binary");
}

cpl_status cpl_component_set_binary(cpl_component* c, const uint32_t* refs, size_t n,
                                    const cpl_binary* values) {
  return CPLI_OFFERS(c->ops, set_binary) ? c->ops->set_binary(c, refs, n, values)
                                         : cannot(c, "setting a Binary");
}

cpl_status cpl_component_save(cpl_component* c, cpl_snapshot* snapshot) {
  return CPLI_OFFERS(c->ops, save) ? c->ops->save(c, snapshot)
                                   : cannot_inside(c, "saving the state", saves);
}

cpl_status cpl_component_restore(cpl_component* c, const cpl_snapshot* snapshot) {
  return CPLI_OFFERS(c->ops, restore) ? c->ops->restore(c, snapshot)
                                      : cannot_inside(c, "restoring a state", saves);
}

void cpl_component_forget(cpl_component* c, cpl_snapshot* snapshot) {
  if (CPLI_OFFERS(c->ops, forget) && snapshot->data != NULL) c->ops->forget(c, snapshot);
  snapshot->data = NULL;
}

cpl_status cpl_component_serialize(cpl_component* c, const cpl_snapshot* snapshot,
                                   cpl_binary* bytes) {
  return CPLI_OFFERS(c->ops, serialize) ? c->ops->serialize(c, snapshot, bytes)
                                        : cannot_inside(c, "a state as bytes", has_bytes);
}

cpl_status cpl_component_deserialize(cpl_component* c, const cpl_binary* bytes,
                                     cpl_snapshot* snapshot) {
  return CPLI_OFFERS(c->ops, deserialize) ? c->ops->deserialize(c, bytes, snapshot)
                                          : cannot_inside(c, "a state from bytes", has_bytes);
}

cpl_status cpl_component_directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                                     const uint32_t* knowns, size_t n_knowns, const double* seed,
                                     double* sensitivity) {
  if (!CPLI_OFFERS(c->ops, directional)) return cannot(c, "a directional derivative");
  return c->ops->directional(c, unknowns, n_unknowns, knowns, n_knowns, seed, sensitivity);
}

//------------------------------------ models ------------------------------------

void cpl_model_destroy(cpl_model* m) {
  if (m != NULL) cpl_component_destroy(&m->base);
}

cpl_status cpl_model_enter_event(cpl_model* m) { return m->ops->enter_event(m); }

cpl_status cpl_model_event_update(cpl_model* m, cpl_event_info* info) {
  return m->ops->event_update(m, info);
}

cpl_status cpl_model_enter_continuous(cpl_model* m) { return m->ops->enter_continuous(m); }
cpl_status cpl_model_set_time(cpl_model* m, double t) { return m->ops->set_time(m, t); }
cpl_status cpl_model_set_states(cpl_model* m, const double* x) { return m->ops->set_states(m, x); }
cpl_status cpl_model_get_states(cpl_model* m, double* x) { return m->ops->get_states(m, x); }

cpl_status cpl_model_get_nominals(cpl_model* m, double* nominals) {
  return m->ops->get_nominals(m, nominals);
}

cpl_status cpl_model_get_derivatives(cpl_model* m, double* dx) {
  return m->ops->get_derivatives(m, dx);
}

cpl_status cpl_model_get_indicators(cpl_model* m, double* z) {
  return m->ops->get_indicators(m, z);
}

cpl_status cpl_model_completed_step(cpl_model* m, bool* enter_event, bool* terminate) {
  return m->ops->completed_step(m, enter_event, terminate);
}

cpl_status cpl_model_count_constraints(cpl_model* m, size_t* n) {
  *n = 0;
  return CPLI_OFFERS(m->ops, constraints) ? m->ops->constraints->count(m, n) : CPL_OK;
}

cpl_status cpl_model_get_constraints(cpl_model* m, double* c) {
  const cpl_constraint_ops* ops = CPLI_OFFERS(m->ops, constraints) ? m->ops->constraints : NULL;
  return ops != NULL && CPLI_OFFERS(ops, get) ? ops->get(m, c) : cannot(&m->base, "a constraint");
}

//------------------------------------ steppers ------------------------------------

void cpl_stepper_destroy(cpl_stepper* s) {
  if (s != NULL) cpl_component_destroy(&s->base);
}

cpl_status cpl_stepper_step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  return s->ops->step(s, t_end, t_limit, result);
}

cpl_status cpl_stepper_set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  if (CPLI_OFFERS(s->ops, set_curve)) return s->ops->set_curve(s, ref, curve);
  double value = cpli_curve_at(curve, curve->from);
  return s->base.ops->set_real(&s->base, &ref, 1, &value);
}

cpl_status cpl_stepper_max_step(cpl_stepper* s, double* h) {
  *h = NAN;
  return CPLI_OFFERS(s->ops, max_step) ? s->ops->max_step(s, h) : CPL_OK;
}

cpl_status cpl_stepper_get_output_derivatives(cpl_stepper* s, const uint32_t* refs, size_t n,
                                              double* values) {
  if (s->ops->get_output_derivatives != NULL)
    return s->ops->get_output_derivatives(s, refs, n, values);
  for (size_t i = 0; i < n; i++) values[i] = NAN;
  return CPL_OK;
}

cpl_status cpl_stepper_set_states(cpl_stepper* s, const int32_t* states, size_t n,
                                  const double* values) {
  return CPLI_OFFERS(s->ops, set_states) ? s->ops->set_states(s, states, n, values)
                                         : cannot(&s->base, "setting states between steps");
}
