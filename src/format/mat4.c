// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A header is checked against the size of the file before its matrix is returned; entries of any
// number format are converted to double.
#include "format/mat4.h"
#include "format/source_loc.h"

#include <assert.h>

static_assert(sizeof(cpli_mat_header) == 20 && offsetof(cpli_mat_header, columns) == 8,
              "a header is five integers in the file");
static_assert(sizeof(double) == 8 && sizeof(float) == 4, "number formats of the file");

// Bytes of a number by the third digit of the type; 0: no such format.
static size_t number_size(int32_t type) {
  static const uint8_t sizes[10] = {8, 4, 4, 2, 2, 1};
  return sizes[type / 10 % 10];
}

cpl_status cpli_mat_next(cpl_context* ctx, const char* path, const char* file, size_t len,
                         size_t* at, cpli_mat* out) {
  *out = (cpli_mat){0};
  assert(*at <= len);
  const size_t left = len - *at;
  if (left == 0) return CPL_OK;
  cpli_mat_header h;
  if (left < sizeof h) {
    return cpli_fail_file(ctx, CPL_ERR_INPUT, path, "byte %zu: the file ends inside a header", *at);
  }
  memcpy(&h, file + *at, sizeof h);
  const size_t size = h.type >= 0 && h.type < 1000 ? number_size(h.type) : 0;
  if (size == 0 || h.type / 100 != 0 || h.type % 10 > 1 || h.rows < 0 || h.columns < 0 ||
      h.imaginary != 0 || h.name_len < 1 || (size_t)h.name_len > left - sizeof h ||
      file[*at + sizeof h + (size_t)h.name_len - 1] != '\0') {
    return cpli_fail_file(
        ctx, CPL_ERR_INPUT, path,
        "byte %zu: is not a matrix of a MAT file of level 4 (little-endian, real)", *at);
  }
  const size_t start = sizeof h + (size_t)h.name_len;
  const size_t count = (size_t)h.rows * (size_t)h.columns;  // below 2^62
  if (count > (left - start) / size) {
    return cpli_fail_file(ctx, CPL_ERR_INPUT, path, "the file ends inside the matrix \"%s\"",
                          file + *at + sizeof h);
  }
  *out = (cpli_mat){.name = file + *at + sizeof h,
                    .data = (const unsigned char*)file + *at + start,
                    .rows = (size_t)h.rows,
                    .columns = (size_t)h.columns,
                    .type = h.type};
  *at += start + count * size;
  return CPL_OK;
}

double cpli_mat_number(const cpli_mat* m, size_t row, size_t column) {
  assert(row < m->rows && column < m->columns);
  const size_t size = number_size(m->type);
  const unsigned char* p = m->data + (column * m->rows + row) * size;
  union {
    double d;
    float f;
    int32_t i;
    int16_t s;
    uint16_t u;
  } v;
  memcpy(&v, p, size);
  switch (m->type / 10 % 10) {
    case 0: return v.d;
    case 1: return (double)v.f;
    case 2: return v.i;
    case 3: return v.s;
    case 4: return v.u;
    default: return *p;
  }
}
