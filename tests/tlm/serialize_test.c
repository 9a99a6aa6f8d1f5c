// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// States of delay lines as bytes: waves in transit, with and without damping, in the middle of an
// interval, and where an interval or a pair of two ends.
#include "serialize_models.h"

static void write_system(double alpha, double delay, double stop) {
  char text[2000];
  write_models();
  snprintf(text, sizeof text,
           "couplet: 1\n"
           "name: three masses\n"
           "models:\n"
           "  a: {c: mass.c, start: {x: 0.1, v: 1.3}}\n"
           "  b: {c: mass.c, start: {x: 0.2, m: 0.6}}\n"
           "  c: {c: mass.c, start: {m: 2.2, v: -0.4}}\n"
           "interfaces:\n"
           "  a.end: {kind: translational, position: x, speed: v, force: F}\n"
           "  b.end: {kind: translational, position: x, speed: v, force: F}\n"
           "tlm:\n"
           "  - {from: a.end, to: b.end, delay: %g, Zf: 3.7, alpha: %g}\n"
           "record: [a.v, b.v]\n"
           "experiment: {stop: %g, rtol: 1e-7}\n",
           delay, alpha, stop);
  write_file("lines.yaml", text);
}

static void states_continue_in_another_process(void** state) {
  (void)state;
  write_system(0, 0.011, 1.7);
  check_system("lines.yaml", "-", 0, false);
  write_system(0.3, 0.011, 1.7);
  check_system("lines.yaml", "-", 0, false);
  check_system("lines.yaml", "radau", 0, false);
}

// The state is that of t = 0.875: 14 and 7 intervals. Waves are functions of time there.
static void states_where_intervals_end(void** state) {
  (void)state;
  write_system(0, 0.125, 2);
  check_system("lines.yaml", "-", 0, false);
  write_system(0, 0.25, 2);
  check_system("lines.yaml", "-", 0, false);
}

static void bad_bytes_are_refused(void** state) {
  (void)state;
  write_system(0.3, 0.011, 1.7);
  check_bad_states("lines.yaml", "-");
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states_continue_in_another_process),
      cmocka_unit_test(states_where_intervals_end),
      cmocka_unit_test(bad_bytes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char** argv) { return serialize_main(argc, argv, all_tests); }
