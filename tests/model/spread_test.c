// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Instances over ranks: cases whose best distribution is known, and the bound of the method against
// all distributions of small cases.
#include "model/spread.h"

#include <math.h>

#include "testing.h"

enum { MOST = 8 };

// The highest load.
static double spread(const double* cost, int32_t n, int32_t n_ranks, int32_t* rank) {
  cpli_share shares[200];
  double load[MOST] = {0}, most = 0;
  for (int32_t i = 0; i < n; i++) shares[i] = (cpli_share){.cost = cost[i], .instance = i};
  cpli_spread(shares, n, load, n_ranks);
  for (int32_t i = 0; i < n; i++) {
    rank[shares[i].instance] = shares[i].rank;
    CHECK(shares[i].rank >= 0 && shares[i].rank < n_ranks);
    CHECK(i == 0 || shares[i].cost <= shares[i - 1].cost);
  }
  for (int32_t r = 0; r < n_ranks; r++) most = fmax(most, load[r]);
  return most;
}

static void equal_ones_are_dealt_in_their_order(void** state) {
  (void)state;
  const double cost[7] = {1, 1, 1, 1, 1, 1, 1};
  int32_t rank[7];
  CHECK(spread(cost, 7, 3, rank) == 3);
  for (int32_t i = 0; i < 7; i++) CHECK_INT(rank[i], i % 3);
}

// One of 10 ms among 100 of 10 us: it is alone, and the others are even.
static void a_heavy_one_is_alone(void** state) {
  (void)state;
  double cost[101];
  int32_t rank[101], n[4] = {0};
  for (int32_t i = 0; i < 101; i++) cost[i] = i == 57 ? 1e-2 : 1e-5;
  CHECK_NEAR(spread(cost, 101, 4, rank), 1e-2, 1e-12);
  for (int32_t i = 0; i < 101; i++) n[rank[i]]++;
  CHECK_INT(n[rank[57]], 1);
  for (int32_t r = 0; r < 4; r++) CHECK(r == rank[57] || (n[r] >= 33 && n[r] <= 34));
}

static void what_is_unknown_counts_as_the_mean(void** state) {
  (void)state;
  const double some[4] = {3, (double)NAN, 1, (double)NAN};
  const double none[2] = {(double)NAN, (double)NAN};
  int32_t rank[4];
  CHECK_NEAR(spread(some, 4, 2, rank), 4, 1e-12);  // 3 + 1, 2 + 2
  CHECK_INT(rank[0], rank[2]);
  CHECK(spread(none, 2, 2, rank) > 0);
  CHECK(rank[0] != rank[1]);
}

static double best_of_all(const double* cost, int32_t n, int32_t n_ranks) {
  double best = (double)INFINITY;
  int32_t count = 1;
  for (int32_t i = 0; i < n; i++) count *= n_ranks;
  for (int32_t k = 0; k < count; k++) {
    double load[MOST] = {0}, most = 0;
    for (int32_t i = 0, digits = k; i < n; i++, digits /= n_ranks)
      load[digits % n_ranks] += cost[i];
    for (int32_t r = 0; r < n_ranks; r++) most = fmax(most, load[r]);
    best = fmin(best, most);
  }
  return best;
}

// Graham's bound: 4/3 - 1/(3 ranks) of the best, and the case that reaches it.
static void the_highest_load_is_near_the_least_possible(void** state) {
  (void)state;
  const double worst[5] = {3, 3, 2, 2, 2};
  int32_t rank[8];
  CHECK_NEAR(spread(worst, 5, 2, rank), 7, 1e-12);
  CHECK_NEAR(best_of_all(worst, 5, 2), 6, 1e-12);
  uint32_t random = 1;
  for (int round = 0; round < 200; round++) {
    double cost[8];
    const int32_t n_ranks = 2 + round % 2, n = 5 + round % 4;
    for (int32_t i = 0; i < n; i++) {
      random = random * 1664525 + 1013904223;
      cost[i] = exp(random / 4294967296.0 * 5);
    }
    const double bound = best_of_all(cost, n, n_ranks) * (4.0 / 3 - 1.0 / (3 * n_ranks));
    CHECK(spread(cost, n, n_ranks, rank) <= bound * (1 + 1e-12));
  }
}

// Loads that are there count.
static void loads_are_added(void** state) {
  (void)state;
  double load[2] = {5, 0};
  cpli_share shares[2] = {{.cost = 2, .instance = 0}, {.cost = 2, .instance = 1}};
  cpli_spread(shares, 2, load, 2);
  CHECK(load[0] == 5 && load[1] == 4);
  CHECK(shares[0].rank == 1 && shares[1].rank == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_ones_are_dealt_in_their_order),
      cmocka_unit_test(a_heavy_one_is_alone),
      cmocka_unit_test(what_is_unknown_counts_as_the_mean),
      cmocka_unit_test(the_highest_load_is_near_the_least_possible),
      cmocka_unit_test(loads_are_added),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
