// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Radau repeats a step with another length to locate an event. A Jacobian that served the whole
// step, which began with a good guess, may be too old for that, and without a guess the iteration
// may not converge.
#include "testing.h"

// A ball that bounces drives a fast lag through a curve that bends sharply where it turns.
enum { LAG, H, V };
static const cpl_declaration states[] = {{"lag", .start = 6e-4, .output = true},
                                         {"h", .start = 6.3e-4, .output = true},
                                         {"v", .start = 4.2e-4, .output = true},
                                         {0}};

static const double rate = 80, speed = 1.9, gravity = 1.3e-3, bounce = 0.88, gain = 2.6e-4;

static int derivatives(const cpl_values* v, double* dx) {
  dx[LAG] = rate * (gain * atan(1000 * v->x[V]) - v->x[LAG]);
  dx[H] = speed * v->x[V];
  dx[V] = -speed * gravity;
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->x[H];
  z[1] = v->x[V] + 6e-6;
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] < 0 && v->x[V] < 0) a->x[H] = 0, a->x[V] = -bounce * v->x[V];
  return CPL_MODEL_OK;
}

static const cpl_model_def def = {.name = "ball",
                                  .states = states,
                                  .n_indicators = 2,
                                  .derivatives = derivatives,
                                  .indicators = indicators,
                                  .event = event};

static cpl_status keep_last(void* user, double t, const cpl_value* values) {
  double* last = user;
  last[0] = t;
  for (int i = 0; i < 3; i++) last[1 + i] = values[i].real;
  return CPL_OK;
}

// Height and speed after the bounces before t.
static void fly(double t, double* h, double* v) {
  double g = speed * gravity * speed;  // of the height
  double h0 = states[H].start, v0 = speed * states[V].start, begin = 0;
  for (;;) {
    double hit = (v0 + sqrt(v0 * v0 + 2 * g * h0)) / g;
    if (begin + hit > t) break;
    v0 = bounce * (g * hit - v0), h0 = 0, begin += hit;
  }
  double since = t - begin;
  *h = h0 + v0 * since - 0.5 * g * since * since;
  *v = (v0 - g * since) / speed;
}

static void an_old_jacobian_is_renewed(void** state) {
  cpl_context* ctx = *state;
  for (double rtol = 1e-6; rtol > 1e-10; rtol *= 0.1) {
    cpl_source* source = NULL;
    cpl_model* model = NULL;
    cpl_stepper* stepper = NULL;
    double last[4] = {0}, h, v;
    cpl_solver_def solver = cpl_default_solver_def();
    solver.kind = CPL_SOLVER_RADAU;
    solver.rtol = rtol, solver.atol = 1e-3 * rtol;
    cpl_run_def run = cpl_default_run_def();
    run.stop_time = 3.5, run.interval = 0.17;
    run.on_point = keep_last, run.user = last;
    CHECK_OK(ctx, cpl_c_define(ctx, &def, &source));
    CHECK_OK(ctx, source->ops->make_model(source, "ball", &model));
    CHECK_OK(ctx, cpl_integrate(model, &solver, &stepper));
    CHECK_OK(ctx, cpl_run(stepper, &run, NULL));
    fly(3.5, &h, &v);
    CHECK_NEAR(last[2], h, 100 * rtol * 1e-3);
    CHECK_NEAR(last[3], v, 100 * rtol * 1e-3);
    stepper->base.ops->destroy(&stepper->base);
    source->ops->destroy(source);
  }
}

//------------------------------------ a jump at the event ------------------------------------

// v' = -a cos(0.3 t) stops a clock y' = 1 and lets it run backwards where v changes its sign: there
// is an event, but the derivative jumps without it.
static const cpl_declaration stop_states[] = {
    {"v", .start = 1, .output = true}, {"y", .output = true}, {0}};
static double deceleration;

static int stop_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -deceleration * cos(0.3 * v->t);
  dx[1] = v->x[0] > 0 ? 1 : -1;
  return CPL_MODEL_OK;
}

static int stop_indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0];
  return CPL_MODEL_OK;
}

static const cpl_model_def stop = {.name = "stop",
                                   .states = stop_states,
                                   .n_indicators = 1,
                                   .derivatives = stop_derivatives,
                                   .indicators = stop_indicators};

static cpl_status keep_both(void* user, double t, const cpl_value* values) {
  double* last = user;
  (void)t;
  last[0] = values[0].real, last[1] = values[1].real;
  return CPL_OK;
}

// Newton's iteration without a guess sees the jump only after its first correction.
static void derivatives_may_jump_at_the_event(void** state) {
  cpl_context* ctx = *state;
  for (int i = 0; i < 1500; i++) {
    cpl_source* source = NULL;
    cpl_model* model = NULL;
    cpl_stepper* stepper = NULL;
    double last[2] = {0};
    deceleration = 0.35 + 0.0011 * i;
    double when = asin(0.3 / deceleration) / 0.3;
    cpl_solver_def solver = cpl_default_solver_def();
    solver.kind = CPL_SOLVER_RADAU;
    solver.rtol = solver.atol = 1e-7;
    cpl_run_def run = cpl_default_run_def();
    run.stop_time = run.interval = 4.5;
    run.on_point = keep_both, run.user = last;
    CHECK_OK(ctx, cpl_c_define(ctx, &stop, &source));
    CHECK_OK(ctx, source->ops->make_model(source, "stop", &model));
    CHECK_OK(ctx, cpl_integrate(model, &solver, &stepper));
    CHECK_OK(ctx, cpl_run(stepper, &run, NULL));
    CHECK_NEAR(last[0], 1 - deceleration * sin(0.3 * 4.5) / 0.3, 1e-5);
    CHECK_NEAR(last[1], 2 * when - 4.5, 1e-4);
    stepper->base.ops->destroy(&stepper->base);
    source->ops->destroy(source);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(an_old_jacobian_is_renewed),
                                     cmocka_unit_test(derivatives_may_jump_at_the_event)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
