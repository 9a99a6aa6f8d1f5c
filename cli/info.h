// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What `couplet info` prints, as text (info.c) and as JSON (info_json.c).
#pragma once

#include <stdio.h>

#include "fmi/fmu.h"
#include "format/json.h"

// Capabilities and their names, for both.
typedef struct info_capability {
  const char* name;  // in text
  const char* key;   // in JSON
  size_t offset;     // of the bool in cpli_fmu_kind
  bool me, cs, se;   // in which kinds it means something
  int since;         // version of FMI
} info_capability;

extern const info_capability info_capabilities[];  // ended by one without a name

/// Nullable: fmu (a model in C)
void info_print(FILE* out, const cpl_source* src, const cpl_fmu* fmu, bool all);
void info_print_json(FILE* out, const cpl_source* src, const cpl_fmu* fmu);

/// Clocks, terminals, layered standards, ways to compile (info_parts.c).
void info_print_parts(FILE* out, const cpl_fmu* fmu);
/// Algebraic variables and the residuals that give them.
void info_print_residuals(FILE* out, const cpl_description* d, const cpl_fmu* fmu);
void info_write_residuals(cpli_json* j, const cpl_description* d, const cpl_fmu* fmu);
void info_write_parts(cpli_json* j, const cpl_fmu* fmu);

/// Of an SSP package: variants, hierarchy, values and their origins (info_ssp.c).
void info_print_ssp(FILE* out, const cpl_source* src, bool all);
void info_write_ssp(cpli_json* j, const cpl_source* src);

/// The first of equal units each, as indices; the models of a system have units of their own.
/// Returns their number; without memory that of all units.
int32_t info_distinct_units(cpl_context* ctx, const cpl_description* d, int32_t* distinct);
const char* info_initial_name(const cpl_variable* v);  // NULL: none
