// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reading and writing variables, and directional derivatives.
#include <float.h>
#include <math.h>

#include "export/runtime/fmu.h"

//------------------------------------ checks ------------------------------------

static const char* const type_names[] = {"Real", "Integer", "Boolean", "Enumeration", "String"};

// A basic type of FMI: an Enumeration is read and written as an Integer.
static bool has_type(const cpl_variable* v, cpl_type type) {
  return v->type == type || (type == CPL_INTEGER && v->type == CPL_ENUMERATION);
}

static bool known(fmu* f, const char* function, cpl_type type, const fmi2ValueReference vr[],
                  size_t n) {
  for (size_t i = 0; i < n; i++) {
    const cpl_variable* v = fmu_variable(f, vr[i]);
    if (v == NULL || !has_type(v, type)) {
      fmu_refuse(f, function, "there is no %s with value reference %u", type_names[type], vr[i]);
      return false;
    }
  }
  return true;
}

// What may be set when. Before initialisation: everything with a start value; afterwards inputs
// and tunable parameters, and what is discrete among them only at events.
static const char* why_not_set(const fmu* f, const cpl_variable* v) {
  if (f->state == FMU_INSTANTIATED || f->state == FMU_INITIALIZING) {
    return v->has_start ? NULL : "is computed by the model";
  }
  bool input = v->causality == CPL_INPUT;
  bool tunable = v->causality == CPL_PARAMETER && v->variability == CPL_TUNABLE;
  if (!input && !tunable) return "cannot be set after initialization";
  if (f->state == FMU_CONTINUOUS && v->variability != CPL_CONTINUOUS) {
    return "can only be set in Event Mode";
  }
  return NULL;
}

static bool may_set(fmu* f, const char* function, const cpl_variable* v) {
  const char* why = why_not_set(f, v);
  if (why != NULL) fmu_refuse(f, function, "%s %s", v->name, why);
  return why == NULL;
}

// Real inputs come out of somebody's solver and may overshoot; everything else keeps its limits.
static bool in_range(fmu* f, const char* function, const cpl_variable* v, double value) {
  bool trial = v->type == CPL_REAL && v->causality == CPL_INPUT;
  double min = v->min, max = v->max;
  if (v->type == CPL_ENUMERATION && v->declared_type >= 0) {
    min = 1;
    max = f->cm->desc.types[v->declared_type].n_items;
  }
  if ((trial && !isnan(value)) || (value >= min && value <= max)) return true;
  fmu_refuse(f, function, "%s = %g is not between %g and %g", v->name, value, min, max);
  return false;
}

static const unsigned settable =
    FMU_INSTANTIATED | FMU_INITIALIZING | FMU_EVENT | FMU_CONTINUOUS | FMU_STEPPED;

//------------------------------------ Real ------------------------------------

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                       fmi2Real value[]) {
  fmu* f = fmu_enter(c, __func__, FMU_ANY);
  if (f == NULL || !known(f, __func__, CPL_REAL, vr, nvr)) return fmi2Error;
  if (f->model == NULL) return fmi2Error;
  cpl_component* part = fmu_component(f);
  return fmu_result(f, __func__, part->ops->get_real(part, vr, nvr, value));
}

// Masters set their inputs before every step. For the stepper a value that is set is an event, so
// it hears only of those that changed.
static bool nothing_new(fmu* f, const fmi2ValueReference vr[], size_t nvr, const fmi2Real value[]) {
  if (f->state != FMU_STEPPED) return false;
  for (size_t i = 0; i < nvr; i++) {
    double present;
    cpl_component* m = &f->model->base;
    if (m->ops->get_real(m, &vr[i], 1, &present) != CPL_OK || present != value[i]) return false;
  }
  return true;
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                       const fmi2Real value[]) {
  fmu* f = fmu_enter(c, __func__, settable);
  if (f == NULL || !known(f, __func__, CPL_REAL, vr, nvr)) return fmi2Error;
  for (size_t i = 0; i < nvr; i++) {
    const cpl_variable* v = fmu_variable(f, vr[i]);
    if (!may_set(f, __func__, v) || !in_range(f, __func__, v, value[i])) return fmi2Error;
  }
  if (nothing_new(f, vr, nvr, value)) return fmi2OK;
  cpl_component* part = fmu_component(f);
  return fmu_result(f, __func__, part->ops->set_real(part, vr, nvr, value));
}

//------------------------------------ Integer, Boolean ------------------------------------

enum { CHUNK = 64 };  // values converted at a time

static fmi2Status get_integers(fmi2Component c, const char* function, cpl_type type,
                               const fmi2ValueReference vr[], size_t nvr, int value[]) {
  fmu* f = fmu_enter(c, function, FMU_ANY);
  if (f == NULL || !known(f, function, type, vr, nvr)) return fmi2Error;
  if (f->model == NULL) return fmi2Error;
  cpl_component* part = fmu_component(f);
  int64_t wide[CHUNK];
  for (size_t at = 0; at < nvr; at += CHUNK) {
    size_t n = nvr - at < CHUNK ? nvr - at : CHUNK;
    cpl_status st = part->ops->get_integer(part, type, vr + at, n, wide);
    if (st != CPL_OK) return fmu_result(f, function, st);
    for (size_t i = 0; i < n; i++) {
      if (wide[i] < INT32_MIN || wide[i] > INT32_MAX) {
        return fmu_refuse(f, function, "%s = %.0f does not fit into an Integer",
                          fmu_variable(f, vr[at + i])->name, (double)wide[i]);
      }
      value[at + i] = (int)wide[i];
    }
  }
  return fmi2OK;
}

static fmi2Status set_integers(fmi2Component c, const char* function, cpl_type type,
                               const fmi2ValueReference vr[], size_t nvr, const int value[]) {
  fmu* f = fmu_enter(c, function, settable);
  if (f == NULL || !known(f, function, type, vr, nvr)) return fmi2Error;
  for (size_t i = 0; i < nvr; i++) {
    const cpl_variable* v = fmu_variable(f, vr[i]);
    if (!may_set(f, function, v)) return fmi2Error;
    if (type != CPL_BOOLEAN && !in_range(f, function, v, value[i])) return fmi2Error;
  }
  bool same = f->state == FMU_STEPPED;
  cpl_component* part = fmu_component(f);
  for (size_t i = 0; same && i < nvr; i++) {
    int64_t present = 0;
    same = part->ops->get_integer(part, type, &vr[i], 1, &present) == CPL_OK && present == value[i];
  }
  if (same) return fmi2OK;
  int64_t wide[CHUNK];
  for (size_t at = 0; at < nvr; at += CHUNK) {
    size_t n = nvr - at < CHUNK ? nvr - at : CHUNK;
    for (size_t i = 0; i < n; i++) wide[i] = value[at + i];
    cpl_status st = part->ops->set_integer(part, type, vr + at, n, wide);
    if (st != CPL_OK) return fmu_result(f, function, st);
  }
  return fmi2OK;
}

fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                          fmi2Integer value[]) {
  return get_integers(c, __func__, CPL_INTEGER, vr, nvr, value);
}

fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                          const fmi2Integer value[]) {
  return set_integers(c, __func__, CPL_INTEGER, vr, nvr, value);
}

fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                          fmi2Boolean value[]) {
  return get_integers(c, __func__, CPL_BOOLEAN, vr, nvr, value);
}

fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                          const fmi2Boolean value[]) {
  return set_integers(c, __func__, CPL_BOOLEAN, vr, nvr, value);
}

//------------------------------------ String ------------------------------------

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                         fmi2String value[]) {
  fmu* f = fmu_enter(c, __func__, FMU_ANY);
  if (f == NULL || f->model == NULL) return fmi2Error;
  cpl_component* part = fmu_component(f);
  return fmu_result(f, __func__, part->ops->get_string(part, vr, nvr, value));
}

static const cpl_variable* string_variable(const fmu* f, fmi2ValueReference ref) {
  for (int32_t i = 0; i < f->cm->desc.n_vars; i++) {
    const cpl_variable* v = &f->cm->desc.vars[i];
    if (v->type == CPL_STRING && v->ref == ref) return v;
  }
  return NULL;
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                         const fmi2String value[]) {
  fmu* f = fmu_enter(c, __func__, settable);
  if (f == NULL) return fmi2Error;
  for (size_t i = 0; i < nvr; i++) {
    const cpl_variable* v = string_variable(f, vr[i]);
    if (v == NULL)
      return fmu_refuse(f, __func__, "there is no String with value reference %u", vr[i]);
    if (value[i] == NULL) return fmu_refuse(f, __func__, "%s = NULL is no String", v->name);
    if (!may_set(f, __func__, v)) return fmi2Error;
  }
  cpl_component* part = fmu_component(f);
  return fmu_result(f, __func__, part->ops->set_string(part, vr, nvr, value));
}

//------------------------------------ directional derivatives ------------------------------------

// Move the knowns by `by` along the direction and read the unknowns.
static cpl_status look(fmu* f, const fmi2ValueReference unknown[], size_t n_unknown,
                       const fmi2ValueReference knowns[], size_t n_known, const double before[],
                       const double d_known[], double by, double out[]) {
  cpl_component* m = &f->model->base;
  for (size_t i = 0; i < n_known; i++) {
    double moved = before[i] + by * d_known[i];
    cpl_status st = m->ops->set_real(m, &knowns[i], 1, &moved);
    if (st != CPL_OK) return st;
  }
  return out != NULL ? m->ops->get_real(m, unknown, n_unknown, out) : CPL_OK;
}

// Central differences along the direction; its length follows values and nominals.
static cpl_status differences(fmu* f, const fmi2ValueReference unknown[], size_t n_unknown,
                              const fmi2ValueReference knowns[], size_t n_known,
                              const double d_known[], double d_unknown[], double before[],
                              double ahead[]) {
  cpl_component* m = &f->model->base;
  double steepest = 0;
  cpl_status st = m->ops->get_real(m, knowns, n_known, before);
  for (size_t i = 0; i < n_known && st == CPL_OK; i++) {
    double size = fmax(fabs(before[i]), fmu_variable(f, knowns[i])->nominal);
    steepest = fmax(steepest, fabs(d_known[i]) / size);
  }
  for (size_t i = 0; i < n_unknown; i++) d_unknown[i] = 0;
  if (st != CPL_OK || steepest == 0) return st;
  double by = cbrt(DBL_EPSILON) / steepest;
  st = look(f, unknown, n_unknown, knowns, n_known, before, d_known, by, ahead);
  if (st == CPL_OK)
    st = look(f, unknown, n_unknown, knowns, n_known, before, d_known, -by, d_unknown);
  for (size_t i = 0; i < n_unknown && st == CPL_OK; i++) {
    d_unknown[i] = (ahead[i] - d_unknown[i]) / (2 * by);
  }
  cpl_status back = look(f, NULL, 0, knowns, n_known, before, d_known, 0, NULL);
  return st != CPL_OK ? st : back;
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[],
                                        size_t nUnknown, const fmi2ValueReference knowns[],
                                        size_t nKnown, const fmi2Real dKnown[],
                                        fmi2Real dUnknown[]) {
  fmu* f = fmu_enter(c, __func__, FMU_INITIALIZING | FMU_RUNNING | FMU_TERMINATED);
  if (f == NULL || !known(f, __func__, CPL_REAL, unknown, nUnknown) ||
      !known(f, __func__, CPL_REAL, knowns, nKnown)) {
    return fmi2Error;
  }
  const cpli_layout* at = &f->cm->at;
  for (size_t i = 0; i < nKnown; i++) {
    if (knowns[i] < at->u || knowns[i] >= at->dx) {
      return fmu_refuse(f, __func__, "%s is neither a state nor an input",
                        fmu_variable(f, knowns[i])->name);
    }
  }
  cpl_component* m = &f->model->base;
  if (m->ops->directional != NULL) {
    return fmu_result(f, __func__,
                      m->ops->directional(m, unknown, nUnknown, knowns, nKnown, dKnown, dUnknown));
  }
  double* work = cpli_alloc(f->ctx, nKnown + nUnknown, sizeof *work);
  cpl_status st = work == NULL ? cpli_nomem(f->ctx)
                               : differences(f, unknown, nUnknown, knowns, nKnown, dKnown, dUnknown,
                                             work, work + nKnown);
  cpli_free(f->ctx, work);
  return fmu_result(f, __func__, st);
}
