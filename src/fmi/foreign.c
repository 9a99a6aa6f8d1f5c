// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Starts host processes and makes calls. Data of a host is not trusted: offsets and sizes in it are
// checked.
#include "fmi/foreign.h"

#include <assert.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/guard.h"
#include "base/thread_pool.h"
#include "fmi/calls.h"
#include "format/folder.h"
#include "format/pe.h"
#include "format/source_loc.h"

extern char** environ;

enum { MEMORY = 64 << 20 };  // of calls; memory that is never touched costs nothing
static const double start_limits[] = {15, 30, 60};  // for a host to start, several times [s]
static const double load_limit = 120;  // for the code that a binary runs when it is loaded [s]
static const double end_limit = 2;     // for the code that a binary runs at its end [s]

static _Thread_local cpli_foreign* selected;

static void select_it(cpli_hosted* r, cpli_fmu_instance* in) {
  selected = (cpli_foreign*)r;
  selected->in = in;
}

cpli_foreign* cpli_foreign_selected(void) { return selected; }

static const cpli_forwarder* functions_of(const cpli_foreign* f, size_t* n) {
  return f->fmu->version == 1   ? cpli_foreign_fmi1(n)
         : f->fmu->version == 2 ? cpli_foreign_fmi2(n)
                                : cpli_foreign_fmi3(n);
}

//------------------------------------ how a process ends ------------------------------------

static const struct {
  uint32_t code;
  const char* text;
} exceptions[] = {
    {0xC0000005, "access violation"},
    {0xC00000FD, "stack overflow"},
    {0xC0000094, "integer divided by zero"},
    {0xC000001D, "illegal instruction"},
    {0xC000008E, "floating-point number divided by zero"},
    {0xC0000090, "invalid floating-point operation"},
    {0xC0000409, "the C library gave up"},
    {0xE06D7363, "C++ exception that was not caught"},
    {0x40000015, "abort()"},
};

static void describe_crash(const cpli_foreign* f, char* text, size_t size) {
  const wire_head* head = f->head;
  char where[WIRE_TEXT], what[64] = "";
  memcpy(where, head->text, sizeof where);
  where[sizeof where - 1] = '\0';
  for (size_t i = 0; i < CPLI_COUNT(exceptions) && f->platform->windows; i++)
    if (exceptions[i].code == head->crash) snprintf(what, sizeof what, "%s", exceptions[i].text);
  if (!f->platform->windows) {
    snprintf(text, size, "crashed (%s)", cpli_guard_text((int)head->crash));
    return;
  }
  if (what[0] == '\0') snprintf(what, sizeof what, "exception %#x", head->crash);
  snprintf(text, size, "crashed (%s%s%.100s%s%#llx)", what, where[0] != '\0' ? " in " : "", where,
           where[0] != '\0' ? "+" : " at ", (unsigned long long)head->crash_at);
}

static void describe_end(cpli_foreign* f, cpli_answer answer, double limit) {
  const int how = f->channel.how;
  char* text = f->reason;
  const size_t size = sizeof f->reason;
  if (answer == CPLI_ANSWERED) describe_crash(f, text, size);
  else if (answer == CPLI_TOO_LATE)
    snprintf(text, size, "did not return within %g s; its process was ended", limit);
  else if (answer == CPLI_BROKEN_OFF)
    snprintf(text, size, "the call had not returned; its process was ended");
  else if (how == -1) snprintf(text, size, "ended its process");
  else if (WIFEXITED(how))
    snprintf(text, size, "ended its process with exit code %d", WEXITSTATUS(how));
  else snprintf(text, size, "crashed (signal %d: %s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
}

//------------------------------------ arguments ------------------------------------

// The offset of so many bytes behind the others; 0: there is no room.
static uint64_t reserve(const cpli_foreign* f, wire_call* c, size_t size) {
  uint64_t at = (c->end + WIRE_ALIGN - 1) / WIRE_ALIGN * WIRE_ALIGN;
  if (size > f->channel.size || at > f->channel.size - size) return 0;
  c->end = at + size;
  return at;
}

static bool put_block(const cpli_foreign* f, wire_call* c, const void* data, size_t size,
                      uint64_t* at) {
  *at = reserve(f, c, size);
  if (*at != 0 && size > 0) memcpy(f->channel.data + *at, data, size);
  return *at != 0;
}

static bool put_blocks(const cpli_foreign* f, wire_call* c, const cpli_transfer* t, uint64_t* at) {
  const void* const* blocks = t->in;
  *at = reserve(f, c, t->count * sizeof(wire_bytes));
  if (*at == 0) return false;
  wire_bytes* list = (wire_bytes*)(f->channel.data + *at);
  memset(list, 0, t->count * sizeof *list);
  for (size_t i = 0; i < t->count && t->kind != CPLI_TRANSFER_RETURNED; i++) {
    if (blocks[i] == NULL) continue;
    list[i].size = t->sizes != NULL ? t->sizes[i] : strlen(blocks[i]) + 1;
    if (!put_block(f, c, blocks[i], list[i].size, &list[i].offset)) return false;
  }
  return true;
}

static bool put(const cpli_foreign* f, wire_call* c, const cpli_transfer* t, wire_arg* arg) {
  *arg = (wire_arg){.count = t->count};
  switch (t->kind) {
    case CPLI_TRANSFER_INTEGER: return arg->value.integer = t->integer, true;
    case CPLI_TRANSFER_REAL: return arg->value.real = t->real, true;
    case CPLI_TRANSFER_IN:
    case CPLI_TRANSFER_OUT: return put_block(f, c, t->in, t->count * t->size, &arg->value.offset);
    default: return put_blocks(f, c, t, &arg->value.offset);
  }
}

// The i-th block that was returned, wherever it is in the memory; size 0: none.
static wire_bytes block_at(const cpli_foreign* f, const wire_arg* arg, size_t i) {
  const size_t all = f->channel.size;
  wire_bytes b = ((const wire_bytes*)(f->channel.data + arg->value.offset))[i];
  const bool inside = b.offset != 0 && b.offset <= all && b.size <= all - b.offset;
  return inside ? b : (wire_bytes){0};
}

static char* room_for(cpli_foreign* f, size_t size) {
  const size_t k = f->next_kept++ % CPLI_KEPT_BLOCKS;
  if (size <= f->kept_sizes[k]) return f->kept[k];
  char* larger = cpli_realloc(f->fmu->base.ctx, f->kept[k], size, 1);
  if (larger == NULL) return NULL;
  f->kept_sizes[k] = size;
  return f->kept[k] = larger;
}

void cpli_foreign_returned(cpli_foreign* f, size_t arg, const char** blocks, size_t* sizes) {
  const wire_arg* a = &f->answer->args[arg];
  const size_t n = a->count;
  size_t size = 1;
  for (size_t i = 0; i < n; i++) size += block_at(f, a, i).size;
  char* at = room_for(f, size);
  for (size_t i = 0; i < n; i++) {
    const wire_bytes b = block_at(f, a, i);
    bool fits = at != NULL && b.offset != 0 && b.size < size;
    if (fits) memcpy(at, f->channel.data + b.offset, b.size);
    if (fits && sizes == NULL) fits = b.size > 0 && at[b.size - 1] == '\0';
    blocks[i] = fits ? at : NULL;
    if (sizes != NULL) sizes[i] = fits ? (size_t)b.size : 0;
    if (!fits) continue;
    at += b.size;
    size -= b.size;
  }
}

//------------------------------------ calls ------------------------------------

static void run_callback(cpli_foreign* f) {
  const uint64_t at = f->head->call;
  if (at < f->top || at % WIRE_ALIGN != 0 || at > f->channel.size - sizeof(wire_call)) return;
  wire_call* c = (wire_call*)(f->channel.data + at);
  const uint64_t before = f->top;
  const uint64_t end =
      c->end >= at + sizeof *c && c->end <= f->channel.size ? c->end : at + sizeof *c;
  f->top = (end + WIRE_ALIGN - 1) / WIRE_ALIGN * WIRE_ALIGN;
  f->nested++;
  if (f->in != NULL && f->fmu->version == 3) cpli_foreign_fmi3_callback(f, f->head->callback, c);
  f->nested--;
  f->top = before;
  c->function = WIRE_RETURN;
  f->head->call = at;
}

// Requests, until the host answers instead of calling back.
static cpli_answer ask(cpli_foreign* f, double limit) {
  for (;;) {
    f->head->callback = WIRE_NO_CALLBACK;
    const cpli_answer answer = cpli_channel_ask(&f->channel, limit);
    if (answer != CPLI_ANSWERED || f->head->crash != 0) return answer;
    if (f->head->callback == WIRE_NO_CALLBACK) return answer;
    run_callback(f);
    if (f->base.lost != NULL) return CPLI_DIED;
  }
}

static void receive(void* user, uint32_t level, const char* who, const char* text) {
  const cpli_foreign* f = user;
  char copy[CPLI_MESSAGE_TEXT];
  snprintf(copy, sizeof copy, "%s", text);
  if (f->in != NULL) cpli_message(f->in, (int)level, who, copy);
}

static const char* name_of(const cpli_foreign* f, uint32_t function) {
  size_t n = 0;
  const cpli_forwarder* all = functions_of(f, &n);
  for (size_t i = 0; i < n; i++)
    if (all[i].function == function) return all[i].name;
  return NULL;
}

// The calling thread must not leave the call by a jump: that the process ends is enough. The calls
// that were posted go first; *c becomes the last one that was executed.
static bool run(cpli_foreign* f, wire_call** last, double limit) {
  cpli_guard_frame* top = cpli_guard_top;
  cpli_guard_top = NULL;
  wire_call* c = *last;
  const uint64_t at = (uint64_t)((char*)c - f->channel.data);
  const uint64_t before = f->n_posted > 0 ? f->posted[0].at : at;
  f->head->call = before;
  f->top = (c->end + WIRE_ALIGN - 1) / WIRE_ALIGN * WIRE_ALIGN;
  const cpli_answer answer = ask(f, limit);
  f->top = before;
  f->answer = c;
  f->base.failed = NULL;
  for (size_t i = 0; i < f->n_posted; i++) {
    if (f->head->call != f->posted[i].at) continue;
    f->base.failed = name_of(f, f->posted[i].function);
    *last = (wire_call*)(f->channel.data + f->posted[i].at);
  }
  f->n_posted = 0;
  if ((answer != CPLI_ANSWERED || f->head->crash != 0) && f->base.lost == NULL) {
    describe_end(f, answer, limit);
    f->too_late = answer == CPLI_TOO_LATE;
    f->base.lost = f->reason;
    cpli_channel_reap(&f->channel, 0);
  }
  cpli_guard_top = top;
  return f->base.lost == NULL;
}

static double limit_of(const cpli_foreign* f, uint32_t function) {
  switch (function) {
    case WIRE_START: return f->limit;
    case WIRE_LOAD: return load_limit;
    case WIRE_END: return end_limit;
    default: return f->fmu->call_timeout;
  }
}

// Functions that only set values, while a simulation is going on: their failure can be reported by
// the next call. Not with a call log, which has the status of each.
static bool may_wait(const cpli_foreign* f, uint32_t function) {
  static const uint32_t waiting[] = {WIRE_fmiSetReal,
                                     WIRE_fmiSetInteger,
                                     WIRE_fmiSetBoolean,
                                     WIRE_fmiSetTime,
                                     WIRE_fmi2SetReal,
                                     WIRE_fmi2SetInteger,
                                     WIRE_fmi2SetBoolean,
                                     WIRE_fmi2SetTime,
                                     WIRE_fmi3SetFloat32,
                                     WIRE_fmi3SetFloat64,
                                     WIRE_fmi3SetInt32,
                                     WIRE_fmi3SetInt64,
                                     WIRE_fmi3SetBoolean,
                                     WIRE_fmi3SetTime,
                                     WIRE_fmiSetContinuousStates,
                                     WIRE_fmi2SetContinuousStates,
                                     WIRE_fmi3SetContinuousStates};
  const cpli_fmu_instance* in = f->in;
  if (in == NULL || in->scheduled || f->fmu->call_log != NULL || f->nested > 0) return false;
  if (in->phase != CPLI_CONTINUOUS && in->phase != CPLI_STEPPING) return false;
  for (size_t i = 0; i < CPLI_COUNT(waiting); i++)
    if (waiting[i] == function) return f->n_posted < CPLI_POSTED;
  return false;
}

static void post(cpli_foreign* f, const wire_call* c) {
  f->posted[f->n_posted++] = (cpli_posted){f->top, c->function};
  f->top = (c->end + WIRE_ALIGN - 1) / WIRE_ALIGN * WIRE_ALIGN;
}

int cpli_foreign_call(cpli_foreign* f, uint32_t function, const cpli_transfer* args, size_t n) {
  wire_call* c = (wire_call*)(f->channel.data + f->top);
  assert(n <= WIRE_ARGS);
  if (f->base.lost != NULL) return CPLI_CRASHED;
  bool fits = f->top + sizeof *c <= f->channel.size;
  if (fits) {
    c->function = function;
    c->status = CPLI_FMU_ERROR;
    c->end = f->top + sizeof *c;
    c->next = 0;
  }
  for (size_t i = 0; i < n && fits; i++) fits = put(f, c, &args[i], &c->args[i]);
  if (!fits) {
    char text[] = "the values are too large for the process boundary";
    if (f->in != NULL) cpli_message(f->in, CPLI_FMU_ERROR, "", text);
    return CPLI_FMU_ERROR;
  }
  if (f->n_posted > 0)
    ((wire_call*)(f->channel.data + f->posted[f->n_posted - 1].at))->next = f->top;
  if (may_wait(f, function)) return post(f, c), CPLI_FMU_OK;
  uint64_t offsets[WIRE_ARGS];  // the host must not change where results are read
  for (size_t i = 0; i < n; i++) offsets[i] = c->args[i].value.offset;
  wire_call* last = c;
  if (!run(f, &last, limit_of(f, function))) return CPLI_CRASHED;
  if (last != c) return last->status;
  for (size_t i = 0; i < n; i++) {
    if (args[i].kind == CPLI_TRANSFER_OUT && args[i].count > 0)
      memcpy(args[i].out, f->channel.data + offsets[i], args[i].count * args[i].size);
    c->args[i].value.offset = offsets[i];
  }
  return c->status;
}

//------------------------------------ starting ------------------------------------

static char* path_there(const cpli_hosted* r, cpl_context* ctx, const char* path) {
  const cpli_platform* platform = ((const cpli_foreign*)r)->platform;
  static const char scheme[] = "file://";
  const bool uri = strncmp(path, scheme, sizeof scheme - 1) == 0;
  if (!platform->windows) return cpli_strdup(ctx, path);
  if (uri) return cpli_printf(ctx, "%s/Z:%s", scheme, path + sizeof scheme - 1);
  char* out = cpli_printf(ctx, "Z:%s", path);
  for (char* p = out; p != NULL && *p != '\0'; p++)
    if (*p == '/') *p = '\\';
  return out;
}

// A host that waits for its first request.
static cpl_status spawn(cpli_foreign* f, const char* host, const cpli_wine* wine, char** env) {
  char memory[CPLI_PLACE], waker[CPLI_PLACE];
  cpl_status st = cpli_channel_open_file(f->fmu->base.ctx, MEMORY, &f->channel);
  if (st < 0) return st;
  f->channel.passes_on = wine != NULL;
  f->channel.receive = receive;
  f->channel.user = f;
  f->head = (wire_head*)f->channel.data;
  *f->head = (wire_head){
      .version = WIRE_VERSION, .alone = cpli_count_processors() < 2, .size = f->channel.size};
  f->top = (sizeof(wire_head) + WIRE_ALIGN - 1) / WIRE_ALIGN * WIRE_ALIGN;
  f->base.lost = NULL;
  cpli_channel_places(&f->channel, memory, waker);
  const char* argv[] = {wine != NULL ? wine->loader : host, host, memory, waker, NULL};
  return cpli_channel_start(&f->channel, wine != NULL ? argv : argv + 1,
                            (const char* const*)(env != NULL ? env : environ));
}

static cpl_status not_started(const cpli_foreign* f) {
  const cpli_platform* p = f->platform;
  cpl_context* ctx = f->fmu->base.ctx;
  if (cpli_cancelled(ctx)) return cpli_interrupted(ctx, f->fmu->base.path, NAN);
  return cpli_fail_file(ctx, CPL_ERR_CONNECTION, f->fmu->base.path,
                        "the host of %s binaries did not start: it %s%s", p->name, f->reason,
                        p->windows ? " (is Wine installed completely? COUPLET_WINE names another "
                                     "one)"
                                   : "");
}

static cpl_status start(cpli_foreign* f) {
  cpl_context* ctx = f->fmu->base.ctx;
  const cpli_wine* wine = f->platform->windows ? cpli_wine_find(f->platform->bits) : NULL;
  char *host = NULL, **env = NULL;
  int lock = -1;
  cpl_status st = cpli_platform_check(ctx, f->platform, &host);
  if (st < 0) return cpl_fail_prefix(ctx, st, "%s", f->fmu->base.path);
  if (wine != NULL) st = cpli_wine_environment(ctx, wine, &env, &lock);
  for (size_t i = 0; i < CPLI_COUNT(start_limits) && st >= 0; i++) {
    cpli_channel_close(&f->channel);
    st = spawn(f, host, wine, env);
    if (st >= 0) f->limit = start_limits[i];
    if (st >= 0 && cpli_foreign_call(f, WIRE_START, NULL, 0) == CPLI_FMU_OK) break;
    if (st < 0 || cpli_cancelled(ctx) || !f->too_late) break;
  }
  if (st >= 0 && f->base.lost != NULL) st = not_started(f);
  if (lock >= 0) close(lock);
  cpli_wine_free_environment(ctx, env);
  cpli_free(ctx, host);
  return st;
}

// Which of the libraries that a DLL needs are missing, by their names; the others are those of the
// system and of its own folder.
static void name_missing(const cpli_foreign* f, const char* path, char* out, size_t size) {
  const cpli_wine* wine = f->platform->windows ? cpli_wine_find(f->platform->bits) : NULL;
  out[0] = '\0';
  if (wine != NULL) cpli_pe_missing(f->fmu->base.ctx, path, wine->system, out, size);
}

static cpl_status load_failed(cpli_foreign* f, const cpli_fmu_kind* kind, const char* path,
                              int status) {
  const cpli_platform* p = f->platform;
  cpl_context* ctx = f->fmu->base.ctx;
  char name[512], text[WIRE_TEXT], missing[512];
  snprintf(name, sizeof name, "binaries/%s/%s%s", f->fmu->foreign_folder, kind->identifier,
           p->suffix);
  if (cpli_cancelled(ctx)) return cpli_interrupted(ctx, f->fmu->base.path, NAN);
  if (status == CPLI_CRASHED) {
    return cpli_fail_file(ctx, CPL_ERR_MODEL, f->fmu->base.path, "%s: its start-up code %s", name,
                          f->reason);
  }
  int bits = cpli_pe_bits(ctx, path);
  if (p->windows && bits != 0 && bits != p->bits)
    return cpli_fail_file(ctx, CPL_ERR_INPUT, f->fmu->base.path,
                          "cannot load %s: it is a DLL of %d bits, not of %d", name, bits, p->bits);
  if (p->windows && bits == 0)
    return cpli_fail_file(ctx, CPL_ERR_INPUT, f->fmu->base.path,
                          "cannot load %s: it is no DLL for x86 processors", name);
  memcpy(text, f->head->text, sizeof text);
  text[sizeof text - 1] = '\0';
  name_missing(f, path, missing, sizeof missing);
  if (missing[0] != '\0')
    return cpli_fail_file(ctx, CPL_ERR_INPUT, f->fmu->base.path,
                          "cannot load %s: it needs %s, which neither the FMU nor Wine has", name,
                          missing);
  return cpli_fail_file(ctx, CPL_ERR_INPUT, f->fmu->base.path, "cannot load %s: %s", name, text);
}

static cpl_status load(cpli_foreign* f, const cpli_fmu_kind* kind, const char* path) {
  cpl_context* ctx = f->fmu->base.ctx;
  char* there = path_there(&f->base, ctx, path);
  char* temp = path_there(&f->base, ctx, cpli_temp_base());
  int status = CPLI_FMU_ERROR;
  if (there != NULL && temp != NULL) {
    const cpli_transfer args[] = {CPLI_TEXT_IN(there), CPLI_TEXT_IN(kind->identifier),
                                  CPLI_INTEGER(f->fmu->version), CPLI_TEXT_IN(temp),
                                  CPLI_OUT(f->exported, WIRE_FUNCTIONS)};
    status = cpli_foreign_call(f, WIRE_LOAD, args, CPLI_COUNT(args));
  }
  const bool made = there != NULL && temp != NULL;
  cpli_free(ctx, there);
  cpli_free(ctx, temp);
  if (!made) return cpli_nomem(ctx);
  return status == CPLI_FMU_OK ? CPL_OK : load_failed(f, kind, path, status);
}

static void close_it(cpli_hosted* r) {
  cpli_foreign* f = (cpli_foreign*)r;
  cpl_context* ctx = f->fmu->base.ctx;
  if (selected == f) selected = NULL;
  f->in = NULL;
  if (f->channel.pid != 0 && f->base.lost == NULL) cpli_foreign_call(f, WIRE_END, NULL, 0);
  cpli_channel_close(&f->channel);
  for (size_t i = 0; i < CPLI_KEPT_BLOCKS; i++) cpli_free(ctx, f->kept[i]);
  cpli_free(ctx, f);
}

static void* symbol(const cpli_hosted* r, const char* name) {
  const cpli_foreign* f = (const cpli_foreign*)r;
  size_t n = 0;
  const cpli_forwarder* all = functions_of(f, &n);
  for (size_t i = 0; i < n; i++) {
    void* address = NULL;
    if (strcmp(all[i].name, name) != 0 || !f->exported[all[i].function]) continue;
    memcpy(&address, &all[i].call, sizeof address);
    return address;
  }
  return NULL;
}

cpl_status cpli_foreign_open(cpl_fmu* fmu, const cpli_fmu_kind* kind, const cpli_platform* platform,
                             const char* path, cpli_hosted** out) {
  cpl_context* ctx = fmu->base.ctx;
  cpli_foreign* f = cpli_alloc(ctx, 1, sizeof *f);
  *out = NULL;
  if (f == NULL) return cpli_nomem(ctx);
  f->base =
      (cpli_hosted){.symbol = symbol, .select = select_it, .path = path_there, .close = close_it};
  f->fmu = fmu;
  f->platform = platform;
  cpli_platform_use(platform);
  cpl_status st = start(f);
  if (st >= 0) st = load(f, kind, path);
  if (st >= 0) *out = &f->base;
  else close_it(&f->base);
  return st;
}
