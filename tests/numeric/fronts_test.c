// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Factors by fronts: what solutions leave in the equations, with the products written out here, for
// plates and for patterns without symmetry, trees of several parts and pivots off the diagonal;
// matrices that have no such factors; and that all kernels compute the same bits.
#include "numeric/fronts.h"

#include <math.h>

#include "numeric/front_kernels.h"
#include "numeric/klu.h"
#include "numeric/sparse.h"
#include "testing.h"

enum { MOST = 4000, MOST_ENTRIES = 8 * MOST };

typedef struct matrix {
  int32_t n, n_entries, first[MOST + 1], row[MOST_ENTRIES];
  double entries[MOST_ENTRIES];
  int32_t rows[MOST], columns[MOST];  // pivots
} matrix;

static double random_number(uint64_t* seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(*seed >> 33) / (1u << 30) - 1;
}

static void put(matrix* m, int32_t row, double value) {
  CHECK(m->n < MOST && m->n_entries < MOST_ENTRIES);
  m->row[m->n_entries] = row;
  m->entries[m->n_entries++] = value;
}

// Row i is stored as row (i + shift) % n, so that pivots are off the diagonal. They are in an order
// that separates the plate again and again (red rows, then the rest), or as they come.
static void finish(matrix* m, int32_t shift, bool scattered) {
  for (int32_t k = 0; k < m->n_entries; k++) m->row[k] = (m->row[k] + shift) % m->n;
  for (int32_t k = 0, at = 0; k < m->n; k++) {
    const int32_t j = scattered ? (k < (m->n + 1) / 2 ? 2 * k : 2 * (k - (m->n + 1) / 2) + 1) : k;
    m->columns[at] = j;
    m->rows[at++] = (j + shift) % m->n;
  }
}

// A plate of side k, of which some couplings have one direction only, or none.
static void make_plate(matrix* m, int32_t k, double missing, uint64_t seed) {
  *m = (matrix){.n = 0};
  for (int32_t j = 0; j < k * k; j++) {
    const int32_t x = j % k, y = j / k, other[] = {j - 1, j + 1, j - k, j + k};
    const bool is[] = {x > 0, x<k - 1, y> 0, y < k - 1};
    put(m, j, 5 + random_number(&seed));
    for (int i = 0; i < 4; i++)
      if (is[i] && random_number(&seed) > 2 * missing - 1) put(m, other[i], -1 - 0.1 * i);
    m->first[++m->n] = m->n_entries;
  }
}

// What A x = b leaves at most.
static double residual(const matrix* m, const double* entries, const double* x, const double* b) {
  static double left[MOST];
  double most = 0;
  memcpy(left, b, (size_t)m->n * sizeof *b);
  for (int32_t j = 0; j < m->n; j++)
    for (int32_t k = m->first[j]; k < m->first[j + 1]; k++) left[m->row[k]] -= entries[k] * x[j];
  for (int32_t i = 0; i < m->n; i++) most = fmax(most, fabs(left[i]));
  return most;
}

static void check_solution(cpli_fronts* f, const matrix* m) {
  static double b[MOST], x[MOST];
  for (int32_t i = 0; i < m->n; i++) b[i] = x[i] = sin(1 + i);
  const double ratio = cpli_fronts_factor(f, m->entries);
  CHECK(ratio > 0.1 && ratio <= 1);
  cpli_fronts_solve(f, x);
  CHECK_NEAR(residual(m, m->entries, x, b), 0, 1e-13);
}

static void solutions_fulfil_the_equations(void** state) {
  static matrix m;
  for (int32_t k = 1; k < 64; k = 3 * k / 2 + 1) {
    for (int variant = 0; variant < 6; variant++) {
      cpli_fronts* f = NULL;
      make_plate(&m, k, variant % 3 * 0.35, (uint64_t)k);
      finish(&m, variant > 2 ? m.n / 3 : 0, variant % 2 == 1);
      CHECK_OK(*state, cpli_fronts_make(*state, m.n, m.first, m.row, m.rows, m.columns, 1e9, &f));
      CHECK(f != NULL);
      for (int pass = 0; pass < 2; pass++) {  // the second one finds what the first one has left
        check_solution(f, &m);
        for (int32_t i = 0; i < m.n_entries; i++) m.entries[i] *= 1 + 0.05 * cos(i);
      }
      cpli_fronts_destroy(f);
    }
  }
}

static void rows_of_any_unit(void** state) {
  static matrix m;
  static double b[MOST], x[MOST];
  cpli_fronts* f = NULL;
  make_plate(&m, 20, 0, 1);
  finish(&m, 0, false);
  CHECK_OK(*state, cpli_fronts_make(*state, m.n, m.first, m.row, m.rows, m.columns, 1e9, &f));
  const double before = cpli_fronts_factor(f, m.entries);
  for (int32_t k = 0; k < m.n_entries; k++) m.entries[k] *= ldexp(1, m.row[k] % 41 - 20);
  CHECK(cpli_fronts_factor(f, m.entries) == before);
  for (int32_t i = 0; i < m.n; i++) b[i] = x[i] = ldexp(sin(i), i % 41 - 20);
  cpli_fronts_solve(f, x);
  CHECK_NEAR(residual(&m, m.entries, x, b), 0, 1e-9);
  cpli_fronts_destroy(f);
}

static void matrices_without_factors(void** state) {
  static matrix m;
  cpli_fronts* f = NULL;
  make_plate(&m, 30, 0, 1);
  finish(&m, 0, false);
  CHECK_OK(*state, cpli_fronts_make(*state, m.n, m.first, m.row, m.rows, m.columns, 2e4, &f));
  CHECK(f == NULL);  // they would have 50,000 entries
  CHECK_OK(*state, cpli_fronts_make(*state, m.n, m.first, m.row, m.rows, m.columns, 1e9, &f));
  const double fine = m.entries[m.first[500]];
  m.entries[m.first[500]] = NAN;
  CHECK(cpli_fronts_factor(f, m.entries) == 0);
  m.entries[m.first[500]] = fine;
  for (int32_t k = 0; k < m.n_entries; k++)
    if (m.row[k] == 17) m.entries[k] = 0;
  CHECK(cpli_fronts_factor(f, m.entries) == 0);
  for (int32_t k = 0; k < m.n_entries; k++)
    if (m.row[k] == 17) m.entries[k] = 1;
  CHECK(cpli_fronts_factor(f, m.entries) > 0);
  cpli_fronts_destroy(f);
}

static void without_memory(void** state) {
  static matrix m;
  (void)state;
  make_plate(&m, 12, 0.2, 1);
  finish(&m, 0, true);
  cpl_status st = CPL_ERR_NOMEM;
  for (long fail_at = 0; st < 0; fail_at++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpli_fronts* f = NULL;
    const long live = heap.live;
    heap.calls = 0, heap.fail_at = fail_at;
    st = cpli_fronts_make(ctx, m.n, m.first, m.row, m.rows, m.columns, 1e9, &f);
    CHECK(st == CPL_OK || st == CPL_ERR_NOMEM);
    if (st == CPL_OK) check_solution(f, &m);
    CHECK((f != NULL) == (st == CPL_OK));
    cpli_fronts_destroy(f);
    CHECK(heap.live == live);
    cpl_context_destroy(ctx);
  }
}

static void kernels_compute_the_same_bits(void** state) {
  enum { SIZE = 61 };
  static double a[2][SIZE * SIZE], y[2][SIZE], x[SIZE];
  const cpli_front_kernels* kernels[] = {cpli_front_kernels_plain(), cpli_front_kernels_find()};
  uint64_t seed = 1;
  (void)state;
  for (int32_t s = 1; s <= SIZE; s++) {
    for (int32_t n = 1; n <= s; n += 7) {
      for (int32_t i = 0; i < s * s; i++) a[0][i] = a[1][i] = random_number(&seed);
      for (int32_t i = 0; i < s; i++) a[0][i * s + i] = a[1][i * s + i] = 9;
      for (int32_t i = 0; i < s; i++) x[i] = y[0][i] = y[1][i] = random_number(&seed);
      for (int k = 0; k < 2; k++) {
        kernels[k]->eliminate(a[k], s, n);
        kernels[k]->subtract(y[k], a[k], x, s, n);
        kernels[k]->subtract_transposed(y[k], a[k], x, s, n);
      }
      CHECK(memcmp(a[0], a[1], (size_t)(s * s) * sizeof **a) == 0);
      CHECK(memcmp(y[0], y[1], (size_t)s * sizeof **y) == 0);
    }
  }
}

// Of large matrices KLU chooses the pivots, and fronts use them again.
static void large_matrices_are_refactorised_by_fronts(void** state) {
  static matrix m;
  static double b[MOST], x[MOST], again[MOST], last[MOST_ENTRIES];
  cpli_sparse* s = NULL;
  if (cpli_klu_load() == NULL) return;
  make_plate(&m, 63, 0, 1);
  finish(&m, 0, false);
  CHECK_OK(*state, cpli_sparse_make(*state, m.n, m.first, m.row, false, &s));
  for (int32_t pass = 0; pass < 3; pass++) {
    for (int32_t k = 0; k < m.n_entries; k++) last[k] = m.entries[k] * (1 + 0.01 * pass * cos(k));
    CHECK(cpli_sparse_factor(s, last));
    CHECK(cpli_sparse_has_fronts(s) == (pass > 0));
    for (int32_t i = 0; i < m.n; i++) b[i] = x[i] = again[i] = sin(1 + i);
    cpli_sparse_solve(s, x);
    CHECK_NEAR(residual(&m, last, x, b), 0, 1e-13);
  }
  CHECK(cpli_sparse_repeat(s, false, last));  // as after a state was restored
  cpli_sparse_solve(s, again);
  CHECK(memcmp(x, again, (size_t)m.n * sizeof *x) == 0);
  for (int32_t k = m.first[70]; k < m.first[71]; k++) last[k] *= m.row[k] == 70 ? 1e-17 : 1;
  for (int32_t k = 0; k < m.n_entries; k++) last[k] *= m.row[k] == 70 && last[k] < 0 ? 1e3 : 1;
  CHECK(cpli_sparse_factor(s, last));
  for (int32_t i = 0; i < m.n; i++) x[i] = b[i];
  cpli_sparse_solve(s, x);
  CHECK_NEAR(residual(&m, last, x, b), 0, 1e-10);
  cpli_sparse_destroy(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solutions_fulfil_the_equations),
      cmocka_unit_test(rows_of_any_unit),
      cmocka_unit_test(matrices_without_factors),
      cmocka_unit_test(without_memory),
      cmocka_unit_test(kernels_compute_the_same_bits),
      cmocka_unit_test(large_matrices_are_refactorised_by_fronts),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
