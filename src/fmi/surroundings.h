// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Settings of the process that an FMU may change: working folder, locale, mask of new files, signal
// handlers, modes of floating-point arithmetic. They are saved before calls and restored after
// them.
#pragma once

#include <locale.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/float_modes.h"
#include "couplet/interface.h"

enum { CPLI_KEPT_SIGNALS = 10 };

typedef struct cpli_surroundings {
  char folder[4096];  // empty: not known
  char locale[256];
  locale_t thread_locale;
  mode_t mask;
  uint16_t x87;
  struct sigaction actions[CPLI_KEPT_SIGNALS];
} cpli_surroundings;

void cpli_surroundings_keep(cpli_surroundings* s);
/// Each restored setting is reported in the log.
void cpli_surroundings_restore(const cpli_surroundings* s, const cpl_component* c,
                               const char* function);

// The same of the x87 unit, which only long double uses. It is slow to read.
static inline uint16_t cpli_x87_modes(void) {
  uint16_t modes = 0;
#if defined(__x86_64__)
  __asm__ volatile("fnstcw %0" : "=m"(modes));
#endif
  return modes;
}

static inline void cpli_x87_restore(uint16_t modes) {
  (void)modes;
#if defined(__x86_64__)
  __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(modes));  // clears pending errors
#endif
}

static inline void cpli_float_restore(uint32_t modes, uint16_t x87) {
  cpli_x87_restore(x87);  // both are changed together
  cpli_float_set(modes);
}
