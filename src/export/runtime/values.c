// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reading and writing variables of all types, and directional derivatives.
#include <float.h>
#include <math.h>

#include "export/runtime/fmu.h"

//------------------------------------ checks ------------------------------------

static const fmu_kinds real_kinds = {FMU_REAL, "Real"};

static bool is_of(const fmu* f, const fmu_kinds* kinds, uint32_t ref) {
  return ref < f->refs3.n_numbers && (f->kind_of_ref[ref] & kinds->set) != 0;
}

static bool known(fmu* f, const char* function, const fmu_kinds* kinds, const uint32_t* refs,
                  size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (is_of(f, kinds, refs[i])) continue;
    fmu_refuse(f, function, "there is no %s with value reference %u", kinds->title,
               (unsigned)refs[i]);
    return false;
  }
  return true;
}

static const cpl_variable* number(const fmu* f, uint32_t ref) {
  return &f->desc->vars[f->number_of_ref[ref]];
}

static bool exists(fmu* f, const char* function) {
  if (fmu_component(f) != NULL) return true;
  fmu_refuse(f, function, "the instance could not be made");
  return false;
}

// The reason why a variable cannot be set now. Before initialisation: everything with a start
// value; afterwards inputs and tunable parameters, and what is discrete among them only at events.
static const char* why_not_set(const fmu* f, const cpl_variable* v) {
  if (f->state == FMU_INSTANTIATED || f->state == FMU_INITIALIZING) {
    return f->roles[v - f->desc->vars].start ? NULL : "is computed by the model";
  }
  if (f->dae && f->roles[v - f->desc->vars].algebraic) return NULL;
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

static bool is_item(const cpl_type_def* type, double value) {
  for (int32_t i = 0; i < type->n_items; i++)
    if ((double)type->items[i].value == value) return true;
  return false;
}

// Real inputs may overshoot in the importer's solver; limits are enforced for everything else.
static bool in_range(fmu* f, const char* function, const cpl_variable* v, double value) {
  bool trial = v->type == CPL_REAL && v->causality == CPL_CAUSALITY_INPUT;
  double min = v->min, max = v->max;
  if (v->type == CPL_ENUMERATION && v->declared_type >= 0) {
    const cpl_type_def* type = &f->desc->types[v->declared_type];
    if (is_item(type, value)) return true;
    min = INFINITY, max = -INFINITY;
    for (int32_t i = 0; i < type->n_items; i++) {
      min = fmin(min, (double)type->items[i].value);
      max = fmax(max, (double)type->items[i].value);
    }
    if (value >= min && value <= max) {
      fmu_refuse(f, function, "%s = %g is no item of %s", v->name, value, type->name);
      return false;
    }
  }
  if ((trial && !isnan(value)) || (value >= min && value <= max)) return true;
  fmu_refuse(f, function, "%s = %g is not between %g and %g", v->name, value, min, max);
  return false;
}

// In an event that the importer handles, the update has something to do.
static void note_change(fmu* f) { f->update_due = f->update_due || f->state == FMU_EVENT; }

// Sets values; those before initialisation are kept for a component that replaces this one.
static cpl_status set(fmu* f, const fmu_values* v) {
  cpl_component* c = fmu_component(f);
  cpl_status st = fmu_back_to_event(f);
  if (st < 0) return st;
  switch (v->type) {
    case CPL_REAL: st = c->ops->set_real(c, v->refs, v->n, v->values); break;
    case CPL_STRING: st = c->ops->set_string(c, v->refs, v->n, v->values); break;
    case CPL_BINARY: st = c->ops->set_binary(c, v->refs, v->n, v->values); break;
    default: st = c->ops->set_integer(c, v->type, v->refs, v->n, v->values); break;
  }
  return st < 0 || f->state != FMU_INSTANTIATED ? st : fmu_keep_start(f, v);
}

//------------------------------------ Real ------------------------------------

fmu_status fmu_get_reals(fmu* f, const char* function, const fmu_kinds* kinds, const uint32_t* refs,
                         size_t n, double* values) {
  if (!known(f, function, kinds, refs, n) || !exists(f, function)) return FMU_ERROR;
  cpl_component* part = fmu_component(f);
  return fmu_result(f, function, part->ops->get_real(part, refs, n, values));
}

// Masters set their inputs before every step; the stepper receives only those that changed.
static bool nothing_new(fmu* f, const uint32_t* refs, size_t n, const double* values) {
  if (f->state != FMU_STEPPED) return false;
  cpl_component* part = fmu_component(f);
  for (size_t i = 0; i < n; i++) {
    double present;
    if (part->ops->get_real(part, &refs[i], 1, &present) != CPL_OK || present != values[i])
      return false;
  }
  return true;
}

static int32_t input_of(const fmu* f, uint32_t ref) {
  return f->roles[f->number_of_ref[ref]].input;
}

// States have derivatives that are variables; the stepper may know others.
static cpl_status output_derivative(fmu* f, const char* function, uint32_t ref, double* value) {
  int32_t var = f->number_of_ref[ref], derivative = f->roles[var].derivative;
  cpl_component* part = fmu_component(f);
  const cpl_stepper_ops* ops = f->stepper->ops;
  if (derivative >= 0) return part->ops->get_real(part, &f->desc->vars[derivative].ref, 1, value);
  if (ops->get_output_derivatives != NULL && part->can.output_derivatives > 0)
    return ops->get_output_derivatives(f->stepper, &ref, 1, value);
  fmu_refuse(f, function, "the derivative of %s is not offered, since it is no state",
             f->desc->vars[var].name);
  return CPL_EVENT;  // reported
}

fmu_status fmu_get_output_derivatives(fmu* f, const char* function, const uint32_t* refs, size_t n,
                                      double* values) {
  cpl_status st = CPL_OK;
  if (!known(f, function, &real_kinds, refs, n)) return FMU_ERROR;
  for (size_t i = 0; i < n && st == CPL_OK; i++)
    st = output_derivative(f, function, refs[i], &values[i]);
  return st == CPL_EVENT ? FMU_ERROR : fmu_result(f, function, st);
}

fmu_status fmu_set_reals(fmu* f, const char* function, const fmu_kinds* kinds, const uint32_t* refs,
                         size_t n, const double* values) {
  if (!known(f, function, kinds, refs, n)) return FMU_ERROR;
  for (size_t i = 0; i < n; i++) {
    const cpl_variable* v = number(f, refs[i]);
    if (!may_set(f, function, v) || !in_range(f, function, v, values[i])) return FMU_ERROR;
  }
  if (nothing_new(f, refs, n, values)) return FMU_OK;
  note_change(f);
  if (!f->stepping)
    return fmu_result(f, function, set(f, &(fmu_values){CPL_REAL, refs, n, values}));
  bool runs = f->state == FMU_STEPPED || f->state == FMU_EVENT;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) {
    int32_t input = input_of(f, refs[i]);
    if (input >= 0 && (runs || f->has_curve[input]))
      st = fmu_set_input(f, (uint32_t)input, values[i]);
    else st = set(f, &(fmu_values){CPL_REAL, &refs[i], 1, &values[i]});
  }
  return fmu_result(f, function, st);
}

fmu_status fmu_set_input_derivatives(fmu* f, const char* function, const uint32_t* refs, size_t n,
                                     const int32_t* orders, const double* values) {
  int32_t most = fmu_input_order(f);
  if (n > 0 && most == 0) return fmu_refuse(f, function, "derivatives of inputs are not used");
  for (size_t i = 0; i < n; i++) {
    const char* bad = NULL;
    if (!is_of(f, &real_kinds, refs[i]) || input_of(f, refs[i]) < 0) bad = "is no continuous input";
    else if (orders[i] < 1 || orders[i] > FMU_ORDERS) bad = "has derivatives of orders 1 to 3 only";
    else if (orders[i] > most) bad = "has no derivatives of this order";
    else if (!isfinite(values[i])) bad = "cannot have a derivative that is not finite";
    if (bad != NULL)
      return fmu_refuse(f, function, "value reference %u %s", (unsigned)refs[i], bad);
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t input = (uint32_t)input_of(f, refs[i]);
    f->input_derivatives[FMU_ORDERS * input + (uint32_t)orders[i] - 1] = values[i];
  }
  return FMU_OK;
}

//------------------------------------ Integer, Boolean ------------------------------------

enum { CHUNK = 64 };  // values converted at a time

// The value as the integer of that type; false: it does not fit.
static bool store(void* values, size_t i, fmu_width width, int64_t value) {
  switch (width) {
#define X(name, type) \
  case name: ((type*)values)[i] = (type)value; return ((type*)values)[i] == value;
    X(FMU_INT8, int8_t)
    X(FMU_UINT8, uint8_t)
    X(FMU_INT16, int16_t)
    X(FMU_UINT16, uint16_t)
    X(FMU_INT32, int32_t)
    X(FMU_UINT32, uint32_t)
#undef X
    case FMU_INT64: ((int64_t*)values)[i] = value; return true;
    case FMU_UINT64: ((uint64_t*)values)[i] = (uint64_t)value; return true;
    default: ((bool*)values)[i] = value != 0; return true;
  }
}

static int64_t fetch(const void* values, size_t i, fmu_width width) {
  switch (width) {
    case FMU_INT8: return ((const int8_t*)values)[i];
    case FMU_UINT8: return ((const uint8_t*)values)[i];
    case FMU_INT16: return ((const int16_t*)values)[i];
    case FMU_UINT16: return ((const uint16_t*)values)[i];
    case FMU_INT32: return ((const int32_t*)values)[i];
    case FMU_UINT32: return ((const uint32_t*)values)[i];
    case FMU_INT64: return ((const int64_t*)values)[i];
    case FMU_UINT64: return (int64_t)((const uint64_t*)values)[i];
    default: return ((const bool*)values)[i];
  }
}

static double as_double(int64_t value, fmu_width width) {
  return width == FMU_UINT64 ? (double)(uint64_t)value : (double)value;
}

// How many of n values are of the type of the first one, at most a chunk.
static size_t same_type(const fmu* f, const uint32_t* refs, size_t n) {
  size_t some = 1;
  uint8_t type = number(f, refs[0])->type;
  while (some < n && some < CHUNK && number(f, refs[some])->type == type) some++;
  return some;
}

static cpl_type type_of(const fmu* f, uint32_t ref) { return (cpl_type)number(f, ref)->type; }

static const char* limits_of(fmu_width width) {
  switch (width) {
    case FMU_INT8:
    case FMU_UINT8: return "8 bits";
    case FMU_INT16:
    case FMU_UINT16: return "16 bits";
    default: return "32 bits";
  }
}

fmu_status fmu_get_integers(fmu* f, const char* function, const fmu_integers* what,
                            const uint32_t* refs, size_t n, void* values) {
  if (!known(f, function, &what->kinds, refs, n) || !exists(f, function)) return FMU_ERROR;
  cpl_component* part = fmu_component(f);
  int64_t wide[CHUNK];
  for (size_t at = 0, some; at < n; at += some) {
    some = same_type(f, refs + at, n - at);
    cpl_status st = part->ops->get_integer(part, type_of(f, refs[at]), refs + at, some, wide);
    if (st != CPL_OK) return fmu_result(f, function, st);
    for (size_t i = 0; i < some; i++) {
      if (store(values, at + i, what->width, wide[i])) continue;
      return fmu_refuse(f, function, "%s = %.0f does not fit into %s",
                        number(f, refs[at + i])->name, (double)wide[i], limits_of(what->width));
    }
  }
  return FMU_OK;
}

static bool no_new_integers(fmu* f, const fmu_integers* what, const uint32_t* refs, size_t n,
                            const void* values) {
  cpl_component* part = fmu_component(f);
  if (f->state != FMU_STEPPED) return false;
  for (size_t i = 0; i < n; i++) {
    int64_t present = 0;
    cpl_status st = part->ops->get_integer(part, type_of(f, refs[i]), &refs[i], 1, &present);
    if (st != CPL_OK || present != fetch(values, i, what->width)) return false;
  }
  return true;
}

fmu_status fmu_set_integers(fmu* f, const char* function, const fmu_integers* what,
                            const uint32_t* refs, size_t n, const void* values) {
  if (!known(f, function, &what->kinds, refs, n)) return FMU_ERROR;
  for (size_t i = 0; i < n; i++) {
    const cpl_variable* v = number(f, refs[i]);
    if (!may_set(f, function, v)) return FMU_ERROR;
    if (v->type == CPL_BOOLEAN) continue;
    double value = as_double(fetch(values, i, what->width), what->width);
    if (!in_range(f, function, v, value)) return FMU_ERROR;
  }
  if (no_new_integers(f, what, refs, n, values)) return FMU_OK;
  note_change(f);
  int64_t wide[CHUNK];
  for (size_t at = 0, some; at < n; at += some) {
    some = same_type(f, refs + at, n - at);
    for (size_t i = 0; i < some; i++) wide[i] = fetch(values, at + i, what->width);
    cpl_status st = set(f, &(fmu_values){type_of(f, refs[at]), refs + at, some, wide});
    if (st != CPL_OK) return fmu_result(f, function, st);
  }
  return FMU_OK;
}

//------------------------------------ String, Binary ------------------------------------

static bool known_strings(fmu* f, const char* function, const uint32_t* refs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (fmu_string(f, refs[i]) >= 0) continue;
    fmu_refuse(f, function, "there is no String with value reference %u", (unsigned)refs[i]);
    return false;
  }
  return true;
}

fmu_status fmu_get_strings(fmu* f, const char* function, const uint32_t* refs, size_t n,
                           const char** values) {
  if (!known_strings(f, function, refs, n) || !exists(f, function)) return FMU_ERROR;
  cpl_component* part = fmu_component(f);
  return fmu_result(f, function, part->ops->get_string(part, refs, n, values));
}

fmu_status fmu_set_strings(fmu* f, const char* function, const uint32_t* refs, size_t n,
                           const char* const* values) {
  if (!known_strings(f, function, refs, n)) return FMU_ERROR;
  for (size_t i = 0; i < n; i++) {
    const cpl_variable* v = &f->desc->vars[fmu_string(f, refs[i])];
    if (values[i] == NULL) return fmu_refuse(f, function, "%s = NULL is no String", v->name);
    if (!may_set(f, function, v)) return FMU_ERROR;
  }
  note_change(f);
  return fmu_result(f, function, set(f, &(fmu_values){CPL_STRING, refs, n, values}));
}

static const fmu_kinds binary_kinds = {FMU_BINARY, "Binary"};

fmu_status fmu_get_binaries(fmu* f, const char* function, const uint32_t* refs, size_t n,
                            cpl_binary* values) {
  if (!known(f, function, &binary_kinds, refs, n) || !exists(f, function)) return FMU_ERROR;
  cpl_component* part = fmu_component(f);
  return n == 0 ? FMU_OK : fmu_result(f, function, part->ops->get_binary(part, refs, n, values));
}

fmu_status fmu_set_binaries(fmu* f, const char* function, const uint32_t* refs, size_t n,
                            const cpl_binary* values) {
  if (!known(f, function, &binary_kinds, refs, n)) return FMU_ERROR;
  for (size_t i = 0; i < n; i++) {
    const cpl_variable* v = number(f, refs[i]);
    if (values[i].data == NULL && values[i].size > 0)
      return fmu_refuse(f, function, "%s = NULL is no Binary", v->name);
    if (!may_set(f, function, v)) return FMU_ERROR;
  }
  if (n == 0) return FMU_OK;
  note_change(f);
  return fmu_result(f, function, set(f, &(fmu_values){CPL_BINARY, refs, n, values}));
}

//------------------------------------ directional derivatives ------------------------------------

// Move the knowns of a model by `by` along the direction and read the unknowns.
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
    double size = fmax(fabs(before[i]), number(f, d->knowns[i])->nominal);
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
  if (st < 0) return st;
  cpl_status back = look(f, d, before, 0, NULL);
  return st != CPL_OK ? st : back;
}

static bool differentiable(fmu* f, const char* function, const fmu_derivative* d) {
  if (!known(f, function, &real_kinds, d->unknowns, d->n_unknowns) ||
      !known(f, function, &real_kinds, d->knowns, d->n_knowns) || !exists(f, function)) {
    return false;
  }
  for (size_t i = 0; i < d->n_knowns; i++) {
    const fmu_role* role = &f->roles[f->number_of_ref[d->knowns[i]]];
    if (role->known || (f->dae && role->algebraic)) continue;
    fmu_refuse(f, function, "%s is neither a state nor an input", number(f, d->knowns[i])->name);
    return false;
  }
  if (f->model != NULL || f->stepper->base.ops->directional != NULL) return true;
  fmu_refuse(f, function, "directional derivatives are not offered in co-simulation");
  return false;
}

// `work` has room for all knowns and unknowns. The function of a part may fail, and an output may
// be a local variable of a part, which gives no derivatives of those.
static cpl_status along(fmu* f, const fmu_derivative* d, double* work) {
  cpl_component* c = fmu_component(f);
  if (c->ops->directional == NULL) return differences(f, d, work, work + d->n_knowns);
  cpl_status st = c->ops->directional(c, d->unknowns, d->n_unknowns, d->knowns, d->n_knowns,
                                      d->seed, d->sensitivity);
  if (st >= 0 || st == CPL_ERR_CANCELLED || f->model == NULL) return st;
  if (!f->warned_of_differences)
    cpl_log(f->ctx, CPL_LOG_WARNING, c->name, "differences replace directional derivatives: %s",
            cpl_context_error(f->ctx));
  f->warned_of_differences = true;
  return differences(f, d, work, work + d->n_knowns);
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
