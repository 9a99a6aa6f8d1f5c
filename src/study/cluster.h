// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The processes (ranks) that mpirun or srun has started for one study. Rank 0 is the coordinator
// and has workers of its own; every other rank is a relay (study/relay.h) between the coordinator
// and its workers, which are forked processes, so that a model that crashes ends a worker and never
// a rank.
//
//   cpli_cluster* cluster;
//   cpl_status st = cpli_cluster_join(ctx, &cluster);   // NULL: this process is alone
//   if (st >= 0) st = cpli_execute(ctx, &cases, &(cpli_execution){..., .cluster = cluster}, &p);
//   if (st >= 0 && cpli_cluster_rank(cluster) == 0) ... write the results, print
//   cpli_cluster_leave(cluster);
#pragma once

#include "study/message.h"

typedef struct cpli_cluster cpli_cluster;

/// Join the other ranks, where this process is one of several according to its environment; only
/// once in such a process. Every rank has to call it, and cpli_cluster_leave() in the end, also
/// after a failure. Owned:    *out by the caller; NULL: this process was started alone. Returns:
/// CPL_ERR_UNSUPPORTED when MPI cannot be loaded or sees other ranks than the environment
///           says: then several processes would run the same study.
cpl_status cpli_cluster_join(cpl_context* ctx, cpli_cluster** out);
/// 0: the coordinator. Nullable: c
int32_t cpli_cluster_rank(const cpli_cluster* c);
int32_t cpli_cluster_size(const cpli_cluster* c);  // Nullable: c

/// End the part of this process. Where cpli_execute() was not called, the others end as well: the
/// last failure of the context of a relay becomes that of the study. Nullable: c
void cpli_cluster_leave(cpli_cluster* c);

//------------------------------------ for the executor ------------------------------------

/// Messages have at most `limit` bytes from now on.
cpl_status cpli_cluster_begin(cpli_cluster* c, size_t limit);
cpl_status cpli_cluster_send(cpli_cluster* c, int32_t to, const cpli_study_message* m);
/// The next message, followed by its payload, and who sent it; *out NULL: there is none. Valid
/// until the next call.
cpl_status cpli_cluster_next(cpli_cluster* c, int32_t* from, cpli_study_message** out);
/// Coordinator: all others are to end. Each answers with CPLI_BYE; in order: after its workers have
/// closed, otherwise cases in progress are broken off.
cpl_status cpli_cluster_end_others(cpli_cluster* c, bool in_order);
/// Coordinator: a rank has sent CPLI_BYE. Relay: CPLI_END has arrived.
void cpli_cluster_note_end(cpli_cluster* c);
/// Coordinator: whether all ranks have ended. Relay: whether it has to.
bool cpli_cluster_all_ended(const cpli_cluster* c);
/// Relay: the last failure of the context, to the coordinator.
cpl_status cpli_cluster_send_failure(cpli_cluster* c, cpl_status st);
