// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Forked processes that call models. Such a process leads a group of its own, so that what a model
// starts ends with it; it ends when its parent does, also when that is killed; and it has no file
// of the parent but the ones it needs.
#pragma once

#include <sys/types.h>

#include "base/base.h"

/// fork(): zero in the child, its number in the parent, negative where there is none (errno says
/// why). The child has standard output and error, no input, the descriptor `keep` (-1: none) and no
/// other file of the parent; crashes of models in it are turned into errors (base/guard.h); SIGINT
/// and SIGHUP are for the parent to handle. It is killed when the thread that made it ends.
pid_t cpli_child_fork(cpl_context* ctx, int keep);

enum { CPLI_NOT_STARTED = 127 };  // exit code

/// Start another program as such a child: arguments, environment (both end with NULL), and the
/// descriptors that become its standard input, output and error (-1: those of this process).
/// argv[0] is a path. It ends with CPLI_NOT_STARTED where there is no such program.
pid_t cpli_child_start(const char* const* argv, const char* const* env, const int files[3]);

/// Kill a child with all processes of its group. Returns its exit status, as from waitpid(); -1:
/// unknown, since other code of this process has taken it.
int cpli_child_end(pid_t pid);

/// Whether a child has ended. It is not waited for: cpli_child_end() follows, for what it started.
bool cpli_child_has_ended(pid_t pid);
