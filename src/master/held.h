// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Values of a stepper as they were before its step, of those variables that somebody has read.
#pragma once

#include "master/beside.h"

typedef union cpli_held_value {
  double real;
  int64_t integer;
  char* text;
} cpli_held_value;

typedef struct cpli_held {
  cpl_context* ctx;
  const cpl_description* desc;
  const cpli_beside_place* places;  // of its variables
  cpli_held_value* values;          // by variable
  uint32_t* noted;                  // variables
  size_t n_noted;
  bool *is_noted, *is_held;
} cpli_held;

/// Nothing is copied: all of it must outlive *out.
cpl_status cpli_held_init(cpli_held* out, cpl_context* ctx, const cpl_description* desc,
                          const cpli_beside_place* places);
void cpli_held_free(cpli_held* h);
void cpli_held_note(cpli_held* h, uint32_t var);  // it is read
/// Read what was noted of a part.
cpl_status cpli_held_take(cpli_held* h, int32_t part, cpl_component* c);
/// Returns: false when one of them was not noted before.
bool cpli_held_reals(const cpli_held* h, const uint32_t* vars, size_t n, double* values);
bool cpli_held_integers(const cpli_held* h, const uint32_t* vars, size_t n, int64_t* values);
bool cpli_held_texts(const cpli_held* h, const uint32_t* vars, size_t n, const char** values);
