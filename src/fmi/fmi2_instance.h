// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An instance of an FMI 2.0 FMU: the part that model exchange and co-simulation share.
#pragma once

#include "fmi/calls.h"
#include "fmi/fmi2_functions.h"

// A value that was set before fmi2SetupExperiment.
typedef struct cpli_early_value {
  cpl_type type;
  uint32_t ref;
  double real;
  int64_t integer;
  char* text;
} cpli_early_value;

typedef struct cpli_fmi2 {
  cpli_fmu_instance base;
  fmi2CallbackFunctions callbacks;
  fmi2EventInfo event;  // of the present event: an FMU may fill it in one of its updates only
  int* integers;        // conversion buffer between int64_t and fmi2Integer or fmi2Boolean
  size_t n_integers;
  cpli_early_value* early;
  size_t n_early, cap_early;
} cpli_fmi2;

static inline const cpli_fmi2_functions* cpli_fmi2_fn(const cpli_fmi2* in) {
  return in->base.functions;
}

/// Owned: *out by the caller, who calls cpli_instance_destroy().
cpl_status cpli_fmi2_create(cpl_source* src, const char* name, bool co_simulation, cpli_fmi2** out);
