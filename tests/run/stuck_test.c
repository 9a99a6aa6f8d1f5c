// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A stepper that finds an event where it stands, again and again.
#include "master/fake.h"

static cpl_status stay(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* r) {
  fake* f = (fake*)s;
  if (f->t < 0.3) return fake_step(s, fmin(t_end, 0.3), t_limit, r);
  *r = (cpl_step_result){.end = t_end > f->t ? CPL_STEP_EVENT : CPL_STEP_DONE, .time = f->t};
  return CPL_OK;
}

static void it_is_named(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  fake f = {0};
  cpl_stepper* s = fake_make(&f, ctx, "sticky", 0, 0, false, false);
  f.step_ops.step = stay;
  cpl_run_def def = cpl_default_run_def();
  def.step = 0.15;
  CHECK_INT(cpl_run(s, &def, NULL), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "sticky: stays at t=0.3: 1000 steps in a row");
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
