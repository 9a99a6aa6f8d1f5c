// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Rows of a simulation in memory: appended row by row, turned into a table of columns on request.
#include <assert.h>
#include <math.h>

#include "run/run.h"

static bool is_number(const cpl_column* c) {
  return c->type != CPL_STRING && c->type != CPL_BINARY;
}

void cpli_memory_begin(cpli_memory* m, const cpl_column* columns, size_t n) {
  m->columns = columns;
  m->n_columns = n;
  m->n_kept = m->n_rows = 0;
  for (size_t i = 0; i < n; i++) m->n_kept += is_number(&columns[i]);
}

cpl_status cpli_memory_add(cpli_memory* m, double t, const cpl_value* values) {
  size_t width = m->n_kept + 1;
  if (!cpli_grow(m->ctx, (void**)&m->rows, &m->cap, m->n_rows, width * sizeof *m->rows))
    return cpli_nomem(m->ctx);
  double* to = m->rows + m->n_rows++ * width;
  *to++ = t;
  for (size_t i = 0; i < m->n_columns; i++) {
    if (is_number(&m->columns[i])) *to++ = cpli_column_number(&m->columns[i], values[i]);
  }
  assert(to == m->rows + m->n_rows * width);
  return CPL_OK;
}

void cpli_memory_cut(cpli_memory* m, double t) {
  while (m->n_rows > 0 && m->rows[(m->n_rows - 1) * (m->n_kept + 1)] > t) m->n_rows--;
}

cpl_status cpli_memory_table(cpli_memory* m, const cpl_table** out) {
  size_t n = m->n_rows, width = m->n_kept + 1;
  *out = NULL;
  cpli_free(m->ctx, m->table_memory);
  m->table_memory =
      cpli_alloc(m->ctx, 1, n * width * sizeof(double) + 2 * m->n_kept * sizeof(char*) + 1);
  if (m->table_memory == NULL) return cpli_nomem(m->ctx);
  double* values = (double*)(void*)m->table_memory;
  const char **names = (const char**)(void*)(values + n * width), **units = names + m->n_kept;
  for (size_t k = 0, i = 0; i < m->n_columns; i++) {
    if (!is_number(&m->columns[i])) continue;
    names[k] = m->columns[i].name;
    units[k++] = m->columns[i].unit;
  }
  for (size_t row = 0; row < n; row++) {
    for (size_t k = 0; k < width; k++) values[k * n + row] = m->rows[row * width + k];
  }
  m->table = (cpl_table){.n_rows = n,
                         .n_columns = m->n_kept,
                         .names = names,
                         .units = units,
                         .time = values,
                         .values = values + n};
  *out = &m->table;
  return CPL_OK;
}

void cpli_memory_free(cpli_memory* m) {
  cpli_free(m->ctx, m->rows);
  cpli_free(m->ctx, m->table_memory);
}
