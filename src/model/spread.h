// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Which instance lives in which rank: the one with the highest cost first, each in the rank with
// the least load so far. The highest load is then at most 4/3 of the least that is possible.
#pragma once

#include <stdint.h>

typedef struct cpli_share {
  double cost;       // of a call [s]; NAN: unknown, taken as the mean of the others
  int32_t instance;  // a number, each another one
  int32_t rank;      // the result
} cpli_share;

/// Sorts the shares by cost, gives each its rank, and adds its cost to the load of that rank. Where
/// costs or loads are equal, those with lower numbers come first.
void cpli_spread(cpli_share* shares, int32_t n, double* load, int32_t n_ranks);
