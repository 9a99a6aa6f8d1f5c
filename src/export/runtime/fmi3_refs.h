// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The variables of a C model in FMI 3.0: arrays are one variable each, value references are unique
// over all types, and time, a clock, the event indicators and the parameter that enables the form
// with residuals are variables too. The description and the runtime follow these rules.
#pragma once

#include "couplet/interface.h"

// Value references after those of all numbers, which are cpl_variable.ref.
typedef struct cpli_refs3 {
  uint32_t strings;     // the first String
  uint32_t time;        // the independent variable
  uint32_t clock;       // ticks at time events
  uint32_t indicators;  // the first event indicator
} cpli_refs3;

static inline cpli_refs3 cpli_refs3_make(uint32_t n_numbers, uint32_t n_strings) {
  uint32_t end = n_numbers + n_strings;
  return (cpli_refs3){.strings = n_numbers, .time = end, .clock = end + 1, .indicators = end + 2};
}

/// The parameter that turns a model with algebraic variables to its form with residuals.
static inline uint32_t cpli_refs3_enable(const cpli_refs3* refs, const cpl_description* d) {
  return refs->indicators + (uint32_t)d->n_indicators;
}

/// The number of elements of the variable that begins with this one: 1 with *array NULL for a
/// scalar, 0 inside an array. Derivatives of an array of states are an array as well.
static inline int32_t cpli_extent3(const cpl_description* d, int32_t var, const cpl_array** array) {
  int32_t state = d->vars[var].derivative_of;
  int32_t of = state >= 0 ? state : var;
  *array = NULL;
  if (d->vars[of].array == 0) return 1;
  *array = &d->arrays[d->vars[of].array - 1];
  return (*array)->first == of ? (*array)->count : 0;
}
