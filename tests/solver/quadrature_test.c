// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Derivatives that depend on time only: every solver with an estimate of its error has one here,
// too, and a shorter longest step makes nothing worse. References are analytic.
#include "models.h"

static cpl_context* ctx;

static const cpl_solver_kind adaptive[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS, CPL_SOLVER_RADAU,
                                           CPL_SOLVER_DOPRI5, CPL_SOLVER_ERK8,  CPL_SOLVER_ESDIRK5,
                                           CPL_SOLVER_IDA};

static const cpl_declaration states[] = {{"x"}, END_OF_LIST};

static double end_of(const cpl_model_def* def, cpl_solver_kind kind, double rtol, double step) {
  recording* r = recording_make(ctx, def);
  r->solver.kind = kind;
  r->solver.rtol = rtol;
  r->solver.step = step;
  r->run.interval = def->stop_time;
  CHECK_OK(ctx, recording_run(r));
  double end = last_of(r)[0];
  recording_free(r);
  return end;
}

static void check(cpl_solver_kind kind, double rtol, double step, double value, double right) {
  if (fabs(value - right) <= 100 * rtol * (1 + fabs(right))) return;
  fail_msg("%s, rtol %g, longest step %g: %.12g, expected %.12g", cpl_solver_name(kind), rtol, step,
           value, right);
}

// x' = cos(9 t) exp(-t)
static int wave_derivatives(const cpl_values* v, double* dx) {
  dx[0] = cos(9 * v->t) * exp(-v->t);
  return CPL_MODEL_OK;
}
static const cpl_model_def wave = {
    .name = "wave", .states = states, .derivatives = wave_derivatives, .stop_time = 4};

// A pulse of a fiftieth of the time: x' = 1 / (w^2 + (t - 0.63)^2)
static const double width = 0.02;
static int pulse_derivatives(const cpl_values* v, double* dx) {
  dx[0] = 1 / (width * width + (v->t - 0.63) * (v->t - 0.63));
  return CPL_MODEL_OK;
}
static const cpl_model_def pulse = {
    .name = "pulse", .states = states, .derivatives = pulse_derivatives, .stop_time = 1};

static void time_alone_is_integrated_to_the_tolerance(void** state) {
  (void)state;
  double end = exp(-4) * (9 * sin(36) - cos(36)) / 82 + 1.0 / 82;
  double area = (atan(0.37 / width) + atan(0.63 / width)) / width;
  for (size_t i = 0; i < sizeof adaptive / sizeof *adaptive; i++) {
    for (double rtol = 1e-4; rtol > 0.9e-9; rtol /= 10) {
      check(adaptive[i], rtol, 0, end_of(&wave, adaptive[i], rtol, 0), end);
      check(adaptive[i], rtol, 0, end_of(&pulse, adaptive[i], rtol, 0), area);
    }
  }
}

// Nothing happens for a while, then x' is a ramp: at the longest step all the time.
static int ramp_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->t < 0.4 ? 2 : 2 + 5 * (v->t - 0.4);
  return CPL_MODEL_OK;
}
static const cpl_model_def ramp = {
    .name = "ramp", .states = states, .derivatives = ramp_derivatives, .stop_time = 1.5};

static void a_shorter_longest_step_makes_nothing_worse(void** state) {
  (void)state;
  static const double steps[] = {0, 0.1, 0.02, 0.005, 0.0011, 0.0006, 0.0002, 0.00007};
  double end = 3 + 2.5 * 1.1 * 1.1;
  for (size_t i = 0; i < sizeof adaptive / sizeof *adaptive; i++) {
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
      check(adaptive[i], 1e-6, steps[k], end_of(&ramp, adaptive[i], 1e-6, steps[k]), end);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(time_alone_is_integrated_to_the_tolerance),
      cmocka_unit_test(a_shorter_longest_step_makes_nothing_worse),
  };
  ctx = test_context();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
