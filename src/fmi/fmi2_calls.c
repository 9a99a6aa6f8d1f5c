// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "fmi/fmi2_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/guard.h"

// Beyond the six values of fmi2Status.
enum { CRASHED = -1 };

// What is known about each function, found by its place in the list.
enum {
#define X(name, flags) CALL_##name,
  CPLI_FMI2_FUNCTIONS(X)
#undef X
};

static const struct {
  const char* name;
  int flags;
  size_t offset;  // in cpli_fmi2_functions
} calls[] = {
#define X(name, flags) {#name, flags, offsetof(cpli_fmi2_functions, name)},
    CPLI_FMI2_FUNCTIONS(X)
#undef X
};

cpl_status cpli_fmi2_bind(cpli_fmi2* in) {
  int required = in->type == fmi2ModelExchange ? CPLI_FMI2_ME : CPLI_FMI2_CS;
  char missing[512] = "";
  size_t used = 0;
  for (size_t i = 0; i < CPLI_COUNT(calls); i++) {
    void* address = cpli_library_symbol(in->lib, calls[i].name);
    memcpy((char*)&in->fn + calls[i].offset, &address, sizeof address);
    if (address != NULL || !(calls[i].flags & required) || used >= sizeof missing) continue;
    used += (size_t)snprintf(missing + used, sizeof missing - used, "%s%s", used > 0 ? ", " : "",
                             calls[i].name);
  }
  if (used == 0) return CPL_OK;
  return cpl_fail(in->head.component.ctx, CPL_ERR_INPUT,
                  "%s: binaries/%s/%s.so does not export what a %s FMU needs: %s",
                  in->fmu->base.path, cpli_fmu_platform(), in->kind->identifier,
                  in->type == fmi2ModelExchange ? "model exchange" : "co-simulation", missing);
}

//------------------------------------ status ------------------------------------

const char* cpli_fmi2_status_name(int status) {
  static const char* const names[] = {"fmi2OK",    "fmi2Warning", "fmi2Discard",
                                      "fmi2Error", "fmi2Fatal",   "fmi2Pending"};
  if (status == CRASHED) return "crashed";
  return status >= 0 && status <= 5 ? names[status] : "an unknown status";
}

// " at t=1.25", or nothing while there is no time yet.
static const char* at_time(const cpli_fmi2* in, char* text, size_t size) {
  text[0] = '\0';
  if (!isnan(in->time)) snprintf(text, size, " at t=%.12g", in->time);
  return text;
}

static void fail_for_good(cpli_fmi2* in, int call, cpli_fmi2_health health) {
  if (health <= in->health) return;
  in->health = health;
  in->failed_in = calls[call].name;
}

static cpl_status crashed(cpli_fmi2* in, int call, int signal) {
  char when[48];
  fail_for_good(in, call, CPLI_FMI2_DEAD);
  in->lib->locked = true;
  return cpl_fail(in->head.component.ctx, CPL_ERR_MODEL, "%s: %s%s crashed (%s)", in->name,
                  calls[call].name, at_time(in, when, sizeof when), cpli_guard_text(signal));
}

// Anything but fmi2OK.
static cpl_status judge(cpli_fmi2* in, int call, int status, int signal) {
  if (status == CRASHED) return crashed(in, call, signal);
  if (status == fmi2Warning) return CPL_OK;
  if (status == fmi2Pending && call == CALL_fmi2DoStep) return CPL_RETRY;

  cpl_status st = CPL_ERR_MODEL;
  if (status == fmi2Fatal) {
    fail_for_good(in, call, CPLI_FMI2_DEAD);
    in->lib->fatal = true;
    in->lib->locked = true;
  } else if (status == fmi2Discard && (calls[call].flags & CPLI_FMI2_DISCARD) &&
             in->phase > CPLI_FMI2_INITIALIZING) {
    st = CPL_RETRY;  // before time starts there is nothing to retry with
  } else if (!(calls[call].flags & CPLI_FMI2_ASIDE)) {
    fail_for_good(in, call, CPLI_FMI2_FAILED);
  }
  char when[48], said[sizeof in->message];
  pthread_mutex_lock(&in->mutex);
  memcpy(said, in->message, sizeof said);
  pthread_mutex_unlock(&in->mutex);
  return cpl_fail(in->head.component.ctx, st, "%s: %s%s returned %s%s%s", in->name,
                  calls[call].name, at_time(in, when, sizeof when), cpli_fmi2_status_name(status),
                  said[0] != '\0' ? ": " : "", said);
}

cpl_status cpli_fmi2_step_ended(cpli_fmi2* in, fmi2Status status) {
  in->last = status;
  return status == fmi2OK ? CPL_OK : judge(in, CALL_fmi2DoStep, status, 0);
}

// May the function be called at all? Fine in all but sad cases.
static inline bool callable(const cpli_fmi2* in, int call, bool exported) {
  return exported && !in->lib->fatal &&
         (in->health == CPLI_FMI2_GOOD ||
          (in->health == CPLI_FMI2_FAILED && (calls[call].flags & CPLI_FMI2_ALWAYS)));
}

static cpl_status refused(cpli_fmi2* in, int call, bool exported) {
  cpl_context* ctx = in->head.component.ctx;
  const char* name = calls[call].name;
  in->last = fmi2Error;
  if (!exported) {
    return cpl_fail(ctx, CPL_ERR_UNSUPPORTED, "%s: the FMU does not export %s", in->name, name);
  }
  return cpl_fail(ctx, CPL_ERR_MODEL, "%s: %s cannot be called any more: %s %s before", in->name,
                  name, in->failed_in != NULL ? in->failed_in : "another instance",
                  in->health == CPLI_FMI2_FAILED ? "failed" : "broke down");
}

//------------------------------------ callbacks ------------------------------------

// "#r12#" in a message stands for the name of the Real with reference 12, "##" for "#".
static void resolve_names(const cpl_description* desc, const char* text, char* out, size_t size) {
  size_t n = 0;
  while (*text != '\0' && n + 1 < size) {
    char type = text[0] == '#' ? text[1] : '\0';
    char* end = NULL;
    unsigned long ref =
        type != '\0' && text[2] >= '0' && text[2] <= '9' ? strtoul(text + 2, &end, 10) : 0;
    const char* name = NULL;
    for (int32_t i = 0; end != NULL && *end == '#' && name == NULL && i < desc->n_vars; i++) {
      static const char letters[] = "ribis";  // in the order of cpl_type
      const cpl_variable* var = &desc->vars[i];
      if (letters[var->type] == type && var->ref == ref) name = var->name;
    }
    if (name != NULL) {
      int wrote = snprintf(out + n, size - n, "%s", name);
      n = n + (size_t)wrote < size ? n + (size_t)wrote : size - 1;
      text = end + 1;
    } else {
      if (text[0] == '#' && text[1] == '#') text++;
      out[n++] = *text++;
    }
  }
  out[n] = '\0';
}

static cpl_log_level level_of(fmi2Status status) {
  switch (status) {
    case fmi2OK: return CPL_LOG_INFO;
    case fmi2Pending: return CPL_LOG_DEBUG;
    case fmi2Warning:
    case fmi2Discard: return CPL_LOG_WARNING;
    default: return CPL_LOG_ERROR;
  }
}

// Called by the FMU, perhaps from a thread of its own. Formatting comes before the lock, since the
// FMU's arguments may crash it.
static void on_message(fmi2ComponentEnvironment environment, fmi2String instance, fmi2Status status,
                       fmi2String category, fmi2String message, ...) {
  cpli_fmi2* in = environment;
  (void)instance;
  if (in == NULL || message == NULL) return;
  char raw[2048], text[2048];
  va_list args;
  va_start(args, message);
  if (strchr(message, '%') == NULL) {
    snprintf(raw, sizeof raw, "%s", message);
  } else if (vsnprintf(raw, sizeof raw, message, args) < 0) {
    raw[0] = '\0';
  }
  va_end(args);
  resolve_names(&in->fmu->desc, raw + strspn(raw, " \t\r\n"), text, sizeof text);
  size_t n = strlen(text);
  while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r' || text[n - 1] == ' ')) {
    text[--n] = '\0';
  }

  // the log sink is the host's code: a crash in there is not the FMU's
  cpli_guard_frame* top = cpli_guard_top;
  cpli_guard_top = NULL;
  pthread_mutex_lock(&in->mutex);
  if (in->message[0] == '\0' || status >= in->message_status) {
    in->message_status = status;
    snprintf(in->message, sizeof in->message, "%s", text);
  }
  bool tagged = category != NULL && category[0] != '\0';
  cpl_log(in->head.component.ctx, level_of(status), in->name, "%s%s%s%s", tagged ? "[" : "",
          tagged ? category : "", tagged ? "] " : "", text);
  pthread_mutex_unlock(&in->mutex);
  cpli_guard_top = top;
}

static void* allocate(size_t count, size_t size) { return calloc(count, size); }

static void release(void* memory) { free(memory); }

fmi2CallbackFunctions cpli_fmi2_callbacks(cpli_fmi2* in) {
  // no stepFinished: a pending step is asked for
  return (fmi2CallbackFunctions){.logger = on_message,
                                 .allocateMemory = allocate,
                                 .freeMemory = release,
                                 .componentEnvironment = in};
}

//------------------------------------ calls ------------------------------------

#define LIST(...) __VA_ARGS__

// Defines cpli_NAME. INVOKE is an expression of type fmi2Status; BEFORE and AFTER are what the call
// log shows of arguments and results: (types, values...). The status is volatile because it must
// survive the jump out of a crash.
#define DEFINE_CALL(name, PARAMETERS, INVOKE, BEFORE, AFTER)                             \
  cpl_status cpli_##name PARAMETERS {                                                    \
    bool exported = in->fn.name != NULL;                                                 \
    volatile int status = CRASHED, signal = 0;                                           \
    if (!callable(in, CALL_##name, exported)) return refused(in, CALL_##name, exported); \
    in->message[0] = '\0';                                                               \
    if (in->fmu->call_log != NULL) cpli_fmi2_trace_begin(in, #name, LIST BEFORE);        \
    cpli_guard_noted(#name);                                                             \
    CPLI_GUARDED(status = (INVOKE), signal = crash_signal);                              \
    in->last = (fmi2Status)status;                                                       \
    if (in->fmu->call_log != NULL) {                                                     \
      if (status == CRASHED) {                                                           \
        cpli_fmi2_trace_end(in, "crashed", "");                                          \
      } else {                                                                           \
        cpli_fmi2_trace_end(in, cpli_fmi2_status_name(status), LIST AFTER);              \
      }                                                                                  \
    }                                                                                    \
    return status == fmi2OK ? CPL_OK : judge(in, CALL_##name, status, signal);           \
  }

DEFINE_CALL(fmi2GetTypesPlatform, (cpli_fmi2 * in, const char** out),
            (*out = in->fn.fmi2GetTypesPlatform(), fmi2OK), (""), ("s", *out))
DEFINE_CALL(fmi2GetVersion, (cpli_fmi2 * in, const char** out),
            (*out = in->fn.fmi2GetVersion(), fmi2OK), (""), ("s", *out))
DEFINE_CALL(fmi2Instantiate, (cpli_fmi2 * in),
            (in->instance = in->fn.fmi2Instantiate(in->name, in->type, in->fmu->guid, in->resources,
                                                   &in->callbacks, fmi2False, in->fmu->logging)) !=
                    NULL
                ? fmi2OK
                : fmi2Error,
            ("sissii", in->name, (int)in->type, in->fmu->guid, in->resources, 0,
             (int)in->fmu->logging),
            (""))
DEFINE_CALL(fmi2FreeInstance, (cpli_fmi2 * in), (in->fn.fmi2FreeInstance(in->instance), fmi2OK),
            (""), (""))
DEFINE_CALL(fmi2SetupExperiment, (cpli_fmi2 * in, const cpl_setup* s),
            in->fn.fmi2SetupExperiment(in->instance, s->has_tolerance, s->tolerance, s->start_time,
                                       s->has_stop_time, s->stop_time),
            ("iddid", (int)s->has_tolerance, s->tolerance, s->start_time, (int)s->has_stop_time,
             s->stop_time),
            (""))

// Functions of the instance alone.
#define DEFINE_PLAIN(name) \
  DEFINE_CALL(name, (cpli_fmi2 * in), in->fn.name(in->instance), (""), (""))
DEFINE_PLAIN(fmi2EnterInitializationMode)
DEFINE_PLAIN(fmi2ExitInitializationMode)
DEFINE_PLAIN(fmi2Terminate)
DEFINE_PLAIN(fmi2Reset)
DEFINE_PLAIN(fmi2EnterEventMode)
DEFINE_PLAIN(fmi2EnterContinuousTimeMode)

// Values by reference: the standard's four types.
#define DEFINE_VALUES(type, ctype, letter)                                                    \
  DEFINE_CALL(fmi2Get##type, (cpli_fmi2 * in, const uint32_t* refs, size_t n, ctype* values), \
              in->fn.fmi2Get##type(in->instance, refs, n, values), ("R", refs, n),            \
              (letter, values, n))                                                            \
  DEFINE_CALL(                                                                                \
      fmi2Set##type, (cpli_fmi2 * in, const uint32_t* refs, size_t n, ctype const* values),   \
      in->fn.fmi2Set##type(in->instance, refs, n, values), ("R" letter, refs, n, values, n), (""))
DEFINE_VALUES(Real, double, "D")
DEFINE_VALUES(Integer, int, "I")
DEFINE_VALUES(Boolean, int, "I")
DEFINE_VALUES(String, const char*, "S")

DEFINE_CALL(fmi2GetFMUstate, (cpli_fmi2 * in, fmi2FMUstate* state),
            in->fn.fmi2GetFMUstate(in->instance, state), (""), (""))
DEFINE_CALL(fmi2SetFMUstate, (cpli_fmi2 * in, fmi2FMUstate state),
            in->fn.fmi2SetFMUstate(in->instance, state), (""), (""))
DEFINE_CALL(fmi2FreeFMUstate, (cpli_fmi2 * in, fmi2FMUstate* state),
            in->fn.fmi2FreeFMUstate(in->instance, state), (""), (""))
DEFINE_CALL(fmi2GetDirectionalDerivative,
            (cpli_fmi2 * in, const uint32_t* unknowns, size_t n_unknowns, const uint32_t* knowns,
             size_t n_knowns, const double* seed, double* result),
            in->fn.fmi2GetDirectionalDerivative(in->instance, unknowns, n_unknowns, knowns,
                                                n_knowns, seed, result),
            ("RRD", unknowns, n_unknowns, knowns, n_knowns, seed, n_knowns),
            ("D", result, n_unknowns))

DEFINE_CALL(fmi2NewDiscreteStates, (cpli_fmi2 * in, fmi2EventInfo* info),
            in->fn.fmi2NewDiscreteStates(in->instance, info), (""),
            ("iiiiid", info->newDiscreteStatesNeeded, info->terminateSimulation,
             info->nominalsOfContinuousStatesChanged, info->valuesOfContinuousStatesChanged,
             info->nextEventTimeDefined, info->nextEventTime))
DEFINE_CALL(fmi2CompletedIntegratorStep,
            (cpli_fmi2 * in, int no_way_back, int* enter_event, int* terminate),
            in->fn.fmi2CompletedIntegratorStep(in->instance, no_way_back, enter_event, terminate),
            ("i", no_way_back), ("ii", *enter_event, *terminate))
DEFINE_CALL(fmi2SetTime, (cpli_fmi2 * in, double t), in->fn.fmi2SetTime(in->instance, t), ("d", t),
            (""))
DEFINE_CALL(fmi2SetContinuousStates, (cpli_fmi2 * in, const double* x, size_t n),
            in->fn.fmi2SetContinuousStates(in->instance, x, n), ("D", x, n), (""))

// Arrays of the FMU's own length.
#define DEFINE_ARRAY(name)                                      \
  DEFINE_CALL(name, (cpli_fmi2 * in, double* values, size_t n), \
              in->fn.name(in->instance, values, n), (""), ("D", values, n))
DEFINE_ARRAY(fmi2GetDerivatives)
DEFINE_ARRAY(fmi2GetEventIndicators)
DEFINE_ARRAY(fmi2GetContinuousStates)
DEFINE_ARRAY(fmi2GetNominalsOfContinuousStates)

DEFINE_CALL(fmi2SetRealInputDerivatives,
            (cpli_fmi2 * in, const uint32_t* refs, size_t n, const int* orders,
             const double* values),
            in->fn.fmi2SetRealInputDerivatives(in->instance, refs, n, orders, values),
            ("RID", refs, n, orders, n, values, n), (""))
DEFINE_CALL(fmi2DoStep, (cpli_fmi2 * in, double h, int no_way_back),
            in->fn.fmi2DoStep(in->instance, in->time, h, no_way_back),
            ("ddi", in->time, h, no_way_back), (""))
DEFINE_CALL(fmi2GetStatus, (cpli_fmi2 * in, fmi2StatusKind kind, fmi2Status* value),
            in->fn.fmi2GetStatus(in->instance, kind, value), ("i", (int)kind), ("i", (int)*value))
DEFINE_CALL(fmi2GetRealStatus, (cpli_fmi2 * in, fmi2StatusKind kind, double* value),
            in->fn.fmi2GetRealStatus(in->instance, kind, value), ("i", (int)kind), ("d", *value))
DEFINE_CALL(fmi2GetBooleanStatus, (cpli_fmi2 * in, fmi2StatusKind kind, int* value),
            in->fn.fmi2GetBooleanStatus(in->instance, kind, value), ("i", (int)kind), ("i", *value))
DEFINE_CALL(fmi2GetMaxStepSize, (cpli_fmi2 * in, double* h),
            in->fn.fmi2GetMaxStepSize(in->instance, h), (""), ("d", *h))
DEFINE_CALL(coupletStopAtEvents, (cpli_fmi2 * in, int stop),
            in->fn.coupletStopAtEvents(in->instance, stop), ("i", stop), (""))
