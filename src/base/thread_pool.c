// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Open jobs are in a list; a thread takes part in the newest one that has items and room. Threads
// spin for a short while before they sleep, because jobs usually follow each other within
// microseconds. They are started by the first job that has use for them.
#include "base/thread_pool.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/float_modes.h"
#include "base/loaded.h"

struct cpli_job {
  void (*work)(void* user, cpli_job* job, int32_t worker);
  void* user;
  int32_t n, threads;
  atomic_int next;     // the next item not taken yet
  int32_t joined;      // threads that have taken part, the caller's included
  atomic_int helpers;  // that have not returned
  uint32_t modes;      // of floating-point arithmetic, of the caller's thread
  uint16_t x87;
  cpli_job* older;
};

struct cpli_thread_pool {
  cpl_context* ctx;
  bool shared;  // it is that of its context
  int32_t users;
  pthread_mutex_t mutex;  // of all that is not atomic
  pthread_cond_t wake, done;
  pthread_t* threads;
  int32_t n_threads, wanted, room;
  int32_t asleep, waiting;  // threads; callers whose helpers have not returned
  cpli_job* jobs;
  atomic_llong posted;  // counts jobs
  atomic_bool stopping;
  int64_t together;
  double helped;
};

static pthread_mutex_t joining = PTHREAD_MUTEX_INITIALIZER;  // of the pools of contexts
static const double spin_time = 20e-6;                       // [s]

//------------------------------------ jobs ------------------------------------

int32_t cpli_job_next(cpli_job* job) {
  if (atomic_load_explicit(&job->next, memory_order_relaxed) >= job->n) return -1;
  int32_t i = atomic_fetch_add(&job->next, 1);
  return i < job->n ? i : -1;
}

static cpli_job* open_job(cpli_thread_pool* pool) {
  cpli_job* job = pool->jobs;
  while (job != NULL && (job->joined >= job->threads || atomic_load(&job->next) >= job->n))
    job = job->older;
  return job;
}

static void take_part(cpli_job* job, int32_t worker) {
  if (cpli_float_modes() != job->modes) cpli_float_set(job->modes);
  if (cpli_x87_modes() != job->x87) cpli_x87_restore(job->x87);
  const uint32_t known = cpli_float_begin();
  job->work(job->user, job, worker);
  cpli_float_end(known);
}

// Processor time of this thread [s].
static double computed(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// With the mutex, which is released meanwhile.
static void help(cpli_thread_pool* pool, cpli_job* job) {
  const int32_t worker = job->joined++;
  assert(worker < job->threads);
  atomic_fetch_add(&job->helpers, 1);
  pthread_mutex_unlock(&pool->mutex);
  const double since = computed();
  take_part(job, worker);
  const double took = computed() - since;
  pthread_mutex_lock(&pool->mutex);
  pool->helped += took;
  assert(job->helpers > 0);
  if (atomic_fetch_sub(&job->helpers, 1) == 1 && pool->waiting > 0)
    pthread_cond_broadcast(&pool->done);
}

static void spin(cpli_thread_pool* pool, int64_t seen) {
  const double until = cpli_now() + spin_time;
  do {
    for (int i = 0; i < 32; i++) {
      if (atomic_load(&pool->posted) != seen || atomic_load(&pool->stopping)) return;
      cpli_relax();
    }
  } while (cpli_now() < until);
}

static void* serve(void* user) {
  cpli_thread_pool* pool = user;
  cpli_thread_begins();
  pthread_mutex_lock(&pool->mutex);
  while (!pool->stopping) {
    const int64_t seen = pool->posted;
    cpli_job* job = open_job(pool);
    if (job != NULL) {
      help(pool, job);
      continue;
    }
    pthread_mutex_unlock(&pool->mutex);
    spin(pool, seen);
    pthread_mutex_lock(&pool->mutex);
    if (pool->posted != seen || pool->stopping) continue;
    pool->asleep++;
    pthread_cond_wait(&pool->wake, &pool->mutex);
    pool->asleep--;
  }
  pthread_mutex_unlock(&pool->mutex);
  cpli_thread_ends();
  return NULL;
}

// Signals of the process (Ctrl-C) are handled in the caller's thread.
static bool start_thread(cpli_thread_pool* pool) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  sigset_t all, before;
  sigfillset(&all);
  for (size_t i = 0; i < CPLI_COUNT(own); i++) sigdelset(&all, own[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool fine = pthread_create(&pool->threads[pool->n_threads], NULL, serve, pool) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (fine) pool->n_threads++;
  return fine;
}

// With the mutex. Where no more threads can be started, those that are there do the work.
static void start_threads(cpli_thread_pool* pool, int32_t n) {
  if (n > pool->wanted) n = pool->wanted;
  while (pool->n_threads < n && start_thread(pool)) {
  }
  if (pool->n_threads < n) pool->wanted = pool->n_threads;
}

int32_t cpli_thread_pool_start(cpli_thread_pool* pool, int32_t threads) {
  pthread_mutex_lock(&pool->mutex);
  start_threads(pool, threads - 1);
  if (threads > pool->n_threads + 1) threads = pool->n_threads + 1;
  pthread_mutex_unlock(&pool->mutex);
  return threads;
}

static void post(cpli_thread_pool* pool, cpli_job* job) {
  pthread_mutex_lock(&pool->mutex);
  start_threads(pool, job->threads - 1);
  job->older = pool->jobs;
  pool->jobs = job;
  atomic_fetch_add(&pool->posted, 1);
  for (int32_t i = 1; i < job->threads && i <= pool->asleep; i++) pthread_cond_signal(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
}

// Nobody joins a job that is no longer in the list.
static void close_job(cpli_thread_pool* pool, cpli_job* job) {
  pthread_mutex_lock(&pool->mutex);
  cpli_job** at = &pool->jobs;
  while (*at != job) at = &(*at)->older;
  *at = job->older;
  if (atomic_load(&job->helpers) > 0) {
    pthread_mutex_unlock(&pool->mutex);
    const double until = cpli_now() + spin_time;
    while (atomic_load(&job->helpers) > 0 && cpli_now() < until) cpli_relax();
    pthread_mutex_lock(&pool->mutex);
  }
  pool->waiting++;
  while (atomic_load(&job->helpers) > 0) pthread_cond_wait(&pool->done, &pool->mutex);
  pool->waiting--;
  pool->together += job->joined > 1;
  pthread_mutex_unlock(&pool->mutex);
}

int32_t cpli_thread_pool_run(cpli_thread_pool* pool, int32_t threads, int32_t n,
                             void (*work)(void* user, cpli_job* job, int32_t worker), void* user) {
  if (threads > n) threads = n;
  cpli_job job = {.work = work, .user = user, .n = n, .threads = threads, .joined = 1};
  job.modes = cpli_float_modes();
  job.x87 = cpli_x87_modes();
  if (threads > 1) post(pool, &job);
  work(user, &job, 0);
  if (threads > 1) close_job(pool, &job);
  return job.joined;
}

//------------------------------------ life ------------------------------------

int32_t cpli_count_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const long n = sysconf(_SC_NPROCESSORS_ONLN);  // more than a set has
  return n > 0 ? (int32_t)n : 1;
}

int32_t cpli_threads_of(cpl_context* ctx, int32_t asked, int32_t otherwise) {
  const int32_t said = cpli_context_slot(ctx)->threads;
  if (asked > 0) return asked;
  if (said > 0) return said;
  return said < 0 && otherwise > 0 ? otherwise : cpli_count_processors();
}

// Room for one thread more than are there.
static bool extend(cpli_thread_pool* pool, int32_t threads) {
  pthread_mutex_lock(&pool->mutex);
  if (threads - 1 > pool->room) {
    pthread_t* more = cpli_realloc(pool->ctx, pool->threads, (size_t)threads, sizeof *more);
    if (more != NULL) pool->threads = more, pool->room = threads - 1;
  }
  const bool fine = threads - 1 <= pool->room;
  if (fine && threads - 1 > pool->wanted) pool->wanted = threads - 1;
  pthread_mutex_unlock(&pool->mutex);
  return fine;
}

static void end(cpli_thread_pool* pool) {
  pthread_mutex_lock(&pool->mutex);
  assert(pool->jobs == NULL);
  pool->stopping = true;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  for (int32_t i = 0; i < pool->n_threads; i++) pthread_join(pool->threads[i], NULL);
  pthread_cond_destroy(&pool->done);
  pthread_cond_destroy(&pool->wake);
  pthread_mutex_destroy(&pool->mutex);
  cpli_free(pool->ctx, pool->threads);
  cpli_free(pool->ctx, pool);
}

cpl_status cpli_thread_pool_create(cpl_context* ctx, int32_t threads, cpli_thread_pool** out) {
  assert(threads > 0);
  *out = NULL;
  cpli_thread_pool* pool = cpli_alloc(ctx, 1, sizeof *pool);
  if (pool == NULL) return cpli_nomem(ctx);
  pool->ctx = ctx;
  pool->users = 1;
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->done, NULL);
  if (!extend(pool, threads)) {
    end(pool);
    return cpli_nomem(ctx);
  }
  *out = pool;
  return CPL_OK;
}

cpl_status cpli_thread_pool_join(cpl_context* ctx, int32_t threads, cpli_thread_pool** out) {
  cpli_context_threads* slot = cpli_context_slot(ctx);
  cpl_status st = CPL_OK;
  *out = NULL;
  cpli_lock(&joining);
  if (slot->pool == NULL) {
    st = cpli_thread_pool_create(ctx, threads, &slot->pool);
    if (st >= 0) slot->pool->shared = true;
  } else if (extend(slot->pool, threads)) {
    slot->pool->users++;
  } else {
    st = cpli_nomem(ctx);
  }
  if (st >= 0) *out = slot->pool;
  cpli_unlock(&joining);
  return st;
}

static void keep_counts(cpl_thread_stats* kept, const cpli_thread_pool* pool) {
  if (pool->n_threads + 1 > kept->threads) kept->threads = pool->n_threads + 1;
  kept->together += pool->together;
  kept->helped_s += pool->helped;
}

void cpli_thread_pool_leave(cpli_thread_pool* pool) {
  if (pool == NULL) return;
  cpli_context_threads* slot = cpli_context_slot(pool->ctx);
  cpli_lock(&joining);
  const bool last = --pool->users == 0;
  if (last && pool->shared) {
    slot->pool = NULL;
    keep_counts(&slot->ended, pool);
  }
  cpli_unlock(&joining);
  if (last) end(pool);
}

void cpl_context_thread_stats(cpl_context* ctx, cpl_thread_stats* out) {
  cpli_context_threads* slot = cpli_context_slot(ctx);
  cpli_lock(&joining);
  *out = slot->ended;
  if (slot->pool != NULL) {
    pthread_mutex_lock(&slot->pool->mutex);
    keep_counts(out, slot->pool);
    pthread_mutex_unlock(&slot->pool->mutex);
  }
  cpli_unlock(&joining);
  if (out->threads == 0) out->threads = 1;
}
