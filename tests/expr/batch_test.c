// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Many points at once: the same bits as one by one, and which expressions compute the same.
#include "expr/code.h"
#include "scope.h"

static void same_numbers_as_one_by_one(void** state) {
  (void)state;
  static const char* const texts[] = {
      "50*(x - y)",
      "x",
      "3.5",
      "time*x - y/k",
      "100*(x - y) + 10*(x - y)^3",
      "-x^2 + sin(y)",
      "min(x, y, k)",
      "hypot(x, y)/(1 + exp(-k))",
      "x^2.5*atan2(y, k)",
      "abs(x)*i",
  };
  cpl_context* ctx = test_context();
  uint64_t seed = 11;
  for (size_t k = 0; k < CPLI_COUNT(texts); k++) {
    cpli_expr* e = parse(ctx, texts[k]);
    char key[400];
    CHECK(cpli_expr_key(e, key, sizeof key));
    size_t slots = cpli_expr_slots(e, NULL);
    for (size_t n = 1; n <= CPLI_EXPR_LANES; n += n < 3 ? 1 : 29) {
      double values[4 * CPLI_EXPR_LANES], out[CPLI_EXPR_LANES];
      for (size_t i = 0; i < slots * n; i++) values[i] = random_between(&seed, 0.5, 2);
      CHECK(cpli_expr_values(e, 0.7, n, values, out));
      for (size_t i = 0; i < n; i++) {
        double one[4], expected;
        for (size_t s = 0; s < slots; s++) one[s] = values[s * n + i];
        CHECK_INT(cpli_expr_value(e, ctx, 0.7, one, NULL, &expected), CPL_OK);
        CHECK(memcmp(&expected, &out[i], sizeof expected) == 0);
      }
    }
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

// At one of the points, in the result or on the way to it.
static void what_is_not_finite_is_reported(void** state) {
  (void)state;
  static const char* const texts[] = {"1/x", "1/(1/x)", "min(x, 3)*y", "log(x)",
                                      "1e200*(y + x)*1e200"};
  static const double bad[] = {0, 0, NAN, -1, 1};
  cpl_context* ctx = test_context();
  for (size_t k = 0; k < CPLI_COUNT(texts); k++) {
    cpli_expr* e = parse(ctx, texts[k]);
    double values[] = {1e-100, 1e-100, 1e-100, 1e-100, 1e-100, 1e-100}, out[3];
    CHECK(cpli_expr_values(e, 0, 3, values, out));
    values[1] = bad[k];
    CHECK(!cpli_expr_values(e, 0, 3, values, out));
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

static bool alike(cpl_context* ctx, const char* a, const char* b) {
  char of_a[400], of_b[400];
  cpli_expr *x = parse(ctx, a), *y = parse(ctx, b);
  bool same = cpli_expr_key(x, of_a, sizeof of_a) && cpli_expr_key(y, of_b, sizeof of_b) &&
              strcmp(of_a, of_b) == 0;
  cpli_expr_destroy(x);
  cpli_expr_destroy(y);
  return same;
}

static void equal_keys_compute_the_same(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  CHECK(alike(ctx, "2*(x - y)", "2*(left.y1 - right.y1)"));
  CHECK(alike(ctx, "2*(x - y)", "2*(y - x)"));  // positions count, in order of first use
  CHECK(!alike(ctx, "2*(x - y)", "2*(x - x)"));
  CHECK(!alike(ctx, "2*(x - y)", "3*(x - y)"));
  CHECK(!alike(ctx, "2*(x - y)", "2*(x + y)"));
  CHECK(!alike(ctx, "x*time", "x*y"));
  CHECK(!alike(ctx, "if x > 0 then x else y", "if x > 0 then x else y"));
  CHECK(!alike(ctx, "floor(x)", "floor(x)"));
  CHECK(!alike(ctx, "x > y", "x > y"));
  char key[20];
  cpli_expr* e = parse(ctx, "2*(x - y)");
  CHECK(!cpli_expr_key(e, key, sizeof key));
  cpli_expr_destroy(e);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_numbers_as_one_by_one),
      cmocka_unit_test(what_is_not_finite_is_reported),
      cmocka_unit_test(equal_keys_compute_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
