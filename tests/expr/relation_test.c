// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What stands still between events, and the indicators that find the next event.
#include "scope.h"

enum { MOST = 8 };

static void settle(cpl_context* ctx, const cpli_expr* e, double t, const double* v,
                   double* frozen) {
  CHECK(cpli_expr_relations(e) <= MOST);
  memset(frozen, 0, MOST * sizeof *frozen);
  CHECK_INT(cpli_expr_settle(e, ctx, t, v, frozen), CPL_OK);
}

static double frozen_value(cpl_context* ctx, const cpli_expr* e, const double* v,
                           const double* frozen) {
  double out = NAN;
  CHECK_INT(cpli_expr_value(e, ctx, 0, v, frozen, &out), CPL_OK);
  return out;
}

static void test_values_stand_still(void** state) {
  (void)state;
  static const struct {
    const char* text;
    double x, frozen, other, value;  // settled at x, then evaluated at `other`
  } cases[] = {
      {"if x > 1 then 10 else 20", 0, 0, 5, 20},
      {"if x > 1 then 10 else 20", 2, 1, -5, 10},
      {"if x > 1 then 10 else 20", 1, 0, 5, 20},
      {"if x >= 1 then 10 else 20", 1, 1, -5, 10},
      {"if x < 1 then 10 else 20", 1, 0, -5, 20},
      {"if x <= 1 then 10 else 20", 1, 1, 5, 10},
      {"if x > 1 then 10*x else 20*x", 0, 0, 5, 100},
      {"floor(x)", 1.5, 1, 7.5, 1},
      {"ceil(x)", 1.5, 2, 7.5, 2},
      {"round(x)", 1.5, 2, 7.5, 2},
      {"sign(x)", -1, -1, 3, -1},
      {"mod(x, 2)", 5, 2, 7.5, 3.5},
      {"rem(x, 2)", -5, -2, -7.5, -3.5},
      {"x - floor(x)", 3.25, 3, 4.5, 1.5},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    double frozen[MOST];
    cpli_expr* e = parse(ctx, cases[i].text);
    CHECK_INT(cpli_expr_relations(e), 1);
    settle(ctx, e, 0, &cases[i].x, frozen);
    CHECK_NEAR(frozen[0], cases[i].frozen, 0);
    double v = frozen_value(ctx, e, &cases[i].other, frozen);
    if (v != cases[i].value) fail_msg("%s: %.17g", cases[i].text, v);
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

// Between any two points, also next to and on the borders: the indicator has changed its side
// exactly when the frozen value is no longer right.
static void test_indicators_change_sides_exactly(void** state) {
  (void)state;
  static const char* const texts[] = {"x > 1",     "x >= 1",    "x < 1",        "x <= 1",
                                      "floor(x)",  "ceil(x)",   "round(x)",     "sign(x)",
                                      "mod(x, 2)", "rem(x, 2)", "mod(x, -0.5)", "rem(x, -0.5)"};
  double points[400];
  int n = 0;
  for (int k = -12; k <= 12; k++) {
    double border = 0.25 * k;
    points[n++] = border;
    points[n++] = nextafter(border, INFINITY);
    points[n++] = nextafter(border, -INFINITY);
    points[n++] = border + 0.1;
    points[n++] = border + 1e-12;
  }
  points[n++] = 1e9 + 0.5, points[n++] = -1e9, points[n++] = 4e18, points[n++] = -4e18;
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(texts); i++) {
    cpli_expr* e = parse(ctx, texts[i]);
    bool comparison = cpli_expr_type(e) == CPL_BOOLEAN;
    for (int p = 0; p < n; p++) {
      double here[MOST], there[MOST], z[1], z0[1];
      settle(ctx, e, 0, &points[p], here);
      CHECK_INT(cpli_expr_indicators(e, ctx, 0, &points[p], here, z0), CPL_OK);
      CHECK(comparison || z0[0] <= 0);
      for (int q = 0; q < n; q++) {
        settle(ctx, e, 0, &points[q], there);
        CHECK_INT(cpli_expr_indicators(e, ctx, 0, &points[q], here, z), CPL_OK);
        bool changed = (z[0] > 0) != (z0[0] > 0), wrong = here[0] != there[0];
        if (changed != wrong || !isfinite(z[0] + z0[0])) {
          fail_msg("%s from %.17g to %.17g: z %.17g to %.17g", texts[i], points[p], points[q],
                   z0[0], z[0]);
        }
      }
    }
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

static void test_indicator_values(void** state) {
  (void)state;
  static const struct {
    const char* text;
    double settled, x, z;
  } cases[] = {
      {"x > 1", 0, 3, 2},
      {"x < 1", 0, 3, -2},
      {"x >= 1", 0, 3, -2},
      {"x <= 1", 0, 3, 2},
      {"floor(x)", 1.5, 1.25, -0.25},
      {"floor(x)", 1.5, 2.25, 0.25},
      {"floor(x)", 1.5, 0.5, 0.5},
      {"ceil(x)", 1.5, 2.25, 0.25},
      {"round(x)", 2, 2.75, 0.25},
      {"round(x)", 0, -0.25, -0.25},
      {"sign(x)", 2, -3, 3},
      {"sign(x)", 0, -3, 3},
      {"sign(x)", -2, -3, -3},
      {"mod(x, 2)", 1, 3, 0.5},
      {"rem(x, 2)", 1, -3, 0.5},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    double frozen[MOST], z;
    cpli_expr* e = parse(ctx, cases[i].text);
    settle(ctx, e, 0, &cases[i].settled, frozen);
    CHECK_INT(cpli_expr_indicators(e, ctx, 0, &cases[i].x, frozen, &z), CPL_OK);
    if (z != cases[i].z) fail_msg("%s at %g: %.17g", cases[i].text, cases[i].x, z);
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

// What changes only at events needs no indicator.
static void test_what_is_a_relation(void** state) {
  (void)state;
  static const struct {
    const char* text;
    size_t relations;
  } cases[] = {
      {"x > y", 1},
      {"i > j", 0},
      {"i == j", 0},
      {"on == (x > 1)", 1},
      {"floor(x) > 2", 1},
      {"floor(i/2)", 0},
      {"floor(x)*x > 2", 2},
      {"mod(i, 2) == 0", 0},
      {"mod(x, 2) > 1", 2},
      {"abs(x) + min(x, y) + max(x, y)", 0},
      {"floor(2.5) + mod(7, 4)", 0},
      {"sign(round(x))", 1},
      {"time > 1", 1},
      {"if on then x else y", 0},
      {"(if on then x else 2) > 1", 1},
      {"(if x > 1 then 2 else 3) > 2", 1},
      {"not x > 1 and y > 2 or x < 3", 3},
      {"1 < 2", 0},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpli_expr* e = parse(ctx, cases[i].text);
    if (cpli_expr_relations(e) != cases[i].relations) {
      fail_msg("%s: %zu relations", cases[i].text, cpli_expr_relations(e));
    }
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

// Relations in a branch that is not taken are silent and keep their state.
static void test_silent_branches(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_expr* e = parse(ctx, "if x > 0 then (if log(x) > y then 1 else 2) else floor(y)");
  CHECK_INT(cpli_expr_relations(e), 3);
  double frozen[MOST] = {0}, z[3];
  const double negative[] = {-1, 2.5}, positive[] = {3, 1}, far[] = {-1, 7};
  CHECK_INT(cpli_expr_settle(e, ctx, 0, negative, frozen), CPL_OK);
  CHECK(frozen[0] == 0 && frozen[1] == 0 && frozen[2] == 2);
  CHECK_INT(cpli_expr_indicators(e, ctx, 0, negative, frozen, z), CPL_OK);
  CHECK(z[0] == -1 && z[1] == -1 && z[2] == -0.5);
  CHECK_INT(cpli_expr_settle(e, ctx, 0, positive, frozen), CPL_OK);
  CHECK(frozen[0] == 1 && frozen[1] == 1 && frozen[2] == 2);
  CHECK_NEAR(frozen_value(ctx, e, positive, frozen), 1, 0);
  CHECK_INT(cpli_expr_settle(e, ctx, 0, far, frozen), CPL_OK);
  CHECK(frozen[0] == 0 && frozen[1] == 1 && frozen[2] == 7);
  CHECK_INT(cpli_expr_indicators(e, ctx, 0, far, frozen, z), CPL_OK);
  CHECK(z[0] == -1 && z[1] == 1 && z[2] == 0);
  cpli_expr_destroy(e);
  cpl_context_destroy(ctx);
}

// A trial point past the crossing, where the frozen branch has no value.
static void test_past_the_crossing(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  double frozen[MOST], z[2], v, g[2];
  cpli_expr* e = parse(ctx, "if x > 0 then sqrt(x) else 0");
  const double inside = 1, past = -1e-9;
  settle(ctx, e, 0, &inside, frozen);
  CHECK_NEAR(frozen_value(ctx, e, &past, frozen), 0, 0);
  CHECK_INT(cpli_expr_gradient(e, ctx, 0, &past, frozen, &v, g, NULL), CPL_OK);
  CHECK(v == 0 && g[0] == 0);
  CHECK_INT(cpli_expr_indicators(e, ctx, 0, &past, frozen, z), CPL_OK);
  CHECK_NEAR(z[0], -1e-9, 0);
  cpli_expr_destroy(e);

  e = parse(ctx, "if x > 0 then log(y) + (if x*y > 1 then 1 else 2) else 3");
  const double good[] = {1, 2}, bad[] = {1, -2}, left[] = {-1, -2};
  settle(ctx, e, 0, good, frozen);
  CHECK_INT(cpli_expr_value(e, ctx, 0, bad, frozen, &v), CPL_RETRY);  // x > 0 still holds
  CHECK_CONTAINS(cpl_context_error(ctx), "12:24: if x > 0 then log(y)");
  CHECK_INT(cpli_expr_indicators(e, ctx, 0, bad, frozen, z), CPL_RETRY);
  CHECK_NEAR(frozen_value(ctx, e, left, frozen), 3, 0);
  CHECK_INT(cpli_expr_indicators(e, ctx, 0, left, frozen, z), CPL_OK);
  CHECK(z[0] == -1 && z[1] == 1);
  CHECK_INT(cpli_expr_settle(e, ctx, 0, bad, frozen), CPL_RETRY);
  cpli_expr_destroy(e);
  cpl_context_destroy(ctx);
}

// Every event of a function of time, found by bisection between changes of side.
static int count_events(cpl_context* ctx, const char* text, double stop, double* times) {
  cpli_expr* e = parse(ctx, text);
  CHECK_INT(cpli_expr_relations(e), 1);
  double frozen[MOST], z, z0, h = 0.01, t = 0;
  int n = 0;
  settle(ctx, e, 0, NULL, frozen);
  CHECK_INT(cpli_expr_indicators(e, ctx, 0, NULL, frozen, &z0), CPL_OK);
  while (t < stop) {
    CHECK_INT(cpli_expr_indicators(e, ctx, t + h, NULL, frozen, &z), CPL_OK);
    if ((z > 0) == (z0 > 0)) {
      t += h;
      continue;
    }
    double low = t, high = t + h;
    for (int i = 0; i < 60; i++) {
      double middle = 0.5 * (low + high);
      CHECK_INT(cpli_expr_indicators(e, ctx, middle, NULL, frozen, &z), CPL_OK);
      *((z > 0) == (z0 > 0) ? &low : &high) = middle;
    }
    CHECK(n < 100);
    times[n++] = t = high;
    CHECK_INT(cpli_expr_settle(e, ctx, t, NULL, frozen), CPL_OK);
    CHECK_INT(cpli_expr_indicators(e, ctx, t, NULL, frozen, &z0), CPL_OK);
  }
  cpli_expr_destroy(e);
  return n;
}

static void test_events_of_time(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  double at[100];
  CHECK_INT(count_events(ctx, "floor(3*time)", 1.9, at), 5);
  for (int k = 0; k < 5; k++) CHECK_NEAR(at[k], (k + 1) / 3.0, 1e-15);
  CHECK_INT(count_events(ctx, "ceil(-2*time)", 1.9, at), 3);
  for (int k = 0; k < 3; k++) CHECK_NEAR(at[k], (k + 1) / 2.0, 1e-15);
  CHECK_INT(count_events(ctx, "mod(time, 0.25)", 1.1, at), 4);
  for (int k = 0; k < 4; k++) CHECK_NEAR(at[k], (k + 1) / 4.0, 1e-15);
  CHECK_INT(count_events(ctx, "sin(time) > 0", 7, at), 3);  // true from 0 on
  CHECK_NEAR(at[1], 3.141592653589793, 1e-15);
  CHECK_NEAR(at[2], 6.283185307179586, 1e-15);
  CHECK_INT(count_events(ctx, "sign(cos(time))", 5, at), 2);
  CHECK_NEAR(at[0], 1.5707963267948966, 1e-15);
  CHECK_NEAR(at[1], 4.71238898038469, 2e-15);
  cpl_context_destroy(ctx);
}

// What time alone moves evenly turns at a time that can be told; the rest is found by its
// indicator.
static void test_when_time_turns_it(void** state) {
  (void)state;
  static const struct {
    const char* text;  // k never moves and is 4, i moves at events and is 3, x moves
    cpli_mover mover;
    double when;  // NAN: never
    bool after;
  } cases[] = {
      {"time >= 1.5", CPLI_MOVED_BY_TIME, 1.5, true},
      {"time > 1000000.1", CPLI_MOVED_BY_TIME, 1000000.1, true},
      {"time < 0.1", CPLI_MOVED_BY_TIME, 0.1, false},
      {"2 - time > 0.5", CPLI_MOVED_BY_TIME, 1.5, false},
      {"2 - time <= 0.5", CPLI_MOVED_BY_TIME, 1.5, true},
      {"2*time/k > i", CPLI_MOVED_BY_TIME, 6, true},
      {"k*(time - 1) < time*k/2", CPLI_MOVED_BY_TIME, 2, false},
      {"time > sqrt(k)", CPLI_MOVED_BY_TIME, 2, true},
      {"0*time > k", CPLI_MOVED_BY_TIME, NAN, false},
      {"time - time > k", CPLI_MOVED_BY_TIME, NAN, false},
      {"sin(time) > 0.5", CPLI_MOVED, NAN, false},
      {"time^2 > k", CPLI_MOVED, NAN, false},
      {"k/time > 1", CPLI_MOVED, NAN, false},
      {"time > x", CPLI_MOVED, NAN, false},
      {"time*time > k", CPLI_MOVED, NAN, false},
      {"time > (if x > 0 then 1 else 2)", CPLI_MOVED, NAN, false},
      {"time > floor(x)", CPLI_MOVED, NAN, false},
      {"-(-(-(-(-(-(-(-(-(-(-(-(-(-(-time + 1) + 1) + 1) + 1) + 1) + 1) + 1) + 1) + 1) + 1) + 1) + "
       "1) + 1) + 1) > 1",
       CPLI_MOVED, NAN, false},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpli_expr* e = parse(ctx, cases[i].text);
    cpli_relation relations[MOST];
    cpli_mover movers[MOST];
    double values[MOST], when = NAN;
    bool after = false;
    const int32_t* slots;
    size_t n = cpli_expr_slots(e, &slots), last = cpli_expr_relations(e) - 1;
    for (size_t k = 0; k < n; k++) {
      const char* name = known_names[slots[k] - 100].name;
      movers[k] = *name == 'k'   ? CPLI_NEVER_MOVED
                  : *name == 'i' ? CPLI_MOVED_AT_EVENTS
                                 : CPLI_MOVED;
      values[k] = *name == 'k' ? 4 : 3;
    }
    cpli_expr_movers(e, movers, relations);
    if (relations[last].mover != cases[i].mover) fail_msg("%s: mover", cases[i].text);
    if (cases[i].mover == CPLI_MOVED_BY_TIME) {
      bool turns = cpli_expr_turns(e, &relations[last], values, &when, &after);
      if (turns != !isnan(cases[i].when)) fail_msg("%s: turns", cases[i].text);
      if (turns && (when != cases[i].when || after != cases[i].after))
        fail_msg("%s: %.17g", cases[i].text, when);
    }
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

// An infinite value is no failure where it was handed in; settled, it is what it is afresh.
static void test_infinity_is_settled(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  static const char* const texts[] = {"floor(2*x - time)", "ceil(x) + 1", "round(3 - x)"};
  for (size_t i = 0; i < CPLI_COUNT(texts); i++) {
    for (int sign = -1; sign <= 1; sign += 2) {
      cpli_expr* e = parse(ctx, texts[i]);
      double x = sign * (double)INFINITY, frozen[MOST], value;
      settle(ctx, e, 0.5, &x, frozen);
      CHECK_OK(ctx, cpli_expr_value(e, ctx, 0.5, &x, frozen, &value));
      CHECK(value == (i == 2 ? -x : x));
      cpli_expr_destroy(e);
    }
  }
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_stand_still),
      cmocka_unit_test(test_indicators_change_sides_exactly),
      cmocka_unit_test(test_indicator_values),
      cmocka_unit_test(test_what_is_a_relation),
      cmocka_unit_test(test_silent_branches),
      cmocka_unit_test(test_past_the_crossing),
      cmocka_unit_test(test_events_of_time),
      cmocka_unit_test(test_when_time_turns_it),
      cmocka_unit_test(test_infinity_is_settled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
