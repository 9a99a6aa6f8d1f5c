// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs that cannot go on end, with the model, the variable and the time: solvers that creep toward
// the edge of what a model can compute, solutions that grow without bound, values that are no
// numbers.
#include "models.h"

static char warnings[2000];
static int n_warnings;

static void keep_warning(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user, (void)who;
  if (level != CPL_LOG_WARNING) return;
  n_warnings++;
  strncat(warnings, text, sizeof warnings - strlen(warnings) - 2);
  strcat(warnings, "\n");
}

static cpl_context* ctx;

static cpl_status run_with(const cpl_model_def* def, cpl_solver_kind kind, double step,
                           recording** out) {
  recording* r = *out = recording_make(ctx, def);
  r->solver.kind = kind;
  r->solver.rtol = 1e-6;
  r->solver.step = step;
  r->run.interval = def->stop_time;
  return recording_run(r);
}

//------------------------------------ the edge of a domain ------------------------------------

// x' = -x, with an output that has no value below 0.6: x arrives there at t = 0.5108.
static int edge_derivatives(const cpl_values* v, double* dx) {
  if (v->x[0] <= 0.6) {
    cpl_model_error(v, "no root of %g", v->x[0] - 0.6);
    return CPL_MODEL_RETRY;
  }
  dx[0] = -v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration edge_states[] = {{"x", .start = 1}, END_OF_LIST};
static const cpl_model_def edge = {
    .name = "edge", .states = edge_states, .derivatives = edge_derivatives, .stop_time = 1};

static void every_solver_ends_at_the_edge_of_a_domain(void** state) {
  (void)state;
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS, CPL_SOLVER_RADAU,
                                          CPL_SOLVER_DOPRI5, CPL_SOLVER_ERK8,  CPL_SOLVER_ESDIRK5,
                                          CPL_SOLVER_IDA,    CPL_SOLVER_RK4};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    recording* r;
    bool fixed = kinds[i] == CPL_SOLVER_RK4;
    CHECK(run_with(&edge, kinds[i], fixed ? 0.01 : 0, &r) < 0);
    CHECK_CONTAINS(cpl_context_error(ctx), "no root of");
    CHECK_CONTAINS(cpl_context_error(ctx), fixed ? "at t=0.5" : "t=0.5108");
    CHECK(r->stats.solver.steps < 100000);
    recording_free(r);
  }
}

//------------------------------------ growth without bound ------------------------------------

// x' = -1000 (x - 1): too stiff for an explicit step of 0.01.
static int stiff_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -1000 * (v->x[0] - 1);
  return CPL_MODEL_OK;
}
static const cpl_declaration stiff_states[] = {{"level"}, END_OF_LIST};
static const cpl_model_def stiff = {
    .name = "stiff", .states = stiff_states, .derivatives = stiff_derivatives, .stop_time = 10};

static void a_step_too_long_for_the_model_is_named(void** state) {
  (void)state;
  recording* r;
  CHECK_INT(run_with(&stiff, CPL_SOLVER_EULER, 0.01, &r), CPL_ERR_SOLVER);
  CHECK_CONTAINS(cpl_context_error(ctx), "m: the solution runs away: level is");
  CHECK_CONTAINS(cpl_context_error(ctx), "the step 0.01 is too long");
  recording_free(r);
  CHECK_OK(ctx, run_with(&stiff, CPL_SOLVER_EULER, 0.0019, &r));  // stable, if only just
  CHECK_NEAR(last_of(r)[0], 1, 1e-6);
  recording_free(r);
}

// Not back and forth, but out of all numbers.
static void a_state_that_becomes_infinite_is_named(void** state) {
  (void)state;
  recording* r;
  CHECK(run_with(&stiff, CPL_SOLVER_RK4, 0.01, &r) < 0);
  CHECK_CONTAINS(cpl_context_error(ctx), "level");
  CHECK_CONTAINS(cpl_context_error(ctx), "t=");
  recording_free(r);
}

//------------------------------------ no numbers ------------------------------------

static int hole_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0];
  return CPL_MODEL_OK;
}
static int hole_outputs(const cpl_values* v, double* y) {
  y[0] = v->t > 0.7 ? NAN : v->x[0];
  y[1] = v->t > 0.3 ? INFINITY : 1;
  return CPL_MODEL_OK;
}
static const cpl_declaration hole_outputs_list[] = {{"y"}, {"z"}, END_OF_LIST};
static const cpl_model_def hole = {.name = "hole",
                                   .states = edge_states,
                                   .outputs = hole_outputs_list,
                                   .derivatives = hole_derivatives,
                                   .output_values = hole_outputs,
                                   .stop_time = 1};

static void values_that_are_no_numbers_are_warned_of_once(void** state) {
  (void)state;
  recording* r = recording_make(ctx, &hole);
  r->run.interval = 0.25;
  n_warnings = 0;
  warnings[0] = '\0';
  CHECK_OK(ctx, recording_run(r));
  CHECK_INT(n_warnings, 2);
  CHECK_CONTAINS(warnings, "z is inf from t=0.5 on\n");
  CHECK_CONTAINS(warnings, "y is nan from t=0.75 on\n");
  CHECK_INT(r->n, 5);  // the rows stay
  recording_free(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_solver_ends_at_the_edge_of_a_domain),
      cmocka_unit_test(a_step_too_long_for_the_model_is_named),
      cmocka_unit_test(a_state_that_becomes_infinite_is_named),
      cmocka_unit_test(values_that_are_no_numbers_are_warned_of_once),
  };
  cpl_context_def def = cpl_default_context_def();
  def.log = keep_warning;
  ctx = cpl_context_create(&def);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
