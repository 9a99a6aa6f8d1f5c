// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The entry point of the command, and its table of verbs.
#include <signal.h>
#include <unistd.h>

#include "base/loaded.h"
#include "cli.h"
#include "interrupt.h"

const cli_verb* const cli_verbs[] = {&cli_run,        &cli_sweep,       &cli_info,
                                     &cli_check,      &cli_graph,       &cli_steady,
                                     &cli_linearize,  &cli_bode,        &cli_sensitivity,
                                     &cli_fit,        &cli_optimize,    &cli_build,
                                     &cli_view,       &cli_plot,        &cli_convert,
                                     &cli_crosscheck, &cli_tlm_inspect, &cli_tlm_serve,
                                     &cli_tlm_join,   &cli_tlm_watch,   NULL};

int main(int argc, char** argv) {
  signal(SIGCHLD, SIG_DFL);  // the parent process may ignore it, which is inherited
  cpl_guard_crashes();
  cli_catch_signals();
  cli_adopt_processes(true);
  int code = cli_dispatch(argc, argv);
  cli_end_processes();
  code = cli_close_output(stdout, code);
  // data used by threads that a model left running must not be freed
  if (cpli_threads_remain(NULL)) {
    fflush(NULL);
    _exit(code);
  }
  return code;
}
