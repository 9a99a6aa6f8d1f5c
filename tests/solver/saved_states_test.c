// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// States saved by steppers that do not restart at every step (saves_states): after a restore, which
// may be in the middle of a step of the solver, the solution is the exact one, events included.
#include <math.h>

#include "couplet/couplet.h"
#include "testing.h"

// x' = w y, y' = -w x: a circle; `turns` counts where y becomes positive
static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] * v->x[1];
  dx[1] = -v->p[0] * v->x[0];
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->x[1];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] > 0) a->w[0] = v->w[0] + 1;
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 1}, {"y"}, {0}};
static const cpl_declaration parameters[] = {{"w", .start = 3}, {0}};
static const cpl_declaration discrete[] = {{"turns", .type = CPL_INTEGER}, {0}};
static const cpl_model_def circle = {.name = "circle",
                                     .states = states,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .n_indicators = 1,
                                     .derivatives = derivatives,
                                     .indicators = indicators,
                                     .event = event};

// The number of times in (0, t] at which y = -sin(3 t) becomes positive: 3 t = pi, 3 pi, ...
static double turns_until(double t) { return floor((3 * t / acos(-1) + 1) / 2); }

static void check_at(cpl_simulation* sim, cpl_context* ctx, double t) {
  double x = 0, turns = 0;
  CHECK_OK(ctx, cpl_simulation_get(sim, "x", &x));
  CHECK_OK(ctx, cpl_simulation_get(sim, "turns", &turns));
  CHECK_NEAR(x, cos(3 * t), 1e-4);
  CHECK_NEAR(turns, turns_until(t), 0);
}

static void solutions_continue_after_a_restore(void** state) {
  cpl_context* ctx = *state;
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS, CPL_SOLVER_RADAU,
                                          CPL_SOLVER_DOPRI5, CPL_SOLVER_IDA,   CPL_SOLVER_RK4};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    cpl_source* source = NULL;
    cpl_model* model = NULL;
    cpl_stepper* stepper = NULL;
    cpl_simulation* sim = NULL;
    cpl_snapshot snapshot = {0};
    cpl_solver_def solver = cpl_default_solver_def();
    cpl_run_def run = cpl_default_run_def();
    solver.kind = kinds[k], solver.rtol = solver.atol = 1e-8, solver.saves_states = true;
    if (kinds[k] == CPL_SOLVER_RK4) solver.step = 0.005;
    run.stop_time = 6;
    CHECK_OK(ctx, cpl_c_define(ctx, &circle, &source));
    CHECK_OK(ctx, cpl_source_make_model(source, "circle", &model));
    CHECK_OK(ctx, cpl_integrate(model, &solver, &stepper));
    CHECK(cpl_component_capabilities(cpl_stepper_component(stepper)).save_restore);
    CHECK_OK(ctx, cpl_simulation_create(stepper, &run, &sim));
    CHECK_OK(ctx, cpl_simulation_start(sim));
    for (int i = 0; i < 12; i++) {
      double t = 0.37 * i;
      CHECK_OK(ctx, cpl_simulation_advance(sim, t));
      CHECK_OK(ctx, cpl_simulation_save(sim, &snapshot));
      CHECK_OK(ctx, cpl_simulation_advance(sim, t + 1.1));  // past an event
      check_at(sim, ctx, t + 1.1);
      CHECK_OK(ctx, cpl_simulation_restore(sim, &snapshot));
      check_at(sim, ctx, t);
      if (i % 3 != 0) continue;
      CHECK_OK(ctx, cpl_simulation_advance(sim, t + 0.3));
      check_at(sim, ctx, t + 0.3);
      CHECK_OK(ctx, cpl_simulation_restore(sim, &snapshot));  // again
    }
    cpl_simulation_forget(sim, &snapshot);
    cpl_simulation_destroy(sim);
    cpl_stepper_destroy(stepper);
    cpl_source_destroy(source);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solutions_continue_after_a_restore),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
