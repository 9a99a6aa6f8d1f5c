// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Numbers in files: always with a decimal point, whatever locale the process (or an FMU inside it)
// has set. Blanks around a number are allowed, anything else after it is not.
#pragma once

#include "base/base.h"

/// Decimal notation, "INF", "-INF" and "NaN" in any case; no hexadecimal floats.
bool cpli_parse_real(const char* text, double* out);
/// Decimal digits with an optional sign, between min and max.
bool cpli_parse_integer(const char* text, int64_t min, int64_t max, int64_t* out);
/// Like cpli_parse_integer(), but stops at the first character that is none; returns where, or
/// NULL when there is no number. For lists of numbers.
const char* cpli_scan_integer(const char* text, int64_t min, int64_t max, int64_t* out);
/// "true", "false", "1" or "0".
bool cpli_parse_boolean(const char* text, bool* out);

enum { CPLI_NUMBER_SIZE = 32 };
/// The shortest text that reads back as the same double; returns `out`.
const char* cpli_print_real(double value, char out[CPLI_NUMBER_SIZE]);
