// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Cases whose results are functions of their number, some of which fail, crash, exit or hang, and
// the comparison of a journal with these functions.
#pragma once

#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "study/executor.h"
#include "testing.h"

enum { TEST_VALUES = 3 };

typedef struct test_cases {
  cpl_context* ctx;
  double pause;          // of a case [s], slept
  int64_t fails;         // of every so many cases one fails; 0: none
  int64_t crashes;       // likewise: SIGSEGV
  int64_t exits, hangs;  // likewise: exit(3); never returns
  int64_t once;          // this case crashes the first time only; -1: none
  int64_t retires;       // likewise: requests another process
  const char* marker;    // file that says that it was the first time
  bool opened;
} test_cases;

static inline test_cases test_cases_of(cpl_context* ctx) {
  return (test_cases){.ctx = ctx, .once = -1, .marker = "crashed-once"};
}

static inline bool is_one_of(int64_t every, int64_t i) {
  return every > 0 && i % every == every / 2;
}

static inline void test_sleep(double seconds) {
  struct timespec ts = {.tv_sec = (time_t)seconds,
                        .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
  nanosleep(&ts, NULL);
}

static inline double test_value(int64_t i, int k) {
  return sin(0.37 * (double)i + k) * exp2((double)(i % 40) - 20);
}

static inline cpl_status test_open(void* user) {
  ((test_cases*)user)->opened = true;
  return CPL_OK;
}

static inline cpl_status test_run(void* user, int64_t i, double* values, char* failure,
                                  size_t failure_size) {
  test_cases* t = user;
  if (!t->opened) return cpl_fail(t->ctx, CPL_ERR_INPUT, "a case before open");
  if (t->pause > 0) test_sleep(t->pause);
  if (is_one_of(t->crashes, i)) raise(SIGSEGV);
  if (is_one_of(t->exits, i)) exit(3);
  while (is_one_of(t->hangs, i)) test_sleep(1);
  if (i == t->once && mkdir(t->marker, 0700) == 0) raise(SIGBUS);
  for (int k = 0; k < TEST_VALUES; k++) values[k] = test_value(i, k);
  if (is_one_of(t->fails, i))
    snprintf(failure, failure_size, "case %lld does not converge", (long long)i);
  return is_one_of(t->retires, i) ? CPL_TERMINATE : CPL_OK;
}

static inline cpli_cases test_cases_def(test_cases* t, int64_t n) {
  return (cpli_cases){.n = n,
                      .n_values = TEST_VALUES,
                      .identity = "system: two masses\nover: k=1:2:3\n",
                      .user = t,
                      .open = test_open,
                      .run = test_run};
}

// The reason for which a case must have failed; NULL: it must have not.
static inline const char* test_failure(const test_cases* t, int64_t i, char out[256]) {
  if (is_one_of(t->crashes, i)) return "it ended its process (signal 11: Segmentation fault)";
  if (is_one_of(t->exits, i)) return "it ended its process (exit code 3)";
  if (is_one_of(t->hangs, i)) return "it took longer than 1 s";
  if (!is_one_of(t->fails, i)) return NULL;
  snprintf(out, 256, "case %lld does not converge", (long long)i);
  return out;
}

// Every case is there once, in order, with the right bits.
static inline void check_journal(cpl_context* ctx, const test_cases* t, const char* path,
                                 int64_t n) {
  cpli_journal* j = NULL;
  CHECK_OK(ctx, cpli_journal_open_read(ctx, path, &j));
  CHECK_INT(cpli_journal_about(j)->n, n);
  for (int64_t i = 0; i <= n; i++) {
    cpli_case_result r;
    char text[256];
    CHECK_OK(ctx, cpli_journal_next(j, &r));
    CHECK_INT(r.i, i < n ? i : -1);
    if (i == n) break;
    const char* expected = test_failure(t, i, text);
    if (expected != NULL) {
      CHECK(r.values == NULL && r.failure != NULL);
      CHECK_STR(r.failure, expected);
      continue;
    }
    if (r.failure != NULL) fail_msg("case %lld failed: %s", (long long)i, r.failure);
    for (int k = 0; k < TEST_VALUES; k++) CHECK(r.values[k] == test_value(i, k));
  }
  CHECK_OK(ctx, cpli_journal_close(j));
}
