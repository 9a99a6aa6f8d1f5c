// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The order of models, inputs and connections in a definition changes no bit, also where loops are
// torn.
#include <math.h>

#include "base/base.h"
#include "models.h"

static cpl_context* ctx;

// x' = u1 - 2 x, y = 0.8 sin(u1) + 0.2 u2 + x, z = 0.3 u2 - 0.4 u1
static int mix_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0] - 2 * v->x[0];
  return CPL_MODEL_OK;
}
static int mix_outputs(const cpl_values* v, double* y) {
  y[0] = 0.8 * sin(v->u[0]) + 0.2 * v->u[1] + v->x[0];
  y[1] = 0.3 * v->u[1] - 0.4 * v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration mix_states[] = {{"x", .start = 0.1}, END_OF_LIST};
static const cpl_declaration mix_inputs[] = {{"u1"}, {"u2"}, END_OF_LIST};
static const cpl_declaration mix_output_list[] = {{"y"}, {"z"}, END_OF_LIST};
static const cpl_model_def mix_model = {.name = "mix",
                                        .states = mix_states,
                                        .inputs = mix_inputs,
                                        .outputs = mix_output_list,
                                        .derivatives = mix_derivatives,
                                        .output_values = mix_outputs};

static const char* const names[] = {"east", "north", "south", "west", "up"};
static const char* const wires[][2] = {
    {"east.u1", "0.31*north.y - 0.27*up.z + w"},  {"east.u2", "0.4*south.y + 0.1*east.z"},
    {"north.u1", "0.53*west.z + 0.3*east.y"},     {"north.u2", "half - 0.2*up.y"},
    {"south.u1", "0.21*sin(north.z) + up.y*0.1"}, {"south.u2", "0.6*west.y"},
    {"west.u1", "-0.37*south.z + 0.4*north.y"},   {"west.u2", "0.45*east.z - 0.3*up.z"},
    {"up.u1", "0.19*east.y + 0.23*south.y"},      {"up.u2", "0.7*west.y + w*half"}};
static const char* const inputs[][2] = {{"w", "sin(3*time)"}, {"half", "0.5*cos(time)"}};
enum { NAMES = CPLI_COUNT(names), WIRES = CPLI_COUNT(wires), INPUTS = CPLI_COUNT(inputs) };

static uint32_t seed;

static void shuffle(int* order, int n) {
  for (int i = 0; i < n; i++) order[i] = i;
  for (int i = n - 1; i > 0; i--) {
    seed = seed * 1664525 + 1013904223;
    int j = (int)((seed >> 8) % (uint32_t)(i + 1)), kept = order[i];
    order[i] = order[j], order[j] = kept;
  }
}

typedef struct rows {
  double values[200][NAMES];
  int n;
} rows;

static cpl_status keep(void* user, double t, const cpl_value* values) {
  rows* r = user;
  (void)t;
  for (int i = 0; i < NAMES && r->n < 200; i++) r->values[r->n][i] = values[i].real;
  r->n++;
  return CPL_OK;
}

static void run_permuted(bool cosimulation, const char* algorithm, rows* out) {
  cpl_source *mix = NULL, *system = NULL;
  cpl_system_def* def = NULL;
  cpl_stepper* s = NULL;
  int order[WIRES];
  CHECK_OK(ctx, cpl_c_define(ctx, &mix_model, &mix));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  cpl_member_def m = cpl_default_member_def();
  m.kind = CPL_MEMBER_C, m.source = mix;
  if (cosimulation) m.as = CPL_AS_CO_SIMULATION;
  shuffle(order, NAMES);
  for (int i = 0; i < NAMES; i++) {
    m.name = names[order[i]];
    CHECK_OK(ctx, cpl_system_def_add_model(def, &m));
  }
  shuffle(order, INPUTS);
  for (int i = 0; i < INPUTS; i++) {
    cpl_input_def in = cpl_default_input_def();
    in.name = inputs[order[i]][0], in.expression = inputs[order[i]][1];
    CHECK_OK(ctx, cpl_system_def_add_input(def, &in));
  }
  shuffle(order, WIRES);
  for (int i = 0; i < WIRES; i++)
    CHECK_OK(ctx, cpl_system_def_connect(def, wires[order[i]][0], wires[order[i]][1]));
  cpl_cosimulation_def how = cpl_default_cosimulation_def();
  how.algorithm = algorithm, how.step = 0.05;
  if (cosimulation) CHECK_OK(ctx, cpl_system_def_set_cosimulation(def, &how));
  CHECK_OK(ctx, cpl_system_build(ctx, def, &system));
  cpl_stepper_def stepper = cpl_default_stepper_def();
  CHECK_OK(ctx, cpl_system_stepper(system, &stepper, &s));
  const char* record[] = {"east.y", "north.y", "south.y", "west.y", "up.y"};
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = 1, run.interval = 0.05, run.record = record, run.n_record = NAMES;
  run.on_point = keep, run.user = out;
  CHECK_OK(ctx, cpl_run(s, &run, NULL));
  s->base.ops->destroy(&s->base);
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
  mix->ops->destroy(mix);
}

static void check_permutations(bool cosimulation, const char* algorithm) {
  static rows first, other;
  first.n = 0;
  run_permuted(cosimulation, algorithm, &first);
  CHECK_INT(first.n, 21);
  for (int i = 0; i < 12; i++) {
    other.n = 0;
    run_permuted(cosimulation, algorithm, &other);
    CHECK_INT(other.n, first.n);
    CHECK(memcmp(first.values, other.values, (size_t)first.n * sizeof first.values[0]) == 0);
  }
}

static void models_coupled_in_any_order_give_the_same_bits(void** state) {
  (void)state;
  check_permutations(false, NULL);
}

static void steppers_coupled_in_any_order_give_the_same_bits(void** state) {
  (void)state;
  check_permutations(true, "determinate");
  check_permutations(true, "iterative");
  check_permutations(true, "gauss-seidel");
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(models_coupled_in_any_order_give_the_same_bits),
      cmocka_unit_test(steppers_coupled_in_any_order_give_the_same_bits),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
