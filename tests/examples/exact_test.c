// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Checkpoints of everything that has a history of its own, in all of its variants: masters with
// their algorithms and error control, FMUs for co-simulation, solvers, constraints.
#include "examples/interrupted.h"

static void write_file(const char* path, const char* fmt, ...) CPL_PRINTF(2, 3);
static void write_file(const char* path, const char* fmt, ...) {
  FILE* f = fopen(path, "w");
  CHECK(f != NULL);
  va_list args;
  va_start(args, fmt);
  vfprintf(f, fmt, args);
  va_end(args);
  fclose(f);
}

//------------------------------------ masters ------------------------------------

static const char* const masters[] = {
    "algorithm: jacobi, step: 0.02",
    "algorithm: gauss-seidel, step: 0.02, order: 1",
    "algorithm: determinate, step: 0.02, order: 2",
    "algorithm: iterative, order: 1, step: 0.02",
    "algorithm: iterative, fixed-iterations: 2, step: 0.02",
    "algorithm: jacobi, step: 0.05, order: 1, output-derivatives: true",
    "algorithm: jacobi, step: 0.05, tolerance: 1e-4",
    "algorithm: gauss-seidel, step: 0.05, tolerance: 1e-5, estimate: richardson",
    ("algorithm: jacobi, step: 0.05, tolerance: 1e-4, order: 1, estimate: energy, "
     "bonds: [{effort: left.F, flow: right.s}]"),
    "algorithm: jacobi, step: 0.02, steps: {right: 0.04}",
    "algorithm: gauss-seidel, step: 0.02, threads: 2",
};

// Two masses as steppers of our own, or as FMUs.
static void check_masters(cpl_context* ctx, const char* key, const char* ending) {
  for (size_t i = 0; i < sizeof masters / sizeof masters[0]; i++) {
    char path[100], name[300];
    snprintf(path, sizeof path, "two_mass_cosimulation/own_%zu_%s.yaml", i, ending);
    write_file(path,
               "couplet: 1\nname: two masses\nmodels:\n  left: {%s: left.%s, as: cs}\n"
               "  right: {%s: right.%s, as: cs}\nconnections:\n  left.F: right.F\n"
               "  right.s: left.x\nmaster: {%s}\nexperiment: {stop: 2, interval: 0.1}\n",
               key, ending, key, ending, masters[i]);
    snprintf(name, sizeof name, "two masses (%s), %s", ending, masters[i]);
    check_interrupted(ctx, name, &(interrupted_system){.path = path, .rtol = 1e-8});
  }
}

static void masters_of_steppers(void** state) {
  copy_example("two_mass_cosimulation");
  check_masters(*state, "c", "c");
  all_were_same();
}

static void masters_of_fmus(void** state) {
  static const char* const versions[] = {"2", "3"};
  copy_example("two_mass_cosimulation");
  for (size_t i = 0; i < 2; i++) {
    char ending[20];
    snprintf(ending, sizeof ending, "%s.fmu", versions[i]);
    must_do("build two_mass_cosimulation/left.c --fmi %s -o two_mass_cosimulation/left.%s",
            versions[i], ending);
    must_do("build two_mass_cosimulation/right.c --fmi %s -o two_mass_cosimulation/right.%s",
            versions[i], ending);
    check_masters(*state, "fmu", ending);
  }
  all_were_same();
}

// Events within steps, located or not; conditions over values of steppers.
static void masters_with_events(void** state) {
  static const char* const how[] = {"step: 1", "step: 0.1, algorithm: jacobi",
                                    "step: 0.1, algorithm: iterative, order: 1",
                                    "step: 0.1, order: 1, tolerance: 1e-4"};
  copy_example("ball_and_counter");
  write_file("ball_and_counter/mark.c", "%s",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration x[] = {{.name = \"x\", .output = true}, {0}};\n"
             "static int f(const cpl_values* v, double* dx) {\n"
             "  dx[0] = -v->x[0];\n  return 0;\n}\n"
             "const cpl_model_def couplet_model = {.name = \"mark\", .states = x, "
             ".derivatives = f};\n");
  for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
    char path[100], name[200];
    snprintf(path, sizeof path, "ball_and_counter/own_%zu.yaml", i);
    write_file(path,
               "couplet: 1\nname: a ball\nmodels:\n  ball: {c: ball.c, as: cs}\n"
               "  counter: {c: counter.c, as: cs}\n  watch: {c: turns.c, as: cs}\n"
               "  mark: {c: mark.c}\n"
               "events: {low: {when: ball.h < 0.4, set: {mark.x: mark.x + 1}}}\nconnections:\n"
               "  counter.side: ball.side\n  watch.v: ball.v\nmaster: {%s}\n"
               "experiment: {stop: 3, interval: 0.1}\n",
               how[i]);
    snprintf(name, sizeof name, "ball and counter, %s", how[i]);
    check_interrupted(*state, name, &(interrupted_system){.path = path, .rtol = 1e-7});
  }
  all_were_same();
}

//------------------------------------ solvers ------------------------------------

// Events, constraints, sparse systems, loops, with every method.
static void solvers(void** state) {
  static const char* const methods[] = {"cvode", "adams",   "radau", "dopri5",
                                        "erk8",  "esdirk5", "ida"};
  static const char* const systems[][2] = {{"van_der_pol", "van_der_pol.c"},
                                           {"bouncing_ball", "bouncing_ball.c"},
                                           {"slider_crank", "slider_crank.c"},
                                           {"drift", "coupled.yaml"},
                                           {"drift", "energy.yaml"},
                                           {"pendulums_walls", "pendulums_walls.yaml"},
                                           {"loops", "turns.yaml"}};
  copy_example("pendulums_cartesian");  // pendulums_walls has its models
  for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
    char path[100], name[200];
    copy_example(systems[i][0]);
    snprintf(path, sizeof path, "%s/%s", systems[i][0], systems[i][1]);
    for (size_t k = 0; k < sizeof methods / sizeof methods[0]; k++) {
      snprintf(name, sizeof name, "%s, %s", path, methods[k]);
      check_interrupted(*state, name, &(interrupted_system){.path = path, .solver = methods[k]});
    }
  }
  all_were_same();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(masters_of_steppers),
      cmocka_unit_test(masters_of_fmus),
      cmocka_unit_test(masters_with_events),
      cmocka_unit_test(solvers),
  };
  return cmocka_run_group_tests_name("examples/exact", tests, make_context, drop_context);
}
