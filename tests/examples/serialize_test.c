// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The states of example systems survive as bytes in another process: aggregates with loops and
// constraints, masters, modes, delay lines, with events.
#include "serialize_run.h"

static const char* const systems[] = {
    "two_masses/two_masses",
    "pendulums_walls/pendulums_walls",
    "pendulums_cartesian/pendulums_cartesian",
    "pendulum_on_cart/pendulum_on_cart",
    "ball_and_counter/ball_and_counter",
    "breaking_pendulum/breaking_pendulum",
    "elastic_ball/balls",
    "diesel_engine/diesel_engine",
    "loops/turns",
    "loops/as_rows",
    "two_mass_cosimulation/steppers",
    "output_derivatives/displacements",
    "hybrid_components/sawtooth",
    "hybrid_components/countdown",
    "drift/battery",
    "tlm_spring/tlm_spring",
    "tlm_drive_train/tlm_drive_train",
};

static void states_continue_in_another_process(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
    char name[200];
    snprintf(name, sizeof name, "examples/%s.yaml", systems[i]);
    check_system(test_path(name), "-", 0, false);
  }
}

// With a fixed step that ends in the middle, saving is not visible in the values at all.
static void fixed_steps_are_those_of_one_run(void** state) {
  (void)state;
  static const char* const smooth[] = {"loops/turns", "two_mass_cosimulation/aggregate",
                                       "drift/coupled", "tlm_hydraulic/tlm_hydraulic"};
  for (size_t i = 0; i < sizeof smooth / sizeof smooth[0]; i++) {
    char name[200];
    snprintf(name, sizeof name, "examples/%s.yaml", smooth[i]);
    check_system(test_path(name), "rk4", 64, true);
  }
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states_continue_in_another_process),
      cmocka_unit_test(fixed_steps_are_those_of_one_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char** argv) { return serialize_main(argc, argv, all_tests); }
