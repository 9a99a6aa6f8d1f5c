// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Ways onto many constraints, judged by what makes them the shortest ones: D S = -c, and nothing of
// S is left without what lies along the gradients.
#include "solver/normals.h"

#include "testing.h"

enum { ROWS = 300, MAX_STATES = 700, MAX_ENTRIES = 8 * ROWS };

typedef struct problem {
  int32_t first[ROWS + 2], column[MAX_ENTRIES];
  double entries[MAX_ENTRIES], c[ROWS], s[MAX_STATES];
  size_t rows, n;
  cpli_normals k;
} problem;

static double next(unsigned* seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / (1 << 24) - 0.5;
}

static void add(problem* p, int32_t column, double value) {
  int32_t e = p->first[p->rows + 1]++;
  p->column[e] = column;
  p->entries[e] = value;
}

static void end_row(problem* p, double c) {
  p->c[p->rows] = c;
  p->rows++;
  p->first[p->rows + 1] = p->first[p->rows];
}

static void solve(cpl_context* ctx, problem* p) {
  unsigned seed = 5;
  CHECK_OK(ctx, cpli_normals_init(&p->k, ctx, p->n, p->rows));
  CHECK_OK(ctx, cpli_normals_shape(&p->k, p->rows, p->first, p->column));
  for (size_t i = 0; i < p->n; i++) p->k.weight[i] = exp(6 * next(&seed));
  memcpy(p->k.entries, p->entries, (size_t)p->first[p->rows] * sizeof(double));
  p->k.turn = 1e-8;
  cpli_normals_factor(&p->k);
  cpli_normals_step(&p->k, p->c, p->s);
}

static double row_times(const problem* p, size_t r, const double* x) {
  double sum = 0;
  for (int32_t e = p->first[r]; e < p->first[r + 1]; e++) sum += p->entries[e] * x[p->column[e]];
  return sum;
}

static void check_shortest(problem* p) {
  double before = cpli_normals_norm(&p->k, p->s), e[MAX_STATES];
  unsigned seed = 9;
  for (size_t r = 0; r < p->rows; r++) {
    double scale = p->k.size[r] * before * sqrt((double)p->n) + fabs(p->c[r]);
    CHECK_NEAR(row_times(p, r, p->s), -p->c[r], 1e-9 * scale);
  }
  cpli_normals_remove(&p->k, 1, p->s);
  CHECK(cpli_normals_norm(&p->k, p->s) < 1e-8 * before);
  // of another vector nothing is left along the gradients, and of half of it the half
  for (size_t i = 0; i < p->n; i++) e[i] = next(&seed) / p->k.weight[i];
  double whole[ROWS];
  for (size_t r = 0; r < p->rows; r++) whole[r] = row_times(p, r, e);
  cpli_normals_remove(&p->k, 0.5, e);
  for (size_t r = 0; r < p->rows; r++)
    CHECK_NEAR(row_times(p, r, e), whole[r] / 2, 1e-9 * p->k.size[r]);
  cpli_normals_remove(&p->k, 1, e);
  for (size_t r = 0; r < p->rows; r++) CHECK_NEAR(row_times(p, r, e), 0, 1e-9 * p->k.size[r]);
}

// Each constraint shares states with the next one: one large component.
static problem* chain(bool closed) {
  problem* p = calloc(1, sizeof *p);
  unsigned seed = 3;
  p->n = 2 * ROWS + 2;
  for (size_t r = 0; r < ROWS - 20; r++) {
    double scale = exp(10 * next(&seed));
    for (int j = 0; j < 4; j++) {
      int32_t column = (int32_t)(2 * r) + j;
      if (closed) column %= 2 * (ROWS - 20);
      add(p, column, scale * next(&seed));
    }
    end_row(p, scale * next(&seed));
  }
  return p;
}

static void drop(problem* p) {
  cpli_normals_free(&p->k);
  free(p);
}

static void a_chain_is_projected(void** state) {
  for (int closed = 0; closed < 2; closed++) {
    problem* p = chain(closed == 1);
    solve(*state, p);
    CHECK_INT(p->k.n_components, 1);
    check_shortest(p);
    drop(p);
  }
}

// Constraints that say the same in other units, and sums of two.
static void redundant_constraints_of_a_chain_do_no_harm(void** state) {
  problem* p = chain(false);
  size_t own = p->rows;
  for (size_t i = 0; i < 20; i++) {
    size_t r = i * 13;
    double factor = i % 2 == 0 ? -1e4 : 3e-5, other = i % 3 == 0 ? 0 : 2 * factor;
    double c = factor * p->c[r] + other * p->c[r + 1];
    for (int j = 0; j < 6; j++) {
      double value = j < 4 ? factor * p->entries[p->first[r] + j] : 0;
      if (j > 1) value += other * p->entries[p->first[r + 1] + j - 2];
      if (j < 4 || other != 0) add(p, (int32_t)(2 * r) + j, value);
    }
    end_row(p, c);
  }
  solve(*state, p);
  size_t dependent = 0;
  for (size_t r = 0; r < p->rows; r++) dependent += p->k.left[r] == 0;
  CHECK_INT(dependent, p->rows - own);
  CHECK(!cpli_normals_left_some(&p->k));
  check_shortest(p);
  drop(p);
}

// A gradient that differs from others by less than they turn on the way says nothing.
static void noise_is_left_out(void** state) {
  problem* p = chain(false);
  int32_t from = p->first[40];
  for (int j = 0; j < 4; j++) add(p, (int32_t)(2 * 40 + j), p->entries[from + j] * (1 + 5e-3 * j));
  end_row(p, p->c[40] * 1.001);
  solve(*state, p);
  CHECK(!cpli_normals_left_some(&p->k));
  p->k.turn = 1;
  cpli_normals_factor(&p->k);
  cpli_normals_step(&p->k, p->c, p->s);
  CHECK(cpli_normals_left_some(&p->k));
  CHECK_NEAR(row_times(p, 200, p->s), -p->c[200], 1e-9 * fabs(p->c[200]));
  drop(p);
}

// What shares no state is projected as if it were alone.
static void components_do_not_know_of_each_other(void** state) {
  problem* all = calloc(1, sizeof *all);
  unsigned seed = 77;
  all->n = 4 * 60;
  for (int i = 0; i < 60; i++) {
    for (int r = 0; r < 3; r++) {
      for (int j = 0; j < 4; j++) add(all, 4 * i + j, next(&seed));
      end_row(all, next(&seed));
    }
  }
  solve(*state, all);
  CHECK_INT(all->k.n_components, 60);
  problem* one = calloc(1, sizeof *one);
  one->n = 4;
  for (size_t r = 0; r < 3; r++) {
    for (int j = 0; j < 4; j++) add(one, j, all->entries[all->first[57 + r] + j]);
    end_row(one, all->c[57 + r]);
  }
  CHECK_OK(*state, cpli_normals_init(&one->k, *state, 4, 3));
  CHECK_OK(*state, cpli_normals_shape(&one->k, 3, NULL, NULL));
  memcpy(one->k.weight, all->k.weight + 4 * 19, 4 * sizeof(double));
  memcpy(one->k.entries, one->entries, 12 * sizeof(double));
  one->k.turn = all->k.turn;
  cpli_normals_factor(&one->k);
  cpli_normals_step(&one->k, one->c, one->s);
  for (int j = 0; j < 4; j++) CHECK_NEAR(one->s[j], all->s[4 * 19 + j], 0);
  check_shortest(all);
  drop(all);
  drop(one);
}

// Of a full matrix only what is other than zero counts, also what becomes so later.
static void a_full_matrix_has_the_shape_it_shows(void** state) {
  enum { M = 40, N = 2 * M + 2 };
  static double matrix[M * N];
  cpli_normals k;
  double c[M], s[N];
  unsigned seed = 21;
  CHECK_OK(*state, cpli_normals_init(&k, *state, N, M));
  k.turn = 1e-8;
  for (size_t i = 0; i < N; i++) k.weight[i] = 1;
  for (int round = 0; round < 2; round++) {
    for (size_t r = 0; r < M; r++) {
      c[r] = next(&seed);
      for (size_t j = 0; j < 2 + 2 * (size_t)round; j++) matrix[r * N + 2 * r + j] = next(&seed);
    }
    CHECK_OK(*state, cpli_normals_take(&k, M, matrix));
    CHECK_INT(k.n_components, round == 0 ? M : 1);
    CHECK_INT(k.first[M], round == 0 ? 2 * M : 4 * M);
    cpli_normals_factor(&k);
    cpli_normals_step(&k, c, s);
    for (size_t r = 0; r < M; r++) {
      double sum = 0;
      for (size_t j = 0; j < N; j++) sum += matrix[r * N + j] * s[j];
      CHECK_NEAR(sum, -c[r], 1e-9);
    }
  }
  cpli_normals_free(&k);
}

static cpl_status shape_with_heap(test_heap* heap) {
  cpl_context* ctx = test_context_with_heap(heap);
  if (ctx == NULL) return CPL_ERR_NOMEM;
  problem* p = chain(true);
  cpl_status st = cpli_normals_init(&p->k, ctx, p->n, p->rows);
  if (st >= 0) st = cpli_normals_shape(&p->k, p->rows, p->first, p->column);
  if (st >= 0) st = cpli_normals_shape(&p->k, 7, p->first, p->column);
  drop(p);
  cpl_context_destroy(ctx);
  return st;
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_status st = shape_with_heap(&heap);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_is_projected),
      cmocka_unit_test(redundant_constraints_of_a_chain_do_no_harm),
      cmocka_unit_test(noise_is_left_out),
      cmocka_unit_test(components_do_not_know_of_each_other),
      cmocka_unit_test(a_full_matrix_has_the_shape_it_shows),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
