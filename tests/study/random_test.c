// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The generator against published values of its algorithm and simple statistical tests; the
// permutations are bijections, and as likely as each other.
#include "study/random.h"

#include "testing.h"

// Known answers of philox2x64-10, from the test vectors of its authors (Random123).
static void generator_is_philox(void** state) {
  (void)state;
  const uint64_t f = UINT64_MAX;
  cpli_random r = cpli_random_bits(0, 0, 0);
  CHECK(r.part[0] == 0xca00a0459843d731u && r.part[1] == 0x66c24222c9a845b5u);
  r = cpli_random_bits(f, f, f);
  CHECK(r.part[0] == 0x65b021d60cd8310fu && r.part[1] == 0x4d02f3222f86df20u);
  r = cpli_random_bits(0xa4093822299f31d0u, 0x243f6a8885a308d3u, 0x13198a2e03707344u);
  CHECK(r.part[0] == 0x0a5e742c2997341cu && r.part[1] == 0xb0f883d38000de5du);
}

static void unit_interval_is_open(void** state) {
  (void)state;
  CHECK(cpli_unit_interval(0) > 0 && cpli_unit_interval(UINT64_MAX) < 1);
  CHECK_NEAR(cpli_unit_interval(0) + cpli_unit_interval(UINT64_MAX), 1, 0);
  CHECK_NEAR(cpli_unit_interval((uint64_t)1 << 63), 0.5, 2e-16);
}

// Chi-square of 1000 bins, of consecutive cases and of consecutive streams; and no correlation of
// neighbours. Bounds are 5 deviations.
static void numbers_are_uniform_and_independent(void** state) {
  (void)state;
  enum { BINS = 1000, N = 1000000 };
  for (int way = 0; way < 2; way++) {
    static int count[BINS];
    double chi = 0, lag = 0, last = 0.5;
    memset(count, 0, sizeof count);
    for (uint64_t i = 0; i < N; i++) {
      double u = cpli_unit_interval(
          (way == 0 ? cpli_random_bits(7, i, 3) : cpli_random_bits(7, 3, i)).part[0]);
      count[(int)(u * BINS)]++;
      lag += (u - 0.5) * (last - 0.5);
      last = u;
    }
    for (int i = 0; i < BINS; i++) chi += pow(count[i] - N / (double)BINS, 2) / (N / (double)BINS);
    CHECK_NEAR(chi, BINS - 1, 5 * sqrt(2 * BINS));
    CHECK_NEAR(lag / N * 12, 0, 5 / sqrt(N));
  }
}

static void check_bijection(uint64_t n, uint64_t seed) {
  unsigned char* seen = calloc(n, 1);
  cpli_permutation p = cpli_permutation_make(n, seed, 5);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t to = cpli_permute(&p, i);
    if (to >= n || seen[to]++)
      fail_msg("n = %llu: %llu again", (unsigned long long)n, (unsigned long long)to);
  }
  free(seen);
}

static void permutations_are_bijections(void** state) {
  (void)state;
  for (uint64_t n = 1; n < 300; n++) check_bijection(n, n % 3);
  check_bijection(65536, 1);
  check_bijection(65537, 1);
  check_bijection(1000003, 2);
  // beyond what can be counted: distinct numbers stay distinct
  cpli_permutation p = cpli_permutation_make(1000000000, 1, 0);
  uint64_t before = cpli_permute(&p, 0);
  CHECK(before < 1000000000 && cpli_permute(&p, 999999999) < 1000000000);
  CHECK(cpli_permute(&p, 1) != before && cpli_permute(&p, 0) == before);
}

// All 24 orders of four, and all 120 of five, occur equally often over the seeds.
static void permutations_are_equally_likely(void** state) {
  (void)state;
  for (uint64_t n = 3; n <= 5; n++) {
    enum { SEEDS = 120000 };
    int count[3125] = {0}, orders = n == 3 ? 6 : n == 4 ? 24 : 120, found = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
      cpli_permutation p = cpli_permutation_make(n, seed, 0);
      int order = 0;
      for (uint64_t i = 0; i < n; i++) order = order * (int)n + (int)cpli_permute(&p, i);
      count[order]++;
    }
    double chi = 0, expected = SEEDS / (double)orders;
    for (int i = 0; i < 3125; i++) {
      if (count[i] == 0) continue;
      found++;
      chi += pow(count[i] - expected, 2) / expected;
    }
    CHECK_INT(found, orders);
    CHECK_NEAR(chi, orders - 1, 5 * sqrt(2 * orders));
  }
}

// The place of one element is uniform, and neighbours are sent to unrelated places.
static void permutations_scatter(void** state) {
  (void)state;
  enum { N = 1000, SEEDS = 200000 };
  static int count[N];
  double lag = 0;
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    cpli_permutation p = cpli_permutation_make(N, seed, 1);
    double a = (double)cpli_permute(&p, 17), b = (double)cpli_permute(&p, 18);
    count[(int)a]++;
    lag += (a - (N - 1) / 2.0) * (b - (N - 1) / 2.0);
  }
  double chi = 0, expected = SEEDS / (double)N;
  for (int i = 0; i < N; i++) chi += pow(count[i] - expected, 2) / expected;
  CHECK_NEAR(chi, N - 1, 5 * sqrt(2 * N));
  CHECK_NEAR(lag / SEEDS / (N * N / 12.0), -1.0 / N, 5 / sqrt(SEEDS));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(generator_is_philox),
      cmocka_unit_test(unit_interval_is_open),
      cmocka_unit_test(numbers_are_uniform_and_independent),
      cmocka_unit_test(permutations_are_bijections),
      cmocka_unit_test(permutations_are_equally_likely),
      cmocka_unit_test(permutations_scatter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
