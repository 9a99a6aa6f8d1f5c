// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMUs with reference results: finding them (crosscheck_find.c), the settings of each run
// (crosscheck_plan.c), running them (crosscheck_run.c), and the verb with its summary
// (crosscheck.c).
#pragma once

#include "base/base.h"
#include "cli.h"

// The settings of a run, from the files next to the FMU and from --settings.
typedef struct xcheck_plan {
  double start, stop, step, interval, rtol, shift, input_shift;  // NAN: not given
  const char* solver;                                            // Nullable
  const char** sets;                                             // "name=value"
  size_t n_sets, cap_sets;
} xcheck_plan;

typedef struct xcheck_case {
  const char *folder, *fmu, *path;          // path: below the folder that was given
  const char *reference, *input, *options;  // files next to it. Nullable.
  const char *version, *kind, *tool;        // from the folders; "" when they are not laid out so
  xcheck_plan plan;
  cpl_table* wanted;  // the reference. Nullable.
  bool loads, simulates, matches;
  double seconds;
  char cause[512];  // of the first thing that failed
} xcheck_case;

typedef struct xcheck {
  cpl_context* ctx;
  cpli_arena arena;
  const char* root;
  const char* platform;  // of the FMUs and the binaries that are run. Nullable: this one
  xcheck_case* cases;
  size_t n, cap;
  size_t elsewhere;  // FMUs for other platforms
  char* folder;      // temporary
  double timeout;    // [s] a run may take
  int parallel;
  bool isolate, progress;
} xcheck;

/// All FMUs below x->root whose path fits `only` (Nullable), in the order of their paths.
cpl_status xcheck_find(xcheck* x, const char* only);
/// Reads --settings.
cpl_status xcheck_read_settings(xcheck* x, const char* path);
/// Makes the plan of an FMU from the files next to it, and reads its reference. A failure is
/// written into its cause.
bool xcheck_make_plan(xcheck* x, xcheck_case* c);
/// The arguments of `couplet run`, ended by NULL; `output` gets the results. NULL: no memory.
const char** xcheck_arguments(xcheck* x, const xcheck_case* c, const char* output);
/// Run all, several at the same time. False: interrupted.
bool xcheck_run(xcheck* x);
