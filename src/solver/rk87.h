// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The explicit method of order 8(7) with 13 stages of Prince and Dormand (High order embedded
// Runge-Kutta formulae, J. Comp. Appl. Math. 7, 1981). Its error estimate is also valid where
// derivatives depend on time only, where that of Fehlberg's pair is zero.
#pragma once

enum { CPLI_RK87_STAGES = 13 };

/// Nodes, the matrix by rows, weights of order 8 and of order 7.
typedef struct cpli_rk87 {
  double c[CPLI_RK87_STAGES];
  double a[CPLI_RK87_STAGES * CPLI_RK87_STAGES];
  double b[CPLI_RK87_STAGES], d[CPLI_RK87_STAGES];
} cpli_rk87;

extern const cpli_rk87 cpli_rk87_table;
