// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Units as modellers write them, "m/s2", "N.m", "kW", "degC", turned into exponents of the SI base
// units and the factor (and offset) that lead to them. A unit nobody can read is still a name.
#pragma once

#include "base/base.h"
#include "couplet/interface.h"

/// Factors with exponents ("m2", "s-1", "m^2"), joined by "." or "*" and "/", which divides by the
/// next factor or parenthesis only. Prefixes of SI before the units that take them.
/// Fills exponents, factor, offset and has_base; false, and *out stays, when it is not readable.
bool cpli_unit_parse(const char* text, cpl_unit* out);
