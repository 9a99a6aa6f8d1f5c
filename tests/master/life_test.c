// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The life of a master: its memory, its saved states, grids of parts, events between parts.
#include "couplet/component.h"
#include "fake.h"
#include "models.h"

enum { U, Y, X };

static void start(cpl_context* ctx, cpl_stepper* s) {
  cpl_setup setup = {.has_stop_time = true, .stop_time = 10};
  CHECK_OK(ctx, s->base.ops->setup(&s->base, &setup));
  CHECK_OK(ctx, s->base.ops->enter_init(&s->base));
  CHECK_OK(ctx, s->base.ops->exit_init(&s->base));
}

static double value(cpl_context* ctx, cpl_stepper* s, const char* name) {
  int32_t var;
  double v;
  CHECK_OK(ctx, cpl_require_variable(ctx, s->base.desc, name, &var));
  CHECK_OK(ctx, s->base.ops->get_real(&s->base, &s->base.desc->vars[var].ref, 1, &v));
  return v;
}

// To t, with the updates of events on the way.
static void run_to(cpl_context* ctx, cpl_stepper* s, double t) {
  cpl_step_result r = {.end = CPL_STEP_EVENT};
  while (r.end == CPL_STEP_EVENT || r.time < t) CHECK_OK(ctx, s->ops->step(s, t, t, &r));
}

//------------------------------------ a ball and one who follows it
//------------------------------------

static int follower_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0] - v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration follower_states[] = {{"x", .output = true}, END_OF_LIST};
static const cpl_declaration follower_inputs[] = {{.name = "u"}, END_OF_LIST};
static const cpl_model_def follower_model = {.name = "follower",
                                             .states = follower_states,
                                             .inputs = follower_inputs,
                                             .derivatives = follower_derivatives};

typedef struct pair {
  cpl_source *ball, *follower;
  cpl_stepper* m;
} pair;

static cpl_status make_part(cpl_source* source, const char* name, cpl_stepper** out) {
  cpl_model* model = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  def.restart_each_step = true;
  cpl_status st = source->ops->make_model(source, name, &model);
  return st < 0 ? st : cpl_integrate(model, &def, out);
}

static cpl_status make_pair(cpl_context* ctx, const cpl_master_def* how, pair* p) {
  cpl_master_part parts[2] = {0};
  cpl_status st = cpl_c_define(ctx, &ball_model, &p->ball);
  if (st >= 0) st = cpl_c_define(ctx, &follower_model, &p->follower);
  if (st >= 0) st = make_part(p->ball, "ball", &parts[0].stepper);
  if (st < 0) return st;
  st = make_part(p->follower, "follower", &parts[1].stepper);
  if (st < 0) {
    parts[0].stepper->base.ops->destroy(&parts[0].stepper->base);
    return st;
  }
  cpl_master_link links[] = {{0, cpl_find_variable(p->ball->desc, "h"), 1,
                              cpl_find_variable(p->follower->desc, "u"), 0, 0}};
  cpl_master_def def = *how;
  def.name = "pair", def.parts = parts, def.n_parts = 2, def.links = links, def.n_links = 1;
  def.step = 0.05;
  return cpl_master(ctx, &def, &p->m);
}

static void free_pair(pair* p) {
  if (p->m != NULL) p->m->base.ops->destroy(&p->m->base);
  if (p->ball != NULL) p->ball->ops->destroy(p->ball);
  if (p->follower != NULL) p->follower->ops->destroy(p->follower);
  *p = (pair){0};
}

static const cpl_master_algorithm all[] = {CPL_MASTER_DETERMINATE, CPL_MASTER_JACOBI,
                                           CPL_MASTER_GAUSS_SEIDEL, CPL_MASTER_ITERATIVE};

static void a_master_goes_back_to_a_saved_state(void** state) {
  (void)state;
  for (size_t a = 0; a < sizeof all / sizeof all[0]; a++) {
    cpl_context* ctx = cpl_context_create(NULL);
    cpl_master_def def = cpl_default_master_def();
    def.algorithm = all[a], def.order = 1;
    pair p = {0};
    CHECK_OK(ctx, make_pair(ctx, &def, &p));
    cpl_component* c = &p.m->base;
    cpl_snapshot saved = {0};
    CHECK(c->can.save_restore && c->ops->save != NULL);
    start(ctx, p.m);
    run_to(ctx, p.m, 0.4);  // before the first bounce, at 0.4515
    CHECK_OK(ctx, c->ops->save(c, &saved));
    run_to(ctx, p.m, 1.3);
    double h = value(ctx, p.m, "ball.h"), x = value(ctx, p.m, "follower.x");
    for (int i = 0; i < 3; i++) {
      CHECK_OK(ctx, c->ops->restore(c, &saved));
      if (i == 1) run_to(ctx, p.m, 0.61);  // somewhere else first
      if (i == 1) CHECK_OK(ctx, c->ops->restore(c, &saved));
      run_to(ctx, p.m, 1.3);
      CHECK(value(ctx, p.m, "ball.h") == h && value(ctx, p.m, "follower.x") == x);  // every bit
    }
    c->ops->forget(c, &saved);
    free_pair(&p);
    cpl_context_destroy(ctx);
  }
}

static void a_master_runs_again_after_a_reset(void** state) {
  (void)state;
  cpl_context* ctx = cpl_context_create(NULL);
  cpl_master_def def = cpl_default_master_def();
  pair p = {0};
  CHECK_OK(ctx, make_pair(ctx, &def, &p));
  start(ctx, p.m);
  run_to(ctx, p.m, 1.3);
  double h = value(ctx, p.m, "ball.h"), x = value(ctx, p.m, "follower.x");
  CHECK_OK(ctx, p.m->base.ops->terminate(&p.m->base));
  CHECK_OK(ctx, p.m->base.ops->reset(&p.m->base));
  start(ctx, p.m);
  run_to(ctx, p.m, 1.3);
  CHECK(value(ctx, p.m, "ball.h") == h && value(ctx, p.m, "follower.x") == x);
  free_pair(&p);
  cpl_context_destroy(ctx);
}

// Up to the first saved state.
static cpl_status begin(pair* p) {
  cpl_component* c = &p->m->base;
  cpl_setup setup = {.has_stop_time = true, .stop_time = 1};
  cpl_snapshot saved = {0};
  cpl_step_result r;
  cpl_status st = c->ops->setup(c, &setup);
  if (st >= 0) st = c->ops->enter_init(c);
  if (st >= 0) st = c->ops->exit_init(c);
  if (st >= 0) st = p->m->ops->step(p->m, 0.1, 0.1, &r);
  if (st >= 0) st = c->ops->save(c, &saved);
  if (saved.data != NULL) c->ops->forget(c, &saved);
  return st;
}

static void every_failing_allocation_is_reported(void** state) {
  (void)state;
  for (size_t a = 0; a < sizeof all / sizeof all[0]; a++) {
    for (long n = 0, done = 0; !done; n++) {
      test_heap heap = {.fail_at = -1};
      cpl_context* ctx = test_context_with_heap(&heap);
      pair p = {0};
      cpl_master_def def = cpl_default_master_def();
      def.algorithm = all[a], def.threads = 2, def.tolerance = a % 2 == 0 ? 1e-3 : 0;
      heap.fail_at = heap.calls + n;
      cpl_status st = make_pair(ctx, &def, &p);
      if (st >= 0) st = begin(&p);
      done = heap.calls <= heap.fail_at;
      if (!done) CHECK_INT(st, CPL_ERR_NOMEM);
      else CHECK_OK(ctx, st);
      heap.fail_at = -1;
      free_pair(&p);
      cpl_context_destroy(ctx);
      CHECK_INT((int)heap.live, 0);
    }
  }
}

static void no_step_allocates(void** state) {
  (void)state;
  for (size_t a = 0; a < sizeof all / sizeof all[0]; a++) {
    for (int controlled = 0; controlled < 2; controlled++) {
      test_heap heap = {.fail_at = -1};
      cpl_context* ctx = test_context_with_heap(&heap);
      pair p = {0};
      cpl_master_def def = cpl_default_master_def();
      def.algorithm = all[a], def.tolerance = controlled ? 1e-3 : 0;
      CHECK_OK(ctx, make_pair(ctx, &def, &p));
      start(ctx, p.m);
      run_to(ctx, p.m, 0.5);  // the first step makes the snapshots, the first bounce is behind it
      long calls = heap.calls;
      run_to(ctx, p.m, 2.5);
      CHECK_INT((int)(heap.calls - calls), 0);
      free_pair(&p);
      cpl_context_destroy(ctx);
    }
  }
}

//------------------------------------ grids ------------------------------------

// Who cannot vary its step is stepped on its own grid, whatever the events of others.
static void a_fixed_step_stays_fixed(void** state) {
  (void)state;
  cpl_context* ctx = cpl_context_create(NULL);
  fake a = {0}, b = {0};
  cpl_master_part parts[] = {{.stepper = fake_make(&a, ctx, "a", 0, 0, true, false)},
                             {.stepper = fake_make(&b, ctx, "b", 0, 0, false, false), .step = 0.1}};
  b.base.base.can.variable_step = false;
  b.u = 1;
  a.stops[a.n_stops++] = 0.13, a.stops[a.n_stops++] = 0.27;
  cpl_master_def def = cpl_default_master_def();
  def.name = "grid", def.parts = parts, def.n_parts = 2, def.step = 0.05;
  cpl_stepper* m = NULL;
  CHECK_OK(ctx, cpl_master(ctx, &def, &m));
  CHECK(!m->base.can.variable_step);
  start(ctx, m);
  for (int i = 1; i <= 10; i++) {
    run_to(ctx, m, i * 0.05);
    CHECK_NEAR(b.t, 0.1 * (i / 2), 1e-12);  // NOLINT(bugprone-integer-division)
    CHECK(a.t == i * 0.05);
  }
  CHECK_INT(b.steps, 5);
  CHECK_INT(a.updates, 2);
  m->base.ops->destroy(&m->base);
  cpl_context_destroy(ctx);
}

// A part that takes a value which jumps has an event, too; one more round and it is quiet.
static void events_go_from_part_to_part(void** state) {
  (void)state;
  cpl_context* ctx = cpl_context_create(NULL);
  fake a = {0}, b = {0};
  cpl_master_part parts[] = {{.stepper = fake_make(&a, ctx, "a", 0, 0, true, false)},
                             {.stepper = fake_make(&b, ctx, "b", 0, 0, true, false)}};
  cpl_master_link links[] = {{0, X, 1, U, 2, 1}};
  a.stops[a.n_stops++] = 0.2;
  a.u = 1;
  cpl_master_def def = cpl_default_master_def();
  def.name = "two", def.parts = parts, def.n_parts = 2, def.links = links, def.n_links = 1;
  cpl_stepper* m = NULL;
  CHECK_OK(ctx, cpl_master(ctx, &def, &m));
  start(ctx, m);
  CHECK(b.u == 1);  // 2 * 0 + 1
  cpl_step_result r;
  CHECK_OK(ctx, m->ops->step(m, 1, 1, &r));
  CHECK(r.end == CPL_STEP_EVENT && r.time == 0.2 && b.t == 0.2);
  CHECK_OK(ctx, m->ops->step(m, 0.2, 0.2, &r));
  CHECK(r.end == CPL_STEP_DONE && r.event_handled);
  CHECK_INT(a.updates, 1);
  CHECK_OK(ctx, m->ops->step(m, 1, 1, &r));
  CHECK(r.time == 1 && a.t == 1 && b.t == 1);
  CHECK_NEAR(b.u, 2 * 0.2 + 1, 1e-12);  // held since the event
  CHECK_INT(cpl_component_counter(&m->base, "events"), 1);
  m->base.ops->destroy(&m->base);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_master_goes_back_to_a_saved_state),
      cmocka_unit_test(a_master_runs_again_after_a_reset),
      cmocka_unit_test(every_failing_allocation_is_reported),
      cmocka_unit_test(no_step_allocates),
      cmocka_unit_test(a_fixed_step_stays_fixed),
      cmocka_unit_test(events_go_from_part_to_part),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
