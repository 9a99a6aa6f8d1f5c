// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A generator and permutations without state.
#include "study/random.h"

static uint64_t multiply(uint64_t a, uint64_t b, uint64_t* high) {
  __extension__ const unsigned __int128 product = (unsigned __int128)a * b;
  *high = (uint64_t)(product >> 64);
  return (uint64_t)product;
}

cpli_random cpli_random_bits(uint64_t seed, uint64_t i, uint64_t j) {
  uint64_t left = i, right = j, key = seed;
  for (int round = 0; round < 10; round++) {
    uint64_t high;
    const uint64_t low = multiply(0xD2B74407B1CE6E93u, left, &high);
    left = high ^ key ^ right;
    right = low;
    key += 0x9E3779B97F4A7C15u;
  }
  return (cpli_random){{left, right}};
}

//------------------------------------ permutations ------------------------------------

// A bijective mixing of 64 bits (Stafford's variant 13 of the finalizer of MurmurHash3).
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

cpli_permutation cpli_permutation_make(uint64_t n, uint64_t seed, uint64_t stream) {
  cpli_permutation p = {.n = n, .half = 3};
  while (p.half < 32 && (uint64_t)1 << (2 * p.half) < n) p.half++;
  p.rounds = p.half <= 8 ? CPLI_PERMUTATION_ROUNDS : 8;
  for (uint64_t r = 0; r < p.rounds; r++) p.keys[r] = cpli_random_bits(seed, r, stream).part[0];
  return p;
}

uint64_t cpli_permute(const cpli_permutation* p, uint64_t i) {
  const uint64_t mask = ((uint64_t)1 << p->half) - 1;
  do {
    uint64_t left = i >> p->half, right = i & mask;
    for (uint32_t r = 0; r < p->rounds; r++) {
      const uint64_t next = left ^ (mix(right + p->keys[r]) & mask);
      left = right;
      right = next;
    }
    i = left << p->half | right;
  } while (i >= p->n);
  return i;
}
