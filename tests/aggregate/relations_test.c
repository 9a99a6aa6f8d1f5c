// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Comparisons of a system: round-off next to zero fires nothing twice and loses nothing, and what
// time alone moves turns at the very time.
#include "models.h"

static cpl_context* ctx;

// d is 1 until t = 1 and 0 from then on.
static int switch_start(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  a->next_time = 1;
  return CPL_MODEL_OK;
}
static int switch_event(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  if (a->time_event) a->w[0] = 0, a->next_time = INFINITY;
  return CPL_MODEL_OK;
}
static const cpl_declaration switch_values[] = {{"d", .start = 1, .output = true}, END_OF_LIST};
static const cpl_model_def switch_model = {.name = "switch",
                                           .discrete = switch_values,
                                           .initialize = switch_start,
                                           .event = switch_event,
                                           .stop_time = 2};

typedef struct bench {
  cpl_source *gain, *turn, *system;
  cpl_system_def* def;
} bench;

static void add(bench* b, const char* name, cpl_source* source) {
  cpl_member_def m = cpl_default_member_def();
  m.name = name;
  m.source = source;
  CHECK_OK(ctx, cpl_system_def_add_model(b->def, &m));
}

// x' = velocity, v and a counter n that stand still: integrators all three; s switches at 1.
static void begin(bench* b, const char* velocity) {
  CHECK_OK(ctx, cpl_c_define(ctx, &gain_model, &b->gain));
  CHECK_OK(ctx, cpl_c_define(ctx, &switch_model, &b->turn));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &b->def));
  add(b, "x", b->gain);
  add(b, "v", b->gain);
  add(b, "n", b->gain);
  add(b, "s", b->turn);
  CHECK_OK(ctx, cpl_system_def_connect(b->def, "x.u", velocity));
}

static void on(bench* b, const char* name, const char* when, const cpl_assignment* sets, size_t n) {
  cpl_event_def e = cpl_default_event_def();
  e.name = name;
  e.when = when;
  e.sets = sets;
  e.n_sets = n;
  CHECK_OK(ctx, cpl_system_def_add_event(b->def, &e));
}

static const char* const record[] = {"x.x", "v.x", "n.x", "n.u"};

// step: the longest; 0: the solver decides
static recording* run_in_steps(bench* b, double stop, double step) {
  cpl_model* m = NULL;
  CHECK_OK(ctx, cpl_system_build(ctx, b->def, &b->system));
  CHECK_OK(ctx, b->system->ops->make_model(b->system, "s", &m));
  recording* r = calloc(1, sizeof *r);
  assert_non_null(r);
  r->run = cpl_default_run_def();
  r->run.stop_time = stop;
  r->run.record = record;
  r->run.n_record = 4;
  r->run.on_columns = keep_columns;
  r->run.on_point = keep_point;
  r->run.user = r;
  r->solver = cpl_default_solver_def();
  r->solver.rtol = 1e-9;
  r->solver.step = step;
  CHECK_OK(ctx, cpl_integrate(m, &r->solver, &r->stepper));
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  return r;
}

static recording* run(bench* b, double stop) { return run_in_steps(b, stop, 0); }

static void end(bench* b, recording* r) {
  drop_run(r);
  b->system->ops->destroy(b->system);
  cpl_system_def_destroy(b->def);
  b->gain->ops->destroy(b->gain);
  b->turn->ops->destroy(b->turn);
}

//------------------------------------ next to zero ------------------------------------

// An elastic impact that leaves the ball at round-off below, on or above the wall: every bounce
// counts once.
static void a_wall_is_hit_once_a_bounce(void** state) {
  (void)state;
  static const char* const left_at[] = {"x.x", "-1e-17", "0", "1e-17", "-x.x"};
  for (size_t i = 0; i < sizeof left_at / sizeof *left_at; i++) {
    cpl_assignment sets[] = {{"x.x", left_at[i]}, {"v.x", "-v.x"}, {"n.x", "n.x + 1"}};
    bench b;
    begin(&b, "v.x");
    CHECK_OK(ctx, cpl_system_def_connect(b.def, "v.u", "-9.81"));
    CHECK_OK(ctx, cpl_system_def_set(b.def, "x.x", "1"));
    on(&b, "wall", "x.x < 0", sets, 3);
    recording* r = run(&b, 10);
    double half = sqrt(2 / 9.81), phase = fmod(10 + half, 2 * half) - half;
    int64_t bounces = (int64_t)floor((10 + half) / (2 * half));
    CHECK_NEAR(last_of(r)[2], (double)bounces, 0);
    CHECK_NEAR(last_of(r)[0], 1 - 9.81 / 2 * phase * phase, 1e-5);
    CHECK(r->stats.solver.state_events <= 2 * bounces);
    end(&b, r);
  }
}

// (x - 1)^3, multiplied out, is mere round-off around x = 1: it changes its sign many times there,
// and x goes slowly, in short steps.
static void a_threefold_root_fires_once(void** state) {
  (void)state;
  static const cpl_assignment sets[] = {{"n.x", "n.x + 1"}};
  static const char* const conditions[] = {"(x.x - 1)^3 > 0", "((x.x - 3)*x.x + 3)*x.x - 1 > 0",
                                           "x.x^3 - 3*x.x^2 + 3*x.x - 1 >= 0"};
  for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
    bench b;
    begin(&b, "0.0001 + (x.x - 1)^2");
    on(&b, "past", conditions[i], sets, 1);
    recording* r = run_in_steps(&b, 158, 0.01);
    double at_one = 100 * atan(100);
    CHECK_NEAR(last_of(r)[2], 1, 0);
    CHECK_INT(r->stats.solver.state_events, 1);
    for (size_t k = 0; k < r->n; k++) {
      if (r->value[k][2] == 1) CHECK(r->t[k] > at_one - 0.3);
      else CHECK(r->t[k] < at_one + 0.3);
    }
    end(&b, r);
  }
}

// A discrete value has no round-off: 0 is not greater than 0, at once.
static void discrete_values_do_not_rest(void** state) {
  (void)state;
  bench b;
  begin(&b, "v.x");
  CHECK_OK(ctx, cpl_system_def_connect(b.def, "n.u", "if s.d > 0 then 2 else 1"));
  recording* r = run(&b, 2);
  CHECK_NEAR(last_of(r)[3], 1, 0);
  CHECK_NEAR(last_of(r)[2], 3, 1e-8);
  end(&b, r);
}

//------------------------------------ time ------------------------------------

static void time_turns_comparisons_exactly(void** state) {
  (void)state;
  static const cpl_assignment sets[] = {{"n.x", "n.x + 100"}};
  bench b;
  begin(&b, "v.x");
  CHECK_OK(ctx, cpl_system_def_add_parameter(b.def, "T", "0.7"));
  CHECK_OK(ctx,
           cpl_system_def_connect(b.def, "n.u", "if time < T or 3 - time <= 1.7 then 1 else 0"));
  on(&b, "late", "time > 1.5", sets, 1);
  recording* r = run(&b, 2);
  CHECK_INT(r->stats.solver.state_events, 0);
  CHECK_INT(r->stats.solver.time_events, 4);  // and s at 1
  CHECK_INT(r->stepper->base.desc->n_indicators, 0);
  size_t turned = 0;
  for (size_t i = 1; i < r->n; i++) {
    if (r->value[i][3] == r->value[i - 1][3] && r->value[i][2] < r->value[i - 1][2] + 50) continue;
    CHECK(r->t[i] == r->t[i - 1]);
    CHECK(r->t[i] == 0.7 || r->t[i] == 3 - 1.7 || r->t[i] == 1.5);
    turned++;
  }
  CHECK_INT(turned, 3);
  CHECK_NEAR(last_of(r)[2], 0.7 + (2 - 1.3) + 100, 1e-8);
  end(&b, r);
}

// What is true at the start does not fire; what becomes true right then does.
static void the_start_is_no_turn(void** state) {
  (void)state;
  for (int strict = 0; strict < 2; strict++) {
    static const cpl_assignment sets[] = {{"n.x", "n.x + 1"}};
    bench b;
    begin(&b, "v.x");
    on(&b, "begin", strict ? "time > 0" : "time >= 0", sets, 1);
    recording* r = run(&b, 1);
    CHECK_NEAR(last_of(r)[2], strict, 0);
    end(&b, r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_wall_is_hit_once_a_bounce),
      cmocka_unit_test(a_threefold_root_fires_once),
      cmocka_unit_test(discrete_values_do_not_rest),
      cmocka_unit_test(time_turns_comparisons_exactly),
      cmocka_unit_test(the_start_is_no_turn),
  };
  ctx = test_context();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
