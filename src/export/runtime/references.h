// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The variables of a description in FMI 3.0: arrays are one variable each, value references are
// unique over all types, and time, a clock, the event indicators and the parameter that enables the
// form with residuals are variables too. The writer of the XML and the runtime follow these rules.
#pragma once

#include "couplet/interface.h"

// Value references. That of a variable is cpl_variable.ref, for Strings plus `strings`; what only
// FMI 3.0 has comes after all variables.
typedef struct cpli_refs3 {
  uint32_t n_numbers;   // references of all but Strings are below it
  uint32_t n_strings;   // and those of Strings below this, in the description
  uint32_t strings;     // added to those of Strings: they have a space of their own in models in C
  uint32_t time;        // the independent variable
  uint32_t clock;       // ticks at time events
  uint32_t indicators;  // the first event indicator
  uint32_t n_indicators;
  uint32_t enable;  // the parameter that turns to the form with residuals
} cpli_refs3;

/// indicators: the FMU is for model exchange, so that event indicators are variables.
static inline cpli_refs3 cpli_refs3_of(const cpl_description* d, bool indicators) {
  cpli_refs3 r = {.n_indicators = indicators ? (uint32_t)d->n_indicators : 0};
  bool apart = false;  // a reference that is not the variable's index: Strings are counted apart
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    uint32_t* end = v->type == CPL_STRING ? &r.n_strings : &r.n_numbers;
    if (v->ref >= *end) *end = v->ref + 1;
    apart = apart || (v->type == CPL_STRING && v->ref != (uint32_t)i);
  }
  r.strings = apart ? r.n_numbers : 0;
  uint32_t end = r.strings + r.n_strings;
  r.time = r.n_numbers > end ? r.n_numbers : end;
  r.clock = r.time + 1;
  r.indicators = r.time + 2;
  r.enable = r.indicators + r.n_indicators;
  return r;
}

static inline uint32_t cpli_ref3(const cpli_refs3* refs, const cpl_variable* v) {
  return v->type == CPL_STRING ? refs->strings + v->ref : v->ref;
}

//------------------------------------ kinds of variables ------------------------------------

/// What a variable is for an importer, by the combinations that FMI allows.
typedef struct cpli_standing {
  cpl_causality causality;
  cpl_variability variability;
  cpl_initial initial;  // NONE: an input or the time
  bool has_start;       // and can be set before initialisation
} cpli_standing;

/// The description of a system may have combinations that FMI does not: an input of a model that is
/// coupled is a local variable with a start value that nobody uses, the time of a model one of
/// many.
static inline cpli_standing cpli_standing_of(const cpl_variable* v) {
  cpli_standing s = {(cpl_causality)v->causality, (cpl_variability)v->variability,
                     CPL_INITIAL_CALCULATED, false};
  bool given =
      v->has_start && (v->initial == CPL_INITIAL_EXACT || v->initial == CPL_INITIAL_APPROX);
  bool moves = s.variability >= CPL_VARIABILITY_DISCRETE;
  if (s.variability == CPL_VARIABILITY_CONTINUOUS && v->type != CPL_REAL)
    s.variability = CPL_VARIABILITY_DISCRETE;
  if (s.causality == CPL_CAUSALITY_INDEPENDENT) {
    s.causality = CPL_CAUSALITY_LOCAL;
  } else if (s.causality == CPL_CAUSALITY_INPUT) {
    if (!moves) s.variability = CPL_VARIABILITY_DISCRETE;
    s.initial = CPL_INITIAL_NONE;
    s.has_start = true;
  } else if (s.causality == CPL_CAUSALITY_PARAMETER) {
    if (s.variability != CPL_VARIABILITY_TUNABLE) s.variability = CPL_VARIABILITY_FIXED;
    s.has_start = v->has_start && !v->structural;  // sizes cannot be changed
    const bool follows = v->initial == CPL_INITIAL_APPROX && s.variability == CPL_VARIABILITY_FIXED;
    if (s.has_start) s.initial = follows ? CPL_INITIAL_APPROX : CPL_INITIAL_EXACT;
    else s.causality = CPL_CAUSALITY_LOCAL;
    // one that follows from others, unless it is set
    if (s.has_start && follows) s.causality = CPL_CAUSALITY_CALCULATED_PARAMETER;
  } else if (s.causality == CPL_CAUSALITY_CALCULATED_PARAMETER || !moves) {
    bool output = s.causality == CPL_CAUSALITY_OUTPUT;
    bool constant = s.variability == CPL_VARIABILITY_CONSTANT && v->has_start &&
                    s.causality != CPL_CAUSALITY_CALCULATED_PARAMETER;
    bool guess = given && v->initial == CPL_INITIAL_APPROX && !output;
    s.initial = constant ? CPL_INITIAL_EXACT : guess ? CPL_INITIAL_APPROX : CPL_INITIAL_CALCULATED;
    if (!constant && output) s.variability = CPL_VARIABILITY_DISCRETE;
    else if (!constant && s.variability != CPL_VARIABILITY_TUNABLE)
      s.variability = CPL_VARIABILITY_FIXED;
    s.has_start = constant || guess;
  } else if (given) {
    s.initial = (cpl_initial)v->initial;
    s.has_start = true;
  }
  return s;
}

//------------------------------------ arrays ------------------------------------

// Whether `count` variables from this one on can be read as one array.
static inline bool cpli_is_array3(const cpl_description* d, int32_t var, const cpl_array* array) {
  if (array->count > d->n_vars - var) return false;
  const cpl_variable* v = &d->vars[var];
  for (int32_t i = 1; i < array->count; i++) {
    if (v[i].ref != v->ref + (uint32_t)i || v[i].type != v->type || v[i].width != v->width ||
        v[i].causality != v->causality || v[i].variability != v->variability ||
        v[i].has_start != v->has_start || v[i].initial != v->initial)
      return false;
    if (v->derivative_of >= 0 && v[i].derivative_of != v->derivative_of + i) return false;
  }
  return true;
}

/// The number of elements of the variable that begins with each one: 1 for a scalar, 0 inside an
/// array. Derivatives of an array of states are an array as well.
static inline void cpli_extents3(const cpl_description* d, int32_t* extent) {
  for (int32_t i = 0; i < d->n_vars; i++) extent[i] = 1;
  for (int32_t i = 0; i < d->n_vars; i++) {
    int32_t of = d->vars[i].derivative_of >= 0 ? d->vars[i].derivative_of : i;
    const cpl_array* array = d->vars[of].array > 0 ? &d->arrays[d->vars[of].array - 1] : NULL;
    if (array == NULL || array->first != of || !cpli_is_array3(d, i, array)) continue;
    for (int32_t k = 1; k < array->count; k++) extent[i + k] = 0;
    extent[i] = array->count;
  }
}

/// The array that begins with a variable of this extent; NULL: it is a scalar, or inside an array.
static inline const cpl_array* cpli_array3(const cpl_description* d, int32_t var, int32_t extent) {
  int32_t state = d->vars[var].derivative_of;
  int32_t of = state >= 0 ? state : var;
  if (d->vars[of].array == 0) return NULL;
  const cpl_array* array = &d->arrays[d->vars[of].array - 1];
  return array->first == of && array->count == extent ? array : NULL;
}
