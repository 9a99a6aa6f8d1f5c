// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The point at which `linearize`, `steady` and `bode` look at a model: a file is opened and
// simulated until a time, or brought to its rest point. The options of all these verbs.
#pragma once

#include "cli.h"

typedef struct cli_point_args {
  const char *at, *solver, *projection, *linear, *input, *log_level;
  double start_time, rtol, atol, step;
  cli_list set;
  cli_isolation isolation;
  cli_package package;
} cli_point_args;

// The options of these arguments, which are the first member of those of the verb.
#define CLI_POINT                                                                               \
  {"at",     0,                                                                                 \
   "TIME",   "simulate until this time, or `steady`: go to the rest point; default: the start", \
   CLI_TEXT, offsetof(cli_point_args, at)},                                                     \
      CLI_POINT_OPTIONS

// Without --at.
#define CLI_POINT_OPTIONS                                                                 \
  {                                                                                       \
      "set",                                                                              \
      0,                                                                                  \
      "NAME=VALUE",                                                                       \
      "a parameter or start value, optionally with a unit of the model; may be repeated", \
      CLI_LIST,                                                                           \
      offsetof(cli_point_args, set)},                                                     \
      {"start",     0,                                                                    \
       "TIME",      "start of the simulation",                                            \
       CLI_NUMBER,  offsetof(cli_point_args, start_time),                                 \
       "start-time"},                                                                     \
      {"solver",    0,                                                                    \
       CLI_SOLVERS, "the solver of models (default: cvode)",                              \
       CLI_TEXT,    offsetof(cli_point_args, solver)},                                    \
      {"step",     0,                                                                     \
       "DT",       "step (fixed-step solvers), maximum step (others)",                    \
       CLI_NUMBER, offsetof(cli_point_args, step)},                                       \
      {"linear",                                                                          \
       0,                                                                                 \
       "direct|gmres",                                                                    \
       "how cvode solves its linear systems: factorised (the default) or matrix-free",    \
       CLI_TEXT,                                                                          \
       offsetof(cli_point_args, linear)},                                                 \
      {"projection",                                                                      \
       0,                                                                                 \
       "auto|lazy|every|events|off",                                                      \
       "when states are projected onto the constraints of a model, as for run",           \
       CLI_TEXT,                                                                          \
       offsetof(cli_point_args, projection)},                                             \
      {"input",  0,                                                                       \
       "FILE",   "CSV with a column time and columns named after inputs",                 \
       CLI_TEXT, offsetof(cli_point_args, input)},                                        \
      {"rtol", 0, "X", "relative tolerance", CLI_NUMBER, offsetof(cli_point_args, rtol)}, \
      {"atol",     0,                                                                     \
       "X",        "absolute tolerance, times the nominal of each state; default: rtol",  \
       CLI_NUMBER, offsetof(cli_point_args, atol)},                                       \
      {"log-level",                                                                       \
       0,                                                                                 \
       "error|warning|info|debug",                                                        \
       "which messages to print",                                                         \
       CLI_TEXT,                                                                          \
       offsetof(cli_point_args, log_level)},                                              \
      CLI_PACKAGE(cli_point_args), CLI_ISOLATION(cli_point_args)

typedef struct cli_point {
  cpl_context* ctx;
  FILE* out;  // standard output
  const char* path;
  const cli_point_args* args;
  double at;
  bool searches_rest;  // set by the verb that searches the rest point itself
  cpl_source* source;
  cpl_start* starts;
  cpl_table* table;
  cpl_experiment* experiment;
  cpl_model* model;  // belongs to the experiment; at the point, in continuous time
  cpl_simulation* sim;
} cli_point;

// A context, and standard output apart from that of models. Returns an exit code; cli_point_end()
// follows in any case.
int cli_point_begin(cli_point* p, const cli_point_args* args, const char* path);
// Goes there. `what`: "linearise" for messages.
cpl_status cli_point_reach(cli_point* p, const char* what);
// Releases everything; returns the exit code.
int cli_point_end(cli_point* p, int code);

// Writes a file by `write`, or to standard output (path NULL). Returns an exit code.
int cli_point_write(const cli_point* p, const char* path,
                    void (*write)(FILE* out, const void* data), const void* data);
