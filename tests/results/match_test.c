// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "testing.h"

enum { N = 101 };

static const char* const names[] = {"y"};

typedef struct curve {
  double time[N], values[N];
  cpl_table table;
} curve;

// sin(t + shift) + offset from 0 to 10
static void sine(curve* c, double shift, double offset) {
  for (int i = 0; i < N; i++) {
    c->time[i] = 0.1 * i;
    c->values[i] = sin(c->time[i] + shift) + offset;
  }
  c->table = (cpl_table){
      .n_rows = N, .n_columns = 1, .names = names, .time = c->time, .values = c->values};
}

static cpl_match_result match(const curve* reference, const curve* results) {
  cpl_match_def def = cpl_default_match_def();
  return cpl_match(&reference->table, &results->table, &def);
}

static void distance(void** state) {
  (void)state;
  curve a, b;
  sine(&a, 0, 0);
  sine(&b, 0, 0.039);  // the range is 2, of which 2 % are 0.04
  CHECK(match(&a, &b).matches);
  sine(&b, 0, 0.05);  // where it is steep (2 of 3 points), the time allowed helps
  CHECK(!match(&a, &b).matches);
  CHECK_INT(match(&a, &b).worst, 0);
  CHECK(!match(&a, &b).missing);
  CHECK_NEAR(match(&a, &b).off, 1.0 / 3, 0.05);
}

static void time_and_share(void** state) {
  (void)state;
  curve a, b;
  sine(&a, 0, 0);
  sine(&b, 0.02 + 0.03, 0);  // 0.2 % of 10 s are 0.02 s; the rest is within 2 %
  CHECK(match(&a, &b).matches);
  sine(&b, 0.1, 0);
  CHECK(!match(&a, &b).matches);
  cpl_match_def def = cpl_default_match_def();
  def.shift = -0.1;                                       // what is here at t is there at t + 0.1
  CHECK(cpl_match(&a.table, &b.table, &def).off < 0.02);  // but for the very beginning
  sine(&b, 0, 0);
  b.values[50] = 9;  // one point of 101 reaches two of its neighbours at most
  cpl_match_result r = match(&a, &b);
  CHECK(r.matches);
  b.values[50] = b.values[60] = NAN;
  r = match(&a, &b);
  CHECK(!r.matches);
  CHECK_NEAR(r.off, 6.0 / N, 1e-9);  // the points and what is interpolated beside them
}

static void odd_tables(void** state) {
  (void)state;
  curve a, b;
  sine(&a, 0, 0);
  sine(&b, 0, 0);
  static const char* const others[] = {"z"};
  b.table.names = others;
  CHECK(match(&a, &b).missing);
  CHECK_NEAR(match(&a, &b).off, 1, 0);
  b.table.names = names;
  b.table.n_rows = 0;
  CHECK(match(&a, &b).missing);
  a.table.n_rows = 0;  // nothing is asked for
  CHECK(match(&a, &b).matches);
  sine(&a, 0, 0);
  sine(&b, 0, 0);
  for (int i = 0; i < N; i++) a.values[i] = 5, b.values[i] = 5.09;  // 2 % of 5 are 0.1
  CHECK(match(&a, &b).matches);
  for (int i = 0; i < N; i++) b.values[i] = 5.11;
  CHECK(!match(&a, &b).matches);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(distance), cmocka_unit_test(time_and_share),
                                     cmocka_unit_test(odd_tables)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
