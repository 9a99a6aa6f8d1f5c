// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <pthread.h>

#include "export/driver.h"

static void steps(driver* d, fmi2Component c, double from, double h, int n) {
  for (int i = 0; i < n; i++) CHECK_FMI(d->fmi2DoStep(c, from + i * h, h, fmi2True), fmi2OK);
}

static void a_step_runs_through_its_events(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/bouncing_ball/bouncing_ball.c", "bouncing_ball");
  heard h = {0};
  fmi2Component c = driver_start(&d, fmi2CoSimulation, &h, 1e-8);
  for (int i = 0; i < 10; i++) {  // several impacts in one of these steps
    double height, speed;
    CHECK_FMI(d.fmi2DoStep(c, i * 0.35, 0.35, fmi2True), fmi2OK);
    ball_exact((i + 1) * 0.35, &height, &speed);
    CHECK_NEAR(driver_real(&d, c, "h"), height, 1e-5);
    CHECK_NEAR(driver_real(&d, c, "v"), speed, 1e-5);
  }
  CHECK_STR(h.category, "logEvents");
  fmi2Boolean end = fmi2True;
  CHECK_FMI(d.fmi2GetBooleanStatus(c, fmi2Terminated, &end), fmi2OK);
  CHECK_INT(end, fmi2False);
  CHECK_FMI(d.fmi2Terminate(c), fmi2OK);
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

static void a_step_can_stop_at_events(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/bouncing_ball/bouncing_ball.c", "bouncing_ball");
  fmi2Component c = driver_start(&d, fmi2CoSimulation, NULL, 1e-10);
  CHECK_FMI(d.coupletStopAtEvents(c, fmi2True), fmi2OK);
  double t = 0, most;
  int impacts = 0;
  while (impacts < 5) {
    double reached;
    CHECK_FMI(d.fmi2GetMaxStepSize(c, &most), fmi2Discard);  // it depends on the states
    CHECK_FMI(d.fmi2DoStep(c, t, 10, fmi2True), fmi2Discard);
    CHECK_FMI(d.fmi2GetRealStatus(c, fmi2LastSuccessfulTime, &reached), fmi2OK);
    CHECK(reached >= t);
    t = reached;
    double v = driver_real(&d, c, "v");
    if (fabs(t - ball_impact(impacts + 1)) > 1e-6) continue;  // the ball leaves the ground
    impacts++;
    CHECK_NEAR(v, sqrt(2 * 9.81) * pow(0.8, impacts), 1e-6);  // the event has been handled
  }
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

// Events in time only: it tells when the next one comes, and stops there.
static void events_in_time_are_predicted(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/sampler/sampler.c", "sampler");
  fmi2Component c = driver_start(&d, fmi2CoSimulation, NULL, 1e-9);
  double most;
  CHECK_FMI(d.fmi2GetMaxStepSize(c, &most), fmi2OK);
  CHECK(isinf(most));
  CHECK_FMI(d.coupletStopAtEvents(c, fmi2True), fmi2OK);
  CHECK_FMI(d.fmi2GetMaxStepSize(c, &most), fmi2OK);
  CHECK_NEAR(most, 60, 0);
  CHECK_FMI(d.fmi2DoStep(c, 0, 25, fmi2True), fmi2OK);
  CHECK_FMI(d.fmi2GetMaxStepSize(c, &most), fmi2OK);
  CHECK_NEAR(most, 35, 0);
  CHECK_FMI(d.fmi2DoStep(c, 25, most, fmi2True), fmi2OK);
  CHECK_FMI(d.fmi2GetMaxStepSize(c, &most), fmi2OK);
  CHECK_NEAR(most, 60, 0);
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

static void sampled_values_follow_the_recursion(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/sampler/sampler.c", "sampler");
  fmi2Component c = driver_start(&d, fmi2CoSimulation, NULL, 1e-9);
  double T = 10, heat = 0, integral = 0, wanted = 20, decay = exp(-60 * 100 / 2e5);
  for (int k = 0; k < 100; k++) {
    if (k == 50) {
      wanted = 22;
      CHECK_FMI(driver_set_real(&d, c, "T_wanted", wanted), fmi2OK);
    }
    CHECK_FMI(d.fmi2DoStep(c, k * 60.0, 60, fmi2True), fmi2OK);
    double rest = 5 + heat / 100;
    T = rest + (T - rest) * decay;
    heat = fmax(0, 200 * (wanted - T + integral / 1200));
    integral += 60 * (wanted - T);
    CHECK_NEAR(driver_real(&d, c, "T"), T, 1e-6);
    CHECK_NEAR(driver_real(&d, c, "heat"), heat, 1e-3);
  }
  CHECK_FMI(driver_set_real(&d, c, "gain", 1), fmi2Error);
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

// x' = u - x with u = t: held inputs are of first order, lines are exact.
static double ramp_error(driver* d, bool slopes) {
  fmi2Component c = driver_start(d, fmi2CoSimulation, NULL, 1e-10);
  fmi2ValueReference u = driver_ref(d, "u[1]");
  for (int i = 0; i < 10; i++) {
    double value = i * 0.1, slope = 1;
    fmi2Integer order = 1;
    CHECK_FMI(d->fmi2SetReal(c, &u, 1, &value), fmi2OK);
    if (slopes) CHECK_FMI(d->fmi2SetRealInputDerivatives(c, &u, 1, &order, &slope), fmi2OK);
    CHECK_FMI(d->fmi2DoStep(c, value, 0.1, fmi2True), fmi2OK);
  }
  double error = driver_real(d, c, "x[1]") - 2 * exp(-1.0);
  d->fmi2FreeInstance(c);
  return fabs(error);
}

static void input_derivatives_make_lines(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/types/types.c", "types");
  CHECK(ramp_error(&d, false) > 0.01);
  CHECK_NEAR(ramp_error(&d, true), 0, 1e-7);
  driver_close(&d);
}

static void lines_end_with_a_reset(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/types/types.c", "types");
  fmi2Component c = driver_start(&d, fmi2CoSimulation, NULL, 1e-8);
  fmi2ValueReference u = driver_ref(&d, "u[1]");
  fmi2Integer order = 1;
  double slope = 1;
  CHECK_FMI(d.fmi2SetRealInputDerivatives(c, &u, 1, &order, &slope), fmi2OK);
  CHECK_FMI(d.fmi2DoStep(c, 0, 1, fmi2True), fmi2OK);
  CHECK_NEAR(driver_real(&d, c, "u[1]"), 1, 1e-12);
  CHECK_FMI(d.fmi2DoStep(c, 1, 1, fmi2True), fmi2OK);  // held where the line ended
  CHECK_NEAR(driver_real(&d, c, "u[1]"), 1, 1e-12);
  CHECK_FMI(d.fmi2Reset(c), fmi2OK);
  CHECK_FMI(driver_set_real(&d, c, "u[1]", 5), fmi2OK);
  CHECK_FMI(d.fmi2EnterInitializationMode(c), fmi2OK);
  CHECK_FMI(d.fmi2ExitInitializationMode(c), fmi2OK);
  CHECK_FMI(d.fmi2DoStep(c, 0, 1, fmi2True), fmi2OK);
  CHECK_NEAR(driver_real(&d, c, "x[1]"), 5 - 4 * exp(-1), 1e-6);
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

//------------------------------------ states ------------------------------------

typedef struct trace {
  double values[40];
  int n;
} trace;

static void record(driver* d, fmi2Component c, double from, trace* out) {
  out->n = 0;
  for (int i = 0; i < 15; i++) {
    steps(d, c, from + i * 0.07, 0.07, 1);
    out->values[out->n++] = driver_real(d, c, "h");
    out->values[out->n++] = driver_real(d, c, "v");
  }
}

static void going_back_changes_no_bit(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/bouncing_ball/bouncing_ball.c", "bouncing_ball");
  fmi2Component c = driver_start(&d, fmi2CoSimulation, NULL, 1e-8);
  fmi2FMUstate saved = NULL, again = NULL;
  trace one, two, three, four;
  size_t size = 0;
  steps(&d, c, 0, 0.05, 10);
  CHECK_FMI(d.fmi2GetFMUstate(c, &saved), fmi2OK);
  record(&d, c, 0.5, &one);
  CHECK_FMI(d.fmi2SetFMUstate(c, saved), fmi2OK);
  record(&d, c, 0.5, &two);
  CHECK(memcmp(one.values, two.values, (size_t)one.n * sizeof(double)) == 0);

  // as bytes, in another instance
  CHECK_FMI(d.fmi2SerializedFMUstateSize(c, saved, &size), fmi2OK);
  fmi2Byte* bytes = malloc(size);
  CHECK_FMI(d.fmi2SerializeFMUstate(c, saved, bytes, size), fmi2OK);
  fmi2Component other = driver_start(&d, fmi2CoSimulation, NULL, 1e-8);
  steps(&d, other, 0, 0.3, 2);
  CHECK_FMI(d.fmi2DeSerializeFMUstate(other, bytes, size, &again), fmi2OK);
  CHECK_FMI(d.fmi2SetFMUstate(other, again), fmi2OK);
  record(&d, other, 0.5, &three);
  CHECK(memcmp(one.values, three.values, (size_t)one.n * sizeof(double)) == 0);

  // not saved at all
  CHECK_FMI(d.fmi2Reset(c), fmi2OK);
  CHECK_FMI(d.fmi2SetupExperiment(c, fmi2True, 1e-8, 0, fmi2False, 0), fmi2OK);
  CHECK_FMI(d.fmi2EnterInitializationMode(c), fmi2OK);
  CHECK_FMI(d.fmi2ExitInitializationMode(c), fmi2OK);
  steps(&d, c, 0, 0.05, 10);
  record(&d, c, 0.5, &four);
  CHECK(memcmp(one.values, four.values, (size_t)one.n * sizeof(double)) == 0);

  CHECK_FMI(d.fmi2DeSerializeFMUstate(other, bytes, size - 8, &again), fmi2Error);
  free(bytes);
  CHECK_FMI(d.fmi2FreeFMUstate(other, &again), fmi2OK);
  CHECK_FMI(d.fmi2FreeFMUstate(c, &saved), fmi2OK);
  d.fmi2FreeInstance(other);
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

static void a_new_instance_takes_a_state(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/types/types.c", "types");
  fmi2Component c = driver_start(&d, fmi2CoSimulation, NULL, 0);
  fmi2FMUstate early = NULL, late = NULL;
  fmi2Component fresh = driver_instance(&d, fmi2CoSimulation, NULL);
  CHECK_FMI(d.fmi2GetFMUstate(fresh, &early), fmi2OK);
  steps(&d, c, 0, 0.1, 5);
  double x = driver_real(&d, c, "x[1]");
  CHECK_FMI(d.fmi2GetFMUstate(c, &late), fmi2OK);
  CHECK_FMI(d.fmi2SetFMUstate(fresh, late), fmi2OK);
  CHECK_NEAR(driver_real(&d, fresh, "x[1]"), x, 0);
  steps(&d, fresh, 0.5, 0.1, 5);
  CHECK_FMI(d.fmi2SetFMUstate(fresh, early), fmi2OK);  // back to before initialisation
  CHECK_FMI(d.fmi2DoStep(fresh, 1, 0.1, fmi2True), fmi2Error);
  CHECK_FMI(d.fmi2FreeFMUstate(fresh, &early), fmi2OK);
  CHECK_FMI(d.fmi2FreeFMUstate(fresh, &late), fmi2OK);
  d.fmi2FreeInstance(fresh);
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

//------------------------------------ several instances ------------------------------------

typedef struct worker {
  driver* d;
  double tolerance;
  trace out;
} worker;

static void* work(void* user) {
  worker* w = user;
  fmi2Component c = driver_start(w->d, fmi2CoSimulation, NULL, w->tolerance);
  record(w->d, c, 0, &w->out);
  w->d->fmi2FreeInstance(c);
  return NULL;
}

static void instances_do_not_meet(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/bouncing_ball/bouncing_ball.c", "bouncing_ball");
  enum { N = 6 };
  worker alone[N], together[N];
  pthread_t threads[N];
  for (int i = 0; i < N; i++) {
    alone[i] = together[i] = (worker){&d, pow(10, -4 - i), {.n = 0}};
    work(&alone[i]);
  }
  for (int i = 0; i < N; i++) pthread_create(&threads[i], NULL, work, &together[i]);
  for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < N; i++) {
    CHECK(memcmp(alone[i].out.values, together[i].out.values, 30 * sizeof(double)) == 0);
  }
  CHECK(memcmp(alone[0].out.values, alone[1].out.values, 30 * sizeof(double)) != 0);
  driver_close(&d);
}

//------------------------------------ ends ------------------------------------

static void a_model_can_end_the_simulation(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "tests/export/stopper.c", "_2_stops___more");
  heard h = {0};
  fmi2Component c = driver_start(&d, fmi2CoSimulation, &h, 0);
  fmi2Boolean end = fmi2False;
  double t = 0;
  CHECK_FMI(d.fmi2DoStep(c, 0, 0.75, fmi2True), fmi2OK);
  CHECK_FMI(d.fmi2DoStep(c, 0.75, 0.75, fmi2True), fmi2Discard);
  CHECK_FMI(d.fmi2GetBooleanStatus(c, fmi2Terminated, &end), fmi2OK);
  CHECK_INT(end, fmi2True);
  CHECK_FMI(d.fmi2GetRealStatus(c, fmi2LastSuccessfulTime, &t), fmi2OK);
  CHECK_NEAR(t, 1, 1e-6);
  CHECK_FMI(d.fmi2DoStep(c, 1.5, 0.75, fmi2True), fmi2Error);
  CHECK_FMI(d.fmi2Terminate(c), fmi2OK);
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

static void a_failing_model_is_an_error_with_its_words(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "tests/export/stopper.c", "_2_stops___more");
  heard h = {0};
  fmi2Component c = driver_instance(&d, fmi2CoSimulation, &h);
  CHECK_FMI(driver_set_real(&d, c, "stop_at", 100), fmi2OK);
  CHECK_FMI(driver_set_real(&d, c, "fail_at", 0.5), fmi2OK);
  CHECK_FMI(d.fmi2EnterInitializationMode(c), fmi2OK);
  CHECK_FMI(d.fmi2ExitInitializationMode(c), fmi2OK);
  CHECK_FMI(d.fmi2SetDebugLogging(c, fmi2False, 0, NULL), fmi2OK);
  CHECK_FMI(d.fmi2DoStep(c, 0, 1, fmi2True), fmi2Error);
  CHECK_INT(h.status, fmi2Error);
  CHECK_STR(h.category, "logStatusError");
  CHECK_CONTAINS(h.text, "100% too far");
  CHECK_FMI(d.fmi2DoStep(c, 0, 1, fmi2True), fmi2Error);
  CHECK_CONTAINS(h.text, "after an error");
  CHECK_FMI(d.fmi2Reset(c), fmi2OK);
  CHECK_FMI(d.fmi2EnterInitializationMode(c), fmi2OK);
  CHECK_FMI(d.fmi2ExitInitializationMode(c), fmi2OK);
  CHECK_FMI(d.fmi2DoStep(c, 0, 0.5, fmi2True), fmi2OK);
  CHECK(driver_real(&d, c, "steps") > 0);
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_runs_through_its_events),
      cmocka_unit_test(a_step_can_stop_at_events),
      cmocka_unit_test(events_in_time_are_predicted),
      cmocka_unit_test(sampled_values_follow_the_recursion),
      cmocka_unit_test(input_derivatives_make_lines),
      cmocka_unit_test(lines_end_with_a_reset),
      cmocka_unit_test(going_back_changes_no_bit),
      cmocka_unit_test(a_new_instance_takes_a_state),
      cmocka_unit_test(instances_do_not_meet),
      cmocka_unit_test(a_model_can_end_the_simulation),
      cmocka_unit_test(a_failing_model_is_an_error_with_its_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
