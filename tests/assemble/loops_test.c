// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Algebraic loops whose values have any size, in aggregates and in masters. p and q hand their
// input on as output, sum integrates; the formulas stand in the connections, so that every solution
// is known in closed form.
#include <math.h>

#include "base/base.h"
#include "couplet/component.h"
#include "models.h"

static cpl_context* ctx;

static int pass_outputs(const cpl_values* v, double* y) {
  y[0] = v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration pass_in[] = {{"u"}, END_OF_LIST};
static const cpl_declaration pass_out[] = {{"y"}, END_OF_LIST};
static const cpl_model_def pass_model = {
    .name = "pass", .inputs = pass_in, .outputs = pass_out, .output_values = pass_outputs};

static int sum_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration sum_states[] = {{"x", .output = true}, END_OF_LIST};
static const cpl_model_def sum_model = {
    .name = "sum", .states = sum_states, .inputs = pass_in, .derivatives = sum_derivatives};

typedef struct wiring {
  const char *p, *q, *sum;  // what their inputs are
  cpl_member_as as;
  cpl_cosimulation_def how;
  cpl_solver_kind solver;
  double stop, interval;
  double size;  // of p.y
  double (*exact_p)(double t), (*exact_sum)(double t);
  double worst_p, worst_sum;  // errors, p.y in units of `size`
  int64_t iterations, points;
} wiring;

static cpl_status compare(void* user, double t, const cpl_value* values) {
  wiring* w = user;
  w->worst_p = fmax(w->worst_p, fabs(values[0].real / w->size - w->exact_p(t)));
  w->worst_sum = fmax(w->worst_sum, fabs(values[1].real - w->exact_sum(t)));
  w->points++;
  return CPL_OK;
}

static cpl_status run_wiring(wiring* w) {
  cpl_source *pass = NULL, *sum = NULL, *system = NULL;
  cpl_system_def* def = NULL;
  cpl_stepper* s = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &pass_model, &pass));
  CHECK_OK(ctx, cpl_c_define(ctx, &sum_model, &sum));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  cpl_member_def m = cpl_default_member_def();
  m.kind = CPL_MEMBER_C, m.as = w->as;
  const char* names[] = {"p", "q", "sum"};
  const char* inputs[] = {"p.u", "q.u", "sum.u"};
  const char* sources[] = {w->p, w->q, w->sum};
  for (int i = 0; i < 3; i++) {
    m.name = names[i], m.source = i < 2 ? pass : sum;
    CHECK_OK(ctx, cpl_system_def_add_model(def, &m));
  }
  for (int i = 0; i < 3; i++) CHECK_OK(ctx, cpl_system_def_connect(def, inputs[i], sources[i]));
  if (w->as == CPL_AS_CO_SIMULATION) CHECK_OK(ctx, cpl_system_def_set_cosimulation(def, &w->how));
  CHECK_OK(ctx, cpl_system_build(ctx, def, &system));
  cpl_stepper_def stepper = cpl_default_stepper_def();
  stepper.solver.kind = w->solver;
  stepper.solver.rtol = 1e-10;
  CHECK_OK(ctx, cpl_system_stepper(system, &stepper, &s));
  const char* record[] = {"p.y", "sum.x"};
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = w->stop, run.interval = w->interval, run.record = record, run.n_record = 2;
  run.on_point = compare, run.user = w;
  cpl_status st = cpl_run(s, &run, NULL);
  w->iterations = (int64_t)fmax(0, cpl_component_counter(&s->base, "loop_iterations"));
  s->base.ops->destroy(&s->base);
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
  pass->ops->destroy(pass);
  sum->ops->destroy(sum);
  return st;
}

//------------------------------------ aggregates ------------------------------------

// p = w - 0.7 p with w = sin(t)
static double linear_p(double t) { return sin(t) / 1.7; }
static double linear_sum(double t) { return (1 - cos(t)) / 1.7; }

// The cubic P + P^3 = 2 + sin(t), with P' = cos(t)/(1 + 3 P^2): the sum integrates it.
static double cubic_p(double t) {
  double w = 2 + sin(t), d = sqrt(w * w / 4 + 1.0 / 27);
  return cbrt(w / 2 + d) + cbrt(w / 2 - d);
}
static double cubic_sum(double t) {  // Gauss-Legendre, 3 points on 64 pieces
  const double at[] = {-0.7745966692414834, 0, 0.7745966692414834},
               weight[] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
  double sum = 0, h = t / 64;
  for (int i = 0; i < 64; i++) {
    for (int k = 0; k < 3; k++) sum += weight[k] * cubic_p(h * (i + 0.5 + at[k] / 2)) * h / 2;
  }
  return sum;
}

static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE, CPL_SOLVER_DOPRI5, CPL_SOLVER_RADAU};

static void check_aggregate(wiring w) {
  w.stop = 7, w.interval = 0.125;
  for (size_t k = 0; k < CPLI_COUNT(kinds); k++) {
    w.solver = kinds[k];
    w.worst_p = w.worst_sum = 0;
    CHECK_OK(ctx, run_wiring(&w));
    CHECK_NEAR(w.worst_p, 0, 1e-10);
    CHECK_NEAR(w.worst_sum, 0, 1e-7);
  }
}

static void loops_are_solved_to_their_own_size(void** state) {
  (void)state;
  static const double sizes[] = {1, 1e-12, 3e9, 1e-30};
  for (size_t i = 0; i < CPLI_COUNT(sizes); i++) {
    double size = sizes[i];
    char p[128], sum[64], cube[128];
    snprintf(p, sizeof p, "%g*sin(time) - 0.7*q.y", size);
    snprintf(sum, sizeof sum, "p.y/%g", size);
    check_aggregate((wiring){.p = p,
                             .q = "p.y",
                             .sum = sum,
                             .size = size,
                             .exact_p = linear_p,
                             .exact_sum = linear_sum});
    snprintf(cube, sizeof cube, "%g*(2 + sin(time) - (q.y/%g)^3)", size, size);
    check_aggregate((wiring){.p = cube,
                             .q = "p.y",
                             .sum = sum,
                             .size = size,
                             .exact_p = cubic_p,
                             .exact_sum = cubic_sum});
  }
}

static void small_and_large_values_meet_in_one_loop(void** state) {
  (void)state;
  check_aggregate((wiring){.p = "1e-12*sin(time) - 0.7e-24*q.y",
                           .q = "1e24*p.y",
                           .sum = "p.y*1e12",
                           .size = 1e-12,
                           .exact_p = linear_p,
                           .exact_sum = linear_sum});
  // two unknowns: each value also needs itself
  check_aggregate((wiring){.p = "0.3*p.u + 0.7e-12*sin(time) - 0.49e-24*q.y",
                           .q = "0.6*q.u + 0.4e24*p.y",
                           .sum = "p.y*1e12",
                           .size = 1e-12,
                           .exact_p = linear_p,
                           .exact_sum = linear_sum});
}

//------------------------------------ masters ------------------------------------

// Values at communication points are those of the loop; between them inputs are straight lines.
static void masters_solve_loops_of_any_size(void** state) {
  (void)state;
  static const char* const algorithms[] = {"determinate", "iterative", "gauss-seidel"};
  static const double sizes[] = {1, 1e-12, 4e9};
  for (size_t i = 0; i < CPLI_COUNT(sizes); i++) {
    for (size_t k = 0; k < CPLI_COUNT(algorithms); k++) {
      char p[128], q[64], sum[64];
      snprintf(p, sizeof p, "%g*sin(time) - %g*q.y", sizes[i], 0.7 * sizes[i] * sizes[i]);
      snprintf(q, sizeof q, "p.y/%g", sizes[i] * sizes[i]);
      snprintf(sum, sizeof sum, "p.y/%g", sizes[i]);
      wiring w = {.p = p,
                  .q = q,
                  .sum = sum,
                  .as = CPL_AS_CO_SIMULATION,
                  .how = cpl_default_cosimulation_def(),
                  .size = sizes[i],
                  .exact_p = linear_p,
                  .exact_sum = linear_sum,
                  .solver = CPL_SOLVER_CVODE,
                  .stop = 3,
                  .interval = 0.125};
      w.how.algorithm = algorithms[k];
      w.how.order = 1;
      w.how.step = 1.0 / 64;
      CHECK_OK(ctx, run_wiring(&w));
      CHECK_NEAR(w.worst_p, 0, 1e-8);
      CHECK_NEAR(w.worst_sum, 0, 2e-4);
      CHECK(w.iterations > 0 && w.iterations < 10 * 192);
    }
  }
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_are_solved_to_their_own_size),
      cmocka_unit_test(small_and_large_values_meet_in_one_loop),
      cmocka_unit_test(masters_solve_loops_of_any_size),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
