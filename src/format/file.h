// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Whole files in memory.
#pragma once

#include "base/base.h"

/// Read a file, pipes too, of at most `limit` bytes; (*out)[*len] is '\0'.
/// Owned:   *out by the caller, who calls cpli_free().
/// Returns: CPL_ERR_INPUT when there is no such file to read, CPL_ERR_IO when reading fails, with
///          file and cause; *out is then NULL.
cpl_status cpli_file_read(cpl_context* ctx, const char* path, size_t limit, char** out,
                          size_t* len);

/// Write all bytes or fail; goes on after signals and short writes. Returns the number of bytes
/// written; less than `len`: errno says why.
size_t cpli_file_write(int fd, const void* bytes, size_t len);

/// Make a file of these bytes, in place of what was there. Returns CPL_ERR_IO with file and cause.
cpl_status cpli_file_make(cpl_context* ctx, const char* path, const void* bytes, size_t len);
