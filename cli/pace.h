// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A run in step with the clock.
#pragma once

#include "cli.h"

typedef struct pace {
  double factor;  // simulated seconds per second; 0: as fast as it goes
  double began;   // on the clock; 0: not yet
  double start;   // simulated time there
  int64_t steps, overruns;
  double latest;  // by how much [s]
  const volatile int* cancel;
} pace;

// Waits until the clock has come to t; does not wait when it has passed already, which is an
// overrun. The first call only notes where time begins.
void pace_wait(pace* p, double t);
