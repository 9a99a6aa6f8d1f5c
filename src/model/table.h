// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tables as inputs. A curve is one column, divided into intervals without jumps; it is immutable,
// and any number of cursors may read it. A cursor stays on one interval, for any time requested,
// until it is moved by a call of cpli_cursor_pass(): so the solver integrates up to a jump with the
// values before it, makes an event, and continues with the values after it.
//
//   cpli_curve_init(&curve, ctx, table, column, false, NULL); // once
//   cpli_cursor cursor = cpli_cursor_at(&curve, start_time);  // one per run
//   for each step:   stop = fmin(stop, cpli_cursor_next_jump(&cursor));
//                    ... cpli_cursor_value(&cursor, t) at any t up to the stop ...
//   at the stop:     cpli_cursor_pass(&cursor, t);            // in the event: values right of t
#pragma once

#include "base/base.h"
#include "couplet/table.h"
#include "model/units.h"

//------------------------------------ tables in the making ------------------------------------

// The object that cpl_table_destroy() releases. `table` comes first, so that a pointer to it is one
// to this.
typedef struct cpli_table {
  cpl_table table;
  cpli_arena arena;    // names and units
  const char** names;  // = table.names, writable
  const char** units;
  bool* rounded;
  double* time;  // time, then the columns, in one block
  double* values;
} cpli_table;

/// Names are NULL and numbers undefined.
/// Owned: *out by the caller, who calls cpl_table_destroy(&(*out)->table).
cpl_status cpli_table_create(cpl_context* ctx, size_t n_columns, size_t n_rows, cpli_table** out);

/// The conversion of times in this unit to seconds; false: it is no unit of time.
bool cpli_time_unit(const char* unit, cpli_conversion* out);

/// The begin of " [unit]" at the end of a name; NULL: none.
const char* cpli_unit_in_name(const char* name, size_t len);

/// The unit of a column for a variable. NULL: none is given, or the variable's own name ends in
/// brackets.
const char* cpli_column_unit(const cpl_table* table, size_t column, const char* variable);

/// "FILE: column NAME", as far as known.
const char* cpli_column_text(const cpl_table* table, size_t column, char* out, size_t size);

/// The conversion of a column in `unit` to values of a variable; *convert: whether one is needed. A
/// unit that does not match is an error, one that cannot be compared a warning.
cpl_status cpli_column_conversion(cpl_context* ctx, const cpl_table* table, size_t column,
                                  const char* unit, const cpl_description* desc,
                                  const cpl_variable* v, cpli_conversion* out, bool* convert);

/// Read a CSV file. `lenient` is for result files: values may be NaN, infinite or empty (NaN),
/// columns of text are left out, there may be no rows, and a last row that an interrupted program
/// truncated is ignored. Otherwise as cpl_table_read().
cpl_status cpli_table_from_csv(cpl_context* ctx, const char* path, bool lenient, cpl_table** out);

//------------------------------------ curves ------------------------------------

// The meaning of a column between its rows.
typedef enum cpli_between {
  CPLI_ROWS_LINEAR,
  CPLI_ROWS_HELD,
  CPLI_ROWS_TICKS,  // of a Clock: none; every row with another value than 0 is a tick
} cpli_between;

// Rows first to last without a jump between them. The jump is at time[last].
typedef struct cpli_table_segment {
  size_t first, last;
} cpli_table_segment;

// curve invariants: 1 there is an interval; 2 first <= last; 3 time[last] of an interval is
// time[first] of the next, and less than that interval's time[last] unless it is the final one.
typedef struct cpli_curve {
  cpl_context* ctx;
  const double *time, *values;  // borrowed from the table
  double* converted;            // own values, in another unit than the table's. Nullable.
  size_t n_rows;
  bool held;     // piecewise constant; else linear between rows
  bool ticks;    // piecewise constant, and every row that is not 0 begins an interval
  double range;  // of the values
  cpli_table_segment* pieces;
  size_t n_pieces;
} cpli_curve;

/// A linear column jumps where a time is repeated with different values; a piecewise constant one
/// at every change of value, and one of ticks at each tick. Repeated times with equal values are no
/// jumps. Of a time that occurs more than twice the first and the last value count.
/// Order:    the table has passed cpl_table_check().
/// Nullable: how, the conversion of every value
/// Owned:    curve by the caller, who calls cpli_curve_free() (also fine after a failure).
/// Borrowed: table until then.
cpl_status cpli_curve_init(cpli_curve* curve, cpl_context* ctx, const cpl_table* table,
                           size_t column, cpli_between between, const cpli_conversion* how);
void cpli_curve_free(cpli_curve* curve);

// A plain value: copy it to save the position, copy it back to restore it.
typedef struct cpli_cursor {
  const cpli_curve* curve;
  size_t piece;
  size_t row;         // linear: segment of the last value
  bool looked;        // cached search for a kink:
  double kink_after;  // between this time
  double kink_tolerance;
  cpl_break next_kink;  // and this one there is none
  size_t kink_piece;
} cpli_cursor;

/// A cursor after all jumps at or before t.
cpli_cursor cpli_cursor_at(const cpli_curve* curve, double t);

/// Move a cursor to a saved position; one that the curve does not have becomes one that it has.
static inline void cpli_cursor_place(cpli_cursor* cursor, uint64_t piece, uint64_t row) {
  const cpli_curve* c = cursor->curve;
  cursor->piece = piece < c->n_pieces ? (size_t)piece : c->n_pieces - 1;
  const cpli_table_segment* at = &c->pieces[cursor->piece];
  cursor->row = row >= at->first && row <= at->last ? (size_t)row : at->first;
}

/// The value at t on the current interval: constant before its first and after its last row.
/// Nothing is allocated; the search continues from the last position.
double cpli_cursor_value(cpli_cursor* cursor, double t);

/// The derivative at t on the current interval; at a row that of the segment after it, at the end
/// of the interval that of the segment before. Zero for piecewise constant columns and outside of
/// the interval.
double cpli_cursor_slope(cpli_cursor* cursor, double t);

/// The time at which the current interval ends in a jump; INFINITY: never. It is greater than the t
/// last passed.
double cpli_cursor_next_jump(const cpli_cursor* cursor);

/// The next time after t, on the current interval, where the slope jumps: the value there is off
/// the line between its neighbours by more than `tolerance` times the range of the column. A solver
/// that ignores smaller ones loses less. INFINITY: none.
cpl_break cpli_cursor_next_kink(cpli_cursor* cursor, double t, double tolerance);

/// Move to the interval after all jumps at or before t, forwards or backwards (a rollback). Returns
/// whether the interval changed.
bool cpli_cursor_pass(cpli_cursor* cursor, double t);

/// The cursor as the curve of a stepper's input. Borrowed: cursor, which moves.
cpl_curve cpli_curve_table(cpli_cursor* cursor);
