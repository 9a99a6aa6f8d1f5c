// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sparse linear systems with KLU and without it: what a solution leaves when it is put into the
// equations, with the products written out here.
#include "numeric/sparse.h"

#include <math.h>

#include "numeric/klu.h"
#include "testing.h"

enum { N = 70, MAX_ENTRIES = 5 * N };

typedef struct matrix {
  int32_t first[N + 1], row[MAX_ENTRIES];
  double entries[2 * MAX_ENTRIES];  // complex
} matrix;

static double random_number(uint64_t* seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(*seed >> 33) / (1u << 30) - 1;
}

// A permutation, so that no pivot is on the diagonal, and a few entries around it.
static matrix make_matrix(uint64_t seed) {
  matrix m = {0};
  int32_t n = 0;
  for (int32_t j = 0; j < N; j++) {
    m.first[j] = n;
    for (int32_t i = 0; i < N; i++) {
      if (i == (j * 3 + 1) % N || i == (j * 11 + 5) % N || i == (j * 29 + 2) % N) m.row[n++] = i;
    }
  }
  m.first[N] = n;
  for (int32_t k = 0; k < 2 * n; k++) m.entries[k] = random_number(&seed);
  for (int32_t j = 0; j < N; j++) {
    for (int32_t k = m.first[j]; k < m.first[j + 1]; k++) {
      if (m.row[k] == (j * 3 + 1) % N) m.entries[2 * k] += 3;
    }
  }
  return m;
}

// What A x = b leaves at most, relative to the largest value (pivots chosen for another matrix cost
// some digits); x and b are complex, A is transposed
// with `by_rows`.
static double residual(const matrix* m, bool by_rows, const double* x, const double* b) {
  double left[2 * N], most = 0, largest = 1;
  memcpy(left, b, sizeof left);
  for (int32_t j = 0; j < N; j++) {
    for (int32_t k = m->first[j]; k < m->first[j + 1]; k++) {
      int32_t row = by_rows ? j : m->row[k], column = by_rows ? m->row[k] : j;
      double re = m->entries[2 * k], im = m->entries[2 * k + 1];
      left[2 * row] -= re * x[2 * column] - im * x[2 * column + 1];
      left[2 * row + 1] -= re * x[2 * column + 1] + im * x[2 * column];
    }
  }
  for (int i = 0; i < 2 * N; i++)
    most = fmax(most, fabs(left[i])), largest = fmax(largest, fabs(x[i]));
  return most / largest;
}

static void solve_real(cpli_sparse* s, matrix* m, bool by_rows) {
  double entries[MAX_ENTRIES], b[2 * N] = {0}, x[2 * N] = {0}, solution[N];
  for (int32_t k = 0; k < m->first[N]; k++)
    entries[k] = m->entries[2 * k], m->entries[2 * k + 1] = 0;
  for (int i = 0; i < N; i++) solution[i] = b[2 * i] = sin(1 + i);
  CHECK(cpli_sparse_factor(s, entries));
  cpli_sparse_solve(s, solution);
  for (int i = 0; i < N; i++) x[2 * i] = solution[i];
  CHECK_NEAR(residual(m, by_rows, x, b), 0, 1e-8);
}

static void solve_complex(cpli_sparse* s, const matrix* m) {
  double b[2 * N], x[2 * N];
  for (int i = 0; i < 2 * N; i++) x[i] = b[i] = cos(2 + i);
  CHECK(cpli_sparse_factor_complex(s, m->entries));
  cpli_sparse_solve_complex(s, x);
  CHECK_NEAR(residual(m, false, x, b), 0, 1e-8);
}

static void both(cpl_context* ctx, bool with_klu) {
  cpli_klu_use(with_klu);
  for (int by_rows = 0; by_rows < 2; by_rows++) {
    matrix m = make_matrix(1);
    cpli_sparse* s = NULL;
    CHECK_OK(ctx, cpli_sparse_make(ctx, N, m.first, m.row, by_rows, &s));
    CHECK(cpli_sparse_fill(s) > 0 && cpli_sparse_fill(s) <= N * N);
    if (with_klu) CHECK(cpli_sparse_fill(s) < N * N);
    for (uint64_t seed = 1; seed < 6; seed++) {  // old pivots, then entries for which they are bad
      matrix next = make_matrix(seed);
      if (!by_rows) solve_complex(s, &next);
      for (int32_t k = 0; seed == 4 && k < next.first[N]; k++)
        next.entries[2 * k] *= k % 3 == 0 ? 1e-9 : 1;
      solve_real(s, &next, by_rows);
    }
    cpli_sparse_destroy(s);
  }
  cpli_klu_use(true);
}

static void with_klu(void** state) { both(*state, true); }
static void without_klu(void** state) { both(*state, false); }

static void a_singular_matrix_is_told(void** state) {
  int32_t first[] = {0, 2, 4, 5}, row[] = {0, 1, 0, 1, 2};
  double entries[] = {1, 2, 2, 4, 1};
  for (int use = 0; use < 2; use++) {
    cpli_sparse* s = NULL;
    cpli_klu_use(use);
    CHECK_OK(*state, cpli_sparse_make(*state, 3, first, row, false, &s));
    CHECK(!cpli_sparse_factor(s, entries));
    CHECK(cpli_sparse_singular(s) == 0 || cpli_sparse_singular(s) == 1);
    entries[3] = 5;
    double b[] = {1, 0, 1};
    CHECK(cpli_sparse_factor(s, entries));
    cpli_sparse_solve(s, b);
    CHECK_NEAR(b[0], 5, 1e-14);
    CHECK_NEAR(b[1], -2, 1e-14);
    CHECK_NEAR(b[2], 1, 0);
    entries[3] = 4;
    cpli_sparse_destroy(s);
  }
  cpli_klu_use(true);
}

static void the_version_is_told(void** state) {
  (void)state;
  CHECK(cpli_klu_load() != NULL);
  CHECK_CONTAINS(cpli_klu_version(), "libklu.so.");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(with_klu),
      cmocka_unit_test(without_klu),
      cmocka_unit_test(a_singular_matrix_is_told),
      cmocka_unit_test(the_version_is_told),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
