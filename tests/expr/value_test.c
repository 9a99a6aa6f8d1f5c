// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Values, gradients, failures, speed.
#include "expr/code.h"
#include "scope.h"

//------------------------------------ values ------------------------------------

static void test_known_values(void** state) {
  (void)state;
  static const struct {
    const char* text;  // of x and y
    double x, y, value;
  } cases[] = {
      {"sin(x)", 0.5235987755982989, 0, 0.5},
      {"cos(x)", 1.0471975511965979, 0, 0.5},
      {"tan(x)", 0.7853981633974483, 0, 1},
      {"asin(x)", 0.5, 0, 0.5235987755982989},
      {"acos(x)", 0.5, 0, 1.0471975511965979},
      {"atan(x)", 1, 0, 0.7853981633974483},
      {"atan2(x, y)", 1, -1, 2.356194490192345},
      {"sinh(x)", 1, 0, 1.1752011936438014},
      {"cosh(x)", 1, 0, 1.5430806348152437},
      {"tanh(x)", 1, 0, 0.7615941559557649},
      {"asinh(x)", 1, 0, 0.881373587019543},
      {"acosh(x)", 2, 0, 1.3169578969248166},
      {"atanh(x)", 0.5, 0, 0.5493061443340548},
      {"exp(x)", 1, 0, 2.718281828459045},
      {"log(x)", 10, 0, 2.302585092994046},
      {"log10(x)", 1000, 0, 3},
      {"log2(x)", 8, 0, 3},
      {"sqrt(x)", 2, 0, 1.4142135623730951},
      {"cbrt(x)", -27, 0, -3},
      {"abs(x)", -2.5, 0, 2.5},
      {"min(x, y)", 2, -3, -3},
      {"max(x, y)", 2, -3, 2},
      {"hypot(x, y)", 3, -4, 5},
      {"pow(x, y)", 2, 0.5, 1.4142135623730951},
      {"x^y", 2, -3, 0.125},
      {"x^y", -2, 3, -8},
      {"x^y", -2, -2, 0.25},
      {"x^y", 0, 0, 1},
      {"x^y", 0, 2.5, 0},
      {"x^2", -3, 0, 9},
      {"x^0", 0, 0, 1},
      {"x^3", -2, 0, -8},
      {"floor(x)", -1.5, 0, -2},
      {"ceil(x)", -1.5, 0, -1},
      {"round(x)", 2.5, 0, 3},
      {"round(x)", -2.5, 0, -3},
      {"sign(x)", -0.1, 0, -1},
      {"sign(x)", 0, 0, 0},
      {"mod(x, y)", -0.5, 2, 1.5},
      {"mod(x, y)", 0.5, -2, -1.5},
      {"fmod(x, y)", -5.5, 2, -1.5},
      {"rem(x, y)", 5.5, -2, 1.5},
      {"atan2(x, y)", 0, 0, 0},
      {"hypot(x, y)", 0, 0, 0},
      {"min(x, inf)", 7, 0, 7},
      {"1/x", INFINITY, 0, 0},
      {"x + 1", INFINITY, 0, INFINITY},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    const double v[] = {cases[i].x, cases[i].y};
    double value = value_at(ctx, cases[i].text, 0, v);
    if (value == cases[i].value) continue;
    if (!(fabs(value - cases[i].value) <= 4e-16 * fabs(cases[i].value))) {
      fail_msg("%s = %.17g, expected %.17g", cases[i].text, value, cases[i].value);
    }
  }
  cpl_context_destroy(ctx);
}

static void test_branches(void** state) {
  (void)state;
  static const struct {
    const char* text;
    double x, value;
  } cases[] = {
      {"if x > 0 then sqrt(x) else 0", 4, 2},
      {"if x > 0 then sqrt(x) else 0", -4, 0},
      {"if x > 0 then 1/x else if x < 0 then -1/x else 7", 0, 7},
      {"if x > 0 then 1/x else if x < 0 then -1/x else 7", -2, 0.5},
      {"if x > 0 and log(x) > 1 then 1 else 2", -1, 2},
      {"if x <= 0 or log(x) > 1 then 1 else 2", -1, 1},
      {"if x <= 0 or log(x) > 1 then 1 else 2", 2, 2},
      {"if x <= 0 or log(x) > 1 then 1 else 2", 3, 1},
      {"1 + (if x > 0 then x else -x)*2 + x^3", -1, 2},
      {"if not x > 0 then 3 else 4", 1, 4},
      {"if (x > 1) == (x > 2) then x*2 else x*3", 1.5, 4.5},
      {"if (if x > 0 then x < 1 else false) then 1 + x else 2 + x", 0.5, 1.5},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    CHECK_NEAR(value_at(ctx, cases[i].text, 0, &cases[i].x), cases[i].value, 1e-15);
  }
  cpl_context_destroy(ctx);
}

//------------------------------------ gradients ------------------------------------

static void check_gradient_at(cpl_context* ctx, const cpli_expr* e, double t,
                              const double* values) {
  size_t n = cpli_expr_slots(e, NULL);
  double frozen[16] = {0}, value, plain, gradient[8], by_time, v[8];
  CHECK(n <= 8 && cpli_expr_relations(e) <= 16);
  memcpy(v, values, n * sizeof *v);
  CHECK_INT(cpli_expr_settle(e, ctx, t, v, frozen), CPL_OK);
  CHECK_INT(cpli_expr_gradient(e, ctx, t, v, frozen, &value, gradient, &by_time), CPL_OK);
  CHECK_INT(cpli_expr_value(e, ctx, t, v, frozen, &plain), CPL_OK);
  CHECK(memcmp(&plain, &value, sizeof value) == 0);
  for (size_t k = 0; k <= n; k++) {
    double up, down, h = 1e-5, exact = k < n ? gradient[k] : by_time;
    double dt = k < n ? 0 : h;
    if (k < n) v[k] = values[k] + h;
    CHECK_INT(cpli_expr_value(e, ctx, t + dt, v, frozen, &up), CPL_OK);
    if (k < n) v[k] = values[k] - h;
    CHECK_INT(cpli_expr_value(e, ctx, t - dt, v, frozen, &down), CPL_OK);
    if (k < n) v[k] = values[k];
    double difference = (up - down) / (2 * h);
    if (!(fabs(difference - exact) <= 2e-7 * (1 + fabs(exact) + fabs(value)))) {
      fail_msg("%s by %zu at %.17g, %.17g: %.17g, differences give %.17g", e->text, k, values[0],
               n > 1 ? values[1] : 0, exact, difference);
    }
  }
}

static void test_gradients(void** state) {
  (void)state;
  static const struct {
    const char* text;
    double low, high;  // of all names
  } cases[] = {
      {"sin(x)", -5, 5},
      {"cos(x)", -5, 5},
      {"tan(x)", -1.2, 1.2},
      {"asin(x)", -0.9, 0.9},
      {"acos(x)", -0.9, 0.9},
      {"atan(x)", -5, 5},
      {"atan2(x, y)", 0.1, 3},
      {"atan2(x, -y)", 0.1, 3},
      {"sinh(x)", -3, 3},
      {"cosh(x)", -3, 3},
      {"tanh(x)", -3, 3},
      {"asinh(x)", -5, 5},
      {"acosh(x)", 1.2, 5},
      {"atanh(x)", -0.9, 0.9},
      {"exp(x)", -3, 3},
      {"log(x)", 0.2, 5},
      {"log10(x)", 0.2, 5},
      {"log2(x)", 0.2, 5},
      {"sqrt(x)", 0.2, 5},
      {"cbrt(x)", 0.2, 5},
      {"cbrt(-x)", 0.2, 5},
      {"hypot(x, y)", 0.2, 5},
      {"x^y", 0.2, 3},
      {"pow(x, -y)", 0.2, 3},
      {"x^3", -3, 3},
      {"x^2 + y^-1", 0.3, 3},
      {"x/y", 0.3, 3},
      {"-x*y + (x - y)*(x + 2)", -3, 3},
      {"floor(x) + ceil(y)*x + round(x)*y + sign(x)", -3, 3},
      {"mod(x, y)*x", 0.3, 3},
      {"rem(-x, y)*x", 0.3, 3},
      {"fmod(x, 0.7)", -3, 3},
      {"x*sin(time*y) + time^2", -3, 3},
      {"exp(-time)*cos(3*time)", -3, 3},
      {"if x > y then x^2*y else sin(x) - y", -3, 3},
      {"if x > 0 and y > 0 then sqrt(x*y) else if x > 0 then log(x)*y else x", -3, 3},
      {"k*((left.y1 - a + w) - (right.y1 - b - w))", -3, 3},
      {"exp(sin(x*y)/(1 + x^2)) - tanh(x - y)^3", -2, 2},
      {"2", -1, 1},
      {"x", -1, 1},
      {"time", -1, 1},
      {"(x*x*y + y)*(x*x*y + y)", -1, 1},
  };
  cpl_context* ctx = test_context();
  uint64_t s = 123456789;
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpli_expr* e = parse(ctx, cases[i].text);
    for (int n = 0; n < 300; n++) {
      double values[8];
      for (int k = 0; k < 8; k++) values[k] = random_between(&s, cases[i].low, cases[i].high);
      check_gradient_at(ctx, e, random_between(&s, 0.1, 3), values);
    }
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

// abs, min, max away from their kinks.
static void test_gradients_beside_kinks(void** state) {
  (void)state;
  static const char* const texts[] = {"abs(x)*y", "min(x, y)*x", "max(x, y, x*y)",
                                      "abs(min(x, -y))"};
  cpl_context* ctx = test_context();
  uint64_t s = 987654321;
  for (size_t i = 0; i < CPLI_COUNT(texts); i++) {
    cpli_expr* e = parse(ctx, texts[i]);
    for (int n = 0; n < 300; n++) {
      double v[] = {random_between(&s, -3, 3), random_between(&s, -3, 3)};
      double d = 1e-3;
      if (fabs(v[0]) < d || fabs(v[1]) < d || fabs(v[0] - v[1]) < d || fabs(v[0] + v[1]) < d ||
          fabs(v[0] * v[1] - v[0]) < 3 * d || fabs(v[0] * v[1] - v[1]) < 3 * d) {
        continue;
      }
      check_gradient_at(ctx, e, 0, v);
    }
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

static void test_slopes_at_corners(void** state) {
  (void)state;
  static const struct {
    const char* text;
    double x, y, dx, dy;
  } cases[] = {
      {"abs(x)", 0, 0, 0, 0},
      {"min(x, y)", 2, 2, 1, 0},
      {"max(x, y)", 2, 2, 1, 0},
      {"sqrt(x)", 0, 0, 0, 0},
      {"cbrt(x)", 0, 0, 0, 0},
      {"asin(x)", 1, 0, 0, 0},
      {"acos(x)", -1, 0, 0, 0},
      {"acosh(x)", 1, 0, 0, 0},
      {"hypot(x, y)", 0, 0, 0, 0},
      {"atan2(x, y)", 0, 0, 0, 0},
      {"x^y", 0, 0, 0, 0},
      {"x^y", 0, 1, 1, 0},
      {"x^y", 0, 0.5, 0, 0},
      {"x^y", 0, 2, 0, 0},
      {"x^y", -2, 3, 12, 0},
      {"x^y", -2, 0, 0, 0},
      {"x^2", 0, 0, 0, 0},
      {"sqrt(x)*y", 0, 3, 0, 0},
      {"mod(x, y)", 7, 2, 1, -3},
      {"rem(x, y)", -7, 2, 1, 3},
      {"sign(x)*y", -1, 5, 0, -1},
      {"min(x, inf)", 3, 0, 1, 0},
      {"x*y", 0, 0, 0, 0},
      {"atan2(x, y)", 1e-200, 0, 0, -1e200},
      {"hypot(x, y)", 3e200, 4e200, 0.6, 0.8},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpli_expr* e = parse(ctx, cases[i].text);
    const double v[] = {cases[i].x, cases[i].y};
    double g[2] = {0};
    CHECK_OK(ctx, cpli_expr_gradient(e, ctx, 0, v, NULL, NULL, g, NULL));
    double tol = 1e-14 * fmax(fabs(cases[i].dx), fabs(cases[i].dy));
    if (!(fabs(g[0] - cases[i].dx) <= tol && fabs(g[1] - cases[i].dy) <= tol)) {
      fail_msg("%s at %g, %g: %.17g, %.17g", cases[i].text, v[0], v[1], g[0], g[1]);
    }
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

//------------------------------------ failures ------------------------------------

static void test_failures(void** state) {
  (void)state;
  static const struct {
    const char* text;
    double x, y;
    const char* message;
  } cases[] = {
      {"x/(y - 1)", 1, 1, "11: x/(y - 1): division by zero at t=1.5"},
      {"0/x", 0, 0, "11: 0/x: division by zero at t=1.5"},
      {"1/(1/x)", 0, 0, "14: 1/(1/x): division by zero at t=1.5"},
      {"atan(1/x)", 0, 0, "16: atan(1/x): division by zero at t=1.5"},
      {"x^-1", 0, 0, "11: x^-1: division by zero at t=1.5"},
      {"x^-2", 0, 0, "11: x^-2: division by zero in ^ at t=1.5"},
      {"x^y", -2, 0.5, "11: x^y: -2 ^ 0.5 has no value at t=1.5"},
      {"2*sqrt(x)", -0.25, 0, "12: 2*sqrt(x): sqrt of -0.25 has no value at t=1.5"},
      {"log(x)", 0, 0, "10: log(x): log of 0 has no value at t=1.5"},
      {"log(x)", -1, 0, "10: log(x): log of -1 has no value at t=1.5"},
      {"log10(x)", 0, 0, "10: log10(x): log10 of 0 has no value"},
      {"log2(x)", -3, 0, "10: log2(x): log2 of -3 has no value"},
      {"asin(x)", 1.5, 0, "10: asin(x): asin of 1.5 has no value"},
      {"acos(x)", -1.5, 0, "10: acos(x): acos of -1.5 has no value"},
      {"acosh(x)", 0.5, 0, "10: acosh(x): acosh of 0.5 has no value"},
      {"atanh(x)", 1, 0, "10: atanh(x): atanh of 1 has no value"},
      {"mod(x, y)", 1, 0, "10: mod(x, y): division by zero in mod"},
      {"rem(x, y)", 1, 0, "10: rem(x, y): division by zero in rem"},
      {"exp(x)", 1000, 0, "10: exp(x): exp of 1000 is too large"},
      {"x*y", 1e200, 1e200, "11: x*y: 1e200 * 1e200 is too large"},
      {"x + y", 1.7e308, 1.7e308, "12: x + y: 1.7e308 + 1.7e308 is too large"},
      {"if x*y > 0 then 1 else 2", 1e200, 1e200, "14: if x*y > 0 then 1 else 2: 1e200 * 1e200"},
      {"x - y", INFINITY, INFINITY, "12: x - y: inf - inf has no value"},
      {"sin(x)", INFINITY, 0, "10: sin(x): sin of inf has no value"},
      {"x + y", 1, NAN, "10: x + y: y is not a number at t=1.5"},
      {"if x > 0 then 1 else 2", NAN, 0, "10: if x > 0 then 1 else 2: x is not a number at t=1.5"},
      {"x", NAN, 0, "10: x: x is not a number at t=1.5"},
      {"1/0", 0, 0, "11: 1/0: division by zero"},
      {"1 +\nlog(0)", 0, 0, "13:1: 1 + log(0): log of 0 has no value"},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpli_expr* e = parse(ctx, cases[i].text);
    const double v[] = {cases[i].x, cases[i].y};
    double out = 42, g[2];
    char message[200];
    snprintf(message, sizeof message, "system.yaml:%s%s",
             strncmp(cases[i].message, "13:", 3) == 0 ? "" : "12:", cases[i].message);
    CHECK_INT(cpli_expr_value(e, ctx, 1.5, v, NULL, &out), CPL_RETRY);
    if (strncmp(cpl_context_error(ctx), message, strlen(message)) != 0) {
      fail_msg("%s, expected %s", cpl_context_error(ctx), message);
    }
    CHECK_INT(cpli_expr_value(e, NULL, 1.5, v, NULL, &out), CPL_RETRY);
    CHECK_INT(cpli_expr_gradient(e, ctx, 1.5, v, NULL, &out, g, NULL), CPL_RETRY);
    CHECK_NEAR(out, 42, 0);
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

static void test_derivative_that_overflows(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_expr* e = parse(ctx, "y/x");
  const double v[] = {1e-300, 1e-200};  // y x
  double g[2], out;
  CHECK_INT(cpli_expr_value(e, ctx, 0, v, NULL, &out), CPL_OK);
  CHECK_INT(cpli_expr_gradient(e, ctx, 0, v, NULL, NULL, g, NULL), CPL_OK);
  const double tiny[] = {1, 1e-200};
  CHECK_INT(cpli_expr_value(e, ctx, 0, tiny, NULL, &out), CPL_OK);
  CHECK_INT(cpli_expr_gradient(e, ctx, 0, tiny, NULL, NULL, g, NULL), CPL_RETRY);
  CHECK_STR(cpl_context_error(ctx),
            "system.yaml:12:10: y/x: the derivative by x is not finite at t=0");
  cpli_expr_destroy(e);
  cpl_context_destroy(ctx);
}

//------------------------------------ speed ------------------------------------

static void measure(cpl_context* ctx, const char* text) {
  cpli_expr* e = parse(ctx, text);
  enum { ROUNDS = 300000 };
  double v[8] = {1.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}, frozen[8] = {0}, g[8], out = 0, sum = 0;
  CHECK_INT(cpli_expr_settle(e, ctx, 0, v, frozen), CPL_OK);
  double best_value = INFINITY, best_gradient = INFINITY;
  for (int repeat = 0; repeat < 5; repeat++) {
    double begin = cpli_now();
    for (int i = 0; i < ROUNDS; i++) {
      v[1] = 1e-6 * i;
      cpli_expr_value(e, ctx, 0, v, frozen, &out);
      sum += out;
    }
    double middle = cpli_now();
    for (int i = 0; i < ROUNDS; i++) {
      v[1] = 1e-6 * i;
      cpli_expr_gradient(e, ctx, 0, v, frozen, &out, g, NULL);
      sum += g[0];
    }
    best_value = fmin(best_value, middle - begin);
    best_gradient = fmin(best_gradient, cpli_now() - middle);
  }
  CHECK(isfinite(sum));
  printf("%-44s value %6.1f ns, gradient %6.1f ns\n", text, best_value / ROUNDS * 1e9,
         best_gradient / ROUNDS * 1e9);
  cpli_expr_destroy(e);
}

static void test_speed(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  measure(ctx, "x");
  measure(ctx, "k*((a - b + w) - (c - d - w2))");
  measure(ctx, "if x > 0 then k*x else 0");
  measure(ctx, "x*sin(y) + k^3");
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_values),
      cmocka_unit_test(test_branches),
      cmocka_unit_test(test_gradients),
      cmocka_unit_test(test_gradients_beside_kinks),
      cmocka_unit_test(test_slopes_at_corners),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_derivative_that_overflows),
      cmocka_unit_test(test_speed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
