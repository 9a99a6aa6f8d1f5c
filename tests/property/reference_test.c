// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The reference integrator against solutions that are known.
#include "reference.h"

#include "testing.h"

typedef struct fixture {
  ref_system system;
  double last_t, last[4];
  double event_t[REF_MAX_EVENTS], left[REF_MAX_EVENTS], right[REF_MAX_EVENTS];
  int points;
  double next, side;
} fixture;

static double never(void* user) { return ((fixture*)user)->next; }
static void no_guards(void* user, double t, const double* x, double* g) {
  (void)user, (void)t, (void)x, (void)g;
}
static void no_update(void* user, double t, double* x, const int8_t* crossed, bool time_event) {
  (void)user, (void)t, (void)x, (void)crossed, (void)time_event;
}

static void keep(void* user, double t, const double* x, int event, bool right) {
  fixture* f = user;
  if (event >= 0) {
    f->event_t[event] = t;
    if (right) f->right[event] = x[1];
    else f->left[event] = x[1];
    return;
  }
  f->points++;
  f->last_t = t;
  for (int i = 0; i < f->system.n_states; i++) f->last[i] = x[i];
}

static int integrate(fixture* f, double* x, double stop, int n, double longest) {
  double times[100];
  int events = 0;
  for (int i = 0; i <= n; i++) times[i] = stop * i / n;
  ref_options o = {.tolerance = 1e-14, .longest = longest, .times = times, .n_times = n + 1};
  f->system.user = f;
  f->system.point = keep;
  if (f->system.next_time == NULL) f->system.next_time = never;
  if (f->system.guards == NULL) f->system.guards = no_guards;
  if (f->system.update == NULL) f->system.update = no_update;
  CHECK_INT(ref_integrate(&f->system, &o, x, &events), REF_OK);
  CHECK_INT(f->points, n + 1);
  CHECK(f->last_t == stop);
  return events;
}

//------------------------------------ smooth ------------------------------------

static void turn(void* user, double t, const double* x, double* dx) {
  (void)user, (void)t;
  dx[0] = 7 * x[1], dx[1] = -7 * x[0];
}

static void an_oscillation_keeps_twelve_digits(void** state) {
  (void)state;
  fixture f = {.system = {.n_states = 2, .f = turn}, .next = INFINITY};
  double x[REF_MAX_STATES] = {1e-6, 0};
  integrate(&f, x, 10, 7, 0.05);
  CHECK_NEAR(f.last[0], 1e-6 * cos(70), 1e-18);
  CHECK_NEAR(f.last[1], -1e-6 * sin(70), 1e-18);
}

static void growing(void* user, double t, const double* x, double* dx) {
  (void)user;
  dx[0] = cos(t) * x[0];
}

// The step is chosen by the error alone: with no limit for it the digits are the same.
static void the_error_chooses_the_step(void** state) {
  (void)state;
  fixture f = {.system = {.n_states = 1, .f = growing}, .next = INFINITY};
  double x[REF_MAX_STATES] = {1e6};
  integrate(&f, x, 20, 1, 20);
  CHECK_NEAR(f.last[0] / (1e6 * exp(sin(20))), 1, 1e-12);
}

//------------------------------------ events ------------------------------------

static void fall(void* user, double t, const double* x, double* dx) {
  (void)user, (void)t;
  dx[0] = x[1], dx[1] = -9.81;
}

static void height(void* user, double t, const double* x, double* g) {
  (void)user, (void)t;
  g[0] = x[0];
}

static void bounce(void* user, double t, double* x, const int8_t* crossed, bool time_event) {
  (void)user, (void)t, (void)time_event;
  if (crossed[0] < 0) x[0] = 0, x[1] = -0.7 * x[1];
}

static void impacts_have_their_times(void** state) {
  (void)state;
  fixture f = {
      .system = {.n_states = 2, .n_guards = 1, .f = fall, .guards = height, .update = bounce},
      .next = INFINITY};
  double x[REF_MAX_STATES] = {1, 0}, first = sqrt(2 / 9.81), t = first, v = 9.81 * first;
  integrate(&f, x, 1.8, 5, 0.01);
  for (int k = 0, event = 0; k < 3; k++) {
    while (f.left[event] > 0) event++;  // it leaves the ground, too
    CHECK_NEAR(f.event_t[event], t, 1e-13);
    CHECK_NEAR(f.left[event], -v, 1e-12);
    CHECK_NEAR(f.right[event], 0.7 * v, 1e-12);
    v *= 0.7, t += 2 * v / 9.81, event++;
  }
}

// The bounces of the ball end before 4 s.
static void accumulating_events_end_the_reference(void** state) {
  (void)state;
  fixture f = {.system = {.n_states = 2,
                          .n_guards = 1,
                          .f = fall,
                          .guards = height,
                          .update = bounce,
                          .next_time = never,
                          .point = keep},
               .next = INFINITY};
  double x[REF_MAX_STATES] = {1, 0}, times[] = {0, 4};
  int events = 0;
  f.system.user = &f;
  ref_options o = {.tolerance = 1e-14, .longest = 0.1, .times = times, .n_times = 2};
  CHECK_INT(ref_integrate(&f.system, &o, x, &events), REF_TOO_MANY_EVENTS);
  CHECK(f.event_t[events - 1] < sqrt(2 / 9.81) * (1 + 2 * 0.7 / 0.3));
}

static void parabola(void* user, double t, const double* x, double* g) {
  (void)user, (void)x;
  g[0] = 4e-4 - (t - 0.5) * (t - 0.5);
}

static void by_side(void* user, double t, const double* x, double* dx) {
  (void)t, (void)x;
  dx[0] = ((fixture*)user)->side, dx[1] = 0;
}

static void follow(void* user, double t, double* x, const int8_t* crossed, bool time_event) {
  (void)t, (void)x, (void)time_event;
  if (crossed[0] != 0) ((fixture*)user)->side = crossed[0] > 0;
}

// Positive from 0.48 to 0.52 only, with steps of 0.25.
static void two_crossings_in_one_step_are_found(void** state) {
  (void)state;
  fixture f = {
      .system = {.n_states = 2, .n_guards = 1, .f = by_side, .guards = parabola, .update = follow},
      .next = INFINITY};
  double x[REF_MAX_STATES] = {0, 0};
  CHECK_INT(integrate(&f, x, 1, 1, 0.17), 2);
  CHECK_NEAR(f.last[0], 0.04, 1e-14);
  CHECK_NEAR(f.event_t[0], 0.48, 1e-14);
}

static void until_seven_tenths(void* user, double t, const double* x, double* g) {
  (void)user, (void)x;
  g[0] = 0.7 - t;
}

static void leave_behind(void* user, double t, double* x, const int8_t* crossed, bool time_event) {
  (void)x, (void)crossed, (void)time_event;
  ((fixture*)user)->side = t > 0.7;
}

// The guard is zero at t = 0.7, where a model that asks for t > 0.7 does not switch yet.
static void a_guard_that_is_zero_is_left_behind(void** state) {
  (void)state;
  fixture f = {.system = {.n_states = 2,
                          .n_guards = 1,
                          .f = by_side,
                          .guards = until_seven_tenths,
                          .update = leave_behind},
               .next = INFINITY};
  double x[REF_MAX_STATES] = {0, 0};
  CHECK_INT(integrate(&f, x, 1, 1, 0.17), 1);
  CHECK_NEAR(f.last[0], 0.3, 1e-14);
}

static void add_one(void* user, double t, double* x, const int8_t* crossed, bool time_event) {
  fixture* f = user;
  (void)crossed;
  CHECK(time_event && t == f->next);
  x[0] += 1;
  f->next = t < 2 ? t + 0.3 : INFINITY;
}

static void time_events_are_met_exactly(void** state) {
  (void)state;
  fixture f = {.system = {.n_states = 1, .f = growing, .update = add_one}, .next = 0.3};
  double x[REF_MAX_STATES] = {0}, right = 0, t = 0.3;
  int events = integrate(&f, x, 3, 4, 0.1);
  for (int k = 0; k < events; k++, t += 0.3) right += exp(sin(3) - sin(t));
  CHECK_INT(events, 7);
  CHECK_NEAR(f.last[0], right, 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_oscillation_keeps_twelve_digits),
      cmocka_unit_test(the_error_chooses_the_step),
      cmocka_unit_test(impacts_have_their_times),
      cmocka_unit_test(accumulating_events_end_the_reference),
      cmocka_unit_test(two_crossings_in_one_step_are_found),
      cmocka_unit_test(a_guard_that_is_zero_is_left_behind),
      cmocka_unit_test(time_events_are_met_exactly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
