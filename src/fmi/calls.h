// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Guarded calls of the functions of an FMU, in all versions. Each call is guarded against crashes,
// recorded in the call log when there is one, and its status is mapped: OK and Warning are CPL_OK,
// Discard is CPL_RETRY where the standard allows it, everything else is CPL_ERR_MODEL with a
// message that names the instance, the function, the time and the message of the FMU. Settings of
// the process that an FMU changes are restored (surroundings.h). Callers leave out calls with empty
// arrays, with which some FMUs fail.
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "base/guard.h"
#include "fmi/instance.h"
#include "fmi/surroundings.h"

enum {
  CPLI_ME = 1,        // required in a model exchange FMU
  CPLI_CS = 2,        // required in a co-simulation FMU
  CPLI_BOTH = 3,      //
  CPLI_DISCARD = 4,   // may return Discard: try elsewhere
  CPLI_ALWAYS = 8,    // may be called after an error
  CPLI_ASIDE = 16,    // a failure means no answer; the instance stays as it was
  CPLI_PENDING = 32,  // may return Pending: not done yet
  CPLI_LIFE = 64,     // called a few times only: surroundings are checked after the first ones
  CPLI_BUSY = 128,    // called often: surroundings are checked after few of the calls
  CPLI_SE = 256,      // required in an FMU for scheduled execution
  CPLI_SAVES = 512,   // needed to save and restore states
  CPLI_BYTES = 1024,  // needed to serialise saved states
  CPLI_EVERY = CPLI_BOTH | CPLI_SE,
};

/// Fill the table of functions. Fails with the names of required functions that are not exported.
cpl_status cpli_bind(cpli_fmu_instance* in);

/// The binary has all functions with this flag, and the version has at least one.
bool cpli_has_all(const cpli_fmu_instance* in, int flag);

/// "fmi2Discard", "crashed"
const char* cpli_status_name(const cpli_fmu_instance* in, int status, char* out, size_t size);

/// Maps a status other than OK to a cpl_status and to the health of the instance.
cpl_status cpli_check_result(cpli_fmu_instance* in, const cpli_fmu_call* call, int status,
                             int signal);

/// Fails with the reason why a call may not be made.
cpl_status cpli_refuse(cpli_fmu_instance* in, const cpli_fmu_call* call, bool exported);

/// Before a call: messages of earlier ones are forgotten.
void cpli_forget_message(cpli_fmu_instance* in);
/// Store and log a message of an FMU, perhaps from a thread of its own; `text` is changed.
void cpli_message(cpli_fmu_instance* in, int status, const char* category, char* text);
/// The same with a format and its arguments, as FMI 1.0 and 2.0 have them.
void cpli_message_args(cpli_fmu_instance* in, int status, const char* category, const char* format,
                       va_list args);

// True when the function may be called: it is exported, and no earlier call failed for good.
static inline bool cpli_callable(const cpli_fmu_instance* in, const cpli_fmu_call* call,
                                 bool exported) {
  return exported && !in->lib->fatal &&
         ((call->flags & CPLI_ALWAYS) || !cpli_cancelled(in->head.component.ctx)) &&
         (in->health == CPLI_GOOD || (in->health == CPLI_FAILED && (call->flags & CPLI_ALWAYS)));
}

enum { CPLI_LIVES = 64, CPLI_MANY_LIVES = 1024 };

// True for the calls after which the surroundings are compared: the first ones, then at growing
// intervals, since with many instances, or many resets, the comparison would take most of the time.
static inline bool cpli_compares_surroundings(cpli_fmu_instance* in, int flags) {
  if (flags & CPLI_LIFE) {
    uint32_t n = in->lib->lives++;
    return n < CPLI_LIVES || (n & (n - 1)) == 0;
  }
  if (!(flags & CPLI_BUSY)) return false;
  uint32_t n = in->busy_calls++;
  return (n & (n - 1)) == 0 && in->lib->lives < CPLI_MANY_LIVES;
}

//------------------------------------ call log ------------------------------------

/// trace.c. `types` has one letter per argument that follows: d double, i int, s string, and with a
/// length after them R references, D doubles, F floats, I integers of 32 bits (U unsigned), b and B
/// of 8, h and H of 16, l and L of 64, T booleans, S strings, X sizes of binaries.
void cpli_trace_begin(cpli_fmu_instance* in, const char* function, const char* types, ...);
void cpli_trace_end(cpli_fmu_instance* in, const char* function, int status, const char* types,
                    ...);

//------------------------------------ definition of calls ------------------------------------

#define CPLI_LIST(...) __VA_ARGS__

// A file that defines calls begins with the type of its instances (CPLI_INSTANCE, a struct with the
// member `base`), that of its table of functions (CPLI_FUNCTIONS), how an instance gives it
// (CPLI_FN), and the list of functions as indices and as rows of calls[].
#define CPLI_CALL_INDEX(name, flags) CALL_##name,
#define CPLI_CALL_ROW(name, flags)   {#name, flags, offsetof(CPLI_FUNCTIONS, name)},

// Defines cpli_NAME; its first parameter is `cpli_fmu_instance* base`, and `in` is the instance of
// the version. INVOKE is an expression of the status; BEFORE and AFTER are the arguments
// and results for the call log: (types, values...). The status is volatile because it must survive
// the jump out of a crash.
#define CPLI_DEFINE_CALL(name, PARAMETERS, INVOKE, BEFORE, AFTER)                               \
  cpl_status cpli_##name PARAMETERS {                                                           \
    CPLI_INSTANCE* in = (CPLI_INSTANCE*)base;                                                   \
    const cpli_fmu_call* call = &calls[CALL_##name];                                            \
    bool exported = CPLI_FN(in)->name != NULL;                                                  \
    volatile int status = CPLI_CRASHED, signal = 0;                                             \
    if (!cpli_callable(&in->base, call, exported)) {                                            \
      return cpli_refuse(&in->base, call, exported);                                            \
    }                                                                                           \
    if (in->base.depth++ == 0 && in->base.has_message) cpli_forget_message(&in->base);          \
    if (in->base.fmu->call_log != NULL) cpli_trace_begin(&in->base, #name, CPLI_LIST BEFORE);   \
    cpli_surroundings around;                                                                   \
    bool look = cpli_compares_surroundings(&in->base, call->flags);                             \
    if (look) cpli_surroundings_keep(&around);                                                  \
    cpli_guard_noted(#name);                                                                    \
    uint32_t modes = cpli_float_before();                                                       \
    CPLI_GUARDED(status = (int)(INVOKE), signal = crash_signal);                                \
    if (cpli_float_modes() != modes) cpli_float_restore(modes, in->base.x87);                   \
    if (look) cpli_surroundings_restore(&around, &in->base.head.component, #name);              \
    in->base.last = status;                                                                     \
    if (in->base.fmu->call_log != NULL) {                                                       \
      if (status == CPLI_CRASHED) {                                                             \
        cpli_trace_end(&in->base, #name, status, "");                                           \
      } else {                                                                                  \
        cpli_trace_end(&in->base, #name, status, CPLI_LIST AFTER);                              \
      }                                                                                         \
    }                                                                                           \
    in->base.depth--;                                                                           \
    return status == CPLI_FMU_OK ? CPL_OK : cpli_check_result(&in->base, call, status, signal); \
  }

// Functions of the instance alone.
#define CPLI_DEFINE_PLAIN(name) \
  CPLI_DEFINE_CALL(name, (cpli_fmu_instance * base), CPLI_FN(in)->name(base->instance), (""), (""))

// Arrays of values, with their length as an argument or without it.
#define CPLI_DEFINE_ARRAY(name)                                                \
  CPLI_DEFINE_CALL(name, (cpli_fmu_instance * base, double* values, size_t n), \
                   CPLI_FN(in)->name(base->instance, values, n), (""), ("D", values, n))
#define CPLI_DEFINE_RESULT(name)                                               \
  CPLI_DEFINE_CALL(name, (cpli_fmu_instance * base, double* values, size_t n), \
                   CPLI_FN(in)->name(base->instance, values), (""), ("D", values, n))

// Values by reference: one function to read them and one to set them.
#define CPLI_DEFINE_VALUES(prefix, type, ctype, letter)                                       \
  CPLI_DEFINE_CALL(prefix##Get##type,                                                         \
                   (cpli_fmu_instance * base, const uint32_t* refs, size_t n, ctype* values), \
                   CPLI_FN(in)->prefix##Get##type(base->instance, refs, n, values),           \
                   ("R", refs, n), (letter, values, n))                                       \
  CPLI_DEFINE_CALL(                                                                           \
      prefix##Set##type,                                                                      \
      (cpli_fmu_instance * base, const uint32_t* refs, size_t n, ctype const* values),        \
      CPLI_FN(in)->prefix##Set##type(base->instance, refs, n, values),                        \
      ("R" letter, refs, n, values, n), (""))

// Time, states and event indicators of a model.
#define CPLI_DEFINE_TIME_AND_STATES(prefix)                                               \
  CPLI_DEFINE_CALL(prefix##SetTime, (cpli_fmu_instance * base, double t),                 \
                   CPLI_FN(in)->prefix##SetTime(base->instance, t), ("d", t), (""))       \
  CPLI_DEFINE_CALL(                                                                       \
      prefix##SetContinuousStates, (cpli_fmu_instance * base, const double* x, size_t n), \
      CPLI_FN(in)->prefix##SetContinuousStates(base->instance, x, n), ("D", x, n), (""))  \
  CPLI_DEFINE_ARRAY(prefix##GetContinuousStates)                                          \
  CPLI_DEFINE_ARRAY(prefix##GetEventIndicators)

// The extension for constraints.
#define CPLI_DEFINE_CONSTRAINTS(prefix)                                                     \
  CPLI_DEFINE_CALL(prefix##GetNumberOfConstraints, (cpli_fmu_instance * base, size_t * n),  \
                   CPLI_FN(in)->prefix##GetNumberOfConstraints(base->instance, n), (""),    \
                   ("i", (int)*n))                                                          \
  CPLI_DEFINE_RESULT(prefix##Constraint)                                                    \
  CPLI_DEFINE_RESULT(prefix##ConstraintJacobian)                                            \
  CPLI_DEFINE_RESULT(prefix##ProjectionStep)                                                \
  CPLI_DEFINE_CALL(                                                                         \
      prefix##Projection,                                                                   \
      (cpli_fmu_instance * base, double tolerance, size_t limit, double* change, size_t n), \
      CPLI_FN(in)->prefix##Projection(base->instance, change, tolerance, limit, false),     \
      ("di", tolerance, (int)limit), ("D", change, n))

// Saved states. The names are arguments, because their spelling differs between the versions.
#define CPLI_DEFINE_STATES(get, set, free, size_of, write, read)                                \
  CPLI_DEFINE_CALL(get, (cpli_fmu_instance * base, void** state),                               \
                   CPLI_FN(in)->get(base->instance, state), (""), (""))                         \
  CPLI_DEFINE_CALL(set, (cpli_fmu_instance * base, void* state),                                \
                   CPLI_FN(in)->set(base->instance, state), (""), (""))                         \
  CPLI_DEFINE_CALL(free, (cpli_fmu_instance * base, void** state),                              \
                   CPLI_FN(in)->free(base->instance, state), (""), (""))                        \
  CPLI_DEFINE_CALL(size_of, (cpli_fmu_instance * base, void* state, size_t* size),              \
                   CPLI_FN(in)->size_of(base->instance, state, size), (""), (""))               \
  CPLI_DEFINE_CALL(write, (cpli_fmu_instance * base, void* state, uint8_t* bytes, size_t size), \
                   CPLI_FN(in)->write(base->instance, state, (void*)bytes, size), (""), (""))   \
  CPLI_DEFINE_CALL(read,                                                                        \
                   (cpli_fmu_instance * base, const uint8_t* bytes, size_t size, void** state), \
                   CPLI_FN(in)->read(base->instance, (const void*)bytes, size, state), (""), (""))
