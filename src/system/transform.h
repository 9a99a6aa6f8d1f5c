// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Values that pass connectors with units and linear transformations (cpli_transform): the whole as
// one factor and one offset, or applied to a number.
#pragma once

#include "model/units.h"
#include "system/definition.h"

// Two units of which one cannot be converted to the other, or where that is doubtful.
typedef struct cpli_unit_clash {
  cpli_unit_relation relation;  // UNKNOWN, ANGLE, DIFFER; otherwise all is well
  const char *from, *to;
} cpli_unit_clash;

/// target = factor * source + offset. Doubtful units are not converted.
/// Nullable: from, to: the units of the variables at both ends
void cpli_transform_compose(const cpli_transform* t, const cpl_unit* from, const cpl_unit* to,
                            bool difference, double* factor, double* offset,
                            cpli_unit_clash* clash);

/// The same for one value, which is more accurate.
double cpli_transform_value(const cpli_transform* t, const cpl_unit* from, const cpl_unit* to,
                            bool difference, double value, cpli_unit_clash* clash);

/// Whether it does more than convert units.
bool cpli_transform_scales(const cpli_transform* t);  // Nullable: t
