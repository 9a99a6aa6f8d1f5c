// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sparse factorisations against dense ones, and the solver that uses them.
#include "numeric/sparse_lu.h"

#include <malloc.h>

#include "models.h"
#include "numeric/complex_lu.h"
#include "numeric/dense.h"
#include "numeric/klu.h"

enum { N = 50 };

// A band with an arrow, some diagonal entries missing.
static bool is_there(int row, int column) {
  if (row == column) return row % 7 != 3;
  return abs(row - column) <= 2 || row == N - 1 || column == 0;
}

static cpli_pattern make_pattern(int32_t* first, int32_t* row) {
  int32_t n = 0;
  for (int j = 0; j < N; j++) {
    first[j] = n;
    for (int i = 0; i < N; i++) {
      if (is_there(i, j)) row[n++] = i;
    }
  }
  first[N] = n;
  return (cpli_pattern){.n_rows = N, .n_columns = N, .n_entries = n, .first = first, .row = row};
}

static void fill(double* jac, unsigned seed) {
  for (int j = 0; j < N; j++) {
    for (int i = 0; i < N; i++) {
      seed = seed * 1664525u + 1013904223u;
      jac[j * N + i] = is_there(i, j) ? (double)(seed >> 8) / (1 << 24) - 0.5 : 0;
    }
  }
}

static void take_entries(const cpli_pattern* p, const double* jac, double* entries) {
  for (int32_t j = 0; j < N; j++) {
    for (int32_t k = p->first[j]; k < p->first[j + 1]; k++) entries[k] = jac[j * N + p->row[k]];
  }
}

static void solutions_meet_the_dense_ones(void** state) {
  cpl_context* ctx = *state;
  static int32_t first[N + 1], row[N * N];
  static double jac[N * N], entries[N * N], m[N * N], im[N * N];
  int32_t pivot[N];
  size_t pair_pivot[N];
  cpli_pattern pattern = make_pattern(first, row);
  cpli_sparse_lu* s = NULL;
  CHECK_OK(ctx, cpli_sparse_lu_make(ctx, &pattern, &s));
  for (unsigned round = 1; round <= 3; round++) {  // the second and third refactorise
    double real = 3 * round, re = 2, b = 4, x[N], y[N], u[N], v[N];
    fill(jac, round);
    take_entries(&pattern, jac, entries);
    CHECK(cpli_sparse_lu_factor(s, entries, real, re, b));
    for (int i = 0; i < N * N; i++) m[i] = -jac[i];
    for (int i = 0; i < N; i++) m[i * N + i] += real;
    CHECK_INT(cpli_lu_factor(m, pivot, N), -1);
    for (int i = 0; i < N; i++) x[i] = y[i] = sin(i);
    cpli_sparse_lu_solve(s, x);
    cpli_lu_solve(m, pivot, N, y);
    for (int i = 0; i < N; i++) CHECK_NEAR(x[i], y[i], 1e-10);
    memset(im, 0, sizeof im);
    for (int i = 0; i < N * N; i++) m[i] = -jac[i];
    for (int i = 0; i < N; i++) m[i * N + i] += re, im[i * N + i] = b;
    CHECK(cpli_clu_factor(N, m, im, pair_pivot));
    for (int i = 0; i < N; i++) x[i] = u[i] = sin(i), y[i] = v[i] = cos(3 * i);
    cpli_sparse_lu_solve_pair(s, x, y);
    cpli_clu_solve(N, m, im, pair_pivot, u, v);
    for (int i = 0; i < N; i++) CHECK_NEAR(x[i], u[i], 1e-10);
    for (int i = 0; i < N; i++) CHECK_NEAR(y[i], v[i], 1e-10);
  }
  memset(entries, 0, sizeof entries);
  CHECK(!cpli_sparse_lu_factor(s, entries, 0, 0, 0));
  cpli_sparse_lu_destroy(s);
}

// A rod that conducts heat and radiates: stiff, three entries a row.
enum { CELLS = 80 };
static int rod_derivatives(const cpl_values* v, double* dx) {
  for (int i = 0; i < CELLS; i++) {
    double left = i > 0 ? v->x[i - 1] : 1, right = i < CELLS - 1 ? v->x[i + 1] : 0;
    dx[i] = 1000 * (left - 2 * v->x[i] + right) - 5 * pow(v->x[i], 4);
  }
  return CPL_MODEL_OK;
}
static const cpl_declaration rod_states[] = {{"T", .start = 0.5, .size = CELLS}, END_OF_LIST};
static const cpl_model_def rod_model = {
    .name = "rod", .states = rod_states, .derivatives = rod_derivatives, .stop_time = 0.5};

static double run_rod(cpl_context* ctx, cpl_solver_kind kind, double rtol) {
  static const char* const middle[] = {"T[40]"};
  recording* r = recording_make(ctx, &rod_model);
  r->solver.kind = kind;
  r->solver.rtol = rtol;
  r->run.record = middle;
  r->run.n_record = 1;
  CHECK_OK(ctx, recording_run(r));
  double value = last_of(r)[0];
  recording_free(r);
  return value;
}

static void radau_uses_them(void** state) {
  double exact = run_rod(*state, CPL_SOLVER_CVODE, 1e-11);
  CHECK_NEAR(run_rod(*state, CPL_SOLVER_RADAU, 1e-5), exact, 1e-5);
  CHECK_NEAR(run_rod(*state, CPL_SOLVER_RADAU, 1e-9), exact, 1e-8);
  cpli_klu_use(false);
  CHECK_NEAR(run_rod(*state, CPL_SOLVER_RADAU, 1e-9), exact, 1e-8);
  CHECK_NEAR(run_rod(*state, CPL_SOLVER_CVODE, 1e-9), exact, 1e-7);
  cpli_klu_use(true);
}

//------------------------------------ large models ------------------------------------

enum { MANY = 2000 };

// x[k]' = -x[k] + x[k - 1], x[0]' = -x[0]: x[k] = exp(-t) (1 + t + t^2/2 + ... + t^k/k!)
static int row_derivatives(const cpl_values* v, double* dx) {
  for (int i = 0; i < MANY; i++) dx[i] = -v->x[i] + (i > 0 ? v->x[i - 1] : 0);
  return CPL_MODEL_OK;
}
static const cpl_declaration row_states[] = {{"x", .start = 1, .size = MANY}, END_OF_LIST};

// Bytes in use, those of SUNDIALS included.
static size_t in_use(void) {
  struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

static void a_large_model_needs_no_dense_matrix(void** state) {
  static cpl_dependency said[MANY + 1];
  static char of[MANY][24], on[MANY][24];
  static const char* const third[] = {"x[3]"};
  for (int i = 0; i < MANY; i++) {
    snprintf(of[i], sizeof of[i], "der(x[%d])", i + 1);
    if (i > 0) snprintf(on[i], sizeof on[i], "x[%d] x[%d]", i, i + 1);
    else snprintf(on[i], sizeof on[i], "x[1]");
    said[i] = (cpl_dependency){.of = of[i], .on = on[i]};
  }
  const cpl_model_def many = {.name = "many",
                              .states = row_states,
                              .derivatives = row_derivatives,
                              .dependencies = said,
                              .stop_time = 2};
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_RADAU, CPL_SOLVER_CVODE, CPL_SOLVER_IDA,
                                          CPL_SOLVER_ESDIRK5};
  cpl_context* ctx = *state;
  for (size_t k = 0; k < CPLI_COUNT(kinds); k++) {
    size_t before = in_use();
    recording* r = recording_make(ctx, &many);
    r->solver.kind = kinds[k];
    r->run.record = third;
    r->run.n_record = 1;
    CHECK_OK(ctx, recording_run(r));
    // norms are means over all states, of which few move
    CHECK_NEAR(last_of(r)[0], 5 * exp(-2), 1e-5);
    CHECK(r->stats.solver.jac_evals < r->stats.solver.steps);
    size_t dense = sizeof(double) * MANY * MANY, used = in_use() - before;
    if (used >= dense / 2) fail_msg("%s: %zu bytes", cpl_solver_name(kinds[k]), used);
    recording_free(r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solutions_meet_the_dense_ones),
      cmocka_unit_test(radau_uses_them),
      cmocka_unit_test(a_large_model_needs_no_dense_matrix),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
