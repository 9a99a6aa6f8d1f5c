// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A MAT file as results.
#include "couplet/results.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cpl_context* ctx = fuzz_context();
  cpl_table* t = NULL;
  fuzz_fine(ctx, cpl_results_read(ctx, fuzz_file("fuzz.mat", data, size), &t));
  cpl_table_destroy(t);
  return 0;
}
