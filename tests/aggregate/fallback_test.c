// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "aggregate/fallback.h"

#include "testing.h"

static cpl_context* ctx;

// x^2 + y^2 = 4, exp(x) + y = 1: solutions near (1.004, -1.730) and (-1.816, 0.837)
static cpl_status circle(void* user, const double* s, double* r) {
  (void)user;
  r[0] = s[0] * s[0] + s[1] * s[1] - 4;
  r[1] = exp(s[0]) + s[1] - 1;
  return CPL_OK;
}

// atan(x): Newton's full steps run away from |x| > 1.39
static cpl_status flat(void* user, const double* s, double* r) {
  (void)user;
  r[0] = atan(s[0]);
  return CPL_OK;
}

static cpl_status never_zero(void* user, const double* s, double* r) {
  (void)user;
  r[0] = s[0] * s[0] + 1;
  return CPL_OK;
}

static cpl_status broken(void* user, const double* s, double* r) {
  (void)user, (void)s, (void)r;
  return cpl_fail(ctx, CPL_ERR_MODEL, "broken");
}

static void finds_the_near_solution(void** state) {
  (void)state;
  const double scale[] = {1, 1};
  double s[] = {1.5, -1}, r[2];
  CHECK_OK(ctx, cpli_fallback_solve(ctx, 2, s, scale, circle, NULL));
  circle(NULL, s, r);
  CHECK_NEAR(r[0], 0, 1e-9);
  CHECK_NEAR(r[1], 0, 1e-9);
  CHECK_NEAR(s[0], 1.004168738, 1e-6);
}

static void shortens_steps_that_run_away(void** state) {
  (void)state;
  const double scale[] = {1};
  double s[] = {20};
  CHECK_INT(cpli_fallback_solve(ctx, 1, s, scale, flat, NULL), CPL_OK);
  CHECK_NEAR(s[0], 0, 1e-9);
}

static void says_so_when_there_is_none(void** state) {
  (void)state;
  const double scale[] = {1};
  double s[] = {3};
  CHECK_INT(cpli_fallback_solve(ctx, 1, s, scale, never_zero, NULL), CPL_RETRY);
  CHECK_NEAR(s[0], 3, 0);  // untouched
  CHECK_INT(cpli_fallback_solve(ctx, 1, s, scale, broken, NULL), CPL_ERR_MODEL);
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_the_near_solution),
      cmocka_unit_test(shortens_steps_that_run_away),
      cmocka_unit_test(says_so_when_there_is_none),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
