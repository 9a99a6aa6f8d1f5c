// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs many cases on all processors, whatever a case is. The coordinator (the process that calls
// cpli_execute()) hands out leases of consecutive cases to worker processes and writes their
// results to a journal (study/journal.h), from which they are read in the order of the cases. What
// is in the journal does not depend on the number of workers, on their failures, or on
// interruptions.
#pragma once

#include "base/base.h"
#include "study/journal.h"

/// Many cases of one kind of work, each with a result of the same size. The functions are called in
/// forked processes only, each of which opens, runs cases in any order, and closes. They use the
/// context that is given to cpli_execute(): its messages reach the log of the coordinator, the
/// first ones of each worker.
typedef struct cpli_cases {
  int64_t n;             ///< cases
  size_t n_values;       ///< of the result of a case
  const char* identity;  ///< identifies the study, one line per property; a journal with another
                         ///< one is refused
  void* user;            ///< passed to the functions

  /// Once in each worker, before its first case. A failure ends the study with its message.
  cpl_status (*open)(void* user);
  /// Case i. CPL_OK: `values` has its result, or `failure`, which is empty before, the reason why
  /// it has none. CPL_TERMINATE: the same, but this process must not be used any more (a model has
  /// crashed in it), and another one takes its place. A failure ends the study with its message.
  /// `values` are zero before.
  cpl_status (*run)(void* user, int64_t i, double* values, char* failure, size_t failure_size);
  /// Before a worker ends in order. Nullable.
  void (*close)(void* user);
} cpli_cases;

/// How far a study is.
typedef struct cpli_progress {
  int64_t total, done, failed;  ///< cases; those that failed are done
  int64_t resumed;              ///< done before this execution
  int64_t repeated;      ///< cases of this execution that ended their worker and were repeated
  double seconds, rate;  ///< of this execution; cases per second, of the last seconds
  int32_t workers;
} cpli_progress;

/// How cases are executed. All zero but the path is a useful default.
typedef struct cpli_execution {
  const char* journal_path;
  bool resume;          ///< keep what the journal has; otherwise it begins anew
  int32_t workers;      ///< 0: one per processor, or one per rank; in a cluster: of each rank
  double case_timeout;  ///< a case that takes longer fails [s]; 0: no limit
  /// At most ten times per second, and at the end. Nullable.
  void (*progress)(void* user, const cpli_progress* p);
  void* progress_user;
  /// The ranks that execute the study together: each calls cpli_execute() with the same cases, and
  /// only the coordinator (rank 0) writes the journal and reports progress. Nullable.
  struct cpli_cluster* cluster;
} cpli_execution;

/// Run all cases that the journal does not have yet. A case whose worker dies (crash, kill, exit())
/// is repeated alone in a new one; when it kills that as well, it has failed. Returns when all are
/// done, or with a failure (of which another rank than 0 knows only its own), after which the
/// journal has what was done and a later call with `resume` goes on. No process of a worker stays.
/// Nullable: progress (the result, also after a failure) Returns:  CPL_ERR_INPUT: the journal is
/// that of another study, or in use; CPL_ERR_IO: it cannot
///           be written; CPL_ERR_CANCELLED: the context was cancelled; else that of `open` or
///           `run`.
cpl_status cpli_execute(cpl_context* ctx, const cpli_cases* cases, const cpli_execution* how,
                        cpli_progress* progress);
