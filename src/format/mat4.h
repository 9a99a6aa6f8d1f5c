// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// MAT files of level 4: matrices one after the other, each a header of five integers, its name, and
// its numbers column after column. Only little-endian ones.
#pragma once

#include "base/base.h"

enum { CPLI_MAT_DOUBLE = 0, CPLI_MAT_FLOAT = 10, CPLI_MAT_INT32 = 20, CPLI_MAT_TEXT = 51 };

typedef struct cpli_mat_header {
  int32_t type;  // 1000 * byte order + 10 * number format + kind (1: text)
  int32_t rows, columns;
  int32_t imaginary;
  int32_t name_len;  // with the zero at its end
} cpli_mat_header;

// A matrix inside a file in memory.
typedef struct cpli_mat {
  const char* name;
  const unsigned char* data;
  size_t rows, columns;
  int32_t type;
} cpli_mat;

/// The matrix at *at, which moves behind it. At the end of the file name is NULL.
cpl_status cpli_mat_next(cpl_context* ctx, const char* path, const char* file, size_t len,
                         size_t* at, cpli_mat* out);

/// One number of a matrix, whatever its format.
double cpli_mat_number(const cpli_mat* m, size_t row, size_t column);
