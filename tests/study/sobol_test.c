// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sobol' points: the table of direction numbers, the property of a net, and the error of integrals.
#include "study/sobol.h"

#include "study_designs.h"

//------------------------------------ the table ------------------------------------

// x^n modulo a polynomial over GF(2), by n multiplications by x: slower than the script's way, and
// independent of it.
static bool is_primitive(int degree, uint32_t polynomial) {
  const uint32_t order = (1u << degree) - 1;
  uint32_t power = 1;
  for (uint32_t n = 1; n <= order; n++) {
    power <<= 1;
    if (power >> degree & 1) power ^= polynomial;
    if (power == 1) return n == order;
  }
  return false;
}

static void polynomials_are_primitive_and_distinct(void** state) {
  (void)state;
  for (int i = 0; i < CPL_MAX_SOBOL - 1; i++) {
    const cpli_sobol_row* r = &cpli_sobol_rows[i];
    CHECK(r->polynomial >> r->degree == 1);
    if (!is_primitive(r->degree, r->polynomial)) fail_msg("row %d: %d", i, r->polynomial);
    if (i > 0) CHECK(r->polynomial > r[-1].polynomial);
    for (int k = 0; k < 13; k++)
      CHECK(k < r->degree ? r->initial[k] % 2 == 1 && r->initial[k] < 2 << k : r->initial[k] == 0);
  }
}

//------------------------------------ nets ------------------------------------

static uint32_t directions[CPL_MAX_SOBOL][CPLI_SOBOL_BITS];

static uint32_t lead(int dimension, uint64_t i, int bits) {
  return bits == 0 ? 0 : cpli_sobol_point(directions[dimension], i) >> (32 - bits);
}

// The least t with which the first 2^m points of two dimensions are a (t, m, 2)-net, by counting
// the points in the boxes of every shape.
static int net_quality(int a, int b, int m) {
  static int count[1 << 16];
  for (int t = 0; t <= m; t++) {
    bool net = true;
    for (int da = 0; net && da <= m - t; da++) {
      const int db = m - t - da;
      memset(count, 0, sizeof(int) << (m - t));
      for (uint64_t i = 0; i < (uint64_t)1 << m; i++)
        count[lead(a, i, da) << db | lead(b, i, db)]++;
      for (int box = 0; net && box < 1 << (m - t); box++) net = count[box] == 1 << t;
    }
    if (net) return t;
  }
  return m;
}

// Every dimension is a (0, m, 1)-net: 2^m points are in 2^m intervals, one in each.
static void each_dimension_is_stratified(void** state) {
  (void)state;
  enum { M = 10 };
  for (int d = 0; d < CPL_MAX_SOBOL; d++) {
    bool seen[1 << M] = {false};
    for (uint64_t i = 0; i < 1 << M; i++) {
      bool* at = &seen[lead(d, i, M)];
      if (*at) fail_msg("dimension %d: point %d", d, (int)i);
      *at = true;
    }
  }
}

// The first two dimensions are a (0, m, 2)-net. The sum of the degrees less one of the polynomials
// bounds t for the others (Sobol' 1967), and the search keeps t of all pairs far below that.
static void pairs_are_nets(void** state) {
  (void)state;
  for (int m = 1; m <= 12; m++) CHECK_INT(net_quality(0, 1, m), 0);
  int sum = 0, worst = 0, pairs = 0;
  for (int a = 0; a < 24; a++) {
    for (int b = a + 1; b < 24; b++, pairs++) {
      const int t = net_quality(a, b, 10);
      const int bound =
          (a == 0 ? 0 : cpli_sobol_rows[a - 1].degree - 1) + cpli_sobol_rows[b - 1].degree - 1;
      if (t > bound) fail_msg("dimensions %d and %d: t = %d > %d", a, b, t, bound);
      sum += t;
      worst = t > worst ? t : worst;
    }
  }
  if (!(sum <= 2.5 * pairs && worst <= 6))
    fail_msg("t: mean %g, worst %d", sum / (double)pairs, worst);
}

// With more dimensions than first rows of 9 bits some pairs have to be bad; most are not.
static void far_pairs_are_fair(void** state) {
  (void)state;
  int sum = 0, bad = 0, pairs = 0;
  for (int a = 3; a < CPL_MAX_SOBOL; a += 29) {
    for (int b = a + 17; b < CPL_MAX_SOBOL; b += 41, pairs++) {
      const int t = net_quality(a, b, 9);
      sum += t;
      bad += t > 5;
    }
  }
  if (!(sum <= 3 * pairs && bad <= 0.08 * pairs))
    fail_msg("t: mean %g, %d of %d pairs above 5", sum / (double)pairs, bad, pairs);
}

// A (t, m, 3)-net: all boxes of 2^t / 2^m of the unit cube; t <= 0 + 0 + 1.
static void three_dimensions_are_a_net(void** state) {
  (void)state;
  enum { M = 9, T = 1 };
  for (int a = 0; a <= M - T; a++) {
    for (int b = 0; a + b <= M - T; b++) {
      const int c = M - T - a - b;
      int count[1 << (M - T)] = {0};
      for (uint64_t i = 0; i < 1 << M; i++)
        count[(lead(0, i, a) << b | lead(1, i, b)) << c | lead(2, i, c)]++;
      for (int box = 0; box < 1 << (M - T); box++) CHECK_INT(count[box], 1 << T);
    }
  }
}

//------------------------------------ designs ------------------------------------

// The shift keeps the net: the same counts in the boxes of the shifted points.
static void shifted_points_are_a_net(void** state) {
  cpl_context* ctx = *state;
  enum { M = 10 };
  for (uint64_t seed = 0; seed < 5; seed++) {
    cpl_design* d =
        make_design(ctx, CPL_DESIGN_SOBOL, 1 << M, seed, (const char*[]){"a=0:1", "b=0:1", NULL});
    for (int da = 0; da <= M; da++) {
      bool seen[1 << M] = {false};
      for (int64_t i = 0; i < 1 << M; i++) {
        double v[2];
        cpl_design_values(d, i, v);
        CHECK(v[0] > 0 && v[0] < 1 && v[1] > 0 && v[1] < 1);
        bool* at = &seen[(int)(v[0] * (1 << da)) << (M - da) | (int)(v[1] * (1 << (M - da)))];
        CHECK(!*at);
        *at = true;
      }
    }
    cpl_design_destroy(d);
  }
}

// The integral of a product over five dimensions, which is 1: root mean square over seeds.
static double integral_error(cpl_context* ctx, cpl_design_kind kind, int64_t n) {
  enum { SEEDS = 16, K = 5 };
  double squares = 0;
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    cpl_design* d = make_design(ctx, kind, n, seed,
                                (const char*[]){"a=0:1", "b=0:1", "c=0:1", "d=0:1", "e=0:1", NULL});
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
      double v[K], product = 1;
      cpl_design_values(d, i, v);
      for (int k = 0; k < K; k++) product *= 1 + (v[k] - 0.5) * 6 / (k + 2);
      sum += product;
    }
    squares += pow(sum / (double)n - 1, 2);
    cpl_design_destroy(d);
  }
  return sqrt(squares / SEEDS);
}

// The exponents of the errors between 2^6 and 2^13 points: nearly 1 against 1/2.
static void errors_decay_with_the_number_of_points(void** state) {
  cpl_context* ctx = *state;
  const double sobol = log2(integral_error(ctx, CPL_DESIGN_SOBOL, 1 << 6) /
                            integral_error(ctx, CPL_DESIGN_SOBOL, 1 << 13)) /
                       7;
  const double random = log2(integral_error(ctx, CPL_DESIGN_RANDOM, 1 << 6) /
                             integral_error(ctx, CPL_DESIGN_RANDOM, 1 << 13)) /
                        7;
  if (!(sobol > 0.8)) fail_msg("error of Sobol' points: N^-%.2f", sobol);
  CHECK_NEAR(random, 0.5, 0.15);
}

static void dimensions_are_limited(void** state) {
  cpl_context* ctx = *state;
  static cpl_factor factors[CPL_MAX_SOBOL + 1];
  static char names[CPL_MAX_SOBOL + 1][8];
  static double values[CPL_MAX_SOBOL];
  for (int i = 0; i <= CPL_MAX_SOBOL; i++) {
    snprintf(names[i], sizeof names[i], "p%d", i);
    factors[i] = (cpl_factor){.name = names[i], .kind = CPL_FACTOR_UNIFORM, .b = 1};
  }
  for (int half = 1; half <= 2; half++) {
    cpl_design_def def = cpl_default_design_def();
    def.kind = half == 1 ? CPL_DESIGN_SOBOL : CPL_DESIGN_SALTELLI;
    def.factors = factors;
    def.n_factors = CPL_MAX_SOBOL / half;
    def.n = 1000;
    cpl_design* d = NULL;
    CHECK_OK(ctx, cpl_design_create(ctx, &def, &d));
    cpl_design_values(d, cpl_design_cases(d) - 1, values);
    for (size_t i = 0; i < def.n_factors; i++) CHECK(values[i] > 0 && values[i] < 1);
    cpl_design_destroy(d);
    def.n_factors++;
    CHECK_INT(cpl_design_create(ctx, &def, &d), CPL_ERR_UNSUPPORTED);
    CHECK_CONTAINS(cpl_context_error(ctx),
                   half == 1 ? "at most 512 factors, not 513" : "at most 256 factors, not 257");
  }
}

int main(void) {
  for (int d = 0; d < CPL_MAX_SOBOL; d++) cpli_sobol_directions((size_t)d, directions[d]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(polynomials_are_primitive_and_distinct),
      cmocka_unit_test(each_dimension_is_stratified),
      cmocka_unit_test(pairs_are_nets),
      cmocka_unit_test(far_pairs_are_fair),
      cmocka_unit_test(three_dimensions_are_a_net),
      cmocka_unit_test(shifted_points_are_a_net),
      cmocka_unit_test(errors_decay_with_the_number_of_points),
      cmocka_unit_test(dimensions_are_limited),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
