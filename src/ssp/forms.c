// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Forms of values, with what is said about a wrong one.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "format/scan.h"
#include "format/source_loc.h"
#include "ssp/rules.h"

static const struct {
  const char* text;
  int64_t min, max;
} integers[] = {
    [CPLI_FORM_INT8] = {"an integer from -128 to 127", INT8_MIN, INT8_MAX},
    [CPLI_FORM_UINT8] = {"an integer from 0 to 255", 0, UINT8_MAX},
    [CPLI_FORM_INT16] = {"an integer from -32768 to 32767", INT16_MIN, INT16_MAX},
    [CPLI_FORM_UINT16] = {"an integer from 0 to 65535", 0, UINT16_MAX},
    [CPLI_FORM_INT32] = {"an integer of 32 bits", INT32_MIN, INT32_MAX},
    [CPLI_FORM_UINT32] = {"an integer from 0 to 4294967295", 0, UINT32_MAX},
    [CPLI_FORM_INT64] = {"an integer of 64 bits", INT64_MIN, INT64_MAX},
    [CPLI_FORM_UINT64] = {"an integer from 0 to 18446744073709551615", 0, INT64_MAX},
    [CPLI_FORM_INTEGER] = {"an integer", INT64_MIN, INT64_MAX},
    [CPLI_FORM_SIZE] = {"an integer that is not negative", 0, INT64_MAX},
};

// Digits up to 18446744073709551615, which has 20.
static bool is_unsigned(const char* text) {
  static const char largest[] = "18446744073709551615";
  text += strspn(text, " \t\r\n");
  if (*text == '+') text++;
  const char* end = text + strspn(text, "0123456789");
  if (end == text || end[strspn(end, " \t\r\n")] != '\0') return false;
  while (*text == '0') text++;
  const size_t n = (size_t)(end - text);
  return n < sizeof largest - 1 || (n == sizeof largest - 1 && strncmp(text, largest, n) <= 0);
}

static bool is_hex(const char* text) {
  size_t n = 0;
  text += strspn(text, " \t\r\n");
  for (; isxdigit((unsigned char)text[n]);) n++;
  return n % 2 == 0 && text[n + strspn(text + n, " \t\r\n")] == '\0';
}

static bool is_one(cpli_ssp_form form, const char* value) {
  double real;
  int64_t integer;
  bool boolean;
  switch (form) {
    case CPLI_FORM_NAME: return value[0] != '\0';
    case CPLI_FORM_REAL: return cpli_parse_real(value, &real);
    case CPLI_FORM_BOOLEAN: return cpli_parse_boolean(value, &boolean);
    case CPLI_FORM_HEX: return is_hex(value);
    case CPLI_FORM_TEXT:
    case CPLI_FORM_CHOICE:
    case CPLI_FORM_VERSION: return true;
    default: break;
  }
  if (cpli_parse_integer(value, integers[form].min, integers[form].max, &integer)) return true;
  return (form == CPLI_FORM_UINT64 || form == CPLI_FORM_INTEGER) && is_unsigned(value);
}

static const char* expected(cpli_ssp_form form) {
  switch (form) {
    case CPLI_FORM_NAME: return "a text that is not empty";
    case CPLI_FORM_REAL: return "a number";
    case CPLI_FORM_BOOLEAN: return "true or false";
    case CPLI_FORM_HEX: return "hexadecimal digits, two per byte";
    case CPLI_FORM_TEXT:
    case CPLI_FORM_CHOICE:
    case CPLI_FORM_VERSION: return "a text";
    default: return integers[form].text;
  }
}

static bool is_list_of(cpli_ssp_form form, const char* value) {
  static const char blanks[] = " \t\r\n";
  char item[128];
  for (value += strspn(value, blanks); *value != '\0'; value += strspn(value, blanks)) {
    const size_t n = strcspn(value, blanks);
    if (n >= sizeof item) return false;
    memcpy(item, value, n);
    item[n] = '\0';
    if (!is_one(form, item)) return false;
    value += n;
  }
  return true;
}

//------------------------------------ choices ------------------------------------

typedef struct choice_list {
  char text[256];
  const char* items[16];
  size_t n;
} choice_list;

static const char* choice_at(const void* user, size_t i) {
  return ((const choice_list*)user)->items[i];
}

static bool is_choice(const char* choices, const char* value, char* why, size_t size) {
  choice_list list = {.n = 0};
  snprintf(list.text, sizeof list.text, "%s", choices);
  char* rest = list.text;
  for (char* item; (item = strsep(&rest, "|")) != NULL && list.n < CPLI_COUNT(list.items);) {
    if (strcmp(item, value) == 0) return true;
    list.items[list.n++] = item;
  }
  char similar[128];
  cpli_did_you_mean(value, choice_at, &list, list.n, similar, sizeof similar);
  size_t at = (size_t)snprintf(why, size, "expected ");
  for (size_t i = 0; i < list.n && at < size; i++)
    at += (size_t)snprintf(why + at, size - at, "%s%s", list.items[i],
                           i + 2 < list.n    ? ", "
                           : i + 2 == list.n ? " or "
                                             : similar);
  return false;
}

bool cpli_ssp_has_form(cpli_ssp_form form, bool is_list, const char* choices, const char* value,
                       char* why, size_t size) {
  if (form == CPLI_FORM_CHOICE) return is_choice(choices, value, why, size);
  if (is_list ? is_list_of(form, value) : is_one(form, value)) return true;
  snprintf(why, size, "expected %s%s", expected(form), is_list ? ", or several of them" : "");
  return false;
}
