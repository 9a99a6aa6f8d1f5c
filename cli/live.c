// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"

static bool split_address(const char* listen, char* address, size_t size, int* port) {
  const char* colon = strrchr(listen, ':');
  const size_t n = colon != NULL ? (size_t)(colon - listen) : strlen(listen);
  char* end = NULL;
  const long number = colon != NULL ? strtol(colon + 1, &end, 10) : 0;
  snprintf(address, size, "%.*s", (int)n, listen);
  *port = (int)number;
  return number >= 0 && number <= 65535 && (colon == NULL || (end > colon + 1 && *end == '\0'));
}

// A page that leads to the address: all users of the machine see the arguments of a program, and
// the token is not for them.
static char door[4096];

static void open_door(const char* url) {
  const char* folder = getenv("XDG_RUNTIME_DIR");
  if (folder == NULL || folder[0] == '\0') folder = getenv("TMPDIR");
  if (folder == NULL || folder[0] == '\0') folder = "/tmp";
  snprintf(door, sizeof door, "%s/couplet-live-XXXXXX.html", folder);
  const int fd = mkstemps(door, (int)strlen(".html"));  // for this user only
  FILE* file = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (file == NULL) {
    if (fd >= 0) close(fd);
    door[0] = '\0';
    return;
  }
  fprintf(file, "<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n", url);
  fclose(file);
  cli_open_page(door);
}

void run_live_end(void) {
  if (door[0] != '\0') unlink(door);
  door[0] = '\0';
}

cpl_status run_live(cpl_context* ctx, const char* title, const char* listen, const cpl_run_def* run,
                    const cpl_column* columns, size_t n, volatile int* stop, cpl_live** out) {
  char address[64] = "127.0.0.1";
  cpl_live_def def = cpl_default_live_def();
  if (listen != NULL && !split_address(listen, address, sizeof address, &def.port))
    return cpl_fail(ctx, CPL_ERR_INPUT, "--listen %s: write it as ADDRESS or ADDRESS:PORT", listen);
  def.title = title;
  def.address = address;
  def.start_time = run->start_time;
  def.stop_time = run->stop_time;
  def.columns = columns;
  def.n_columns = n;
  def.stop = stop;
  const cpl_status st = cpl_live_open(ctx, &def, out);
  if (st < 0) return cpl_fail_prefix(ctx, st, "--live");
  fprintf(stderr, "live: %s\n", cpl_live_url(*out));
  if (isatty(STDERR_FILENO) && cli_has_desktop()) open_door(cpl_live_url(*out));
  return st;
}
