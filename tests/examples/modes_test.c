// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models of variable structure against values that are known from elsewhere: closed formulas, and
// integrations of the single modes to machine precision.
#include "running.h"

// The times at which the column `mode` tells of a switch: two rows at one time, where something
// jumps or the mode changes.
static size_t switches_of(const cpl_table* t, double* times, size_t most) {
  const double* mode = column(t, "mode");
  size_t n = 0;
  for (size_t i = 1; i < t->n_rows; i++) {
    if (mode[i] == mode[i - 1]) continue;
    CHECK(t->time[i] == t->time[i - 1]);  // both sides are there
    if (n < most) times[n] = t->time[i];
    n++;
  }
  return n;
}

static double at_end(const cpl_table* t, const char* name) {
  return column(t, name)[t->n_rows - 1];
}

static cpl_table* run(cpl_context* ctx, const char* arguments) {
  if (couplet("run %s", arguments) != 0) check_message("\n\n");
  return read_table(ctx, "out.csv");
}

//------------------------------------ the breaking pendulum ------------------------------------

static void check_pendulum(cpl_context* ctx, const char* file) {
  char arguments[300];
  snprintf(arguments, sizeof arguments, "breaking_pendulum/%s -o out.csv", file);
  cpl_table* t = run(ctx, arguments);
  double times[4];
  CHECK_INT((int)switches_of(t, times, 4), 2);
  CHECK_NEAR(times[0], 1.198645040320, 1e-8);
  CHECK_NEAR(times[1], 2.104838836980, 1e-8);
  const double *x = column(t, "x"), *y = column(t, "y");
  for (size_t i = 0; i < t->n_rows; i++) {
    if (t->time[i] == times[0]) CHECK_NEAR(x[i], -1.924689746335, 1e-8);
    if (t->time[i] == times[0]) CHECK_NEAR(y[i], 0.543662928984, 1e-8);
    if (t->time[i] == times[1]) CHECK_NEAR(x[i], -1.355810390642, 3e-8);
    if (t->time[i] == times[1]) CHECK_NEAR(y[i], -1.470298671912, 3e-8);
    CHECK(x[i] * x[i] + y[i] * y[i] < 4 * (1 + 1e-9));  // it never gets out of the rope's reach
  }
  cpl_table_destroy(t);
}

static void the_rope_gets_slack_and_taut_at_the_known_times(void** state) {
  copy_example("breaking_pendulum");
  CHECK_INT(couplet("build breaking_pendulum/pendulum.c -o breaking_pendulum/pendulum.fmu"), 0);
  CHECK_INT(couplet("build breaking_pendulum/falling_mass.c -o breaking_pendulum/falling_mass.fmu"),
            0);
  check_pendulum(*state, "breaking_pendulum.yaml");
  check_pendulum(*state, "fmus.yaml");
  check_pendulum(*state, "mixed.yaml");
}

static void the_error_of_a_switch_follows_the_tolerance(void** state) {
  copy_example("breaking_pendulum");
  double last = INFINITY;
  for (double tol = 1e-4; tol > 1e-13; tol /= 100) {
    double times[2];
    cpl_table* t = run_with(*state, "breaking_pendulum/breaking_pendulum.yaml", tol);
    CHECK_INT((int)switches_of(t, times, 2), 2);
    double error = fabs(times[0] - 1.198645040320) + fabs(times[1] - 2.104838836980);
    CHECK(error < 0.3 * last);
    last = error;
    cpl_table_destroy(t);
  }
  CHECK(last < 1e-10);
}

static void other_solvers_find_the_same_switches(void** state) {
  copy_example("breaking_pendulum");
  const char* solvers[] = {"rk4", "adams"};
  for (int k = 0; k < 2; k++) {
    char arguments[200];
    double times[4];
    snprintf(arguments, sizeof arguments,
             "breaking_pendulum/breaking_pendulum.yaml --solver %s --step 0.001 -o out.csv",
             solvers[k]);
    cpl_table* t = run(*state, arguments);
    CHECK_INT((int)switches_of(t, times, 4), 2);
    CHECK_NEAR(times[0], 1.198645040320, 1e-8);
    CHECK_NEAR(times[1], 2.104838836980, 1e-8);
    cpl_table_destroy(t);
  }
}

static void variables_of_other_modes_are_absent(void** state) {
  copy_example("breaking_pendulum");
  cpl_table* t = run(*state,
                     "breaking_pendulum/breaking_pendulum.yaml --record mode --record "
                     "swinging.p.phi --record falling.m.vx -o out.csv");
  const double *mode = column(t, "mode"), *phi = column(t, "swinging.p.phi");
  const double* vx = column(t, "falling.m.vx");
  for (size_t i = 0; i < t->n_rows; i++) {
    CHECK(isnan(phi[i]) == (mode[i] != 1));
    CHECK(isnan(vx[i]) == (mode[i] != 2));
  }
  cpl_table_destroy(t);
  CHECK_INT(couplet("run breaking_pendulum/breaking_pendulum.yaml -o out.mat"), 0);
  t = read_table(*state, "out.mat");
  double times[2];
  CHECK_INT((int)switches_of(t, times, 2), 2);
  cpl_table_destroy(t);
}

//------------------------------------ the ball in contact ------------------------------------

static const double contact_times[] = {1.9681459217, 2.0691396423, 4.9657940394, 5.0672196581,
                                       7.1931062213, 7.2951264143, 8.8495065582, 8.9523514644};

static void check_contact(cpl_context* ctx, const char* file) {
  char arguments[300];
  snprintf(arguments, sizeof arguments, "ball_contact/%s --rtol 1e-12 --atol 1e-12 -o out.csv",
           file);
  cpl_table* t = run(ctx, arguments);
  double times[8];
  CHECK_INT((int)switches_of(t, times, 8), 8);
  for (int i = 0; i < 8; i++) CHECK_NEAR(times[i], contact_times[i], 2e-9);
  CHECK_NEAR(at_end(t, "h"), 1.425838661122, 2e-8);
  CHECK_NEAR(at_end(t, "v"), -4.732245150059, 2e-8);
  cpl_table_destroy(t);
}

static void the_ball_changes_into_a_spring_at_the_known_times(void** state) {
  copy_example("ball_contact");
  CHECK_INT(couplet("build ball_contact/flying.c -o ball_contact/flying.fmu"), 0);
  CHECK_INT(couplet("build ball_contact/contact.c -o ball_contact/contact.fmu"), 0);
  check_contact(*state, "ball_contact.yaml");
  check_contact(*state, "fmus.yaml");
}

// A damped oscillation about r - m g / c that begins at r with speed v leaves r again with this
// one.
static double speed_after(double v, double d) {
  const double g = 9.81, c = 1000;
  double decay = d / 2, omega = sqrt(c - decay * decay), rest = g / c;
  double b = (v + decay * rest) / omega;  // u = exp(-decay t) (rest cos + b sin), u = h - r + rest
  double low = 1e-3, high = M_PI / omega * 1.2;
  for (int i = 0; i < 200; i++) {
    double t = (low + high) / 2;
    double u = exp(-decay * t) * (rest * cos(omega * t) + b * sin(omega * t));
    *(u < rest ? &low : &high) = t;
  }
  double t = low;
  return exp(-decay * t) * ((b * omega - decay * rest) * cos(omega * t) -
                            (rest * omega + decay * b) * sin(omega * t));
}

static void more_damping_gives_lower_jumps(void** state) {
  copy_example("ball_contact");
  const double damping[] = {0, 2, 6, 12};
  double before = INFINITY;
  for (int k = 0; k < 4; k++) {
    char arguments[300];
    snprintf(arguments, sizeof arguments,
             "ball_contact/ball_contact.yaml --set contact.b.d=%g --rtol 1e-11 --atol 1e-11 -o "
             "out.csv",
             damping[k]);
    cpl_table* t = run(*state, arguments);
    const double *h = column(t, "h"), *mode = column(t, "mode"), *v = column(t, "v");
    double highest = 0, exact = speed_after(-sqrt(2 * 9.81 * 19), damping[k]);
    size_t i = 1;
    while (!(mode[i - 1] == 2 && mode[i] == 1)) i++;
    CHECK_NEAR(v[i], exact, 1e-7);
    for (; i < t->n_rows && mode[i] == 1; i++) highest = fmax(highest, h[i]);
    CHECK(highest < before);
    CHECK_NEAR(highest, 1 + exact * exact / (2 * 9.81), 2e-3);  // output points lie beside it
    before = highest;
    cpl_table_destroy(t);
  }
}

//------------------------------------ two modes, elastic ball ------------------------------------

static void a_guard_over_time_is_met_exactly(void** state) {
  copy_example("two_modes");
  cpl_table* t = run(*state, "two_modes/two_modes.yaml -o out.csv");
  double times[2];
  CHECK_INT((int)switches_of(t, times, 2), 1);
  CHECK(times[0] == 0.7);
  double there = 1.5 * exp(1.4) - 0.5;
  CHECK_NEAR(there, 5.5828, 1e-3);
  const double* x = column(t, "x");
  for (size_t i = 0; i < t->n_rows; i++)
    if (t->time[i] == 0.7) CHECK_NEAR(x[i], there, 1e-7);
  CHECK_NEAR(at_end(t, "x"), 1 + (there - 1) * exp(0.3), 1e-7);
  cpl_table_destroy(t);
}

// Each flight's own error, and that of all of them together.
static void flights(cpl_context* ctx, const char* file, double rtol, double stop, double* own,
                    double* total, int* n) {
  char arguments[300];
  snprintf(arguments, sizeof arguments,
           "%s --rtol %g --atol %g --stop-time %g --interval %g -o out.csv", file, rtol, rtol, stop,
           stop);
  cpl_table* t = run(ctx, arguments);
  const double* v = column(t, "v");
  double last = 0, half = sqrt(2 / 9.81), fell = 0;
  *own = 0;
  *n = 0;
  for (size_t i = 1; i < t->n_rows; i++) {
    if (!(t->time[i] == t->time[i - 1] && v[i - 1] < 0 && v[i] > 0)) continue;
    // a flight with the speed it begins with
    double exact = *n == 0 ? half : 2 * fell / 9.81;
    *own = fmax(*own, fabs(t->time[i] - last - exact) / exact);
    last = t->time[i];
    fell = v[i];
    ++*n;
  }
  *total = last - (2 * *n - 1) * half;
  cpl_table_destroy(t);
}

static void the_elastic_ball_keeps_to_the_exact_series(void** state) {
  copy_example("elastic_ball");
  CHECK_INT(couplet("build elastic_ball/ball.c -o elastic_ball/ball.fmu"), 0);
  double own, total;
  int n;
  flights(*state, "elastic_ball/fmu.yaml", 1e-10, 9030.5, &own, &total, &n);
  CHECK_INT(n, 10000);
  CHECK(own < 10 * 1e-10);
  CHECK(fabs(total) < 5e-3);
  flights(*state, "elastic_ball/elastic_ball.yaml", 1e-6, 90.5, &own, &total, &n);
  CHECK_INT(n, 100);
  CHECK(own < 10 * 1e-6);
}

static void balls_side_by_side_are_what_they_are_alone(void** state) {
  copy_example("elastic_ball");
  cpl_table* all = run(*state, "elastic_ball/balls.yaml -o out.csv");
  for (int k = 1; k <= 20; k += 6) {
    char arguments[300], name[40];
    snprintf(arguments, sizeof arguments,
             "elastic_ball/elastic_ball.yaml --set flying.b.h=%.17g --stop-time 3 -o out.csv",
             0.5 + 0.1 * k);
    cpl_table* one = run(*state, arguments);
    snprintf(name, sizeof name, "ball[%d].h", k);
    const double *h = column(one, "h"), *same = column(all, name);
    size_t j = 0, found = 0;
    for (size_t i = 0; i < one->n_rows; i++) {
      while (j < all->n_rows && all->time[j] < one->time[i]) j++;
      if (j == all->n_rows || all->time[j] != one->time[i]) continue;
      CHECK_NEAR(same[j], h[i], 1e-8);
      found++;
    }
    CHECK(found >= 300);
    cpl_table_destroy(one);
  }
  cpl_table_destroy(all);
}

//------------------------------------ the nail ------------------------------------

// The times of all switches, as the log tells them.
static int told_switches(double* times, int most) {
  size_t size;
  char* text = read_all("err.txt", &size);
  int n = 0;
  for (char* at = text; (at = strstr(at, "t=")) != NULL; at += 2) {
    char* end;
    double t = strtod(at + 2, &end);
    if (strncmp(end, ": from mode", 11) == 0 && n < most) times[n++] = t;
  }
  free(text);
  return n;
}

// Found by the classical Runge-Kutta method with a step of 0.2 ms and bisection.
static void the_pendulum_and_the_nail_meet_at_the_known_times(void** state) {
  static const struct {
    double speed, damping;
    int n;
    double times[7];
  } known[] = {
      {0, 0, 6, {0.987946833, 1.409486808, 2.098721385, 2.233572489, 4.258587920, 4.861314379}},
      {-3, 0, 1, {0.517052486}},  // it turns around the nail
      {-6, 0.3, 4, {0.325189223, 3.452002588, 4.033863764, 4.328047691}},
      {2,
       0,
       7,
       {0.174844952, 1.081038749, 1.506317142, 1.922686596, 2.673206015, 2.675807624, 4.688402567}},
      {0, 0.3, 6, {1.054381366, 1.490268910, 1.798095715, 2.108293687, 4.108337051, 4.861007928}},
  };
  (void)state;
  copy_example("breaking_pendulum");
  copy_example("nail_pendulum");
  for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
    double times[10];
    CHECK_INT(couplet("run nail_pendulum/nail_pendulum.yaml --stop-time 5 --rtol 1e-11 --set "
                      "swinging.p.dphi=%g --set swinging.p.D=%g --set falling.m.D=%g --log-level "
                      "info -o out.csv",
                      known[k].speed, known[k].damping, known[k].damping),
              0);
    CHECK_INT(told_switches(times, 10), known[k].n);
    for (int i = 0; i < known[k].n; i++) CHECK_NEAR(times[i], known[k].times[i], 3e-8);
  }
}

//------------------------------------ two levels of detail ------------------------------------

static long long count_of(const char* name) {
  size_t size;
  char* text = read_all("out.txt", &size);
  const char* at = strstr(text, name);
  CHECK(at != NULL);
  long long n = atoll(at + strcspn(at, "0123456789"));
  free(text);
  return n;
}

static void less_detail_saves_work_and_changes_little(void** state) {
  copy_example("diesel_engine");
  CHECK_INT(couplet("run diesel_engine/detailed.yaml --stats -o detailed.csv"), 0);
  long long detailed = count_of("right-hand sides");
  CHECK_INT(couplet("run diesel_engine/diesel_engine.yaml --stats -o out.csv"), 0);
  CHECK_INT(count_of("switches   "), 7);
  CHECK(2 * detailed > 3 * count_of("right-hand sides"));
  cpl_table *a = read_table(*state, "detailed.csv"), *b = read_table(*state, "out.csv");
  const char* names[] = {"p", "T"};
  for (int k = 0; k < 2; k++) {
    const double *x = column(a, names[k]), *y = column(b, names[k]);
    size_t compared = 0;
    for (size_t i = 0, j = 0; i < a->n_rows; i++) {
      while (j < b->n_rows && b->time[j] < a->time[i]) j++;
      if (j == b->n_rows || b->time[j] != a->time[i]) continue;
      CHECK_NEAR(y[j] / x[i], 1, 0.005);
      compared++;
    }
    CHECK(compared > 1000);
  }
  cpl_table_destroy(a);
  cpl_table_destroy(b);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, make_context, drop_context)
  const struct CMUnitTest tests[] = {
      T(the_rope_gets_slack_and_taut_at_the_known_times),
      T(the_error_of_a_switch_follows_the_tolerance),
      T(other_solvers_find_the_same_switches),
      T(variables_of_other_modes_are_absent),
      T(the_ball_changes_into_a_spring_at_the_known_times),
      T(more_damping_gives_lower_jumps),
      T(a_guard_over_time_is_met_exactly),
      T(the_elastic_ball_keeps_to_the_exact_series),
      T(balls_side_by_side_are_what_they_are_alone),
      T(the_pendulum_and_the_nail_meet_at_the_known_times),
      T(less_detail_saves_work_and_changes_little),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
