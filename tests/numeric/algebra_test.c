// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Residuals of variables of any size, with nominal values that say nothing of it.
#include "numeric/algebra.h"

#include <math.h>

#include "testing.h"

static cpl_context* ctx;

typedef struct units {
  double z[2], g[2];
} units;

// exp(x) = 2 + y, x + y = 1: x is where exp(x) = 3 - x
static cpl_status two(void* user, const double* z, double* g) {
  const units* k = user;
  double x = z[0] / k->z[0], y = z[1] / k->z[1];
  g[0] = k->g[0] * (exp(x) - 2 - y);
  g[1] = k->g[1] * (x + y - 1);
  return CPL_OK;
}

static cpl_status solve(cpli_algebra* a, double* z) {
  cpl_status st = cpli_algebra_init(a, ctx);
  CHECK_OK(ctx, st);
  for (size_t i = 0; i < a->n; i++) a->nominal[i] = 1;
  st = cpli_algebra_solve(a, z);
  cpli_algebra_free(a);
  return st;
}

static void variables_are_solved_to_their_own_size(void** state) {
  (void)state;
  const double sizes[] = {1, 1e-12, 1e12, 3e-7};
  for (size_t i = 0; i < 4; i++) {
    for (size_t j = 0; j < 4; j++) {
      for (size_t r = 0; r < 4; r++) {
        units k = {{sizes[i], sizes[j]}, {sizes[r], 1 / sizes[i]}};
        double z[] = {0.3 * sizes[i], -0.1 * sizes[j]};
        cpli_algebra a = {.n = 2, .user = &k, .residuals = two};
        cpl_status st = solve(&a, z);
        if (st != CPL_OK) fail_msg("units %g %g, %g", sizes[i], sizes[j], sizes[r]);
        CHECK_NEAR(z[0] / sizes[i], 0.792059968430677, 1e-11);
        CHECK_NEAR(z[1] / sizes[j], 0.207940031569323, 1e-11);
      }
    }
  }
}

// What is rounded to the size of 7 says nothing of z below 1e-15.
static cpl_status hidden(void* user, const double* z, double* g) {
  (void)user;
  g[0] = (7 + 0.3 * z[0]) - 7;
  return CPL_OK;
}

static void what_rounding_hides_counts_as_solved(void** state) {
  (void)state;
  const double starts[] = {0, 2, 1e-9, 5e-15, -1e-16};
  for (size_t i = 0; i < CPLI_COUNT(starts); i++) {
    double z[] = {starts[i]};
    cpli_algebra a = {.n = 1, .residuals = hidden};
    CHECK_INT(solve(&a, z), CPL_OK);
    CHECK_NEAR(z[0], 0, 1e-14);
  }
}

static cpl_status never(void* user, const double* z, double* g) {
  double x = z[0] / *(const double*)user;
  g[0] = x * x + x + 3;
  return CPL_OK;
}

static void small_residuals_without_solution_are_not_solved(void** state) {
  (void)state;
  double sizes[] = {1, 1e-14, 1e14};
  for (size_t i = 0; i < CPLI_COUNT(sizes); i++) {
    double z[] = {sizes[i]};
    cpli_algebra a = {.n = 1, .user = &sizes[i], .residuals = never};
    CHECK_INT(solve(&a, z), CPL_RETRY);
  }
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(variables_are_solved_to_their_own_size),
      cmocka_unit_test(what_rounding_hides_counts_as_solved),
      cmocka_unit_test(small_residuals_without_solution_are_not_solved),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
