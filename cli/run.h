// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet run: run.c is the verb; run_prepare.c makes the stepper from the file and the options;
// run_report.c prints the summary.
#pragma once

#include "cli.h"
#include "pace.h"
#include "progress.h"
#include "report.h"
#include "run_solvers.h"
#include "run_states.h"
#include "split.h"
#include "tlm_serve.h"

typedef struct run_args {
  serve_args serve;  // first: options of tlm serve are written here
  const char *output, *as, *projection, *linear, *loops, *form, *input, *log_level, *call_log,
      *progress, *listen;
  double start_time, stop_time, interval, step, rtol, atol, call_timeout, real_time, threads;
  const char* platform;
  cli_list set, record, solver;
  cli_package package;
  const char *checkpoint, *every, *resume, *start_from;
  double at;
  bool stats, json, quiet, units, per_model, one_solver, steady, isolate, view, live, processes,
      ignore_extra;
} run_args;

// All that one run needs, from the file to the results.
typedef struct session {
  const run_args* args;
  cpl_context* ctx;
  const char* path;
  char output[4096];
  cpl_source* source;
  run_solvers solvers;  // of the command line
  cpl_table* table;     // of --input
  cpl_start* starts;
  cpl_experiment* experiment;
  cpl_stepper* stepper;  // of the experiment, as the next two
  const cpl_solver_def* solver;
  cpl_run_def* run;
  cpl_run_stats stats;
  cpl_results* results;
  split split;            // results of a system, one file per model
  cpl_results_kept kept;  // what is in the file, or in each of them
  run_states states;
  bool refused;   // the file cannot be written, is an input, or another run writes it
  FILE* out;      // standard output as it was given to us
  cpl_status st;  // of the run
  bool prepared;  // the run could begin
  progress progress;
  model_times times;  // when a report is wanted
  cpl_live* live;
  pace pace;
  serving serving;
  cpl_ranks* ranks;  // NULL: one process
} session;

static inline bool run_wants_page(const session* s) { return s->args->view || s->args->live; }

/// The file of the summary, which must not mix with results.
static inline FILE* run_summary(const session* s) {
  return strcmp(s->output, "-") == 0 ? stderr : s->out;
}

/// Open the file, make the stepper, select the recorded variables.
cpl_status run_prepare(session* s);
cpl_status run_open(session* s);  // only the file

/// Join the other processes of a cluster.
cpl_status run_ranks_join(session* s);
/// In a rank that is not the first: serve it.
void run_ranks_serve(session* s);

void run_print_summary(const session* s);
/// Prints what a failed run has kept: the number of points, the last time, the file, or an older
/// file.
void run_print_kept(const session* s);
void run_print_stats(const session* s);
void run_print_json(const session* s);
