// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Output of untrusted text: to a terminal, where control characters would be commands, and
// into JSON, where bytes that are no UTF-8 would break the document.
#pragma once

#include <stdio.h>

#include "base/base.h"

/// The next character of UTF-8 text (not at its end); a byte that begins none is U+FFFD.
uint32_t cpli_utf8_next(const char** text);

/// True for what moves the cursor, changes colours or turns the direction of writing.
bool cpli_is_control(uint32_t character);

/// The number of characters that cpli_print_text() would write at most.
size_t cpli_text_width(const char* text);

/// Write at most `width` characters of `text` (0: all), an ellipsis when there are more; control
/// characters become a blank (line ends, tabs) or '?'. Returns the number written.
size_t cpli_print_text(FILE* out, const char* text, size_t width);
