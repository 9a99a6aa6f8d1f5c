// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The text of a page, read by tests.
#pragma once

#include "testing.h"

// The text between two others, of the caller.
static inline char* between(const char* page, const char* before, const char* after) {
  const char* from = strstr(page, before);
  assert_non_null(from);
  from += strlen(before);
  const char* to = strstr(from, after);
  assert_non_null(to);
  return strndup(from, (size_t)(to - from));
}

// Decodes base64 the slow way.
static inline size_t decoded(const char* text, unsigned char* out) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t n = 0;
  unsigned bits = 0, have = 0;
  for (; *text != '\0' && *text != '='; text++) {
    const char* digit = strchr(digits, *text);
    assert_non_null(digit);
    bits = bits << 6 | (unsigned)(digit - digits);
    have += 6;
    if (have >= 8) out[n++] = (unsigned char)(bits >> (have -= 8));
  }
  return n;
}
