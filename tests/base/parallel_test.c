// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tasks in several threads: the same results, failures and messages as in one.
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/fiber.h"

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
  CHECK_OK(ctx, cpli_parallel_make(ctx, 100, N, NULL, NULL, &p));
  CHECK((p == NULL) == (threads == 1));
  return p;
}

// The kinds of N tasks.
static cpli_task_kind kind_of(const void* user, int32_t i) {
  return ((const cpli_task_kind*)user)[i];
}

static cpli_parallel* make_with(cpl_context* ctx, int32_t threads, const cpli_task_kind* kinds) {
  cpli_parallel* p = NULL;
  cpl_context_use_threads(ctx, threads);
  CHECK_OK(ctx, cpli_parallel_make(ctx, 100, N, kind_of, kinds, &p));
  CHECK(p != NULL);
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
    cpli_task_kind kinds[N] = {[23] = CPLI_TASK_STAYS};
    cpli_parallel* p = make_with(*state, threads, kinds);
    for (int round = 0; round < 200; round++) {
      sheet s = empty(*state);
      s.kept = 23;
      CHECK_OK(*state, cpli_parallel_run(*state, p, N, task, &s));
      for (int i = 0; i < N; i++) CHECK_INT(atomic_load(&s.done[i]), 1);
      CHECK_INT(atomic_load(&s.strangers), 0);
    }
    cpli_parallel_destroy(p);
    for (int32_t i = 0; i < N; i++) kinds[i] = CPLI_TASK_STAYS;
    p = make_with(*state, threads, kinds);
    sheet s = empty(*state);
    CHECK_OK(*state, cpli_parallel_run(*state, p, N, task, &s));
    cpli_parallel_destroy(p);
  }
}

//------------------------------------ tasks that wait ------------------------------------

static bool all_have_begun(const void* user) {
  const sheet* s = user;
  int n = 0;
  for (int i = 0; i < N; i++) n += atomic_load(&s->done[i]) > 0;
  return n == N;
}

// Waits until all others have begun, too: without overlap it would never end.
static cpl_status meeting_task(void* user, int32_t i, int32_t worker) {
  sheet* s = user;
  if (s->talks) cpl_log(s->ctx, CPL_LOG_WARNING, "task", "%02d waits", (int)i);
  const cpl_status st = task(user, i, worker);
  while (cpli_in_fiber() && !cpli_fiber_wait(all_have_begun, s, 1e-3)) {
  }
  if (s->talks) cpl_log(s->ctx, CPL_LOG_WARNING, "task", "%02d has met all others", (int)i);
  if (st != CPL_OK) CHECK_INT(cpl_context_last_error(s->ctx)->status, st);
  return st;
}

static void waiting_tasks_overlap(void** state) {
  for (int32_t threads = 1; threads <= 3; threads++) {
    cpli_task_kind kinds[N];
    for (int i = 0; i < N; i++) kinds[i] = i % 3 == 0 ? CPLI_TASK_WAITS : CPLI_TASK_REMOTE;
    kinds[3] = CPLI_TASK_ANY, kinds[N - 1] = CPLI_TASK_ANY, kinds[7] = CPLI_TASK_STAYS;
    cpli_parallel* p = make_with(*state, threads, kinds);
    for (int round = 0; round < 100; round++) {
      sheet s = empty(*state);
      CHECK_OK(*state, cpli_parallel_run(*state, p, N, meeting_task, &s));
      for (int i = 0; i < N; i++) CHECK_INT(atomic_load(&s.done[i]), 1);
      s = empty(*state);
      s.retry[0] = 30, s.retry[1] = 11;
      CHECK_INT(cpli_parallel_run(*state, p, N, meeting_task, &s), CPL_RETRY);
      assert_string_equal(cpl_context_error(*state), "task 11 not here");
      s = empty(*state);
      s.retry[0] = 3, s.fail[0] = N - 1, s.fail[1] = N - 2;
      CHECK_INT(cpli_parallel_run(*state, p, N, meeting_task, &s), CPL_ERR_MODEL);
      assert_string_equal(cpl_context_error(*state), "task 38 failed");
    }
    cpli_parallel_destroy(p);
  }
}

static void messages_of_waiting_tasks_are_in_order(void** state) {
  static heard first, h;
  (void)state;
  cpl_context_def def = cpl_default_context_def();
  def.log = hear;
  def.user = &h;
  for (int32_t threads = 1; threads <= 3; threads++) {
    cpl_context* ctx = cpl_context_create(&def);
    cpli_task_kind kinds[N];
    for (int i = 0; i < N; i++) kinds[i] = CPLI_TASK_REMOTE;
    kinds[9] = kinds[20] = threads > 1 ? CPLI_TASK_ANY : CPLI_TASK_REMOTE;
    cpli_parallel* p = make_with(ctx, threads, kinds);
    h = (heard){0};
    sheet s = empty(ctx);
    s.talks = true;
    CHECK_OK(ctx, cpli_parallel_run(ctx, p, N, meeting_task, &s));
    if (threads == 1) first = h;
    assert_string_equal(h.text, first.text);
    CHECK(strstr(h.text, "task: 00 waits\ntask: 00 begins\ntask: 00 ends\ntask: 00 has met") !=
          NULL);
    cpli_parallel_destroy(p);
    cpl_context_destroy(ctx);
  }
}

typedef struct deferred {
  cpl_context* ctx;
  int calls[N], sent[N];
  int32_t item[N];  // its number, for send()
} deferred;

static cpl_status send_deferred(void* arg) {
  const int32_t* item = arg;
  deferred* d = (deferred*)(void*)((char*)(item - *item) - offsetof(deferred, item));
  d->sent[*item]++;
  return *item == 5 ? cpl_fail(d->ctx, CPL_RETRY, "task 5, late") : CPL_OK;
}

static cpl_status deferring_task(void* user, int32_t i, int32_t worker) {
  deferred* d = user;
  (void)worker;
  d->item[i] = i;
  d->calls[i]++;
  CHECK(cpli_fiber_defers() == (i % 2 == 1));
  if (cpli_fiber_defers()) cpli_fiber_defer(send_deferred, &d->item[i]);
  if (i == 7) cpli_fiber_defer(NULL, NULL);
  return CPL_OK;
}

static void deferred_calls_are_sent_at_the_end(void** state) {
  cpli_task_kind kinds[N];
  for (int i = 0; i < N; i++) kinds[i] = i % 2 == 1 ? CPLI_TASK_REMOTE : CPLI_TASK_WAITS;
  kinds[0] = CPLI_TASK_ANY;
  cpli_parallel* p = make_with(*state, 1, kinds);
  deferred d = {.ctx = *state};
  CHECK_INT(cpli_parallel_run(*state, p, N, deferring_task, &d), CPL_RETRY);
  assert_string_equal(cpl_context_error(*state), "task 5, late");
  for (int i = 0; i < N; i++) CHECK_INT(d.sent[i], i % 2 == 1 && i != 7);
  for (int i = 0; i < N; i++) CHECK_INT(d.calls[i], 1);
  cpli_parallel_destroy(p);
}

// Groups within items of groups, to some depth.
typedef struct nest {
  cpl_context* ctx;
  int depth, done;
} nest;

static bool at_once(const void* user) { return (void)user, true; }

static void nested_item(void* user, int32_t i) {
  nest* n = user;
  (void)i;
  CHECK(cpli_in_fiber());
  cpli_fiber_wait(at_once, NULL, 1);
  if (n->depth < 3) {
    nest inner = {n->ctx, n->depth + 1, 0};
    cpli_fibers_run(n->ctx, 4, nested_item, &inner);
    n->done += inner.done;
  }
  cpli_fiber_wait(at_once, NULL, 1);
  n->done++;
}

// There are fewer stacks than items at the same time: some begin when others have ended, and where
// none is left, an item runs on the stack of the one that began it.
static void groups_nest(void** state) {
  nest n = {.ctx = *state};
  CHECK_OK(*state, cpli_stacks_join(*state, 40));
  cpli_fibers_run(*state, 4, nested_item, &n);
  CHECK_INT(n.done, 4 + 16 + 64 + 256);
  cpli_stacks_leave(*state, 40);
}

//------------------------------------ what pays ------------------------------------

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
    CHECK_OK(*state, cpli_parallel_make(*state, 8, N, NULL, NULL, &p));
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
    cpli_task_kind kinds[N] = {[4] = CPLI_TASK_REMOTE};
    const cpl_status st = cpli_parallel_make(ctx, 3, N, kind_of, kinds, &p);
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
      cmocka_unit_test(waiting_tasks_overlap),
      cmocka_unit_test(messages_of_waiting_tasks_are_in_order),
      cmocka_unit_test(deferred_calls_are_sent_at_the_end),
      cmocka_unit_test(groups_nest),
      cmocka_unit_test(the_number_of_threads_is_found),
      cmocka_unit_test(nothing_leaks_without_memory),
  };
  return cmocka_run_group_tests_name("base/parallel", tests, make_context, drop_context);
}
