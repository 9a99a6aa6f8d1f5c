// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Drives an FMU of FMI 3.0 as another tool would, as driver.h does for FMI 2.0.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include "couplet/export.h"
#include "fmi/headers/fmi3FunctionTypes.h"
#include "format/folder.h"
#include "format/zip.h"
#include "testing.h"

typedef fmi3Status fmi3GetMaxStepSizeTYPE(fmi3Instance instance, fmi3Float64* size);

#define DRIVER3_FUNCTIONS(X)         \
  X(GetVersion)                      \
  X(SetDebugLogging)                 \
  X(InstantiateModelExchange)        \
  X(InstantiateCoSimulation)         \
  X(InstantiateScheduledExecution)   \
  X(FreeInstance)                    \
  X(EnterInitializationMode)         \
  X(ExitInitializationMode)          \
  X(EnterEventMode)                  \
  X(Terminate)                       \
  X(Reset)                           \
  X(GetFloat32)                      \
  X(GetFloat64)                      \
  X(GetInt8)                         \
  X(GetUInt8)                        \
  X(GetInt16)                        \
  X(GetUInt16)                       \
  X(GetInt32)                        \
  X(GetUInt32)                       \
  X(GetInt64)                        \
  X(GetUInt64)                       \
  X(GetBoolean)                      \
  X(GetString)                       \
  X(GetBinary)                       \
  X(GetClock)                        \
  X(SetFloat32)                      \
  X(SetFloat64)                      \
  X(SetInt8)                         \
  X(SetUInt8)                        \
  X(SetInt16)                        \
  X(SetUInt16)                       \
  X(SetInt32)                        \
  X(SetUInt32)                       \
  X(SetInt64)                        \
  X(SetUInt64)                       \
  X(SetBoolean)                      \
  X(SetString)                       \
  X(SetBinary)                       \
  X(SetClock)                        \
  X(GetNumberOfVariableDependencies) \
  X(GetVariableDependencies)         \
  X(GetFMUState)                     \
  X(SetFMUState)                     \
  X(FreeFMUState)                    \
  X(SerializedFMUStateSize)          \
  X(SerializeFMUState)               \
  X(DeserializeFMUState)             \
  X(GetDirectionalDerivative)        \
  X(GetAdjointDerivative)            \
  X(EnterConfigurationMode)          \
  X(ExitConfigurationMode)           \
  X(GetIntervalDecimal)              \
  X(GetIntervalFraction)             \
  X(GetShiftDecimal)                 \
  X(GetShiftFraction)                \
  X(SetIntervalDecimal)              \
  X(SetIntervalFraction)             \
  X(SetShiftDecimal)                 \
  X(SetShiftFraction)                \
  X(EvaluateDiscreteStates)          \
  X(UpdateDiscreteStates)            \
  X(EnterContinuousTimeMode)         \
  X(CompletedIntegratorStep)         \
  X(SetTime)                         \
  X(SetContinuousStates)             \
  X(GetContinuousStateDerivatives)   \
  X(GetEventIndicators)              \
  X(GetContinuousStates)             \
  X(GetNominalsOfContinuousStates)   \
  X(GetNumberOfEventIndicators)      \
  X(GetNumberOfContinuousStates)     \
  X(EnterStepMode)                   \
  X(GetOutputDerivatives)            \
  X(DoStep)                          \
  X(ActivateModelPartition)          \
  X(GetMaxStepSize)

typedef struct driver3 {
  cpl_context* ctx;
  char path[256];  // of the FMU
  char* folder;    // what was extracted
  void* library;
  char token[64];
  char* xml;
#define X(name) fmi3##name##TYPE* name;
  DRIVER3_FUNCTIONS(X)
#undef X
} driver3;

// What the logger heard last, and how often.
typedef struct heard3 {
  int n;
  fmi3Status status;
  char category[64], text[1024];
} heard3;

static void log_to_heard3(fmi3InstanceEnvironment environment, fmi3Status status,
                          fmi3String category, fmi3String message) {
  heard3* h = environment;
  h->n++;
  h->status = status;
  snprintf(h->category, sizeof h->category, "%s", category);
  snprintf(h->text, sizeof h->text, "%s", message);
}

static inline void driver3_load(driver3* d, const char* library) {
  d->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (d->library == NULL) fail_msg("%s", dlerror());
#define X(name)                                        \
  *(void**)&d->name = dlsym(d->library, "fmi3" #name); \
  if (d->name == NULL) fail_msg("fmi3%s is missing", #name);
  DRIVER3_FUNCTIONS(X)
#undef X
}

// Builds the model or system in a file, extracts everything, loads the binary.
static inline void driver3_open_file(driver3* d, const char* file, const char* name) {
  cpli_zip* zip = NULL;
  const char* prefixes[] = {""};
  char library[4096], identifier[64];
  size_t size = 0;
  *d = (driver3){.ctx = test_context()};
  snprintf(d->path, sizeof d->path, "%s-%d-3.fmu", name, (int)getpid());
  cpl_build_def def = cpl_default_build_def();
  def.model = file;
  def.output = d->path;
  def.fmi_version = 3;
  CHECK_OK(d->ctx, cpl_fmu_build(d->ctx, &def, NULL, 0));
  CHECK_OK(d->ctx, cpli_zip_open(d->ctx, d->path, NULL, &zip));
  CHECK_OK(d->ctx, cpli_temp_folder_make(d->ctx, &d->folder));
  CHECK_OK(d->ctx, cpli_zip_extract(zip, prefixes, 1, d->folder));
  CHECK_OK(d->ctx, cpli_zip_read(zip, "modelDescription.xml", 1 << 24, &d->xml, &size));
  cpli_zip_close(zip);
  const char* token = strstr(d->xml, " instantiationToken=\"");
  CHECK(token != NULL && sscanf(token, " instantiationToken=\"%63[^\"]", d->token) == 1);
  const char* id = strstr(d->xml, "modelIdentifier=\"");
  CHECK(id != NULL && sscanf(id, "modelIdentifier=\"%63[^\"]", identifier) == 1);
  snprintf(library, sizeof library, "%s/binaries/x86_64-linux/%s.so", d->folder, identifier);
  driver3_load(d, library);
}

// Of one of the project.
static inline void driver3_open(driver3* d, const char* model, const char* name) {
  driver3_open_file(d, test_path(model), name);
}

static inline void driver3_close(driver3* d) {
  if (d->library != NULL) dlclose(d->library);
  if (d->folder != NULL) cpli_temp_folder_remove(d->ctx, d->folder);
  unlink(d->path);
  free(d->xml);
  free(d->folder);
  cpl_context_destroy(d->ctx);
}

#define CHECK_FMI3(call, expected) CHECK_INT(call, expected)

// How an instance for co-simulation is made.
typedef struct cs_options {
  bool event_mode, early_return;
  fmi3IntermediateUpdateCallback look;
} cs_options;

// The logger writes into *h, unless it is NULL. Options NULL: for model exchange.
static inline fmi3Instance driver3_instance(driver3* d, const cs_options* cs, heard3* h) {
  fmi3LogMessageCallback log = h != NULL ? log_to_heard3 : NULL;
  char path[4200];
  snprintf(path, sizeof path, "%s/resources", d->folder);
  fmi3Instance c =
      cs == NULL ? d->InstantiateModelExchange("i", d->token, path, false, true, h, log)
                 : d->InstantiateCoSimulation("i", d->token, path, false, true, cs->event_mode,
                                              cs->early_return, NULL, 0, h, log, cs->look);
  assert_non_null(c);
  return c;
}

static inline void driver3_initialize(driver3* d, fmi3Instance c, double tolerance) {
  CHECK_FMI3(d->EnterInitializationMode(c, tolerance > 0, tolerance, 0, false, 0), fmi3OK);
  CHECK_FMI3(d->ExitInitializationMode(c), fmi3OK);
}

static inline fmi3Instance driver3_start(driver3* d, const cs_options* cs, heard3* h,
                                         double tolerance) {
  fmi3Instance c = driver3_instance(d, cs, h);
  driver3_initialize(d, c, tolerance);
  return c;
}

// The value reference of a variable, read from the description.
static inline fmi3ValueReference driver3_ref(const driver3* d, const char* name) {
  char pattern[256];
  unsigned ref = 0;
  snprintf(pattern, sizeof pattern, " name=\"%s\" valueReference=\"", name);
  const char* at = strstr(d->xml, pattern);
  if (at == NULL || sscanf(at + strlen(pattern), "%u", &ref) != 1) fail_msg("no %s", name);
  return ref;
}

static inline double driver3_real(driver3* d, fmi3Instance c, const char* name) {
  fmi3ValueReference ref = driver3_ref(d, name);
  double value = NAN;
  CHECK_FMI3(d->GetFloat64(c, &ref, 1, &value, 1), fmi3OK);
  return value;
}

static inline fmi3Status driver3_set_real(driver3* d, fmi3Instance c, const char* name,
                                          double value) {
  fmi3ValueReference ref = driver3_ref(d, name);
  return d->SetFloat64(c, &ref, 1, &value, 1);
}

// What a step said.
typedef struct step3 {
  bool event, end, early;
  double time;
} step3;

static inline step3 driver3_step(driver3* d, fmi3Instance c, double from, double h) {
  step3 s;
  CHECK_FMI3(d->DoStep(c, from, h, true, &s.event, &s.end, &s.early, &s.time), fmi3OK);
  return s;
}
