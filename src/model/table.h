// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tables as inputs. A curve is one column, cut into pieces without a jump inside; it never changes,
// and any number of cursors may read it. A cursor stands on one piece and stays there, however far
// it is asked, until it is told to pass: so the solver integrates up to a jump with the values left
// of it, makes an event, and goes on with the values right of it.
//
//   cpli_curve_init(&curve, ctx, table, column, false, NULL); // once
//   cpli_cursor cursor = cpli_cursor_at(&curve, start_time);  // one a run
//   for each step:   stop = fmin(stop, cpli_cursor_next_jump(&cursor));
//                    ... cpli_cursor_value(&cursor, t) at any t up to the stop ...
//   at the stop:     cpli_cursor_pass(&cursor, t);            // in the event: values right of t
#pragma once

#include "base/base.h"
#include "couplet/table.h"
#include "model/units.h"

//------------------------------------ tables in the making ------------------------------------

// What cpl_table_destroy() releases. `table` comes first, so that a pointer to it is one to this.
typedef struct cpli_table {
  cpl_table table;
  cpli_arena arena;    // names and units
  const char** names;  // = table.names, to be filled in
  const char** units;
  bool* rounded;
  double* time;  // time, then the columns, in one block
  double* values;
} cpli_table;

/// Names are NULL and numbers undefined.
/// Owned: *out by the caller, who calls cpl_table_destroy(&(*out)->table).
cpl_status cpli_table_create(cpl_context* ctx, size_t n_columns, size_t n_rows, cpli_table** out);

/// Put the name of a column in place; `name [unit]` is taken apart.
cpl_status cpli_table_name(cpli_table* t, size_t column, const char* name, size_t len);

/// What to do with times in this unit to have seconds; false: it is no unit of time.
bool cpli_time_unit(const char* unit, cpli_conversion* out);

/// The unit that a column has for a variable. NULL: none is given, or the variable's own name ends
/// in brackets.
const char* cpli_column_unit(const cpl_table* table, size_t column, const char* variable);

/// "FILE: column NAME", or what is known of it.
const char* cpli_column_text(const cpl_table* table, size_t column, char* out, size_t size);

/// How a column in `unit` becomes values of a variable; *convert tells whether anything is to be
/// done. A unit that does not fit is an error, one that cannot be compared with anything a warning.
cpl_status cpli_column_conversion(cpl_context* ctx, const cpl_table* table, size_t column,
                                  const char* unit, const cpl_description* desc,
                                  const cpl_variable* v, cpli_conversion* out, bool* convert);

/// Read a CSV file. `lenient` is for result files: values may be NaN, infinite or empty (NaN),
/// columns of text are left out, there may be no rows, and a last row that an interrupted program
/// cut short does not count. Otherwise as cpl_table_read() says.
cpl_status cpli_table_from_csv(cpl_context* ctx, const char* path, bool lenient, cpl_table** out);

//------------------------------------ curves ------------------------------------

// What a column says of the time between its rows.
typedef enum cpli_between {
  CPLI_ROWS_LINEAR,
  CPLI_ROWS_HELD,
  CPLI_ROWS_TICKS,  // of a Clock: nothing; every row with another value than 0 is a tick
} cpli_between;

// Rows first to last without a jump between them. The jump is at time[last].
typedef struct cpli_table_segment {
  size_t first, last;
} cpli_table_segment;

// curve invariants: 1 there is a piece; 2 first <= last; 3 time[last] of a piece is time[first] of
// the next, and less than that piece's time[last] unless it is the final piece.
typedef struct cpli_curve {
  cpl_context* ctx;
  const double *time, *values;  // borrowed from the table
  double* converted;            // in another unit than the table's: own values. Nullable.
  size_t n_rows;
  bool held;     // constant between changes; else linear between rows
  bool ticks;    // held, and every row that is not 0 begins a piece
  double range;  // of the values
  cpli_table_segment* pieces;
  size_t n_pieces;
} cpli_curve;

/// A linear column jumps where a time stands twice with different values; a held one at every
/// change of value, and one of ticks at each of them. Repeated times with equal values are no
/// jumps. Of a time that stands more than twice the first and the last value count.
/// Order:    the table has passed cpl_table_check().
/// Nullable: how, what is done to every value
/// Owned:    curve by the caller, who calls cpli_curve_free() (also fine after a failure).
/// Borrowed: table until then.
cpl_status cpli_curve_init(cpli_curve* curve, cpl_context* ctx, const cpl_table* table,
                           size_t column, cpli_between between, const cpli_conversion* how);
void cpli_curve_free(cpli_curve* curve);

// A plain value: copy it to save the place, copy it back to return there.
typedef struct cpli_cursor {
  const cpli_curve* curve;
  size_t piece;
  size_t row;         // linear: where the last value was found
  bool looked;        // for a kink:
  double kink_after;  // between this time
  double kink_tolerance;
  cpl_break next_kink;  // and this one there is none
  size_t kink_piece;
} cpli_cursor;

/// A cursor right of all jumps at or before t.
cpli_cursor cpli_cursor_at(const cpli_curve* curve, double t);

/// The value at t on the present piece: before its first and after its last row the value there is
/// held. Nothing is allocated; the search goes on from where the last one ended.
double cpli_cursor_value(cpli_cursor* cursor, double t);

/// The derivative at t on the present piece; at a row that of the segment behind it, at the end of
/// the piece that of the segment before. Zero for held columns and outside of the piece.
double cpli_cursor_slope(cpli_cursor* cursor, double t);

/// The time where the present piece ends in a jump; INFINITY: never. It is greater than the t last
/// passed.
double cpli_cursor_next_jump(const cpli_cursor* cursor);

/// The next time after t, on the present piece, where the slope jumps: so that the value there is
/// off the line between its neighbours by more than `tolerance` times the range of the
/// column. Less is lost by a solver that passes over it. INFINITY: none.
cpl_break cpli_cursor_next_kink(cpli_cursor* cursor, double t, double tolerance);

/// Go to the piece that is right of all jumps at or before t, forwards or backwards (a rollback).
/// Returns whether the piece changed.
bool cpli_cursor_pass(cpli_cursor* cursor, double t);

/// The cursor as the curve of a stepper's input. Borrowed: cursor, which moves.
cpl_curve cpli_curve_table(cpli_cursor* cursor);
