// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The context: status texts, the last error, interruption of a run, notification of steps, the log,
// and the allocator that all memory comes from. The file is also compiled into exported FMUs, which
// have one thread and no clock.
#include <assert.h>
#include <math.h>
#ifdef CPL_THREADS
#include <pthread.h>
#include <time.h>
#endif
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log_queue.h"
#include "base/options.h"
#include "base/thread_pool.h"

#undef cpli_nomem

// Several threads log, one message at a time. An FMU has one thread. A process that was forked
// while another thread held a lock must not wait for that thread for ever.
#ifdef CPL_THREADS
typedef pthread_mutex_t mutex;
static mutex logging = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;  // a sink may log
static mutex interrupting = PTHREAD_MUTEX_INITIALIZER;

static bool lock(mutex* m) {
  struct timespec until;
  if (pthread_mutex_trylock(m) == 0) return true;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  return pthread_mutex_timedlock(m, &until) == 0;
}

static void unlock(mutex* m, bool locked) {
  if (locked) pthread_mutex_unlock(m);
}
#else
typedef int mutex;
static mutex logging, interrupting;
static bool lock(mutex* m) { return (void)m, false; }
static void unlock(mutex* m, bool locked) { (void)m, (void)locked; }
#endif

struct cpl_context {
  cpli_context_head head;  // must be first
  cpl_context_def def;
  void* log_user;  // of def.log; def.user until cpli_log_to()
  bool muted;      // nothing is logged
  cpli_error error;
  char left[1024];     // message of a call of a model that was left because it did not return
  double interrupted;  // the time of the last cpli_interrupted()
  cpli_stepped_fn* stepped;
  void* stepped_user;
  const char* stepped_thread;
  cpli_context_threads threads;
  bool differences;
};

static_assert(offsetof(struct cpl_context, head) == 0, "cpli_cancelled() reads it at the address");

const char* cpl_status_text(cpl_status st) {
  switch (st) {
#define X(name, value, text) \
  case name: return text;
    CPL_STATUS_LIST(X)
#undef X
  }
  return "unknown status";
}

const char* cpl_version(void) { return CPL_VERSION; }

static void* libc_realloc(void* user, void* ptr, size_t size) {
  (void)user;
  if (size == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, size);
}

void cpl_init_context_def(cpl_context_def* def, size_t size) {
  const cpl_context_def all = {.log_level = CPL_LOG_WARNING};
  cpli_init_def(def, size, &all, sizeof all);
}

cpl_context* cpl_context_create(const cpl_context_def* def) {
  cpl_context_def d = cpl_default_context_def();
  if (def != NULL && !cpli_copy_def(def, &d, sizeof d)) return NULL;
  if (d.realloc == NULL) d.realloc = libc_realloc;
  cpl_context* ctx = d.realloc(d.user, NULL, sizeof *ctx);
  if (ctx == NULL) return NULL;
  ctx->head.cancelled = 0;
  ctx->def = d;
  ctx->log_user = d.user;
  ctx->muted = false;
  ctx->error.large = NULL;
  cpli_error_clear(&ctx->error, ctx);
  ctx->left[0] = '\0';
  ctx->interrupted = NAN;
  ctx->stepped = NULL;
  ctx->threads = (cpli_context_threads){.threads = -1};
  ctx->differences = false;
  return ctx;
}

void cpl_context_use_differences(cpl_context* ctx, bool on) { ctx->differences = on; }
bool cpli_uses_differences(const cpl_context* ctx) { return ctx->differences; }

void cpl_context_destroy(cpl_context* ctx) {
  if (ctx == NULL) return;
  cpl_context_def d = ctx->def;
  cpli_error_clear(&ctx->error, ctx);
  d.realloc(d.user, ctx, 0);
}

void cpl_context_use_threads(cpl_context* ctx, int32_t threads) {
  ctx->threads.threads = threads > 0 ? threads : 0;
}

cpli_context_threads* cpli_context_slot(cpl_context* ctx) { return &ctx->threads; }

//------------------------------------ definitions ------------------------------------

int cpl_abi_version(void) { return CPL_ABI_VERSION; }

void cpli_init_def(void* def, size_t size, const void* all, size_t all_size) {
  if (size > all_size) memset((char*)def + all_size, 0, size - all_size);
  memcpy(def, all, size < all_size ? size : all_size);
  *(size_t*)def = size;
}

bool cpli_copy_def(const void* given, void* def, size_t size) {
  const size_t known = *(const size_t*)given;
  if (known < sizeof known || known > size) return false;
  memcpy(def, given, known);
  *(size_t*)def = size;
  return true;
}

cpl_status cpli_read_def(cpl_context* ctx, const char* type, const void* given, void* def,
                         size_t size) {
  if (cpli_copy_def(given, def, size)) return CPL_OK;
  if (*(const size_t*)given > size)
    return cpl_fail(ctx, CPL_ERR_INPUT,
                    "%s: this program was compiled for a later version of couplet than %s, whose "
                    "library it runs with",
                    type, cpl_version());
  return cpl_fail(ctx, CPL_ERR_INPUT, "%s: it is not initialised: begin with cpl_default_%s()",
                  type, type + strlen("cpl_"));
}

//------------------------------------ the last failure ------------------------------------

static _Thread_local cpli_error* diverted;

cpli_error* cpli_divert_errors(cpl_context* ctx, cpli_error* e) {
  cpli_error* before = diverted;
  cpli_error_clear(e, ctx);
  diverted = e;
  return before;
}

void cpli_end_diversion(cpli_error* before) { diverted = before; }

cpli_error* cpli_exchange_diversion(cpli_error* e) {
  cpli_error* before = diverted;
  diverted = e;
  return before;
}

cpli_error* cpli_last_error(cpl_context* ctx) { return diverted != NULL ? diverted : &ctx->error; }

const cpl_error* cpl_context_last_error(const cpl_context* ctx) {
  return &cpli_last_error((cpl_context*)ctx)->data;
}

const char* cpl_context_error(const cpl_context* ctx) { return cpl_context_last_error(ctx)->text; }

//------------------------------------ interruption ------------------------------------

void cpl_context_cancel(cpl_context* ctx) { CPLI_ATOMIC_ADD(&ctx->head.cancelled, 1); }

int cpl_context_cancelled(const cpl_context* ctx) { return CPLI_ATOMIC_LOAD(&ctx->head.cancelled); }

void cpl_context_resume(cpl_context* ctx) { CPLI_ATOMIC_STORE(&ctx->head.cancelled, 0); }

// All threads that step components may report an interruption at the same time.
cpl_status cpli_interrupted(cpl_context* ctx, const char* who, double t) {
  const bool locked = lock(&interrupting);
  const char* glue = who[0] != '\0' ? ": " : "";
  if (!isnan(t)) ctx->interrupted = t;
  if (ctx->left[0] != '\0') cpl_fail(ctx, CPL_ERR_CANCELLED, "%s", ctx->left);
  else if (isnan(t)) cpl_fail(ctx, CPL_ERR_CANCELLED, "%s%sinterrupted", who, glue);
  else cpl_fail(ctx, CPL_ERR_CANCELLED, "%s%sinterrupted at t=%.12g", who, glue, t);
  unlock(&interrupting, locked);
  return cpli_fail_where(ctx, CPL_ERR_CANCELLED, who, NULL, t);
}

cpl_status cpli_interrupted_call(cpl_context* ctx, const char* who, const char* call, double t,
                                 const char* why) {
  char when[48] = "";
  if (!isnan(t)) snprintf(when, sizeof when, " at t=%.12g", t);
  const bool locked = lock(&interrupting);
  if (ctx->left[0] == '\0')
    snprintf(ctx->left, sizeof ctx->left, "%s: interrupted inside %s%s (%s)", who, call, when, why);
  unlock(&interrupting, locked);
  return cpli_interrupted(ctx, who, t);
}

double cpli_interruption_time(const cpl_context* ctx) { return ctx->interrupted; }

//------------------------------------ steps ------------------------------------

static _Thread_local char this_thread;  // its address identifies the thread

void cpli_watch_steps(cpl_context* ctx, cpli_stepped_fn* stepped, void* user) {
  ctx->stepped = stepped;
  ctx->stepped_user = user;
  ctx->stepped_thread = &this_thread;
  if (stepped != NULL && !cpli_cancelled(ctx)) {  // another run: the last interruption is over
    ctx->left[0] = '\0';
    ctx->interrupted = NAN;
  }
}

void cpli_stepped(const cpl_context* ctx, double t, double h) {
  if (ctx->stepped != NULL && ctx->stepped_thread == &this_thread)
    ctx->stepped(ctx->stepped_user, t, h);
}

//------------------------------------ log ------------------------------------

bool cpli_logs(const cpl_context* ctx, cpl_log_level level) {
  return ctx->def.log != NULL && !ctx->muted && level <= ctx->def.log_level;
}

void cpli_log_mute(cpl_context* ctx, bool muted) { ctx->muted = muted; }

void cpli_log_to(cpl_context* ctx, cpl_log_fn* log, void* user) {
  ctx->def.log = log;
  ctx->log_user = user;
}

void cpli_one_line(char* text, const char* fmt) {
  if (strchr(fmt, '\n') != NULL) return;
  for (text = strpbrk(text, "\n\r"); text != NULL; text = strpbrk(text, "\n\r")) *text = ' ';
}

static _Thread_local cpli_log_queue* queue;

cpli_log_queue* cpli_queue_log(cpli_log_queue* q) {
  cpli_log_queue* before = queue;
  queue = q;
  return before;
}

// Without memory a message is not held back.
static bool hold_back(cpl_log_level level, const char* who, const char* text) {
  if (queue == NULL) return false;
  const size_t n_who = strlen(who) + 1, n_text = strlen(text) + 1;
  cpli_held_message* m = cpli_realloc(queue->ctx, NULL, 1, sizeof *m + n_who + n_text);
  if (m == NULL) return false;
  *m = (cpli_held_message){.level = level, .item = queue->item};
  memcpy(m->texts, who, n_who);
  memcpy(m->texts + n_who, text, n_text);
  *(queue->last != NULL ? &queue->last->next : &queue->first) = m;
  queue->last = m;
  return true;
}

void cpli_log_text(cpl_context* ctx, cpl_log_level level, const char* who, const char* text) {
  if (!cpli_logs(ctx, level) || hold_back(level, who != NULL ? who : "", text)) return;
  const bool locked = lock(&logging);
  ctx->def.log(ctx->log_user, level, who != NULL ? who : "", text);
  unlock(&logging, locked);
}

void cpl_log(cpl_context* ctx, cpl_log_level level, const char* who, const char* fmt, ...) {
  if (!cpli_logs(ctx, level)) return;
  char text[2048];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  size_t n = strlen(text);
  while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r')) text[--n] = '\0';
  cpli_one_line(text, fmt);
  cpli_log_text(ctx, level, who, text);
}

//------------------------------------ memory ------------------------------------

void* cpli_realloc(cpl_context* ctx, void* ptr, size_t n, size_t size) {
  if (size != 0 && n > SIZE_MAX / size) return NULL;
  size_t bytes = n * size > 0 ? n * size : 1;
  return ctx->def.realloc(ctx->def.user, ptr, bytes);
}

void* cpli_alloc(cpl_context* ctx, size_t n, size_t size) {
  void* ptr = cpli_realloc(ctx, NULL, n, size);
  if (ptr != NULL) memset(ptr, 0, n * size);
  return ptr;
}

void cpli_free(cpl_context* ctx, void* ptr) {
  if (ptr != NULL) ctx->def.realloc(ctx->def.user, ptr, 0);
}

cpl_status cpli_nomem(cpl_context* ctx) { return cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory"); }
