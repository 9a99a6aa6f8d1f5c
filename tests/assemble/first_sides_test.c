// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Comparisons in couplings are on their right sides before models are initialised with what they
// choose, in co-simulation as in one aggregate: a relay remembers what it saw first.
#include "models.h"

static const cpl_declaration input[] = {{"u"}, END_OF_LIST};

// x' = on, where a relay with a wide hysteresis begins switched on.
static const cpl_declaration relay_states[] = {{"x", .output = true}, END_OF_LIST};
static const cpl_declaration relay_discrete[] = {{"off", .output = true}, END_OF_LIST};

static int relay_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->w[0] > 0 ? 0 : 1;
  return CPL_MODEL_OK;
}
static int relay_indicators(const cpl_values* v, double* z) {
  z[0] = v->w[0] > 0 ? v->u[0] - 0.7 : v->u[0] + 0.6;
  return CPL_MODEL_OK;
}
static int relay_event(const cpl_values* v, cpl_event_actions* a) {
  if (v->u[0] <= -0.6) a->w[0] = 1;
  if (v->u[0] > 0.7) a->w[0] = 0;
  return CPL_MODEL_OK;
}
static const cpl_model_def relay = {.name = "relay",
                                    .states = relay_states,
                                    .inputs = input,
                                    .discrete = relay_discrete,
                                    .n_indicators = 1,
                                    .derivatives = relay_derivatives,
                                    .indicators = relay_indicators,
                                    .event = relay_event};

static const cpl_declaration slow_states[] = {{"x", .start = 0.9, .output = true}, END_OF_LIST};
static int slow_derivatives(const cpl_values* v, double* dx) {
  dx[0] = 0.1 * v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_model_def slow = {
    .name = "slow", .states = slow_states, .inputs = input, .derivatives = slow_derivatives};

typedef struct seen {
  int n;
  double first[3], last[3];
} seen;

static cpl_status look(void* user, double t, const cpl_value* values) {
  seen* s = user;
  (void)t;
  double* to = s->n++ == 0 ? s->first : s->last;
  for (int i = 0; i < 3; i++) to[i] = values[i].real;
  return CPL_OK;
}

static void run(cpl_member_as as, const char* algorithm, const char* source, seen* out) {
  cpl_context* ctx = test_context();
  const cpl_model_def* models[] = {&relay, &slow};
  const char* names[] = {"a", "b"};
  cpl_source *sources[2] = {0}, *system = NULL;
  cpl_system_def* def = NULL;
  cpl_stepper* s = NULL;
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(ctx, cpl_c_define(ctx, models[i], &sources[i]));
    cpl_member_def m = cpl_default_member_def();
    m.name = names[i], m.kind = CPL_MEMBER_C, m.source = sources[i], m.as = as;
    CHECK_OK(ctx, cpl_system_def_add_model(def, &m));
  }
  CHECK_OK(ctx, cpl_system_def_connect(def, "a.u", source));
  CHECK_OK(ctx, cpl_system_def_connect(def, "b.u", "cos(a.x)"));
  cpl_cosimulation_def how = cpl_default_cosimulation_def();
  how.algorithm = algorithm, how.step = 0.1;
  if (as == CPL_AS_CO_SIMULATION) CHECK_OK(ctx, cpl_system_def_set_cosimulation(def, &how));
  CHECK_OK(ctx, cpl_system_build(ctx, def, &system));
  cpl_stepper_def stepper = cpl_default_stepper_def();
  CHECK_OK(ctx, cpl_system_stepper(system, &stepper, &s));
  const char* record[] = {"a.u", "a.off", "a.x"};
  cpl_run_def r = cpl_default_run_def();
  r.stop_time = 1, r.interval = 1, r.record = record, r.n_record = 3;
  r.on_point = look, r.user = out;
  CHECK_OK(ctx, cpl_run(s, &r, NULL));
  s->base.ops->destroy(&s->base);
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
  for (int i = 0; i < 2; i++) sources[i]->ops->destroy(sources[i]);
  cpl_context_destroy(ctx);
}

static void check(cpl_member_as as, const char* algorithm) {
  seen s = {0};
  run(as, algorithm, "if b.x > 0.4 then 0.2 else -0.95", &s);  // it is 0.2 all the time
  CHECK_NEAR(s.first[0], 0.2, 0);
  CHECK_NEAR(s.first[1], 0, 0);
  CHECK_NEAR(s.last[1], 0, 0);
  CHECK_NEAR(s.last[2], 1, 1e-9);
  s = (seen){0};
  run(as, algorithm, "if b.x < 0.4 then 0.2 else -0.95", &s);
  CHECK_NEAR(s.first[0], -0.95, 0);
  CHECK_NEAR(s.first[1], 1, 0);
  CHECK_NEAR(s.last[2], 0, 1e-9);
}

static void a_relay_sees_the_side_that_holds(void** state) {
  (void)state;
  check(CPL_AS_MODEL_EXCHANGE, "determinate");
  check(CPL_AS_CO_SIMULATION, "determinate");
  check(CPL_AS_CO_SIMULATION, "jacobi");
  check(CPL_AS_CO_SIMULATION, "gauss-seidel");
  check(CPL_AS_CO_SIMULATION, "iterative");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_relay_sees_the_side_that_holds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
