// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Right-hand sides with jumps that no event announces: every solver finds the end of the solution,
// alone and coupled, with differences and with directional derivatives that are differences
// themselves. References are analytic.
#include "models.h"

static cpl_context* ctx;

//------------------------------------ solvers ------------------------------------

typedef struct way {
  cpl_solver_kind kind;
  cpl_linear_solver linear;
} way;

static const way ways[] = {
    {CPL_SOLVER_CVODE, CPL_LINEAR_DIRECT},   {CPL_SOLVER_CVODE, CPL_LINEAR_GMRES},
    {CPL_SOLVER_ADAMS, CPL_LINEAR_DIRECT},   {CPL_SOLVER_RADAU, CPL_LINEAR_DIRECT},
    {CPL_SOLVER_DOPRI5, CPL_LINEAR_DIRECT},  {CPL_SOLVER_ERK8, CPL_LINEAR_DIRECT},
    {CPL_SOLVER_ESDIRK5, CPL_LINEAR_DIRECT}, {CPL_SOLVER_IDA, CPL_LINEAR_DIRECT}};

static bool is_implicit(const way* w) {
  return w->kind != CPL_SOLVER_ADAMS && w->kind != CPL_SOLVER_DOPRI5 && w->kind != CPL_SOLVER_ERK8;
}

// What an estimate of lower order than the method leaves: Radau's tolerance is rtol^(2/3) / 10.
static double allowed(const way* w, double rtol) {
  return w->kind == CPL_SOLVER_RADAU ? 15 * pow(rtol, 2.0 / 3)
         : is_implicit(w)            ? 150 * rtol
                                     : 500 * rtol;
}

static cpl_solver_def solver_of(const way* w, double rtol) {
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = w->kind;
  solver.linear = w->linear;
  solver.rtol = rtol;
  return solver;
}

static void check_end(const way* w, double rtol, double value, double right) {
  if (fabs(value - right) <= allowed(w, rtol)) return;
  fail_msg("%s%s, rtol %g: %.12g, expected %.12g", cpl_solver_name(w->kind),
           w->linear == CPL_LINEAR_GMRES ? " (gmres)" : "", rtol, value, right);
}

static void check_alone(const cpl_model_def* def, double right, bool implicit_only) {
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    if (implicit_only && !is_implicit(&ways[i])) continue;
    for (double rtol = 1e-4; rtol > 0.9e-9; rtol /= 10) {
      recording* r = recording_make(ctx, def);
      r->solver = solver_of(&ways[i], rtol);
      CHECK_OK(ctx, recording_run(r));
      check_end(&ways[i], rtol, last_of(r)[0], right);
      recording_free(r);
    }
  }
}

//------------------------------------ models ------------------------------------

// A relay: x' = 1.6 below 1.2, 0.4 above. From 0.1 it arrives at t = 0.6875.
static int relay_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[0] < 1.2 ? 1.6 : 0.4;
  return CPL_MODEL_OK;
}
static const cpl_declaration relay_states[] = {{"x", .start = 0.1, .output = true}, END_OF_LIST};
static const cpl_model_def relay = {
    .name = "relay", .states = relay_states, .derivatives = relay_derivatives, .stop_time = 3};
static const double relay_end = 1.2 + 0.4 * (3 - 0.6875);

// The same, with directional derivatives that the model finds by differences.
static int difference_directional(const cpl_values* v, const double* d_x, const double* d_u,
                                  double* d_dx, double* d_y) {
  double x[1] = {v->x[0] + 1e-7 * d_x[0]}, here[1], there[1];
  cpl_values moved = *v;
  moved.x = x;
  relay_derivatives(v, here);
  relay_derivatives(&moved, there);
  (void)d_u;
  if (d_dx != NULL) d_dx[0] = (there[0] - here[0]) / 1e-7;
  if (d_y != NULL) d_y[0] = d_x[0];
  return CPL_MODEL_OK;
}

// A staircase: the speed is 1, 1/2, 1/3, 1/4 between whole numbers.
static int stairs_derivatives(const cpl_values* v, double* dx) {
  dx[0] = 1 / (1 + floor(v->x[0]));
  return CPL_MODEL_OK;
}
static const cpl_declaration stairs_states[] = {{"x", .start = 0.25, .output = true}, END_OF_LIST};
static const cpl_model_def stairs = {
    .name = "stairs", .states = stairs_states, .derivatives = stairs_derivatives, .stop_time = 8.5};

// A relay beside a stiff state that follows cos(t), and pulled by it a little.
static int stiff_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[0] < 1.3 ? 2 : 0.5;
  dx[1] = -1e5 * (v->x[1] - cos(v->t)) - sin(v->t);
  return CPL_MODEL_OK;
}
static const cpl_declaration stiff_states[] = {
    {"x", .output = true}, {"s", .start = 1}, END_OF_LIST};
static const cpl_model_def stiff = {
    .name = "stiff", .states = stiff_states, .derivatives = stiff_derivatives, .stop_time = 4};

// A bar that warms up, and a relay at its end that only it knows of: many states, few dependencies.
enum { CELLS = 150 };
static int bar_derivatives(const cpl_values* v, double* dx) {
  for (int i = 0; i < CELLS; i++) {
    double left = i > 0 ? v->x[i - 1] : 1, right = i + 1 < CELLS ? v->x[i + 1] : 0;
    dx[i] = 500 * (left - 2 * v->x[i] + right);
  }
  dx[CELLS] = v->x[CELLS] < 0.7 ? 1.1 : 0.2;
  return CPL_MODEL_OK;
}
static const cpl_declaration bar_states[] = {{"cell", .size = CELLS}, {"x"}, END_OF_LIST};
static int bar_outputs(const cpl_values* v, double* y) {
  y[0] = v->x[CELLS];
  return CPL_MODEL_OK;
}
static const cpl_model_def bar = {.name = "bar",
                                  .states = bar_states,
                                  .outputs = gain_output_list,
                                  .derivatives = bar_derivatives,
                                  .output_values = bar_outputs,
                                  .stop_time = 2};

static void a_relay_is_crossed(void** state) {
  (void)state;
  check_alone(&relay, relay_end, false);
}

static void directional_derivatives_may_be_differences(void** state) {
  (void)state;
  static cpl_model_def own;
  own = relay;
  own.directional = difference_directional;
  check_alone(&own, relay_end, true);
}

static void a_staircase_is_climbed(void** state) {
  (void)state;
  check_alone(&stairs, 3.6875, false);
}

static void a_relay_beside_a_stiff_state_is_crossed(void** state) {
  (void)state;
  check_alone(&stiff, 1.3 + 0.5 * (4 - 0.65), true);
}

static void a_relay_in_a_sparse_system_is_crossed(void** state) {
  (void)state;
  static const char* const record[] = {"y"};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    if (!is_implicit(&ways[i]) || ways[i].linear == CPL_LINEAR_GMRES) continue;
    for (double rtol = 1e-4; rtol > 0.9e-7; rtol /= 30) {
      recording* r = recording_make(ctx, &bar);
      r->solver = solver_of(&ways[i], rtol);
      r->run.record = record;
      r->run.n_record = 1;
      CHECK_OK(ctx, recording_run(r));
      check_end(&ways[i], rtol, last_of(r)[0], 0.7 + 0.2 * (2 - 0.7 / 1.1));
      recording_free(r);
    }
  }
}

//------------------------------------ coupled ------------------------------------

// x' = u, y = x
static int plain_outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_model_def integrator = {.name = "integrator",
                                         .states = gain_states,
                                         .inputs = gain_inputs,
                                         .outputs = gain_output_list,
                                         .derivatives = gain_derivatives,
                                         .output_values = plain_outputs};

// y = 3 below 1.7, 0.75 above: a jump between an input and an output.
static int switch_outputs(const cpl_values* v, double* y) {
  y[0] = v->u[0] < 1.7 ? 3 : 0.75;
  return CPL_MODEL_OK;
}
static int switch_directional(const cpl_values* v, const double* d_x, const double* d_u,
                              double* d_dx, double* d_y) {
  double u[1] = {v->u[0] + 1e-8 * d_u[0]}, here[1], there[1];
  cpl_values moved = *v;
  moved.u = u;
  switch_outputs(v, here);
  switch_outputs(&moved, there);
  (void)d_x, (void)d_dx;
  if (d_y != NULL) d_y[0] = (there[0] - here[0]) / 1e-8;
  return CPL_MODEL_OK;
}
static int integrator_directional(const cpl_values* v, const double* d_x, const double* d_u,
                                  double* d_dx, double* d_y) {
  (void)v;
  if (d_dx != NULL) d_dx[0] = d_u[0];
  if (d_y != NULL) d_y[0] = d_x[0];
  return CPL_MODEL_OK;
}
static const cpl_model_def switched = {.name = "switch",
                                       .inputs = gain_inputs,
                                       .outputs = gain_output_list,
                                       .output_values = switch_outputs};
static const double coupled_end = 1.7 + 0.75 * (2.5 - 1.7 / 3);

typedef struct pair {
  cpl_source* sources[3];
  cpl_model* m;
} pair;

static cpl_status jump_value(void* user, double t, const double* sources, double* out) {
  (void)user, (void)t;
  *out = sources[0] < 1.7 ? 3 : 0.75;
  return CPL_OK;
}

// The integrator with the switch, or (by_function) with a coupling function in its place; a third
// part, with nothing to do with them, makes the system large.
static pair couple(bool directional, bool by_function, bool large) {
  pair p = {{0}};
  static cpl_model_def parts[3];
  parts[0] = integrator;
  parts[1] = switched;
  parts[2] = bar;
  parts[0].directional = directional ? integrator_directional : NULL;
  parts[1].directional = directional ? switch_directional : NULL;
  static const char* const names[] = {"a", "b", "c"};
  cpl_model* made[3] = {NULL};
  int32_t n = large ? 3 : 2;
  for (int32_t i = 0; i < n; i++) {
    CHECK_OK(ctx, cpl_c_define(ctx, &parts[i], &p.sources[i]));
    CHECK_OK(ctx, p.sources[i]->ops->make_model(p.sources[i], names[i], &made[i]));
  }
  int32_t u[2], y[2];
  for (int i = 0; i < 2; i++) {
    u[i] = cpl_find_variable(made[i]->base.desc, "u");
    y[i] = cpl_find_variable(made[i]->base.desc, "y");
  }
  static cpl_port source;
  source = (cpl_port){0, y[0]};
  cpl_coupling couplings[] = {{.target = {1, u[1]}, .source = {0, y[0]}},
                              {.target = {0, u[0]}, .source = {1, y[1]}}};
  if (by_function) {
    couplings[1] = (cpl_coupling){
        .target = {0, u[0]}, .function = {.sources = &source, .n_sources = 1, .value = jump_value}};
  }
  cpl_aggregate_def def = {.size = sizeof def,
                           .name = "pair",
                           .parts = made,
                           .n_parts = n,
                           .couplings = couplings,
                           .n_couplings = 2};
  CHECK_OK(ctx, cpl_aggregate(ctx, &def, &p.m));
  return p;
}

static void check_coupled(bool directional, bool by_function, bool large, double least) {
  static const char* const record[] = {"a.x"};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    if (!is_implicit(&ways[i]) || (large && ways[i].linear == CPL_LINEAR_GMRES)) continue;
    for (double rtol = 1e-4; rtol > 0.9 * least; rtol /= 10) {
      pair p = couple(directional, by_function, large);
      cpl_solver_def solver = solver_of(&ways[i], rtol);
      solver.one_solver = true;
      recording* r = recording_by(ctx, p.m, 2.5, &solver, record, 1);
      CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
      // the norm of many states hides what one of them does
      check_end(&ways[i], large ? rtol * sqrt(CELLS) : rtol, last_of(r)[0], coupled_end);
      drop_run(r);
      for (int k = 0; k < 3; k++) {
        if (p.sources[k] != NULL) p.sources[k]->ops->destroy(p.sources[k]);
      }
    }
  }
}

static void a_jump_between_two_models_is_crossed(void** state) {
  (void)state;
  check_coupled(false, false, false, 1e-9);
}

static void so_is_one_with_differences_for_directions(void** state) {
  (void)state;
  check_coupled(true, false, false, 1e-9);
}

static void so_is_one_in_a_coupling_function(void** state) {
  (void)state;
  check_coupled(false, true, false, 1e-9);
}

static void so_is_one_in_a_large_system(void** state) {
  (void)state;
  check_coupled(false, false, true, 1e-6);
}

//------------------------------------ sliding ------------------------------------

// Both sides lead to the surface x = 1 + sin(t) / 2: the solution stays on it.
static int slide_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[0] < 1 + 0.5 * sin(v->t) ? 1.5 : -2.5;
  return CPL_MODEL_OK;
}
static const cpl_declaration slide_states[] = {{"x", .start = 0.9, .output = true}, END_OF_LIST};
static const cpl_model_def slide = {
    .name = "slide", .states = slide_states, .derivatives = slide_derivatives, .stop_time = 0.5};

static void a_solution_stays_on_a_surface_of_jumps(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    for (double rtol = 1e-3; rtol > 0.9e-4; rtol /= 10) {
      recording* r = recording_make(ctx, &slide);
      r->solver = solver_of(&ways[i], rtol);
      r->run.interval = 0.01;
      CHECK_OK(ctx, recording_run(r));
      for (size_t k = 0; k < r->n; k++) {
        if (r->t[k] > 0.15) check_end(&ways[i], rtol, r->value[k][0], 1 + 0.5 * sin(r->t[k]));
      }
      recording_free(r);
    }
  }
}

//------------------------------------ the matrix itself ------------------------------------

// Next to its jump a relay has the derivative of the side it is on, which is none.
static void no_difference_is_taken_across_a_jump(void** state) {
  (void)state;
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  cpl_jacobian* j = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &stiff, &source));
  CHECK_OK(ctx, source->ops->make_model(source, "m", &m));
  const cpl_setup setup = {0};
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &setup));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  CHECK_OK(ctx, m->ops->enter_continuous(m));
  cpl_jacobian_def def = cpl_default_jacobian_def();
  int32_t rows[2], columns[2];
  def.n_rows = cpl_list_variables(m->base.desc, CPL_VARIABLES_DERIVATIVES, rows, 2);
  def.n_columns = cpl_list_variables(m->base.desc, CPL_VARIABLES_STATES, columns, 2);
  def.rows = rows;
  def.columns = columns;
  CHECK_OK(ctx, cpl_jacobian_create(m, &def, &j));
  for (int round = 0; round < 3; round++) {
    double x[2] = {1.3 - 1e-12 * pow(10, round), 1}, a[4], dx[2];
    CHECK_OK(ctx, m->ops->set_states(m, x));
    CHECK_OK(ctx, cpl_jacobian_evaluate(j, x, a));
    CHECK_NEAR(a[0], 0, 1e-3);
    CHECK_NEAR(a[3], -1e5, 1);
    CHECK_OK(ctx, m->ops->get_derivatives(m, dx));  // the model is where it was
    CHECK_NEAR(dx[0], 2, 0);
  }
  cpl_jacobian_destroy(j);
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_relay_is_crossed),
      cmocka_unit_test(directional_derivatives_may_be_differences),
      cmocka_unit_test(a_staircase_is_climbed),
      cmocka_unit_test(a_relay_beside_a_stiff_state_is_crossed),
      cmocka_unit_test(a_relay_in_a_sparse_system_is_crossed),
      cmocka_unit_test(a_jump_between_two_models_is_crossed),
      cmocka_unit_test(so_is_one_with_differences_for_directions),
      cmocka_unit_test(so_is_one_in_a_coupling_function),
      cmocka_unit_test(so_is_one_in_a_large_system),
      cmocka_unit_test(a_solution_stays_on_a_surface_of_jumps),
      cmocka_unit_test(no_difference_is_taken_across_a_jump),
  };
  ctx = test_context();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
