// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model that consists of subsystems, which do not influence each other: each gets its own stepper
// with its own solver, and independent.c makes them one stepper. Only the subsystem with an event
// has to stop there, and only its solver restarts.
#include <math.h>

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
                                .kind = "integrate",
                                .steppers = steppers,
                                .n = split->n,
                                .whole = whole,
                                .subsystems = split,
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

void cpli_stats_add(cpl_solver_stats* to, const cpl_solver_stats* from) {
  to->steps += from->steps;
  to->rejected += from->rejected;
  to->rhs_evals += from->rhs_evals;
  to->jac_evals += from->jac_evals;
  to->newton_iters += from->newton_iters;
  to->indicator_evals += from->indicator_evals;
  to->state_events += from->state_events;
  to->time_events += from->time_events;
  to->step_events += from->step_events;
  to->restarts += from->restarts;
  to->switches += from->switches;
  to->structures += from->structures;
  to->linear_iters += from->linear_iters;
  to->products += from->products;
  to->projections += from->projections;
  to->largest_projection = fmax(to->largest_projection, from->largest_projection);
  to->largest_residual = fmax(to->largest_residual, from->largest_residual);
  to->algebraics += from->algebraics;
  to->groups += from->groups;
  to->in_models_s += from->in_models_s;
}
