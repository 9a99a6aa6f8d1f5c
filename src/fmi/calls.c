// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Binds the functions of a binary, maps the status of each call to a cpl_status and to the health
// of the instance, and forwards messages of the FMU to the log, with references such as #r12# (FMI
// 1.0 and 2.0) replaced by names.
#include "fmi/calls.h"
#include "format/source_loc.h"

#include <math.h>
#include <stdlib.h>

// The addresses of all functions in the table of the version, found once for all instances.
static cpl_status find_functions(cpli_fmu_instance* in, const cpli_fmu_call* calls, size_t n) {
  cpli_library* lib = in->lib;
  size_t size = 0;
  if (lib->functions != NULL) return CPL_OK;
  for (size_t i = 0; i < n; i++) {
    size_t end = calls[i].offset + sizeof(void*);
    size = end > size ? end : size;
  }
  lib->functions = cpli_alloc(lib->fmu->base.ctx, size, 1);
  if (lib->functions == NULL) return cpli_nomem(lib->fmu->base.ctx);
  for (size_t i = 0; i < n; i++) {
    void* address = cpli_library_symbol(lib, calls[i].name);
    memcpy((char*)lib->functions + calls[i].offset, &address, sizeof address);
  }
  return CPL_OK;
}

static bool has(const cpli_fmu_instance* in, const cpli_fmu_call* call) {
  void* address;
  memcpy(&address, (const char*)in->functions + call->offset, sizeof address);
  return address != NULL;
}

cpl_status cpli_bind(cpli_fmu_instance* in) {
  int required = in->scheduled ? CPLI_SE : in->co_simulation ? CPLI_CS : CPLI_ME;
  char missing[512] = "";
  size_t used = 0, n = 0;
  const cpli_fmu_call* calls = in->api->calls(&n);
  cpl_status st = find_functions(in, calls, n);
  if (st < 0) return st;
  in->functions = in->lib->functions;
  for (size_t i = 0; i < n; i++) {
    const cpli_fmu_call* call = &calls[i];
    if (!(call->flags & required) || has(in, call) || used >= sizeof missing) continue;
    used += (size_t)snprintf(missing + used, sizeof missing - used, "%s%s", used > 0 ? ", " : "",
                             call->name);
  }
  if (used == 0) return CPL_OK;
  return cpli_fail_file(in->head.component.ctx, CPL_ERR_INPUT, in->fmu->base.path,
                        "binaries/%s/%s.so does not export what a %s FMU needs: %s",
                        in->fmu->platform, in->kind->identifier,
                        in->scheduled       ? "scheduled execution"
                        : in->co_simulation ? "co-simulation"
                                            : "model exchange",
                        missing);
}

bool cpli_has_all(const cpli_fmu_instance* in, int flag) {
  size_t n = 0, found = 0;
  const cpli_fmu_call* calls = in->api->calls(&n);
  for (size_t i = 0; i < n; i++) {
    if (!(calls[i].flags & flag)) continue;
    if (!has(in, &calls[i])) return false;
    found++;
  }
  return found > 0;
}

//------------------------------------ status ------------------------------------

const char* cpli_status_name(const cpli_fmu_instance* in, int status, char* out, size_t size) {
  static const char* const names[] = {"OK", "Warning", "Discard", "Error", "Fatal", "Pending"};
  if (status == CPLI_CRASHED) return "crashed";
  if (status < 0 || status >= (int)CPLI_COUNT(names)) return "an unknown status";
  snprintf(out, size, "%s%s", in->api->prefix, names[status]);
  return out;
}

// " at t=1.25", or nothing while there is no time yet.
static const char* at_time(const cpli_fmu_instance* in, char* text, size_t size) {
  text[0] = '\0';
  if (!isnan(in->time)) snprintf(text, size, " at t=%.12g", in->time);
  return text;
}

static void fail_for_good(cpli_fmu_instance* in, const cpli_fmu_call* call, cpli_health health) {
  if (health <= in->health) return;
  in->health = health;
  in->failed_in = call->name;
}

static cpl_status crashed(cpli_fmu_instance* in, const cpli_fmu_call* call, int signal) {
  char when[48];
  fail_for_good(in, call, CPLI_DEAD);
  in->lib->locked = true;
  if (cpli_cancelled(in->head.component.ctx))
    return cpli_interrupted_call(in->head.component.ctx, in->name, call->name, in->time,
                                 cpli_guard_text(signal));
  const char* text = cpli_guard_text(signal);
  return cpl_fail_in(in->head.component.ctx, CPL_ERR_MODEL, in->name, NULL, in->time,
                     "%s%s %s (%s)", call->name, at_time(in, when, sizeof when),
                     cpli_guard_verb(text), text);
}

// The process of a binary for another platform has ended.
static cpl_status lost(cpli_fmu_instance* in, const cpli_fmu_call* call, const char* how) {
  cpl_context* ctx = in->head.component.ctx;
  char when[48];
  fail_for_good(in, call, CPLI_DEAD);
  if (cpli_cancelled(ctx)) return cpli_interrupted_call(ctx, in->name, call->name, in->time, how);
  return cpl_fail_in(ctx, CPL_ERR_MODEL, in->name, NULL, in->time, "%s%s %s", call->name,
                     at_time(in, when, sizeof when), how);
}

static const cpli_fmu_call* call_that_failed(const cpli_fmu_instance* in,
                                             const cpli_fmu_call* called) {
  const cpli_hosted* hosted = in->lib->hosted;
  size_t n = 0;
  const cpli_fmu_call* calls = in->api->calls(&n);
  for (size_t i = 0; i < n && hosted != NULL && hosted->failed != NULL; i++)
    if (strcmp(calls[i].name, hosted->failed) == 0) return &calls[i];
  return called;
}

cpl_status cpli_check_result(cpli_fmu_instance* in, const cpli_fmu_call* call, int status,
                             int signal) {
  if (status == CPLI_FMU_OK) return CPL_OK;
  call = call_that_failed(in, call);
  if (in->lib->hosted != NULL && in->lib->hosted->lost != NULL)
    return lost(in, call, in->lib->hosted->lost);
  if (status == CPLI_CRASHED) return crashed(in, call, signal);
  if (status == CPLI_FMU_WARNING) return CPL_OK;
  if (status == CPLI_FMU_PENDING && (call->flags & CPLI_PENDING)) return CPL_RETRY;

  cpl_status st = CPL_ERR_MODEL;
  if (status == CPLI_FMU_FATAL) {
    fail_for_good(in, call, CPLI_DEAD);
    in->lib->fatal = true;
    in->lib->locked = true;
  } else if (status == CPLI_FMU_DISCARD && (call->flags & CPLI_DISCARD) &&
             in->phase > CPLI_INITIALIZING && !in->scheduled) {
    // before time starts there is nothing to retry with, and scheduled execution does not allow it
    st = CPL_RETRY;
  } else if (!(call->flags & CPLI_ASIDE)) {
    fail_for_good(in, call, CPLI_FAILED);
  }
  char when[48], name[32], text[sizeof in->message];
  pthread_mutex_lock(&in->mutex);
  memcpy(text, in->message, sizeof text);
  pthread_mutex_unlock(&in->mutex);
  return cpl_fail_in(in->head.component.ctx, st, in->name, NULL, in->time, "%s%s returned %s%s%s",
                     call->name, at_time(in, when, sizeof when),
                     cpli_status_name(in, status, name, sizeof name), text[0] != '\0' ? ": " : "",
                     text);
}

cpl_status cpli_refuse(cpli_fmu_instance* in, const cpli_fmu_call* call, bool exported) {
  cpl_context* ctx = in->head.component.ctx;
  in->last = CPLI_FMU_ERROR;
  if (cpli_cancelled(ctx) && !(call->flags & CPLI_ALWAYS))
    return cpli_interrupted(ctx, in->name, in->time);
  if (!exported) {
    return cpl_fail_in(ctx, CPL_ERR_UNSUPPORTED, in->name, NULL, in->time,
                       "the FMU does not export %s", call->name);
  }
  return cpl_fail_in(ctx, CPL_ERR_MODEL, in->name, NULL, in->time,
                     "%s cannot be called any more: %s %s before", call->name,
                     in->failed_in != NULL ? in->failed_in : "another instance",
                     in->health == CPLI_FAILED ? "failed" : "broke down");
}

//------------------------------------ messages ------------------------------------

static const char* named(const cpl_description* desc, char type, unsigned long ref) {
  static const char letters[] = "ribis";  // in the order of cpl_type
  for (int32_t i = 0; i < desc->n_vars; i++) {
    const cpl_variable* var = &desc->vars[i];
    if (var->type < sizeof letters - 1 && letters[var->type] == type && var->ref == ref) {
      return var->name;
    }
  }
  return NULL;
}

// "#r12#" in a message stands for the name of the Real with reference 12, "##" for "#"; not in
// FMI 3.0.
static void resolve_names(const cpl_description* desc, const char* text, char* out, size_t size) {
  size_t n = 0;
  while (*text != '\0' && n + 1 < size) {
    char type = text[0] == '#' ? text[1] : '\0';
    char* end = NULL;
    unsigned long ref =
        type != '\0' && text[2] >= '0' && text[2] <= '9' ? strtoul(text + 2, &end, 10) : 0;
    const char* name = end != NULL && *end == '#' ? named(desc, type, ref) : NULL;
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

static cpl_log_level level_of(int status) {
  switch (status) {
    case CPLI_FMU_OK: return CPL_LOG_INFO;
    case CPLI_FMU_PENDING: return CPL_LOG_DEBUG;
    case CPLI_FMU_WARNING:
    case CPLI_FMU_DISCARD: return CPL_LOG_WARNING;
    default: return CPL_LOG_ERROR;
  }
}

void cpli_forget_message(cpli_fmu_instance* in) {
  in->has_message = false;
  in->message[0] = '\0';
}

void cpli_message(cpli_fmu_instance* in, int status, const char* category, char* raw) {
  char resolved[2048], *text = raw + strspn(raw, " \t\r\n");
  if (in->fmu->version < 3) {
    resolve_names(&in->fmu->desc, text, resolved, sizeof resolved);
    text = resolved;
  }
  size_t n = strlen(text);
  while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r' || text[n - 1] == ' ')) {
    text[--n] = '\0';
  }

  // the log sink is the host's code: a crash in there is not the FMU's
  cpli_guard_frame* top = cpli_guard_top;
  cpli_guard_top = NULL;
  pthread_mutex_lock(&in->mutex);
  in->has_message = true;
  if (in->message[0] == '\0' || status >= in->message_status) {
    in->message_status = status;
    snprintf(in->message, sizeof in->message, "%s", text);
  }
  bool tagged = category != NULL && category[0] != '\0';
  char whole[2048];
  snprintf(whole, sizeof whole, "%s%s%s%s", tagged ? "[" : "", tagged ? category : "",
           tagged ? "] " : "", text);
  cpli_log_text(in->head.component.ctx, level_of(status), in->name, whole);
  pthread_mutex_unlock(&in->mutex);
  cpli_guard_top = top;
}

void cpli_message_args(cpli_fmu_instance* in, int status, const char* category, const char* format,
                       va_list args) {
  char raw[2048];
  if (strchr(format, '%') == NULL) {
    snprintf(raw, sizeof raw, "%s", format);
  } else if (vsnprintf(raw, sizeof raw, format, args) < 0) {
    raw[0] = '\0';
  }
  cpli_message(in, status, category, raw);
}
