// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Running another program, mainly the system's C compiler: without a shell, so that no file name
// can become a command.
#pragma once

#include "base/base.h"

/// Run argv[0] (looked up in PATH) and wait. *output gets the beginning of its output on both
/// streams, *exit_code its exit code, or minus the signal that ended it. If SIGCHLD is ignored, it
/// is not during this call.
/// Owned:    *output by the caller, who calls cpli_free(). NULL when the program could not be
///           started.
/// Returns:  CPL_ERR_INPUT when there is no such program. A cancelled context ends the program and
///           what it started.
cpl_status cpli_run_program(cpl_context* ctx, const char* const* argv, char** output,
                            int* exit_code);

/// Run the system's C compiler with these arguments, ended by NULL. It is $CC or cc; words in $CC
/// are separated by blanks, "ccache gcc", unless the whole is the path of a program. When it fails,
/// the message is "<what> could not be compiled: ..." with the output of the compiler.
cpl_status cpli_run_compiler(cpl_context* ctx, const char* what, const char* const* args);

/// The identity of the compiler: its words, their files, and its version. It changes when another
/// compiler is installed.
/// Owned: *out by the caller, who calls cpli_free().
cpl_status cpli_compiler_identity(cpl_context* ctx, char** out);

/// A file name in a form that compilers accept, whatever it begins with: "-x.c" becomes "./-x.c".
/// NULL:
/// out of memory. Owned: by the caller, who calls cpli_free().
char* cpli_file_argument(cpl_context* ctx, const char* path);
