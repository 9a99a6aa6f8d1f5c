// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A growing text: XML, HTML and C for an FMU. A failed allocation is remembered, so that only the
// end has to check it.
#pragma once

#include "base/base.h"

typedef struct cpli_writer {
  cpl_context* ctx;
  char* text;  // ends with '\0'; NULL: nothing was written
  size_t len, cap;
  bool failed;
} cpli_writer;

void cpli_writer_free(cpli_writer* w);
/// CPL_ERR_NOMEM when anything was lost.
cpl_status cpli_writer_status(const cpli_writer* w);

void cpli_write(cpli_writer* w, const char* text);
CPL_PRINTF(2, 3) void cpli_writef(cpli_writer* w, const char* fmt, ...);
/// For XML and HTML: markup escaped, bytes that are no UTF-8 and control characters replaced.
void cpli_write_escaped(cpli_writer* w, const char* text);
/// The shortest text that reads back as the same double.
void cpli_write_number(cpli_writer* w, double value);
/// A C string literal.
void cpli_write_literal(cpli_writer* w, const char* text);

/// ` name="value"`; nothing when the text is empty.
void cpli_write_attribute(cpli_writer* w, const char* name, const char* value);
