// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A rod of equal cells whose heat flows are expressions: its slowest mode decays as the formula
// says, in C and as FMUs, by all ways to solve the linear system. Of many equal expressions one
// fails: it is named.
#include "base/base.h"
#include "examples/running.h"

enum { CELLS = 150 };

static const double slope = 800;  // of the heat flow between two cells

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

// The ends are at 0. Mode: T[i] = sin(pi i/(CELLS + 1)).
static void put_rod(const char* path, const char* source, const char* flow) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f, "couplet: 1\nmodels:\n");
  for (int i = 1; i <= CELLS; i++)
    fprintf(f, "  m%d: {%s, start: {T: %.17g}}\n", i, source, sin(M_PI * i / (CELLS + 1)));
  fprintf(f, "connections:\n");
  for (int i = 1; i <= CELLS; i++) {
    char left[16] = "0", right[16] = "0";
    if (i > 1) snprintf(left, sizeof left, "m%d.y", i - 1);
    if (i < CELLS) snprintf(right, sizeof right, "m%d.y", i + 1);
    fprintf(f, "  m%d.a: %g*(%s - m%d.y)%s\n", i, slope, left, i, i == 77 ? flow : "");
    fprintf(f, "  m%d.b: %g*(%s - m%d.y)\n", i, slope, right, i);
  }
  fprintf(f, "experiment: {stop: 1, interval: 0.25, rtol: 1e-8}\n");
  CHECK_INT(fclose(f), 0);
}

static int make_files(void** state) {
  (void)state;
  put("cell.c",
      "#include <couplet/model.h>\n"
      "static const cpl_declaration states[] = {{\"T\"}, {0}};\n"
      "static const cpl_declaration inputs[] = {{\"a\"}, {\"b\"}, {0}};\n"
      "static const cpl_declaration outputs[] = {{\"y\"}, {0}};\n"
      "static int f(const cpl_values* v, double* dx) {\n"
      "  dx[0] = v->u[0] + v->u[1];\n"
      "  return CPL_MODEL_OK;\n"
      "}\n"
      "static int g(const cpl_values* v, double* y) {\n"
      "  y[0] = v->x[0];\n"
      "  return CPL_MODEL_OK;\n"
      "}\n"
      "const cpl_model_def couplet_model = {.name = \"cell\", .states = states, .inputs = inputs,\n"
      "  .outputs = outputs, .derivatives = f, .output_values = g};\n");
  must_do("build -q cell.c -o cell.fmu");
  put_rod("rod.yaml", "c: cell.c", "");
  put_rod("rod_fmu.yaml", "fmu: cell.fmu", "");
  put_rod("bad.yaml", "c: cell.c", " + 1/(m3.y - m3.y)");
  put_rod("late.yaml", "c: cell.c", " + 1e-9*sqrt(0.97 - time)");
  return 0;
}

static void the_mode_decays(void** state) {
  (void)state;
  static const char* const ways[] = {
      "rod.yaml",
      "rod_fmu.yaml",
      "rod.yaml --linear gmres",
      "rod.yaml --solver radau",
      "rod.yaml --solver ida",
  };
  double rate = 4 * slope * pow(sin(M_PI / (2 * (CELLS + 1))), 2);
  for (size_t k = 0; k < CPLI_COUNT(ways); k++) {
    must_do("run -q %s --record m75.T --record m1.T -o rod.csv", ways[k]);
    FILE* f = fopen("rod.csv", "r");
    char line[200];
    int rows = 0;
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    for (double t, middle, end; fscanf(f, "%lf,%lf,%lf", &t, &middle, &end) == 3; rows++) {
      double left = exp(-rate * t);
      CHECK_NEAR(middle, left * sin(M_PI * 75 / (CELLS + 1)), 1e-6);
      CHECK_NEAR(end, left * sin(M_PI / (CELLS + 1)), 1e-6);
    }
    fclose(f);
    CHECK_INT(rows, 5);
  }
}

static void the_one_that_fails_is_named(void** state) {
  (void)state;
  CHECK(couplet("run -q bad.yaml -o rod.csv") != 0);
  check_message("m77.y) + 1/(m3.y - m3.y): division by zero");
  CHECK(couplet("run -q late.yaml -o rod.csv") != 0);
  check_message("m77.y) + 1e-9*sqrt(0.97 - time): sqrt of ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_mode_decays),
      cmocka_unit_test(the_one_that_fails_is_named),
  };
  return cmocka_run_group_tests(tests, make_files, NULL);
}
