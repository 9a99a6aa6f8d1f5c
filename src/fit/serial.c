// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Durbin and Watson's statistic.
#include "fit/serial.h"

#include <math.h>

// In standard deviations, which are 2 / sqrt(n) for independent residuals.
static const double least_distance = 4;

bool cpli_serially_correlated(const double* residuals, size_t n, double* statistic) {
  double steps = 0, squares = 0;
  for (size_t i = 0; i < n; i++) squares += residuals[i] * residuals[i];
  for (size_t i = 1; i < n; i++)
    steps += (residuals[i] - residuals[i - 1]) * (residuals[i] - residuals[i - 1]);
  *statistic = squares > 0 ? steps / squares : 2;
  return 2 - *statistic > least_distance * 2 / sqrt((double)n);
}
