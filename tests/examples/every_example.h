// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// All examples of systems, and what their runs record, as a hash.
#pragma once

#include "examples/all_examples.h"

// All values of a run, as a hash that depends on their order.
typedef struct trace {
  const cpl_column* columns;
  size_t n;
  uint64_t hash;
  int64_t rows;
  cpl_status st;
} trace;

static void mix(trace* t, const void* data, size_t size) {
  const unsigned char* bytes = data;
  for (size_t i = 0; i < size; i++) t->hash = (t->hash ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static cpl_status take_columns(void* user, const cpl_column* columns, size_t n) {
  trace* t = user;
  t->columns = columns;
  t->n = n;
  return CPL_OK;
}

static cpl_status take_point(void* user, double time, const cpl_value* values) {
  trace* t = user;
  mix(t, &time, sizeof time);
  for (size_t i = 0; i < t->n; i++) {
    if (t->columns[i].type == CPL_STRING) mix(t, values[i].string, strlen(values[i].string));
    else mix(t, &values[i], sizeof values[i]);
  }
  t->rows++;
  return CPL_OK;
}

// A loop without a solution ends its run: so do the others.
static trace run_once(cpl_experiment* e) {
  trace t = {.hash = UINT64_C(0xcbf29ce484222325)};
  cpl_run_def* run = cpl_experiment_run_def(e);
  run->on_columns = take_columns;
  run->on_point = take_point;
  run->user = &t;
  t.st = cpl_run(cpl_experiment_stepper(e), run, NULL);
  CHECK(t.rows > 1 || t.st < 0);
  return t;
}

static bool is_same(const trace* a, const trace* b) {
  return a->hash == b->hash && a->rows == b->rows && a->st == b->st;
}

// With everything recorded.
static cpl_experiment* open_example(cpl_context* ctx, const char* path, int32_t threads) {
  static const char* const all[] = {"*"};
  cpl_experiment* e = NULL;
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  settings.path = path;
  settings.record = all;
  settings.n_record = 1;
  settings.threads = threads;
  if (cpl_experiment_create(ctx, &settings, &e) < 0)
    fail_msg("%s: %s", path, cpl_context_error(ctx));
  CHECK_OK(ctx, cpl_experiment_prepare(e));
  return e;
}
