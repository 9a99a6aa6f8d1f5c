// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Units in the usual notation, "m/s2", "N.m", "kW", "degC", converted to exponents of the SI base
// units and the factor (and offset) to them. A unit that cannot be parsed is still a name.
#pragma once

#include "base/base.h"
#include "couplet/interface.h"

/// Factors with exponents ("m2", "s-1", "m^2"), joined by "." or "*" and "/", which divides by the
/// next factor or parenthesis only. Prefixes of SI before the units that allow them. Fills
/// exponents, factor, offset and has_base; false, with *out unchanged, when it cannot be parsed.
bool cpli_unit_parse(const char* text, cpl_unit* out);

//------------------------------------ conversion ------------------------------------

typedef enum cpli_unit_relation {
  CPLI_UNITS_SAME,     // the same name, or the same meaning
  CPLI_UNITS_CONVERT,  // values differ
  CPLI_UNITS_UNKNOWN,  // names differ, and one of them is unknown
  CPLI_UNITS_ANGLE,    // they differ in rad only, which many tools treat as 1
  CPLI_UNITS_DIFFER,   // of different dimensions
} cpli_unit_relation;

/// target = factor * source + offset. `difference`: offsets do not apply. factor and offset are 1
/// and 0 unless CONVERT.
cpli_unit_relation cpli_relate_units(const cpl_unit* from, const cpl_unit* to, bool difference,
                                     double* factor, double* offset);

/// From one unit to another through the base units, which is more accurate than one factor: 3e5 Pa
/// are 3 bar.
typedef struct cpli_conversion {
  double factor, offset;        // value in base units = factor * value + offset
  double to_factor, to_offset;  // of the target unit
  bool inverse;                 // value = factor / value, of a display unit
} cpli_conversion;

/// From a unit by its name to that of a variable: one of the description's units, a display unit of
/// the variable's own, or any that can be parsed. Differences (relative quantities) have no offset.
/// *out is the identity unless CONVERT; ANGLE has the factors nevertheless.
/// Order: the variable has a unit.
cpli_unit_relation cpli_relate_to_variable(const cpl_description* d, const cpl_variable* v,
                                           const char* from, cpli_conversion* out);

/// The same between two units.
cpli_unit_relation cpli_unit_conversion(const cpl_unit* from, const cpl_unit* to, bool difference,
                                        cpli_conversion* out);

double cpli_convert(const cpli_conversion* c, double value);
