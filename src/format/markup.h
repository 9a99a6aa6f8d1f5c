// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Markup in the making: a text that grows, and the escaping of what others wrote. Out of memory is
// remembered, so that callers look once, at the end.
#pragma once

#include "base/base.h"

typedef struct cpli_text {
  cpl_context* ctx;
  char* data;  // not ended by '\0'
  size_t len, cap;
  bool failed;
} cpli_text;

void cpli_text_free(cpli_text* text);
void cpli_text_put(cpli_text* text, const char* s);
void cpli_text_bytes(cpli_text* text, const void* bytes, size_t n);
void cpli_text_number(cpli_text* text, double value);  // in any locale

/// Text as content or attribute of XML or HTML: markup is escaped, control characters and broken
/// UTF-8 become U+FFFD. At most `limit` characters, then an ellipsis.
void cpli_text_escaped(cpli_text* text, const char* s, size_t limit);
