// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "cli.h"
#include "format/json.h"

void run_print_master(FILE* out, const cpl_stepper* s);
void run_write_master(cpli_json* j, const char* key, const cpl_stepper* s);
