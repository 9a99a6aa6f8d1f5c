// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The modes of floating-point arithmetic of a thread: rounding, flushing of small numbers, and
// which errors raise a signal. Models may change them by mistake, so they are compared after each
// call. Reading them takes as long as a small model; during a step they are known beforehand.
#pragma once

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

#include "base/guard.h"

static inline uint32_t cpli_float_modes(void) {
#if defined(__x86_64__)
  return _mm_getcsr() & 0xffc0u;
#else
  return (uint32_t)fegetround();
#endif
}

static inline void cpli_float_set(uint32_t modes) {
#if defined(__x86_64__)
  _mm_setcsr(modes);
#else
  fesetround((int)modes);
#endif
}

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

/// Back to the modes before a call of a model. The rounding of the x87 unit follows: fesetround()
/// changes both.
static inline void cpli_float_put_back(uint32_t modes) {
#if defined(__x86_64__)
  const uint16_t x87 = cpli_x87_modes();
  cpli_x87_restore((uint16_t)((x87 & ~0xc00u) | (modes >> 3 & 0xc00u)));
#endif
  cpli_float_set(modes);
}

/// Until the end only models change the modes of this thread, and they are restored after their
/// calls. Nests: to be ended with what it returned.
static inline uint32_t cpli_float_begin(void) {
  const uint32_t outer = cpli_float_known;
  if (outer == 0) cpli_float_known = cpli_float_modes() | 1u << 31;
  return outer;
}
static inline void cpli_float_end(uint32_t outer) { cpli_float_known = outer; }

/// The modes before the call of a model.
static inline uint32_t cpli_float_before(void) {
  const uint32_t known = cpli_float_known;
  return known != 0 ? known & ~(1u << 31) : cpli_float_modes();
}
