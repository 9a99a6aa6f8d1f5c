// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Direction numbers from a polynomial and its initial numbers.
#include "study/sobol.h"

void cpli_sobol_directions(size_t dimension, uint32_t directions[CPLI_SOBOL_BITS]) {
  if (dimension == 0) {
    for (int k = 0; k < CPLI_SOBOL_BITS; k++) directions[k] = 1u << (31 - k);
    return;
  }
  const cpli_sobol_row* row = &cpli_sobol_rows[dimension - 1];
  const int d = row->degree;
  for (int k = 0; k < d; k++) directions[k] = (uint32_t)row->initial[k] << (31 - k);
  for (int k = d; k < CPLI_SOBOL_BITS; k++) {
    directions[k] = directions[k - d] ^ (directions[k - d] >> d);
    for (int i = 1; i < d; i++) {
      if (row->polynomial >> (d - i) & 1) directions[k] ^= directions[k - i];
    }
  }
}
