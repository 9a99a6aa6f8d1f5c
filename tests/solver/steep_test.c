// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Right-hand sides that are smooth, but change within less than a step: x' = a - b tanh((x - c)/w).
// Jacobians of b/w hold for a moment only, and with them Newton's corrections vanish. Every solver
// finds the end of the solution, for steep and flat ones, alone, coupled, in sparse systems and
// with directional derivatives. The reference is the integral of dx/x', solved for x by bisection.
#include "models.h"

static cpl_context* ctx;

typedef struct way {
  cpl_solver_kind kind;
  cpl_linear_solver linear;
} way;

static const way ways[] = {{CPL_SOLVER_CVODE, CPL_LINEAR_DIRECT},
                           {CPL_SOLVER_CVODE, CPL_LINEAR_GMRES},
                           {CPL_SOLVER_RADAU, CPL_LINEAR_DIRECT},
                           {CPL_SOLVER_ESDIRK5, CPL_LINEAR_DIRECT},
                           {CPL_SOLVER_IDA, CPL_LINEAR_DIRECT}};
enum { N_WAYS = sizeof ways / sizeof *ways };

// Radau's tolerance is rtol^(2/3) / 10; others add up what each step may miss, and an edge behind
// which x is faster multiplies what was missed before.
static double allowed(const way* w, double rtol) {
  return w->kind == CPL_SOLVER_RADAU ? 15 * pow(rtol, 2.0 / 3) : 200 * rtol;
}

static cpl_solver_def solver_of(const way* w, double rtol) {
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = w->kind;
  solver.linear = w->linear;
  solver.rtol = rtol;
  return solver;
}

//------------------------------------ the edge ------------------------------------

typedef struct edge {
  double a, b, c, w;
} edge;

static edge now;  // of the models below

static double speed(double x) { return now.a - now.b * tanh((x - now.c) / now.w); }
static double slope(double x) {
  double th = tanh((x - now.c) / now.w);
  return -now.b / now.w * (1 - th * th);
}

// The time until x, from some fixed point on.
static double time_at(double x) {
  double s = (x - now.c) / now.w, e = exp(-2 * fabs(s)), sign = s < 0 ? -1 : 1;
  double log_of = fabs(s) + log((now.a * (1 + e) - now.b * sign * (1 - e)) / 2);
  return now.w * (now.a * s + now.b * log_of) / (now.a * now.a - now.b * now.b);
}

static double end_of(double start, double span) {
  double low = start, high = start + span * (now.a + fabs(now.b)), from = time_at(start);
  for (int i = 0; i < 200; i++) {
    double x = 0.5 * (low + high);
    if (time_at(x) - from < span) low = x;
    else high = x;
  }
  return low;
}

static const edge edges[] = {
    {1.1, 0.7, 1.17, 0}, {0.9, 0.5, 0.7321, 0}, {1.4, 1.3, 1.9, 0}, {1.2, -0.6, 0.911, 0}};
enum { N_EDGES = sizeof edges / sizeof *edges };

static void check(const way* k, double rtol, double value, double right) {
  if (fabs(value - right) <= allowed(k, rtol)) return;
  fail_msg("%s%s, rtol %g, edge %g %g %g %g: %.12g, expected %.12g", cpl_solver_name(k->kind),
           k->linear == CPL_LINEAR_GMRES ? " (gmres)" : "", rtol, now.a, now.b, now.c, now.w, value,
           right);
}

//------------------------------------ alone ------------------------------------

enum { STOP = 3 };

static int steep_derivatives(const cpl_values* v, double* dx) {
  dx[0] = speed(v->x[0]);
  return CPL_MODEL_OK;
}
static int steep_directional(const cpl_values* v, const double* d_x, const double* d_u,
                             double* d_dx, double* d_y) {
  (void)d_u;
  if (d_dx != NULL) d_dx[0] = slope(v->x[0]) * d_x[0];
  if (d_y != NULL) d_y[0] = d_x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration steep_states[] = {{"x", .start = 0.05, .output = true}, END_OF_LIST};
static const cpl_model_def steep = {
    .name = "steep", .states = steep_states, .derivatives = steep_derivatives, .stop_time = STOP};

static void check_alone(const cpl_model_def* def, const way* k, double rtol) {
  recording* r = recording_make(ctx, def);
  r->solver = solver_of(k, rtol);
  r->run.interval = STOP;
  CHECK_OK(ctx, recording_run(r));
  check(k, rtol, last_of(r)[0], end_of(0.05, STOP));
  recording_free(r);
}

static void check_grid(const cpl_model_def* def) {
  for (size_t i = 0; i < N_WAYS * N_EDGES; i++) {
    now = edges[i % N_EDGES];
    for (now.w = 2e-3; now.w > 1e-9; now.w /= 7) {
      for (double rtol = 1e-4; rtol > 0.9e-8; rtol /= 10)
        check_alone(def, &ways[i / N_EDGES], rtol);
    }
  }
}

static void an_edge_is_crossed_whatever_its_width(void** state) {
  (void)state;
  check_grid(&steep);
}

static void so_it_is_with_directional_derivatives(void** state) {
  (void)state;
  static cpl_model_def own;
  own = steep;
  own.directional = steep_directional;
  check_grid(&own);
}

//------------------------------------ beside others ------------------------------------

// A stiff state that follows cos(t) has large residuals and small corrections of its own.
static int stiff_derivatives(const cpl_values* v, double* dx) {
  dx[0] = speed(v->x[0]);
  dx[1] = -3e4 * (v->x[1] - cos(v->t)) - sin(v->t);
  return CPL_MODEL_OK;
}
static const cpl_declaration stiff_states[] = {
    {"x", .start = 0.05, .output = true}, {"s", .start = 1}, END_OF_LIST};
static const cpl_model_def stiff = {
    .name = "stiff", .states = stiff_states, .derivatives = stiff_derivatives, .stop_time = STOP};

static void an_edge_beside_a_stiff_state_is_crossed(void** state) {
  (void)state;
  check_grid(&stiff);
}

// A bar that warms up: many states, few dependencies.
enum { CELLS = 120 };
static int bar_derivatives(const cpl_values* v, double* dx) {
  for (int i = 0; i < CELLS; i++) {
    double left = i > 0 ? v->x[i - 1] : 1, right = i + 1 < CELLS ? v->x[i + 1] : 0;
    dx[i] = 300 * (left - 2 * v->x[i] + right);
  }
  dx[CELLS] = speed(v->x[CELLS]);
  return CPL_MODEL_OK;
}
static const cpl_declaration bar_states[] = {
    {"cell", .size = CELLS}, {"x", .start = 0.05, .output = true}, END_OF_LIST};
static const cpl_model_def bar = {
    .name = "bar", .states = bar_states, .derivatives = bar_derivatives, .stop_time = STOP};

static void an_edge_in_a_sparse_system_is_crossed(void** state) {
  (void)state;
  static const char* const record[] = {"x"};
  for (size_t i = 0; i < N_WAYS * N_EDGES; i++) {
    const way* k = &ways[i / N_EDGES];
    if (k->linear == CPL_LINEAR_GMRES) continue;
    now = edges[i % N_EDGES];
    now.w = 3e-6;
    for (double rtol = 1e-4; rtol > 0.9e-7; rtol /= 10) {
      recording* r = recording_make(ctx, &bar);
      r->solver = solver_of(k, rtol);
      r->run.interval = STOP;
      r->run.record = record;
      r->run.n_record = 1;
      CHECK_OK(ctx, recording_run(r));
      // the norm of many states hides what one of them does
      check(k, rtol * sqrt(CELLS), last_of(r)[0], end_of(0.05, STOP));
      recording_free(r);
    }
  }
}

//------------------------------------ coupled ------------------------------------

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
static int curve_outputs(const cpl_values* v, double* y) {
  y[0] = speed(v->u[0]);
  return CPL_MODEL_OK;
}
static const cpl_model_def curve = {.name = "curve",
                                    .inputs = gain_inputs,
                                    .outputs = gain_output_list,
                                    .output_values = curve_outputs};

static void check_coupled(const way* k, double rtol) {
  static const char* const record[] = {"a.x"};
  cpl_source* sources[2];
  cpl_model *made[2], *m = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &integrator, &sources[0]));
  CHECK_OK(ctx, cpl_c_define(ctx, &curve, &sources[1]));
  CHECK_OK(ctx, sources[0]->ops->make_model(sources[0], "a", &made[0]));
  CHECK_OK(ctx, sources[1]->ops->make_model(sources[1], "b", &made[1]));
  int32_t u[2], y[2];
  for (int i = 0; i < 2; i++) {
    u[i] = cpl_find_variable(made[i]->base.desc, "u");
    y[i] = cpl_find_variable(made[i]->base.desc, "y");
  }
  cpl_coupling couplings[] = {{.target = {1, u[1]}, .source = {0, y[0]}},
                              {.target = {0, u[0]}, .source = {1, y[1]}}};
  cpl_aggregate_def def = {.size = sizeof def,
                           .name = "pair",
                           .parts = made,
                           .n_parts = 2,
                           .couplings = couplings,
                           .n_couplings = 2};
  CHECK_OK(ctx, cpl_aggregate(ctx, &def, &m));
  cpl_solver_def solver = solver_of(k, rtol);
  recording* r = recording_by(ctx, m, STOP, &solver, record, 1);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  check(k, rtol, last_of(r)[0], end_of(0, STOP));
  drop_run(r);
  for (int i = 0; i < 2; i++) sources[i]->ops->destroy(sources[i]);
}

static void an_edge_between_two_models_is_crossed(void** state) {
  (void)state;
  for (size_t i = 0; i < N_WAYS * N_EDGES; i++) {
    now = edges[i % N_EDGES];
    for (now.w = 1e-3; now.w > 1e-9; now.w /= 30) {
      for (double rtol = 1e-4; rtol > 0.9e-8; rtol /= 10) check_coupled(&ways[i / N_EDGES], rtol);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_edge_is_crossed_whatever_its_width),
      cmocka_unit_test(so_it_is_with_directional_derivatives),
      cmocka_unit_test(an_edge_beside_a_stiff_state_is_crossed),
      cmocka_unit_test(an_edge_in_a_sparse_system_is_crossed),
      cmocka_unit_test(an_edge_between_two_models_is_crossed),
  };
  ctx = test_context();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
