// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/interface.h"

/// The earlier of two kinks; at equal times the larger.
static inline cpl_break cpli_first_break(cpl_break a, cpl_break b) {
  if (a.time != b.time) return a.time < b.time ? a : b;
  return a.size > b.size ? a : b;
}
