// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A CSV file as a table of inputs, which become curves, and as results.
#include <math.h>

#include "couplet/results.h"
#include "fuzz.h"
#include "model/table.h"

static void follow(cpl_context* ctx, const cpl_table* t, size_t column, bool held) {
  cpli_curve curve;
  if (fuzz_fine(ctx, cpli_curve_init(&curve, ctx, t, column, held, NULL)) && t->n_rows > 0) {
    cpli_cursor c = cpli_cursor_at(&curve, t->time[0]);
    for (size_t i = 0; i < t->n_rows && i < 50; i++) {
      double jump = cpli_cursor_next_jump(&c);
      FUZZ_CHECK(jump > t->time[i] || !cpli_cursor_pass(&c, t->time[i]) ||
                 cpli_cursor_next_jump(&c) > t->time[i]);
      FUZZ_CHECK(!isnan(cpli_cursor_value(&c, t->time[i])));
      cpli_cursor_slope(&c, t->time[i]);
      cpli_cursor_next_kink(&c, t->time[i], 1e-4);
    }
  }
  cpli_curve_free(&curve);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cpl_context* ctx = fuzz_context();
  const char* path = fuzz_file("fuzz.csv", data, size);
  cpl_table* t = NULL;
  if (fuzz_fine(ctx, cpl_table_read(ctx, path, &t))) {
    FUZZ_CHECK(cpl_table_check(ctx, t, "fuzz") >= 0);
    for (size_t i = 0; i < t->n_columns && i < 8; i++) {
      follow(ctx, t, i, false);
      follow(ctx, t, i, true);
    }
  }
  cpl_table_destroy(t);
  t = NULL;
  fuzz_fine(ctx, cpl_results_read(ctx, path, &t));
  cpl_table_destroy(t);
  return 0;
}
