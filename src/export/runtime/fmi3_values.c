// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMI 3.0 over the instance: values. Arrays are read and set as a whole; in the description each
// element has its reference.
#include <math.h>

#include "export/runtime/fmu.h"
#include "fmi3Functions.h"

#define ENTER(states)                             \
  fmu* f = fmu_enter(instance, __func__, states); \
  if (f == NULL) return fmi3Error
#define DO(call) return (fmi3Status)(call)

//------------------------------------ arrays ------------------------------------

uint32_t fmu_extent3(const fmu* f, uint32_t ref) {
  int32_t var = fmu_number(f, ref);
  if (var < 0 && ref >= f->refs3.strings) var = fmu_string(f, ref - f->refs3.strings);
  return var >= 0 ? (uint32_t)f->extent[var] : 1;  // others are found out later
}

static bool count(fmu* f, const char* function, const uint32_t* vr, size_t n, size_t n_values) {
  size_t total = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t elements = fmu_extent3(f, vr[i]);
    if (elements == 0) {
      fmu_refuse(f, function, "there is no variable with value reference %u", (unsigned)vr[i]);
      return false;
    }
    total += elements;
  }
  if (total == n_values) return true;
  fmu_refuse(f, function, "the variables have %lu values, not %lu", (unsigned long)total,
             (unsigned long)n_values);
  return false;
}

static bool reserve(fmu* f, const char* function, size_t n) {
  if (n <= f->cap_scratch) return true;
  uint32_t* refs = cpli_realloc(f->ctx, f->scratch, n, sizeof *refs);
  if (refs == NULL) {
    fmu_result(f, function, cpli_nomem(f->ctx));
    return false;
  }
  f->scratch = refs;
  f->cap_scratch = n;
  return true;
}

// References of all elements, from position `room` of the scratch on; NULL after a message.
static const uint32_t* expand_into(fmu* f, const char* function, const uint32_t* vr, size_t n,
                                   size_t n_values, size_t room) {
  static const uint32_t none[1] = {0};
  if (!count(f, function, vr, n, n_values)) return NULL;
  if (n == n_values) return n > 0 ? vr : none;
  if (!reserve(f, function, room + n_values)) return NULL;
  uint32_t* out = f->scratch + room;
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t elements = fmu_extent3(f, vr[i]);
    for (uint32_t e = 0; e < elements; e++) out[k++] = vr[i] + e;
  }
  return out;
}

static const uint32_t* expand(fmu* f, const char* function, const uint32_t* vr, size_t n,
                              size_t n_values) {
  return expand_into(f, function, vr, n, n_values, 0);
}

//------------------------------------ Float64 ------------------------------------

static const fmu_kinds float64s = {FMU_REAL_OF(OWN) | FMU_REAL_OF(FLOAT64), "Float64"};
static const fmu_kinds float32s = {FMU_REAL_OF(FLOAT32), "Float32"};

static cpl_status read_indicators(fmu* f) {
  if (f->model != NULL) return f->model->ops->get_indicators(f->model, f->indicators);
  if (f->stepper->ops->get_indicators != NULL)
    return f->stepper->ops->get_indicators(f->stepper, f->indicators);
  return cpl_fail(f->ctx, CPL_ERR_INPUT, "event indicators are known in model exchange only");
}

// Time and event indicators, which are variables only here.
static fmu_status get_special(fmu* f, const char* function, uint32_t ref, double* value) {
  const cpli_refs3* refs = &f->refs3;
  if (ref == refs->time) {
    *value = f->time;
    return FMU_OK;
  }
  if (ref < refs->indicators || ref >= refs->indicators + refs->n_indicators) {
    return fmu_refuse(f, function, "there is no Float64 with value reference %u", (unsigned)ref);
  }
  if (f->state == FMU_INSTANTIATED || fmu_component(f) == NULL) {
    return fmu_refuse(f, function, "event indicators are not known before initialization");
  }
  cpl_status st = read_indicators(f);
  *value = f->indicators[ref - refs->indicators];
  return fmu_result(f, function, st);
}

fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                          size_t nValueReferences, fmi3Float64 values[], size_t nValues) {
  ENTER(FMU_ANY);
  const uint32_t* refs = expand(f, __func__, valueReferences, nValueReferences, nValues);
  if (refs == NULL) return fmi3Error;
  fmu_status status = FMU_OK;
  for (size_t i = 0, end; i < nValues && status == FMU_OK; i = end) {
    end = i;
    while (end < nValues && refs[end] < f->refs3.time) end++;
    if (end > i) status = fmu_get_reals(f, __func__, &float64s, refs + i, end - i, values + i);
    else status = get_special(f, __func__, refs[end], &values[end]), end++;
  }
  return (fmi3Status)status;
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance,
                                    const fmi3ValueReference valueReferences[],
                                    size_t nValueReferences, const fmi3Int32 orders[],
                                    fmi3Float64 values[], size_t nValues) {
  fmu* f = fmu_enter_kind(instance, __func__, FMU_STEPPED | FMU_STEP_FAILED, true);
  if (f == NULL) return fmi3Error;
  for (size_t i = 0; i < nValueReferences; i++)
    if (orders[i] != 1)
      DO(fmu_refuse(f, __func__, "derivatives of order %d are not offered", (int)orders[i]));
  const uint32_t* refs = expand(f, __func__, valueReferences, nValueReferences, nValues);
  if (refs == NULL) return fmi3Error;
  DO(fmu_get_output_derivatives(f, __func__, refs, nValues, values));
}

fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                          size_t nValueReferences, const fmi3Float64 values[], size_t nValues) {
  ENTER(FMU_SETTABLE);
  const uint32_t* refs = expand(f, __func__, valueReferences, nValueReferences, nValues);
  if (refs == NULL) return fmi3Error;
  DO(fmu_set_reals(f, __func__, &float64s, refs, nValues, values));
}

fmi3Status fmi3GetFloat32(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                          size_t nValueReferences, fmi3Float32 values[], size_t nValues) {
  ENTER(FMU_ANY);
  const uint32_t* refs = expand(f, __func__, valueReferences, nValueReferences, nValues);
  if (refs == NULL) return fmi3Error;
  fmu_status status = FMU_OK;
  for (size_t i = 0; i < nValues && status == FMU_OK; i++) {
    double value = 0;
    status = fmu_get_reals(f, __func__, &float32s, refs + i, 1, &value);
    values[i] = (fmi3Float32)value;
  }
  return (fmi3Status)status;
}

fmi3Status fmi3SetFloat32(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                          size_t nValueReferences, const fmi3Float32 values[], size_t nValues) {
  ENTER(FMU_SETTABLE);
  const uint32_t* refs = expand(f, __func__, valueReferences, nValueReferences, nValues);
  if (refs == NULL) return fmi3Error;
  fmu_status status = FMU_OK;
  for (size_t i = 0; i < nValues && status == FMU_OK; i++) {
    double value = values[i];
    status = fmu_set_reals(f, __func__, &float32s, refs + i, 1, &value);
  }
  return (fmi3Status)status;
}

//------------------------------------ integers ------------------------------------

#define KIND(name, title) \
  { {FMU_INTEGER_OF(name), title}, FMU_##name }
static const fmu_integers int8s = KIND(INT8, "Int8"), uint8s = KIND(UINT8, "UInt8");
static const fmu_integers int16s = KIND(INT16, "Int16"), uint16s = KIND(UINT16, "UInt16");
static const fmu_integers uint32s = KIND(UINT32, "UInt32"), uint64s = KIND(UINT64, "UInt64");
static const fmu_integers int32s = {{FMU_INTEGER_OF(OWN) | FMU_INTEGER_OF(INT32), "Int32"},
                                    FMU_INT32};
static const fmu_integers int64s = {{FMU_INTEGER_OF(INT64) | FMU_ENUMERATION, "Int64"}, FMU_INT64};
static const fmu_integers booleans = {{FMU_BOOLEAN, "Boolean"}, FMU_BOOL};

#define INTEGERS(type, kind)                                                                     \
  fmi3Status fmi3Get##type(fmi3Instance instance, const fmi3ValueReference valueReferences[],    \
                           size_t nValueReferences, fmi3##type values[], size_t nValues) {       \
    ENTER(FMU_ANY);                                                                              \
    const uint32_t* refs = expand(f, __func__, valueReferences, nValueReferences, nValues);      \
    if (refs == NULL) return fmi3Error;                                                          \
    DO(fmu_get_integers(f, __func__, kind, refs, nValues, values));                              \
  }                                                                                              \
  fmi3Status fmi3Set##type(fmi3Instance instance, const fmi3ValueReference valueReferences[],    \
                           size_t nValueReferences, const fmi3##type values[], size_t nValues) { \
    ENTER(FMU_SETTABLE);                                                                         \
    const uint32_t* refs = expand(f, __func__, valueReferences, nValueReferences, nValues);      \
    if (refs == NULL) return fmi3Error;                                                          \
    DO(fmu_set_integers(f, __func__, kind, refs, nValues, values));                              \
  }

INTEGERS(Int8, &int8s)
INTEGERS(UInt8, &uint8s)
INTEGERS(Int16, &int16s)
INTEGERS(UInt16, &uint16s)
INTEGERS(Int32, &int32s)
INTEGERS(UInt32, &uint32s)
INTEGERS(Int64, &int64s)
INTEGERS(UInt64, &uint64s)

// True for the parameter that enables the form with residuals.
static bool is_enable(const fmu* f, uint32_t ref) {
  return f->desc->n_algebraics > 0 && ref == f->refs3.enable;
}

static fmu_status set_enable(fmu* f, const char* function, bool value) {
  if (!f->configuring)
    return fmu_refuse(f, function, "a structural parameter can only be set in Configuration Mode");
  if (f->stepping && value)
    return fmu_refuse(f, function,
                      "algebraic variables are set from outside in model exchange "
                      "only");
  f->dae = value;
  return FMU_OK;
}

// The variables before the parameter that turns to the form with residuals, and behind it.
static size_t until_enable(const fmu* f, const uint32_t* vr, size_t n, size_t* n_values) {
  size_t i = 0;
  for (*n_values = 0; i < n && !is_enable(f, vr[i]); i++) *n_values += fmu_extent3(f, vr[i]);
  return i;
}

fmi3Status fmi3GetBoolean(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                          size_t nValueReferences, fmi3Boolean values[], size_t nValues) {
  ENTER(FMU_ANY);
  size_t before, n = until_enable(f, valueReferences, nValueReferences, &before);
  if (n < nValueReferences && before < nValues) {
    values[before] = f->dae;
    fmi3Status first = fmi3GetBoolean(instance, valueReferences, n, values, before);
    fmi3Status rest = fmi3GetBoolean(instance, valueReferences + n + 1, nValueReferences - n - 1,
                                     values + before + 1, nValues - before - 1);
    return first > rest ? first : rest;
  }
  const uint32_t* refs = expand(f, __func__, valueReferences, nValueReferences, nValues);
  if (refs == NULL) return fmi3Error;
  DO(fmu_get_integers(f, __func__, &booleans, refs, nValues, values));
}

fmi3Status fmi3SetBoolean(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                          size_t nValueReferences, const fmi3Boolean values[], size_t nValues) {
  ENTER(FMU_SETTABLE);
  size_t before, n = until_enable(f, valueReferences, nValueReferences, &before);
  if (n < nValueReferences && before < nValues) {
    fmu_status status = set_enable(f, __func__, values[before]);
    fmi3Status first = fmi3SetBoolean(instance, valueReferences, n, values, before);
    fmi3Status rest = fmi3SetBoolean(instance, valueReferences + n + 1, nValueReferences - n - 1,
                                     values + before + 1, nValues - before - 1);
    if (status != FMU_OK) return (fmi3Status)status;
    return first > rest ? first : rest;
  }
  const uint32_t* refs = expand(f, __func__, valueReferences, nValueReferences, nValues);
  if (refs == NULL) return fmi3Error;
  DO(fmu_set_integers(f, __func__, &booleans, refs, nValues, values));
}

//------------------------------------ Binary ------------------------------------

fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                         size_t nValueReferences, size_t valueSizes[], fmi3Binary values[],
                         size_t nValues) {
  ENTER(FMU_ANY);
  const uint32_t* refs = expand(f, __func__, valueReferences, nValueReferences, nValues);
  if (refs == NULL) return fmi3Error;
  cpl_binary* found = cpli_alloc(f->ctx, nValues, sizeof *found);
  if (found == NULL) DO(fmu_result(f, __func__, cpli_nomem(f->ctx)));
  fmu_status status = fmu_get_binaries(f, __func__, refs, nValues, found);
  for (size_t i = 0; i < nValues && status == FMU_OK; i++) {
    valueSizes[i] = found[i].size;
    values[i] = found[i].data;
  }
  cpli_free(f->ctx, found);
  return (fmi3Status)status;
}

fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                         size_t nValueReferences, const size_t valueSizes[],
                         const fmi3Binary values[], size_t nValues) {
  ENTER(FMU_SETTABLE);
  const uint32_t* refs = expand(f, __func__, valueReferences, nValueReferences, nValues);
  if (refs == NULL) return fmi3Error;
  cpl_binary* given = cpli_alloc(f->ctx, nValues, sizeof *given);
  if (given == NULL) DO(fmu_result(f, __func__, cpli_nomem(f->ctx)));
  for (size_t i = 0; i < nValues; i++) given[i] = (cpl_binary){values[i], valueSizes[i]};
  fmu_status status = fmu_set_binaries(f, __func__, refs, nValues, given);
  cpli_free(f->ctx, given);
  return (fmi3Status)status;
}

//------------------------------------ String ------------------------------------

// The references of Strings in the description. NULL after a message.
static const uint32_t* string_refs(fmu* f, const char* function, const uint32_t* vr, size_t n,
                                   size_t n_values) {
  const uint32_t* refs = expand(f, function, vr, n, n_values);
  uint32_t first = f->refs3.strings;
  if (refs == NULL || first == 0) return refs;
  for (size_t i = 0; i < n_values; i++) {
    if (refs[i] >= first && refs[i] < f->refs3.time) continue;
    fmu_refuse(f, function, "there is no String with value reference %u", (unsigned)refs[i]);
    return NULL;
  }
  if (!reserve(f, function, n_values + 1)) return NULL;
  for (size_t i = 0; i < n_values; i++) f->scratch[i] = refs[i] - first;
  return f->scratch;
}

fmi3Status fmi3GetString(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                         size_t nValueReferences, fmi3String values[], size_t nValues) {
  ENTER(FMU_ANY);
  const uint32_t* refs = string_refs(f, __func__, valueReferences, nValueReferences, nValues);
  if (refs == NULL) return fmi3Error;
  DO(fmu_get_strings(f, __func__, refs, nValues, values));
}

fmi3Status fmi3SetString(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                         size_t nValueReferences, const fmi3String values[], size_t nValues) {
  ENTER(FMU_SETTABLE);
  const uint32_t* refs = string_refs(f, __func__, valueReferences, nValueReferences, nValues);
  if (refs == NULL) return fmi3Error;
  DO(fmu_set_strings(f, __func__, refs, nValues, values));
}

//------------------------------------ clock ------------------------------------

// The clock is active from a time event of the model to the update that handles it.
fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                        size_t nValueReferences, fmi3Clock values[]) {
  ENTER(FMU_EVENT);
  for (size_t i = 0; i < nValueReferences; i++) {
    if (valueReferences[i] != f->refs3.clock)
      DO(fmu_refuse(f, __func__, "there is no Clock with value reference %u",
                    (unsigned)valueReferences[i]));
    values[i] = fmu_next_event(f) <= f->time;
  }
  return fmi3OK;
}

static fmi3Status not_of_this_clock(fmi3Instance instance, const char* function) {
  fmu* f = fmu_enter(instance, function, FMU_ANY);
  if (f == NULL) return fmi3Error;
  DO(fmu_refuse(f, function, "the only clock is a triggered output"));
}

fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                        size_t nValueReferences, const fmi3Clock values[]) {
  (void)valueReferences, (void)nValueReferences, (void)values;
  return not_of_this_clock(instance, __func__);
}

fmi3Status fmi3GetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                  size_t nValueReferences, fmi3Float64 intervals[],
                                  fmi3IntervalQualifier qualifiers[]) {
  (void)valueReferences, (void)nValueReferences, (void)intervals, (void)qualifiers;
  return not_of_this_clock(instance, __func__);
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance instance,
                                   const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, fmi3UInt64 counters[],
                                   fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[]) {
  (void)valueReferences, (void)nValueReferences, (void)counters, (void)resolutions;
  (void)qualifiers;
  return not_of_this_clock(instance, __func__);
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                               size_t nValueReferences, fmi3Float64 shifts[]) {
  (void)valueReferences, (void)nValueReferences, (void)shifts;
  return not_of_this_clock(instance, __func__);
}

fmi3Status fmi3GetShiftFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                size_t nValueReferences, fmi3UInt64 counters[],
                                fmi3UInt64 resolutions[]) {
  (void)valueReferences, (void)nValueReferences, (void)counters, (void)resolutions;
  return not_of_this_clock(instance, __func__);
}

fmi3Status fmi3SetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                  size_t nValueReferences, const fmi3Float64 intervals[]) {
  (void)valueReferences, (void)nValueReferences, (void)intervals;
  return not_of_this_clock(instance, __func__);
}

fmi3Status fmi3SetIntervalFraction(fmi3Instance instance,
                                   const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, const fmi3UInt64 counters[],
                                   const fmi3UInt64 resolutions[]) {
  (void)valueReferences, (void)nValueReferences, (void)counters, (void)resolutions;
  return not_of_this_clock(instance, __func__);
}

fmi3Status fmi3SetShiftDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                               size_t nValueReferences, const fmi3Float64 shifts[]) {
  (void)valueReferences, (void)nValueReferences, (void)shifts;
  return not_of_this_clock(instance, __func__);
}

fmi3Status fmi3SetShiftFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                size_t nValueReferences, const fmi3UInt64 counters[],
                                const fmi3UInt64 resolutions[]) {
  (void)valueReferences, (void)nValueReferences, (void)counters, (void)resolutions;
  return not_of_this_clock(instance, __func__);
}

//------------------------------------ dependencies and derivatives ------------------------------

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance instance,
                                               fmi3ValueReference valueReference,
                                               size_t* nDependencies) {
  (void)valueReference, (void)nDependencies;
  ENTER(FMU_ANY);
  DO(fmu_refuse(f, __func__, "dependencies of single elements are not offered"));
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance instance, fmi3ValueReference dependent,
                                       size_t elementIndicesOfDependent[],
                                       fmi3ValueReference independents[],
                                       size_t elementIndicesOfIndependents[],
                                       fmi3DependencyKind dependencyKinds[], size_t nDependencies) {
  (void)dependent, (void)elementIndicesOfDependent, (void)independents, (void)nDependencies;
  (void)elementIndicesOfIndependents, (void)dependencyKinds;
  ENTER(FMU_ANY);
  DO(fmu_refuse(f, __func__, "dependencies of single elements are not offered"));
}

// Both lists of references with arrays expanded: in one scratch, the knowns behind the unknowns.
static bool expand_both(fmu* f, const char* function, fmu_derivative* d, size_t n_unknown_values,
                        size_t n_known_values) {
  const uint32_t *unknowns = d->unknowns, *knowns = d->knowns;
  // at once, so that the scratch does not move any more
  if (!reserve(f, function, n_unknown_values + n_known_values + 1)) return false;
  d->unknowns = expand_into(f, function, unknowns, d->n_unknowns, n_unknown_values, 0);
  if (d->unknowns == NULL) return false;
  d->knowns = expand_into(f, function, knowns, d->n_knowns, n_known_values, n_unknown_values);
  d->n_unknowns = n_unknown_values;
  d->n_knowns = n_known_values;
  return d->knowns != NULL;
}

static const unsigned differentiable = FMU_INITIALIZING | FMU_RUNNING | FMU_TERMINATED;

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[],
                                        size_t nUnknowns, const fmi3ValueReference knowns[],
                                        size_t nKnowns, const fmi3Float64 seed[], size_t nSeed,
                                        fmi3Float64 sensitivity[], size_t nSensitivity) {
  ENTER(differentiable);
  fmu_derivative d = {unknowns, knowns, nUnknowns, nKnowns, seed, sensitivity};
  if (!expand_both(f, __func__, &d, nSensitivity, nSeed)) return fmi3Error;
  DO(fmu_directional(f, __func__, &d));
}

fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[],
                                    size_t nUnknowns, const fmi3ValueReference knowns[],
                                    size_t nKnowns, const fmi3Float64 seed[], size_t nSeed,
                                    fmi3Float64 sensitivity[], size_t nSensitivity) {
  ENTER(differentiable);
  fmu_derivative d = {unknowns, knowns, nUnknowns, nKnowns, seed, sensitivity};
  if (!expand_both(f, __func__, &d, nSeed, nSensitivity)) return fmi3Error;
  DO(fmu_adjoint(f, __func__, &d));
}
