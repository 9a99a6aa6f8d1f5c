// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tests of instances also run with FMUs of another platform (tests/foreign.cmake), which
// COUPLET_FOREIGN_PLATFORM names. Their processes have the environment of when they were started,
// so that faults are in a file, PROBE_FAULT_FILE (probe_fault.h).
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline bool is_other_platform(void) { return getenv("COUPLET_FOREIGN_PLATFORM") != NULL; }

static inline bool is_windows(void) {
  const char* name = getenv("COUPLET_FOREIGN_PLATFORM");
  return name != NULL && strncmp(name, "win", 3) == 0;
}

/// What is said of the fault segv.
static inline const char* crash_text(void) {
  return is_windows() ? "crashed (access violation in probe"
                      : "crashed (SIGSEGV: invalid memory access)";
}

/// Sets the fault of the FMU; NULL: none.
static inline void set_fault(const char* text) {
  const char* path = getenv("PROBE_FAULT_FILE");
  if (text != NULL) setenv("PROBE_FAULT", text, 1);
  else unsetenv("PROBE_FAULT");
  if (path == NULL) return;
  FILE* file = fopen(path, "w");
  if (file == NULL) abort();
  fputs(text != NULL ? text : "", file);
  fclose(file);
}
