// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Columns of numbers from CSV files without time.
#include <math.h>
#include <stdio.h>

#include "format/csv.h"
#include "format/source_loc.h"
#include "model/table.h"
#include "study/factor.h"

enum { MAX_COLUMNS = 100000 };

void cpli_columns_free(cpli_columns* c) {
  if (c->arena.ctx == NULL) return;
  cpli_free(c->arena.ctx, c->names);
  cpli_free(c->arena.ctx, c->units);
  cpli_free(c->arena.ctx, c->values);
  cpli_arena_free(&c->arena);
  *c = (cpli_columns){0};
}

// One name of the header; `name [unit]` is split.
static cpl_status add_name(const cpli_csv* csv, const cpli_csv_field* f, cpli_columns* c,
                           size_t* cap) {
  cpl_context* ctx = csv->ctx;
  if (c->n == MAX_COLUMNS)
    return cpli_csv_error(csv, f->line, f->column, "more than %d columns", MAX_COLUMNS);
  size_t units_cap = *cap;
  if (!cpli_grow(ctx, (void**)&c->names, cap, c->n, sizeof *c->names) ||
      !cpli_grow(ctx, (void**)&c->units, &units_cap, c->n, sizeof *c->units))
    return cpli_nomem(ctx);
  const char* unit = cpli_unit_in_name(f->text, f->len);
  const size_t len = unit != NULL ? (size_t)(unit - f->text) : f->len;
  c->names[c->n] = cpli_arena_strndup(&c->arena, f->text, len);
  c->units[c->n] = unit != NULL ? cpli_arena_strndup(&c->arena, unit + 2, f->len - len - 3) : NULL;
  if (c->names[c->n] == NULL || (unit != NULL && c->units[c->n] == NULL)) return cpli_nomem(ctx);
  c->n++;
  return CPL_OK;
}

static cpl_status read_header(cpli_csv* csv, cpli_columns* c, bool any_names) {
  if (!cpli_csv_next_row(csv))
    return cpli_fail_file(csv->ctx, CPL_ERR_INPUT, csv->path, "is empty");
  cpli_names seen = {0};
  cpl_status st = cpli_names_init(&seen, csv->ctx, 16);
  cpli_csv_field f = {0};
  for (size_t cap = 0; st >= 0 && !f.last;) {
    st = cpli_csv_next_field(csv, &f);
    if (st >= 0) st = add_name(csv, &f, c, &cap);
    if (st < 0 || any_names) continue;
    const char* name = c->names[c->n - 1];
    double number;
    const int32_t first = cpli_names_add(&seen, name, (int32_t)c->n - 1);
    if (first < 0) {
      st = cpli_nomem(csv->ctx);
    } else if (name[0] == '\0') {
      st = cpli_csv_error(csv, f.line, f.column, "column %zu has no name", c->n);
    } else if (cpli_csv_number(&f, &number)) {
      st = cpli_csv_error(csv, f.line, f.column,
                          "the first row has the names of the columns, not a number (%s)", name);
    } else if (first != (int32_t)c->n - 1) {
      st = cpli_csv_error(csv, f.line, f.column, "there are two columns \"%s\"", name);
    }
  }
  cpli_names_free(&seen);
  return st;
}

static cpl_status bad_number(const cpli_csv* csv, const cpli_csv_field* f, const char* name) {
  if (f->len == 0) return cpli_csv_error(csv, f->line, f->column, "%s has no value here", name);
  const bool comma = memchr(f->text, ',', f->len) != NULL;
  return cpli_csv_error(csv, f->line, f->column, "%s: \"%.*s\" is not a number%s", name,
                        (int)(f->len < 60 ? f->len : 60), f->text,
                        comma ? " (decimals have a point, no comma)" : "");
}

// Reads a row into c->values[]; only: the index of the only column that matters, or c->n.
static cpl_status read_row(cpli_csv* csv, const cpli_columns* c, size_t only, double* values) {
  cpli_csv_field f = {0};
  size_t i = 0;
  for (; !f.last; i++) {
    cpl_status st = cpli_csv_next_field(csv, &f);
    if (st < 0) return st;
    if (i == c->n)
      return cpli_csv_error(csv, f.line, f.column, "more fields than the %zu names of the header",
                            c->n);
    if (only < c->n && i != only) continue;
    double* v = &values[only < c->n ? 0 : i];
    if (!cpli_csv_number(&f, v)) return bad_number(csv, &f, c->names[i]);
    if (!isfinite(*v))
      return cpli_csv_error(csv, f.line, f.column, "%s is not finite", c->names[i]);
  }
  if (i < c->n)
    return cpli_csv_error(csv, f.line, f.column, "the row has %zu fields, the header has %zu", i,
                          c->n);
  return CPL_OK;
}

static cpl_status read_rows(cpli_csv* csv, cpli_columns* c, size_t only) {
  const size_t kept = only < c->n ? 1 : c->n;
  // every field has a byte at least: a file cannot require more memory than 8 times its size
  size_t bound = (size_t)(csv->end - csv->at) / c->n + 1, rows = cpli_csv_rows_left(csv);
  if (rows > bound) rows = bound;
  c->values = cpli_alloc(csv->ctx, rows + 1, kept * sizeof *c->values);
  if (c->values == NULL) return cpli_nomem(csv->ctx);
  for (; cpli_csv_next_row(csv); c->rows++) {
    cpl_status st = read_row(csv, c, only, c->values + (size_t)c->rows * kept);
    if (st < 0) return st;
  }
  if (c->rows == 0)
    return cpli_fail_file(csv->ctx, CPL_ERR_INPUT, csv->path, "there are no rows below the names");
  return CPL_OK;
}

static const char* name_at(const void* user, size_t i) {
  return ((const cpli_columns*)user)->names[i];
}

// The column of that name, also when it is written with its unit.
static cpl_status find_column(const cpli_csv* csv, const cpli_columns* c, const char* name,
                              size_t* out) {
  size_t found = 0;
  for (size_t i = 0; i < c->n; i++) {
    if (strcmp(c->names[i], name) != 0) continue;
    *out = i;
    found++;
  }
  if (found == 1) return CPL_OK;
  if (found > 1)
    return cpli_fail_file(csv->ctx, CPL_ERR_INPUT, csv->path, "there are %zu columns \"%s\"", found,
                          name);
  char near[400], list[300];
  size_t used = 0;
  for (size_t i = 0; i < c->n && used < sizeof list; i++)
    used +=
        (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", c->names[i]);
  if (used >= sizeof list) strcpy(list + sizeof list - 4, "...");
  cpli_did_you_mean(name, name_at, c, c->n, near, sizeof near);
  return cpli_fail_file(csv->ctx, CPL_ERR_INPUT, csv->path,
                        "there is no column \"%s\"%s; the columns are: %s", name, near, list);
}

cpl_status cpli_columns_read(cpl_context* ctx, const char* path, const char* column,
                             cpli_columns* out) {
  cpli_csv csv = {0};
  *out = (cpli_columns){0};
  cpli_arena_init(&out->arena, ctx);
  cpl_status st = cpli_csv_open(ctx, path, &csv);
  if (st < 0) return st;
  st = read_header(&csv, out, column != NULL);
  size_t only = out->n;
  if (st >= 0 && column != NULL) st = find_column(&csv, out, column, &only);
  if (st >= 0) st = read_rows(&csv, out, only);
  if (st >= 0 && column != NULL) {
    out->names[0] = out->names[only];
    out->units[0] = out->units[only];
    out->n = 1;
  }
  cpli_csv_close(&csv);
  return st;
}
