// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A component that is reset is like a new one: every example runs twice, then with other start
// values up to the middle, then again; all complete runs have the same bits.
#include "examples/every_example.h"

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

static int n_failed;

static void check_reset(cpl_context* ctx, const char* path) {
  cpl_experiment* e = open_example(ctx, path, 0);
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
  copy_examples(*state);
  for_each_example(*state, check_reset);
  CHECK_INT(n_failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(packages_and_composite_models_can_be_reset),
                                     cmocka_unit_test(every_example_can_be_reset)};
  return cmocka_run_group_tests_name("examples/reset", tests, make_context, drop_context);
}
