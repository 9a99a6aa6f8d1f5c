// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Functions for all verbs: contexts, messages on standard error, exit codes, standard output and
// its end, start values of --set, and the opening of a file as a source.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "format/source_loc.h"
#include "format/text.h"
#include "interrupt.h"
#include "model/compiled.h"

int cli_exit_code(cpl_status st) {
  switch (st) {
    case CPL_ERR_INPUT:
    case CPL_ERR_IO:
    case CPL_ERR_UNSUPPORTED: return CLI_USAGE;
    default: return st < 0 ? CLI_FAILED : CLI_OK;
  }
}

// With `lines`, line ends and tabs are kept, and a blank is put before each line but the first, so
// that no line looks like a message of couplet.
static void print_escaped(FILE* out, const char* text, bool lines) {
  while (*text != '\0') {
    const char* begin = text;
    const uint32_t c = cpli_utf8_next(&text);
    const bool broken = c == 0xfffd && text - begin == 1;
    if (lines && c == '\n') fputs("\n ", out);
    else if (lines && c == '\t') fputc('\t', out);
    else if (broken || (cpli_is_control(c) && c < 0x100))
      fprintf(out, "\\x%02x", broken ? (unsigned char)*begin : c);
    else if (cpli_is_control(c)) fprintf(out, "\\u%04x", c);
    else fwrite(begin, 1, (size_t)(text - begin), out);
  }
}

void cli_print_safe(FILE* out, const char* text) { print_escaped(out, text, false); }

// Written by one system call, since threads and processes that share a terminal print at the same
// time.
static void print_message(const char* level, const char* who, const char* text) {
  char* line = NULL;
  size_t n = 0;
  FILE* out = open_memstream(&line, &n);
  FILE* to = out != NULL ? out : stderr;
  fprintf(to, "couplet: %s%s", level, level[0] != '\0' ? ": " : "");
  print_escaped(to, who, false);
  if (who[0] != '\0') fputs(": ", to);
  print_escaped(to, text, true);
  fputc('\n', to);
  if (out != NULL && fclose(out) == 0) fwrite(line, 1, n, stderr);
  free(line);
}

static bool warns = true;  // the level of the log

void cli_warning(const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char* text = NULL;
  if (vasprintf(&text, fmt, args) < 0) text = NULL;
  va_end(args);
  if (warns && text != NULL) print_message("warning", "", text);
  free(text);
}

// The last error that a model logged. The message of the failed call usually repeats it, so it is
// pending until something else is printed.
static char pending_who[256], pending_text[2048];

static void print_pending(void) {
  if (pending_text[0] != '\0') print_message("error", pending_who, pending_text);
  pending_text[0] = '\0';
}

// Discard it when the message contains it.
static void drop_pending(const char* message) {
  const char* text = pending_text;
  const char* end = text[0] == '[' ? strstr(text, "] ") : NULL;  // the category
  if (end != NULL) text = end + 2;
  if (text[0] != '\0' && strstr(message, text) != NULL) pending_text[0] = '\0';
}

// Warnings and errors, for the report of a run.
enum { KEPT = 100 };
static char* kept[KEPT];
static size_t n_kept;

const char* cli_kept_log(size_t i) { return i < n_kept ? kept[i] : NULL; }

static void keep_log(cpl_log_level level, const char* who, const char* text) {
  if (level > CPL_LOG_WARNING || n_kept == KEPT) return;
  if (asprintf(&kept[n_kept], "%s%s%s", who, who[0] != '\0' ? ": " : "", text) >= 0) n_kept++;
}

static void log_to_stderr(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user;
  static const char* const names[] = {"error", "warning", "info", "debug"};
  print_pending();
  keep_log(level, who, text);
  if (level != CPL_LOG_ERROR) {
    print_message(names[level], who, text);
    return;
  }
  snprintf(pending_who, sizeof pending_who, "%s", who);
  snprintf(pending_text, sizeof pending_text, "%s", text);
}

cpl_context* cli_context(const char* level) {
  static const char* const names[] = {"error", "warning", "info", "debug"};
  cpl_context_def def = cpl_default_context_def();
  def.log = log_to_stderr;
  cli_enter(CLI_RUNS);
  warns = level == NULL || strcmp(level, "error") != 0;
  for (int i = 0; level != NULL && i < 4; i++) {
    if (strcmp(level, names[i]) == 0) def.log_level = (cpl_log_level)i;
  }
  cpl_context* ctx = cpl_context_create(&def);
  if (ctx != NULL) cpl_context_use_differences(ctx, cli_no_ad());
  return cli_watch_context(ctx);
}

void cli_end_context(cpl_context* ctx) {
  cli_watch_context(NULL);
  cpl_context_destroy(ctx);
}

int cli_report(cpl_context* ctx, cpl_status st) {
  drop_pending(cpl_context_error(ctx));
  print_pending();
  print_message("", "", cpl_context_error(ctx));
  return cli_exit_code(st);
}

int cli_usage_error(const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char* text = NULL;
  if (vasprintf(&text, fmt, args) < 0) text = NULL;
  va_end(args);
  print_message("", "", text != NULL ? text : "out of memory");
  free(text);
  return CLI_USAGE;
}

bool cli_is_output_closed(FILE* out) {
  struct pollfd end = {.fd = fileno(out)};
  return poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}

// Ends as programs do that do not handle a closed pipe.
static void end_with_pipe(void) {
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
}

int cli_close_output(FILE* out, int code) {
  print_pending();
  errno = 0;
  const bool closed = cli_is_output_closed(out);
  bool fine = ferror(out) == 0;  // then what is left fails for the same reason
  fine = (out == stdout ? fflush(out) : fclose(out)) == 0 && fine;
  const bool left = !fine && (closed || errno == EPIPE);
  if (code == CLI_CLOSED || (code == CLI_OK && left)) end_with_pipe();
  if (fine || code != CLI_OK) return code;
  fprintf(stderr, "couplet: standard output: cannot be written: %s\n",
          errno != 0 ? strerror(errno) : "an earlier write failed");
  return CLI_USAGE;
}

size_t cli_terminal_width(FILE* out) {
  struct winsize size;
  if (!isatty(fileno(out))) return 0;
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

FILE* cli_keep_output(void) {
  fflush(stdout);
  int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  FILE* out = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (out == NULL) {
    fprintf(stderr, "couplet: standard output: cannot be written: %s\n", strerror(errno));
    return NULL;
  }
  dup2(STDERR_FILENO, STDOUT_FILENO);
  setvbuf(stdout, NULL, _IOLBF, 0);  // keeps output of models in order with ours
  return out;
}

cpl_status cli_read_starts(const cpl_source* source, const cli_list* set, cpl_start** out) {
  cpl_start* starts = *out = calloc(set->n + 1, sizeof *starts);
  if (starts == NULL) return cpl_fail(source->ctx, CPL_ERR_NOMEM, "out of memory");
  for (size_t i = 0; i < set->n; i++) {
    // a name may contain "=": the first one after the name of a variable
    char* text = (char*)set->items[i];
    char* equals = strchr(text, '=');
    if (equals == NULL)
      return cpl_fail(source->ctx, CPL_ERR_INPUT, "--set %s: write it as name=value", text);
    for (char* e = equals; e != NULL; e = strchr(e + 1, '=')) {
      *e = '\0';
      bool found = cpl_find_variable(source->desc, text) >= 0;
      *e = '=';
      if (found) {
        equals = e;
        break;
      }
    }
    *equals = '\0';
    starts[i] = (cpl_start){text, equals + 1};
  }
  return CPL_OK;
}

void cli_page_name(const char* result, char* page, size_t size) {
  const char *slash = strrchr(result, '/'), *dot = strrchr(result, '.');
  const size_t n = dot != NULL && dot > slash ? (size_t)(dot - result) : strlen(result);
  snprintf(page, size, "%.*s.html", (int)n, result);
}

bool cli_ends_with(const char* path, const char* ending) {
  size_t n = strlen(path), m = strlen(ending);
  return n > m && strcmp(path + n - m, ending) == 0;
}

// Start values before the variables are known: the name ends at the first "=".
static cpl_start* split_starts(const cli_list* set, char** texts) {
  size_t n = set != NULL ? set->n : 0, size = 1;
  for (size_t i = 0; i < n; i++) size += strlen(set->items[i]) + 1;
  cpl_start* starts = calloc(n + 1, sizeof *starts);
  char* at = *texts = malloc(size);
  for (size_t i = 0; starts != NULL && at != NULL && i < n; i++) {
    strcpy(at, set->items[i]);
    size_t name = strcspn(at, "=");
    starts[i] = (cpl_start){at, at[name] == '=' ? at + name + 1 : at + name};
    size_t len = strlen(at);
    at[name] = '\0';
    at += len + 1;
  }
  return starts;
}

bool cli_isolates(const cli_isolation* isolation) {
  return isolation != NULL && (isolation->on || !isnan(isolation->call_timeout));
}

cpl_status cli_read_system(cpl_context* ctx, const char* path, const cli_package* package,
                           cpl_system_def** out) {
  if (package == NULL || (package->variant == NULL && package->parameters.n == 0))
    return cpl_system_def_read(ctx, path, out);
  cpl_ssp_def def = cpl_default_ssp_def();
  def.path = path;
  def.variant = package->variant;
  def.parameters = package->parameters.items;
  def.n_parameters = package->parameters.n;
  return cpl_system_def_read_ssp(ctx, &def, out);
}

cpl_status cli_open(cpl_context* ctx, const char* path, cli_opening how, cpl_source** out) {
  *out = NULL;
  const cli_isolation* isolation = how.isolation;
  const cli_list* set = how.set;
  cpl_open_def def = cpl_default_open_def();
  def.path = path;
  def.call_log = how.call_log;
  if (how.package != NULL) {
    def.variant = how.package->variant;
    def.parameters = how.package->parameters.items;
    def.n_parameters = how.package->parameters.n;
  }
  if (isolation != NULL) {
    cpl_status st = cpl_fmu_use_platform(ctx, isolation->platform);
    if (st < 0) return st;
  }
  def.isolate = cli_isolates(isolation);
  if (def.isolate && !isnan(isolation->call_timeout)) def.call_timeout = isolation->call_timeout;
  if (def.call_timeout < 0)
    return cpl_fail(ctx, CPL_ERR_INPUT, "--call-timeout must be positive, not %g",
                    def.call_timeout);
  char* texts = NULL;
  cpl_start* starts = split_starts(set, &texts);
  def.starts = starts;
  def.n_starts = set != NULL ? set->n : 0;
  cpl_status st = starts != NULL && texts != NULL ? cpl_open_any(ctx, &def, out)
                                                  : cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
  free(starts);
  free(texts);
  return st;
}

static const char* solver_at(const void* user, size_t i) {
  (void)user;
  return cpl_solver_name((cpl_solver_kind)i);
}

cpl_status cli_find_solver(cpl_context* ctx, const char* where, const char* name,
                           cpl_solver_kind* out) {
  char near[128];
  if (cpl_solver_by_name(name, out)) return CPL_OK;
  cpli_did_you_mean(name, solver_at, NULL, (size_t)cpl_solver_count(), near, sizeof near);
  return cpl_fail(ctx, CPL_ERR_INPUT, "%s: there is no solver %s%s; solvers are %s", where, name,
                  near, cpl_solver_names());
}

cpl_status cli_read_measures(cpl_context* ctx, const cli_list* list, cpl_measure_def** out) {
  *out = calloc(list->n + 1, sizeof **out);
  if (*out == NULL) return cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
  for (size_t i = 0; i < list->n; i++) {
    char* text = (char*)list->items[i];
    char* equals = strchr(text, '=');
    const bool comparison = equals != NULL && equals > text && strchr("<>=!", equals[-1]) != NULL;
    const bool named = equals != NULL && !comparison && equals[1] != '=';
    if (named) *equals = '\0';
    (*out)[i] = (cpl_measure_def){.name = text, .text = named ? equals + 1 : text};
  }
  return CPL_OK;
}
