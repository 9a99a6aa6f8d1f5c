// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A generator of pseudo-random numbers (SplitMix64): the same on every machine.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct rng {
  uint64_t state;
} rng;

static inline uint64_t rng_bits(rng* r) {
  uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Between low and high.
static inline double rng_real(rng* r, double low, double high) {
  return low + (high - low) * (double)(rng_bits(r) >> 11) * 0x1p-53;
}

/// The same with three digits, so that files can be read.
static inline double rng_short(rng* r, double low, double high) {
  return rint(rng_real(r, low, high) * 1000) / 1000;
}

/// 0, 1, ..., n - 1
static inline int rng_int(rng* r, int n) { return (int)(rng_bits(r) % (uint64_t)n); }

static inline bool rng_chance(rng* r, double probability) {
  return rng_real(r, 0, 1) < probability;
}

static inline double rng_signed(rng* r, double low, double high) {
  double value = rng_short(r, low, high);
  return rng_chance(r, 0.5) ? value : -value;
}
