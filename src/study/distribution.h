// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Quantile functions. Samples of every distribution are its quantiles at uniformly distributed
// numbers, so that stratified and low-discrepancy points keep their structure.
#pragma once

#include "couplet/design.h"

/// The inverse of the standard normal distribution function, to about 1e-15 of the value, also in
/// the tails; -INFINITY and INFINITY at 0 and 1, NAN outside.
double cpli_normal_quantile(double p);

/// The same of Student's distribution with that many degrees of freedom, to about 1e-12; INFINITY
/// degrees of freedom: of the normal distribution.
double cpli_student_quantile(double p, double freedom);

/// The quantile of increasing samples: position p * (n - 1), interpolated linearly (type 7).
double cpli_sorted_quantile(const double* sorted, int64_t n, double p);
