// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The examples through the command line: the C model and the FMU made of it give the same bytes,
// and the numbers are those of the READMEs.
#include "running.h"

#define RTOL " --rtol 1e-8"

static void source_and_fmu_give_the_same_bytes(void** state) {
  (void)state;
  const char* examples[] = {"bouncing_ball", "van_der_pol", "sampler", "types"};
  for (size_t k = 0; k < 4; k++) {
    const char* e = examples[k];
    CHECK_INT(couplet("build %s/examples/%s/%s.c -o %s.fmu", getenv("COUPLET_SOURCE_DIR"), e, e, e),
              0);
    CHECK_INT(couplet("run %s/examples/%s/%s.c -o c.csv", getenv("COUPLET_SOURCE_DIR"), e, e), 0);
    CHECK_INT(couplet("run %s.fmu -o fmu.csv", e), 0);
    size_t a, b;
    char *c = read_all("c.csv", &a), *fmu = read_all("fmu.csv", &b);
    CHECK(a > 1000 && a == b && memcmp(c, fmu, a) == 0);
    free(c);
    free(fmu);
    CHECK_INT(couplet("check %s.fmu", e), 0);
  }
}

static void check_impacts(cpl_context* ctx, const char* file) {
  const double g = 9.81;
  cpl_table* t = read_table(ctx, file);
  const double* v = column(t, "v");
  double when = sqrt(2 / g), speed = sqrt(2 * g);
  int n = 0;
  for (size_t i = 1; i < t->n_rows && n < 10; i++) {
    if (!(t->time[i] == t->time[i - 1] && v[i - 1] < 0 && v[i] > 0)) continue;
    CHECK_NEAR(t->time[i], when, 1e-6);
    speed *= 0.8;
    when += 2 * speed / g;
    n++;
  }
  CHECK_INT(n, 10);
  cpl_table_destroy(t);
}

static void the_ball_bounces_at_the_exact_times(void** state) {
  cpl_context* ctx = *state;
  const char* source = getenv("COUPLET_SOURCE_DIR");
  CHECK_INT(couplet("build %s/examples/bouncing_ball/bouncing_ball.c -o bouncing_ball.fmu", source),
            0);
  CHECK_INT(
      couplet("run %s/examples/bouncing_ball/bouncing_ball.c --stop-time 3.6 -o ball.csv" RTOL,
              source),
      0);
  check_impacts(ctx, "ball.csv");
  CHECK_INT(couplet("run bouncing_ball.fmu --stop-time 3.6 -o ball.mat" RTOL), 0);
  check_impacts(ctx, "ball.mat");
}

static void past_the_accumulation_point_chattering_is_reported(void** state) {
  cpl_context* ctx = *state;
  const char* files[] = {test_path("examples/bouncing_ball/bouncing_ball.c"), "bouncing_ball.fmu"};
  for (size_t k = 0; k < 2; k++) {
    CHECK_INT(couplet("run %s --stop-time 5 -o ball.csv" RTOL, files[k]), 1);
    check_message("chattering: the events of indicator 1 accumulate at t=4.06");
    check_impacts(ctx, "ball.csv");  // results up to there are on disk
  }
}

static void co_simulation_agrees_with_model_exchange(void** state) {
  cpl_context* ctx = *state;
  const struct {
    const char *name, *column;
    double tolerance;
  } cases[] = {{"van_der_pol", "x", 1e-3}, {"sampler", "T", 1e-3}, {"types", "y[1]", 1e-5}};
  for (size_t k = 0; k < 3; k++) {
    CHECK_INT(couplet("build %s/examples/%s/%s.c -o e.fmu", getenv("COUPLET_SOURCE_DIR"),
                      cases[k].name, cases[k].name),
              0);
    CHECK_INT(couplet("run e.fmu --as me -o me.csv"), 0);
    CHECK_INT(couplet("run e.fmu --as cs -o cs.csv"), 0);
    cpl_table *me = read_table(ctx, "me.csv"), *cs = read_table(ctx, "cs.csv");
    double a = column(me, cases[k].column)[me->n_rows - 1],
           b = column(cs, cases[k].column)[cs->n_rows - 1];
    CHECK_NEAR(a, b, cases[k].tolerance);
    cpl_table_destroy(me);
    cpl_table_destroy(cs);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(source_and_fmu_give_the_same_bytes),
      cmocka_unit_test(the_ball_bounces_at_the_exact_times),
      cmocka_unit_test(past_the_accumulation_point_chattering_is_reported),
      cmocka_unit_test(co_simulation_agrees_with_model_exchange),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
