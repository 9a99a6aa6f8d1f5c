// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tells whether there is a graphical session (X11 or Wayland), and opens a page in the browser with
// xdg-open.
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

bool cli_has_desktop(void) {
  const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
  return (x != NULL && x[0] != '\0') || (wayland != NULL && wayland[0] != '\0');
}

// xdg-open returns at once. No shell is used, so that no file name can become a command; a name
// that begins with a dash gets "./", or it would be an option.
void cli_open_page(const char* page) {
  char path[4096 + 2];
  snprintf(path, sizeof path, "%s%s", page[0] == '-' ? "./" : "", page);
  char* const argv[] = {"xdg-open", path, NULL};
  pid_t child;
  int status = 0;
  cli_adopt_processes(false);  // a browser is no daemon, and stays
  int failed = posix_spawnp(&child, argv[0], NULL, NULL, argv, environ);
  if (failed == 0) failed = waitpid(child, &status, 0) != child || status != 0;
  cli_adopt_processes(true);
  if (failed == 0) return;
  fputs("couplet: no browser could be started (xdg-open); the page is ", stderr);
  cli_print_safe(stderr, page);
  fputc('\n', stderr);
}
