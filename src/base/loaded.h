// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Loading of foreign code: a library and its dependencies. Where that code calls exit(), _exit(),
// _Exit() or quick_exit(), it calls cpli_guard_exit() instead, so that a model cannot end the
// program with an exit code of success. This is done in the relocation tables of the loaded
// objects; symbol interposition is not possible, since FMUs are loaded so that they resolve their
// own symbols and those of the C library first.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { CPLI_THREADS_KEPT = 256 };

// The threads that existed before a library was loaded.
typedef struct cpli_loaded {
  int threads[CPLI_THREADS_KEPT];
  size_t n_threads;
} cpli_loaded;

/// dlopen(); NULL: failure, see dlerror().
void* cpli_load(const char* path, int flags);

/// To be called before.
void cpli_loaded_note(cpli_loaded* before);

/// Whether there are new threads that this library did not start: code loaded since may have
/// started them, so that it must not be unloaded. Nullable: before, when all but the first thread
/// count.
bool cpli_threads_remain(const cpli_loaded* before);

/// Called by a thread that this library started, at its begin and end.
void cpli_thread_begins(void);
void cpli_thread_ends(void);
