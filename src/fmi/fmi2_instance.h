// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An instance of an FMI 2.0 FMU: what model exchange and co-simulation have in common - loading,
// life cycle, values, saved states, directional derivatives. fmi2_model.c and fmi2_stepper.c add
// the rest. All calls into the FMU go through fmi2_calls.h.
#pragma once

#include <pthread.h>

#include "fmi/fmi2_functions.h"
#include "fmi/library.h"

typedef enum cpli_fmi2_phase {
  CPLI_FMI2_INSTANTIATED,
  CPLI_FMI2_INITIALIZING,
  CPLI_FMI2_EVENT,       // model exchange
  CPLI_FMI2_CONTINUOUS,  // model exchange
  CPLI_FMI2_STEPPING,    // co-simulation
  CPLI_FMI2_TERMINATED,
} cpli_fmi2_phase;

typedef enum cpli_fmi2_health {
  CPLI_FMI2_GOOD,
  CPLI_FMI2_FAILED,  // fmi2Error: only a reset, a restore or the end is possible
  CPLI_FMI2_DEAD,    // fmi2Fatal or a crash: no call at all, fmi2FreeInstance included
} cpli_fmi2_health;

typedef struct cpli_fmi2 {
  union {
    cpl_component component;  // first in model and stepper, too
    cpl_model model;
    cpl_stepper stepper;
  } head;
  cpl_component_ops component_ops;  // slots the FMU cannot fill are NULL
  cpl_stepper_ops stepper_ops;
  cpl_fmu* fmu;
  const cpli_fmu_kind* kind;
  cpli_library* lib;
  cpli_fmi2_functions fn;
  fmi2Type type;
  fmi2Component instance;  // of the FMU
  fmi2CallbackFunctions callbacks;
  char* name;
  char* resources;  // URI

  cpli_fmi2_phase phase;
  cpli_fmi2_health health;
  double time;            // NAN before setup
  fmi2Status last;        // what the last call returned
  int32_t snapshots;      // alive: the FMU must be able to go back
  const char* failed_in;  // the function after which no other may be called

  int* integers;  // fmi2Integer and fmi2Boolean on their way from and to int64_t
  size_t n_integers;

  pthread_mutex_t mutex;  // of the message: an FMU may log from its own threads
  fmi2Status message_status;
  char message[512];  // the worst of this call, the last of those; empty: none
} cpli_fmi2;

/// Load, instantiate, allocate.
/// Owned: *out by the caller, who calls ops->destroy.
cpl_status cpli_fmi2_create(cpl_source* src, const char* name, fmi2Type type, cpli_fmi2** out);
void cpli_fmi2_destroy(cpl_component* c);

/// After `exit_init` the phase differs between the kinds: both use this one.
cpl_status cpli_fmi2_exit_init(cpli_fmi2* in, cpli_fmi2_phase next);
