// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The threads of a context, which everything that is made with it shares. A job is a list of items;
// the caller works on its own job, and threads that are idle help. So jobs may be begun inside of
// items of others: nobody waits for a thread that is not there, and there are never more threads
// than were requested.
#pragma once

#include "base/base.h"
#include "base/fiber.h"

typedef struct cpli_thread_pool cpli_thread_pool;
typedef struct cpli_job cpli_job;

/// The processors that this process may use, at least one.
int32_t cpli_count_processors(void);

/// The number of threads, the caller's included, for a request of `asked` (0: as the context says).
/// `otherwise`: where the context says nothing; 0: the processors that this process may use.
int32_t cpli_threads_of(cpl_context* ctx, int32_t asked, int32_t otherwise);

/// The pool of the context, for at least `threads` threads; it ends with its last user.
/// Owned: *out by the caller, who calls cpli_thread_pool_leave().
cpl_status cpli_thread_pool_join(cpl_context* ctx, int32_t threads, cpli_thread_pool** out);
/// A pool that nobody else uses, for items that wait for each other.
cpl_status cpli_thread_pool_create(cpl_context* ctx, int32_t threads, cpli_thread_pool** out);
void cpli_thread_pool_leave(cpli_thread_pool* pool);  // Nullable

/// Starts threads. Returns: how many there are, the caller's included; fewer than `threads` where
/// the system has no more.
int32_t cpli_thread_pool_start(cpli_thread_pool* pool, int32_t threads);

/// Calls work(user, job, worker) in up to `threads` threads at once: in this one, worker 0, and
/// in those that are idle. Returns when all have returned. They have the modes of floating-point
/// arithmetic of this one. Returns: the number of threads that took part.
int32_t cpli_thread_pool_run(cpli_thread_pool* pool, int32_t threads, int32_t n,
                             void (*work)(void* user, cpli_job* job, int32_t worker), void* user);
/// The next item of a job, from 0 to n - 1, each once; -1: none is left.
int32_t cpli_job_next(cpli_job* job);

// What a context has of this.
typedef struct cpli_context_threads {
  int32_t threads;         // cpl_context_use_threads(); -1: it was not called
  cpli_thread_pool* pool;  // Nullable
  cpl_thread_stats ended;  // of pools that have ended
  cpli_stacks stacks;
  struct cpli_distribution* distribution;  // of models over ranks. Nullable
} cpli_context_threads;
cpli_context_threads* cpli_context_slot(cpl_context* ctx);
