// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parts that take values only: what they hold over a step is a mean. Readers see the input as it is
// at the communication point, and an event that only the mean makes does not stop a step where it
// begins.
#include "fake.h"

enum { U, Y, X };
static const double SLOPE = 2, LEVEL = 1.23, STOP = 1.5;

// As the fake, but it stops one rounding behind where it stands when its input is past the level.
static bool fired;
static double fired_at;
static int n_steps;
static cpl_status trip(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* r) {
  fake* f = (fake*)s;
  if (++n_steps > 20000) return cpl_fail(s->base.ctx, CPL_ERR_MODEL, "it creeps at t=%.17g", f->t);
  if (t_end <= f->t && f->pending) fired = true, fired_at = f->t, f->pending = false;
  bool stops = !fired && t_end > f->t && f->u > LEVEL;
  double close = nextafter(f->t, INFINITY);
  cpl_status st = fake_step(s, stops && close < t_end ? close : t_end, t_limit, r);
  if (stops) r->end = CPL_STEP_EVENT, f->pending = true;
  return st;
}

static cpl_status restore(cpl_component* c, const cpl_snapshot* s) {
  fake_of(c)->pending = false;
  return fake_restore(c, s);
}

static double value(cpl_context* ctx, cpl_stepper* s, const char* name) {
  int32_t var;
  double v;
  CHECK_OK(ctx, cpl_require_variable(ctx, s->base.desc, name, &var));
  CHECK_OK(ctx, s->base.ops->get_real(&s->base, &s->base.desc->vars[var].ref, 1, &v));
  return v;
}

static void check_order(int order, bool trips) {
  cpl_context* ctx = test_context();
  fake a = {.u = SLOPE}, b = {0};
  cpl_master_part parts[] = {{.stepper = fake_make(&a, ctx, "a", 0, 0, true, false)},
                             {.stepper = fake_make(&b, ctx, "b", 0, 0, true, false)}};
  cpl_master_link links[] = {{0, X, 1, U, 0, 0}};
  cpl_master_def def = cpl_default_master_def();
  def.name = "held", def.parts = parts, def.n_parts = 2, def.links = links, def.n_links = 1;
  def.algorithm = CPL_MASTER_GAUSS_SEIDEL;
  def.order = order;
  def.step = 0.1;
  b.u = 17;  // what the part has before it is given anything
  fired = false, n_steps = 0;
  if (trips) b.step_ops.step = trip, b.ops.restore = restore;
  cpl_stepper* m = NULL;
  CHECK_OK(ctx, cpl_master(ctx, &def, &m));
  cpl_setup setup = {.has_stop_time = true, .stop_time = STOP};
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &setup));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  CHECK_NEAR(value(ctx, m, "b.u"), 0, 0);
  cpl_step_result r = {0};
  while (r.time < STOP) {
    CHECK_OK(ctx, m->ops->step(m, STOP, STOP, &r));
    CHECK_NEAR(value(ctx, m, "b.u"), SLOPE * r.time, 1e-12);
  }
  CHECK_INT(fired, trips);
  double late = fired_at - LEVEL / SLOPE;  // within the step, as fine as means can tell
  if (trips) CHECK(late > -1e-9 && late < def.step / 4);
  m->base.ops->destroy(&m->base);
  cpl_context_destroy(ctx);
}

static void inputs_are_shown_as_they_are_at_their_time(void** state) {
  (void)state;
  for (int order = 0; order < 3; order++) check_order(order, false);
}

static void events_of_means_are_searched_for(void** state) {
  (void)state;
  for (int order = 1; order < 3; order++) check_order(order, true);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(inputs_are_shown_as_they_are_at_their_time),
                                     cmocka_unit_test(events_of_means_are_searched_for)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
