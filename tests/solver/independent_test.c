// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Subsystems whose solver restarts at every step: an event of one of them leaves the others ahead
// of the present, and a restart or a saved state there has to use the values of the present.
// Reference: the closed form of x' = -x and of a ball that bounces.
#include "models.h"

static cpl_context* ctx;

typedef struct bench {
  cpl_source *decay, *ball, *system;
  cpl_system_def* def;
  cpl_stepper* s;
  double t;
  int events;
} bench;

static void begin(bench* b) {
  const struct {
    const char* name;
    const cpl_model_def* model;
    cpl_source** source;
  } members[] = {{"a", &decay_model, &b->decay}, {"ball", &ball_model, &b->ball}};
  cpl_model* m = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  *b = (bench){0};
  ctx = cpl_context_create(NULL);
  CHECK_OK(ctx, cpl_system_def_create(ctx, &b->def));
  for (int i = 0; i < 2; i++) {
    cpl_member_def member = cpl_default_member_def();
    CHECK_OK(ctx, cpl_c_define(ctx, members[i].model, members[i].source));
    member.name = members[i].name;
    member.source = *members[i].source;
    CHECK_OK(ctx, cpl_system_def_add_model(b->def, &member));
  }
  CHECK_OK(ctx, cpl_system_def_set(b->def, "ball.e", "1"));
  CHECK_OK(ctx, cpl_system_build(ctx, b->def, &b->system));
  CHECK_OK(ctx, cpl_source_make_model(b->system, "s", &m));
  def.restart_each_step = true;
  def.rtol = 1e-8;
  CHECK_OK(ctx, cpl_integrate(m, &def, &b->s));
  CHECK_NEAR(cpl_component_counter(&b->s->base, "groups"), 2, 0);
  cpl_component* c = cpl_stepper_component(b->s);
  cpl_setup setup = cpl_default_setup();
  setup.has_stop_time = true, setup.stop_time = 3;
  CHECK_OK(ctx, cpl_component_setup(c, &setup));
  CHECK_OK(ctx, cpl_component_enter_init(c));
  CHECK_OK(ctx, cpl_component_exit_init(c));
}

static void end(bench* b) {
  cpl_stepper_destroy(b->s);
  cpl_source_destroy(b->system);
  cpl_system_def_destroy(b->def);
  cpl_source_destroy(b->decay);
  cpl_source_destroy(b->ball);
  cpl_context_destroy(ctx);
}

static double value_of(const bench* b, const char* name) {
  cpl_component* c = cpl_stepper_component(b->s);
  uint32_t ref = c->desc->vars[cpl_find_variable(c->desc, name)].ref;
  double value = 0;
  CHECK_OK(ctx, cpl_component_get_real(c, &ref, 1, &value));
  return value;
}

// As a master does: an event is updated by steps of size zero, and the next step begins there.
static void step_to(bench* b, double t_end) {
  cpl_step_result r = {0};
  CHECK_OK(ctx, cpl_stepper_step(b->s, t_end, t_end, &r));
  b->t = r.time;
  if (r.end == CPL_STEP_EVENT) b->events++;
  while (r.end == CPL_STEP_EVENT) CHECK_OK(ctx, cpl_stepper_step(b->s, b->t, b->t, &r));
}

static double height(double t) {
  double half = sqrt(2 / 9.81), phase = fmod(t + half, 2 * half) - half;
  return 1 - 9.81 / 2 * phase * phase;
}

static void check(const bench* b) {
  CHECK_NEAR(value_of(b, "a.x"), exp(-b->t), 1e-7);
  CHECK_NEAR(value_of(b, "ball.h"), height(b->t), 1e-6);
}

static void a_restart_uses_values_of_the_present(void** state) {
  (void)state;
  bench b;
  begin(&b);
  while (b.t < 3) {
    step_to(&b, fmin(b.t + 0.25, 3));
    check(&b);
  }
  CHECK(b.events >= 3);
  end(&b);
}

static void a_state_saved_at_an_event_is_that_of_the_present(void** state) {
  (void)state;
  bench b;
  cpl_snapshot saved = {0};
  begin(&b);
  while (b.events == 0) step_to(&b, b.t + 0.25);
  double t = b.t;
  cpl_component* c = cpl_stepper_component(b.s);
  CHECK_OK(ctx, cpl_component_save(c, &saved));
  for (int i = 0; i < 3; i++) {
    CHECK_OK(ctx, cpl_component_restore(c, &saved));
    b.t = t;
    check(&b);
    step_to(&b, t + 0.3);
    check(&b);
  }
  cpl_component_forget(c, &saved);
  end(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_restart_uses_values_of_the_present),
      cmocka_unit_test(a_state_saved_at_an_event_is_that_of_the_present),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
