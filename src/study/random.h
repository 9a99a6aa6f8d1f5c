// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Random numbers by random access: a number is a function of a seed and two counters, and there is
// no state. So any case of a design can be computed by any worker, in any order.
#pragma once

#include <stdint.h>

/// 128 random bits of a counter and a key: Philox-2x64 with ten rounds (Salmon et al. 2011).
typedef struct cpli_random {
  uint64_t part[2];
} cpli_random;
cpli_random cpli_random_bits(uint64_t seed, uint64_t i, uint64_t j);

/// Uniform in the open interval from 0 to 1: 52 bits, and half of the last one.
static inline double cpli_unit_interval(uint64_t bits) {
  return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

// A pseudo-random permutation of 0..n-1, computed element by element: a Feistel network on the
// smallest set of pairs of equal width that has n elements, applied again while its result is not
// below n. Halves have at least three bits: networks on two reach only some of the permutations.
enum { CPLI_PERMUTATION_ROUNDS = 12 };
typedef struct cpli_permutation {
  uint64_t n;
  uint32_t half;    // bits of each half
  uint32_t rounds;  // more on small sets
  uint64_t keys[CPLI_PERMUTATION_ROUNDS];
} cpli_permutation;

/// n >= 1; the permutation is determined by n, seed and `stream`.
cpli_permutation cpli_permutation_make(uint64_t n, uint64_t seed, uint64_t stream);
uint64_t cpli_permute(const cpli_permutation* p, uint64_t i);
