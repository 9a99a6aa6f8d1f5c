// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Unknowns that follow one other: the positions of a grid of masses, whose rest is the pattern of a
// plate; unknowns that follow each other; and systems that are factorised in this order, by what
// their solutions leave in the equations.
#include "numeric/followers.h"

#include <math.h>

#include "numeric/klu.h"
#include "numeric/sparse.h"
#include "testing.h"

enum { SIDE = 40, CELLS = SIDE * SIDE, N = 2 * CELLS, MOST_ENTRIES = 8 * N };

typedef struct matrix {
  int32_t n, n_entries, first[N + 1], row[MOST_ENTRIES];
  double entries[MOST_ENTRIES];
} matrix;

static void put(matrix* m, int32_t row, double value) {
  m->row[m->n_entries] = row;
  m->entries[m->n_entries++] = value;
}

static int neighbours(int32_t i, int32_t* out) {
  int n = 0;
  if (i / SIDE > 0) out[n++] = i - SIDE;
  if (i % SIDE > 0) out[n++] = i - 1;
  if (i % SIDE < SIDE - 1) out[n++] = i + 1;
  if (i / SIDE < SIDE - 1) out[n++] = i + SIDE;
  return n;
}

// Position 2 i and speed 2 i + 1 of each mass.
static void make_masses(matrix* m) {
  *m = (matrix){.n = N};
  for (int32_t i = 0; i < CELLS; i++) {
    int32_t other[4];
    const int n = neighbours(i, other);
    put(m, 2 * i, 1);
    put(m, 2 * i + 1, 0.3 * n);
    for (int k = 0; k < n; k++) put(m, 2 * other[k] + 1, -0.3 - 0.01 * k);
    m->first[2 * i + 1] = m->n_entries;
    put(m, 2 * i, -0.1);
    put(m, 2 * i + 1, 1.05);
    m->first[2 * i + 2] = m->n_entries;
  }
}

static void make_plate(matrix* m) {
  *m = (matrix){.n = CELLS};
  for (int32_t i = 0; i < CELLS; i++) {
    int32_t other[4];
    const int n = neighbours(i, other);
    put(m, i, 5);
    for (int k = 0; k < n; k++) put(m, other[k], -1);
    m->first[i + 1] = m->n_entries;
  }
}

static void positions_go_first(void** state) {
  static matrix m, plate;
  static bool expected[CELLS];
  cpli_followers f;
  make_masses(&m);
  make_plate(&plate);
  CHECK_OK(*state, cpli_followers_find(*state, N, m.first, m.row, &f));
  CHECK_INT(f.n, CELLS);
  CHECK_INT(f.n_rest, CELLS);
  for (int32_t i = 0; i < CELLS; i++) {
    CHECK_INT(f.order[i], 2 * i);
    CHECK_INT(f.order[CELLS + i], 2 * i + 1);
  }
  for (int32_t j = 0; j < CELLS; j++) {
    CHECK_INT(f.first[j + 1] - f.first[j], plate.first[j + 1] - plate.first[j]);
    for (int32_t k = plate.first[j]; k < plate.first[j + 1]; k++) expected[plate.row[k]] = true;
    for (int32_t k = f.first[j]; k < f.first[j + 1]; k++) CHECK(expected[f.row[k]]);
    for (int32_t k = plate.first[j]; k < plate.first[j + 1]; k++) expected[plate.row[k]] = false;
  }
  CHECK_NEAR(f.filled, m.n_entries - 2 * CELLS + CELLS, 0);  // their columns, and one more each
  cpli_followers_free(*state, &f);
}

// Row 1 has unknown 0 beside its own, row 2 has 3, row 3 has 4, row 4 has 5; row 0 has two others,
// and row 5 only one. Unknown 3 stays, since 2 follows it.
static void none_follows_another_follower(void** state) {
  const int32_t first[] = {0, 2, 4, 5, 7, 10, 12};
  const int32_t row[] = {0, 1, 0, 1, 2, 2, 3, 3, 4, 5, 0, 4};
  cpli_followers f;
  CHECK_OK(*state, cpli_followers_find(*state, 6, first, row, &f));
  CHECK_INT(f.n, 3);
  CHECK_INT(f.order[0], 1);
  CHECK_INT(f.order[1], 2);
  CHECK_INT(f.order[2], 4);
  CHECK_INT(f.n_rest, 3);
  cpli_followers_free(*state, &f);
}

static double residual(const matrix* m, const double* x, const double* b) {
  static double left[N];
  double most = 0;
  memcpy(left, b, (size_t)m->n * sizeof *b);
  for (int32_t j = 0; j < m->n; j++)
    for (int32_t k = m->first[j]; k < m->first[j + 1]; k++) left[m->row[k]] -= m->entries[k] * x[j];
  for (int32_t i = 0; i < m->n; i++) most = fmax(most, fabs(left[i]));
  return most;
}

static void masses_fill_in_as_a_plate_does(void** state) {
  static matrix m, plate;
  static double b[N], x[N];
  cpli_sparse *s = NULL, *small = NULL;
  if (cpli_klu_load() == NULL) return;
  make_masses(&m);
  make_plate(&plate);
  CHECK_OK(*state, cpli_sparse_make(*state, N, m.first, m.row, false, &s));
  CHECK_OK(*state, cpli_sparse_make(*state, CELLS, plate.first, plate.row, false, &small));
  CHECK(cpli_sparse_fill(s) < cpli_sparse_fill(small) + 8 * CELLS);
  for (int pass = 0; pass < 3; pass++) {  // the last one with pivots that are not on the diagonal
    for (int32_t k = 0; pass == 2 && k < m.n_entries; k++)
      m.entries[k] *= m.row[k] == 700 && k < m.first[701] && k >= m.first[700] ? 1e-20 : 1;
    for (int32_t i = 0; i < N; i++) b[i] = x[i] = sin(1 + i);
    CHECK(cpli_sparse_factor(s, m.entries));
    cpli_sparse_solve(s, x);
    CHECK_NEAR(residual(&m, x, b), 0, 1e-12);
  }
  cpli_sparse_destroy(s);
  cpli_sparse_destroy(small);
}

static void without_memory(void** state) {
  static matrix m;
  cpl_status st = CPL_ERR_NOMEM;
  (void)state;
  make_masses(&m);
  for (long fail_at = 0; st < 0; fail_at++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpli_sparse* s = NULL;
    const long live = heap.live;
    heap.calls = 0, heap.fail_at = fail_at;
    st = cpli_sparse_make(ctx, N, m.first, m.row, false, &s);
    CHECK(st == CPL_OK || st == CPL_ERR_NOMEM);
    cpli_sparse_destroy(s);
    CHECK(heap.live <= live);
    cpl_context_destroy(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(positions_go_first),
      cmocka_unit_test(none_follows_another_follower),
      cmocka_unit_test(masses_fill_in_as_a_plate_does),
      cmocka_unit_test(without_memory),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
