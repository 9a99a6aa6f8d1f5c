// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet run --live on a desktop: the browser is led to the page, and nobody sees the token in the
// arguments of a program.
#include "command.h"
#include "terminal.h"

static void the_token_is_in_no_argument(void** state) {
  (void)state;
  char path[8192], folder[4096], seen[16384], text[4096];
  assert_non_null(getcwd(folder, sizeof folder));
  snprintf(path, sizeof path, "%s:%s", folder, getenv("PATH"));
  setenv("PATH", path, 1);
  setenv("DISPLAY", ":99", 1);
  mkdir("tmp", 0700);
  snprintf(path, sizeof path, "%s/tmp", folder);
  setenv("TMPDIR", path, 1);
  write_text("xdg-open", "#!/bin/sh\necho \"$@\" > arguments\ncp \"$1\" page\n");
  CHECK_INT(chmod("xdg-open", 0755), 0);
  write_text("m.c", MODEL("m",
                          "#include <unistd.h>\n"
                          "static const cpl_declaration x[] = {{.name = \"x\"}, {0}};\n"
                          "static int f(const cpl_values* v, double* dx) {\n  (void)v;\n"
                          "  usleep(1000);\n  dx[0] = 1;\n  return 0;\n}\n",
                          ".states = x, .derivatives = f"));
  const char* const args[] = {"run",    "m.c",  "--live", "--solver", "rk4",
                              "--step", "0.01", "--stop", "1000",     NULL};
  CHECK_INT(watch_terminal(args, 80, " left  0 events", 60, seen, sizeof seen), 1);
  const char* url = strstr(seen, "live: http://");
  assert_non_null(url);
  char address[200];
  CHECK_INT(sscanf(url, "live: %199s", address), 1);
  const char* token = strrchr(address, ':');
  read_text("page", text, sizeof text);
  CHECK_CONTAINS(text, address);  // the page leads there
  read_text("arguments", text, sizeof text);
  CHECK_CONTAINS(text, "live.html");
  CHECK(strstr(text, strchr(token, '/')) == NULL);
  text[strcspn(text, "\n")] = '\0';
  CHECK(access(text, F_OK) != 0);  // and is gone with the run
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_token_is_in_no_argument)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
