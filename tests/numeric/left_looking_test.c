// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sparse factors of our own: what solutions leave in the equations, with the products written out
// here, for matrices whose pivots are not on the diagonal, of very different rows, with old pivots,
// and singular ones; and how the factors of a plate grow.
#include "numeric/left_looking.h"

#include <math.h>

#include "numeric/klu.h"
#include "numeric/sparse.h"
#include "testing.h"

enum { MOST = 3000, MOST_ENTRIES = 20 * MOST };

typedef struct matrix {
  int32_t n, n_entries, first[MOST + 1], row[MOST_ENTRIES];
  double entries[MOST_ENTRIES];
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

static void next_column(matrix* m) { m->first[++m->n] = m->n_entries; }

// Neighbours on a square of side k, as of a heated plate.
static void make_plate(matrix* m, int32_t k, double diagonal) {
  *m = (matrix){.n = 0};
  for (int32_t j = 0; j < k * k; j++) {
    int32_t x = j % k, y = j / k;
    put(m, j, diagonal);
    if (x > 0) put(m, j - 1, -1);
    if (x < k - 1) put(m, j + 1, -1);
    if (y > 0) put(m, j - k, -1);
    if (y < k - 1) put(m, j + k, -1);
    next_column(m);
  }
}

// A plate whose rows are shifted, of units from 1e-8 to 1e8, with some entries of random size:
// every pivot is off the diagonal.
static void make_shifted(matrix* m, int32_t k, uint64_t seed) {
  make_plate(m, k, 5);
  for (int32_t i = 0; i < m->n_entries; i++) {
    m->entries[i] += 0.9 * random_number(&seed);
    m->row[i] = (m->row[i] + 7) % m->n;
    m->entries[i] *= pow(10, m->row[i] % 17 - 8);
  }
}

// [A B; B' 0] with a plate A and conditions on pairs of neighbours: zeros on the diagonal.
static void make_saddle(matrix* m, int32_t k) {
  make_plate(m, k, 4.5);
  int32_t n = m->n, n_conditions = k - 1;
  static matrix a;
  a = *m;
  *m = (matrix){.n = 0};
  for (int32_t j = 0; j < n; j++) {
    for (int32_t i = a.first[j]; i < a.first[j + 1]; i++) put(m, a.row[i], a.entries[i]);
    if (j < n_conditions) put(m, n + j, 1);
    if (j > 0 && j <= n_conditions) put(m, n + j - 1, -1);
    next_column(m);
  }
  for (int32_t c = 0; c < n_conditions; c++) {
    put(m, c, 1);
    put(m, c + 1, -1);
    next_column(m);
  }
}

// The largest remainder of a row, relative to its terms.
static double remainder_of(const matrix* m, bool transposed, const double* x, const double* b) {
  static double left[MOST], terms[MOST];
  double most = 0;
  for (int32_t i = 0; i < m->n; i++) left[i] = b[i], terms[i] = fabs(b[i]);
  for (int32_t j = 0; j < m->n; j++) {
    for (int32_t k = m->first[j]; k < m->first[j + 1]; k++) {
      int32_t row = transposed ? j : m->row[k], column = transposed ? m->row[k] : j;
      left[row] -= m->entries[k] * x[column];
      terms[row] += fabs(m->entries[k] * x[column]);
    }
  }
  for (int32_t i = 0; i < m->n; i++) most = fmax(most, fabs(left[i]) / terms[i]);
  return most;
}

static void check_solutions(cpli_left_looking* f, const matrix* m, double limit) {
  static double x[MOST], b[MOST];
  for (int transposed = 0; transposed < 2; transposed++) {
    for (int32_t i = 0; i < m->n; i++) x[i] = b[i] = sin(1 + i);
    if (transposed) cpli_left_looking_solve_transposed(f, x);
    else cpli_left_looking_solve(f, x);
    double left = remainder_of(m, transposed, x, b);
    CHECK(left <= limit);
  }
}

static void solutions_fit(void** state) {
  static matrix m;
  for (int kind = 0; kind < 4; kind++) {
    cpli_left_looking* f = NULL;
    if (kind == 0) make_plate(&m, 40, 4.1);
    else if (kind == 1) make_shifted(&m, 20, 3);
    else if (kind == 2) make_saddle(&m, 25);
    else make_plate(&m, 1, 2);
    CHECK_OK(*state, cpli_left_looking_make(*state, m.n, m.first, m.row, 1, &f));
    CHECK(cpli_left_looking_refactor(f, m.entries) == 0);  // there are no pivots yet
    CHECK_INT(cpli_left_looking_factor(f, m.entries), -1);
    check_solutions(f, &m, 1e-11);
    // other entries with the same pivots, then with new ones
    uint64_t seed = 5;
    for (int32_t i = 0; i < m.n_entries; i++) m.entries[i] *= 1 + 0.1 * random_number(&seed);
    CHECK(cpli_left_looking_refactor(f, m.entries) > 1e-12);
    check_solutions(f, &m, 1e-9);
    CHECK_INT(cpli_left_looking_factor(f, m.entries), -1);
    check_solutions(f, &m, 1e-11);
    cpli_left_looking_destroy(f);
  }
}

// Pivots that vanish are told, and others are found.
static void bad_pivots_are_told(void** state) {
  static matrix m;
  cpli_left_looking* f = NULL;
  make_plate(&m, 12, 4.1);
  CHECK_OK(*state, cpli_left_looking_make(*state, m.n, m.first, m.row, 1, &f));
  CHECK_INT(cpli_left_looking_factor(f, m.entries), -1);
  for (int32_t j = 0; j < m.n; j++) m.entries[m.first[j]] = 0;  // the diagonal
  for (int32_t i = 0; i < m.n_entries; i++) m.entries[i] *= 1 + 0.3 * sin(i);
  CHECK(cpli_left_looking_refactor(f, m.entries) < 1e-14);
  CHECK_INT(cpli_left_looking_factor(f, m.entries), -1);
  check_solutions(f, &m, 1e-11);
  static matrix before;
  before = m;
  for (int32_t i = m.first[5]; i < m.first[6]; i++) m.entries[i] = 0;  // a column
  CHECK_INT(cpli_left_looking_factor(f, m.entries), 5);
  CHECK(cpli_left_looking_refactor(f, m.entries) == 0);
  m = before;
  CHECK_INT(cpli_left_looking_factor(f, m.entries), -1);
  check_solutions(f, &m, 1e-11);
  cpli_left_looking_destroy(f);
}

// The factors of a plate of n points have of the order of n log n entries.
static void factors_stay_sparse(void** state) {
  static matrix m;
  double fill[2];
  for (int i = 0; i < 2; i++) {
    cpli_left_looking* f = NULL;
    make_plate(&m, i == 0 ? 25 : 50, 4.1);
    CHECK_OK(*state, cpli_left_looking_make(*state, m.n, m.first, m.row, 0.2, &f));
    fill[i] = cpli_left_looking_fill(f);
    cpli_left_looking_destroy(f);
  }
  CHECK(fill[0] > m.n_entries / 4 && fill[1] < 6 * fill[0] && fill[1] < 40 * m.n);
  cpli_left_looking* full = NULL;
  make_plate(&m, 25, 4.1);
  CHECK_OK(*state, cpli_left_looking_make(*state, m.n, m.first, m.row, 0.001, &full));
  assert_null(full);
}

// The same through the interface that KLU has, complex ones too.
static void without_a_library(void** state) {
  static matrix m;
  static double complex[2 * MOST_ENTRIES], x[2 * MOST];
  make_plate(&m, 20, 3);
  cpli_klu_use(false);
  for (int by_rows = 0; by_rows < 2; by_rows++) {
    cpli_sparse* s = NULL;
    CHECK_OK(*state, cpli_sparse_make(*state, m.n, m.first, m.row, by_rows, &s));
    CHECK(cpli_sparse_fill(s) < 0.2 * m.n * m.n);
    static double b[MOST];
    for (int32_t i = 0; i < m.n; i++) x[i] = b[i] = cos(i);
    CHECK(cpli_sparse_factor(s, m.entries) && cpli_sparse_factor(s, m.entries));
    cpli_sparse_solve(s, x);
    CHECK(remainder_of(&m, by_rows, x, b) < 1e-11);
    for (int32_t i = 0; i < m.n_entries; i++) {
      complex[2 * i] = m.entries[i];
      complex[2 * i + 1] = i % 5 == 0 ? 0.5 : 0.1;
    }
    if (!by_rows) {
      CHECK(cpli_sparse_factor_complex(s, complex) && cpli_sparse_factor_complex(s, complex));
      static double left[2 * MOST];
      for (int32_t i = 0; i < 2 * m.n; i++) x[i] = left[i] = sin(2 + i);
      cpli_sparse_solve_complex(s, x);
      for (int32_t j = 0; j < m.n; j++) {
        for (int32_t k = m.first[j]; k < m.first[j + 1]; k++) {
          double re = complex[2 * k], im = complex[2 * k + 1];
          left[2 * m.row[k]] -= re * x[2 * j] - im * x[2 * j + 1];
          left[2 * m.row[k] + 1] -= re * x[2 * j + 1] + im * x[2 * j];
        }
      }
      for (int32_t i = 0; i < 2 * m.n; i++) CHECK_NEAR(left[i], 0, 1e-10);
    }
    cpli_sparse_destroy(s);
  }
  cpli_klu_use(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solutions_fit),
      cmocka_unit_test(bad_pivots_are_told),
      cmocka_unit_test(factors_stay_sparse),
      cmocka_unit_test(without_a_library),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
