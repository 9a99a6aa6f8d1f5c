// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/encoding.h"

#include "testing.h"

static void finds_what_is_no_utf8(void** state) {
  (void)state;
  static const struct {
    const char* text;
    size_t good;
  } cases[] = {{"plain", 5},
               {"Stra\xc3\x9f"
                "e",
                7},
               {"\xe2\x82\xac", 3},
               {"\xf0\x9f\x98\x80", 4},
               {"ab\xdf"
                "e",
                2},
               {"ab\xc3", 2},
               {"\xc0\x80", 0},
               {"a\x80", 1},
               {"\xf5\x80\x80\x80", 0},
               // the first and the last character of each range, and the bytes next to them
               {"\xe0\xa0\x80", 3},
               {"\xe0\x9f\xbf", 0},
               {"x\xed\x9f\xbf", 4},
               {"x\xed\xa0\x80", 1},
               {"\xed\xbf\xbf", 0},
               {"\xee\x80\x80", 3},
               {"\xf0\x90\x80\x80", 4},
               {"yz\xf0\x8f\xbf\xbf", 2},
               {"\xf4\x8f\xbf\xbf", 4},
               {"\xf4\x90\x80\x80", 0},
               {"\xe1\x80\x41", 0}};
  for (size_t i = 0; i < CPLI_COUNT(cases); i++)
    CHECK_INT(cpli_utf8_prefix(cases[i].text, strlen(cases[i].text)), cases[i].good);
}

static void converts_windows_1252(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  size_t size;
  char* text = cpli_from_windows_1252(ctx, "a\xdf\x80\x99", 4, &size);
  CHECK_STR(text, "a\xc3\x9f\xe2\x82\xac\xe2\x84\xa2");
  CHECK_INT(size, strlen(text));
  CHECK_INT(cpli_utf8_prefix(text, size), size);
  cpli_free(ctx, text);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(finds_what_is_no_utf8),
                                     cmocka_unit_test(converts_windows_1252)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
