// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Powers of ten to 128 bits, for exact conversion between doubles and text. Entry k is the integer
// g with 2^127 <= g < 2^128 and 10^k = g * 2^(floor(log2(10^k)) - 127), rounded up where 10^k needs
// more bits.
#pragma once

#include <stdint.h>

enum { CPLI_POWER_FIRST = -292, CPLI_POWER_LAST = 324 };

typedef struct cpli_power {
  uint64_t high, low;
} cpli_power;

extern const cpli_power cpli_powers[CPLI_POWER_LAST - CPLI_POWER_FIRST + 1];
