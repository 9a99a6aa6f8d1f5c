// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <string.h>

#include "cli.h"

int cli_exit_code(cpl_status st) {
  switch (st) {
    case CPL_ERR_INPUT:
    case CPL_ERR_UNSUPPORTED: return CLI_USAGE;
    default: return st < 0 ? CLI_FAILED : CLI_OK;
  }
}

void cli_print_safe(FILE* out, const char* text) {
  for (; *text != '\0'; text++) {
    unsigned char c = (unsigned char)*text;
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) fprintf(out, "\\x%02x", c);
    else fputc(c, out);
  }
}

static void log_to_stderr(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user;
  static const char* const names[] = {"error", "warning", "info", "debug"};
  fprintf(stderr, "couplet: %s: ", names[level]);
  cli_print_safe(stderr, who);
  if (who[0] != '\0') fputs(": ", stderr);
  cli_print_safe(stderr, text);
  fputc('\n', stderr);
}

cpl_context* cli_context(const char* level) {
  static const char* const names[] = {"error", "warning", "info", "debug"};
  cpl_context_def def = cpl_default_context_def();
  def.log = log_to_stderr;
  for (int i = 0; level != NULL && i < 4; i++) {
    if (strcmp(level, names[i]) == 0) def.log_level = (cpl_log_level)i;
  }
  return cpl_context_create(&def);
}

int cli_report(cpl_context* ctx, cpl_status st) {
  fputs("couplet: ", stderr);
  cli_print_safe(stderr, cpl_context_error(ctx));
  fputc('\n', stderr);
  return cli_exit_code(st);
}

int cli_usage_error(const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fputs("couplet: ", stderr);
  vfprintf(stderr, fmt, args);
  fputc('\n', stderr);
  va_end(args);
  return CLI_USAGE;
}
