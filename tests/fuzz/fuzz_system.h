// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems that come from foreign files, through build and initialisation. Whatever models a file
// names, those of this file take their place: nothing is compiled or loaded.
#pragma once

#include "couplet/assemble.h"
#include "couplet/csource.h"
#include "couplet/model.h"
#include "fuzz.h"
#include "system/definition.h"

#define FUZZ_END \
  { 0 }

// m v' = F, x' = v, an event where x becomes negative
static int fuzz_mass_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = v->u[0] / v->p[0];
  return CPL_MODEL_OK;
}
static int fuzz_mass_outputs(const cpl_values* v, double* y) {
  y[0] = 2 * v->u[0] + v->x[0];
  return CPL_MODEL_OK;
}
static int fuzz_mass_indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0];
  return CPL_MODEL_OK;
}
static int fuzz_mass_event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] < 0) a->x[1] = -v->x[1];
  return CPL_MODEL_OK;
}
static const cpl_declaration fuzz_mass_states[] = {
    {"x", .start = 1, .unit = "m", .output = true}, {"v", .unit = "m/s", .output = true}, FUZZ_END};
static const cpl_declaration fuzz_mass_inputs[] = {{"u", .unit = "N"}, FUZZ_END};
static const cpl_declaration fuzz_mass_output_list[] = {{"y"}, FUZZ_END};
static const cpl_declaration fuzz_mass_parameters[] = {{"m", .start = 1, .unit = "kg"}, FUZZ_END};
static const cpl_model_def fuzz_mass = {.name = "mass",
                                        .states = fuzz_mass_states,
                                        .inputs = fuzz_mass_inputs,
                                        .outputs = fuzz_mass_output_list,
                                        .parameters = fuzz_mass_parameters,
                                        .n_indicators = 1,
                                        .derivatives = fuzz_mass_derivatives,
                                        .output_values = fuzz_mass_outputs,
                                        .indicators = fuzz_mass_indicators,
                                        .event = fuzz_mass_event,
                                        .stop_time = 1};

static inline void fuzz_replace_models(cpl_system_def* def) {
  static cpl_source* source;
  if (source == NULL) {
    setenv("CC", "false", 1);  // models in C of nested systems fail at once
    FUZZ_CHECK(cpl_c_define(fuzz_context(), &fuzz_mass, &source) >= 0);
  }
  for (size_t i = 0; i < def->n_models; i++) {
    if (def->models[i].kind == CPL_MEMBER_SYSTEM) continue;
    def->models[i].source = source;
    def->models[i].path.text = NULL;
  }
  for (size_t i = 0; i < def->n_modes; i++) fuzz_replace_models(def->modes[i].def);
}

static inline void fuzz_initialise(cpl_context* ctx, cpl_source* system) {
  cpl_stepper_def def = cpl_default_stepper_def();
  cpl_setup setup = {.has_stop_time = true, .stop_time = 1};
  cpl_stepper* s = NULL;
  def.threads = 1;
  def.usual_step = 0.1;
  if (!fuzz_fine(ctx, cpl_system_stepper(system, &def, &s))) return;
  cpl_component* c = &s->base;
  bool fine = fuzz_fine(ctx, c->ops->setup(c, &setup)) && fuzz_fine(ctx, c->ops->enter_init(c));
  if (fine) fuzz_fine(ctx, c->ops->exit_init(c));
  c->ops->destroy(c);
}

// A system that was read is built; large ones only cost time.
static inline void fuzz_build(cpl_context* ctx, cpl_system_def* def) {
  cpl_source* system = NULL;
  fuzz_replace_models(def);
  if (def->n_models <= 50 && fuzz_fine(ctx, cpl_system_build(ctx, def, &system))) {
    for (size_t i = 0; cpl_system_note(system, i) != NULL; i++) {
    }
    fuzz_initialise(ctx, system);
    system->ops->destroy(system);
  }
}

static inline void fuzz_read_system(const char* path) {
  cpl_context* ctx = fuzz_context();
  cpl_system_def* def = NULL;
  if (fuzz_fine(ctx, cpl_system_def_read(ctx, path, &def))) fuzz_build(ctx, def);
  cpl_system_def_destroy(def);
}
