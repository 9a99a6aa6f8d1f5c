// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Examples as a user runs them: the command in a copy of the example's folder, and its results.
#pragma once

#include "testing.h"

// Runs "couplet ARGUMENTS" with errors in err.txt; returns the exit code.
CPL_PRINTF(1, 2) static inline int couplet(const char* fmt, ...) {
  char arguments[4096], command[8192];
  va_list args;
  va_start(args, fmt);
  vsnprintf(arguments, sizeof arguments, fmt, args);
  va_end(args);
  snprintf(command, sizeof command, "'%s' %s >out.txt 2>err.txt", getenv("COUPLET"), arguments);
  int status = system(command);
  return status < 0 || (status & 0x7f) != 0 ? -1 : (status >> 8) & 0xff;
}

static inline char* read_all(const char* path, size_t* size) {
  FILE* f = fopen(path, "rb");
  if (f == NULL) fail_msg("%s is missing", path);
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  char* text = malloc(*size + 1);
  CHECK(fread(text, 1, *size, f) == *size);
  text[*size] = '\0';
  fclose(f);
  return text;
}

static inline void check_message(const char* part) {
  size_t n;
  char* text = read_all("err.txt", &n);
  CHECK_CONTAINS(text, part);
  free(text);
}

// The same for a command that must not fail.
CPL_PRINTF(1, 2) static inline void must_do(const char* fmt, ...) {
  char arguments[4096];
  va_list args;
  va_start(args, fmt);
  vsnprintf(arguments, sizeof arguments, fmt, args);
  va_end(args);
  int code = couplet("%s", arguments);
  if (code == 0) return;
  size_t n;
  fail_msg("couplet %s: exit code %d\n%s", arguments, code, read_all("err.txt", &n));
}

static inline cpl_table* read_table(cpl_context* ctx, const char* path) {
  cpl_table* table;
  CHECK_OK(ctx, cpl_results_read(ctx, path, &table));
  return table;
}

static inline const double* column(const cpl_table* t, const char* name) {
  ptrdiff_t c = cpl_table_find(t, name);
  if (c < 0) fail_msg("no column %s", name);
  return t->values + (size_t)c * t->n_rows;
}

// Copies examples/NAME to here, so that FMUs can be put beside its system files.
static inline void copy_example(const char* name) {
  char command[8192];
  const char* from = getenv("COUPLET_SOURCE_DIR");
  snprintf(command, sizeof command, "rm -rf '%s' && cp -r '%s/examples/%s' .", name, from, name);
  CHECK_INT(system(command), 0);
}

// Runs a system or model with rtol = atol = tol and reads what it wrote.
static inline cpl_table* run_with(cpl_context* ctx, const char* file, double tol) {
  must_do("run %s --rtol %g --atol %g -o out.csv", file, tol, tol);
  return read_table(ctx, "out.csv");
}
