// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Two processes that take turns over shared memory: the parent sends requests, a child forked from
// it answers. The waiting side spins for a short while, where answers come fast, and then sleeps.
// The memory has the same address in both, so that pointers into it are valid on either side.
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/base.h"

enum { CPLI_CHANNEL_LOG = 1 << 16 };  // capacity for pending messages in bytes

typedef struct cpli_shared {
  _Alignas(64) _Atomic uint32_t turn;
  _Alignas(64) _Atomic uint32_t sleeps[2];  // the side that sleeps: parent, child
  uint32_t flushes;                         // the child only requests that its messages be read
  const char* volatile note;                // the call in progress, a constant of the program
  _Atomic uint32_t calls;  // of a model while one request is served: the limit is that of each
  _Atomic uint32_t log_head, log_tail, log_lost;
  char log[CPLI_CHANNEL_LOG];
} cpli_shared;

typedef struct cpli_channel {
  cpl_context* ctx;
  cpli_shared* shared;
  char* data;  // behind it: for requests and answers
  size_t size;
  pid_t pid;          // of the child; 0: none, or gone
  int how;            // its exit status, as from waitpid()
  unsigned forks;     // cpli_guard_forks of the child: a forked copy of it must not answer
  bool limits_calls;  // the limit of a request begins with its first call of a model
  double usual_wait;
} cpli_channel;

typedef enum cpli_answer {
  CPLI_ANSWERED,
  CPLI_DIED,        // `how` has the status; -1: its end was requested
  CPLI_TOO_LATE,    // not within the time; the child was killed
  CPLI_BROKEN_OFF,  // the run was cancelled (cpl_context_cancel); the child was killed
} cpli_answer;

/// A note of a child that waits for others, and is in no call of a model.
extern const char cpli_channel_waits[];

/// `size` bytes of data; memory that is never touched costs nothing.
cpl_status cpli_channel_open(cpl_context* ctx, size_t size, cpli_channel* ch);
/// Ends the child, if there is one, and frees the memory.
void cpli_channel_close(cpli_channel* ch);

/// fork(): *in_child tells which side this is. The child has standard output and error, no input,
/// the descriptor `keep` (-1: none) and no other file of the parent; it dies with the thread that
/// made it; its messages reach the parent's log. It has a process group of its own, and the
/// processes it started end with it.
cpl_status cpli_channel_fork(cpli_channel* ch, int keep, bool* in_child);

/// Parent: send the request and wait for the answer, at most `limit` seconds (0: no limit).
cpli_answer cpli_channel_ask(cpli_channel* ch, double limit);
/// Parent: wait for the end of a child that was requested to end; kill it after `limit` seconds.
void cpli_channel_reap(cpli_channel* ch, double limit);

/// Child: wait for the next request; this also sends the answer of the last one.
void cpli_channel_next(cpli_channel* ch, bool answered);
/// Child: send the last answer; the process ends now.
void cpli_channel_last(cpli_channel* ch);
