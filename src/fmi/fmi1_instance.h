// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An instance of an FMI 1.0 FMU: the part that model exchange and co-simulation share. FMI 1.0 has
// one call instead of an initialisation mode: it is made when the first value is read, or at the
// end of the mode, after all inputs that can be known before are set.
#pragma once

#include "fmi/calls.h"
#include "fmi/fmi1_functions.h"

typedef struct cpli_fmi1 {
  cpli_fmu_instance base;
  struct cpli_fmi1* next;  // in the list of instances that may log
  bool initialized;        // the one call has been made
  bool time_due;           // the time must be set before the states
  fmiEventInfo event;      // of the initialisation, then of the present event
  bool after_init;         // there was no update since
  // conversion buffers, with room for one call
  uint32_t* refs;
  int* integers;
  char* booleans;
  size_t n_buffer;
} cpli_fmi1;

static inline const cpli_fmi1_functions* cpli_fmi1_fn(const cpli_fmi1* in) {
  return in->base.functions;
}

/// Owned: *out by the caller, who calls cpli_instance_destroy().
cpl_status cpli_fmi1_create(cpl_source* src, const char* name, bool co_simulation, cpli_fmi1** out);
