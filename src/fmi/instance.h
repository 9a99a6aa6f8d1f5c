// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An instance of an FMU, whatever its version: loading, life cycle, health, messages, saved states.
// A version adds its functions (fmiN_functions.h), their calls (fmiN_calls.h), values
// (fmiN_instance.c) and the two kinds (fmiN_model.c, fmiN_stepper.c). All calls into the FMU go
// through calls.h.
#pragma once

#include <pthread.h>

#include "fmi/library.h"

typedef enum cpli_fmu_phase {
  CPLI_INSTANTIATED,
  CPLI_CONFIGURING,  // FMI 3.0: structural parameters are set
  CPLI_INITIALIZING,
  CPLI_EVENT,       // model exchange; co-simulation with event mode
  CPLI_CONTINUOUS,  // model exchange
  CPLI_STEPPING,    // co-simulation
  CPLI_TERMINATED,
} cpli_fmu_phase;

typedef enum cpli_health {
  CPLI_GOOD,
  CPLI_FAILED,  // an error: only a reset, a restore or the end is possible
  CPLI_DEAD,    // fatal or a crash: no call at all, not even to free the instance
} cpli_health;

// The values of the status are the same in all versions.
enum { CPLI_SAID_OK, CPLI_SAID_WARNING, CPLI_SAID_DISCARD, CPLI_SAID_ERROR, CPLI_SAID_FATAL };
enum { CPLI_SAID_PENDING = 5, CPLI_CRASHED = -1 };

typedef struct cpli_fmu_instance cpli_fmu_instance;

// A function of the standard: what is known before it is called.
typedef struct cpli_fmu_call {
  const char* name;
  int flags;      // calls.h
  size_t offset;  // of its pointer in the version's table of functions
} cpli_fmu_call;

// What differs between the versions.
typedef struct cpli_api {
  const char* prefix;   // of functions and status names: "fmi", "fmi2", "fmi3"
  const char* version;  // "2.0"
  size_t size;          // of an instance
  size_t functions;     // offset of the table of functions in it
  const cpli_fmu_call* (*calls)(size_t* n);
  const cpl_component_ops* ops;
  bool resource_path;                            // resources are given as a path instead of a URI
  cpl_status (*prepare)(cpli_fmu_instance* in);  // buffers and the like, before instantiate
  cpl_status (*instantiate)(cpli_fmu_instance* in);  // checks the version first
  cpl_status (*free_instance)(cpli_fmu_instance* in);
  cpl_status (*terminate)(cpli_fmu_instance* in);
  cpl_status (*reset)(cpli_fmu_instance* in);
  void (*release)(cpli_fmu_instance* in);  // what prepare allocated. Nullable.
  // saved states: NULL when the version has none
  cpl_status (*get_state)(cpli_fmu_instance* in, void** state);
  cpl_status (*set_state)(cpli_fmu_instance* in, void* state);
  cpl_status (*free_state)(cpli_fmu_instance* in, void** state);
  cpl_status (*state_size)(cpli_fmu_instance* in, void* state, size_t* size);
  cpl_status (*write_state)(cpli_fmu_instance* in, void* state, uint8_t* bytes, size_t size);
  cpl_status (*read_state)(cpli_fmu_instance* in, const uint8_t* bytes, size_t size, void** state);
  // What the adapter itself has to remember with a saved state. Nullable, all three together.
  size_t (*own_size)(const cpli_fmu_instance* in);
  void (*own_save)(const cpli_fmu_instance* in, void* own);
  cpl_status (*own_restore)(cpli_fmu_instance* in, const void* own, size_t size);
  // optional functions: which capabilities the binary has
  bool (*has_states)(const cpli_fmu_instance* in);
  bool (*has_serialization)(const cpli_fmu_instance* in);
  bool (*has_directional)(const cpli_fmu_instance* in);
} cpli_api;

// First member of every version's instance.
struct cpli_fmu_instance {
  union {
    cpl_component component;  // first in model and stepper, too
    cpl_model model;
    cpl_stepper stepper;
  } head;
  cpl_model_ops model_ops;
  cpl_component_ops component_ops;  // slots the FMU cannot fill are NULL
  cpl_stepper_ops stepper_ops;
  const cpli_api* api;
  cpl_fmu* fmu;
  const cpli_fmu_kind* kind;
  bool co_simulation;  // it is a stepper: co-simulation or scheduled execution
  bool scheduled;      // scheduled execution
  cpli_library* lib;
  void* instance;  // of the FMU
  char* name;
  char* resources;  // URI or path

  cpl_setup setup;
  cpli_fmu_phase phase;
  cpli_health health;
  double time;                         // NAN before setup
  int last;                            // what the last call returned
  int depth;                           // nested calls: more than one in callbacks of the FMU
  bool interrupted;                    // the call log has a nested call inside the present one
  int32_t snapshots;                   // alive: the FMU must be able to go back
  uint8_t* bytes;                      // of the state that was serialised last
  const char* failed_in;               // the function after which no other may be called
  uint32_t busy_calls;                 // steps and events so far
  uint16_t x87;                        // surroundings.h: when the instance was made
  bool said_bad_time, said_bad_limit;  // warnings that come once

  pthread_mutex_t mutex;  // of the message: an FMU may log from its own threads
  int message_status;
  char message[512];  // the worst of this call, the last of those; empty: none
};

/// Load, instantiate, allocate; head.model.ops or head.stepper.ops is left to the caller.
/// Owned: *out by the caller, who calls cpli_instance_destroy().
cpl_status cpli_instance_create(cpl_source* src, const char* name, const cpli_api* api,
                                const cpli_fmu_kind* kind, cpli_fmu_instance** out);
void cpli_instance_destroy(cpl_component* c);  // Nullable: c

// Operations of a component that all versions share.
cpl_status cpli_instance_terminate(cpl_component* c);
cpl_status cpli_instance_reset(cpl_component* c);
cpl_status cpli_instance_save(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_instance_restore(cpl_component* c, const cpl_snapshot* snapshot);
void cpli_instance_forget(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_instance_serialize(cpl_component* c, const cpl_snapshot* snapshot,
                                   cpl_binary* bytes);
cpl_status cpli_instance_deserialize(cpl_component* c, const cpl_binary* bytes,
                                     cpl_snapshot* snapshot);

/// The name of the variable that a reference stands for; "a variable" when there is none.
const char* cpli_instance_variable(const cpli_fmu_instance* in, cpl_type type, uint32_t ref);

/// Warn when what the binary says of itself is not what the description says.
void cpli_instance_compare(const cpli_fmu_instance* in, const char* what, const char* said,
                           const char* expected);

/// Nominal values of 0, NaN and the like would ruin the tolerances: 1 instead.
void cpli_clean_nominals(double* nominals, size_t n);

// Steppers

/// A step backwards cannot be: fails with a message.
cpl_status cpli_check_step(cpli_fmu_instance* in, double t_end);

/// A step that ended at `reached`, before t_end; `what` names where that time comes from. Fails
/// when it lies behind t_end.
cpl_status cpli_step_stopped(cpli_fmu_instance* in, const char* what, double reached, double t_end,
                             cpl_step_result* result);

/// What `function` predicts as the longest step. NAN: nothing that could be one, which is said
/// once.
double cpli_step_predicted(cpli_fmu_instance* in, const char* function, double h);

/// After a failed call that sets derivatives of inputs: a warning, and there are none any more.
/// Fails when the FMU cannot be used any more.
cpl_status cpli_without_derivatives(cpli_fmu_instance* in, const char* function);

/// An asynchronous FMU computes on while `ask` is called at growing intervals; the status of the
/// step, or -1: the question failed.
int cpli_wait_for_step(cpli_fmu_instance* in,
                       cpl_status (*ask)(cpli_fmu_instance* in, int* status));

// The value of an input and its derivatives: orders 1 to n, as many as the FMU supports.
typedef struct cpli_curve_orders {
  double value;
  int n, orders[3];
  double values[3];
} cpli_curve_orders;

cpli_curve_orders cpli_curve_now(const cpli_fmu_instance* in, const cpl_curve* curve);

//------------------------------------ constraints.c ------------------------------------

// Functions of the extension that a binary has.
typedef struct cpli_constraint_functions {
  bool constraint, jacobian, projection, step;
} cpli_constraint_functions;

/// Put those operations that the FMU offers into its table.
void cpli_offer_constraints(cpli_fmu_instance* in, const cpl_model_ops* all,
                            cpli_constraint_functions there);
/// Not more of them are active than there can be.
cpl_status cpli_check_constraints(const cpli_fmu_instance* in, size_t n);
