// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "couplet/component.h"
#include "fake.h"
#include "models.h"

enum { U, Y, X };

static void start(cpl_context* ctx, cpl_stepper* s, double stop) {
  cpl_setup setup = {.has_stop_time = true, .stop_time = stop};
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

static cpl_step_result step_to(cpl_context* ctx, cpl_stepper* s, double t) {
  cpl_step_result r;
  CHECK_OK(ctx, s->ops->step(s, t, t, &r));
  return r;
}

static void destroy(cpl_stepper* s) { s->base.ops->destroy(&s->base); }

// y = bias + gain y over two steppers: 2 for 1 + y/2, 1/4 for 1 - 3 y.
static void check_loop(double gain, double expected, cpl_master_algorithm algorithm) {
  cpl_context* ctx = cpl_context_create(NULL);
  fake a = {0}, b = {0};
  cpl_master_part parts[] = {{.stepper = fake_make(&a, ctx, "a", gain, 1, true, false)},
                             {.stepper = fake_make(&b, ctx, "b", 1, 0, true, false)}};
  cpl_master_link links[] = {{0, Y, 1, U, 0, 0}, {1, Y, 0, U, 0, 0}};
  cpl_master_def def = cpl_default_master_def();
  def.name = "loop", def.parts = parts, def.n_parts = 2, def.links = links, def.n_links = 2;
  def.algorithm = algorithm;
  cpl_stepper* m = NULL;
  CHECK_OK(ctx, cpl_master(ctx, &def, &m));
  start(ctx, m, 1);
  CHECK_NEAR(value(ctx, m, "a.y"), expected, 1e-9);
  CHECK_NEAR(value(ctx, m, "b.y"), expected, 1e-9);
  for (int i = 1; i <= 10; i++) {
    cpl_step_result r = step_to(ctx, m, i * 0.1);
    CHECK(r.end == CPL_STEP_DONE && r.time == i * 0.1);
    CHECK_NEAR(value(ctx, m, "a.y"), expected, 1e-9);
    CHECK_NEAR(value(ctx, m, "b.y"), expected, 1e-9);
  }
  CHECK(cpl_master_facts(m, CPL_FACT_LOOP, NULL, 0) == 1);
  CHECK(cpl_master_facts(m, CPL_FACT_DELAYED, NULL, 0) == 0);
  destroy(m);
  cpl_context_destroy(ctx);
}

static void loops_are_solved(void** state) {
  (void)state;
  check_loop(0.5, 2, CPL_MASTER_DETERMINATE);
  check_loop(-3, 0.25, CPL_MASTER_DETERMINATE);
  check_loop(0.5, 2, CPL_MASTER_ITERATIVE);
  check_loop(-3, 0.25, CPL_MASTER_GAUSS_SEIDEL);
}

// A chain of feed-through steppers, named against its direction: no hop lags.
static void chains_do_not_lag(void** state) {
  (void)state;
  enum { HOPS = 100 };
  cpl_context* ctx = cpl_context_create(NULL);
  static fake fakes[HOPS + 1];
  memset(fakes, 0, sizeof fakes);
  cpl_master_part parts[HOPS + 1];
  cpl_master_link links[HOPS];
  for (int i = 0; i <= HOPS; i++) {
    char name[16];
    snprintf(name, sizeof name, "m%03d", HOPS - i);
    parts[i] =
        (cpl_master_part){.stepper = fake_make(&fakes[i], ctx, name, i > 0, i > 0, false, false)};
    if (i > 0) links[i - 1] = (cpl_master_link){i - 1, i == 1 ? X : Y, i, U, 0, 0};
  }
  cpl_master_def def = cpl_default_master_def();
  def.name = "chain", def.parts = parts, def.n_parts = HOPS + 1, def.links = links,
  def.n_links = HOPS;
  cpl_stepper* m = NULL;
  CHECK_OK(ctx, cpl_master(ctx, &def, &m));
  fakes[0].u = 1;  // its x grows with time
  start(ctx, m, 1);
  for (int i = 1; i <= 10; i++) {
    step_to(ctx, m, i * 0.1);
    CHECK_NEAR(value(ctx, m, "m000.y"), i * 0.1 + HOPS, 1e-12);
  }
  destroy(m);
  cpl_context_destroy(ctx);
}

// Every mix of who rolls back and who predicts, with one that can do neither.
static void all_agree_on_a_step(void** state) {
  (void)state;
  for (int mix = 0; mix < 64; mix++) {
    cpl_context* ctx = cpl_context_create(NULL);
    fake f[4] = {0};
    static const char* const names[] = {"a", "b", "c", "d"};
    cpl_master_part parts[4];
    int legacy = mix % 4;  // the only one
    for (int i = 0; i < 4; i++) {
      bool rolls_back = i != legacy && (mix >> 2 & 1) == (i & 1);
      parts[i].plain_names = false, parts[i].step = 0;
      parts[i].stepper =
          fake_make(&f[i], ctx, names[i], 0, 0, rolls_back || (i != legacy && mix & 8),
                    i != legacy && !rolls_back);
      f[i].u = i + 1;
      if (i != legacy && mix >> 4 & 1) f[i].longest = 0.03 * (i + 2);
      if (i == legacy && mix >> 5 & 1) f[i].stops[f[i].n_stops++] = 0.07;
      if (i != legacy && mix >> 5 & 1) f[i].stops[f[i].n_stops++] = 0.011 * (i + 1);
    }
    cpl_master_def def = cpl_default_master_def();
    def.name = "mix", def.parts = parts, def.n_parts = 4, def.strict = true;
    cpl_stepper* m = NULL;
    CHECK_OK(ctx, cpl_master(ctx, &def, &m));
    start(ctx, m, 1);
    double t = 0;
    int stops = 0;
    for (int steps = 0; t < 0.3 && steps < 100; steps++) {
      cpl_step_result r = step_to(ctx, m, 0.3);
      stops += r.end == CPL_STEP_EVENT;
      CHECK(r.time > t || r.event_handled);
      t = r.time;
      for (int i = 0; i < 4; i++) {
        CHECK(f[i].t == t);  // all are at the same point, at the very double
        CHECK_NEAR(f[i].x, t * (i + 1), 1e-12);
      }
    }
    CHECK(t == 0.3);
    CHECK_INT(stops, mix >> 5 & 1 ? 4 : 0);  // every event of every part, none twice
    destroy(m);
    cpl_context_destroy(ctx);
  }
}

static cpl_status run_pair(fake* a, fake* b, cpl_context* ctx, const cpl_master_def* settings) {
  cpl_master_part parts[] = {{.stepper = &a->base}, {.stepper = &b->base}};
  cpl_master_def def = *settings;
  def.name = "pair", def.parts = parts, def.n_parts = 2;
  cpl_stepper* m = NULL;
  cpl_step_result r;
  cpl_status st = cpl_master(ctx, &def, &m);
  if (st < 0) return st;
  start(ctx, m, 1);
  st = m->ops->step(m, 0.5, 0.5, &r);
  destroy(m);
  return st;
}

static void broken_promises_are_named(void** state) {
  (void)state;
  cpl_context* ctx = cpl_context_create(NULL);
  cpl_master_def def = cpl_default_master_def();
  // says it accepts more than it does
  fake a = {0}, b = {0};
  fake_make(&a, ctx, "a", 0, 0, false, true), fake_make(&b, ctx, "b", 0, 0, true, false);
  a.stops[a.n_stops++] = 0.2, a.lies = 0.1;
  CHECK(run_pair(&a, &b, ctx, &def) == CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "a: the step from t=0 to t=0.3");
  CHECK_CONTAINS(cpl_context_error(ctx), "predicted");
  // refuses and cannot go back
  a = b = (fake){0};
  fake_make(&a, ctx, "a", 0, 0, false, false), fake_make(&b, ctx, "b", 0, 0, true, false);
  a.longest = 0.1;
  CHECK(run_pair(&a, &b, ctx, &def) == CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "a: ");
  CHECK_CONTAINS(cpl_context_error(ctx), "cannot be rolled back");
  CHECK_CONTAINS(cpl_context_error(ctx), "t=0.1");
  // refuses without saying how far it came: halved until it fits
  a = b = (fake){0};
  fake_make(&a, ctx, "a", 0, 0, true, false), fake_make(&b, ctx, "b", 0, 0, true, false);
  a.longest = 0.1, a.silent = true;
  CHECK_OK(ctx, run_pair(&a, &b, ctx, &def));
  CHECK(a.t == 0.5 && b.t == 0.5);
  // two that can do nothing: refused when strict; else the first rejection ends the run
  a = b = (fake){0};
  fake_make(&a, ctx, "a", 0, 0, false, false), fake_make(&b, ctx, "b", 0, 0, false, false);
  def.strict = true;
  CHECK(run_pair(&a, &b, ctx, &def) == CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "a, b");
  def.strict = false;
  CHECK_OK(ctx, run_pair(&a, &b, ctx, &def));
  b.t = 0, b.stops[b.n_stops++] = 0.3;
  CHECK(run_pair(&a, &b, ctx, &def) == CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "b stopped at t=0.3");
  cpl_context_destroy(ctx);
}

//------------------------------------ two masses ------------------------------------

// A mass on a spring to the wall: x' = v, v' = (-k x + u) / m.
static int mass_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -v->x[0] + v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration mass_states[] = {
    {"x", .start = 1, .output = true}, {"v", .output = true}, END_OF_LIST};
static const cpl_declaration mass_inputs[] = {{.name = "F"}, END_OF_LIST};
static const cpl_model_def mass_model = {
    .name = "mass", .states = mass_states, .inputs = mass_inputs, .derivatives = mass_derivatives};

// The other one feels the displacement of the first through a spring and gives the force:
// x' = v, v' = -x - k (x - s), F = k (x - s).
static int other_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -v->x[0] - v->p[0] * (v->x[0] - v->u[0]);
  return CPL_MODEL_OK;
}
static int other_outputs(const cpl_values* v, double* y) {
  y[0] = v->p[0] * (v->x[0] - v->u[0]);
  return CPL_MODEL_OK;
}
static const cpl_declaration other_states[] = {
    {"x", .output = true}, {"v", .output = true}, END_OF_LIST};
static const cpl_declaration other_inputs[] = {{.name = "s"}, END_OF_LIST};
static const cpl_declaration other_output_list[] = {{.name = "F"}, END_OF_LIST};
static const cpl_declaration other_parameters[] = {{"k", .start = 4}, END_OF_LIST};
static const cpl_model_def other_model = {.name = "other",
                                          .states = other_states,
                                          .inputs = other_inputs,
                                          .outputs = other_output_list,
                                          .parameters = other_parameters,
                                          .derivatives = other_derivatives,
                                          .output_values = other_outputs};

static cpl_stepper* integrated(cpl_context* ctx, cpl_source* source, const char* name) {
  cpl_model* model = NULL;
  cpl_stepper* s = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  def.rtol = def.atol = 1e-10;
  def.restart_each_step = true;
  CHECK_OK(ctx, source->ops->make_model(source, name, &model));
  CHECK_OK(ctx, cpl_integrate(model, &def, &s));
  return s;
}

// The sum moves with 1, the difference with sqrt(1 + 2 k).
static double exact(double t) { return 0.5 * cos(t) + 0.5 * cos(3 * t); }

static double oscillator_error(cpl_master_algorithm algorithm, int order, double h,
                               double tolerance, const cpl_master_bond* bond,
                               cpl_step_estimate estimate, int64_t* steps) {
  cpl_context* ctx = cpl_context_create(NULL);
  cpl_source *mass = NULL, *other = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &mass_model, &mass));
  CHECK_OK(ctx, cpl_c_define(ctx, &other_model, &other));
  cpl_master_part parts[] = {{.stepper = integrated(ctx, mass, "left")},
                             {.stepper = integrated(ctx, other, "right")}};
  const cpl_description *l = parts[0].stepper->base.desc, *r = parts[1].stepper->base.desc;
  cpl_master_link links[] = {{0, cpl_find_variable(l, "x"), 1, cpl_find_variable(r, "s"), 0, 0},
                             {1, cpl_find_variable(r, "F"), 0, cpl_find_variable(l, "F"), 0, 0}};
  cpl_master_def def = cpl_default_master_def();
  def.name = "masses", def.parts = parts, def.n_parts = 2, def.links = links, def.n_links = 2;
  def.algorithm = algorithm, def.order = order, def.tolerance = tolerance, def.estimate = estimate;
  cpl_master_bond own = {0, cpl_find_variable(l, "F"), 1, cpl_find_variable(r, "s")};
  if (bond != NULL) def.bonds = &own, def.n_bonds = 1;
  def.step = tolerance > 0 ? 0.1 : h;
  cpl_stepper* m = NULL;
  CHECK_OK(ctx, cpl_master(ctx, &def, &m));
  start(ctx, m, 2);
  double worst = 0;
  for (int i = 1; i <= 20; i++) {
    step_to(ctx, m, i * 0.1);
    worst = fmax(worst, fabs(value(ctx, m, "left.x") - exact(i * 0.1)));
  }
  if (steps != NULL) *steps = (int64_t)cpl_component_counter(&m->base, "communication_steps");
  destroy(m);
  mass->ops->destroy(mass);
  other->ops->destroy(other);
  cpl_context_destroy(ctx);
  return worst;
}

static double error_of(cpl_master_algorithm algorithm, int order, double h) {
  return oscillator_error(algorithm, order, h, 0, NULL, CPL_ESTIMATE_PREDICTOR, NULL);
}

// Halving the step divides the error by 2^order.
static void check_order(cpl_master_algorithm algorithm, int order, double expected) {
  double coarse = error_of(algorithm, order, 0.01), fine = error_of(algorithm, order, 0.005);
  double seen = log2(coarse / fine);
  print_message("  %-12s order %d: error %.2e, order of convergence %.2f\n",
                cpl_master_algorithm_name(algorithm), order, fine, seen);
  CHECK_NEAR(seen, expected, 0.25);
}

static void orders_of_convergence(void** state) {
  (void)state;
  check_order(CPL_MASTER_DETERMINATE, 0, 1);
  check_order(CPL_MASTER_JACOBI, 0, 1);
  check_order(CPL_MASTER_JACOBI, 1, 2);
  check_order(CPL_MASTER_JACOBI, 2, 3);
  check_order(CPL_MASTER_GAUSS_SEIDEL, 0, 1);
  check_order(CPL_MASTER_ITERATIVE, 1, 2);
  double jacobi = error_of(CPL_MASTER_JACOBI, 0, 1e-3),
         same = error_of(CPL_MASTER_DETERMINATE, 0, 1e-3);
  double iterative = error_of(CPL_MASTER_ITERATIVE, 1, 1e-3);
  print_message("  h = 1e-3: jacobi %.2e, determinate %.2e, iterative %.2e\n", jacobi, same,
                iterative);
  CHECK_NEAR(same, jacobi, 1e-3 * jacobi);
  CHECK(iterative < jacobi / 100);
}

static void steps_follow_the_tolerance(void** state) {
  (void)state;
  static const cpl_step_estimate kinds[] = {CPL_ESTIMATE_PREDICTOR, CPL_ESTIMATE_RICHARDSON,
                                            CPL_ESTIMATE_ENERGY};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    double last = INFINITY;
    int64_t last_steps = 0;
    // Richardson sees the local error of a step, which is smaller than the change of an input
    double first = kinds[i] == CPL_ESTIMATE_RICHARDSON ? 1e-4 : 1e-2;
    for (double tolerance = first; tolerance > first / 1e3; tolerance /= 10) {
      int64_t steps = 0;
      cpl_master_bond bond;
      double error =
          oscillator_error(CPL_MASTER_DETERMINATE, 1, 0, tolerance, &bond, kinds[i], &steps);
      print_message("  estimate %d, tolerance %.0e: error %.2e in %lld steps\n", (int)kinds[i],
                    tolerance, error, (long long)steps);
      CHECK(error < last && steps > last_steps);
      last = error, last_steps = steps;
    }
    CHECK(last < 1e-3);
  }
}

static int warnings;

static void count_warnings(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user, (void)who;
  warnings += level == CPL_LOG_WARNING && strstr(text, "a is not rolled back") != NULL;
}

static cpl_status save_while_interrupted(cpl_component* c, cpl_snapshot* s) {
  (void)s;
  cpl_context_cancel(c->ctx);
  return cpl_fail(c->ctx, CPL_ERR_CANCELLED, "%s: interrupted", c->name);
}

static cpl_status save_badly(cpl_component* c, cpl_snapshot* s) {
  (void)s;
  return cpl_fail(c->ctx, CPL_ERR_MODEL, "%s: no room", c->name);
}

// A part whose state cannot be saved loses its rollback, with a warning. One that is interrupted
// while it saves its state does not.
static void an_interruption_is_no_lost_ability(void** state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    cpl_context_def logs = cpl_default_context_def();
    logs.log = count_warnings;
    cpl_context* ctx = cpl_context_create(&logs);
    cpl_master_def def = cpl_default_master_def();
    fake a = {0}, b = {0};
    fake_make(&a, ctx, "a", 0, 0, true, false), fake_make(&b, ctx, "b", 0, 0, true, false);
    a.ops.save = i == 0 ? save_badly : save_while_interrupted;
    b.longest = 1;
    warnings = 0;
    CHECK_INT(run_pair(&a, &b, ctx, &def), i == 0 ? CPL_OK : CPL_ERR_CANCELLED);
    CHECK_INT(warnings, i == 0 ? 1 : 0);
    cpl_context_destroy(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_are_solved),
      cmocka_unit_test(chains_do_not_lag),
      cmocka_unit_test(all_agree_on_a_step),
      cmocka_unit_test(broken_promises_are_named),
      cmocka_unit_test(orders_of_convergence),
      cmocka_unit_test(steps_follow_the_tolerance),
      cmocka_unit_test(an_interruption_is_no_lost_ability),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
