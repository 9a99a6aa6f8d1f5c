// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A list in the order of costs; each item goes to the rank with the least load.
#include "model/spread.h"

#include <math.h>

#include "base/base.h"

static const double usual_cost = 1e-5;  // where none is known [s]

static double mean_of(const cpli_share* s, int32_t n) {
  double sum = 0;
  int32_t known = 0;
  for (int32_t i = 0; i < n; i++)
    if (!isnan(s[i].cost)) sum += s[i].cost, known++;
  return known > 0 ? sum / known : usual_cost;
}

static int by_cost(const void* x, const void* y) {
  const cpli_share *a = x, *b = y;
  if (a->cost != b->cost) return a->cost > b->cost ? -1 : 1;
  return a->instance < b->instance ? -1 : a->instance > b->instance;
}

static int32_t least_loaded(const double* load, int32_t n) {
  int32_t best = 0;
  for (int32_t i = 1; i < n; i++)
    if (load[i] < load[best]) best = i;
  return best;
}

void cpli_spread(cpli_share* shares, int32_t n, double* load, int32_t n_ranks) {
  const double mean = mean_of(shares, n);
  for (int32_t i = 0; i < n; i++)
    if (isnan(shares[i].cost)) shares[i].cost = mean;
  cpli_sort(shares, (size_t)n, sizeof *shares, by_cost);
  for (int32_t i = 0; i < n; i++) {
    shares[i].rank = least_loaded(load, n_ranks);
    load[shares[i].rank] += shares[i].cost;
  }
}
