// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Cases on several workers: results, failures, crashes, time limits, interruption, full disks. The
// expected results are functions of the number of a case.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "study/cases.h"

static const char path[] = "study.journal";

// No process that was made is left, whatever its group.
static void check_no_children(void) { CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); }

static cpl_status execute(test_cases* t, int64_t n, cpli_execution how, cpli_progress* progress) {
  const cpli_cases cases = test_cases_def(t, n);
  how.journal_path = path;
  const cpl_status st = cpli_execute(t->ctx, &cases, &how, progress);
  check_no_children();
  return st;
}

static void check_executed(test_cases* t, int64_t n, cpli_execution how) {
  cpli_progress p;
  CHECK_OK(t->ctx, execute(t, n, how, &p));
  CHECK_INT(p.done, n);
  CHECK_INT(p.total, n);
  check_journal(t->ctx, t, path, n);
}

//------------------------------------ results ------------------------------------

static void results_do_not_depend_on_workers(void** state) {
  test_cases t = test_cases_of(*state);
  t.fails = 7;
  for (int32_t workers = 0; workers < 6; workers++)
    check_executed(&t, 5000, (cpli_execution){.workers = workers});
}

static void few_cases_and_none(void** state) {
  test_cases t = test_cases_of(*state);
  for (int64_t n = 0; n < 4; n++) check_executed(&t, n, (cpli_execution){.workers = 3});
}

static cpl_status run_large(void* user, int64_t i, double* values, char* failure, size_t size) {
  (void)user, (void)failure, (void)size;
  for (int k = 0; k < 50000; k++) values[k] = test_value(i, k);
  return CPL_OK;
}

static void results_larger_than_a_batch(void** state) {
  cpl_context* ctx = *state;
  test_cases t = test_cases_of(ctx);
  cpli_cases cases = test_cases_def(&t, 20);
  cases.n_values = 50000;
  cases.run = run_large;
  CHECK_OK(ctx, cpli_execute(ctx, &cases, &(cpli_execution){path, .workers = 2}, NULL));
  cpli_journal* j;
  cpli_case_result r;
  CHECK_OK(ctx, cpli_journal_open_read(ctx, path, &j));
  for (int64_t i = 0; i < 20; i++) {
    CHECK_OK(ctx, cpli_journal_next(j, &r));
    CHECK_INT(r.i, i);
    for (int k = 0; k < 50000; k++) CHECK(r.values[k] == test_value(i, k));
  }
  cpli_journal_close(j);
}

typedef struct seen {
  int calls;
  cpli_progress last;
} seen;

static void note_progress(void* user, const cpli_progress* p) {
  seen* s = user;
  CHECK(p->done >= s->last.done && p->done <= p->total && p->failed <= p->done);
  s->calls++;
  s->last = *p;
}

static void progress_is_reported(void** state) {
  test_cases t = test_cases_of(*state);
  t.pause = 0.005;
  t.fails = 10;
  seen s = {0};
  const double began = cpli_now();
  check_executed(&t, 200,
                 (cpli_execution){.workers = 2, .progress = note_progress, .progress_user = &s});
  const double seconds = cpli_now() - began;
  CHECK(s.calls >= 3 && s.calls <= 10 * seconds + 2);
  CHECK_INT(s.last.done, 200);
  CHECK_INT(s.last.failed, 20);
  CHECK_INT(s.last.workers, 2);
  CHECK(s.last.rate > 1 && s.last.rate < 500);
}

//------------------------------------ workers that die ------------------------------------

static void cases_that_end_their_worker_fail_alone(void** state) {
  test_cases t = test_cases_of(*state);
  t.crashes = 97;
  t.exits = 160;
  t.fails = 11;
  for (int32_t workers = 1; workers <= 3; workers++)
    check_executed(&t, 600, (cpli_execution){.workers = workers});
}

static void a_crash_that_does_not_repeat_costs_nothing(void** state) {
  test_cases t = test_cases_of(*state);
  t.once = 123;
  rmdir(t.marker);
  cpli_progress p;
  CHECK_OK(t.ctx, execute(&t, 500, (cpli_execution){.workers = 2}, &p));
  CHECK_INT(p.failed, 0);
  CHECK_INT(p.repeated, 1);
  check_journal(t.ctx, &t, path, 500);
}

static void every_case_may_crash(void** state) {
  test_cases t = test_cases_of(*state);
  t.crashes = 1;
  check_executed(&t, 25, (cpli_execution){.workers = 2});
}

static void a_case_may_request_another_process(void** state) {
  test_cases t = test_cases_of(*state);
  t.retires = 10;
  t.fails = 10;
  cpli_progress p;
  CHECK_OK(t.ctx, execute(&t, 200, (cpli_execution){.workers = 2}, &p));
  CHECK_INT(p.repeated, 0);
  check_journal(t.ctx, &t, path, 200);
}

static void a_case_that_takes_too_long_fails(void** state) {
  test_cases t = test_cases_of(*state);
  t.hangs = 50;
  const double began = cpli_now();
  check_executed(&t, 150, (cpli_execution){.workers = 3, .case_timeout = 1});
  CHECK(cpli_now() - began < 300);  // only a hang takes that long
}

// A model that forks and leaves its child behind, with all descriptors.
static cpl_status run_forking(void* user, int64_t i, double* values, char* failure, size_t size) {
  if (i == 3 && fork() == 0) {
    FILE* f = fopen("left.pid", "w");
    fprintf(f, "%d", (int)getpid());
    fclose(f);
    for (;;) pause();
  }
  if (i == 40) raise(SIGSEGV);
  return test_run(user, i, values, failure, size);
}

static void processes_of_models_end_with_their_worker(void** state) {
  cpl_context* ctx = *state;
  test_cases t = test_cases_of(ctx);
  t.pause = 0.002;
  cpli_cases cases = test_cases_def(&t, 60);
  cases.run = run_forking;
  cpli_progress p;
  CHECK_OK(ctx, cpli_execute(ctx, &cases, &(cpli_execution){path, .workers = 1}, &p));
  CHECK_INT(p.done, 60);
  CHECK_INT(p.failed, 1);
  int pid = 0;
  FILE* f = fopen("left.pid", "r");
  CHECK(f != NULL && fscanf(f, "%d", &pid) == 1);
  fclose(f);
  for (int k = 0; k < 3000 && kill(pid, 0) == 0; k++) test_sleep(0.02);
  char status[64];
  snprintf(status, sizeof status, "/proc/%d/status", pid);
  f = fopen(status, "r");  // a zombie of nobody may stay
  char line[256] = "";
  while (f != NULL && fgets(line, sizeof line, f) != NULL && strncmp(line, "State:", 6) != 0) {
  }
  if (f != NULL) fclose(f);
  CHECK(f == NULL || strchr(line, 'Z') != NULL);
}

// A model that writes into descriptors that are not its own.
static cpl_status run_scribbling(void* user, int64_t i, double* values, char* failure,
                                 size_t size) {
  if (i % 50 == 20) {
    char noise[200];
    for (size_t k = 0; k < sizeof noise; k++) noise[k] = (char)(i * 7 + (int64_t)k * k);
    for (int fd = 3; fd < 20; fd++) {
      if (send(fd, noise, sizeof noise, MSG_NOSIGNAL) < 0) continue;
    }
    test_sleep(0.2);
  }
  return test_run(user, i, values, failure, size);
}

static void invalid_messages_end_the_worker_only(void** state) {
  cpl_context* ctx = *state;
  test_cases t = test_cases_of(ctx);
  cpli_cases cases = test_cases_def(&t, 100);
  cases.run = run_scribbling;
  cpli_progress p;
  CHECK_OK(ctx, cpli_execute(ctx, &cases, &(cpli_execution){path, .workers = 2}, &p));
  CHECK_INT(p.failed, 2);
  cpli_journal* j;
  cpli_case_result r;
  CHECK_OK(ctx, cpli_journal_open_read(ctx, path, &j));
  for (int64_t i = 0; i < 100; i++) {
    CHECK_OK(ctx, cpli_journal_next(j, &r));
    CHECK_INT(r.i, i);
    if (i % 50 == 20) CHECK_STR(r.failure, "it damaged the memory of its process");
    else CHECK(r.values[0] == test_value(i, 0));
  }
  cpli_journal_close(j);
}

//------------------------------------ the end of a study ------------------------------------

static cpl_status cannot_open(void* user) {
  return cpl_fail(((test_cases*)user)->ctx, CPL_ERR_INPUT, "model.fmu: there is no such file");
}

static cpl_status crashes_in_open(void* user) {
  (void)user;
  raise(SIGSEGV);
  return CPL_OK;
}

static cpl_status gives_up(void* user, int64_t i, double* values, char* failure, size_t size) {
  test_cases* t = user;
  if (i < 400) return test_run(user, i, values, failure, size);
  return cpl_fail_in(t->ctx, CPL_ERR_MODEL, "motor", "w", 0.5, "its license has expired");
}

static void failures_of_a_worker_end_the_study(void** state) {
  cpl_context* ctx = *state;
  test_cases t = test_cases_of(ctx);
  cpli_cases cases = test_cases_def(&t, 1000);
  const cpli_execution how = {path, .workers = 3};
  cases.open = cannot_open;
  CHECK_INT(cpli_execute(ctx, &cases, &how, NULL), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "model.fmu: there is no such file");
  cases.open = crashes_in_open;
  CHECK_INT(cpli_execute(ctx, &cases, &how, NULL), CPL_ERR_MODEL);
  CHECK_STR(cpl_context_error(ctx),
            "a worker could not begin: it ended its process (signal 11: Segmentation fault)");
  cases.open = test_open;
  cases.run = gives_up;
  cpli_progress p;
  CHECK_INT(cpli_execute(ctx, &cases, &how, &p), CPL_ERR_MODEL);
  CHECK_STR(cpl_context_error(ctx), "motor: its license has expired");
  CHECK_STR(cpl_context_last_error(ctx)->variable, "w");
  check_no_children();
  // with the license it goes on
  cases.run = test_run;
  CHECK_OK(ctx, cpli_execute(ctx, &cases, &(cpli_execution){path, true, 2}, &p));
  check_journal(ctx, &t, path, 1000);
}

static cpl_context* to_cancel;
static double cancelled_at, shortest_end;
static volatile int64_t n_done, n_wanted;

// An interruption takes at most half a second, which a machine that does much else may double: the
// shortest of some counts.
enum { MAX_ENDS = 20 };

static void note_done(void* user, const cpli_progress* p) {
  (void)user;
  n_done = p->done;
}

static void on_alarm(int signal_number) {
  (void)signal_number;
  if (n_done < n_wanted || cancelled_at > 0) return;
  cancelled_at = cpli_now();
  cpl_context_cancel(to_cancel);
}

// From then on as soon as that many cases are done.
static void cancel_after(cpl_context* ctx, double seconds, int64_t done) {
  const struct itimerval t = {.it_value = {.tv_usec = (suseconds_t)(1e6 * seconds)},
                              .it_interval = {.tv_usec = 20000}};
  to_cancel = ctx;
  cancelled_at = 0;
  n_done = 0;
  n_wanted = done;
  signal(SIGALRM, on_alarm);
  setitimer(ITIMER_REAL, &t, NULL);
}

static void note_end(cpl_context* ctx) {
  shortest_end = fmin(shortest_end, cpli_now() - cancelled_at);
  setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
  cpl_context_resume(ctx);
}

static void an_interrupted_study_goes_on(void** state) {
  cpl_context* ctx = *state;
  test_cases t = test_cases_of(ctx);
  t.pause = 0.001;
  t.fails = 5;
  cpli_progress p;
  shortest_end = INFINITY;
  for (int i = 0; i < MAX_ENDS && shortest_end >= 0.5; i++) {
    cancel_after(ctx, 0.25, 21);
    CHECK_INT(execute(&t, 2000, (cpli_execution){.workers = 2, .progress = note_done}, &p),
              CPL_ERR_CANCELLED);
    note_end(ctx);
    CHECK(p.done > 20 && p.done < 2000);
  }
  CHECK(shortest_end < 0.5);
  char text[128];
  snprintf(text, sizeof text, "interrupted: %lld of 2000 cases are done", (long long)p.done);
  CHECK_STR(cpl_context_error(ctx), text);
  const int64_t before = p.done;
  t.pause = 0;
  CHECK_OK(ctx, execute(&t, 2000, (cpli_execution){.resume = true}, &p));
  CHECK_INT(p.resumed, before);
  check_journal(ctx, &t, path, 2000);
  // once more: nothing is left
  CHECK_OK(ctx, execute(&t, 2000, (cpli_execution){.resume = true}, &p));
  CHECK_INT(p.resumed, 2000);
  CHECK_INT(p.workers, 0);
}

static void hanging_cases_do_not_delay_an_interruption(void** state) {
  cpl_context* ctx = *state;
  test_cases t = test_cases_of(ctx);
  t.hangs = 1;
  shortest_end = INFINITY;
  for (int i = 0; i < MAX_ENDS && shortest_end >= 0.5; i++) {
    cancel_after(ctx, 0.1, 0);
    CHECK_INT(execute(&t, 10, (cpli_execution){.workers = 4}, NULL), CPL_ERR_CANCELLED);
    note_end(ctx);
  }
  CHECK(shortest_end < 0.5);
}

//------------------------------------ the journal ------------------------------------

static void resume_without_a_journal_begins_anew(void** state) {
  test_cases t = test_cases_of(*state);
  unlink(path);
  check_executed(&t, 100, (cpli_execution){.resume = true});
  fclose(fopen(path, "w"));
  check_executed(&t, 100, (cpli_execution){.resume = true});
}

static void another_study_is_refused(void** state) {
  cpl_context* ctx = *state;
  test_cases t = test_cases_of(ctx);
  const cpli_execution how = {path, .resume = true};
  check_executed(&t, 100, (cpli_execution){0});
  cpli_cases other = test_cases_def(&t, 100);
  other.identity = "system: two masses\nover: k=1:2:4\n";
  CHECK_INT(cpli_execute(ctx, &other, &how, NULL), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx),
            "study.journal: it is the journal of another study: there \"over: k=1:2:3\", here "
            "\"over: k=1:2:4\"");
  other = test_cases_def(&t, 101);
  CHECK_INT(cpli_execute(ctx, &other, &how, NULL), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "of 100 cases, while this one has 101");
  other = test_cases_def(&t, 100);
  other.n_values = 2;
  CHECK_INT(cpli_execute(ctx, &other, &how, NULL), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "with 3 values per case, while this one has 2");
  check_journal(ctx, &t, path, 100);
}

static void a_journal_in_use_is_refused(void** state) {
  cpl_context* ctx = *state;
  test_cases t = test_cases_of(ctx);
  const cpli_cases cases = test_cases_def(&t, 10);
  const cpli_journal_def def = {path, 10, TEST_VALUES, cases.identity};
  cpli_journal* j;
  CHECK_OK(ctx, cpli_journal_open_write(ctx, &def, false, &j));
  CHECK_INT(execute(&t, 10, (cpli_execution){.resume = true}, NULL), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "study.journal: another study is writing this journal");
  CHECK_OK(ctx, cpli_journal_close(j));
  check_executed(&t, 10, (cpli_execution){.resume = true});
}

// In a process of its own: the limit of the size of files is that of the process.
static void study_on_a_full_disk(rlim_t limit) {
  cpl_context* ctx = test_context();
  test_cases t = test_cases_of(ctx);
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, limit});
  cpli_progress p;
  CHECK_INT(execute(&t, 5000, (cpli_execution){.workers = 2}, &p), CPL_ERR_IO);
  CHECK_CONTAINS(cpl_context_error(ctx), "study.journal: cannot be written: File too large");
  if (limit > 100)  // otherwise there is not even a header
    CHECK_CONTAINS(cpl_context_error(ctx),
                   "; finished cases are kept, and the study can be resumed");
  CHECK(p.done < 5000);
  cpl_context_destroy(ctx);
  _exit(0);
}

static void a_full_disk_loses_nothing(void** state) {
  test_cases t = test_cases_of(*state);
  for (rlim_t limit = 16; limit < 200000; limit *= 8) {
    const pid_t pid = fork();
    if (pid == 0) study_on_a_full_disk(limit);
    int how;
    CHECK(waitpid(pid, &how, 0) == pid && WIFEXITED(how) && WEXITSTATUS(how) == 0);
    cpli_progress p;
    CHECK_OK(t.ctx, execute(&t, 5000, (cpli_execution){.resume = true}, &p));
    CHECK(limit < 1000 || p.resumed > 0);
    check_journal(t.ctx, &t, path, 5000);
  }
}

static void too_many_cases_are_refused(void** state) {
  test_cases t = test_cases_of(*state);
  CHECK_INT(execute(&t, INT64_MAX, (cpli_execution){0}, NULL), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(t.ctx), "is too large");
}

static void every_failed_allocation_is_reported(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    test_cases t = test_cases_of(ctx);
    t.crashes = 20;
    const long live = heap.live;
    heap.calls = 0;
    heap.fail_at = n;
    const cpl_status st = execute(&t, 30, (cpli_execution){.workers = 2}, NULL);
    CHECK_INT(heap.live, live);
    CHECK(st == CPL_OK || st == CPL_ERR_NOMEM);
    const bool all = heap.calls <= n;
    cpl_context_destroy(ctx);
    if (st == CPL_OK && all) break;
    CHECK(n < 1000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_do_not_depend_on_workers),
      cmocka_unit_test(few_cases_and_none),
      cmocka_unit_test(results_larger_than_a_batch),
      cmocka_unit_test(progress_is_reported),
      cmocka_unit_test(cases_that_end_their_worker_fail_alone),
      cmocka_unit_test(a_crash_that_does_not_repeat_costs_nothing),
      cmocka_unit_test(every_case_may_crash),
      cmocka_unit_test(a_case_may_request_another_process),
      cmocka_unit_test(a_case_that_takes_too_long_fails),
      cmocka_unit_test(processes_of_models_end_with_their_worker),
      cmocka_unit_test(invalid_messages_end_the_worker_only),
      cmocka_unit_test(failures_of_a_worker_end_the_study),
      cmocka_unit_test(an_interrupted_study_goes_on),
      cmocka_unit_test(hanging_cases_do_not_delay_an_interruption),
      cmocka_unit_test(resume_without_a_journal_begins_anew),
      cmocka_unit_test(another_study_is_refused),
      cmocka_unit_test(a_journal_in_use_is_refused),
      cmocka_unit_test(a_full_disk_loses_nothing),
      cmocka_unit_test(too_many_cases_are_refused),
      cmocka_unit_test(every_failed_allocation_is_reported),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
