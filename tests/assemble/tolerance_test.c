// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Communication steps that follow a tolerance: errors are proportional to it, and steps are few.
// The reference is an integration of the whole with a fixed step, written here.
#include <math.h>

#include "base/base.h"
#include "couplet/component.h"
#include "models.h"

typedef struct seen {
  double last[2];
  int warnings;
  char said[512];
} seen;

static void listen(void* user, cpl_log_level level, const char* who, const char* text) {
  seen* s = user;
  (void)who;
  if (level != CPL_LOG_WARNING) return;
  s->warnings++;
  snprintf(s->said, sizeof s->said, "%s", text);
}

static cpl_status look(void* user, double t, const cpl_value* values) {
  seen* s = user;
  (void)t;
  s->last[0] = values[0].real, s->last[1] = values[1].real;
  return CPL_OK;
}

//------------------------------------ models ------------------------------------

// Hunted and hunters: h' = h (1.3 - 0.7 u), w' = w (0.5 u - 0.8)
static int hunted_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[0] * (1.3 - 0.7 * v->u[0]);
  return CPL_MODEL_OK;
}
static int hunter_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[0] * (0.5 * v->u[0] - 0.8);
  return CPL_MODEL_OK;
}
static const cpl_declaration one_input[] = {{"u"}, END_OF_LIST};
static const cpl_declaration hunted_states[] = {{"n", .start = 2.5, .output = true}, END_OF_LIST};
static const cpl_declaration hunter_states[] = {{"n", .start = 1.2, .output = true}, END_OF_LIST};
static const cpl_model_def hunted = {.name = "hunted",
                                     .states = hunted_states,
                                     .inputs = one_input,
                                     .derivatives = hunted_derivatives};
static const cpl_model_def hunter = {.name = "hunter",
                                     .states = hunter_states,
                                     .inputs = one_input,
                                     .derivatives = hunter_derivatives};

static void reference(double t, double out[2]) {
  enum { STEPS = 20000 };
  double x[2] = {2.5, 1.2}, h = t / STEPS;
  for (int i = 0; i < STEPS; i++) {
    double k[4][2], at[2] = {x[0], x[1]};
    static const double part[] = {0.5, 0.5, 1, 0};
    for (int s = 0; s < 4; s++) {
      k[s][0] = at[0] * (1.3 - 0.7 * at[1]);
      k[s][1] = at[1] * (0.5 * at[0] - 0.8);
      for (int j = 0; j < 2; j++) at[j] = x[j] + part[s] * h * k[s][j];
    }
    for (int j = 0; j < 2; j++) x[j] += h / 6 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
  }
  out[0] = x[0], out[1] = x[1];
}

//------------------------------------ runs ------------------------------------

typedef struct task {
  const cpl_model_def* models[2];
  const char *u0, *u1;  // sources of their inputs; NULL: none
  cpl_cosimulation_def how;
  double stop;
  int64_t steps;
  seen saw;
} task;

static void run_task(task* k) {
  cpl_context_def context = cpl_default_context_def();
  context.log = listen, context.user = &k->saw;
  cpl_context* ctx = cpl_context_create(&context);
  cpl_source *sources[2] = {0}, *system = NULL;
  cpl_system_def* def = NULL;
  cpl_stepper* s = NULL;
  const char* names[] = {"a", "b"};
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(ctx, cpl_c_define(ctx, k->models[i], &sources[i]));
    cpl_member_def m = cpl_default_member_def();
    m.name = names[i], m.kind = CPL_MEMBER_C, m.source = sources[i], m.as = CPL_AS_CO_SIMULATION;
    CHECK_OK(ctx, cpl_system_def_add_model(def, &m));
  }
  CHECK_OK(ctx, cpl_system_def_connect(def, "a.u", k->u0));
  CHECK_OK(ctx, cpl_system_def_connect(def, "b.u", k->u1));
  CHECK_OK(ctx, cpl_system_def_set_cosimulation(def, &k->how));
  CHECK_OK(ctx, cpl_system_build(ctx, def, &system));
  cpl_stepper_def stepper = cpl_default_stepper_def();
  stepper.solver.rtol = 1e-11;
  CHECK_OK(ctx, cpl_system_stepper(system, &stepper, &s));
  const char* record[] = {"a.n", "b.n"};
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = k->stop, run.interval = k->stop, run.record = record, run.n_record = 2;
  run.on_point = look, run.user = &k->saw;
  CHECK_OK(ctx, cpl_run(s, &run, NULL));
  k->steps = (int64_t)cpl_component_counter(&s->base, "communication_steps");
  s->base.ops->destroy(&s->base);
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
  for (int i = 0; i < 2; i++) sources[i]->ops->destroy(sources[i]);
  cpl_context_destroy(ctx);
}

static void errors_follow_the_tolerance(void** state) {
  (void)state;
  static const char* const estimates[] = {"predictor", "richardson", "energy"};
  static const char* const algorithms[] = {"determinate", "gauss-seidel", "iterative"};
  static const double tolerances[] = {1e-4, 1e-6};
  cpl_assignment bond = {"a.u", "b.u"};
  double exact[2];
  reference(8, exact);
  for (int e = 0; e < 3; e++) {
    for (int a = 0; a < 3; a++) {
      double error[2];
      for (int i = 0; i < 2; i++) {
        task k = {{&hunted, &hunter}, "b.n", "a.n", cpl_default_cosimulation_def(), 8, 0, {{0}}};
        k.how.algorithm = algorithms[a], k.how.estimate = estimates[e];
        k.how.step = 1, k.how.tolerance = tolerances[i];
        if (e == 2) k.how.bonds = &bond, k.how.n_bonds = 1;
        run_task(&k);
        error[i] = fmax(fabs(k.saw.last[0] - exact[0]), fabs(k.saw.last[1] - exact[1]));
        CHECK(error[i] < 30 * tolerances[i]);
        CHECK(k.steps < (i == 0 ? 500 : 2000));
        CHECK_INT(k.saw.warnings, 0);
      }
      CHECK(error[0] / error[1] > 30);  // of 100
    }
  }
}

//------------------------------------ inputs of single steppers
//------------------------------------

// n' = u with u = cos(5 t): n = sin(5 t)/5. Nobody takes n.
static int sum_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration sum_states[] = {{"n", .output = true}, END_OF_LIST};
static const cpl_model_def sum = {
    .name = "sum", .states = sum_states, .inputs = one_input, .derivatives = sum_derivatives};

static void inputs_from_formulas_count(void** state) {
  (void)state;
  static const char* const estimates[] = {"predictor", "richardson"};
  for (int e = 0; e < 2; e++) {
    for (int order = e == 0; order <= 2; order++) {
      task k = {{&sum, &sum}, "cos(5*time)", "1", cpl_default_cosimulation_def(), 3, 0, {{0}}};
      k.how.estimate = estimates[e];
      k.how.algorithm = "gauss-seidel", k.how.step = 1, k.how.order = order;
      k.how.tolerance = 1e-3, k.how.min_step = 1e-6;
      run_task(&k);
      CHECK_NEAR(k.saw.last[0], sin(15) / 5, 5e-3);
      CHECK_NEAR(k.saw.last[1], 3, 1e-9);
      CHECK(k.steps > 20);
    }
  }
}

//------------------------------------ the shortest step ------------------------------------

// An output that jumps without an event: no step is short enough.
static int jump_derivatives(const cpl_values* v, double* dx) {
  (void)v;
  dx[0] = 0;
  return CPL_MODEL_OK;
}
static int jump_outputs(const cpl_values* v, double* y) {
  y[0] = v->t < 0.7 ? 2 : 5;
  return CPL_MODEL_OK;
}
static const cpl_declaration jump_states[] = {{"x"}, END_OF_LIST};
static const cpl_declaration jump_output[] = {{"n"}, END_OF_LIST};
static const cpl_model_def jump = {.name = "jump",
                                   .states = jump_states,
                                   .inputs = one_input,
                                   .outputs = jump_output,
                                   .derivatives = jump_derivatives,
                                   .output_values = jump_outputs};

static void the_shortest_step_is_accepted_with_a_word(void** state) {
  (void)state;
  static const double least[] = {0, 1e-5, 1e-17};
  for (int i = 0; i < 3; i++) {
    task k = {{&jump, &sum}, "b.n", "a.n", cpl_default_cosimulation_def(), 2, 0, {{0}}};
    k.how.algorithm = "iterative", k.how.step = 0.13, k.how.tolerance = 1e-5;
    if (least[i] > 0) k.how.min_step = least[i];
    run_task(&k);
    CHECK_NEAR(k.saw.last[1], 2 * 0.7 + 5 * 1.3, 1e-4);
    CHECK_INT(k.saw.warnings, 1);
    CHECK_CONTAINS(k.saw.said, "times the tolerance");
    CHECK_CONTAINS(k.saw.said, "min-step");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_follow_the_tolerance),
      cmocka_unit_test(inputs_from_formulas_count),
      cmocka_unit_test(the_shortest_step_is_accepted_with_a_word),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
