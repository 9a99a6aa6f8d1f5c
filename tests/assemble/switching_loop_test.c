// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Where a coupling switches within a step of the iterative master, no values may agree over the
// whole step: it is made shorter.
#include "models.h"

static const cpl_declaration inputs[] = {{"u"}, END_OF_LIST};
static const cpl_declaration states[] = {
    {"x", .output = true}, {"v", .start = 0.3, .output = true}, END_OF_LIST};

static int cart_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_model_def cart = {
    .name = "cart", .states = states, .inputs = inputs, .derivatives = cart_derivatives};

static const double before = 0.9, after = -14, where = 0.31, stop = 0.62;

// Pushed forward until it is there, then backward.
static double exact(void) {
  double v = states[1].start, there = sqrt(v * v + 2 * before * where);
  double since = stop - (there - v) / before;
  return where + there * since + after * since * since / 2;
}

static cpl_status keep_last(void* user, double t, const cpl_value* values) {
  (void)t;
  *(double*)user = values[0].real;
  return CPL_OK;
}

static double run(int order, double step) {
  cpl_context* ctx = test_context();
  cpl_source *source = NULL, *system = NULL;
  cpl_system_def* def = NULL;
  cpl_stepper* s = NULL;
  char formula[100];
  double last = NAN;
  snprintf(formula, sizeof formula, "if a.x > %g then %g else %g", where, after, before);
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  CHECK_OK(ctx, cpl_c_define(ctx, &cart, &source));
  cpl_member_def m = cpl_default_member_def();
  m.name = "a", m.kind = CPL_MEMBER_C, m.source = source, m.as = CPL_AS_CO_SIMULATION;
  CHECK_OK(ctx, cpl_system_def_add_model(def, &m));
  CHECK_OK(ctx, cpl_system_def_connect(def, "a.u", formula));
  cpl_cosimulation_def how = cpl_default_cosimulation_def();
  how.algorithm = "iterative", how.order = order, how.step = step;
  CHECK_OK(ctx, cpl_system_def_set_cosimulation(def, &how));
  CHECK_OK(ctx, cpl_system_build(ctx, def, &system));
  cpl_stepper_def stepper = cpl_default_stepper_def();
  stepper.solver.rtol = 1e-10;
  CHECK_OK(ctx, cpl_system_stepper(system, &stepper, &s));
  const char* record[] = {"a.x"};
  cpl_run_def r = cpl_default_run_def();
  r.stop_time = stop, r.interval = stop, r.record = record, r.n_record = 1;
  r.on_point = keep_last, r.user = &last;
  CHECK_OK(ctx, cpl_run(s, &r, NULL));
  s->base.ops->destroy(&s->base);
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
  source->ops->destroy(source);
  cpl_context_destroy(ctx);
  return last;
}

static void a_step_without_a_solution_is_made_shorter(void** state) {
  (void)state;
  for (double step = 0.1; step > 0.02; step *= 0.83) CHECK_NEAR(run(0, step), exact(), 0.7 * step);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_without_a_solution_is_made_shorter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
