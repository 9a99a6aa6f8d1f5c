// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of component.h: a model and a stepper used without a look into a table, and what
// becomes of calls that an object does not offer.
#include "couplet/component.h"

#include <math.h>

#include "couplet/csource.h"
#include "couplet/solver.h"
#include "testing.h"

// x' = u - 2 x, y = 3 x
static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0] - 2 * v->x[0];
  return CPL_MODEL_OK;
}

static int outputs(const cpl_values* v, double* y) {
  y[0] = 3 * v->x[0];
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 0.5}, {0}};
static const cpl_declaration inputs[] = {{"u", .start = 4}, {0}};
static const cpl_declaration outs[] = {{"y"}, {0}};
static const cpl_model_def lag = {.name = "lag",
                                  .states = states,
                                  .inputs = inputs,
                                  .outputs = outs,
                                  .derivatives = derivatives,
                                  .output_values = outputs};

static uint32_t ref_of(cpl_component* c, const char* name) {
  int32_t var = cpl_find_variable(cpl_component_description(c), name);
  CHECK(var >= 0);
  return cpl_component_description(c)->vars[var].ref;
}

static double real_of(cpl_component* c, const char* name) {
  uint32_t ref = ref_of(c, name);
  double value = NAN;
  CHECK_OK(cpl_component_context(c), cpl_component_get_real(c, &ref, 1, &value));
  return value;
}

static void begin(cpl_component* c) {
  cpl_context* ctx = cpl_component_context(c);
  cpl_setup setup = {.size = sizeof setup, .start_time = 1};
  CHECK_OK(ctx, cpl_component_setup(c, &setup));
  CHECK_OK(ctx, cpl_component_enter_init(c));
  CHECK_OK(ctx, cpl_component_exit_init(c));
}

static void a_model(void** state) {
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  cpl_event_info info;
  double x = 0.25, dx = NAN;
  size_t n = 7;
  CHECK_OK(*state, cpl_c_define(*state, &lag, &source));
  CHECK(cpl_source_has_model(source));
  CHECK_INT(cpl_source_description(source)->n_states, 1);
  CHECK_OK(*state, cpl_source_make_model(source, "m", &m));
  cpl_component* c = cpl_model_component(m);
  CHECK_STR(cpl_component_name(c), "m");
  begin(c);
  CHECK_OK(*state, cpl_model_event_update(m, &info));
  CHECK_OK(*state, cpl_model_enter_continuous(m));
  CHECK_OK(*state, cpl_model_set_time(m, 1.5));
  CHECK_OK(*state, cpl_model_set_states(m, &x));
  CHECK_OK(*state, cpl_model_get_derivatives(m, &dx));
  CHECK_NEAR(dx, 3.5, 0);
  CHECK_NEAR(real_of(c, "y"), 0.75, 0);
  CHECK_OK(*state, cpl_model_count_constraints(m, &n));
  CHECK_INT(n, 0);
  CHECK_INT(cpl_model_get_constraints(m, &dx), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(*state), "m: a constraint is not offered by");
  CHECK_OK(*state, cpl_component_terminate(c));
  cpl_model_destroy(m);
  cpl_source_destroy(source);
}

// x(t) = 2 - 1.5 exp(-2 (t - 1)), from a saved state as often as it is wanted.
static void a_stepper(void** state) {
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  cpl_stepper* s = NULL;
  cpl_step_result result;
  cpl_snapshot snapshot = {0};
  cpl_solver_def def = cpl_default_solver_def();
  def.rtol = def.atol = 1e-10;
  def.restart_each_step = true;  // can be saved anywhere
  CHECK_OK(*state, cpl_c_define(*state, &lag, &source));
  CHECK_OK(*state, cpl_source_make_model(source, "s", &m));
  CHECK_OK(*state, cpl_integrate(m, &def, &s));
  cpl_component* c = cpl_stepper_component(s);
  begin(c);
  CHECK_OK(*state, cpl_stepper_step(s, 1.5, 3, &result));
  CHECK(cpl_component_capabilities(c).save_restore);
  CHECK_OK(*state, cpl_component_save(c, &snapshot));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(*state, cpl_stepper_step(s, 2.5, 3, &result));
    CHECK_INT(result.end, CPL_STEP_DONE);
    CHECK_NEAR(real_of(c, "x"), 2 - 1.5 * exp(-3), 1e-8);
    CHECK_OK(*state, cpl_component_restore(c, &snapshot));
  }
  double x = 0, limit = 0;
  int32_t first = 0;
  CHECK_OK(*state, cpl_stepper_set_states(s, &first, 1, &x));
  CHECK_OK(*state, cpl_stepper_step(s, 2.5, 3, &result));
  CHECK_NEAR(real_of(c, "x"), 2 - 2 * exp(-2), 1e-8);
  CHECK_OK(*state, cpl_stepper_max_step(s, &limit));
  cpl_component_forget(c, &snapshot);
  cpl_component_forget(c, &snapshot);  // a zeroed one
  cpl_stepper_destroy(s);
  cpl_source_destroy(source);
}

static void nothing_is_destroyed_too(void** state) {
  (void)state;
  cpl_source_destroy(NULL);
  cpl_component_destroy(NULL);
  cpl_model_destroy(NULL);
  cpl_stepper_destroy(NULL);
}

static void what_is_not_offered_is_told(void** state) {
  cpl_source* source = NULL;
  cpl_stepper* s = NULL;
  cpl_model* m = NULL;
  cpl_binary bytes = {0};
  uint32_t ref = 0;
  CHECK_OK(*state, cpl_c_define(*state, &lag, &source));
  CHECK(!cpl_source_has_stepper(source));
  CHECK_INT(cpl_source_make_stepper(source, "s", &s), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(*state), "cpl_integrate()");
  CHECK(s == NULL);
  CHECK_OK(*state, cpl_source_make_model(source, "m", &m));
  CHECK_INT(cpl_component_get_binary(cpl_model_component(m), &ref, 1, &bytes), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(*state), "reading a Binary is not offered by c");
  cpl_model_destroy(m);
  cpl_source_destroy(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_model),
      cmocka_unit_test(a_stepper),
      cmocka_unit_test(nothing_is_destroyed_too),
      cmocka_unit_test(what_is_not_offered_is_told),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
