// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Heun's method: order of states and of events, against closed forms and the formula of one step;
// and the table of solvers, which the manual repeats.
#include "base/base.h"
#include "models.h"

// Logistic growth x' = x (1 - x), x(0) = 0.1: x = 1 / (1 + 9 exp(-t)). The indicator changes its
// sign at t = log 9, where x = 1/2; m is the time then.
static int logistic_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[0] * (1 - v->x[0]);
  dx[1] = 0;
  return CPL_MODEL_OK;
}
static int logistic_indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0] - 0.5;
  return CPL_MODEL_OK;
}
static int logistic_event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] > 0) a->x[1] = v->t;
  return CPL_MODEL_OK;
}
static const cpl_declaration logistic_states[] = {{"x", .start = 0.1}, {"m"}, END_OF_LIST};
static const cpl_model_def logistic_model = {.name = "logistic",
                                             .states = logistic_states,
                                             .n_indicators = 1,
                                             .derivatives = logistic_derivatives,
                                             .indicators = logistic_indicators,
                                             .event = logistic_event,
                                             .stop_time = 4};

// Errors of the state at the end and of the time of the event.
static void errors(cpl_context* ctx, double step, double out[2]) {
  recording* r = recording_make(ctx, &logistic_model);
  r->solver.kind = CPL_SOLVER_HEUN;
  r->solver.step = step;
  r->run.interval = 4;
  CHECK_OK(ctx, recording_run(r));
  out[0] = fabs(last_of(r)[0] - 1 / (1 + 9 * exp(-4)));
  out[1] = fabs(last_of(r)[1] - log(9));
  recording_free(r);
}

static void order_two_for_states_and_events(void** state) {
  cpl_context* ctx = *state;
  double coarse[2], fine[2];
  errors(ctx, 0.08, coarse);
  errors(ctx, 0.01, fine);
  for (int i = 0; i < 2; i++) CHECK_NEAR(log2(coarse[i] / fine[i]) / 3, 2, 0.1);
  CHECK(fine[0] < 1e-5 && fine[1] < 1e-4);
}

// One step by hand: x1 = x0 + h/2 (f(x0) + f(x0 + h f(x0))).
static void one_step_is_the_formula(void** state) {
  cpl_context* ctx = *state;
  double h = 0.5, f0 = 0.1 * 0.9, guess = 0.1 + h * f0;
  recording* r = recording_make(ctx, &logistic_model);
  r->solver.kind = CPL_SOLVER_HEUN;
  r->solver.step = h;
  r->run.stop_time = h;
  CHECK_OK(ctx, recording_run(r));
  CHECK_NEAR(last_of(r)[0], 0.1 + h / 2 * (f0 + guess * (1 - guess)), 1e-15);
  recording_free(r);
}

static void the_manual_has_every_solver(void** state) {
  (void)state;
  static const struct {
    const char *name, *text;
  } rows[] = {
#define X(kind, name, text) {name, text},
      CPL_SOLVER_LIST(X)
#undef X
  };
  enum { SIZE = 1 << 20 };
  char* manual = calloc(SIZE, 1);
  FILE* file = fopen(test_path("docs/system-file.md"), "rb");
  assert_non_null(manual);
  assert_non_null(file);
  CHECK(fread(manual, 1, SIZE - 1, file) > 0);
  fclose(file);
  CHECK_INT(cpl_solver_count(), CPLI_COUNT(rows));
  for (size_t i = 0; i < CPLI_COUNT(rows); i++) {
    char row[256];
    cpl_solver_kind kind;
    snprintf(row, sizeof row, "\n| `%s` | %s |\n", rows[i].name, rows[i].text);
    CHECK_CONTAINS(manual, row);
    CHECK(cpl_solver_by_name(rows[i].name, &kind) && kind == (cpl_solver_kind)i);
    CHECK_STR(cpl_solver_name(kind), rows[i].name);
    CHECK_CONTAINS(cpl_solver_names(), rows[i].name);
  }
  free(manual);
}

static int begin(void** state) { return (*state = cpl_context_create(NULL)) == NULL; }
static int end(void** state) {
  cpl_context_destroy(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(order_two_for_states_and_events, begin, end),
      cmocka_unit_test_setup_teardown(one_step_is_the_formula, begin, end),
      cmocka_unit_test(the_manual_has_every_solver),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
