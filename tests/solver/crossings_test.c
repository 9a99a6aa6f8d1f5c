// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// State events that the ends of a step do not show, and how accurately events are located.
#include "models.h"

static const cpl_solver_kind all[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS, CPL_SOLVER_RADAU,
                                      CPL_SOLVER_DOPRI5, CPL_SOLVER_ERK8,  CPL_SOLVER_ESDIRK5,
                                      CPL_SOLVER_IDA,    CPL_SOLVER_RK4,   CPL_SOLVER_EULER};
enum { N_ALL = sizeof all / sizeof *all };

static bool is_fixed(cpl_solver_kind kind) {
  return kind == CPL_SOLVER_RK4 || kind == CPL_SOLVER_EULER;
}

//------------------------------------ two crossings in a step ------------------------------------

// x' = 1; inside is true while (x - 2.2)^2 < 0.3, and n' = 1 then. No solver needs short steps.
static int hump_derivatives(const cpl_values* v, double* dx) {
  dx[0] = 1;
  dx[1] = v->w[0];
  return CPL_MODEL_OK;
}
static int hump_indicators(const cpl_values* v, double* z) {
  z[0] = 0.3 - (v->x[0] - 2.2) * (v->x[0] - 2.2);
  return CPL_MODEL_OK;
}
static int hump_event(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  if (a->crossed[0] != 0) a->w[0] = a->crossed[0] > 0;
  return CPL_MODEL_OK;
}
static const cpl_declaration hump_states[] = {
    {"x", .output = true}, {"n", .output = true}, END_OF_LIST};
static const cpl_declaration hump_discrete[] = {{"inside", .type = CPL_BOOLEAN, .output = true},
                                                END_OF_LIST};
static const cpl_model_def hump_model = {.name = "hump",
                                         .states = hump_states,
                                         .discrete = hump_discrete,
                                         .n_indicators = 1,
                                         .derivatives = hump_derivatives,
                                         .indicators = hump_indicators,
                                         .event = hump_event,
                                         .stop_time = 9};

static void two_crossings_in_one_step_are_found(void** state) {
  cpl_context* ctx = *state;
  for (size_t k = 0; k < N_ALL; k++) {
    for (double rtol = 1e-3; rtol > 1e-10; rtol *= 1e-3) {
      recording* r = recording_make(ctx, &hump_model);
      r->solver.kind = all[k];
      r->solver.rtol = rtol;
      r->solver.step = is_fixed(all[k]) ? 3 : 0;
      r->run.interval = 9;
      const char* record[] = {"n"};
      r->run.record = record, r->run.n_record = 1;
      CHECK_OK(ctx, recording_run(r));
      CHECK_NEAR(last_of(r)[0], 2 * sqrt(0.3), 1e-7);
      CHECK_INT(r->stats.solver.state_events, 2);
      recording_free(r);
    }
  }
}

//------------------------------------ rows ------------------------------------

// A short pulse of time only, between which nothing moves.
static double pulse(double t) { return exp(-pow((t - 6.1) / 0.05, 2)) - 0.4; }
static int pulse_derivatives(const cpl_values* v, double* dx) {
  dx[0] = 0 * v->x[0];
  return CPL_MODEL_OK;
}
static int pulse_indicators(const cpl_values* v, double* z) {
  z[0] = pulse(v->t);
  return CPL_MODEL_OK;
}
static const cpl_declaration pulse_states[] = {{"x"}, END_OF_LIST};
static const cpl_model_def pulse_model = {.name = "pulse",
                                          .states = pulse_states,
                                          .discrete = hump_discrete,
                                          .n_indicators = 1,
                                          .derivatives = pulse_derivatives,
                                          .indicators = pulse_indicators,
                                          .event = hump_event,
                                          .stop_time = 10};

static void no_row_contradicts_an_indicator(void** state) {
  cpl_context* ctx = *state;
  double half = 0.05 * sqrt(log(1 / 0.4));
  for (size_t k = 0; k < N_ALL; k++) {
    recording* r = recording_make(ctx, &pulse_model);
    r->solver.kind = all[k];
    r->solver.step = is_fixed(all[k]) ? 0.7 : 0;
    r->run.interval = 0.04;
    const char* record[] = {"inside"};
    r->run.record = record, r->run.n_record = 1;
    CHECK_OK(ctx, recording_run(r));
    double from = 0, to = 0;
    for (size_t i = 0; i < r->n; i++) {
      bool event = (i > 0 && r->t[i] == r->t[i - 1]) || (i + 1 < r->n && r->t[i] == r->t[i + 1]);
      if (!event) CHECK_INT(r->value[i][0], pulse(r->t[i]) > 0);
      else if (r->value[i][0] != 0 && from == 0) from = r->t[i];
      else if (r->value[i][0] == 0 && from > 0) to = r->t[i];
    }
    CHECK_NEAR(from, 6.1 - half, 1e-9);
    CHECK_NEAR(to, 6.1 + half, 1e-9);
    recording_free(r);
  }
}

//------------------------------------ accuracy ------------------------------------

// An oscillator from x = 1 that a wall at x = -0.4 reflects without loss: impacts at 1, 3, 5, ...
// times acos(-0.4).
static int wall_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -v->x[0];
  return CPL_MODEL_OK;
}
static int wall_indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0] + 0.4;
  return CPL_MODEL_OK;
}
static int wall_event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] < 0) a->x[1] = fabs(v->x[1]);
  return CPL_MODEL_OK;
}
static const cpl_declaration wall_states[] = {{"x", .start = 1}, {"v"}, END_OF_LIST};
static const cpl_model_def wall_model = {.name = "wall",
                                         .states = wall_states,
                                         .n_indicators = 1,
                                         .derivatives = wall_derivatives,
                                         .indicators = wall_indicators,
                                         .event = wall_event,
                                         .stop_time = 20};

static double impact_error(cpl_context* ctx, cpl_solver_kind kind, double rtol) {
  recording* r = recording_make(ctx, &wall_model);
  const char* record[] = {"v"};
  double worst = 0;
  int n = 0;
  r->solver.kind = kind;
  r->solver.rtol = rtol;
  r->run.interval = 20;
  r->run.record = record, r->run.n_record = 1;
  CHECK_OK(ctx, recording_run(r));
  for (size_t i = 1; i < r->n; i++) {
    if (r->t[i] != r->t[i - 1] || r->value[i][0] * r->value[i - 1][0] > 0) continue;
    worst = fmax(worst, fabs(r->t[i] - (2 * n++ + 1) * acos(-0.4)));
  }
  CHECK_INT(n, 5);
  recording_free(r);
  return worst;
}

static void event_times_follow_the_tolerance(void** state) {
  cpl_context* ctx = *state;
  for (size_t k = 0; k < N_ALL; k++) {
    if (is_fixed(all[k])) continue;
    for (double rtol = 1e-5; rtol > 1e-12; rtol *= 1e-2) {
      double error = impact_error(ctx, all[k], rtol);
      if (error > 2000 * rtol) {
        fail_msg("%s, rtol %g: impacts are off by %g", cpl_solver_name(all[k]), rtol, error);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_crossings_in_one_step_are_found),
      cmocka_unit_test(no_row_contradicts_an_indicator),
      cmocka_unit_test(event_times_follow_the_tolerance),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
