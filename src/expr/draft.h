// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// While an expression is parsed: the text as tokens, and a draft of the operations, whose arrays
// still grow. Constants are folded immediately; code in a branch that can never be taken is parsed,
// checked and removed.
#pragma once

#include "expr/code.h"

typedef enum token_kind {
  T_END,
  T_NUMBER,
  T_NAME,    // an identifier with dots, no keyword
  T_QUOTED,  // a name in quotes
  T_IF,
  T_THEN,
  T_ELSE,
  T_AND,
  T_OR,
  T_NOT,
  T_TRUE,
  T_FALSE,
  T_TIME,
  T_PI,
  T_INF,
  T_OPERATOR,  // op: + - * / ^ and comparisons
  T_OPEN,
  T_CLOSE,
  T_COMMA,
} token_kind;

typedef struct token {
  token_kind kind;
  expr_op op;
  size_t at, len;  // in the text
  double number;
  bool whole;  // a number without point and exponent
} token;

// The operand of an operation: the n-th slot, constant or operation, or time.
typedef enum operand_kind { IN_SLOT, IN_TIME, IN_CONSTANT, IN_CODE } operand_kind;

typedef struct operand {
  operand_kind kind;
  uint32_t i;
  cpl_type type;  // CPL_REAL, CPL_INTEGER or CPL_BOOLEAN
  bool moving;    // can change between events
  size_t at;      // begin in the text
} operand;

typedef struct draft_op {
  expr_op op;
  operand a, b, c;
  uint32_t extra;  // relation number + 1, or the target of a jump
  uint32_t at;
} draft_op;

typedef struct draft_slot {
  int32_t slot;
  cpl_type type;
  char* name;
} draft_slot;

typedef struct draft {
  cpl_context* ctx;
  cpli_source_loc loc;
  const char* text;
  const cpli_scope* scope;  // Nullable
  token now;
  int depth;
  char* name;  // space for any name of the text

  draft_op* code;
  double* constants;
  draft_slot* slots;
  size_t n_code, n_constants, n_slots, cap_code, cap_constants, cap_slots;
  uint32_t n_relations;
  bool uses_time;
} draft;

// The size of a draft, to truncate it later.
typedef struct draft_mark {
  size_t n_code, n_constants, n_slots;
  uint32_t n_relations;
  bool uses_time;
} draft_mark;

/// "file:line:column: what"; returns CPL_ERR_INPUT.
CPL_PRINTF(3, 4) cpl_status cpli_draft_fail(draft* d, size_t at, const char* fmt, ...);

//------------------------------------ tokens (lex.c) ------------------------------------

/// The next token into d->now.
cpl_status cpli_lex_next(draft* d);
/// The name of the current T_NAME or T_QUOTED, in d->name.
void cpli_lex_name(draft* d);
/// The end of a name with brackets that begins at `at`: m.der(h), x[1,2]; `at` if it has none.
size_t cpli_lex_bracketed(const draft* d, size_t at);

//------------------------------------ operations (draft.c) ------------------------------------

cpl_status cpli_draft_constant(draft* d, double value, cpl_type type, size_t at, operand* out);
cpl_status cpli_draft_slot_of(draft* d, int32_t slot, cpl_type type, const char* name, size_t at,
                              operand* out);
operand cpli_draft_time(draft* d, size_t at);
double cpli_draft_value(const draft* d, operand constant);

/// Unary operations are given their operand twice. Real, Integer or Boolean according to `type`.
cpl_status cpli_draft_emit(draft* d, expr_op op, operand a, operand b, cpl_type type, size_t at,
                           operand* out);
cpl_status cpli_draft_select(draft* d, operand c, operand a, operand b, cpl_type type, size_t at,
                             operand* out);
/// A jump whose target is set later; its index is d->n_code - 1.
cpl_status cpli_draft_jump(draft* d, expr_op op, operand condition, size_t at);

void cpli_draft_free(draft* d);
draft_mark cpli_draft_now(const draft* d);
void cpli_draft_back_to(draft* d, draft_mark mark);

/// The finished expression in one block of memory.
cpl_status cpli_draft_finish(const draft* d, operand result, cpli_expr** out);
