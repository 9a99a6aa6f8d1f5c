#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# Writes src/format/powers.c: run from the project's folder, python3 tools/generate_powers.py
FIRST, LAST = -292, 324


def power(k):
    """10^k as the 128-bit integer g with 2^127 <= g < 2^128, rounded up: 10^k <= g * 2^(e - 127)."""
    if k >= 0:
        p = 10**k
        e = p.bit_length() - 1
        shift = e - 127
        return p << -shift if shift <= 0 else -(-p >> shift)
    p = 10**-k
    e = -p.bit_length()  # floor(log2(10^k)); 10^-k is no power of two
    return -(-(1 << (127 - e)) // p)


lines = [
    "// SPDX-FileCopyrightText: 2026 the couplet developers",
    "// SPDX-License-Identifier: BSD-2-Clause",
    "//",
    "// Made by tools/generate_powers.py; do not edit.",
    '#include "format/powers.h"',
    "",
    "// clang-format off: one power a line",
    "const cpli_power cpli_powers[CPLI_POWER_LAST - CPLI_POWER_FIRST + 1] = {",
]
for k in range(FIRST, LAST + 1):
    g = power(k)
    assert 1 << 127 <= g < 1 << 128
    lines.append("    {0x%016xu, 0x%016xu},  // %d" % (g >> 64, g & (1 << 64) - 1, k))
lines += ["};", "// clang-format on", ""]
open("src/format/powers.c", "w").write("\n".join(lines))
