// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Random systems with and without nodes replaced have the same solution, by Gaussian elimination of
// the whole; which nodes of a plate, of a loop and of a wide coupling go.
#include "numeric/substitute.h"

#include <stdlib.h>

#include "testing.h"

enum { MAX = 40, MAX_TERMS = 400 };

typedef struct problem {
  int32_t n, n_states;
  cpli_term terms[MAX_TERMS];
  double values[MAX_TERMS];
  size_t n_terms;
  bool may_go[MAX];
} problem;

static void add(problem* p, int32_t row, int32_t column, double value) {
  assert_true(p->n_terms < MAX_TERMS);
  p->values[p->n_terms] = value;
  p->terms[p->n_terms++] = (cpli_term){.row = row, .column = column, .owner = 0, .weight = 1};
}

static cpli_substitution* make(cpl_context* ctx, const problem* p) {
  cpli_substitution* s = NULL;
  CHECK_OK(ctx, cpli_substitution_make(ctx, p->n, p->terms, p->n_terms, p->may_go, &s));
  return s;
}

// Gaussian elimination with exchanges of rows; b becomes the solution.
static void solve_dense(double m[MAX][MAX], double* b, int32_t n) {
  for (int32_t k = 0; k < n; k++) {
    int32_t best = k;
    for (int32_t i = k; i < n; i++) best = fabs(m[i][k]) > fabs(m[best][k]) ? i : best;
    for (int32_t j = 0; j < n; j++) {
      double kept = m[k][j];
      m[k][j] = m[best][j], m[best][j] = kept;
    }
    double kept = b[k];
    b[k] = b[best], b[best] = kept;
    for (int32_t i = k + 1; i < n; i++) {
      double factor = m[i][k] / m[k][k];
      for (int32_t j = k; j < n; j++) m[i][j] -= factor * m[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (int32_t k = n - 1; k >= 0; k--) {
    for (int32_t j = k + 1; j < n; j++) b[k] -= m[k][j] * b[j];
    b[k] /= m[k][k];
  }
}

// Rows of states: x - gamma times the sum of the terms; of nodes: node - the sum.
static void compare(cpl_context* ctx, const problem* p, double gamma) {
  static double whole[MAX][MAX], rest[MAX][MAX];
  double b[MAX] = {0}, r[MAX] = {0};
  cpli_substitution* s = make(ctx, p);
  cpli_substitution_refresh(s, p->values);
  const cpli_substituted* left = cpli_substitution_rest(s);
  memset(whole, 0, sizeof whole);
  memset(rest, 0, sizeof rest);
  for (int32_t i = 0; i < p->n; i++) {
    whole[i][i] = 1;
    b[i] = i < p->n_states ? 1 + 0.1 * i : 0;
    assert_true(p->may_go[i] || left->place[i] >= 0);
    if (left->place[i] < 0) continue;
    rest[left->place[i]][left->place[i]] = 1;
    r[left->place[i]] = b[i];
  }
  for (size_t i = 0; i < p->n_terms; i++)
    whole[p->terms[i].row][p->terms[i].column] -=
        (p->terms[i].row < p->n_states ? gamma : 1) * p->values[i];
  for (size_t i = 0; i < left->n_entries; i++)
    rest[left->row[i]][left->column[i]] -=
        (left->row[i] < p->n_states ? gamma : 1) * left->values[i];
  solve_dense(whole, b, p->n);
  solve_dense(rest, r, left->n);
  for (int32_t i = 0; i < p->n; i++) {
    if (left->place[i] >= 0) CHECK_NEAR(r[left->place[i]], b[i], 1e-9 * (1 + fabs(b[i])));
  }
  cpli_substitution_destroy(s);
}

static double uniform(void) { return 2.0 * rand() / RAND_MAX - 1; }

static void random_systems_keep_their_solution(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  srand(7);
  int gone = 0;
  for (int trial = 0; trial < 300; trial++) {
    problem p = {.n = 4 + rand() % (MAX - 4)};
    p.n_states = 1 + rand() % (p.n / 2);
    for (int32_t i = p.n_states; i < p.n; i++) p.may_go[i] = rand() % 8 > 0;
    size_t n_terms = (size_t)(p.n + rand() % (3 * p.n));
    for (size_t i = 0; i < n_terms; i++)  // positions may repeat; nodes may depend on themselves
      add(&p, rand() % p.n, rand() % p.n, 0.4 * uniform());
    compare(ctx, &p, 0.3);
    cpli_substitution* s = make(ctx, &p);
    gone += p.n - cpli_substitution_rest(s)->n;
    cpli_substitution_destroy(s);
  }
  assert_true(gone > 500);
  cpl_context_destroy(ctx);
}

// Cells in a row: flow i from cell i - 1 to cell i, from their outputs.
static void only_the_states_of_a_plate_are_left(void** state) {
  (void)state;
  enum { CELLS = 8 };
  cpl_context* ctx = test_context();
  problem p = {.n = 3 * CELLS, .n_states = CELLS};
  for (int32_t i = 0; i < CELLS; i++) {
    int32_t output = CELLS + i, flow = 2 * CELLS + i;
    p.may_go[output] = p.may_go[flow] = true;
    add(&p, output, i, 1);
    if (i == 0) continue;
    add(&p, flow, output - 1, 5);
    add(&p, flow, output, -5);
    add(&p, i, flow, 1);
    add(&p, i - 1, flow, -1);
  }
  cpli_substitution* s = make(ctx, &p);
  CHECK_INT(cpli_substitution_rest(s)->n, CELLS);
  CHECK_INT((int)cpli_substitution_rest(s)->n_entries, 3 * CELLS - 2);
  cpli_substitution_destroy(s);
  compare(ctx, &p, 0.7);
  cpl_context_destroy(ctx);
}

// One node of a loop stays, and so does a node that many states influence and many read.
static void loops_and_wide_couplings_stay(void** state) {
  (void)state;
  enum { STATES = 12 };
  cpl_context* ctx = test_context();
  problem p = {.n = STATES + 4, .n_states = STATES};
  for (int32_t i = 0; i < 4; i++) p.may_go[STATES + i] = true;
  for (int32_t i = 0; i < STATES; i++) {
    add(&p, STATES, i, 0.1);  // wide
    add(&p, i, STATES, 0.2);
  }
  for (int32_t i = 1; i < 4; i++) {
    add(&p, STATES + i, STATES + 1 + i % 3, 0.5);  // a loop of three
    add(&p, STATES + i, i, 0.3);
    if (i == 1) add(&p, i, STATES + i, 1);
  }
  cpli_substitution* s = make(ctx, &p);
  const cpli_substituted* rest = cpli_substitution_rest(s);
  assert_true(rest->place[STATES] >= 0);
  CHECK_INT((rest->place[STATES + 1] >= 0) + (rest->place[STATES + 2] >= 0) +
                (rest->place[STATES + 3] >= 0),
            1);
  cpli_substitution_destroy(s);
  compare(ctx, &p, 0.7);
  cpl_context_destroy(ctx);
}

static void survives_failed_allocations(void** state) {
  (void)state;
  static problem p = {.n = 20, .n_states = 10};
  for (int32_t i = 0; i < 10; i++) {
    p.may_go[10 + i] = true;
    add(&p, 10 + i, i, 1);
    add(&p, 9 - i, 10 + i, 1);
  }
  for (long n = 0; n < 100; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpli_substitution* s = NULL;
    cpl_status st = ctx != NULL ? cpli_substitution_make(ctx, p.n, p.terms, p.n_terms, p.may_go, &s)
                                : CPL_ERR_NOMEM;
    cpli_substitution_destroy(s);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st >= 0) return;
  }
  fail_msg("never enough memory");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_systems_keep_their_solution),
      cmocka_unit_test(only_the_states_of_a_plate_are_left),
      cmocka_unit_test(loops_and_wide_couplings_stay),
      cmocka_unit_test(survives_failed_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
