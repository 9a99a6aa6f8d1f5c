// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems whose parts are joined by lines and otherwise, too: what connections join is one part,
// whatever it is made of; and a system with lines inside of another one.
#include "lines_running.h"

static void write_text(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  CHECK(f != NULL);
  fputs(text, f);
  CHECK_INT(fclose(f), 0);
}

// A mass with two forces, and a spring to a wall with a lag in it.
static void write_models(void) {
  write_text("mass.c",
             "#include \"couplet/model.h\"\n"
             "static int derivatives(const cpl_values* v, double* dx) {\n"
             "  dx[0] = v->x[1];\n"
             "  dx[1] = v->u[0] + v->u[1];\n"
             "  return 0;\n"
             "}\n"
             "static const cpl_declaration states[] = {{\"x\", .output = true},\n"
             "  {\"v\", .output = true}, {0}}, inputs[] = {{\"F\"}, {\"G\"}, {0}};\n"
             "CPL_MODEL_EXPORT const cpl_model_def couplet_model = {.name = \"mass\",\n"
             "  .states = states, .inputs = inputs, .derivatives = derivatives};\n");
  write_text("wall.c",
             "#include \"couplet/model.h\"\n"
             "static int derivatives(const cpl_values* v, double* dx) {\n"
             "  dx[0] = 50 * (v->u[0] - v->x[0]);\n"
             "  return 0;\n"
             "}\n"
             "static int outputs(const cpl_values* v, double* y) {\n"
             "  y[0] = -100 * v->x[0];\n"
             "  return 0;\n"
             "}\n"
             "static const cpl_declaration states[] = {{\"s\"}, {0}}, inputs[] = {{\"x\"}, {0}},\n"
             "  outs[] = {{\"F\"}, {0}};\n"
             "CPL_MODEL_EXPORT const cpl_model_def couplet_model = {.name = \"wall\",\n"
             "  .states = states, .inputs = inputs, .outputs = outs,\n"
             "  .derivatives = derivatives, .output_values = outputs};\n");
}

#define MASSES                                              \
  "interfaces:\n"                                           \
  "  left.end: {kind: translational, speed: v, force: F}\n" \
  "  right.end: {kind: translational, speed: v, force: F}\n"
#define REST                                                        \
  "tlm:\n  - {from: left.end, to: right.end, delay: 4e-3, Zf: 4}\n" \
  "record: [left.x, left.v, right.x, right.v, wall.F]\n"            \
  "experiment: {stop: 1, interval: 0.1, rtol: 1e-9}\n"

// A system with masses and walls that stand in it as they are said to.
static void write_system(const char* left, const char* right, const char* wall,
                         const char* connections, const char* more) {
  FILE* f = fopen("system.yaml", "w");
  CHECK(f != NULL);
  fprintf(f,
          "couplet: 1\nname: masses\nmodels:\n  left: {c: mass.c%s, start: {v: 1}}\n"
          "  right: {c: mass.c%s}\n  wall: {c: wall.c%s}\n"
          "connections: {%s}\n" MASSES "%s" REST,
          left, right, wall, connections, more);
  CHECK_INT(fclose(f), 0);
}

static const char to_right[] = "right.G: wall.F, wall.x: right.x";
static const char iterative[] = "master: {algorithm: iterative, order: 1, step: 0.001}\n";

// The largest difference to the table.
static double difference(cpl_context* ctx, const cpl_table* exact) {
  static const char* const names[] = {"left.x", "left.v", "right.x", "right.v", "wall.F"};
  must_do("run system.yaml -o out.csv");
  cpl_table* t = read_table(ctx, "out.csv");
  double worst = 0;
  for (int k = 0; k < 5; k++) {
    for (int i = 0; i <= 10; i++)
      worst = fmax(worst, fabs(at(t, names[k], 0.1 * i) - at(exact, names[k], 0.1 * i)));
  }
  cpl_table_destroy(t);
  return worst;
}

static void what_connections_join_is_one_part(void** state) {
  static const struct {
    const char *left, *right, *wall, *more;
    double allowed;  // walls pull with up to 10 N
  } cases[] = {
      {"", "", ", as: cs", iterative, 2e-3},
      {"", ", as: cs", ", as: cs", iterative, 1e-2},
      {"", ", as: cs", "", iterative, 1e-2},
      {", as: cs", "", ", as: cs", iterative, 1e-2},
      {"", "", ", as: cs", "", 0.3},  // determinate: first order
      {"", "", ", as: cs", "  wall: {substeps: 16}\n", 0.05},
  };
  write_models();
  write_system("", "", "", to_right, "");
  must_do("run system.yaml -o exact.csv");
  cpl_table* exact = read_table(*state, "exact.csv");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_system(cases[i].left, cases[i].right, cases[i].wall, to_right, cases[i].more);
    double d = difference(*state, exact);
    print_message("%zu: %.3g\n", i, d);
    CHECK(d > 0 && d < cases[i].allowed);
    if (i > 1) continue;
    check_same_bytes("system.yaml", "--threads 2");
    check_same_bytes("system.yaml", "--processes");
  }
  must_do("run system.yaml -o out.csv --stats");
  size_t n;
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "right and wall");
  free(text);
  cpl_table_destroy(exact);
}

// Two models that know each other only by a co-simulation model between them, and one more that
// reads it in an expression: all of them are one part, and the line leads from it to itself.
static void models_on_both_sides_of_a_stepper(void** state) {
  static const char both[] =
      "right.G: wall.F, wall.x: 'right.x - left.x', left.G: '-wall.F - 0.5*left.v'";
  write_models();
  write_system("", "", "", both, "");
  must_do("run system.yaml -o exact.csv");
  cpl_table* exact = read_table(*state, "exact.csv");
  write_system("", "", ", as: cs", both, iterative);
  double d = difference(*state, exact);
  print_message("%.3g\n", d);
  CHECK(d > 0 && d < 2e-2);
  check_same_bytes("system.yaml", "--processes");
  cpl_table_destroy(exact);
}

static void faults(void** state) {
  (void)state;
  write_models();
  write_system("", "", ", as: cs", to_right, "master: {steps: {wall: 0.01}}\n");
  CHECK_INT(couplet("run system.yaml -o out.csv"), 2);
  check_message("steps: not in a system with tlm lines");
  write_system("", "", ", as: cs", to_right, "master: {algorithm: magic}\n");
  CHECK_INT(couplet("run system.yaml -o out.csv"), 2);
  check_message("algorithm: magic is not known");
}

//------------------------------------ inside of others ------------------------------------

// The pair of masses as a member: its master takes steps back, which changes no bit of a line.
static double nested_difference(cpl_context* ctx, const cpl_table* exact, const char* step) {
  char text[1024];
  snprintf(text, sizeof text,
           "couplet: 1\nmodels:\n  pair: {system: pair.yaml}\n  wall: {c: wall.c, as: cs}\n"
           "connections: {pair.push: wall.F, wall.x: pair.x}\n"
           "master: {algorithm: iterative, order: 1, step: %s}\n"
           "record: [pair.x]\nexperiment: {stop: 1, interval: 0.1, rtol: 1e-9}\n",
           step);
  write_text("outer.yaml", text);
  must_do("run outer.yaml -o out.csv --stats");
  size_t n;
  char* told = read_all("out.txt", &n);
  CHECK_CONTAINS(told, "pair: rolls back");
  free(told);
  cpl_table* t = read_table(ctx, "out.csv");
  double worst = 0;
  for (int i = 0; i <= 10; i++)
    worst = fmax(worst, fabs(at(t, "pair.x", 0.1 * i) - at(exact, "right.x", 0.1 * i)));
  cpl_table_destroy(t);
  return worst;
}

static void a_master_takes_lines_back(void** state) {
  write_models();
  write_system("", "", "", to_right, "");
  must_do("run system.yaml -o exact.csv");
  cpl_table* exact = read_table(*state, "exact.csv");
  write_text("pair.yaml",
             "couplet: 1\nname: pair\nmodels:\n  left: {c: mass.c, start: {v: 1}}\n"
             "  right: {c: mass.c}\ninputs: {push: {start: 0}}\n" MASSES
             "tlm:\n  - {from: left.end, to: right.end, delay: 4e-3, Zf: 4}\n"
             "connections: {right.G: push}\noutputs: {x: right.x}\n");
  double coarse = nested_difference(*state, exact, "0.004"),
         fine = nested_difference(*state, exact, "0.002");
  print_message("%.3g %.3g\n", coarse, fine);
  CHECK(coarse < 1e-4);
  CHECK(coarse / fine > 3.5 && coarse / fine < 4.5);  // second order
  cpl_table_destroy(exact);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(what_connections_join_is_one_part, make_context, drop_context),
    cmocka_unit_test_setup_teardown(models_on_both_sides_of_a_stepper, make_context, drop_context),
    cmocka_unit_test(faults),
    cmocka_unit_test_setup_teardown(a_master_takes_lines_back, make_context, drop_context),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
