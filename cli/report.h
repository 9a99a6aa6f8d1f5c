// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The report of a run in the page of its results: model, versions, parameters, tolerances,
// statistics of the solver, computing times, warnings, and the command line.
#pragma once

#include "cli.h"

// The clocks of single models.
typedef struct model_times {
  struct model_time {
    char name[256];  // "sub.model"
    const cpl_component* component;
  } * items;
  size_t n;
} model_times;

// Puts a clock on every model: before it is integrated; on every co-simulation model of a stepper.
cpl_status model_times_of_model(model_times* times, cpl_model* model);
cpl_status model_times_of_stepper(model_times* times, cpl_stepper* stepper);
void model_times_free(model_times* times);
double model_times_sum(const model_times* times);  // [s]

typedef struct run_facts {
  cpl_context* ctx;
  const char *path, *result;
  const cpl_source* source;
  const cpl_stepper* stepper;
  const cpl_solver_def* solver;
  const cpl_run_def* run;
  const cpl_run_stats* stats;
  const model_times* times;
  cpl_status st;
} run_facts;

int64_t run_events(const cpl_stepper* stepper);  // so far

// The command line, quoted for a shell. The first call must precede the parsing of options.
const char* report_command(void);

// The report as JSON, of malloc; NULL: no memory.
char* report_make(const run_facts* facts);

// Writes the page of a finished run next to its results; `page` gets its path. Prints the path and
// opens the page on a desktop.
cpl_status report_view(const run_facts* facts, FILE* out, bool say, bool open, char* page,
                       size_t page_size);

// live.c: starts serving a page and prints its address. listen: "ADDRESS[:PORT]". Nullable: listen.
cpl_status run_live(cpl_context* ctx, const char* title, const char* listen, const cpl_run_def* run,
                    const cpl_column* columns, size_t n, cpl_live** out);
void run_live_end(cpl_context* ctx);  // removes the page that led a browser there
