// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A hash of 128 bits for names of files derived from a text. It distinguishes texts that differ by
// chance; it is not collision-resistant against attackers.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct cpli_hash {
  uint64_t part[2];
} cpli_hash;

static inline cpli_hash cpli_hash_begin(void) {
  return (cpli_hash){{14695981039346656037u, 0x6c62272e07bb0142u}};
}

/// Two FNV-1a hashes with different bases, the second one mixed further.
static inline void cpli_hash_add(cpli_hash* hash, const void* bytes, size_t n) {
  const unsigned char* p = bytes;
  for (size_t i = 0; i < n; i++) {
    hash->part[0] = (hash->part[0] ^ p[i]) * 1099511628211u;
    hash->part[1] = (hash->part[1] ^ p[i]) * 1099511628211u;
    hash->part[1] ^= hash->part[1] >> 29;
  }
}
