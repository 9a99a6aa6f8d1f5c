// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The examples of co-simulation against what their READMEs derive.
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

static void run(const char* path) { must_do("run %s -q -o out.csv", path); }

//------------------------------------ two masses ------------------------------------

static void take_masses(void) {
  copy_example("two_mass_cosimulation");
  CHECK_INT(couplet("build two_mass_cosimulation/left.c -q -o two_mass_cosimulation/left.fmu"), 0);
  CHECK_INT(couplet("build two_mass_cosimulation/right.c -q -o two_mass_cosimulation/right.fmu"),
            0);
}

// The largest error of left.x at the points of the output.
static double error_of(cpl_context* ctx, const char* path) {
  run(path);
  cpl_table* t = read_table(ctx, "out.csv");
  const double* x = column(t, "left.x");
  double worst = 0;
  CHECK(t->n_rows == 21 && t->time[20] == 2);
  for (size_t i = 0; i < t->n_rows; i++)
    worst = fmax(worst, fabs(x[i] - 0.5 * cos(t->time[i]) - 0.5 * cos(3 * t->time[i])));
  cpl_table_destroy(t);
  return worst;
}

static double masses(cpl_context* ctx, bool fmus, const char* master, double h) {
  const char *kind = fmus ? "fmu" : "c", *folder = "two_mass_cosimulation";
  write_system("masses.yaml",
               "couplet: 1\nmodels:\n  left: {%s: %s/left.%s, as: cs}\n"
               "  right: {%s: %s/right.%s, as: cs}\n"
               "connections: {left.F: right.F, right.s: left.x}\n"
               "master: {algorithm: %s, step: %.17g}\nrecord: [left.x]\n"
               "experiment: {stop: 2, interval: 0.1, rtol: 1e-10}\n",
               kind, folder, kind, kind, folder, kind, master, h);
  return error_of(ctx, "masses.yaml");
}

static void masses_converge_as_the_table_says(void** state) {
  static const struct {
    const char* master;
    double order[2];  // of steppers, of FMUs
  } rows[] = {
      {"jacobi, order: 0", {1, 1}},       {"determinate, order: 0", {1, 1}},
      {"gauss-seidel, order: 0", {1, 1}}, {"jacobi, order: 1", {2, 2}},
      {"determinate, order: 1", {2, 2}},  {"determinate, order: 2", {3, 3}},
      {"iterative, order: 1", {2, 2}},
  };
  take_masses();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (int fmus = 0; fmus < 2; fmus++) {
      double coarse = masses(*state, fmus, rows[i].master, 0.02);
      double fine = masses(*state, fmus, rows[i].master, 0.01);
      print_message("  %-24s %s: error %.1e, order %.2f\n", rows[i].master,
                    fmus ? "FMUs" : "steppers", fine, log2(coarse / fine));
      CHECK_NEAR(log2(coarse / fine), rows[i].order[fmus], 0.2);
    }
  }
}

static void iteration_and_aggregation_are_a_hundred_times_better(void** state) {
  take_masses();
  double aggregate = error_of(*state, "two_mass_cosimulation/aggregate.yaml");
  for (int fmus = 0; fmus < 2; fmus++) {
    double jacobi = masses(*state, fmus, "jacobi, order: 0", 1e-3);
    double iterative = masses(*state, fmus, "iterative, order: 1", 1e-3);
    print_message("  jacobi %.1e, iterative %.1e, aggregate %.1e\n", jacobi, iterative, aggregate);
    CHECK(iterative < jacobi / 100);
    CHECK(aggregate < jacobi / 100);
    CHECK(jacobi < 5e-3);
  }
}

static void the_files_of_the_masses_run(void** state) {
  take_masses();
  CHECK(error_of(*state, "two_mass_cosimulation/steppers.yaml") < 1e-4);
  CHECK(error_of(*state, "two_mass_cosimulation/fmus.yaml") < 1e-4);
}

//------------------------------------ loops ------------------------------------

static void check_constant(cpl_context* ctx, const char* name, double expected) {
  cpl_table* t = read_table(ctx, "out.csv");
  const double* y = column(t, name);
  CHECK(t->n_rows >= 11);
  for (size_t i = 0; i < t->n_rows; i++) CHECK_NEAR(y[i], expected, 1e-8);
  cpl_table_destroy(t);
}

static void loops_of_fmus_are_solved(void** state) {
  copy_example("cs_loop");
  CHECK_INT(couplet("build cs_loop/gain.c -q -o cs_loop/gain.fmu"), 0);
  static const char* const kinds[] = {"fmus.yaml", "steppers.yaml"};
  for (int i = 0; i < 2; i++) {
    char path[64];
    snprintf(path, sizeof path, "cs_loop/%s", kinds[i]);
    run(path);
    check_constant(*state, "half.y", 2);
    check_constant(*state, "steep.y", 0.25);
    CHECK_INT(couplet("graph %s", path), 0);
    size_t n;
    char* text = read_all("out.txt", &n);
    CHECK_CONTAINS(text, i == 0 ? "Loops, iterated in every step" : "half");
    free(text);
  }
  // the other choices: refused, or delayed with a word about it
  CHECK_INT(system("sed 's/step: 0.1/step: 0.1, on-loop: error/' cs_loop/fmus.yaml "
                   "> cs_loop/error.yaml"),
            0);
  CHECK_INT(couplet("run cs_loop/error.yaml -q -o out.csv"), 2);
  check_message("algebraic loop over");
  CHECK_INT(system("sed 's/step: 0.1/step: 0.1, on-loop: delay/' cs_loop/fmus.yaml "
                   "> cs_loop/delay.yaml"),
            0);
  CHECK_INT(couplet("run cs_loop/delay.yaml -o out.csv"), 0);
  check_message("lags one communication step (0.1 s) behind");
}

//------------------------------------ the ball and its counters
//------------------------------------

static void no_bounce_is_lost(void** state) {
  static const char* const balls[] = {"c: ball_and_counter/ball.c",
                                      "fmu: ball_and_counter/ball.fmu",
                                      "fmu: ball_and_counter/ball3.fmu"};
  static const char* const counters[] = {
      "c: ball_and_counter/counter.c, as: cs", "c: ball_and_counter/counter.c",
      "fmu: ball_and_counter/counter.fmu, as: cs", "fmu: ball_and_counter/counter3.fmu, as: cs"};
  copy_example("ball_and_counter");
  CHECK_INT(couplet("build ball_and_counter/ball.c -q -o ball_and_counter/ball.fmu"), 0);
  CHECK_INT(couplet("build ball_and_counter/counter.c -q -o ball_and_counter/counter.fmu"), 0);
  CHECK_INT(couplet("build ball_and_counter/ball.c --fmi 3 -q -o ball_and_counter/ball3.fmu"), 0);
  CHECK_INT(couplet("build ball_and_counter/counter.c --fmi 3 -q -o ball_and_counter/counter3.fmu"),
            0);
  for (int b = 0; b < 3; b++) {
    for (int c = 0; c < 4; c++) {
      static const double steps[] = {3, 0.7, 0.1, 0.013};
      for (int h = 0; h < 4; h++) {
        write_system("ball.yaml",
                     "couplet: 1\nmodels:\n  ball: {%s, as: cs}\n  counter: {%s}\n"
                     "connections: {counter.side: ball.side}\nmaster: {step: %g}\n"
                     "experiment: {stop: 3, rtol: 1e-8}\n",
                     balls[b], counters[c], steps[h]);
        run("ball.yaml");
        cpl_table* t = read_table(*state, "out.csv");
        const double *seen = column(t, "counter.count"), *made = column(t, "ball.bounces");
        CHECK_INT((int)made[t->n_rows - 1], 6);
        CHECK_INT((int)seen[t->n_rows - 1], 6);
        cpl_table_destroy(t);
      }
    }
  }
}

// Sign changes of the velocity, which jumps at the bounce: seen by who can have events without a
// step, from who shows both sides.
static void both_sides_of_a_bounce_are_seen(void** state) {
  copy_example("ball_and_counter");
  CHECK_INT(couplet("build ball_and_counter/ball.c --fmi 3 -q -o ball_and_counter/ball3.fmu"), 0);
  CHECK_INT(couplet("build ball_and_counter/turns.c --fmi 3 -q -o ball_and_counter/turns3.fmu"), 0);
  static const char* const how[][2] = {
      {"c: ball_and_counter/ball.c", "c: ball_and_counter/turns.c, as: cs"},
      {"c: ball_and_counter/ball.c", "c: ball_and_counter/turns.c"},
      {"fmu: ball_and_counter/ball3.fmu", "fmu: ball_and_counter/turns3.fmu, as: cs"}};
  for (int c = 0; c < 3; c++) {
    static const double steps[] = {3, 0.7, 0.1, 0.013};
    for (int h = 0; h < 4; h++) {
      write_system("ball.yaml",
                   "couplet: 1\nmodels:\n  ball: {%s, as: cs}\n  watch: {%s}\n"
                   "connections: {watch.v: ball.v}\nmaster: {step: %g}\n"
                   "experiment: {stop: 3, rtol: 1e-8}\n",
                   how[c][0], how[c][1], steps[h]);
      run("ball.yaml");
      cpl_table* t = read_table(*state, "out.csv");
      CHECK_INT((int)column(t, "watch.turns")[t->n_rows - 1], 6);
      cpl_table_destroy(t);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(masses_converge_as_the_table_says),
      cmocka_unit_test(iteration_and_aggregation_are_a_hundred_times_better),
      cmocka_unit_test(the_files_of_the_masses_run),
      cmocka_unit_test(loops_of_fmus_are_solved),
      cmocka_unit_test(no_bounce_is_lost),
      cmocka_unit_test(both_sides_of_a_bounce_are_seen),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
