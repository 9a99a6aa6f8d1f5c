// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Designs from the texts of their factors, for tests.
#pragma once

#include "testing.h"

enum { MOST_FACTORS = 16 };

static inline void write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  CHECK(f != NULL);
  fputs(text, f);
  fclose(f);
}

// A design of factors by their texts, which end with NULL.
static inline cpl_status try_design(cpl_context* ctx, cpl_design_kind kind, int64_t n,
                                    uint64_t seed, const char* const* texts, cpl_design** out) {
  cpl_factor factors[MOST_FACTORS];
  cpl_design_def def = cpl_default_design_def();
  def.kind = kind;
  def.n = n;
  def.seed = seed;
  def.factors = factors;
  for (; texts[def.n_factors] != NULL; def.n_factors++)
    CHECK_OK(ctx, cpl_factor_read(ctx, texts[def.n_factors], NULL, &factors[def.n_factors]));
  cpl_status st = cpl_design_create(ctx, &def, out);
  for (size_t i = 0; i < def.n_factors; i++) cpl_factor_free(ctx, &factors[i]);
  return st;
}

static inline cpl_design* make_design(cpl_context* ctx, cpl_design_kind kind, int64_t n,
                                      uint64_t seed, const char* const* texts) {
  cpl_design* d = NULL;
  CHECK_OK(ctx, try_design(ctx, kind, n, seed, texts, &d));
  return d;
}
