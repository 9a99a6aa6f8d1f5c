// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// States of aggregates as bytes: with tables, comparisons, events, a loop and constraints.
#include "serialize_models.h"

static const char system_file[] =
    "couplet: 1\n"
    "name: all of an aggregate\n"
    "models:\n"
    "  a: {c: mass.c, start: {x: 0.3, v: -0.4}}\n"
    "  b: {c: mass.c, start: {x: -0.2, m: 0.9}}\n"
    "  s: {c: spring.c}\n"
    "inputs:\n"
    "  road: {file: road.csv, column: height}\n"
    "  gear: {file: road.csv, interpolation: hold}\n"
    "connections:\n"
    "  s.x: a.x\n"
    "  s.y: b.x\n"
    "  a.F: \"s.F + road + (if a.x > 0.11 then -0.3 else gear)\"\n"
    "  b.F: \"s.G - 0.4*b.x\"\n"
    "events:\n"
    "  low: {when: b.x < -0.25, set: {b.v: 0.8*b.v + 0.1}}\n"
    "  kick: {at: [0.21, 1.9, 2.6], set: {a.v: a.v + 0.07}}\n"
    "experiment: {stop: 3.2, rtol: 1e-7}\n";

// A circle, whose radius is kept, and an algebraic loop.
static const char constrained_file[] =
    "couplet: 1\n"
    "name: constraints and a loop\n"
    "models:\n"
    "  a: {c: mass.c, start: {x: 0.6, v: 0, m: 1, d: 0}}\n"
    "  s: {c: spring.c, start: {k: 0.5}}\n"
    "connections:\n"
    "  s.x: \"a.x + 0.1*s.F\"\n"
    "  s.y: 0\n"
    "  a.F: \"-a.x\"\n"
    "constraints:\n"
    "  energy: \"a.v^2 + a.x^2 = at start\"\n"
    "experiment: {stop: 4.4, rtol: 1e-6}\n";

static void prepare(void) {
  write_models();
  write_file("road.csv",
             "time,height,gear\n0,0.1,0\n0.5,0.3,0.2\n1.3,-0.1,0.2\n1.3,0.25,-0.4\n1.7,0.4,0.1\n"
             "2.4,0.1,0.6\n4,0,0\n");
  write_file("all.yaml", system_file);
  write_file("constrained.yaml", constrained_file);
}

static void states_continue_in_another_process(void** state) {
  (void)state;
  static const char* const solvers[] = {"-", "radau", "ida", "adams", "dopri5"};
  prepare();
  for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++)
    check_system("all.yaml", solvers[i], 0, false);
  check_system("constrained.yaml", "-", 0, false);
  check_system("constrained.yaml", "ida", 0, false);
}

// Before an event is handled, comparisons and tables still have their values on this side of it.
static void a_pending_event_survives(void** state) {
  (void)state;
  prepare();
  built one = build("all.yaml", "-", 0), two = build("all.yaml", "-", 0);
  begin(&one);
  for (int n = 0; n < 12; n++) {
    cpl_snapshot saved = {0}, copy = {0};
    cpl_step_result r = {0};
    while (r.end != CPL_STEP_EVENT) CHECK_OK(one.ctx, cpl_stepper_step(one.s, 3.2, 3.2, &r));
    CHECK_OK(one.ctx, cpl_component_save(one.c, &saved));
    cpl_binary bytes = state_bytes(one.ctx, one.c, &saved);
    FILE *restored = open_file("restored", "w"), *continued = open_file("continued", "w");
    CHECK_OK(one.ctx, cpl_component_restore(one.c, &saved));
    write_row(&one, restored);
    CHECK_OK(two.ctx, cpl_component_deserialize(two.c, &bytes, &copy));
    CHECK_OK(two.ctx, cpl_component_restore(two.c, &copy));
    write_row(&two, continued);
    fclose(restored);
    fclose(continued);
    check_same("restored", "continued", "a pending event");
    cpl_component_forget(one.c, &saved);
    cpl_component_forget(two.c, &copy);
    free((void*)bytes.data);
    drop(&two);
    two = build("all.yaml", "-", 0);
  }
  drop(&one);
  drop(&two);
}

static void bad_bytes_are_refused(void** state) {
  (void)state;
  prepare();
  check_bad_states("all.yaml", "-");
  check_bad_states("constrained.yaml", "-");
}

static void another_system_refuses_them(void** state) {
  (void)state;
  prepare();
  run_other_process("all.yaml", "-", 0);
  cpl_binary bytes = read_all("bytes");
  built b = build("constrained.yaml", "-", 0);
  cpl_snapshot saved = {0};
  CHECK_INT(cpl_component_deserialize(b.c, &bytes, &saved), CPL_ERR_INPUT);
  CHECK(saved.data == NULL);
  CHECK_CONTAINS(cpl_context_error(b.ctx), "these bytes are no saved state of");
  drop(&b);
  free((void*)bytes.data);
}

static void the_part_that_cannot_is_named(void** state) {
  (void)state;
  prepare();
  write_file("pointer.yaml",
             "couplet: 1\nname: top\nmodels: {a: {c: mass.c}, keeper: {c: pointer.c}}\n"
             "connections: {a.F: keeper.x}\n");
  check_refusal("pointer.yaml", "keeper");
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states_continue_in_another_process),
      cmocka_unit_test(a_pending_event_survives),
      cmocka_unit_test(bad_bytes_are_refused),
      cmocka_unit_test(another_system_refuses_them),
      cmocka_unit_test(the_part_that_cannot_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char** argv) { return serialize_main(argc, argv, all_tests); }
