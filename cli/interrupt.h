// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Ctrl-C, and what else asks a run to end.
#pragma once

/// How often it was asked for: what `cancel` of a definition points to.
extern volatile int cli_interrupted;

/// The first Ctrl-C (SIGTERM, SIGHUP) ends a run at its next step, the second leaves a call of the
/// model that does not come back, the third ends the program. Writing to a closed pipe is an error.
void cli_catch_signals(void);
