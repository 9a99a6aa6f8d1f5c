// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Designs: which cases there are, in which order, and how samples are spread.
#include "study/design.h"

#include "study_designs.h"

static void grids_vary_the_first_factor_slowest(void** state) {
  cpl_context* ctx = *state;
  cpl_design* d = make_design(ctx, CPL_DESIGN_GRID, 0, 1,
                              (const char*[]){"a=1:3:3", "b=7", "c=list:5,4", NULL});
  const double expected[6][3] = {{1, 7, 5}, {1, 7, 4}, {2, 7, 5}, {2, 7, 4}, {3, 7, 5}, {3, 7, 4}};
  CHECK_INT(cpl_design_cases(d), 6);
  for (int i = 0; i < 6; i++) {
    double v[3];
    cpl_design_values(d, i, v);
    for (int k = 0; k < 3; k++) CHECK_NEAR(v[k], expected[i][k], 0);
  }
  CHECK_INT(cpl_design_definition(d)->n_factors, 3);
  CHECK_STR(cpl_design_definition(d)->factors[2].name, "c");
  cpl_design_destroy(d);
}

static void tables_are_taken_row_by_row(void** state) {
  cpl_context* ctx = *state;
  write_file("cases.csv", "k [N/m];on\n1.5;true\n\n2;0\n# a comment\n3;1\n");
  cpl_design_def def = cpl_default_design_def();
  def.kind = CPL_DESIGN_TABLE;
  def.table = "cases.csv";
  cpl_design* d = NULL;
  CHECK_OK(ctx, cpl_design_create(ctx, &def, &d));
  CHECK_INT(cpl_design_cases(d), 3);
  const cpl_design_def* made = cpl_design_definition(d);
  CHECK_INT(made->n_factors, 2);
  CHECK_STR(made->factors[0].name, "k");
  CHECK_STR(made->factors[0].unit, "N/m");
  CHECK_STR(made->factors[1].name, "on");
  CHECK(made->factors[1].unit == NULL);
  CHECK_STR(made->table, "cases.csv");
  const double expected[3][2] = {{1.5, 1}, {2, 0}, {3, 1}};
  for (int i = 2; i >= 0; i--) {
    double v[2];
    cpl_design_values(d, i, v);
    CHECK(v[0] == expected[i][0] && v[1] == expected[i][1]);
  }
  cpl_design_destroy(d);
}

static void wrong_tables_are_refused(void** state) {
  cpl_context* ctx = *state;
  const struct {
    const char *text, *message;
  } wrong[] = {
      {"", "cases.csv: is empty"},
      {"a,b\n", "no rows"},
      {"a,b\n1,2\n3,nan\n", "cases.csv:3:3: b is not finite"},
      {"a,b\n1,2\n3,inf\n", "cases.csv:3:3: b is not finite"},
      {"a,b\n1,\n", "cases.csv:2:3: b has no value"},
      {"a,b\n1,2\nx,2\n", "cases.csv:3:1: a: \"x\" is not a number"},
      {"a,b\n1\n", "cases.csv:2:1: the row has 1 fields, the header has 2"},
      {"a,b\n1,2,3\n", "cases.csv:2:5: more fields"},
      {"a,a\n1,2\n", "cases.csv:1:3: there are two columns \"a\""},
      {"a,\n1,2\n", "column 2 has no name"},
      {"1,2\n1,2\n", "names of the columns, not a number"},
      {"a;b\n1,5;2\n", "decimals have a point"},
  };
  cpl_design_def def = cpl_default_design_def();
  def.kind = CPL_DESIGN_TABLE;
  cpl_design* d = NULL;
  CHECK_INT(cpl_design_create(ctx, &def, &d), CPL_ERR_INPUT);
  def.table = "cases.csv";
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    write_file("cases.csv", wrong[i].text);
    CHECK_INT(cpl_design_create(ctx, &def, &d), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), wrong[i].message);
    CHECK(d == NULL);
  }
  const cpl_factor f = {.name = "k"};
  def.factors = &f;
  def.n_factors = 1;
  CHECK_INT(cpl_design_create(ctx, &def, &d), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "k: the columns");
}

static void wrong_designs_are_refused(void** state) {
  cpl_context* ctx = *state;
  const struct {
    cpl_design_kind kind;
    int64_t n;
    const char* texts[MOST_FACTORS];
    const char* message;
  } wrong[] = {
      {CPL_DESIGN_GRID, 0, {NULL}, "no factors"},
      {CPL_DESIGN_GRID, 0, {"k=1:2:3", "k=5", NULL}, "k is varied twice"},
      {CPL_DESIGN_GRID, 0, {"k=normal:1:2", NULL}, "a distribution needs a number of samples"},
      {CPL_DESIGN_GRID, 0, {"k=1:2", NULL}, "needs the number of values: 1:2:COUNT"},
      {CPL_DESIGN_GRID, 0, {"k=log:1:2", NULL}, "needs the number of values: log:1:2:COUNT"},
      {CPL_DESIGN_GRID, 0, {"a=1:2:1000000", "b=1:2:1000000", NULL}, "1e+12 cases"},
      {CPL_DESIGN_GRID,
       0,
       {"a=1:2:1e15", "b=1:2:1e15", "c=1:2:1e15", "d=1:2:1e15", "e=1:2:1e15", NULL},
       "1e+75 cases"},
      {CPL_DESIGN_GRID, 0, {"a=1:2:1000000001", NULL}, "at most 1000000000"},
      {CPL_DESIGN_RANDOM, 0, {"k=1:2", NULL}, "the number of samples is 0"},
      {CPL_DESIGN_RANDOM, -5, {"k=1:2", NULL}, "the number of samples is -5"},
      {CPL_DESIGN_LHS, 10, {"k=1:2:3", NULL}, "without a number of values: 1:2"},
      {CPL_DESIGN_LHS, 10, {"k=log:1:2:3", NULL}, "without a number of values: log:1:2"},
      {CPL_DESIGN_LHS, 1000000000000, {"k=1:2", NULL}, "1e+12 cases"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    cpl_design* d = NULL;
    CHECK_INT(try_design(ctx, wrong[i].kind, wrong[i].n, 1, wrong[i].texts, &d), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), wrong[i].message);
    CHECK(d == NULL);
  }
  cpl_design_def def = {0};
  cpl_design* d = NULL;
  CHECK_INT(cpl_design_create(ctx, &def, &d), CPL_ERR_INPUT);
  const cpl_factor bad[] = {{.name = "k", .kind = CPL_FACTOR_LIST},
                            {.name = "k", .a = NAN},
                            {.name = "", .a = 1},
                            {.name = "k", .kind = (cpl_factor_kind)99},
                            {.name = "k", .kind = CPL_FACTOR_GRID, .a = 1, .b = 2, .n = -1}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    def = cpl_default_design_def();
    def.factors = &bad[i];
    def.n_factors = 1;
    CHECK_INT(cpl_design_create(ctx, &def, &d), CPL_ERR_INPUT);
  }
}

// One case in each n-th of the range of each factor, for any n; factors are not in the same order.
static void latin_hypercubes_have_one_case_per_stratum(void** state) {
  cpl_context* ctx = *state;
  const int64_t sizes[] = {1, 2, 7, 1000, 1000003};
  for (int s = 0; s < 5; s++) {
    const int64_t n = sizes[s];
    cpl_design* d = make_design(ctx, CPL_DESIGN_LHS, n, 3, (const char*[]){"a=0:1", "b=0:1", NULL});
    unsigned char* seen = calloc((size_t)n, 2);
    int64_t same = 0;
    for (int64_t i = 0; i < n; i++) {
      double v[2];
      cpl_design_values(d, i, v);
      for (int k = 0; k < 2; k++) {
        int64_t stratum = (int64_t)floor(v[k] * (double)n);
        if (!(v[k] > 0 && v[k] < 1) || seen[2 * stratum + k]++)
          fail_msg("n = %lld, case %lld: %.17g", (long long)n, (long long)i, v[k]);
      }
      same += floor(v[0] * (double)n) == floor(v[1] * (double)n);
    }
    if (n >= 1000) CHECK(same < 10);
    free(seen);
    cpl_design_destroy(d);
  }
}

// Even where only some cases can be looked at: cases of a stratum of their own each.
static void large_latin_hypercubes_stay_in_their_strata(void** state) {
  cpl_context* ctx = *state;
  cpl_design* d =
      make_design(ctx, CPL_DESIGN_LHS, CPL_MAX_CASES, 3, (const char*[]){"a=0:1", NULL});
  for (int64_t i = 0; i < CPL_MAX_CASES; i += 9999991) {
    double v;
    cpl_design_values(d, i, &v);
    uint64_t stratum = cpli_permute(&d->permutations[0], (uint64_t)i);
    CHECK(floor(v * CPL_MAX_CASES) == (double)stratum);
  }
  cpl_design_destroy(d);
}

// In each of 20 x 20 cells; the jitter fills the strata.
static double chi_square(cpl_design* d, int64_t n, double scale) {
  enum { SIDE = 20 };
  static int64_t count[SIDE * SIDE];
  memset(count, 0, sizeof count);
  for (int64_t i = 0; i < n; i++) {
    double v[2];
    cpl_design_values(d, i, v);
    double x = v[0] * scale - floor(v[0] * scale), y = v[1] * scale - floor(v[1] * scale);
    count[(int)(x * SIDE) * SIDE + (int)(y * SIDE)]++;
  }
  double chi = 0, expected = (double)n / (SIDE * SIDE);
  for (int i = 0; i < SIDE * SIDE; i++) chi += pow((double)count[i] - expected, 2) / expected;
  return (chi - (SIDE * SIDE - 1)) / sqrt(2 * (SIDE * SIDE - 1));  // in deviations
}

static void samples_are_uniform(void** state) {
  cpl_context* ctx = *state;
  const char* texts[] = {"a=0:1", "b=0:1", NULL};
  for (uint64_t seed = 0; seed < 5; seed++) {
    cpl_design* d = make_design(ctx, CPL_DESIGN_RANDOM, 100000, seed, texts);
    CHECK_NEAR(chi_square(d, 100000, 1), 0, 5);
    cpl_design_destroy(d);
    // the margins of the cells of a hypercube are exact: 19 * 19 degrees of freedom remain
    d = make_design(ctx, CPL_DESIGN_LHS, 100000, seed, texts);
    CHECK_NEAR(chi_square(d, 100000, 1), -1.38, 5);
    CHECK_NEAR(chi_square(d, 100000, 100000), 0, 5);  // inside the strata
    cpl_design_destroy(d);
  }
}

static void cases_depend_on_the_definition_and_their_number_only(void** state) {
  cpl_context* ctx = *state;
  const cpl_design_kind sampled[] = {CPL_DESIGN_RANDOM, CPL_DESIGN_LHS, CPL_DESIGN_SOBOL,
                                     CPL_DESIGN_SALTELLI};
  for (size_t kind = 0; kind < sizeof sampled / sizeof sampled[0]; kind++) {
    const char* texts[] = {"a=normal:0:1", "b=log:1:9", NULL};
    cpl_design* d = make_design(ctx, sampled[kind], 500, 9, texts);
    double all[500][2], v[2];
    for (int i = 0; i < 500; i++) cpl_design_values(d, i, all[i]);
    cpl_design* again = make_design(ctx, sampled[kind], 500, 9, texts);
    for (int i = 499; i >= 0; i--) {
      cpl_design_values(again, i, v);
      CHECK(memcmp(v, all[i], sizeof v) == 0);
    }
    CHECK(cpl_design_hash(d) == cpl_design_hash(again));
    cpl_design_destroy(again);

    // another seed, another factor: other values, another hash
    again = make_design(ctx, sampled[kind], 500, 10, texts);
    int same = 0;
    for (int i = 0; i < 500; i++) {
      cpl_design_values(again, i, v);
      same += v[0] == all[i][0] || v[1] == all[i][1];
    }
    CHECK_INT(same, 0);
    CHECK(cpl_design_hash(d) != cpl_design_hash(again));
    cpl_design_destroy(again);
    again =
        make_design(ctx, sampled[kind], 500, 9, (const char*[]){"a=normal:0:2", texts[1], NULL});
    CHECK(cpl_design_hash(d) != cpl_design_hash(again));
    cpl_design_destroy(again);
    cpl_design_destroy(d);
  }
}

// A linear model of normal parameters: y = 3 a - 2 b + 1, a = N(10, 1), b = N(5, 0.5).
static void samples_have_the_moments_of_their_distributions(void** state) {
  cpl_context* ctx = *state;
  enum { N = 200000 };
  const double mean = 3 * 10 - 2 * 5 + 1, deviation = sqrt(9 + 4 * 0.25);
  for (int kind = CPL_DESIGN_RANDOM; kind <= CPL_DESIGN_LHS; kind++) {
    cpl_design* d = make_design(ctx, (cpl_design_kind)kind, N, 1,
                                (const char*[]){"a=normal:10:1", "b=normal:5:0.5", NULL});
    double sum = 0, squares = 0;
    int64_t below = 0;
    for (int64_t i = 0; i < N; i++) {
      double v[2];
      cpl_design_values(d, i, v);
      double y = 3 * v[0] - 2 * v[1] + 1 - mean;
      sum += y;
      squares += y * y;
      below += y < -1.6448536269514722 * deviation;
    }
    CHECK_NEAR(sum / N, 0, (kind == CPL_DESIGN_LHS ? 1e-5 : 5 * deviation / sqrt(N)));
    CHECK_NEAR(sqrt(squares / N), deviation, 5 * deviation / sqrt(2 * N));
    CHECK_NEAR((double)below / N, 0.05, 5 * sqrt(0.05 * 0.95 / N));
    cpl_design_destroy(d);
  }
}

static void memory_may_fail_at_any_time(void** state) {
  (void)state;
  write_file("cases.csv", "k [m],l\n3,1\n1,2\n");
  const double values[] = {1, 2};
  const cpl_factor lists[] = {{.name = "a", .kind = CPL_FACTOR_LIST, .n = 2, .values = values},
                              {.name = "b", .unit = "m", .a = 1}};
  for (int kind = CPL_DESIGN_GRID; kind <= CPL_DESIGN_SALTELLI; kind++) {
    for (long n = 0;; n++) {
      test_heap heap = {.fail_at = -1};
      cpl_context* ctx = test_context_with_heap(&heap);
      heap.fail_at = heap.calls + n;
      cpl_design_def def = cpl_default_design_def();
      def.kind = (cpl_design_kind)kind;
      def.n = 5;
      if (kind == CPL_DESIGN_TABLE) {
        def.table = "cases.csv";
      } else {
        def.factors = lists;
        def.n_factors = 2;
      }
      cpl_design* d = NULL;
      cpl_status st = cpl_design_create(ctx, &def, &d);
      CHECK(st == CPL_OK || st == CPL_ERR_NOMEM);
      cpl_design_destroy(d);
      cpl_context_destroy(ctx);
      CHECK_INT(heap.live, 0);
      if (st >= 0) break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(grids_vary_the_first_factor_slowest),
      cmocka_unit_test(tables_are_taken_row_by_row),
      cmocka_unit_test(wrong_tables_are_refused),
      cmocka_unit_test(wrong_designs_are_refused),
      cmocka_unit_test(latin_hypercubes_have_one_case_per_stratum),
      cmocka_unit_test(large_latin_hypercubes_stay_in_their_strata),
      cmocka_unit_test(samples_are_uniform),
      cmocka_unit_test(cases_depend_on_the_definition_and_their_number_only),
      cmocka_unit_test(samples_have_the_moments_of_their_distributions),
      cmocka_unit_test(memory_may_fail_at_any_time),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
