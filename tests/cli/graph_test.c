// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "command.h"

/// y = u + x, x' = -x: feed-through
static const char through_model[] =
    MODEL("through",
          "static const cpl_declaration x[] = {{.name = \"x\", .start = 1}, {0}};\n"
          "static const cpl_declaration u[] = {{.name = \"u\"}, {0}};\n"
          "static const cpl_declaration y[] = {{.name = \"y\"}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) { dx[0] = -v->x[0]; return 0; }\n"
          "static int g(const cpl_values* v, double* y_) { y_[0] = v->u[0] + v->x[0]; return 0; }",
          ".states = x, .inputs = u, .outputs = y, .derivatives = f, .output_values = g");

static const char loop_file[] =
    "couplet: 1\n"
    "name: a \"loop\"\n"
    "models:\n"
    "  a: {c: through.c}\n"
    "  b: {c: through.c}\n"
    "  lonely: {c: decay.c}\n"
    "parameters: {k: 0.5}\n"
    "inputs: {w: {start: 0}}\n"
    "connections:\n"
    "  a.u: k*b.y + w\n"
    "  b.u: -0.3*a.y\n"
    "outputs: {y: a.y}\n";

static void write_files(void) {
  write_text("through.c", through_model);
  write_text("decay.c", decay_model);
  write_text("loop.yaml", loop_file);
}

static int longest_line(const char* text) {
  int longest = 0, n = 0;
  for (; *text != '\0'; text++) {
    n = *text == '\n' ? 0 : n + 1;
    if (n > longest) longest = n;
  }
  return longest;
}

static void a_system_is_told_to_people(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "graph", "loop.yaml");
  CHECK_CONTAINS(printed, "3 models, 2 connections, 3 states, no event indicators, 1 loop\n");
  CHECK_CONTAINS(printed, "  a       C             1      1       1      0  detected\n");
  CHECK_CONTAINS(printed, "  a.u = k*b.y + w (loop 1)\n");
  CHECK_CONTAINS(printed, "  y = a.y\n");
  CHECK_CONTAINS(printed, "solve   loop 1\n");
  CHECK_CONTAINS(printed, "4 values, 1 torn; not known to be linear\n");
  CHECK_CONTAINS(printed, "Groups without a path between them\n    1  a, b\n    2  lonely\n");
  CHECK_CONTAINS(printed, "Unconnected inputs\n  lonely.u = 0\n");
  CHECK(longest_line(printed) <= 80);
  CHECK_STR(complained, "");
}

static void long_formulas_are_wrapped(void** state) {
  (void)state;
  char text[4096];
  write_files();
  int n =
      snprintf(text, sizeof text, "couplet: 1\nmodels: {a: {c: decay.c}}\nconnections:\n  a.u: 0");
  for (int i = 0; i < 40; i++) n += snprintf(text + n, sizeof text - (size_t)n, " + %d*a.y", i);
  snprintf(text + n, sizeof text - (size_t)n, "\n");
  write_text("long.yaml", text);
  CHECK_CODE(0, "graph", "long.yaml");
  CHECK(longest_line(printed) <= 80);
  CHECK_CONTAINS(printed, "39*a.y");
}

static void a_system_is_drawn(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "graph", "loop.yaml", "--dot");
  CHECK(strncmp(printed, "digraph \"a \\\"loop\\\"\" {\n", 23) == 0);
  CHECK_CONTAINS(printed, "\"m:b\" -> \"m:a\" [label=\"y → u\", color=red");
  CHECK_CONTAINS(printed, "\"s:w\" -> \"m:a\" [label=\"u\"");
  CHECK_CONTAINS(printed, "\"m:a\" -> \"s:y\" [label=\"y\"];");
  CHECK(strstr(printed, "s:k") == NULL);  // parameters are no part of the picture
}

static void a_system_is_told_to_machines(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "graph", "loop.yaml", "--json");
  CHECK_CONTAINS(printed, "\"name\": \"a \\\"loop\\\"\"");
  CHECK_CONTAINS(printed, "\"groups\": 2");
  CHECK_CONTAINS(printed, "\"feed_through\": \"detected\"");
  CHECK_CONTAINS(printed, "{\"target\": \"a.u\", \"text\": \"k*b.y + w\"");
  CHECK_CONTAINS(printed, "{\"number\": 1, \"linear\": false, \"torn\": [");
  CHECK_CONTAINS(printed, "{\"input\": \"lonely.u\", \"start\": 0}");
  CHECK_FAILS(2, "graph: --dot, --json, --html and --svg exclude each other", "graph", "loop.yaml",
              "--json", "--dot");
}

static void one_model_is_a_graph_too(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "graph", "decay.c");
  CHECK_CONTAINS(printed, "1 model, no connections, 1 state, no event indicators, no loops\n");
  CHECK_CONTAINS(printed, "Unconnected inputs\n  u = 0\n");
  CHECK_CODE(0, "build", "decay.c", "-o", "decay.fmu");
  CHECK_CODE(0, "graph", "decay.fmu");
  CHECK_CONTAINS(printed, "FMI 2.0");
  CHECK_CONTAINS(printed, "declared\n");
  CHECK_FAILS_WITH(2, "nothere.yaml", "graph", "nothere.yaml");
}

// A file that is named is written, or it is said that it is not.
static void the_name_of_the_file_says_its_form(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "graph", "decay.c", "-o", "named.svg");
  CHECK_CONTAINS(text_of("named.svg"), "<svg");
  CHECK_CODE(0, "graph", "decay.c", "-o", "named.html");
  CHECK_CONTAINS(text_of("named.html"), "<html");
  CHECK_FAILS_WITH(2, "only --html and --svg write to a file", "graph", "decay.c", "--dot", "-o",
                   "named.dot");
  CHECK_FAILS_WITH(2, "only --html and --svg write to a file", "graph", "decay.c", "-o", "named");
}

static void results_go_to_one_file_per_model(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "run", "loop.yaml", "-o", "out.csv", "--per-model", "--stop-time", "0.1",
             "--interval", "0.1");
  CHECK_CONTAINS(printed, "-> out.csv, out.a.csv, out.b.csv, out.lonely.csv\n");
  CHECK(strncmp(text_of("out.a.csv"), "time,x,y\n0,", 11) == 0);
  CHECK(strncmp(text_of("out.lonely.csv"), "time,x,y\n0,1,2\n", 15) == 0);
  CHECK(strncmp(text_of("out.csv"), "time,y\n0,", 9) == 0);
  CHECK_INT(count_rows("out.b.csv"), 2);
  CHECK_CODE(0, "run", "loop.yaml", "-o", "whole.csv", "--stop-time", "0.1", "--interval", "0.1");
  CHECK_NEAR(last_value("out.a.csv", 2), last_value("whole.csv", 2), 0);

  // what nobody recorded has no file
  CHECK_CODE(0, "run", "loop.yaml", "-o", "some.mat", "--per-model", "--record", "b.y",
             "--stop-time", "0.1", "--json");
  CHECK_CONTAINS(printed, "\"results\": [\"some.b.mat\"]");
  CHECK(access("some.b.mat", F_OK) == 0);
  CHECK(access("some.mat", F_OK) != 0 && access("some.a.mat", F_OK) != 0);
  CHECK_FAILS(2, "--per-model: loop.yaml: give the results a file, not standard output", "run",
              "loop.yaml", "-o", "-", "--per-model");
  CHECK_FAILS(2, "--per-model: decay.c is no system", "run", "decay.c", "--per-model");
}

static void modes_and_lines_are_drawn(void** state) {
  (void)state;
  const char* chart = test_path("examples/breaking_pendulum/breaking_pendulum.yaml");
  CHECK_CODE(0, "graph", chart, "--svg", "-o", "chart.svg");
  CHECK_CONTAINS(text_of("chart.svg"), "transition");
  CHECK_CONTAINS(text_of("chart.svg"), "when p.rope_force &lt; 0");
  CHECK_CODE(0, "graph", chart, "--html", "-o", "chart.html");
  CHECK_CONTAINS(text_of("chart.html"), "transition");

  const char* lines = test_path("examples/tlm_spring/tlm_spring.yaml");
  CHECK_CODE(0, "graph", lines);
  CHECK_CONTAINS(printed, "2 models, 1 delay line\n");
  CHECK_CONTAINS(printed, "left.end -- right.end  translational, delay 0.0001 s\n");
  CHECK_CODE(0, "graph", lines, "--json");
  CHECK_CONTAINS(printed, "\"delay\": 0.0001");
  CHECK_CODE(0, "graph", lines, "--dot");
  CHECK_CONTAINS(printed, "\"left\" -- \"right\"");
  CHECK_CODE(0, "graph", lines, "--svg", "-o", "lines.svg");
  CHECK_CONTAINS(text_of("lines.svg"), "tlm");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_system_is_told_to_people),
      cmocka_unit_test(long_formulas_are_wrapped),
      cmocka_unit_test(a_system_is_drawn),
      cmocka_unit_test(a_system_is_told_to_machines),
      cmocka_unit_test(one_model_is_a_graph_too),
      cmocka_unit_test(the_name_of_the_file_says_its_form),
      cmocka_unit_test(results_go_to_one_file_per_model),
      cmocka_unit_test(modes_and_lines_are_drawn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
