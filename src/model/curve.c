// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Curves and cursors of tables (table.h): a column is divided into intervals at its jumps, and a
// cursor interpolates linearly, or keeps the last value, within its interval. A kink is a row off
// the line through its neighbours.
#include <assert.h>
#include <math.h>

#include "model/table.h"

// The last row with the time of `row`.
static size_t group_end(const cpli_curve* c, size_t row) {
  while (row + 1 < c->n_rows && c->time[row + 1] == c->time[row]) row++;
  return row;
}

// Divide the rows into intervals; with `pieces` NULL they are only counted.
static size_t cut(const cpli_curve* c, cpli_table_segment* pieces) {
  size_t n = 0;
  size_t first = 0;
  for (size_t row = 0, end; row < c->n_rows; row = end + 1) {
    end = group_end(c, row);
    const double left = c->held ? c->values[first] : c->values[row];
    bool tick = c->ticks && row > 0 && c->values[end] != 0;
    if (c->values[end] == left && !tick) continue;
    if (pieces != NULL) pieces[n] = (cpli_table_segment){first, row};
    n++;
    first = end;
  }
  if (pieces != NULL) pieces[n] = (cpli_table_segment){first, c->n_rows - 1};
  return n + 1;
}

#ifdef NDEBUG
#define check_curve(c) ((void)0)
#else
// The invariants of model/table.h, and that of its table: 4 times do not descend.
static void check_curve(const cpli_curve* c) {
  assert(c->n_rows > 0 && c->n_pieces > 0);                                     // 1
  for (size_t i = 1; i < c->n_rows; i++) assert(c->time[i - 1] <= c->time[i]);  // 4
  for (size_t i = 0; i < c->n_pieces; i++) {
    const cpli_table_segment *piece = &c->pieces[i], *next = piece + 1;
    assert(piece->first <= piece->last && piece->last < c->n_rows);  // 2
    if (i + 1 == c->n_pieces) continue;
    assert(c->time[piece->last] == c->time[next->first]);  // 3
    if (i + 2 < c->n_pieces) assert(c->time[next->first] < c->time[next->last]);
  }
}
#endif

cpl_status cpli_curve_init(cpli_curve* curve, cpl_context* ctx, const cpl_table* table,
                           size_t column, cpli_between between, const cpli_conversion* how) {
  assert(column < table->n_columns);
  *curve = (cpli_curve){.ctx = ctx,
                        .time = table->time,
                        .values = table->values + column * table->n_rows,
                        .n_rows = table->n_rows,
                        .held = between != CPLI_ROWS_LINEAR,
                        .ticks = between == CPLI_ROWS_TICKS};
  if (how != NULL) {
    curve->converted = cpli_alloc(ctx, table->n_rows, sizeof *curve->converted);
    if (curve->converted == NULL) return cpli_nomem(ctx);
    for (size_t i = 0; i < table->n_rows; i++)
      curve->converted[i] = cpli_convert(how, curve->values[i]);
    curve->values = curve->converted;
  }
  double low = curve->n_rows > 0 ? curve->values[0] : 0, high = low;
  for (size_t i = 1; i < curve->n_rows; i++)
    low = fmin(low, curve->values[i]), high = fmax(high, curve->values[i]);
  curve->range = high - low;
  curve->n_pieces = cut(curve, NULL);
  curve->pieces = cpli_alloc(ctx, curve->n_pieces, sizeof *curve->pieces);
  if (curve->pieces == NULL) return cpli_nomem(ctx);
  cut(curve, curve->pieces);
  check_curve(curve);
  return CPL_OK;
}

void cpli_curve_free(cpli_curve* curve) {
  if (curve->ctx == NULL) return;
  cpli_free(curve->ctx, curve->pieces);
  cpli_free(curve->ctx, curve->converted);
  *curve = (cpli_curve){0};
}

//------------------------------------ cursor ------------------------------------

// The last interval that begins at or before t, at least the first.
static size_t find_piece(const cpli_curve* c, double t) {
  size_t low = 0, high = c->n_pieces;  // low begins at or before t (or is 0), high after it
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (c->time[c->pieces[middle].first] <= t) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

cpli_cursor cpli_cursor_at(const cpli_curve* curve, double t) {
  cpli_cursor cursor = {.curve = curve, .piece = find_piece(curve, t)};
  cursor.row = curve->pieces[cursor.piece].first;
  return cursor;
}

bool cpli_cursor_pass(cpli_cursor* cursor, double t) {
  const cpli_curve* c = cursor->curve;
  const size_t before = cursor->piece;
  // mostly the next one, if any
  if (cpli_cursor_next_jump(cursor) <= t) cursor->piece++;
  if (cpli_cursor_next_jump(cursor) <= t || t < c->time[c->pieces[cursor->piece].first]) {
    cursor->piece = find_piece(c, t);
  }
  if (cursor->piece == before) return false;
  cursor->row = c->pieces[cursor->piece].first;
  return true;
}

double cpli_cursor_next_jump(const cpli_cursor* cursor) {
  const cpli_curve* c = cursor->curve;
  if (cursor->piece + 1 == c->n_pieces) return (double)INFINITY;
  return c->time[c->pieces[cursor->piece].last];
}

// Move to the segment [row, row + 1] that contains t. Returns false outside of the interval, where
// the value of that row is constant.
static bool find_segment(cpli_cursor* cursor, double t) {
  const cpli_curve* c = cursor->curve;
  const cpli_table_segment piece = c->pieces[cursor->piece];
  size_t row = cursor->row;
  assert(row >= piece.first && row <= piece.last);
  while (row > piece.first && t <= c->time[row]) row--;
  while (row < piece.last && t > c->time[row + 1]) row++;
  cursor->row = row;
  return row < piece.last && t >= c->time[row];
}

double cpli_cursor_value(cpli_cursor* cursor, double t) {
  const cpli_curve* c = cursor->curve;
  if (c->held) return c->values[c->pieces[cursor->piece].first];
  const bool inside = find_segment(cursor, t);
  const size_t row = cursor->row;
  if (!inside) return c->values[row];
  if (t == c->time[row]) return c->values[row];
  if (t == c->time[row + 1]) return c->values[row + 1];  // bitwise equal
  const double part = (t - c->time[row]) / (c->time[row + 1] - c->time[row]);
  return c->values[row] + (c->values[row + 1] - c->values[row]) * part;
}

double cpli_cursor_slope(cpli_cursor* cursor, double t) {
  const cpli_curve* c = cursor->curve;
  if (c->held || !find_segment(cursor, t)) return 0;
  // a step starts at t, so that at a row the segment after it counts, if the interval has one
  const size_t last = c->pieces[cursor->piece].last;
  size_t row = cursor->row;
  while (row + 1 < last && c->time[row + 1] <= t) row++;
  const double dt = c->time[row + 1] - c->time[row];
  return dt > 0 ? (c->values[row + 1] - c->values[row]) / dt : 0;
}

//------------------------------------ kinks ------------------------------------

// The distance of the value at a row from the line between its neighbours; values are constant
// beyond the ends of the table. 0 at the ends of an interval: a jump.
static double off_the_line(const cpli_curve* c, cpli_table_segment piece, size_t row) {
  size_t before = row, after = row;
  while (before > piece.first && c->time[before] == c->time[row]) before--;
  while (after < piece.last && c->time[after] == c->time[row]) after++;
  double left = c->time[row] - c->time[before], right = c->time[after] - c->time[row];
  double dl = c->values[row] - c->values[before], dr = c->values[after] - c->values[row];
  bool first = left == 0 && piece.first == 0, last = right == 0 && piece.last + 1 == c->n_rows;
  if (left == 0) return first ? fabs(dr) : 0;
  if (right == 0) return last ? fabs(dl) : 0;
  return fabs(dr * left - dl * right) / (left + right);
}

// The first row after t in the interval.
static size_t row_after(const cpli_curve* c, cpli_table_segment piece, double t) {
  size_t low = piece.first, high = piece.last + 1;  // rows before low are not after t
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (c->time[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

static cpl_break find_kink(const cpli_cursor* k, double t, double until, double tolerance) {
  const cpli_curve* c = k->curve;
  const cpli_table_segment piece = c->pieces[k->piece];
  for (size_t row = row_after(c, piece, t); row <= piece.last && c->time[row] < until; row++) {
    double off = off_the_line(c, piece, row);
    if (off > tolerance * c->range) return (cpl_break){c->time[row], off / c->range};
  }
  return (cpl_break){until, 0};
}

// The result is cached; a solver that was behind searches only what lies between.
cpl_break cpli_cursor_next_kink(cpli_cursor* cursor, double t, double tolerance) {
  if (cursor->curve->held) return (cpl_break){(double)INFINITY, 0};
  bool known = cursor->looked && cursor->kink_piece == cursor->piece &&
               cursor->kink_tolerance == tolerance && t < cursor->next_kink.time;
  if (known && t >= cursor->kink_after) return cursor->next_kink;
  double until = known ? cursor->kink_after : (double)INFINITY;
  cpl_break found = find_kink(cursor, t, until, tolerance);
  if (!known || found.time < until) cursor->next_kink = found;
  cursor->looked = true;
  cursor->kink_after = t;
  cursor->kink_tolerance = tolerance;
  cursor->kink_piece = cursor->piece;
  return cursor->next_kink;
}

static cpl_break curve_next_break(const void* user, double t, double tolerance) {
  return cpli_cursor_next_kink((cpli_cursor*)user, t, tolerance);
}

static double curve_value(const void* user, double t) {
  return cpli_cursor_value((cpli_cursor*)user, t);  // the cursor only caches its position
}

cpl_curve cpli_curve_table(cpli_cursor* cursor) {
  const cpli_curve* c = cursor->curve;
  return (cpl_curve){.value = curve_value,
                     .user = cursor,
                     .from = c->time[c->pieces[cursor->piece].first],
                     .next_break = curve_next_break};
}
