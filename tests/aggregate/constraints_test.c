// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Constraints of several models, coupled.
#include "base/base.h"
#include "couplet/aggregate.h"
#include "models.h"

// A point on a circle, x' = -y, y' = x, with its radius as constraint.
static int circle_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[1];
  dx[1] = v->x[0];
  return CPL_MODEL_OK;
}
static int circle_constraints(const cpl_values* v, double* c) {
  c[0] = (v->x[0] * v->x[0] + v->x[1] * v->x[1] - 1) / 2;
  return CPL_MODEL_OK;
}
static int circle_jacobian(const cpl_values* v, double* jac) {
  jac[0] = v->x[0];
  jac[1] = v->x[1];
  return CPL_MODEL_OK;
}
static int circle_projection(const cpl_values* v, double* dx) {
  double r = hypot(v->x[0], v->x[1]);
  for (int i = 0; i < 2; i++) dx[i] = v->x[i] / r - v->x[i];
  return CPL_MODEL_OK;
}
static const cpl_declaration circle_states[] = {
    {"x", .start = 1, .output = true}, {"y", .output = true}, END_OF_LIST};
static const cpl_model_def circle_model = {.name = "circle",
                                           .states = circle_states,
                                           .derivatives = circle_derivatives,
                                           .n_constraints = 1,
                                           .constraints = circle_constraints,
                                           .constraint_jacobian = circle_jacobian,
                                           .projection = circle_projection};

// A value that follows another model's: z' = rate, 0 = z - target, both inputs.
static int follower_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[1];
  return CPL_MODEL_OK;
}
static int follower_constraints(const cpl_values* v, double* c) {
  c[0] = v->x[0] - v->u[0];
  return CPL_MODEL_OK;
}
static int follower_jacobian(const cpl_values* v, double* jac) {
  (void)v;
  jac[0] = 1;
  return CPL_MODEL_OK;
}
static int follower_projection(const cpl_values* v, double* dx) {
  dx[0] = v->u[0] - v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration follower_states[] = {{"z", .start = 1}, END_OF_LIST};
static const cpl_declaration follower_inputs[] = {{"target"}, {"rate"}, END_OF_LIST};
static const cpl_model_def follower_model = {.name = "follower",
                                             .states = follower_states,
                                             .inputs = follower_inputs,
                                             .derivatives = follower_derivatives,
                                             .n_constraints = 1,
                                             .constraints = follower_constraints,
                                             .constraint_jacobian = follower_jacobian,
                                             .projection = follower_projection};

enum { CIRCLE, FOLLOWER };

typedef struct pair {
  cpl_source* sources[2];
  cpl_model_ops ops[2];  // changed ones
  cpl_model* m;
} pair;

// The circle as it is, or as models are that offer a projection and nothing else.
static pair make_pair(cpl_context* ctx, bool with_radius, bool only_projection, bool own) {
  pair p = {0};
  cpl_model_def circle = circle_model, follower = follower_model;
  if (!own) circle.projection = follower.projection = NULL;
  if (!with_radius) circle.n_constraints = 0;
  static cpl_model_def kept[2];
  kept[0] = circle;
  kept[1] = follower;
  cpl_model* parts[2];
  for (int i = 0; i < 2; i++) {
    CHECK_OK(ctx, cpl_c_define(ctx, &kept[i], &p.sources[i]));
    CHECK_OK(ctx, p.sources[i]->ops->make_model(p.sources[i], i == 0 ? "circle" : "follower",
                                                &parts[i]));
  }
  static cpl_model_ops changed[2];
  for (int i = 0; i < 2 && only_projection; i++) {
    static cpl_constraint_ops few[2];
    changed[i] = *parts[i]->ops;
    if (parts[i]->ops->constraints != NULL) {
      few[i] = *parts[i]->ops->constraints;
      few[i].get = NULL;
      few[i].jacobian = NULL;
      changed[i].constraints = &few[i];
    }
    parts[i]->ops = &changed[i];
  }
  const cpl_description *c = parts[0]->base.desc, *f = parts[1]->base.desc;
  cpl_coupling couplings[] = {{.target = {FOLLOWER, cpl_find_variable(f, "target")},
                               .source = {CIRCLE, cpl_find_variable(c, "x")}},
                              {.target = {FOLLOWER, cpl_find_variable(f, "rate")},
                               .source = {CIRCLE, cpl_find_variable(c, "y")},
                               .factor = -1}};
  cpl_aggregate_def def = {.size = sizeof def,
                           .name = "pair",
                           .parts = parts,
                           .n_parts = 2,
                           .couplings = couplings,
                           .n_couplings = 2};
  CHECK_OK(ctx, cpl_aggregate(ctx, &def, &p.m));
  return p;
}

static void drop_pair(pair* p) {
  for (int i = 0; i < 2; i++) p->sources[i]->ops->destroy(p->sources[i]);
}

static const char* const columns[] = {"circle.x", "circle.y", "follower.z"};

static void check_run(cpl_context* ctx, pair* p, cpl_solver_kind kind, double most) {
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = kind;
  solver.rtol = 1e-6;
  solver.projection = CPL_PROJECT_EVERY_STEP;
  recording* r = recording_by(ctx, p->m, 20, &solver, columns, 3);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  CHECK(r->stats.solver.projections > 0);
  for (size_t i = 0; i < r->n; i++) {
    CHECK_NEAR(r->value[i][2], r->value[i][0], most);
    CHECK_NEAR(hypot(r->value[i][0], r->value[i][1]), 1, most);
  }
  CHECK_NEAR(last_of(r)[0], cos(20), 1e-3);
  drop_run(r);
  drop_pair(p);
}

static void coupled_constraints_hold(void** state) {
  for (int own = 0; own < 2; own++) {
    pair p = make_pair(*state, true, false, own == 1);
    CHECK_INT(p.m->base.desc->n_constraints, 2);
    check_run(*state, &p, own == 1 ? CPL_SOLVER_RADAU : CPL_SOLVER_CVODE, 1e-11);
  }
}

// As equations, beside the linear systems of the aggregate.
static void ida_keeps_constraints_of_systems(void** state) {
  cpl_context* ctx = *state;
  pair p = make_pair(ctx, true, false, false);
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = CPL_SOLVER_IDA;
  solver.rtol = 1e-7;
  solver.stop_at_steps_end = true;
  recording* r = recording_by(ctx, p.m, 10, &solver, columns, 3);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  CHECK_INT(r->stats.solver.restarts, 1);
  CHECK_INT(r->stats.solver.projections, 0);  // the ends of its steps meet them by themselves
  for (size_t i = 0; i < r->n; i++) {
    CHECK_NEAR(r->value[i][2], r->value[i][0], 5e-7);
    CHECK_NEAR(hypot(r->value[i][0], r->value[i][1]), 1, 5e-7);
  }
  CHECK_NEAR(last_of(r)[0], cos(10), 1e-5);
  drop_run(r);
  drop_pair(&p);
}

static void ida_needs_residuals(void** state) {
  cpl_context* ctx = *state;
  pair p = make_pair(ctx, true, true, true);
  cpl_solver_def solver = cpl_default_solver_def();
  cpl_stepper* stepper = NULL;
  solver.kind = CPL_SOLVER_IDA;
  CHECK_INT(cpl_integrate(p.m, &solver, &stepper), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "needs residuals");
  drop_pair(&p);
}

// One by one until none moves.
static void models_that_only_project_are_projected(void** state) {
  for (int k = 0; k < 2; k++) {
    pair p = make_pair(*state, true, true, true);
    CHECK(p.m->ops->constraints->get == NULL && p.m->ops->constraints->projection != NULL);
    check_run(*state, &p, k == 0 ? CPL_SOLVER_RADAU : CPL_SOLVER_CVODE, 1e-9);
  }
}

// The shortest way changes both models: the gradient contains the coupling.
static void gradients_contain_couplings(void** state) {
  cpl_context* ctx = *state;
  pair p = make_pair(ctx, false, false, false);
  cpl_solver_def solver = cpl_default_solver_def();
  solver.rtol = 1e-6;
  solver.atol = 1;  // equal weights, but for a millionth
  solver.kind = CPL_SOLVER_RADAU;
  solver.projection = CPL_PROJECT_EVERY_STEP;
  cpl_start start = {"follower.z", "1.2"};
  recording* r = recording_by(ctx, p.m, 1, &solver, columns, 3);
  r->run.starts = &start;
  r->run.n_starts = 1;
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  CHECK_NEAR(r->value[0][0], 1.1, 1e-6);
  CHECK_NEAR(r->value[0][2], 1.1, 1e-6);
  CHECK_NEAR(r->value[0][1], 0, 1e-6);
  drop_run(r);
  drop_pair(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(coupled_constraints_hold),
      cmocka_unit_test(ida_keeps_constraints_of_systems),
      cmocka_unit_test(ida_needs_residuals),
      cmocka_unit_test(models_that_only_project_are_projected),
      cmocka_unit_test(gradients_contain_couplings),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
