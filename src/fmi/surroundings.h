// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What belongs to the whole process and an FMU may change behind our back: working folder, locale,
// mask of new files, signal handlers, modes of floating-point arithmetic. Each is put back.
#pragma once

#include <locale.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/base.h"
#include "couplet/interface.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

enum { CPLI_KEPT_SIGNALS = 10 };

typedef struct cpli_surroundings {
  char folder[4096];  // empty: not known
  char locale[256];
  locale_t thread_locale;
  mode_t mask;
  struct sigaction actions[CPLI_KEPT_SIGNALS];
} cpli_surroundings;

void cpli_surroundings_keep(cpli_surroundings* s);
/// The log says what was put back.
void cpli_surroundings_restore(const cpli_surroundings* s, const cpl_component* c,
                               const char* function);

// Rounding, flushing of small numbers, and which errors raise a signal: cheap enough for each call.
static inline uint32_t cpli_float_modes(void) {
#if defined(__x86_64__)
  uint16_t x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (_mm_getcsr() & 0xffc0u) | (uint32_t)x87 << 16;
#else
  return (uint32_t)fegetround();
#endif
}

static inline void cpli_float_restore(uint32_t modes) {
#if defined(__x86_64__)
  uint16_t x87 = (uint16_t)(modes >> 16);
  __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(x87));  // pending errors must not strike now
  _mm_setcsr(modes & 0xffc0u);
#else
  fesetround((int)modes);
#endif
}
