// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Components in other processes: common definitions of both sides, which are the operations that go
// through a channel and the layout of a request in its memory, and how each side is made. The other
// process is a forked child (isolate.c), or another rank (distribution.c).
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
  uint64_t offers;  // from here on the answer to OP_make: the available operations
  cpl_capabilities can;
  char kind[32];
  cpl_error error;  // of a status that is not CPL_OK; its texts:
  char texts[1 << 16];
  cpl_component* component;  // the other process alone uses this, and
  char* name;                // its name, which it borrows
} cpli_request;

// The arguments of OP_make, with the name of the instance.
typedef struct cpli_making {
  bool is_model;
  int32_t source;     // its number in a distribution
  uint64_t identity;  // of the sources as far as that one
  bool measures;      // what a call costs, of an instance that ends then
  double cost;        // the answer [s]; NAN: unknown
} cpli_making;

// The operations that go through the channel, numbered in this order.
#define CPLI_REMOTE_OPERATIONS(X) CPLI_OPERATIONS(X) CPLI_REPORT_OPERATIONS(X)

enum {
#define X(table, name, ...) OP_##table##_##name,
  CPLI_REMOTE_OPERATIONS(X)
#undef X
      OP_destroy,
  OP_make,
};
_Static_assert(OP_destroy <= 64, "cpli_request.offers has a bit for each");

typedef struct cpli_operation {
  const char* name;
  cpli_ops_table table;
  size_t slot;  // of the function in its table
  cpl_status (*run)(cpl_component* c, cpli_call* r, cpli_request* q);
} cpli_operation;

extern const cpli_operation cpli_operations[OP_destroy];

//------------------------------------ this side ------------------------------------

typedef struct cpli_proxy cpli_proxy;

/// A proxy whose channel is not open yet: the caller opens it, with so much memory, and starts what
/// answers; then the instance is made there.
size_t cpli_proxy_memory(const cpl_description* desc);
/// limit: of each call [s]; 0: none. Owned: *out by the caller, also after a failure.
cpl_status cpli_proxy_create(cpl_context* ctx, const cpl_description* desc, const char* name,
                             double limit, cpli_proxy** out);
cpli_channel* cpli_proxy_channel(cpli_proxy* p);
/// The first request. From here on the component owns the proxy, unless this fails.
cpl_status cpli_proxy_start(cpli_proxy* p, const cpli_making* making);
/// A request without an instance: making->cost gets the answer. The proxy is discarded then.
cpl_status cpli_proxy_measure(cpli_proxy* p, cpli_making* making);
cpl_component* cpli_proxy_component(cpli_proxy* p);  // a model or a stepper
void cpli_proxy_discard(cpli_proxy* p);              // where it has no instance. Nullable

//------------------------------------ the other side ------------------------------------

/// The main loop of a child: make the instance, answer requests until one of them ends it.
_Noreturn void cpli_isolated_serve(cpli_channel* channel, cpl_source* src);

/// Make the instance of a request, or do what it asks for; it then has the answer, and `pieces` are
/// what has changed: at most CPLI_PIECES. After OP_destroy there is no component.
void cpli_request_make(cpli_request* r, cpl_source* src);
void cpli_request_measure(cpli_request* r, cpl_source* src);
void cpli_request_refuse(cpli_request* r, cpl_context* ctx, cpl_status why);
void cpli_request_execute(cpli_request* r, cpl_context* ctx);
void cpli_request_pieces(const cpli_request* r, cpli_extent pieces[CPLI_PIECES]);
static inline cpli_making* cpli_request_making(const cpli_request* r) {
  return r->first != NULL && r->first->op == OP_make ? r->first->args[0].data : NULL;
}

/// The source behind one that cpl_isolate() made, and how; NULL: it is another one.
const cpl_source* cpli_isolated_inner(const cpl_source* source, cpl_isolate_def* def);
