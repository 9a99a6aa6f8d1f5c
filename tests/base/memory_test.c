// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sorting: any order, and few comparisons where the items are in order.
#include "base/base.h"
#include "testing.h"

static int comparisons;

static int by_number(const void* x, const void* y) {
  const int a = *(const int*)x, b = *(const int*)y;
  comparisons++;
  return a < b ? -1 : a > b;
}

static void items_are_sorted(void** state) {
  (void)state;
  for (size_t n = 0; n < 40; n++) {
    for (int seed = 0; seed < 12; seed++) {
      int items[40], sum = 0;
      for (size_t i = 0; i < n; i++) items[i] = (int)i * (2 * seed - 11) % 17, sum += items[i];
      cpli_sort(items, n, sizeof *items, by_number);
      for (size_t i = 0; i < n; i++) sum -= items[i];
      CHECK_INT(sum, 0);
      for (size_t i = 1; i < n; i++) CHECK(items[i - 1] <= items[i]);
      comparisons = 0;
      cpli_sort(items, n, sizeof *items, by_number);
      CHECK_INT(comparisons, n > 0 ? n - 1 : 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(items_are_sorted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
