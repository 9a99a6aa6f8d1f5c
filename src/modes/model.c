// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Combines modes that are models into one model: calls are forwarded to the active mode, and a stop
// request with a transition is a change of the structure. A switch takes two updates: the first
// reads the final values of the old mode and brings the new one to its initialisation, the second
// completes that. In between the caller sets the inputs, which may depend on the initial outputs of
// the new mode.
#include <math.h>
#include <stdio.h>

#include "model/operations.h"
#include "modes/modes.h"

static cpl_model* active_of(const cpl_model* m) {
  const cpli_modes* all = (const cpli_modes*)m;
  return all->modes[all->active].m;
}

// Operations of the active mode. Not all of them are used: some are extended below.
#define X(table, name, parameters, arguments)                                    \
  __attribute__((unused)) static cpl_status active_##table##_##name parameters { \
    self = active_of(self);                                                      \
    return TABLE_##table->name arguments;                                        \
  }
#define TABLE_model  self->ops
#define TABLE_newton self->ops->newton
CPLI_MODEL_OPERATIONS(X)
CPLI_NEWTON_OPERATIONS(X)
#undef X

//------------------------------------ events ------------------------------------

static cpl_status finish_switch(cpli_modes* m) {
  cpli_transition* transition = m->arriving;
  m->arriving = NULL;
  return transition != NULL ? cpli_modes_arrive(m, transition) : CPL_OK;
}

static cpl_status begin_switch(cpli_modes* m, cpli_transition* transition, cpl_event_info* info) {
  cpl_status st = cpli_modes_follow_transition(m, transition);
  m->arriving = transition;
  m->base.base.desc = &m->shared_desc->of_mode[m->active];
  *info = (cpl_event_info){.again = true,
                           .states_changed = true,
                           .nominals_changed = true,
                           .structure_changed = true,
                           .next_time = INFINITY};
  return st;
}

static cpl_status event_update(cpl_model* base, cpl_event_info* info) {
  cpli_modes* m = (cpli_modes*)base;
  cpli_transition* transition = NULL;
  cpl_status st = finish_switch(m);
  if (st >= 0) st = active_model_event_update(base, info);
  if (st < 0) return st;
  if (m->wants_stop && !info->terminate && !info->again) info->terminate = true, info->stop = 0;
  if (!info->terminate) return st;
  m->wants_stop = false;
  st = cpli_modes_choose(m, info->stop, &transition);
  return st < 0 || transition == NULL ? st : begin_switch(m, transition, info);
}

// The active mode may request a stop; whether it ends the run is decided by the event update.
static cpl_status completed_step(cpl_model* base, bool* event, bool* end) {
  cpli_modes* m = (cpli_modes*)base;
  cpl_status st = active_model_completed_step(base, event, end);
  m->wants_stop = st >= 0 && *end;
  *event = *event || *end;
  *end = false;
  return st;
}

//------------------------------------ continuous time ------------------------------------

static cpl_status set_time(cpl_model* m, double t) {
  ((cpli_modes*)m)->t = t;
  return active_model_set_time(m, t);
}

static void name_indicator(const cpl_model* m, size_t indicator, char* out, size_t size) {
  const cpli_modes* all = (const cpli_modes*)m;
  const cpl_model* active = active_of(m);
  char inner[200];
  snprintf(inner, sizeof inner, "indicator %zu", indicator + 1);
  if (active->ops->name_indicator != NULL)
    active->ops->name_indicator(active, indicator, inner, sizeof inner);
  snprintf(out, size, "mode %s: %s", all->modes[all->active].name, inner);
}

static const cpl_description* structure(cpl_model* m, int32_t i) {
  const cpli_modes* all = (const cpli_modes*)m;
  return i < all->n_modes ? &all->shared_desc->of_mode[i] : NULL;
}

//------------------------------------ optional operations ------------------------------------

static cpl_break next_break(cpl_model* m, double t, double tolerance) {
  cpl_model* active = active_of(m);
  if (active->ops->next_break == NULL) return (cpl_break){(double)INFINITY, 0};
  return active->ops->next_break(active, t, tolerance);
}

static bool has_residuals(const cpl_model* m) {
  return m->ops->constraints != NULL && m->ops->constraints->get != NULL;
}

// A mode that projects itself but has no residuals counts as having no constraints.
static cpl_status count_constraints(cpl_model* m, size_t* n) {
  cpl_model* active = active_of(m);
  *n = 0;
  return has_residuals(active) ? active->ops->constraints->count(active, n) : CPL_OK;
}

// Called only when the mode has constraints.
static cpl_status get_constraints(cpl_model* m, double* c) {
  return active_of(m)->ops->constraints->get(active_of(m), c);
}

static void name_constraint(const cpl_model* m, size_t constraint, char* out, size_t size) {
  const cpli_modes* all = (const cpli_modes*)m;
  const cpl_model* active = active_of(m);
  char inner[200];
  snprintf(inner, sizeof inner, "constraint %zu", constraint + 1);
  if (has_residuals(active) && active->ops->constraints->name != NULL)
    active->ops->constraints->name(active, constraint, inner, sizeof inner);
  snprintf(out, size, "%s of mode %s", inner, all->modes[all->active].name);
}

static const cpl_newton_ops newton_ops = {
    .size = sizeof newton_ops, .setup = active_newton_setup, .solve = active_newton_solve};
static const cpl_constraint_ops constraint_ops = {.size = sizeof constraint_ops,
                                                  .count = count_constraints,
                                                  .get = get_constraints,
                                                  .name = name_constraint};

void cpli_modes_make_model(cpli_modes* m) {
  bool newton = true, times = true, constraints = false;
  cpl_capabilities can = {.save_restore = true};
  for (int32_t k = 0; k < m->n_modes; k++) {
    const cpl_model* one = m->modes[k].m;
    newton = newton && one->ops->newton != NULL;
    times = times && one->ops->jacobian_times != NULL;
    constraints = constraints || has_residuals(one);
    can.save_restore = can.save_restore && one->base.ops->save != NULL;
    can.once_per_process = can.once_per_process || one->base.can.once_per_process;
    can.needs_tool = can.needs_tool || one->base.can.needs_tool;
    can.own_thread = can.own_thread || one->base.can.own_thread;
    can.remote = can.remote > 0 || one->base.can.remote > 0;
    can.completed_step = can.completed_step || one->base.can.completed_step;
  }
  m->base.base.can = can;
  m->model_ops = (cpl_model_ops){.size = sizeof(cpl_model_ops),
                                 .enter_event = active_model_enter_event,
                                 .event_update = event_update,
                                 .enter_continuous = active_model_enter_continuous,
                                 .set_time = set_time,
                                 .set_states = active_model_set_states,
                                 .get_states = active_model_get_states,
                                 .get_nominals = active_model_get_nominals,
                                 .get_derivatives = active_model_get_derivatives,
                                 .get_indicators = active_model_get_indicators,
                                 .completed_step = completed_step,
                                 .name_indicator = name_indicator,
                                 .structure = structure,
                                 .newton = newton ? &newton_ops : NULL,
                                 .constraints = constraints ? &constraint_ops : NULL,
                                 .jacobian_times = times ? active_model_jacobian_times : NULL,
                                 .next_break = next_break};
  m->model.ops = &m->model_ops;
}
