// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Time spent in something that takes less than a microsecond and happens often, for statistics: the
// counter of the processor is read, which costs a tenth of a call of the system's clock, and
// converted by the time that passed since the stopwatch began.
#pragma once

#include "base/base.h"

typedef struct cpli_stopwatch {
  double began;     // [s]
  uint64_t origin;  // the same in ticks
  uint64_t spent;   // ticks
} cpli_stopwatch;

static inline uint64_t cpli_ticks(void) {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_ia32_rdtsc();
#else
  return (uint64_t)(1e9 * cpli_now());
#endif
}

// Both clocks at one time: again where the process was suspended between two readings.
static inline uint64_t cpli_ticks_at(double* now) {
  enum { MOST = 50000 };
  uint64_t before, after;
  int tries = 0;
  do {
    before = cpli_ticks();
    *now = cpli_now();
    after = cpli_ticks();
  } while (after - before > MOST && ++tries < 20);
  return before;
}

static inline cpli_stopwatch cpli_stopwatch_begin(void) {
  cpli_stopwatch w = {0};
  w.origin = cpli_ticks_at(&w.began);
  return w;
}

/// After what began at `since`, a value of cpli_ticks(). Processors may differ by some ticks.
static inline void cpli_stopwatch_add(cpli_stopwatch* w, uint64_t since) {
  uint64_t now = cpli_ticks();
  if (now > since) w->spent += now - since;
}

/// The time spent [s].
static inline double cpli_stopwatch_seconds(const cpli_stopwatch* w) {
  double seconds;
  uint64_t now = cpli_ticks_at(&seconds);
  if (w->spent == 0 || now <= w->origin || !(seconds > w->began)) return 0;
  double part = (double)w->spent / (double)(now - w->origin);
  return (seconds - w->began) * (part < 1 ? part : 1);
}
