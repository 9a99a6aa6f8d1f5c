// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The solution of a system with how much errors of the size of the tolerance move it, and the
// comparison of rows with it.
#pragma once

#include "drive.h"

typedef struct truth {
  solution exact, disturbed[2];
  double scale[MAX_COLUMNS];  ///< the largest value of a column
  double noise;               ///< of the disturbed solutions, in units of the tolerance
  bool found;                 ///< and events do not accumulate
  bool usable;                ///< and small errors do not change the order of events
  const char* why;            ///< it is not
} truth;

typedef struct finding {
  double ratio;        ///< the largest error in units of its bound
  double error;        ///< the largest error at output points, relative to the column's scale
  char text[400];      ///< of the largest ratio
  bool contradiction;  ///< rows are missing, not finite or in the wrong order; text says it
} finding;

void truth_find(const random_system* s, truth* out);

/// Compares rows with the truth; errors may be `allowance` times what errors of rtol and atol of
/// each state make. values_only: for co-simulation, where event rows are not compared.
void check_rows(const random_system* s, const truth* t, const outcome* rows, double rtol,
                double atol, double allowance, bool values_only, finding* out);

/// Whether every row of one run is in the other with the same bits.
bool rows_within(const outcome* few, const outcome* many, char* text, size_t size);

/// Whether two runs have the same bits; only columns with a number that `modulo` divides (0: all).
bool same_rows(const outcome* a, const outcome* b, int modulo, char* text, size_t size);
