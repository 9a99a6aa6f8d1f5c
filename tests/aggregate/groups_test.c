// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models without a path between them: each group has a solver of its own, and nobody can tell from
// the results.
#include "couplet/component.h"
#include "models.h"

static cpl_context* ctx;

// A system under construction and what it is made of.
typedef struct bench {
  cpl_source *ball, *gain, *system;
  cpl_system_def* def;
} bench;

static void begin(bench* b) {
  *b = (bench){0};
  CHECK_OK(ctx, cpl_c_define(ctx, &ball_model, &b->ball));
  CHECK_OK(ctx, cpl_c_define(ctx, &gain_model, &b->gain));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &b->def));
}

static void add(bench* b, const char* name, cpl_source* source) {
  cpl_member_def m = cpl_default_member_def();
  m.name = name;
  m.source = source;
  CHECK_OK(ctx, cpl_system_def_add_model(b->def, &m));
}

static void set(bench* b, const char* name, const char* value) {
  CHECK_OK(ctx, cpl_system_def_set(b->def, name, value));
}

static cpl_model* build(bench* b) {
  cpl_model* m = NULL;
  CHECK_OK(ctx, cpl_system_build(ctx, b->def, &b->system));
  CHECK_OK(ctx, b->system->ops->make_model(b->system, "s", &m));
  return m;
}

static void end(bench* b) {
  b->system->ops->destroy(b->system);
  cpl_system_def_destroy(b->def);
  b->ball->ops->destroy(b->ball);
  b->gain->ops->destroy(b->gain);
}

// Makes a stepper by hand where recording_of() would take the default.
static recording* start(cpl_model* m, double stop, bool one_solver, const char* const* record,
                        size_t n) {
  recording* r = calloc(1, sizeof *r);
  assert_non_null(r);
  r->run = cpl_default_run_def();
  r->run.stop_time = stop;
  r->run.record = record;
  r->run.n_record = n;
  r->run.on_columns = keep_columns;
  r->run.on_point = keep_point;
  r->run.user = r;
  r->solver = cpl_default_solver_def();
  r->solver.rtol = 1e-9;
  r->solver.one_solver = one_solver;
  CHECK_OK(ctx, cpl_integrate(m, &r->solver, &r->stepper));
  return r;
}

static recording* run(cpl_model* m, double stop, bool one_solver, const char* const* record,
                      size_t n) {
  recording* r = start(m, stop, one_solver, record, n);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  return r;
}

//------------------------------------ balls ------------------------------------

static const char* const ball_names[] = {"a", "b", "c", "d", "e", "f"};
static const char* const ball_heights[] = {"1", "1.1", "1.2", "1.3", "1.4", "1.1"};
enum { BALLS = 6 };

// Elastic balls, in the given order.
static cpl_model* balls(bench* b, const int* order) {
  char name[8];
  begin(b);
  for (int i = 0; i < BALLS; i++) {
    int k = order[i];
    add(b, ball_names[k], b->ball);
    snprintf(name, sizeof name, "%s.h", ball_names[k]);
    set(b, name, ball_heights[k]);
    snprintf(name, sizeof name, "%s.e", ball_names[k]);
    set(b, name, "1");
  }
  return build(b);
}

// Height of an elastic ball that was dropped from h0.
static double height(double h0, double t) {
  double half = sqrt(2 * h0 / 9.81), phase = fmod(t + half, 2 * half) - half;
  return h0 - 9.81 / 2 * phase * phase;
}

static const int in_order[] = {0, 1, 2, 3, 4, 5}, shuffled[] = {4, 2, 5, 0, 3, 1};

static void every_ball_follows_its_own_parabolas(void** state) {
  (void)state;
  static const char* const record[] = {"a.h", "b.h", "c.h", "d.h", "e.h", "f.h", "a.v"};
  bench b;
  recording* r = run(balls(&b, in_order), 5, false, record, 7);
  CHECK_INT(r->stats.solver.groups, BALLS);
  int64_t bounces = 0;
  for (int k = 0; k < BALLS; k++) {
    double h0 = atof(ball_heights[k]), half = sqrt(2 * h0 / 9.81);
    bounces += (int64_t)floor((5 + half) / (2 * half));
    for (size_t i = 0; i < r->n; i++) CHECK_NEAR(r->value[i][k], height(h0, r->t[i]), 2e-6);
  }
  // a bounce is two events: below the ground, and above it again
  CHECK(r->stats.solver.state_events >= bounces);
  CHECK(r->stats.solver.state_events <= 2 * bounces);
  drop_run(r);
  end(&b);
}

// Both sides of each event of anybody, for everybody; b and f are the same and bounce together.
static void both_sides_of_events_are_recorded(void** state) {
  (void)state;
  static const char* const record[] = {"a.v", "b.v", "f.v", "b.h", "a.h"};
  bench b;
  recording* r = run(balls(&b, in_order), 1, false, record, 5);
  size_t turned_a = 0, turned_b = 0;
  for (size_t i = 1; i < r->n; i++) {
    const double *old = r->value[i - 1], *new = r->value[i];
    CHECK(r->t[i] >= r->t[i - 1]);
    CHECK(new[1] == new[2]);
    if (r->t[i] != r->t[i - 1]) continue;
    bool a = old[0] < 0 && new[0] > 0, both = old[1] < 0 && new[1] > 0;
    if (!a) CHECK(new[0] == old[0]);  // a moves at its own events only,
    if (!a) CHECK_NEAR(new[4], old[4], 1e-12);
    turned_a += a;
    turned_b += both;
  }
  CHECK_INT(turned_a, 1);
  CHECK_INT(turned_b, 1);
  CHECK_NEAR(r->t[r->n - 1], 1, 0);
  drop_run(r);
  end(&b);
}

static void order_and_repetition_change_no_bit(void** state) {
  (void)state;
  static const char* const record[] = {"a.h", "b.h", "c.v", "d.v", "e.h", "f.h"};
  bench b, c;
  recording* first = run(balls(&b, in_order), 3, false, record, 6);
  recording* second = run(balls(&c, shuffled), 3, false, record, 6);
  CHECK_INT(first->n, second->n);
  CHECK(memcmp(first->t, second->t, first->n * sizeof *first->t) == 0);
  CHECK(memcmp(first->value, second->value, first->n * sizeof *first->value) == 0);
  drop_run(first);
  drop_run(second);
  end(&b);
  end(&c);
}

// One solver must find the same, only with more work: each of its events stops everybody.
static void one_solver_finds_the_same_with_more_work(void** state) {
  (void)state;
  static const char* const record[] = {"a.h", "e.h"};
  bench b, c;
  recording* many = run(balls(&b, in_order), 3, false, record, 2);
  recording* one = run(balls(&c, in_order), 3, true, record, 2);
  CHECK_INT(one->stats.solver.groups, 1);
  for (int k = 0; k < 2; k++) CHECK_NEAR(last_of(many)[k], last_of(one)[k], 1e-6);
  CHECK(2 * many->stats.solver.steps < BALLS * one->stats.solver.steps);
  drop_run(many);
  drop_run(one);
  end(&b);
  end(&c);
}

//------------------------------------ what groups share ------------------------------------

// p.x' = k w, q.x' = 2 w with a parameter k and an input w of the whole, r alone
static cpl_model* sharing(bench* b) {
  cpl_input_def w = cpl_default_input_def();
  begin(b);
  add(b, "p", b->gain);
  add(b, "q", b->gain);
  add(b, "r", b->gain);
  CHECK_OK(ctx, cpl_system_def_add_parameter(b->def, "k", "3"));
  CHECK_OK(ctx, cpl_system_def_add_parameter(b->def, "unused", "7"));
  w.name = "w";
  w.start = "1";
  CHECK_OK(ctx, cpl_system_def_add_input(b->def, &w));
  w = cpl_default_input_def();
  w.name = "s";
  w.expression = "k*w + time";
  CHECK_OK(ctx, cpl_system_def_add_input(b->def, &w));
  CHECK_OK(ctx, cpl_system_def_connect(b->def, "p.u", "k*w"));
  CHECK_OK(ctx, cpl_system_def_connect(b->def, "q.u", "s - time"));
  set(b, "r.x", "5");
  return build(b);
}

static void parameters_and_inputs_are_shared(void** state) {
  (void)state;
  static const char* const record[] = {"p.x", "q.x", "r.x", "s", "k", "unused", "w"};
  static const double time[] = {0, 1, 1, 2}, values[] = {1, 1, 3, 3};
  static const char* const names[] = {"w"};
  static const cpl_table table = {
      .n_rows = 4, .n_columns = 1, .names = names, .time = time, .values = values};
  static const cpl_start starts[] = {{"k", "2"}};
  static const cpl_input inputs[] = {{.name = "w", .table = &table}};
  for (int one_solver = 0; one_solver < 2; one_solver++) {
    bench b;
    recording* r = start(sharing(&b), 2, one_solver, record, 7);
    r->run.starts = starts;
    r->run.n_starts = 1;
    r->run.inputs = inputs;
    r->run.n_inputs = 1;
    CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
    CHECK_INT(r->stats.solver.groups, one_solver ? 1 : 3);
    size_t jumps = 0;
    for (size_t i = 0; i < r->n; i++) {
      double t = r->t[i], sum = t <= 1 ? 2 * t : 2 + 6 * (t - 1), now = r->value[i][6];
      if (t != 1) CHECK_NEAR(now, t < 1 ? 1 : 3, 0);
      CHECK_NEAR(r->value[i][0], sum, 1e-7);
      CHECK_NEAR(r->value[i][1], sum, 1e-7);
      CHECK_NEAR(r->value[i][2], 5, 0);
      CHECK_NEAR(r->value[i][3], 2 * now + t, 1e-12);
      CHECK_NEAR(r->value[i][4], 2, 0);
      CHECK_NEAR(r->value[i][5], 7, 0);
      jumps += i > 0 && t == r->t[i - 1] && now != r->value[i - 1][6];
    }
    CHECK_INT(jumps, 1);
    drop_run(r);
    end(&b);
  }
}

static void begin_by_hand(cpl_stepper* s) {
  cpl_setup setup = {.start_time = 0, .has_stop_time = true, .stop_time = 10};
  CHECK_OK(ctx, s->base.ops->setup(&s->base, &setup));
  CHECK_OK(ctx, s->base.ops->enter_init(&s->base));
  CHECK_OK(ctx, s->base.ops->exit_init(&s->base));
}

static uint32_t ref_of(const cpl_stepper* s, const char* name) {
  return s->base.desc->vars[cpl_find_variable(s->base.desc, name)].ref;
}

static double value_of(cpl_stepper* s, const char* name) {
  uint32_t ref = ref_of(s, name);
  double value;
  CHECK_OK(ctx, s->base.ops->get_real(&s->base, &ref, 1, &value));
  return value;
}

static void step_to(cpl_stepper* s, double t) {
  cpl_step_result result = {.time = -1};
  while (result.time < t) CHECK_OK(ctx, s->ops->step(s, t, 10, &result));
}

// A value that is set concerns its own group: the others go on from where they are.
static void a_set_disturbs_its_own_group_only(void** state) {
  (void)state;
  bench b;
  recording* r = start(sharing(&b), 10, false, NULL, 0);
  cpl_stepper* s = r->stepper;
  begin_by_hand(s);
  step_to(s, 1);
  int64_t restarts = (int64_t)cpl_component_counter(&s->base, "restarts");
  uint32_t u = ref_of(s, "r.u"), w = ref_of(s, "w");
  CHECK_OK(ctx, s->base.ops->set_real(&s->base, &u, 1, &(double){4}));
  CHECK_NEAR(value_of(s, "r.y"), 2 * 4 + 5, 1e-12);  // outputs follow at once
  step_to(s, 2);
  CHECK_INT(cpl_component_counter(&s->base, "restarts"), restarts + 1);
  CHECK_NEAR(value_of(s, "r.x"), 9, 1e-8);
  CHECK_NEAR(value_of(s, "p.x"), 6, 1e-8);
  CHECK_OK(ctx, s->base.ops->set_real(&s->base, &w, 1, &(double){0}));
  step_to(s, 3);
  CHECK_INT(cpl_component_counter(&s->base, "restarts"), restarts + 3);  // p and q use it
  CHECK_NEAR(value_of(s, "r.x"), 13, 1e-8);
  CHECK_NEAR(value_of(s, "p.x"), 6, 1e-8);
  CHECK_NEAR(value_of(s, "q.x"), 6, 1e-8);
  uint32_t none = s->base.desc->vars[s->base.desc->n_vars - 1].ref + 1;
  CHECK_INT(s->base.ops->set_real(&s->base, &none, 1, &(double){0}), CPL_ERR_INPUT);
  CHECK_INT(s->base.ops->get_real(&s->base, &none, 1, &(double){0}), CPL_ERR_INPUT);
  drop_run(r);
  end(&b);
}

// Rolled back and stepped again: the same bits.
static void pieces_that_roll_back_do_so_together(void** state) {
  (void)state;
  bench b;
  cpl_solver_def def = cpl_default_solver_def();
  cpl_stepper* s = NULL;
  cpl_snapshot snapshot = {0};
  def.restart_each_step = true;
  CHECK_OK(ctx, cpl_integrate(balls(&b, in_order), &def, &s));
  CHECK(s->base.can.save_restore && s->base.ops->save != NULL);
  begin_by_hand(s);
  step_to(s, 0.4);
  CHECK_OK(ctx, s->base.ops->save(&s->base, &snapshot));
  double h[2], v[2];
  for (int k = 0; k < 2; k++) {
    step_to(s, 0.6);  // beyond bounces of some
    h[k] = value_of(s, "a.h");
    v[k] = value_of(s, "c.v");
    CHECK_OK(ctx, s->base.ops->restore(&s->base, &snapshot));
    CHECK_NEAR(value_of(s, "a.h"), height(1, 0.4), 1e-4);
  }
  CHECK(h[0] == h[1] && v[0] == v[1]);
  CHECK_NEAR(h[0], height(1, 0.6), 1e-4);
  s->base.ops->forget(&s->base, &snapshot);
  s->base.ops->destroy(&s->base);
  end(&b);
}

//------------------------------------ what joins ------------------------------------

static int32_t groups_of(bench* b) {
  cpl_graph* g = NULL;
  cpl_model* m = build(b);
  CHECK_OK(ctx, cpl_graph_create(&m->base, &g));
  int32_t n = g->n_groups;
  cpl_graph_destroy(g);
  cpl_solver_def def = cpl_default_solver_def();
  cpl_stepper* s = NULL;
  CHECK_OK(ctx, cpl_integrate(m, &def, &s));
  CHECK_INT(cpl_component_counter(&s->base, "groups"), n);  // what is shown is what is done
  s->base.ops->destroy(&s->base);
  return n;
}

static void two_gains(bench* b) {
  begin(b);
  add(b, "p", b->gain);
  add(b, "q", b->gain);
}

static void add_event(bench* b, const char* when, const char* target, const char* value) {
  cpl_event_def e = cpl_default_event_def();
  const cpl_assignment sets[] = {{target, value}};
  e.name = "e";
  e.when = when;
  e.sets = sets;
  e.n_sets = target != NULL;
  CHECK_OK(ctx, cpl_system_def_add_event(b->def, &e));
}

static void connections_events_and_outputs_join(void** state) {
  (void)state;
  bench b;
  two_gains(&b);
  CHECK_INT(groups_of(&b), 2);
  end(&b);
  two_gains(&b);
  CHECK_OK(ctx, cpl_system_def_connect(b.def, "p.u", "q.x"));
  CHECK_INT(groups_of(&b), 1);
  end(&b);
  two_gains(&b);
  CHECK_OK(ctx, cpl_system_def_add_output(b.def, "sum", "p.x + q.x"));
  CHECK_INT(groups_of(&b), 1);
  end(&b);
  two_gains(&b);
  add_event(&b, "p.x > 1", "q.x", "0");
  CHECK_INT(groups_of(&b), 1);
  end(&b);
  two_gains(&b);
  add_event(&b, "p.x > 1", "p.x", "0");
  CHECK_INT(groups_of(&b), 2);
  end(&b);
}

// A function of time that stands still between events is moved by one group only: it joins.
static void what_must_be_one_joins(void** state) {
  (void)state;
  bench b;
  for (int compares = 0; compares < 2; compares++) {
    cpl_input_def w = cpl_default_input_def();
    two_gains(&b);
    w.name = "w";
    w.expression = compares ? "if sin(time) > 0.5 then 1 else 0" : "sin(time)";
    CHECK_OK(ctx, cpl_system_def_add_input(b.def, &w));
    CHECK_OK(ctx, cpl_system_def_connect(b.def, "p.u", "w"));
    CHECK_OK(ctx, cpl_system_def_connect(b.def, "q.u", "2*w"));
    CHECK_INT(groups_of(&b), compares ? 1 : 2);
    end(&b);
  }
}

// Signals of the whole that no model has to do with are there all the same.
static void signals_of_nobody_have_a_place(void** state) {
  (void)state;
  static const char* const record[] = {"w", "late", "p.x"};
  cpl_input_def w = cpl_default_input_def();
  bench b;
  two_gains(&b);
  w.name = "w";
  w.expression = "if time > 0.5 then 2 else 1";
  CHECK_OK(ctx, cpl_system_def_add_input(b.def, &w));
  CHECK_OK(ctx, cpl_system_def_add_output(b.def, "late", "2*w + time"));
  set(&b, "p.x", "4");
  recording* r = run(build(&b), 1, false, record, 3);
  CHECK_INT(r->stats.solver.groups, 2);
  CHECK_NEAR(r->value[0][0], 1, 0);
  CHECK_NEAR(last_of(r)[0], 2, 0);
  CHECK_NEAR(last_of(r)[1], 5, 1e-12);
  CHECK_NEAR(last_of(r)[2], 4, 0);
  drop_run(r);
  end(&b);
}

// A system that cannot be built for want of memory leaks nothing, wherever it ends.
static void no_memory_is_no_leak(void** state) {
  (void)state;
  for (long fail_at = 0, done = 0; !done; fail_at++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* small = test_context_with_heap(&heap);
    cpl_context* kept = ctx;
    bench b;
    ctx = small;
    cpl_model* m = sharing(&b);
    cpl_solver_def def = cpl_default_solver_def();
    cpl_stepper* s = NULL;
    heap.calls = 0;
    heap.fail_at = fail_at;
    cpl_status st = cpl_integrate(m, &def, &s);
    done = st >= 0;
    if (!done) CHECK_INT(st, CPL_ERR_NOMEM);
    if (!done) CHECK(s == NULL);
    heap.fail_at = -1;
    if (s != NULL) s->base.ops->destroy(&s->base);
    end(&b);
    cpl_context_destroy(small);
    CHECK_INT(heap.live, 0);
    ctx = kept;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_ball_follows_its_own_parabolas),
      cmocka_unit_test(both_sides_of_events_are_recorded),
      cmocka_unit_test(order_and_repetition_change_no_bit),
      cmocka_unit_test(one_solver_finds_the_same_with_more_work),
      cmocka_unit_test(parameters_and_inputs_are_shared),
      cmocka_unit_test(a_set_disturbs_its_own_group_only),
      cmocka_unit_test(pieces_that_roll_back_do_so_together),
      cmocka_unit_test(connections_events_and_outputs_join),
      cmocka_unit_test(what_must_be_one_joins),
      cmocka_unit_test(signals_of_nobody_have_a_place),
      cmocka_unit_test(no_memory_is_no_leak),
  };
  ctx = test_context();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
