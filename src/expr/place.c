// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Converts an offset in the text of an expression into the source location at the beginning of a
// message.
#include <stdio.h>

#include "expr/code.h"

void cpli_expr_where(cpli_source_loc loc, const char* text, size_t at, char* out, size_t size) {
  int line = loc.line, column = loc.column;
  for (size_t i = 0; i < at; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '\n') {
      line++;
      column = 1;
    } else if ((c & 0xC0) != 0x80) {  // not inside a character of several bytes
      column++;
    }
  }
  if (loc.file == NULL) {
    snprintf(out, size, "column %d", column);
  } else if (loc.line < 1) {
    snprintf(out, size, "%.400s", loc.file);  // the file as a whole
  } else {
    snprintf(out, size, "%.400s:%d:%d", loc.file, line, column);
  }
}
