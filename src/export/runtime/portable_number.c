// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Doubles as text in the sources of FMUs: by the C library, in any locale. The library's own
// functions (format/number.c) are faster and need 128-bit integers.
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/number.h"

enum { LONGEST = 1024 };  // 767 digits decide any double

static const char* point(void) {
  const struct lconv* c = localeconv();
  return c->decimal_point[0] != '\0' ? c->decimal_point : ".";
}

//------------------------------------ printing ------------------------------------

size_t cpli_format_integer(char out[CPLI_NUMBER_SIZE], int64_t value) {
  return (size_t)snprintf(out, CPLI_NUMBER_SIZE, "%lld", (long long)value);
}

size_t cpli_format_unsigned(char out[CPLI_NUMBER_SIZE], uint64_t value) {
  return (size_t)snprintf(out, CPLI_NUMBER_SIZE, "%llu", (unsigned long long)value);
}

static size_t copy(char out[CPLI_NUMBER_SIZE], const char* text) {
  strcpy(out, text);
  return strlen(text);
}

// The shortest text of at least fifteen digits that is the same double.
size_t cpli_format_double(char out[CPLI_NUMBER_SIZE], double value) {
  char text[2 * CPLI_NUMBER_SIZE];
  if (isnan(value)) return copy(out, "nan");
  if (isinf(value)) return copy(out, value > 0 ? "inf" : "-inf");
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  char* at = strstr(text, point());
  if (at != NULL) {
    size_t n = strlen(point());
    *at = '.';
    memmove(at + 1, at + n, strlen(at + n) + 1);
  }
  return copy(out, text);
}

//------------------------------------ reading ------------------------------------

static size_t count_digits(const char* text, size_t len) {
  size_t n = 0;
  while (n < len && text[n] >= '0' && text[n] <= '9') n++;
  return n;
}

// Whether all bytes are digits[.digits][e[+-]digits]; *dot: the place of the point, or len.
static bool is_number(const char* text, size_t len, size_t* dot) {
  size_t at = count_digits(text, len), digits = at;
  *dot = len;
  if (at < len && text[at] == '.') {
    *dot = at;
    size_t more = count_digits(text + at + 1, len - at - 1);
    digits += more;
    at += 1 + more;
  }
  if (digits == 0) return false;
  if (at == len) return true;
  if (text[at] != 'e' && text[at] != 'E') return false;
  at++;
  if (at < len && (text[at] == '-' || text[at] == '+')) at++;
  return at < len && count_digits(text + at, len - at) == len - at;
}

static bool read_number(const char* text, size_t len, double* out) {
  char all[LONGEST + 16];
  size_t dot, used = 0;
  if (len >= LONGEST || !is_number(text, len, &dot)) return false;
  const char* p = point();
  size_t n = strlen(p);
  if (n > 15) return false;
  memcpy(all, text, dot);
  used = dot;
  if (dot < len) {
    memcpy(all + used, p, n);
    used += n;
    memcpy(all + used, text + dot + 1, len - dot - 1);
    used += len - dot - 1;
  }
  all[used] = '\0';
  *out = strtod(all, NULL);
  return !isinf(*out);
}

static bool is_word(const char* text, size_t len, const char* word) {
  if (strlen(word) != len) return false;
  for (size_t i = 0; i < len; i++) {
    if ((text[i] | 0x20) != word[i]) return false;
  }
  return true;
}

bool cpli_parse_double(const char* text, size_t len, double* out) {
  const bool negative = len > 0 && text[0] == '-';
  double value;
  if (len > 0 && (text[0] == '-' || text[0] == '+')) text++, len--;
  if (is_word(text, len, "nan")) value = (double)NAN;
  else if (is_word(text, len, "inf") || is_word(text, len, "infinity")) value = (double)INFINITY;
  else if (!read_number(text, len, &value)) return false;
  *out = negative ? -value : value;
  return true;
}
