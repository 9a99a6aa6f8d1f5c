// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "numeric/eliminate.h"

#include "testing.h"

// x0' = 2 x0 + 3 u, x1' = 5 u; y = 7 x1 + 11 x0 (unknown 3), u = 0.5 y (unknown 2, before it)
static const cpli_term terms[] = {
    {.row = 0, .column = 0, .owner = -1}, {.row = 1, .column = 1, .owner = -1},
    {.row = 2, .column = 2, .owner = -1}, {.row = 3, .column = 3, .owner = -1},
    {.row = 0, .column = 0, .owner = 0},  {.row = 0, .column = 2, .owner = 0},
    {.row = 1, .column = 2, .owner = 1},  {.row = 3, .column = 1, .owner = 1},
    {.row = 3, .column = 0, .owner = 0},  {.row = 2, .column = 3, .owner = -2},
    {.row = 3, .column = 2, .owner = 0},  // closes a loop
};
static const double values[] = {-1, -1, -1, -1, 2, 3, 5, 7, 11, 0.5};

static void nodes_are_eliminated(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_elimination* e;
  CHECK_OK(ctx, cpli_elimination_make(ctx, 2, 4, terms, 10, &e));
  assert_non_null(e);
  cpli_elimination_refresh(e, values);
  const double gamma = 0.1, j[2][2] = {{2 + 16.5, 10.5}, {27.5, 17.5}}, r[2] = {1, -2};
  double x[2];
  CHECK_INT(cpli_elimination_factor(e, gamma), -1);
  cpli_elimination_solve(e, r, x);
  for (int i = 0; i < 2; i++) {
    CHECK_NEAR(x[i] - gamma * (j[i][0] * x[0] + j[i][1] * x[1]), r[i], 1e-12);
  }
  cpli_elimination_destroy(e);
  cpl_context_destroy(ctx);
}

static void a_loop_has_no_order(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_elimination* e;
  CHECK_OK(ctx, cpli_elimination_make(ctx, 2, 4, terms, 11, &e));
  assert_null(e);
  cpl_context_destroy(ctx);
}

static void survives_failed_allocations(void** state) {
  (void)state;
  for (long n = 0; n < 100; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpli_elimination* e = NULL;
    cpl_status st = ctx != NULL ? cpli_elimination_make(ctx, 2, 4, terms, 10, &e) : CPL_ERR_NOMEM;
    cpli_elimination_destroy(e);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st >= 0) return;
  }
  fail_msg("never enough memory");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_are_eliminated),
      cmocka_unit_test(a_loop_has_no_order),
      cmocka_unit_test(survives_failed_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
