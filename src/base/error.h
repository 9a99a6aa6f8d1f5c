// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The store behind cpl_context_last_error(): a cpl_error that owns its texts. The last failure of a
// thread is in the store of the context, or in another one that the thread has chosen, so that
// threads that step components do not overwrite each other's failures.
#pragma once

#include "base/base.h"

enum {
  CPLI_ERROR_SIZE = 2048,        // of texts that need no allocation
  CPLI_ERROR_TEXTS = 16 * 1024,  // of texts in messages to other processes
};

typedef struct cpli_error {
  cpl_error data;  // its texts are in `large`, or in `small` where that is NULL
  char* large;
  char small[CPLI_ERROR_SIZE];
} cpli_error;

/// No failure. To be called first, and last to release memory.
void cpli_error_clear(cpli_error* e, cpl_context* ctx);
/// A copy of `from`, whose texts may be those of `e`.
void cpli_error_set(cpli_error* e, cpl_context* ctx, const cpl_error* from);
/// Record a copy of a failure as the last one; returns its status.
cpl_status cpli_fail_again(cpl_context* ctx, const cpl_error* error);

/// Adds data to the last failure; what is known already stays. Returns `st`.
/// Nullable: component, variable; time NAN: unknown
cpl_status cpli_fail_where(cpl_context* ctx, cpl_status st, const char* component,
                           const char* variable, double time);

/// Adds to the last failure that its cause is a name that does not exist, and the names of a list
/// that resemble it. `at` gives the i-th of n names. Returns `st`.
cpl_status cpli_fail_unknown(cpl_context* ctx, cpl_status st, const char* name,
                             const char* (*at)(const void* user, size_t i), const void* user,
                             size_t n);

/// From now on the failures of this thread go to `e`, which is cleared, until cpli_end_diversion()
/// with the result.
cpli_error* cpli_divert_errors(cpl_context* ctx, cpli_error* e);
void cpli_end_diversion(cpli_error* before);
/// The same without clearing: what is recorded in `e` stays. Returns: where they went before.
cpli_error* cpli_exchange_diversion(cpli_error* e);  // Nullable: e
/// Where failures of this thread go.
cpli_error* cpli_last_error(cpl_context* ctx);

/// The texts of an error one after the other, cut to `size` bytes, for shared memory.
void cpli_error_pack(const cpl_error* e, char* out, size_t size);
size_t cpli_error_packed_size(const cpl_error* e);  // of all texts
/// Points the texts of `e` to those in `texts`, whose end is made that of the last one.
void cpli_error_unpack(cpl_error* e, char* texts, size_t size);

/// cpl_fail(), or cpl_fail_prefix(), with the source location of `at` before the text, or else the
/// name of its component.
/// Nullable: at, at->file, at->variable
cpl_status cpli_vfail(cpl_context* ctx, cpl_status st, const cpl_error* at, bool prefix,
                      const char* fmt, va_list args);

/// Whether messages of this context are dropped from here on: those of runs that are repeated.
void cpli_log_mute(cpl_context* ctx, bool muted);
