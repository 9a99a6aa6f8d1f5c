// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Formats source locations for messages, and the suggestion that ends a message about an unknown
// name.
#include "format/source_loc.h"

#include <stdio.h>

const char* cpli_source_loc_text(const cpli_source_loc* place, char out[CPLI_LOC_SIZE]) {
  if (place->file == NULL) {
    out[0] = '\0';
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
  char where[CPLI_LOC_SIZE], text[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return cpl_fail(ctx, st, "%s%s", cpli_source_loc_text(place, where), text);
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
