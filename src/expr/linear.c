// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Properties of a parsed expression; mainly how its gradient varies.
#include "expr/code.h"

cpl_type cpli_expr_type(const cpli_expr* expr) { return expr->type; }
bool cpli_expr_uses_time(const cpli_expr* expr) { return expr->uses_time; }
size_t cpli_expr_relations(const cpli_expr* expr) { return expr->n_relations; }

size_t cpli_expr_slots(const cpli_expr* expr, const int32_t** slots) {
  if (slots != NULL) *slots = expr->slots;
  return expr->n_slots;
}

bool cpli_expr_is_constant(const cpli_expr* expr) { return expr->n_slots == 0 && !expr->uses_time; }

//------------------------------------ linearity ------------------------------------

// How a register varies with slots and time. `steps`: its value, where it is CONSTANT, may change
// at events; `bends`: its gradient, where it is AFFINE, may.
typedef struct variation {
  enum { CONSTANT, OF_TIME, AFFINE, CURVED } kind;
  bool steps, bends;
} variation;

static variation widest(variation a, variation b) {
  variation v = a.kind > b.kind ? a : b;
  v.steps = a.steps || b.steps;
  v.bends = a.bends || b.bends;
  return v;
}

// c*x with c constant, or two functions of time; any other product is curved.
static variation product(variation a, variation b) {
  variation v = widest(a, b);
  if (a.kind == CONSTANT || b.kind == CONSTANT) {
    bool factor_steps = a.kind == CONSTANT ? a.steps : b.steps;
    if (v.kind == AFFINE && factor_steps) v.bends = true;
  } else if (v.kind != OF_TIME) {
    v.kind = CURVED;
  }
  return v;
}

static variation general(variation v) {
  if (v.kind == AFFINE) v.kind = CURVED;
  return v;
}

// mod and rem are x - y*n with an integer n that is piecewise constant.
static variation remainder_of(variation x, variation y) {
  variation n = {.kind = CONSTANT, .steps = true};
  bool still = x.kind == CONSTANT && y.kind == CONSTANT && !x.steps && !y.steps;
  return still ? x : widest(x, product(y, n));
}

static variation vary(const expr_instr* in, const variation* of) {
  variation a = of[in->a], b = of[in->b];
  const variation step = {.kind = CONSTANT, .steps = true};
  if (in->op == OP_MOD || in->op == OP_REM) return remainder_of(a, b);
  if (expr_is_relation(in->op)) return step;
  switch ((expr_op)in->op) {
    case OP_ADD:
    case OP_SUB: return widest(a, b);
    case OP_NEG: return a;
    case OP_MUL: return product(a, b);
    case OP_DIV: return product(a, general(b));
    case OP_SELECT: {
      variation v = widest(a, b);
      v.steps = true;
      v.bends |= v.kind == AFFINE && of[in->c].steps;
      return v;
    }
    case OP_EQ:
    case OP_NE:
    case OP_NOT: return step;
    default: return general(widest(a, b));
  }
}

cpli_linearity cpli_expr_linearity(const cpli_expr* expr, const bool* fixed) {
  variation of[CPLI_EXPR_SIZE];
  const uint32_t first = expr_first(expr);
  for (uint32_t i = 0; i < expr->n_slots; i++) {
    bool discrete = expr->slot_types[i] != CPL_REAL;
    bool still = fixed != NULL && fixed[i];
    of[i] = (variation){.kind = still || discrete ? CONSTANT : AFFINE, .steps = discrete && !still};
  }
  of[expr_time(expr)] = (variation){.kind = OF_TIME};
  for (uint32_t i = expr_time(expr) + 1; i < first; i++) of[i] = (variation){.kind = CONSTANT};
  for (uint32_t i = 0; i < expr->n_code; i++) of[first + i] = vary(&expr->code[i], of);
  variation v = of[expr->result];
  if (v.kind == CURVED) return CPLI_NONLINEAR;
  return v.kind == AFFINE && v.bends ? CPLI_LINEAR_BETWEEN_EVENTS : CPLI_LINEAR;
}
