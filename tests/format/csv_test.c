// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/csv.h"

#include "testing.h"

static const char path[] = "fields.csv";

static void write_bytes(const char* text, size_t len) {
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, len, f), len);
  fclose(f);
}

// The rows of a file as "a|b\nc|d\n"; quoted fields have a quote before them.
static cpl_status flatten(cpl_context* ctx, const char* text, char* out, size_t size) {
  write_bytes(text, strlen(text));
  cpli_csv csv;
  out[0] = '\0';
  cpl_status st = cpli_csv_open(ctx, path, &csv);
  if (st < 0) return st;
  while (st >= 0 && cpli_csv_next_row(&csv)) {
    cpli_csv_field f = {0};
    while (!f.last) {
      st = cpli_csv_next_field(&csv, &f);
      if (st < 0) break;
      size_t n = strlen(out);
      snprintf(out + n, size - n, "%s%.*s%s", f.quoted ? "'" : "", (int)f.len, f.text,
               f.last ? "\n" : "|");
    }
  }
  cpli_csv_close(&csv);
  return st;
}

static void reads_all_dialects(void** state) {
  (void)state;
  static const char* const cases[][2] = {
      {"a,b\n1,2\n", "a|b\n1|2\n"},
      {"a,b\r\n1,2\r\n", "a|b\n1|2\n"},
      {"a,b\r1,2", "a|b\n1|2\n"},
      {"a;b;c\n1,5;2;3\n", "a|b|c\n1,5|2|3\n"},
      {"a\tb\n1\t2\n", "a|b\n1|2\n"},
      {"\xEF\xBB\xBF\"a\",b\n", "'a|b\n"},
      {"# said\n\n  \na,b\n#x\n1,2\n\n", "a|b\n1|2\n"},
      {"\"a,\"\"b\"\"\",\"c\nd\"\n", "'a,\"b\"|'c\nd\n"},
      {"\"a;b;c;d\",e\n", "'a;b;c;d|e\n"},
      {" a , \"b\" ,c d\n", "a|'b|c d\n"},
      {"a,\n,\n\"\",x", "a|\n|\n'|x\n"},
      {"a b\"c\n", "a b\"c\n"},
      {"", ""},
      {"#only", ""},
  };
  cpl_context* ctx = test_context();
  char out[256];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK_OK(ctx, flatten(ctx, cases[i][0], out, sizeof out));
    CHECK_STR(out, cases[i][1]);
  }
  cpl_context_destroy(ctx);
}

static void errors_have_a_place(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char out[256];
  CHECK_INT(flatten(ctx, "a,b\n1,\"two\n\n", out, sizeof out), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "fields.csv:2:3: the quote is not closed");
  CHECK_INT(flatten(ctx, "a,b\n\"x\ny\" z,2\n", out, sizeof out), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "fields.csv:3:4: text behind a closing quote");

  write_bytes("a,b\n\0,2\n", 8);
  cpli_csv csv;
  CHECK_INT(cpli_csv_open(ctx, path, &csv), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "byte 5 is zero");
  CHECK_INT(cpli_csv_open(ctx, "none.csv", &csv), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "none.csv: No such file or directory");
  CHECK_INT(cpli_csv_open(ctx, ".", &csv), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), ".: is a folder");
  cpl_context_destroy(ctx);
}

static void numbers_and_booleans(void** state) {
  (void)state;
  double v;
  CHECK(cpli_csv_number(&(cpli_csv_field){.text = "2.5", .len = 3}, &v) && v == 2.5);
  CHECK(cpli_csv_number(&(cpli_csv_field){.text = "True", .len = 4}, &v) && v == 1);
  CHECK(cpli_csv_number(&(cpli_csv_field){.text = "false", .len = 5}, &v) && v == 0);
  CHECK(!cpli_csv_number(&(cpli_csv_field){.text = "yes", .len = 3}, &v));
  CHECK(!cpli_csv_number(&(cpli_csv_field){.text = "", .len = 0}, &v));
}

static void knows_what_to_quote(void** state) {
  (void)state;
  CHECK(!cpli_csv_needs_quotes("der(x[1])"));
  static const char* const quoted[] = {"", "a,b", "a;b", "a\"", " a", "a ", "#a", "a\nb", "x[1,2]"};
  for (size_t i = 0; i < sizeof quoted / sizeof *quoted; i++) {
    CHECK(cpli_csv_needs_quotes(quoted[i]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_all_dialects),
      cmocka_unit_test(errors_have_a_place),
      cmocka_unit_test(numbers_and_booleans),
      cmocka_unit_test(knows_what_to_quote),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
