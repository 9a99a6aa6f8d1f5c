// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet run --live on a desktop: the browser is led to the page, and nobody sees the token in the
// arguments of a program.
#include <arpa/inet.h>
#include <sys/socket.h>

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
  write_text("xdg-open", "#!/bin/sh\necho \"$@\" > arguments\ncp \"$1\" page\n: > opened\n");
  CHECK_INT(chmod("xdg-open", 0755), 0);
  // the first step takes until the browser has been started, however busy the machine is
  write_text("m.c", MODEL("m",
                          "#include <poll.h>\n"
                          "static const cpl_declaration x[] = {{.name = \"x\"}, {0}};\n"
                          "static int f(const cpl_values* v, double* dx) {\n"
                          "  for (FILE* page = NULL; v->t > 0 && page == NULL;) {\n"
                          "    poll(NULL, 0, 1);\n"
                          "    page = fopen(\"opened\", \"r\");\n"
                          "    if (page != NULL) fclose(page);\n"
                          "  }\n"
                          "  dx[0] = 1;\n  return 0;\n}\n",
                          ".states = x, .derivatives = f,\n"
                          ".dependencies = (const cpl_dependency[]){{\"der(x)\", \"\", NULL}, "
                          "{0}}"));
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

//------------------------------------ the stop button ------------------------------------

static const char stuck_model[] = MODEL(
    "stuck",
    "static const cpl_declaration x[] = {{.name = \"x\", .start = 1}, {0}};\n"
    "#include <poll.h>\n"
    "static volatile int go = 1;\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  if (v->t > 0.3) fclose(fopen(\"stuck.now\", \"w\"));\n"
    "  while (v->t > 0.3 && go) poll(NULL, 0, 1);\n"  // ThreadSanitizer delivers signals in calls
    "  dx[0] = -v->x[0];\n"
    "  return 0;\n"
    "}",
    ".states = x, .derivatives = f,\n"
    ".dependencies = (const cpl_dependency[]){{\"der(x)\", \"x\", NULL}, {0}}");

static void wait_for(const char* path, const char* text) {
  for (int i = 0; i < 3000; i++) {
    if (access(path, F_OK) == 0 && strstr(text_of(path), text) != NULL) return;
    pause_s(0.02);
  }
  fail_msg("%s is not written", path);
}

static void press_stop(const char* url) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  char path[100], request[400], answer[400];
  unsigned port = 0;
  CHECK_INT(sscanf(url, "http://127.0.0.1:%u%99s", &port, path), 2);
  at.sin_port = htons((uint16_t)port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int n =
      snprintf(request, sizeof request, "POST %sstop HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  CHECK_INT(connect(fd, (struct sockaddr*)&at, sizeof at), 0);
  CHECK_INT(write(fd, request, (size_t)n), n);
  CHECK(read(fd, answer, sizeof answer) > 12 && strncmp(answer, "HTTP/1.1 200", 12) == 0);
  close(fd);
}

// It ends a model that does not return, in this process and in one of its own, and keeps the
// results.
static void the_button_ends_a_model_that_hangs(void** state) {
  (void)state;
  write_text("stuck.c", stuck_model);
  CHECK_CODE(0, "info", "stuck.c");
  for (int isolated = 0; isolated < 2; isolated++) {
    unlink("stuck.now");
    unlink("stuck.csv");
    unlink("said");
    int out = create("stdout.txt"), err = create("said");
    const char* const args[] = {"run", "stuck.c",    "--live", "--solver",
                                "rk4", "--interval", "0.01",   isolated ? "--isolate" : NULL,
                                NULL};
    pid_t pid = start_couplet(args, out, err);
    close(out);
    close(err);
    wait_for("stuck.now", "");
    wait_for("said", "/\n");
    press_stop(strstr(text_of("said"), "http://"));
    CHECK_INT(end_of(pid), 1);
    CHECK_CONTAINS(text_of("said"), "couplet: stuck: interrupted");
    CHECK_CONTAINS(text_of("said"), "at t=0.3");
    CHECK(count_rows("stuck.csv") >= 30);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_token_is_in_no_argument),
      cmocka_unit_test(the_button_ends_a_model_that_hangs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
