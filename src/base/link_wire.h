// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Messages between rank 0 (link.c) and the others (link_serve.c), and what both have.
#pragma once

#include <pthread.h>

#include "base/error.h"
#include "base/link.h"

typedef enum cpli_link_kind {
  CPLI_LINK_BEGIN,  // rank 0: where the memory is
  CPLI_LINK_HELLO,  // its answer, when the rank is ready: cpli_link_hello
  CPLI_LINK_CALLS,  // rank 0: parcels
  CPLI_LINK_ANSWERS,
  CPLI_LINK_PING,  // rank 0: whether the rank is there
  CPLI_LINK_PONG,
  CPLI_LINK_END,  // rank 0
  CPLI_LINK_BYE,  // the last message of a rank
} cpli_link_kind;

typedef struct cpli_link_head {
  uint32_t kind, count;
  uint64_t data;  // BEGIN: the address of the memory
} cpli_link_head;

// A request or an answer; the pieces follow, and messages for the log. All begin at multiples of 8.
typedef struct cpli_parcel {
  uint64_t data, size;  // of the channel
  uint64_t is_new;
  cpli_extent pieces[CPLI_PIECES];
  uint64_t n_messages;  // bytes
} cpli_parcel;

// In the messages of a parcel; two terminated texts follow.
typedef struct cpli_link_message {
  uint32_t level, size;
} cpli_link_message;

typedef struct cpli_link_hello {
  cpli_link_head head;
  int32_t status, pid;
  char host[64];
  cpl_error error;
  char texts[CPLI_ERROR_TEXTS];
} cpli_link_hello;

// Bytes that grow.
typedef struct cpli_buffer {
  char* data;
  size_t size, room;
} cpli_buffer;

// Requests of one rank, in order. NULL: its channel was closed meanwhile.
typedef struct cpli_link_requests {
  cpli_channel** items;
  size_t n, cap;
} cpli_link_requests;

// Another rank, as rank 0 knows it.
typedef struct cpli_link_peer {
  cpli_link_requests waiting, sent;
  cpli_buffer out;
  void* posted;
  bool ready, lost, ended, ponged;
  bool is_local;
  int32_t pid;
  char host[64];
  char* first;       // a model there, for messages
  int32_t n_models;  // that were made there
} cpli_link_peer;

typedef struct cpli_link_freed {
  char* data;
  size_t size;
} cpli_link_freed;

struct cpli_rank_links {
  cpl_context* ctx;
  cpli_ranks* ranks;
  int32_t size;
  cpli_link_peer* peers;  // [size] of rank 0; the first is itself
  pthread_mutex_t mutex;
  cpli_buffer in;
  bool failed;  // MPI, or memory: `why`
  char why[256];
  char *memory, *free;
  cpli_link_freed* freed;
  size_t n_freed, cap_freed;
  int64_t n_messages, n_calls;  // that were sent
  cpl_status refused;           // of a rank that cannot serve; its text is the last error
};

/// Room for `size` bytes more, rounded to a multiple of 8; NULL: out of memory.
char* cpli_buffer_add(cpl_context* ctx, cpli_buffer* b, size_t size);

/// Reserves the range of addresses; where: NULL: anywhere that is likely to be free in all ranks.
cpl_status cpli_link_reserve(cpl_context* ctx, char* where, char** out);
void cpli_link_release(char* memory);  // Nullable
/// Memory of a new channel, all zero.
bool cpli_link_use(char* data, size_t size);

/// Appends a parcel with its pieces.
bool cpli_parcel_put(cpl_context* ctx, cpli_buffer* b, const cpli_parcel* p, const char* messages);
/// The parcel at *at, whose pieces are copied to `to` where that is not NULL; *at: behind it.
/// Returns: NULL: the bytes are not valid.
const cpli_parcel* cpli_parcel_take(const cpli_buffer* b, size_t* at, char* to, size_t size,
                                    const char** messages);

static inline size_t cpli_padded(size_t size) { return (size + 7) / 8 * 8; }

enum {
  CPLI_LINK_MEMORY_BITS = 44
};  // bytes of the range: memory that is never touched costs nothing
