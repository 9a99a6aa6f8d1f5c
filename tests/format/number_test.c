// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/number.h"

#include <float.h>
#include <locale.h>

#include "testing.h"

static uint64_t next_random(uint64_t* s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  *s ^= *s << 17;
  return *s;
}

// Significant digits of a printed number.
static int digits_of(const char* text) {
  int n = 0, zeros = 0;
  for (; *text != '\0' && *text != 'e'; text++) {
    if (*text < '0' || *text > '9' || (n == 0 && *text == '0')) continue;
    n++;
    zeros = *text == '0' ? zeros + 1 : 0;
  }
  return n - zeros;
}

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

// The text reads back to the same bits, by the C library and by us, and no shorter one does.
static void check_double(double v) {
  char text[CPLI_NUMBER_SIZE], other[64];
  size_t len = cpli_format_double(text, v);
  CHECK_INT(len, strlen(text));
  double back;
  if (!same_bits(strtod(text, NULL), v)) fail_msg("%.17g printed as %s", v, text);
  if (!cpli_parse_double(text, len, &back) || !same_bits(back, v)) {
    fail_msg("%s read as %.17g", text, back);
  }
  const int n = digits_of(text);
  if (n > 17) fail_msg("%s has %d digits", text, n);
  for (int shorter = 15; shorter < n; shorter++) {
    snprintf(other, sizeof other, "%.*e", shorter - 1, v);
    if (strtod(other, NULL) == v) fail_msg("%s is longer than %s", text, other);
  }
}

static void prints(double v, const char* expected) {
  char text[CPLI_NUMBER_SIZE];
  cpli_format_double(text, v);
  CHECK_STR(text, expected);
}

static void prints_what_people_expect(void** state) {
  (void)state;
  prints(0.1, "0.1");
  prints(0.0, "0");
  prints(-0.0, "-0");
  prints(1.0, "1");
  prints(-12.5, "-12.5");
  prints(0.3, "0.3");
  prints(0.1 + 0.2, "0.30000000000000004");
  prints(0.001, "0.001");
  prints(0.000123, "0.000123");
  prints(0.0000123, "1.23e-5");
  prints(1e16, "10000000000000000");
  prints(1e17, "1e17");
  prints(123456789012.5, "123456789012.5");
  prints(1e300, "1e300");
  prints(1.5e-300, "1.5e-300");
  prints(5e-324, "5e-324");
  prints(DBL_MAX, "1.7976931348623157e308");
  prints(DBL_MIN, "2.2250738585072014e-308");
  prints(2e-44, "2e-44");
  prints(9007199254740993.0, "9007199254740992");
  prints((double)NAN, "nan");
  prints((double)-NAN, "nan");
  prints((double)INFINITY, "inf");
  prints((double)-INFINITY, "-inf");
}

static void is_exact_and_shortest(void** state) {
  (void)state;
  uint64_t seed = 88172645463325252u;
  for (int i = 0; i < 300000; i++) {  // any bits
    uint64_t bits = next_random(&seed);
    double v;
    memcpy(&v, &bits, sizeof v);
    if (isfinite(v)) check_double(v);
  }
  for (int i = 0; i < 50000; i++) {  // numbers people write; halves; subnormals
    check_double((double)(next_random(&seed) % 10000000) / pow(10, (double)(i % 12)));
    check_double((double)(int64_t)(next_random(&seed) >> (12 + i % 50)) / 2);
    uint64_t bits = next_random(&seed) >> (12 + i % 52);
    double v;
    memcpy(&v, &bits, sizeof v);
    check_double(v);
  }
}

static void is_exact_at_powers_and_their_neighbours(void** state) {
  (void)state;
  char text[32];
  for (int e = -1074; e <= 1023; e++) {
    double v = ldexp(1, e);
    check_double(v);
    check_double(-nextafter(v, INFINITY));
    check_double(nextafter(v, 0));
  }
  for (int e = -323; e <= 308; e++) {
    snprintf(text, sizeof text, "1e%d", e);
    double v = strtod(text, NULL);
    check_double(v);
    check_double(nextafter(v, INFINITY));
    check_double(nextafter(v, 0));
  }
}

static void reads_like_the_c_library(void** state) {
  (void)state;
  uint64_t seed = 1234567;
  char text[64];
  for (int i = 0; i < 100000; i++) {
    uint64_t bits = next_random(&seed);
    double v, back;
    memcpy(&v, &bits, sizeof v);
    if (!isfinite(v)) continue;
    int len = snprintf(text, sizeof text, "%.*e", (int)(next_random(&seed) % 25), v);
    double expected = strtod(text, NULL);
    bool read = cpli_parse_double(text, (size_t)len, &back);
    if (isinf(expected) ? read : !read || !same_bits(back, expected)) {
      fail_msg("%s read as %.17g", text, back);
    }
  }
  // half way between two doubles, and just beside it
  static const char* const hard[] = {
      "9007199254740993",
      "9007199254740993.00000000000000000000000000001",
      "9007199254740992.99999999999999999999999999999",
      "2.4703282292062327208e-324",
      "2.4703282292062328e-324",
      "2.2250738585072011e-308",
      "1.7976931348623158e308",
      "0.000000000000000000000000000000000000000000000000000000000000000000000001",
      "100000000000000000000000000000000000000000000000000",
      "1e-400",
      "0e999999999999999",
      "8.5e-1",
      "+7",
      "5.",
      ".5",
  };
  for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
    double v;
    CHECK(cpli_parse_double(hard[i], strlen(hard[i]), &v));
    if (!same_bits(v, strtod(hard[i], NULL))) fail_msg("%s read as %.17g", hard[i], v);
  }
}

static void refuses_everything_else(void** state) {
  (void)state;
  static const char* const bad[] = {
      "",   "-",    "+",  ".",    "-.",   "e5",  "1e",   "1e+",   "1.2.",   "1,5",   " 1",
      "1 ", "0x10", "1f", "nano", "infi", "--1", "1e5.", "1e999", "-2e308", "1_000", "1d5"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    double v = 42;
    if (cpli_parse_double(bad[i], strlen(bad[i]), &v)) fail_msg("\"%s\" was read", bad[i]);
    CHECK(v == 42);
  }
  double v = 42;
  CHECK(!cpli_parse_double("1\0", 2, &v));
  static char many[2000];
  memset(many, '1', sizeof many);
  CHECK(!cpli_parse_double(many, sizeof many, &v));
  CHECK(cpli_parse_double("-Infinity", 9, &v) && v == (double)-INFINITY);
  CHECK(cpli_parse_double("NaN", 3, &v) && isnan(v));
}

static void the_locale_does_not_matter(void** state) {
  (void)state;
  if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL) skip();
  prints(1.5, "1.5");
  double v;
  CHECK(cpli_parse_double("1.5", 3, &v) && v == 1.5);
  CHECK(cpli_parse_double("1.500000000000000000000001e-320", 31, &v) && v > 0);
  setlocale(LC_ALL, "C");
}

static void prints_integers(void** state) {
  (void)state;
  char text[CPLI_NUMBER_SIZE], expected[32];
  static const int64_t values[] = {0,   1,   -1,       9,         10,        99,
                                   100, 101, 99999999, 100000000, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    snprintf(expected, sizeof expected, "%lld", (long long)values[i]);
    CHECK_INT(cpli_format_integer(text, values[i]), strlen(expected));
    CHECK_STR(text, expected);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prints_what_people_expect),
      cmocka_unit_test(is_exact_and_shortest),
      cmocka_unit_test(is_exact_at_powers_and_their_neighbours),
      cmocka_unit_test(reads_like_the_c_library),
      cmocka_unit_test(refuses_everything_else),
      cmocka_unit_test(the_locale_does_not_matter),
      cmocka_unit_test(prints_integers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
