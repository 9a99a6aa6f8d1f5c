// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// examples/slider_crank against the same mechanism with one coordinate, the angle of its crank.
#include "running.h"

typedef struct motion {
  double phi, x, energy;
} motion;

// What the mechanism is at an angle of its crank, with the parameters of the example: its inertia
// and potential energy as seen by the crank, and where the slider is.
static void reduce(double l, double phi, double* inertia, double* potential, double* x) {
  double s = sin(phi), c = cos(phi);
  double psi = l > 1 ? asin(-s / l) : -phi, dpsi = l > 1 ? -c / (l * cos(psi)) : -1;
  double rod_x = -s - l / 2 * sin(psi) * dpsi, rod_y = c / 2, slider = -s - l * sin(psi) * dpsi;
  *inertia = 1.0 / 3 + rod_x * rod_x + rod_y * rod_y + l * l / 12 * dpsi * dpsi + slider * slider;
  *potential = 9.81 * s;
  *x = c + l * cos(psi);
}

static double turning(double l, double energy, double phi) {
  double inertia, potential, x;
  reduce(l, phi, &inertia, &potential, &x);
  return sqrt(2 * (energy - potential) / inertia);
}

// phi' from the energy, by RK4 with steps so short that its error is about 1e-12.
static motion exact(double l, double stop) {
  enum { STEPS = 200000 };
  double inertia, potential, h = stop / STEPS;
  motion m = {0};
  reduce(l, 0, &inertia, &potential, &m.x);
  m.energy = inertia * 64 / 2 + potential;
  for (int i = 0; i < STEPS; i++) {
    double k1 = turning(l, m.energy, m.phi), k2 = turning(l, m.energy, m.phi + h / 2 * k1);
    double k3 = turning(l, m.energy, m.phi + h / 2 * k2);
    double k4 = turning(l, m.energy, m.phi + h * k3);
    m.phi += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
  }
  reduce(l, m.phi, &inertia, &potential, &m.x);
  return m;
}

typedef struct outcome {
  double gap, slip;  // largest
  double phi, x;     // off at the end
  double energy;     // off by at most
  double farthest;   // the slider to the left
} outcome;

static double stat(const char* word) {
  size_t n;
  char* text = read_all("out.txt", &n);
  char* at = strstr(text, word);
  if (at == NULL) fail_msg("no %s in %s", word, text);
  double value = strtod(at + strlen(word), NULL);
  free(text);
  return value;
}

static outcome run(cpl_context* ctx, const char* what, double l) {
  must_do("run %s --set l=%g --stats -o out.csv", what, l);
  cpl_table* t = read_table(ctx, "out.csv");
  static motion known[3];
  if (known[(int)l].energy == 0) known[(int)l] = exact(l, 20);
  const motion m = known[(int)l];
  const double *gap = column(t, "gap"), *slip = column(t, "slip"), *energy = column(t, "energy");
  const double* x = column(t, "slider_x");
  size_t end = t->n_rows - 1;
  outcome o = {.phi = fabs(column(t, "crank_phi")[end] - m.phi), .x = fabs(x[end] - m.x)};
  CHECK_NEAR(t->time[end], 20, 0);
  for (size_t i = 0; i <= end; i++) {
    o.gap = fmax(o.gap, gap[i]);
    o.slip = fmax(o.slip, slip[i]);
    o.energy = fmax(o.energy, fabs(energy[i] - m.energy));
    o.farthest = fmin(o.farthest, x[i]);
  }
  cpl_table_destroy(t);
  return o;
}

#define MODEL "slider_crank/slider_crank.c"
static const char* const solvers[] = {"cvode", "radau", "dopri5", "erk8", "esdirk5"};
enum { SOLVERS = sizeof solvers / sizeof *solvers };

static outcome run_solver(cpl_context* ctx, size_t k, const char* projection, double rtol,
                          double l) {
  char what[256];
  snprintf(what, sizeof what, MODEL " --solver %s --projection %s --rtol %g", solvers[k],
           projection, rtol);
  return run(ctx, what, l);
}

static void the_motion_is_that_of_one_coordinate(void** state) {
  copy_example("slider_crank");
  for (size_t k = 0; k < SOLVERS; k++) {
    outcome o = run_solver(*state, k, "every", 1e-8, 2);
    double most = k == 0 ? 1e-3 : 5e-5;
    CHECK(o.gap < 1e-12);
    CHECK(o.slip < 1e-12);
    CHECK(o.phi < most);
    CHECK(o.x < most);
    CHECK(o.energy < most);
  }
}

static void error_follows_the_tolerance(void** state) {
  copy_example("slider_crank");
  for (size_t k = 0; k < 3; k++) {
    outcome coarse = run_solver(*state, k, "every", 1e-5, 2);
    outcome fine = run_solver(*state, k, "every", 1e-8, 2);
    CHECK(fine.phi < 0.02 * coarse.phi);
  }
}

static void drift_is_kept_away(void** state) {
  copy_example("slider_crank");
  for (size_t k = 0; k < 3; k++) {
    outcome off = run_solver(*state, k, "off", 1e-6, 2);
    double evaluations = stat("right-hand sides");
    outcome lazy = run_solver(*state, k, "lazy", 1e-6, 2);
    CHECK(off.gap > 3e-6);
    CHECK(lazy.gap <= 1e-6);
    CHECK(lazy.slip <= 1e-6);
    CHECK(stat("right-hand sides") < 1.15 * evaluations);
  }
}

// With l = r the slider passes the crank's pivot, and the way forks there: it could stay and let
// crank and rod turn together.
static void forks_are_passed(void** state) {
  copy_example("slider_crank");
  for (size_t k = 0; k < SOLVERS; k++) {
    outcome o = run_solver(*state, k, "every", 1e-6, 1);
    double most = k == 0 ? 0.1 : 0.02;
    CHECK(o.gap < 1e-12);
    CHECK(o.phi < most);
    CHECK(o.x < most);
    CHECK(o.farthest < -1.99);
  }
  CHECK(run_solver(*state, 1, "off", 1e-6, 1).phi > 1);
}

static void fmus_do_the_same(void** state) {
  copy_example("slider_crank");
  for (int version = 2; version <= 3; version++) {
    must_do("build " MODEL " --fmi %d -o crank.fmu", version);
    must_do("check crank.fmu");
    outcome o = run(*state, "crank.fmu --solver radau --projection every --rtol 1e-8", 2);
    CHECK(o.gap < 1e-9);
    CHECK(o.slip < 1e-9);
    CHECK(o.phi < 1e-5);
    o = run(*state, "crank.fmu --projection every", 1);
    CHECK(o.farthest < -1.99);
    CHECK(o.phi < 0.1);
    o = run(*state, "crank.fmu --solver radau --projection off", 2);
    CHECK(o.gap > 3e-6);  // as in a tool that does not know the extension
    o = run(*state, "crank.fmu --as cs", 2);
    CHECK(o.gap < 1e-9);  // its own solver projects
    CHECK(o.phi < 1e-2);
  }
}

static void a_rod_too_short_is_reported(void** state) {
  (void)state;
  copy_example("slider_crank");
  CHECK_INT(couplet("run " MODEL " --set l=0.5"), 1);
  check_message("the rod (l = 0.5 m) is shorter than the crank (1 m)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_motion_is_that_of_one_coordinate),
      cmocka_unit_test(error_follows_the_tolerance),
      cmocka_unit_test(drift_is_kept_away),
      cmocka_unit_test(forks_are_passed),
      cmocka_unit_test(fmus_do_the_same),
      cmocka_unit_test(a_rod_too_short_is_reported),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
