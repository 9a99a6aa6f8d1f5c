// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What changes the relations of an expression. The time at which a comparison turns is computed if
// its operands are linear in time only.
#include <assert.h>

#include "expr/code.h"

enum { TOO_DEEP = 13 };  // nested operations: deeper ones are left to root finding

//------------------------------------ what moves it ------------------------------------

static cpli_mover max_mover(cpli_mover a, cpli_mover b) { return a > b ? a : b; }

// A factor or a divisor that is constant between events.
static cpli_mover scaled(cpli_mover x, cpli_mover by) {
  return by <= CPLI_MOVED_AT_EVENTS ? max_mover(x, by) : CPLI_MOVED;
}

static cpli_mover general(cpli_mover x) { return x == CPLI_MOVED_BY_TIME ? CPLI_MOVED : x; }

static cpli_mover moved(const expr_instr* in, const cpli_mover* of) {
  cpli_mover a = of[in->a], b = of[in->b];
  if (expr_is_relation(in->op) && in->op != OP_MOD && in->op != OP_REM) return CPLI_MOVED_AT_EVENTS;
  switch ((expr_op)in->op) {
    case OP_ADD:
    case OP_SUB: return max_mover(a, b);
    case OP_NEG: return a;
    case OP_MUL: return a <= CPLI_MOVED_AT_EVENTS ? scaled(b, a) : scaled(a, b);
    case OP_DIV: return scaled(a, b);
    case OP_SELECT: return max_mover(general(max_mover(a, b)), CPLI_MOVED_AT_EVENTS);
    case OP_JUMP:
    case OP_JUMP_UNLESS: return CPLI_NEVER_MOVED;
    default: return general(max_mover(a, b));
  }
}

// The nesting depth of operations; those that follow() does not support count as too deep.
static uint8_t depth_of(const expr_instr* in, const uint8_t* of) {
  uint8_t deeper = of[in->a] > of[in->b] ? of[in->a] : of[in->b];
  bool opaque = expr_is_relation(in->op) || in->op >= OP_SELECT;
  return opaque || deeper >= TOO_DEEP ? TOO_DEEP : deeper + 1;
}

static cpli_relation describe(const expr_instr* in, const cpli_mover* of, const uint8_t* depth) {
  cpli_mover mover = max_mover(of[in->a], of[in->b]);
  bool deep = depth[in->a] >= TOO_DEEP || depth[in->b] >= TOO_DEEP;
  return (cpli_relation){.comparison = in->op >= OP_LT && in->op <= OP_GE,
                         .positive_is_true = in->op == OP_GT || in->op == OP_LT,
                         .mover = deep ? general(mover) : mover};
}

void cpli_expr_movers(const cpli_expr* expr, const cpli_mover* slots, cpli_relation* out) {
  cpli_mover of[CPLI_EXPR_SIZE];
  uint8_t depth[CPLI_EXPR_SIZE];
  const uint32_t first = expr_first(expr);
  for (uint32_t i = 0; i < first; i++) of[i] = CPLI_NEVER_MOVED, depth[i] = 0;
  for (uint32_t i = 0; i < expr->n_slots; i++) of[i] = slots[i];
  of[expr_time(expr)] = CPLI_MOVED_BY_TIME;
  for (uint32_t i = 0; i < expr->n_code; i++) {
    const expr_instr* in = &expr->code[i];
    of[first + i] = moved(in, of);
    depth[first + i] = depth_of(in, depth);
    if (!expr_is_relation(in->op) || in->c == 0) continue;
    out[in->c - 1] = describe(in, of, depth);
    out[in->c - 1].code = i;
  }
}

//------------------------------------ when it turns ------------------------------------

typedef struct affine {
  double c0, c1;  // c0 + c1 t
} affine;

static affine apply(const expr_instr* in, affine a, affine b) {
  switch ((expr_op)in->op) {
    case OP_ADD: return (affine){a.c0 + b.c0, a.c1 + b.c1};
    case OP_SUB: return (affine){a.c0 - b.c0, a.c1 - b.c1};
    case OP_NEG: return (affine){-a.c0, -a.c1};
    case OP_MUL:
      return a.c1 == 0 ? (affine){a.c0 * b.c0, a.c0 * b.c1} : (affine){a.c0 * b.c0, a.c1 * b.c0};
    case OP_DIV: return (affine){a.c0 / b.c0, a.c1 / b.c0};
    default: return (affine){cpli_expr_apply(in->op, a.c0, b.c0), 0};
  }
}

// The operations that lead to a register; nested less than TOO_DEEP.
static affine follow(const cpli_expr* e, uint32_t r, const double* values) {
  const uint32_t first = expr_first(e);
  if (r < e->n_slots) return (affine){values[r], 0};
  if (r == expr_time(e)) return (affine){0, 1};
  if (r < first) return (affine){e->constants[r - e->n_slots - 1], 0};
  const expr_instr* in = &e->code[r - first];
  affine a = follow(e, in->a, values);
  return apply(in, a, in->b == in->a ? a : follow(e, in->b, values));
}

bool cpli_expr_turns(const cpli_expr* expr, const cpli_relation* relation, const double* values,
                     double* when, bool* after) {
  assert(relation->code < expr->n_code && relation->mover == CPLI_MOVED_BY_TIME);
  const expr_instr* in = &expr->code[relation->code];
  affine a = follow(expr, in->a, values);
  affine b = follow(expr, in->b, values);
  double c0 = a.c0 - b.c0, c1 = a.c1 - b.c1;
  *when = -c0 / c1;
  *after = (c1 > 0) == (in->op == OP_GT || in->op == OP_GE);
  return isfinite(*when) && c1 != 0;
}
