// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Results of couplet sweep, read by tests.
#pragma once

#include <math.h>

#include "command.h"

enum { MAX_COLUMNS = 8 };

typedef struct table {
  char head[256];
  double values[256][MAX_COLUMNS];
  char failure[256][256];
  size_t n, n_columns;
} table;

// Failures are in the last column.
static inline table read_table(const char* path) {
  table t = {0};
  char* text = strdup(text_of(path));
  char* rest = text;
  for (char* line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) {
    if (t.head[0] == '\0') {
      snprintf(t.head, sizeof t.head, "%s", line);
      for (const char* c = line; *c != '\0'; c++) t.n_columns += *c == ',';
      continue;
    }
    for (size_t c = 0; c < t.n_columns; c++) {
      char* end;
      t.values[t.n][c] = line[0] == ',' ? NAN : strtod(line, &end);
      line = strchr(line, ',') + 1;
    }
    snprintf(t.failure[t.n++], sizeof t.failure[0], "%s", line);
  }
  free(text);
  return t;
}
