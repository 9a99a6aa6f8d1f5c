// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Projection onto constraints: the pendulum in Cartesian coordinates and its variants, whose exact
// motion is that of the angle.
#include "base/base.h"
#include "models.h"

#define couplet_model pendulum_model
#include "../../examples/drift/pendulum.c"
#undef couplet_model

// x, y, vx, vy, then the outputs; columns are recorded in the order below.
static const char* const columns[] = {"x", "y", "drift", "along", "energy"};

typedef struct result {
  double drift, along, energy;  // largest
  double x, y;                  // at the end
  cpl_solver_stats stats;
} result;

typedef struct options {
  const cpl_model_def* model;
  cpl_solver_kind kind;
  cpl_projection projection;
  double rtol, step, stop;
  int constrained;
} options;

// Step events are recorded from both sides: too many points to keep.
static cpl_status take_point(void* user, double t, const cpl_value* values) {
  result* out = user;
  (void)t;
  out->x = values[0].real;
  out->y = values[1].real;
  out->drift = fmax(out->drift, fabs(values[2].real));
  out->along = fmax(out->along, fabs(values[3].real));
  out->energy = fmax(out->energy, fabs(values[4].real));
  return CPL_OK;
}

static result run(cpl_context* ctx, options o) {
  char number[8];
  snprintf(number, sizeof number, "%d", o.constrained > 0 ? o.constrained : 2);
  cpl_start start = {"constrained", number};
  recording* r = recording_make(ctx, o.model != NULL ? o.model : &pendulum_model);
  r->solver.kind = o.kind;
  r->solver.projection = o.projection;
  r->solver.rtol = o.rtol;
  r->solver.step = o.step;
  r->run.stop_time = o.stop;
  r->run.starts = &start;
  r->run.n_starts = 1;
  r->run.record = columns;
  r->run.n_record = 5;
  result out = {0};
  r->run.on_columns = NULL;
  r->run.on_point = take_point;
  r->run.user = &out;
  CHECK_OK(ctx, recording_run(r));
  out.stats = r->stats.solver;
  recording_free(r);
  return out;
}

// The angle above the horizontal, by RK4 with steps so short that only rounding is left.
static void exact(double stop, double* x, double* y) {
  double a = 0, w = 0, g = 9.81;
  long n = lround(stop / 1e-3);
  double h = stop / (double)n;
  for (long i = 0; i < n; i++) {
    double k[4][2], da = 0, dw = 0;
    static const double part[] = {0, 0.5, 0.5, 1}, weight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    for (int j = 0; j < 4; j++) {
      double at = a + (j > 0 ? part[j] * h * k[j - 1][0] : 0);
      k[j][0] = w + (j > 0 ? part[j] * h * k[j - 1][1] : 0);
      k[j][1] = -g * cos(at);
      da += weight[j] * k[j][0];
      dw += weight[j] * k[j][1];
    }
    a += h * da;
    w += h * dw;
  }
  *x = cos(a);
  *y = sin(a);
}

//------------------------------------ the numbers of the document ---------------------------------

static void lazy_projection_keeps_the_drift_below_the_tolerance(void** state) {
  options o = {.kind = CPL_SOLVER_RADAU, .rtol = 1e-4, .stop = 100};
  result lazy = run(*state, o);
  o.projection = CPL_PROJECT_NEVER;
  result off = run(*state, o);
  CHECK(lazy.drift <= 1e-4);
  CHECK(off.drift >= 100 * lazy.drift);
  CHECK((double)lazy.stats.rhs_evals <= 1.05 * (double)off.stats.rhs_evals);
  CHECK(lazy.stats.projections > 0 && lazy.stats.projections < 100);
  CHECK_INT(off.stats.projections, 0);
  CHECK(lazy.stats.largest_residual > 1e-4 && lazy.stats.largest_projection < 1);
}

static void energy_is_kept(void** state) {
  options o = {.kind = CPL_SOLVER_RADAU, .rtol = 1e-5, .step = 0.1, .stop = 300};
  double x, y;
  exact(300, &x, &y);
  CHECK(run(*state, o).energy <= 9e-3);
  o.constrained = 3;
  CHECK(run(*state, o).energy <= 1e-5);
  o.projection = CPL_PROJECT_EVERY_STEP;
  result r = run(*state, o);
  CHECK(r.energy <= 1e-12);
  CHECK(r.drift <= 1e-12);                   // output points lie between the steps
  CHECK(hypot(r.x - x, r.y - y) <= 1.5e-5);  // the document asks for 3e-5
  o.kind = CPL_SOLVER_ERK8;
  r = run(*state, o);
  CHECK(hypot(r.x - x, r.y - y) <= 7e-6);
}

static void step_events_cost_far_more(void** state) {
  options o = {.kind = CPL_SOLVER_CVODE, .rtol = 1e-5, .step = 0.1, .stop = 300};
  result inside = run(*state, o);
  o.projection = CPL_PROJECT_BY_EVENTS;
  result events = run(*state, o);
  CHECK(events.stats.rhs_evals >= 50 * inside.stats.rhs_evals);
  CHECK(events.stats.rhs_evals + 4 * events.stats.jac_evals >=
        60 * (inside.stats.rhs_evals + 4 * inside.stats.jac_evals));  // and those of Jacobians
  CHECK(events.stats.step_events == events.stats.projections);
  CHECK(inside.drift < 1e-12);
  CHECK(events.drift < 1e-4);
  CHECK(inside.energy < 0.1 * events.energy);
}

static void all_methods_stay_on_the_constraints(void** state) {
  static const struct {
    cpl_solver_kind kind;
    double step;
  } methods[] = {{CPL_SOLVER_CVODE, 0},    {CPL_SOLVER_RADAU, 0},   {CPL_SOLVER_DOPRI5, 0},
                 {CPL_SOLVER_ERK8, 0},     {CPL_SOLVER_ESDIRK5, 0}, {CPL_SOLVER_RK4, 0.01},
                 {CPL_SOLVER_EULER, 1e-4}, {CPL_SOLVER_ADAMS, 0}};
  for (size_t i = 0; i < CPLI_COUNT(methods); i++) {
    options o = {.kind = methods[i].kind,
                 .rtol = 1e-6,
                 .step = methods[i].step,
                 .stop = 10,
                 .projection = CPL_PROJECT_EVERY_STEP};
    result r = run(*state, o);
    CHECK(r.drift < 1e-10);
    CHECK(r.along < 1e-10);
    o.projection = CPL_PROJECT_LAZILY;
    r = run(*state, o);
    CHECK(r.drift <= 1e-6);
    CHECK(r.along <= 1e-6);
  }
}

static void error_follows_the_tolerance(void** state) {
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE, CPL_SOLVER_RADAU, CPL_SOLVER_DOPRI5};
  double x, y;
  exact(10, &x, &y);
  for (size_t i = 0; i < CPLI_COUNT(kinds); i++) {
    double last = INFINITY;
    for (double rtol = 1e-5; rtol > 1e-10; rtol *= 0.01) {
      result r = run(*state, (options){.kind = kinds[i], .rtol = rtol, .stop = 10});
      double error = hypot(r.x - x, r.y - y);
      CHECK(error < 0.2 * last);
      last = error;
    }
    CHECK(last < 1e-5);
  }
}

//------------------------------------ ways onto the constraints
//------------------------------------

static void multistep_methods_can_be_restarted_by_events(void** state) {
  cpl_context* ctx = *state;
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_ADAMS, CPL_SOLVER_IDA};
  for (size_t i = 0; i < 2; i++) {
    result by_events = run(
        ctx,
        (options){.kind = kinds[i], .rtol = 1e-6, .stop = 2, .projection = CPL_PROJECT_BY_EVENTS});
    CHECK(by_events.drift < 1e-4);
  }
}

// IDA takes the constraints as equations: no restarts, and no drift at the ends of its steps.
static void ida_keeps_constraints_as_equations(void** state) {
  options o = {.kind = CPL_SOLVER_IDA, .rtol = 1e-6, .stop = 20};
  double x, y;
  exact(20, &x, &y);
  result equations = run(*state, o);
  o.projection = CPL_PROJECT_NEVER;
  result off = run(*state, o);
  o.projection = CPL_PROJECT_BY_EVENTS;
  result events = run(*state, o);
  CHECK_INT(equations.stats.restarts, 1);
  CHECK(equations.drift <= 1e-6);
  CHECK(equations.along <= 1e-5);
  CHECK(off.drift > 100 * equations.drift);
  CHECK(2 * equations.stats.rhs_evals < events.stats.rhs_evals);
  CHECK_NEAR(equations.x, x, 1e-3);
  CHECK_NEAR(equations.y, y, 1e-3);
  CHECK(hypot(equations.x - x, equations.y - y) < hypot(off.x - x, off.y - y));
}

// Position first, then velocity: not the shortest way, but a way.
static int closed_form(const cpl_values* v, double* dx) {
  const double *x = v->x, l = v->p[L], r = hypot(x[0], x[1]);
  double turn = (x[0] * x[VY] - x[1] * x[VX]) / (r * r);
  dx[0] = l * x[0] / r - x[0];
  dx[1] = l * x[1] / r - x[1];
  dx[2] = -turn * x[1] * l / r - x[VX];
  dx[3] = turn * x[0] * l / r - x[VY];
  return CPL_MODEL_OK;
}

static void a_model_may_project_itself(void** state) {
  cpl_model_def own = pendulum_model;
  own.projection = closed_form;
  options o = {.model = &own, .kind = CPL_SOLVER_RADAU, .rtol = 1e-5, .stop = 20};
  result r = run(*state, o);
  CHECK(r.drift <= 1e-5);
  o.projection = CPL_PROJECT_EVERY_STEP;
  r = run(*state, o);
  CHECK(r.drift < 1e-14);
  CHECK(r.along < 1e-14);
  o.kind = CPL_SOLVER_CVODE;
  CHECK(run(*state, o).drift < 1e-14);
}

static void differences_do_as_well_as_a_jacobian(void** state) {
  cpl_model_def plain = pendulum_model;
  plain.constraint_jacobian = NULL;
  options o = {
      .kind = CPL_SOLVER_RADAU, .rtol = 1e-5, .stop = 20, .projection = CPL_PROJECT_EVERY_STEP};
  result a = run(*state, o);
  o.model = &plain;
  result b = run(*state, o);
  CHECK(b.drift < 1e-12);
  CHECK_NEAR(a.x, b.x, 1e-8);
  CHECK_INT(a.stats.rhs_evals, b.stats.rhs_evals);
}

// Every constraint twice, in other units.
static int doubled_constraints(const cpl_values* v, double* c) {
  int done = constraints(v, c);
  c[2] = -1e3 * c[0];
  c[3] = 1e-3 * c[1];
  return done;
}
static int four(const cpl_values* v) { return (void)v, 4; }

static void redundant_constraints_do_no_harm(void** state) {
  cpl_model_def twice = pendulum_model;
  twice.n_constraints = 4;
  twice.active_constraints = four;
  twice.constraints = doubled_constraints;
  twice.constraint_jacobian = NULL;
  options o = {
      .kind = CPL_SOLVER_RADAU, .rtol = 1e-5, .stop = 20, .projection = CPL_PROJECT_EVERY_STEP};
  result a = run(*state, o);
  o.model = &twice;
  result b = run(*state, o);
  CHECK(b.drift < 1e-11);
  CHECK_NEAR(a.x, b.x, 1e-7);
  o.kind = CPL_SOLVER_CVODE;
  CHECK(run(*state, o).drift < 1e-11);
}

// A combination that says nothing new where the others hold; away from there its gradient is one of
// its own, and must not lead along the circle.
static int mixed_constraints(const cpl_values* v, double* c) {
  int done = constraints(v, c);
  c[2] = (3 + v->x[1]) * c[0] + v->x[VX] * c[1];
  return done;
}
static int three(const cpl_values* v) { return (void)v, 3; }

static void redundance_on_the_constraints_only_does_no_harm(void** state) {
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_RADAU, CPL_SOLVER_DOPRI5, CPL_SOLVER_CVODE};
  cpl_model_def mixed = pendulum_model;
  mixed.active_constraints = three;
  mixed.constraints = mixed_constraints;
  mixed.constraint_jacobian = NULL;
  double x, y;
  exact(10, &x, &y);
  for (size_t i = 0; i < CPLI_COUNT(kinds); i++) {
    options o = {.kind = kinds[i], .rtol = 1e-6, .stop = 10, .projection = CPL_PROJECT_EVERY_STEP};
    result a = run(*state, o);
    o.model = &mixed;
    result b = run(*state, o);
    CHECK(b.drift < 1e-11);
    CHECK(hypot(b.x - x, b.y - y) < 1.5 * hypot(a.x - x, a.y - y));
  }
}

// At rest in the lowest point the gradients of length and energy are parallel.
static void a_singular_point_is_survived(void** state) {
  cpl_context* ctx = *state;
  for (int k = 0; k < 2; k++) {
    recording* r = recording_make(ctx, &pendulum_model);
    cpl_start starts[] = {{"constrained", "3"}, {"x", "0"}, {"y", "-1"}};
    r->solver.kind = k == 0 ? CPL_SOLVER_RADAU : CPL_SOLVER_CVODE;
    r->solver.projection = CPL_PROJECT_EVERY_STEP;
    r->run.starts = starts;
    r->run.n_starts = 3;
    r->run.stop_time = 1;
    CHECK_OK(ctx, recording_run(r));
    CHECK_NEAR(last_of(r)[1], -1, 1e-10);
    recording_free(r);
  }
}

static int contradiction(const cpl_values* v, double* c) {
  c[0] = v->x[0] - 1;
  c[1] = v->x[0] - 2;
  return CPL_MODEL_OK;
}

static void contradictions_are_reported(void** state) {
  cpl_context* ctx = *state;
  cpl_model_def def = pendulum_model;
  def.constraints = contradiction;
  def.constraint_jacobian = NULL;
  def.n_constraints = 2;
  recording* r = recording_make(ctx, &def);
  r->solver.kind = CPL_SOLVER_RADAU;
  CHECK(recording_run(r) < 0);
  CHECK_CONTAINS(cpl_context_error(ctx), "no projection onto the constraints");
  CHECK_CONTAINS(cpl_context_error(ctx), "t=0");
  recording_free(r);
}

// What the equations do not keep by themselves is no constraint: no step is short enough for it.
static int ramp(const cpl_values* v, double* c) {
  c[0] = 1e3 * v->t + v->x[1];
  return CPL_MODEL_OK;
}

static void what_is_not_kept_is_no_constraint(void** state) {
  cpl_context* ctx = *state;
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_RADAU, CPL_SOLVER_CVODE, CPL_SOLVER_DOPRI5,
                                          CPL_SOLVER_ADAMS};
  cpl_model_def def = pendulum_model;
  def.constraints = ramp;
  def.constraint_jacobian = NULL;
  def.active_constraints = NULL;
  def.n_constraints = 1;
  for (size_t i = 0; i < CPLI_COUNT(kinds); i++) {
    recording* r = recording_make(ctx, &def);
    r->solver.kind = kinds[i];
    CHECK(recording_run(r) < 0);
    CHECK_CONTAINS(cpl_context_error(ctx), "the equations do not keep the constraints");
    recording_free(r);
  }
}

static void a_start_off_the_constraints_is_projected(void** state) {
  cpl_context* ctx = *state;
  recording* r = recording_make(ctx, &pendulum_model);
  cpl_start starts[] = {{"x", "1.5"}, {"vx", "0.3"}};
  r->solver.kind = CPL_SOLVER_RADAU;
  r->run.starts = starts;
  r->run.n_starts = 2;
  r->run.stop_time = 1;
  r->run.record = columns;
  r->run.n_record = 5;
  CHECK_OK(ctx, recording_run(r));
  for (size_t i = 0; i < r->n; i++) CHECK(fabs(r->value[i][2]) <= 1e-8);
  recording_free(r);
}

//------------------------------------ memory ------------------------------------

static long calls_at[MAX_POINTS];
static size_t n_calls;

static cpl_status count_calls(void* user, double t, const cpl_value* values) {
  (void)t, (void)values;
  if (n_calls < MAX_POINTS) calls_at[n_calls++] = ((test_heap*)user)->calls;
  return CPL_OK;
}

static cpl_status run_with_heap(test_heap* heap, cpl_solver_kind kind) {
  cpl_context* ctx = test_context_with_heap(heap);
  if (ctx == NULL) return CPL_ERR_NOMEM;
  cpl_source* source = NULL;
  cpl_model* model = NULL;
  cpl_stepper* stepper = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  cpl_run_def def = cpl_default_run_def();
  solver.kind = kind;
  solver.rtol = 1e-4;
  def.stop_time = 2;
  def.on_point = count_calls;
  def.user = heap;
  cpl_status st = cpl_c_define(ctx, &pendulum_model, &source);
  if (st >= 0) st = source->ops->make_model(source, "p", &model);
  if (st >= 0) st = cpl_integrate(model, &solver, &stepper);
  if (st >= 0) st = cpl_run(stepper, &def, NULL);
  if (stepper != NULL) stepper->base.ops->destroy(&stepper->base);
  if (source != NULL) source->ops->destroy(source);
  cpl_context_destroy(ctx);
  return st;
}

static void the_stepping_loop_allocates_nothing(void** state) {
  (void)state;
  test_heap heap = {.fail_at = -1};
  n_calls = 0;
  CHECK_INT(run_with_heap(&heap, CPL_SOLVER_RADAU), CPL_OK);
  CHECK(n_calls > 400);
  for (size_t i = 1; i < n_calls; i++) CHECK_INT(calls_at[i], calls_at[0]);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    for (long n = 0;; n++) {
      test_heap heap = {.fail_at = n};
      cpl_status st = run_with_heap(&heap, k == 0 ? CPL_SOLVER_RADAU : CPL_SOLVER_DOPRI5);
      CHECK_INT(heap.live, 0);
      if (st == CPL_OK) break;
      CHECK_INT(st, CPL_ERR_NOMEM);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lazy_projection_keeps_the_drift_below_the_tolerance),
      cmocka_unit_test(energy_is_kept),
      cmocka_unit_test(step_events_cost_far_more),
      cmocka_unit_test(all_methods_stay_on_the_constraints),
      cmocka_unit_test(error_follows_the_tolerance),
      cmocka_unit_test(multistep_methods_can_be_restarted_by_events),
      cmocka_unit_test(ida_keeps_constraints_as_equations),
      cmocka_unit_test(a_model_may_project_itself),
      cmocka_unit_test(differences_do_as_well_as_a_jacobian),
      cmocka_unit_test(redundant_constraints_do_no_harm),
      cmocka_unit_test(redundance_on_the_constraints_only_does_no_harm),
      cmocka_unit_test(a_singular_point_is_survived),
      cmocka_unit_test(contradictions_are_reported),
      cmocka_unit_test(what_is_not_kept_is_no_constraint),
      cmocka_unit_test(a_start_off_the_constraints_is_projected),
      cmocka_unit_test(the_stepping_loop_allocates_nothing),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
