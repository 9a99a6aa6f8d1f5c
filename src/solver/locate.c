// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "solver/locate.h"

#include <math.h>

bool cpli_changed_sign(const double* a, const double* b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if ((a[i] > 0) != (b[i] > 0)) return true;
  }
  return false;
}

// The earliest secant root of all that change between low and high.
static double secant(const cpli_search* k, double low) {
  double best = k->high;
  for (size_t i = 0; i < k->n; i++) {
    if ((k->low_z[i] > 0) == (k->z1[i] > 0)) continue;
    double guess = low + (k->high - low) * k->low_z[i] / (k->low_z[i] - k->z1[i]);
    if (guess < best) best = guess;
  }
  return best;
}

// Bisection with a secant guess; every third round halves.
cpl_status cpli_locate(cpli_search* k, int8_t* crossed) {
  size_t bytes = k->n * sizeof(double);
  double low = 0;
  memcpy(k->low_z, k->z0, bytes);
  for (int round = 0; round < 200 && k->high - low > k->tiny; round++) {
    double h = 0.5 * (low + k->high), margin = 0.01 * (k->high - low);
    if (round % 3 != 2) {
      double best = round == 0 && k->guess > 0 ? k->guess : secant(k, low);
      h = fmin(fmax(best + k->tiny, low + margin), k->high - margin);
    }
    cpl_status st = k->attempt(k->user, h, k->try_z);
    if (st != CPL_OK) return st;
    bool past = cpli_changed_sign(k->z0, k->try_z, k->n);
    memcpy(past ? k->z1 : k->low_z, k->try_z, bytes);
    if (past) k->high = h;
    else low = h;
  }
  for (size_t i = 0; i < k->n; i++)
    crossed[i] = (int8_t)((k->z0[i] > 0) == (k->z1[i] > 0) ? 0 : k->z1[i] > 0 ? 1 : -1);
  return CPL_OK;
}
