// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of model exchange of an exported FMU, independent of the version of FMI: they check
// their arguments and call the model.
#include <math.h>

#include "export/runtime/fmu.h"

static bool right_size(fmu* f, const char* function, size_t given, size_t there) {
  if (given == there) return true;
  fmu_refuse(f, function, "the array has %lu elements instead of %lu", (unsigned long)given,
             (unsigned long)there);
  return false;
}

fmu_status fmu_enter_event(fmu* f, const char* function) {
  f->state = FMU_EVENT;
  f->ahead = false;
  return fmu_result(f, function, f->model->ops->enter_event(f->model));
}

fmu_status fmu_update(fmu* f, const char* function, cpl_event_info* info) {
  bool moved = false;
  *info = (cpl_event_info){.next_time = INFINITY};
  cpl_status st = fmu_back_to_event(f);
  if (st >= 0) st = f->model->ops->event_update(f->model, info);
  f->next_time = info->next_time;
  f->n_slopes = 0;
  if (st >= 0 && info->structure_changed)
    st = cpl_fail_in(f->ctx, CPL_ERR_UNSUPPORTED, f->name, NULL, f->time,
                     "the structure changed at t=%.12g, which is possible in co-simulation only",
                     f->time);
  if (st == CPL_OK && !info->again && !info->terminate) st = fmu_project_at_event(f, &moved);
  info->states_changed = info->states_changed || moved;
  return fmu_result(f, function, st);
}

fmu_status fmu_enter_continuous(fmu* f, const char* function) {
  f->state = FMU_CONTINUOUS;
  if (f->ahead) {
    f->ahead = false;
    return FMU_OK;
  }
  return fmu_result(f, function, f->model->ops->enter_continuous(f->model));
}

fmu_status fmu_completed_step(fmu* f, const char* function, bool* event, bool* end) {
  *event = *end = false;
  cpl_status st = f->model->ops->completed_step(f->model, event, end);
  if (st == CPL_OK && !*event && !*end) {
    st = fmu_projection_due(f, event);
    f->projection_wanted = *event;
  }
  return fmu_result(f, function, st);
}

fmu_status fmu_set_time(fmu* f, const char* function, double time) {
  if (!isfinite(time)) return fmu_refuse(f, function, "%g is not a time", time);
  f->time = time;
  return fmu_result(f, function, f->model->ops->set_time(f->model, time));
}

fmu_status fmu_set_states(fmu* f, const char* function, const double* x, size_t n) {
  if (!right_size(f, function, n, (size_t)f->desc->n_states)) return FMU_ERROR;
  return n > 0 ? fmu_result(f, function, f->model->ops->set_states(f->model, x)) : FMU_OK;
}

fmu_status fmu_get_vector(fmu* f, const char* function, fmu_vector which, double* values,
                          size_t n) {
  const cpl_model_ops* ops = f->model->ops;
  cpl_status (*const getters[])(cpl_model*, double*) = {
      [FMU_STATES] = ops->get_states,
      [FMU_DERIVATIVES] = ops->get_derivatives,
      [FMU_NOMINALS] = ops->get_nominals,
      [FMU_INDICATORS] = ops->get_indicators,
  };
  size_t there = (size_t)(which == FMU_INDICATORS ? f->desc->n_indicators : f->desc->n_states);
  if (!right_size(f, function, n, there)) return FMU_ERROR;
  return n > 0 ? fmu_result(f, function, getters[which](f->model, values)) : FMU_OK;
}

//------------------------------------ many instances ------------------------------------

static bool are_reals(const fmu* f, const uint32_t* refs, int32_t begin, int32_t end,
                      bool continuous_inputs) {
  for (int32_t i = begin; i < end; i++) {
    const int32_t var = fmu_number(f, refs[i]);
    if (var < 0 || (f->kind_of_ref[refs[i]] & FMU_REAL) == 0) return false;
    if (continuous_inputs && f->roles[var].input < 0) return false;
  }
  return true;
}

// The references are checked for the first instance only: all have the same variables.
static bool allowed(const fmu* f, const fmu* of_references, const cpl_evaluation* e) {
  if (f->state != FMU_CONTINUOUS || f->stepping || !isfinite(e->t)) return false;
  for (int32_t i = e->first[0]; e->inputs != NULL && i < e->first[1]; i++)
    if (isnan(e->u[i])) return false;
  if (e->inputs != NULL && !are_reals(of_references, e->inputs, e->first[0], e->first[1], true))
    return false;
  return e->outputs == NULL ||
         are_reals(of_references, e->outputs, e->first[0], e->first[1], false);
}

static cpl_status evaluate(cpl_model* m, const cpl_evaluation* e) {
  const cpl_component_ops* ops = m->base.ops;
  const int32_t first = e->first[0];
  const size_t n = (size_t)(e->first[1] - first);
  cpl_status st = CPL_OK;
  if (m->ops->evaluate != NULL) return m->ops->evaluate(&m, 1, e, &(size_t){0});
  if (e->x != NULL) st = m->ops->set_time(m, e->t);
  if (st == CPL_OK && e->x != NULL && m->base.desc->n_states > 0) st = m->ops->set_states(m, e->x);
  if (st == CPL_OK && e->inputs != NULL && n > 0)
    st = ops->set_real(&m->base, e->inputs + first, n, e->u + first);
  if (st == CPL_OK && e->outputs != NULL && n > 0)
    st = ops->get_real(&m->base, e->outputs + first, n, e->y + first);
  if (st == CPL_OK && e->dx != NULL && m->base.desc->n_states > 0)
    st = m->ops->get_derivatives(m, e->dx);
  return st;
}

fmu_status fmu_evaluate(const char* function, void* const* instances, size_t n,
                        const cpl_evaluation* all, size_t* done) {
  cpl_evaluation e = *all;
  for (*done = 0; *done < n; ++*done) {
    fmu* f = instances[*done];
    const size_t nx = (size_t)f->desc->n_states;
    if (!allowed(f, instances[0], &e)) return FMU_WARNING;
    if (e.x != NULL) f->time = e.t;
    const cpl_status st = evaluate(f->model, &e);
    const fmu_status status = st != CPL_OK ? fmu_result(f, function, st) : FMU_OK;
    if (status != FMU_OK) return status;
    e.first++;
    if (e.x != NULL) e.x += nx;
    if (e.dx != NULL) e.dx += nx;
  }
  return FMU_OK;
}
