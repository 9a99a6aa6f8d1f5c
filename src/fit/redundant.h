// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Columns of data that are no measurements of their own: results do not depend on the parameters,
// or they are another column, times a factor. Counted, they would make intervals too narrow.
#pragma once

#include "base/base.h"

/// A column: its rows among all.
typedef struct cpli_column_rows {
  size_t data, first, n;
} cpli_column_rows;

/// All columns at the solution of a fit.
typedef struct cpli_told {
  const cpli_column_rows* columns;
  size_t n_columns;
  size_t m, n;                // rows, parameters
  const double* measured;     // of each row
  const double* results;      // of each row
  const double* derivatives;  // of the results to each parameter in turn, m of each
  const double* sizes;        // of the parameters
  double noise;               // of derivatives, relative
} cpli_told;

/// The results of the column do not depend on the parameters.
bool cpli_without_influence(const cpli_told* t, size_t column);
/// An earlier column of the same data of which this one is a multiple, in what it measures and in
/// how it depends on the parameters; -1: there is none.
ptrdiff_t cpli_repeats_column(const cpli_told* t, size_t column);
