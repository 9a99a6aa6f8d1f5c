// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system is stopped in the middle by another process, which saves its state as bytes. This one
// has built the same system, and continues from the bytes: its values are those of the process that
// saved the state and restored it itself, to the last bit.
#pragma once

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serialize.h"

enum { STEPS = 16, MIDDLE = 7 };

typedef struct built {
  cpl_context* ctx;
  cpl_experiment* e;
  cpl_stepper* s;
  cpl_component* c;
  double start, stop;
} built;

//------------------------------------ runs ------------------------------------

// `pieces`: the number of steps of a solver with a fixed step between two rows; 0: none.
static inline built build(const char* path, const char* solver, int pieces) {
  built b = {.ctx = test_context()};
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  cpl_experiment_def experiment = cpl_default_experiment_def();
  settings.path = path;
  settings.saves = true;
  if (strcmp(solver, "-") != 0) experiment.solver = solver;
  settings.experiment = &experiment;
  CHECK_OK(b.ctx, cpl_experiment_create(b.ctx, &settings, &b.e));
  if (pieces > 0) {
    const cpl_run_def* run = cpl_experiment_run_def(b.e);
    experiment.step = (run->stop_time - run->start_time) / (STEPS * pieces);
    cpl_experiment_destroy(b.e);
    CHECK_OK(b.ctx, cpl_experiment_create(b.ctx, &settings, &b.e));
  }
  CHECK_OK(b.ctx, cpl_experiment_prepare(b.e));
  b.s = cpl_experiment_stepper(b.e);
  b.c = cpl_stepper_component(b.s);
  b.start = cpl_experiment_run_def(b.e)->start_time;
  b.stop = cpl_experiment_run_def(b.e)->stop_time;
  return b;
}

static inline void drop(built* b) {
  cpl_experiment_destroy(b->e);
  cpl_context_destroy(b->ctx);
}

static inline void begin(built* b) {
  cpl_setup setup = cpl_default_setup();
  setup.start_time = b->start;
  setup.has_stop_time = true;
  setup.stop_time = b->stop;
  CHECK_OK(b->ctx, cpl_component_setup(b->c, &setup));
  CHECK_OK(b->ctx, cpl_component_enter_init(b->c));
  CHECK_OK(b->ctx, cpl_component_exit_init(b->c));
}

static inline double time_of(const built* b, int i) {
  return b->start + (b->stop - b->start) * i / STEPS;
}

static inline void write_row(built* b, FILE* rows) {
  const cpl_description* d = cpl_component_description(b->c);
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    double real = 0;
    int64_t integer = 0;
    const char* text = "";
    if (v->type == CPL_BINARY || v->type == CPL_CLOCK) continue;
    if (v->type == CPL_REAL) CHECK_OK(b->ctx, cpl_component_get_real(b->c, &v->ref, 1, &real));
    else if (v->type == CPL_STRING)
      CHECK_OK(b->ctx, cpl_component_get_string(b->c, &v->ref, 1, &text));
    else CHECK_OK(b->ctx, cpl_component_get_integer(b->c, (cpl_type)v->type, &v->ref, 1, &integer));
    if (rows != NULL) fprintf(rows, "%s %a %lld %s\n", v->name, real, (long long)integer, text);
  }
}

// Through all events to points `from` + 1 to `to`, with a row at each.
static inline void advance(built* b, int from, int to, FILE* rows) {
  cpl_step_result r = {0};
  for (int i = from + 1; i <= to && r.end != CPL_STEP_TERMINATE; i++) {
    double t = time_of(b, i);
    do CHECK_OK(b->ctx, cpl_stepper_step(b->s, t, b->stop, &r));
    while (r.end != CPL_STEP_TERMINATE && (r.time < t || r.end == CPL_STEP_EVENT));
    if (rows != NULL) fprintf(rows, "t=%a\n", r.time);
    write_row(b, rows);
  }
}

//------------------------------------ files ------------------------------------

static inline FILE* open_file(const char* name, const char* mode) {
  FILE* f = fopen(name, mode);
  if (f == NULL) fail_msg("%s cannot be opened", name);
  return f;
}

static inline cpl_binary read_all(const char* name) {
  FILE* f = open_file(name, "rb");
  fseek(f, 0, SEEK_END);
  size_t size = (size_t)ftell(f);
  rewind(f);
  uint8_t* data = malloc(size + 1);
  CHECK_INT(fread(data, 1, size, f), size);
  data[size] = 0;
  fclose(f);
  return (cpl_binary){data, size};
}

static inline void check_same(const char* one, const char* two, const char* what) {
  cpl_binary a = read_all(one), b = read_all(two);
  size_t i = 0, line = 0;
  while (i < a.size && i < b.size && a.data[i] == b.data[i]) {
    if (a.data[i++] == '\n') line = i;
  }
  if (i < a.size || i < b.size)
    fail_msg("%s: %.*s instead of %.*s", what, (int)strcspn((const char*)b.data + line, "\n"),
             (const char*)b.data + line, (int)strcspn((const char*)a.data + line, "\n"),
             (const char*)a.data + line);
  CHECK(a.size > 0);
  free((void*)a.data);
  free((void*)b.data);
}

//------------------------------------ the other process ------------------------------------

// Runs to the middle and saves; then to the end, back to the middle, and again.
static inline int save_it(const char* path, const char* solver, int pieces) {
  built b = build(path, solver, pieces);
  cpl_snapshot saved = {0};
  FILE *straight = open_file("straight", "w"), *rows = open_file("restored", "w");
  begin(&b);
  advance(&b, 0, MIDDLE, NULL);
  CHECK_OK(b.ctx, cpl_component_save(b.c, &saved));
  cpl_binary bytes = state_bytes(b.ctx, b.c, &saved);
  FILE* out = open_file("bytes", "wb");
  CHECK_INT(fwrite(bytes.data, 1, bytes.size, out), bytes.size);
  fclose(out);
  write_row(&b, straight);
  advance(&b, MIDDLE, STEPS, straight);
  CHECK_OK(b.ctx, cpl_component_restore(b.c, &saved));
  write_row(&b, rows);
  advance(&b, MIDDLE, STEPS, rows);
  cpl_component_forget(b.c, &saved);
  free((void*)bytes.data);
  fclose(straight);
  fclose(rows);
  drop(&b);
  return 0;
}

static inline void run_other_process(const char* path, const char* solver, int pieces) {
  char number[40], self[4096] = "";
  extern char** environ;
  pid_t child = 0;
  int status = 0;
  snprintf(number, sizeof number, "%d", pieces);
  char* arguments[] = {"other", "save", (char*)path, (char*)solver, number, NULL};
  // under valgrind the file itself is valgrind; only the text of the link is this program
  CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  CHECK_INT(posix_spawn(&child, self, NULL, NULL, arguments, environ), 0);
  CHECK(waitpid(child, &status, 0) == child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("%s: it was not saved", path);
}

//------------------------------------ checks ------------------------------------

static inline void check_rest(built* b, const cpl_binary* bytes, const char* what) {
  cpl_snapshot saved = {0};
  CHECK_OK(b->ctx, cpl_component_deserialize(b->c, bytes, &saved));
  FILE* rows = open_file("continued", "w");
  CHECK_OK(b->ctx, cpl_component_restore(b->c, &saved));
  write_row(b, rows);
  advance(b, MIDDLE, STEPS, rows);
  fclose(rows);
  cpl_component_forget(b->c, &saved);
  check_same("restored", "continued", what);
}

// The whole check. `same`: the solver restarts in the middle in any case, so that the values are
// those of a run without interruption.
static inline void check_system(const char* name, const char* solver, int pieces, bool same) {
  const char* path = name;
  run_other_process(path, solver, pieces);
  if (same) check_same("straight", "restored", name);
  cpl_binary bytes = read_all("bytes");
  built fresh = build(path, solver, pieces);  // it has never been initialised
  CHECK(cpl_component_capabilities(fresh.c).serialize);
  check_rest(&fresh, &bytes, name);
  drop(&fresh);
  built used = build(path, solver, pieces);
  begin(&used);
  advance(&used, 0, MIDDLE - 3, NULL);
  check_rest(&used, &bytes, name);
  drop(&used);
  free((void*)bytes.data);
}

// Bytes that do not fit are refused by the component that is made of this file.
static inline void check_bad_states(const char* path, const char* solver) {
  run_other_process(path, solver, 0);
  cpl_binary bytes = read_all("bytes");
  built b = build(path, solver, 0);
  check_bad_bytes(b.ctx, b.c, &bytes);
  drop(&b);
  free((void*)bytes.data);
}

// The main function of a test: it is also the other process.
static inline int serialize_main(int argc, char** argv, int (*tests)(void)) {
  if (argc == 5 && strcmp(argv[1], "save") == 0) return save_it(argv[2], argv[3], atoi(argv[4]));
  return tests();
}

static inline void write_file(const char* name, const char* text) {
  FILE* f = open_file(name, "w");
  fputs(text, f);
  fclose(f);
}
