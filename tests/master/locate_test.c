// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Conditions over values of steppers are found where they change, not where values are handed over.
// The fakes' values are straight lines, so that the times are known.
#include "couplet/component.h"
#include "master/fake.h"
#include "models.h"

// Notes when a b exceeds its limit, and when it falls below it again.
static int detector_derivatives(const cpl_values* v, double* dx) {
  (void)v;
  dx[0] = dx[1] = 0;
  return CPL_MODEL_OK;
}
static int detector_indicators(const cpl_values* v, double* z) {
  z[0] = v->u[0] * v->u[1] - v->p[0];
  return CPL_MODEL_OK;
}
static int detector_event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] > 0) a->x[0] = v->t;
  if (a->crossed[0] < 0) a->x[1] = v->t;
  return CPL_MODEL_OK;
}
static const cpl_declaration detector_states[] = {{"up", .start = -1}, {"down", .start = -1}, {0}};
static const cpl_declaration detector_inputs[] = {{"a"}, {"b"}, {0}};
static const cpl_declaration detector_parameters[] = {{"limit", .start = 0.7}, {0}};
static const cpl_model_def detector = {.name = "detector",
                                       .states = detector_states,
                                       .inputs = detector_inputs,
                                       .parameters = detector_parameters,
                                       .n_indicators = 1,
                                       .derivatives = detector_derivatives,
                                       .indicators = detector_indicators,
                                       .event = detector_event};

static char logged[4000];

static void keep_log(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user, (void)level;
  size_t used = strlen(logged);
  snprintf(logged + used, sizeof logged - used, "%s: %s\n", who, text);
}

static cpl_context* logging_context(void) {
  cpl_context_def def = cpl_default_context_def();
  def.log = keep_log;
  logged[0] = '\0';
  return cpl_context_create(&def);
}

typedef struct rig {
  cpl_context* ctx;
  cpl_source* source;
  fake a, b;
  cpl_stepper* master;
} rig;

static cpl_stepper* detector_stepper(rig* r, cpl_source** source) {
  cpl_model* model = NULL;
  cpl_stepper* s = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  solver.restart_each_step = true;
  CHECK_OK(r->ctx, cpl_c_define(r->ctx, &detector, source));
  CHECK_OK(r->ctx, (*source)->ops->make_model(*source, "d", &model));
  CHECK_OK(r->ctx, cpl_integrate(model, &solver, &s));
  return s;
}

// a = slope t + start, b = 1 t + offset
static void make_sources(rig* r, double slope, double start, double offset, bool rolls_back) {
  r->ctx = logging_context();
  r->a = (fake){.u = slope, .x = start};
  r->b = (fake){.u = 1, .x = offset};
  fake_make(&r->a, r->ctx, "a", 0, 0, rolls_back, false);
  fake_make(&r->b, r->ctx, "b", 0, 0, rolls_back, false);
}

static void make_master(rig* r, cpl_master_def* def) {
  cpl_master_part parts[] = {{.stepper = &r->a.base},
                             {.stepper = &r->b.base},
                             {.stepper = detector_stepper(r, &r->source)}};
  cpl_master_link links[] = {
      {.source_part = 0, .source_var = 2, .target_part = 2, .factor = 1},
      {.source_part = 1, .source_var = 2, .target_part = 2, .target_var = 1, .factor = 1}};
  const cpl_description* d = parts[2].stepper->base.desc;
  for (int k = 0; k < 2; k++) links[k].target_var = cpl_find_variable(d, k == 0 ? "a" : "b");
  def->name = "m";
  def->parts = parts;
  def->n_parts = 3;
  def->links = links;
  def->n_links = 2;
  CHECK_OK(r->ctx, cpl_master(r->ctx, def, &r->master));
}

static void run_to(cpl_stepper* s, double stop) {
  cpl_run_def def = cpl_default_run_def();
  def.stop_time = stop;
  def.interval = stop;
  CHECK_OK(s->base.ctx, cpl_run(s, &def, NULL));
}

static double value_of(cpl_stepper* s, const char* name) {
  int32_t var = cpl_find_variable(s->base.desc, name);
  double value = NAN;
  assert_true(var >= 0);
  CHECK_OK(s->base.ctx, s->base.ops->get_real(&s->base, &s->base.desc->vars[var].ref, 1, &value));
  return value;
}

static void drop(rig* r) {
  r->master->base.ops->destroy(&r->master->base);
  r->source->ops->destroy(r->source);
  cpl_context_destroy(r->ctx);
}

// (1.3 - 0.5 t)(t + 0.2) = 0.7 at both solutions of 0.5 t^2 - 1.2 t + 0.44 = 0
static const double root_up = 1.2 - 0.74833147735478827708,
                    root_down = 1.2 + 0.74833147735478827708;

static void a_condition_over_two_steppers_is_located(void** state) {
  (void)state;
  for (int how = CPL_MASTER_DETERMINATE; how <= CPL_MASTER_ITERATIVE; how++) {
    for (int k = 0; k < 4; k++) {
      rig r;
      make_sources(&r, -0.5, 1.3, 0.2, true);
      cpl_master_def def = cpl_default_master_def();
      def.algorithm = (cpl_master_algorithm)how;
      def.step = 0.3;
      def.order = k == 1 ? 1 : -1;
      if (k >= 2) def.tolerance = 1e-3;
      if (k == 3) def.estimate = CPL_ESTIMATE_RICHARDSON, def.order = 0;
      make_master(&r, &def);
      run_to(r.master, 2.7);
      CHECK_NEAR(value_of(r.master, "d.up"), root_up, 1e-10);
      CHECK_NEAR(value_of(r.master, "d.down"), root_down, 1e-10);
      CHECK_NEAR(value_of(r.master, "a.x"), 1.3 - 0.5 * 2.7, 1e-12);
      if (k == 0) CHECK(cpl_component_counter(&r.master->base, "repeated_steps") < 30);
      CHECK_STR(logged, "");
      drop(&r);
    }
  }
}

// What the master wrote about the first change: between which times it was, and when by estimate.
static void read_report(double* low, double* high, double* estimate) {
  const char* at = strstr(logged, "changed between t=");
  if (at == NULL) fail_msg("no report: %s", logged);
  CHECK_INT(
      sscanf(at, "changed between t=%lf and t=%lf (by interpolation at %lf", low, high, estimate),
      3);
}

// Without a way back the last steps before a change are short ones; where steps cannot vary the
// time is that of the next communication point, with an estimate of when it was.
static void what_cannot_go_back_is_approached(void** state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    rig r;
    double low, high, estimate;
    make_sources(&r, -0.5, 1.3, 0.2, false);
    r.a.base.base.can.variable_step = k == 0;
    cpl_master_def def = cpl_default_master_def();
    def.algorithm = CPL_MASTER_JACOBI;
    def.step = 0.3;
    make_master(&r, &def);
    logged[0] = '\0';
    run_to(r.master, 2.7);
    read_report(&low, &high, &estimate);
    CHECK_CONTAINS(logged, "a condition of d over values of other models changed between");
    CHECK_CONTAINS(logged, k == 0 ? "a cannot be rolled back" : "a can neither be rolled back nor");
    CHECK(strstr(strchr(logged, '\n'), "this warning") == NULL);
    CHECK_NEAR(value_of(r.master, "d.up"), k == 0 ? root_up : 0.6, k == 0 ? 1e-6 : 1e-12);
    CHECK_NEAR(value_of(r.master, "d.down"), k == 0 ? root_down : 2.1, k == 0 ? 1e-6 : 1e-12);
    CHECK(low < root_up && root_up < high && high - low <= (k == 0 ? 1e-4 : 0.3 + 1e-12));
    CHECK_NEAR(estimate, root_up, k == 0 ? 1e-10 : 0.05);
    if (k == 0) CHECK(cpl_component_counter(&r.master->base, "communication_steps") <= 9 + 2 * 12);
    drop(&r);
  }
}

// A body falls with friction: h = 30 + 100 k - 20 k t - 100 k exp(-t / 5), with k = 9.81 / 4.
static double height(double t) {
  double k = 9.81 / 4;
  return 30 + 100 * k - 20 * k * t - 100 * k * exp(-t / 5);
}
static cpl_status fall(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* r) {
  cpl_status st = fake_step(s, t_end, t_limit, r);
  ((fake*)s)->x = height(((fake*)s)->t);
  return st;
}

// The estimate is that of a parabola: its error shrinks with the third power of the step. Where the
// step may vary, the change itself is found to a ten-thousandth of the step.
static void the_estimate_follows_the_step(void** state) {
  (void)state;
  double low = 0, high = 10, errors[3];
  for (int i = 0; i < 100; i++) {
    double middle = (low + high) / 2;
    if (height(middle) > 0.7) low = middle;
    else high = middle;
  }
  double exact = low;
  for (int k = 0; k < 6; k++) {
    rig r;
    make_sources(&r, -0.5, height(0), 0, false);
    r.a.step_ops.step = fall;
    r.b.u = 0, r.b.x = 1;  // the product is the height
    r.a.base.base.can.variable_step = k >= 3;
    cpl_master_def def = cpl_default_master_def();
    def.algorithm = CPL_MASTER_JACOBI;
    def.step = 0.4 / (1 << k % 3);
    make_master(&r, &def);
    logged[0] = '\0';
    run_to(r.master, 4);
    double begin, end, estimate;
    read_report(&begin, &end, &estimate);
    CHECK(begin <= exact && exact <= end);
    if (k < 3) errors[k] = fabs(estimate - exact);
    else CHECK_NEAR(value_of(r.master, "d.down"), exact, 1e-4 * def.step);
    drop(&r);
  }
  CHECK(errors[0] < 2e-3);
  CHECK(errors[1] < errors[0] / 3 && errors[2] < errors[0] / 15);
}

// The detector is a part of a master of its own.
static void conditions_in_a_nested_master_are_located(void** state) {
  (void)state;
  rig r;
  make_sources(&r, -0.5, 1.3, 0.2, true);
  fake other = {.u = 1};
  cpl_stepper *inner = NULL, *other_stepper = NULL;
  other_stepper = fake_make(&other, r.ctx, "z", 0, 0, true, false);
  cpl_master_part inside[] = {{.stepper = detector_stepper(&r, &r.source)},
                              {.stepper = other_stepper}};
  cpl_master_def def = cpl_default_master_def();
  def.name = "n";
  def.parts = inside;
  def.n_parts = 2;
  CHECK_OK(r.ctx, cpl_master(r.ctx, &def, &inner));
  cpl_master_part parts[] = {{.stepper = &r.a.base}, {.stepper = &r.b.base}, {.stepper = inner}};
  cpl_master_link links[2] = {{.source_part = 0, .source_var = 2, .target_part = 2, .factor = 1},
                              {.source_part = 1, .source_var = 2, .target_part = 2, .factor = 1}};
  links[0].target_var = cpl_find_variable(inner->base.desc, "d.a");
  links[1].target_var = cpl_find_variable(inner->base.desc, "d.b");
  def = cpl_default_master_def();
  def.name = "outer";
  def.step = 0.3;
  def.parts = parts;
  def.n_parts = 3;
  def.links = links;
  def.n_links = 2;
  CHECK_OK(r.ctx, cpl_master(r.ctx, &def, &r.master));
  run_to(r.master, 2.7);
  CHECK_NEAR(value_of(r.master, "n.d.up"), root_up, 1e-10);
  CHECK_NEAR(value_of(r.master, "n.d.down"), root_down, 1e-10);
  CHECK_NEAR(value_of(r.master, "n.z.x"), 2.7, 1e-14);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_condition_over_two_steppers_is_located),
      cmocka_unit_test(what_cannot_go_back_is_approached),
      cmocka_unit_test(the_estimate_follows_the_step),
      cmocka_unit_test(conditions_in_a_nested_master_are_located),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
