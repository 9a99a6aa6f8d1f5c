// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Masters whose values grow without bound, or whose communication points cannot be told apart.
#include "fake.h"

static cpl_stepper* loop_of(cpl_context* ctx, fake* a, fake* b, double step) {
  static cpl_master_part parts[2];
  static const cpl_master_link links[] = {{0, 1, 1, 0, 0, 0}, {1, 1, 0, 0, 0, 0}};
  parts[0] = (cpl_master_part){.stepper = fake_make(a, ctx, "a", -3.1, 1, false, false)};
  parts[1] = (cpl_master_part){.stepper = fake_make(b, ctx, "b", 1, 0, false, false)};
  cpl_master_def def = cpl_default_master_def();
  def.name = "loop", def.parts = parts, def.n_parts = 2, def.links = links, def.n_links = 2;
  def.step = step;
  cpl_stepper* m = NULL;
  CHECK_OK(ctx, cpl_master(ctx, &def, &m));
  return m;
}

// The loop is cut, as nobody can roll back: it triples from step to step.
static void a_delayed_loop_that_grows_without_bound_ends(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  fake a = {0}, b = {0};
  cpl_stepper* m = loop_of(ctx, &a, &b, 0.01);
  cpl_setup setup = {.has_stop_time = true, .stop_time = 50};
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &setup));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  cpl_step_result r;
  cpl_status st = CPL_OK;
  for (int i = 1; i <= 50 && st >= 0; i++) st = m->ops->step(m, i, i, &r);
  CHECK_INT(st, CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "loop: the solution runs away: ");
  CHECK_CONTAINS(cpl_context_error(ctx), "inf at t=");
  m->base.ops->destroy(&m->base);
  cpl_context_destroy(ctx);
}

static void communication_points_that_coincide_are_refused(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  fake a = {0}, b = {0};
  cpl_stepper* m = loop_of(ctx, &a, &b, 0.01);
  cpl_setup setup = {.start_time = 3e13, .has_stop_time = true, .stop_time = 3e13 + 1};
  CHECK_INT(m->base.ops->setup(&m->base, &setup), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "communication points every 0.01 s");
  m->base.ops->destroy(&m->base);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_delayed_loop_that_grows_without_bound_ends),
      cmocka_unit_test(communication_points_that_coincide_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
