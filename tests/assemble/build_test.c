// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems built from definitions that a program makes: coupling functions, inputs as callbacks and
// arrays, nesting.
#include "models.h"

static cpl_context* ctx;

static void add_model(cpl_system_def* def, const char* name, cpl_source* source) {
  cpl_member_def m = cpl_default_member_def();
  m.name = name;
  m.source = source;
  CHECK_OK(ctx, cpl_system_def_add_model(def, &m));
}

// Runs a built system and keeps the chosen columns.
static recording* run_system(cpl_source* system, double stop, const char* const* record, size_t n) {
  cpl_model* m;
  CHECK_OK(ctx, system->ops->make_model(system, "s", &m));
  recording* r = recording_of(ctx, m, stop, 1e-9, record, n);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  return r;
}

static int spring(void* user, double t, const double* y, double* u) {
  (void)t;
  *u = -*(double*)user * y[0];
  return 0;
}
static int spring_gradient(void* user, double t, const double* y, double* du) {
  (void)t, (void)y;
  *du = -*(double*)user;
  return 0;
}

// x'' = -k x from two integrators x' = u: v.u = spring(x), x.u = v
static void a_coupling_function_closes_an_oscillator(void** state) {
  (void)state;
  for (int variant = 0; variant < 3; variant++) {  // a gradient, a constant one, none
    double k = 4;
    cpl_source *integrator, *system;
    cpl_system_def* def;
    CHECK_OK(ctx, cpl_c_define(ctx, &gain_model, &integrator));
    CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
    add_model(def, "x", integrator);
    add_model(def, "v", integrator);
    CHECK_OK(ctx, cpl_system_def_set(def, "x.x", "1"));
    CHECK_OK(ctx, cpl_system_def_connect(def, "x.u", "v.x"));
    const char* reads[] = {"x.x"};
    cpl_coupling_def c = cpl_default_coupling_def();
    c.reads = reads;
    c.n_reads = 1;
    c.value = spring;
    c.gradient = variant < 2 ? spring_gradient : NULL;
    c.constant = variant == 1;
    c.user = &k;
    CHECK_OK(ctx, cpl_system_def_couple(def, "v.u", &c));
    CHECK_OK(ctx, cpl_system_build(ctx, def, &system));
    const char* record[] = {"x.x", "v.x"};
    recording* r = run_system(system, 3, record, 2);
    for (size_t i = 0; i < r->n; i++) {
      CHECK_NEAR(r->value[i][0], cos(2 * r->t[i]), 1e-6);
      CHECK_NEAR(r->value[i][1], -2 * sin(2 * r->t[i]), 2e-6);
    }
    drop_run(r);
    system->ops->destroy(system);
    cpl_system_def_destroy(def);
    integrator->ops->destroy(integrator);
  }
}

// The energy of an oscillator over 50 s at a coarse tolerance: the largest distance from its start.
static double energy_drift(bool kept) {
  cpl_source *integrator, *system;
  cpl_system_def* def;
  cpl_model* m;
  double most = 0;
  const char* record[] = {"x.x", "v.x"};
  CHECK_OK(ctx, cpl_c_define(ctx, &gain_model, &integrator));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  add_model(def, "x", integrator);
  add_model(def, "v", integrator);
  CHECK_OK(ctx, cpl_system_def_set(def, "x.x", "1"));
  CHECK_OK(ctx, cpl_system_def_connect(def, "x.u", "v.x"));
  CHECK_OK(ctx, cpl_system_def_connect(def, "v.u", "-4*x.x"));
  if (kept)
    CHECK_OK(ctx, cpl_system_def_add_constraint(def, "energy", "4*x.x^2 + v.x^2 = at start"));
  CHECK_OK(ctx, cpl_system_build(ctx, def, &system));
  CHECK_OK(ctx, system->ops->make_model(system, "s", &m));
  recording* r = recording_of(ctx, m, 50, 1e-4, record, 2);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  for (size_t i = 0; i < r->n; i++) {
    double x = r->value[i][0], v = r->value[i][1];
    most = fmax(most, fabs(4 * x * x + v * v - 4));
  }
  drop_run(r);
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
  integrator->ops->destroy(integrator);
  return most;
}

static void a_program_adds_constraints(void** state) {
  (void)state;
  double drift = energy_drift(false), kept = energy_drift(true);
  CHECK(drift > 1e-2);
  CHECK(kept < 1e-3);
}

static double ramp(void* user, double t) { return *(double*)user * t; }

// u = 2 t (a callback) + a table with a jump: the integral is known
static void inputs_are_callbacks_and_arrays(void** state) {
  (void)state;
  static const double time[] = {0, 1, 1, 2}, values[] = {1, 1, 3, 3};
  static const char* const names[] = {"step"};
  static const cpl_table table = {
      .n_rows = 4, .n_columns = 1, .names = names, .time = time, .values = values};
  double slope = 2;
  cpl_source *integrator, *system;
  cpl_system_def* def;
  CHECK_OK(ctx, cpl_c_define(ctx, &gain_model, &integrator));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  add_model(def, "m", integrator);
  cpl_input_def in = cpl_default_input_def();
  in.name = "ramp";
  in.value = ramp;
  in.user = &slope;
  CHECK_OK(ctx, cpl_system_def_add_input(def, &in));
  in = cpl_default_input_def();
  in.name = "step";
  in.table = &table;
  CHECK_OK(ctx, cpl_system_def_add_input(def, &in));
  CHECK_OK(ctx, cpl_system_def_add_number(def, "half", 0.5));
  CHECK_OK(ctx, cpl_system_def_connect(def, "m.u", "half*ramp + step"));
  CHECK_OK(ctx, cpl_system_build(ctx, def, &system));
  const char* record[] = {"m.x", "step"};
  recording* r = run_system(system, 2, record, 2);
  CHECK_INT(r->stats.solver.time_events, 1);
  for (size_t i = 0; i < r->n; i++) {
    double t = r->t[i];
    CHECK_NEAR(r->value[i][0], t * t / 2 + (t <= 1 ? t : 1 + 3 * (t - 1)), 1e-7);
  }
  drop_run(r);
  // a second instance has inputs of its own
  r = run_system(system, 2, record, 2);
  CHECK_NEAR(last_of(r)[0], 6, 1e-7);
  drop_run(r);
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
  integrator->ops->destroy(integrator);
}

// An oscillator nested in a system that drives it, against the same system flat: the same to
// round-off.
static cpl_system_def* oscillator(cpl_source* integrator, bool flat) {
  cpl_system_def* def;
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  add_model(def, "v", integrator);
  add_model(def, "x", integrator);
  CHECK_OK(ctx, cpl_system_def_add_number(def, "k", 4));
  cpl_input_def in = cpl_default_input_def();
  in.name = "push";
  in.expression = flat ? "sin(3*time)" : NULL;
  in.start = flat ? NULL : "0";
  CHECK_OK(ctx, cpl_system_def_add_input(def, &in));
  CHECK_OK(ctx, cpl_system_def_connect(def, "v.u", "-k*x.x + push"));
  CHECK_OK(ctx, cpl_system_def_connect(def, "x.u", "v.x"));
  CHECK_OK(ctx, cpl_system_def_add_output(def, "place", "x.x"));
  return def;
}

static void nested_and_flat_are_the_same(void** state) {
  (void)state;
  cpl_source *integrator, *nested, *flat;
  cpl_system_def* outer;
  CHECK_OK(ctx, cpl_c_define(ctx, &gain_model, &integrator));
  cpl_system_def *inner = oscillator(integrator, false), *whole = oscillator(integrator, true);
  CHECK_OK(ctx, cpl_system_def_create(ctx, &outer));
  cpl_member_def m = cpl_default_member_def();
  m.name = "box";
  m.kind = CPL_MEMBER_SYSTEM;
  m.system = inner;
  CHECK_OK(ctx, cpl_system_def_add_model(outer, &m));
  CHECK_OK(ctx, cpl_system_def_connect(outer, "box.push", "sin(3*time)"));
  CHECK_OK(ctx, cpl_system_build(ctx, outer, &nested));
  CHECK_OK(ctx, cpl_system_build(ctx, whole, &flat));
  const char *in_box[] = {"box.place", "box.v.x"}, *in_flat[] = {"place", "v.x"};
  recording *a = run_system(nested, 5, in_box, 2), *b = run_system(flat, 5, in_flat, 2);
  CHECK_INT(a->n, b->n);
  CHECK_INT(a->stats.solver.steps, b->stats.solver.steps);
  for (size_t i = 0; i < a->n; i++) {
    CHECK_NEAR(a->value[i][0], b->value[i][0], 1e-9);
    CHECK_NEAR(a->value[i][0], (sin(3 * b->t[i]) - 1.5 * sin(2 * b->t[i])) / -5,
               1e-6);  // x'' + 4 x = sin 3t
  }
  drop_run(a);
  drop_run(b);
  nested->ops->destroy(nested);
  flat->ops->destroy(flat);
  cpl_system_def_destroy(outer);
  cpl_system_def_destroy(inner);
  cpl_system_def_destroy(whole);
  integrator->ops->destroy(integrator);
}

static cpl_status build_all(cpl_context* with) {
  cpl_source *integrator = NULL, *system = NULL;
  cpl_system_def* def = NULL;
  const cpl_assignment sets[] = {{"x.x", "x.x + 1"}};
  cpl_event_def e = cpl_default_event_def();
  cpl_member_def m = cpl_default_member_def();
  cpl_input_def in = cpl_default_input_def();
  in.name = "w";
  in.expression = "if time < 0.5 then 1 else 0";
  e.name = "jump";
  e.when = "x.x > 2 and v.x < 1";
  e.sets = sets;
  e.n_sets = 1;
  cpl_status st = cpl_c_define(with, &gain_model, &integrator);
  m.source = integrator;
  if (st >= 0) st = cpl_system_def_create(with, &def);
  m.name = "x";
  if (st >= 0) st = cpl_system_def_add_model(def, &m);
  m.name = "v";
  if (st >= 0) st = cpl_system_def_add_model(def, &m);
  if (st >= 0) st = cpl_system_def_add_parameter(def, "b", "2*a");
  if (st >= 0) st = cpl_system_def_add_parameter(def, "a", "1.5");
  if (st >= 0) st = cpl_system_def_add_input(def, &in);
  if (st >= 0) st = cpl_system_def_connect(def, "x.u", "v.y");
  if (st >= 0) st = cpl_system_def_connect(def, "v.u", "w - b*x.y/10");
  if (st >= 0) st = cpl_system_def_add_event(def, &e);
  if (st >= 0) st = cpl_system_build(with, def, &system);
  if (system != NULL) system->ops->destroy(system);
  cpl_system_def_destroy(def);
  if (integrator != NULL) integrator->ops->destroy(integrator);
  return st;
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* small = test_context_with_heap(&heap);
    cpl_status st = small != NULL ? build_all(small) : CPL_ERR_NOMEM;
    cpl_context_destroy(small);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

// Allocations of the context at every point: none between the first and the last.
static long calls_at[MAX_POINTS];
static size_t n_calls;
static cpl_status count_calls(void* user, double t, const cpl_value* values) {
  (void)t, (void)values;
  calls_at[n_calls++] = ((test_heap*)user)->calls;
  return CPL_OK;
}

// Loops, a nonlinear coupling with comparisons, and events from outside are all in it.
static void the_stepping_loop_of_a_system_allocates_nothing(void** state) {
  (void)state;
  test_heap heap = {.fail_at = -1};
  cpl_context* counted = test_context_with_heap(&heap);
  cpl_source *gain, *system;
  cpl_system_def* def;
  cpl_member_def m = cpl_default_member_def();
  cpl_event_def e = cpl_default_event_def();
  const cpl_assignment sets[] = {{"a.x", "-a.x"}};
  const char* times[] = {"0.3", "0.7"};
  CHECK_OK(counted, cpl_c_define(counted, &gain_model, &gain));
  CHECK_OK(counted, cpl_system_def_create(counted, &def));
  m.source = gain;
  m.name = "a";
  CHECK_OK(counted, cpl_system_def_add_model(def, &m));
  m.name = "b";
  CHECK_OK(counted, cpl_system_def_add_model(def, &m));
  CHECK_OK(counted, cpl_system_def_set(def, "a.x", "1"));
  CHECK_OK(counted,
           cpl_system_def_connect(def, "a.u", "if b.y > 0.2 then -0.2*b.y else 0.1*b.y^2"));
  CHECK_OK(counted, cpl_system_def_connect(def, "b.u", "0.3*a.y"));
  e.name = "turn";
  e.at = times;
  e.n_at = 2;
  e.sets = sets;
  e.n_sets = 1;
  CHECK_OK(counted, cpl_system_def_add_event(def, &e));
  CHECK_OK(counted, cpl_system_build(counted, def, &system));
  cpl_model* model;
  cpl_stepper* s;
  cpl_solver_def solver = cpl_default_solver_def();
  cpl_run_def run = cpl_default_run_def();
  run.on_point = count_calls;
  run.user = &heap;
  CHECK_OK(counted, system->ops->make_model(system, "s", &model));
  CHECK_OK(counted, cpl_integrate(model, &solver, &s));
  CHECK_OK(counted, cpl_run(s, &run, NULL));
  CHECK(n_calls > 500);
  for (size_t i = 1; i < n_calls; i++) CHECK_INT(calls_at[i], calls_at[0]);
  s->base.ops->destroy(&s->base);
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
  gain->ops->destroy(gain);
  cpl_context_destroy(counted);
  CHECK_INT(heap.live, 0);
}

// Bad texts, each with what is said about it.
static void bad(const char* target, const char* source, const char* when, const char* message) {
  cpl_source *integrator, *system;
  cpl_system_def* def;
  CHECK_OK(ctx, cpl_c_define(ctx, &gain_model, &integrator));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  add_model(def, "m", integrator);
  CHECK_OK(ctx, cpl_system_def_connect(def, target, source));
  cpl_event_def e = cpl_default_event_def();
  const cpl_assignment sets[] = {{"m.x", "0"}};
  e.name = "e";
  e.when = when;
  e.sets = sets;
  e.n_sets = 1;
  if (when != NULL) CHECK_OK(ctx, cpl_system_def_add_event(def, &e));
  CHECK_INT(cpl_system_build(ctx, def, &system), CPL_ERR_INPUT);
  CHECK(system == NULL);
  CHECK_CONTAINS(cpl_context_error(ctx), message);
  cpl_system_def_destroy(def);
  integrator->ops->destroy(integrator);
}

static void texts_that_make_no_sense_are_refused(void** state) {
  (void)state;
  bad("m.u", "m.z", NULL, "m.z");
  bad("m.u", "1 +", NULL, "the text ends here");
  bad("m.u", "m.x > 1", NULL, "m.u is Real, but m.x > 1 gives Boolean");
  bad("m.y", "1", NULL, "m.y");
  bad("m.u", "1", "m.x", "m.x is not a condition");
}

static bool depends_on(const cpl_description* d, const cpl_unknown* row, const char* name) {
  for (int32_t k = 0; k < row->count; k++) {
    if (strcmp(d->vars[d->structure.deps[row->first + k]].name, name) == 0) return true;
  }
  return false;
}

// p follows a, q follows the state, x' = b: seen from outside no loop, in whatever order.
static void a_nested_system_says_what_depends_on_what(void** state) {
  (void)state;
  cpl_source *integrator, *nested;
  cpl_system_def *inner, *outer;
  cpl_input_def in = cpl_default_input_def();
  cpl_member_def box = cpl_default_member_def();
  CHECK_OK(ctx, cpl_c_define(ctx, &gain_model, &integrator));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &inner));
  add_model(inner, "m", integrator);
  for (int i = 0; i < 2; i++) {
    in.name = i == 0 ? "a" : "b";
    in.start = "0";
    CHECK_OK(ctx, cpl_system_def_add_input(inner, &in));
  }
  CHECK_OK(ctx, cpl_system_def_connect(inner, "m.u", "b"));
  CHECK_OK(ctx, cpl_system_def_add_output(inner, "p", "3*a + 1"));
  CHECK_OK(ctx, cpl_system_def_add_output(inner, "q", "m.x"));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &outer));
  box.name = "box";
  box.kind = CPL_MEMBER_SYSTEM;
  box.system = inner;
  CHECK_OK(ctx, cpl_system_def_add_model(outer, &box));
  CHECK_OK(ctx, cpl_system_def_connect(outer, "box.b", "box.p"));
  CHECK_OK(ctx, cpl_system_def_connect(outer, "box.a", "box.q"));
  CHECK_OK(ctx, cpl_system_build(ctx, outer, &nested));
  cpl_model* m;
  cpl_graph* g = NULL;
  CHECK_OK(ctx, nested->ops->make_model(nested, "s", &m));
  CHECK_OK(ctx, cpl_graph_create(&m->base, &g));
  CHECK_INT(g->n_loops, 0);
  CHECK_INT(g->models[0].n_assumed, 0);
  cpl_graph_destroy(g);
  const cpl_description* d = cpl_aggregate_part(m, 0)->base.desc;
  const cpl_structure* s = &d->structure;
  CHECK_INT(s->n_outputs, 2);
  CHECK_INT(s->outputs[0].count, 1);
  CHECK(depends_on(d, &s->outputs[0], "a"));
  CHECK_INT(s->outputs[1].count, 1);
  CHECK(depends_on(d, &s->outputs[1], "m.x"));
  CHECK_INT(s->n_derivatives, 1);
  CHECK(s->derivatives[0].count >= 1 && depends_on(d, &s->derivatives[0], "b"));
  CHECK(!depends_on(d, &s->derivatives[0], "a"));
  m->base.ops->destroy(&m->base);
  const char* record[] = {"box.m.x"};
  recording* r = run_system(nested, 1, record, 1);
  for (size_t i = 0; i < r->n; i++) CHECK_NEAR(r->value[i][0], (exp(3 * r->t[i]) - 1) / 3, 1e-6);
  drop_run(r);
  nested->ops->destroy(nested);
  cpl_system_def_destroy(outer);
  cpl_system_def_destroy(inner);
  integrator->ops->destroy(integrator);
}

static double start_of(const cpl_source* source, const char* name) {
  const cpl_variable* v = &source->desc->vars[cpl_find_variable(source->desc, name)];
  CHECK(v->has_start);
  return v->start;
}

static void start_values_stand_in_the_description(void** state) {
  (void)state;
  cpl_source *ball, *system;
  cpl_system_def* def;
  CHECK_OK(ctx, cpl_c_define(ctx, &ball_model, &ball));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  add_model(def, "low", ball);
  add_model(def, "high", ball);
  CHECK_OK(ctx, cpl_system_def_add_parameter(def, "top", "2*3.5"));
  CHECK_OK(ctx, cpl_system_def_set(def, "high.h", "top + 1"));
  CHECK_OK(ctx, cpl_system_def_set(def, "high.e", "0.5"));
  CHECK_OK(ctx, cpl_system_def_set(def, "high.v", "2 m/s"));
  CHECK_OK(ctx, cpl_system_build(ctx, def, &system));
  CHECK_NEAR(start_of(system, "top"), 7, 0);
  CHECK_NEAR(start_of(system, "high.h"), 8, 0);
  CHECK_NEAR(start_of(system, "high.e"), 0.5, 0);
  CHECK_NEAR(start_of(system, "high.v"), 2, 0);
  CHECK_NEAR(start_of(system, "low.h"), 1, 0);
  CHECK_NEAR(start_of(ball, "h"), 1, 0);  // the model's own description is as it was
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
  ball->ops->destroy(ball);
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_coupling_function_closes_an_oscillator),
      cmocka_unit_test(a_program_adds_constraints),
      cmocka_unit_test(inputs_are_callbacks_and_arrays),
      cmocka_unit_test(nested_and_flat_are_the_same),
      cmocka_unit_test(every_failed_allocation_is_survived),
      cmocka_unit_test(the_stepping_loop_of_a_system_allocates_nothing),
      cmocka_unit_test(texts_that_make_no_sense_are_refused),
      cmocka_unit_test(a_nested_system_says_what_depends_on_what),
      cmocka_unit_test(start_values_stand_in_the_description),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
