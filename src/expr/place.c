// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Converts an offset in the text of an expression into the source location of a failure.
#include "expr/code.h"

cpl_status cpli_expr_fail(cpl_context* ctx, cpl_status st, cpli_source_loc loc, const char* text,
                          size_t at, const char* what) {
  int32_t line = loc.line, column = loc.column;
  for (size_t i = 0; i < at; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '\n') {
      line++;
      column = 1;
    } else if ((c & 0xC0) != 0x80) {  // not inside a character of several bytes
      column++;
    }
  }
  if (loc.file == NULL) return cpl_fail(ctx, st, "%s", what);
  if (loc.line >= 1) loc = (cpli_source_loc){loc.file, line, column};  // else the file as a whole
  return cpli_fail_at(ctx, st, &loc, "%s", what);
}
