// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A ring buffer of rows between communication points. When the next values are known, continuous
// Reals are interpolated linearly; all other values are constant.
#include <assert.h>
#include <math.h>

#include "run/run.h"

enum { FIRST_CAPACITY = 16 };

cpl_status cpli_rows_open(cpli_rows* rows, cpl_context* ctx, size_t n) {
  *rows = (cpli_rows){.ctx = ctx,
                      .n = n,
                      .moves = cpli_alloc(ctx, n, sizeof *rows->moves),
                      .is_text = cpli_alloc(ctx, n, sizeof *rows->is_text),
                      .last = cpli_alloc(ctx, n, sizeof *rows->last),
                      .last_t = cpli_alloc(ctx, n, sizeof *rows->last_t),
                      .open = cpli_alloc(ctx, n, sizeof *rows->open)};
  if (rows->moves == NULL || rows->is_text == NULL || rows->last == NULL || rows->last_t == NULL ||
      rows->open == NULL)
    return cpli_nomem(ctx);
  for (size_t c = 0; c < n; c++) rows->last_t[c] = NAN;
  return CPL_OK;
}

#ifdef NDEBUG
#define check_rows(rows) ((void)0)
#else
// rows invariants: 1 the ring holds at most cap rows; 2 of each column rows up to `open` have their
// values, and all rows where it is not interpolated.
static void check_rows(const cpli_rows* rows) {
  assert(rows->first <= rows->end && rows->end - rows->first <= rows->cap);
  for (size_t c = 0; c < rows->n; c++) {
    assert(rows->open[c] <= rows->end);
    assert(rows->moves[c] || rows->open[c] == rows->end);
    assert(!(rows->moves[c] && rows->is_text[c]));
  }
}
#endif

static cpl_value* row_at(const cpli_rows* rows, size_t row) {
  return rows->values + (row % rows->cap) * rows->n;
}

static void free_texts(const cpli_rows* rows, cpl_value* values) {
  for (size_t c = 0; c < rows->n; c++) {
    if (rows->is_text[c]) cpli_free(rows->ctx, (char*)values[c].string);
  }
}

void cpli_rows_close(cpli_rows* rows) {
  cpl_context* ctx = rows->ctx;
  if (ctx == NULL) return;
  bool complete = rows->is_text != NULL && rows->last != NULL;
  if (complete) free_texts(rows, rows->last);
  for (size_t row = 0; complete && row < rows->cap; row++)
    free_texts(rows, rows->values + row * rows->n);
  cpli_free(ctx, rows->moves);
  cpli_free(ctx, rows->is_text);
  cpli_free(ctx, rows->last);
  cpli_free(ctx, rows->last_t);
  cpli_free(ctx, rows->open);
  cpli_free(ctx, rows->times);
  cpli_free(ctx, rows->values);
  *rows = (cpli_rows){0};
}

void cpli_rows_rewind(cpli_rows* rows) {
  rows->first = rows->end = rows->n_incomplete = 0;
  for (size_t c = 0; c < rows->n; c++) {
    rows->last_t[c] = NAN;
    rows->open[c] = 0;
  }
}

// Texts are borrowed from the component only until its next call.
static cpl_status set_text(const cpli_rows* rows, cpl_value* to, const char* text) {
  if (to->string != NULL && text != NULL && strcmp(to->string, text) == 0) return CPL_OK;
  cpli_free(rows->ctx, (char*)to->string);
  to->string = cpli_strdup(rows->ctx, text != NULL ? text : "");
  return to->string != NULL ? CPL_OK : cpli_nomem(rows->ctx);
}

//------------------------------------ values ------------------------------------

static double between(double t, double t0, double x0, double t1, double x1) {
  if (t >= t1 || x0 == x1) return x1;
  if (!isfinite(x0) || !isfinite(x1)) return x0;
  return x0 + (x1 - x0) * ((t - t0) / (t1 - t0));
}

// Fills in the value of one column in rows up to `t`.
static void fill(cpli_rows* rows, size_t c, double t, double value) {
  size_t row = rows->open[c] > rows->first ? rows->open[c] : rows->first;
  for (; row < rows->end && rows->times[row % rows->cap] <= t; row++)
    row_at(rows, row)[c].real =
        between(rows->times[row % rows->cap], rows->last_t[c], rows->last[c].real, t, value);
  rows->open[c] = row;
}

cpl_status cpli_rows_sample(cpli_rows* rows, const double* since, const cpl_value* now) {
  cpl_status st = CPL_OK;
  for (size_t c = 0; c < rows->n && st >= 0; c++) {
    if (since[c] < rows->last_t[c]) continue;
    if (rows->moves[c]) fill(rows, c, since[c], now[c].real);
    if (rows->is_text[c]) st = set_text(rows, &rows->last[c], now[c].string);
    else rows->last[c] = now[c];
    rows->last_t[c] = since[c];
  }
  return st;
}

//------------------------------------ rows ------------------------------------

static cpl_status grow(cpli_rows* rows) {
  size_t cap = rows->cap > 0 ? 2 * rows->cap : FIRST_CAPACITY;
  double* times = cpli_alloc(rows->ctx, cap, sizeof *times);
  cpl_value* values = cpli_alloc(rows->ctx, cap * rows->n, sizeof *values);
  if (times == NULL || values == NULL) {
    cpli_free(rows->ctx, times);
    cpli_free(rows->ctx, values);
    return cpli_nomem(rows->ctx);
  }
  for (size_t k = 0; k < rows->cap; k++) {  // all slots: they own texts
    size_t row = rows->first + k;
    times[row % cap] = rows->times[row % rows->cap];
    if (rows->n > 0)
      memcpy(values + (row % cap) * rows->n, row_at(rows, row), rows->n * sizeof *values);
  }
  cpli_free(rows->ctx, rows->times);
  cpli_free(rows->ctx, rows->values);
  rows->times = times;
  rows->values = values;
  rows->cap = cap;
  return CPL_OK;
}

cpl_status cpli_rows_add(cpli_rows* rows, double t) {
  cpl_status st = rows->end - rows->first == rows->cap ? grow(rows) : CPL_OK;
  if (st < 0) return st;
  size_t row = rows->end++;
  cpl_value* values = row_at(rows, row);
  rows->times[row % rows->cap] = t;
  for (size_t c = 0; c < rows->n && st >= 0; c++) {
    if (rows->is_text[c]) st = set_text(rows, &values[c], rows->last[c].string);
    else values[c] = rows->last[c];
    bool known = !rows->moves[c] || rows->last_t[c] >= t;
    if (known) rows->open[c] = row + 1;
  }
  if (st >= 0) check_rows(rows);
  return st;
}

bool cpli_rows_take(cpli_rows* rows, bool all, double* t, const cpl_value** row) {
  if (rows->first == rows->end) return false;
  bool known = true;
  for (size_t c = 0; c < rows->n; c++) {
    if (rows->open[c] > rows->first) continue;
    known = false;
    rows->incomplete_t = rows->last_t[c];
  }
  if (!known && !all) return false;
  if (!known) rows->n_incomplete++;
  check_rows(rows);
  *t = rows->times[rows->first % rows->cap];
  *row = row_at(rows, rows->first++);
  return true;
}
