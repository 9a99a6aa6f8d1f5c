// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// --no-run: information about a file whose code is not trusted. Descriptions of FMUs and system
// files are read and models in C compiled, but no model is loaded.
#pragma once

#include "cli.h"

/// A model in C or a system, for info and graph: the models and connections, as the file has them.
cpl_status no_run_print(cpl_context* ctx, const char* path, const cli_package* package, bool json,
                        FILE* out);

/// The same files, for check: CPL_ERR_INPUT with a message where something is wrong with the system
/// file, with the description of an FMU in it, or where a model in C cannot be compiled.
cpl_status no_run_check(cpl_context* ctx, const char* path, const cli_package* package);
