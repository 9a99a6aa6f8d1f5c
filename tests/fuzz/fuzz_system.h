// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems that come from foreign files, through build and initialisation. Whatever models a file
// names, one of ours takes their place: nothing is compiled or loaded.
#pragma once

#include "couplet/assemble.h"
#include "fuzz_model.h"
#include "system/definition.h"

static inline void fuzz_replace_models(cpl_system_def* def) {
  setenv("CC", "false", 1);  // models in C of nested systems fail at once
  for (size_t i = 0; i < def->n_models; i++) {
    if (def->models[i].kind == CPL_MEMBER_SYSTEM) continue;
    def->models[i].source = fuzz_source();
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
