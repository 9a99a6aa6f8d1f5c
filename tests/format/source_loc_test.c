// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The text of a source location is what printf would make of it, for any numbers and lengths.
#include "format/source_loc.h"

#include <limits.h>

#include "testing.h"

static void check(const char* file, int32_t line, int32_t column) {
  char expected[CPLI_LOC_SIZE], text[CPLI_LOC_SIZE];
  const cpli_source_loc place = {file, line, column};
  if (line == 0) snprintf(expected, sizeof expected, "%s: ", file);
  else if (column == 0) snprintf(expected, sizeof expected, "%s:%d: ", file, line);
  else snprintf(expected, sizeof expected, "%s:%d:%d: ", file, line, column);
  memset(text, 'x', sizeof text);
  assert_string_equal(cpli_source_loc_text(&place, text), expected);
}

static void texts_are_those_of_printf(void** state) {
  static char file[2 * CPLI_LOC_SIZE];
  const int32_t numbers[] = {0, 1, 9, 10, 99, 100, 12345, INT_MAX, -1};
  (void)state;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
      check("", numbers[i], numbers[k]);
      check("a/b.yaml", numbers[i], numbers[k]);
    }
  }
  memset(file, 'f', sizeof file - 1);
  for (size_t n = CPLI_LOC_SIZE - 50; n < CPLI_LOC_SIZE + 5; n++) {
    file[n] = '\0';
    check(file, INT_MAX, INT_MAX);
    check(file, 1, 0);
    check(file, 0, 0);
    file[n] = 'f';
  }
}

static void nothing_without_a_file(void** state) {
  char text[CPLI_LOC_SIZE] = "x";
  (void)state;
  assert_string_equal(cpli_source_loc_text(&(cpli_source_loc){NULL, 1, 2}, text), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_are_those_of_printf),
      cmocka_unit_test(nothing_without_a_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
