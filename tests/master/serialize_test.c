// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// States of masters as bytes: extrapolated inputs, sampled values, error control, nested masters.
#include "serialize_models.h"

static const char* const masters[] = {
    "{algorithm: gauss-seidel, order: 2, step: 0.03}",
    "{algorithm: jacobi, order: 1, step: 0.04}",
    "{algorithm: iterative, order: 1, step: 0.05}",
    "{algorithm: jacobi, order: 2, tolerance: 1e-5}",
};

static void write_system(const char* master) {
  char text[2000];
  write_models();
  snprintf(text, sizeof text,
           "couplet: 1\n"
           "name: steppers\n"
           "models:\n"
           "  a: {c: mass.c, as: cs, start: {x: 0.35, v: -0.2}}\n"
           "  b: {c: mass.c, as: cs, start: {x: -0.1, m: 0.8}}\n"
           "  s: {c: spring.c, as: cs}\n"
           "connections: {s.x: a.x, s.y: b.x, a.F: s.F, b.F: s.G}\n"
           "master: %s\n"
           "experiment: {stop: 2.9}\n",
           master);
  write_file("steppers.yaml", text);
}

static void states_continue_in_another_process(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof masters / sizeof masters[0]; i++) {
    write_system(masters[i]);
    check_system("steppers.yaml", "-", 0, false);
  }
}

static void nested_masters_continue(void** state) {
  (void)state;
  write_system(masters[0]);
  write_file("nested.yaml",
             "couplet: 1\nname: outer\n"
             "models:\n"
             "  pair: {system: steppers.yaml}\n"
             "  c: {c: mass.c, as: cs, start: {x: 0.2}}\n"
             "connections: {c.F: \"0.4*pair.a.x - 2*c.x\"}\n"
             "master: {step: 0.06}\n"
             "experiment: {stop: 2.9}\n");
  check_system("nested.yaml", "-", 0, false);
}

static void bad_bytes_are_refused(void** state) {
  (void)state;
  write_system(masters[0]);
  check_bad_states("steppers.yaml", "-");
}

static void the_part_that_cannot_is_named(void** state) {
  (void)state;
  write_models();
  write_file("pointer.yaml",
             "couplet: 1\nname: top\n"
             "models: {a: {c: mass.c, as: cs}, keeper: {c: pointer.c, as: cs}}\n"
             "connections: {a.F: keeper.x}\nmaster: {step: 0.1}\n");
  check_refusal("pointer.yaml", "keeper");
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states_continue_in_another_process),
      cmocka_unit_test(nested_masters_continue),
      cmocka_unit_test(bad_bytes_are_refused),
      cmocka_unit_test(the_part_that_cannot_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char** argv) { return serialize_main(argc, argv, all_tests); }
