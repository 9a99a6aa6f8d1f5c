// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of many models that do not need each other, as tasks that several threads share. Tasks are
// grouped into chunks of about equal cost, by measured times; whether threads pay is measured, too.
// Neither has an influence on results: all tasks are executed, in one thread or in many, and the
// failure that is reported is the one that a single thread would find. Tasks that wait for another
// process overlap in the caller's thread (base/fiber.h).
#pragma once

#include "base/thread_pool.h"

typedef struct cpli_parallel cpli_parallel;

/// One task. worker: from 0 to cpli_parallel_workers() - 1, for memory of its own.
typedef cpl_status cpli_task(void* user, int32_t task, int32_t worker);

/// The threads of the context: one where it says nothing.
int32_t cpli_parallel_threads(cpl_context* ctx);

typedef enum cpli_task_kind {
  CPLI_TASK_ANY,     // any thread may execute it
  CPLI_TASK_STAYS,   // must stay in the caller's thread (cpl_capabilities.own_thread)
  CPLI_TASK_REMOTE,  // calls of one component of another process
  CPLI_TASK_WAITS,   // some of its calls are of components of other processes
} cpli_task_kind;

/// What kind the task with this number is.
typedef cpli_task_kind cpli_task_kinds(const void* user, int32_t task);

/// For n tasks, and at most `most` threads: those of the context, one where it says nothing.
/// Owned: *out by the caller, who calls cpli_parallel_destroy(); NULL: there is one thread, and no
/// task waits for other processes.
/// Nullable: kinds: CPLI_TASK_ANY
cpl_status cpli_parallel_make(cpl_context* ctx, int32_t most, int32_t n, cpli_task_kinds* kinds,
                              const void* user, cpli_parallel** out);
void cpli_parallel_destroy(cpli_parallel* p);           // Nullable
int32_t cpli_parallel_workers(const cpli_parallel* p);  // Nullable

/// Tasks of the same models that take longer: where threads pay for `other`, they do here.
void cpli_parallel_follow(cpli_parallel* p, const cpli_parallel* other);  // Nullable: both

/// Whether threads are used. Nullable
bool cpli_parallel_pays(const cpli_parallel* p);

/// Executes all tasks. After CPL_RETRY the others are executed nevertheless, since evaluations may
/// leave traces in a model; after a failure those behind it are not needed.
/// Returns: the first failure in the order of tasks; without one the first that is not CPL_OK.
/// n: the number it was made for. Nullable: p
cpl_status cpli_parallel_run(cpl_context* ctx, cpli_parallel* p, int32_t n, cpli_task* task,
                             void* user);
/// The same in one thread, without measurements: tasks that wait for other processes overlap, the
/// others are executed meanwhile. The stacks are those that others have joined.
cpl_status cpli_overlap(cpl_context* ctx, int32_t n, cpli_task_kinds* kinds, cpli_task* task,
                        void* user);
/// For a task that is made of several: after the one before `begin` has returned `first`, which is
/// positive, execute the others as far as n - 1. Returns: the first failure; without one `first`,
/// with the message that it had.
cpl_status cpli_parallel_finish(cpl_context* ctx, int32_t begin, int32_t n, cpli_task* task,
                                void* user, int32_t worker, cpl_status first);
