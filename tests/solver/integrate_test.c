// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "models.h"

static const double g = 9.81, e = 0.8;

static double impact_time(int n) {  // n counts from 0
  double t = sqrt(2 / g), v = sqrt(2 * g);
  for (int k = 0; k < n; k++) t += 2 * (v *= e) / g;
  return t;
}

//------------------------------------ accuracy ------------------------------------

static double decay_error(cpl_context* ctx, cpl_solver_kind kind, double step, double rtol) {
  recording* r = recording_make(ctx, &decay_model);
  r->solver.kind = kind;
  r->solver.step = step;
  r->solver.rtol = rtol;
  CHECK_OK(ctx, recording_run(r));
  double error = 0;
  for (size_t i = 0; i < r->n; i++) error = fmax(error, fabs(r->value[i][0] - exp(-r->t[i])));
  CHECK_INT(r->n, 501);
  recording_free(r);
  return error;
}

static void fixed_step_solvers_have_their_order(void** state) {
  cpl_context* ctx = *state;
  // output points inside the steps are interpolated: their error counts too
  double euler = decay_error(ctx, CPL_SOLVER_EULER, 0.01, 1e-6) /
                 decay_error(ctx, CPL_SOLVER_EULER, 0.005, 1e-6);
  double rk4 =
      decay_error(ctx, CPL_SOLVER_RK4, 0.05, 1e-6) / decay_error(ctx, CPL_SOLVER_RK4, 0.025, 1e-6);
  CHECK_NEAR(log2(euler), 1, 0.05);
  CHECK_NEAR(log2(rk4), 4, 0.1);
}

static void error_follows_the_tolerance(void** state) {
  cpl_context* ctx = *state;
  for (int k = 0; k < 2; k++) {
    cpl_solver_kind kind = k == 0 ? CPL_SOLVER_CVODE : CPL_SOLVER_ADAMS;
    double coarse = decay_error(ctx, kind, 0, 1e-5), fine = decay_error(ctx, kind, 0, 1e-9);
    CHECK(coarse < 20 * 1e-5);
    CHECK(fine < 20 * 1e-9);
    CHECK(fine < 1e-2 * coarse);
  }
}

// Van der Pol, mu = 1000, at t = 2 mu; the reference solution is that of the IVP test set (problem
// VDPOL).
static int vdp_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = 1000 * (1 - v->x[0] * v->x[0]) * v->x[1] - v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration vdp_states[] = {
    {"x", .start = 2}, {"v", .nominal = 1e-3}, END_OF_LIST};
static const cpl_model_def vdp_model = {
    .name = "vdp", .states = vdp_states, .derivatives = vdp_derivatives, .stop_time = 2000};

static void stiff_van_der_pol_meets_the_published_solution(void** state) {
  cpl_context* ctx = *state;
  recording* r = recording_make(ctx, &vdp_model);
  CHECK_OK(ctx, recording_run(r));
  CHECK_NEAR(last_of(r)[0], 1.706167732170483, 1e-6);
  CHECK_NEAR(last_of(r)[1], -0.8928097010247975e-3, 1e-9);
  CHECK(r->stats.solver.steps < 8000);
  recording_free(r);
}

//------------------------------------ state events ------------------------------------

// Times where v changes its sign upwards between two rows of the same time.
static size_t impacts(const recording* r, double* out, size_t most) {
  size_t n = 0;
  for (size_t i = 1; i < r->n && n < most; i++) {
    if (r->t[i] == r->t[i - 1] && r->value[i - 1][1] < 0 && r->value[i][1] > 0) out[n++] = r->t[i];
  }
  return n;
}

static void check_impacts(cpl_context* ctx, cpl_solver_kind kind, double step, double scale,
                          double tolerance) {
  char text[32];
  snprintf(text, sizeof text, "%g", scale);
  cpl_start start = {"scale", text};
  recording* r = recording_make(ctx, &ball_model);
  r->run.stop_time = 3.6;
  r->run.starts = &start;
  r->run.n_starts = 1;
  r->solver.kind = kind;
  r->solver.step = step;
  CHECK_OK(ctx, recording_run(r));
  double t[20];
  CHECK_INT(impacts(r, t, 20), 10);
  for (int k = 0; k < 10; k++) CHECK_NEAR(t[k], impact_time(k), tolerance);
  recording_free(r);
}

static void impacts_are_at_their_times(void** state) {
  check_impacts(*state, CPL_SOLVER_CVODE, 0, 1, 1e-6);
  check_impacts(*state, CPL_SOLVER_ADAMS, 0, 1, 1e-6);
  check_impacts(*state, CPL_SOLVER_RK4, 0.01, 1, 1e-10);  // exact for parabolas but for rounding
  check_impacts(*state, CPL_SOLVER_EULER, 1e-5, 1, 1e-3);
}

// The product of two indicator values would underflow in CVODE's root finder.
static void tiny_and_huge_indicators_are_seen(void** state) {
  check_impacts(*state, CPL_SOLVER_CVODE, 0, 1e-200, 1e-6);
  check_impacts(*state, CPL_SOLVER_CVODE, 0, 1e200, 1e-6);
}

static void accumulating_events_are_reported(void** state) {
  cpl_context* ctx = *state;
  cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE, CPL_SOLVER_ADAMS, CPL_SOLVER_RK4};
  for (size_t k = 0; k < 3; k++) {
    recording* r = recording_make(ctx, &ball_model);
    r->run.stop_time = 5;
    r->solver.kind = kinds[k];
    r->solver.step = kinds[k] == CPL_SOLVER_RK4 ? 1e-3 : 0;
    CHECK_INT(recording_run(r), CPL_ERR_SOLVER);
    CHECK_CONTAINS(cpl_context_error(ctx),
                   "chattering: the events of indicator 1 accumulate at t=4.06");
    CHECK(r->n > 400);  // what was before is recorded
    CHECK(r->t[r->n - 1] > 4 && r->t[r->n - 1] < 4.0638);
    recording_free(r);
  }
}

// x' = -1 while switched on, +1 while off, the switch follows the sign of x: a sliding mode.
static int relay_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->w[0] != 0 ? -1 : 1;
  return CPL_MODEL_OK;
}
static int relay_indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0];
  return CPL_MODEL_OK;
}
static int relay_event(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = v->x[0] > 0;
  return CPL_MODEL_OK;
}
static const cpl_declaration relay_states[] = {{"x", .start = 0.5}, END_OF_LIST};
static const cpl_declaration relay_discrete[] = {{"on", .start = 1, .type = CPL_BOOLEAN},
                                                 END_OF_LIST};
static const cpl_model_def relay_model = {.name = "relay",
                                          .states = relay_states,
                                          .discrete = relay_discrete,
                                          .n_indicators = 1,
                                          .derivatives = relay_derivatives,
                                          .indicators = relay_indicators,
                                          .event = relay_event,
                                          .stop_time = 2};

static void sliding_is_reported(void** state) {
  cpl_context* ctx = *state;
  recording* r = recording_make(ctx, &relay_model);
  CHECK_INT(recording_run(r), CPL_ERR_SOLVER);
  CHECK_CONTAINS(cpl_context_error(ctx), "chattering");
  CHECK_NEAR(r->t[r->n - 1], 0.5, 1e-6);
  recording_free(r);
}

//------------------------------------ time and step events ------------------------------------

// Counts at 0.1, 0.2, ...; its times are no sums, so they are hit exactly.
static int clock_initialize(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  a->next_time = 0.1;
  return CPL_MODEL_OK;
}
static int clock_event(const cpl_values* v, cpl_event_actions* a) {
  if (!a->time_event) return CPL_MODEL_OK;
  a->w[0] = v->w[0] + 1;
  a->next_time = (a->w[0] + 1) / 10;
  a->terminate = a->w[0] == v->p[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration clock_discrete[] = {{"count", .type = CPL_INTEGER, .output = true},
                                                 END_OF_LIST};
static const cpl_declaration clock_parameters[] = {{"end", .start = -1}, END_OF_LIST};
static const cpl_model_def clock_model = {.name = "clock",
                                          .discrete = clock_discrete,
                                          .parameters = clock_parameters,
                                          .initialize = clock_initialize,
                                          .event = clock_event,
                                          .stop_time = 1};

static void time_events_are_hit_exactly(void** state) {
  cpl_context* ctx = *state;
  recording* r = recording_make(ctx, &clock_model);
  r->run.interval = 0.03;
  CHECK_OK(ctx, recording_run(r));
  CHECK_INT(r->stats.solver.time_events, 10);
  int seen = 0;
  for (size_t i = 1; i < r->n; i++) {
    if (r->value[i][0] == r->value[i - 1][0]) continue;
    seen++;
    CHECK(r->t[i] == seen / 10.0 && r->t[i - 1] == r->t[i]);  // both sides, at the very time
    CHECK_INT(r->value[i][0], seen);
  }
  CHECK_INT(seen, 10);
  recording_free(r);
}

static void a_model_ends_the_run(void** state) {
  cpl_context* ctx = *state;
  cpl_start start = {"end", "4"};
  recording* r = recording_make(ctx, &clock_model);
  r->run.starts = &start;
  r->run.n_starts = 1;
  CHECK_INT(recording_run(r), CPL_TERMINATE);
  CHECK(r->stats.terminated && r->stats.reached == 0.4 && r->t[r->n - 1] == 0.4);
  CHECK_INT(last_of(r)[0], 4);
  recording_free(r);
}

// Asks for an event after the first step past t = 0.5.
static int step_watch(const cpl_values* v, bool* event) {
  *event = v->t > 0.5 && v->w[0] == 0;
  return CPL_MODEL_OK;
}
static int step_event(const cpl_values* v, cpl_event_actions* a) {
  if (v->t > 0.5) a->w[0] = 1, a->x[0] = 5;
  return CPL_MODEL_OK;
}
static const cpl_declaration step_discrete[] = {{.name = "done"}, END_OF_LIST};
static const cpl_model_def step_model = {.name = "steps",
                                         .states = decay_states,
                                         .discrete = step_discrete,
                                         .derivatives = decay_derivatives,
                                         .event = step_event,
                                         .completed_step = step_watch,
                                         .stop_time = 1};

static void step_events_change_states(void** state) {
  cpl_context* ctx = *state;
  recording* r = recording_make(ctx, &step_model);
  CHECK_OK(ctx, recording_run(r));
  CHECK_INT(r->stats.solver.step_events, 1);
  size_t i = 1;
  while (i < r->n && !(r->t[i] == r->t[i - 1])) i++;
  CHECK(i < r->n && r->t[i] > 0.5);
  CHECK_NEAR(r->value[i - 1][0], exp(-r->t[i]), 1e-6);
  CHECK_NEAR(r->value[i][0], 5, 0);
  CHECK_NEAR(last_of(r)[0], 5 * exp(-(1 - r->t[i])), 1e-6);
  recording_free(r);
}

static int restless_event(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  a->again = true;
  return CPL_MODEL_OK;
}
static void an_event_that_does_not_settle_is_reported(void** state) {
  cpl_context* ctx = *state;
  cpl_model_def def = decay_model;
  def.event = restless_event;
  recording* r = recording_make(ctx, &def);
  CHECK_INT(recording_run(r), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "does not settle");
  recording_free(r);
}

//------------------------------------ trouble ------------------------------------

static int square_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[0] * v->x[0];
  return CPL_MODEL_OK;
}
static void a_singularity_is_reported(void** state) {  // x = 1/(1-t)
  cpl_context* ctx = *state;
  cpl_model_def def = decay_model;
  def.derivatives = square_derivatives;
  def.stop_time = 2;
  recording* r = recording_make(ctx, &def);
  CHECK(recording_run(r) < 0);
  CHECK_CONTAINS(cpl_context_error(ctx), "m: ");
  CHECK_NEAR(r->t[r->n - 1], 1, 0.01);
  CHECK_NEAR(r->value[100][0], 1 / (1 - r->t[100]), 1e-5);
  recording_free(r);
}

static int nan_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->t < 0.5 ? -1 : NAN;
  return CPL_MODEL_OK;
}
static void a_derivative_that_is_nan_is_named(void** state) {
  cpl_context* ctx = *state;
  cpl_model_def def = decay_model;
  def.derivatives = nan_derivatives;
  recording* r = recording_make(ctx, &def);
  cpl_status st = recording_run(r);
  CHECK_CONTAINS(cpl_context_error(ctx), "der(x) is ");
  CHECK_INT(st, CPL_ERR_MODEL);
  CHECK_NEAR(r->t[r->n - 1], 0.5, 0.01);
  recording_free(r);
}

static int nan_indicators(const cpl_values* v, double* z) {
  z[0] = v->t < 0.5 ? 1 : NAN;
  return CPL_MODEL_OK;
}
static void an_indicator_that_is_nan_is_an_error(void** state) {
  cpl_context* ctx = *state;
  cpl_model_def def = decay_model;
  def.indicators = nan_indicators;
  def.n_indicators = 1;
  recording* r = recording_make(ctx, &def);
  CHECK_INT(recording_run(r), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "event indicator 1 is NaN");
  recording_free(r);
}

// x' = -sqrt(x), which may not be evaluated for negative trial values: x = (1 - t/2)^2
static int root_derivatives(const cpl_values* v, double* dx) {
  if (v->x[0] < 0) return cpl_model_error(v, "square root of %g", v->x[0]), CPL_MODEL_RETRY;
  dx[0] = -sqrt(v->x[0]);
  return CPL_MODEL_OK;
}
static void a_model_may_ask_for_a_shorter_step(void** state) {
  cpl_context* ctx = *state;
  cpl_model_def def = decay_model;
  def.derivatives = root_derivatives;
  def.stop_time = 1.99;
  recording* r = recording_make(ctx, &def);
  CHECK_OK(ctx, recording_run(r));
  CHECK_NEAR(last_of(r)[0], pow(1 - 1.99 / 2, 2), 1e-6);
  recording_free(r);
  def.stop_time = 3;
  r = recording_make(ctx, &def);
  cpl_status st = recording_run(r);  // beyond t = 2 there is no real solution but x = 0
  CHECK(st >= 0 || strstr(cpl_context_error(ctx), "square root of") != NULL ||
        st == CPL_ERR_SOLVER);
  recording_free(r);
}

static int failing_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0];
  return v->t < 0.3 ? CPL_MODEL_OK : cpl_model_error(v, "valve %d is stuck", 7);
}
static void a_failing_model_says_why_and_when(void** state) {
  cpl_context* ctx = *state;
  cpl_model_def def = decay_model;
  def.derivatives = failing_derivatives;
  recording* r = recording_make(ctx, &def);
  CHECK_INT(recording_run(r), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "m: derivatives at t=0.3");
  CHECK_CONTAINS(cpl_context_error(ctx), "valve 7 is stuck");
  CHECK(r->n > 10);
  recording_free(r);
}

//------------------------------------ rollback ------------------------------------

static cpl_stepper* started_ball(cpl_context* ctx, cpl_source** source) {
  cpl_model* m;
  cpl_stepper* s;
  cpl_solver_def def = cpl_default_solver_def();
  def.restart_each_step = true;
  CHECK_OK(ctx, cpl_c_define(ctx, &ball_model, source));
  CHECK_OK(ctx, (*source)->ops->make_model(*source, "ball", &m));
  CHECK_OK(ctx, cpl_integrate(m, &def, &s));
  CHECK(s->base.can.save_restore);
  CHECK_OK(ctx, s->base.ops->setup(&s->base, &(cpl_setup){0}));
  CHECK_OK(ctx, s->base.ops->enter_init(&s->base));
  CHECK_OK(ctx, s->base.ops->exit_init(&s->base));
  return s;
}

static void advance_to(cpl_context* ctx, cpl_stepper* s, double from, double to) {
  cpl_step_result result = {.time = from};
  while (result.time < to) {
    CHECK_OK(ctx, s->ops->step(s, to, to, &result));
    if (result.end == CPL_STEP_EVENT)
      CHECK_OK(ctx, s->ops->step(s, result.time, result.time, &result));
  }
}

static void rolling_back_changes_no_bit(void** state) {
  cpl_context* ctx = *state;
  cpl_source *one, *two;
  cpl_stepper *plain = started_ball(ctx, &one), *rolled = started_ball(ctx, &two);
  const int32_t h = cpl_find_variable(one->desc, "h"), v = cpl_find_variable(one->desc, "v");
  uint32_t refs[] = {one->desc->vars[h].ref, one->desc->vars[v].ref};
  cpl_snapshot snapshot = {0};
  double t = 0;
  for (int k = 0; k < 30; k++, t += 0.1) {
    advance_to(ctx, plain, t, t + 0.1);
    CHECK_OK(ctx, rolled->base.ops->save(&rolled->base, &snapshot));
    advance_to(ctx, rolled, t, t + 0.17);  // past an impact, at times
    CHECK_OK(ctx, rolled->base.ops->restore(&rolled->base, &snapshot));
    advance_to(ctx, rolled, t, t + 0.1);
    double a[2], b[2];
    CHECK_OK(ctx, plain->base.ops->get_real(&plain->base, refs, 2, a));
    CHECK_OK(ctx, rolled->base.ops->get_real(&rolled->base, refs, 2, b));
    CHECK(memcmp(a, b, sizeof a) == 0);
  }
  rolled->base.ops->forget(&rolled->base, &snapshot);
  plain->base.ops->destroy(&plain->base);
  rolled->base.ops->destroy(&rolled->base);
  one->ops->destroy(one);
  two->ops->destroy(two);
}

//------------------------------------ memory ------------------------------------

static long calls_at[MAX_POINTS];
static size_t n_calls;
static cpl_status count_calls(void* user, double t, const cpl_value* values) {
  (void)t, (void)values;
  calls_at[n_calls++] = ((test_heap*)user)->calls;
  return CPL_OK;
}

static cpl_status run_ball_with_heap(test_heap* heap, cpl_point_fn* on_point) {
  cpl_context* ctx = test_context_with_heap(heap);
  if (ctx == NULL) return CPL_ERR_NOMEM;
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  cpl_stepper* s = NULL;
  cpl_run_def run = cpl_default_run_def();
  cpl_solver_def solver = cpl_default_solver_def();
  run.stop_time = 3;
  run.on_point = on_point;
  run.user = heap;
  cpl_status st = cpl_c_define(ctx, &ball_model, &source);
  if (st >= 0) st = source->ops->make_model(source, "ball", &m);
  if (st >= 0) st = cpl_integrate(m, &solver, &s);
  if (st >= 0) st = cpl_run(s, &run, NULL);
  if (s != NULL) s->base.ops->destroy(&s->base);
  if (source != NULL) source->ops->destroy(source);
  cpl_context_destroy(ctx);
  return st;
}

static void the_stepping_loop_allocates_nothing(void** state) {
  (void)state;
  test_heap heap = {.fail_at = -1};
  n_calls = 0;
  CHECK_INT(run_ball_with_heap(&heap, count_calls), CPL_OK);
  CHECK(n_calls > 500);
  for (size_t i = 1; i < n_calls; i++) CHECK_INT(calls_at[i], calls_at[0]);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_status st = run_ball_with_heap(&heap, NULL);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fixed_step_solvers_have_their_order),
      cmocka_unit_test(error_follows_the_tolerance),
      cmocka_unit_test(stiff_van_der_pol_meets_the_published_solution),
      cmocka_unit_test(impacts_are_at_their_times),
      cmocka_unit_test(tiny_and_huge_indicators_are_seen),
      cmocka_unit_test(accumulating_events_are_reported),
      cmocka_unit_test(sliding_is_reported),
      cmocka_unit_test(time_events_are_hit_exactly),
      cmocka_unit_test(a_model_ends_the_run),
      cmocka_unit_test(step_events_change_states),
      cmocka_unit_test(an_event_that_does_not_settle_is_reported),
      cmocka_unit_test(a_singularity_is_reported),
      cmocka_unit_test(a_derivative_that_is_nan_is_named),
      cmocka_unit_test(an_indicator_that_is_nan_is_an_error),
      cmocka_unit_test(a_model_may_ask_for_a_shorter_step),
      cmocka_unit_test(a_failing_model_says_why_and_when),
      cmocka_unit_test(rolling_back_changes_no_bit),
      cmocka_unit_test(the_stepping_loop_allocates_nothing),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
