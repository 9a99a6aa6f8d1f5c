// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model over a model exchange FMU of FMI 3.0.
#include "fmi/fmi3_calls.h"

static cpli_fmi3* instance_of(cpl_model* m) { return (cpli_fmi3*)m; }

static size_t n_states(const cpli_fmi3* in) { return (size_t)in->base.fmu->desc.n_states; }

static cpl_status exit_init(cpl_component* c) {
  return cpli_fmi3_exit_init((cpli_fmi3*)c, CPLI_EVENT);
}

//------------------------------------ events ------------------------------------

// Clocks that are due tick at once, so that others see what they do in the first round already.
static cpl_status enter_event(cpl_model* m) {
  cpli_fmi3* in = instance_of(m);
  cpl_status st = cpli_fmi3EnterEventMode(in);
  if (st < 0) return st;
  cpli_fmi3_begin_event(in);
  cpli_fmi3_clocks_forget(in);
  in->base.phase = CPLI_EVENT;
  return cpli_fmi3_clocks_tick(in);
}

static cpl_status event_update(cpl_model* m, cpl_event_info* info) {
  return cpli_fmi3_update(instance_of(m), info);
}

static cpl_status enter_continuous(cpl_model* m) {
  cpli_fmi3* in = instance_of(m);
  cpl_status st = cpli_fmi3EnterContinuousTimeMode(in);
  if (st >= 0) in->base.phase = CPLI_CONTINUOUS;
  return st;
}

static cpl_status completed_step(cpl_model* m, bool* enter, bool* terminate) {
  cpli_fmi3* in = instance_of(m);
  *enter = *terminate = false;
  if (!m->base.can.completed_step) return CPL_OK;
  return cpli_fmi3CompletedIntegratorStep(in, in->base.snapshots == 0, enter, terminate);
}

//------------------------------------ continuous time ------------------------------------

static cpl_status set_time(cpl_model* m, double t) {
  cpli_fmi3* in = instance_of(m);
  in->base.time = t;
  return cpli_fmi3SetTime(in, t);
}

static cpl_status set_states(cpl_model* m, const double* x) {
  cpli_fmi3* in = instance_of(m);
  return n_states(in) == 0 ? CPL_OK : cpli_fmi3SetContinuousStates(in, x, n_states(in));
}

static cpl_status get_states(cpl_model* m, double* x) {
  cpli_fmi3* in = instance_of(m);
  return n_states(in) == 0 ? CPL_OK : cpli_fmi3GetContinuousStates(in, x, n_states(in));
}

static cpl_status get_derivatives(cpl_model* m, double* dx) {
  cpli_fmi3* in = instance_of(m);
  return n_states(in) == 0 ? CPL_OK : cpli_fmi3GetContinuousStateDerivatives(in, dx, n_states(in));
}

static cpl_status get_indicators(cpl_model* m, double* z) {
  cpli_fmi3* in = instance_of(m);
  size_t n = (size_t)in->base.fmu->desc.n_indicators;
  return n == 0 ? CPL_OK : cpli_fmi3GetEventIndicators(in, z, n);
}

static cpl_status get_nominals(cpl_model* m, double* nominals) {
  cpli_fmi3* in = instance_of(m);
  for (size_t i = 0; i < n_states(in); i++) nominals[i] = 1;
  if (n_states(in) == 0) return CPL_OK;
  cpl_status st = cpli_fmi3GetNominalsOfContinuousStates(in, nominals, n_states(in));
  cpli_clean_nominals(nominals, n_states(in));
  return st;
}

//------------------------------------ constraints ------------------------------------

static size_t max_constraints(const cpli_fmi3* in) {
  return (size_t)in->base.fmu->desc.n_constraints;
}

// Without the function all are active.
static cpl_status count_constraints(cpl_model* m, size_t* n) {
  cpli_fmi3* in = instance_of(m);
  *n = max_constraints(in);
  if (in->fn.fmi3GetNumberOfConstraints == NULL) return CPL_OK;
  cpl_status st = cpli_fmi3GetNumberOfConstraints(in, n);
  return st == CPL_OK ? cpli_check_constraints(&in->base, *n) : st;
}

static cpl_status get_constraints(cpl_model* m, double* c) {
  cpli_fmi3* in = instance_of(m);
  return cpli_fmi3Constraint(in, c, max_constraints(in));
}

static cpl_status constraint_jacobian(cpl_model* m, double* out) {
  cpli_fmi3* in = instance_of(m);
  return cpli_fmi3ConstraintJacobian(in, out, max_constraints(in) * n_states(in));
}

static cpl_status projection(cpl_model* m, double tolerance, size_t most, double* change) {
  cpli_fmi3* in = instance_of(m);
  return cpli_fmi3Projection(in, tolerance, most, change, n_states(in));
}

static cpl_status projection_step(cpl_model* m, double* change) {
  cpli_fmi3* in = instance_of(m);
  return cpli_fmi3ProjectionStep(in, change, n_states(in));
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

cpl_status cpli_fmi3_make_model(cpl_source* src, const char* name, cpl_model** out) {
  cpli_fmi3* in = NULL;
  *out = NULL;
  cpl_status st = cpli_fmi3_create(src, name, &((cpl_fmu*)src)->me, &in);
  if (st < 0) return st;
  in->base.component_ops.kind = "fmi3-me";
  in->base.component_ops.exit_init = exit_init;
  in->base.model_ops = model_ops;
  in->base.head.model.ops = &in->base.model_ops;
  const cpli_fmi3_functions* fn = &in->fn;
  cpli_offer_constraints(&in->base, &constraint_ops,
                         (cpli_constraint_functions){.constraint = fn->fmi3Constraint != NULL,
                                                     .jacobian = fn->fmi3ConstraintJacobian != NULL,
                                                     .projection = fn->fmi3Projection != NULL,
                                                     .step = fn->fmi3ProjectionStep != NULL});
  st = cpli_fmi3_offer_residuals(in);
  if (st < 0) cpli_instance_destroy(&in->base.head.component);
  else *out = &in->base.head.model;
  return st;
}
