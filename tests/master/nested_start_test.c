// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A master inside of a master: values go through the inner one while both are initialised, so that
// what models decide then follows the values that they have when time starts.
#include "testing.h"

static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};

// Decides at the start on which side of 0.2 its input is, for good.
static const cpl_declaration states[] = {{"x", .start = 0.6, .output = true}, {0}};
static const cpl_declaration discrete[] = {{"above", .output = true}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0] - v->x[0];
  return CPL_MODEL_OK;
}

static int decide(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = v->u[0] > 0.2;
  return CPL_MODEL_OK;
}

static const cpl_model_def judge = {.name = "judge",
                                    .states = states,
                                    .inputs = inputs,
                                    .discrete = discrete,
                                    .derivatives = derivatives,
                                    .initialize = decide};

static int half(const cpl_values* v, double* y) {
  y[0] = 0.5 * v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_model_def halver = {
    .name = "halver", .inputs = inputs, .outputs = outputs, .output_values = half};

static int rest(const cpl_values* v, double* y) {
  y[0] = 0.9 - v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_model_def rester = {
    .name = "rester", .inputs = inputs, .outputs = outputs, .output_values = rest};

static int copy(const cpl_values* v, double* y) {
  y[0] = v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_model_def copier = {
    .name = "copier", .inputs = inputs, .outputs = outputs, .output_values = copy};

enum { N = 4 };
static cpl_source* sources[N];

static cpl_stepper* stepper_of(cpl_context* ctx, const cpl_model_def* def, int i) {
  cpl_model* model = NULL;
  cpl_stepper* s = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  solver.restart_each_step = true;
  CHECK_OK(ctx, cpl_c_define(ctx, def, &sources[i]));
  CHECK_OK(ctx, sources[i]->ops->make_model(sources[i], def->name, &model));
  CHECK_OK(ctx, cpl_integrate(model, &solver, &s));
  return s;
}

static uint32_t ref_of(cpl_context* ctx, const cpl_stepper* s, const char* name) {
  int32_t var;
  CHECK_OK(ctx, cpl_require_variable(ctx, s->base.desc, name, &var));
  return s->base.desc->vars[var].ref;
}

static cpl_stepper* couple(cpl_context* ctx, const char* name, const cpl_master_part* parts,
                           int n_parts, const cpl_master_link* links, cpl_master_algorithm how) {
  cpl_master_def def = cpl_default_master_def();
  cpl_stepper* m = NULL;
  def.name = name, def.parts = parts, def.n_parts = n_parts, def.links = links, def.n_links = 2;
  def.algorithm = how;
  def.step = 0.05;
  CHECK_OK(ctx, cpl_master(ctx, &def, &m));
  return m;
}

static double value(cpl_context* ctx, cpl_stepper* s, const char* name) {
  uint32_t ref = ref_of(ctx, s, name);
  double v;
  CHECK_OK(ctx, s->base.ops->get_real(&s->base, &ref, 1, &v));
  return v;
}

// judge.x -> copier -> rester -> halver -> judge.u, with all but rester in the inner master
static void check_algorithm(cpl_context* ctx, cpl_master_algorithm how) {
  cpl_master_part inside[] = {{.stepper = stepper_of(ctx, &judge, 0)},
                              {.stepper = stepper_of(ctx, &halver, 1)},
                              {.stepper = stepper_of(ctx, &copier, 2)}};
  const cpl_stepper *a = inside[0].stepper, *b = inside[1].stepper, *d = inside[2].stepper;
  cpl_master_link within[] = {{1, ref_of(ctx, b, "y"), 0, ref_of(ctx, a, "u"), 0, 0},
                              {0, ref_of(ctx, a, "x"), 2, ref_of(ctx, d, "u"), 0, 0}};
  cpl_stepper* inner = couple(ctx, "inner", inside, 3, within, how);
  cpl_master_part outside[] = {{.stepper = inner}, {.stepper = stepper_of(ctx, &rester, 3)}};
  const cpl_stepper* c = outside[1].stepper;
  cpl_master_link around[] = {{0, ref_of(ctx, inner, "copier.y"), 1, ref_of(ctx, c, "u"), 0, 0},
                              {1, ref_of(ctx, c, "y"), 0, ref_of(ctx, inner, "halver.u"), 0, 0}};
  cpl_stepper* m = couple(ctx, "outer", outside, 2, around, how);
  cpl_setup setup = {.has_stop_time = true, .stop_time = 1};
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &setup));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  CHECK_NEAR(value(ctx, m, "rester.y"), 0.9 - 0.6, 1e-15);
  CHECK_NEAR(value(ctx, m, "inner.halver.u"), 0.3, 1e-15);
  CHECK_NEAR(value(ctx, m, "inner.judge.u"), 0.15, 1e-15);
  CHECK_NEAR(value(ctx, m, "inner.judge.above"), 0, 0);
  m->base.ops->destroy(&m->base);
  for (int i = 0; i < N; i++) sources[i]->ops->destroy(sources[i]);
}

static void start_values_go_through_a_nested_master(void** state) {
  check_algorithm(*state, CPL_MASTER_DETERMINATE);
  check_algorithm(*state, CPL_MASTER_JACOBI);
  check_algorithm(*state, CPL_MASTER_GAUSS_SEIDEL);
  check_algorithm(*state, CPL_MASTER_ITERATIVE);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(start_values_go_through_a_nested_master)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
