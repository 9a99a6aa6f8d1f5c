// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Expressions of system files: parsed once into a short list of operations, evaluated and
// differentiated exactly without allocating. Names are defined by the caller: a scope maps each to
// a slot number, and values are passed as an array. Comparisons, floor, ceil, round, sign and mod
// are relations: they are frozen between events, and each has an indicator that finds the next one.
//
// Language, loosest first:
//   if c then a else b     nests; inside an operation it stands in parentheses
//   or   and   not         the right side is looked at only when the left one does not decide
//   < <= > >= == !=        do not chain; == and != take Integers or Booleans, never Reals
//   + -    * /    -x +x    ^    -x^2 is -(x^2), 2^3^2 is 2^(3^2), 2^-1 is 0.5
//   1 2.5e-3 pi inf true false time    left.y1    'm.der(h)'    'x[1]'    f(a, b)
// A name that is no identifier (with dots) is written in single quotes, a quote inside it is
// doubled; a text that as a whole is a known name needs no quotes.
// Types: a number without point and exponent is an Integer; + - * min max abs mod rem and if give
// an Integer for Integers, floor ceil round sign always, / and the rest a Real. An Integer is
// accepted where a Real is expected; Booleans and numbers do not mix. An Enumeration counts as
// Integer. mod(x, y) = x - y*floor(x/y), rem(x, y) = fmod(x, y) = x - y*trunc(x/y), round rounds
// halves away from zero, 0^0 = 1, atan2(0, 0) = 0.
#pragma once

#include "base/base.h"
#include "couplet/model.h"
#include "format/source_loc.h"

typedef struct cpli_expr cpli_expr;

//------------------------------------ parse ------------------------------------

enum {
  CPLI_EXPR_NESTING = 200,  // maximum nesting of parentheses, if and ^
  CPLI_EXPR_SIZE = 8192,    // maximum number of names, constants and operations together
};

/// The names an expression may use.
typedef struct cpli_scope {
  /// The slot (>= 0) of a name, and its type; -1: unknown.
  int32_t (*resolve)(void* user, const char* name, cpl_type* type);
  const char* (*candidate)(const void* user, size_t i);  // known names, to suggest. Nullable
  size_t n_candidates;
  const char* (*function)(const void* user, size_t i);  // the caller's, to suggest. Nullable
  size_t n_functions;
  void* user;
} cpli_scope;

/// Owned:    *out by the caller, who calls cpli_expr_destroy().
/// Borrowed: place.file as long as *out lives; the rest only during the call. Without a file
///           messages give the column only.
/// Nullable: scope (no names: a constant, or a function of time)
/// Returns:  CPL_ERR_INPUT with "file:line:column: what" of the exact position; *out is then NULL.
cpl_status cpli_expr_parse(cpl_context* ctx, cpli_source_loc loc, const char* text,
                           const cpli_scope* scope, cpli_expr** out);
void cpli_expr_destroy(cpli_expr* expr);  // Nullable: expr

//------------------------------------ properties ------------------------------------

typedef enum cpli_linearity {
  CPLI_NONLINEAR,
  CPLI_LINEAR_BETWEEN_EVENTS,  // the gradient changes only where a relation or an Integer does
  CPLI_LINEAR,                 // the gradient never changes
} cpli_linearity;

cpl_type cpli_expr_type(const cpli_expr* expr);  // CPL_REAL, CPL_INTEGER or CPL_BOOLEAN
/// The distinct slots it reads, in order of first use. A "position" below is an index into them.
size_t cpli_expr_slots(const cpli_expr* expr, const int32_t** slots);  // Nullable: slots
bool cpli_expr_uses_time(const cpli_expr* expr);
bool cpli_expr_is_constant(const cpli_expr* expr);  // neither names nor time
/// How the derivatives with respect to the Real slots vary with slots and time. `fixed` tells per
/// position that a value is constant (a parameter), so that k*x is linear in x; Nullable: all may
/// change.
cpli_linearity cpli_expr_linearity(const cpli_expr* expr, const bool* fixed);

//------------------------------------ values ------------------------------------

// `values` has one number per position (Booleans: 0 or not 0), `frozen` one per relation. An
// expression is immutable: threads share it, each with its own context. Nothing allocates; up to 16
// * CPLI_EXPR_SIZE bytes of stack are used, 2 KB for up to 128 names and operations. Only the
// selected branch of an `if` is evaluated, the same for the right sides of and, or.
//
// Frozen relations and domains: a trial point may lie past the crossing of `if x > 0 then sqrt(x)
// else 0`, where the frozen branch has no value. When the frozen evaluation fails there, the one
// with current relations counts instead; if that fails too, or all relations are still valid, it is
// a failure.
//
// Failures: division by zero, a value outside the domain of a function, overflow, a name whose
// value is not a number. All return CPL_RETRY (a solver may try a shorter step; any other caller
// converts it to an error) with the message "file:line:column: expression: what at t=...". Infinity
// is no failure where it is an operand: min(x, inf).

/// Nullable: ctx (no message), frozen (relations are evaluated, as at events)
cpl_status cpli_expr_value(const cpli_expr* expr, cpl_context* ctx, double t, const double* values,
                           const double* frozen, double* out);

/// The exact derivative with respect to every position and time, by one reverse sweep. Where a
/// slope is infinite or undefined it counts as 0: sqrt, cbrt and x^p (p < 1) at 0, asin and acos at
/// -1 and 1, acosh at 1, hypot(0, 0), atan2(0, 0), abs at 0, x^p in p at x <= 0. For equal
/// arguments min and max use the first one. Relations have slope 0, except mod and rem, whose
/// quotient is frozen. Nullable: ctx, frozen, value, gradient, by_time
cpl_status cpli_expr_gradient(const cpli_expr* expr, cpl_context* ctx, double t,
                              const double* values, const double* frozen, double* value,
                              double* gradient, double* by_time);

//------------------------------------ many points ------------------------------------

enum { CPLI_EXPR_LANES = 32 };  // maximum number of points per call

/// The operations and constants as a text: expressions with the same text compute the same of their
/// positions. false: not to be used with cpli_expr_values(), or the text is longer.
bool cpli_expr_key(const cpli_expr* expr, char* out, size_t size);

/// The values at n points, at most CPLI_EXPR_LANES: values[k * n + i] is position k at point i. The
/// same numbers as by cpli_expr_value().
/// Returns: false when something is not finite at one of them; cpli_expr_value() says whether that
///          is a failure, and which.
bool cpli_expr_values(const cpli_expr* expr, double t, size_t n, const double* values, double* out);

//------------------------------------ relations ------------------------------------

/// The number of comparisons, floor, ceil, round, sign, mod and rem that can change between events,
/// that is, with a Real operand that is not frozen itself.
size_t cpli_expr_relations(const cpli_expr* expr);

/// At the start and at events: freeze the relations at their current values. That of a comparison
/// is 1 or 0, that of floor, ceil, round and sign the result, that of mod and rem the integer
/// quotient. Those in branches that are not taken are unchanged. Zero `frozen` before the first
/// call.
/// Returns:  CPL_RETRY as above; `frozen` is then partially updated.
/// Nullable: ctx
cpl_status cpli_expr_settle(const cpli_expr* expr, cpl_context* ctx, double t, const double* values,
                            double* frozen);

/// One indicator per relation; zero counts as not positive. An event is due when one has changed
/// its sign since the relations were frozen.
/// a > b: a - b, a < b: b - a (positive: true); a >= b: b - a, a <= b: a - b (positive: false).
/// Others: not positive while the frozen value is valid, and the distance from there in x (mod,
/// rem: in x/y) where it is not. In branches not taken: 1 or -1, with the sign of the frozen value.
/// Nullable: ctx
cpl_status cpli_expr_indicators(const cpli_expr* expr, cpl_context* ctx, double t,
                                const double* values, const double* frozen, double* z);

/// The magnitude of the two sides of every relation, as a scale of its indicator. 0 in branches not
/// taken.
cpl_status cpli_expr_sizes(const cpli_expr* expr, cpl_context* ctx, double t, const double* values,
                           double* sizes);

/// What changes a value between events, in ascending order.
typedef enum cpli_mover {
  CPLI_NEVER_MOVED,
  CPLI_MOVED_AT_EVENTS,
  CPLI_MOVED_BY_TIME,  // only by time, as a + b*time
  CPLI_MOVED,          // by anything
} cpli_mover;

typedef struct cpli_relation {
  bool comparison;        // < <= > >=
  bool positive_is_true;  // a comparison: the result where its indicator is positive
  cpli_mover mover;       // of the operands
  uint32_t code;          // private
} cpli_relation;

/// All relations of an expression; `slots` gives the mover of each position.
void cpli_expr_movers(const cpli_expr* expr, const cpli_mover* slots, cpli_relation* out);

/// When a comparison with mover CPLI_MOVED_BY_TIME turns, and its value from then on. The time may
/// change at an event.
/// Returns: false when it never does.
bool cpli_expr_turns(const cpli_expr* expr, const cpli_relation* relation, const double* values,
                     double* when, bool* after);
