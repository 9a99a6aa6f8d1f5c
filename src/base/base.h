// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Memory, strings and arrays for every room. All memory comes from the context's allocator, so that
// a test can let any single allocation fail. Objects that live and die together share an arena.
#pragma once

#include <stdarg.h>
#include <string.h>

#include "couplet/base.h"

#define CPLI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

//------------------------------------ memory ------------------------------------

/// n * size zeroed bytes; NULL when out of memory (no message is recorded) or n * size overflows.
/// At least one byte is allocated, so that NULL always means failure.
void* cpli_alloc(cpl_context* ctx, size_t n, size_t size);
void* cpli_realloc(cpl_context* ctx, void* ptr, size_t n, size_t size);  // new bytes are not zeroed
void cpli_free(cpl_context* ctx, void* ptr);                             // Nullable: ptr
char* cpli_strdup(cpl_context* ctx, const char* text);
CPL_PRINTF(2, 3) char* cpli_printf(cpl_context* ctx, const char* fmt, ...);
char* cpli_vprintf(cpl_context* ctx, const char* fmt, va_list args);

/// Whether a message of that level would be logged: test before formatting it.
bool cpli_logs(const cpl_context* ctx, cpl_log_level level);

/// Log a text as it is. cpl_log() makes one line of what it is given, since names from files may
/// contain line ends; messages of models, and those passed on from other processes, keep theirs.
void cpli_log_text(cpl_context* ctx, cpl_log_level level, const char* who, const char* text);

/// Replace line ends by blanks, unless the format that the text was made with has line ends.
void cpli_one_line(char* text, const char* fmt);

/// From here on messages of this context go to that sink, at the same level.
void cpli_log_to(cpl_context* ctx, cpl_log_fn* log, void* user);

/// Records "out of memory" and returns CPL_ERR_NOMEM.
cpl_status cpli_nomem(cpl_context* ctx);

/// Fills a definition with as many of the defaults as it has room for, and with its size.
void cpli_init_def(void* def, size_t size, const void* all, size_t all_size);

/// Reads a definition: `given`, perhaps made by a program that was compiled with an earlier header,
/// is copied over the defaults in `def`, which has `size` bytes. A zeroed definition, and one with
/// members that this library does not know, is refused.
cpl_status cpli_read_def(cpl_context* ctx, const char* type, const void* given, void* def,
                         size_t size);

/// The same without a message; false: it is refused.
bool cpli_copy_def(const void* given, void* def, size_t size);

#ifdef __clang_analyzer__  // return values, visible to make tidy
#define cpl_fail(ctx, st, ...)        (cpl_fail(ctx, st, __VA_ARGS__), (st))
#define cpl_fail_in(ctx, st, ...)     (cpl_fail_in(ctx, st, __VA_ARGS__), (st))
#define cpl_fail_prefix(ctx, st, ...) (cpl_fail_prefix(ctx, st, __VA_ARGS__), (st))
#define cpli_nomem(ctx)               (cpli_nomem(ctx), CPL_ERR_NOMEM)
#endif

//------------------------------------ interruption ------------------------------------

// Compilers without these functions compile the sources of FMUs, which use one thread.
#ifdef __GNUC__
#define CPLI_ATOMIC_LOAD(at)     __atomic_load_n(at, __ATOMIC_RELAXED)
#define CPLI_ATOMIC_STORE(at, n) __atomic_store_n(at, n, __ATOMIC_RELAXED)
#define CPLI_ATOMIC_ADD(at, n)   __atomic_fetch_add(at, n, __ATOMIC_RELAXED)
#define CPLI_NOINLINE            __attribute__((noinline))
#else
#define CPLI_ATOMIC_LOAD(at)     (*(at))
#define CPLI_ATOMIC_STORE(at, n) ((void)(*(at) = (n)))
#define CPLI_ATOMIC_ADD(at, n)   ((void)(*(at) += (n)))
#define CPLI_NOINLINE
#endif

// The head of every context: the flag is read before each call of a model, for which a function
// call would be several times as expensive.
typedef struct cpli_context_head {
  int cancelled;  // how often; atomic
} cpli_context_head;

/// Whether the caller of the library requested cancellation (cpl_context_cancel()). Long loops
/// without calls of models must poll this; calls of models poll it themselves.
static inline bool cpli_cancelled(const cpl_context* ctx) {
  return CPLI_ATOMIC_LOAD(&((const cpli_context_head*)ctx)->cancelled) != 0;
}

/// Records "who: interrupted at t=..." and returns CPL_ERR_CANCELLED. t NAN: no time yet. The
/// message of a call that was left by force is kept.
cpl_status cpli_interrupted(cpl_context* ctx, const char* who, double t);

/// The same for a call of a model that was left by force, because it did not return.
cpl_status cpli_interrupted_call(cpl_context* ctx, const char* who, const char* call, double t,
                                 const char* why);

/// The simulated time of the last interruption; NAN: none.
double cpli_interruption_time(const cpl_context* ctx);

//------------------------------------ arena ------------------------------------

// Many small objects with one lifetime: blocks from the context, no individual free.
typedef struct cpli_arena {
  cpl_context* ctx;
  struct cpli_arena_block* last;
} cpli_arena;

void cpli_arena_init(cpli_arena* arena, cpl_context* ctx);
void cpli_arena_free(cpli_arena* arena);
void* cpli_arena_alloc(cpli_arena* arena, size_t n,
                       size_t size);  // zeroed; NULL when out of memory
char* cpli_arena_strdup(cpli_arena* arena, const char* text);
char* cpli_arena_strndup(cpli_arena* arena, const char* text, size_t len);

//------------------------------------ arrays ------------------------------------

/// qsort() without its work where the items are in order already.
void cpli_sort(void* items, size_t n, size_t size, int (*compare)(const void*, const void*));

/// Make room for one more element of `size` bytes in an array that grows by doubling. `*items` and
/// `*cap` are updated; returns false when out of memory (the array stays valid).
bool cpli_grow(cpl_context* ctx, void** items, size_t* cap, size_t count, size_t size);

//------------------------------------ values ------------------------------------

/// Whether a value has changed. A value that stays NaN has not.
static inline bool cpli_values_differ(double a, double b) { return a != b && (a == a || b == b); }

//------------------------------------ names ------------------------------------

// A frozen map from names to indices: built once, looked up often, never in the stepping loop.
typedef struct cpli_name {
  const char* key;  // borrowed; NULL: free
  uint32_t hash;    // compared first: keys are scattered in memory
  int32_t value;
} cpli_name;
typedef struct cpli_names {
  cpl_context* ctx;
  cpli_name* items;
  size_t cap, count;
} cpli_names;

cpl_status cpli_names_init(cpli_names* names, cpl_context* ctx, size_t expected);
void cpli_names_free(cpli_names* names);
/// Returns the value already stored under that key, or `value` when the key is new; negative status
/// - 1 is not possible for indices >= 0: CPL_ERR_NOMEM on failure.
int32_t cpli_names_add(cpli_names* names, const char* key, int32_t value);
int32_t cpli_names_find(const cpli_names* names, const char* key);  // -1: not there

/// The index of a text in a short list; -1: not there. NULL in the list equals no text.
int32_t cpli_find_text(const char* const* texts, size_t n, const char* text);

/// The candidates nearest to `name` in edit distance (case counts half), written as
/// "a, b or c" into `out`; empty when none is near. `at` gives the i-th candidate; an empty text is
/// none.
void cpli_nearest(const char* name, const char* (*at)(const void* user, size_t i), const void* user,
                  size_t n, char* out, size_t out_size);

/// The same as separate texts, nearest first; returns their number.
enum { CPLI_NEAREST = 3 };
size_t cpli_nearest_few(const char* name, const char* (*at)(const void* user, size_t i),
                        const void* user, size_t n, const char* best[CPLI_NEAREST]);

/// "*" and "?" match as in a shell; everything else is literal, brackets too.
bool cpli_glob(const char* pattern, const char* text);

//------------------------------------ time ------------------------------------

double cpli_now(void);  // monotonic seconds

/// The resolution of simulated time decreases with its magnitude. A failure where points at a
/// distance of `spacing` (what: "output points", ...) are not resolved between two times; `warn`:
/// where they are, but time itself is coarse. spacing 0: no points.
cpl_status cpli_check_times(cpl_context* ctx, const char* who, double from, double to,
                            double spacing, const char* what, bool warn);

enum { CPLI_PACE = 10000 };  // steps that are evaluated together

// Steps of one stepper, CPLI_PACE at a time: whether a run will end at this rate.
typedef struct cpli_pace {
  int32_t n;
  double passed;  // simulated time of them,
  double before;  // and of those before
  bool warned;
} cpli_pace;

bool cpli_pace_check(cpl_context* ctx, cpli_pace* p, const char* who, double t, double stop,
                     const char* why);

/// Has `stepped` called by cpli_pace_step(), in this thread only. Nullable: stepped
typedef void cpli_stepped_fn(void* user, double t, double h);
void cpli_watch_steps(cpl_context* ctx, cpli_stepped_fn* stepped, void* user);
void cpli_stepped(const cpl_context* ctx, double t, double h);

/// To be called after each step of a stepper with step-size control: it reached `t` by a step of
/// `h`, and ends at `stop`. Warns where 1e8 steps of this size are left; `why`: the reason for
/// short steps, "" when unknown. Returns false where time has not advanced by more than its
/// resolution.
static inline bool cpli_pace_step(cpl_context* ctx, cpli_pace* p, const char* who, double t,
                                  double h, double stop, const char* why) {
  cpli_stepped(ctx, t, h);
  p->passed += h;
  return ++p->n < CPLI_PACE || cpli_pace_check(ctx, p, who, t, stop, why);
}

/// The body of a loop that spins until another thread changes memory.
static inline void cpli_relax(void) {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
  __builtin_ia32_pause();
#endif
}
