// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Common definitions of both sides of an isolated component: the operations that go through the
// channel, and the layout of a request in shared memory.
#pragma once

#include "base/channel.h"
#include "couplet/isolate.h"
#include "model/operations.h"

enum { CPLI_MAX_ARGUMENTS = 6 };

typedef struct cpli_argument {
  void* data;
  size_t size;
} cpli_argument;

// A call; its arguments follow.
typedef struct cpli_call {
  struct cpli_call* next;  // in the order of calls; NULL: the last one
  int32_t op, n_args;
  cpli_argument args[CPLI_MAX_ARGUMENTS];
} cpli_call;

// At the beginning of the shared data; calls follow. They are executed as far as the first that
// does not succeed.
typedef struct cpli_request {
  cpli_call *first, *current;  // the latter is in execution
  size_t used;  // bytes of the data: by the calls, and what the answer has added behind them
  size_t room;  // bytes of the data that requests and answers may use
  cpl_status status;
  uint64_t offers;  // answer to the creation: the available operations
  cpl_capabilities can;
  char kind[32];
  cpl_error error;  // of a status that is not CPL_OK; its texts:
  char texts[1 << 16];
} cpli_request;

// The operations that go through the channel, numbered in this order.
#define CPLI_REMOTE_OPERATIONS(X) CPLI_OPERATIONS(X) CPLI_REPORT_OPERATIONS(X)

enum {
#define X(table, name, ...) OP_##table##_##name,
  CPLI_REMOTE_OPERATIONS(X)
#undef X
      OP_destroy,
};
_Static_assert(OP_destroy <= 64, "cpli_request.offers has a bit for each");

typedef struct cpli_operation {
  const char* name;
  cpli_ops_table table;
  size_t slot;  // of the function in its table
  cpl_status (*run)(cpl_component* c, cpli_call* r, char* end);
} cpli_operation;

extern const cpli_operation cpli_operations[OP_destroy];

/// The main loop of a child: make the instance, answer requests until one of them ends it.
_Noreturn void cpli_isolated_serve(cpli_channel* channel, cpl_source* src, const char* name,
                                   bool is_model);

/// The source behind one that cpl_isolate() made, and how; NULL: it is another one.
const cpl_source* cpli_isolated_inner(const cpl_source* source, cpl_isolate_def* def);
