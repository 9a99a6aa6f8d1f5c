// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Items of work in one thread that wait for other processes at the same time. An item runs on a
// stack of its own until it waits for an answer; then the next one begins, and each goes on when
// its answer is there. So the calls of models in several processes overlap, although the code of an
// item is that of one call after the other. Failures and messages of a thread that an item has
// diverted stay its own.
#pragma once

#include "base/base.h"

typedef struct cpli_fiber cpli_fiber;

/// Items that have begun and not ended. On the stack of the thread that runs them.
typedef struct cpli_fibers {
  cpl_context* ctx;
  void (*work)(void* user, int32_t item);
  void* user;
  cpli_fiber *first, *last;  // in the order in which they began
  double next_look;          // cpli_fibers_look()
} cpli_fibers;

/// Room for n items at once, until cpli_stacks_leave(): where there is less, some items begin when
/// others have ended.
cpl_status cpli_stacks_join(cpl_context* ctx, int32_t n);
void cpli_stacks_leave(cpl_context* ctx, int32_t n);

/// Begin an item: it runs until it waits or ends. defers: see cpli_fiber_defers().
void cpli_fibers_start(cpli_fibers* group, int32_t item, bool defers);
/// Requests that were collected are sent now, since something else follows in this thread.
void cpli_fibers_send(const cpli_fibers* group);
/// Those whose answers are there go on, each until it waits again or ends.
void cpli_fibers_go_on(cpli_fibers* group);
/// The same for a thread with other work, which calls this often: receives answers from time to
/// time.
void cpli_fibers_look(cpli_fibers* group);
/// Until one of them can go on.
void cpli_fibers_wait(const cpli_fibers* group);
/// All end.
void cpli_fibers_finish(cpli_fibers* group);
/// Begin and end items 0 to n - 1.
void cpli_fibers_run(cpl_context* ctx, int32_t n, void (*work)(void* user, int32_t item),
                     void* user);

/// Whether this is an item: what waits for another process calls cpli_fiber_wait() then.
bool cpli_in_fiber(void);
/// Lets others go on until ready(arg), or about `seconds` have passed. Returns ready(arg).
bool cpli_fiber_wait(bool (*ready)(const void* arg), const void* arg, double seconds);

/// Whether this is an item that makes calls of one component only and does nothing with the status
/// of a call but to end with it where it is not CPL_OK. Calls without results may then be
/// collected, sent with the next one that has results, and executed as far as the first that does
/// not succeed.
bool cpli_fiber_defers(void);
/// What sends the calls that were collected; NULL: there are none.
void cpli_fiber_defer(cpl_status (*send)(void* arg), void* arg);
/// Sends what is left at the end of an item.
cpl_status cpli_fiber_end_deferral(void);

/// A word of shared memory that all processes which are forked from here on can ring: it wakes the
/// threads whose items all wait. Without it they look again after a short while.
void cpli_bell_make(void);
void cpli_bell_ring(void);

/// What has to happen before a thread sleeps because all of its items wait: requests that were
/// collected are sent (flush), and answers that no bell rings for are received (poll returns
/// whether there were any). Nullable: both
typedef struct cpli_fiber_watch {
  void (*flush)(void* user);
  bool (*poll)(void* user);
  void* user;
} cpli_fiber_watch;
void cpli_fibers_watch(cpl_context* ctx, const cpli_fiber_watch* watch);  // Nullable: none

// What a context has of this.
typedef struct cpli_stacks {
  struct cpli_slab* slabs;
  cpli_fiber* free;
  int32_t n, wanted;
  cpli_fiber_watch watch;
} cpli_stacks;
