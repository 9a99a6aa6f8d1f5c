// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An input over a step: its value, and the order of its kinks.
#pragma once

#include "couplet/interface.h"

/// The earlier of two kinks; at equal times the larger.
static inline cpl_break cpli_first_break(cpl_break a, cpl_break b) {
  if (a.time != b.time) return a.time < b.time ? a : b;
  return a.size > b.size ? a : b;
}

/// A stepper may be at a time that is earlier than `from` by rounding: the value is that at `from`.
static inline double cpli_curve_at(const cpl_curve* c, double t) {
  if (c->value != NULL) return c->value(c->user, t);
  double dt = t > c->from ? t - c->from : 0, sum = 0;
  for (int32_t k = c->order; k >= 0; k--) sum = sum * dt + c->coefficient[k];
  return sum;
}
