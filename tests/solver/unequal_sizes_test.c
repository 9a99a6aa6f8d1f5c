// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Coupled states whose sizes differ by many powers of ten: units of single states change neither
// the solution nor the work.
#include "models.h"
#include "numeric/factors.h"

static const double small = 3e-13, large = 2e12;

// With A = a / small, B = b / large: A' = -2 A + B, B' = 0.6 A - B. The eigenvalues l satisfy
// (l + 2) (l + 1) = 0.6.
static int derivatives(const cpl_values* v, double* dx) {
  double a = v->x[0] / small, b = v->x[1] / large;
  dx[0] = small * (b - 2 * a);
  dx[1] = large * (0.6 * a - b);
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {
    {"a", .start = 3e-13, .output = true}, {"b", .start = -1e12, .output = true}, END_OF_LIST};
static const cpl_model_def model = {
    .name = "unequal", .states = states, .derivatives = derivatives};

static void exact(double t, double* a, double* b) {
  double root = sqrt(0.25 + 0.6), l[2] = {-1.5 + root, -1.5 - root};
  // A = p e^(l0 t) + q e^(l1 t), B = A' + 2 A
  double a0 = 1, b0 = -0.5, q = (b0 - (l[0] + 2) * a0) / (l[1] - l[0]), p = a0 - q;
  *a = p * exp(l[0] * t) + q * exp(l[1] * t);
  *b = p * (l[0] + 2) * exp(l[0] * t) + q * (l[1] + 2) * exp(l[1] * t);
}

static void sizes_of_states_change_no_work(void** state) {
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS,   CPL_SOLVER_RADAU,
                                          CPL_SOLVER_DOPRI5, CPL_SOLVER_ESDIRK5, CPL_SOLVER_IDA};
  cpl_context* ctx = *state;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    recording* r = recording_make(ctx, &model);
    double a, b;
    r->solver.kind = kinds[k];
    r->solver.rtol = 1e-7;
    r->solver.atol = 1e-28;
    r->run.stop_time = 4;
    CHECK_OK(ctx, recording_run(r));
    exact(4, &a, &b);
    CHECK_NEAR(last_of(r)[0] / small, a, 1e-5);
    CHECK_NEAR(last_of(r)[1] / large, b, 1e-5);
    CHECK(r->stats.solver.rhs_evals < 5000);
    recording_free(r);
  }
}

// I - gamma J of a chain whose unknowns have units 1e15 and 1e-15 in turns.
static void factors_do_not_depend_on_units(void** state) {
  enum { N = 40 };
  cpl_context* ctx = *state;
  int32_t first[N + 1] = {0}, row[3 * N], n = 0;
  double jac[3 * N], unit[N], b[N] = {0}, x[N], wanted[N];
  for (int32_t i = 0; i < N; i++) unit[i] = i % 2 == 0 ? 1e15 : 1e-15, wanted[i] = cos(i);
  for (int32_t c = 0; c < N; c++) {
    for (int32_t r = c > 0 ? c - 1 : 0; r <= c + 1 && r < N; r++) {
      row[n] = r;
      jac[n] = (r == c ? -2.2 : 1) * unit[r] / unit[c];
      double entry = (r == c) - 0.7 * jac[n];
      b[r] += entry * wanted[c] * unit[c];
      n++;
    }
    first[c + 1] = n;
  }
  cpli_pattern p = {.n_rows = N, .n_columns = N, .n_entries = n, .first = first, .row = row};
  cpli_factors* e = NULL;
  CHECK_OK(ctx, cpli_factors_make(ctx, &p, 0.9, &e));
  assert_non_null(e);
  CHECK(cpli_factors_find(e, jac, 0.7));
  cpli_factors_solve(e, b, x);
  for (int32_t i = 0; i < N; i++) CHECK_NEAR(x[i] / unit[i], wanted[i], 1e-12);
  cpli_factors_destroy(e);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_of_states_change_no_work),
                                     cmocka_unit_test(factors_do_not_depend_on_units)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
