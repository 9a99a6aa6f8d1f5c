// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Synchronises a run with the clock (--real-time).
#pragma once

#include "cli.h"

typedef struct pace {
  double factor;  // simulated seconds per second; 0: as fast as it goes
  double began;   // on the clock; 0: not yet
  double start;   // simulated time there
  int64_t steps, overruns;
  double latest;     // by how much [s]
  cpl_context* ctx;  // its cancellation ends the waiting
} pace;

// Waits until the clock has reached t; when it has passed t already, that is an overrun. The first
// call only records the start time.
void pace_wait(pace* p, double t);
