// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "base/thread_pool.h"

#include <fenv.h>
#include <math.h>
#include <stdatomic.h>

#include "testing.h"

enum { N = 64 };

typedef struct sheet {
  atomic_int done[N];
  double result[N];
} sheet;

static double compute(int32_t i) {
  double x = i;
  for (int k = 0; k < 1000; k++) x = sqrt(x + k);
  return x;
}

static void work(void* user, cpli_job* job, int32_t worker) {
  sheet* s = user;
  (void)worker;
  for (int32_t i = cpli_job_next(job); i >= 0; i = cpli_job_next(job)) {
    s->result[i] = compute(i);
    atomic_fetch_add(&s->done[i], 1);
  }
}

static void every_item_is_done_once(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  for (int32_t threads = 1; threads <= 5; threads++) {
    cpli_thread_pool* pool = NULL;
    CHECK_OK(ctx, cpli_thread_pool_create(ctx, threads, &pool));
    for (int32_t n = 0; n <= N; n += 7) {
      sheet s = {0};
      int32_t took_part = cpli_thread_pool_run(pool, threads, n, work, &s);
      CHECK(took_part >= 1 && took_part <= threads);
      for (int32_t i = 0; i < N; i++) {
        CHECK_INT(atomic_load(&s.done[i]), i < n);
        if (i < n) CHECK(s.result[i] == compute(i));
      }
    }
    cpli_thread_pool_leave(pool);
  }
  cpli_thread_pool_leave(NULL);
  cpl_context_destroy(ctx);
}

// Items wait until as many threads as items are there.
typedef struct meeting {
  atomic_int there, workers;
  int32_t n;
} meeting;

static void meet(void* user, cpli_job* job, int32_t worker) {
  meeting* m = user;
  if (cpli_job_next(job) < 0) return;
  atomic_fetch_or(&m->workers, 1 << worker);
  atomic_fetch_add(&m->there, 1);
  while (atomic_load(&m->there) < m->n) cpli_relax();
}

static void threads_work_at_the_same_time(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_thread_pool* pool = NULL;
  CHECK_OK(ctx, cpli_thread_pool_create(ctx, 4, &pool));
  CHECK_INT(cpli_thread_pool_start(pool, 4), 4);
  for (int round = 0; round < 50; round++) {
    meeting m = {.n = 4};
    CHECK_INT(cpli_thread_pool_run(pool, 4, 4, meet, &m), 4);
    CHECK_INT(atomic_load(&m.workers), 15);  // each has a number of its own
  }
  cpli_thread_pool_leave(pool);
  cpl_context_destroy(ctx);
}

typedef struct nest {
  cpli_thread_pool* pool;
  sheet sheets[8];
  int32_t depth[8];
} nest;

static void inner(void* user, cpli_job* job, int32_t worker) { work(user, job, worker); }

static void outer(void* user, cpli_job* job, int32_t worker) {
  nest* n = user;
  (void)worker;
  for (int32_t i = cpli_job_next(job); i >= 0; i = cpli_job_next(job))
    cpli_thread_pool_run(n->pool, 4, N, inner, &n->sheets[i]);
}

static void jobs_may_be_nested(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  for (int32_t threads = 1; threads <= 4; threads++) {
    cpl_context_use_threads(ctx, threads);
    static nest n;
    n = (nest){0};
    CHECK_OK(ctx, cpli_thread_pool_join(ctx, threads, &n.pool));
    for (int round = 0; round < 20; round++) {
      memset(n.sheets, 0, sizeof n.sheets);
      cpli_thread_pool_run(n.pool, threads, 8, outer, &n);
      for (int k = 0; k < 8; k++)
        for (int i = 0; i < N; i++) CHECK_INT(atomic_load(&n.sheets[k].done[i]), 1);
    }
    cpl_thread_stats stats;
    cpl_context_thread_stats(ctx, &stats);
    CHECK(stats.threads <= 4);  // those of all jobs together
    cpli_thread_pool_leave(n.pool);
  }
  cpl_context_destroy(ctx);
}

static void a_context_has_one_pool(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_thread_pool *one = NULL, *other = NULL, *own = NULL;
  CHECK_OK(ctx, cpli_thread_pool_join(ctx, 2, &one));
  CHECK_OK(ctx, cpli_thread_pool_join(ctx, 3, &other));
  CHECK_OK(ctx, cpli_thread_pool_create(ctx, 3, &own));
  CHECK(one == other && own != one);
  CHECK_INT(cpli_thread_pool_start(one, 5), 3);  // no more than anyone asked for
  cpli_thread_pool_leave(one);
  meeting m = {.n = 3};
  CHECK_INT(cpli_thread_pool_run(other, 3, 3, meet, &m), 3);
  cpli_thread_pool_leave(other);
  cpli_thread_pool_leave(own);
  cpl_thread_stats stats;
  cpl_context_thread_stats(ctx, &stats);
  CHECK_INT(stats.threads, 3);
  CHECK_INT(stats.together, 1);
  cpl_context_destroy(ctx);
}

static void numbers_of_threads(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  CHECK_INT(cpli_threads_of(ctx, 0, 1), 1);  // nothing was said
  CHECK(cpli_threads_of(ctx, 0, 0) >= 1);
  CHECK_INT(cpli_threads_of(ctx, 5, 1), 5);
  cpl_context_use_threads(ctx, 3);
  CHECK_INT(cpli_threads_of(ctx, 0, 1), 3);
  CHECK_INT(cpli_threads_of(ctx, 2, 1), 2);
  cpl_context_use_threads(ctx, 0);
  CHECK_INT(cpli_threads_of(ctx, 0, 1), cpli_threads_of(ctx, 0, 0));
  cpl_context_destroy(ctx);
}

// The quotients differ in the last bit.
static void divide(void* user, cpli_job* job, int32_t worker) {
  double* out = user;
  (void)worker;
  for (int32_t i = cpli_job_next(job); i >= 0; i = cpli_job_next(job)) {
    volatile double one = 1, three = 3 + 2 * i;
    out[i] = one / three;
  }
}

static void threads_round_as_the_caller(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_thread_pool* pool = NULL;
  CHECK_OK(ctx, cpli_thread_pool_create(ctx, 4, &pool));
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TONEAREST};
  for (int k = 0; k < 4; k++) {
    double many[1000], alone[1000];
    fesetround(modes[k]);
    cpli_thread_pool_run(pool, 1, 1000, divide, alone);
    cpli_thread_pool_run(pool, 4, 1000, divide, many);
    fesetround(FE_TONEAREST);
    for (int i = 0; i < 1000; i++) CHECK(many[i] == alone[i]);
  }
  cpli_thread_pool_leave(pool);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_item_is_done_once), cmocka_unit_test(threads_work_at_the_same_time),
      cmocka_unit_test(jobs_may_be_nested),      cmocka_unit_test(a_context_has_one_pool),
      cmocka_unit_test(numbers_of_threads),      cmocka_unit_test(threads_round_as_the_caller),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
