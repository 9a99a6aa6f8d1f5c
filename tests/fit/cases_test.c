// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Searches in worker processes: the same bits as in one process, also where trials fail; workers
// that die, hang or run out of memory, interruptions, and that no process stays.
#include <couplet/fit.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models.h"

enum { N = 11, SETS = 3 };

static const char* const x_name[] = {"x"};
static const cpl_start begins[SETS] = {{"x", "1"}, {"x", "2"}, {"x", "3"}};
static double times[N], values[SETS][N];
static cpl_table tables[SETS];

static void make_data(double rate) {
  noise n = {11};
  for (int s = 0; s < SETS; s++) {
    for (int i = 0; i < N; i++) {
      times[i] = 0.5 * i;
      values[s][i] = (s + 1) * exp(-rate * times[i]) + 0.01 * noise_next(&n);
    }
    tables[s] = (cpl_table){
        .n_rows = N, .n_columns = 1, .names = x_name, .time = times, .values = values[s]};
  }
}

static void open_sets(cpl_context* ctx, fitting* f, const cpl_model_def* model, size_t n) {
  fitting_open(ctx, f, model);
  for (size_t s = 0; s < n; s++) {
    fitting_add(f, &tables[s]);
    f->data[s].starts = &begins[s];
    f->data[s].n_starts = 1;
  }
}

static void check_no_child(void) {
  errno = 0;
  CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void same_numbers(const double* a, const double* b, size_t n) {
  CHECK(memcmp(a, b, n * sizeof *a) == 0);
}

static void same_fit(const cpl_fit* a, const cpl_fit* b) {
  CHECK(a->runs == b->runs && a->failed == b->failed && a->n_columns == b->n_columns);
  CHECK((a->failure == NULL) == (b->failure == NULL));
  if (a->failure != NULL) CHECK_STR(a->failure, b->failure);
  CHECK_STR(a->end, b->end);
  CHECK_STR(a->derivatives, b->derivatives);
  for (size_t i = 0; i < a->n_parameters; i++) {
    const cpl_varied *v = &a->parameters[i], *w = &b->parameters[i];
    same_numbers(&v->value, &w->value, 1);
    same_numbers(&v->deviation, &w->deviation, 1);
    same_numbers(&v->low, &w->low, 1);
    same_numbers(&v->guess, &w->guess, 1);
  }
  same_numbers(&a->squares, &b->squares, 1);
  for (size_t k = 0; k < a->n_columns; k++)
    same_numbers(a->columns[k].fitted, b->columns[k].fitted, a->columns[k].n);
}

// Fits with 0 to 9 workers; the first result stays.
static void check_same(cpl_context* ctx, fitting* f) {
  static const int32_t numbers[] = {1, 2, 3, 9, CPL_WORKERS_PER_PROCESSOR};
  CHECK_OK(ctx, fitting_run(ctx, f));
  cpl_fit* first = f->fit;
  f->fit = NULL;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    f->def.workers = numbers[i];
    CHECK_OK(ctx, fitting_run(ctx, f));
    same_fit(first, f->fit);
    check_no_child();
  }
  cpl_fit_destroy(f->fit);
  f->fit = first;
  f->def.workers = 0;
}

static void workers_do_not_change_results(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  make_data(0.7);
  for (size_t n = 1; n <= SETS; n += 2) {
    open_sets(ctx, &f, &decay, n);
    fitting_vary(ctx, &f, "a");
    check_same(ctx, &f);
    CHECK_NEAR(f.fit->parameters[0].value, 0.7, 0.03);
    CHECK_STR(f.fit->derivatives, "sensitivities");
    f.def.differences = true;
    f.def.loss = CPL_LOSS_CAUCHY;
    fitting_vary(ctx, &f, "b");  // of which only the product counts
    check_same(ctx, &f);
    CHECK(f.fit->n_directions == 1);
    fitting_close(ctx, &f);
  }
}

// The first step leads to a < 0, where the model fails; each point fails as a whole, once.
static void trials_that_fail_are_counted_alike(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  make_data(0.01);
  open_sets(ctx, &f, &decay, SETS);
  fitting_vary(ctx, &f, "a=4");
  check_same(ctx, &f);
  CHECK(f.fit->failed > 0);
  f.def.differences = true;
  check_same(ctx, &f);
  // a limit that is reached, and guesses that fail
  f.def.max_runs = 10;
  for (int32_t w = 0; w <= 3; w += 3) {
    f.def.workers = w;
    CHECK_INT(fitting_run(ctx, &f), CPL_ERR_SOLVER);
    CHECK_CONTAINS(cpl_context_error(ctx), "within 10 runs");
    CHECK(f.fit != NULL && f.fit->runs == 10);
  }
  fitting_close(ctx, &f);
  open_sets(ctx, &f, &decay, SETS);
  fitting_vary(ctx, &f, "a=-1");
  f.def.workers = 2;
  CHECK_INT(fitting_run(ctx, &f), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "the run with the guesses failed: decay");
  fitting_close(ctx, &f);
  check_no_child();
}

//------------------------------------ workers that do not return
//------------------------------------

static pid_t tested;
static int how;  // 0: SIGKILL, 1: _exit(), 2: it does not return
static double from, to;

// A decay that ends its process, or does not return, for rates in a range.
static int deadly_slope(const cpl_values* v, double* dx) {
  if (v->p[0] > from && v->p[0] < to) {
    if (getpid() == tested) return CPL_MODEL_ERROR;
    if (how == 0) kill(getpid(), SIGKILL);
    if (how == 1) _exit(3);
    for (;;) pause();
  }
  dx[0] = -v->p[0] * v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_model_def deadly = {.name = "deadly",
                                     .states = decay_states,
                                     .parameters = decay_parameters,
                                     .derivatives = deadly_slope,
                                     .stop_time = 5};

static void a_worker_that_dies_is_a_failed_trial(void** state) {
  static const char* const reasons[] = {"the run ended its process (signal 9: Killed)",
                                        "the run ended its process (exit code 3)"};
  cpl_context* ctx = *state;
  fitting f;
  make_data(0.7);
  for (how = 0; how < 2; how++) {
    // the difference upwards of the guess, so that it is made downwards
    from = 0.5, to = 0.5006;
    open_sets(ctx, &f, &deadly, SETS);
    fitting_vary(ctx, &f, "a=0.5");
    f.def.differences = true;
    CHECK_OK(ctx, fitting_run(ctx, &f));
    const double value = f.fit->parameters[0].value;
    const int64_t runs = f.fit->runs, failed = f.fit->failed;
    CHECK(failed > 0);
    f.def.workers = 2;
    CHECK_OK(ctx, fitting_run(ctx, &f));
    same_numbers(&value, &f.fit->parameters[0].value, 1);
    CHECK(f.fit->runs == runs && f.fit->failed == failed);
    CHECK_STR(f.fit->failure, reasons[how]);
    CHECK_NEAR(value, 0.7, 0.03);
    check_no_child();
    // at the guess
    from = 0.4, to = 1;
    CHECK_INT(fitting_run(ctx, &f), CPL_ERR_MODEL);
    CHECK_CONTAINS(cpl_context_error(ctx), reasons[how]);
    check_no_child();
    fitting_close(ctx, &f);
  }
}

static cpl_context* interrupted;

static void on_alarm(int number) {
  (void)number;
  cpl_context_cancel(interrupted);
}

static void an_interruption_ends_all_workers(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  make_data(0.7);
  interrupted = ctx;
  how = 2, from = 0.4, to = 0.6;
  open_sets(ctx, &f, &deadly, SETS);
  fitting_vary(ctx, &f, "a=0.5");
  f.def.workers = 3;
  signal(SIGALRM, on_alarm);
  alarm(1);
  CHECK_INT(fitting_run(ctx, &f), CPL_ERR_CANCELLED);
  CHECK_STR(cpl_context_error(ctx), "interrupted");
  check_no_child();
  cpl_context_resume(ctx);
  fitting_close(ctx, &f);
}

static void memory_may_fail_at_any_time(void** state) {
  (void)state;
  make_data(0.7);
  for (long k = 0;; k += k < 150 ? 1 : 23) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    fitting f;
    open_sets(ctx, &f, &decay, 2);
    fitting_vary(ctx, &f, "a=0.69");
    f.def.workers = 2;
    heap.fail_at = heap.calls + k;
    const cpl_status st = fitting_run(ctx, &f);
    if (st < 0) CHECK_INT(st, CPL_ERR_NOMEM);
    // workers have copies of the heap, which fail as well
    const bool reached = heap.calls > heap.fail_at;
    fitting_close(ctx, &f);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    check_no_child();
    if (!reached && st >= 0) break;
  }
}

//------------------------------------ optimization ------------------------------------

static void an_optimum_does_not_depend_on_workers(void** state) {
  cpl_context* ctx = *state;
  static const char* const limits[] = {"final(x) >= 0.5"};
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  cpl_optimize_def def = cpl_default_optimize_def();
  cpl_vary vary[2];
  cpl_optimum* found[2] = {0};
  CHECK_OK(ctx, cpl_c_define(ctx, &decay, (cpl_source**)&settings.source));
  CHECK_OK(ctx, cpl_vary_read(ctx, "a=0.1:0:2", &vary[0]));
  CHECK_OK(ctx, cpl_vary_read(ctx, "b=1:0.5:2", &vary[1]));
  def.experiment = &settings;
  def.vary = vary, def.n_vary = 2;
  def.minimize = "final(x) + (final(b) - 1)^2";
  def.subject_to = limits, def.n_subject_to = 1;
  for (int i = 0; i < 2; i++) {
    def.workers = 3 * i;
    CHECK_OK(ctx, cpl_optimize_run(ctx, &def, &found[i]));
    check_no_child();
  }
  CHECK_NEAR(found[0]->value, 0.5, 1e-5);
  same_numbers(&found[0]->value, &found[1]->value, 1);
  for (int i = 0; i < 2; i++)
    same_numbers(&found[0]->parameters[i].value, &found[1]->parameters[i].value, 1);
  CHECK(found[0]->runs == found[1]->runs);
  for (int i = 0; i < 2; i++) cpl_optimum_destroy(found[i]);
  for (int i = 0; i < 2; i++) cpl_vary_free(ctx, &vary[i]);
  cpl_source_destroy((cpl_source*)settings.source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(workers_do_not_change_results),
      cmocka_unit_test(trials_that_fail_are_counted_alike),
      cmocka_unit_test(a_worker_that_dies_is_a_failed_trial),
      cmocka_unit_test(an_interruption_ends_all_workers),
      cmocka_unit_test(memory_may_fail_at_any_time),
      cmocka_unit_test(an_optimum_does_not_depend_on_workers),
  };
  tested = getpid();
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
