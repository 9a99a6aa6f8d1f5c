// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Serial correlation: residuals of neighbouring rows that are alike, as where the model cannot
// follow the data, are no independent errors.
#pragma once

#include "base/base.h"

/// Durbin and Watson's statistic of residuals in the order of time: about 2 where they are
/// independent, less where neighbours are alike. Returns whether it is so small that independent
/// ones would have it once in 30 000 times; never with less than 16.
bool cpli_serially_correlated(const double* residuals, size_t n, double* statistic);
