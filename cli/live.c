// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The option --live of `couplet run`: it serves the live page and redirects a browser to it by a
// private file, since all users see the arguments of a process and the address contains a token.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/file.h"
#include "format/folder.h"
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

// Writes a page that redirects to the address, in a folder of this user.
static char* door;

static void open_door(cpl_context* ctx, const char* url) {
  char path[4096], text[1024];
  const int n =
      snprintf(text, sizeof text,
               "<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n", url);
  cpl_status st = cpli_temp_folder_make(ctx, &door);
  snprintf(path, sizeof path, "%s/live.html", st >= 0 ? door : "");
  if (st >= 0) st = cpli_file_make(ctx, path, text, (size_t)n);
  if (st >= 0) cli_open_page(path);
  else cpl_log(ctx, CPL_LOG_WARNING, "--live", "no browser is started: %s", cpl_context_error(ctx));
}

void run_live_end(cpl_context* ctx) {
  cpli_temp_folder_remove(ctx, door);
  cpli_free(ctx, door);
  door = NULL;
}

// The stop button acts as a signal does: it also aborts a call that does not return.
static void stop_as_signals_do(void* user) {
  (void)user;
  kill(getpid(), SIGTERM);
}

cpl_status run_live(cpl_context* ctx, const char* title, const char* listen, const cpl_run_def* run,
                    const cpl_column* columns, size_t n, cpl_live** out) {
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
  def.on_stop = stop_as_signals_do;
  const cpl_status st = cpl_live_open(ctx, &def, out);
  if (st < 0) return cpl_fail_prefix(ctx, st, "--live");
  fprintf(stderr, "live: %s\n", cpl_live_url(*out));
  if (isatty(STDERR_FILENO) && cli_has_desktop()) open_door(ctx, cpl_live_url(*out));
  return st;
}
