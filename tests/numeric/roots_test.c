// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Loops s = f(s) whose only solution is known, from bad start values and in units of any size.
#include "numeric/roots.h"

#include <math.h>

#include "testing.h"

static cpl_context* ctx;

typedef struct problem {
  const char* name;
  int32_t n;
  void (*image)(const double* s, double* f);
  double solution[3];
} problem;

typedef struct scaled {  // the same problem in other units
  const problem* p;
  double unit[3];
} scaled;

static cpl_status image(void* user, const double* s, double* f) {
  const scaled* k = user;
  double at[3], out[3];
  for (int32_t i = 0; i < k->p->n; i++) at[i] = s[i] / k->unit[i];
  k->p->image(at, out);
  for (int32_t i = 0; i < k->p->n; i++) f[i] = out[i] * k->unit[i];
  return CPL_OK;
}

static double clip(double x, double low, double high) { return fmin(fmax(x, low), high); }

// one unknown
static void cubic(const double* s, double* f) { f[0] = s[0] - (s[0] * s[0] * s[0] + s[0] - 10); }
static void exponential(const double* s, double* f) { f[0] = 3 - exp(s[0]); }
static void diode(const double* s, double* f) { f[0] = 5 - 1e-3 * (exp(4 * s[0]) - 1); }
static void absolute(const double* s, double* f) { f[0] = 7 - 3 * fabs(s[0] - 1) - 4 * s[0]; }
static void saturated(const double* s, double* f) { f[0] = 4 + 2 * clip(-6 * s[0], -1, 1); }
static void steep(const double* s, double* f) { f[0] = 2 - 9 * tanh(40 * (s[0] - 1.25)); }
static void dead_zone(const double* s, double* f) {
  double over = s[0] - clip(s[0], -2, 2);
  f[0] = s[0] - (0.01 * s[0] + 5 * over - 3);
}
static void waves(const double* s, double* f) { f[0] = 0.9 * sin(s[0]) + 11; }
static void root3(const double* s, double* f) { f[0] = s[0] - cbrt(s[0] - 2); }
static void at_zero(const double* s, double* f) { f[0] = s[0] - atan(s[0]); }

// several
static void rotation(const double* s, double* f) {  // plain iteration runs around
  f[0] = 1 - 3 * atan(s[1]);
  f[1] = -1 + 3 * atan(s[0]);
}
static void mixed(const double* s, double* f) {
  f[0] = 0.8 * sin(s[1]) - 0.3 * s[0];
  f[1] = 0.5 * cos(s[0]) + clip(s[1], -0.2, 0.2) - 3;
}
static void resistors(const double* s, double* f) {  // nodes with a diode between them
  double current = 1e-6 * expm1(clip((s[0] - s[1]) / 0.05, -700, 300));
  f[0] = 10 - 100 * current;
  f[1] = 50 * current;
}
static void piecewise(const double* s, double* f) {
  f[0] = 3 - 2 * fabs(s[1]);
  f[1] = 1 + 2 * fabs(s[0]) - 5 * fmax(s[1], 0);
}
static void three(const double* s, double* f) {
  f[0] = 2 - s[1] * s[1] * s[1];
  f[1] = s[0] + 0.5 * sin(s[2]);
  f[2] = -1 - 4 * s[1] - 2 * clip(s[2], -1, 1);
}

// The only solutions, from bisection of what is left when all but one unknown are eliminated.
static const problem problems[] = {
    {"cubic", 1, cubic, {2}},
    {"exponential", 1, exponential, {0.792059968430677}},
    {"diode", 1, diode, {2.001546357937964}},
    {"absolute", 1, absolute, {1.25}},
    {"saturated", 1, saturated, {2}},
    {"steep", 1, steep, {1.25208235141208}},
    {"dead_zone", 1, dead_zone, {13 / 5.01}},
    {"waves", 1, waves, {10.305767761484764}},
    {"root3", 1, root3, {2}},
    {"at_zero", 1, at_zero, {0}},
    {"rotation", 2, rotation, {0.4209997881305118, 0.1954326769140029}},
    {"mixed", 2, mixed, {-0.2540413676260177, -2.716047669181604}},
    {"resistors", 2, resistors, {3.7016879307036827, 3.1491560346481586}},
    {"piecewise", 2, piecewise, {1.6, 0.7}},
    {"three", 3, three, {1.1052094194415272, 0.9636229495104918, -2.854491798041967}},
};

static void check_solution(const problem* p, double unit, double start) {
  const double nominal[] = {1, 1, 1};
  scaled k = {p, {unit, p->n > 1 ? 1 / unit : 1, 1}};
  double s[3];
  for (int32_t i = 0; i < p->n; i++) s[i] = start * k.unit[i];
  cpli_roots roots = {.n = p->n, .user = &k, .image = image, .nominal = nominal};
  cpl_status st = cpli_roots_solve(ctx, &roots, s);
  if (st != CPL_OK) fail_msg("%s in units of %g from %g: no solution", p->name, unit, start);
  for (int32_t i = 0; i < p->n; i++) {
    double off = fabs(s[i] / k.unit[i] - p->solution[i]);
    if (!(off <= 1e-11 * fabs(p->solution[i]) + 1e-14))
      fail_msg("%s in units of %g from %g: %.17g", p->name, unit, start, s[i] / k.unit[i]);
  }
}

static void finds_the_only_solution_from_bad_starts(void** state) {
  (void)state;
  const double starts[] = {0, 1, -1, 30, -30, 1e4, -1e4, 1e-6};
  for (size_t i = 0; i < CPLI_COUNT(problems); i++) {
    for (size_t j = 0; j < CPLI_COUNT(starts); j++) check_solution(&problems[i], 1, starts[j]);
  }
}

// Zero says nothing of the units of a value that nothing else leads to.
static void sizes_of_the_values_do_not_matter(void** state) {
  (void)state;
  const double starts[] = {1, -1, 30, -30, 1e4};
  for (size_t i = 0; i < CPLI_COUNT(problems); i++) {
    for (size_t j = 0; j < CPLI_COUNT(starts); j++) {
      check_solution(&problems[i], 1e-12, starts[j]);
      check_solution(&problems[i], 1e12, starts[j]);
    }
  }
}

static void beyond_reach(const double* s, double* f) { f[0] = s[0] * s[0] + s[0] + 1; }
static void relay(const double* s, double* f) { f[0] = s[0] < 1 ? 2 : 0; }
static void apart(const double* s, double* f) {
  f[0] = s[0] + sqrt(1 + s[1] * s[1]);
  f[1] = s[0];
}

static void says_so_when_there_is_none(void** state) {
  (void)state;
  const problem none[] = {
      {"beyond_reach", 1, beyond_reach, {0}}, {"relay", 1, relay, {0}}, {"apart", 2, apart, {0}}};
  const double units[] = {1, 1e-12, 1e12}, nominal[] = {1, 1};
  for (size_t i = 0; i < CPLI_COUNT(none); i++) {
    for (size_t u = 0; u < CPLI_COUNT(units); u++) {
      scaled k = {&none[i], {units[u], units[u]}};
      double s[] = {5 * units[u], 5 * units[u]};
      cpli_roots roots = {.n = none[i].n, .user = &k, .image = image, .nominal = nominal};
      if (cpli_roots_solve(ctx, &roots, s) != CPL_RETRY)
        fail_msg("%s in units of %g: %g", none[i].name, units[u], s[0]);
      CHECK_NEAR(s[0], 5 * units[u], 0);  // untouched
    }
  }
}

// The sum is rounded to the size of the 3 in it: nothing below 4e-16 comes back.
static void hidden(const double* s, double* f) { f[0] = 3 - (3 + 0.4 * s[0]); }

static void what_rounding_hides_counts_as_solved(void** state) {
  (void)state;
  const problem p = {"hidden", 1, hidden, {0}};
  const double nominal[] = {1}, starts[] = {1e-17, 3e-16, 1e-9, 2};
  for (size_t j = 0; j < CPLI_COUNT(starts); j++) {
    scaled k = {&p, {1}};
    double s[] = {starts[j]};
    cpli_roots roots = {.n = 1, .user = &k, .image = image, .nominal = nominal};
    CHECK_INT(cpli_roots_solve(ctx, &roots, s), CPL_OK);
    CHECK_NEAR(s[0], 0, 1e-15);
  }
}

// The solution at -1 vanishes in favour of one far away.
static void two_branches(const double* s, double* f) {
  double x = s[0];
  f[0] = x - ((x + 1) * (x + 1) + 0.01) * (500 - x);
}

static void what_is_far_is_no_solution_nearby(void** state) {
  (void)state;
  const problem p = {"two_branches", 1, two_branches, {500}};
  const double nominal[] = {1};
  scaled k = {&p, {1}};
  double s[] = {-1.01};
  cpli_roots roots = {.n = 1, .user = &k, .image = image, .nominal = nominal, .near_only = true};
  CHECK_INT(cpli_roots_solve(ctx, &roots, s), CPL_RETRY);
  roots.near_only = false;
  CHECK_INT(cpli_roots_solve(ctx, &roots, s), CPL_OK);
  CHECK_NEAR(s[0], 500, 1e-6);
}

static cpl_status broken(void* user, const double* s, double* f) {
  (void)user, (void)s, (void)f;
  return cpl_fail(ctx, CPL_ERR_MODEL, "broken");
}

static void failures_are_handed_on(void** state) {
  (void)state;
  double s[] = {3}, nominal[] = {1};
  cpli_roots roots = {.n = 1, .image = broken, .nominal = nominal};
  CHECK_INT(cpli_roots_solve(ctx, &roots, s), CPL_ERR_MODEL);
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_the_only_solution_from_bad_starts),
      cmocka_unit_test(sizes_of_the_values_do_not_matter),
      cmocka_unit_test(says_so_when_there_is_none),
      cmocka_unit_test(what_rounding_hides_counts_as_solved),
      cmocka_unit_test(what_is_far_is_no_solution_nearby),
      cmocka_unit_test(failures_are_handed_on),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
