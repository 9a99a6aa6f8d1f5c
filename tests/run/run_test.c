// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "models.h"

static cpl_context* ctx;

//------------------------------------ inputs ------------------------------------

// u rises from 0 to 1, jumps to 5, stays, jumps to -1.
static const double table_time[] = {0, 0.5, 0.5, 0.8, 0.8, 1};
static const double table_values[] = {0, 1, 5, 5, -1, -1};
static const char* const table_names[] = {"u"};
static const cpl_table table = {
    .n_rows = 6, .n_columns = 1, .names = table_names, .time = table_time, .values = table_values};

static double table_integral(double t) {
  if (t <= 0.5) return t * t;
  if (t <= 0.8) return 0.25 + 5 * (t - 0.5);
  return 0.25 + 1.5 - (t - 0.8);
}

static void tables_are_followed_exactly_across_jumps(void** state) {
  (void)state;
  cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE, CPL_SOLVER_ADAMS, CPL_SOLVER_RK4};
  for (size_t k = 0; k < 3; k++) {
    cpl_input input = {.name = "u", .table = &table};
    recording* r = recording_make(ctx, &gain_model);
    r->run.inputs = &input;
    r->run.n_inputs = 1;
    r->run.interval = 0.07;
    r->solver.kind = kinds[k];
    r->solver.step = kinds[k] == CPL_SOLVER_RK4 ? 0.013 : 0;
    CHECK_OK(ctx, recording_run(r));
    int jumps = 0;
    for (size_t i = 0; i < r->n; i++) {
      CHECK_NEAR(r->value[i][0], table_integral(r->t[i]), 1e-7);
      bool left = i + 1 < r->n && r->t[i + 1] == r->t[i];
      jumps += left;
      if (left) CHECK_NEAR(r->value[i][1], r->value[i][0] + 2 * (r->t[i] == 0.5 ? 1 : 5), 1e-12);
    }
    CHECK_INT(jumps, 2);  // both sides of both
    recording_free(r);
  }
}

static double sine(const void* user, double t) { return *(const double*)user * sin(t); }

static void callbacks_are_evaluated_in_every_right_hand_side(void** state) {
  (void)state;
  double amplitude = 3;
  cpl_input input = {.name = "u", .value = sine, .user = &amplitude};
  recording* r = recording_make(ctx, &gain_model);
  r->run.inputs = &input;
  r->run.n_inputs = 1;
  CHECK_OK(ctx, recording_run(r));
  for (size_t i = 0; i < r->n; i++) CHECK_NEAR(r->value[i][0], 3 * (1 - cos(r->t[i])), 1e-6);
  recording_free(r);
}

static void inputs_that_fit_nothing_are_refused(void** state) {
  (void)state;
  struct {
    const char *name, *message;
  } cases[] = {{"w", "w"}, {"y", "y is neither an input nor a tunable parameter"}};
  for (size_t k = 0; k < 2; k++) {
    cpl_input input = {.name = cases[k].name, .table = &table};
    recording* r = recording_make(ctx, &gain_model);
    r->run.inputs = &input;
    r->run.n_inputs = 1;
    CHECK_INT(recording_run(r), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), cases[k].message);
    recording_free(r);
  }
}

//------------------------------------ start values ------------------------------------

static cpl_status run_ball_with(const char* name, const char* value, double* g) {
  cpl_start start = {name, value};
  const char* record[] = {"g"};
  recording* r = recording_make(ctx, &ball_model);
  r->run.starts = &start;
  r->run.n_starts = 1;
  r->run.record = record;
  r->run.n_record = 1;
  r->run.stop_time = 0.1;
  cpl_status st = recording_run(r);
  if (st >= 0) *g = last_of(r)[0];
  recording_free(r);
  return st;
}

static void start_values_are_checked(void** state) {
  (void)state;
  double g = 0;
  CHECK_OK(ctx, run_ball_with("g", "1.62", &g));
  CHECK_NEAR(g, 1.62, 0);
  CHECK_INT(run_ball_with("gg", "1", &g), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "g");
  CHECK_INT(run_ball_with("g", "fast", &g), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "not a number");
  CHECK_INT(run_ball_with("e", "1.5", &g), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "its maximum is 1");
  CHECK_INT(run_ball_with("der(h)", "1", &g), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "the model computes it");
  CHECK_INT(run_ball_with("h", "1 furlong", &g), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "furlong");
  CHECK_INT(run_ball_with("g", "nan", &g), CPL_ERR_INPUT);
  CHECK_INT(run_ball_with("g", "9.81 m/s2", &g), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "it has no unit");
}

static double height_after(const char* value) {
  cpl_start start = {"h", value};
  recording* r = recording_make(ctx, &ball_model);
  r->run.starts = &start;
  r->run.n_starts = 1;
  r->run.stop_time = 0;
  CHECK_OK(ctx, recording_run(r));
  double h = last_of(r)[0];
  recording_free(r);
  return h;
}

static void units_of_start_values_are_converted(void** state) {
  (void)state;
  CHECK_NEAR(height_after("2"), 2, 0);
  CHECK_NEAR(height_after("2 m"), 2, 0);
  CHECK_NEAR(height_after("250 cm"), 2.5, 1e-15);
  CHECK_NEAR(height_after("0.003km"), 3, 1e-15);
}

//------------------------------------ points ------------------------------------

static void output_points_are_computed_not_summed(void** state) {
  (void)state;
  recording* r = recording_make(ctx, &decay_model);
  r->run.stop_time = 10;
  r->run.interval = 0.1;
  CHECK_OK(ctx, recording_run(r));
  CHECK_INT(r->n, 101);
  for (size_t i = 0; i < r->n; i++) CHECK(r->t[i] == (i == 100 ? 10.0 : (double)i * 0.1));
  recording_free(r);
}

static void runs_that_make_no_sense_are_refused(void** state) {
  (void)state;
  double bad[][3] = {{1, 0, 0}, {0, INFINITY, 0}, {0, 1, -1}, {0, 1, 1e-15}};
  for (size_t k = 0; k < 4; k++) {
    recording* r = recording_make(ctx, &decay_model);
    r->run.start_time = bad[k][0];
    r->run.stop_time = bad[k][1];
    r->run.interval = bad[k][2];
    CHECK_INT(recording_run(r), CPL_ERR_INPUT);
    CHECK_INT(r->n, 0);
    recording_free(r);
  }
  recording* r = recording_make(ctx, &decay_model);
  r->solver.rtol = 0;
  CHECK_INT(recording_run(r), CPL_ERR_INPUT);
  recording_free(r);
}

static void a_run_of_no_length_records_the_start(void** state) {
  (void)state;
  recording* r = recording_make(ctx, &decay_model);
  r->run.stop_time = 0;
  CHECK_OK(ctx, recording_run(r));
  CHECK_INT(r->n, 1);
  recording_free(r);
}

static void long_times_and_short_runs_are_fine(void** state) {
  (void)state;
  recording* r = recording_make(ctx, &decay_model);  // no absolute tolerance on times anywhere
  r->run.start_time = 0;
  r->run.stop_time = 1e-9;
  CHECK_OK(ctx, recording_run(r));
  CHECK_INT(r->n, 501);
  CHECK(r->t[r->n - 1] == 1e-9);
  recording_free(r);
  r = recording_make(ctx, &decay_model);
  r->run.start_time = 1e9;
  r->run.stop_time = 1e9 + 1;
  CHECK_OK(ctx, recording_run(r));
  CHECK_NEAR(last_of(r)[0], exp(-1), 1e-6);
  recording_free(r);
}

// A model that asks for the end of the run once it has come to t = 0.4.
static cpl_context* cancelled;
static int asking(const cpl_values* v, double* dx) {
  if (v->t > 0.4) cpl_context_cancel(cancelled);
  dx[0] = -v->x[0];
  return CPL_MODEL_OK;
}

static void a_run_can_be_cancelled(void** state) {
  (void)state;
  static const cpl_declaration states[] = {{"x", .start = 1}, END_OF_LIST};
  static const cpl_dependency known[] = {{"der(x)", "x", NULL}, {0}};
  static const cpl_model_def asking_model = {.name = "asking",
                                             .states = states,
                                             .derivatives = asking,
                                             .dependencies = known,
                                             .stop_time = 1};
  cpl_context* own = cancelled = test_context();
  recording* r = recording_make(own, &asking_model);
  r->run.interval = r->solver.step = 0.01;
  CHECK_INT(recording_run(r), CPL_ERR_CANCELLED);
  CHECK(strncmp(cpl_context_error(own), "m: interrupted at t=0.", 22) == 0);
  CHECK(r->n > 10 && r->n < 90);
  CHECK(r->t[r->n - 1] < 0.9);
  recording_free(r);
  cpl_context_destroy(own);
}

//------------------------------------ choice of variables ------------------------------------

static void exact_names_win_over_patterns(void** state) {
  (void)state;
  static const cpl_declaration states[] = {
      {"a*", .start = 1}, {"ab", .start = 2}, {"x", .start = 3, .size = 2}, END_OF_LIST};
  cpl_model_def def = {
      .name = "m", .states = states, .derivatives = decay_derivatives, .stop_time = 0};
  struct {
    const char* pattern;
    int n;
    double first;
  } cases[] = {{"a*", 1, 1}, {"a?", 2, 1}, {"x[1]", 1, 3}, {"x*", 2, 3}, {"*", 8, 1}};
  for (size_t k = 0; k < 5; k++) {
    recording* r = recording_make(ctx, &def);
    r->run.record = &cases[k].pattern;
    r->run.n_record = 1;
    CHECK_OK(ctx, recording_run(r));
    CHECK_INT(r->n_columns, cases[k].n);
    CHECK_NEAR(r->value[0][0], cases[k].first, 0);
    recording_free(r);
  }
  const char* nothing = "y*";
  recording* r = recording_make(ctx, &def);
  r->run.record = &nothing;
  r->run.n_record = 1;
  CHECK_INT(recording_run(r), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "no variable matches \"y*\"");
  recording_free(r);
}

static void the_same_run_gives_the_same_bits(void** state) {
  (void)state;
  recording *a = recording_make(ctx, &ball_model), *b = recording_make(ctx, &ball_model);
  CHECK_OK(ctx, recording_run(a));
  CHECK_OK(ctx, recording_run(b));
  CHECK_INT(a->n, b->n);
  CHECK(memcmp(a->t, b->t, a->n * sizeof a->t[0]) == 0);
  CHECK(memcmp(a->value, b->value, a->n * sizeof a->value[0]) == 0);
  recording_free(a);
  recording_free(b);
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_are_followed_exactly_across_jumps),
      cmocka_unit_test(callbacks_are_evaluated_in_every_right_hand_side),
      cmocka_unit_test(inputs_that_fit_nothing_are_refused),
      cmocka_unit_test(start_values_are_checked),
      cmocka_unit_test(units_of_start_values_are_converted),
      cmocka_unit_test(output_points_are_computed_not_summed),
      cmocka_unit_test(runs_that_make_no_sense_are_refused),
      cmocka_unit_test(a_run_of_no_length_records_the_start),
      cmocka_unit_test(long_times_and_short_runs_are_fine),
      cmocka_unit_test(a_run_can_be_cancelled),
      cmocka_unit_test(exact_names_win_over_patterns),
      cmocka_unit_test(the_same_run_gives_the_same_bits),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
