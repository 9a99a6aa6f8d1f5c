// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The processes (ranks) that mpirun or srun has started for one run or study, and messages of bytes
// between them. The environment says whether a process is one of several, before MPI is loaded
// (base/mpi/module.h): a process that was started alone never loads it.
#pragma once

#include "base/base.h"

typedef struct cpli_ranks cpli_ranks;

/// Whether this process is one of several, according to its environment.
bool cpli_ranks_are_here(void);

/// Join the other ranks; only once in a process. Every rank has to call it, and cpli_ranks_leave()
/// in the end, also after a failure.
/// Owned:    *out by the caller; NULL: this process was started alone.
/// Returns:  CPL_ERR_UNSUPPORTED when MPI cannot be loaded or sees other ranks than the environment
///           says: then several processes would do the same.
cpl_status cpli_ranks_join(cpl_context* ctx, cpli_ranks** out);
int32_t cpli_ranks_rank(const cpli_ranks* r);  // Nullable: r
int32_t cpli_ranks_size(const cpli_ranks* r);  // Nullable: r

/// Ends the part of this process. Where `in_order` is false, or MPI has failed, all ranks are ended
/// by force. Nullable: r
void cpli_ranks_leave(cpli_ranks* r, bool in_order);

/// Send bytes; returns when the memory can be used again.
cpl_status cpli_ranks_send(cpli_ranks* r, int32_t to, const void* data, size_t size);
/// The same without waiting: the memory must not be changed while *request is not NULL.
cpl_status cpli_ranks_post(cpli_ranks* r, int32_t to, const void* data, size_t size,
                           void** request);
cpl_status cpli_ranks_finish(cpli_ranks* r, void** request);
/// *from: the rank that has sent a message of *size bytes; -1: there is none.
cpl_status cpli_ranks_probe(cpli_ranks* r, int32_t* from, size_t* size);
cpl_status cpli_ranks_receive(cpli_ranks* r, int32_t from, void* data, size_t size);

/// For a loop that looks for messages: spins first, then gives the processor away, then sleeps.
void cpli_ranks_pause(double waited);
