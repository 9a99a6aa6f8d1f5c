// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Results and references that agree in one direction only, each in both roles.
#include "testing.h"

enum { MAX = 4001 };

static const char* const names[] = {"y"};

typedef struct curve {
  double time[MAX], values[MAX];
  size_t n;
  cpl_table table;
} curve;

typedef double function(double t);

static double line(double t) { return t; }
static double noisy(double t) { return t + sin(2 * M_PI * 700 * t); }
static double ripple(double t) { return t + 0.015 * sin(2 * M_PI * 90 * t); }
static double wave(double t) { return sin(7 * t); }
static double late_wave(double t) { return sin(7 * (t - 0.0015)); }
static double too_late_wave(double t) { return sin(7 * (t - 0.03)); }
static double step(double t) { return t < 0.505 ? 0 : 1; }
static double late_step(double t) { return t < 0.5065 ? 0 : 1; }
static double too_late_step(double t) { return t < 0.53 ? 0 : 1; }
static double no_step(double t) { return t < 2 ? 0 : 1; }
static double pulse(double t) { return t >= 0.5 && t < 0.53 ? 1 : 0; }
static double spike(double t) { return wave(t) + (t >= 0.5 && t < 0.515 ? 3 : 0); }
static double short_spike(double t) { return wave(t) + (t >= 0.5 && t < 0.503 ? 3 : 0); }

// n points from 0 to `stop`, the same distance apart.
static curve* sample(function* f, size_t n, double stop) {
  curve* c = test_malloc(sizeof *c);
  c->n = n;
  for (size_t i = 0; i < n; i++) {
    c->time[i] = stop * (double)i / (double)(n - 1);
    c->values[i] = f(c->time[i]);
  }
  c->table = (cpl_table){
      .n_rows = n, .n_columns = 1, .names = names, .time = c->time, .values = c->values};
  return c;
}

static bool matches(function* reference, size_t n, function* results, size_t m) {
  curve *a = sample(reference, n, 1), *b = sample(results, m, 1);
  cpl_match_def def = cpl_default_match_def();
  bool same = cpl_match(&a->table, &b->table, &def).matches;
  test_free(a);
  test_free(b);
  return same;
}

static void both_ways(function* f, function* g, bool expected) {
  const size_t sizes[] = {151, 701, 4001};
  for (size_t i = 0; i < 3; i++) {
    for (size_t k = 0; k < 3; k++) {
      if (matches(f, sizes[i], g, sizes[k]) != expected ||
          matches(g, sizes[k], f, sizes[i]) != expected)
        fail_msg("%zu points against %zu: expected %d", sizes[i], sizes[k], expected);
    }
  }
}

static void oscillation(void** state) {
  (void)state;
  // sampled finely enough to be seen: 700 periods have 1400 turns
  CHECK(!matches(line, 101, noisy, 4001));
  CHECK(!matches(line, 4001, noisy, 4001));
  CHECK(!matches(noisy, 4001, line, 101));
  CHECK(!matches(noisy, 4001, line, 4001));
  CHECK(matches(line, 1001, ripple, 4001));  // less than 2 % of the range
}

static void events(void** state) {
  (void)state;
  both_ways(step, step, true);
  both_ways(step, no_step, false);
  both_ways(pulse, no_step, false);
  both_ways(step, too_late_step, false);
  CHECK(matches(step, 4001, late_step, 4001));
  CHECK(matches(late_step, 4001, step, 4001));
}

static void shifts(void** state) {
  (void)state;
  both_ways(wave, late_wave, true);
  both_ways(wave, too_late_wave, false);
}

static void spikes(void** state) {
  (void)state;
  both_ways(wave, spike, false);
  CHECK(matches(wave, 701, short_spike, 4001));  // 0.3 % of the time
}

// Few points of a reference: what it does between them is not held against the results.
static double bounce(double t) {
  double period = 0.37, since = fmod(t, period);
  return 5 - 9.81 * since / period;  // a speed that jumps
}

static void coarse_reference(void** state) {
  (void)state;
  CHECK(matches(bounce, 12, bounce, 4001));
  CHECK(matches(wave, 12, wave, 4001));
  CHECK(!matches(wave, 12, noisy, 4001));
}

// Both rows of a jump are known, so nothing is allowed for between them.
static void exact_jump(void** state) {
  (void)state;
  curve *a = sample(step, 102, 1), *b = sample(step, 4001, 1);
  a->time[51] = a->time[50] = 0.505;
  a->values[50] = 0;
  a->values[51] = 1;
  cpl_match_def def = cpl_default_match_def();
  CHECK(cpl_match(&a->table, &b->table, &def).matches);
  for (size_t i = 0; i < b->n; i++) {
    if (b->time[i] > 0.51 && b->time[i] < 0.523) b->values[i] = 1.5;
  }
  CHECK(!cpl_match(&a->table, &b->table, &def).matches);
  test_free(a);
  test_free(b);
}

static void ends_early(void** state) {
  (void)state;
  curve *a = sample(no_step, 201, 1), *b = sample(no_step, 201, 0.6);
  cpl_match_def def = cpl_default_match_def();
  cpl_match_result r = cpl_match(&a->table, &b->table, &def);
  CHECK(!r.matches);
  CHECK_NEAR(r.off, 0.4, 0.01);
  def.stop = 0.6;
  CHECK(cpl_match(&a->table, &b->table, &def).matches);
  def.stop = INFINITY;
  CHECK(cpl_match(&b->table, &a->table, &def).matches);  // what comes later is not asked for
  for (size_t i = 0; i < a->n; i++) a->values[i] = i == 3 ? INFINITY : 5;
  for (size_t i = 0; i < b->n; i++) b->values[i] = 8;
  CHECK(!cpl_match(&a->table, &b->table, &def).matches);  // infinity is no range
  test_free(a);
  test_free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(oscillation),      cmocka_unit_test(events),
      cmocka_unit_test(shifts),           cmocka_unit_test(spikes),
      cmocka_unit_test(exact_jump),       cmocka_unit_test(ends_early),
      cmocka_unit_test(coarse_reference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
