// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads tables from CSV files. The lenient reader, used for results, skips columns of text and an
// incomplete last row.
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "format/csv.h"
#include "format/number.h"
#include "format/source_loc.h"
#include "model/table.h"

static const size_t max_columns = 1000000;

enum { SKIPPED = -2, TIME = -1 };  // fields of the file that are no columns of the table

// Fields of the file: `target[i]` is a column of the table, TIME or SKIPPED.
typedef struct header {
  cpli_csv_field* fields;
  ptrdiff_t* target;
  size_t n, cap;
  size_t n_columns;
  bool convert_time;
  cpli_conversion time;  // its unit
} header;

static bool is_time(const cpli_csv_field* f) {
  const char* unit = cpli_unit_in_name(f->text, f->len);
  const size_t len = unit != NULL ? (size_t)(unit - f->text) : f->len;
  return len == 4 && strncasecmp(f->text, "time", 4) == 0;
}

// A list "a, b, c" of the columns found, truncated where it gets long.
static cpl_status no_time(const cpli_csv* csv, const header* h) {
  char list[512];
  size_t used = 0;
  for (size_t i = 0; i < h->n && used < sizeof list; i++) {
    const cpli_csv_field* f = &h->fields[i];
    const int n = snprintf(list + used, sizeof list - used, "%s%.*s", i > 0 ? ", " : "",
                           (int)(f->len < 100 ? f->len : 100), f->text);
    used += (size_t)n;
  }
  if (used >= sizeof list) strcpy(list + sizeof list - 4, "...");
  return cpli_csv_error(csv, h->n > 0 ? h->fields[0].line : 1, 1,
                        "there is no column \"time\"; the columns are: %s", list);
}

// Times in another unit than s are converted. An unknown unit is an error; for results, a warning.
static cpl_status read_time_unit(const cpli_csv* csv, header* h, const cpli_csv_field* f,
                                 bool lenient) {
  const char* at = cpli_unit_in_name(f->text, f->len);
  char unit[64];
  if (at == NULL) return CPL_OK;
  const size_t len = f->len - (size_t)(at - f->text) - 3;
  snprintf(unit, sizeof unit, "%.*s", (int)(len < sizeof unit ? len : sizeof unit - 1), at + 2);
  if (cpli_time_unit(unit, &h->time)) {
    h->convert_time = h->time.factor != 1;
    return CPL_OK;
  }
  if (!lenient)
    return cpli_csv_error(csv, f->line, f->column, "the unit of time is \"%s\", not s, min, h, ...",
                          unit);
  cpl_log(csv->ctx, CPL_LOG_WARNING, csv->path,
          "the unit of time is \"%s\", which is no unit of time: s is assumed", unit);
  return CPL_OK;
}

static cpl_status read_header(cpli_csv* csv, header* h, bool lenient) {
  cpl_context* ctx = csv->ctx;
  if (!cpli_csv_next_row(csv)) return cpli_fail_file(ctx, CPL_ERR_INPUT, csv->path, "is empty");
  cpli_csv_field field = {0};
  while (!field.last) {
    cpl_status st = cpli_csv_next_field(csv, &field);
    if (st < 0) return st;
    if (h->n == max_columns) {
      return cpli_csv_error(csv, field.line, field.column, "more than %zu columns", max_columns);
    }
    if (!cpli_grow(ctx, (void**)&h->fields, &h->cap, h->n, sizeof *h->fields)) {
      return cpli_nomem(ctx);
    }
    h->fields[h->n++] = field;
  }
  h->target = cpli_alloc(ctx, h->n, sizeof *h->target);
  if (h->target == NULL) return cpli_nomem(ctx);

  bool has_time = false;
  for (size_t i = 0; i < h->n; i++) {
    if (!has_time && is_time(&h->fields[i])) {
      h->target[i] = TIME;
      has_time = true;
      cpl_status st = read_time_unit(csv, h, &h->fields[i], lenient);
      if (st < 0) return st;
    } else if (h->fields[i].len == 0) {
      h->target[i] = SKIPPED;  // behind a separator at the end of the line
    } else {
      h->target[i] = (ptrdiff_t)h->n_columns++;
    }
  }
  return has_time ? CPL_OK : no_time(csv, h);
}

// Sets the name of a column; `name [unit]` is split.
static cpl_status set_name(cpli_table* t, size_t column, const char* name, size_t len) {
  const char* unit = cpli_unit_in_name(name, len);
  const size_t name_len = unit != NULL ? (size_t)(unit - name) : len;
  t->names[column] = cpli_arena_strndup(&t->arena, name, name_len);
  if (unit != NULL) {
    t->units[column] = cpli_arena_strndup(&t->arena, unit + 2, len - name_len - 3);
    if (t->units[column] == NULL) return cpli_nomem(t->arena.ctx);
  }
  return t->names[column] != NULL ? CPL_OK : cpli_nomem(t->arena.ctx);
}

static cpl_status name_columns(const cpli_csv* csv, const header* h, cpli_table* t) {
  cpli_names seen = {0};
  cpl_status st = cpli_names_init(&seen, csv->ctx, h->n_columns);
  for (size_t i = 0; i < h->n && st >= 0; i++) {
    if (h->target[i] < 0) continue;
    const cpli_csv_field* f = &h->fields[i];
    const size_t column = (size_t)h->target[i];
    st = set_name(t, column, f->text, f->len);
    if (st < 0) break;
    const int32_t first = cpli_names_add(&seen, t->names[column], (int32_t)column);
    if (first < 0) {
      st = cpli_nomem(csv->ctx);
    } else if (first != (int32_t)column) {
      st =
          cpli_csv_error(csv, f->line, f->column, "there are two columns \"%s\"", t->names[column]);
    }
  }
  cpli_names_free(&seen);
  return st;
}

static cpl_status not_a_number(const cpli_csv* csv, const cpli_csv_field* f, const char* name) {
  if (f->len == 0) return cpli_csv_error(csv, f->line, f->column, "%s has no value here", name);
  const bool comma = memchr(f->text, ',', f->len) != NULL;
  return cpli_csv_error(csv, f->line, f->column, "%s: \"%.*s\" is not a number%s", name,
                        (int)(f->len < 60 ? f->len : 60), f->text,
                        comma ? " (decimals have a point, no comma)" : "");
}

// Whether a text is an integer of 64 bits that a double cannot represent. The extreme values of
// both signs are accepted: a conversion from the double restores them.
static bool is_rounded(const cpli_csv_field* f, double v) {
  if (!(fabs(v) >= 0x1p53 && fabs(v) <= 0x1p64)) return false;
  const bool sign = f->text[0] == '-' || f->text[0] == '+';
  uint64_t whole = 0;
  for (size_t i = sign; i < f->len; i++) {
    const char c = f->text[i];
    if (c < '0' || c > '9' || whole > (UINT64_MAX - (uint64_t)(c - '0')) / 10) return false;
    whole = 10 * whole + (uint64_t)(c - '0');
  }
  if (whole == UINT64_MAX || whole == INT64_MAX) return false;
  return fabs(v) == 0x1p64 || (uint64_t)fabs(v) != whole;
}

// The last line has no line end: an interrupted program may have left it.
static bool is_cut_short(const cpli_csv* csv) {
  return csv->at == csv->end && csv->end[-1] != '\n' && csv->end[-1] != '\r';
}

// One value. A column of text is marked SKIPPED by the lenient reader.
static cpl_status take_field(const cpli_csv* csv, header* h, size_t i, const cpli_csv_field* f,
                             bool lenient, cpli_table* t, size_t stride, size_t row) {
  if (h->target[i] == SKIPPED) return CPL_OK;
  const bool time = h->target[i] == TIME;
  double v;
  if (!cpli_csv_number(f, &v)) {
    if (time || !lenient) return not_a_number(csv, f, time ? "time" : t->names[h->target[i]]);
    if (is_cut_short(csv)) return not_a_number(csv, f, t->names[h->target[i]]);
    if (f->len == 0 && !f->quoted) {
      v = (double)NAN;
    } else {
      h->target[i] = SKIPPED;
      return CPL_OK;
    }
  }
  if ((time || !lenient) && !isfinite(v)) {
    return cpli_csv_error(csv, f->line, f->column, "%s is not finite",
                          time ? "time" : t->names[h->target[i]]);
  }
  if (!time) {
    t->values[(size_t)h->target[i] * stride + row] = v;
    if (is_rounded(f, v)) t->rounded[h->target[i]] = true;
    return CPL_OK;
  }
  if (h->convert_time) v = cpli_convert(&h->time, v);
  if (row > 0 && v < t->time[row - 1]) {
    char a[CPLI_NUMBER_SIZE], b[CPLI_NUMBER_SIZE];
    cpli_format_double(a, t->time[row - 1]);
    cpli_format_double(b, v);
    return cpli_csv_error(csv, f->line, f->column, "time goes back from %s to %s", a, b);
  }
  t->time[row] = v;
  return CPL_OK;
}

static cpl_status read_row(cpli_csv* csv, header* h, bool lenient, cpli_table* t, size_t stride,
                           size_t row) {
  cpli_csv_field field = {0};
  size_t i = 0;
  for (; !field.last; i++) {
    cpl_status st = cpli_csv_next_field(csv, &field);
    if (st < 0) return st;
    if (i == h->n) {
      return cpli_csv_error(csv, field.line, field.column,
                            "more fields than the %zu names of the header", h->n);
    }
    st = take_field(csv, h, i, &field, lenient, t, stride, row);
    if (st < 0) return st;
  }
  if (i < h->n) {
    return cpli_csv_error(csv, field.line, field.column,
                          "the row has %zu fields, the header has %zu", i, h->n);
  }
  return CPL_OK;
}

static cpl_status read_rows(cpli_csv* csv, header* h, bool lenient, cpli_table* t, size_t stride,
                            size_t* n_rows) {
  size_t row = 0;
  for (; cpli_csv_next_row(csv); row++) {
    const size_t line = csv->line;
    cpl_status st = read_row(csv, h, lenient, t, stride, row);
    if (lenient && is_cut_short(csv)) {  // 1.25 may be truncated to 1.2: a number, but a wrong one
      cpl_log(csv->ctx, CPL_LOG_WARNING, csv->path,
              "line %zu: the last row has no line end, as its writer was stopped: it is left out",
              line);
      break;
    }
    if (st < 0) return st;
  }
  *n_rows = row;
  return CPL_OK;
}

// Drop columns of text and compact from `stride` to the number of rows.
static void compact(const header* h, cpli_table* t, size_t stride, size_t n_rows) {
  size_t kept = 0, column = 0;
  double* values = t->time + n_rows;
  for (size_t i = 0; i < h->n; i++) {
    if (h->target[i] == TIME || h->fields[i].len == 0) continue;
    if (h->target[i] != SKIPPED) {
      memmove(values + kept * n_rows, t->values + column * stride, n_rows * sizeof(double));
      t->rounded[kept] = t->rounded[column];
      t->names[kept] = t->names[column];
      t->units[kept] = t->units[column];
      kept++;
    }
    column++;
  }
  t->values = values;
  t->table.values = values;
  t->table.n_rows = n_rows;
  t->table.n_columns = kept;
}

static cpl_status table_from(cpli_csv* csv, bool lenient, header* h, cpli_table** t) {
  cpl_status st = read_header(csv, h, lenient);
  if (st < 0) return st;
  // every row has a byte per separator and its end, so that a file cannot require more memory than
  // about eight times its size
  size_t stride = cpli_csv_rows_left(csv);
  const size_t bound = (size_t)(csv->end - csv->at) / h->n + 1;  // NOLINT: n > 0
  if (stride > bound) stride = bound;
  st = cpli_table_create(csv->ctx, h->n_columns, stride, t);
  if (st >= 0) st = name_columns(csv, h, *t);
  size_t n_rows = 0;
  if (st >= 0) st = read_rows(csv, h, lenient, *t, stride, &n_rows);
  if (st >= 0) compact(h, *t, stride, n_rows);
  return st;
}

cpl_status cpli_table_from_csv(cpl_context* ctx, const char* path, bool lenient, cpl_table** out) {
  cpli_csv csv = {0};
  header h = {0};
  cpli_table* t = NULL;
  *out = NULL;
  cpl_status st = cpli_csv_open(ctx, path, &csv);
  if (st < 0) return st;
  st = table_from(&csv, lenient, &h, &t);
  if (st >= 0) {
    *out = &t->table;
    t->table.path = cpli_arena_strdup(&t->arena, path);
    t = NULL;
  }
  if (t != NULL) cpl_table_destroy(&t->table);
  cpli_free(ctx, h.target);
  cpli_free(ctx, h.fields);
  cpli_csv_close(&csv);
  return st;
}

cpl_status cpl_table_read(cpl_context* ctx, const char* path, cpl_table** out) {
  cpl_status st = cpli_table_from_csv(ctx, path, false, out);
  if (st >= 0) st = cpl_table_check(ctx, *out, path);
  if (st < 0) {
    cpl_table_destroy(*out);
    *out = NULL;
  }
  return st;
}
