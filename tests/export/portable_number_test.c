// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Numbers as text in the sources of FMUs: the same doubles as those of the library, and the same
// texts are refused.
#define cpli_format_double   portable_format_double
#define cpli_format_integer  portable_format_integer
#define cpli_format_unsigned portable_format_unsigned
#define cpli_parse_double    portable_parse_double
#include "export/runtime/portable_number.c"
#undef cpli_format_double
#undef cpli_format_integer
#undef cpli_format_unsigned
#undef cpli_parse_double

#include <float.h>

#include "testing.h"

size_t cpli_format_double(char out[CPLI_NUMBER_SIZE], double value);
bool cpli_parse_double(const char* text, size_t len, double* out);

static uint64_t next_random(uint64_t* s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  *s ^= *s << 17;
  return *s;
}

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static void check_double(double v) {
  char text[CPLI_NUMBER_SIZE];
  double back = 0.5, library = 0.5;
  size_t len = portable_format_double(text, v);
  CHECK_INT(len, strlen(text));
  if (!portable_parse_double(text, len, &back) || !same_bits(back, v))
    fail_msg("%.17g became %s and %.17g", v, text, back);
  if (!cpli_parse_double(text, len, &library) || !same_bits(library, v))
    fail_msg("the library reads %s as %.17g", text, library);
  cpli_format_double(text, v);
  if (!portable_parse_double(text, strlen(text), &back) || !same_bits(back, v))
    fail_msg("%s of the library became %.17g", text, back);
}

static void doubles_keep_their_bits(void** state) {
  (void)state;
  static const double some[] = {0,       -0.0,    1,        -3,      0.1,     1e22,
                                1e-300,  DBL_MIN, DBL_MAX,  5e-324,  1.0 / 3, 9007199254740993.0,
                                2.5e-17, 1e15,    -1234.75, 0x1p-40, 1e100,   0.30000000000000004};
  uint64_t seed = 20261;
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) check_double(some[i]);
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = next_random(&seed);
    double v;
    memcpy(&v, &bits, sizeof v);
    if (isfinite(v)) check_double(v);
  }
}

static void both_accept_the_same_texts(void** state) {
  (void)state;
  static const char* const texts[] = {"1",     "+1",       "-1",        "1.",
                                      ".5",    ".",        "",          "-",
                                      "+-1",   "1e5",      "1E+5",      "1e",
                                      "1e+",   "e5",       "1e5x",      " 1",
                                      "1 ",    "0x10",     "1,5",       "1.5.2",
                                      "nan",   "NaN",      "-inf",      "INF",
                                      "in",    "infinity", "-Infinity", "infinit",
                                      "1e999", "-1e999",   "1e-999",    "12345678901234567890123",
                                      "1d5",   "0.1f",     "1_0",       "--1",
                                      "1e5.5"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    double one = 7, two = 7;
    size_t n = strlen(texts[i]);
    bool is = cpli_parse_double(texts[i], n, &one);
    if (portable_parse_double(texts[i], n, &two) != is) fail_msg("\"%s\": %d", texts[i], is);
    if (!same_bits(one, two) && !(isnan(one) && isnan(two)))
      fail_msg("\"%s\": %g and %g", texts[i], one, two);
  }
  double part = 0;
  CHECK(portable_parse_double("12.5rest", 4, &part));  // it need not end there
  CHECK(part == 12.5);
}

static void integers_are_printed(void** state) {
  (void)state;
  char text[CPLI_NUMBER_SIZE];
  CHECK_INT(portable_format_integer(text, INT64_MIN), 20);
  CHECK_STR(text, "-9223372036854775808");
  CHECK_INT(portable_format_unsigned(text, UINT64_MAX), 20);
  CHECK_STR(text, "18446744073709551615");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(doubles_keep_their_bits),
                                     cmocka_unit_test(both_accept_the_same_texts),
                                     cmocka_unit_test(integers_are_printed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
