// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Work in a process of its own: what it returns, logs and writes arrives; crashes, work that does
// not return, and a cancellation end it.
#include "study/netcdf_process.h"

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "testing.h"

typedef struct memory {
  cpl_context* ctx;
  int file;
  int changed;
  char log[256];
} memory;

static void keep(void* user, cpl_log_level level, const char* who, const char* text) {
  memory* m = user;
  snprintf(m->log, sizeof m->log, "%d %s %s", (int)level, who, text);
}

static void wait_s(double s) {
  nanosleep(&(struct timespec){(time_t)s, (long)(1e9 * (s - (double)(time_t)s))}, NULL);
}

static cpl_status succeeds(cpli_nc_process* process, void* user) {
  memory* m = user;
  (void)process;
  m->changed = 1;
  cpl_log(m->ctx, CPL_LOG_WARNING, "study", "half of it: %d", 7);
  return write(m->file, "whole", 5) == 5 ? CPL_EVENT : CPL_ERR_IO;
}

static cpl_status fails(cpli_nc_process* process, void* user) {
  (void)process;
  return cpl_fail(((memory*)user)->ctx, CPL_ERR_INPUT, "x.nc: there is no %s", "case");
}

static cpl_status crashes(cpli_nc_process* process, void* user) {
  (void)process, (void)user;
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
  return CPL_OK;
}

static cpl_status hangs(cpli_nc_process* process, void* user) {
  (void)user;
  for (int i = 0; i < 3; i++) {  // longer than the limit together, but not each
    wait_s(0.1);
    cpli_nc_answered(process);
  }
  wait_s(100);
  return CPL_OK;
}

static cpl_status computes(cpli_nc_process* process, void* user) {
  (void)user;
  cpli_nc_finished(process);
  wait_s(0.4);
  return CPL_OK;
}

static cpli_nc_work work_of(cpl_status (*run)(cpli_nc_process* process, void* user), memory* m) {
  return (cpli_nc_work){.path = "x.nc", .crash = "cannot be read", .run = run, .user = m};
}

static void results_arrive(void** state) {
  (void)state;
  memory m = {0};
  cpl_context_def def = cpl_default_context_def();
  def.log = keep, def.user = &m, def.log_level = CPL_LOG_WARNING;
  m.ctx = cpl_context_create(&def);
  CHECK(m.ctx != NULL);
  FILE* file = tmpfile();
  assert_non_null(file);
  m.file = fileno(file);
  cpli_nc_work w = work_of(succeeds, &m);
  CHECK_INT(cpli_nc_run(m.ctx, &w), CPL_EVENT);
  CHECK_INT(m.changed, 0);
  CHECK_CONTAINS(m.log, "study half of it: 7");
  char text[16] = "";
  CHECK_INT(pread(m.file, text, 5, 0), 5);
  CHECK_STR(text, "whole");
  fclose(file);
  w = work_of(fails, &m);
  CHECK_INT(cpli_nc_run(m.ctx, &w), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(m.ctx), "x.nc: there is no case");
  cpl_context_destroy(m.ctx);
}

static void crashes_and_hangs_end(void** state) {
  (void)state;
  memory m = {.ctx = test_context()};
  cpli_nc_work w = work_of(crashes, &m);
  CHECK_INT(cpli_nc_run(m.ctx, &w), CPL_ERR_IO);
  CHECK_STR(cpl_context_error(m.ctx),
            "x.nc: cannot be read: the NetCDF library crashed (signal 11)");
  w.limit = 5;
  CHECK_INT(cpli_nc_run(m.ctx, &w), CPL_ERR_INPUT);
  w = work_of(hangs, &m);
  w.limit = 0.25;
  CHECK_INT(cpli_nc_run(m.ctx, &w), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(m.ctx),
            "x.nc: cannot be read: the NetCDF library has not answered for 0.25 s");
  w = work_of(computes, &m);  // the limit is one for the library only
  w.limit = 0.2;
  CHECK_OK(m.ctx, cpli_nc_run(m.ctx, &w));
  cpl_context_destroy(m.ctx);
}

static cpl_context* cancelled;

static void cancel(int signal) {
  (void)signal;
  cpl_context_cancel(cancelled);
}

static void a_cancellation_ends_it(void** state) {
  (void)state;
  memory m = {.ctx = test_context()};
  cancelled = m.ctx;
  signal(SIGALRM, cancel);
  setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 150000}}, NULL);
  cpli_nc_work w = work_of(hangs, &m);
  CHECK_INT(cpli_nc_run(m.ctx, &w), CPL_ERR_CANCELLED);
  CHECK_CONTAINS(cpl_context_error(m.ctx), "x.nc: interrupted");
  cpl_context_destroy(m.ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_arrive),
      cmocka_unit_test(crashes_and_hangs_end),
      cmocka_unit_test(a_cancellation_ends_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
