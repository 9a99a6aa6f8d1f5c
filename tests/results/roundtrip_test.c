// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Results that are written and read back have the same bits, whatever the numbers are, and so does
// an input table made of them.
#include "couplet/results.h"

#include <float.h>
#include <stdint.h>

#include "testing.h"

enum { ROWS = 400, REALS = 6 };

static uint64_t seed = 0x9e3779b97f4a7c15u;

static uint64_t random_bits(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed;
}

static double of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Any bits; subnormal; huge; near 1; short decimals; special ones.
static double random_double(bool finite) {
  static const double special[] = {0.0,      -0.0,      DBL_MIN,  -DBL_MIN,  DBL_MAX,
                                   -DBL_MAX, 0x1p-1074, 0x1p53,   0.1,       DBL_EPSILON,
                                   1e23,     9.5e-5,    INFINITY, -INFINITY, NAN};
  double value;
  do {
    switch (random_bits() % 6) {
      case 0: value = of_bits(random_bits()); break;
      case 1: value = of_bits(random_bits() & 0x800fffffffffffffu); break;
      case 2: value = ldexp(of_bits((random_bits() >> 12) | 0x3ff0000000000000u), 1023); break;
      case 3: value = of_bits((random_bits() >> 12) | 0x3ff0000000000000u) - 1.5; break;
      case 4: value = (double)(int64_t)(random_bits() % 2000001) / 1000 - 1000; break;
      default: value = special[random_bits() % (sizeof special / sizeof *special)]; break;
    }
  } while (finite && !isfinite(value));
  return value;
}

typedef struct sheet {
  double time[ROWS], values[ROWS][REALS];
} sheet;

static void fill(sheet* s, bool finite) {
  double t = -1e-300;
  for (int i = 0; i < ROWS; i++) {
    if (random_bits() % 8 != 0) t += fabs(random_double(true)) * (t < 1e300 ? 1e-12 : 0);
    s->time[i] = t;
    for (int k = 0; k < REALS; k++) s->values[i][k] = random_double(finite);
  }
}

static void write_sheet(cpl_context* ctx, const sheet* s, const char* path, bool units) {
  static const cpl_column columns[REALS] = {{.name = "a", .unit = "K", .description = ""},
                                            {.name = "b [1]", .description = ""},
                                            {.name = "c;d", .unit = "m", .description = ""},
                                            {.name = "e\"f", .description = ""},
                                            {.name = "g", .description = ""},
                                            {.name = "h,i", .unit = "1", .description = ""}};
  cpl_results_def def = cpl_default_results_def();
  cpl_results* res;
  def.path = path;
  def.units = units;
  CHECK_OK(ctx, cpl_results_open(ctx, &def, columns, REALS, &res));
  for (int i = 0; i < ROWS; i++) {
    cpl_value row[REALS];
    for (int k = 0; k < REALS; k++) row[k].real = s->values[i][k];
    CHECK_OK(ctx, cpl_results_record(res, s->time[i], row));
  }
  CHECK_OK(ctx, cpl_results_close(res));
}

static void check_same(double a, double b) {
  if (isnan(a) && isnan(b)) return;
  if (bits_of(a) != bits_of(b)) fail_msg("%.17g came back as %.17g", a, b);
}

static void compare(const sheet* s, const cpl_table* t) {
  CHECK_INT(t->n_rows, ROWS);
  CHECK_INT(t->n_columns, REALS);
  for (size_t i = 0; i < ROWS; i++) {
    check_same(s->time[i], t->time[i]);
    for (size_t k = 0; k < REALS; k++) check_same(s->values[i][k], t->values[k * ROWS + i]);
  }
}

static void results(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  sheet* s = test_malloc(sizeof *s);
  for (int round = 0; round < 20; round++) {
    static const char* const paths[] = {"r.csv", "u.csv", "r.mat"};
    fill(s, false);
    for (int k = 0; k < 3; k++) {
      cpl_table* t;
      write_sheet(ctx, s, paths[k], k == 1);
      CHECK_OK(ctx, cpl_results_read(ctx, paths[k], &t));
      compare(s, t);
      CHECK_INT(cpl_table_find(t, "b [1]"), 1);
      cpl_table_destroy(t);
    }
  }
  test_free(s);
  cpl_context_destroy(ctx);
}

static void inputs(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  sheet* s = test_malloc(sizeof *s);
  for (int round = 0; round < 10; round++) {
    cpl_table* t;
    fill(s, true);
    write_sheet(ctx, s, "i.csv", round % 2 == 1);
    CHECK_OK(ctx, cpl_table_read(ctx, "i.csv", &t));
    compare(s, t);
    cpl_table_destroy(t);
  }
  test_free(s);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(results), cmocka_unit_test(inputs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
