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
