// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Adams at a jump of the derivatives that no event announces: its polynomial of high order would
// take a step across it with an error of thousands of tolerances.
#include "testing.h"

// x' = rate (r(t) - x), where r jumps from a line to a constant at `when`
static const double rate = 0.31, when = 7.1234567, line = 40, slope = -3.3, level = 95;
static const cpl_declaration states[] = {{"x", .start = 20, .output = true}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  double r = v->t < when ? line + slope * v->t : level;
  dx[0] = rate * (r - v->x[0]);
  return CPL_MODEL_OK;
}

static const cpl_model_def lag = {.name = "lag", .states = states, .derivatives = derivatives};

static double on_the_line(double t) { return line + slope * (t - 1 / rate); }

static double exact(double t) {
  double x = on_the_line(when) + (20 - on_the_line(0)) * exp(-rate * when);
  return level + (x - level) * exp(-rate * (t - when));
}

// s = sin(t)
static const cpl_declaration wave_states[] = {{"s", .output = true}, {"c", .start = 1}, {0}};

static int wave_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1], dx[1] = -v->x[0];
  return CPL_MODEL_OK;
}

static const cpl_model_def wave = {
    .name = "wave", .states = wave_states, .derivatives = wave_derivatives};

static cpl_status keep_last(void* user, double t, const cpl_value* values) {
  (void)t;
  *(double*)user = values[0].real;
  return CPL_OK;
}

static double run(cpl_context* ctx, const cpl_model_def* def, double rtol, double stop,
                  double* restarts) {
  cpl_source* source = NULL;
  cpl_model* model = NULL;
  cpl_stepper* stepper = NULL;
  double last = 0;
  const char* record[] = {def->states[0].name};
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = CPL_SOLVER_ADAMS;
  solver.rtol = rtol, solver.atol = rtol;
  cpl_run_def how = cpl_default_run_def();
  how.stop_time = how.interval = stop;
  how.record = record, how.n_record = 1;
  how.on_point = keep_last, how.user = &last;
  CHECK_OK(ctx, cpl_c_define(ctx, def, &source));
  CHECK_OK(ctx, source->ops->make_model(source, def->name, &model));
  CHECK_OK(ctx, cpl_integrate(model, &solver, &stepper));
  CHECK_OK(ctx, cpl_run(stepper, &how, NULL));
  *restarts = cpl_component_counter(&stepper->base, "restarts");
  stepper->base.ops->destroy(&stepper->base);
  source->ops->destroy(source);
  return last;
}

static void a_jump_is_within_the_tolerance(void** state) {
  double restarts;
  for (double rtol = 1e-4; rtol > 1e-11; rtol *= 0.3)
    CHECK_NEAR(run(*state, &lag, rtol, 8, &restarts), exact(8), 20 * rtol * exact(8));
}

static void a_smooth_solution_keeps_its_history(void** state) {
  double restarts;
  for (double rtol = 1e-4; rtol > 1e-11; rtol *= 0.3) {
    CHECK_NEAR(run(*state, &wave, rtol, 30, &restarts), sin(30), 1000 * rtol);
    CHECK_NEAR(restarts, 1, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_jump_is_within_the_tolerance),
      cmocka_unit_test(a_smooth_solution_keeps_its_history),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
