// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Start values and parameters by name, as users give them: "30 deg", "true", an item of an
// Enumeration.
#pragma once

#include "couplet/interface.h"

/// Set start values and parameters by name, before the component is initialised: types, limits and
/// units are checked, and whether the variable can be set at all.
cpl_status cpli_set_starts(cpl_component* c, const cpl_start* starts, size_t n);

/// The value of a Real start value, in the unit with this index of the component's description; -1:
/// it has none.
cpl_status cpli_start_number(const cpl_component* c, int32_t unit, const cpl_start* s,
                             double* value);

/// Why a variable cannot be set before the component is initialised: "it is a constant". NULL: it
/// can.
const char* cpli_not_settable(const cpl_variable* v);

/// The limit of a variable that a value is beyond, as a text of at most `size` bytes in `text`:
/// "its maximum is 5 m". NULL: the value is within the limits.
const char* cpli_beyond_limit(const cpl_description* d, const cpl_variable* v, double value,
                              char* text, size_t size);

/// A number and the text after it, with or without blanks between them: "20 degC". False: it does
/// not begin with a number.
bool cpli_split_number(const char* text, double* value, const char** rest);
