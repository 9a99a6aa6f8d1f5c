// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model over a model exchange FMU of FMI 2.0.
#include <math.h>

#include "fmi/fmi2_calls.h"

static cpli_fmi2* instance_of(cpl_model* m) { return (cpli_fmi2*)m; }

static size_t n_states(const cpli_fmi2* in) { return (size_t)in->base.fmu->desc.n_states; }

static cpl_status exit_init(cpl_component* c) {
  return cpli_fmi2_exit_init((cpli_fmi2*)c, CPLI_EVENT);
}

//------------------------------------ events ------------------------------------

static cpl_status enter_event(cpl_model* m) {
  cpli_fmi2* in = instance_of(m);
  cpl_status st = cpli_fmi2EnterEventMode(in);
  in->event = (fmi2EventInfo){0};
  if (st >= 0) in->base.phase = CPLI_EVENT;
  return st;
}

static cpl_status event_update(cpl_model* m, cpl_event_info* info) {
  cpli_fmi2* in = instance_of(m);
  *info = (cpl_event_info){.next_time = INFINITY};
  in->event.newDiscreteStatesNeeded = fmi2False;
  cpl_status st = cpli_fmi2NewDiscreteStates(in, &in->event);
  fmi2EventInfo e = in->event;
  if (st != CPL_OK) return st;
  info->again = e.newDiscreteStatesNeeded != fmi2False;
  info->terminate = e.terminateSimulation != fmi2False;
  info->states_changed = e.valuesOfContinuousStatesChanged != fmi2False;
  info->nominals_changed = e.nominalsOfContinuousStatesChanged != fmi2False;
  if (e.nextEventTimeDefined != fmi2False) info->next_time = e.nextEventTime;
  return st;
}

static cpl_status enter_continuous(cpl_model* m) {
  cpli_fmi2* in = instance_of(m);
  cpl_status st = cpli_fmi2EnterContinuousTimeMode(in);
  if (st >= 0) in->base.phase = CPLI_CONTINUOUS;
  return st;
}

static cpl_status completed_step(cpl_model* m, bool* enter, bool* terminate) {
  cpli_fmi2* in = instance_of(m);
  *enter = *terminate = false;
  if (!m->base.can.completed_step) return CPL_OK;
  fmi2Boolean event = fmi2False, end = fmi2False;
  cpl_status st = cpli_fmi2CompletedIntegratorStep(in, in->base.snapshots == 0, &event, &end);
  *enter = event != fmi2False;
  *terminate = end != fmi2False;
  return st;
}

//------------------------------------ continuous time ------------------------------------

static cpl_status set_time(cpl_model* m, double t) {
  cpli_fmi2* in = instance_of(m);
  in->base.time = t;
  return cpli_fmi2SetTime(in, t);
}

static cpl_status set_states(cpl_model* m, const double* x) {
  cpli_fmi2* in = instance_of(m);
  return n_states(in) == 0 ? CPL_OK : cpli_fmi2SetContinuousStates(in, x, n_states(in));
}

static cpl_status get_states(cpl_model* m, double* x) {
  cpli_fmi2* in = instance_of(m);
  return n_states(in) == 0 ? CPL_OK : cpli_fmi2GetContinuousStates(in, x, n_states(in));
}

static cpl_status get_derivatives(cpl_model* m, double* dx) {
  cpli_fmi2* in = instance_of(m);
  return n_states(in) == 0 ? CPL_OK : cpli_fmi2GetDerivatives(in, dx, n_states(in));
}

static cpl_status get_indicators(cpl_model* m, double* z) {
  cpli_fmi2* in = instance_of(m);
  size_t n = (size_t)in->base.fmu->desc.n_indicators;
  return n == 0 ? CPL_OK : cpli_fmi2GetEventIndicators(in, z, n);
}

// Some FMUs leave the array untouched or put zeros into it; either would ruin the tolerances.
static cpl_status get_nominals(cpl_model* m, double* nominals) {
  cpli_fmi2* in = instance_of(m);
  for (size_t i = 0; i < n_states(in); i++) nominals[i] = 1;
  if (n_states(in) == 0) return CPL_OK;
  cpl_status st = cpli_fmi2GetNominalsOfContinuousStates(in, nominals, n_states(in));
  cpli_clean_nominals(nominals, n_states(in));
  return st;
}

//------------------------------------ constraints ------------------------------------

static size_t max_constraints(const cpli_fmi2* in) {
  return (size_t)in->base.fmu->desc.n_constraints;
}

// Without the function all are active.
static cpl_status count_constraints(cpl_model* m, size_t* n) {
  cpli_fmi2* in = instance_of(m);
  *n = max_constraints(in);
  if (in->fn.fmi2GetNumberOfConstraints == NULL) return CPL_OK;
  cpl_status st = cpli_fmi2GetNumberOfConstraints(in, n);
  return st == CPL_OK ? cpli_check_constraints(&in->base, *n) : st;
}

static cpl_status get_constraints(cpl_model* m, double* c) {
  cpli_fmi2* in = instance_of(m);
  return cpli_fmi2Constraint(in, c, max_constraints(in));
}

static cpl_status constraint_jacobian(cpl_model* m, double* out) {
  cpli_fmi2* in = instance_of(m);
  return cpli_fmi2ConstraintJacobian(in, out, max_constraints(in) * n_states(in));
}

static cpl_status projection(cpl_model* m, double tolerance, size_t most, double* change) {
  cpli_fmi2* in = instance_of(m);
  return cpli_fmi2Projection(in, tolerance, most, change, n_states(in));
}

static cpl_status projection_step(cpl_model* m, double* change) {
  cpli_fmi2* in = instance_of(m);
  return cpli_fmi2ProjectionStep(in, change, n_states(in));
}

static const cpl_model_ops model_ops = {
    .enter_event = enter_event,
    .event_update = event_update,
    .enter_continuous = enter_continuous,
    .set_time = set_time,
    .set_states = set_states,
    .get_states = get_states,
    .get_nominals = get_nominals,
    .get_derivatives = get_derivatives,
    .get_indicators = get_indicators,
    .completed_step = completed_step,
};

static const cpl_model_ops constraint_ops = {
    .count_constraints = count_constraints,
    .get_constraints = get_constraints,
    .constraint_jacobian = constraint_jacobian,
    .projection = projection,
    .projection_step = projection_step,
};

cpl_status cpli_fmi2_make_model(cpl_source* src, const char* name, cpl_model** out) {
  cpli_fmi2* in = NULL;
  *out = NULL;
  cpl_status st = cpli_fmi2_create(src, name, false, &in);
  if (st < 0) return st;
  in->base.component_ops.kind = "fmi2-me";
  in->base.component_ops.exit_init = exit_init;
  in->base.model_ops = model_ops;
  in->base.head.model.ops = &in->base.model_ops;
  const cpli_fmi2_functions* fn = &in->fn;
  cpli_offer_constraints(&in->base, &constraint_ops,
                         (cpli_constraint_functions){.constraint = fn->fmi2Constraint != NULL,
                                                     .jacobian = fn->fmi2ConstraintJacobian != NULL,
                                                     .projection = fn->fmi2Projection != NULL,
                                                     .step = fn->fmi2ProjectionStep != NULL});
  *out = &in->base.head.model;
  return CPL_OK;
}
