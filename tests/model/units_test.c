// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "model/units.h"

#include "testing.h"

static void reads(const char* text, const int8_t (*exponents)[8], double factor, double offset) {
  cpl_unit unit = {0};
  if (!cpli_unit_parse(text, &unit)) fail_msg("%s is not read", text);
  for (int i = 0; i < 8; i++) {
    if (unit.exponents[i] != (*exponents)[i])
      fail_msg("%s: exponent %d is %d", text, i, unit.exponents[i]);
  }
  CHECK_NEAR(unit.factor, factor, 1e-15 * fabs(factor));
  CHECK_NEAR(unit.offset, offset, 1e-12);
  CHECK(unit.has_base);
}

#define EXPONENTS(...) (&(const int8_t[8]){__VA_ARGS__})

static void units_are_read(void** state) {
  (void)state;  // kg m s A K mol cd rad
  reads("1", EXPONENTS(0), 1, 0);
  reads("m", EXPONENTS(0, 1), 1, 0);
  reads("kg", EXPONENTS(1), 1, 0);
  reads("g", EXPONENTS(1), 1e-3, 0);
  reads("m/s2", EXPONENTS(0, 1, -2), 1, 0);
  reads("m/s/s", EXPONENTS(0, 1, -2), 1, 0);
  reads("m.s-2", EXPONENTS(0, 1, -2), 1, 0);
  reads("m*s^-2", EXPONENTS(0, 1, -2), 1, 0);
  reads("N.m", EXPONENTS(1, 2, -2), 1, 0);
  reads("N.m/rad", EXPONENTS(1, 2, -2, 0, 0, 0, 0, -1), 1, 0);
  reads("J/(kg.K)", EXPONENTS(0, 2, -2, 0, -1), 1, 0);
  reads("rad/s", EXPONENTS(0, 0, -1, 0, 0, 0, 0, 1), 1, 0);
  reads("1/s", EXPONENTS(0, 0, -1), 1, 0);
  reads("Hz", EXPONENTS(0, 0, -1), 1, 0);
  reads("kW", EXPONENTS(1, 2, -3), 1e3, 0);
  reads("mm2", EXPONENTS(0, 2), 1e-6, 0);
  reads("km/h", EXPONENTS(0, 1, -1), 1 / 3.6, 0);
  reads("min", EXPONENTS(0, 0, 1), 60, 0);
  reads("rpm", EXPONENTS(0, 0, -1, 0, 0, 0, 0, 1), 3.14159265358979323846 / 30, 0);
  reads("degC", EXPONENTS(0, 0, 0, 0, 1), 1, 273.15);
  reads("W/degC", EXPONENTS(1, 2, -3, 0, -1), 1, 0);
  reads("degF", EXPONENTS(0, 0, 0, 0, 1), 5.0 / 9, 459.67 * 5 / 9);
  reads("Ohm", EXPONENTS(1, 2, -3, -2), 1, 0);
  reads("\xc2\xb5V", EXPONENTS(1, 2, -3, -1), 1e-6, 0);
}

static void others_are_only_names(void** state) {
  (void)state;
  static const char* const texts[] = {"",     "furlong", "m/",       "/s",
                                      "m s",  "(m",      "m)",       "kkg",
                                      "kmin", "m..s",    "m2000000", "((((((((((m))))))))))"};
  for (size_t i = 0; i < CPLI_COUNT(texts); i++) {
    cpl_unit unit = {0};
    if (cpli_unit_parse(texts[i], &unit)) fail_msg("\"%s\" is read", texts[i]);
    CHECK(!unit.has_base);
  }
}

// The variable is in `own`; a value in `given` becomes one of it.
static double converted(const char* own, bool difference, const char* given, double value,
                        cpli_unit_relation expected) {
  cpl_unit units[] = {
      {.name = own, .factor = 1, .display_of = -1},
      {.name = "shown", .factor = 2, .offset = 5, .display_of = 0},
      {.name = "per", .factor = 10, .inverse = true, .display_of = 0},
      {.name = "foot", .has_base = true, .exponents = {0, 1}, .factor = 0.3048, .display_of = -1}};
  cpl_description d = {.units = units, .n_units = 4};
  cpl_variable v = {.unit = 0, .relative_quantity = difference};
  cpli_conversion how;
  CHECK_INT(cpli_relate_to_variable(&d, &v, given, &how), expected);
  return cpli_convert(&how, value);
}

static void values_are_converted(void** state) {
  (void)state;
  CHECK_NEAR(converted("degC", false, "K", 300, CPLI_UNITS_CONVERT), 300 - 273.15, 0);
  CHECK_NEAR(converted("K", false, "degC", -40, CPLI_UNITS_CONVERT), 233.15, 1e-13);
  CHECK_NEAR(converted("degF", false, "degC", -40, CPLI_UNITS_CONVERT), -40, 1e-12);
  CHECK_NEAR(converted("degC", true, "K", 300, CPLI_UNITS_SAME), 300, 0);  // a difference
  CHECK_NEAR(converted("K", true, "degF", 9, CPLI_UNITS_CONVERT), 5, 1e-15);
  CHECK_NEAR(converted("rad", false, "deg", 180, CPLI_UNITS_CONVERT), 3.14159265358979323846, 0);
  CHECK_NEAR(converted("bar", false, "Pa", 3e5, CPLI_UNITS_CONVERT), 3, 0);
  CHECK_NEAR(converted("s", false, "min", 0.5, CPLI_UNITS_CONVERT), 30, 0);
  CHECK_NEAR(converted("m", false, "foot", 10, CPLI_UNITS_CONVERT), 3.048, 1e-15);
  CHECK_NEAR(converted("m", false, "shown", 25, CPLI_UNITS_CONVERT), 10, 0);  // 2 x + 5
  CHECK_NEAR(converted("m", true, "shown", 20, CPLI_UNITS_CONVERT), 10, 0);
  CHECK_NEAR(converted("m", false, "per", 4, CPLI_UNITS_CONVERT), 2.5, 0);
  CHECK_NEAR(converted("1", false, "-", 7, CPLI_UNITS_SAME), 7, 0);
  CHECK_NEAR(converted("1", false, "%", 7, CPLI_UNITS_CONVERT), 0.07, 1e-17);
  CHECK_NEAR(converted("furlong", false, "furlong", 7, CPLI_UNITS_SAME), 7, 0);
  converted("furlong", false, "m", 7, CPLI_UNITS_UNKNOWN);
  converted("m", false, "furlong", 7, CPLI_UNITS_UNKNOWN);
  converted("m", false, "s", 7, CPLI_UNITS_DIFFER);
  converted("rad/s", false, "Hz", 7, CPLI_UNITS_ANGLE);
  // the radian is 1 in units of mechanics and electricity that mean the same
  CHECK_NEAR(converted("V.s/rad", false, "N.m/A", 7, CPLI_UNITS_SAME), 7, 0);
  CHECK_NEAR(converted("N.m.s", false, "N.m.s/rad", 7, CPLI_UNITS_SAME), 7, 0);
  converted("N.m/deg", false, "N.m", 7, CPLI_UNITS_ANGLE);
  CHECK_NEAR(converted("ohm", false, "kOhm", 7, CPLI_UNITS_CONVERT), 7000, 0);
  CHECK_NEAR(converted("\xce\xa9", false, "M\xe2\x84\xa6", 7, CPLI_UNITS_CONVERT), 7e6, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_converted),
                                     cmocka_unit_test(units_are_read),
                                     cmocka_unit_test(others_are_only_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
