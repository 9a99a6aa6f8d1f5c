// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The thread pool of a master: in each round the threads take items from a shared counter; between
// rounds they spin for a short while and then sleep. The threads are started by the first round.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/loaded.h"
#include "master/master.h"

struct cpli_thread_pool {
  cpl_context* ctx;
  pthread_mutex_t mutex;
  pthread_cond_t wake, done;
  pthread_t* threads;
  int32_t n_threads, wanted;
  atomic_llong round;  // counts calls of cpli_thread_pool_run
  atomic_bool stopping;
  void (*work)(void* user, int32_t i);
  void* user;
  int32_t n;
  atomic_int next;  // the next item not taken yet
  atomic_int busy;  // threads that have not finished the round
};

// Threads spin before they block, because rounds usually follow each other within microseconds.
static bool round_began(cpli_thread_pool* c, int64_t seen) {
  return c->stopping || atomic_load(&c->round) != seen;
}
static bool all_done(cpli_thread_pool* c, int64_t seen) {
  (void)seen;
  return atomic_load(&c->busy) == 0;
}

static void spin(cpli_thread_pool* c, bool (*done)(cpli_thread_pool*, int64_t), int64_t seen) {
  static const double spin_time = 20e-6;
  double until = cpli_now() + spin_time;
  do {
    for (int i = 0; i < 32 && !done(c, seen); i++) cpli_relax();
  } while (!done(c, seen) && cpli_now() < until);
}

static void take_items(cpli_thread_pool* c) {
  for (int32_t i = atomic_fetch_add(&c->next, 1); i < c->n; i = atomic_fetch_add(&c->next, 1))
    c->work(c->user, i);
}

static void* serve(void* user) {
  cpli_thread_pool* c = user;
  int64_t seen = 0;
  cpli_thread_begins();
  for (;;) {
    spin(c, round_began, seen);
    pthread_mutex_lock(&c->mutex);
    while (!round_began(c, seen)) pthread_cond_wait(&c->wake, &c->mutex);
    if (c->stopping) break;
    seen = c->round;
    pthread_mutex_unlock(&c->mutex);
    take_items(c);
    pthread_mutex_lock(&c->mutex);
    assert(c->busy > 0 && c->busy <= c->n_threads);
    if (--c->busy == 0) pthread_cond_signal(&c->done);
    pthread_mutex_unlock(&c->mutex);
  }
  pthread_mutex_unlock(&c->mutex);
  cpli_thread_ends();
  return NULL;
}

// Signals of the process (Ctrl-C) are handled in the caller's thread.
static bool start_thread(cpli_thread_pool* c) {
  sigset_t all, before;
  sigfillset(&all);
  for (int s = SIGILL; s <= SIGSEGV; s++) {
    if (s == SIGSEGV || s == SIGBUS || s == SIGFPE || s == SIGILL || s == SIGABRT)
      sigdelset(&all, s);
  }
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool fine = pthread_create(&c->threads[c->n_threads], NULL, serve, c) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (fine) c->n_threads++;
  return fine;
}

cpl_status cpli_thread_pool_create(cpl_context* ctx, int32_t threads, cpli_thread_pool** out) {
  *out = NULL;
  assert(threads > 0);
  cpli_thread_pool* c = cpli_alloc(ctx, 1, sizeof *c);
  if (c == NULL) return cpli_nomem(ctx);
  c->ctx = ctx;
  c->threads = cpli_alloc(ctx, (size_t)threads, sizeof *c->threads);
  pthread_mutex_init(&c->mutex, NULL);
  pthread_cond_init(&c->wake, NULL);
  pthread_cond_init(&c->done, NULL);
  if (c->threads == NULL) {
    cpli_thread_pool_destroy(c);
    return cpli_nomem(ctx);
  }
  c->wanted = threads - 1;  // started when there is work for them
  *out = c;
  return CPL_OK;
}

void cpli_thread_pool_destroy(cpli_thread_pool* c) {
  if (c == NULL) return;
  pthread_mutex_lock(&c->mutex);
  c->stopping = true;
  pthread_cond_broadcast(&c->wake);
  pthread_mutex_unlock(&c->mutex);
  for (int32_t i = 0; i < c->n_threads; i++) pthread_join(c->threads[i], NULL);
  pthread_cond_destroy(&c->done);
  pthread_cond_destroy(&c->wake);
  pthread_mutex_destroy(&c->mutex);
  cpli_free(c->ctx, c->threads);
  cpli_free(c->ctx, c);
}

int32_t cpli_thread_pool_size(const cpli_thread_pool* c) { return c->n_threads + 1; }

void cpli_thread_pool_run(cpli_thread_pool* c, int32_t n, void (*work)(void* user, int32_t i),
                          void* user) {
  while (c->n_threads < c->wanted && start_thread(c)) {
  }
  c->wanted = c->n_threads;  // no more threads can be started
  pthread_mutex_lock(&c->mutex);
  assert(c->busy == 0 && !c->stopping);  // rounds do not overlap
  c->work = work;
  c->user = user;
  c->n = n;
  atomic_store(&c->next, 0);
  c->busy = c->n_threads;
  c->round++;
  pthread_cond_broadcast(&c->wake);
  pthread_mutex_unlock(&c->mutex);
  take_items(c);
  spin(c, all_done, 0);
  pthread_mutex_lock(&c->mutex);
  while (c->busy > 0) pthread_cond_wait(&c->done, &c->mutex);
  assert(c->next >= c->n);  // every item was taken
  pthread_mutex_unlock(&c->mutex);
}
