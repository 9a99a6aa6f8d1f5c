// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Values in attributes of files: numbers and Booleans with blanks around them allowed, and nothing
// else.
#pragma once

#include "format/number.h"

/// Decimal notation, "INF", "-INF" and "NaN" in any case; no hexadecimal floats.
bool cpli_parse_real(const char* text, double* out);
/// Decimal digits with an optional sign, between min and max.
bool cpli_parse_integer(const char* text, int64_t min, int64_t max, int64_t* out);
/// Like cpli_parse_integer(), but stops at the first character that is none; returns where, or
/// NULL when there is no number. For lists of numbers.
const char* cpli_scan_integer(const char* text, int64_t min, int64_t max, int64_t* out);
/// "true", "false", "1" or "0".
bool cpli_parse_boolean(const char* text, bool* out);

/// cpli_format_double() for printf: returns `out`.
const char* cpli_print_real(double value, char out[CPLI_NUMBER_SIZE]);
