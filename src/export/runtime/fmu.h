// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The inside of an FMU that couplet builds: the FMI 2.0 functions over an instance of the C model
// beside them. Model exchange talks to the model itself, co-simulation to a stepper made of it.
// Nothing is global, so that instances in several threads do not meet.
// These files are also shipped as sources for model exchange: they need a C compiler, the standard
// FMI headers and nothing else. Co-simulation has CVODE inside and is in the binary only.
#pragma once

#include "base/base.h"
#include "fmi2Functions.h"
#include "model/cmodel.h"

// Written by `couplet build` beside the model (fmu_config.c).
extern const char cpl_fmu_guid[];
extern const cpl_dependency* const cpl_fmu_dependencies;  // Nullable: as the model declares

// Where an instance is in the standard's state machine; functions name the states they may be
// called in.
enum {
  FMU_INSTANTIATED = 1,
  FMU_INITIALIZING = 2,
  FMU_EVENT = 4,
  FMU_CONTINUOUS = 8,
  FMU_STEPPED = 16,      // co-simulation: a step is complete
  FMU_STEP_FAILED = 32,  // a step was discarded
  FMU_TERMINATED = 64,
  FMU_FAILED = 128,
  FMU_RUNNING = FMU_EVENT | FMU_CONTINUOUS | FMU_STEPPED | FMU_STEP_FAILED,
  FMU_ANY = 255,
};

// The categories of the model description, in its order.
enum { FMU_LOG_EVENTS, FMU_LOG_WARNING, FMU_LOG_DISCARD, FMU_LOG_ERROR, FMU_LOG_ALL, FMU_LOGS };

typedef struct cpl_fmu_instance {
  char* name;
  fmi2Type type;
  fmi2CallbackFunctions callbacks;
  bool log_on[FMU_LOGS];
  unsigned state;  // one of FMU_...
  cpl_context* ctx;
  cpl_model_def def;  // the model's, with the dependencies that were found when the FMU was built
  cpli_cmodel* cm;
  int32_t* var_of_ref;  // by value reference of all but Strings
  cpl_model* model;
  cpl_stepper* stepper;  // co-simulation, from initialisation on: owns the model. Nullable.
  cpl_setup setup;
  // co-simulation
  double rtol;           // the stepper's; 0: it is to be made anew
  double time;           // of the last communication point
  double reached;        // of the last step, successful or not
  double* input_slopes;  // nu: derivatives of the inputs in the next step
  bool* has_curve;       // nu: the stepper has been given a curve for this input
  bool stop_at_events;
  bool end_wanted;  // the model asked to end the simulation
} fmu;

//------------------------------------ instance ------------------------------------

/// The instance when `c` is one and is in one of these states; otherwise NULL and a message.
fmu* fmu_enter(fmi2Component c, const char* function, unsigned states);

/// What values are asked of: the stepper when there is one, else the model.
cpl_component* fmu_component(fmu* f);

CPL_PRINTF(4, 5) void fmu_log(fmu* f, fmi2Status status, int category, const char* fmt, ...);
/// Logs and returns fmi2Error; the instance stays usable, since nothing was done.
CPL_PRINTF(3, 4) fmi2Status fmu_refuse(fmu* f, const char* function, const char* fmt, ...);
/// The result of a call of the model: logged when it is not OK; a failure ends the instance's use.
fmi2Status fmu_result(fmu* f, const char* function, cpl_status st);

/// A fresh model, as after fmi2Instantiate.
cpl_status fmu_make_model(fmu* f);
void fmu_drop_model(fmu* f);

//------------------------------------ co-simulation ------------------------------------

// fmi2_co_simulation.c; a build without it has stand-ins that say so.

/// A stepper with the tolerance of f->setup, made of the model as it is.
cpl_status fmu_make_stepper(fmu* f);
/// Inputs that were lines in the last step stay at their present value.
cpl_status fmu_hold_inputs(fmu* f);
/// A saved state of the stepper as bytes, as cpli_cmodel_serialize() does it for the model.
size_t fmu_serialize_stepper(fmu* f, const cpl_snapshot* snapshot, unsigned char* bytes);
cpl_status fmu_deserialize_stepper(fmu* f, const unsigned char* bytes, size_t size,
                                   cpl_snapshot* snapshot);

static inline const cpl_variable* fmu_variable(const fmu* f, fmi2ValueReference ref) {
  return ref < f->cm->at.n ? &f->cm->desc.vars[f->var_of_ref[ref]] : NULL;
}
