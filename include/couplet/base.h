// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Status codes and the context, which every other header uses. A context owns the allocator, the
// log and the last failure; every object belongs to one context.
//
//   cpl_context_def def = cpl_default_context_def();
//   def.log = print_message;
//   cpl_context* ctx = cpl_context_create(&def);
//   cpl_status st = cpl_system_open(ctx, "pair.yaml", &source);  // couplet/assemble.h
//   if (st < 0) fprintf(stderr, "%s\n", cpl_context_error(ctx));
//   ...
//   cpl_context_destroy(ctx);
//
// A definition (cpl_..._def, and cpl_setup) is a struct with the settings for making an object. So
// that definitions can grow in later versions, each begins with its size, which its default
// constructor cpl_default_...() sets together with all other members. Functions read the members
// within that size; missing ones have their defaults. A definition of size zero is refused. New
// members are added at the end only, and their default is the behaviour of earlier versions. A
// definition that is a member of another one (cpl_solver_def) does not grow: new members take the
// place of reserved ones. All other structs of these headers keep their layout; where one must
// change, CPL_ABI_VERSION increases.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CPL_API               __attribute__((visibility("default")))
#define CPL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define CPL_API
#define CPL_PRINTF(fmt, args)
#endif

//------------------------------------ versions ------------------------------------

/// The version of the binary interface. Programs work with every library of the same version that
/// is not older than the headers they were compiled with.
#define CPL_ABI_VERSION 1

/// CPL_ABI_VERSION of the library.
CPL_API int cpl_abi_version(void);

/// Declares the default constructor of a definition: cpl_init_run_def(&def, sizeof def) fills one
/// of that size, def = cpl_default_run_def() one of the size that the header has.
#define CPL_DEFAULTS(name)                                    \
  CPL_API void cpl_init_##name(cpl_##name* def, size_t size); \
  static inline cpl_##name cpl_default_##name(void) {         \
    cpl_##name def;                                           \
    cpl_init_##name(&def, sizeof def);                        \
    return def;                                               \
  }

//------------------------------------ status ------------------------------------

/// Zero is success, negative is failure, positive is information. Callers test `st < 0` and return
/// it to their own caller.
#define CPL_STATUS_LIST(X)                                                     \
  X(CPL_TERMINATE, 3, "a model asked to end the simulation")                   \
  X(CPL_EVENT, 2, "an event was located")                                      \
  X(CPL_RETRY, 1, "not at this point; try a shorter step")                     \
  X(CPL_OK, 0, "success")                                                      \
  X(CPL_ERR_NOMEM, -1, "out of memory")                                        \
  X(CPL_ERR_IO, -2, "a file could not be read or written")                     \
  X(CPL_ERR_INPUT, -3, "bad input: a file, a name, a value or a call")         \
  X(CPL_ERR_UNSUPPORTED, -4, "the input asks for something couplet cannot do") \
  X(CPL_ERR_MODEL, -5, "a model call failed")                                  \
  X(CPL_ERR_SOLVER, -6, "the solver could not go on")                          \
  X(CPL_ERR_CANCELLED, -7, "the run was interrupted")                          \
  X(CPL_ERR_CONNECTION, -8, "another process could not be started or reached")

typedef enum cpl_status {
#define X(name, value, text) name = value,
  CPL_STATUS_LIST(X)
#undef X
} cpl_status;

/// The text of a status; never NULL.
CPL_API const char* cpl_status_text(cpl_status st);

//------------------------------------ context ------------------------------------

typedef enum cpl_log_level {
  CPL_LOG_ERROR,
  CPL_LOG_WARNING,
  CPL_LOG_INFO,
  CPL_LOG_DEBUG,
} cpl_log_level;

/// A log sink. `who` names the model or file (never NULL, may be empty); `text` does not end with a
/// newline.
typedef void cpl_log_fn(void* user, cpl_log_level level, const char* who, const char* text);

/// Like realloc; size 0 frees and returns NULL.
typedef void* cpl_realloc_fn(void* user, void* ptr, size_t size);

/// How to make a context. Start from cpl_default_context_def(), then change what you need.
typedef struct cpl_context_def {
  size_t size;              ///< set by cpl_default_context_def()
  cpl_realloc_fn* realloc;  ///< Nullable: the C library's.
  cpl_log_fn* log;          ///< Nullable: nothing is logged.
  cpl_log_level log_level;  ///< messages above this level are dropped; CPL_LOG_WARNING by default
  void* user;               ///< passed to realloc and log
} cpl_context_def;

/// Owns allocator, log sink and the last failure.
///
/// Threads: a context, and everything made with it, is used by one thread at a time; it may pass
/// from one thread to another between calls. Different contexts are independent of each other. Two
/// functions may be called from any thread at any time: cpl_context_cancel() and cpl_log().
/// The library itself uses threads where a definition has a number of them, where
/// cpl_context_use_threads() was called, for delay lines between processes, and for the live page.
/// These call models and steppers (each one by one thread at a
/// time), cpl_context_def.realloc, which must therefore be thread-safe as realloc is, and
/// cpl_context_def.log, for which a lock ensures that it is called by one thread at a time. All
/// other callbacks (cpl_run_def and so on) are called by the thread that called the library,
/// except where their comment says otherwise.
typedef struct cpl_context cpl_context;

CPL_DEFAULTS(context_def)  ///< cpl_default_context_def()

/// Owned:    the result by the caller, who calls cpl_context_destroy().
/// Nullable: def
/// Returns:  NULL when memory is exhausted, or when def was not made by cpl_default_context_def().
CPL_API cpl_context* cpl_context_create(const cpl_context_def* def);
CPL_API void cpl_context_destroy(cpl_context* ctx);  ///< Nullable: ctx

/// End the calls that run with this context: they return CPL_ERR_CANCELLED at the next step or the
/// next call of a model. Models are still freed. May be called from any thread and from signal
/// handlers, while the context exists.
CPL_API void cpl_context_cancel(cpl_context* ctx);
/// How often cpl_context_cancel() was called; 0: not cancelled. From any thread, as above.
CPL_API int cpl_context_cancelled(const cpl_context* ctx);
/// Allow the context to be used again after it was cancelled.
CPL_API void cpl_context_resume(cpl_context* ctx);

/// Threads for what is made with this context: the models of an aggregate, independent subsystems,
/// steppers of a master and parts between delay lines are divided among them. Results have the same
/// bits for any number. To be called before these are made; experiments call it with
/// cpl_experiment_settings.threads. Models then must not share data that changes, and those with
/// the capability own_thread stay in the caller's thread.
/// threads: 0: one per processor, where measurements show that this is faster; 1: only the
/// caller's. Before the first call: masters and delay lines as with 0, everything else as with 1.
CPL_API void cpl_context_use_threads(cpl_context* ctx, int32_t threads);

/// Models in C that are opened with this context from here on get no derivatives made of their
/// source (--no-ad): differences where they have none of their own. Experiments call it with
/// cpl_experiment_settings.no_ad.
CPL_API void cpl_context_use_differences(cpl_context* ctx, bool on);

// What threads other than the caller's have done.
typedef struct cpl_thread_stats {
  int32_t threads;   ///< that were started, and the caller's
  int64_t together;  ///< how often work was divided among several
  double helped_s;   ///< processor time of threads other than the caller's, all together [s]
} cpl_thread_stats;

CPL_API void cpl_context_thread_stats(cpl_context* ctx, cpl_thread_stats* out);

//------------------------------------ failures ------------------------------------

/// A failure as data. Texts are never NULL, and empty where unknown.
typedef struct cpl_error {
  cpl_status status;      ///< CPL_OK: nothing has failed yet
  const char* text;       ///< the whole message, whatever its length
  const char* message;    ///< the same without the source location that it begins with, if any
  const char* file;       ///< whose content, or absence, is the cause
  int32_t line, column;   ///< in that file, from 1; 0: unknown
  const char* component;  ///< name of the instance, or of the model, that failed
  const char* variable;   ///< of that component
  double time;            ///< simulated time [s]; NAN: before the run, or unknown
  const char* unknown;    ///< the name that does not exist, where this is the cause
  const char* similar;    ///< names that resemble it, one per line
} cpl_error;

/// The last failure.
/// Borrowed: the result and its texts, until the next call with this context.
CPL_API const cpl_error* cpl_context_last_error(const cpl_context* ctx);
/// The text of the last failure; empty when nothing has failed yet.
CPL_API const char* cpl_context_error(const cpl_context* ctx);

/// Record a failure and return `st`: `return cpl_fail(ctx, CPL_ERR_INPUT, ...)`.
CPL_API CPL_PRINTF(3, 4) cpl_status cpl_fail(cpl_context* ctx, cpl_status st, const char* fmt, ...);

/// Prepend "text: " to the message of the last failure; returns `st`.
CPL_API CPL_PRINTF(3, 4) cpl_status
    cpl_fail_prefix(cpl_context* ctx, cpl_status st, const char* fmt, ...);

/// Record the failure of a component as "component: text", and its place as data.
/// Nullable: variable; time NAN: none
CPL_API CPL_PRINTF(6, 7) cpl_status
    cpl_fail_in(cpl_context* ctx, cpl_status st, const char* component, const char* variable,
                double time, const char* fmt, ...);

//------------------------------------ log ------------------------------------

CPL_API CPL_PRINTF(4, 5) void cpl_log(cpl_context* ctx, cpl_log_level level, const char* who,
                                      const char* fmt, ...);

//------------------------------------ crashes ------------------------------------

/// Turn crashes inside FMUs and C models (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) and their calls
/// of exit() into a CPL_ERR_MODEL that names the model and the call. Installs signal handlers for
/// the whole process.
CPL_API void cpl_guard_crashes(void);
/// Leave all calls of models that are in progress, as if they had crashed: for models that do not
/// return after cpl_context_cancel(). Requires cpl_guard_crashes(). A lock that such a model holds,
/// as that of malloc() in a program with threads, stays locked. May be called from any thread and
/// from signal handlers; does not return where this thread leaves a call.
CPL_API void cpl_leave_calls(void);

/// The version of the library, "major.minor.patch".
CPL_API const char* cpl_version(void);

#ifdef __cplusplus
}
#endif
