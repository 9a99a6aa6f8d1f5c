// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of many models that do not need each other, as tasks that several threads share. Tasks are
// grouped into chunks of about equal cost, by measured times; whether threads pay is measured, too.
// Neither has an influence on results: all tasks are executed, in one thread or in many, and the
// failure that is reported is the one that a single thread would find.
#pragma once

#include "base/thread_pool.h"

typedef struct cpli_parallel cpli_parallel;

/// One task. worker: from 0 to cpli_parallel_workers() - 1, for memory of its own.
typedef cpl_status cpli_task(void* user, int32_t task, int32_t worker);

/// The threads of the context: one where it says nothing.
int32_t cpli_parallel_threads(cpl_context* ctx);

/// For n tasks, and at most `most` threads: those of the context, one where it says nothing.
/// Owned: *out by the caller, who calls cpli_parallel_destroy(); NULL: there is one thread.
cpl_status cpli_parallel_make(cpl_context* ctx, int32_t most, int32_t n, cpli_parallel** out);
void cpli_parallel_destroy(cpli_parallel* p);           // Nullable
int32_t cpli_parallel_workers(const cpli_parallel* p);  // Nullable

/// The model of this task must stay in the caller's thread (cpl_capabilities.own_thread).
void cpli_parallel_keep(cpli_parallel* p, int32_t task);  // Nullable: p
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
/// For a task that is made of several: after the one before `begin` has returned `first`, which is
/// positive, execute the others as far as n - 1. Returns: the first failure; without one `first`,
/// with the message that it had.
cpl_status cpli_parallel_finish(cpl_context* ctx, int32_t begin, int32_t n, cpli_task* task,
                                void* user, int32_t worker, cpl_status first);
