// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Messages between the coordinator and its workers: a head and a payload of a limited size. They
// are the same on the socket of a worker process and between machines of a cluster.
#pragma once

#include "base/base.h"

typedef enum cpli_study_message_kind {
  // to a worker
  CPLI_LEASE = 1,  // run the cases first to first + count
  CPLI_END,        // close and end; to a rank: count is 1 where cases are to be broken off
  // from a worker
  CPLI_READY,    // it is open
  CPLI_RESULTS,  // slots of the journal of first to first + count, then text records; `seconds` of
                 // work
  CPLI_LOG,      // a message: level is `count`; two terminated texts
  CPLI_FATAL,    // the study cannot go on: a cpl_error, then its texts
  CPLI_DIED,  // its process has ended in case `first` (-1: in none); `count` is a cpli_death; the
              // payload is a text
  // between ranks
  CPLI_KILL,   // end a worker that sends invalid messages
  CPLI_HELLO,  // a rank begins: a cpli_hello
  CPLI_BYE,    // its last message
} cpli_study_message_kind;

// How the process of a worker ended.
typedef enum cpli_death {
  CPLI_DEATH_CRASH,
  CPLI_DEATH_KILLED,    // by SIGKILL, which is no fault of the case, unless it needs all memory
  CPLI_DEATH_TIMEOUT,   // the case took too long
  CPLI_DEATH_RETIRED,   // as the case requested
  CPLI_DEATH_FORSAKEN,  // it was requested to end
  CPLI_N_DEATHS,
} cpli_death;

typedef struct cpli_study_message {
  uint32_t kind;
  uint32_t worker;  // its number on its machine
  uint64_t size;    // of the payload, a multiple of 8
  int64_t life;     // of a LEASE or KILL: for the process after so many deaths of the worker
  int64_t first, count;
  double seconds;
} cpli_study_message;

/// The study of a rank, which has to be that of the coordinator.
typedef struct cpli_hello {
  int64_t n;
  uint64_t n_values, workers;
  uint64_t identity[2];  // hash
  char host[64];
} cpli_hello;

enum {
  CPLI_BATCH_SIZE = 64 * 1024,  // slots and texts are sent when they exceed this
};

/// The number of slots of a RESULTS message, and the size of its texts, at most.
size_t cpli_batch_slots(size_t slot_size);
enum { CPLI_BATCH_TEXTS = 64 * 1024 };
/// The size of any message with its head, at most.
size_t cpli_study_message_limit(size_t slot_size);

/// A payload is padded to this size.
static inline size_t cpli_padded(size_t size) { return (size + 7) & ~(size_t)7; }

/// Log the text of a LOG message; others are ignored.
void cpli_study_message_log(cpl_context* ctx, cpli_study_message* m);
/// Record the failure of a FATAL message as the last one, and return it.
cpl_status cpli_study_message_fail(cpl_context* ctx, cpli_study_message* m);

//------------------------------------ sockets ------------------------------------

// A part of a payload.
typedef struct cpli_piece {
  const void* data;
  size_t size;
} cpli_piece;

enum { CPLI_MAX_PIECES = 3 };

/// Send a message whose payload consists of pieces, and wait until it is sent; sets its size.
/// False: the other side is gone.
bool cpli_study_message_send(int fd, cpli_study_message* m, const cpli_piece* pieces, size_t n);

/// Messages that arrive on a socket.
typedef struct cpli_inbox {
  char* buffer;
  size_t limit;        // of a message with its head
  size_t used, taken;  // bytes received, and of messages that were returned
  bool broken;         // something else than a message came
} cpli_inbox;

cpl_status cpli_inbox_init(cpl_context* ctx, cpli_inbox* in, size_t slot_size);
void cpli_inbox_free(cpl_context* ctx, cpli_inbox* in);
void cpli_inbox_clear(cpli_inbox* in);

/// Read what is there, at most what the buffer has room for. Returns what recv() does with these
/// flags; zero: the other side is gone.
int64_t cpli_inbox_receive(cpli_inbox* in, int fd, int flags);

/// The next complete message, followed by its payload; NULL: there is none yet. Valid until the
/// next call of a function of the inbox.
cpli_study_message* cpli_inbox_next(cpli_inbox* in);

static inline char* cpli_payload(cpli_study_message* m) { return (char*)(m + 1); }
