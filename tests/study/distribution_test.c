// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Quantiles against values computed with 60 digits, and against the distribution functions.
#include "study/distribution.h"

#include "testing.h"

static const struct {
  double p, z;
} normal[] = {
    {0x1p-1000, -37.11101193716479141},    {1e-300, -37.047096299361199237},
    {1e-200, -30.205594179579643063},      {1e-100, -21.273453560965324294},
    {1e-50, -14.933337534788488981},       {1e-20, -9.2623400897984075796},
    {0x1p-53, -8.2095361516013868556},     {1e-10, -6.3613409024040561991},
    {1e-6, -4.7534243088228989573},        {0.001, -3.0902323061678135354},
    {0.01, -2.3263478740408410931},        {0.025, -1.9599639845400542118},
    {0.1, -1.2815515655446004353},         {0.2, -0.84162123357291416552},
    {0.25, -0.6744897501960817432},        {0.26, -0.64334540539291693737},
    {0.4, -0.25334710313579974132},        {0.4999, -0.00025066283008800749239},
    {0.5000001, 2.5066282733116483012e-7}, {0.75, 0.6744897501960817432},
    {0.9, 1.2815515655446005935},          {0.975, 1.9599639845400538556},
    {0.999999, 4.7534243088170877657},     {0x1.fffffffffffffp-1, 8.2095361516013868556},
};

static void normal_quantiles_are_accurate_in_the_tails_too(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof normal / sizeof normal[0]; i++) {
    double z = cpli_normal_quantile(normal[i].p), off = fabs(z / normal[i].z - 1);
    if (!(off <= 1e-15)) fail_msg("p = %g: %.17g, off by %.3g", normal[i].p, z, off);
  }
  CHECK_NEAR(cpli_normal_quantile(0.5), 0, 0);
  CHECK(cpli_normal_quantile(0) == -INFINITY && cpli_normal_quantile(1) == INFINITY);
  CHECK(isnan(cpli_normal_quantile(-0.1)) && isnan(cpli_normal_quantile(NAN)));
}

// Everywhere, not at chosen points only: the distribution function gives p back, and the quantiles
// increase, over the borders of the two methods too.
static void normal_quantiles_invert_the_distribution(void** state) {
  (void)state;
  // an error of one rounding in z is one of z * z roundings in p
  double last = -INFINITY;
  for (int i = 1; i < 200000; i++) {
    double p = i / 200000.0, z = cpli_normal_quantile(p);
    double back = z < 0 ? 0.5 * erfc(-z / sqrt(2)) : 1 - 0.5 * erfc(z / sqrt(2));
    if (!(fabs(back / p - 1) <= 1e-15 * (4 + z * z)))
      fail_msg("p = %.17g: %.17g gives %.17g", p, z, back);
    if (!(z > last)) fail_msg("p = %.17g: %.17g after %.17g", p, z, last);
    last = z;
  }
  for (double e = -3; e > -300; e -= 0.37) {
    double p = pow(10, e), z = cpli_normal_quantile(p), back = 0.5 * erfc(-z / sqrt(2));
    if (!(fabs(back / p - 1) <= 1e-15 * (4 + z * z))) fail_msg("p = %g: %.17g", p, back / p - 1);
  }
}

// Closed forms of one, two and four degrees of freedom; published ones of others.
static void student_quantiles_are_accurate(void** state) {
  (void)state;
  static const double probabilities[] = {0.5, 0.6, 0.9, 0.975, 0.999, 1 - 1e-9};
  for (size_t i = 0; i < sizeof probabilities / sizeof probabilities[0]; i++) {
    const double p = probabilities[i], a = 4 * p * (1 - p);
    const double one = tan(M_PI * (p - 0.5)), two = (2 * p - 1) * sqrt(2 / a);
    const double four = 2 * sqrt(fmax(cos(acos(sqrt(a)) / 3) / sqrt(a) - 1, 0));
    CHECK_NEAR(cpli_student_quantile(p, 1), one, 1e-7 * fabs(one) + 1e-12);
    CHECK_NEAR(cpli_student_quantile(p, 2), two, 1e-7 * fabs(two) + 1e-12);
    CHECK_NEAR(cpli_student_quantile(p, 4), four, 1e-7 * fabs(four) + 1e-7);
    CHECK_NEAR(cpli_student_quantile(1 - p, 2), -two, 1e-7 * fabs(two) + 1e-12);
  }
  CHECK_NEAR(cpli_student_quantile(0.975, 19), 2.0930240544082634, 1e-12);
  CHECK_NEAR(cpli_student_quantile(0.975, 3), 3.1824463052842624, 1e-12);
  CHECK_NEAR(cpli_student_quantile(0.975, 1e12), 1.9599639845400545, 1e-12);
  CHECK_NEAR(cpli_student_quantile(0.975, 1000), 1.9623390808264078, 1e-11);
  CHECK_NEAR(cpli_student_quantile(0.975, INFINITY), 1.9599639845400545, 1e-14);
}

static void quantiles_of_bounded_distributions(void** state) {
  (void)state;
  const cpl_factor u = {.kind = CPL_FACTOR_UNIFORM, .a = -1, .b = 3};
  CHECK_NEAR(cpl_factor_quantile(&u, 0), -1, 0);
  CHECK_NEAR(cpl_factor_quantile(&u, 0.25), 0, 1e-16);
  CHECK_NEAR(cpl_factor_quantile(&u, 1), 3, 0);
  const cpl_factor wide = {.kind = CPL_FACTOR_UNIFORM, .a = -1.5e308, .b = 1.5e308};
  CHECK_NEAR(cpl_factor_quantile(&wide, 0.75), 0.75e308, 1e293);

  const cpl_factor l = {.kind = CPL_FACTOR_LOG_UNIFORM, .a = 1e-3, .b = 1e3};
  CHECK_NEAR(cpl_factor_quantile(&l, 0), 1e-3, 0);
  CHECK_NEAR(cpl_factor_quantile(&l, 0.5), 1, 1e-15);
  CHECK_NEAR(cpl_factor_quantile(&l, 1), 1e3, 0);

  // F(x) = (x - a)^2 / ((c - a) (b - a)) up to the mode, 1 - (c - x)^2 / ((c - a) (c - b)) above
  const cpl_factor t = {.kind = CPL_FACTOR_TRIANGULAR, .a = 2, .b = 3, .c = 7};
  for (double p = 0; p <= 1; p += 0.0625) {
    double x = cpl_factor_quantile(&t, p);
    CHECK_NEAR(x < 3 ? (x - 2) * (x - 2) / 5 : 1 - (7 - x) * (7 - x) / 20, p, 1e-15);
  }
  const cpl_factor at_end = {.kind = CPL_FACTOR_TRIANGULAR, .a = 2, .b = 2, .c = 7};
  CHECK_NEAR(cpl_factor_quantile(&at_end, 0), 2, 1e-15);
  CHECK_NEAR(cpl_factor_quantile(&at_end, 1), 7, 0);
}

static void quantiles_of_normal_factors(void** state) {
  (void)state;
  const cpl_factor f = {.kind = CPL_FACTOR_NORMAL, .a = 10, .b = 2};
  CHECK_NEAR(cpl_factor_quantile(&f, 0.975), 10 + 2 * 1.9599639845400538556, 1e-14);
  const cpl_factor l = {.kind = CPL_FACTOR_LOGNORMAL, .a = 1, .b = 0.5};
  CHECK_NEAR(cpl_factor_quantile(&l, 0.5), exp(1), 1e-15);
  CHECK_NEAR(log(cpl_factor_quantile(&l, 0.1)), 1 - 0.5 * 1.2815515655446004353, 1e-15);
}

// Definition of type 7: h = (n - 1) p.
static void quantiles_of_samples_are_interpolated(void** state) {
  (void)state;
  const double samples[] = {1, 2, 4, 8, 8};
  const cpl_factor f = {.kind = CPL_FACTOR_SAMPLES, .n = 5, .values = samples};
  CHECK_NEAR(cpl_factor_quantile(&f, 0), 1, 0);
  CHECK_NEAR(cpl_factor_quantile(&f, 0.25), 2, 0);
  CHECK_NEAR(cpl_factor_quantile(&f, 0.3), 2.4, 1e-15);
  CHECK_NEAR(cpl_factor_quantile(&f, 0.7), 7.2, 1e-14);
  CHECK_NEAR(cpl_factor_quantile(&f, 1), 8, 0);
  CHECK_NEAR(cpli_sorted_quantile(samples, 1, 0.7), 1, 0);
}

static void lists_are_taken_with_equal_probability(void** state) {
  (void)state;
  const double values[] = {3, 1, 2};
  const cpl_factor f = {.kind = CPL_FACTOR_LIST, .n = 3, .values = values};
  int count[4] = {0};
  for (int i = 0; i < 3000; i++) count[(int)cpl_factor_quantile(&f, (i + 0.5) / 3000)]++;
  for (int v = 1; v <= 3; v++) CHECK_INT(count[v], 1000);
  CHECK_NEAR(cpl_factor_quantile(&f, 1), 2, 0);
}

static void grids_hit_their_ends_and_round_numbers(void** state) {
  (void)state;
  const cpl_factor f = {.kind = CPL_FACTOR_GRID, .a = 0.005, .b = 0.02, .n = 4};
  const double expected[] = {0.005, 0.01, 0.015, 0.02};
  CHECK_INT(cpl_factor_levels(&f), 4);
  for (int i = 0; i < 4; i++) CHECK_NEAR(cpl_factor_level(&f, i), expected[i], 0);
  const cpl_factor wide = {.kind = CPL_FACTOR_GRID, .a = -1.5e308, .b = 1.5e308, .n = 3};
  CHECK_NEAR(cpl_factor_level(&wide, 1), 0, 1e290);

  const cpl_factor l = {.kind = CPL_FACTOR_LOG_GRID, .a = 1e-3, .b = 1000, .n = 7};
  for (int i = 0; i < 7; i++) CHECK_NEAR(cpl_factor_level(&l, i) / pow(10, i - 3), 1, 0);
  const cpl_factor down = {.kind = CPL_FACTOR_LOG_GRID, .a = 8, .b = 1, .n = 4};
  CHECK_NEAR(cpl_factor_level(&down, 1), 4, 4e-15);
  CHECK_NEAR(cpl_factor_level(&down, 3), 1, 0);
  const cpl_factor one = {.kind = CPL_FACTOR_VALUE, .a = 5};
  CHECK_INT(cpl_factor_levels(&one), 1);
  CHECK_NEAR(cpl_factor_level(&one, 0), 5, 0);
  const cpl_factor none = {.kind = CPL_FACTOR_NORMAL, .a = 5, .b = 1};
  CHECK_INT(cpl_factor_levels(&none), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(normal_quantiles_are_accurate_in_the_tails_too),
      cmocka_unit_test(normal_quantiles_invert_the_distribution),
      cmocka_unit_test(student_quantiles_are_accurate),
      cmocka_unit_test(quantiles_of_bounded_distributions),
      cmocka_unit_test(quantiles_of_normal_factors),
      cmocka_unit_test(quantiles_of_samples_are_interpolated),
      cmocka_unit_test(lists_are_taken_with_equal_probability),
      cmocka_unit_test(grids_hit_their_ends_and_round_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
