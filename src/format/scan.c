// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Real numbers are left to cpli_parse_double(); integers are added up digit by digit, with a check
// for overflow.
#include "format/scan.h"

#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static const char* skip_blanks(const char* text) {
  while (is_blank(*text)) text++;
  return text;
}

bool cpli_parse_real(const char* text, double* out) {
  text = skip_blanks(text);
  size_t n = strcspn(text, " \t\r\n");
  return *skip_blanks(text + n) == '\0' && cpli_parse_double(text, n, out);
}

const char* cpli_scan_integer(const char* text, int64_t min, int64_t max, int64_t* out) {
  text = skip_blanks(text);
  bool negative = *text == '-';
  if (*text == '-' || *text == '+') text++;
  if (*text < '0' || *text > '9') return NULL;
  int64_t number = 0;
  for (; *text >= '0' && *text <= '9'; text++) {
    const int64_t digit = negative ? '0' - *text : *text - '0';
    if (__builtin_mul_overflow(number, 10, &number)) return NULL;
    if (__builtin_add_overflow(number, digit, &number)) return NULL;
  }
  if (number < min || number > max) return NULL;
  *out = number;
  return text;
}

bool cpli_parse_integer(const char* text, int64_t min, int64_t max, int64_t* out) {
  const char* end = cpli_scan_integer(text, min, max, out);
  return end != NULL && *skip_blanks(end) == '\0';
}

bool cpli_parse_boolean(const char* text, bool* out) {
  text = skip_blanks(text);
  size_t n = strcspn(text, " \t\r\n");
  if (*skip_blanks(text + n) != '\0') return false;
  bool yes = (n == 4 && memcmp(text, "true", 4) == 0) || (n == 1 && *text == '1');
  bool no = (n == 5 && memcmp(text, "false", 5) == 0) || (n == 1 && *text == '0');
  if (!yes && !no) return false;
  *out = yes;
  return true;
}

const char* cpli_print_real(double value, char out[CPLI_NUMBER_SIZE]) {
  cpli_format_double(out, value);
  return out;
}
