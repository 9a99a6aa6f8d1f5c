// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "fmi/probe.h"

// Every call a model makes, in order; stops at the first that does not return CPL_OK.
static cpl_status use_model(cpl_model* m, cpl_snapshot* snapshot) {
  cpl_component* c = &m->base;
  uint32_t ref = 0, k = K;
  int64_t n = 100;
  double value = 4, x[2], two[2];
  const char* text = "hello";
  bool event, end;
  cpl_event_info info;
  cpl_status st = c->ops->set_real(c, &k, 1, &value);
  if (st == CPL_OK) st = c->ops->set_integer(c, CPL_INTEGER, (uint32_t[]){1}, 1, &n);
  if (st == CPL_OK) st = c->ops->set_integer(c, CPL_BOOLEAN, &ref, 1, (int64_t[]){0});
  if (st == CPL_OK) st = c->ops->set_string(c, &ref, 1, &text);
  if (st == CPL_OK) st = probe_init(c);
  if (st == CPL_OK) st = m->ops->event_update(m, &info);
  if (st == CPL_OK) st = m->ops->enter_continuous(m);
  if (st == CPL_OK) st = m->ops->get_states(m, x);
  if (st == CPL_OK) st = m->ops->get_nominals(m, two);
  if (st == CPL_OK) st = c->ops->save(c, snapshot);
  if (st == CPL_OK) st = m->ops->set_time(m, 1.25);
  if (st == CPL_OK) st = m->ops->set_states(m, x);
  if (st == CPL_OK) st = m->ops->get_derivatives(m, two);
  if (st == CPL_OK) st = m->ops->get_indicators(m, two);
  if (st == CPL_OK) st = c->ops->directional(c, (uint32_t[]){Y}, 1, (uint32_t[]){U}, 1, x, two);
  if (st == CPL_OK) st = c->ops->get_real(c, &k, 1, &value);
  if (st == CPL_OK) st = c->ops->get_integer(c, CPL_INTEGER, &ref, 1, &n);
  if (st == CPL_OK) st = c->ops->get_integer(c, CPL_BOOLEAN, &ref, 1, &n);
  if (st == CPL_OK) st = c->ops->get_string(c, &ref, 1, &text);
  if (st == CPL_OK) st = m->ops->completed_step(m, &event, &end);
  if (st == CPL_OK) st = m->ops->enter_event(m);
  if (st == CPL_OK) st = c->ops->restore(c, snapshot);
  if (st == CPL_OK) st = c->ops->terminate(c);
  if (st == CPL_OK) st = c->ops->reset(c);
  return st;
}

static const struct {
  const char* name;
  double time;   // NAN: before setup
  bool discard;  // may be retried
} functions[] = {
    {"fmi2Instantiate", NAN, false},
    {"fmi2SetReal", NAN, false},
    {"fmi2SetInteger", NAN, false},
    {"fmi2SetBoolean", NAN, false},
    {"fmi2SetString", NAN, false},
    {"fmi2SetupExperiment", 0, false},
    {"fmi2EnterInitializationMode", 0, false},
    {"fmi2ExitInitializationMode", 0, false},
    {"fmi2NewDiscreteStates", 0, false},
    {"fmi2EnterContinuousTimeMode", 0, false},
    {"fmi2GetContinuousStates", 0, true},
    {"fmi2GetNominalsOfContinuousStates", 0, false},
    {"fmi2GetFMUstate", 0, false},
    {"fmi2SetTime", 1.25, true},
    {"fmi2SetContinuousStates", 1.25, true},
    {"fmi2GetDerivatives", 1.25, true},
    {"fmi2GetEventIndicators", 1.25, true},
    {"fmi2GetDirectionalDerivative", 1.25, true},
    {"fmi2GetReal", 1.25, true},
    {"fmi2GetInteger", 1.25, true},
    {"fmi2GetBoolean", 1.25, true},
    {"fmi2GetString", 1.25, true},
    {"fmi2CompletedIntegratorStep", 1.25, false},
    {"fmi2EnterEventMode", 1.25, false},
    {"fmi2SetFMUstate", 1.25, false},
    {"fmi2Terminate", 0, false},
    {"fmi2Reset", 0, false},
};

// Make a model whose function `i` shows the fault; returns the status and leaves the message.
static cpl_status meet(probe_fmu* p, size_t i, const char* fault, cpl_model** m,
                       cpl_snapshot* snapshot) {
  probe_open(p, "probe");
  probe_record(p);
  probe_fault(functions[i].name, 1, fault);
  cpl_status st = cpli_fmi2_make_model(&p->fmu.base, "left", m);
  return st == CPL_OK ? use_model(*m, snapshot) : st;
}

static void leave(probe_fmu* p, cpl_model* m, cpl_snapshot* snapshot) {
  if (m != NULL) {
    m->base.ops->terminate(&m->base);
    m->base.ops->forget(&m->base, snapshot);
    m->base.ops->destroy(&m->base);
  }
  probe_close(p);
}

// "left: fmi2GetReal at t=1.25 ..."
static void expect_message(const probe_fmu* p, size_t i, const char* rest) {
  char expected[512];
  if (isnan(functions[i].time)) {
    snprintf(expected, sizeof expected, "left: %s %s", functions[i].name, rest);
  } else {
    snprintf(expected, sizeof expected, "left: %s at t=%g %s", functions[i].name, functions[i].time,
             rest);
  }
  CHECK_STR(cpl_context_error(p->ctx), expected);
}

static void warnings_are_fine(void** state) {
  (void)state;
  for (size_t i = 0; i < CPLI_COUNT(functions); i++) {
    probe_fmu p;
    cpl_model* m = NULL;
    cpl_snapshot snapshot = {NULL};
    CHECK_OK(p.ctx, meet(&p, i, "warning", &m, &snapshot));
    CHECK_CONTAINS(p.logged, "1 left [logStatus] ");
    CHECK_CONTAINS(p.logged, " was told to fail, k = 4\n");
    leave(&p, m, &snapshot);
  }
}

static void discard_asks_for_another_try(void** state) {
  (void)state;
  for (size_t i = 1; i < CPLI_COUNT(functions); i++) {
    probe_fmu p;
    cpl_model* m = NULL;
    cpl_snapshot snapshot = {NULL};
    CHECK_INT(meet(&p, i, "discard", &m, &snapshot),
              functions[i].discard ? CPL_RETRY : CPL_ERR_MODEL);
    char rest[256];
    snprintf(rest, sizeof rest, "returned fmi2Discard: %s was told to fail, k = 4",
             functions[i].name);
    expect_message(&p, i, rest);
    if (functions[i].discard) {
      unsetenv("PROBE_FAULT");
      double x[2];
      CHECK_OK(p.ctx, m->ops->get_states(m, x));
    }
    leave(&p, m, &snapshot);
  }
}

static void errors_end_the_run(void** state) {
  (void)state;
  for (size_t i = 1; i < CPLI_COUNT(functions); i++) {
    probe_fmu p;
    cpl_model* m = NULL;
    cpl_snapshot snapshot = {NULL};
    CHECK_INT(meet(&p, i, "error", &m, &snapshot), CPL_ERR_MODEL);
    char rest[256];
    snprintf(rest, sizeof rest, "returned fmi2Error: %s was told to fail, k = 4",
             functions[i].name);
    expect_message(&p, i, rest);
    bool optional = strstr(functions[i].name, "DirectionalDerivative") != NULL ||
                    strstr(functions[i].name, "InputDerivatives") != NULL ||
                    strcmp(functions[i].name, "fmi2GetFMUstate") == 0;
    if (optional) {  // the run goes on without it
      CHECK_OK(p.ctx, m->ops->set_time(m, 1.25));
      leave(&p, m, &snapshot);
      continue;
    }
    // no more steps, but a reset helps
    double x[2];
    CHECK_INT(m->ops->set_time(m, 1.25), CPL_ERR_MODEL);
    CHECK_CONTAINS(cpl_context_error(p.ctx), "left: fmi2SetTime cannot be called any more: ");
    CHECK_CONTAINS(cpl_context_error(p.ctx), functions[i].name);
    CHECK_OK(p.ctx, m->base.ops->terminate(&m->base));
    const char* calls = probe_calls();
    if (strcmp(functions[i].name, "fmi2Terminate") != 0 &&
        strcmp(functions[i].name, "fmi2Reset") != 0) {
      CHECK(strstr(calls, "fmi2Terminate") == NULL);
    }
    CHECK_OK(p.ctx, m->base.ops->reset(&m->base));
    CHECK_OK(p.ctx, m->ops->get_states(m, x));
    leave(&p, m, &snapshot);
    CHECK_CONTAINS(probe_calls(), "fmi2FreeInstance() -> fmi2OK\n");
  }
}

static void after_fatal_there_is_silence(void** state) {
  (void)state;
  for (size_t i = 1; i < CPLI_COUNT(functions); i++) {
    probe_fmu p;
    cpl_model *m = NULL, *other = NULL;
    cpl_snapshot snapshot = {NULL};
    CHECK_INT(meet(&p, i, "fatal", &m, &snapshot), CPL_ERR_MODEL);
    char rest[256], last[256];
    snprintf(rest, sizeof rest, "returned fmi2Fatal: %s was told to fail, k = 4",
             functions[i].name);
    expect_message(&p, i, rest);
    CHECK(m->base.ops->reset(&m->base) < 0);
    CHECK_INT(cpli_fmi2_make_model(&p.fmu.base, "right", &other), CPL_ERR_MODEL);
    CHECK_STR(cpl_context_error(p.ctx),
              "right: another instance of probe.fmu ended with fmi2Fatal");
    leave(&p, m, &snapshot);
    // the fatal call is the last of all
    const char* at = strrchr(probe_calls(), '(');
    while (at[-1] != ' ') at--;
    snprintf(last, sizeof last, "%s(", functions[i].name);
    CHECK(strncmp(at, last, strlen(last)) == 0);
    CHECK_CONTAINS(at, "-> fmi2Fatal");
  }
}

static void a_status_from_nowhere_is_an_error(void** state) {
  (void)state;
  probe_fmu p;
  cpl_model* m = NULL;
  cpl_snapshot snapshot = {NULL};
  CHECK_INT(meet(&p, 7, "42", &m, &snapshot), CPL_ERR_MODEL);
  expect_message(&p, 7, "returned an unknown status");
  leave(&p, m, &snapshot);
}

static void instantiation_that_fails_says_why(void** state) {
  (void)state;
  probe_fmu p;
  cpl_model* m = NULL;
  cpl_snapshot snapshot = {NULL};
  CHECK_INT(meet(&p, 0, "error", &m, &snapshot), CPL_ERR_MODEL);
  CHECK_STR(cpl_context_error(p.ctx),
            "left: fmi2Instantiate failed: fmi2Instantiate was told to fail, k = 4");
  probe_close(&p);
  probe_open(&p, "probe");
  p.fmu.guid = "{another}";
  CHECK_INT(cpli_fmi2_make_model(&p.fmu.base, "left", &m), CPL_ERR_MODEL);
  CHECK_STR(cpl_context_error(p.ctx), "left: fmi2Instantiate failed: the FMU does not say why");
  probe_close(&p);
}

static void odd_messages_do_no_harm(void** state) {
  (void)state;
  probe_fmu p;
  cpl_model* m = NULL;
  cpl_snapshot snapshot = {NULL};
  CHECK_OK(p.ctx, meet(&p, 5, "odd", &m, &snapshot));
  CHECK_CONTAINS(p.logged, "1 left 100 % of # and #r99# and #r4\n");
  CHECK_CONTAINS(p.logged, "0 left no such status\n");
  leave(&p, m, &snapshot);
}

static void long_arrays_are_shortened_in_the_call_log(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe");
  cpl_model* m = probe_model(&p);
  probe_record(&p);
  uint32_t refs[25] = {0};
  double values[25];
  CHECK_OK(p.ctx, m->base.ops->get_real(&m->base, refs, 25, values));
  CHECK_STR(probe_calls(),
            "- left fmi2GetReal([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
            "... 25 in all]) -> fmi2OK "
            "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ... 25 in all]\n");
  m->base.ops->destroy(&m->base);
  probe_close(&p);
}

static void crashes_become_errors(void** state) {
  (void)state;
  cpl_guard_crashes();
  for (size_t i = 0; i < CPLI_COUNT(functions); i++) {
    probe_fmu p;
    cpl_model* m = NULL;
    cpl_snapshot snapshot = {NULL};
    CHECK_INT(meet(&p, i, "segv", &m, &snapshot), CPL_ERR_MODEL);
    expect_message(&p, i, "crashed (SIGSEGV: invalid memory access)");
    CHECK_CONTAINS(probe_calls(), ") -> crashed\n");
    char before[65536];
    snprintf(before, sizeof before, "%s", probe_calls());
    leave(&p, m, &snapshot);
    CHECK_STR(probe_calls(), before);  // no call after it
  }
  probe_fmu p;  // a crash at the very end harms no one
  probe_open(&p, "probe");
  probe_fault("fmi2FreeInstance", 1, "segv");
  cpl_model* m = probe_model(&p);
  m->base.ops->destroy(&m->base);
  probe_close(&p);
}

// A jump back from a distant stack confuses valgrind's idea of what is stack.
static bool under_valgrind(void) {
  const char* preload = getenv("LD_PRELOAD");
  return preload != NULL && strstr(preload, "vgpreload") != NULL;
}

static void every_way_to_crash(void** state) {
  (void)state;
#ifdef __SANITIZE_THREAD__  // it loses track of signals after a jump out of a handler
  skip();
#endif
  const char* const kinds[][2] = {
      {"segv", "SIGSEGV: invalid memory access"},
      {"bus", "SIGBUS: bad memory access"},
      {"fpe", "SIGFPE: division by zero or the like"},
      {"ill", "SIGILL: illegal instruction"},
      {"abort", "SIGABRT: the code gave up"},
      {under_valgrind() ? "segv" : "overflow", "SIGSEGV: invalid memory access"}};
  cpl_guard_crashes();
  for (int round = 0; round < 2; round++) {  // the second time works as the first
    for (size_t i = 0; i < CPLI_COUNT(kinds); i++) {
      probe_fmu p;
      cpl_model* m = NULL;
      cpl_snapshot snapshot = {NULL};
      CHECK_INT(meet(&p, 15, kinds[i][0], &m, &snapshot), CPL_ERR_MODEL);
      char rest[128];
      snprintf(rest, sizeof rest, "crashed (%s)", kinds[i][1]);
      expect_message(&p, 15, rest);
      leave(&p, m, &snapshot);
    }
  }
}

// Checks fail by a long jump, which cannot leave the thread: it only collects.
typedef struct thread_run {
  probe_fmu p;
  cpl_model* m;
  cpl_snapshot snapshot;
  cpl_status st;
} thread_run;

static void* crash_in_a_thread(void* user) {
  thread_run* run = user;
  run->st = meet(&run->p, 15, "overflow", &run->m, &run->snapshot);
  return NULL;
}

static void threads_have_their_own_guard(void** state) {
  (void)state;
  cpl_guard_crashes();
  if (under_valgrind()) skip();
  thread_run run = {.st = CPL_OK};
  pthread_t thread;
  CHECK_INT(pthread_create(&thread, NULL, crash_in_a_thread, &run), 0);
  CHECK_INT(pthread_join(thread, NULL), 0);
  CHECK_INT(run.st, CPL_ERR_MODEL);
  expect_message(&run.p, 15, "crashed (SIGSEGV: invalid memory access)");
  leave(&run.p, run.m, &run.snapshot);
}

static void a_crash_of_our_own_stays_one(void** state) {
  (void)state;
  pid_t pid = fork();
  if (pid == 0) {
    signal(SIGSEGV, SIG_DFL);  // cmocka has a handler of its own, which would be asked
    cpl_guard_crashes();
    raise(SIGSEGV);
    _exit(0);
  }
  int status = 0;
  CHECK_INT(waitpid(pid, &status, 0), pid);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(warnings_are_fine),
      cmocka_unit_test(discard_asks_for_another_try),
      cmocka_unit_test(errors_end_the_run),
      cmocka_unit_test(after_fatal_there_is_silence),
      cmocka_unit_test(a_status_from_nowhere_is_an_error),
      cmocka_unit_test(instantiation_that_fails_says_why),
      cmocka_unit_test(odd_messages_do_no_harm),
      cmocka_unit_test(long_arrays_are_shortened_in_the_call_log),
      cmocka_unit_test(crashes_become_errors),
      cmocka_unit_test(every_way_to_crash),
      cmocka_unit_test(threads_have_their_own_guard),
      cmocka_unit_test(a_crash_of_our_own_stays_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
