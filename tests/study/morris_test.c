// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The structure of the designs of Morris and Saltelli.
#include "study/design.h"

#include "study_designs.h"

// In a trajectory every factor is moved once, by two of the four levels, and nothing else changes.
static void trajectories_move_every_factor_once(void** state) {
  cpl_context* ctx = *state;
  enum { K = 5, N = 2000 };
  cpl_design* d = make_design(ctx, CPL_DESIGN_MORRIS, N, 4,
                              (const char*[]){"a=0:3", "b=0:3", "c=0:3", "d=0:3", "e=0:3", NULL});
  CHECK_INT(cpl_design_cases(d), N * (K + 1));
  int level[K][4] = {{0}}, up[K] = {0}, at[K][K] = {{0}};
  for (int64_t t = 0; t < N; t++) {
    double before[K], now[K];
    bool moved[K] = {false};
    cpl_design_values(d, t * (K + 1), before);
    for (int k = 0; k < K; k++) {
      CHECK(before[k] == floor(before[k]) && before[k] >= 0 && before[k] <= 3);
      level[k][(int)before[k]]++;
    }
    for (int s = 1; s <= K; s++) {
      cpl_design_values(d, t * (K + 1) + s, now);
      int changes = 0;
      for (int k = 0; k < K; k++) {
        if (now[k] == before[k]) continue;
        changes++;
        CHECK(!moved[k] && fabs(now[k] - before[k]) == 2);
        moved[k] = true;
        up[k] += now[k] > before[k];
        at[k][s - 1]++;
      }
      CHECK_INT(changes, 1);
      memcpy(before, now, sizeof before);
    }
  }
  // levels, directions and places in the order are equally likely (5 deviations)
  for (int k = 0; k < K; k++) {
    for (int l = 0; l < 4; l++) CHECK_NEAR(level[k][l], N / 4.0, 5 * sqrt(N * 0.25 * 0.75));
    CHECK_NEAR(up[k], N / 2.0, 5 * sqrt(N * 0.25));
    for (int s = 0; s < K; s++) CHECK_NEAR(at[k][s], N / 5.0, 5 * sqrt(N * 0.2 * 0.8));
  }
  cpl_design_destroy(d);
}

// Levels of a normal distribution are its quantiles at 1/8, 3/8, 5/8, 7/8; those of bounded ones
// include the ends.
static void levels_are_quantiles(void** state) {
  cpl_context* ctx = *state;
  const double z1 = 0.31863936396437516, z3 = 1.1503493803760082;  // of 5/8 and 7/8
  cpl_design* d = make_design(ctx, CPL_DESIGN_MORRIS, 50, 4,
                              (const char*[]){"a=normal:10:2", "b=log:1:1000", NULL});
  for (int64_t i = 0; i < cpl_design_cases(d); i++) {
    double v[2];
    cpl_design_values(d, i, v);
    double z = fabs(v[0] - 10) / 2, level = log10(v[1]);
    CHECK_NEAR(fmin(fabs(z - z1), fabs(z - z3)), 0, 1e-14);
    CHECK_NEAR(level, round(level), 1e-14);
  }
  cpl_design_destroy(d);
}

static void levels_are_even(void** state) {
  cpl_context* ctx = *state;
  const cpl_factor f = {.name = "k", .kind = CPL_FACTOR_UNIFORM, .b = 1};
  cpl_design_def def = cpl_default_design_def();
  def.kind = CPL_DESIGN_MORRIS;
  def.factors = &f;
  def.n_factors = 1;
  def.n = 100;
  cpl_design* d = NULL;
  const int32_t wrong[] = {-2, 0, 1, 5, 1002};
  for (int i = 0; i < 5; i++) {
    def.levels = wrong[i];
    CHECK_INT(cpl_design_create(ctx, &def, &d), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), "levels is even");
  }
  def.levels = 2;  // from one end to the other
  CHECK_OK(ctx, cpl_design_create(ctx, &def, &d));
  for (int64_t t = 0; t < 100; t++) {
    double a, b;
    cpl_design_values(d, 2 * t, &a);
    cpl_design_values(d, 2 * t + 1, &b);
    CHECK((a == 0 && b == 1) || (a == 1 && b == 0));
  }
  cpl_design_destroy(d);
  def.n = 0;
  CHECK_INT(cpl_design_create(ctx, &def, &d), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "the number of trajectories is 0");
}

// Cases of a base point: A, A with one value of B each, B; A and B are points of one sequence.
static void saltelli_designs_exchange_one_column(void** state) {
  cpl_context* ctx = *state;
  enum { K = 3, N = 64 };
  const char* texts[] = {"a=0:1", "b=0:1", "c=0:1", "d=0:1", "e=0:1", "f=0:1", NULL};
  cpl_design* sequence = make_design(ctx, CPL_DESIGN_SOBOL, N, 8, texts);
  texts[K] = NULL;
  cpl_design* d = make_design(ctx, CPL_DESIGN_SALTELLI, N, 8, texts);
  CHECK_INT(cpl_design_cases(d), N * (K + 2));
  for (int64_t j = 0; j < N; j++) {
    double ab[2 * K], v[K];
    cpl_design_values(sequence, j, ab);
    for (int m = 0; m < K + 2; m++) {
      cpl_design_values(d, j * (K + 2) + m, v);
      for (int k = 0; k < K; k++) CHECK_NEAR(v[k], m == K + 1 || m == k + 1 ? ab[K + k] : ab[k], 0);
    }
  }
  cpl_design_destroy(d);
  cpl_design_destroy(sequence);
  CHECK_INT(try_design(ctx, CPL_DESIGN_SALTELLI, 200000001, 1, texts, &d), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "1e+09 cases");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trajectories_move_every_factor_once),
      cmocka_unit_test(levels_are_quantiles),
      cmocka_unit_test(levels_are_even),
      cmocka_unit_test(saltelli_designs_exchange_one_column),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
