// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Loading code of others: a library and what it needs. Where that code calls exit(), _exit(),
// _Exit() or quick_exit(), it calls cpli_guard_exit() instead, so that a model cannot end the
// program with an exit code that looks like success. The tables through which the loaded objects
// call other libraries are changed for that; a library cannot be given other functions by its
// symbols, since FMUs are loaded so that they see their own and those of the C library first.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { CPLI_THREADS_KEPT = 256 };

// The threads that were there before a library was loaded.
typedef struct cpli_loaded {
  int threads[CPLI_THREADS_KEPT];
  size_t n_threads;
} cpli_loaded;

/// dlopen(); NULL: it fails, and dlerror() says why.
void* cpli_load(const char* path, int flags);

/// To be called before.
void cpli_loaded_note(cpli_loaded* before);

/// Whether there are threads that were not there before and that are none of this library: what
/// was loaded since may have started them, so that it must stay where it is. Nullable: before,
/// when all but the first thread count.
bool cpli_threads_remain(const cpli_loaded* before);

/// Called by a thread that this library started, first and last.
void cpli_thread_begins(void);
void cpli_thread_ends(void);
