// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Checks of saved states as bytes, for any component.
#pragma once

#include "testing.h"

// A copy of the bytes of a saved state, which are only borrowed.
static inline cpl_binary state_bytes(cpl_context* ctx, cpl_component* c, cpl_snapshot* snapshot) {
  cpl_binary borrowed = {0};
  CHECK_OK(ctx, cpl_component_serialize(c, snapshot, &borrowed));
  CHECK(borrowed.size > 0);
  uint8_t* copy = malloc(borrowed.size);
  memcpy(copy, borrowed.data, borrowed.size);
  return (cpl_binary){copy, borrowed.size};
}

// Bytes in memory of exactly that size, so that a sanitizer sees every byte read beyond them.
static inline cpl_status read_exactly(cpl_component* c, const uint8_t* bytes, size_t size,
                                      cpl_snapshot* snapshot) {
  uint8_t* exact = malloc(size > 0 ? size : 1);
  memcpy(exact, bytes, size);
  cpl_status st = cpl_component_deserialize(c, &(cpl_binary){exact, size}, snapshot);
  free(exact);
  return st;
}

// Whatever they are.
static inline void read_all_values(cpl_component* c) {
  const cpl_description* d = cpl_component_description(c);
  for (int32_t i = 0; i < d->n_vars; i++) {
    double value = 0;
    if (d->vars[i].type == CPL_REAL) cpl_component_get_real(c, &d->vars[i].ref, 1, &value);
  }
}

// Every state that is cut off, too long or of another mark is refused, and leaves `kept` as it was;
// one with other contents is refused or restored, but never crashes.
static inline void check_bad_bytes(cpl_context* ctx, cpl_component* c, const cpl_binary* bytes) {
  cpl_snapshot kept = {0}, other = {0};
  uint8_t* copy = malloc(bytes->size + 1);
  memcpy(copy, bytes->data, bytes->size);
  copy[bytes->size] = 0;
  CHECK_OK(ctx, cpl_component_deserialize(c, bytes, &kept));
  void* data = kept.data;
  for (size_t n = 0; n < bytes->size; n += n < 200 ? 1 : bytes->size / 97 + 1) {
    CHECK_INT(read_exactly(c, copy, n, &kept), CPL_ERR_INPUT);
    CHECK(kept.data == data);
  }
  CHECK_INT(read_exactly(c, copy, bytes->size + 1, &kept), CPL_ERR_INPUT);
  for (size_t i = 0; i < 16; i++) {  // the mark and the fingerprint
    copy[i] ^= 0x40;
    CHECK_INT(read_exactly(c, copy, bytes->size, &kept), CPL_ERR_INPUT);
    CHECK(kept.data == data && strlen(cpl_context_error(ctx)) > 0);
    copy[i] ^= 0x40;
  }
  static const uint8_t masks[] = {0x01, 0x80, 0xff};
  const size_t stride = bytes->size / 1000 + 1;
  for (size_t i = 16; i < bytes->size; i += stride) {
    for (size_t k = 0; k < sizeof masks; k++) {
      copy[i] ^= masks[k];
      cpl_status st = read_exactly(c, copy, bytes->size, &other);
      if (st >= 0) st = cpl_component_restore(c, &other);
      if (st >= 0) read_all_values(c);
      copy[i] ^= masks[k];
    }
  }
  cpl_component_forget(c, &other);
  free(copy);
  CHECK_OK(ctx, cpl_component_restore(c, &kept));  // and the good one still is one
  cpl_binary again = state_bytes(ctx, c, &kept);
  CHECK(again.size == bytes->size && memcmp(again.data, bytes->data, again.size) == 0);
  free((void*)again.data);
  cpl_component_forget(c, &kept);
}
