// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Text in another encoding than its file declares: detects it and converts it to UTF-8.
#pragma once

#include "base/base.h"

/// The index of the first byte that is not valid UTF-8; `size` when there is none. Overlong
/// sequences and surrogates are not valid.
size_t cpli_utf8_prefix(const char* text, size_t size);

/// The text read as Windows-1252 (which holds ISO-8859-1) in UTF-8; a zero byte follows it.
/// Owned: the result by the caller, who calls cpli_free(); NULL: no memory.
char* cpli_from_windows_1252(cpl_context* ctx, const char* text, size_t size, size_t* out_size);
