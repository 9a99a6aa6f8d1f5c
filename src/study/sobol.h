// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sobol' sequences: points of low discrepancy in base 2, by random access. Coordinate j of point i
// is the sum over GF(2) of the direction numbers of the bits of i. A random digital shift keeps all
// properties of the points as a net and makes them unbiased; it adds 20 bits that no direction
// number has, so that no coordinate is 0 or 1.
#pragma once

#include "couplet/design.h"

typedef struct cpli_sobol_row {
  uint8_t degree;
  uint16_t polynomial;   // coefficients from the highest power down to 1
  uint16_t initial[13];  // odd, the i-th below 2^i
} cpli_sobol_row;

/// Of the dimensions from the second on. The first is the radical inverse of the index.
extern const cpli_sobol_row cpli_sobol_rows[CPL_MAX_SOBOL - 1];

enum { CPLI_SOBOL_BITS = 32 };

/// The direction numbers of a dimension, from 0.
void cpli_sobol_directions(size_t dimension, uint32_t directions[CPLI_SOBOL_BITS]);

/// The coordinate of point i, in the natural order, as a fraction of 2^32.
static inline uint32_t cpli_sobol_point(const uint32_t* directions, uint64_t i) {
  uint32_t x = 0;
  for (; i != 0; i >>= 1, directions++) x ^= *directions & (0u - (uint32_t)(i & 1));
  return x;
}

/// The same in the open interval from 0 to 1, shifted by the highest 52 bits of `shift`.
static inline double cpli_sobol_shifted(const uint32_t* directions, uint64_t shift, uint64_t i) {
  const uint64_t x = (uint64_t)cpli_sobol_point(directions, i) << 32 ^ shift;
  return ((double)(x >> 12) + 0.5) * 0x1p-52;
}
