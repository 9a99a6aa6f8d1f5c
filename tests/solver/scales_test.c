// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs that begin at a large time, that take a nanosecond or many years, and whose states are tiny
// or large: sizes change nothing. References are analytic.
#include "models.h"

static cpl_context* ctx;

static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS, CPL_SOLVER_RADAU,
                                        CPL_SOLVER_DOPRI5, CPL_SOLVER_ERK8,  CPL_SOLVER_ESDIRK5,
                                        CPL_SOLVER_IDA,    CPL_SOLVER_RK4,   CPL_SOLVER_EULER};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool is_fixed(cpl_solver_kind kind) {
  return kind == CPL_SOLVER_RK4 || kind == CPL_SOLVER_EULER;
}

//------------------------------------ large times ------------------------------------

// x' = -x + y, y' = -3 x y: nothing depends on time.
static int mixture_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0] + v->x[1];
  dx[1] = -3 * v->x[0] * v->x[1];
  return CPL_MODEL_OK;
}
static const cpl_declaration mixture_states[] = {
    {"x", .start = 1}, {"y", .start = 0.5}, END_OF_LIST};
static const cpl_model_def mixture = {
    .name = "mixture", .states = mixture_states, .derivatives = mixture_derivatives};

static recording* run_from(double start, double length, double interval, cpl_solver_kind kind,
                           cpl_status* st) {
  recording* r = recording_make(ctx, &mixture);
  r->run.start_time = start;
  r->run.stop_time = start + length;
  r->run.interval = interval;
  r->solver.kind = kind;
  r->solver.rtol = 1e-7;
  if (is_fixed(kind)) r->solver.step = 0.01;
  *st = recording_run(r);
  return r;
}

static void a_run_from_a_large_time_is_the_run_from_zero(void** state) {
  (void)state;
  static const double starts[] = {-3e5, 1.7e9, 2e12, 6e13};
  for (int i = 0; i < KINDS; i++) {
    cpl_status st;
    recording* zero = run_from(0, 3, 3, kinds[i], &st);
    CHECK_OK(ctx, st);
    for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
      recording* late = run_from(starts[k], 3, 3, kinds[i], &st);
      CHECK_OK(ctx, st);
      CHECK_NEAR(late->t[late->n - 1], starts[k] + 3, 0);
      CHECK_NEAR(last_of(late)[0], last_of(zero)[0], 0);  // the same bits
      CHECK_NEAR(last_of(late)[1], last_of(zero)[1], 0);
      recording_free(late);
    }
    recording_free(zero);
  }
}

// Output points that lie inside steps are rounded to times that exist, and no more.
static void output_points_are_as_good_as_time(void** state) {
  (void)state;
  cpl_status st;
  for (int i = 0; i < KINDS; i++) {
    recording* zero = run_from(0, 4, 0.5, kinds[i], &st);
    recording* late = run_from(1e12, 4, 0.5, kinds[i], &st);
    CHECK_OK(ctx, st);
    CHECK_INT(late->n, zero->n);
    for (size_t k = 0; k < late->n; k++) CHECK_NEAR(late->value[k][0], zero->value[k][0], 1.3e-4);
    recording_free(zero);
    recording_free(late);
  }
}

static void times_that_cannot_be_told_apart_are_refused(void** state) {
  (void)state;
  cpl_status st;
  recording* r = run_from(1e14, 3, 0.5, CPL_SOLVER_CVODE, &st);
  CHECK_INT(st, CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "output points every 0.5 s");
  CHECK_CONTAINS(cpl_context_error(ctx), "0.0156 s apart");
  recording_free(r);
}

//------------------------------------ sizes ------------------------------------

// Growth with a limit: x' = r x (1 - x / K), and an event at K / 2 that counts. Sizes are
// parameters.
static int growth_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[1] * v->x[0] * (1 - v->x[0] / v->p[0]);
  return CPL_MODEL_OK;
}
static int growth_indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0] - 0.5 * v->p[0];
  return CPL_MODEL_OK;
}
static int growth_event(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = v->w[0] + 1;
  return CPL_MODEL_OK;
}
static const cpl_declaration growth_discrete[] = {{"events"}, END_OF_LIST};

typedef struct sized {
  cpl_declaration states[2], parameters[3];
  cpl_model_def def;
} sized;

static void make_sized(sized* s, double size, double time) {
  *s = (sized){.states = {{"x", .start = 0.1 * size, .nominal = size}},
               .parameters = {{"K", .start = size}, {"r", .start = 1 / time}}};
  s->def = (cpl_model_def){.name = "growth",
                           .states = s->states,
                           .parameters = s->parameters,
                           .discrete = growth_discrete,
                           .derivatives = growth_derivatives,
                           .n_indicators = 1,
                           .indicators = growth_indicators,
                           .event = growth_event,
                           .stop_time = 4 * time};
}

// Sizes from a billionth to a billion, times from a nanosecond to thirty years, from two starts.
static void check_size(double size, double time, double start) {
  sized s;
  make_sized(&s, size, time);
  for (int i = 0; i < KINDS; i++) {
    recording* r = recording_make(ctx, &s.def);
    r->run.start_time = start;
    r->run.stop_time = start + 4 * time;
    r->run.interval = 4 * time;
    r->solver.kind = kinds[i];
    r->solver.rtol = 1e-7;
    if (is_fixed(kinds[i])) r->solver.step = time / 500;
    CHECK_OK(ctx, recording_run(r));
    double right = size / (1 + 9 * exp(-4)), most = kinds[i] == CPL_SOLVER_EULER ? 2e-3 : 2e-5;
    if (fabs(last_of(r)[0] - right) > most * size)
      fail_msg("%s, size %g, time %g, start %g: %.9g, expected %.9g", cpl_solver_name(kinds[i]),
               size, time, start, last_of(r)[0] / size, right / size);
    CHECK_INT(r->stats.solver.state_events, 1);
    CHECK(r->stats.solver.steps < 3000);
    recording_free(r);
  }
}

static void sizes_and_times_change_nothing(void** state) {
  (void)state;
  static const double sizes[] = {1e-9, 1, 1e9};
  static const double times[] = {1e-9, 1, 1e9};
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < 3; k++) check_size(sizes[i], times[k], 0);
    check_size(sizes[i], 10, 1.7e9);
  }
}

// Ticks of a second of a clock that began long ago are no chattering.
static int ticks_indicators(const cpl_values* v, double* z) {
  z[0] = sin(6.283185307179586 * (v->x[0] - 0.125));
  return CPL_MODEL_OK;
}
static int ticks_derivatives(const cpl_values* v, double* dx) {
  (void)v;
  dx[0] = 1;
  return CPL_MODEL_OK;
}
static const cpl_declaration ticks_states[] = {{"x"}, END_OF_LIST};
static const cpl_model_def ticks = {.name = "ticks",
                                    .states = ticks_states,
                                    .derivatives = ticks_derivatives,
                                    .indicators = ticks_indicators,
                                    .n_indicators = 1};

static void events_late_in_time_are_no_chattering(void** state) {
  (void)state;
  recording* r = recording_make(ctx, &ticks);
  r->run.start_time = 5e9;
  r->run.stop_time = 5e9 + 40;
  r->run.interval = 40;
  r->solver.step = 0.1;
  CHECK_OK(ctx, recording_run(r));
  CHECK_INT(r->stats.solver.state_events, 80);
  recording_free(r);
}

// Output points that steps of the longest length meet but for rounding, with an indicator that is
// looked at inside of them and never changes.
static int quiet_indicators(const cpl_values* v, double* z) {
  z[0] = 1.1 + sin(0.002 * v->x[0]);
  return CPL_MODEL_OK;
}
static const cpl_model_def quiet = {.name = "quiet",
                                    .states = ticks_states,
                                    .derivatives = ticks_derivatives,
                                    .indicators = quiet_indicators,
                                    .n_indicators = 1};

static void longest_steps_divide_intervals_at_large_times(void** state) {
  (void)state;
  for (int i = 0; i < KINDS; i++) {
    for (int points = 5; points < 25; points++) {
      recording* r = recording_make(ctx, &quiet);
      r->run.start_time = 611833;
      r->run.stop_time = 611833 + 2900;
      r->run.interval = 2900.0 / points;
      r->solver.kind = kinds[i];
      r->solver.step = r->run.interval / (2 + points % 3);
      CHECK_OK(ctx, recording_run(r));
      CHECK_NEAR(last_of(r)[0], 2900, 2e-5);
      recording_free(r);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_from_a_large_time_is_the_run_from_zero),
      cmocka_unit_test(output_points_are_as_good_as_time),
      cmocka_unit_test(times_that_cannot_be_told_apart_are_refused),
      cmocka_unit_test(sizes_and_times_change_nothing),
      cmocka_unit_test(events_late_in_time_are_no_chattering),
      cmocka_unit_test(longest_steps_divide_intervals_at_large_times),
  };
  ctx = test_context();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
