// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Drives an FMU as another tool would: builds it from a C model, takes the binary out, finds the
// functions by name. Nothing of couplet's own import is used.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include "couplet/export.h"
#include "fmi/fmi2_functions.h"
#include "format/folder.h"
#include "format/zip.h"
#include "testing.h"

typedef struct driver {
  cpl_context* ctx;
  char path[256];  // of the FMU
  char* folder;    // what was extracted
  void* library;
  char guid[64];
  char* xml;
#define X(name, flags) name##TYPE* name;
  CPLI_FMI2_FUNCTIONS(X)
#undef X
} driver;

// What the logger heard last, and how often.
typedef struct heard {
  int n;
  fmi2Status status;
  char category[64], text[1024];
} heard;

static void log_to_heard(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status,
                         fmi2String category, fmi2String message, ...) {
  heard* h = environment;
  va_list args;
  (void)name;
  h->n++;
  h->status = status;
  snprintf(h->category, sizeof h->category, "%s", category);
  va_start(args, message);
  vsnprintf(h->text, sizeof h->text, message, args);
  va_end(args);
}

// Of a model or a system in a file.
static inline void driver_build_file(driver* d, const char* file, const char* name) {
  *d = (driver){.ctx = test_context()};
  snprintf(d->path, sizeof d->path, "%s-%d.fmu", name, (int)getpid());
  cpl_build_def def = cpl_default_build_def();
  def.model = file;
  def.output = d->path;
  CHECK_OK(d->ctx, cpl_fmu_build(d->ctx, &def, NULL, 0));
}

// Of one of the project.
static inline void driver_build(driver* d, const char* model, const char* name) {
  driver_build_file(d, test_path(model), name);
}

static inline void driver_load(driver* d, const char* library) {
  d->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (d->library == NULL) fail_msg("%s", dlerror());
#define X(name, flags) *(void**)&d->name = dlsym(d->library, #name);
  CPLI_FMI2_FUNCTIONS(X)
#undef X
}

// Extracts everything, loads the binary.
static inline void driver_extract(driver* d) {
  cpli_zip* zip = NULL;
  const char* prefixes[] = {""};
  char library[4096], name[64];
  size_t size = 0;
  CHECK_OK(d->ctx, cpli_zip_open(d->ctx, d->path, NULL, &zip));
  CHECK_OK(d->ctx, cpli_temp_folder_make(d->ctx, &d->folder));
  CHECK_OK(d->ctx, cpli_zip_extract(zip, prefixes, 1, d->folder));
  CHECK_OK(d->ctx, cpli_zip_read(zip, "modelDescription.xml", 1 << 24, &d->xml, &size));
  cpli_zip_close(zip);
  const char* guid = strstr(d->xml, " guid=\"");
  CHECK(guid != NULL && sscanf(guid + 7, "%63[^\"]", d->guid) == 1);
  const char* id = strstr(d->xml, "modelIdentifier=\"");
  CHECK(id != NULL && sscanf(id, "modelIdentifier=\"%63[^\"]", name) == 1);
  snprintf(library, sizeof library, "%s/binaries/linux64/%s.so", d->folder, name);
  driver_load(d, library);
}

static inline void driver_open(driver* d, const char* model, const char* name) {
  driver_build(d, model, name);
  driver_extract(d);
}

static inline void driver_close(driver* d) {
  if (d->library != NULL) dlclose(d->library);
  if (d->folder != NULL) cpli_temp_folder_remove(d->ctx, d->folder);
  cpl_context* ctx = d->ctx;
  unlink(d->path);
  if (d->xml != NULL) free(d->xml);
  if (d->folder != NULL) free(d->folder);
  cpl_context_destroy(ctx);
}

// The logger writes into *h; NULL: there is no logger at all.
static inline fmi2Component driver_instance(driver* d, fmi2Type type, heard* h) {
  char uri[4200];
  snprintf(uri, sizeof uri, "file://%s/resources", d->folder);
  fmi2CallbackFunctions callbacks = {h != NULL ? log_to_heard : NULL, calloc, free, NULL, h};
  fmi2Component c =
      d->fmi2Instantiate("instance", type, d->guid, uri, &callbacks, fmi2False, fmi2True);
  assert_non_null(c);
  return c;
}

#define CHECK_FMI(call, expected) CHECK_INT(call, expected)

static inline fmi2Component driver_start(driver* d, fmi2Type type, heard* h, double tolerance) {
  fmi2Component c = driver_instance(d, type, h);
  CHECK_FMI(d->fmi2SetupExperiment(c, tolerance > 0, tolerance, 0, fmi2False, 0), fmi2OK);
  CHECK_FMI(d->fmi2EnterInitializationMode(c), fmi2OK);
  CHECK_FMI(d->fmi2ExitInitializationMode(c), fmi2OK);
  return c;
}

// The value reference of a variable, read from the description.
static inline fmi2ValueReference driver_ref(const driver* d, const char* name) {
  char pattern[256];
  unsigned ref = 0;
  snprintf(pattern, sizeof pattern, "<ScalarVariable name=\"%s\" valueReference=\"", name);
  const char* at = strstr(d->xml, pattern);
  if (at == NULL || sscanf(at + strlen(pattern), "%u", &ref) != 1) fail_msg("no %s", name);
  return ref;
}

static inline double driver_real(driver* d, fmi2Component c, const char* name) {
  fmi2ValueReference ref = driver_ref(d, name);
  double value;
  CHECK_FMI(d->fmi2GetReal(c, &ref, 1, &value), fmi2OK);
  return value;
}

static inline fmi2Status driver_set_real(driver* d, fmi2Component c, const char* name,
                                         double value) {
  fmi2ValueReference ref = driver_ref(d, name);
  return d->fmi2SetReal(c, &ref, 1, &value);
}

//------------------------------------ the ball, exactly ------------------------------------

static inline double ball_impact(int n) {
  double sum = 1;
  for (int k = 1; k < n; k++) sum += 2 * pow(0.8, k);
  return sqrt(2 / 9.81) * sum;
}

static inline void ball_exact(double t, double* h, double* v) {
  const double g = 9.81;
  int n = 0;
  while (t >= ball_impact(n + 1)) n++;
  double since = n == 0 ? t : t - ball_impact(n);
  double v0 = n == 0 ? 0 : sqrt(2 * g) * pow(0.8, n);
  *h = (n == 0 ? 1 : 0) + v0 * since - g * since * since / 2;
  *v = v0 - g * since;
}
