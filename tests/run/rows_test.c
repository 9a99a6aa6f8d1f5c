// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A row of a co-simulation has the values of its time, wherever communication points are. Fakes
// have x' = u with u constant, so that x is exactly known.
#include "master/fake.h"
#include "master/merged.h"
#include "models.h"
#include "solver/independent.h"

enum { MAX_ROWS = 400, COLUMNS = 4 };

typedef struct rows {
  size_t n, columns;
  double t[MAX_ROWS], value[MAX_ROWS][COLUMNS];
} rows;

static cpl_status count_columns(void* user, const cpl_column* columns, size_t n) {
  (void)columns;
  ((rows*)user)->columns = n;
  return CPL_OK;
}

static cpl_status keep_row(void* user, double t, const cpl_value* values) {
  rows* r = user;
  assert_true(r->n < MAX_ROWS && r->columns <= COLUMNS);
  r->t[r->n] = t;
  for (size_t i = 0; i < r->columns; i++) r->value[r->n][i] = values[i].real;
  r->n++;
  return CPL_OK;
}

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

static void run(cpl_stepper* s, double stop, double step, double interval,
                const char* const* record, size_t n, rows* out) {
  *out = (rows){0};
  cpl_run_def def = cpl_default_run_def();
  def.stop_time = stop, def.step = step, def.interval = interval;
  def.record = record, def.n_record = n;
  def.on_columns = count_columns, def.on_point = keep_row, def.user = out;
  CHECK_OK(s->base.ctx, cpl_run(s, &def, NULL));
}

static cpl_stepper* ramp(fake* f, cpl_context* ctx, const char* name, double slope, bool varies) {
  *f = (fake){.u = slope};
  fake_make(f, ctx, name, 0, 0, true, false);
  f->base.base.can.variable_step = varies;
  return &f->base;
}

//------------------------------------ one stepper ------------------------------------

enum { X = 1 };  // its column, behind y

static void output_points_are_communication_points_where_the_step_varies(void** state) {
  (void)state;
  cpl_context* ctx = logging_context();
  rows got;
  fake f;
  run(ramp(&f, ctx, "f", 1.5, true), 0.26, 0.04, 0.025, NULL, 0, &got);
  CHECK_INT(got.n, 12);
  for (size_t i = 0; i < got.n; i++) CHECK_NEAR(got.value[i][X], 1.5 * got.t[i], 1e-15);
  CHECK_STR(logged, "");
  CHECK_INT(f.steps, 16);  // 7 points of one grid and 11 of the other, two of which are the same
  cpl_context_destroy(ctx);
}

static void steps_that_cannot_vary_are_interpolated(void** state) {
  (void)state;
  cpl_context* ctx = logging_context();
  rows got;
  fake f;
  run(ramp(&f, ctx, "f", 1.5, false), 0.24, 0.04, 0.025, NULL, 0, &got);
  CHECK_INT(got.n, 11);
  for (size_t i = 0; i < got.n; i++) CHECK_NEAR(got.value[i][X], 1.5 * got.t[i], 1e-15);
  CHECK_INT(f.steps, 6);
  // many rows in one step
  run(ramp(&f, ctx, "f", -2, false), 0.3, 0.15, 0.001, NULL, 0, &got);
  CHECK_INT(got.n, 301);
  for (size_t i = 0; i < got.n; i++) CHECK_NEAR(got.value[i][X], -2 * got.t[i], 1e-15);
  CHECK_INT(f.steps, 2);
  CHECK_STR(logged, "");
  cpl_context_destroy(ctx);
}

static void discrete_values_are_those_of_the_last_communication_point(void** state) {
  (void)state;
  cpl_context* ctx = logging_context();
  rows got;
  fake f;
  ramp(&f, ctx, "f", 3, false);
  f.vars[2].variability = CPL_VARIABILITY_DISCRETE;
  run(&f.base, 0.28, 0.07, 0.02, NULL, 0, &got);
  for (size_t i = 0; i < got.n; i++)
    CHECK_NEAR(got.value[i][X], 3 * 0.07 * floor(got.t[i] / 0.07 + 1e-9), 1e-14);
  cpl_context_destroy(ctx);
}

// No step is shortened, so the last rows cannot be known: that is said.
static void rows_beyond_the_last_point_are_reported(void** state) {
  (void)state;
  cpl_context* ctx = logging_context();
  rows got;
  fake f;
  run(ramp(&f, ctx, "slow", 1, false), 0.5, 0.2, 0.05, NULL, 0, &got);
  CHECK_INT(f.steps, 2);
  CHECK_INT(got.n, 11);
  for (size_t i = 0; i < got.n; i++) CHECK_NEAR(got.value[i][X], fmin(got.t[i], 0.4), 1e-15);
  CHECK_CONTAINS(logged, "slow: 2 rows at the end show values of t=0.4");
  cpl_context_destroy(ctx);
}

//------------------------------------ masters ------------------------------------

// Parts: one that follows the master, one with a step of its own, one whose step cannot vary.
static cpl_stepper* master_of_three(cpl_context* ctx, const char* name, cpl_master_algorithm how,
                                    fake* f) {
  cpl_master_part parts[] = {{.stepper = ramp(&f[0], ctx, "any", 1, true)},
                             {.stepper = ramp(&f[1], ctx, "own", 2, true), .step = 0.06},
                             {.stepper = ramp(&f[2], ctx, "stiff", -3, false), .step = 0.1}};
  cpl_master_def def = cpl_default_master_def();
  cpl_stepper* s = NULL;
  def.name = name;
  def.algorithm = how;
  def.step = 0.02;
  def.parts = parts;
  def.n_parts = 3;
  CHECK_OK(ctx, cpl_master(ctx, &def, &s));
  return s;
}

static void parts_with_points_of_their_own_are_interpolated(void** state) {
  (void)state;
  static const char* const record[] = {"any.x", "own.x", "stiff.x"};
  for (int how = CPL_MASTER_DETERMINATE; how <= CPL_MASTER_ITERATIVE; how++) {
    cpl_context* ctx = logging_context();
    rows got;
    fake f[3];
    cpl_stepper* s = master_of_three(ctx, "m", (cpl_master_algorithm)how, f);
    run(s, 0.6, 0, 0.013, record, 3, &got);
    CHECK_INT(got.n, 48);
    for (size_t i = 0; i < got.n; i++) {
      CHECK_NEAR(got.value[i][0], got.t[i], 1e-14);
      CHECK_NEAR(got.value[i][1], 2 * got.t[i], 1e-14);
      CHECK_NEAR(got.value[i][2], -3 * got.t[i], 1e-14);
    }
    CHECK_INT(f[1].steps, 10);
    CHECK_INT(f[2].steps, 6);
    CHECK_STR(logged, "");
    s->base.ops->destroy(&s->base);
    cpl_context_destroy(ctx);
  }
}

static void masters_inside_of_masters_too(void** state) {
  (void)state;
  static const char* const record[] = {"m.any.x", "m.own.x", "m.stiff.x", "z.x"};
  cpl_context* ctx = logging_context();
  rows got;
  fake f[3], last;
  cpl_master_part parts[] = {
      {.stepper = master_of_three(ctx, "m", CPL_MASTER_DETERMINATE, f), .step = 0.04},
      {.stepper = ramp(&last, ctx, "z", 5, true)}};
  cpl_master_def def = cpl_default_master_def();
  cpl_stepper* s = NULL;
  def.name = "outer";
  def.step = 0.01;
  def.parts = parts;
  def.n_parts = 2;
  CHECK_OK(ctx, cpl_master(ctx, &def, &s));
  run(s, 0.6, 0, 0.017, record, 4, &got);
  static const double slope[] = {1, 2, -3, 5};
  for (size_t i = 0; i < got.n; i++) {
    for (size_t k = 0; k < 4; k++) CHECK_NEAR(got.value[i][k], slope[k] * got.t[i], 1e-13);
  }
  s->base.ops->destroy(&s->base);
  cpl_context_destroy(ctx);
}

//------------------------------------ beside a model with events
//------------------------------------

static void rows_at_events_of_others_too(void** state) {
  (void)state;
  static const char* const record[] = {"ball.h", "f.x"};
  cpl_context* ctx = logging_context();
  rows got;
  fake f;
  cpl_source* source = NULL;
  cpl_model* model = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  cpl_stepper* parts[2] = {NULL, ramp(&f, ctx, "f", 7, true)};
  CHECK_OK(ctx, cpl_c_define(ctx, &ball_model, &source));
  CHECK_OK(ctx, source->ops->make_model(source, "ball", &model));
  CHECK_OK(ctx, cpl_integrate(model, &solver, &parts[0]));
  cpli_merge_part of[2] = {{"ball", parts[0]->base.desc, false}, {"f", &f.desc, false}};
  cpli_shared_desc* merged = NULL;
  cpl_stepper* s = NULL;
  CHECK_OK(ctx, cpli_merge(ctx, "both", of, 2, NULL, 0, &merged));
  cpli_independent_def both = {.name = "both", .steppers = parts, .n = 2, .desc = merged};
  CHECK_OK(ctx, cpli_independent(ctx, &both, &s));
  cpli_shared_desc_release(merged);
  run(s, 1.5, 0, 0.19, record, 2, &got);
  size_t events = 0;
  for (size_t i = 0; i < got.n; i++) {
    CHECK_NEAR(got.value[i][1], 7 * got.t[i], 1e-13);
    events += i > 0 && got.t[i] == got.t[i - 1];
  }
  CHECK(events >= 2);
  s->base.ops->destroy(&s->base);
  source->ops->destroy(source);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(output_points_are_communication_points_where_the_step_varies),
      cmocka_unit_test(steps_that_cannot_vary_are_interpolated),
      cmocka_unit_test(discrete_values_are_those_of_the_last_communication_point),
      cmocka_unit_test(rows_beyond_the_last_point_are_reported),
      cmocka_unit_test(parts_with_points_of_their_own_are_interpolated),
      cmocka_unit_test(masters_inside_of_masters_too),
      cmocka_unit_test(rows_at_events_of_others_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
