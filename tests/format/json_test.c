// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/json.h"

#include "format/text.h"
#include "testing.h"

static char* written;
static size_t n_written;

static FILE* begin(void) {
  FILE* out = open_memstream(&written, &n_written);
  assert_non_null(out);
  return out;
}

static void writes_objects_and_arrays(void** state) {
  (void)state;
  cpli_json j;
  FILE* out = begin();
  cpli_json_begin(&j, out);
  j.one_line = 2;
  cpli_json_object(&j, NULL);
  cpli_json_text(&j, "name", "x");
  cpli_json_array(&j, "list");
  cpli_json_integer(&j, NULL, -3);
  cpli_json_real(&j, NULL, 0.1);
  cpli_json_real(&j, NULL, NAN);
  cpli_json_boolean(&j, NULL, true);
  cpli_json_text(&j, NULL, NULL);
  cpli_json_close(&j, ']');
  cpli_json_array(&j, "empty");
  cpli_json_close(&j, ']');
  cpli_json_close(&j, '}');
  cpli_json_end(&j);
  fclose(out);
  CHECK_STR(
      written,
      "{\n  \"name\": \"x\",\n  \"list\": [-3, 0.1, null, true, null],\n  \"empty\": []\n}\n");
  free(written);
}

static void escapes_what_others_wrote(void** state) {
  (void)state;
  cpli_json j;
  FILE* out = begin();
  cpli_json_begin(&j, out);
  cpli_json_text(&j, NULL, "a\"b\\c\nd\x1b e\xff f\xc2\xb0 g\xc2\x9b");
  fclose(out);
  CHECK_STR(written, "\"a\\\"b\\\\c\\nd\\u001b e\\ufffd f\xc2\xb0 g\\u009b\"");
  free(written);
}

static void decodes_utf8_strictly(void** state) {
  (void)state;
  static const struct {
    const char* bytes;
    uint32_t c;
    int n;
  } cases[] = {
      {"a", 'a', 1},
      {"\xc3\xa4", 0xe4, 2},
      {"\xe2\x82\xac", 0x20ac, 3},
      {"\xf0\x9f\x98\x80", 0x1f600, 4},
      {"\xc0\x80", 0xfffd, 1},          // too long a form
      {"\xe0\x80\x80", 0xfffd, 1},      // the same
      {"\xed\xa0\x80", 0xfffd, 1},      // half of a pair
      {"\xf4\x90\x80\x80", 0xfffd, 1},  // beyond the last character
      {"\xc3", 0xfffd, 1},              // cut off
      {"\x80", 0xfffd, 1},
  };
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    const char* text = cases[i].bytes;
    CHECK_INT(cpli_utf8_next(&text), cases[i].c);
    CHECK_INT(text - cases[i].bytes, cases[i].n);
  }
}

static void terminals_are_safe(void** state) {
  (void)state;
  FILE* out = begin();
  CHECK_INT(cpli_print_text(out,
                            "a\x1b[31mb\nc\xc2\x9b"
                            "d\xe2\x80\xae",
                            0),
            12);
  fputc('|', out);
  CHECK_INT(cpli_print_text(out, "0123456789", 5), 5);
  fclose(out);
  CHECK_STR(written, "a?[31mb c?d?|0123\xe2\x80\xa6");
  free(written);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_objects_and_arrays),
      cmocka_unit_test(escapes_what_others_wrote),
      cmocka_unit_test(decodes_utf8_strictly),
      cmocka_unit_test(terminals_are_safe),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
