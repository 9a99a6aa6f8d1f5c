// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A run in pieces: the rows of cpl_run(), values by name, inputs that are set on the way, saved
// states; against analytic solutions.
#include <math.h>

#include "couplet/couplet.h"
#include "testing.h"

// x' = u - k x, from x(0) = x0; `high` counts how often u rose above 1
static int derivatives(const cpl_values* v, double* dx) {
  if (v->u[0] < 0) return cpl_model_error(v, "the inflow is negative");
  dx[0] = v->u[0] - v->p[0] * v->x[0];
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->u[0] - 1;
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] > 0) a->w[0] = v->w[0] + 1;
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 2, .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {{"k", .start = 0.5}, {0}};
static const cpl_declaration discrete[] = {{"high", .type = CPL_INTEGER, .output = true}, {0}};
static const cpl_string_declaration strings[] = {{"label", .start = "tank"}, {0}};
static const cpl_model_def tank = {.name = "tank",
                                   .states = states,
                                   .inputs = inputs,
                                   .parameters = parameters,
                                   .discrete = discrete,
                                   .strings = strings,
                                   .n_indicators = 1,
                                   .derivatives = derivatives,
                                   .indicators = indicators,
                                   .event = event};

typedef struct fixture {
  cpl_context* ctx;
  cpl_source* source;
  cpl_stepper* stepper;
  cpl_simulation* sim;
  cpl_run_def run;
} fixture;

static fixture make_fixture(cpl_context* ctx, bool steps) {
  fixture f = {.ctx = ctx, .run = cpl_default_run_def()};
  cpl_model* model = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  solver.rtol = solver.atol = 1e-10;
  solver.restart_each_step = steps;
  f.run.stop_time = 4, f.run.interval = 0.5;
  CHECK_OK(ctx, cpl_c_define(ctx, &tank, &f.source));
  CHECK_OK(ctx, cpl_source_make_model(f.source, "tank", &model));
  CHECK_OK(ctx, cpl_integrate(model, &solver, &f.stepper));
  CHECK_OK(ctx, cpl_simulation_create(f.stepper, &f.run, &f.sim));
  return f;
}

static void end(fixture* f) {
  CHECK_OK(f->ctx, cpl_simulation_finish(f->sim, NULL));
  cpl_simulation_destroy(f->sim);
  cpl_stepper_destroy(f->stepper);
  cpl_source_destroy(f->source);
}

static double value(fixture* f, const char* name) {
  double v = NAN;
  CHECK_OK(f->ctx, cpl_simulation_get(f->sim, name, &v));
  return v;
}

static void rows_are_those_of_a_run(void** state) {
  cpl_context* ctx = *state;
  fixture f = make_fixture(ctx, false), g = make_fixture(ctx, false);
  const cpl_table *one, *many;
  CHECK_OK(ctx, cpl_simulation_start(f.sim));
  CHECK_OK(ctx, cpl_simulation_advance(f.sim, INFINITY));
  CHECK_NEAR(cpl_simulation_time(f.sim), 4, 0);
  CHECK_OK(ctx, cpl_simulation_start(g.sim));
  for (int i = 1; i <= 8; i++) CHECK_OK(ctx, cpl_simulation_advance(g.sim, 0.5 * i));
  CHECK_OK(ctx, cpl_simulation_table(f.sim, &one));
  CHECK_OK(ctx, cpl_simulation_table(g.sim, &many));
  CHECK_INT(one->n_rows, 9);
  CHECK_INT(many->n_rows, 9);
  CHECK_INT(one->n_columns, 2);  // without the String
  size_t x = (size_t)cpl_table_find(one, "x");
  for (size_t i = 0; i < 9; i++) {
    CHECK(one->values[x * 9 + i] == many->values[x * 9 + i]);
    CHECK_NEAR(one->values[x * 9 + i], 2 * exp(-0.25 * (double)i), 1e-8);
  }
  end(&f);
  end(&g);
}

// u = 0 up to 1, then 3: x = 6 + (2 exp(-0.5) - 6) exp(-0.5 (t - 1))
static void inputs_are_set_on_the_way(void** state) {
  for (int steps = 0; steps < 2; steps++) {
    fixture f = make_fixture(*state, steps);
    const cpl_table* t;
    const char* label;
    CHECK_OK(f.ctx, cpl_simulation_start(f.sim));
    CHECK_OK(f.ctx, cpl_simulation_get_text(f.sim, "label", &label));
    CHECK_STR(label, "tank");
    CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 0.75));  // is an output point, too
    CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 1));
    CHECK_OK(f.ctx, cpl_simulation_set(f.sim, "u", 3));
    CHECK_NEAR(value(&f, "u"), 3, 0);
    CHECK_NEAR(value(&f, "high"), 1, 0);  // the event took place
    CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 4));
    CHECK_NEAR(value(&f, "x"), 6 + (2 * exp(-0.5) - 6) * exp(-1.5), 1e-7);
    CHECK_OK(f.ctx, cpl_simulation_table(f.sim, &t));
    size_t at = 0;
    while (t->time[at] < 1) at++;
    CHECK_INT(at, 3);
    CHECK(t->time[at] == 1 && t->time[at + 1] == 1 && t->time[at + 2] > 1);  // both sides
    CHECK_INT(t->n_rows, 9 + 2);
    end(&f);
  }
}

static void a_saved_state_is_returned_to(void** state) {
  fixture f = make_fixture(*state, true);
  cpl_snapshot snapshot = {0};
  const cpl_table* t;
  CHECK_OK(f.ctx, cpl_simulation_start(f.sim));
  CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 1));
  CHECK_OK(f.ctx, cpl_simulation_save(f.sim, &snapshot));
  double after[3];
  static const double u[] = {0, 0.9, 0};
  for (int i = 0; i < 3; i++) {
    CHECK_OK(f.ctx, cpl_simulation_set(f.sim, "u", u[i]));
    CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 3));
    after[i] = value(&f, "x");
    CHECK_NEAR(after[i], 2 * u[i] + (2 * exp(-0.5) - 2 * u[i]) * exp(-1), 1e-7);
    CHECK_OK(f.ctx, cpl_simulation_restore(f.sim, &snapshot));
    CHECK_NEAR(cpl_simulation_time(f.sim), 1, 0);
  }
  CHECK(after[0] == after[2]);
  CHECK_OK(f.ctx, cpl_simulation_set(f.sim, "x", 1));
  CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 3));
  CHECK_NEAR(value(&f, "x"), exp(-1), 1e-7);
  CHECK_OK(f.ctx, cpl_simulation_table(f.sim, &t));
  for (size_t i = 1; i < t->n_rows; i++) CHECK(t->time[i] >= t->time[i - 1]);
  cpl_simulation_forget(f.sim, &snapshot);
  end(&f);
}

static void start_values_and_refusals(void** state) {
  fixture f = make_fixture(*state, false);
  double x;
  CHECK_INT(cpl_simulation_advance(f.sim, 1), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(f.ctx), "has not been started");
  CHECK_OK(f.ctx, cpl_simulation_set(f.sim, "x", 5));
  CHECK_OK(f.ctx, cpl_simulation_set_text(f.sim, "k", "0.25"));
  CHECK_OK(f.ctx, cpl_simulation_start(f.sim));
  CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 2));
  CHECK_NEAR(value(&f, "x"), 5 * exp(-0.5), 1e-8);
  CHECK_INT(cpl_simulation_set(f.sim, "k", 1), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(f.ctx), "cannot be set during a run");
  CHECK_INT(cpl_simulation_get(f.sim, "y", &x), CPL_ERR_INPUT);
  CHECK_INT(cpl_simulation_get(f.sim, "label", &x), CPL_ERR_INPUT);
  CHECK_INT(cpl_simulation_advance(f.sim, 1), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(f.ctx), "later time");
  CHECK_INT(cpl_simulation_start(f.sim), CPL_ERR_INPUT);
  cpl_snapshot snapshot = {0};
  CHECK_INT(cpl_simulation_save(f.sim, &snapshot), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(f.ctx), "cannot be saved");
  CHECK_INT(cpl_simulation_restore(f.sim, &snapshot), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(f.ctx), "no saved state");
  end(&f);
}

static void rows_before_a_failure_are_kept(void** state) {
  fixture f = make_fixture(*state, true);
  const cpl_table* t;
  CHECK_INT(cpl_simulation_finish(f.sim, NULL), CPL_ERR_INPUT);
  CHECK_INT(cpl_simulation_table(f.sim, &t), CPL_ERR_INPUT);
  CHECK_OK(f.ctx, cpl_simulation_start(f.sim));
  CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 1));
  CHECK_OK(f.ctx, cpl_simulation_set(f.sim, "u", -1));
  CHECK_INT(cpl_simulation_advance(f.sim, 2), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(f.ctx), "the inflow is negative");
  CHECK_OK(f.ctx, cpl_simulation_table(f.sim, &t));
  CHECK(t->n_rows >= 3 && t->time[2] == 1);
  CHECK_INT(cpl_simulation_advance(f.sim, 3), CPL_ERR_INPUT);
  CHECK_INT(cpl_simulation_finish(f.sim, NULL), CPL_ERR_MODEL);
  cpl_simulation_destroy(f.sim);
  cpl_stepper_destroy(f.stepper);
  cpl_source_destroy(f.source);
}

static void count_progress(void* user, double t) {
  (void)t;
  ++*(int*)user;
}

static void callbacks_stay_when_rows_are_kept(void** state) {
  fixture f = make_fixture(*state, false);
  int calls = 0;
  cpl_simulation_destroy(f.sim);
  f.run.on_progress = count_progress;
  f.run.user = &calls;
  CHECK_OK(f.ctx, cpl_simulation_create(f.stepper, &f.run, &f.sim));
  CHECK_OK(f.ctx, cpl_simulation_start(f.sim));
  CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 2));
  CHECK(calls >= 4);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_those_of_a_run),
      cmocka_unit_test(inputs_are_set_on_the_way),
      cmocka_unit_test(a_saved_state_is_returned_to),
      cmocka_unit_test(start_values_and_refusals),
      cmocka_unit_test(rows_before_a_failure_are_kept),
      cmocka_unit_test(callbacks_stay_when_rows_are_kept),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
