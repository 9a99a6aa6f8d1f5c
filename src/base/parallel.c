// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The first rounds measure the tasks one by one. Where the longest chunk is so much shorter than
// the whole that threads could pay, some rounds are tried with threads, and the faster way is kept
// for a while. In FMUs, which have one thread, all rounds are plain loops.
#include "base/parallel.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#ifdef CPL_THREADS
#include <pthread.h>
#endif
#include <stdlib.h>

#include "base/error.h"
#include "base/log_queue.h"

//------------------------------------ one thread ------------------------------------

cpl_status cpli_parallel_finish(cpl_context* ctx, int32_t begin, int32_t n, cpli_task* task,
                                void* user, int32_t worker, cpl_status first) {
  cpl_status st = first;
  cpli_error latest = {0};
  cpli_error* outer = cpli_divert_errors(ctx, &latest);
  for (int32_t i = begin; i < n && st >= 0; i++) {
    const cpl_status one = task(user, i, worker);
    if (one < 0) st = one;
  }
  cpli_end_diversion(outer);
  if (st < 0) cpli_fail_again(ctx, &latest.data);
  cpli_error_clear(&latest, ctx);
  return st;
}

static cpl_status run_alone(cpl_context* ctx, int32_t n, cpli_task* task, void* user) {
  for (int32_t i = 0; i < n; i++) {
    const cpl_status st = task(user, i, 0);
    if (st < 0) return st;
    if (st != CPL_OK) return cpli_parallel_finish(ctx, i + 1, n, task, user, 0, st);
  }
  return CPL_OK;
}

#ifndef CPL_THREADS
int32_t cpli_parallel_threads(cpl_context* ctx) { return (void)ctx, 1; }

cpl_status cpli_parallel_make(cpl_context* ctx, int32_t most, int32_t n, cpli_task_kinds* kinds,
                              const void* user, cpli_parallel** out) {
  (void)ctx, (void)most, (void)n, (void)kinds, (void)user;
  *out = NULL;
  return CPL_OK;
}

void cpli_parallel_destroy(cpli_parallel* p) { (void)p; }
int32_t cpli_parallel_workers(const cpli_parallel* p) { return (void)p, 1; }
bool cpli_parallel_pays(const cpli_parallel* p) { return (void)p, false; }
void cpli_parallel_follow(cpli_parallel* p, const cpli_parallel* other) { (void)p, (void)other; }

cpl_status cpli_parallel_run(cpl_context* ctx, cpli_parallel* p, int32_t n, cpli_task* task,
                             void* user) {
  (void)p;
  return run_alone(ctx, n, task, user);
}

cpl_status cpli_overlap(cpl_context* ctx, int32_t n, cpli_task_kinds* kinds, cpli_task* task,
                        void* user) {
  (void)kinds;
  return run_alone(ctx, n, task, user);
}
#else

enum {
  MEASURED = 3,  // rounds
  TRIED = 5,
  KEPT = 4000,  // rounds until the next measurement
  CHUNKS = 4,   // per thread
};
static const double overhead = 3e-6;     // of a round in several threads [s]
static const double enough = 1e-3;       // of measured rounds, before threads are started [s]
static const double long_enough = 0.02;  // of one measured round [s]
static const double clearly = 0.95;      // ratio of times that counts as faster

typedef enum mode { MEASURE, TRY, TOGETHER, ALONE, FOLLOW } mode;

typedef struct chunk {
  int32_t first, end;  // tasks
  double cost;
} chunk;

struct cpli_parallel {
  cpl_context* ctx;
  int32_t n, workers;
  cpli_thread_pool* pool;
  bool forced;  // an explicit number of threads is always used
  mode mode;
  int32_t rounds;       // in this mode
  double spent;         // measured rounds [s]
  double alone, tried;  // the shortest round of each kind [s]
  double* cost;         // of each task [s]
  uint8_t* kind;        // of each task: cpli_task_kind; NULL: cpli_overlap() asks `kinds`
  cpli_task_kinds* kinds;
  int32_t n_stay, n_wait;
  chunk* chunks;  // those with the highest cost first
  int32_t n_chunks;
};

typedef struct pass {
  cpli_parallel* p;
  cpli_task* task;
  void* user;
  bool timed;
  pthread_mutex_t mutex;  // of the following
  int32_t failed;         // the first task with a failure; INT32_MAX: none
  int32_t retried;        // the first that is not CPL_OK
  cpl_status st, retry;
  cpli_error failure, hint;
  cpli_log_queue held;
} pass;

bool cpli_parallel_pays(const cpli_parallel* p) {
  return p != NULL && (p->forced || p->mode == TOGETHER);
}

int32_t cpli_parallel_threads(cpl_context* ctx) { return cpli_threads_of(ctx, 0, 1); }
int32_t cpli_parallel_workers(const cpli_parallel* p) { return p != NULL ? p->workers : 1; }

static cpl_status measure(cpli_parallel* p, cpli_task* task, void* user) {
  const double began = cpli_now();
  double since = began;
  for (int32_t i = 0; i < p->n; i++) {
    const cpl_status st = task(user, i, 0);
    if (st < 0) return st;
    if (st != CPL_OK) return cpli_parallel_finish(p->ctx, i + 1, p->n, task, user, 0, st);
    const double now = cpli_now();
    p->cost[i] = fmin(p->cost[i], now - since);
    since = now;
  }
  p->alone = fmin(p->alone, since - began);
  p->spent += since - began;
  if (since - began < long_enough) p->rounds++;
  else p->rounds = MEASURED;
  return CPL_OK;
}

//------------------------------------ chunks ------------------------------------

static int by_cost(const void* x, const void* y) {
  const chunk *a = x, *b = y;
  if (a->cost != b->cost) return a->cost > b->cost ? -1 : 1;
  return a->first < b->first ? -1 : a->first > b->first;
}

static void make_chunks(cpli_parallel* p) {
  double total = 0;
  for (int32_t i = 0; i < p->n; i++) total += p->kind[i] == CPLI_TASK_ANY ? p->cost[i] : 0;
  const double share = total / (CHUNKS * p->workers);
  p->n_chunks = 0;
  for (int32_t i = 0; i < p->n;) {
    chunk c = {.first = i};
    if (p->kind[i] != CPLI_TASK_ANY) {
      i++;
      continue;
    }
    do c.cost += p->cost[i++];
    while (i < p->n && p->kind[i] == CPLI_TASK_ANY && c.cost + p->cost[i] / 2 < share);
    c.end = i;
    p->chunks[p->n_chunks++] = c;
  }
  qsort(p->chunks, (size_t)p->n_chunks, sizeof *p->chunks, by_cost);
}

// The shortest possible round.
static double bound(const cpli_parallel* p) {
  double total = 0, kept = 0, longest = 0;
  for (int32_t i = 0; i < p->n; i++) {
    total += p->cost[i];
    if (p->kind[i] == CPLI_TASK_STAYS) kept += p->cost[i];
    else longest = fmax(longest, p->cost[i]);
  }
  return fmax(fmax(kept, longest), total / p->workers);
}

//------------------------------------ several threads ------------------------------------

// What one thread has found.
typedef struct share {
  pass* r;
  cpli_error latest;
  cpli_log_queue held;
} share;

static bool is_needed(const pass* r, int32_t task) { return task < CPLI_ATOMIC_LOAD(&r->failed); }

// The failure of the first task is kept.
static void note(share* mine, int32_t task, cpl_status st) {
  pass* r = mine->r;
  cpl_context* ctx = r->p->ctx;
  int32_t* first = st < 0 ? &r->failed : &r->retried;
  cpli_error* kept = st < 0 ? &r->failure : &r->hint;
  pthread_mutex_lock(&r->mutex);
  if (task < *first) {
    CPLI_ATOMIC_STORE(first, task);
    *(st < 0 ? &r->st : &r->retry) = st;
    if (mine->latest.data.status == st) cpli_error_set(kept, ctx, &mine->latest.data);
    else cpli_error_clear(kept, ctx);
  }
  pthread_mutex_unlock(&r->mutex);
}

static void execute(share* mine, int32_t task, int32_t worker) {
  mine->held.item = task;
  const cpl_status st = mine->r->task(mine->r->user, task, worker);
  if (st != CPL_OK) note(mine, task, st);
}

static void execute_chunk(share* mine, const chunk* c, int32_t worker) {
  const bool timed = mine->r->timed;
  double* cost = mine->r->p->cost;
  double since = timed ? cpli_now() : 0;
  for (int32_t i = c->first; i < c->end && is_needed(mine->r, i); i++) {
    execute(mine, i, worker);
    if (!timed) continue;
    const double now = cpli_now();
    cost[i] = fmin(cost[i], now - since);
    since = now;
  }
}

static void give_messages(share* mine) {
  pass* r = mine->r;
  if (mine->held.first == NULL) return;
  pthread_mutex_lock(&r->mutex);
  *(r->held.last != NULL ? &r->held.last->next : &r->held.first) = mine->held.first;
  r->held.last = mine->held.last;
  pthread_mutex_unlock(&r->mutex);
}

// A task that waits, in a fiber of the caller's thread.
static void work_in_fiber(void* user, int32_t task) {
  pass* r = user;
  cpl_context* ctx = r->p->ctx;
  share mine;  // its error is large, and set below
  mine.r = r;
  mine.latest.large = NULL;
  mine.held = (cpli_log_queue){.ctx = ctx, .item = task};
  cpli_error* errors = cpli_divert_errors(ctx, &mine.latest);
  cpli_log_queue* queue = cpli_queue_log(&mine.held);
  const cpl_status st = r->task(r->user, task, 0), sent = cpli_fiber_end_deferral();
  if (st != CPL_OK || sent != CPL_OK) note(&mine, task, st != CPL_OK ? st : sent);
  cpli_queue_log(queue);
  cpli_end_diversion(errors);
  cpli_free(ctx, mine.latest.large);
  give_messages(&mine);
}

static cpli_task_kind kind_of(const pass* r, int32_t task) {
  const cpli_parallel* p = r->p;
  return p->kind != NULL ? (cpli_task_kind)p->kind[task] : p->kinds(r->user, task);
}

static bool waits(cpli_task_kind kind) {
  return kind == CPLI_TASK_REMOTE || kind == CPLI_TASK_WAITS;
}

static void start_waiting(pass* r, cpli_fibers* waiting) {
  for (int32_t i = 0; i < r->p->n; i++) {
    const cpli_task_kind kind = kind_of(r, i);
    if (waits(kind) && is_needed(r, i)) cpli_fibers_start(waiting, i, kind == CPLI_TASK_REMOTE);
  }
  cpli_fibers_send(waiting);
}

// The next chunk, of a job or, without one, from *k on.
static int32_t next_chunk(const cpli_parallel* p, cpli_job* job, int32_t* k) {
  if (job != NULL) return cpli_job_next(job);
  return *k < p->n_chunks ? (*k)++ : -1;
}

// Tasks that wait begin first, and go on between the others.
static void work(void* user, cpli_job* job, int32_t worker) {
  pass* r = user;
  const cpli_parallel* p = r->p;
  share mine = {.r = r, .latest = {.large = NULL}, .held = {.ctx = p->ctx}};
  cpli_error* errors = cpli_divert_errors(p->ctx, &mine.latest);
  cpli_log_queue* queue = cpli_queue_log(&mine.held);
  cpli_fibers waiting = {.ctx = p->ctx, .work = work_in_fiber, .user = r};
  int32_t chunks = 0;
  if (worker == 0 && p->n_wait > 0) start_waiting(r, &waiting);
  for (int32_t i = 0; i < p->n && worker == 0 && p->n_stay > 0; i++) {
    const cpli_task_kind kind = kind_of(r, i);
    const bool here = kind == CPLI_TASK_STAYS || (kind == CPLI_TASK_ANY && p->chunks == NULL);
    if (here && is_needed(r, i)) execute(&mine, i, worker);
  }
  for (int32_t k = next_chunk(p, job, &chunks); k >= 0; k = next_chunk(p, job, &chunks)) {
    if (k < p->n_chunks) execute_chunk(&mine, &p->chunks[k], worker);
    cpli_fibers_look(&waiting);
  }
  cpli_fibers_finish(&waiting);
  cpli_queue_log(queue);
  cpli_end_diversion(errors);
  cpli_error_clear(&mine.latest, p->ctx);
  give_messages(&mine);
}

static int by_item(const void* x, const void* y) {
  const cpli_held_message *a = *(cpli_held_message*const*)x, *b = *(cpli_held_message*const*)y;
  return a->item < b->item ? -1 : a->item > b->item;
}

static void log_one(cpl_context* ctx, cpli_held_message* m) {
  cpli_log_text(ctx, m->level, m->texts, m->texts + strlen(m->texts) + 1);
  cpli_free(ctx, m);
}

// Messages of one task follow each other, in order; without memory all are logged as they are.
static void log_messages(cpl_context* ctx, cpli_held_message* all) {
  size_t n = 0, n_runs = 0;
  for (const cpli_held_message* m = all; m != NULL; m = m->next) n++;
  if (n == 0) return;
  cpli_held_message** runs = cpli_alloc(ctx, n, sizeof *runs);
  for (cpli_held_message *m = all, *next; m != NULL; m = next) {
    cpli_held_message* last = m;
    while (runs != NULL && last->next != NULL && last->next->item == m->item) last = last->next;
    next = last->next;
    last->next = NULL;
    if (runs != NULL) runs[n_runs++] = m;
    else log_one(ctx, m);
  }
  if (runs != NULL) qsort(runs, n_runs, sizeof *runs, by_item);
  for (size_t i = 0; i < n_runs; i++) {
    for (cpli_held_message *m = runs[i], *next; m != NULL; m = next) {
      next = m->next;
      log_one(ctx, m);
    }
  }
  cpli_free(ctx, runs);
}

// Tasks that stay are no items: the caller executes them first.
static cpl_status run_together(cpli_parallel* p, cpli_task* task, void* user, bool timed) {
  pass r;
  r.p = p, r.task = task, r.user = user, r.timed = timed;
  r.failed = r.retried = INT32_MAX;
  r.held = (cpli_log_queue){.ctx = p->ctx};
  r.failure.large = r.hint.large = NULL;
  pthread_mutex_init(&r.mutex, NULL);
  const bool alone = p->pool == NULL || (p->n_wait > 0 && !p->forced);
  const int32_t n = p->n_chunks + (p->n_stay + p->n_wait > 0);
  if (alone) work(&r, NULL, 0);
  else cpli_thread_pool_run(p->pool, p->workers, n, work, &r);
  pthread_mutex_destroy(&r.mutex);
  log_messages(p->ctx, r.held.first);
  const bool failed = r.failed < INT32_MAX, retried = r.retried < INT32_MAX;
  const cpli_error* why = failed ? &r.failure : &r.hint;
  if ((failed || retried) && why->data.status != CPL_OK) cpli_fail_again(p->ctx, &why->data);
  cpli_free(p->ctx, r.failure.large);
  cpli_free(p->ctx, r.hint.large);
  return failed ? r.st : retried ? r.retry : CPL_OK;
}

//------------------------------------ what pays ------------------------------------

static void change(cpli_parallel* p, mode to) {
  p->mode = to;
  p->rounds = 0;
}

static void begin_measuring(cpli_parallel* p) {
  for (int32_t i = 0; i < p->n; i++) p->cost[i] = DBL_MAX;
  p->alone = p->tried = INFINITY;
  change(p, MEASURE);
}

static void after_measuring(cpli_parallel* p) {
  if (p->rounds < MEASURED) return;
  const bool hopeless = !(p->alone - bound(p) > overhead);
  if (!hopeless && p->spent < enough) return;
  if (!hopeless) make_chunks(p);
  change(p, hopeless ? ALONE : TRY);
}

static cpl_status try_round(cpli_parallel* p, cpli_task* task, void* user) {
  const double since = cpli_now();
  const cpl_status st = run_together(p, task, user, false);
  p->tried = fmin(p->tried, cpli_now() - since);
  if (p->rounds >= TRIED) change(p, p->tried < clearly * p->alone ? TOGETHER : ALONE);
  return st;
}

// Without a measurement before, chunks follow times that are measured on the way.
static cpl_status run_timed(cpli_parallel* p, cpli_task* task, void* user) {
  if (p->rounds <= MEASURED) p->rounds++;
  const cpl_status st = run_together(p, task, user, p->rounds <= MEASURED);
  if (p->rounds == MEASURED) make_chunks(p);
  return st;
}

void cpli_parallel_follow(cpli_parallel* p, const cpli_parallel* other) {
  if (p == NULL || other == NULL || p->mode != MEASURE) return;
  if (other->mode == TOGETHER) change(p, FOLLOW);
}

cpl_status cpli_parallel_run(cpl_context* ctx, cpli_parallel* p, int32_t n, cpli_task* task,
                             void* user) {
  if (p == NULL || (p->n_wait == 0 && (p->n_stay == n || n < 2)))
    return run_alone(ctx, n, task, user);
  assert(n == p->n);
  if (p->n_wait > 0) return run_timed(p, task, user);
  if (p->mode == MEASURE) {
    const cpl_status st = measure(p, task, user);
    if (st >= 0) after_measuring(p);
    return st;
  }
  if (p->mode == FOLLOW) return run_timed(p, task, user);
  p->rounds++;
  if (p->mode == TRY) return try_round(p, task, user);
  const cpl_status st =
      p->mode == TOGETHER ? run_together(p, task, user, false) : run_alone(ctx, n, task, user);
  if (p->rounds >= KEPT) begin_measuring(p);
  return st;
}

cpl_status cpli_overlap(cpl_context* ctx, int32_t n, cpli_task_kinds* kinds, cpli_task* task,
                        void* user) {
  cpli_parallel p = {.ctx = ctx, .n = n, .kinds = kinds, .n_stay = n, .n_wait = n};
  return n > 0 ? run_together(&p, task, user, false) : CPL_OK;
}

//------------------------------------ life ------------------------------------

// First as if all tasks cost the same.
static void begin(cpli_parallel* p) {
  for (int32_t i = 0; i < p->n; i++) p->cost[i] = 1;
  make_chunks(p);
  begin_measuring(p);
  if (p->forced) change(p, FOLLOW);
}

static cpl_status allocate(cpli_parallel* p, cpli_task_kinds* kinds, const void* user) {
  const size_t n = (size_t)p->n;
  p->cost = cpli_alloc(p->ctx, n, sizeof *p->cost);
  p->kind = cpli_alloc(p->ctx, n, sizeof *p->kind);
  p->chunks = cpli_alloc(p->ctx, n, sizeof *p->chunks);
  if (p->cost == NULL || p->kind == NULL || p->chunks == NULL) return cpli_nomem(p->ctx);
  int32_t n_wait = 0;
  for (int32_t i = 0; i < p->n && kinds != NULL; i++) {
    p->kind[i] = (uint8_t)kinds(user, i);
    p->n_stay += p->kind[i] == CPLI_TASK_STAYS;
    n_wait += waits((cpli_task_kind)p->kind[i]);
  }
  begin(p);
  cpl_status st = n_wait > 0 ? cpli_stacks_join(p->ctx, n_wait) : CPL_OK;
  if (st >= 0) p->n_wait = n_wait;
  return st < 0 || p->workers < 2 ? st : cpli_thread_pool_join(p->ctx, p->workers, &p->pool);
}

static bool any_waits(cpli_task_kinds* kinds, const void* user, int32_t n) {
  for (int32_t i = 0; i < n && kinds != NULL; i++) {
    if (waits(kinds(user, i))) return true;
  }
  return false;
}

cpl_status cpli_parallel_make(cpl_context* ctx, int32_t most, int32_t n, cpli_task_kinds* kinds,
                              const void* user, cpli_parallel** out) {
  int32_t workers = cpli_parallel_threads(ctx);
  *out = NULL;
  if (workers > most) workers = most;
  if (workers > n) workers = n;
  if (workers < 2 && !any_waits(kinds, user, n)) return CPL_OK;
  cpli_parallel* p = cpli_alloc(ctx, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(ctx);
  p->ctx = ctx;
  p->n = n;
  p->workers = workers;
  p->forced = workers > 1 && cpli_context_slot(ctx)->threads > 1;
  const cpl_status st = allocate(p, kinds, user);
  if (st < 0) cpli_parallel_destroy(p);
  else *out = p;
  return st;
}

void cpli_parallel_destroy(cpli_parallel* p) {
  if (p == NULL) return;
  cpli_thread_pool_leave(p->pool);
  if (p->n_wait > 0) cpli_stacks_leave(p->ctx, p->n_wait);
  cpli_free(p->ctx, p->cost);
  cpli_free(p->ctx, p->kind);
  cpli_free(p->ctx, p->chunks);
  cpli_free(p->ctx, p);
}
#endif
