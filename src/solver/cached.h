// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Caches values of a stepper from before its step, of those variables that have been read.
#pragma once

#include "model/router.h"

typedef union cpli_cached_value {
  double real;
  int64_t integer;
  char* text;
} cpli_cached_value;

typedef struct cpli_cached {
  cpl_context* ctx;
  const cpl_description* desc;
  const cpli_router* router;
  cpli_cached_value* values;  // by variable
  uint32_t* noted;            // variables
  size_t n_noted;
  bool *is_noted, *is_cached;
} cpli_cached;

/// Nothing is copied: all of it must outlive *out.
cpl_status cpli_cached_init(cpli_cached* out, cpl_context* ctx, const cpl_description* desc,
                            const cpli_router* router);
void cpli_cached_free(cpli_cached* h);
void cpli_cached_note(cpli_cached* h, const uint32_t* vars, size_t n);  // they are read
/// Caches the noted variables of a component.
cpl_status cpli_cached_take(cpli_cached* h, int32_t number, cpl_component* c);
/// Reads cached values. Returns: false when one of them was not noted before.
bool cpli_cached_get(const cpli_cached* h, const cpli_access* run);
