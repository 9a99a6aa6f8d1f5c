// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Steps that are as short as time can resolve, as a master takes them between events of others:
// there is no point inside of them where an indicator could be looked at, and yet time passes in
// them.
#include "testing.h"

static const cpl_declaration states[] = {
    {"h", .start = 0.7, .output = true}, {"v", .start = -0.2, .output = true}, {0}};
static const double gravity = 1.3, bounce = 0.8;

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -gravity;
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] < 0 && v->x[1] < 0) a->x[0] = 0, a->x[1] = -bounce * v->x[1];
  return CPL_MODEL_OK;
}

static const cpl_model_def def = {.name = "ball",
                                  .states = states,
                                  .n_indicators = 1,
                                  .derivatives = derivatives,
                                  .indicators = indicators,
                                  .event = event};

// To `end`, with all events before it.
static void go_to(cpl_context* ctx, cpl_stepper* p, double end) {
  cpl_step_result result = {0};
  for (int k = 0; k < 10; k++) {
    CHECK_OK(ctx, p->ops->step(p, end, end, &result));
    if (result.time >= end && result.end == CPL_STEP_DONE) return;
  }
  CHECK(!"the step ends");
}

// The time of the first bounce, from h + v t - g t^2/2 = 0.
static double first_bounce(void) {
  double h = states[0].start, v = states[1].start;
  return (v + sqrt(v * v + 2 * gravity * h)) / gravity;
}

static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE,   CPL_SOLVER_ADAMS, CPL_SOLVER_RADAU,
                                        CPL_SOLVER_DOPRI5,  CPL_SOLVER_ERK8,  CPL_SOLVER_RK4,
                                        CPL_SOLVER_ESDIRK5, CPL_SOLVER_IDA};

static cpl_stepper* begin(cpl_context* ctx, cpl_solver_kind kind, double start,
                          cpl_source** source) {
  cpl_model* model = NULL;
  cpl_stepper* p = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = kind;
  solver.rtol = solver.atol = 1e-8;
  solver.restart_each_step = true;
  if (kind == CPL_SOLVER_RK4) solver.step = 1e-3;
  cpl_setup setup = {.start_time = start, .has_stop_time = true, .stop_time = start + 2};
  CHECK_OK(ctx, cpl_c_define(ctx, &def, source));
  CHECK_OK(ctx, (*source)->ops->make_model(*source, "ball", &model));
  CHECK_OK(ctx, cpl_integrate(model, &solver, &p));
  CHECK_OK(ctx, p->base.ops->setup(&p->base, &setup));
  CHECK_OK(ctx, p->base.ops->enter_init(&p->base));
  CHECK_OK(ctx, p->base.ops->exit_init(&p->base));
  return p;
}

static double value(cpl_context* ctx, cpl_stepper* p, const char* name) {
  int32_t var = cpl_find_variable(p->base.desc, name);
  double v;
  CHECK_OK(ctx, p->base.ops->get_real(&p->base, &p->base.desc->vars[var].ref, 1, &v));
  return v;
}

static void bounces_between_short_steps(cpl_context* ctx, cpl_solver_kind kind, double start) {
  cpl_source* source = NULL;
  const double hit = first_bounce(), after = 0.1;
  cpl_stepper* p = begin(ctx, kind, start, &source);
  double t = start + hit;
  for (int k = 0; k < 60; k++) t = nextafter(t, 0);
  go_to(ctx, p, t);
  for (int k = 0; k < 120; k++) {
    t = nextafter(t, INFINITY);
    go_to(ctx, p, t);
  }
  go_to(ctx, p, start + hit + after);
  CHECK_NEAR(value(ctx, p, "v"), bounce * (gravity * hit - states[1].start) - gravity * after,
             1e-6);
  p->base.ops->destroy(&p->base);
  source->ops->destroy(source);
}

// Many short steps are as long as one: here they begin at time zero of a run that began before it,
// where the solver's own time is much coarser than that of the model.
static void time_passes_in_short_steps(void** state) {
  enum { STEPS = 2000 };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    for (double step = 3e-16; step < 1e-11; step *= 3) {
      cpl_source* source = NULL;
      cpl_stepper* p = begin(*state, kinds[i], -0.5, &source);
      const double all = STEPS * step;
      go_to(*state, p, 0);
      double v = value(*state, p, "v");
      for (int k = 1; k <= STEPS; k++) go_to(*state, p, k * step);
      CHECK_NEAR(value(*state, p, "v"), v - gravity * all, 0.3 * gravity * all);
      p->base.ops->destroy(&p->base);
      source->ops->destroy(source);
    }
  }
}

static void steps_of_one_rounding_are_possible(void** state) {
  static const double starts[] = {0.1, 47.3, 811.7, 90210.3};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (size_t k = 0; k < sizeof starts / sizeof *starts; k++)
      bounces_between_short_steps(*state, kinds[i], starts[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(steps_of_one_rounding_are_possible),
                                     cmocka_unit_test(time_passes_in_short_steps)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
