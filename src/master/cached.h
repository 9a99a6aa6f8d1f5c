// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Caches values of a stepper from before its step, of those variables that have been read.
#pragma once

#include "master/independent.h"

typedef union cpli_cached_value {
  double real;
  int64_t integer;
  char* text;
} cpli_cached_value;

typedef struct cpli_cached {
  cpl_context* ctx;
  const cpl_description* desc;
  const cpli_independent_slot* slots;  // of its variables
  cpli_cached_value* values;           // by variable
  uint32_t* noted;                     // variables
  size_t n_noted;
  bool *is_noted, *is_cached;
} cpli_cached;

/// Nothing is copied: all of it must outlive *out.
cpl_status cpli_cached_init(cpli_cached* out, cpl_context* ctx, const cpl_description* desc,
                            const cpli_independent_slot* slots);
void cpli_cached_free(cpli_cached* h);
void cpli_cached_note(cpli_cached* h, uint32_t var);  // it is read
/// Caches the noted variables of a part.
cpl_status cpli_cached_take(cpli_cached* h, int32_t part, cpl_component* c);
/// Returns: false when one of them was not noted before.
bool cpli_cached_reals(const cpli_cached* h, const uint32_t* vars, size_t n, double* values);
bool cpli_cached_integers(const cpli_cached* h, const uint32_t* vars, size_t n, int64_t* values);
bool cpli_cached_texts(const cpli_cached* h, const uint32_t* vars, size_t n, const char** values);
