// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/solver.h"
#include "couplet/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One recorded variable.
typedef struct cpl_column {
  const char* name;
  const char* unit;         ///< Nullable
  const char* description;  ///< never NULL
  cpl_type type;
  bool constant;  ///< a parameter or constant: the same in every row
} cpl_column;

/// A recorded value; the column's type says which member (integers: Integer, Boolean, Enumeration).
typedef union cpl_value {
  double real;
  int64_t integer;
  const char* string;
} cpl_value;

/// Called before the first point with the columns (without time), valid until the run ends.
typedef cpl_status cpl_columns_fn(void* user, const cpl_column* columns, size_t n);

/// Called at every output point; both sides of an event come with the same t. values[i] belongs to
/// columns[i] and is valid during the call only.
typedef cpl_status cpl_point_fn(void* user, double t, const cpl_value* values);

#ifdef __cplusplus
}
#endif
