// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Formats source locations for messages, and the suggestion that ends a message about an unknown
// name.
#include "format/source_loc.h"

#include <stdio.h>

#include "base/error.h"

// The sources of systems have this file, and not those of numbers (format/number.h).
static size_t append_number(char* out, size_t at, int number) {
  char digits[16];
  size_t n = 0;
  do digits[n++] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  out[at++] = ':';
  while (n > 0) out[at++] = digits[--n];
  return at;
}

// As snprintf would, which takes longer than all else that is done for a short expression.
static bool is_short(const cpli_source_loc* place, char out[CPLI_LOC_SIZE]) {
  size_t n = strnlen(place->file, CPLI_LOC_SIZE);
  if (n + 32 > CPLI_LOC_SIZE || place->line < 0 || place->column < 0) return false;
  memcpy(out, place->file, n);
  if (place->line > 0) n = append_number(out, n, place->line);
  if (place->line > 0 && place->column > 0) n = append_number(out, n, place->column);
  memcpy(out + n, ": ", 3);
  return true;
}

const char* cpli_source_loc_text(const cpli_source_loc* place, char out[CPLI_LOC_SIZE]) {
  if (place->file == NULL) {
    out[0] = '\0';
  } else if (is_short(place, out)) {
    return out;
  } else if (place->line == 0) {
    snprintf(out, CPLI_LOC_SIZE, "%s: ", place->file);
  } else if (place->column == 0) {
    snprintf(out, CPLI_LOC_SIZE, "%s:%d: ", place->file, place->line);
  } else {
    snprintf(out, CPLI_LOC_SIZE, "%s:%d:%d: ", place->file, place->line, place->column);
  }
  return out;
}

cpl_status cpli_fail_at(cpl_context* ctx, cpl_status st, const cpli_source_loc* place,
                        const char* fmt, ...) {
  const cpl_error at = {.file = place->file, .line = place->line, .column = place->column};
  va_list args;
  va_start(args, fmt);
  cpli_vfail(ctx, st, &at, false, fmt, args);
  va_end(args);
  return st;
}

cpl_status cpli_fail_prefix_at(cpl_context* ctx, cpl_status st, const cpli_source_loc* place,
                               const char* fmt, ...) {
  const cpl_error at = {.file = place->file, .line = place->line, .column = place->column};
  va_list args;
  va_start(args, fmt);
  cpli_vfail(ctx, st, &at, true, fmt, args);
  va_end(args);
  return st;
}

cpl_status cpli_fail_file(cpl_context* ctx, cpl_status st, const char* path, const char* fmt, ...) {
  const cpl_error at = {.file = path};
  va_list args;
  va_start(args, fmt);
  cpli_vfail(ctx, st, &at, false, fmt, args);
  va_end(args);
  return st;
}

const char* cpli_did_you_mean(const char* name, const char* (*at)(const void* user, size_t i),
                              const void* user, size_t n, char* out, size_t size) {
  char near[384];
  cpli_nearest(name, at, user, n, near, sizeof near);
  if (near[0] == '\0') {
    out[0] = '\0';
  } else {
    snprintf(out, size, " (did you mean %s?)", near);
  }
  return out;
}
