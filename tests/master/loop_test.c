// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Loops of steppers: values of any size, loops that are hard to solve, that have no solution, and
// that are there by assumption only.
#include <math.h>

#include "base/base.h"
#include "couplet/component.h"
#include "fake.h"

enum { U, Y };

typedef struct ring {
  cpl_context* ctx;
  fake a, b;
  double there, back;  // factors of the links
  cpl_master_def def;
  cpl_stepper* m;
  int warnings;
  char said[1024];
} ring;

static void listen(void* user, cpl_log_level level, const char* who, const char* text) {
  ring* r = user;
  (void)who;
  if (level != CPL_LOG_WARNING) return;
  r->warnings++;
  snprintf(r->said, sizeof r->said, "%s", text);
}

// a.y = there b.u, b.y = back a.u
static void ring_make(ring* r, bool declared) {
  cpl_context_def context = cpl_default_context_def();
  context.log = listen, context.user = r;
  r->ctx = cpl_context_create(&context);
  double bias = r->a.bias;
  cpl_master_part parts[] = {
      {.stepper = fake_make(&r->a, r->ctx, "a", r->a.gain != 0 ? r->a.gain : 1, bias, true, false)},
      {.stepper = fake_make(&r->b, r->ctx, "b", 1, 0, true, false)}};
  if (!declared) r->a.rows[0].count = r->b.rows[0].count = -1;
  cpl_master_link links[] = {{0, Y, 1, U, r->there, 0}, {1, Y, 0, U, r->back, 0}};
  r->def.name = "ring", r->def.parts = parts, r->def.n_parts = 2;
  r->def.links = links, r->def.n_links = 2;
  CHECK_OK(r->ctx, cpl_master(r->ctx, &r->def, &r->m));
}

static cpl_status ring_start(ring* r) {
  cpl_setup setup = {.has_stop_time = true, .stop_time = 1};
  cpl_component* c = &r->m->base;
  cpl_status st = c->ops->setup(c, &setup);
  if (st >= 0) st = c->ops->enter_init(c);
  return st < 0 ? st : c->ops->exit_init(c);
}

static cpl_status ring_step(ring* r, double t) {
  cpl_step_result result;
  return r->m->ops->step(r->m, t, t, &result);
}

static void ring_free(ring* r) {
  r->m->base.ops->destroy(&r->m->base);
  cpl_context_destroy(r->ctx);
}

static const cpl_master_algorithm algorithms[] = {CPL_MASTER_DETERMINATE, CPL_MASTER_GAUSS_SEIDEL,
                                                  CPL_MASTER_ITERATIVE};

//------------------------------------ sizes ------------------------------------

// y = gain y + bias, the bias is another one in every step
static void check_size(cpl_master_algorithm algorithm, double size, double other) {
  ring r = {.a = {.gain = -0.6, .bias = 2 * size}, .there = other / size, .back = size / other};
  r.def = cpl_default_master_def();
  r.def.algorithm = algorithm;
  ring_make(&r, true);
  CHECK_OK(r.ctx, ring_start(&r));
  CHECK_NEAR(r.a.y / size, 1.25, 1e-9);
  for (int i = 1; i <= 10; i++) {
    double want = cos(i);  // around zero, too
    r.a.bias = 1.6 * want * size;
    CHECK_OK(r.ctx, ring_step(&r, i * 0.1));
    CHECK_NEAR(r.a.y / size, want, 3e-9);
    CHECK_NEAR(r.b.y / other, want, 3e-9);
  }
  CHECK_INT(r.warnings, 0);
  ring_free(&r);
}

static void loops_are_solved_to_their_own_size(void** state) {
  (void)state;
  static const double sizes[] = {1, 1e-9, 1e9, 1e-25};
  for (size_t k = 0; k < CPLI_COUNT(algorithms); k++) {
    for (size_t i = 0; i < CPLI_COUNT(sizes); i++) {
      for (size_t j = 0; j < CPLI_COUNT(sizes); j++) check_size(algorithms[k], sizes[i], sizes[j]);
    }
  }
}

//------------------------------------ hard ones ------------------------------------

static double falling(double u) { return 3 - exp(u); }
static double cubic(double u) { return 10 - u * u * u; }
static double steep(double u) { return 2 - 9 * tanh(40 * (u - 1.25)); }
static double clipped(double u) { return 4 + 2 * fmin(fmax(-60 * (u - 3.5), -1), 1); }
static double bent(double u) { return 7 - 3 * fabs(u - 1) - 4 * u; }

static void the_only_solution_is_found(void** state) {
  (void)state;
  static const struct {
    double (*curve)(double u);
    double solution;  // by bisection
  } cases[] = {{falling, 0.792059968430677},
               {cubic, 2},
               {steep, 1.25208235141208},
               {clipped, 424.0 / 121},
               {bent, 1.25}};
  static const double starts[] = {0, 40, -40};
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    for (size_t k = 0; k < CPLI_COUNT(algorithms); k++) {
      for (size_t s = 0; s < CPLI_COUNT(starts); s++) {
        ring r = {.a = {.curve = cases[i].curve, .u = starts[s]}, .b = {.u = starts[s]}};
        r.def = cpl_default_master_def();
        r.def.algorithm = algorithms[k];
        ring_make(&r, true);
        CHECK_OK(r.ctx, ring_start(&r));
        CHECK_NEAR(r.a.y, cases[i].solution, 1e-7);
        CHECK_OK(r.ctx, ring_step(&r, 0.1));
        CHECK_NEAR(r.a.y, cases[i].solution, 1e-7);
        ring_free(&r);
      }
    }
  }
}

static double relay(double u) { return u < 0.5 ? 1 : -1; }
static double broken(double u) { return u > 0.5 ? NAN : 1; }

static void a_loop_without_solution_is_named(void** state) {
  (void)state;
  double (*curves[])(double) = {relay, broken};
  for (size_t i = 0; i < CPLI_COUNT(curves); i++) {
    ring r = {.a = {.curve = curves[i]}};
    r.def = cpl_default_master_def();
    ring_make(&r, true);
    CHECK_INT(ring_start(&r), CPL_ERR_SOLVER);
    CHECK_CONTAINS(cpl_context_error(r.ctx), "ring: the algebraic loop through ");
    CHECK_CONTAINS(cpl_context_error(r.ctx), " does not converge at t=0 (");
    CHECK_CONTAINS(cpl_context_error(r.ctx), i == 0 ? " and evaluates to " : "nan)");
    ring_free(&r);
  }
}

//------------------------------------ by assumption ------------------------------------

static void a_loop_by_assumption_without_solution_lags(void** state) {
  (void)state;
  ring r = {.a = {.curve = relay}};
  r.def = cpl_default_master_def();
  ring_make(&r, false);
  CHECK_OK(r.ctx, ring_start(&r));
  CHECK_INT(r.warnings, 1);
  CHECK_CONTAINS(r.said, "which exists only because dependencies are not declared");
  CHECK_CONTAINS(r.said, "on-loop");
  double before = r.a.y;
  for (int i = 1; i <= 8; i++) {  // what comes back is what was put in one step ago
    CHECK_OK(r.ctx, ring_step(&r, i * 0.1));
    CHECK(fabs(r.a.y) == 1);
    if (i > 2) CHECK_NEAR(r.a.y, -before, 0);
    before = r.a.y;
  }
  CHECK(r.warnings <= 2);  // at the start, and in steps
  ring_free(&r);
}

static void what_is_asked_for_is_no_assumption(void** state) {
  (void)state;
  ring r = {.a = {.curve = relay}};
  r.def = cpl_default_master_def();
  r.def.on_loop = CPL_LOOP_ITERATE;
  ring_make(&r, false);
  CHECK_INT(ring_start(&r), CPL_ERR_SOLVER);
  ring_free(&r);
}

//------------------------------------ a number of iterations ------------------------------------

static void the_number_of_iterations_can_be_fixed(void** state) {
  (void)state;
  for (int n = 1; n <= 4; n++) {
    ring r = {.a = {.gain = 0.5, .bias = 1}};
    r.def = cpl_default_master_def();
    r.def.algorithm = CPL_MASTER_ITERATIVE;
    r.def.order = 0;
    r.def.fixed_iterations = n;
    ring_make(&r, true);
    CHECK_OK(r.ctx, ring_start(&r));
    CHECK_NEAR(r.a.y, 2, 1e-9);  // the start is solved
    int64_t before = (int64_t)cpl_component_counter(&r.m->base, "loop_iterations");
    r.a.bias = 3;
    CHECK_OK(r.ctx, ring_step(&r, 0.1));
    CHECK_NEAR(r.a.y, 6 - 2 * pow(0.5, n - 1), 1e-9);
    CHECK_INT(cpl_component_counter(&r.m->base, "loop_iterations") - before, n);
    ring_free(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_are_solved_to_their_own_size),
      cmocka_unit_test(the_only_solution_is_found),
      cmocka_unit_test(a_loop_without_solution_is_named),
      cmocka_unit_test(a_loop_by_assumption_without_solution_lags),
      cmocka_unit_test(what_is_asked_for_is_no_assumption),
      cmocka_unit_test(the_number_of_iterations_can_be_fixed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
