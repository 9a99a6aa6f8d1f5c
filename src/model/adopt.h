// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Compatibility of operation tables (the rule is in couplet/interface.h): the sizes are checked
// once, when a component of a program is handed over. One with smaller tables of an older version
// gets complete ones, so that nothing else has to look at sizes.
#pragma once

#include <stddef.h>

#include "couplet/interface.h"

// Whether a table has an optional operation. For functions that a program may call with a component
// that was not handed over.
#define CPLI_OFFERS(table, op)                                                           \
  ((table)->size >=                                                                      \
       (size_t)((const char*)&(table)->op - (const char*)(table)) + sizeof(table)->op && \
   (table)->op != NULL)

/// Returns: CPL_ERR_INPUT for a table of size zero or without room for the required operations.
cpl_status cpli_adopt_model(cpl_model* m);
cpl_status cpli_adopt_stepper(cpl_stepper* s);
cpl_status cpli_adopt_source(cpl_source* src);
cpl_status cpli_check_component(const cpl_component* c);  ///< only the table common to all

/// Destroy a component that was not used after all. One with refused tables is left alone.
/// Nullable: c
void cpli_discard(cpl_component* c);
