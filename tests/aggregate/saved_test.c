// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "testing.h"

enum { STEPS = 60, MOST = 64 };

typedef struct run {
  double x[STEPS][MOST];
  int n, events;
} run;

// Steps of a system; every third one is tried with a longer step first and taken back.
static void simulate(cpl_context* ctx, const char* path, double h, bool go_back, run* r) {
  cpl_source* system = NULL;
  cpl_model* model = NULL;
  cpl_stepper* s = NULL;
  cpl_snapshot saved = {0};
  cpl_solver_def def = cpl_default_solver_def();
  def.rtol = 1e-7;
  def.restart_each_step = def.one_solver = true;
  CHECK_OK(ctx, cpl_system_open(ctx, path, &system));
  CHECK_OK(ctx, system->ops->make_model(system, "system", &model));
  CHECK_OK(ctx, cpl_integrate(model, &def, &s));
  CHECK(s->base.can.save_restore && s->base.ops->save != NULL);
  cpl_setup setup = {.has_stop_time = true, .stop_time = h * STEPS};
  CHECK_OK(ctx, s->base.ops->setup(&s->base, &setup));
  CHECK_OK(ctx, s->base.ops->enter_init(&s->base));
  CHECK_OK(ctx, s->base.ops->exit_init(&s->base));
  const cpl_description* d = s->base.desc;
  r->n = r->events = 0;
  uint32_t refs[MOST];
  for (int32_t i = 0; i < d->n_states && r->n < MOST; i++) refs[r->n++] = d->vars[d->states[i]].ref;
  for (int i = 0; i < STEPS; i++) {
    cpl_step_result result = {0};
    double end = h * (i + 1);
    CHECK_OK(ctx, s->base.ops->save(&s->base, &saved));
    if (go_back && i % 3 == 0) {
      double far = fmin(end + 2 * h, h * STEPS);
      while (result.time < far) CHECK_OK(ctx, s->ops->step(s, far, far, &result));
      CHECK_OK(ctx, s->base.ops->restore(&s->base, &saved));
    }
    result.time = 0;
    while (result.time < end) {
      CHECK_OK(ctx, s->ops->step(s, end, end, &result));
      r->events += result.end == CPL_STEP_EVENT;
    }
    CHECK_OK(ctx, s->base.ops->get_real(&s->base, refs, (size_t)r->n, r->x[i]));
  }
  s->base.ops->forget(&s->base, &saved);
  s->base.ops->destroy(&s->base);
  system->ops->destroy(system);
}

static void going_back_changes_no_bit(void** state) {
  (void)state;
  static const struct {
    const char* path;
    double h;
    bool events;
  } cases[] = {
      {"examples/pendulums_walls/pendulums_walls.yaml", 0.05, true},
      {"examples/algebraic_loop/algebraic_loop.yaml", 0.03, false},
      {"examples/race_car/race_car.yaml", 0.02, false},
  };
  static run plain, back;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    cpl_context* ctx = cpl_context_create(NULL);
    simulate(ctx, test_path(cases[i].path), cases[i].h, false, &plain);
    simulate(ctx, test_path(cases[i].path), cases[i].h, true, &back);
    CHECK_INT(plain.n, back.n);
    CHECK(plain.n > 0 && (!cases[i].events || plain.events > 0));
    CHECK_INT(plain.events, back.events);
    for (int k = 0; k < STEPS; k++)
      CHECK(memcmp(plain.x[k], back.x[k], (size_t)plain.n * sizeof(double)) == 0);
    cpl_context_destroy(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(going_back_changes_no_bit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
