// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What `fit` and `optimize` share: how the runs are made, what varies, progress, and the results
// that both have.
#pragma once

#include "cli.h"
#include "format/json.h"
#include "interrupt.h"
#include "progress.h"

typedef struct cli_search_args {
  cli_list vary, set;
  double start_time, stop_time, interval, step, rtol, atol, max_runs, workers;
  const char *solver, *as, *input, *progress, *log_level, *write;
  bool ignore_extra, one_solver, json, quiet;
  cli_isolation isolation;
  cli_package package;
} cli_search_args;

#define CLI_SEARCH_AT(member) offsetof(cli_search_args, member)
#define CLI_SEARCH_VARY                                                                        \
  {                                                                                            \
    "vary", 0, "NAME=GUESS:LEAST:GREATEST",                                                    \
        "a parameter or start value that is varied; the guess is by default the value in the " \
        "file, the bounds are those of the variable; units are allowed (T=20 degC:10 degC:40 " \
        "degC); may be repeated",                                                              \
        CLI_LIST, CLI_SEARCH_AT(vary)                                                          \
  }
// The options of these arguments, which are the first member of those of the verb.
#define CLI_SEARCH_OPTIONS                                                                           \
  {"set",        0,                                                                                  \
   "NAME=VALUE", "a parameter or start value of all runs; may be repeated",                          \
   CLI_LIST,     CLI_SEARCH_AT(set)},                                                                \
      {"write",  'w',                                                                                \
       "FILE",   "a system file (.yaml) with the values found",                                      \
       CLI_TEXT, CLI_SEARCH_AT(write)},                                                              \
      {"max-runs", 0,                                                                                \
       "N",        "give up after this many simulations; default: 10000",                            \
       CLI_NUMBER, CLI_SEARCH_AT(max_runs)},                                                         \
      {"workers",                                                                                    \
       'j',                                                                                          \
       "N",                                                                                          \
       "processes that simulate what can be simulated at the same time: data sets, and the runs "    \
       "of "                                                                                         \
       "differences; default: one per processor",                                                    \
       CLI_NUMBER,                                                                                   \
       CLI_SEARCH_AT(workers)},                                                                      \
      {"start",     0, "TIME", "start of the simulations", CLI_NUMBER, CLI_SEARCH_AT(start_time),    \
       "start-time"},                                                                                \
      {"stop",     0, "TIME", "end of the simulations", CLI_NUMBER, CLI_SEARCH_AT(stop_time),        \
       "stop-time"},                                                                                 \
      {"interval", 0, "DT", "as for couplet run", CLI_NUMBER, CLI_SEARCH_AT(interval)},              \
      {"step", 0, "DT", "as for couplet run", CLI_NUMBER, CLI_SEARCH_AT(step)},                      \
      {"solver",    0,                                                                               \
       CLI_SOLVERS, "the solver of models (default: cvode)",                                         \
       CLI_TEXT,    CLI_SEARCH_AT(solver)},                                                          \
      {"rtol",     0,                                                                                \
       "X",        "relative tolerance; default: 1e-9, or that of the file where it is tighter",     \
       CLI_NUMBER, CLI_SEARCH_AT(rtol)},                                                             \
      {"atol",     0,                                                                                \
       "X",        "absolute tolerance, times the nominal of each state; default: likewise",         \
       CLI_NUMBER, CLI_SEARCH_AT(atol)},                                                             \
      {"as",     0,                                                                                  \
       "me|cs",  "model exchange or co-simulation, for FMUs with both",                              \
       CLI_TEXT, CLI_SEARCH_AT(as)},                                                                 \
      {"input",  0,                                                                                  \
       "FILE",   "CSV (or MAT) with a column time and columns named after inputs",                   \
       CLI_TEXT, CLI_SEARCH_AT(input)},                                                              \
      {"one-solver", 0,                                                                              \
       NULL,         "systems: one solver for all models, also for independent subsystems",          \
       CLI_FLAG,     CLI_SEARCH_AT(one_solver)},                                                     \
      CLI_ISOLATION(cli_search_args), CLI_PACKAGE(cli_search_args),                                  \
      {"progress",                                                                                   \
       0,                                                                                            \
       "auto|json|none",                                                                             \
       "progress: a line on a terminal (auto), or lines of JSON on standard error",                  \
       CLI_TEXT,                                                                                     \
       CLI_SEARCH_AT(progress)},                                                                     \
      {"json", 0, NULL, "JSON on standard output, and nothing else", CLI_FLAG, CLI_SEARCH_AT(json)}, \
      {"quiet", 'q', NULL, "print errors only", CLI_FLAG, CLI_SEARCH_AT(quiet)}, {                   \
    "log-level", 0, "error|warning|info|debug", "which messages to print", CLI_TEXT,                 \
        CLI_SEARCH_AT(log_level)                                                                     \
  }

typedef struct cli_search {
  const cli_search_args* args;
  const char* path;
  cpl_context* ctx;
  FILE* out;
  cpl_source* source;  // while options are read
  cpl_start* starts;
  cpl_table* table;
  cpl_vary* vary;
  cpl_experiment_def experiment;
  cpl_experiment_settings settings;
  progress_kind progress;
  bool shown;
  double last;  // when progress was shown
} cli_search;

// Order: begin, open, [the search], end. Returns an exit code other than CLI_OK after a failure.
int cli_search_begin(cli_search* s, const cli_search_args* args, const char* path);
// Reads the options; s->settings and s->vary are complete.
cpl_status cli_search_open(cli_search* s);
// For the definition of the search.
int32_t cli_search_workers(const cli_search* s);
int cli_search_end(cli_search* s, int code);

// on_progress of both searches, with the cli_search as user.
void cli_search_progress(void* user, const cpl_search_progress* p);
void cli_search_clear(cli_search* s);  // removes the line of progress

// The values found, as a system file, where --write asks for one.
cpl_status cli_search_write(const cli_search* s, const cpl_varied* list, size_t n);
void cli_search_json(cpli_json* j, const cpl_varied* list, size_t n, bool fit);
