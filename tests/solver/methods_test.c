// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The methods of --solver: order, stiff test problems with published solutions, events.
#include "base/base.h"
#include "models.h"

//------------------------------------ order ------------------------------------

// x1' = -x2, x2' = x1 on the unit circle, with a nonlinear speed: x' = (1 + r^2)/2 * (-x2, x1).
static int circle_derivatives(const cpl_values* v, double* dx) {
  double speed = 0.5 * (1 + v->x[0] * v->x[0] + v->x[1] * v->x[1]);
  dx[0] = -speed * v->x[1];
  dx[1] = speed * v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration circle_states[] = {{"x", .start = 1}, {"y"}, END_OF_LIST};
static const cpl_model_def circle_model = {
    .name = "circle", .states = circle_states, .derivatives = circle_derivatives, .stop_time = 4};

// The same at constant speed: Newton's iteration is exact for it, so that only the method's own
// error is seen.
static int turn_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[1];
  dx[1] = v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_model_def turn_model = {
    .name = "turn", .states = circle_states, .derivatives = turn_derivatives, .stop_time = 4};

// Error at the end with steps of a given length: loose tolerances let the longest step rule.
static double turn_error(cpl_context* ctx, cpl_solver_kind kind, double step) {
  recording* r = recording_make(ctx, &turn_model);
  r->solver.kind = kind;
  r->solver.rtol = 1e-6;
  r->solver.atol = 1;
  r->solver.step = step;
  r->run.interval = 4;
  CHECK_OK(ctx, recording_run(r));
  double error = hypot(last_of(r)[0] - cos(4), last_of(r)[1] - sin(4));
  recording_free(r);
  return error;
}

static void methods_have_their_order(void** state) {
  cpl_context* ctx = *state;
  static const struct {
    cpl_solver_kind kind;
    double step, order;
  } cases[] = {
      {CPL_SOLVER_RADAU, 0.25, 5}, {CPL_SOLVER_DOPRI5, 0.125, 5}, {CPL_SOLVER_ERK8, 0.5, 8}};
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    double coarse = turn_error(ctx, cases[i].kind, cases[i].step);
    double fine = turn_error(ctx, cases[i].kind, cases[i].step / 2);
    double order = log2(coarse / fine);
    CHECK(order > cases[i].order - 0.4 && order < cases[i].order + 0.9);
  }
}

static double worst_error(cpl_context* ctx, cpl_solver_kind kind, double rtol) {
  recording* r = recording_make(ctx, &circle_model);
  r->solver.kind = kind;
  r->solver.rtol = rtol;
  CHECK_OK(ctx, recording_run(r));
  double error = 0;
  for (size_t i = 0; i < r->n; i++)
    error = fmax(error, hypot(r->value[i][0] - cos(r->t[i]), r->value[i][1] - sin(r->t[i])));
  recording_free(r);
  return error;
}

static const cpl_solver_kind adaptive[] = {CPL_SOLVER_RADAU, CPL_SOLVER_DOPRI5, CPL_SOLVER_ERK8,
                                           CPL_SOLVER_ESDIRK5, CPL_SOLVER_IDA};

// Output points lie inside the steps: dense output is part of it.
static void error_follows_the_tolerance(void** state) {
  for (size_t i = 0; i < CPLI_COUNT(adaptive); i++) {
    double coarse = worst_error(*state, adaptive[i], 1e-5);
    double fine = worst_error(*state, adaptive[i], 1e-9);
    double most = adaptive[i] == CPL_SOLVER_IDA ? 1000 : 100;
    CHECK(coarse < most * 1e-5);
    CHECK(fine < most * 1e-9);
    CHECK(fine < 2e-2 * coarse || fine < 1e-13);
  }
}

//------------------------------------ stiff problems ------------------------------------

// Solutions as published in the IVP test set (Robertson: also in the examples of SUNDIALS).
static int robertson(const cpl_values* v, double* d) {
  const double* x = v->x;
  d[0] = -0.04 * x[0] + 1e4 * x[1] * x[2];
  d[2] = 3e7 * x[1] * x[1];
  d[1] = -d[0] - d[2];
  return CPL_MODEL_OK;
}
static const cpl_declaration robertson_states[] = {
    {"y1", .start = 1}, {"y2", .nominal = 1e-6}, {"y3"}, END_OF_LIST};
static const double robertson_end[] = {0.2083340149701255e-7, 0.8333360770334713e-13,
                                       0.9999999791665050};

static int van_der_pol(const cpl_values* v, double* d) {
  d[0] = v->x[1];
  d[1] = ((1 - v->x[0] * v->x[0]) * v->x[1] - v->x[0]) / 1e-6;
  return CPL_MODEL_OK;
}
static const cpl_declaration vdp_states[] = {{"y1", .start = 2}, {"y2"}, END_OF_LIST};
static const double vdp_end[] = {0.1706167732170469e1, -0.8928097010248125e0};

static int hires(const cpl_values* v, double* d) {
  const double* y = v->x;
  double c = 280 * y[5] * y[7];
  d[0] = -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007;
  d[1] = 1.71 * y[0] - 8.75 * y[1];
  d[2] = -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4];
  d[3] = 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3];
  d[4] = -1.745 * y[4] + 0.43 * (y[5] + y[6]);
  d[5] = -c + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6];
  d[6] = c - 1.81 * y[6];
  d[7] = -d[6];
  return CPL_MODEL_OK;
}
static const cpl_declaration hires_states[] = {{"y", .start = 0, .size = 8}, END_OF_LIST};
static int hires_start(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  a->x[0] = 1;
  a->x[7] = 0.0057;
  return CPL_MODEL_OK;
}
static const double hires_end[] = {
    0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
    0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2};

static int oregonator(const cpl_values* v, double* d) {
  const double* y = v->x;
  d[0] = 77.27 * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1]));
  d[1] = (y[2] - (1 + y[0]) * y[1]) / 77.27;
  d[2] = 0.161 * (y[0] - y[2]);
  return CPL_MODEL_OK;
}
static const cpl_declaration oregonator_states[] = {
    {"y1", .start = 1}, {"y2", .start = 2}, {"y3", .start = 3}, END_OF_LIST};
static const double oregonator_end[] = {0.1000814870318523e1, 0.1228178521549917e4,
                                        0.1320554942846706e3};

static const struct {
  cpl_model_def model;
  const double* end;
  size_t n;
} stiff[] = {
    {{.name = "robertson", .states = robertson_states, .derivatives = robertson, .stop_time = 1e11},
     robertson_end,
     3},
    {{.name = "vdp", .states = vdp_states, .derivatives = van_der_pol, .stop_time = 2}, vdp_end, 2},
    {{.name = "hires",
      .states = hires_states,
      .derivatives = hires,
      .initialize = hires_start,
      .stop_time = 321.8122},
     hires_end,
     8},
    {{.name = "oregonator",
      .states = oregonator_states,
      .derivatives = oregonator,
      .stop_time = 360},
     oregonator_end,
     3},
};

// In units of the tolerance, component by component, as the test set measures.
static double stiff_error(cpl_context* ctx, size_t problem, cpl_solver_kind kind, double rtol) {
  recording* r = recording_make(ctx, &stiff[problem].model);
  r->solver.kind = kind;
  r->solver.rtol = rtol;
  r->solver.atol = rtol * (problem == 0 ? 1e-8 : 1e-2);
  r->run.interval = stiff[problem].model.stop_time;
  CHECK_OK(ctx, recording_run(r));
  double worst = 0;
  for (size_t i = 0; i < stiff[problem].n; i++) {
    double exact = stiff[problem].end[i];
    worst = fmax(worst, fabs(last_of(r)[i] - exact) / (rtol * fabs(exact) + r->solver.atol));
  }
  recording_free(r);
  return worst;
}

static void radau_meets_published_solutions(void** state) {
  for (size_t i = 0; i < CPLI_COUNT(stiff); i++) {
    for (double rtol = 1e-4; rtol > 1e-9; rtol *= 0.01) {
      double error = stiff_error(*state, i, CPL_SOLVER_RADAU, rtol);
      if (!(error < 100)) fprintf(stderr, "%s rtol %g: %g\n", stiff[i].model.name, rtol, error);
      CHECK(error < 100);
    }
  }
}

static void others_meet_published_solutions(void** state) {
  static const struct {
    cpl_solver_kind kind;
    double most;
  } implicit[] = {{CPL_SOLVER_ESDIRK5, 100}, {CPL_SOLVER_IDA, 1000}};
  for (size_t k = 0; k < CPLI_COUNT(implicit); k++) {
    for (size_t i = 0; i < CPLI_COUNT(stiff); i++) {
      double error = stiff_error(*state, i, implicit[k].kind, 1e-5);
      if (!(error < implicit[k].most)) fprintf(stderr, "%s: %g\n", stiff[i].model.name, error);
      CHECK(error < implicit[k].most);
    }
  }
}

//------------------------------------ events ------------------------------------

static void impacts_are_at_their_times(void** state) {
  cpl_context* ctx = *state;
  for (size_t k = 0; k < CPLI_COUNT(adaptive); k++) {
    recording* r = recording_make(ctx, &ball_model);
    r->run.stop_time = 3.6;
    r->solver.kind = adaptive[k];
    r->solver.rtol = 1e-8;
    CHECK_OK(ctx, recording_run(r));
    double t = sqrt(2 / 9.81), v = sqrt(2 * 9.81), worst = 0;
    int n = 0;
    for (size_t i = 1; i < r->n; i++) {
      if (r->t[i] != r->t[i - 1] || r->value[i - 1][1] >= 0) continue;
      worst = fmax(worst, fabs(r->t[i] - t));
      t += 2 * (v *= 0.8) / 9.81;
      n++;
    }
    CHECK_INT(n, 10);
    CHECK(worst < 1e-6);
    if (adaptive[k] == CPL_SOLVER_RADAU) CHECK(worst < 1e-9);  // exact for parabolas
    recording_free(r);
  }
}

// A short visit of the other side within one step shows at the stages.
static int bump_indicators(const cpl_values* v, double* z) {
  z[0] = fabs(v->x[0] - 5.2) - 0.15;
  return CPL_MODEL_OK;
}
static int bump_derivatives(const cpl_values* v, double* dx) {
  (void)v;
  dx[0] = 1;
  return CPL_MODEL_OK;
}
static const cpl_declaration bump_states[] = {{.name = "x"}, END_OF_LIST};
static const cpl_model_def bump_model = {.name = "bump",
                                         .states = bump_states,
                                         .derivatives = bump_derivatives,
                                         .indicators = bump_indicators,
                                         .n_indicators = 1,
                                         .stop_time = 8};

static void short_visits_are_seen(void** state) {
  cpl_context* ctx = *state;
  recording* r = recording_make(ctx, &bump_model);
  r->solver.kind = CPL_SOLVER_RADAU;
  r->solver.step = 0.5;  // so that one of its stages, at 0.16, 0.64 and 1 of it, lies in the visit
  CHECK_OK(ctx, recording_run(r));
  CHECK_INT(r->stats.solver.state_events, 2);
  recording_free(r);
}

static int log_derivatives(const cpl_values* v, double* dx) {
  if (v->x[0] <= 0) {
    cpl_model_error(v, "x is %g", v->x[0]);
    return CPL_MODEL_RETRY;
  }
  dx[0] = -1 / sqrt(v->x[0]);
  return CPL_MODEL_OK;
}
static const cpl_declaration log_states[] = {{"x", .start = 1}, END_OF_LIST};
static const cpl_model_def log_model = {
    .name = "log", .states = log_states, .derivatives = log_derivatives, .stop_time = 2};

// x = (1 - 1.5 t)^(2/3) ends at t = 2/3: the run says so and ends.
static void singularities_end_the_run(void** state) {
  cpl_context* ctx = *state;
  for (size_t k = 0; k < CPLI_COUNT(adaptive); k++) {
    recording* r = recording_make(ctx, &log_model);
    r->solver.kind = adaptive[k];
    CHECK(recording_run(r) < 0);
    CHECK_CONTAINS(cpl_context_error(ctx), "t=0.66");
    CHECK_NEAR(r->t[r->n - 1], 2.0 / 3, 0.01);
    recording_free(r);
  }
}

static void names_are_known(void** state) {
  (void)state;
  cpl_solver_kind kind;
  for (int k = CPL_SOLVER_CVODE; k <= CPL_SOLVER_IDA; k++) {
    CHECK(cpl_solver_by_name(cpl_solver_name((cpl_solver_kind)k), &kind));
    CHECK_INT(kind, k);
    CHECK_CONTAINS(cpl_solver_names(), cpl_solver_name((cpl_solver_kind)k));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(methods_have_their_order),
      cmocka_unit_test(error_follows_the_tolerance),
      cmocka_unit_test(radau_meets_published_solutions),
      cmocka_unit_test(others_meet_published_solutions),
      cmocka_unit_test(impacts_are_at_their_times),
      cmocka_unit_test(short_visits_are_seen),
      cmocka_unit_test(singularities_end_the_run),
      cmocka_unit_test(names_are_known),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
