// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Unknowns whose rows have their own entry and one other only, such as positions, whose derivatives
// are speeds: eliminated first they fill in little, where an order for the symmetrised pattern
// would make all unknowns that depend on them neighbours of each other. The rest has the pattern of
// a system of half the size.
#pragma once

#include "base/base.h"

typedef struct cpli_followers {
  int32_t n, n_rest;
  int32_t* order;        // n unknowns that are eliminated first, then n_rest others, as they come
  int32_t *first, *row;  // the pattern of the rest, by columns, after the elimination
  double filled;         // entries of the n rows and columns
} cpli_followers;

/// Of a pattern by columns. No two of the n depend on each other.
/// Owned: what is in *out by the caller, who calls cpli_followers_free(), also after a failure.
cpl_status cpli_followers_find(cpl_context* ctx, int32_t n, const int32_t* first,
                               const int32_t* row, cpli_followers* out);
void cpli_followers_free(cpl_context* ctx, cpli_followers* f);
