// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Ctrl-C (SIGINT), SIGTERM and SIGHUP: one of them ends whatever is under way.
#pragma once

#include <signal.h>

#include "couplet/base.h"

/// The number of signals so far.
extern volatile sig_atomic_t cli_interrupted;

/// The context that signals cancel, at once where one has arrived. Returns it. Nullable: ctx
cpl_context* cli_watch_context(cpl_context* ctx);

/// From here on a signal ends the command in stages: at the next step or call of a model; after
/// 0.15 s calls of models that do not return are aborted; after 0.4 s cpli_guard_program() is
/// aborted; after 2 s the process ends. A third signal ends it at once.
void cli_catch_signals(void);

/// From here on writing to a closed pipe is an error, not the end of the process.
void cli_keep_after_pipes(void);

typedef enum cli_stage {
  CLI_READS,     ///< the beginning: there is nothing to be kept, a signal ends the process
  CLI_RUNS,      ///< models are loaded and run
  CLI_WRITES,    ///< results are completed: nothing is left by force
  CLI_RELEASES,  ///< models are freed: calls that do not return are left
} cli_stage;
void cli_enter(cli_stage next);
