// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A bouncing ball whose impacts accumulate: a run that ends before the accumulation point is right
// up to its end, and one that ends behind it is an error that names the point.
#include "models.h"

static const double gravity = 3.7, height = 0.9;

// Of the ball that is dropped: time and speed of the first impact.
static double first_impact(void) { return sqrt(2 * height / gravity); }
static double first_speed(void) { return sqrt(2 * height * gravity); }

static double accumulation(double e) {
  return first_impact() + 2 * first_speed() / gravity * e / (1 - e);
}

// The solution in closed form, before the accumulation point.
static double height_at(double t, double e) {
  double begin = first_impact(), v = e * first_speed();
  if (t < begin) return height - gravity * t * t / 2;
  while (t > begin + 2 * v / gravity) begin += 2 * v / gravity, v *= e;
  return v * (t - begin) - gravity * (t - begin) * (t - begin) / 2;
}

static cpl_status fall(recording* r, cpl_solver_kind kind, double e, double rtol, double stop) {
  char g[32], h[32], bounce[32];
  snprintf(g, sizeof g, "%.17g", gravity);
  snprintf(h, sizeof h, "%.17g", height);
  snprintf(bounce, sizeof bounce, "%.17g", e);
  const cpl_start starts[] = {{"g", g}, {"h", h}, {"e", bounce}};
  r->run.starts = starts, r->run.n_starts = 3;
  r->run.stop_time = stop;
  r->run.interval = stop;
  r->solver.kind = kind;
  r->solver.rtol = rtol;
  r->solver.step = kind == CPL_SOLVER_RK4 ? 1e-2 : 0;
  return recording_run(r);
}

static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE, CPL_SOLVER_RADAU, CPL_SOLVER_DOPRI5,
                                        CPL_SOLVER_RK4, CPL_SOLVER_IDA};

// Where bounces become lower than the tolerance, the point is known no better.
static void check_before(cpl_context* ctx, cpl_solver_kind kind, double e, double rtol) {
  for (double before = 1e-1; before > sqrt(rtol) / 3; before /= 2) {
    recording* r = recording_make(ctx, &ball_model);
    double stop = (1 - before) * accumulation(e);
    CHECK_OK(ctx, fall(r, kind, e, rtol, stop));
    CHECK_NEAR(r->t[r->n - 1], stop, 1e-12);
    CHECK_NEAR(last_of(r)[0], height_at(stop, e), 30 * rtol);
    recording_free(r);
  }
}

static void a_run_that_ends_before_is_right(void** state) {
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    for (double e = 0.4; e < 0.8; e += 0.11) {
      check_before(*state, kinds[k], e, 1e-4);
      check_before(*state, kinds[k], e, 1e-7);
    }
  }
}

static void a_run_that_ends_behind_is_an_error(void** state) {
  cpl_context* ctx = *state;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    for (double e = 0.4; e < 0.8; e += 0.11) {
      recording* r = recording_make(ctx, &ball_model);
      CHECK_INT(fall(r, kinds[k], e, 1e-6, 1.01 * accumulation(e)), CPL_ERR_SOLVER);
      const char* at = strstr(cpl_context_error(ctx), "accumulate at t=");
      CHECK(at != NULL);
      CHECK_NEAR(strtod(at + strlen("accumulate at t="), NULL), accumulation(e), 1e-3);
      recording_free(r);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_that_ends_before_is_right),
      cmocka_unit_test(a_run_that_ends_behind_is_an_error),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
