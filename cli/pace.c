// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sleeps until the clock has reached the time that the factor prescribes, and counts overruns.
#include "pace.h"

#include <math.h>
#include <time.h>

#include "base/base.h"

// The sleep is resumed after a signal, unless the run is to end.
static void sleep_until(const pace* p, double due) {
  for (double left = due - cpli_now(); left > 0 && cpl_context_cancelled(p->ctx) == 0;
       left = due - cpli_now()) {
    struct timespec ts = {.tv_sec = (time_t)left, .tv_nsec = (long)(1e9 * (left - floor(left)))};
    nanosleep(&ts, NULL);
  }
}

void pace_wait(pace* p, double t) {
  if (p->factor == 0) return;
  if (p->began == 0) {
    p->began = cpli_now();
    p->start = t;
    return;
  }
  double due = p->began + (t - p->start) / p->factor, late = cpli_now() - due;
  p->steps++;
  if (late <= 0) {
    sleep_until(p, due);
  } else {
    p->overruns++;
    p->latest = fmax(p->latest, late);
  }
}
