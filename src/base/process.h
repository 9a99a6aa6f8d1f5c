// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Running another program, the system's C compiler above all: without a shell, so that no file name
// can become a command.
#pragma once

#include "base/base.h"

/// Run argv[0] (looked up in PATH) and wait. *output gets the beginning of what it printed on both
/// streams, *exit_code its exit code, or minus the signal that ended it. A program that ignores
/// SIGCHLD does not while this call lasts.
/// Owned:    *output by the caller, who calls cpli_free(). NULL when the program could not be
///           started.
/// Returns:  CPL_ERR_INPUT when there is no such program. A cancelled context ends the program and
///           what it started.
cpl_status cpli_run_program(cpl_context* ctx, const char* const* argv, char** output,
                            int* exit_code);

/// Run the system's C compiler with these arguments, ended by NULL. It is $CC or cc; in $CC blanks
/// stand between words, "ccache gcc", unless the whole is the path of a program. When it fails, the
/// message is "<what> could not be compiled: ..." with what the compiler said.
cpl_status cpli_run_compiler(cpl_context* ctx, const char* what, const char* const* args);

/// What the compiler is: its words, the files they are, and its version. It changes when another
/// compiler is installed.
/// Owned: *out by the caller, who calls cpli_free().
cpl_status cpli_compiler_identity(cpl_context* ctx, char** out);

/// The name of a file as compilers take it, whatever it begins with: "-x.c" becomes "./-x.c". NULL:
/// out of memory. Owned: by the caller, who calls cpli_free().
char* cpli_file_argument(cpl_context* ctx, const char* path);
