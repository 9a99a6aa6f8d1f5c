// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// simple_coupling and algebraic_loop against their analytic solutions: models in C, FMUs, mixed.
#include "running.h"

typedef void solution(double t, double* xa, double* xb);

static void simple(double t, double* xa, double* xb) {
  *xa = 9 * exp(-t);
  *xb = 11 - *xa;
}

static void loop(double t, double* xa, double* xb) {
  *xa = 9 * exp(-2 * t / 3);
  *xb = 2 * *xa - 16 * exp(-t);
}

static const struct {
  const char* name;
  solution* exact;
} examples[] = {{"simple_coupling", simple}, {"algebraic_loop", loop}};

static void prepare(const char* name) {
  copy_example(name);
  CHECK_INT(couplet("build %s/a.c -o %s/a.fmu", name, name), 0);
  CHECK_INT(couplet("build %s/b.c -o %s/b.fmu", name, name), 0);
}

// The largest error of all rows.
static double error_of(cpl_table* t, const char* a, const char* b, solution* exact) {
  double most = 0, xa, xb;
  for (size_t i = 0; i < t->n_rows; i++) {
    exact(t->time[i], &xa, &xb);
    most = fmax(most, fmax(fabs(column(t, a)[i] - xa), fabs(column(t, b)[i] - xb)));
  }
  CHECK_NEAR(t->time[t->n_rows - 1], 2, 0);
  cpl_table_destroy(t);
  return most;
}

static double error_at(cpl_context* ctx, size_t k, const char* file, double tol) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s.yaml", examples[k].name, file);
  return error_of(run_with(ctx, path, tol), "a.x", "b.x", examples[k].exact);
}

static void all_variants_meet_the_analytic_solution(void** state) {
  for (size_t k = 0; k < 2; k++) {
    const char* files[] = {examples[k].name, "fmus", "mixed"};
    prepare(examples[k].name);
    for (size_t i = 0; i < 3; i++) CHECK_NEAR(error_at(*state, k, files[i], 1e-8), 0, 1e-6);
  }
}

static void so_do_the_monolithic_models(void** state) {
  for (size_t k = 0; k < 2; k++) {
    char path[256];
    copy_example(examples[k].name);
    snprintf(path, sizeof path, "%s/monolithic.c", examples[k].name);
    CHECK_NEAR(error_of(run_with(*state, path, 1e-8), "xa", "xb", examples[k].exact), 0, 1e-6);
  }
}

static void the_error_follows_the_tolerance(void** state) {
  for (size_t k = 0; k < 2; k++) {
    const char* files[] = {examples[k].name, "fmus", "mixed"};
    prepare(examples[k].name);
    for (size_t i = 0; i < 3; i++) {
      double last = INFINITY, first = error_at(*state, k, files[i], 1e-4);
      for (double tol = 1e-4; tol > 1e-11; tol /= 10) {
        double error = error_at(*state, k, files[i], tol);
        CHECK(error < 0.4 * last);
        last = error;
      }
      CHECK(last < 1e-5 * first);
    }
  }
}

static void the_loop_holds_at_every_row(void** state) {
  prepare("algebraic_loop");
  cpl_table* t = run_with(*state, "algebraic_loop/algebraic_loop.yaml", 1e-8);
  for (size_t i = 0; i < t->n_rows; i++) {
    double x = column(t, "a.x")[i];
    CHECK_NEAR(column(t, "a.y")[i], x * 2 / 3, 1e-9);
    CHECK_NEAR(column(t, "b.y")[i], x / 3, 1e-9);
  }
  cpl_table_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_variants_meet_the_analytic_solution),
      cmocka_unit_test(so_do_the_monolithic_models),
      cmocka_unit_test(the_error_follows_the_tolerance),
      cmocka_unit_test(the_loop_holds_at_every_row),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
