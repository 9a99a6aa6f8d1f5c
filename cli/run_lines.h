// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Statistics of the components of a system with delay lines, for --stats and --json.
#pragma once

#include "cli.h"
#include "format/json.h"

void run_print_lines(FILE* out, const cpl_stepper* s);
void run_write_lines(cpli_json* j, const cpl_stepper* s);
