// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Separate from context.c, which is also compiled where there is no such clock (sources in FMUs).
#include <math.h>
#include <time.h>

#include "base/base.h"

double cpli_now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

cpl_status cpli_check_times(cpl_context* ctx, const char* who, double from, double to,
                            double spacing, const char* what, bool warn) {
  static const double too_coarse = 0.01, coarse = 1e-5;  // of the spacing
  double largest = fmax(fabs(from), fabs(to));
  double apart = nextafter(largest, INFINITY) - largest;
  if (!isfinite(largest) || !(spacing > 0)) return CPL_OK;
  if (apart > too_coarse * spacing) {
    return cpl_fail_in(ctx, CPL_ERR_INPUT, who, NULL, NAN,
                       "at times of %.6g s two numbers are %.3g s apart, too far for %s every %.3g "
                       "s: let the run start at a smaller time",
                       largest, apart, what, spacing);
  }
  if (warn && apart > coarse * spacing) {
    cpl_log(ctx, CPL_LOG_WARNING, who,
            "at times of %.6g s two numbers are %.3g s apart: what depends on time itself is no "
            "more accurate than that",
            largest, apart);
  }
  return CPL_OK;
}

enum { SHORTEST = 16 };             // minimum average step in units of the resolution of time
static const double endless = 1e8;  // remaining steps

bool cpli_pace_check(cpl_context* ctx, cpli_pace* pace, const char* who, double t, double stop,
                     const char* why) {
  double passed = pace->passed, mean = passed / CPLI_PACE, left = (stop - t) / mean;
  pace->n = 0;
  pace->before = passed;
  pace->passed = 0;
  if (isfinite(left) && left > endless && !pace->warned) {
    pace->warned = true;
    cpl_log(ctx, CPL_LOG_WARNING, who,
            "makes little progress: its last %d steps were %.3g s long on the average and came to "
            "t=%.12g%s; there are %.2g such steps to t=%g",
            CPLI_PACE, mean, t, why, left, stop);
  }
  return passed > CPLI_PACE * SHORTEST * (nextafter(fabs(t), INFINITY) - fabs(t));
}
