// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What tests of systems with delay lines share.
#pragma once

#include "running.h"

static inline double at(const cpl_table* t, const char* name, double time) {
  for (size_t i = 0; i < t->n_rows; i++) {
    if (fabs(t->time[i] - time) < 1e-9) return column(t, name)[i];
  }
  fail_msg("no row at %g", time);
  return 0;
}

static inline void check_same_bytes(const char* file, const char* options) {
  size_t n[2];
  char* first = read_all("out.csv", &n[0]);
  if (couplet("run %s -o other.csv %s", file, options) != 0) check_message("\n\n");
  char* second = read_all("other.csv", &n[1]);
  CHECK_INT(n[1], n[0]);
  CHECK(memcmp(first, second, n[0]) == 0);
  free(first);
  free(second);
}

// The FMUs are built once.
static inline void prepare_pendulum(void) {
  static bool built;
  copy_example("tlm_double_pendulum");
  for (int i = 1; i <= 2; i++) {
    char copy[256];
    if (!built) must_do("build tlm_double_pendulum/doublePendulum%d.c -o built%d.fmu", i, i);
    snprintf(copy, sizeof copy,
             "cp built%d.fmu tlm_double_pendulum/doublePendulum%d/doublePendulum%d.fmu", i, i, i);
    CHECK_INT(system(copy), 0);
  }
  built = true;
}

static inline void spoil(const char* file, const char* change) {
  char command[512];
  snprintf(command, sizeof command, "sed -i '%s' tlm_double_pendulum/%s", change, file);
  CHECK_INT(system(command), 0);
}
