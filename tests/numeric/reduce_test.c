// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reduction of systems with known Hankel singular values, against their transfer functions.
#include "numeric/reduce.h"

#include <complex.h>

#include "numeric/eigen.h"
#include "numeric/lu.h"
#include "numeric/matrix.h"
#include "testing.h"

static cpl_context* ctx;
enum { MAX = 64 };

typedef struct plant {
  cpli_state_space s;
  double a[MAX * MAX], b[MAX], c[MAX], d;
} plant;

static void begin(plant* p, int n) {
  memset(p, 0, sizeof *p);
  p->s = (cpli_state_space){.n = n, .m = 1, .p = 1, .a = p->a, .b = p->b, .c = p->c, .d = &p->d};
}

// c (s I - a)^-1 b + d by elimination in complex numbers.
static double complex response(const cpli_state_space* s, double complex at) {
  int n = s->n;
  double complex m[MAX * MAX], v[MAX], sum = s->d[0];
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) m[j * n + i] = (i == j ? at : 0) - s->a[j * n + i];
    v[j] = s->b[j];
  }
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int i = k; i < n; i++) best = cabs(m[k * n + i]) > cabs(m[k * n + best]) ? i : best;
    for (int j = k; j < n; j++) {
      double complex x = m[j * n + k];
      m[j * n + k] = m[j * n + best], m[j * n + best] = x;
    }
    double complex x = v[k];
    v[k] = v[best], v[best] = x;
    for (int i = k + 1; i < n; i++) {
      double complex times = m[k * n + i] / m[k * n + k];
      for (int j = k; j < n; j++) m[j * n + i] -= times * m[j * n + k];
      v[i] -= times * v[k];
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    for (int j = k + 1; j < n; j++) v[k] -= m[j * n + k] * v[j];
    v[k] /= m[k * n + k];
    sum += s->c[k] * v[k];
  }
  return sum;
}

static double largest_error(const cpli_state_space* x, const cpli_state_space* y) {
  double most = 0;
  for (double w = 1e-6; w < 1e9; w *= 1.4)
    most = fmax(most, cabs(response(x, w * I) - response(y, w * I)));
  return most;
}

// x -> T x with T of deterministic entries, and states in units between 1e-4 and 1e4.
static void mix(plant* p) {
  int n = p->s.n;
  static double t[MAX * MAX], lu[MAX * MAX], room[MAX * MAX];
  int32_t pivot[MAX];
  unsigned seed = 7;
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) {
      seed = seed * 1103515245u + 12345u;
      double unit = pow(10, (i * 5) % 9 - 4);
      t[j * n + i] = unit * ((i == j ? 2 : 0) + (double)(seed >> 16 & 1023) / 1024 - 0.5);
    }
  }
  memcpy(lu, t, sizeof lu);
  CHECK_INT(cpli_lu_factor(lu, pivot, n), -1);
  cpli_multiply(n, n, n, t, p->a, room);  // T A T^-1: solve T' X' = (T A)'
  cpli_transpose(n, n, room, p->a);
  cpli_transpose(n, n, t, lu);
  CHECK_INT(cpli_lu_factor(lu, pivot, n), -1);
  for (int j = 0; j < n; j++) cpli_lu_solve(lu, pivot, n, p->a + j * n);
  memcpy(room, p->a, sizeof room);
  cpli_transpose(n, n, room, p->a);
  cpli_lu_solve(lu, pivot, n, p->c);
  memcpy(room, p->b, sizeof p->b);
  cpli_multiply(n, n, 1, t, room, p->b);
}

// a_ij = -b_i b_j / (s_i + s_j), c = b': both Gramians are diag(s).
static void balanced(plant* p, int n, const double* sigma) {
  begin(p, n);
  for (int i = 0; i < n; i++) p->b[i] = p->c[i] = 1 + 0.3 * i;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) p->a[j * n + i] = -p->b[i] * p->b[j] / (sigma[i] + sigma[j]);
  }
  p->d = 0.25;
}

static const double sigma[6] = {8, 3, 0.5, 2e-2, 1e-3, 4e-5};

static void known_singular_values(void** state) {
  (void)state;
  static plant p;
  for (int mixed = 0; mixed < 2; mixed++) {
    balanced(&p, 6, sigma);
    if (mixed) mix(&p);
    for (int order = 0; order < 6; order++) {
      cpli_balanced r;
      double bound = 0;
      CHECK_OK(ctx, cpli_reduce(ctx, &p.s, order, &r));
      CHECK_INT(r.s.n, order);
      CHECK_INT(r.kept, 0);
      CHECK_INT(r.n_hankel, 6);
      for (int i = 0; i < 6; i++) CHECK_NEAR(r.hankel[i] / sigma[i], 1, mixed ? 1e-6 : 1e-9);
      for (int i = order; i < 6; i++) bound += 2 * sigma[i];
      CHECK_NEAR(r.bound, bound, 1e-8);
      double most = largest_error(&p.s, &r.s);
      CHECK(most <= bound * (1 + 1e-6));
      CHECK(most >= 2 * sigma[order] * (1 - 1e-4));  // these systems reach it
      CHECK_NEAR(creal(response(&r.s, 0)), creal(response(&p.s, 0)), 1e-8);
      cpli_balanced_free(ctx, &r);
    }
  }
}

// An integrator chain, an unstable pole and a decaying part, mixed.
static void poles_that_do_not_decay_are_kept(void** state) {
  (void)state;
  static plant p, q;
  balanced(&q, 5, sigma);
  begin(&p, 8);
  for (int i = 0; i < 5; i++) {
    for (int j = 0; j < 5; j++) p.a[j * 8 + i] = q.a[j * 5 + i];
    p.b[i] = q.b[i];
    p.c[i] = q.c[i];
  }
  p.a[6 * 8 + 5] = 1;  // x5' = x6, x6' = u
  p.a[7 * 8 + 7] = 0.75;
  p.b[6] = p.b[7] = 1;
  p.c[5] = 2, p.c[7] = -1;
  mix(&p);
  cpli_balanced r;
  CHECK_OK(ctx, cpli_reduce(ctx, &p.s, 5, &r));
  CHECK_INT(r.kept, 3);
  CHECK_INT(r.s.n, 5);
  double copy[25], re[5], im[5], nearest = INFINITY;
  memcpy(copy, r.s.a, sizeof copy);
  CHECK(cpli_eigenvalues(5, copy, re, im));
  for (int i = 0; i < 5; i++) nearest = fmin(nearest, fabs(re[i] - 0.75) + fabs(im[i]));
  CHECK_NEAR(nearest, 0, 1e-8);
  for (double w = 0.01; w < 1e3; w *= 2) {
    double change = cabs(response(&p.s, w * I) - response(&r.s, w * I));
    CHECK(change <= r.bound + 1e-5 * cabs(response(&p.s, w * I)));
  }
  cpli_balanced_free(ctx, &r);
  CHECK_INT(cpli_reduce(ctx, &p.s, 2, &r), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_last_error(ctx)->message, "3 poles do not decay");
  cpli_balanced_free(ctx, &r);
}

// States that no input reaches, and those that no output shows.
static void states_without_influence_go(void** state) {
  (void)state;
  static plant p;
  begin(&p, 6);
  for (int i = 0; i < 6; i++) p.a[i * 6 + i] = -1 - i;
  p.b[0] = p.b[1] = p.b[2] = p.b[3] = 1;
  p.c[2] = p.c[3] = p.c[4] = 1;
  mix(&p);
  cpli_balanced r;
  CHECK_OK(ctx, cpli_reduce(ctx, &p.s, 5, &r));
  CHECK_INT(r.s.n, 2);
  CHECK_NEAR(largest_error(&p.s, &r.s), 0, 1e-9);
  cpli_balanced_free(ctx, &r);
  memset(p.b, 0, sizeof p.b);
  CHECK_OK(ctx, cpli_reduce(ctx, &p.s, 5, &r));
  CHECK_INT(r.s.n, 0);
  CHECK_INT(r.n_hankel, 0);
  cpli_balanced_free(ctx, &r);
}

// A rod of 60 cells, heated at one end, 1e6 times as fast in one variant.
static void a_long_chain(void** state) {
  (void)state;
  static plant p;
  for (double rate = 1; rate < 1e7; rate *= 1e6) {
    begin(&p, 60);
    for (int i = 0; i < 60; i++) {
      p.a[i * 60 + i] = -(i == 0 ? 1 : 2) * rate;
      if (i > 0) p.a[i * 60 + i - 1] = p.a[(i - 1) * 60 + i] = rate;
    }
    p.b[0] = rate;
    p.c[0] = 1;
    cpli_balanced r;
    CHECK_OK(ctx, cpli_reduce(ctx, &p.s, 8, &r));
    CHECK_INT(r.s.n, 8);
    CHECK(r.bound < 0.1 && r.bound > 0);
    CHECK(largest_error(&p.s, &r.s) <= r.bound * (1 + 1e-6));
    cpli_balanced_free(ctx, &r);
  }
}

// A column that is transformed, but has no influence on what is kept.
static void an_extra_column(void** state) {
  (void)state;
  static plant p;
  double b[12], d[2] = {0.25, 0};
  balanced(&p, 6, sigma);
  for (int i = 0; i < 6; i++) b[i] = p.b[i], b[6 + i] = 3 * p.b[i];
  cpli_state_space s = {.n = 6, .m = 2, .p = 1, .extra = 1, .a = p.a, .b = b, .c = p.c, .d = d};
  cpli_balanced one, two;
  CHECK_OK(ctx, cpli_reduce(ctx, &p.s, 3, &one));
  CHECK_OK(ctx, cpli_reduce(ctx, &s, 3, &two));
  for (int i = 0; i < 3; i++) {
    CHECK_NEAR(two.s.b[i], one.s.b[i], 0);
    CHECK_NEAR(two.s.b[3 + i], 3 * one.s.b[i], 1e-12);
  }
  CHECK_NEAR(two.s.d[1], 3 * (one.s.d[0] - 0.25), 1e-12);
  cpli_balanced_free(ctx, &one);
  cpli_balanced_free(ctx, &two);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  static plant p;
  balanced(&p, 6, sigma);
  p.a[0] = 1;  // one pole is kept
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* other = test_context_with_heap(&heap);
    if (other == NULL) continue;
    cpli_balanced r;
    cpl_status st = cpli_reduce(other, &p.s, 4, &r);
    cpli_balanced_free(other, &r);
    cpl_context_destroy(other);
    CHECK_INT(heap.live, 0);
    if (st >= 0) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_singular_values),
      cmocka_unit_test(poles_that_do_not_decay_are_kept),
      cmocka_unit_test(states_without_influence_go),
      cmocka_unit_test(a_long_chain),
      cmocka_unit_test(an_extra_column),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  ctx = cpl_context_create(NULL);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
