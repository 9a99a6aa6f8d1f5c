// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The test FMU of probe_fmu.c as an opened cpl_fmu, made by hand: the adapters are tested without
// archives and XML.
#pragma once

#include <unistd.h>

#include "fmi/foreign.h"
#include "fmi/library.h"
#include "fmi/other_platform.h"
#include "testing.h"

enum { X1, X2, DX1, DX2, K, U, Y };  // references of Reals

typedef struct probe_fmu {
  cpl_fmu fmu;
  cpl_context* ctx;
  test_heap heap;
  char folder[4096];
  char logged[16384];  // what the log sink got, a line each: LEVEL WHO TEXT
} probe_fmu;

static const cpl_variable probe_vars[] = {
    {.name = "x1", .ref = X1},
    {.name = "x2", .ref = X2},
    {.name = "der(x1)", .ref = DX1},
    {.name = "der(x2)", .ref = DX2},
    {.name = "k", .ref = K, .causality = CPL_CAUSALITY_PARAMETER},
    {.name = "u", .ref = U, .causality = CPL_CAUSALITY_INPUT},
    {.name = "y", .ref = Y, .causality = CPL_CAUSALITY_OUTPUT},
    {.name = "count", .ref = 0, .type = CPL_INTEGER},
    {.name = "n", .ref = 1, .type = CPL_INTEGER},
    {.name = "mode", .ref = 2, .type = CPL_ENUMERATION},
    {.name = "flag", .ref = 0, .type = CPL_BOOLEAN},
    {.name = "label", .ref = 0, .type = CPL_STRING},
};
static const int32_t probe_states[] = {0, 1}, probe_derivatives[] = {2, 3};

static inline void* probe_realloc(void* user, void* ptr, size_t size) {
  return heap_realloc(&((probe_fmu*)user)->heap, ptr, size);
}

static inline void probe_log(void* user, cpl_log_level level, const char* who, const char* text) {
  probe_fmu* p = user;
  size_t n = strlen(p->logged);
  snprintf(p->logged + n, sizeof p->logged - n, "%d %s %s\n", (int)level, who, text);
}

// The tests also run with the FMU of another platform, which the environment names then.
static inline void probe_use_platform(cpl_fmu* fmu) {
  const char* name = getenv("COUPLET_FOREIGN_PLATFORM");
  if (name == NULL) return;
  fmu->foreign = cpli_platform_find(name, strlen(name));
  fmu->foreign_folder = name;
  fmu->foreign_suffix = fmu->foreign->suffix;
  fmu->foreign_forced = true;
}

/// Zeroed memory, so that a test may begin with probe_close() of a failed one.
static inline void probe_open(probe_fmu* p, const char* identifier) {
  memset(p, 0, sizeof *p);
  p->heap.fail_at = -1;
  cpl_context_def def = cpl_default_context_def();
  def.realloc = probe_realloc;
  def.log = probe_log;
  def.log_level = CPL_LOG_DEBUG;
  def.user = p;
  p->ctx = cpl_context_create(&def);
  assert_non_null(p->ctx);
  snprintf(p->folder, sizeof p->folder, "%s", getenv("COUPLET_PROBE"));
  static const char* platforms[] = {"linux64"};
  cpl_fmu* fmu = &p->fmu;
  fmu->desc = (cpl_description){.name = "probe",
                                .kind = "FMI 2.0",
                                .vars = probe_vars,
                                .n_vars = (int32_t)CPLI_COUNT(probe_vars),
                                .states = probe_states,
                                .derivatives = probe_derivatives,
                                .n_states = 2,
                                .n_indicators = 1};
  fmu->base = (cpl_source){.desc = &fmu->desc, .ctx = p->ctx, .path = "probe.fmu"};
  fmu->version = 2;
  fmu->guid = "{probe}";
  fmu->platforms = platforms;
  fmu->n_platforms = 1;
  fmu->platform = "linux64";
  static const cpli_fmu_loader loader = {.compile = cpli_library_compile,
                                         .open_foreign = cpli_foreign_open};
  fmu->folder = p->folder;
  fmu->loader = &loader;
  probe_use_platform(fmu);
  fmu->me.present = fmu->cs.present = true;
  fmu->me.identifier = fmu->cs.identifier = identifier;
  fmu->me.can = (cpl_capabilities){
      .directional = true, .save_restore = true, .serialize = true, .completed_step = true};
  fmu->cs.can = (cpl_capabilities){
      .directional = true, .save_restore = true, .variable_step = true, .input_derivatives = 2};
  set_fault(NULL);
}

static inline void probe_record(probe_fmu* p) {
  p->fmu.call_log = fopen("calls.txt", "w");
  assert_non_null(p->fmu.call_log);
}

/// Nothing may be left, whatever happened.
static inline void probe_close(probe_fmu* p) {
  if (p->fmu.call_log != NULL) fclose(p->fmu.call_log);
  CHECK_INT(p->fmu.live_instances, 0);
  CHECK(p->fmu.libraries == NULL);
  cpl_context_destroy(p->ctx);
  CHECK_INT(p->heap.live, 0);
  set_fault(NULL);
}

/// The call log so far.
static inline const char* probe_calls(void) {
  static char text[65536];
  FILE* file = fopen("calls.txt", "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static inline void probe_fault(const char* function, int n, const char* kind) {
  char text[128];
  snprintf(text, sizeof text, "%s:%d:%s", function, n, kind);
  set_fault(text);
}

static inline cpl_model* probe_model(probe_fmu* p) {
  cpl_model* m = NULL;
  CHECK_OK(p->ctx, cpli_fmi2_make_model(&p->fmu.base, "left", &m));
  return m;
}

static inline cpl_stepper* probe_stepper(probe_fmu* p) {
  cpl_stepper* s = NULL;
  CHECK_OK(p->ctx, cpli_fmi2_make_stepper(&p->fmu.base, "left", &s));
  return s;
}

static inline cpl_status probe_init(cpl_component* c) {
  cpl_setup setup = {.has_stop_time = true, .stop_time = 10};
  cpl_status st = c->ops->setup(c, &setup);
  if (st >= 0) st = c->ops->enter_init(c);
  if (st >= 0) st = c->ops->exit_init(c);
  return st;
}
