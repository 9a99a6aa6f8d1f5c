// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/text.h"

#include "format/number.h"

void cpli_text_free(cpli_text* text) {
  cpli_free(text->ctx, text->data);
  text->data = NULL;
}

void cpli_text_bytes(cpli_text* text, const void* bytes, size_t n) {
  if (text->failed) return;
  if (n > text->cap - text->len) {
    size_t cap = text->cap > 0 ? text->cap : 4096;
    while (cap - text->len < n) cap *= 2;
    char* moved = cpli_realloc(text->ctx, text->data, cap, 1);
    if (moved == NULL) {
      text->failed = true;
      return;
    }
    text->data = moved;
    text->cap = cap;
  }
  memcpy(text->data + text->len, bytes, n);
  text->len += n;
}

void cpli_text_put(cpli_text* text, const char* s) { cpli_text_bytes(text, s, strlen(s)); }

void cpli_text_number(cpli_text* text, double value) {
  char digits[CPLI_NUMBER_SIZE];
  cpli_text_bytes(text, digits, cpli_format_double(digits, value));
}

// Bytes of the UTF-8 character at s that XML allows; 0: there is none.
static size_t character(const unsigned char* s) {
  static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
  if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7F;
  const size_t n = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : s[0] >= 0xC0 ? 2 : 0;
  if (n == 0 || s[0] >= 0xF8) return 0;
  uint32_t c = s[0] & (0xFFu >> (n + 1));
  for (size_t i = 1; i < n; i++) {
    if ((s[i] & 0xC0) != 0x80) return 0;
    c = c << 6 | (s[i] & 0x3Fu);
  }
  const bool surrogate = c >= 0xD800 && c < 0xE000;
  // control characters, and those that change the direction of the text around them
  const bool unwanted = c < 0xA0 || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  if (c < smallest[n] || c > 0x10FFFF || surrogate || (c & 0xFFFE) == 0xFFFE || unwanted) return 0;
  return n;
}

void cpli_text_escaped(cpli_text* text, const char* s, size_t limit) {
  for (; *s != '\0'; limit--) {
    if (limit == 0) {
      cpli_text_put(text, "\u2026");
      return;
    }
    const size_t n = character((const unsigned char*)s);
    switch (*s) {
      case '&': cpli_text_put(text, "&amp;"); break;
      case '<': cpli_text_put(text, "&lt;"); break;
      case '>': cpli_text_put(text, "&gt;"); break;
      case '"': cpli_text_put(text, "&quot;"); break;
      case '\'': cpli_text_put(text, "&#39;"); break;
      default:
        if (n > 0) {
          cpli_text_bytes(text, s, n);
        } else {
          cpli_text_put(text, "\uFFFD");
        }
    }
    s += n > 0 ? n : 1;
  }
}
