// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The thread contract of couplet/base.h: any thread logs and cancels, the sink is called by one
// thread at a time, contexts are independent, and a signal handler can cancel a run. make tsan
// runs it.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "testing.h"

//------------------------------------ log ------------------------------------

enum { THREADS = 4, MESSAGES = 200 };

typedef struct sink {
  int inside, most, count;  // no atomics: the lock of the library protects them
} sink;

static void count_message(void* user, cpl_log_level level, const char* who, const char* text) {
  sink* s = user;
  (void)level, (void)who, (void)text;
  s->inside++;
  if (s->inside > s->most) s->most = s->inside;
  s->count++;
  s->inside--;
}

static void* log_much(void* user) {
  cpl_context* ctx = user;
  for (int i = 0; i < MESSAGES; i++) cpl_log(ctx, CPL_LOG_WARNING, "thread", "message %d", i);
  return NULL;
}

static void any_thread_logs(void** state) {
  sink s = {0};
  pthread_t threads[THREADS];
  cpl_context_def def = cpl_default_context_def();
  (void)state;
  def.log = count_message;
  def.user = &s;
  cpl_context* ctx = cpl_context_create(&def);
  for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, log_much, ctx), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK_INT(s.count, THREADS * MESSAGES);
  CHECK_INT(s.most, 1);
  cpl_context_destroy(ctx);
}

//------------------------------------ cancellation ------------------------------------

static int decay(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0];
  return CPL_MODEL_OK;
}

static const cpl_model_def decay_def = {
    .name = "decay",
    .states = (const cpl_declaration[]){{.name = "x", .start = 1, .output = true}, {0}},
    .derivatives = decay,
};

// Rows tell another thread, or a signal, that the run has begun.
typedef struct begun {
  cpl_context* ctx;
  pthread_t canceller;
  bool started, by_signal;
} begun;

static cpl_context* signalled;

static void cancel_by_signal(int number) {
  (void)number;
  cpl_context_cancel(signalled);
}

static void* cancel_later(void* user) {
  cpl_context_cancel(user);
  return NULL;
}

static cpl_status on_point(void* user, double t, const cpl_value* values) {
  begun* b = user;
  (void)values;
  if (b->started || t < 1) return CPL_OK;
  b->started = true;
  if (b->by_signal) return raise(SIGUSR1) == 0 ? CPL_OK : CPL_ERR_IO;
  return pthread_create(&b->canceller, NULL, cancel_later, b->ctx) == 0 ? CPL_OK : CPL_ERR_IO;
}

static cpl_status run_decay(cpl_context* ctx, double stop, cpl_point_fn* point, void* user) {
  cpl_source* source = NULL;
  cpl_model* model = NULL;
  cpl_stepper* stepper = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  cpl_run_def run = cpl_default_run_def();
  solver.kind = CPL_SOLVER_RK4;
  solver.step = 0.01;
  run.stop_time = stop;
  run.interval = 0.5;
  run.on_point = point;
  run.user = user;
  cpl_status st = cpl_c_define(ctx, &decay_def, &source);
  if (st >= 0) st = cpl_source_make_model(source, "decay", &model);
  if (st >= 0) st = cpl_integrate(model, &solver, &stepper);
  if (st >= 0) st = cpl_run(stepper, &run, NULL);
  cpl_stepper_destroy(stepper);
  cpl_source_destroy(source);
  return st;
}

static void runs_are_cancelled(void** state) {
  cpl_context* ctx = *state;
  for (int i = 0; i < 2; i++) {
    begun b = {.ctx = ctx, .by_signal = i == 1};
    signalled = ctx;
    signal(SIGUSR1, cancel_by_signal);
    CHECK_INT(run_decay(ctx, 1e9, on_point, &b), CPL_ERR_CANCELLED);
    if (!b.by_signal) pthread_join(b.canceller, NULL);
    CHECK_INT(cpl_context_cancelled(ctx), 1);
    CHECK_INT(cpl_context_last_error(ctx)->status, CPL_ERR_CANCELLED);
    CHECK(cpl_context_last_error(ctx)->time >= 1);
    cpl_context_resume(ctx);
    CHECK_OK(ctx, run_decay(ctx, 1, NULL, NULL));
  }
}

//------------------------------------ contexts ------------------------------------

static void* use_own_context(void* user) {
  cpl_context* ctx = cpl_context_create(NULL);
  cpl_status st = run_decay(ctx, 2, NULL, NULL);
  cpl_fail_in(ctx, CPL_ERR_INPUT, "own", NULL, (double)NAN, "thread %d", *(const int*)user);
  const bool fine = st >= 0 && strcmp(cpl_context_last_error(ctx)->component, "own") == 0;
  cpl_context_destroy(ctx);
  return fine ? user : NULL;
}

static void contexts_are_independent(void** state) {
  pthread_t threads[THREADS];
  int numbers[THREADS];
  (void)state;
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    CHECK_INT(pthread_create(&threads[i], NULL, use_own_context, &numbers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    void* fine = NULL;
    pthread_join(threads[i], &fine);
    CHECK(fine == &numbers[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_thread_logs),
      cmocka_unit_test(runs_are_cancelled),
      cmocka_unit_test(contexts_are_independent),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
