// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The buffer doubles when it is full; text is decoded character by character for escaping.
#include "format/markup.h"

#include "format/number.h"
#include "format/text.h"

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

void cpli_text_escaped(cpli_text* text, const char* s, size_t limit) {
  for (; *s != '\0'; limit--) {
    if (limit == 0) {
      cpli_text_put(text, "\u2026");
      return;
    }
    const char* begin = s;
    const uint32_t c = cpli_utf8_next(&s);
    switch (c) {
      case '&': cpli_text_put(text, "&amp;"); break;
      case '<': cpli_text_put(text, "&lt;"); break;
      case '>': cpli_text_put(text, "&gt;"); break;
      case '"': cpli_text_put(text, "&quot;"); break;
      case '\'': cpli_text_put(text, "&#39;"); break;
      default:
        // XML cannot represent U+FFFE and U+FFFF
        if (c == 0xFFFD || c == 0xFFFE || c == 0xFFFF || cpli_is_control(c)) {
          cpli_text_put(text, "\uFFFD");
        } else {
          cpli_text_bytes(text, begin, (size_t)(s - begin));
        }
    }
  }
}
