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
  if (isatty(STDERR_FILENO) && cli_has_desktop()) cli_open_page(cpl_live_url(*out));
  return st;
}
