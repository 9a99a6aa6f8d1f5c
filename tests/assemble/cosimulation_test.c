// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models and steppers in one system.
#include "couplet/component.h"
#include "models.h"

static int counter_derivatives(const cpl_values* v, double* dx) {
  (void)v;
  dx[0] = 0;
  return CPL_MODEL_OK;
}
static const cpl_declaration counter_states[] = {{"n", .output = true}, END_OF_LIST};
static const cpl_model_def counter_model = {
    .name = "counter", .states = counter_states, .derivatives = counter_derivatives};

typedef struct seen {
  double n, t;
  int count;
  double when[16];
} seen;

static cpl_status look(void* user, double t, const cpl_value* values) {
  seen* s = user;
  if (values[0].real != s->n && s->count < 16) {
    CHECK(t == s->t);  // both sides are recorded
    s->when[s->count++] = t;
  }
  s->n = values[0].real;
  s->t = t;
  return CPL_OK;
}

// A ball beside the aggregate; an event of the aggregate looks at it. Every step in which the ball
// bounces is taken back, and the event at its beginning must not be lost by that.
static void events_of_models_see_steppers(void** state) {
  (void)state;
  cpl_context* ctx = cpl_context_create(NULL);
  cpl_source *ball = NULL, *counter = NULL, *system = NULL;
  cpl_system_def* def = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &ball_model, &ball));
  CHECK_OK(ctx, cpl_c_define(ctx, &counter_model, &counter));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  cpl_member_def m = cpl_default_member_def();
  m.name = "ball", m.kind = CPL_MEMBER_C, m.source = ball, m.as = CPL_AS_CO_SIMULATION;
  CHECK_OK(ctx, cpl_system_def_add_model(def, &m));
  m.name = "counter", m.source = counter, m.as = CPL_AS_DEFAULT;
  CHECK_OK(ctx, cpl_system_def_add_model(def, &m));
  cpl_event_def e = cpl_default_event_def();
  cpl_assignment set = {"counter.n", "counter.n + 1"};
  e.name = "low", e.when = "ball.h < 0.05", e.sets = &set, e.n_sets = 1;
  CHECK_OK(ctx, cpl_system_def_add_event(def, &e));
  cpl_cosimulation_def how = cpl_default_cosimulation_def();
  how.step = 0.01;
  CHECK_OK(ctx, cpl_system_def_set_cosimulation(def, &how));
  CHECK_OK(ctx, cpl_system_build(ctx, def, &system));
  CHECK(system->ops->make_model == NULL && cpl_find_variable(system->desc, "ball.h") >= 0);

  cpl_stepper* s = NULL;
  cpl_stepper_def stepper = cpl_default_stepper_def();
  stepper.solver.rtol = 1e-10;
  CHECK_OK(ctx, cpl_system_stepper(system, &stepper, &s));
  const char* record[] = {"counter.n", "ball.h"};
  seen saw = {0};
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = 2, run.interval = 0.01, run.record = record, run.n_record = 2;
  run.on_point = look, run.user = &saw;
  CHECK_OK(ctx, cpl_run(s, &run, NULL));
  CHECK_INT(saw.count, 3);
  double bounce = sqrt(2 / 9.81), v = 0.8 * sqrt(2 * 9.81);
  CHECK_NEAR(saw.when[0], sqrt(1.9 / 9.81), 1e-7);
  for (int i = 1; i < 3; i++, bounce += 2 * v / 9.81, v *= 0.8)
    CHECK_NEAR(saw.when[i], bounce + (v + sqrt(v * v - 0.1 * 9.81)) / 9.81, 1e-7);
  CHECK(cpl_component_counter(&s->base, "repeated_steps") >= 3);  // the bounces
  CHECK_INT(cpl_master_count(s), 2);
  s->base.ops->destroy(&s->base);
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
  ball->ops->destroy(ball);
  counter->ops->destroy(counter);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(events_of_models_see_steppers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
