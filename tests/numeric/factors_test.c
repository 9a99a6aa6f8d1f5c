// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Factors of I - gamma J against dense ones, and large models whose solver uses them.
#include "numeric/factors.h"

#include "models.h"
#include "numeric/dense.h"

enum { N = 120 };

// A band, a row and a column that are full, and something here and there; some diagonal entries are
// missing.
static bool is_there(int row, int column) {
  if (row == column) return row % 7 != 3;
  if (abs(row - column) == 1 || row == N / 2 || column == 5) return true;
  return (row * 31 + column * 17) % 1009 == 0;
}

static cpli_pattern make_pattern(int32_t* first, int32_t* row, bool full) {
  int32_t n = 0;
  for (int j = 0; j < N; j++) {
    first[j] = n;
    for (int i = 0; i < N; i++) {
      if (full || is_there(i, j)) row[n++] = i;
    }
  }
  first[N] = n;
  return (cpli_pattern){.n_rows = N, .n_columns = N, .n_entries = n, .first = first, .row = row};
}

static int32_t first[N + 1], row[N * N];
static double entries[N * N], dense[N * N];

static void fill(const cpli_pattern* p, unsigned seed, double gamma) {
  memset(dense, 0, sizeof dense);
  for (int j = 0; j < N; j++) {
    dense[j * N + j] = 1;
    for (int32_t k = p->first[j]; k < p->first[j + 1]; k++) {
      seed = seed * 1664525u + 1013904223u;
      entries[k] = (double)(seed >> 8) / (1 << 24) - 0.5;
      dense[j * N + p->row[k]] -= gamma * entries[k];
    }
  }
}

static void solutions_meet_the_dense_ones(void** state) {
  cpl_context* ctx = *state;
  cpli_pattern p = make_pattern(first, row, false);
  cpli_factors* f = NULL;
  int32_t pivot[N];
  CHECK_OK(ctx, cpli_factors_make(ctx, &p, 0.1, &f));
  CHECK(f != NULL);
  for (unsigned round = 1; round <= 4; round++) {
    double gamma = 0.3 * round, b[N], x[N], y[N];
    fill(&p, round, gamma);
    CHECK(cpli_factors_find(f, entries, gamma));
    CHECK_INT(cpli_lu_factor(dense, pivot, N), -1);
    for (int i = 0; i < N; i++) b[i] = y[i] = sin(i);
    cpli_factors_solve(f, b, x);
    cpli_lu_solve(dense, pivot, N, y);
    for (int i = 0; i < N; i++) CHECK_NEAR(x[i], y[i], 1e-9 * (1 + fabs(y[i])));
  }
  cpli_factors_destroy(f);
}

static void full_matrices_are_left_to_others(void** state) {
  cpl_context* ctx = *state;
  cpli_pattern p = make_pattern(first, row, true);
  cpli_factors* f = NULL;
  CHECK_OK(ctx, cpli_factors_make(ctx, &p, 0.1, &f));
  CHECK(f == NULL);
}

static void a_vanished_pivot_is_noticed(void** state) {
  cpl_context* ctx = *state;
  cpli_pattern p = make_pattern(first, row, false);
  cpli_factors* f = NULL;
  double b[N] = {1}, x[N];
  CHECK_OK(ctx, cpli_factors_make(ctx, &p, 0.1, &f));
  memset(entries, 0, sizeof entries);
  for (int j = 0; j < N; j++) {
    for (int32_t k = p.first[j]; k < p.first[j + 1]; k++) entries[k] = p.row[k] == j;
  }
  CHECK(!cpli_factors_find(f, entries, 1));
  CHECK(cpli_factors_find(f, entries, 0.5));  // and nothing is left of it
  cpli_factors_solve(f, b, x);
  CHECK_NEAR(x[0], 2, 1e-12);
  cpli_factors_destroy(f);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  cpli_pattern p = make_pattern(first, row, false);
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpli_factors* f = NULL;
    cpl_status st = ctx != NULL ? cpli_factors_make(ctx, &p, 0.1, &f) : CPL_ERR_NOMEM;
    CHECK((st == CPL_OK) == (f != NULL));
    cpli_factors_destroy(f);
    if (ctx != NULL) cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

//------------------------------------ a model ------------------------------------

enum { NODES = 200 };

// Heat in a rod: its slowest mode, which is an eigenvector, decays alone.
static double decay(void) { return 2e4 * (1 - cos(M_PI / (NODES + 1))); }
static int conduct(const cpl_values* v, double* dx) {
  for (int i = 0; i < NODES; i++) {
    double left = i > 0 ? v->x[i - 1] : 0, right = i + 1 < NODES ? v->x[i + 1] : 0;
    dx[i] = 1e4 * (left - 2 * v->x[i] + right);
  }
  return CPL_MODEL_OK;
}
static int mode(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  for (int i = 0; i < NODES; i++) a->x[i] = sin(M_PI * (i + 1) / (NODES + 1));
  return CPL_MODEL_OK;
}
static const cpl_declaration rod_states[] = {{"T", .size = NODES, .output = true}, END_OF_LIST};
static const cpl_dependency on_everything[] = {{"der(T)", "T", NULL}, {0}};

static void large_models_are_integrated(void** state) {
  cpl_context* ctx = *state;
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE, CPL_SOLVER_ESDIRK5};
  for (size_t k = 0; k < 4; k++) {  // sparse and dense
    cpl_model_def rod = {.name = "rod",
                         .states = rod_states,
                         .derivatives = conduct,
                         .initialize = mode,
                         .dependencies = k < 2 ? NULL : on_everything,
                         .stop_time = 1};
    recording* r = recording_make(ctx, &rod);
    r->solver.kind = kinds[k % 2];
    r->solver.rtol = 1e-7;
    r->run.record = (const char* const[]){"T[100]"};
    r->run.n_record = 1;
    CHECK_OK(ctx, recording_run(r));
    CHECK_NEAR(last_of(r)[0], sin(M_PI * 100 / (NODES + 1)) * exp(-decay()), 1e-5);
    recording_free(r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solutions_meet_the_dense_ones),
      cmocka_unit_test(full_matrices_are_left_to_others),
      cmocka_unit_test(a_vanished_pivot_is_noticed),
      cmocka_unit_test(every_failed_allocation_is_survived),
      cmocka_unit_test(large_models_are_integrated),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
