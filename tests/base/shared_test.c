// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "base/shared.h"

#include "testing.h"

// A wait that takes `seconds`. Returns whether it spun long.
static bool wait_for(cpli_waits* w, double seconds) {
  const double spin = cpli_waits_spin(w);
  cpli_waits_note(w, spin, seconds);
  return spin > 5e-5;
}

static int count_spins(cpli_waits* w, int n, double seconds) {
  int spins = 0;
  for (int i = 0; i < n; i++) spins += wait_for(w, seconds);
  return spins;
}

static void fast_answers_are_spun_for(void** state) {
  (void)state;
  cpli_waits w = {0};
  CHECK_INT(count_spins(&w, 1000, 5e-6), 1000);
}

static void slow_answers_are_slept_for(void** state) {
  (void)state;
  cpli_waits w = {0};
  count_spins(&w, 100, 5e-3);
  CHECK_INT(count_spins(&w, 1000, 5e-3), 0);
  CHECK_INT(count_spins(&w, 1000, 5e-6) > 900, 1);  // they have become fast
}

// Waits just longer than a spin, as where the other side has no processor: few of them spin.
static void spins_in_vain_become_rare(void** state) {
  (void)state;
  cpli_waits w = {0};
  int spins = 0;
  for (int i = 0; i < 10000; i++) spins += wait_for(&w, cpli_waits_spin(&w) > 5e-5 ? 1.5e-4 : 2e-5);
  CHECK_INT(spins < 40, 1);
  CHECK_INT(count_spins(&w, 10000, 5e-6) > 8000, 1);
}

static void one_long_wait_of_many_changes_little(void** state) {
  (void)state;
  cpli_waits w = {0};
  int spins = 0;
  for (int i = 0; i < 1000; i++) spins += wait_for(&w, i % 20 == 0 ? 2e-4 : 5e-6);
  CHECK_INT(spins > 850, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fast_answers_are_spun_for),
      cmocka_unit_test(slow_answers_are_slept_for),
      cmocka_unit_test(spins_in_vain_become_rare),
      cmocka_unit_test(one_long_wait_of_many_changes_little),
  };
  return cmocka_run_group_tests_name("base/shared", tests, NULL, NULL);
}
