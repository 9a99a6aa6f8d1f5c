// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems with an algebraic loop, as nested loops and as rows of IDA, where KLU is not installed:
// examples/algebraic_loop against its analytic solution.
#include <math.h>

#include "couplet/couplet.h"
#include "numeric/klu.h"
#include "testing.h"

static cpl_status compare(void* user, double t, const cpl_value* values) {
  double xa = 9 * exp(-2 * t / 3), xb = 2 * xa - 16 * exp(-t), *most = user;
  *most = fmax(*most, fmax(fabs(values[0].real - xa), fabs(values[1].real - xb)));
  return CPL_OK;
}

static double error_with(cpl_context* ctx, cpl_solver_kind kind, cpl_form form) {
  const char* record[] = {"a.x", "b.x"};
  double most = 0;
  cpl_source* system = NULL;
  cpl_stepper* s = NULL;
  cpl_stepper_def def = cpl_default_stepper_def();
  cpl_run_def run = cpl_default_run_def();
  def.solver.kind = kind, def.solver.form = form;
  def.solver.rtol = def.solver.atol = 1e-9;
  run.stop_time = 2, run.record = record, run.n_record = 2;
  run.on_point = compare, run.user = &most;
  CHECK_OK(ctx,
           cpl_system_open(ctx, test_path("examples/algebraic_loop/algebraic_loop.yaml"), &system));
  CHECK_OK(ctx, cpl_system_stepper(system, &def, &s));
  CHECK_OK(ctx, cpl_run(s, &run, NULL));
  s->base.ops->destroy(&s->base);
  system->ops->destroy(system);
  return most;
}

static void loops_are_solved(void** state) {
  for (int use = 0; use < 2; use++) {
    cpli_klu_use(use);
    CHECK_NEAR(error_with(*state, CPL_SOLVER_CVODE, CPL_FORM_AS_FITS), 0, 1e-6);
    CHECK_NEAR(error_with(*state, CPL_SOLVER_RADAU, CPL_FORM_AS_FITS), 0, 1e-6);
    CHECK_NEAR(error_with(*state, CPL_SOLVER_IDA, CPL_FORM_DAE), 0, 1e-6);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(loops_are_solved)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
