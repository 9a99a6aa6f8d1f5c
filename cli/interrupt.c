// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "interrupt.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/guard.h"

volatile int cli_interrupted;

static void on_interrupt(int signal_number) {
  cli_interrupted++;
  // the outermost guard is that of the program itself
  bool in_model = cpli_guard_top != NULL && cpli_guard_top->outer != NULL;
  if (cli_interrupted == 2 && in_model) cpli_guard_break(signal_number);
  if (cli_interrupted < 3) return;
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void cli_catch_signals(void) {
  struct sigaction action = {.sa_handler = on_interrupt};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is told as a full disk is
}
