// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The command line is a table of verbs, each with a table of options. Parsing, --help, the man page
// and shell completion all read these tables; a verb is one file that fills in its row and its
// function.
#pragma once

#include <stdio.h>

#include "couplet/couplet.h"

typedef enum cli_kind {
  CLI_FLAG,    // bool
  CLI_TEXT,    // const char*
  CLI_NUMBER,  // double; NAN stays when the option is not given
  CLI_LIST,    // cli_list: may be repeated
} cli_kind;

typedef struct cli_list {
  const char** items;
  size_t n;
} cli_list;

// An option: its value is written into the verb's arguments at `offset`.
typedef struct cli_option {
  const char* name;      // without the dashes
  char letter;           // 0: none
  const char* argument;  // name of the value in help; "a|b|c" lists the choices and is checked,
                         // but for lists
  const char* help;
  cli_kind kind;
  size_t offset;
  const char* also;  // another spelling that is understood. Nullable.
} cli_option;

typedef struct cli_verb {
  const char* name;           // a word, or two: "tlm serve"
  const char* operands;       // "FILE"; upper case: required, in brackets: optional
  const char* summary;        // one line
  const char* text;           // more, for --help and the man page. Nullable.
  const char* suffixes;       // completion: "fmu c"
  const cli_option* options;  // ended by one without a name
  const cli_option* more;     // other options, of the same struct. Nullable
  size_t args_size;           // of the struct the options are written into
  // Numbers are NAN, everything else zero, unless given. Returns the exit code.
  int (*run)(void* args, int n_operands, char** operands);
} cli_verb;

// Exit codes
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };
// The reader of standard output is gone: the program ends silently, by SIGPIPE.
enum { CLI_CLOSED = 128 + 13 };

// verbs, one file each
extern const cli_verb cli_run, cli_sweep, cli_info, cli_check, cli_graph, cli_steady, cli_linearize,
    cli_bode, cli_sensitivity, cli_fit, cli_optimize, cli_build, cli_view, cli_plot, cli_convert,
    cli_crosscheck, cli_tlm_inspect, cli_tlm_serve, cli_tlm_join, cli_tlm_watch;
extern const cli_verb* const cli_verbs[];  // all of them, NULL at the end

// options.c
int cli_dispatch(int argc, char** argv);
// The i-th option of a verb; NULL: there are no more.
const cli_option* cli_option_at(const cli_verb* verb, size_t i);

// help.c
void cli_help(FILE* out);
void cli_help_verb(FILE* out, const cli_verb* verb);
void cli_man(FILE* out);
int cli_version(bool verbose);  // returns an exit code
void cli_completion(FILE* out);

// common.c
int cli_exit_code(cpl_status st);  // 0, 1 or 2 as promised in --help
// A context that logs to standard error at that level ("error", "warning", "info", "debug"; NULL:
// warning); NULL and a message for any other level.
cpl_context* cli_context(const char* level);
// --no-ad: models in C get no derivatives made of their source (options.c).
bool cli_no_ad(void);
void cli_end_context(cpl_context* ctx);  // Nullable: ctx
// The names of all solvers, as choices of an option.
#define CLI_SOLVER(kind, name, text) "|" name
#define CLI_SOLVERS                  (&CPL_SOLVER_LIST(CLI_SOLVER)[1])
// The solver of that name; `where` is the file that names it.
cpl_status cli_find_solver(cpl_context* ctx, const char* where, const char* name,
                           cpl_solver_kind* out);
// Prints "couplet: <message>" for a failed call and returns the exit code.
int cli_report(cpl_context* ctx, cpl_status st);
CPL_PRINTF(1, 2) int cli_usage_error(const char* fmt, ...);  // prints, returns CLI_USAGE
// A warning after the last context: printed when that one printed warnings.
CPL_PRINTF(1, 2) void cli_warning(const char* fmt, ...);
// The warnings and errors that were logged so far, at most 100; NULL behind the last.
const char* cli_kept_log(size_t i);
// Whether standard output is a pipe without a reader.
bool cli_is_output_closed(FILE* out);
// Closes or flushes standard output. Ends the program when its reader is gone, or for CLI_CLOSED.
// When it cannot be written and the code was CLI_OK, prints a message and returns CLI_USAGE, as for
// every output that cannot be written.
int cli_close_output(FILE* out, int code);
// The number of columns; 0: `out` is no terminal.
size_t cli_terminal_width(FILE* out);
// Writes an untrusted name or path to a terminal or file: control characters become \xNN or \uNNNN.
void cli_print_safe(FILE* out, const char* text);

// leftovers.c
// Processes that a model starts, and those that they start, are ended with the command. `on` is
// false while a program is started that is to stay: the browser.
void cli_adopt_processes(bool on);
void cli_end_processes(void);  // with a warning that names one

// common.c
// Separates output of models from results: from here on descriptor 1 is standard error, and only
// the file returned is standard output. NULL and a message after a failure.
FILE* cli_keep_output(void);

// The items of --set, NAME=VALUE. *out, of as many items, is freed by the caller, also after a
// failure. The items are cut at their "=".
cpl_status cli_read_starts(const cpl_source* source, const cli_list* set, cpl_start** out);

// The items of --measure, NAME=EXPRESSION or EXPRESSION. *out, of as many items, is freed by the
// caller, also after a failure; its texts are those of the list, which are cut at their "=".
cpl_status cli_read_measures(cpl_context* ctx, const cli_list* list, cpl_measure_def** out);

// The page of a result: "dir/out.csv" -> "dir/out.html".
void cli_page_name(const char* result, char* page, size_t size);

// Whether the name ends so (".c", ".yaml").
bool cli_ends_with(const char* path, const char* ending);

// --no-run (no_run.h), for verbs that need not run a model.
#define CLI_NO_RUN(args_type)                                             \
  {                                                                       \
    "no-run", 0, NULL,                                                    \
        "execute nothing of a model: descriptions are read, models in C " \
        "only compiled",                                                  \
        CLI_FLAG, offsetof(args_type, no_run)                             \
  }

// --isolate and --call-timeout: whether models run in processes of their own, and how long each of
// their calls may take [s]; NAN or 0: no limit. A limit implies isolation.
// --platform: the binaries of FMUs that are used.
typedef struct cli_isolation {
  double call_timeout;
  bool on;
  const char* platform;
} cli_isolation;

#define CLI_PLATFORM(member)                                                      \
  {                                                                               \
    "platform", 0, "NAME",                                                        \
        "use the binaries of FMUs for this platform: win64, linux64, ...; other " \
        "ones than that of this machine run by a host program",                   \
        CLI_TEXT, member                                                          \
  }

#define CLI_ISOLATION(args_type)                                                                \
  {"isolate", 0,                                                                                \
   NULL,      "call models in processes of their own: what they do to them harms nothing else", \
   CLI_FLAG,  offsetof(args_type, isolation.on)},                                               \
      {"call-timeout", 0,                                                                       \
       "SECONDS",      "give up when one call of a model takes longer; isolates them",          \
       CLI_NUMBER,     offsetof(args_type, isolation.call_timeout)},                            \
      CLI_PLATFORM(offsetof(args_type, isolation.platform))

// --variant and --parameters: what is taken of an SSP package, and values that replace its own.
typedef struct cli_package {
  const char* variant;
  cli_list parameters;
} cli_package;

#define CLI_PACKAGE(args_type)                                                                 \
  {"variant", 0,                                                                               \
   "NAME",    "of an SSP package: the variant with this name, instead of SystemStructure.ssd", \
   CLI_TEXT,  offsetof(args_type, package.variant)},                                           \
  {                                                                                            \
    "parameters", 0, "FILE",                                                                   \
        "of an SSP package: a parameter file (.ssv) whose values replace its own; may be "     \
        "repeated",                                                                            \
        CLI_LIST, offsetof(args_type, package.parameters)                                      \
  }

// How a file is opened. All Nullable: call_log; set, which may determine the sizes of arrays;
// isolation; package
typedef struct cli_opening {
  const char* call_log;
  const cli_list* set;
  const cli_isolation* isolation;
  const cli_package* package;
} cli_opening;

// Opens an .fmu, a model in C or a system (.yaml, .ssp).
cpl_status cli_open(cpl_context* ctx, const char* path, cli_opening how, cpl_source** out);
// The definition of a system (.yaml, .ssp). Nullable: package
cpl_status cli_read_system(cpl_context* ctx, const char* path, const cli_package* package,
                           cpl_system_def** out);
bool cli_isolates(const cli_isolation* isolation);

// write_system.c
// Writes a system file: the one at `path`, or a system with the model at `path` alone, with these
// start values.
cpl_status cli_write_system(cpl_context* ctx, const char* path, const cpl_start* starts, size_t n,
                            const char* out);

// desktop.c
bool cli_has_desktop(void);
// Shows a file or an address in the user's browser; prints a message when that is impossible.
void cli_open_page(const char* page);
