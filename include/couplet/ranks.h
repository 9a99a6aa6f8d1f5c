// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One system on many machines: the processes (ranks) that mpirun or srun has started share the
// models of a system. Rank 0 simulates; every other rank opens the same file, and has instances of
// its models. Results are identical to the byte. What another rank has opened is good for serving
// only: the system is not described there.
//
//   cpl_ranks* ranks = NULL;
//   cpl_source* system = NULL;
//   cpl_stepper* stepper = NULL;
//   cpl_status st = cpl_ranks_join(ctx, NULL, &ranks);  // NULL: this process was started alone
//   if (st >= 0) st = cpl_system_open(ctx, "plant.yaml", &system);
//   if (cpl_ranks_number(ranks) > 0) st = cpl_ranks_serve(ranks, st);
//   else if (st >= 0) st = cpl_system_stepper(system, NULL, &stepper);  // and so on, as without
//   cpl_source_destroy(system);
//   cpl_ranks_leave(ranks);
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Where models live.
typedef enum cpl_spread {
  CPL_SPREAD_EVEN,  ///< as many in each rank, in the order in which they are made
  CPL_SPREAD_COST,  ///< the most expensive first, each in the rank with the least load: the default
} cpl_spread;

/// How to share models. Start from cpl_default_ranks_def(), then change what you need.
typedef struct cpl_ranks_def {
  size_t size;        ///< set by cpl_default_ranks_def()
  cpl_spread spread;  ///< in rank 0; has no influence on results
} cpl_ranks_def;

CPL_DEFAULTS(ranks_def)  ///< cpl_default_ranks_def()

typedef struct cpl_ranks cpl_ranks;

/// Join the other processes that were started with this one, before a system is opened in this
/// context; once in a process. Open MPI has to be there, and couplet built with it.
/// Owned:    *out by the caller, who calls cpl_ranks_leave(); NULL: this process was started alone,
///           and everything is as without ranks.
/// Nullable: def
/// Returns:  CPL_ERR_UNSUPPORTED when the ranks do not see each other.
CPL_API cpl_status cpl_ranks_join(cpl_context* ctx, const cpl_ranks_def* def, cpl_ranks** out);

/// The number of this process: 0 simulates, others serve. Nullable: ranks
CPL_API int32_t cpl_ranks_number(const cpl_ranks* ranks);
CPL_API int32_t cpl_ranks_count(const cpl_ranks* ranks);  ///< 1 where `ranks` is NULL

/// In a rank that serves: until rank 0 ends.
/// opened:  the status with which it opened the system; rank 0 reports a failure.
CPL_API cpl_status cpl_ranks_serve(cpl_ranks* ranks, cpl_status opened);

/// In rank 0, after a run has ended with `st`: where it was cancelled because a rank has ended
/// (launchers end all processes then), that becomes the failure.
/// Returns:  its status, or `st`.
/// Nullable: ranks
CPL_API cpl_status cpl_ranks_explain(cpl_ranks* ranks, cpl_status st);

/// The end of this process's part, when all components are gone. Where another rank has ended
/// before, or does not answer, all are ended by force, this process, too: results have to be
/// written before. Nullable: ranks
CPL_API void cpl_ranks_leave(cpl_ranks* ranks);

#ifdef __cplusplus
}
#endif
