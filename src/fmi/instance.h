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
enum { CPLI_FMU_OK, CPLI_FMU_WARNING, CPLI_FMU_DISCARD, CPLI_FMU_ERROR, CPLI_FMU_FATAL };
enum { CPLI_FMU_PENDING = 5, CPLI_CRASHED = -1 };

typedef struct cpli_fmu_instance cpli_fmu_instance;

// Properties of a function of the standard.
typedef struct cpli_fmu_call {
  const char* name;
  int flags;      // calls.h
  size_t offset;  // of its pointer in the table of functions
} cpli_fmu_call;

// The operations and properties of one version.
typedef struct cpli_api {
  const char* prefix;   // of functions and status names: "fmi", "fmi2", "fmi3"
  const char* version;  // "2.0"
  size_t size;          // of an instance
  const cpli_fmu_call* (*calls)(size_t* n);
  const cpl_component_ops* ops;  // of the version; instance.c adds those that all share
  bool resource_path;            // resources are given as a path instead of a URI
  cpl_status (*prepare)(cpli_fmu_instance* in);      // buffers and the like, before instantiate
  cpl_status (*instantiate)(cpli_fmu_instance* in);  // checks the version first
  cpl_status (*free_instance)(cpli_fmu_instance* in);
  cpl_status (*terminate)(cpli_fmu_instance* in);
  cpl_status (*reset)(cpli_fmu_instance* in);
  void (*release)(cpli_fmu_instance* in);  // frees the memory of prepare. Nullable.
  // saved states: NULL when the version has none
  cpl_status (*get_state)(cpli_fmu_instance* in, void** state);
  cpl_status (*set_state)(cpli_fmu_instance* in, void* state);
  cpl_status (*free_state)(cpli_fmu_instance* in, void** state);
  cpl_status (*state_size)(cpli_fmu_instance* in, void* state, size_t* size);
  cpl_status (*write_state)(cpli_fmu_instance* in, void* state, uint8_t* bytes, size_t size);
  cpl_status (*read_state)(cpli_fmu_instance* in, const uint8_t* bytes, size_t size, void** state);
  // The adapter's own part of a saved state. Nullable, all three together.
  size_t (*own_size)(const cpli_fmu_instance* in);
  void (*own_save)(const cpli_fmu_instance* in, void* own);
  cpl_status (*own_restore)(cpli_fmu_instance* in, const void* own, size_t size);
  // The binary has what its description promises. Nullable.
  bool (*has_directional)(const cpli_fmu_instance* in);
} cpli_api;

// The calls of model exchange in one version, from which model.c makes the operations of a model.
typedef cpl_status cpli_array_call(cpli_fmu_instance* in, double* values, size_t n);

typedef struct cpli_model_calls {
  cpl_status (*enter_event)(cpl_model* m);
  cpl_status (*event_update)(cpl_model* m, cpl_event_info* info);
  cpl_status (*enter_continuous)(cpli_fmu_instance* in);  // Nullable
  cpl_status (*completed_step)(cpli_fmu_instance* in, bool no_way_back, bool* enter_event,
                               bool* terminate);
  cpl_status (*set_time)(cpli_fmu_instance* in, double t);
  cpl_status (*set_states)(cpli_fmu_instance* in, const double* x, size_t n);
  cpli_array_call *get_states, *get_derivatives, *get_indicators, *get_nominals;
  // Of the first of many models; where the binary has it. Nullable.
  cpl_status (*evaluate)(cpl_model* const* models, size_t n, const cpl_evaluation* e, size_t* done);
  // The extension for constraints; all NULL in a version without it.
  cpl_status (*count_constraints)(cpli_fmu_instance* in, size_t* n);
  cpli_array_call *constraint, *constraint_jacobian, *projection_step;
  cpl_status (*projection)(cpli_fmu_instance* in, double tolerance, size_t limit, double* change,
                           size_t n);
} cpli_model_calls;

// What an FMU turned out to be in the run, beside its state.
typedef struct cpli_learned {
  int32_t input_derivatives, output_derivatives;  // 0: it refused them
  int32_t holds_inputs;
  int32_t warned;  // of times (1) and of limits of steps (2)
} cpli_learned;

// First member of every version's instance. What every call reads and writes stands first.
struct cpli_fmu_instance {
  union {
    cpl_component component;  // first in model and stepper, too
    cpl_model model;
    cpl_stepper stepper;
  } head;
  const void* functions;                // of the binary: fmiN_functions.h
  const cpli_model_calls* model_calls;  // of a model
  void* instance;                       // of the FMU
  cpl_fmu* fmu;
  cpli_library* lib;
  double time;  // NAN before setup
  cpli_health health;
  cpli_fmu_phase phase;
  int last;                                // status of the last call
  int depth;                               // nested calls: more than one in callbacks of the FMU
  uint32_t busy_calls;                     // steps and events so far
  int32_t snapshots;                       // alive: the FMU must be able to go back
  uint16_t x87;                            // surroundings.h: when the instance was made
  bool has_message;                        // the text below may not be empty
  bool co_simulation;                      // it is a stepper: co-simulation or scheduled execution
  bool scheduled;                          // scheduled execution
  bool interrupted;                        // the call log has a nested call inside the present one
  bool warned_bad_time, warned_bad_limit;  // warnings that are given once
  bool holds_inputs;  // it never requests inputs in a step: all are constant over it

  cpl_model_ops model_ops;
  cpl_constraint_ops constraint_ops;
  cpl_component_ops component_ops;  // slots the FMU cannot fill are NULL
  cpl_stepper_ops stepper_ops;
  const cpli_api* api;
  cpl_status (*output_derivatives)(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                                   double* values);
  const char* output_derivatives_name;  // of its function
  const cpli_fmu_kind* kind;
  char* name;
  char* resources;  // URI or path
  cpl_setup setup;
  uint8_t* bytes;         // of the state that was serialised last
  cpli_learned learned;   // likewise, of the history
  const char* failed_in;  // the function after which no other may be called

  pthread_mutex_t mutex;  // of the message: an FMU may log from its own threads
  int message_status;
  char message[512];  // the worst of this call, the last of those; empty: none
};

/// Load, instantiate, allocate; head.model.ops or head.stepper.ops is left to the caller.
/// Owned: *out by the caller, who calls cpli_instance_destroy().
cpl_status cpli_instance_create(cpl_source* src, const char* name, const cpli_api* api,
                                const cpli_fmu_kind* kind, cpli_fmu_instance** out);
void cpli_instance_destroy(cpl_component* c);  // Nullable: c
/// At the end of making a model: use the tables of operations of another instance, if they are
/// equal.
void cpli_instance_share_ops(cpli_fmu_instance* in);

/// The name of the variable that a reference stands for; "a variable" when there is none.
const char* cpli_instance_variable(const cpli_fmu_instance* in, cpl_type type, uint32_t ref);

/// Warn when a property that the binary reports differs from the description.
void cpli_instance_compare(const cpli_fmu_instance* in, const char* what, const char* actual,
                           const char* expected);

/// Replace nominal values of 0, NaN and the like, which would ruin the tolerances, by 1.
void cpli_clean_nominals(double* nominals, size_t n);

// Steppers

/// Fails with a message for a step backwards.
cpl_status cpli_check_step(cpli_fmu_instance* in, double t_end);

/// A step that ended at `reached`, before t_end; `what` names the origin of that time. Fails
/// when it is after t_end.
cpl_status cpli_step_stopped(cpli_fmu_instance* in, const char* what, double reached, double t_end,
                             cpl_step_result* result);

/// The longest step that `function` predicts; NAN with one warning: not a possible step.
double cpli_step_predicted(cpli_fmu_instance* in, const char* function, double h);

/// After a failed call that sets derivatives of inputs: warns, and offers none any more.
/// Fails when the FMU cannot be used any more.
cpl_status cpli_without_derivatives(cpli_fmu_instance* in, const char* function);

/// Reads first derivatives of at most CPLI_DERIVATIVES outputs. CPL_RETRY: no answer.
typedef cpl_status cpli_derivatives_call(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                                         double* values);
enum { CPLI_DERIVATIVES = 16 };
extern const int32_t cpli_first_orders[CPLI_DERIVATIVES];  // all 1

/// Offers derivatives of outputs, where the description and the binary do. After a failed call they
/// are unknown, with one warning.
void cpli_offer_output_derivatives(cpli_fmu_instance* in, const char* function,
                                   cpli_derivatives_call* call);

/// Waits for an asynchronous step: `ask` reads its status at growing intervals. Returns the status
/// of the step, or -1 when a call of `ask` failed.
int cpli_wait_for_step(cpli_fmu_instance* in,
                       cpl_status (*ask)(cpli_fmu_instance* in, int* status));

// The value of an input and its derivatives: orders 1 to n, as many as the FMU supports.
typedef struct cpli_curve_orders {
  double value;
  int n, orders[3];
  double values[3];
} cpli_curve_orders;

cpli_curve_orders cpli_curve_now(const cpli_fmu_instance* in, const cpl_curve* curve);

//------------------------------------ model.c ------------------------------------

#define CPLI_CONSTRAINT_CALLS(prefix)                         \
  .count_constraints = cpli_##prefix##GetNumberOfConstraints, \
  .constraint = cpli_##prefix##Constraint,                    \
  .constraint_jacobian = cpli_##prefix##ConstraintJacobian,   \
  .projection_step = cpli_##prefix##ProjectionStep, .projection = cpli_##prefix##Projection

/// Fill the table of operations of a model exchange FMU from the calls of its version; constraints
/// are offered as far as the binary has their functions.
/// Borrowed: kind and calls, for the life of the instance.
cpl_model* cpli_offer_model(cpli_fmu_instance* in, const char* kind, const cpli_model_calls* calls);
/// After the initialisation: asks for the number of constraints, where there are any, so that an
/// FMU of couplet does not project its states itself.
cpl_status cpli_announce_constraints(cpli_fmu_instance* in);
