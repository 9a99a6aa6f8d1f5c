// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A component that is reset is like a new one: every example runs twice, then with other start
// values up to the middle, then again; all complete runs have the same bits.
#include <dirent.h>

#include "examples/running.h"

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

// Other start values, as far as the model takes them, and half of a run.
static void run_otherwise(cpl_experiment* e) {
  cpl_stepper* s = cpl_experiment_stepper(e);
  const cpl_description* d = s->base.desc;
  cpl_run_def run = *cpl_experiment_run_def(e);
  cpl_simulation* sim = NULL;
  run.on_columns = NULL;
  run.on_point = NULL;
  if (cpl_simulation_create(s, &run, &sim) < 0) return;
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    const bool begins = v->causality == CPL_CAUSALITY_PARAMETER ||
                        v->causality == CPL_CAUSALITY_INPUT || v->initial == CPL_INITIAL_EXACT;
    if (v->type == CPL_REAL && v->has_start && begins)
      cpl_simulation_set(sim, v->name, 1.001 * v->start + 1e-4);
  }
  if (cpl_simulation_start(sim) >= 0) {
    cpl_simulation_advance(sim, (run.start_time + run.stop_time) / 2);
    cpl_simulation_finish(sim, NULL);
  }
  cpl_simulation_destroy(sim);
}

static bool is_same(const trace* a, const trace* b) {
  return a->hash == b->hash && a->rows == b->rows && a->st == b->st;
}

static int n_failed;

static void check_reset(cpl_context* ctx, const char* path) {
  static const char* const all[] = {"*"};
  cpl_experiment* e = NULL;
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  settings.path = path;
  settings.record = all;
  settings.n_record = 1;
  if (cpl_experiment_create(ctx, &settings, &e) < 0)
    fail_msg("%s: %s", path, cpl_context_error(ctx));
  CHECK_OK(ctx, cpl_experiment_prepare(e));
  cpl_component* c = &cpl_experiment_stepper(e)->base;
  const trace first = run_once(e);
  CHECK_OK(ctx, cpl_component_reset(c));
  const trace second = run_once(e);
  CHECK_OK(ctx, cpl_component_reset(c));
  run_otherwise(e);
  CHECK_OK(ctx, cpl_component_reset(c));
  const trace third = run_once(e);
  const bool same = is_same(&first, &second), again = is_same(&first, &third);
  if (!same) print_error("%s: the second run differs\n", path);
  if (!again) print_error("%s: the run after one with other start values differs\n", path);
  n_failed += !same || !again;
  cpl_experiment_destroy(e);
}

//------------------------------------ all examples ------------------------------------

static bool ends_with(const char* name, const char* ending) {
  const size_t n = strlen(name), m = strlen(ending);
  return n > m && strcmp(name + n - m, ending) == 0;
}

// Calls `what` for each file of a folder with this ending.
static void for_each(const char* folder, const char* ending,
                     void (*what)(cpl_context* ctx, const char* path), cpl_context* ctx) {
  DIR* d = opendir(folder);
  CHECK(d != NULL);
  for (struct dirent* entry = readdir(d); entry != NULL; entry = readdir(d)) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] != '.' && ends_with(entry->d_name, ending)) what(ctx, path);
  }
  closedir(d);
}

static void build_fmu(cpl_context* ctx, const char* path) {
  char fmu[1024];
  (void)ctx;
  snprintf(fmu, sizeof fmu, "%.*s.fmu", (int)strlen(path) - 2, path);
  must_do("build %s -o %s", path, fmu);
}

static const char* const folders[] = {"algebraic_loop",
                                      "ball_and_counter",
                                      "ball_contact",
                                      "ball_on_table",
                                      "breaking_pendulum",
                                      "cs_loop",
                                      "diesel_engine",
                                      "drift",
                                      "elastic_ball",
                                      "hybrid_components",
                                      "loops",
                                      "nail_pendulum",
                                      "nonlinear_loop",
                                      "output_derivatives",
                                      "pendulum_on_cart",
                                      "pendulums_cartesian",
                                      "pendulums_polar",
                                      "pendulums_walls",
                                      "simple_coupling",
                                      "tlm_drive_train",
                                      "tlm_hydraulic",
                                      "tlm_spring",
                                      "tlm_tree",
                                      "two_mass_cosimulation",
                                      "two_masses",
                                      "two_modes"};

// Those with FMUs need them beside their system files.
static void packages_and_composite_models_can_be_reset(void** state) {
  copy_example("ssp_house");
  must_do("build ssp_house/room.c -o ssp_house/house/resources/room.fmu");
  must_do("build ssp_house/heater.c -o ssp_house/house/resources/heater.fmu");
  check_reset(*state, "ssp_house/house");
  copy_example("tlm_double_pendulum");
  for_each("tlm_double_pendulum", ".c", build_fmu, *state);
  check_reset(*state, "tlm_double_pendulum/doublePendulum.xml");
  CHECK_INT(n_failed, 0);
}

static void every_example_can_be_reset(void** state) {
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    char fmus[256];
    copy_example(folders[i]);
    snprintf(fmus, sizeof fmus, "%s/fmus.yaml", folders[i]);
    FILE* f = fopen(fmus, "r");
    if (f == NULL) continue;
    fclose(f);
    for_each(folders[i], ".c", build_fmu, *state);
  }
  must_do("build elastic_ball/ball.c -o elastic_ball/ball.fmu");
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
    for_each(folders[i], ".yaml", check_reset, *state);
  CHECK_INT(n_failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(packages_and_composite_models_can_be_reset),
                                     cmocka_unit_test(every_example_can_be_reset)};
  return cmocka_run_group_tests_name("examples/reset", tests, make_context, drop_context);
}
