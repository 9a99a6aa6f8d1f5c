// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "base/stopwatch.h"

#include "testing.h"

static void wait_until(double t) {
  while (cpli_now() < t) {
  }
}

// The clock around the measured time bounds it, however long the process was suspended meanwhile.
static void time_is_that_of_the_clock(void** state) {
  (void)state;
  cpli_stopwatch w = cpli_stopwatch_begin();
  CHECK(cpli_stopwatch_seconds(&w) == 0);
  wait_until(cpli_now() + 0.01);
  double outside = cpli_now();
  uint64_t since = cpli_ticks();
  double inside = cpli_now();
  wait_until(inside + 0.02);
  inside = cpli_now() - inside;
  cpli_stopwatch_add(&w, since);
  outside = cpli_now() - outside;
  wait_until(cpli_now() + 0.01);
  double spent = cpli_stopwatch_seconds(&w);
  CHECK(spent > 0.9 * inside && spent < 1.1 * outside);
}

static void ticks_that_go_back_count_as_none(void** state) {
  (void)state;
  cpli_stopwatch w = cpli_stopwatch_begin();
  cpli_stopwatch_add(&w, UINT64_MAX);
  CHECK(cpli_stopwatch_seconds(&w) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(time_is_that_of_the_clock),
      cmocka_unit_test(ticks_that_go_back_count_as_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
