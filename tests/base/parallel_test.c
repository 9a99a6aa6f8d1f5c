// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tasks in several threads: the same results, failures and messages as in one.
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "testing.h"

enum { N = 40 };

typedef struct sheet {
  cpl_context* ctx;
  atomic_int done[N];
  int32_t retry[2], fail[2];  // tasks; -1: none
  bool talks;
  int32_t kept;  // a task of the caller's thread; -1: none
  pthread_t caller;
  atomic_int strangers;
} sheet;

static sheet empty(cpl_context* ctx) {
  return (sheet){
      .ctx = ctx, .retry = {-1, -1}, .fail = {-1, -1}, .kept = -1, .caller = pthread_self()};
}

static bool is_one_of(const int32_t list[2], int32_t i) { return list[0] == i || list[1] == i; }

static cpl_status task(void* user, int32_t i, int32_t worker) {
  sheet* s = user;
  (void)worker;
  for (volatile int k = 0; k < 500 * (i % 7); k++) {
  }
  atomic_fetch_add(&s->done[i], 1);
  if (i == s->kept && !pthread_equal(pthread_self(), s->caller)) atomic_fetch_add(&s->strangers, 1);
  if (s->talks) {
    cpl_log(s->ctx, CPL_LOG_WARNING, "task", "%02d begins", (int)i);
    cpl_log(s->ctx, CPL_LOG_WARNING, "task", "%02d ends", (int)i);
  }
  if (is_one_of(s->fail, i)) return cpl_fail(s->ctx, CPL_ERR_MODEL, "task %d failed", (int)i);
  if (is_one_of(s->retry, i)) return cpl_fail(s->ctx, CPL_RETRY, "task %d not here", (int)i);
  return CPL_OK;
}

static cpli_parallel* make(cpl_context* ctx, int32_t threads) {
  cpli_parallel* p = NULL;
  cpl_context_use_threads(ctx, threads);
  CHECK_OK(ctx, cpli_parallel_make(ctx, 100, N, &p));
  CHECK((p == NULL) == (threads == 1));
  return p;
}

static void all_tasks_are_executed(void** state) {
  for (int32_t threads = 1; threads <= 8; threads++) {
    cpli_parallel* p = make(*state, threads);
    CHECK_INT(cpli_parallel_workers(p), threads);
    for (int round = 0; round < 300; round++) {
      sheet s = empty(*state);
      CHECK_OK(*state, cpli_parallel_run(*state, p, N, task, &s));
      for (int i = 0; i < N; i++) CHECK_INT(atomic_load(&s.done[i]), 1);
    }
    cpli_parallel_destroy(p);
  }
}

// The first task in order, not in time; all tasks are executed after CPL_RETRY, and those before a
// failure.
static void the_first_failure_is_reported(void** state) {
  for (int32_t threads = 1; threads <= 8; threads++) {
    cpli_parallel* p = make(*state, threads);
    for (int round = 0; round < 100; round++) {
      sheet s = empty(*state);
      s.retry[0] = 30, s.retry[1] = 11;
      CHECK_INT(cpli_parallel_run(*state, p, N, task, &s), CPL_RETRY);
      assert_string_equal(cpl_context_error(*state), "task 11 not here");
      for (int i = 0; i < N; i++) CHECK_INT(atomic_load(&s.done[i]), 1);
      sheet f = empty(*state);
      f.retry[0] = 3, f.fail[0] = 29, f.fail[1] = 17;
      CHECK_INT(cpli_parallel_run(*state, p, N, task, &f), CPL_ERR_MODEL);
      assert_string_equal(cpl_context_error(*state), "task 17 failed");
      for (int i = 0; i < 17; i++) CHECK_INT(atomic_load(&f.done[i]), 1);
    }
    cpli_parallel_destroy(p);
  }
}

typedef struct heard {
  char text[16384];
  size_t n;
} heard;

static void hear(void* user, cpl_log_level level, const char* who, const char* text) {
  heard* h = user;
  (void)level;
  h->n += (size_t)snprintf(h->text + h->n, sizeof h->text - h->n, "%s: %s\n", who, text);
}

static void messages_are_in_the_order_of_tasks(void** state) {
  static heard first, h;
  (void)state;
  for (int32_t threads = 1; threads <= 8; threads++) {
    cpl_context_def def = cpl_default_context_def();
    def.log = hear;
    def.user = &h;
    cpl_context* ctx = cpl_context_create(&def);
    cpli_parallel* p = make(ctx, threads);
    for (int round = 0; round < 20; round++) {
      h = (heard){0};
      sheet s = empty(ctx);
      s.talks = true;
      CHECK_OK(ctx, cpli_parallel_run(ctx, p, N, task, &s));
      if (threads == 1) first = h;
      assert_string_equal(h.text, first.text);
    }
    cpli_parallel_destroy(p);
    cpl_context_destroy(ctx);
  }
}

static void some_tasks_stay_in_the_thread(void** state) {
  for (int32_t threads = 2; threads <= 4; threads++) {
    cpli_parallel* p = make(*state, threads);
    cpli_parallel_keep(p, 23);
    cpli_parallel_keep(p, 23);
    for (int round = 0; round < 200; round++) {
      sheet s = empty(*state);
      s.kept = 23;
      CHECK_OK(*state, cpli_parallel_run(*state, p, N, task, &s));
      for (int i = 0; i < N; i++) CHECK_INT(atomic_load(&s.done[i]), 1);
      CHECK_INT(atomic_load(&s.strangers), 0);
    }
    for (int32_t i = 0; i < N; i++) cpli_parallel_keep(p, i);
    sheet s = empty(*state);
    CHECK_OK(*state, cpli_parallel_run(*state, p, N, task, &s));
    cpli_parallel_destroy(p);
  }
}

// By itself: what is measured does not change what is executed. Long tasks and short ones.
static cpl_status long_task(void* user, int32_t i, int32_t worker) {
  for (volatile int k = 0; k < 100000; k++) {
  }
  return task(user, i, worker);
}

static void the_number_of_threads_is_found(void** state) {
  cpl_context_use_threads(*state, 0);
  for (int kind = 0; kind < 2; kind++) {
    cpli_parallel* p = NULL;
    CHECK_OK(*state, cpli_parallel_make(*state, 8, N, &p));
    for (int round = 0; round < (kind == 0 ? 9000 : 30); round++) {
      sheet s = empty(*state);
      s.retry[0] = round % 10 == 0 ? 5 : -1;
      const cpl_status st = cpli_parallel_run(*state, p, N, kind == 0 ? task : long_task, &s);
      CHECK_INT(st, round % 10 == 0 ? CPL_RETRY : CPL_OK);
      for (int i = 0; i < N; i++) CHECK_INT(atomic_load(&s.done[i]), 1);
    }
    cpli_parallel_destroy(p);
  }
}

static void nothing_leaks_without_memory(void** state) {
  (void)state;
  for (int fail_at = 0;; fail_at++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpli_parallel* p = NULL;
    cpl_context_use_threads(ctx, 3);
    heap.fail_at = heap.calls + fail_at;
    const cpl_status st = cpli_parallel_make(ctx, 3, N, &p);
    heap.fail_at = -1;
    if (st >= 0) {
      sheet s = empty(ctx);
      CHECK_OK(ctx, cpli_parallel_run(ctx, p, N, task, &s));
    }
    cpli_parallel_destroy(p);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st >= 0) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_tasks_are_executed),
      cmocka_unit_test(the_first_failure_is_reported),
      cmocka_unit_test(messages_are_in_the_order_of_tasks),
      cmocka_unit_test(some_tasks_stay_in_the_thread),
      cmocka_unit_test(the_number_of_threads_is_found),
      cmocka_unit_test(nothing_leaks_without_memory),
  };
  return cmocka_run_group_tests_name("base/parallel", tests, make_context, drop_context);
}
