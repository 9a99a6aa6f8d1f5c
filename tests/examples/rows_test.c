// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Algebraic loops as rows of IDA's system, in the examples that have loops: exact solutions, errors
// that follow the tolerance, branches, events, results of nested loops.
#include "running.h"

static const double pi = 3.14159265358979323846;
static const char as_rows[] = "--solver ida --loops as-rows";

static cpl_table* rows_with(cpl_context* ctx, const char* file, double tol) {
  must_do("run %s %s --rtol %g --atol %g -o out.csv", file, as_rows, tol, tol);
  return read_table(ctx, "out.csv");
}

//------------------------------------ solutions ------------------------------------

// The largest error of all rows.
typedef double error_of(const cpl_table* t);

static double of_pair(const cpl_table* t) {
  double most = 0;
  for (size_t i = 0; i < t->n_rows; i++) {
    double a = 9 * exp(-2 * t->time[i] / 3), b = 2 * a - 16 * exp(-t->time[i]);
    most = fmax(most, fmax(fabs(column(t, "a.x")[i] - a), fabs(column(t, "b.x")[i] - b)));
    most =
        fmax(most, fmax(fabs(column(t, "a.y")[i] - a * 2 / 3), fabs(column(t, "b.y")[i] - a / 3)));
  }
  return most;
}

static double of_two_loops(const cpl_table* t) {
  double most = 0;
  for (size_t i = 0; i < t->n_rows; i++) {
    double p = (2 - cos(t->time[i])) / 3, s = 2 * cos(acos(-0.9 * sin(t->time[i])) / 3);
    most = fmax(most, fmax(fabs(column(t, "p.y")[i] - p), fabs(column(t, "s.y")[i] - s)));
  }
  return most;
}

static double of_turns(const cpl_table* t) {
  double most = 0;
  for (size_t i = 0; i < t->n_rows; i++)
    most = fmax(most, fabs(column(t, "g.y")[i] - 3 * t->time[i]));
  return most;
}

// x' = (2 - x - c)/3 with c = 0 below one half and c = 1/2 above; at 1 it begins anew.
static double filling(double t) {
  double half = 3 * log(4.0 / 3), full = half + 3 * log(2);
  t = fmod(t, full);
  return t < half ? 2 * (1 - exp(-t / 3)) : 1.5 - exp(-(t - half) / 3);
}

static double of_events(const cpl_table* t) {
  double most = 0;
  for (size_t i = 0; i < t->n_rows; i++) {
    double x = column(t, "sum.x")[i], p = column(t, "p.y")[i], q = column(t, "q.y")[i];
    bool at_event = (i > 0 && t->time[i] == t->time[i - 1]) ||
                    (i + 1 < t->n_rows && t->time[i] == t->time[i + 1]);
    if (!at_event) {
      double c = x > 0.5 ? 0.5 : 0;
      most = fmax(most, fabs(x - filling(t->time[i])));
      most = fmax(most, fabs(p - (2 - x - c) / 3));
    }
    most = fmax(most, fabs(p - (q / 2 + 1)));
  }
  return most;
}

static const struct {
  const char* file;
  error_of* error;
} examples[] = {{"algebraic_loop/algebraic_loop.yaml", of_pair},
                {"loops/two_loops.yaml", of_two_loops},
                {"loops/turns.yaml", of_turns},
                {"loops/as_rows.yaml", of_events}};

static void errors_follow_the_tolerance(void** state) {
  copy_example("algebraic_loop");
  copy_example("loops");
  for (size_t k = 0; k < sizeof examples / sizeof *examples; k++) {
    double before = INFINITY;
    for (double tol = 1e-5; tol > 1e-10; tol *= 1e-2) {
      cpl_table* t = rows_with(*state, examples[k].file, tol);
      double error = examples[k].error(t);
      bool fell = error < before / 5 || error < 1e-10;  // turns.yaml: nothing but rounding is left
      if (!(error <= 200 * tol) || !fell)
        fail_msg("%s: error %g at tolerance %g, %g before", examples[k].file, error, tol, before);
      before = error;
      cpl_table_destroy(t);
    }
  }
}

static void both_sides_of_events_are_consistent(void** state) {
  copy_example("loops");
  cpl_table* t = rows_with(*state, "loops/as_rows.yaml", 1e-9);
  const double *x = column(t, "sum.x"), *p = column(t, "p.y");
  double half = 3 * log(4.0 / 3), full = half + 3 * log(2);
  int turned = 0, fired = 0;
  for (size_t i = 1; i < t->n_rows; i++) {
    if (t->time[i] != t->time[i - 1]) continue;
    if (x[i] == 0) {
      CHECK_NEAR(t->time[i], ++fired * full, 1e-7);
      CHECK_NEAR(p[i - 1], 1.0 / 6, 1e-8);
      CHECK_NEAR(p[i], 2.0 / 3, 1e-12);
    } else {
      CHECK_NEAR(t->time[i], turned++ * full + half, 1e-7);
      CHECK_NEAR(p[i - 1], 1.0 / 2, 1e-8);
      CHECK_NEAR(p[i], 1.0 / 3, 1e-8);
    }
  }
  CHECK_INT(fired, 3);
  CHECK_INT(turned, 4);
  cpl_table_destroy(t);
}

//------------------------------------ branches ------------------------------------

static void branches_are_followed(void** state) {
  static const struct {
    const char* start;
    double turn;
  } branches[] = {{"1.7", 0}, {"0", -2}, {"-1.7", 2}};
  copy_example("loops");
  for (size_t k = 0; k < sizeof branches / sizeof *branches; k++) {
    must_do("run loops/branch.yaml %s --set c.u=%s --set g.u=%s -o out.csv", as_rows,
            branches[k].start, branches[k].start);
    cpl_table* t = read_table(*state, "out.csv");
    CHECK_INT(t->n_rows, 201);
    for (size_t i = 0; i < t->n_rows; i++) {
      double w = 1.99 * sin(t->time[i]);
      CHECK_NEAR(column(t, "g.y")[i], 2 * cos((acos(-w / 2) + branches[k].turn * pi) / 3), 1e-6);
    }
    cpl_table_destroy(t);
  }
}

static void a_solution_that_ends_ends_the_run(void** state) {
  copy_example("loops");
  CHECK_INT(couplet("run loops/fold.yaml %s -o out.csv", as_rows), 1);
  check_message("at t=1");
  cpl_table* t = read_table(*state, "out.csv");
  CHECK(t->n_rows >= 10 && t->time[t->n_rows - 1] <= 1 + 1e-9);
  cpl_table_destroy(t);
}

//------------------------------------ FMUs ------------------------------------

static void fmus_give_what_models_in_c_give(void** state) {
  copy_example("algebraic_loop");
  must_do("build algebraic_loop/a.c -o algebraic_loop/a.fmu");
  must_do("build algebraic_loop/b.c -o algebraic_loop/b.fmu");
  cpl_table* t = rows_with(*state, "algebraic_loop/fmus.yaml", 1e-8);
  CHECK(of_pair(t) < 2e-6);
  cpl_table_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_follow_the_tolerance),
      cmocka_unit_test(both_sides_of_events_are_consistent),
      cmocka_unit_test(branches_are_followed),
      cmocka_unit_test(a_solution_that_ends_ends_the_run),
      cmocka_unit_test(fmus_give_what_models_in_c_give),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
