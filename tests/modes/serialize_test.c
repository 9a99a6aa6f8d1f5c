// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// States of modes as bytes, as steppers and as models: also those of modes that were left, and
// start values that were set from outside.
#include "serialize_models.h"

// A mass between two springs, of which only one pulls at a time; modes are entered again and again.
static const char modes_file[] =
    "couplet: 1\n"
    "name: bouncing\n"
    "parameters: {k: 9, limit: 0.05}\n"
    "modes:\n"
    "  start: up\n"
    "  up:\n"
    "    models: {a: {c: mass.c, start: {x: 0.4, v: 0.3}}}\n"
    "    connections: {a.F: \"-k*a.x\"}\n"
    "    leave:\n"
    "      - {when: a.x < -limit, to: down, set: {b.x: a.x, b.v: a.v}}\n"
    "  down:\n"
    "    models: {b: {c: mass.c, start: {m: 1.1}}}\n"
    "    connections: {b.F: \"-2*k*b.x + 0.1\"}\n"
    "    leave:\n"
    "      - {when: b.x > limit, to: up, set: {a.x: b.x, a.v: \"0.95*b.v\"}}\n"
    "observe: {x: {up: a.x, down: b.x}}\n"
    "experiment: {stop: 7.3, rtol: 1e-7%s}\n";

static void write_system(void) {
  char text[2000];
  write_models();
  snprintf(text, sizeof text, modes_file, "");
  write_file("modes.yaml", text);
  // inside of a system they are a model of variable structure
  write_file("outer.yaml",
             "couplet: 1\nname: outer\n"
             "models:\n"
             "  inner: {system: modes.yaml}\n"
             "  c: {c: mass.c, start: {x: 0.1}}\n"
             "connections: {c.F: \"3*inner.x - 4*c.x\"}\n"
             "experiment: {stop: 7.3, rtol: 1e-7}\n");
  write_file("stepping.yaml",
             "couplet: 1\nname: stepping\n"
             "models:\n"
             "  inner: {system: modes.yaml}\n"
             "  c: {c: mass.c, as: cs, start: {x: 0.1}}\n"
             "connections: {c.F: \"3*inner.x - 4*c.x\"}\n"
             "master: {step: 0.05}\n"
             "experiment: {stop: 7.3}\n");
}

static void states_continue_in_another_process(void** state) {
  (void)state;
  write_system();
  check_system("modes.yaml", "-", 0, false);
  check_system("modes.yaml", "radau", 0, false);
  check_system("outer.yaml", "-", 0, false);
  check_system("stepping.yaml", "-", 0, false);
}

static void set(built* b, const char* name, double value) {
  const cpl_description* d = cpl_component_description(b->c);
  int32_t i = cpl_find_variable(d, name);
  CHECK(i >= 0);
  CHECK_OK(b->ctx, cpl_component_set_real(b->c, &d->vars[i].ref, 1, &value));
}

// A mode that has not been entered yet gets them when it is, also where they were never set.
static void start_values_from_outside_are_part_of_it(void** state) {
  (void)state;
  write_system();
  built one = build("modes.yaml", "-", 0), two = build("modes.yaml", "-", 0);
  cpl_snapshot saved = {0};
  set(&one, "down.b.m", 2.6);
  set(&two, "down.b.m", 0.2);
  begin(&one);
  advance(&one, 0, 1, NULL);  // still in the first mode
  CHECK_OK(one.ctx, cpl_component_save(one.c, &saved));
  cpl_binary bytes = state_bytes(one.ctx, one.c, &saved);
  FILE* rows = open_file("restored", "w");
  CHECK_OK(one.ctx, cpl_component_restore(one.c, &saved));
  advance(&one, 1, STEPS, rows);
  fclose(rows);
  cpl_component_forget(one.c, &saved);
  CHECK_OK(two.ctx, cpl_component_deserialize(two.c, &bytes, &saved));
  CHECK_OK(two.ctx, cpl_component_restore(two.c, &saved));
  rows = open_file("continued", "w");
  advance(&two, 1, STEPS, rows);
  fclose(rows);
  check_same("restored", "continued", "start values");
  cpl_component_forget(two.c, &saved);
  free((void*)bytes.data);
  drop(&one);
  drop(&two);
}

static void bad_bytes_are_refused(void** state) {
  (void)state;
  write_system();
  check_bad_states("modes.yaml", "-");
  check_bad_states("stepping.yaml", "-");
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states_continue_in_another_process),
      cmocka_unit_test(start_values_from_outside_are_part_of_it),
      cmocka_unit_test(bad_bytes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char** argv) { return serialize_main(argc, argv, all_tests); }
