// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What every description satisfies, wherever it comes from: composers and solvers index with its
// numbers without further checks. A file that violates it was rejected before.
#pragma once

#include "couplet/interface.h"

/// A local variable without a name, unit, bounds or alias.
extern const cpl_variable cpli_blank_variable;

/// The type of a variable with its article, for messages: "an Int8", "a Boolean".
const char* cpli_type_text(const cpl_variable* v);

// description invariants: 1 units, types, derivatives and aliases of variables are indices, or -1;
// 2 the first variable of an alias is no alias; 3 states, derivatives,
// algebraic variables and residuals are variables, or -1: hidden; 4 rows of the structure and their
// dependencies are variables; 5 elements of arrays are variables; 6 display units are those of
// units.
/// What violates them: "a unit"; NULL: nothing.
const char* cpli_description_fault(const cpl_description* d);
#ifdef NDEBUG
#define cpli_check_description(d) ((void)0)
#else
void cpli_check_description(const cpl_description* d);
#endif
