// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of the FMUs of a system: each is given time and states only where it is evaluated there,
// once, and the values that are read afterwards are those of this point.
#include "examples/running.h"

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

static int make_files(void** state) {
  (void)state;
  put("lag.c",
      "#include <couplet/model.h>\n"
      "static const cpl_declaration states[] = {{\"x\", .start = 1}, {0}};\n"
      "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
      "static const cpl_declaration outputs[] = {{\"y\"}, {\"late\"}, {0}};\n"
      "static int f(const cpl_values* v, double* dx) {\n"
      "  dx[0] = v->u[0] - 2 * v->x[0];\n"
      "  return CPL_MODEL_OK;\n"
      "}\n"
      "static int g(const cpl_values* v, double* y) {\n"
      "  y[0] = v->x[0];\n"
      "  y[1] = v->x[0] + v->t;\n"
      "  return CPL_MODEL_OK;\n"
      "}\n"
      "const cpl_model_def couplet_model = {.name = \"lag\", .states = states, .inputs = inputs,\n"
      "  .outputs = outputs, .derivatives = f, .output_values = g};\n");
  must_do("build -q lag.c -o lag.fmu");
  put("pair.yaml",
      "couplet: 1\nmodels: {a: {fmu: lag.fmu}, b: {fmu: lag.fmu, start: {x: 3}}}\n"
      "connections: {a.u: b.y, b.u: a.y}\nexperiment: {stop: 2, interval: 0.1, rtol: 1e-9}\n");
  return 0;
}

// x_a + x_b decays with exp(-t), x_b - x_a with exp(-3 t).
static void values_are_those_of_the_point(void** state) {
  (void)state;
  must_do("run -q pair.yaml --record a.x --record b.y --record b.late -o pair.csv");
  FILE* f = fopen("pair.csv", "r");
  char line[200];
  int rows = 0;
  assert_non_null(f);
  assert_non_null(fgets(line, sizeof line, f));
  for (double t, x, y, late; fscanf(f, "%lf,%lf,%lf,%lf", &t, &x, &y, &late) == 4; rows++) {
    CHECK_NEAR(x, 2 * exp(-t) - exp(-3 * t), 1e-7);
    CHECK_NEAR(y, 2 * exp(-t) + exp(-3 * t), 1e-7);
    CHECK_NEAR(late, y + t, 1e-12);
  }
  fclose(f);
  CHECK_INT(rows, 21);
}

static void no_point_is_set_in_vain(void** state) {
  (void)state;
  bool open[2] = {false, false};  // set, and nothing was read there yet
  int points[2] = {0, 0};
  must_do("run -q pair.yaml --record a.x --call-log calls.txt -o pair.csv");
  FILE* f = fopen("calls.txt", "r");
  char line[1000], name[16], call[64];
  assert_non_null(f);
  while (fgets(line, sizeof line, f) != NULL) {
    if (sscanf(line, "%*s %15s %63[^(]", name, call) != 2) continue;
    int k = strcmp(name, "b") == 0;
    if (strcmp(call, "fmi2SetTime") == 0) {
      if (open[k]) fail_msg("set again without use: %s", line);
      open[k] = true;
      points[k]++;
    } else if (strcmp(call, "fmi2GetReal") == 0 || strcmp(call, "fmi2GetDerivatives") == 0) {
      open[k] = false;
    }
  }
  fclose(f);
  CHECK(points[0] > 20);
  CHECK_INT(points[0], points[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_those_of_the_point),
      cmocka_unit_test(no_point_is_set_in_vain),
  };
  return cmocka_run_group_tests(tests, make_files, NULL);
}
