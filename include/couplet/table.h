// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Values over time: an input file, a result file, or arrays of the caller.
/// Times do not decrease; a time that stands twice is a discontinuity: left value first.
typedef struct cpl_table {
  size_t n_rows, n_columns;
  const char* const* names;  ///< of the columns, without time
  const char* const* units;  ///< Nullable, and each may be NULL
  const double* time;        ///< n_rows
  const double* values;      ///< column after column: values[column * n_rows + row]
} cpl_table;

#ifdef __cplusplus
}
#endif
