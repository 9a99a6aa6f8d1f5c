// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Doubles as text, exactly and in any locale. Printing gives the shortest text that reads back to
// the same bits (and of those the one nearest to the value); reading is correctly rounded. Both are
// hot spots: of writing results, and of reading tables.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CPLI_NUMBER_SIZE = 32 };  // room for any number and its end of string

/// "0.1", "-12.5", "1e-300", "3" (whole numbers have no point), "nan", "inf", "-inf".
/// Returns the length; the text also ends with '\0'.
size_t cpli_format_double(char out[CPLI_NUMBER_SIZE], double value);
size_t cpli_format_integer(char out[CPLI_NUMBER_SIZE], int64_t value);
size_t cpli_format_unsigned(char out[CPLI_NUMBER_SIZE], uint64_t value);

/// Strict: all `len` bytes are one number, [+-]digits[.digits][e[+-]digits], nan, inf or infinity
/// in any case; no blanks, no hexadecimals, no locale. Returns false, and *out stays, when they are
/// not, or when a finite number is too large for a double. `text` need not end with '\0'.
bool cpli_parse_double(const char* text, size_t len, double* out);
