// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The components of a composed stepper: for graphs, for --stats and for --json.
#pragma once

#include "cli.h"
#include "format/json.h"

bool parts_is(const cpl_component* c, const char* kind);

// The master that c is, or that is one of several independent steppers; NULL: there is none.
const cpl_component* parts_master(const cpl_component* c);
// What that master makes of a stepper: "rolls back", ...
const char* parts_role(const cpl_stepper* s, int32_t i);

// The counters of a master or of components with delay lines; nothing for other steppers.
void parts_print(FILE* out, const cpl_stepper* s);
void parts_write(cpli_json* j, const cpl_stepper* s);
