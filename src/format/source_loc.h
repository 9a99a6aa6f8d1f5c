// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Where something stands in a file, so that a message can point at it: "file:line:column: text".
// Things that were made by a program have no file; messages about them begin with the text.
#pragma once

#include "base/base.h"

typedef struct cpli_source_loc {
  const char* file;      // borrowed. Nullable: not from a file.
  int32_t line, column;  // from 1, in characters; 0: the file as a whole
} cpli_source_loc;

enum { CPLI_LOC_SIZE = 1024 };

/// "file:line:column: ", "file: " or "", for printf: returns `out`.
const char* cpli_source_loc_text(const cpli_source_loc* place, char out[CPLI_LOC_SIZE]);

/// Record a failure with its source location; returns `st`.
CPL_PRINTF(4, 5)
cpl_status cpli_fail_at(cpl_context* ctx, cpl_status st, const cpli_source_loc* place,
                        const char* fmt, ...);

/// cpl_fail_prefix() with a source location, which becomes that of the failure.
CPL_PRINTF(4, 5)
cpl_status cpli_fail_prefix_at(cpl_context* ctx, cpl_status st, const cpli_source_loc* place,
                               const char* fmt, ...);
/// A failure of a file as a whole: "path: text".
CPL_PRINTF(4, 5)
cpl_status cpli_fail_file(cpl_context* ctx, cpl_status st, const char* path, const char* fmt, ...);

/// " (did you mean a, b or c?)" or "" into `out`, for the end of such a message; returns `out`.
const char* cpli_did_you_mean(const char* name, const char* (*at)(const void* user, size_t i),
                              const void* user, size_t n, char* out, size_t size);
