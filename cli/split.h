// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Results of a system with one file per model: out.csv becomes out.left.csv, out.right.csv, with
// the names of variables in their models. Variables of no model stay in out.csv. Files without
// columns are not written.
#pragma once

#include "cli.h"

typedef struct split_file {
  const char* model;  // NULL: no model
  char* path;         // NULL: there is no such file
  cpl_results* results;
  size_t* places;  // of its columns among all columns
  size_t n;
  cpl_value* row;
} split_file;

typedef struct split {
  split_file* files;
  size_t n;
} split;

/// def->path is that of the whole. The caller calls split_free(), also after a failure.
cpl_status split_open(split* s, cpl_context* ctx, const cpl_system_def* system,
                      const cpl_results_def* def, const cpl_column* columns, size_t n);
cpl_status split_record(split* s, double t, const cpl_value* values);
// *kept: the content of the file with the most rows.
cpl_status split_close(split* s, bool failed, cpl_results_kept* kept);
void split_free(split* s);
