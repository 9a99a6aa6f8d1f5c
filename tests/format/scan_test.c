// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/scan.h"

#include <locale.h>

#include "base/base.h"
#include "testing.h"

static void reads_real_numbers(void** state) {
  (void)state;
  double x = 0;
  CHECK(cpli_parse_real("1.5", &x) && x == 1.5);
  CHECK(cpli_parse_real("  -2e-3\n", &x) && x == -2e-3);
  CHECK(cpli_parse_real("+.5", &x) && x == 0.5);
  CHECK(cpli_parse_real("0.6666666666666667", &x) && x == 0.6666666666666667);
  CHECK(cpli_parse_real("-INF", &x) && x == -INFINITY);
  CHECK(cpli_parse_real("NaN", &x) && isnan(x));
  static const char* const bad[] = {"",  " ",   "1,5", "0x10", "nan(1)", "1.5m",
                                    "e", "--1", "1 2", "1e",   "."};
  for (size_t i = 0; i < CPLI_COUNT(bad); i++) {
    if (cpli_parse_real(bad[i], &x)) fail_msg("\"%s\" was read as %g", bad[i], x);
  }
}

static void reads_integers_in_range(void** state) {
  (void)state;
  int64_t n = 0;
  CHECK(cpli_parse_integer(" 4294967295 ", 0, UINT32_MAX, &n) && n == UINT32_MAX);
  CHECK(cpli_parse_integer("-2147483648", INT32_MIN, INT32_MAX, &n) && n == INT32_MIN);
  CHECK(cpli_parse_integer("+7", 0, 10, &n) && n == 7);
  CHECK(!cpli_parse_integer("4294967296", 0, UINT32_MAX, &n));
  CHECK(!cpli_parse_integer("99999999999999999999999", 0, INT64_MAX, &n));
  CHECK(cpli_parse_integer("9223372036854775807", 0, INT64_MAX, &n) && n == INT64_MAX);
  CHECK(!cpli_parse_integer("9223372036854775808", 0, INT64_MAX, &n));
  CHECK(cpli_parse_integer("-9223372036854775808", INT64_MIN, 0, &n) && n == INT64_MIN);
  CHECK(!cpli_parse_integer("-9223372036854775809", INT64_MIN, 0, &n));
  CHECK(!cpli_parse_integer("-1", 0, 10, &n));
  CHECK(!cpli_parse_integer("1.0", 0, 10, &n));
  CHECK(!cpli_parse_integer("", 0, 10, &n));
  const char* rest = cpli_scan_integer("12 34", 0, 100, &n);
  CHECK_INT(n, 12);
  CHECK_STR(rest, " 34");
}

static void reads_booleans(void** state) {
  (void)state;
  bool b = false;
  CHECK(cpli_parse_boolean("true", &b) && b);
  CHECK(cpli_parse_boolean(" 0 ", &b) && !b);
  CHECK(cpli_parse_boolean("1", &b) && b);
  CHECK(cpli_parse_boolean("false", &b) && !b);
  CHECK(!cpli_parse_boolean("True", &b));
  CHECK(!cpli_parse_boolean("truefalse", &b));
  CHECK(!cpli_parse_boolean("", &b));
}

static void the_locale_does_not_matter(void** state) {
  (void)state;
  static const char* const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
  for (size_t i = 0; i < CPLI_COUNT(commas); i++)
    if (setlocale(LC_ALL, commas[i]) != NULL) break;
  double x = 0;
  char text[CPLI_NUMBER_SIZE];
  CHECK(cpli_parse_real("2.25", &x));
  CHECK(x == 2.25);
  CHECK_STR(cpli_print_real(2.25, text), "2.25");
  setlocale(LC_ALL, "C");
}

static void prints_what_reads_back(void** state) {
  (void)state;
  static const double values[] = {0.1, 1.0 / 3, 1e300, 5e-324, -0.0, 123456789.0, 2.0 / 3};
  char text[CPLI_NUMBER_SIZE];
  for (size_t i = 0; i < CPLI_COUNT(values); i++) {
    double x = 0;
    CHECK(cpli_parse_real(cpli_print_real(values[i], text), &x));
    CHECK(x == values[i]);
  }
  CHECK_STR(cpli_print_real(0.1, text), "0.1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_real_numbers),     cmocka_unit_test(reads_integers_in_range),
      cmocka_unit_test(reads_booleans),         cmocka_unit_test(the_locale_does_not_matter),
      cmocka_unit_test(prints_what_reads_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
