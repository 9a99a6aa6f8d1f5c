// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "fmi/probes.h"

static void steps(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "1_cs");
  cpl_stepper* s = stepper_in(&o);
  cpl_component* c = &s->base;
  cpl_step_result r;
  CHECK_OK(o.ctx, initialize(c));
  CHECK_INT(calls_of("fmiInitializeSlave(0, 1, 10)"), 1);
  cpl_curve line = {.order = 1, .coefficient = {1, 2}};
  CHECK_OK(o.ctx, s->ops->set_curve(s, ref_of(&o, "u"), &line));
  CHECK_OK(o.ctx, s->ops->step(s, 0.1, 0.1, &r));
  CHECK_INT(r.end, CPL_STEP_DONE);
  CHECK_NEAR(r.time, 0.1, 0);
  CHECK_NEAR(real_in(&o, c, "u"), 1.2, 1e-15);
  CHECK_INT(s->ops->step(s, 0, 0, &r), CPL_ERR_INPUT);
  CHECK_OK(o.ctx, c->ops->reset(c));
  CHECK_OK(o.ctx, initialize(c));
  CHECK_NEAR(real_in(&o, c, "x1"), 1, 0);
  CHECK_OK(o.ctx, c->ops->terminate(c));
  c->ops->destroy(c);
  close_probe(&o);
}

static void half_a_step(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "1_cs");
  want_fault("fmiDoStep", 2, "discard");
  cpl_stepper* s = stepper_in(&o);
  cpl_step_result r;
  CHECK_OK(o.ctx, initialize(&s->base));
  CHECK_OK(o.ctx, s->ops->step(s, 1, 1, &r));
  CHECK_OK(o.ctx, s->ops->step(s, 2, 2, &r));
  CHECK_INT(r.end, CPL_STEP_REFUSED);
  CHECK_NEAR(r.time, 1.5, 0);
  CHECK_OK(o.ctx, s->ops->step(s, 2, 2, &r));
  CHECK_INT(r.end, CPL_STEP_DONE);
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

static void crash(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "1_cs");
  want_fault("fmiDoStep", 1, "segv");
  cpl_guard_crashes();  // cmocka has handlers of its own
  cpl_stepper* s = stepper_in(&o);
  cpl_step_result r;
  CHECK_OK(o.ctx, initialize(&s->base));
  CHECK_INT(s->ops->step(s, 1, 1, &r), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(o.ctx), "left: fmiDoStep at t=0 ");
  CHECK_CONTAINS(cpl_context_error(o.ctx), crash_text());
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps),
      cmocka_unit_test(half_a_step),
      cmocka_unit_test(crash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
