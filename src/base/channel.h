// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Two processes that take turns over shared memory: the parent sends requests, a child answers. The
// waiting side spins for a short while, where answers come fast, and then sleeps. The child is
// forked from the parent, and the memory has the same address in both; or it is another program
// (cpli_channel_start), which opens the memory as a file; or another rank, perhaps on another
// machine, which has memory of its own at the same address (base/link.h).
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/shared.h"

enum { CPLI_PIECES = 3 };

// A part of the data. Where the memory is not shared, only what is named is sent.
typedef struct cpli_extent {
  size_t at, size;
} cpli_extent;

typedef struct cpli_channel {
  cpl_context* ctx;
  cpli_shared* shared;  // NULL: to another rank
  char* data;           // behind it: for requests and answers
  size_t size;
  pid_t pid;          // of the child; 0: none, or gone
  int how;            // its exit status, as from waitpid()
  unsigned forks;     // cpli_guard_forks of the child: a forked copy of it must not answer
  bool limits_calls;  // the limit of a request begins with its first call of a model
  cpli_waits waits;
  // messages of the child; NULL: they are logged
  void (*receive)(void* user, uint32_t level, const char* who, const char* text);
  void* user;
  // of another program; the parent's descriptors, -1 of a forked child
  int memory;        // the shared memory as a file
  int wake, input;   // a pipe to the standard input of the child
  int woken, waker;  // a pipe from it
  bool passes_on;    // its standard output and error come through pipes, too
  int printed[2];    // their ends here
  double passed_on;  // when they were last read
  // of another rank
  struct cpli_rank_links* link;
  int32_t rank;
  cpli_extent pieces[CPLI_PIECES];  // of the request
  bool is_new;                      // nothing was sent yet
  int32_t answered;                 // atomic
  char* messages;                   // of the answer. Nullable
  size_t n_messages;                // bytes
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
/// The same as a file, for another program. It opens the files that cpli_channel_places() names.
cpl_status cpli_channel_open_file(cpl_context* ctx, size_t size, cpli_channel* ch);
/// Ends the child, if there is one, and frees the memory.
void cpli_channel_close(cpli_channel* ch);

/// fork(): *in_child tells which side this is. The child has standard output and error, no input,
/// the descriptor `keep` (-1: none) and no other file of the parent; it dies with the thread that
/// made it; its messages reach the parent's log. It has a process group of its own, and the
/// processes it started end with it.
cpl_status cpli_channel_fork(cpli_channel* ch, int keep, bool* in_child);

/// What the child does; NULL: it says nothing.
const char* cpli_channel_note(const cpli_channel* ch);
/// How the child has ended, as the predicate of a sentence, where it is another rank.
void cpli_channel_describe_end(const cpli_channel* ch, char* text, size_t size);

enum { CPLI_PLACE = 48 };

/// The names of the memory, and of a pipe: a byte that is written there wakes the parent. Valid for
/// other processes of this user while this process lives.
void cpli_channel_places(const cpli_channel* ch, char memory[CPLI_PLACE], char waker[CPLI_PLACE]);

/// Start another program as the child, with these arguments and this environment. A byte on its
/// standard input wakes it. Where ch->passes_on is set, what it prints is passed on to standard
/// output and error of this process from time to time. Its end is that of a forked child. Where it
/// cannot be started, the first request finds that it ended with exit code CPLI_NOT_STARTED.
cpl_status cpli_channel_start(cpli_channel* ch, const char* const* argv, const char* const* env);

/// Parent: send the request and wait for the answer, at most `limit` seconds (0: no limit).
cpli_answer cpli_channel_ask(cpli_channel* ch, double limit);
/// Parent: wait for the end of a child that was requested to end; kill it after `limit` seconds.
void cpli_channel_reap(cpli_channel* ch, double limit);

/// Child: wait for the next request; this also sends the answer of the last one.
void cpli_channel_next(cpli_channel* ch, bool answered);
/// Child: send the last answer; the process ends now.
void cpli_channel_last(cpli_channel* ch);
