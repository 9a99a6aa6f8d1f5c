// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Batches of cases that do not need each other: in this process one after the other, or in worker
// processes, which are those of studies (study/worker.h). Cases and their results are in memory
// that workers share, so that only numbers of cases are sent. Results do not depend on the number
// of workers; with more than one, this process calls no model.
#pragma once

#include "base/error.h"
#include "study/supervisor.h"

/// A case, and how it ended.
typedef struct cpli_fit_case {
  int32_t kind;     // of the caller,
  int32_t part;     // and what it is applied to
  int32_t group;    // of neighbours, of which none is needed behind one that has failed
  bool quiet;       // its messages are not logged
  size_t in, out;   // its arguments and its results: where they begin in cpli_fit_cases.numbers
  cpl_status st;    // negative: it failed,
  cpl_error error;  // with this
  char texts[CPLI_ERROR_SIZE];
  int32_t deaths;  // of workers in it
  bool needless;
} cpli_fit_case;

typedef struct cpli_fit_cases_def {
  cpl_context* ctx;
  int32_t workers;            // 0, 1: this process
  size_t n_cases, n_numbers;  // at most
  void* user;                 // passed to these:
  /// In a worker, or here. Returns: negative: the case failed with the last error.
  cpl_status (*run)(void* user, const cpli_fit_case* c, const double* in, double* out);
  /// Whether cases behind one that failed in this way are needed. Cases before it are executed.
  bool (*goes_on)(void* user, cpl_status st);
  void (*on_end)(void* user, const cpli_fit_case* c);  // here, in any order. Nullable
} cpli_fit_cases_def;

typedef struct cpli_fit_worker cpli_fit_worker;

typedef struct cpli_fit_cases {
  cpli_fit_cases_def def;
  cpli_fit_case* list;  // to be filled before they are run
  double* numbers;
  size_t size;               // of the memory [bytes]; 0: none
  cpli_fit_worker* workers;  // NULL: this process
  cpli_cases cases;
  char* folder;  // of temporary files of workers. Nullable
  // the present batch
  size_t n, next, limit;  // cases, the next one, and the first that is not needed
  int32_t idle_deaths;
} cpli_fit_cases;

/// Processes begin with the first batch, as they are needed, with all data as they are then.
/// Owned: the contents by the caller, who calls cpli_fit_cases_close(), also after a failure.
cpl_status cpli_fit_cases_open(cpli_fit_cases* b, const cpli_fit_cases_def* def);
/// Ends all processes.
void cpli_fit_cases_close(cpli_fit_cases* b);

/// Execute the first n cases. Returns: CPL_OK where all have ended, or all up to the first one
/// after which the others are not needed; a failure where no process can be made, or of the
/// interruption.
cpl_status cpli_fit_cases_run(cpli_fit_cases* b, size_t n);
