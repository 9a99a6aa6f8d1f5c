// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Appends to one buffer that doubles when it is full, and escapes text for XML, for HTML and for
// string literals of C.
#include "export/writer.h"

#include <stdio.h>

#include "format/number.h"
#include "format/text.h"

void cpli_writer_free(cpli_writer* w) {
  cpli_free(w->ctx, w->text);
  w->text = NULL;
  w->len = w->cap = 0;
}

cpl_status cpli_writer_status(const cpli_writer* w) {
  return w->failed ? cpli_nomem(w->ctx) : CPL_OK;
}

static void write_bytes(cpli_writer* w, const char* bytes, size_t n) {
  if (w->failed) return;
  if (w->len + n + 1 > w->cap) {
    size_t cap = 2 * w->cap + n + 1024;
    char* text = cpli_realloc(w->ctx, w->text, cap, 1);
    if (text == NULL) {
      w->failed = true;
      return;
    }
    w->text = text;
    w->cap = cap;
  }
  memcpy(w->text + w->len, bytes, n);
  w->len += n;
  w->text[w->len] = '\0';
}

void cpli_write(cpli_writer* w, const char* text) { write_bytes(w, text, strlen(text)); }

void cpli_writef(cpli_writer* w, const char* fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (n >= 0 && (size_t)n < sizeof text) {
    write_bytes(w, text, (size_t)n);
    return;
  }
  va_start(args, fmt);
  char* whole = cpli_vprintf(w->ctx, fmt, args);
  va_end(args);
  w->failed = w->failed || whole == NULL;
  if (whole != NULL) cpli_write(w, whole);
  cpli_free(w->ctx, whole);
}

void cpli_write_escaped(cpli_writer* w, const char* text) {
  while (*text != '\0') {
    const char* begin = text;
    uint32_t c = cpli_utf8_next(&text);
    bool space = c == '\n' || c == '\t';
    if (c == '&') cpli_write(w, "&amp;");
    else if (c == '<') cpli_write(w, "&lt;");
    else if (c == '>') cpli_write(w, "&gt;");
    else if (c == '"') cpli_write(w, "&quot;");
    else if (space) cpli_writef(w, "&#%u;", (unsigned)c);
    else if (c < 0x20 || c == 0x7f || c == 0xfffd || c == 0xfffe || c == 0xffff)
      cpli_write(w, "\xef\xbf\xbd");
    else write_bytes(w, begin, (size_t)(text - begin));
  }
}

void cpli_write_number(cpli_writer* w, double value) {
  char text[CPLI_NUMBER_SIZE];
  cpli_format_double(text, value);
  cpli_write(w, text);
}

void cpli_write_literal(cpli_writer* w, const char* text) {
  cpli_write(w, "\"");
  for (; *text != '\0'; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') cpli_writef(w, "\\%c", c);
    else if (c < 0x20 || c >= 0x7f || c == '?') cpli_writef(w, "\\%03o", c);
    else write_bytes(w, text, 1);
  }
  cpli_write(w, "\"");
}

void cpli_write_attribute(cpli_writer* w, const char* name, const char* value) {
  if (value == NULL || value[0] == '\0') return;
  cpli_writef(w, " %s=\"", name);
  cpli_write_escaped(w, value);
  cpli_write(w, "\"");
}
