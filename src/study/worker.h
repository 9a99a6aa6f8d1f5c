// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A worker: a process forked from its supervisor that opens once and runs the cases of the leases
// it receives on a socket. A page of shared memory says which case it is in, so that the supervisor
// knows it when the process dies.
#pragma once

#include <stdatomic.h>

#include "study/executor.h"

enum { CPLI_IDLE = -1 };  // a worker that is in no case

/// Shared by a worker and its supervisor.
typedef struct cpli_worker_page {
  _Atomic int64_t current;  // the case it is in, or CPLI_IDLE
  _Atomic int64_t started;  // when it began [ns], on the clock of cpli_worker_now()
  _Atomic int64_t retired;  // not zero: the process ends because a case requested it
} cpli_worker_page;

/// Monotonic nanoseconds.
int64_t cpli_worker_now(void);

/// Serve the leases that arrive on the socket until its other end is closed or CPLI_END arrives.
_Noreturn void cpli_worker_serve(cpl_context* ctx, const cpli_cases* cases, int fd,
                                 cpli_worker_page* page);
