// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A POSIX timer, started by the first signal, ends the command in stages: it aborts calls of
// models, then the code of couplet, and at last the process. All of this runs in signal handlers.
#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/guard.h"
#include "cli.h"

volatile sig_atomic_t cli_interrupted;
static cpl_context* _Atomic watched;  // Nullable

// A timer, not a thread: the C library takes no locks in a process of one thread, so that a call
// aborted inside malloc() causes no deadlock.
static timer_t timer;
static bool has_timer;
static volatile sig_atomic_t stage, left_program;

// The time since the signal, or the stage, whichever is later. On a busy machine time passes in
// which the process does not run: a tick counts as its period at most, however late it is, and
// counts only where all threads have run since the last one.
// Any thread may receive a tick; two at the same moment may count it twice.
static _Atomic double last_tick, waited, starved;
static volatile sig_atomic_t last_stage;

// Delays of the stages [s]. All loops test the cancellation; a call of a model that does not return
// is aborted, then the code of couplet, and in the end the process.
static const double leave_models = 0.15, leave_program = 0.4, give_up = 2;
static const double period = 0.02, longest_starved = 10;

//------------------------------------ the end by force ------------------------------------

// Async-signal-safe.

static void restart_clock(void) {
  last_stage = stage;
  last_tick = cpli_now();
  waited = starved = 0;
}

static void advance_clock(void) {
  const double now = cpli_now(), passed = now - last_tick;
  last_tick = now;
  if (cpli_guard_is_starved() && starved < longest_starved) starved = starved + passed;
  else waited = waited + (passed < period ? passed : period);
}

static void give_up_now(void) {
  static const char text[] = "couplet: interrupted; an orderly end was not possible\n";
  ssize_t unused = write(STDERR_FILENO, text, sizeof text - 1);
  (void)unused;
  _exit(CLI_FAILED);
}

// The writing of results is not aborted, except after the code of couplet itself was aborted.
static void on_tick(int signal_number) {
  (void)signal_number;
  if (stage != last_stage) restart_clock();
  else advance_clock();
  const double time = waited;
  if (stage == CLI_WRITES && !left_program) return;
  if (time > give_up) give_up_now();
  if (time <= leave_models || stage == CLI_WRITES) return;
  bool program = stage == CLI_RUNS && time > leave_program;
  if (program) left_program = 1;
  cpli_guard_leave_calls(program);
}

static void begin_ticking(void) {
  const struct timespec tick = {.tv_nsec = (long)(1e9 * period)};
  const struct itimerspec every = {.it_interval = tick, .it_value = tick};
  restart_clock();
  if (has_timer) timer_settime(timer, 0, &every, NULL);
}

//------------------------------------ signals ------------------------------------

cpl_context* cli_watch_context(cpl_context* ctx) {
  watched = ctx;
  if (ctx != NULL && cli_interrupted > 0 && cpl_context_cancelled(ctx) == 0)
    cpl_context_cancel(ctx);
  return ctx;
}

static void on_interrupt(int signal_number) {
  int before = errno;
  cpl_context* ctx = watched;
  if (cli_interrupted++ == 0) begin_ticking();
  if (ctx != NULL) cpl_context_cancel(ctx);
  errno = before;
  if (cli_interrupted < 3 && stage != CLI_READS) return;
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

// A program that was started with nohup must not end with its terminal.
static void catch_signal(int signal_number) {
  struct sigaction action = {.sa_handler = on_interrupt}, old;
  sigemptyset(&action.sa_mask);
  if (signal_number == SIGHUP && sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
    return;
  sigaction(signal_number, &action, NULL);
}

void cli_catch_signals(void) {
  const int tick = SIGRTMAX - 4;  // as good as any
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = tick};
  // calls are aborted from inside this handler: the signal must not stay blocked
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_NODEFER | SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(tick, &action, NULL);
  has_timer = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
  catch_signal(SIGINT);
  catch_signal(SIGTERM);
  catch_signal(SIGHUP);
  signal(SIGXFSZ, SIG_IGN);  // the file size limit is reported as a failed write
}

void cli_keep_after_pipes(void) { signal(SIGPIPE, SIG_IGN); }

void cli_enter(cli_stage next) { stage = next; }
