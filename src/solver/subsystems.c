// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model that consists of subsystems, which do not influence each other: each gets its own stepper
// with its own solver, and independent.c makes them one stepper. Only the subsystem with an event
// has to stop there, and only its solver restarts.
#include "couplet/component.h"
#include "solver/independent.h"
#include "solver/integrated.h"

cpl_status cpli_integrate_subsystems(cpl_model* whole, const cpl_subsystems* split,
                                     const cpl_solver_def* def, cpl_stepper** out) {
  cpl_context* ctx = whole->base.ctx;
  cpl_stepper** steppers = cpli_alloc(ctx, (size_t)split->n, sizeof(cpl_stepper*));
  cpl_status st = steppers != NULL ? CPL_OK : cpli_nomem(ctx);
  int32_t made = 0;
  *out = NULL;
  for (; made < split->n && st >= 0; made++)
    st = cpli_integrate_one(split->models[made], def, &steppers[made]);
  if (st >= 0) {
    st = cpli_independent(
        ctx,
        &(cpli_independent_def){.name = whole->base.name,
                                .steppers = steppers,
                                .n = split->n,
                                .whole = whole,
                                .subsystems = split,
                                .starter = split->starter,
                                .restart = def->restart_each_step ? cpli_integrate_restart : NULL},
        out);
  } else {
    for (int32_t i = 0; i < made; i++) cpl_stepper_destroy(steppers[i]);
    for (int32_t i = made; i < split->n; i++) cpl_model_destroy(split->models[i]);
    cpl_model_destroy(whole);
  }
  cpli_free(ctx, steppers);
  return st;
}
