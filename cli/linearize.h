// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Linearisations as text, JSON, CSV and MAT: linearize.c makes them, linearize_write.c writes them.
#pragma once

#include "cli.h"

typedef struct linearized {
  const char* file;
  const char* name;  // of the system
  double time;
  const cpl_linear* whole;
  const cpl_reduced* reduced;      // NULL: it is not
  const char* const* model_names;  // of the models
  const cpl_linear* const* models;
  int32_t n_models;  // 0: not wanted
  const cpl_root *poles, *zeros;
  int32_t n_poles, n_zeros;  // -1: not wanted
} linearized;

typedef void linearize_writer(FILE* out, const linearized* l);
linearize_writer linearize_text, linearize_json, linearize_csv, linearize_mat;
