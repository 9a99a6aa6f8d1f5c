// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Results are collected as slots of the journal and sent in batches: when the batch is full, some
// milliseconds after the last one, and at the end of a lease. A signal requests an orderly end: it
// cancels the context, so that a case in progress returns early; such a case is not reported.
#include "study/worker.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/guard.h"
#include "study/message.h"

enum {
  MAX_MESSAGES = 100,  // of the log, per worker
  CLOSE_PATIENCE = 5,  // seconds for a worker that is not to be used any more
};
static const int64_t batch_interval = 10 * 1000000;  // [ns]

typedef struct worker {
  cpl_context* ctx;
  const cpli_cases* cases;
  int fd;
  cpli_worker_page* page;
  size_t slot_size;
  unsigned forks;  // cpli_guard_forks of this process: copies that a model made end
  cpli_inbox inbox;
  // the batch: `count` slots of the cases from `first` on
  char *slots, *texts;
  size_t texts_size;
  int64_t first, count, max_slots;
  int64_t sent_at;  // [ns]; the batch before
  int64_t logged;
} worker;

int64_t cpli_worker_now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

//------------------------------------ sending ------------------------------------

// Threads of models log while results are sent.
static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;

static void send_or_end(worker* w, cpli_study_message* m, const cpli_piece* pieces, size_t n) {
  pthread_mutex_lock(&sending);
  const bool sent = cpli_study_message_send(w->fd, m, pieces, n);
  pthread_mutex_unlock(&sending);
  if (!sent) _exit(0);  // the supervisor is gone
}

static void send_batch(worker* w) {
  const int64_t now = cpli_worker_now();
  if (w->count > 0) {
    cpli_study_message m = {.kind = CPLI_RESULTS,
                            .first = w->first,
                            .count = w->count,
                            .seconds = 1e-9 * (double)(now - w->sent_at)};
    const cpli_piece pieces[] = {{w->slots, (size_t)w->count * w->slot_size},
                                 {w->texts, w->texts_size}};
    send_or_end(w, &m, pieces, 2);
  }
  w->sent_at = now;
  w->count = 0;
  w->texts_size = 0;
}

static void log_to_supervisor(void* user, cpl_log_level level, const char* who, const char* text) {
  worker* w = user;
  if (w->forks != cpli_guard_forks || w->logged++ >= MAX_MESSAGES) return;
  cpli_study_message m = {.kind = CPLI_LOG, .count = level};
  const size_t n_who = strnlen(who, 255), n_text = strnlen(text, 4095);
  const cpli_piece pieces[] = {{who, n_who}, {"", 1}, {text, n_text}};
  send_or_end(w, &m, pieces, 3);
}

static _Noreturn void end_study(worker* w, cpl_status st) {
  static char texts[CPLI_ERROR_TEXTS];
  cpl_error error = *cpl_context_last_error(w->ctx);
  error.status = st;
  cpli_error_pack(&error, texts, sizeof texts);
  cpli_study_message m = {.kind = CPLI_FATAL, .count = st};
  const cpli_piece pieces[] = {{&error, sizeof error}, {texts, sizeof texts}};
  send_batch(w);
  send_or_end(w, &m, pieces, 2);
  _exit(0);
}

//------------------------------------ cases ------------------------------------

static cpli_journal_slot* slot_at(worker* w, int64_t k) {
  return (cpli_journal_slot*)(void*)(w->slots + (size_t)k * w->slot_size);
}

static void record_failure(worker* w, cpli_journal_slot* s, const char* failure) {
  const size_t length = strlen(failure), size = cpli_text_record_size(length);
  char* record = w->texts + w->texts_size;
  memset(s, 0, w->slot_size);
  memset(record, 0, size);
  memcpy(record + sizeof(cpli_text_head), failure, length);
  s->state = CPLI_SLOT_FAILED;
  s->text_length = (uint32_t)length;
  s->text_at = w->texts_size;
  w->texts_size += size;
}

static _Noreturn void end_in_order(worker* w) {
  atomic_store(&w->page->current, CPLI_IDLE);
  send_batch(w);
  cpli_process_ends = true;
  if (w->cases->close != NULL) w->cases->close(w->cases->user);
  fflush(NULL);
  _exit(0);
}

static void run_case(worker* w, int64_t i, int64_t began) {
  char failure[CPLI_FAILURE_SIZE] = "";
  cpli_journal_slot* s = slot_at(w, w->count);
  memset(s, 0, w->slot_size);
  atomic_store_explicit(&w->page->started, began, memory_order_relaxed);
  atomic_store_explicit(&w->page->current, i, memory_order_release);
  const cpl_status st = w->cases->run(w->cases->user, i, s->values, failure, sizeof failure);
  if (w->forks != cpli_guard_forks) cpli_guard_end_copy();
  // its result, or its failure, is that of the interruption
  if (cpli_cancelled(w->ctx)) end_in_order(w);
  if (st < 0) end_study(w, st);
  failure[sizeof failure - 1] = '\0';
  s->state = CPLI_SLOT_DONE;
  if (failure[0] != '\0') record_failure(w, s, failure);
  w->count++;
  if (st == CPL_TERMINATE) {
    atomic_store(&w->page->retired, 1);
    signal(SIGALRM, SIG_DFL);  // a model that has crashed may not let itself be closed
    alarm(CLOSE_PATIENCE);
    end_in_order(w);
  }
}

static void run_lease(worker* w, const cpli_study_message* lease) {
  const int64_t end = lease->first + lease->count;
  w->first = lease->first;
  for (int64_t i = lease->first; i < end; i++) {
    const int64_t now = cpli_worker_now();
    if (w->count == 0) w->sent_at = now;
    run_case(w, i, now);
    const bool full =
        w->count == w->max_slots || w->texts_size > CPLI_BATCH_TEXTS - CPLI_FAILURE_SIZE - 16;
    if (!full && i + 1 < end && now - w->sent_at < batch_interval) continue;
    send_batch(w);
    w->first = i + 1;
  }
  atomic_store(&w->page->current, CPLI_IDLE);
}

//------------------------------------ process ------------------------------------

static cpl_context* watched;  // of the signal handler

static void on_request_to_end(int signal_number) {
  (void)signal_number;
  cpl_context_cancel(watched);
}

static cpl_status prepare(worker* w) {
  struct sigaction action = {.sa_handler = on_request_to_end, .sa_flags = SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  watched = w->ctx;
  sigaction(SIGTERM, &action, NULL);
  // processes forked by a model must not change it
  madvise(w->page, sizeof *w->page, MADV_DONTFORK);
  cpli_log_to(w->ctx, cpli_logs(w->ctx, CPL_LOG_ERROR) ? log_to_supervisor : NULL, w);
  w->slots = cpli_alloc(w->ctx, (size_t)w->max_slots, w->slot_size);
  w->texts = cpli_alloc(w->ctx, CPLI_BATCH_TEXTS, 1);
  if (w->slots == NULL || w->texts == NULL) return cpli_nomem(w->ctx);
  cpl_status st = cpli_inbox_init(w->ctx, &w->inbox, w->slot_size);
  return st < 0 ? st : w->cases->open(w->cases->user);
}

_Noreturn void cpli_worker_serve(cpl_context* ctx, const cpli_cases* cases, int fd,
                                 cpli_worker_page* page) {
  worker w = {.ctx = ctx,
              .cases = cases,
              .fd = fd,
              .page = page,
              .slot_size = cpli_slot_size(cases->n_values),
              .forks = cpli_guard_forks};
  w.max_slots = (int64_t)cpli_batch_slots(w.slot_size);
  const cpl_status st = prepare(&w);
  if (w.forks != cpli_guard_forks) cpli_guard_end_copy();
  if (cpli_cancelled(ctx)) _exit(0);
  if (st < 0) end_study(&w, st);
  cpli_study_message ready = {.kind = CPLI_READY};
  send_or_end(&w, &ready, NULL, 0);
  for (;;) {
    const cpli_study_message* m = cpli_inbox_next(&w.inbox);
    if (m == NULL) {
      const int64_t got = cpli_inbox_receive(&w.inbox, fd, 0);
      if (got <= 0 || w.inbox.broken || cpli_cancelled(ctx)) end_in_order(&w);
      continue;
    }
    if (m->kind != CPLI_LEASE) end_in_order(&w);
    run_lease(&w, m);
  }
}
