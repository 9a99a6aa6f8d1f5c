// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Arrays of FMI 3.0 in systems: lists as start values, the same FMU with different sizes; and
// integers of all 64 bits.
#include "faults.h"

static int set_up(void** state) {
  (void)state;
  unsetenv("PROBE_FAULT");
  make_probes();
  return 0;
}

// w_sum is the sum of w[1] to w[m].
static void sizes_of_one_fmu(void** state) {
  (void)state;
  write_text("sizes.yaml",
             "couplet: 1\nmodels:\n"
             "  a: {fmu: probe3.fmu, start: {m: 3, w: [1, 2, 3], u: [0.5, 0.25]}}\n"
             "  b: {fmu: probe3.fmu, start: {m: 4, w: [1, 2, 3, 4]}}\n"
             "  c: {fmu: probe3.fmu, start: {w: [5, 6]}}\n"
             "  d: {fmu: probe3.fmu, start: {m: 3, \"w[2]\": 20}}\n"
             "record: [a.w_sum, b.w_sum, c.w_sum, \"a.u[2]\", \"d.w[2]\"]\n"
             "experiment: {stop: 0.01, interval: 0.01}\n");
  CHECK_CODE(0, "run", "sizes.yaml", "-o", "sizes.csv");
  CHECK_STR(last_row("sizes.csv"), "0.01,6,10,11,0.25,20");
  CHECK_STR(complained, "");
}

static void lists_that_do_not_fit(void** state) {
  (void)state;
  write_text("long.yaml", "couplet: 1\nmodels:\n  c: {fmu: probe3.fmu, start: {w: [5, 6, 7]}}\n");
  CHECK_FAILS_WITH(2, "long.yaml:3:42: model \"c\" has no variable w[3]", "run", "long.yaml");
  write_text("rows.yaml", "couplet: 1\nmodels:\n  c: {fmu: probe3.fmu, start: {w: [[5, 6]]}}\n");
  CHECK_FAILS_WITH(2, "rows.yaml:3:37: model \"c\" has no variable w[1,1]", "run", "rows.yaml");
  write_text("map.yaml", "couplet: 1\nmodels:\n  c: {fmu: probe3.fmu, start: {w: [{a: 1}]}}\n");
  CHECK_FAILS_WITH(2, "map.yaml:3:36: w[1] needs ", "run", "map.yaml");
}

static void integers_of_64_bits(void** state) {
  (void)state;
  static const char* const kinds[] = {"me", "cs"};
  for (int i = 0; i < 2; i++) {
    CHECK_CODE(0, "run", "probe3.fmu", "--as", kinds[i], "--set", "u64_in=18446744073709551615",
               "--set", "i64_in=-9223372036854775807", "--record", "?64_out", "--stop-time", "0",
               "-o", "wide.csv");
    CHECK_STR(last_row("wide.csv"), "0,-9223372036854775807,18446744073709551615");
  }
  CHECK_CODE(0, "run", "probe3.fmu", "--set", "u64_in=18446744073709551615", "--record", "u64_out",
             "--stop-time", "0", "-o", "wide.mat");
  cpl_context* ctx = test_context();
  cpl_table* table = NULL;
  CHECK_OK(ctx, cpl_results_read(ctx, "wide.mat", &table));
  CHECK_NEAR(table->values[0], 0x1p64, 0);
  cpl_table_destroy(table);
  cpl_context_destroy(ctx);
  static const char* const wrong[] = {"u64_in=18446744073709551616", "u64_in=-1",
                                      "i64_in=9223372036854775808", "i64_in=1.5", "u64_in=-"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_CODE(2, "run", "probe3.fmu", "--set", wrong[i]);
    CHECK_CONTAINS(complained, "probe3: ");
    CHECK_CONTAINS(complained, "cannot be set to");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_of_one_fmu),
      cmocka_unit_test(lists_that_do_not_fit),
      cmocka_unit_test(integers_of_64_bits),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
