// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The example output_derivatives: the table of its README, for the model in C and for its FMUs of
// FMI 2.0 and 3.0.
#include "running.h"

static void write_system(const char* path, const char* fmt, ...) {
  FILE* f = fopen(path, "w");
  va_list args;
  assert_non_null(f);
  va_start(args, fmt);
  vfprintf(f, fmt, args);
  va_end(args);
  fclose(f);
}

// The largest error of left.x at the points of the output.
static double error_of(cpl_context* ctx, const char* path) {
  must_do("run %s -q -o out.csv", path);
  cpl_table* t = read_table(ctx, "out.csv");
  const double* x = column(t, "left.x");
  double worst = 0;
  CHECK(t->n_rows == 21 && t->time[20] == 2);
  for (size_t i = 0; i < t->n_rows; i++)
    worst = fmax(worst, fabs(x[i] - 0.5 * cos(t->time[i]) - 0.5 * cos(3 * t->time[i])));
  cpl_table_destroy(t);
  return worst;
}

static double masses(cpl_context* ctx, const char* model, int order, bool slopes, double h) {
  write_system("masses.yaml",
               "couplet: 1\nmodels:\n  left: {%s, as: cs, start: {x: 1}}\n"
               "  right: {%s, as: cs}\n"
               "connections: {left.s: right.x, right.s: left.x}\n"
               "master: {order: %d, step: %g, output-derivatives: %s}\nrecord: [left.x]\n"
               "experiment: {stop: 2, interval: 0.1, rtol: 1e-10}\n",
               model, model, order, h, slopes ? "true" : "false");
  return error_of(ctx, "masses.yaml");
}

static void errors_are_those_of_the_table(void** state) {
  static const struct {
    int order;
    bool slopes;
    double errors[3];
  } rows[] = {{0, false, {1.8e-1, 9.3e-2, 4.7e-2}},
              {0, true, {1.1e-2, 2.7e-3, 6.7e-4}},
              {1, false, {2.7e-2, 6.7e-3, 1.7e-3}},
              {1, true, {1.6e-3, 2.0e-4, 2.5e-5}}};
  static const char* const models[] = {"c: output_derivatives/mass.c",
                                       "fmu: output_derivatives/mass2.fmu",
                                       "fmu: output_derivatives/mass3.fmu"};
  const double steps[] = {0.1, 0.05, 0.025};
  copy_example("output_derivatives");
  CHECK_INT(couplet("build output_derivatives/mass.c --fmi 2 -q -o output_derivatives/mass2.fmu"),
            0);
  CHECK_INT(couplet("build output_derivatives/mass.c --fmi 3 -q -o output_derivatives/mass3.fmu"),
            0);
  for (size_t m = 0; m < sizeof models / sizeof *models; m++)
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
      for (int k = 0; k < 3; k++)
        CHECK_NEAR(masses(*state, models[m], rows[i].order, rows[i].slopes, steps[k]),
                   rows[i].errors[k], 0.05 * rows[i].errors[k]);
}

static void the_file_runs(void** state) {
  copy_example("output_derivatives");
  CHECK_NEAR(error_of(*state, "output_derivatives/displacements.yaml"), 2.0e-4, 1e-5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_are_those_of_the_table),
      cmocka_unit_test(the_file_runs),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
