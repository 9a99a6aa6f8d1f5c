// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

// Exit code of `couplet view` with these arguments; what it printed goes to printed.txt.
static int view(const char* args) {
  char command[4096];
  snprintf(command, sizeof command, "\"%s\" view %s >printed.txt 2>&1", getenv("COUPLET"), args);
  const int status = system(command);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char* printed(void) {
  static char text[4096];
  FILE* f = fopen("printed.txt", "rb");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = '\0';
  fclose(f);
  return text;
}

static void write_result(void) {
  FILE* f = fopen("out.csv", "wb");
  assert_non_null(f);
  fputs("time,h [m],v [m/s]\n0,1,0\n1,0.5,-1\n", f);
  fclose(f);
}

static void draws_a_page(void** state) {
  (void)state;
  write_result();
  unlink("out.html");
  CHECK_INT(view("out.csv"), 0);
  CHECK_STR(printed(), "out.html\n");
  CHECK_INT(access("out.html", R_OK), 0);
  unlink("h.svg");
  CHECK_INT(view("out.csv -o h.svg --only 'h*'"), 0);
  CHECK_STR(printed(), "");
  CHECK_INT(access("h.svg", R_OK), 0);
}

static void read_page(const char* path, char* out, size_t size) {
  FILE* f = fopen(path, "rb");
  assert_non_null(f);
  out[fread(out, 1, size - 1, f)] = '\0';
  fclose(f);
}

// Columns that only a further result has can be chosen, too, and the title names all results.
static void shows_columns_of_every_result(void** state) {
  (void)state;
  static char page[1 << 20];
  write_result();
  FILE* f = fopen("more.csv", "wb");
  assert_non_null(f);
  fputs("time,extra.k [N],extra.d\n0,1,2\n1,2,3\n", f);
  fclose(f);
  CHECK_INT(view("out.csv more.csv -o all.html --only 'extra.*' --xy extra.k,extra.d"), 0);
  read_page("all.html", page, sizeof page);
  CHECK_CONTAINS(page, "<title>out.csv, more.csv</title>");
  CHECK_CONTAINS(page, "\"show\":[\"extra.k\",\"extra.d\"],\"xy\":[\"extra.k\",\"extra.d\"]");
  CHECK_INT(view("out.csv out.csv out.csv out.csv more.csv -o all.html"), 0);
  read_page("all.html", page, sizeof page);
  CHECK_CONTAINS(page, "out.csv, out.csv, out.csv and 2 more</title>");
  CHECK_INT(view("out.csv more.csv -o all.html --xy h,extra.k"), 2);  // no result has both
  CHECK_CONTAINS(printed(), "no column matches \"extra.k\"");
}

static void explains_failures(void** state) {
  (void)state;
  write_result();
  CHECK_INT(view("out.csv --xy h,none"), 2);
  CHECK_INT(view("out.csv --xy h"), 2);
  CHECK_INT(view("none.csv"), 2);
  CHECK_STR(printed(), "couplet: none.csv: No such file or directory\n");
  CHECK_INT(view("out.csv --only x"), 2);
  CHECK_CONTAINS(printed(), "no column matches \"x\"");
  CHECK_INT(view("out.csv -o out.pdf"), 2);
  CHECK_CONTAINS(printed(), "end in .html or .svg");
  CHECK_INT(view("out.csv -o no/such/folder.html"), 2);
  CHECK_CONTAINS(printed(), "No such file or directory");
  CHECK_INT(view(""), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(draws_a_page),
      cmocka_unit_test(shows_columns_of_every_result),
      cmocka_unit_test(explains_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
