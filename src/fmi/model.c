// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The operations of a model over a model exchange FMU that all versions share: each one is a call
// of the version's table (cpli_model_calls) with the sizes of the description. The extension for
// constraints is offered as far as the description promises it and the binary has its functions.
#include <math.h>

#include "fmi/instance.h"

static cpli_fmu_instance* instance_of(cpl_model* m) { return (cpli_fmu_instance*)m; }

static const cpli_model_calls* calls_of(cpl_model* m) { return instance_of(m)->model_calls; }

static size_t n_states(cpl_model* m) { return (size_t)instance_of(m)->fmu->desc.n_states; }

//------------------------------------ events ------------------------------------

static cpl_status enter_continuous(cpl_model* m) {
  cpli_fmu_instance* in = instance_of(m);
  cpl_status st =
      in->model_calls->enter_continuous != NULL ? in->model_calls->enter_continuous(in) : CPL_OK;
  if (st >= 0) in->phase = CPLI_CONTINUOUS;
  return st;
}

static cpl_status completed_step(cpl_model* m, bool* enter, bool* terminate) {
  cpli_fmu_instance* in = instance_of(m);
  *enter = *terminate = false;
  if (!m->base.can.completed_step) return CPL_OK;
  return in->model_calls->completed_step(in, in->snapshots == 0, enter, terminate);
}

//------------------------------------ continuous time ------------------------------------

static cpl_status set_time(cpl_model* m, double t) {
  instance_of(m)->time = t;
  return calls_of(m)->set_time(instance_of(m), t);
}

static cpl_status set_states(cpl_model* m, const double* x) {
  return n_states(m) == 0 ? CPL_OK : calls_of(m)->set_states(instance_of(m), x, n_states(m));
}

// Some FMUs fail when they are called with empty arrays.
static cpl_status get_array(cpl_model* m, cpli_array_call* call, double* values, int32_t n) {
  return n == 0 ? CPL_OK : call(instance_of(m), values, (size_t)n);
}

static cpl_status get_states(cpl_model* m, double* x) {
  return get_array(m, calls_of(m)->get_states, x, instance_of(m)->fmu->desc.n_states);
}

static cpl_status get_derivatives(cpl_model* m, double* dx) {
  return get_array(m, calls_of(m)->get_derivatives, dx, instance_of(m)->fmu->desc.n_states);
}

static cpl_status get_indicators(cpl_model* m, double* z) {
  return get_array(m, calls_of(m)->get_indicators, z, instance_of(m)->fmu->desc.n_indicators);
}

static cpl_status get_and_set(cpl_model* m, const cpl_evaluation* e) {
  const cpl_component_ops* ops = m->base.ops;
  const int32_t first = e->first[0];
  const size_t n = (size_t)(e->first[1] - first);
  cpl_status st =
      e->inputs != NULL ? ops->set_real(&m->base, e->inputs + first, n, e->u + first) : CPL_OK;
  if (st == CPL_OK && e->outputs != NULL)
    st = ops->get_real(&m->base, e->outputs + first, n, e->y + first);
  return st == CPL_OK && e->dx != NULL ? get_derivatives(m, e->dx) : st;
}

// One model by the ordinary calls.
static cpl_status evaluate_alone(cpl_model* m, const cpl_evaluation* e) {
  cpl_status st = e->x != NULL ? set_time(m, e->t) : CPL_OK;
  if (st == CPL_OK && e->x != NULL) st = set_states(m, e->x);
  return st == CPL_OK ? get_and_set(m, e) : st;
}

// Where the call for many does not take a model, the ordinary ones follow, which say why.
static cpl_status evaluate(cpl_model* const* models, size_t n, const cpl_evaluation* all,
                           size_t* done) {
  const size_t nx = n_states(models[0]);
  cpl_evaluation e = *all;
  cpl_status st = CPL_OK;
  for (*done = 0; *done < n && st == CPL_OK;) {
    size_t some = 0;
    st = calls_of(models[0])->evaluate(models + *done, n - *done, &e, &some);
    const bool alone = st == CPL_OK && some == 0;
    if (alone) st = evaluate_alone(models[*done], &e);
    some = alone && st == CPL_OK ? 1 : some;
    *done += some;
    e.first += some;
    if (e.x != NULL) e.x += some * nx;
    if (e.dx != NULL) e.dx += some * nx;
  }
  return st;
}

// Some FMUs leave the array untouched or put zeros into it; either would ruin the tolerances.
static cpl_status get_nominals(cpl_model* m, double* nominals) {
  for (size_t i = 0; i < n_states(m); i++) nominals[i] = 1;
  cpl_status st =
      get_array(m, calls_of(m)->get_nominals, nominals, instance_of(m)->fmu->desc.n_states);
  cpli_clean_nominals(nominals, n_states(m));
  return st;
}

//------------------------------------ constraints ------------------------------------

static size_t max_constraints(cpl_model* m) {
  return (size_t)instance_of(m)->fmu->desc.n_constraints;
}

// Without the function all are active.
static cpl_status count_all(cpl_model* m, size_t* n) {
  *n = max_constraints(m);
  return CPL_OK;
}

static cpl_status count_active(cpl_model* m, size_t* n) {
  size_t most = *n = max_constraints(m);
  cpl_status st = calls_of(m)->count_constraints(instance_of(m), n);
  if (st != CPL_OK || *n <= most) return st;
  return cpl_fail_in(m->base.ctx, CPL_ERR_MODEL, m->base.name, NULL, NAN,
                     "it says that %zu constraints are active, and that there are at most %zu", *n,
                     most);
}

static cpl_status get_constraints(cpl_model* m, double* c) {
  return calls_of(m)->constraint(instance_of(m), c, max_constraints(m));
}

static cpl_status constraint_jacobian(cpl_model* m, double* out) {
  return calls_of(m)->constraint_jacobian(instance_of(m), out, max_constraints(m) * n_states(m));
}

static cpl_status projection(cpl_model* m, double tolerance, size_t limit, double* change) {
  return calls_of(m)->projection(instance_of(m), tolerance, limit, change, n_states(m));
}

static cpl_status projection_step(cpl_model* m, double* change) {
  return calls_of(m)->projection_step(instance_of(m), change, n_states(m));
}

static bool has_function(const cpli_fmu_instance* in, const char* name) {
  char full[64];
  snprintf(full, sizeof full, "%s%s", in->api->prefix, name);
  return cpli_library_symbol(in->lib, full) != NULL;
}

// The description promises it, and the binary has its function.
static bool offered(const cpli_fmu_instance* in, const char* what, bool promised,
                    const char* function) {
  bool found = promised && has_function(in, function);
  if (promised && !found)
    cpl_log(in->head.component.ctx, CPL_LOG_WARNING, in->name,
            "the description offers %s, but the binary has no function for it", what);
  return found;
}

static void offer_constraints(cpli_fmu_instance* in) {
  const cpli_fmu_kind* me = &in->fmu->me;
  cpl_constraint_ops* ops = &in->constraint_ops;
  if (in->fmu->desc.n_constraints == 0 || in->model_calls->constraint == NULL) return;
  bool with_jacobian = me->constraints == CPLI_WITH_JACOBIAN;
  bool residuals = offered(in, "constraints", me->constraints != CPLI_NO, "Constraint");
  bool jacobian = residuals && offered(in, "their Jacobian", with_jacobian, "ConstraintJacobian");
  bool whole = offered(in, "a projection", me->projection, "Projection");
  bool step = offered(in, "projection steps", me->projection_step, "ProjectionStep");
  if (!residuals && !whole && !step) return;
  *ops = (cpl_constraint_ops){
      .size = sizeof *ops,
      .count = has_function(in, "GetNumberOfConstraints") ? count_active : count_all,
      .get = residuals ? get_constraints : NULL,
      .jacobian = jacobian ? constraint_jacobian : NULL,
      .projection = whole ? projection : NULL,
      .projection_step = step ? projection_step : NULL};
  in->model_ops.constraints = ops;
}

cpl_status cpli_announce_constraints(cpli_fmu_instance* in) {
  size_t n;
  const cpl_constraint_ops* ops = in->model_ops.constraints;
  return ops != NULL ? ops->count(&in->head.model, &n) : CPL_OK;
}

cpl_model* cpli_offer_model(cpli_fmu_instance* in, const char* kind,
                            const cpli_model_calls* calls) {
  in->component_ops.kind = kind;
  in->model_calls = calls;
  in->model_ops = (cpl_model_ops){
      .size = sizeof in->model_ops,
      .enter_event = calls->enter_event,
      .event_update = calls->event_update,
      .enter_continuous = enter_continuous,
      .set_time = set_time,
      .set_states = set_states,
      .get_states = get_states,
      .get_nominals = get_nominals,
      .get_derivatives = get_derivatives,
      .get_indicators = get_indicators,
      .completed_step = completed_step,
  };
  if (calls->evaluate != NULL && cpli_library_symbol(in->lib, "coupletEvaluate") != NULL)
    in->model_ops.evaluate = evaluate;
  in->head.model.ops = &in->model_ops;
  offer_constraints(in);
  return &in->head.model;
}
