// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reading and writing variables, and directional derivatives.
#include <float.h>
#include <math.h>

#include "export/runtime/fmu.h"

//------------------------------------ checks ------------------------------------

static bool known(fmu* f, const char* function, unsigned types, const char* title,
                  const uint32_t* refs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const cpl_variable* v = fmu_variable(f, refs[i]);
    if (v != NULL && (types >> v->type & 1) != 0) continue;
    fmu_refuse(f, function, "there is no %s with value reference %u", title, (unsigned)refs[i]);
    return false;
  }
  return true;
}

// The reason why a variable cannot be set now. Before initialisation: everything with a start
// value; afterwards inputs and tunable parameters, and what is discrete among them only at events.
static const char* why_not_set(const fmu* f, const cpl_variable* v) {
  if (f->state == FMU_INSTANTIATED || f->state == FMU_INITIALIZING) {
    return v->has_start ? NULL : "is computed by the model";
  }
  bool algebraic = v->type == CPL_REAL && v->ref >= f->cm->at.a && v->ref < f->cm->at.g;
  if (algebraic && f->dae) return NULL;
  bool input = v->causality == CPL_CAUSALITY_INPUT;
  bool tunable =
      v->causality == CPL_CAUSALITY_PARAMETER && v->variability == CPL_VARIABILITY_TUNABLE;
  if (!input && !tunable) return "cannot be set after initialization";
  bool moving = f->state == FMU_CONTINUOUS || (f->event_mode && f->state == FMU_STEPPED);
  if (moving && v->variability != CPL_VARIABILITY_CONTINUOUS) {
    return "can only be set in Event Mode";
  }
  return NULL;
}

static bool may_set(fmu* f, const char* function, const cpl_variable* v) {
  const char* why = why_not_set(f, v);
  if (why != NULL) fmu_refuse(f, function, "%s %s", v->name, why);
  return why == NULL;
}

// Real inputs may overshoot in the importer's solver; limits are enforced for everything else.
static bool in_range(fmu* f, const char* function, const cpl_variable* v, double value) {
  bool trial = v->type == CPL_REAL && v->causality == CPL_CAUSALITY_INPUT;
  double min = v->min, max = v->max;
  if (v->type == CPL_ENUMERATION && v->declared_type >= 0) {
    min = 1;
    max = f->cm->desc.types[v->declared_type].n_items;
  }
  if ((trial && !isnan(value)) || (value >= min && value <= max)) return true;
  fmu_refuse(f, function, "%s = %g is not between %g and %g", v->name, value, min, max);
  return false;
}

// In an event that the importer handles, the update has something to do.
static void note_change(fmu* f) { f->update_due = f->update_due || f->state == FMU_EVENT; }

//------------------------------------ Real ------------------------------------

static const char real_title[] = "Real";

fmu_status fmu_get_reals(fmu* f, const char* function, const uint32_t* refs, size_t n,
                         double* values) {
  if (!known(f, function, FMU_REAL, real_title, refs, n) || f->model == NULL) return FMU_ERROR;
  cpl_component* part = fmu_component(f);
  return fmu_result(f, function, part->ops->get_real(part, refs, n, values));
}

// Masters set their inputs before every step; the stepper receives only those that changed.
static bool nothing_new(fmu* f, const uint32_t* refs, size_t n, const double* values) {
  if (f->state != FMU_STEPPED) return false;
  for (size_t i = 0; i < n; i++) {
    double present;
    cpl_component* m = &f->model->base;
    if (m->ops->get_real(m, &refs[i], 1, &present) != CPL_OK || present != values[i]) return false;
  }
  return true;
}

static bool is_continuous_input(const fmu* f, uint32_t ref) {
  const cpl_variable* v = fmu_variable(f, ref);
  return v->causality == CPL_CAUSALITY_INPUT && v->variability == CPL_VARIABILITY_CONTINUOUS;
}

fmu_status fmu_get_output_derivatives(fmu* f, const char* function, const uint32_t* refs, size_t n,
                                      double* values) {
  cpl_component* part = fmu_component(f);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    uint32_t state = refs[i] - f->cm->at.x;  // wraps around for smaller references
    if (state >= f->cm->at.nx) {
      const cpl_variable* v = fmu_variable(f, refs[i]);
      return fmu_refuse(f, function, "the derivative of %s is not offered, since it is no state",
                        v != NULL ? v->name : "an unknown variable");
    }
    uint32_t ref = f->cm->at.dx + state;
    st = part->ops->get_real(part, &ref, 1, &values[i]);
  }
  return fmu_result(f, function, st);
}

fmu_status fmu_set_reals(fmu* f, const char* function, const uint32_t* refs, size_t n,
                         const double* values) {
  if (!known(f, function, FMU_REAL, real_title, refs, n)) return FMU_ERROR;
  for (size_t i = 0; i < n; i++) {
    const cpl_variable* v = fmu_variable(f, refs[i]);
    if (!may_set(f, function, v) || !in_range(f, function, v, values[i])) return FMU_ERROR;
  }
  if (nothing_new(f, refs, n, values)) return FMU_OK;
  note_change(f);
  cpl_component* part = fmu_component(f);
  bool runs = f->stepper != NULL && (f->state == FMU_STEPPED || f->state == FMU_EVENT);
  if (!runs) return fmu_result(f, function, part->ops->set_real(part, refs, n, values));
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) {
    st = is_continuous_input(f, refs[i]) ? fmu_set_input(f, refs[i] - f->cm->at.u, values[i])
                                         : part->ops->set_real(part, &refs[i], 1, &values[i]);
  }
  return fmu_result(f, function, st);
}

fmu_status fmu_set_input_derivatives(fmu* f, const char* function, const uint32_t* refs, size_t n,
                                     const int32_t* orders, const double* values) {
  for (size_t i = 0; i < n; i++) {
    const cpl_variable* v = fmu_variable(f, refs[i]);
    const char* bad = NULL;
    if (v == NULL || v->type != CPL_REAL || !is_continuous_input(f, refs[i]))
      bad = "is no continuous input";
    else if (orders[i] < 1 || orders[i] > FMU_ORDERS) bad = "has derivatives of orders 1 to 3 only";
    else if (!isfinite(values[i])) bad = "cannot have a derivative that is not finite";
    if (bad != NULL)
      return fmu_refuse(f, function, "value reference %u %s", (unsigned)refs[i], bad);
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t input = refs[i] - f->cm->at.u;
    f->input_derivatives[FMU_ORDERS * input + (uint32_t)orders[i] - 1] = values[i];
  }
  return FMU_OK;
}

//------------------------------------ Integer, Boolean ------------------------------------

enum { CHUNK = 64 };  // values converted at a time

static bool store(void* values, size_t i, fmu_width width, int64_t value) {
  switch (width) {
    case FMU_INT32: ((int32_t*)values)[i] = (int32_t)value; break;
    case FMU_INT64: ((int64_t*)values)[i] = value; break;
    case FMU_BOOL: ((bool*)values)[i] = value != 0; break;
  }
  return width != FMU_INT32 || (value >= INT32_MIN && value <= INT32_MAX);
}

static int64_t fetch(const void* values, size_t i, fmu_width width) {
  switch (width) {
    case FMU_INT32: return ((const int32_t*)values)[i];
    case FMU_INT64: return ((const int64_t*)values)[i];
    default: return ((const bool*)values)[i];
  }
}

static cpl_type type_of(const fmu_integers* kind) {
  return kind->types == FMU_BOOLEAN ? CPL_BOOLEAN : CPL_INTEGER;
}

fmu_status fmu_get_integers(fmu* f, const char* function, const fmu_integers* kind,
                            const uint32_t* refs, size_t n, void* values) {
  if (!known(f, function, kind->types, kind->title, refs, n) || f->model == NULL) return FMU_ERROR;
  cpl_component* part = fmu_component(f);
  int64_t wide[CHUNK];
  for (size_t at = 0; at < n; at += CHUNK) {
    size_t some = n - at < CHUNK ? n - at : CHUNK;
    cpl_status st = part->ops->get_integer(part, type_of(kind), refs + at, some, wide);
    if (st != CPL_OK) return fmu_result(f, function, st);
    for (size_t i = 0; i < some; i++) {
      if (store(values, at + i, kind->width, wide[i])) continue;
      return fmu_refuse(f, function, "%s = %.0f does not fit into 32 bits",
                        fmu_variable(f, refs[at + i])->name, (double)wide[i]);
    }
  }
  return FMU_OK;
}

static bool no_new_integers(fmu* f, const fmu_integers* kind, const uint32_t* refs, size_t n,
                            const void* values) {
  cpl_component* part = fmu_component(f);
  if (f->state != FMU_STEPPED) return false;
  for (size_t i = 0; i < n; i++) {
    int64_t present = 0;
    cpl_status st = part->ops->get_integer(part, type_of(kind), &refs[i], 1, &present);
    if (st != CPL_OK || present != fetch(values, i, kind->width)) return false;
  }
  return true;
}

fmu_status fmu_set_integers(fmu* f, const char* function, const fmu_integers* kind,
                            const uint32_t* refs, size_t n, const void* values) {
  if (!known(f, function, kind->types, kind->title, refs, n)) return FMU_ERROR;
  for (size_t i = 0; i < n; i++) {
    const cpl_variable* v = fmu_variable(f, refs[i]);
    if (!may_set(f, function, v)) return FMU_ERROR;
    if (v->type == CPL_BOOLEAN) continue;
    if (!in_range(f, function, v, (double)fetch(values, i, kind->width))) return FMU_ERROR;
  }
  if (no_new_integers(f, kind, refs, n, values)) return FMU_OK;
  note_change(f);
  cpl_component* part = fmu_component(f);
  int64_t wide[CHUNK];
  for (size_t at = 0; at < n; at += CHUNK) {
    size_t some = n - at < CHUNK ? n - at : CHUNK;
    for (size_t i = 0; i < some; i++) wide[i] = fetch(values, at + i, kind->width);
    cpl_status st = part->ops->set_integer(part, type_of(kind), refs + at, some, wide);
    if (st != CPL_OK) return fmu_result(f, function, st);
  }
  return FMU_OK;
}

//------------------------------------ String ------------------------------------

fmu_status fmu_get_strings(fmu* f, const char* function, const uint32_t* refs, size_t n,
                           const char** values) {
  if (f->model == NULL) return FMU_ERROR;
  cpl_component* part = fmu_component(f);
  return fmu_result(f, function, part->ops->get_string(part, refs, n, values));
}

static const cpl_variable* string_variable(const fmu* f, uint32_t ref) {
  for (int32_t i = 0; i < f->cm->desc.n_vars; i++) {
    const cpl_variable* v = &f->cm->desc.vars[i];
    if (v->type == CPL_STRING && v->ref == ref) return v;
  }
  return NULL;
}

fmu_status fmu_set_strings(fmu* f, const char* function, const uint32_t* refs, size_t n,
                           const char* const* values) {
  for (size_t i = 0; i < n; i++) {
    const cpl_variable* v = string_variable(f, refs[i]);
    if (v == NULL)
      return fmu_refuse(f, function, "there is no String with value reference %u",
                        (unsigned)refs[i]);
    if (values[i] == NULL) return fmu_refuse(f, function, "%s = NULL is no String", v->name);
    if (!may_set(f, function, v)) return FMU_ERROR;
  }
  note_change(f);
  cpl_component* part = fmu_component(f);
  return fmu_result(f, function, part->ops->set_string(part, refs, n, values));
}

//------------------------------------ directional derivatives ------------------------------------

// Move the knowns by `by` along the direction and read the unknowns.
static cpl_status look(fmu* f, const fmu_derivative* d, const double before[], double by,
                       double out[]) {
  cpl_component* m = &f->model->base;
  for (size_t i = 0; i < d->n_knowns; i++) {
    double moved = before[i] + by * d->seed[i];
    cpl_status st = m->ops->set_real(m, &d->knowns[i], 1, &moved);
    if (st != CPL_OK) return st;
  }
  return out != NULL ? m->ops->get_real(m, d->unknowns, d->n_unknowns, out) : CPL_OK;
}

// Central differences along the direction; its length follows values and nominals.
static cpl_status differences(fmu* f, const fmu_derivative* d, double before[], double ahead[]) {
  cpl_component* m = &f->model->base;
  double steepest = 0, *result = d->sensitivity;
  cpl_status st = m->ops->get_real(m, d->knowns, d->n_knowns, before);
  for (size_t i = 0; i < d->n_knowns && st == CPL_OK; i++) {
    double size = fmax(fabs(before[i]), fmu_variable(f, d->knowns[i])->nominal);
    steepest = fmax(steepest, fabs(d->seed[i]) / size);
  }
  for (size_t i = 0; i < d->n_unknowns; i++) result[i] = 0;
  if (st != CPL_OK || steepest == 0) return st;
  double by = cbrt(DBL_EPSILON) / steepest;
  st = look(f, d, before, by, ahead);
  if (st == CPL_OK) st = look(f, d, before, -by, result);
  for (size_t i = 0; i < d->n_unknowns && st == CPL_OK; i++) {
    result[i] = (ahead[i] - result[i]) / (2 * by);
  }
  cpl_status back = look(f, d, before, 0, NULL);
  return st != CPL_OK ? st : back;
}

static bool differentiable(fmu* f, const char* function, const fmu_derivative* d) {
  const cpli_layout* at = &f->cm->at;
  if (!known(f, function, FMU_REAL, real_title, d->unknowns, d->n_unknowns) ||
      !known(f, function, FMU_REAL, real_title, d->knowns, d->n_knowns)) {
    return false;
  }
  for (size_t i = 0; i < d->n_knowns; i++) {
    if (d->knowns[i] >= at->u && d->knowns[i] < at->dx) continue;
    fmu_refuse(f, function, "%s is neither a state nor an input",
               fmu_variable(f, d->knowns[i])->name);
    return false;
  }
  return true;
}

// `work` has room for all knowns and unknowns.
static cpl_status along(fmu* f, const fmu_derivative* d, double* work) {
  cpl_component* m = &f->model->base;
  if (m->ops->directional == NULL) return differences(f, d, work, work + d->n_knowns);
  return m->ops->directional(m, d->unknowns, d->n_unknowns, d->knowns, d->n_knowns, d->seed,
                             d->sensitivity);
}

fmu_status fmu_directional(fmu* f, const char* function, const fmu_derivative* d) {
  if (!differentiable(f, function, d)) return FMU_ERROR;
  double* work = cpli_alloc(f->ctx, d->n_knowns + d->n_unknowns, sizeof *work);
  cpl_status st = work != NULL ? along(f, d, work) : cpli_nomem(f->ctx);
  cpli_free(f->ctx, work);
  return fmu_result(f, function, st);
}

// One direction after the other: a column of the Jacobian, times the seed.
static cpl_status transposed(fmu* f, const fmu_derivative* d, double* column, double* work) {
  for (size_t k = 0; k < d->n_knowns; k++) {
    double one = 1;
    fmu_derivative single = {d->unknowns, &d->knowns[k], d->n_unknowns, 1, &one, column};
    cpl_status st = along(f, &single, work);
    if (st != CPL_OK) return st;
    d->sensitivity[k] = 0;
    for (size_t i = 0; i < d->n_unknowns; i++) d->sensitivity[k] += d->seed[i] * column[i];
  }
  return CPL_OK;
}

fmu_status fmu_adjoint(fmu* f, const char* function, const fmu_derivative* d) {
  if (!differentiable(f, function, d)) return FMU_ERROR;
  double* work = cpli_alloc(f->ctx, 2 * d->n_unknowns + 1, sizeof *work);
  cpl_status st = work != NULL ? transposed(f, d, work, work + d->n_unknowns) : cpli_nomem(f->ctx);
  cpli_free(f->ctx, work);
  return fmu_result(f, function, st);
}
