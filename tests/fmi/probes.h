// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The test FMUs of FMI 1.0 and 3.0, opened with their descriptions; what they say is kept.
#pragma once

#include "fmi/fmu.h"
#include "fmi/other_platform.h"
#include "testing.h"

typedef struct opened {
  cpl_context* ctx;
  cpl_source* source;
  test_heap heap;
  char logged[16384];
} opened;

static inline void* opened_realloc(void* user, void* ptr, size_t size) {
  return heap_realloc(&((opened*)user)->heap, ptr, size);
}

static inline void opened_log(void* user, cpl_log_level level, const char* who, const char* text) {
  opened* o = user;
  size_t n = strlen(o->logged);
  snprintf(o->logged + n, sizeof o->logged - n, "%d %s %s\n", (int)level, who, text);
}

/// `which`: what follows the folder of the probe, "3" or "1_me"; `starts`: structural parameters.
static inline void open_probe_with(opened* o, const char* which, const cpl_start* starts,
                                   size_t n_starts) {
  char path[4096];
  memset(o, 0, sizeof *o);
  o->heap.fail_at = -1;
  cpl_context_def def = cpl_default_context_def();
  def.realloc = opened_realloc;
  def.log = opened_log;
  def.log_level = CPL_LOG_DEBUG;
  def.user = o;
  o->ctx = cpl_context_create(&def);
  snprintf(path, sizeof path, "%s%s", getenv("COUPLET_PROBE"), which);
  cpl_fmu_def fmu = cpl_default_fmu_def();
  fmu.path = path;
  fmu.call_log = "calls.txt";
  fmu.starts = starts;
  fmu.n_starts = n_starts;
  set_fault(NULL);
  CHECK_OK(o->ctx, cpl_fmu_open(o->ctx, &fmu, &o->source));
}

static inline void open_probe(opened* o, const char* which) { open_probe_with(o, which, NULL, 0); }

static inline void close_probe(opened* o) {
  o->source->ops->destroy(o->source);
  cpl_context_destroy(o->ctx);
  CHECK_INT(o->heap.live, 0);
  set_fault(NULL);
}

static inline void want_fault(const char* function, int n, const char* kind) {
  char text[128];
  snprintf(text, sizeof text, "%s:%d:%s", function, n, kind);
  set_fault(text);
}

static inline cpl_model* model_in(opened* o) {
  cpl_model* m = NULL;
  CHECK_OK(o->ctx, o->source->ops->make_model(o->source, "left", &m));
  return m;
}

static inline cpl_stepper* stepper_in(opened* o) {
  cpl_stepper* s = NULL;
  CHECK_OK(o->ctx, o->source->ops->make_stepper(o->source, "left", &s));
  return s;
}

static inline uint32_t ref_of(const opened* o, const char* name) {
  int32_t var = cpl_find_variable(o->source->desc, name);
  if (var < 0) fail_msg("there is no %s", name);
  return o->source->desc->vars[var].ref;
}

static inline double real_in(opened* o, cpl_component* c, const char* name) {
  double value = 0;
  uint32_t ref = ref_of(o, name);
  CHECK_OK(o->ctx, c->ops->get_real(c, &ref, 1, &value));
  return value;
}

static inline int64_t integer_in(opened* o, cpl_component* c, const char* name) {
  int64_t value = 0;
  int32_t var = cpl_find_variable(o->source->desc, name);
  const cpl_variable* v = &o->source->desc->vars[var];
  CHECK_OK(o->ctx, c->ops->get_integer(c, (cpl_type)v->type, &v->ref, 1, &value));
  return value;
}

static inline void put_real(opened* o, cpl_component* c, const char* name, double value) {
  uint32_t ref = ref_of(o, name);
  CHECK_OK(o->ctx, c->ops->set_real(c, &ref, 1, &value));
}

static inline cpl_status try_integer(opened* o, cpl_component* c, const char* name, int64_t value) {
  int32_t var = cpl_find_variable(o->source->desc, name);
  const cpl_variable* v = &o->source->desc->vars[var];
  return c->ops->set_integer(c, (cpl_type)v->type, &v->ref, 1, &value);
}

static inline cpl_status initialize(cpl_component* c) {
  cpl_setup setup = {.has_stop_time = true, .stop_time = 10};
  cpl_status st = c->ops->setup(c, &setup);
  if (st >= 0) st = c->ops->enter_init(c);
  return st < 0 ? st : c->ops->exit_init(c);
}

/// How often a text stands in the call log.
static inline int calls_of(const char* text) {
  static char log[1 << 20];
  FILE* file = fopen("calls.txt", "r");
  log[fread(log, 1, sizeof log - 1, file)] = '\0';
  fclose(file);
  int n = 0;
  for (const char* at = log; (at = strstr(at, text)) != NULL; at += strlen(text)) n++;
  return n;
}
