// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Every example, interrupted at random points (interrupted.h).
#include "examples/all_examples.h"
#include "examples/interrupted.h"

static void check_example(cpl_context* ctx, const char* path) {
  check_interrupted(ctx, path, &(interrupted_system){.path = path});
}

static void examples_go_on_with_the_same_bytes(void** state) {
  copy_examples(*state);
  for_each_example(*state, check_example);
  all_were_same();
}

static void packages_and_composite_models_too(void** state) {
  copy_example("ssp_house");
  must_do("build ssp_house/room.c -o ssp_house/house/resources/room.fmu");
  must_do("build ssp_house/heater.c -o ssp_house/house/resources/heater.fmu");
  check_example(*state, "ssp_house/house");
  copy_example("tlm_double_pendulum");
  for_each("tlm_double_pendulum", ".c", build_fmu, *state);
  check_example(*state, "tlm_double_pendulum/doublePendulum.xml");
  all_were_same();
}

static void single_models_too(void** state) {
  static const char* const models[] = {"bouncing_ball", "dae",        "quarter_car", "sampler",
                                       "slider_crank",  "tank_level", "types",       "van_der_pol"};
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    copy_example(models[i]);
    for_each(models[i], ".yaml", check_example, *state);
    for_each(models[i], ".c", check_example, *state);
  }
  all_were_same();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(single_models_too),
                                     cmocka_unit_test(packages_and_composite_models_too),
                                     cmocka_unit_test(examples_go_on_with_the_same_bytes)};
  return cmocka_run_group_tests_name("examples/checkpoints", tests, make_context, drop_context);
}
