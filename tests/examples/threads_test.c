// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Every example has the same bits in one thread and in several, whatever couples its models.
#include "examples/every_example.h"

static int n_failed;
static int64_t n_together;

static trace run_in(cpl_context* ctx, const char* path, int32_t threads) {
  cpl_experiment* e = open_example(ctx, path, threads);
  const trace t = run_once(e);
  cpl_experiment_destroy(e);
  return t;
}

// An explicit number of threads is used for the smallest models, too.
static void check_threads(cpl_context* ctx, const char* path) {
  const trace one = run_in(ctx, path, 1);
  for (int32_t threads = 2; threads <= 8; threads = 2 * threads - 1) {  // 2, 3, 5
    const trace many = run_in(ctx, path, threads);
    if (is_same(&one, &many)) continue;
    print_error("%s: other results with %d threads\n", path, threads);
    n_failed++;
  }
  cpl_thread_stats stats;
  cpl_context_thread_stats(ctx, &stats);
  n_together = stats.together;
}

static void every_example_has_the_same_bits(void** state) {
  copy_examples(*state);
  for_each_example(*state, check_threads);
  CHECK_INT(n_failed, 0);
  CHECK(n_together > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_example_has_the_same_bits)};
  return cmocka_run_group_tests_name("examples/threads", tests, make_context, drop_context);
}
