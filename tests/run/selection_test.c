// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Selections of variables that are read and set in one call, and simulations without a stop time;
// against analytic solutions.
#include <math.h>

#include "couplet/couplet.h"
#include "testing.h"

// x' = a u, y' = -y; n is an Integer input, twice = 2 n
static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] * v->u[0];
  dx[1] = -v->x[1];
  return CPL_MODEL_OK;
}

static int outputs(const cpl_values* v, double* y) {
  y[0] = 2 * v->u[1];
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 1}, {"y", .start = 3}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {"n", .type = CPL_INTEGER}, {0}};
static const cpl_declaration parameters[] = {{"a", .start = 0.25}, {0}};
static const cpl_declaration results[] = {{"twice"}, {0}};
static const cpl_string_declaration strings[] = {{"label", .start = "two"}, {0}};
static const cpl_model_def pair = {.name = "pair",
                                   .states = states,
                                   .inputs = inputs,
                                   .parameters = parameters,
                                   .outputs = results,
                                   .strings = strings,
                                   .derivatives = derivatives,
                                   .output_values = outputs};

typedef struct fixture {
  cpl_context* ctx;
  cpl_source* source;
  cpl_stepper* stepper;
  cpl_simulation* sim;
  cpl_run_def run;
} fixture;

static void open_pair(fixture* f, cpl_context* ctx, double stop) {
  static const cpl_start starts[] = {{"a", "0.5"}, {"y", "4"}};
  cpl_model* model = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  solver.rtol = solver.atol = 1e-10;
  *f = (fixture){.ctx = ctx, .run = cpl_default_run_def()};
  f->run.stop_time = stop;
  f->run.starts = starts;
  f->run.n_starts = 2;
  CHECK_OK(ctx, cpl_c_define(ctx, &pair, &f->source));
  CHECK_OK(ctx, cpl_source_make_model(f->source, "pair", &model));
  CHECK_OK(ctx, cpl_integrate(model, &solver, &f->stepper));
  CHECK_OK(ctx, cpl_simulation_create(f->stepper, &f->run, &f->sim));
}

static void close_pair(fixture* f) {
  cpl_simulation_destroy(f->sim);
  cpl_stepper_destroy(f->stepper);
  cpl_source_destroy(f->source);
}

static void many_values_at_once(void** state) {
  static const char* const read[] = {"twice", "n", "y", "time_constant", "x"};
  static const char* const set[] = {"n", "y", "u"};
  static const char* const mixed[] = {"twice", "n", "y", "x"};
  fixture f;
  cpl_selection *in = NULL, *out = NULL;
  double v[4];
  open_pair(&f, *state, 10);
  CHECK_INT(cpl_selection_create(f.sim, read, 5, &out), CPL_ERR_INPUT);
  CHECK(out == NULL);
  CHECK_STR(cpl_context_last_error(f.ctx)->unknown, "time_constant");
  CHECK_OK(f.ctx, cpl_selection_create(f.sim, mixed, 4, &out));
  CHECK_OK(f.ctx, cpl_selection_create(f.sim, set, 3, &in));
  CHECK_INT(cpl_selection_count(out), 4);
  CHECK_STR(cpl_selection_variable(out, 2)->name, "y");
  CHECK(cpl_selection_variable(out, 4) == NULL);
  CHECK_OK(f.ctx, cpl_simulation_start(f.sim));
  CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 1));
  CHECK_OK(f.ctx, cpl_selection_set(in, (const double[]){7, 2, 6}));
  CHECK_OK(f.ctx, cpl_selection_get(out, v));
  static const double expected[] = {14, 7, 2, 1};
  for (int i = 0; i < 4; i++) CHECK_NEAR(v[i], expected[i], 0);
  CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 3));
  CHECK_OK(f.ctx, cpl_selection_get(out, v));
  CHECK_NEAR(v[2], 2 * exp(-2), 1e-8);
  CHECK_NEAR(v[3], 1 + 0.5 * 6 * 2, 1e-8);
  // an input before a state
  CHECK_OK(f.ctx, cpl_simulation_set(f.sim, "u", 1));
  CHECK_OK(f.ctx, cpl_simulation_set(f.sim, "x", -2));
  CHECK_OK(f.ctx, cpl_simulation_get(f.sim, "x", &v[0]));
  CHECK_NEAR(v[0], -2, 0);
  // none is set when one cannot be set
  CHECK_INT(cpl_selection_set(in, (const double[]){1.5, 1, 1}), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_last_error(f.ctx)->variable, "n");
  CHECK_INT(cpl_selection_set(out, v), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_last_error(f.ctx)->variable, "twice");
  CHECK_OK(f.ctx, cpl_selection_get(out, v));
  CHECK(v[1] == 7);
  CHECK_NEAR(v[2], 2 * exp(-2), 1e-8);
  cpl_selection_destroy(in);
  cpl_selection_destroy(out);
  cpl_selection_destroy(NULL);
  close_pair(&f);
}

static void strings_are_no_numbers(void** state) {
  static const char* const names[] = {"x", "label"};
  fixture f;
  cpl_selection* s = NULL;
  open_pair(&f, *state, 1);
  CHECK_INT(cpl_selection_create(f.sim, names, 2, &s), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_last_error(f.ctx)->variable, "label");
  CHECK_OK(f.ctx, cpl_selection_create(f.sim, names, 0, &s));
  CHECK_OK(f.ctx, cpl_simulation_start(f.sim));
  CHECK_OK(f.ctx, cpl_selection_get(s, NULL));
  CHECK_OK(f.ctx, cpl_selection_set(s, NULL));
  cpl_selection_destroy(s);
  close_pair(&f);
}

// What is set before the start replaces a start value of the definition.
static void later_start_values_count(void** state) {
  static const char* const names[] = {"x", "a"};
  fixture f;
  cpl_selection* s = NULL;
  double v = 0;
  open_pair(&f, *state, 4);
  CHECK_OK(f.ctx, cpl_simulation_set(f.sim, "y", 8));
  CHECK_OK(f.ctx, cpl_selection_create(f.sim, names, 2, &s));
  CHECK_OK(f.ctx, cpl_selection_set(s, (const double[]){5, 3}));
  CHECK_OK(f.ctx, cpl_simulation_set(f.sim, "u", 1));
  CHECK_OK(f.ctx, cpl_simulation_start(f.sim));
  CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 2));
  CHECK_OK(f.ctx, cpl_simulation_get(f.sim, "x", &v));
  CHECK_NEAR(v, 5 + 3 * 2, 1e-8);
  CHECK_OK(f.ctx, cpl_simulation_get(f.sim, "y", &v));
  CHECK_NEAR(v, 8 * exp(-2), 1e-8);
  cpl_selection_destroy(s);
  close_pair(&f);
}

static void without_a_stop_time(void** state) {
  fixture f;
  const cpl_table* t = NULL;
  double v = 0;
  open_pair(&f, *state, INFINITY);
  CHECK_OK(f.ctx, cpl_simulation_start(f.sim));
  for (int i = 1; i <= 40; i++) {
    CHECK_OK(f.ctx, cpl_simulation_set(f.sim, "u", i % 2));
    CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, i));
  }
  CHECK_OK(f.ctx, cpl_simulation_get(f.sim, "x", &v));
  CHECK_NEAR(v, 1 + 0.5 * 20, 1e-7);
  CHECK_OK(f.ctx, cpl_simulation_get(f.sim, "y", &v));
  CHECK_NEAR(v, 4 * exp(-40), 1e-9);
  CHECK_OK(f.ctx, cpl_simulation_table(f.sim, &t));
  CHECK_INT(t->n_rows, 1 + 2 * 40);  // the start; both sides of each change, and the ends
  CHECK_INT(cpl_simulation_advance(f.sim, INFINITY), CPL_ERR_INPUT);
  CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 41));
  CHECK_OK(f.ctx, cpl_simulation_finish(f.sim, NULL));
  close_pair(&f);

  // output points where an interval is given
  open_pair(&f, *state, 1);
  cpl_simulation_destroy(f.sim);
  f.run.stop_time = INFINITY, f.run.interval = 0.25;
  CHECK_INT(cpl_run(f.stepper, &f.run, NULL), CPL_ERR_INPUT);
  CHECK_OK(f.ctx, cpl_simulation_create(f.stepper, &f.run, &f.sim));
  CHECK_OK(f.ctx, cpl_simulation_start(f.sim));
  CHECK_OK(f.ctx, cpl_simulation_advance(f.sim, 3));
  CHECK_OK(f.ctx, cpl_simulation_table(f.sim, &t));
  CHECK_INT(t->n_rows, 13);
  for (size_t i = 0; i < 13; i++) CHECK(t->time[i] == 0.25 * (double)i);
  close_pair(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_values_at_once),
      cmocka_unit_test(strings_are_no_numbers),
      cmocka_unit_test(later_start_values_count),
      cmocka_unit_test(without_a_stop_time),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
