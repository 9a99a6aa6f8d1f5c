// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Running another program, the system's C compiler above all: without a shell, so that no file name
// can become a command.
#pragma once

#include "base/base.h"

/// Run argv[0] (looked up in PATH) and wait. *output gets the beginning of what it printed on both
/// streams, *exit_code its exit code, or 128 + the signal that ended it. Owned:    *output by the
/// caller, who calls cpli_free(). NULL when the program could not be started. Returns:
/// CPL_ERR_INPUT when there is no such program. A cancelled context ends the program and what it
/// started.
cpl_status cpli_run_program(cpl_context* ctx, const char* const* argv, char** output,
                            int* exit_code);

/// Run the system's C compiler ($CC or cc) with these arguments, ended by NULL. When it fails, the
/// message is "<what> could not be compiled: ..." with what the compiler said.
cpl_status cpli_run_compiler(cpl_context* ctx, const char* what, const char* const* args);
