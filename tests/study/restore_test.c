// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Designs restored from the facts and the cases of a file: indices of a plane, whose values are
// known, and cases that do not belong to the design that the file names.
#include <math.h>

#include "study/netcdf.h"
#include "study_designs.h"

static const cpli_study_column factors[] = {{"a", "m", NULL}, {"b", NULL, NULL}, {"c", NULL, NULL}};

// The values of all cases, which a restored design owns.
static double* rows_of(cpl_context* ctx, const cpl_design* d) {
  double* rows = cpli_alloc(ctx, (size_t)cpl_design_cases(d), 3 * sizeof *rows);
  CHECK(rows != NULL);
  for (int64_t i = 0; i < cpl_design_cases(d); i++) cpl_design_values(d, i, rows + 3 * i);
  return rows;
}

static double plane(const double* x) { return 7 + 3 * x[0] - 2 * x[1]; }

// The influence on the plane, of a design that is known by its rows only.
static cpl_design_kind influence_of(cpl_context* ctx, const char* kind, const char* seed,
                                    int64_t cases, double* rows, cpl_influence* out) {
  const cpl_study_fact notes[] = {
      {"design", kind, 0}, {"seed", seed, 0}, {"levels", NULL, 4}, {"solver", "cvode", 0}};
  const cpli_study_facts facts = {
      .cases = cases, .factors = factors, .n_factors = 3, .facts = notes, .n_facts = 4};
  cpl_design* d = NULL;
  double* y = malloc((size_t)cases * sizeof *y);
  for (int64_t i = 0; i < cases; i++) y[i] = plane(rows + 3 * i);
  CHECK_OK(ctx, cpli_design_restore(ctx, &facts, rows, &d));
  CHECK_INT(cpl_design_cases(d), cases);
  CHECK_OK(ctx, cpl_influence_make(d, y, out));
  const cpl_design_kind found = cpl_design_definition(d)->kind;
  CHECK_STR(cpl_design_definition(d)->factors[0].unit, "m");
  cpl_design_destroy(d);
  free(y);
  return found;
}

static const char* const texts[] = {"a=0:1", "b=0:1", "c=5:6", NULL};

static void effects_and_indices_of_a_plane(void** state) {
  cpl_context* ctx = *state;
  cpl_influence in;
  cpl_design* d = make_design(ctx, CPL_DESIGN_MORRIS, 12, 77, texts);
  CHECK_INT(influence_of(ctx, "morris", "77", 48, rows_of(ctx, d), &in), CPL_DESIGN_MORRIS);
  CHECK_STR(in.method, "morris");
  CHECK_STR(in.columns[1], "mu");
  const double mu[] = {3, -2, 0};
  for (int i = 0; i < 3; i++) {
    CHECK_NEAR(in.values[3 * i], fabs(mu[i]), 1e-12);
    CHECK_NEAR(in.values[3 * i + 1], mu[i], 1e-12);
    CHECK_NEAR(in.values[3 * i + 2], 0, 1e-12);
  }
  cpl_influence_free(ctx, &in);
  cpl_design_destroy(d);

  d = make_design(ctx, CPL_DESIGN_SALTELLI, 4096, 5, texts);
  CHECK_INT(influence_of(ctx, "saltelli", "5", cpl_design_cases(d), rows_of(ctx, d), &in),
            CPL_DESIGN_SALTELLI);
  CHECK_STR(in.method, "sobol");
  const double first[] = {9.0 / 13, 4.0 / 13, 0};
  for (int i = 0; i < 3; i++) {
    CHECK_NEAR(in.values[6 * i], first[i], 0.01);
    CHECK_NEAR(in.values[6 * i + 3], first[i], 0.01);
    CHECK(in.values[6 * i + 1] <= in.values[6 * i] && in.values[6 * i] <= in.values[6 * i + 2]);
  }
  cpl_influence_free(ctx, &in);
  cpl_design_destroy(d);
}

static void of_other_designs_there_is_a_regression(void** state) {
  cpl_context* ctx = *state;
  cpl_influence in;
  cpl_design* d = make_design(ctx, CPL_DESIGN_LHS, 1000, 3, texts);
  CHECK_INT(influence_of(ctx, "lhs", "3", 1000, rows_of(ctx, d), &in), CPL_DESIGN_LHS);
  CHECK_STR(in.method, "regression");
  CHECK_NEAR(in.r_squared, 1, 1e-12);
  CHECK_NEAR(in.values[0], 3 / sqrt(13), 0.03);
  CHECK_NEAR(in.values[2], -2 / sqrt(13), 0.03);
  cpl_influence_free(ctx, &in);
  // a file that names no design that there is
  CHECK_INT(influence_of(ctx, "spiral", "3", 1000, rows_of(ctx, d), &in), CPL_DESIGN_TABLE);
  cpl_influence_free(ctx, &in);
  cpl_design_destroy(d);
}

// Indices need cases in their order: those of another seed, another number, or changed values are
// not evaluated as if they were of the design.
static void other_cases_are_no_such_design(void** state) {
  cpl_context* ctx = *state;
  cpl_influence in;
  cpl_design* d = make_design(ctx, CPL_DESIGN_MORRIS, 12, 77, texts);
  CHECK_INT(influence_of(ctx, "morris", "78", 48, rows_of(ctx, d), &in), CPL_DESIGN_TABLE);
  CHECK_STR(in.method, "regression");
  cpl_influence_free(ctx, &in);
  CHECK_INT(influence_of(ctx, "morris", "77", 47, rows_of(ctx, d), &in), CPL_DESIGN_TABLE);
  cpl_influence_free(ctx, &in);
  cpl_design_destroy(d);
  d = make_design(ctx, CPL_DESIGN_SALTELLI, 8, 5, texts);
  double* rows = rows_of(ctx, d);
  rows[3 * 7 + 1] += 1e-9;
  CHECK_INT(influence_of(ctx, "saltelli", "5", 40, rows, &in), CPL_DESIGN_TABLE);
  cpl_influence_free(ctx, &in);
  cpl_design_destroy(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(effects_and_indices_of_a_plane),
      cmocka_unit_test(of_other_designs_there_is_a_regression),
      cmocka_unit_test(other_cases_are_no_such_design),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
