// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Text whose bytes are not what its file says: found out, and read as what it most likely is.
#pragma once

#include "base/base.h"

/// Where the first byte is that is no part of UTF-8; `size` when all is well.
size_t cpli_utf8_prefix(const char* text, size_t size);

/// The text read as Windows-1252 (which holds ISO-8859-1) in UTF-8; a zero byte follows it.
/// Owned: the result by the caller, who calls cpli_free(); NULL: no memory.
char* cpli_from_windows_1252(cpl_context* ctx, const char* text, size_t size, size_t* out_size);
