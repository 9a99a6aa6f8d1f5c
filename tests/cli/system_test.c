// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems that cannot be built or do not run to the end: what is said, and where.
#include "command.h"

static const char mass[] = MODEL(
    "mass",
    "static const cpl_declaration x[] = {{.name = \"x\", .unit = \"m\"}, {.name = \"v\"}, {0}};\n"
    "static const cpl_declaration u[] = {{.name = \"F\", .start = 0}, {0}};\n"
    "static const cpl_declaration p[] = {{.name = \"m\", .start = 1, .min = 0.1, .max = 10}, "
    "{0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->x[1];\n"
    "  dx[1] = v->u[0] / v->p[0];\n"
    "  return v->x[0] < -1 ? cpl_model_error(v, \"fell off\") : 0;\n"
    "}",
    ".states = x, .inputs = u, .parameters = p, .derivatives = f");

#define MODES(solver)                      \
  "couplet: 1\nmodes:\n  start: m\n  m:\n" \
  "    {models: {a: {c: mass.c}}, solver: {" solver "}}\nobserve: {x: a.x}\n"
#define HEAD "couplet: 1\nmodels:\n  a: {c: mass.c}\n"

static int prepare(void** state) {
  (void)state;
  write_text("mass.c", mass);
  make_probe("probe.fmu", "probe", NULL);
  write_text("table.csv", "time,height\n0,0\n1,1\n");
  return 0;
}

static void bad_systems_are_refused_with_their_place(void** state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"couplet: 1\nmodels:\n  a: {c: nothing.c}\n", "s.yaml:3:10: model a"},
      {"couplet: 1\nmodels:\n  a: {c: mass.c, start: {m: 20}}\n", "s.yaml:3:26: model a"},
      {"couplet: 1\nmodels:\n  a: {c: mass.c, start: {x: time}}\n",
       "depends on time: a constant is needed here"},
      {"couplet: 1\nmodels:\n  a: {fmu: probe.fmu, as: cs}\nmaster: {algorithm: jacobo}\n",
       "s.yaml:4:21: algorithm: jacobo is not known (determinate, jacobi, gauss-seidel, "
       "iterative)"},
      {HEAD "parameters: {k: 2*d, d: k/2}\n", "the parameter k depends on itself"},
      {HEAD "inputs: {w: {file: table.csv}}\n", "the table has no column w"},
      {HEAD "inputs: {w: {file: none.csv}}\n", "none.csv"},
      {HEAD "connections: {a.F: a.x > 1}\n", "a.F is Real, but a.x > 1 gives Boolean"},
      {HEAD "connections: {a.F: 2*a.y}\n", "s.yaml:4:22: unknown name \"a.y\""},
      {HEAD "connections: {a.F: b}\n", "s.yaml:4:20: unknown name \"b\"\n"},
      {HEAD "events: {e: {when: a.x, set: {a.x: 0}}}\n", "a.x is not a condition"},
      {HEAD "experiment: {solver: magic}\n", "magic"},
      {HEAD "experiment: {linear: magic}\n", "there is no linear solver magic (direct, gmres)"},
      {HEAD "experiment: {linear: gmres, solver: rk4, step: 0.1}\n", "no linear systems for gmres"},
      {HEAD "experiment: {loops: magic}\n",
       "algebraic loops can be solved nested or as-rows, not \"magic\""},
      {HEAD "experiment: {loops: as-rows}\n",
       "loops as-rows are a matter of solver ida; cvode solves them nested"},
      {"couplet: 1\nmodels:\n  a: {system: s.yaml}\n", "s.yaml"},
      {MODES("name: magic"), "s.yaml:5:47: magic is not known (cvode, adams,"},
      {MODES("linear: magic"), "s.yaml:5:49: magic is not known (direct, gmres)"},
      {MODES("loops: magic"), "s.yaml:5:48: magic is not known (nested, as-rows)"},
      {MODES("loops: as-rows"), "m: solver cvode cannot integrate algebraic variables"},
      {MODES("name: rk4"), "solver rk4 needs a step"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    write_text("s.yaml", cases[i].text);
    CHECK_FAILS_WITH(2, cases[i].message, "run", "s.yaml", "-o", "s.csv");
  }
}

static void a_model_that_fails_is_named_and_the_results_are_kept(void** state) {
  (void)state;
  write_text("s.yaml",
             HEAD "connections: {a.F: -1 + 0*a.x}\nexperiment: {stop: 10, interval: 0.1}\n");
  CHECK_FAILS_WITH(1, "a: derivatives at t=1.", "run", "s.yaml", "-o", "s.csv");
  CHECK_CONTAINS(complained, "fell off");
  char rows[65536];
  read_text("s.csv", rows, sizeof rows);
  CHECK_CONTAINS(rows, "\n0.1,");
}

static void a_coupling_that_divides_by_zero_says_so(void** state) {
  (void)state;
  write_text("s.yaml", HEAD "connections: {a.F: 1/a.v}\nexperiment: {stop: 1}\n");
  CHECK_FAILS_WITH(1, "s.yaml:4:21: 1/a.v: division by zero", "run", "s.yaml", "-o", "s.csv");
}

static void the_linear_solver_is_chosen_in_the_file_or_by_an_option(void** state) {
  (void)state;
  write_text("s.yaml", HEAD
             "connections: {a.F: 1 - a.x}\n"
             "experiment: {stop: 0.5, rtol: 1e-9, linear: gmres}\n");
  CHECK_CODE(0, "run", "s.yaml", "--stats", "-o", "s.csv");
  CHECK_CONTAINS(printed, "  GMRES iterations     ");
  double by_gmres = last_value("s.csv", 1);
  CHECK_CODE(0, "run", "s.yaml", "--linear", "direct", "--stats", "-o", "s.csv");
  CHECK(strstr(printed, "GMRES") == NULL);
  CHECK_NEAR(last_value("s.csv", 1), by_gmres, 1e-7);
}

// Nothing is lost without a word.
static void outputs_that_are_no_numbers(void** state) {
  char yaml[8192];
  (void)state;
  snprintf(yaml, sizeof yaml,
           "couplet: 1\nmodels: {p: {c: %s}}\noutputs: {word: p.said, n: p.events}\n",
           test_path("examples/types/types.c"));
  write_text("words.yaml", yaml);
  CHECK_CODE(0, "run", "words.yaml", "-o", "words.csv");
  CHECK_CONTAINS(complained,
                 "the output word is always 0: outputs of systems are numbers, and "
                 "p.said is a String");
  CHECK(strstr(complained, "output n") == NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_systems_are_refused_with_their_place),
      cmocka_unit_test(a_model_that_fails_is_named_and_the_results_are_kept),
      cmocka_unit_test(a_coupling_that_divides_by_zero_says_so),
      cmocka_unit_test(the_linear_solver_is_chosen_in_the_file_or_by_an_option),
      cmocka_unit_test(outputs_that_are_no_numbers),
  };
  return cmocka_run_group_tests(tests, prepare, NULL);
}
