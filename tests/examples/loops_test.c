// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// nonlinear_loop and loops: order, branches, and loops that become singular.
#include "running.h"

static const double pi = 3.14159265358979323846;

static cpl_table* result_of(cpl_context* ctx, const char* arguments) {
  int code = couplet("run %s -o out.csv", arguments);
  if (code != 0) check_message("\n\n");  // shows what it said
  return read_table(ctx, "out.csv");
}

//------------------------------------ two solutions ------------------------------------

static void check_point(cpl_context* ctx, const char* arguments, double a, double c) {
  cpl_table* t = result_of(ctx, arguments);
  CHECK_INT(t->n_rows, 3);
  for (size_t i = 0; i < t->n_rows; i++) {
    CHECK_NEAR(column(t, "line.a")[i], a, 1e-9);
    CHECK_NEAR(column(t, "line.b")[i], -1.8, 1e-12);
    CHECK_NEAR(column(t, "sphere.c")[i], c, 1e-9);
  }
  cpl_table_destroy(t);
}

static void start_values_choose_the_branch(void** state) {
  copy_example("nonlinear_loop");
  check_point(*state, "nonlinear_loop/nonlinear_loop.yaml", 1.164575131, 0.635424869);
  check_point(*state, "nonlinear_loop/other_branch.yaml", 0.635424869, 1.164575131);
  check_point(*state, "nonlinear_loop/nonlinear_loop.yaml --set line.c=1.2 --set sphere.a=0.6",
              0.635424869, 1.164575131);
}

static void start_values_choose_the_branch_of_fmus_too(void** state) {
  copy_example("nonlinear_loop");
  CHECK_INT(couplet("build nonlinear_loop/line.c -o nonlinear_loop/line.fmu"), 0);
  CHECK_INT(couplet("build nonlinear_loop/sphere.c -o nonlinear_loop/sphere.fmu"), 0);
  check_point(*state, "nonlinear_loop/fmus.yaml", 1.164575131, 0.635424869);
  check_point(*state, "nonlinear_loop/fmus.yaml --set line.c=1.2 --set sphere.a=0.6", 0.635424869,
              1.164575131);
}

static void a_start_without_solution_nearby_is_explained(void** state) {
  (void)state;
  copy_example("nonlinear_loop");
  CHECK_INT(couplet("run nonlinear_loop/nonlinear_loop.yaml --set line.c=0.1 -o out.csv"), 1);
  check_message(": at the start: the algebraic loop through line.c, ");
  check_message("cannot begin to iterate at its start values");
  check_message("no c has a^2 + b^2 + c^2 = 5: a = 1.7, b = -1.8");
}

//------------------------------------ order ------------------------------------

static void a_chain_is_never_late(void** state) {
  copy_example("loops");
  cpl_table* t = result_of(*state, "loops/chain.yaml");
  CHECK_INT(t->n_rows, 31);
  for (size_t i = 0; i < t->n_rows; i++) {
    double w = 1 + sin(t->time[i]);
    CHECK_NEAR(column(t, "first.y")[i], 2 * w, 1e-14);
    CHECK_NEAR(column(t, "second.y")[i], 6 * w - 2, 1e-14);
    CHECK_NEAR(column(t, "third.y")[i], -6 * w + 2, 1e-14);
    CHECK_NEAR(column(t, "last.y")[i], -30 * w + 11, 1e-13);
    CHECK_NEAR(column(t, "sum.x")[i], -19 * t->time[i] - 30 * (1 - cos(t->time[i])), 1e-4);
  }
  cpl_table_destroy(t);
}

static void two_loops_are_solved_each(void** state) {
  copy_example("loops");
  cpl_table* t = result_of(*state, "loops/two_loops.yaml");
  for (size_t i = 0; i < t->n_rows; i++) {
    double time = t->time[i];
    CHECK_NEAR(column(t, "p.y")[i], (2 - cos(time)) / 3, 1e-9);
    CHECK_NEAR(column(t, "s.y")[i], 2 * cos(acos(-0.9 * sin(time)) / 3), 1e-9);
  }
  cpl_table_destroy(t);
}

//------------------------------------ branches ------------------------------------

static void check_branch(cpl_context* ctx, const char* options, double turn) {
  char arguments[256];
  snprintf(arguments, sizeof arguments, "loops/branch.yaml%s", options);
  cpl_table* t = result_of(ctx, arguments);
  CHECK_INT(t->n_rows, 201);
  for (size_t i = 0; i < t->n_rows; i++) {
    double w = 1.99 * sin(t->time[i]);
    CHECK_NEAR(column(t, "g.y")[i], 2 * cos((acos(-w / 2) + turn) / 3), 1e-8);
  }
  cpl_table_destroy(t);
}

static void branches_are_followed(void** state) {
  copy_example("loops");
  check_branch(*state, "", 0);
  check_branch(*state, " --set c.u=0 --set g.u=0", -2 * pi);
  check_branch(*state, " --set c.u=-1.7 --set g.u=-1.7", 2 * pi);
}

static void turns_are_followed(void** state) {
  copy_example("loops");
  cpl_table* t = result_of(*state, "loops/turns.yaml");
  for (size_t i = 0; i < t->n_rows; i++) CHECK_NEAR(column(t, "g.y")[i], 3 * t->time[i], 1e-8);
  cpl_table_destroy(t);
}

//------------------------------------ singular ------------------------------------

static void check_end(cpl_context* ctx, const char* file, const char* loop, size_t rows) {
  CHECK_INT(couplet("run %s -o out.csv", file), 1);
  check_message(loop);
  check_message("is singular: its equations do not determine its values at t=");
  cpl_table* t = read_table(ctx, "out.csv");
  CHECK(t->n_rows >= rows);
  CHECK(t->time[t->n_rows - 1] <= 1 + 1e-9);
  cpl_table_destroy(t);
}

static void singular_loops_end_the_run_by_name(void** state) {
  copy_example("loops");
  check_end(*state, "loops/singular.yaml", "the algebraic loop through q.u, q.y, p.u, p.y ", 10);
  check_end(*state, "loops/fold.yaml", "the algebraic loop through g.u, g.y, c.u, c.y ", 10);
}

static void results_before_a_singular_loop_are_right(void** state) {
  copy_example("loops");
  CHECK_INT(couplet("run loops/singular.yaml -o out.csv"), 1);
  cpl_table* t = read_table(*state, "out.csv");
  for (size_t i = 0; i < 10; i++) {
    CHECK_NEAR(column(t, "q.y")[i], 1 / (1 - t->time[i]), 1e-8);
    CHECK_NEAR(column(t, "sum.x")[i], -log(1 - t->time[i]), 1e-5);
  }
  cpl_table_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(start_values_choose_the_branch),
      cmocka_unit_test(start_values_choose_the_branch_of_fmus_too),
      cmocka_unit_test(a_start_without_solution_nearby_is_explained),
      cmocka_unit_test(a_chain_is_never_late),
      cmocka_unit_test(two_loops_are_solved_each),
      cmocka_unit_test(branches_are_followed),
      cmocka_unit_test(turns_are_followed),
      cmocka_unit_test(singular_loops_end_the_run_by_name),
      cmocka_unit_test(results_before_a_singular_loop_are_right),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
