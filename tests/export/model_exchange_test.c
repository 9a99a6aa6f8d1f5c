// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An importer of its own: fixed steps of RK4, events by bisection.
#include "export/driver.h"

typedef struct me_run {
  driver* d;
  fmi2Component c;
  size_t nx, nz;
  double t, x[8], z[8];
  double next_event;
  int events;
} me_run;

static void event_update(me_run* r) {
  fmi2EventInfo info = {.newDiscreteStatesNeeded = fmi2True};
  while (info.newDiscreteStatesNeeded) {
    CHECK_FMI(r->d->fmi2NewDiscreteStates(r->c, &info), fmi2OK);
  }
  CHECK_FMI(r->d->fmi2EnterContinuousTimeMode(r->c), fmi2OK);
  CHECK_FMI(r->d->fmi2GetContinuousStates(r->c, r->x, r->nx), fmi2OK);
  CHECK_FMI(r->d->fmi2GetEventIndicators(r->c, r->z, r->nz), fmi2OK);
  r->next_event = info.nextEventTimeDefined ? info.nextEventTime : INFINITY;
  r->events++;
}

static void rhs(me_run* r, double t, const double* x, double* dx) {
  CHECK_FMI(r->d->fmi2SetTime(r->c, t), fmi2OK);
  CHECK_FMI(r->d->fmi2SetContinuousStates(r->c, x, r->nx), fmi2OK);
  CHECK_FMI(r->d->fmi2GetDerivatives(r->c, dx, r->nx), fmi2OK);
}

static void rk4(me_run* r, double h, double* x) {
  double k[4][8], y[8];
  rhs(r, r->t, r->x, k[0]);
  for (int s = 1; s < 4; s++) {
    double a = s == 3 ? h : h / 2;
    for (size_t i = 0; i < r->nx; i++) y[i] = r->x[i] + a * k[s - 1][i];
    rhs(r, r->t + a, y, k[s]);
  }
  for (size_t i = 0; i < r->nx; i++) {
    x[i] = r->x[i] + h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
  }
}

// Whether an indicator is on the other side after a step of size h; the FMU is left there.
static bool crosses(me_run* r, double h, double* x) {
  double z[8], dx[8];
  bool crossed = false;
  rk4(r, h, x);
  rhs(r, r->t + h, x, dx);
  CHECK_FMI(r->d->fmi2GetEventIndicators(r->c, z, r->nz), fmi2OK);
  for (size_t i = 0; i < r->nz; i++) crossed = crossed || (z[i] > 0) != (r->z[i] > 0);
  return crossed;
}

static void advance(me_run* r, double t_end, double h) {
  double x[8] = {0};
  while (r->t < t_end) {
    double limit = fmin(t_end, r->next_event);
    double step = fmin(h, limit - r->t), low = 0, high = step;
    bool last = step == limit - r->t;
    bool event = crosses(r, step, x);
    for (int i = 0; event && i < 60; i++) {
      double middle = (low + high) / 2;
      if (crosses(r, middle, x)) high = middle;
      else low = middle;
    }
    if (event) crosses(r, high, x);
    r->t = !event && last ? limit : r->t + (event ? high : step);
    memcpy(r->x, x, sizeof x);
    fmi2Boolean wanted = fmi2False, end = fmi2False;
    CHECK_FMI(r->d->fmi2SetTime(r->c, r->t), fmi2OK);
    CHECK_FMI(r->d->fmi2SetContinuousStates(r->c, x, r->nx), fmi2OK);
    CHECK_FMI(r->d->fmi2CompletedIntegratorStep(r->c, fmi2True, &wanted, &end), fmi2OK);
    if (event || wanted || r->t >= r->next_event) {
      CHECK_FMI(r->d->fmi2EnterEventMode(r->c), fmi2OK);
      event_update(r);
    } else {
      CHECK_FMI(r->d->fmi2GetEventIndicators(r->c, r->z, r->nz), fmi2OK);
    }
  }
}

static me_run begin(driver* d, fmi2Component c, size_t nx, size_t nz) {
  me_run r = {.d = d, .c = c, .nx = nx, .nz = nz};
  event_update(&r);
  return r;
}

static void the_ball_bounces(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/bouncing_ball/bouncing_ball.c", "bouncing_ball");
  heard h = {0};
  me_run r = begin(&d, driver_start(&d, fmi2ModelExchange, &h, 0), 2, 1);
  for (int n = 1; n <= 5; n++) {
    double height, speed, t = (ball_impact(n) + ball_impact(n + 1)) / 2;
    advance(&r, t, 1e-3);
    ball_exact(t, &height, &speed);
    CHECK_NEAR(driver_real(&d, r.c, "h"), height, 1e-9);
    CHECK_NEAR(driver_real(&d, r.c, "v"), speed, 1e-9);
    CHECK_NEAR(driver_real(&d, r.c, "der(v)"), -9.81, 0);
  }
  CHECK_FMI(d.fmi2Terminate(r.c), fmi2OK);
  d.fmi2FreeInstance(r.c);
  CHECK_INT(h.n, 0);
  driver_close(&d);
}

// Some importers read the indicators anew one step after an event, and so make no event of a ball
// that leaves the ground.
static void the_ball_bounces_for_a_careless_importer(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/bouncing_ball/bouncing_ball.c", "bouncing_ball");
  me_run r = begin(&d, driver_start(&d, fmi2ModelExchange, NULL, 0), 2, 1);
  CHECK_CONTAINS(d.xml, "numberOfEventIndicators=\"1\"");
  CHECK(strstr(d.xml, "completedIntegratorStepNotNeeded") == NULL);
  const double h = 1e-4;
  int impacts = 0;
  bool event = false;
  for (int step = 1; step <= 30000; step++) {
    bool after_event = event;
    double dx[2], z;
    fmi2Boolean wanted, end;
    if (event) {
      double before = r.x[1];
      CHECK_FMI(d.fmi2EnterEventMode(r.c), fmi2OK);
      event_update(&r);
      impacts += r.x[1] > 0 && before < 0;
    }
    CHECK_FMI(d.fmi2GetDerivatives(r.c, dx, 2), fmi2OK);
    for (int i = 0; i < 2; i++) r.x[i] += h * dx[i];
    CHECK_FMI(d.fmi2SetTime(r.c, step * h), fmi2OK);
    CHECK_FMI(d.fmi2SetContinuousStates(r.c, r.x, 2), fmi2OK);
    CHECK_FMI(d.fmi2GetEventIndicators(r.c, &z, 1), fmi2OK);
    event = !after_event && (z > 0) != (r.z[0] > 0);
    r.z[0] = z;
    CHECK_FMI(d.fmi2CompletedIntegratorStep(r.c, fmi2True, &wanted, &end), fmi2OK);
  }
  CHECK_INT(impacts, 6);
  CHECK(r.x[0] > 0);
  d.fmi2FreeInstance(r.c);
  driver_close(&d);
}

static void time_events_are_announced(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/sampler/sampler.c", "sampler");
  me_run r = begin(&d, driver_start(&d, fmi2ModelExchange, NULL, 0), 1, 0);
  CHECK_NEAR(r.next_event, 60, 0);
  advance(&r, 600, 10);
  CHECK_INT(r.events, 11);
  CHECK_NEAR(r.next_event, 660, 0);
  fmi2ValueReference samples = driver_ref(&d, "samples");
  fmi2Integer n;
  CHECK_FMI(d.fmi2GetInteger(r.c, &samples, 1, &n), fmi2OK);
  CHECK_INT(n, 10);
  d.fmi2FreeInstance(r.c);
  driver_close(&d);
}

static void states_are_restored_to_the_bit(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/bouncing_ball/bouncing_ball.c", "bouncing_ball");
  me_run r = begin(&d, driver_start(&d, fmi2ModelExchange, NULL, 0), 2, 1);
  fmi2FMUstate saved = NULL, again = NULL;
  size_t size = 0;
  advance(&r, 1, 1e-2);
  CHECK_FMI(d.fmi2GetFMUstate(r.c, &saved), fmi2OK);
  me_run kept = r;
  advance(&r, 2, 1e-2);
  CHECK_FMI(d.fmi2SerializedFMUstateSize(r.c, saved, &size), fmi2OK);
  fmi2Byte* bytes = malloc(size);
  CHECK_FMI(d.fmi2SerializeFMUstate(r.c, saved, bytes, size), fmi2OK);
  CHECK_FMI(d.fmi2SerializeFMUstate(r.c, saved, bytes, size - 1), fmi2Error);

  // the same instance
  me_run second = kept;
  CHECK_FMI(d.fmi2SetFMUstate(second.c, saved), fmi2OK);
  advance(&second, 2, 1e-2);
  CHECK(memcmp(second.x, r.x, sizeof r.x) == 0);
  CHECK_INT(second.events, r.events);

  // another one, which was never initialised
  me_run third = kept;
  third.c = driver_instance(&d, fmi2ModelExchange, NULL);
  CHECK_FMI(d.fmi2DeSerializeFMUstate(third.c, bytes, size, &again), fmi2OK);
  CHECK_FMI(d.fmi2SetFMUstate(third.c, again), fmi2OK);
  advance(&third, 2, 1e-2);
  CHECK(memcmp(third.x, r.x, sizeof r.x) == 0);

  // bytes of something else
  bytes[3] ^= 1;
  CHECK_FMI(d.fmi2DeSerializeFMUstate(third.c, bytes, size, &again), fmi2Error);
  CHECK_FMI(d.fmi2DeSerializeFMUstate(third.c, bytes, 5, &again), fmi2Error);
  free(bytes);
  CHECK_FMI(d.fmi2FreeFMUstate(third.c, &again), fmi2OK);
  CHECK_FMI(d.fmi2FreeFMUstate(r.c, &saved), fmi2OK);
  CHECK(saved == NULL);
  CHECK_FMI(d.fmi2FreeFMUstate(r.c, &saved), fmi2OK);
  d.fmi2FreeInstance(third.c);
  d.fmi2FreeInstance(r.c);
  driver_close(&d);
}

static void directional_derivatives_are_exact_or_differences(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/van_der_pol/van_der_pol.c", "van_der_pol");
  fmi2Component c = driver_start(&d, fmi2ModelExchange, NULL, 0);
  fmi2ValueReference x[2] = {driver_ref(&d, "x"), driver_ref(&d, "y")};
  fmi2ValueReference dx[2] = {driver_ref(&d, "der(x)"), driver_ref(&d, "der(y)")};
  double seed[2] = {2, 3}, out[2];
  CHECK_FMI(d.fmi2GetDirectionalDerivative(c, dx, 2, x, 2, seed, out), fmi2OK);
  CHECK_NEAR(out[0], 3, 0);
  CHECK_NEAR(out[1], -2 + 1000 * (1 - 4) * 3, 0);
  CHECK_FMI(d.fmi2GetDirectionalDerivative(c, dx, 2, dx, 1, seed, out), fmi2Error);
  d.fmi2FreeInstance(c);
  driver_close(&d);

  driver_open(&d, "examples/types/types.c", "types");
  c = driver_start(&d, fmi2ModelExchange, NULL, 0);
  fmi2ValueReference known[2] = {driver_ref(&d, "x[2]"), driver_ref(&d, "u[2]")};
  fmi2ValueReference unknown[2] = {driver_ref(&d, "der(x[2])"), driver_ref(&d, "y[2]")};
  CHECK_FMI(d.fmi2GetDirectionalDerivative(c, unknown, 2, known, 2, seed, out), fmi2OK);
  CHECK_NEAR(out[0], 1, 1e-9);
  CHECK_NEAR(out[1], 4, 1e-9);
  CHECK_NEAR(driver_real(&d, c, "x[2]"), 1, 0);
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_ball_bounces),
      cmocka_unit_test(the_ball_bounces_for_a_careless_importer),
      cmocka_unit_test(time_events_are_announced),
      cmocka_unit_test(states_are_restored_to_the_bit),
      cmocka_unit_test(directional_derivatives_are_exact_or_differences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
