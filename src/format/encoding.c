// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// UTF-8 is checked by the ranges of its bytes (RFC 3629); Windows-1252 is converted by a table for
// the bytes 0x80 to 0x9f.
#include "format/encoding.h"

// The number of bytes of a character by its first one; 0: it cannot be a first one.
static size_t length_of(unsigned char c) {
  if (c < 0x80) return 1;
  if (c < 0xc2) return 0;
  return c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
}

// The second byte after some first ones has a smaller range: other values are overlong sequences,
// surrogates, or beyond U+10FFFF.
static bool is_second(unsigned char first, unsigned char c) {
  unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  return c >= low && c <= high;
}

size_t cpli_utf8_prefix(const char* text, size_t size) {
  const unsigned char* s = (const unsigned char*)text;
  for (size_t i = 0, n; i < size; i += n) {
    // most texts are ASCII
    uint64_t eight = 0;
    n = sizeof eight;
    if (n <= size - i) memcpy(&eight, s + i, n);
    if (n <= size - i && (eight & UINT64_C(0x8080808080808080)) == 0) continue;
    n = length_of(s[i]);
    if (n == 0 || n > size - i || (n > 1 && !is_second(s[i], s[i + 1]))) return i;
    for (size_t k = 2; k < n; k++)
      if ((s[i + k] & 0xc0) != 0x80) return i;
  }
  return size;
}

// 0x80 to 0x9f; the rest is as in Unicode.
static const uint16_t windows[32] = {0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
                                     0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
                                     0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                     0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};

char* cpli_from_windows_1252(cpl_context* ctx, const char* text, size_t size, size_t* out_size) {
  if (size > SIZE_MAX / 4) return NULL;
  char* out = cpli_realloc(ctx, NULL, 3 * size + 1, 1);
  size_t n = 0;
  for (size_t i = 0; out != NULL && i < size; i++) {
    unsigned char c = (unsigned char)text[i];
    unsigned code = c >= 0x80 && c < 0xa0 ? windows[c - 0x80] : c;
    if (code < 0x80) {
      out[n++] = (char)code;
    } else if (code < 0x800) {
      out[n++] = (char)(0xc0 | code >> 6);
      out[n++] = (char)(0x80 | (code & 0x3f));
    } else {
      out[n++] = (char)(0xe0 | code >> 12);
      out[n++] = (char)(0x80 | (code >> 6 & 0x3f));
      out[n++] = (char)(0x80 | (code & 0x3f));
    }
  }
  if (out != NULL) out[n] = '\0';
  *out_size = n;
  return out;
}
