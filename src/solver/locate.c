// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The Illinois variant of the regula falsi, for the earliest root of all functions, with bisection
// where three rounds did not halve the bracket.
#include "solver/locate.h"

#include <assert.h>
#include <math.h>

enum { MAX_ROUNDS = 200 };

bool cpli_changed_sign(const double* a, const double* b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if ((a[i] > 0) != (b[i] > 0)) return true;
  }
  return false;
}

// The earliest secant root of all functions that change their sign between low and high; weight:
// factor on the values at low.
static double secant(const cpli_search* k, double low, double weight) {
  double best = k->high;
  for (size_t i = 0; i < k->n; i++) {
    if ((k->low_z[i] > 0) == (k->z1[i] > 0)) continue;
    double z = weight * k->low_z[i];
    double guess = low + (k->high - low) * z / (z - k->z1[i]);
    if (guess < best) best = guess;
  }
  return best;
}

// The Illinois method: where one end of the bracket is retained, its value is halved for the next
// secant. A bracket that three iterations did not halve is bisected.
cpl_status cpli_locate(cpli_search* k, int8_t* crossed) {
  size_t bytes = k->n * sizeof(double);
  double low = 0, weight = 1, width[3] = {INFINITY, INFINITY, INFINITY};
  int last = 0;  // the end that moved last: -1 low, 1 high
  assert(k->high > 0 && cpli_changed_sign(k->z0, k->z1, k->n));
  memcpy(k->low_z, k->z0, bytes);
  for (int round = 0; round < MAX_ROUNDS && k->high - low > k->tiny; round++) {
    double h = 0.5 * (low + k->high), margin = 0.4 * k->tiny;
    bool slow = k->high - low > 0.5 * width[round % 3];
    width[round % 3] = k->high - low;
    if (!slow) {
      h = round == 0 && k->guess > 0 ? k->guess : secant(k, low, weight);
      h = fmin(fmax(h, low + margin), k->high - margin);
    }
    cpl_status st = k->attempt(k->user, h, k->try_z);
    if (st != CPL_OK) return st;
    bool past = cpli_changed_sign(k->z0, k->try_z, k->n);
    memcpy(past ? k->z1 : k->low_z, k->try_z, bytes);
    if (past) k->high = h;
    else low = h;
    int moved = past ? 1 : -1;
    weight = moved != last ? 1 : past ? 0.5 * weight : 2 * weight;
    last = moved;
    assert(low < k->high);
  }
  for (size_t i = 0; i < k->n; i++)
    crossed[i] = (int8_t)((k->z0[i] > 0) == (k->z1[i] > 0) ? 0 : k->z1[i] > 0 ? 1 : -1);
  return CPL_OK;
}
