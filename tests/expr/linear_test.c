// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "scope.h"

static void test_linearity(void** state) {
  (void)state;
  static const struct {
    const char* text;
    cpli_linearity expected;
  } cases[] = {
      {"1", CPLI_LINEAR},
      {"x", CPLI_LINEAR},
      {"2*x - y/3 + 1", CPLI_LINEAR},
      {"-(x + 2*(y - 3*x))", CPLI_LINEAR},
      {"sin(time) + x", CPLI_LINEAR},
      {"time^2*3 + x/pi", CPLI_LINEAR},
      {"x^1", CPLI_LINEAR},
      {"floor(x) + 2*y", CPLI_LINEAR},
      {"x > y", CPLI_LINEAR},
      {"if on then 1 else 2", CPLI_LINEAR},
      {"x*y", CPLI_NONLINEAR},
      {"x^2", CPLI_NONLINEAR},
      {"x*x", CPLI_NONLINEAR},
      {"1/x", CPLI_NONLINEAR},
      {"sin(x)", CPLI_NONLINEAR},
      {"time*x", CPLI_NONLINEAR},
      {"x/time", CPLI_NONLINEAR},
      {"abs(x)", CPLI_NONLINEAR},
      {"min(x, 1)", CPLI_NONLINEAR},
      {"2*(x + y)^2", CPLI_NONLINEAR},
      {"if on then x else y*y", CPLI_NONLINEAR},
      {"x*y - x*y", CPLI_NONLINEAR},
      {"if x > 0 then 2*x else 3*x", CPLI_LINEAR_BETWEEN_EVENTS},
      {"if on then x else 1", CPLI_LINEAR_BETWEEN_EVENTS},
      {"i*x", CPLI_LINEAR_BETWEEN_EVENTS},
      {"x/i + 1", CPLI_LINEAR_BETWEEN_EVENTS},
      {"floor(x)*y", CPLI_LINEAR_BETWEEN_EVENTS},
      {"(if on then 1 else 2)*y", CPLI_LINEAR_BETWEEN_EVENTS},
      {"mod(x, 2)", CPLI_LINEAR},
      {"mod(x, y)", CPLI_LINEAR_BETWEEN_EVENTS},
      {"2*mod(time, 1)*3 + x", CPLI_LINEAR},
      {"mod(time, 1)*x", CPLI_NONLINEAR},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpli_expr* e = parse(ctx, cases[i].text);
    if (cpli_expr_linearity(e, NULL) != cases[i].expected) {
      fail_msg("%s: %d", cases[i].text, cpli_expr_linearity(e, NULL));
    }
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

static void test_fixed_names(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_expr* e = parse(ctx, "k*((left.y1 - a + w) - (right.y1 - b - w))");
  const bool only_k[] = {true, false, false, false, false, false}, not_k[] = {false, true, false};
  CHECK_INT(cpli_expr_linearity(e, NULL), CPLI_NONLINEAR);
  CHECK_INT(cpli_expr_linearity(e, only_k), CPLI_LINEAR);
  cpli_expr_destroy(e);
  e = parse(ctx, "sin(k)*x^k");
  CHECK_INT(cpli_expr_linearity(e, only_k), CPLI_NONLINEAR);
  CHECK_INT(cpli_expr_linearity(e, not_k), CPLI_NONLINEAR);
  cpli_expr_destroy(e);
  e = parse(ctx, "sin(k)*x + k^2/(1 + k)");
  CHECK_INT(cpli_expr_linearity(e, only_k), CPLI_LINEAR);
  CHECK_INT(cpli_expr_linearity(e, not_k), CPLI_NONLINEAR);
  cpli_expr_destroy(e);
  cpl_context_destroy(ctx);
}

// Where it says linear, the gradient is the same wherever one looks.
static void test_linear_gradients_are_constant(void** state) {
  (void)state;
  static const char* const texts[] = {"2*x - y/3 + 1", "-(x + 2*(y - 3*x))", "sin(time) + x",
                                      "mod(x, 2) + floor(y)", "time^2*3 + x/pi"};
  cpl_context* ctx = test_context();
  uint64_t s = 42;
  for (size_t i = 0; i < CPLI_COUNT(texts); i++) {
    cpli_expr* e = parse(ctx, texts[i]);
    CHECK_INT(cpli_expr_linearity(e, NULL), CPLI_LINEAR);
    double first[2] = {0}, g[2] = {0};
    for (int n = 0; n < 100; n++) {
      double v[] = {random_between(&s, -9, 9), random_between(&s, -9, 9)};
      double t = random_between(&s, 0, 9);
      CHECK_INT(cpli_expr_gradient(e, ctx, t, v, NULL, NULL, n == 0 ? first : g, NULL), CPL_OK);
      if (n > 0) CHECK(memcmp(first, g, sizeof g) == 0);
    }
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linearity),
      cmocka_unit_test(test_fixed_names),
      cmocka_unit_test(test_linear_gradients_are_constant),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
