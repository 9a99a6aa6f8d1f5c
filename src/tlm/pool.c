// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Schedules parts. Any part whose waves are there may advance; which thread steps it, and in what
// order, does not change the result. The part with the smallest time can always advance.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/thread_pool.h"
#include "tlm/tlm.h"

typedef struct cpli_pool {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  double until;
  int32_t running;
  int32_t asleep;
  atomic_uint news;  // counts published intervals
  bool failed;
  double cost;  // of an interval, as measured recently [s]
  int32_t threads;
  bool always;    // an explicit number of threads is used without measuring
  bool overlaps;  // parts call models of other processes: in one thread they overlap
} cpli_pool;

cpl_status cpli_pool_create(cpli_tlm* m) {
  cpl_context* ctx = m->base.base.ctx;
  cpli_pool* pool = cpli_alloc(ctx, 1, sizeof *pool);
  m->errors = cpli_alloc(ctx, (size_t)m->n_parts, sizeof *m->errors);
  if (pool == NULL || m->errors == NULL) {
    cpli_free(ctx, pool);
    return cpli_nomem(ctx);
  }
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->changed, NULL);
  m->pool = pool;
  pool->threads = cpli_threads_of(ctx, m->def.threads, 0);
  pool->always = m->def.threads > 1 || cpli_context_slot(ctx)->threads > 1 || m->def.processes;
  if (pool->threads > m->n_parts || m->def.processes) pool->threads = m->n_parts;
  for (int32_t i = 0; i < m->n_parts && !m->def.processes; i++)
    pool->overlaps = pool->overlaps || m->parts[i].s->base.can.remote > 0;
  if (pool->overlaps && cpli_stacks_join(ctx, m->n_parts) < 0) {
    pool->overlaps = false;
    return CPL_ERR_NOMEM;
  }
  if (pool->threads < 2) return CPL_OK;
  return m->def.processes ? cpli_thread_pool_create(ctx, pool->threads, &m->threads)
                          : cpli_thread_pool_join(ctx, pool->threads, &m->threads);
}

void cpli_pool_destroy(cpli_tlm* m) {
  cpl_context* ctx = m->base.base.ctx;
  cpli_thread_pool_leave(m->threads);
  if (m->pool != NULL && m->pool->overlaps) cpli_stacks_leave(ctx, m->n_parts);
  if (m->pool != NULL) {
    pthread_cond_destroy(&m->pool->changed);
    pthread_mutex_destroy(&m->pool->mutex);
  }
  cpli_free(ctx, m->pool);
  for (int32_t i = 0; m->errors != NULL && i < m->n_parts; i++)
    cpli_error_clear(&m->errors[i], ctx);
  cpli_free(ctx, m->errors);
}

// The part with the smallest time of those that can advance; NULL: none.
static cpli_tlm_part* next_part(cpli_tlm* m, double until, int32_t worker) {
  cpli_tlm_part* best = NULL;
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpli_tlm_part* p = &m->parts[i];
    if (worker > 0 && p->s->base.can.own_thread && !p->out_of_process) continue;
    if (p->busy || (best != NULL && p->t >= best->t)) continue;
    if (!cpli_part_done(m, p, until) && cpli_part_ready(m, p, until)) best = p;
  }
  return best;
}

static void keep_message(cpli_tlm* m, cpli_tlm_part* p, cpl_status st) {
  p->st = st;
  m->pool->failed = m->pool->failed || st < 0;
}

bool cpli_tlm_cancelled(const cpli_tlm* m) { return cpli_cancelled(m->base.base.ctx); }

static bool is_running(const cpli_tlm* m) { return !m->pool->failed && !cpli_tlm_cancelled(m); }

static void run_alone(cpli_tlm* m, double until) {
  for (cpli_tlm_part* p; is_running(m) && (p = next_part(m, until, 0)) != NULL;) {
    cpl_status st = cpli_part_begin(m, p, until);
    if (st >= 0) st = cpli_part_step(m, p, until);
    if (st >= 0) st = cpli_part_publish(m, p);
    if (st < 0) keep_message(m, p, st);
  }
}

// One interval, which ends when the answers of other processes are there.
static void advance_waiting(void* user, int32_t part) {
  cpli_tlm* m = user;
  cpli_tlm_part* p = &m->parts[part];
  const double until = m->pool->until;
  cpli_error* before = cpli_divert_errors(m->base.base.ctx, &m->errors[part]);
  p->busy = true;
  cpl_status st = cpli_part_begin(m, p, until);
  if (st >= 0) st = cpli_part_step(m, p, until);
  if (st >= 0) st = cpli_part_publish(m, p);
  p->busy = false;
  if (st < 0) keep_message(m, p, st);
  cpli_end_diversion(before);
}

// In one thread, where parts wait for models of other processes: meanwhile any other part advances
// whose waves are there.
static void run_overlapping(cpli_tlm* m, double until) {
  cpli_fibers waiting = {.ctx = m->base.base.ctx, .work = advance_waiting, .user = m};
  for (;;) {
    for (cpli_tlm_part* p; is_running(m) && (p = next_part(m, until, 0)) != NULL;)
      cpli_fibers_start(&waiting, (int32_t)(p - m->parts), false);
    if (waiting.first == NULL) return;
    cpli_fibers_wait(&waiting);
    cpli_fibers_go_on(&waiting);
  }
}

// Waits until an interval is published. It usually comes soon: spinning costs less than blocking.
static void await_news(cpli_pool* pool) {
  static const double spin_time = 30e-6;
  unsigned seen = atomic_load(&pool->news);
  pthread_mutex_unlock(&pool->mutex);
  double until = cpli_now() + spin_time;
  do {
    for (int i = 0; i < 32 && atomic_load(&pool->news) == seen; i++) cpli_relax();
  } while (atomic_load(&pool->news) == seen && cpli_now() < until);
  pthread_mutex_lock(&pool->mutex);
  if (atomic_load(&pool->news) != seen) return;
  pool->asleep++;
  pthread_cond_wait(&pool->changed, &pool->mutex);
  pool->asleep--;
}

static void publish(cpli_pool* pool) {
  atomic_fetch_add(&pool->news, 1);
  if (pool->asleep > 0) pthread_cond_broadcast(&pool->changed);
}

static void run_threads(void* user, cpli_job* job, int32_t worker) {
  cpli_tlm* m = user;
  cpli_pool* pool = m->pool;
  (void)job;  // parts are taken from the list of those that are ready
  pthread_mutex_lock(&pool->mutex);
  while (is_running(m)) {
    cpli_tlm_part* p = next_part(m, pool->until, worker);
    if (p == NULL && pool->running == 0) break;
    if (p == NULL) {
      await_news(pool);
      continue;
    }
    cpli_error* before = cpli_divert_errors(m->base.base.ctx, &m->errors[p - m->parts]);
    assert(!p->busy && pool->running < m->n_parts);
    p->busy = true;
    pool->running++;
    cpl_status st = cpli_part_begin(m, p, pool->until);
    pthread_mutex_unlock(&pool->mutex);
    if (st >= 0) st = cpli_part_step(m, p, pool->until);
    pthread_mutex_lock(&pool->mutex);
    if (st >= 0) st = cpli_part_publish(m, p);
    assert(p->busy && pool->running > 0);
    pool->running--;
    p->busy = false;
    if (st < 0) keep_message(m, p, st);
    cpli_end_diversion(before);
    publish(pool);
  }
  pthread_mutex_unlock(&pool->mutex);
}

// A thread here serves each process, because they wait for each other.
static void serve_some(cpli_tlm* m, int32_t worker) {
  int32_t part = 0, n = m->pool->threads;
  cpl_context* ctx = m->base.base.ctx;
  cpli_error error = {0};
  cpli_error* before = cpli_divert_errors(ctx, &error);
  cpl_status st = cpli_processes_run(m, worker, n, m->pool->until, &part);
  cpli_end_diversion(before);
  if (st < 0) {
    pthread_mutex_lock(&m->pool->mutex);
    cpli_error_set(&m->errors[part], ctx, &error.data);
    m->pool->failed = true;
    pthread_mutex_unlock(&m->pool->mutex);
  }
  cpli_error_clear(&error, ctx);
}

static void serve_processes(void* user, cpli_job* job, int32_t worker) {
  (void)worker;
  for (int32_t i = cpli_job_next(job); i >= 0; i = cpli_job_next(job)) serve_some(user, i);
}

// Reports the first failure in order of parts, not the first in time.
static cpl_status outcome(cpli_tlm* m, bool together) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    if (m->parts[i].st >= 0) continue;
    if (together) cpli_fail_again(m->base.base.ctx, &m->errors[i].data);
    return m->parts[i].st;
  }
  return CPL_OK;
}

// The time of the part that is farthest behind.
static cpl_status interrupted(const cpli_tlm* m) {
  double t = m->parts[0].t;
  for (int32_t i = 1; i < m->n_parts; i++) t = m->parts[i].t < t ? m->parts[i].t : t;
  return cpli_interrupted(m->base.base.ctx, m->name, t);
}

static int64_t count_intervals(const cpli_tlm* m) {
  int64_t n = 0;
  for (int32_t i = 0; i < m->n_parts; i++) n += m->parts[i].n_pieces;
  return n;
}

// Threads pay when an interval costs more than waking them; an explicit number is always used.
cpl_status cpli_pool_run(cpli_tlm* m, double until) {
  static const double worth_it = 20e-6;
  cpli_pool* pool = m->pool;
  bool together = m->threads != NULL && (pool->cost > worth_it || pool->always);
  int32_t threads = 1;
  int64_t before = count_intervals(m);
  double since = cpli_now();
  pool->until = until;
  pool->failed = outcome(m, false) < 0;
  if (together && m->common != NULL) {
    pool->threads = cpli_thread_pool_start(m->threads, pool->threads);
    cpli_thread_pool_run(m->threads, pool->threads, pool->threads, serve_processes, m);
  } else if (together) {
    threads = cpli_thread_pool_run(m->threads, pool->threads, pool->threads, run_threads, m);
  } else if (pool->overlaps) run_overlapping(m, until);
  else run_alone(m, until);
  int64_t intervals = count_intervals(m) - before;
  if (intervals > 0) {
    double cost = (cpli_now() - since) / (double)intervals * threads;
    pool->cost = pool->cost > 0 ? pool->cost + 0.2 * (cost - pool->cost) : cost;
  }
  cpl_status st = outcome(m, together || pool->overlaps);
  return (st >= 0 || st == CPL_ERR_CANCELLED) && cpli_tlm_cancelled(m) ? interrupted(m) : st;
}
