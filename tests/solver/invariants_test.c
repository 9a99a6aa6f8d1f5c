// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Projection over all tolerances, sizes and starts: a pendulum whose exact motion is that of its
// angle, with one, two or three constraints, and one with friction whose energy is no constraint.
#include "base/base.h"
#include "models.h"

enum { X, Y, VX, VY };
enum { G, LENGTH, FRICTION, ACTIVE };

static int derivatives(const cpl_values* v, double* dx) {
  const double *x = v->x, d = v->p[FRICTION];
  double square = x[X] * x[X] + x[Y] * x[Y];
  double force = (v->p[G] * x[Y] - x[VX] * x[VX] - x[VY] * x[VY]) / square;
  dx[X] = x[VX];
  dx[Y] = x[VY];
  dx[VX] = force * x[X] - d * x[VX];
  dx[VY] = force * x[Y] - v->p[G] - d * x[VY];
  return CPL_MODEL_OK;
}
static double energy(const cpl_values* v) {
  return (v->x[VX] * v->x[VX] + v->x[VY] * v->x[VY]) / 2 + v->p[G] * v->x[Y];
}
static int initialize(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = energy(v);
  return CPL_MODEL_OK;
}
static int constraints(const cpl_values* v, double* c) {
  const double* x = v->x;
  c[0] = x[X] * x[X] + x[Y] * x[Y] - v->p[LENGTH] * v->p[LENGTH];
  c[1] = x[X] * x[VX] + x[Y] * x[VY];
  c[2] = energy(v) - v->w[0];
  return CPL_MODEL_OK;
}
// Rows of constraints that are not active have room, too.
static int jacobian(const cpl_values* v, double* jac) {
  const double* x = v->x;
  double rows[3][4] = {
      {2 * x[X], 2 * x[Y], 0, 0}, {x[VX], x[VY], x[X], x[Y]}, {0, v->p[G], x[VX], x[VY]}};
  memcpy(jac, rows, sizeof rows);
  return CPL_MODEL_OK;
}
static int active(const cpl_values* v) { return (int)v->p[ACTIVE]; }

static const cpl_declaration states[] = {
    {"x", .output = true}, {"y", .output = true}, {"vx"}, {"vy"}, END_OF_LIST};
static const cpl_declaration parameters[] = {{"g", .start = 1},
                                             {"L", .start = 1},
                                             {"friction"},
                                             {"active", .type = CPL_INTEGER, .start = 3},
                                             END_OF_LIST};
static const cpl_declaration discrete[] = {{"energy0"}, END_OF_LIST};
static const cpl_model_def pendulum = {.name = "pendulum",
                                       .states = states,
                                       .parameters = parameters,
                                       .discrete = discrete,
                                       .derivatives = derivatives,
                                       .initialize = initialize,
                                       .n_constraints = 3,
                                       .active_constraints = active,
                                       .constraints = constraints,
                                       .constraint_jacobian = jacobian};

typedef struct options {
  cpl_solver_kind kind;
  double tolerance, size, g, angle, friction, stop;  // angle: from the lowest point
  int active;
} options;

typedef struct outcome {
  cpl_status st;
  double error;  // of the position at the end, in lengths
  int64_t steps, rhs;
} outcome;

// By RK4 with steps so short that only rounding is left.
static double exact_angle(options o) {
  double a = o.angle, w = 0, h = o.stop / 20000;
  for (int i = 0; i < 20000; i++) {
    double k[4][2], da = 0, dw = 0;
    static const double part[] = {0, 0.5, 0.5, 1}, weight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    for (int j = 0; j < 4; j++) {
      double at = a + (j > 0 ? part[j] * h * k[j - 1][0] : 0);
      k[j][0] = w + (j > 0 ? part[j] * h * k[j - 1][1] : 0);
      k[j][1] = -o.g * sin(at) - o.friction * k[j][0];
      da += weight[j] * k[j][0];
      dw += weight[j] * k[j][1];
    }
    a += h * da;
    w += h * dw;
  }
  return a;
}

// Gravity in lengths, so that the motion is the same for all sizes.
static outcome run(cpl_context* ctx, options o) {
  static const char* const names[] = {"x", "y", "g", "L", "friction", "active"};
  double values[] = {
      o.size * sin(o.angle), -o.size * cos(o.angle), o.g * o.size, o.size, o.friction, o.active};
  char text[6][40];
  cpl_start starts[6];
  recording* r = recording_make(ctx, &pendulum);
  for (int i = 0; i < 6; i++) {
    snprintf(text[i], sizeof text[i], i < 5 ? "%.17g" : "%.0f", values[i]);
    starts[i] = (cpl_start){names[i], text[i]};
  }
  r->solver.kind = o.kind;
  r->solver.rtol = o.tolerance;
  r->solver.atol = o.tolerance * o.size;
  r->run.starts = starts;
  r->run.n_starts = 6;
  r->run.stop_time = o.stop;
  r->run.interval = o.stop;
  outcome out = {.st = recording_run(r)};
  if (out.st >= 0) {
    double a = exact_angle(o);
    out.error = hypot(last_of(r)[0] / o.size - sin(a), last_of(r)[1] / o.size + cos(a));
    out.steps = r->stats.solver.steps;
    out.rhs = r->stats.solver.rhs_evals;
  }
  recording_free(r);
  return out;
}

static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE,   CPL_SOLVER_ADAMS,  CPL_SOLVER_RADAU,
                                        CPL_SOLVER_ESDIRK5, CPL_SOLVER_DOPRI5, CPL_SOLVER_ERK8,
                                        CPL_SOLVER_IDA};

// With BDF of order 5 a hundredth of the tolerance takes 2.2 to 2.5 times the steps, with order 1
// it takes 10; Adams comes to order 12.
static void steps_follow_the_order(void** state) {
  for (int k = 0; k < 6; k++) {
    int64_t last = 0;
    int n = 1 + k % 3;
    for (double tolerance = 1e-5; tolerance > 5e-13; tolerance *= 0.01) {
      outcome one = run(*state, (options){.kind = k < 3 ? CPL_SOLVER_CVODE : CPL_SOLVER_ADAMS,
                                          .tolerance = tolerance,
                                          .size = 1,
                                          .g = 13,
                                          .angle = 1.2,
                                          .stop = 12,
                                          .active = n});
      CHECK_INT(one.st, CPL_OK);
      CHECK(last == 0 || (double)one.steps < (k < 3 ? 3 : 2) * (double)last);
      CHECK((double)one.rhs < (k < 3 ? 1.5 : 2.2) * (double)one.steps);
      CHECK(one.error < (n < 3 ? 2e4 : 2e3) * tolerance);
      last = one.steps;
    }
  }
}

static void the_size_does_not_matter(void** state) {
  static const double sizes[] = {1e-7, 1, 1e7};
  for (size_t k = 0; k < CPLI_COUNT(kinds); k++) {
    for (size_t i = 0; i < CPLI_COUNT(sizes); i++) {
      outcome one = run(*state, (options){.kind = kinds[k],
                                          .tolerance = 1e-7,
                                          .size = sizes[i],
                                          .g = 7,
                                          .angle = 2.2,
                                          .stop = 6,
                                          .active = 3});
      CHECK_INT(one.st, CPL_OK);
      CHECK(one.error < 2e-5);
    }
  }
}

// In the lowest point the gradients of length and energy are parallel; next to it they all but are.
static void starts_at_a_singular_point_and_next_to_it(void** state) {
  static const double angles[] = {0, 1e-11, 3e-8, 2e-5, 4e-4, 0.02};
  for (size_t k = 0; k < CPLI_COUNT(kinds); k++) {
    for (size_t i = 0; i < CPLI_COUNT(angles); i++) {
      for (double tolerance = 1e-4; tolerance > 5e-11; tolerance *= 0.01) {
        outcome one = run(*state, (options){.kind = kinds[k],
                                            .tolerance = tolerance,
                                            .size = 1,
                                            .g = 11,
                                            .angle = angles[i],
                                            .stop = 3,
                                            .active = 3});
        CHECK_INT(one.st, CPL_OK);
        CHECK(one.error < 200 * tolerance);
      }
    }
  }
}

//------------------------------------ what is no constraint ------------------------------------

static int warnings;
static char last_warning[600];

static void count_warnings(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user, (void)who;
  if (level != CPL_LOG_WARNING) return;
  warnings++;
  snprintf(last_warning, sizeof last_warning, "%s", text);
}

// Friction consumes the energy that is said to be kept: much of it is an error, little is warned
// of.
static void a_constraint_against_the_equations_is_named(void** state) {
  static const cpl_solver_kind some[] = {CPL_SOLVER_CVODE, CPL_SOLVER_RADAU, CPL_SOLVER_DOPRI5};
  cpl_context_def def = cpl_default_context_def();
  (void)state;
  def.log = count_warnings;
  cpl_context* ctx = cpl_context_create(&def);
  for (size_t k = 0; k < CPLI_COUNT(some); k++) {
    options o = {.kind = some[k],
                 .tolerance = 1e-7,
                 .size = 1,
                 .g = 9,
                 .angle = 1.5,
                 .friction = 3,
                 .stop = 4,
                 .active = 3};
    outcome one = run(ctx, o);
    CHECK_INT(one.st, CPL_ERR_MODEL);
    CHECK_CONTAINS(cpl_context_error(ctx), "do not keep the constraints");
    CHECK_CONTAINS(cpl_context_error(ctx), "constraint 3");
    warnings = 0;
    o.friction = 0.003;
    one = run(ctx, o);
    CHECK_INT(one.st, CPL_OK);
    CHECK_INT(warnings, 1);
    CHECK_CONTAINS(last_warning, "constraint 3");
    warnings = 0;
    o.active = 2;  // and without it nothing is wrong
    one = run(ctx, o);
    CHECK_INT(one.st, CPL_OK);
    CHECK_INT(warnings, 0);
    CHECK(one.error < 1e-3);
  }
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_follow_the_order),
      cmocka_unit_test(the_size_does_not_matter),
      cmocka_unit_test(starts_at_a_singular_point_and_next_to_it),
      cmocka_unit_test(a_constraint_against_the_equations_is_named),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
