// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A pendulum in Cartesian coordinates as an FMU, simulated by a bare loop that does not know the
// extension for constraints: the FMU requests events in which it puts the states back onto them.
// The reference is the same pendulum in its angle.
#include "driver.h"
#include "driver3.h"

static const double L = 1.3, G = 9.81, V0 = 2.9;

//------------------------------------ importers ------------------------------------

typedef struct importer {
  void (*rates)(struct importer* im, double t, const double* x, double* dx);
  bool (*complete)(struct importer* im, double t, double* x);  // true: there was an event
  driver* two;
  driver3* three;
  void* c;
  bool moved;  // in the last event
} importer;

static void rates2(importer* im, double t, const double* x, double* dx) {
  CHECK_FMI(im->two->fmi2SetTime(im->c, t), fmi2OK);
  CHECK_FMI(im->two->fmi2SetContinuousStates(im->c, x, 4), fmi2OK);
  if (dx != NULL) CHECK_FMI(im->two->fmi2GetDerivatives(im->c, dx, 4), fmi2OK);
}

static void settle2(importer* im, double* x) {
  fmi2EventInfo info = {.newDiscreteStatesNeeded = fmi2True};
  im->moved = false;
  while (info.newDiscreteStatesNeeded) {
    CHECK_FMI(im->two->fmi2NewDiscreteStates(im->c, &info), fmi2OK);
    im->moved = im->moved || info.valuesOfContinuousStatesChanged;
  }
  CHECK_FMI(im->two->fmi2EnterContinuousTimeMode(im->c), fmi2OK);
  if (im->moved) CHECK_FMI(im->two->fmi2GetContinuousStates(im->c, x, 4), fmi2OK);
}

static bool complete2(importer* im, double t, double* x) {
  fmi2Boolean event = fmi2False, end = fmi2False;
  rates2(im, t, x, NULL);
  CHECK_FMI(im->two->fmi2CompletedIntegratorStep(im->c, fmi2True, &event, &end), fmi2OK);
  if (!event) return false;
  CHECK_FMI(im->two->fmi2EnterEventMode(im->c), fmi2OK);
  settle2(im, x);
  return true;
}

static void rates3(importer* im, double t, const double* x, double* dx) {
  CHECK_FMI3(im->three->SetTime(im->c, t), fmi3OK);
  CHECK_FMI3(im->three->SetContinuousStates(im->c, x, 4), fmi3OK);
  if (dx != NULL) CHECK_FMI3(im->three->GetContinuousStateDerivatives(im->c, dx, 4), fmi3OK);
}

// This one reads the states before it leaves the event.
static void settle3(importer* im, double* x) {
  fmi3Boolean again = true, end, nominals, moved, defined;
  double next;
  im->moved = false;
  while (again) {
    CHECK_FMI3(
        im->three->UpdateDiscreteStates(im->c, &again, &end, &nominals, &moved, &defined, &next),
        fmi3OK);
    im->moved = im->moved || moved;
  }
  if (im->moved) CHECK_FMI3(im->three->GetContinuousStates(im->c, x, 4), fmi3OK);
  CHECK_FMI3(im->three->EnterContinuousTimeMode(im->c), fmi3OK);
}

static bool complete3(importer* im, double t, double* x) {
  fmi3Boolean event = false, end = false;
  rates3(im, t, x, NULL);
  CHECK_FMI3(im->three->CompletedIntegratorStep(im->c, true, &event, &end), fmi3OK);
  if (!event) return false;
  CHECK_FMI3(im->three->EnterEventMode(im->c), fmi3OK);
  settle3(im, x);
  return true;
}

//------------------------------------ runs ------------------------------------

static void rk4(importer* im, double t, double h, double* x) {
  double k[4][4], at[4];
  static const double where[] = {0, 0.5, 0.5, 1}, weight[] = {1, 2, 2, 1};
  for (int s = 0; s < 4; s++) {
    for (int i = 0; i < 4; i++) at[i] = x[i] + (s > 0 ? where[s] * h * k[s - 1][i] : 0);
    im->rates(im, t + where[s] * h, at, k[s]);
  }
  for (int s = 0; s < 4; s++)
    for (int i = 0; i < 4; i++) x[i] += h / 6 * weight[s] * k[s][i];
}

// The angle after a time, with much shorter steps.
static double angle_after(double time) {
  double phi = 0, w = V0 / L, h = 1e-4;
  long n = lround(time / h);
  for (long i = 0; i < n; i++) {
    double a1 = -G / L * sin(phi), w2 = w + h / 2 * a1;
    double a2 = -G / L * sin(phi + h / 2 * w), w3 = w + h / 2 * a2;
    double a3 = -G / L * sin(phi + h / 2 * w2), w4 = w + h * a3;
    double a4 = -G / L * sin(phi + h * w3);
    phi += h / 6 * (w + 2 * w2 + 2 * w3 + w4);
    w += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
  }
  return phi;
}

typedef struct outcome {
  double off;    // largest deviation from the length
  double error;  // of the position at the end
  int n_events;
} outcome;

static outcome simulate(importer* im, double h, int n) {
  outcome o = {0};
  double x[] = {0, -L, V0, 0};
  for (int i = 0; i < n; i++) {
    rk4(im, i * h, h, x);
    if (im->complete(im, (i + 1) * h, x)) {
      CHECK(im->moved);
      o.n_events++;
    }
    o.off = fmax(o.off, fabs(hypot(x[0], x[1]) - L));
  }
  double phi = angle_after(n * h);
  o.error = hypot(x[0] - L * sin(phi), x[1] + L * cos(phi));
  return o;
}

static driver d2;
static driver3 d3;

static int open_both(void** state) {
  (void)state;
  driver_open(&d2, "tests/export/swing.c", "swing");
  driver3_open(&d3, "tests/export/swing.c", "swing");
  return 0;
}

static int close_both(void** state) {
  (void)state;
  driver_close(&d2);
  driver3_close(&d3);
  return 0;
}

static importer start2(double tolerance) {
  importer im = {rates2, complete2, .two = &d2};
  im.c = driver_start(&d2, fmi2ModelExchange, NULL, tolerance);
  return im;
}

static outcome run2(double tolerance, bool knows, double h, int n) {
  importer im = start2(tolerance);
  double x[] = {0, -L, V0, 0};
  size_t count = 0;
  if (knows) CHECK_FMI(d2.fmi2GetNumberOfConstraints(im.c, &count), fmi2OK);
  settle2(&im, x);
  CHECK(!im.moved);  // it begins on the constraints
  outcome o = simulate(&im, h, n);
  d2.fmi2FreeInstance(im.c);
  return o;
}

static outcome run3(double tolerance, double h, int n) {
  importer im = {rates3, complete3, .three = &d3};
  im.c = driver3_start(&d3, NULL, NULL, tolerance);
  double x[] = {0, -L, V0, 0};
  settle3(&im, x);
  outcome o = simulate(&im, h, n);
  d3.FreeInstance(im.c);
  return o;
}

// A distance of one tolerance is sqrt(4) tol (|x| + 1) at most.
static double allowed(double tolerance) { return 2 * tolerance * (L + 1) * 1.1; }

static void states_stay_on_the_constraints(void** state) {
  (void)state;
  enum { STEPS = 20000 };
  const double h = 0.01, tolerance = 1e-6;
  CHECK(strstr(d2.xml, "completedIntegratorStepNotNeeded") == NULL);
  CHECK_CONTAINS(d3.xml, "needsCompletedIntegratorStep=\"true\"");
  outcome without = run2(tolerance, true, h, STEPS);
  CHECK(without.off > 10 * allowed(tolerance));
  CHECK_INT(without.n_events, 0);
  outcome two = run2(tolerance, false, h, STEPS);
  CHECK(two.off <= allowed(tolerance));
  CHECK(two.n_events > 0 && two.n_events < STEPS / 10);
  outcome three = run3(tolerance, h, STEPS);
  CHECK(three.off <= allowed(tolerance));
  CHECK_INT(three.n_events, two.n_events);
  outcome fine = run2(1e-8, false, h, STEPS);
  CHECK(fine.off <= allowed(1e-8));
}

// The projection does not disturb the motion.
static void the_motion_is_right(void** state) {
  (void)state;
  outcome o = run2(1e-7, false, 0.01, 3000);
  CHECK(o.n_events > 0);
  CHECK_NEAR(o.error, 0, 2e-5);
}

// An Euler method leaves the constraints at once: every step has its event.
static void even_rough_steps_stay(void** state) {
  (void)state;
  importer im = start2(1e-5);
  double x[] = {0, -L, V0, 0}, dx[4], off = 0;
  settle2(&im, x);
  for (int i = 0; i < 3000; i++) {
    rates2(&im, i * 1e-3, x, dx);
    for (int k = 0; k < 4; k++) x[k] += 1e-3 * dx[k];
    complete2(&im, (i + 1) * 1e-3, x);
    off = fmax(off, fabs(hypot(x[0], x[1]) - L));
  }
  CHECK(off <= allowed(1e-5));
  d2.fmi2FreeInstance(im.c);
}

// States saved in an event after a projection, and inputs set there, are what they are elsewhere.
static void an_event_goes_on_after_a_projection(void** state) {
  (void)state;
  importer im = start2(1e-6);
  double x[] = {0, -L, V0, 0}, off[] = {0.01, -L, V0, 0.02}, back[4], again[4];
  fmi2EventInfo info;
  fmi2FMUstate kept = NULL;
  settle2(&im, x);
  CHECK_FMI(d2.fmi2SetContinuousStates(im.c, off, 4), fmi2OK);
  fmi2Boolean event = fmi2False, end = fmi2False;
  CHECK_FMI(d2.fmi2CompletedIntegratorStep(im.c, fmi2True, &event, &end), fmi2OK);
  CHECK(event);
  CHECK_FMI(d2.fmi2EnterEventMode(im.c), fmi2OK);
  CHECK_FMI(d2.fmi2NewDiscreteStates(im.c, &info), fmi2OK);
  CHECK(info.valuesOfContinuousStatesChanged);
  CHECK_FMI(d2.fmi2GetContinuousStates(im.c, back, 4), fmi2OK);
  CHECK_NEAR(hypot(back[0], back[1]), L, 1e-9);
  CHECK_NEAR(back[0] * back[2] + back[1] * back[3], 0, 1e-9);
  CHECK_FMI(d2.fmi2GetFMUstate(im.c, &kept), fmi2OK);
  CHECK_FMI(d2.fmi2NewDiscreteStates(im.c, &info), fmi2OK);  // once more, with nothing to do
  CHECK(!info.valuesOfContinuousStatesChanged);
  CHECK_FMI(d2.fmi2EnterContinuousTimeMode(im.c), fmi2OK);
  CHECK_FMI(d2.fmi2SetFMUstate(im.c, kept), fmi2OK);
  CHECK_FMI(d2.fmi2EnterContinuousTimeMode(im.c), fmi2OK);
  CHECK_FMI(d2.fmi2GetContinuousStates(im.c, again, 4), fmi2OK);
  for (int i = 0; i < 4; i++) CHECK_NEAR(again[i], back[i], 0);
  CHECK_FMI(d2.fmi2FreeFMUstate(im.c, &kept), fmi2OK);
  d2.fmi2FreeInstance(im.c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states_stay_on_the_constraints),
      cmocka_unit_test(the_motion_is_right),
      cmocka_unit_test(even_rough_steps_stay),
      cmocka_unit_test(an_event_goes_on_after_a_projection),
  };
  return cmocka_run_group_tests(tests, open_both, close_both);
}
