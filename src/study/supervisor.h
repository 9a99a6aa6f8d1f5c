// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The supervisor of one worker: it starts the process when there is a lease for it, receives its
// messages, ends it when a case takes too long, and makes a message of its death. The coordinator
// has one for each local worker, and so has every other machine of a cluster.
#pragma once

#include <sys/types.h>

#include "study/message.h"
#include "study/worker.h"

typedef struct cpli_supervisor {
  cpl_context* ctx;
  const cpli_cases* cases;
  double case_timeout;  // [s]; 0: none
  int fd;               // -1: no process
  pid_t pid;            // 0: no process
  cpli_worker_page* page;
  cpli_inbox inbox;
  int64_t life;    // deaths of its processes
  bool gone;       // nothing more will arrive
  bool forsaken;   // it was requested to end
  int64_t late;    // the case that took too long; CPLI_IDLE: none
  char last[512];  // the message of its death
} cpli_supervisor;

cpl_status cpli_supervisor_init(cpli_supervisor* s, cpl_context* ctx, const cpli_cases* cases,
                                double case_timeout);
/// Kills the process, if there is one, with its group, and frees the memory.
void cpli_supervisor_free(cpli_supervisor* s);

/// Send a message to the worker. A lease starts its process where there is none; one for a process
/// that has died meanwhile has no effect. Returns a failure
/// where no process can be made; a process that has died is reported by cpli_supervisor_next().
cpl_status cpli_supervisor_send(cpli_supervisor* s, const cpli_study_message* m);

/// Receive what has arrived, and look after the process: to be called when its descriptor is
/// readable, and several times per second. Does not wait.
void cpli_supervisor_receive(cpli_supervisor* s);
/// The next message; NULL: there is none. CPLI_DIED is the last one of a process. Valid until the
/// next call of a function of the supervisor.
cpli_study_message* cpli_supervisor_next(cpli_supervisor* s);

/// Request an orderly end; a case in progress is broken off. Its death is reported.
void cpli_supervisor_stop(cpli_supervisor* s);
/// End the process of this life now, because what it sends is invalid. Its death is reported as a
/// crash.
void cpli_supervisor_kill(cpli_supervisor* s, int64_t life);
