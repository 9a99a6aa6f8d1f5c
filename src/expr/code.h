// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The compact form of an expression. Every operation has a register of its own, so a run leaves all
// intermediate values for the reverse sweep: registers are [slots][time][constants][one per
// operation]. Operations only read registers before their own; jumps only go forward.
#pragma once

#include <math.h>

#include "expr/expr.h"

// Functions of the language by their names; operators follow below. X(op, name, min, max args)
#define EXPR_FUNCTIONS(X)        \
  X(OP_SIN, "sin", 1, 1)         \
  X(OP_COS, "cos", 1, 1)         \
  X(OP_TAN, "tan", 1, 1)         \
  X(OP_ASIN, "asin", 1, 1)       \
  X(OP_ACOS, "acos", 1, 1)       \
  X(OP_ATAN, "atan", 1, 1)       \
  X(OP_SINH, "sinh", 1, 1)       \
  X(OP_COSH, "cosh", 1, 1)       \
  X(OP_TANH, "tanh", 1, 1)       \
  X(OP_ASINH, "asinh", 1, 1)     \
  X(OP_ACOSH, "acosh", 1, 1)     \
  X(OP_ATANH, "atanh", 1, 1)     \
  X(OP_EXP, "exp", 1, 1)         \
  X(OP_LOG, "log", 1, 1)         \
  X(OP_LOG10, "log10", 1, 1)     \
  X(OP_LOG2, "log2", 1, 1)       \
  X(OP_SQRT, "sqrt", 1, 1)       \
  X(OP_CBRT, "cbrt", 1, 1)       \
  X(OP_ABS, "abs", 1, 1)         \
  X(OP_FLOOR, "floor", 1, 1)     \
  X(OP_CEIL, "ceil", 1, 1)       \
  X(OP_ROUND, "round", 1, 1)     \
  X(OP_SIGN, "sign", 1, 1)       \
  X(OP_ATAN2, "atan2", 2, 2)     \
  X(OP_HYPOT, "hypot", 2, 2)     \
  X(OP_MOD, "mod", 2, 2)         \
  X(OP_REM, "rem", 2, 2)         \
  X(OP_MIN, "min", 2, INT32_MAX) \
  X(OP_MAX, "max", 2, INT32_MAX)

typedef enum expr_op {
#define X(op, name, min_args, max_args) op,
  EXPR_FUNCTIONS(X)
#undef X
      OP_ADD,
  OP_SUB,
  OP_MUL,
  OP_DIV,
  OP_POW,
  OP_NEG,
  OP_LT,
  OP_LE,
  OP_GT,
  OP_GE,
  OP_EQ,
  OP_NE,
  OP_NOT,
  OP_SELECT,       // c ? a : b; reads only the selected one
  OP_JUMP,         // to operation c
  OP_JUMP_UNLESS,  // to operation c when a is false
} expr_op;

typedef struct expr_instr {
  uint16_t op;
  uint16_t a, b;  // registers; b = a where there is one operand
  uint16_t c;     // SELECT: the condition's register; jumps: the target; relations: number + 1
} expr_instr;

struct cpli_expr {
  cpl_context* ctx;  // only to free it
  cpli_source_loc loc;
  const char* text;
  uint32_t n_slots, n_constants, n_code, n_relations;
  uint32_t result;  // register
  cpl_type type;
  bool uses_time;
  const int32_t* slots;
  const cpl_type* slot_types;
  const char* const* names;  // of the slots, for messages
  const double* constants;
  const expr_instr* code;
  const uint32_t* at;  // per operation: its position in the text
};

static inline uint32_t expr_time(const cpli_expr* e) { return e->n_slots; }
static inline uint32_t expr_first(const cpli_expr* e) { return e->n_slots + 1 + e->n_constants; }
static inline uint32_t expr_registers(const cpli_expr* e) { return expr_first(e) + e->n_code; }

//------------------------------------ operations (op.c) ------------------------------------

/// "sin", "+", ...
const char* cpli_expr_op_name(expr_op op);
static inline bool expr_is_relation(expr_op op) {
  return (op >= OP_LT && op <= OP_GE) || (op >= OP_FLOOR && op <= OP_SIGN) || op == OP_MOD ||
         op == OP_REM;
}

/// The value of any operation but SELECT and jumps; relations are evaluated, not frozen.
double cpli_expr_apply(expr_op op, double x, double y);

/// Relations: the value frozen between events, the result that follows from it, its indicator.
double cpli_expr_hold(expr_op op, double x, double y);
double cpli_expr_value_last(expr_op op, double x, double y, double held);
double cpli_expr_indicator(expr_op op, double x, double y, double held);
double cpli_expr_idle_indicator(expr_op op, double held);

/// The slopes of v = op(x, y); `held` is the frozen quotient of mod and rem.
void cpli_expr_slopes(expr_op op, double x, double y, double v, double held, double* dx,
                      double* dy);

/// Why a value that is not finite is a failure, as text; false when infinity was an operand.
bool cpli_expr_trouble(expr_op op, double x, double y, double v, char* out, size_t size);

//------------------------------------ source locations (place.c) ------------------------------

/// A failure at the byte `at` of a text that begins at `loc`; without a file its message begins
/// with "column n".
cpl_status cpli_expr_fail(cpl_context* ctx, cpl_status st, cpli_source_loc loc, const char* text,
                          size_t at, const char* what);
