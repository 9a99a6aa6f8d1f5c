// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Appends operands and operations with constant folding; the finished draft is copied into one
// block of memory, in which every operand is the number of a register.
#include <assert.h>

#include "expr/draft.h"

static_assert(CPLI_EXPR_SIZE <= UINT16_MAX && OP_JUMP_UNLESS <= UINT16_MAX,
              "registers, targets and operations are numbers of 16 bits");
static_assert(sizeof(expr_instr) == 8, "operations are packed");

static cpl_status check_size(draft* d, size_t at) {
  if (d->n_slots + 1 + d->n_constants + d->n_code < CPLI_EXPR_SIZE) return CPL_OK;
  return cpli_draft_fail(d, at, "the expression is too long (more than %d names and operations)",
                         CPLI_EXPR_SIZE);
}

//------------------------------------ operands ------------------------------------

cpl_status cpli_draft_constant(draft* d, double value, cpl_type type, size_t at, operand* out) {
  cpl_status st = check_size(d, at);
  if (st < 0) return st;
  if (!cpli_grow(d->ctx, (void**)&d->constants, &d->cap_constants, d->n_constants, sizeof value)) {
    return cpli_nomem(d->ctx);
  }
  *out = (operand){.kind = IN_CONSTANT, .i = (uint32_t)d->n_constants, .type = type, .at = at};
  d->constants[d->n_constants++] = value;
  return CPL_OK;
}

cpl_status cpli_draft_slot_of(draft* d, int32_t slot, cpl_type type, const char* name, size_t at,
                              operand* out) {
  size_t i = 0;
  while (i < d->n_slots && d->slots[i].slot != slot) i++;
  if (i == d->n_slots) {
    cpl_status st = check_size(d, at);
    if (st < 0) return st;
    if (!cpli_grow(d->ctx, (void**)&d->slots, &d->cap_slots, d->n_slots, sizeof *d->slots)) {
      return cpli_nomem(d->ctx);
    }
    char* copy = cpli_strdup(d->ctx, name);
    if (copy == NULL) return cpli_nomem(d->ctx);
    d->slots[d->n_slots++] = (draft_slot){.slot = slot, .type = type, .name = copy};
  }
  *out = (operand){.kind = IN_SLOT, .i = (uint32_t)i, .type = type, .at = at};
  out->moving = type == CPL_REAL;
  return CPL_OK;
}

operand cpli_draft_time(draft* d, size_t at) {
  d->uses_time = true;
  return (operand){.kind = IN_TIME, .type = CPL_REAL, .moving = true, .at = at};
}

double cpli_draft_value(const draft* d, operand constant) {
  assert(constant.kind == IN_CONSTANT && constant.i < d->n_constants);
  return d->constants[constant.i];
}

draft_mark cpli_draft_now(const draft* d) {
  return (draft_mark){.n_code = d->n_code,
                      .n_constants = d->n_constants,
                      .n_slots = d->n_slots,
                      .n_relations = d->n_relations,
                      .uses_time = d->uses_time};
}

void cpli_draft_back_to(draft* d, draft_mark mark) {
  assert(mark.n_code <= d->n_code && mark.n_slots <= d->n_slots);
  while (d->n_slots > mark.n_slots) cpli_free(d->ctx, d->slots[--d->n_slots].name);
  d->n_code = mark.n_code;
  d->n_constants = mark.n_constants;
  d->n_relations = mark.n_relations;
  d->uses_time = mark.uses_time;
}

void cpli_draft_free(draft* d) {
  cpli_draft_back_to(d, (draft_mark){0});
  cpli_free(d->ctx, d->code);
  cpli_free(d->ctx, d->constants);
  cpli_free(d->ctx, d->slots);
  cpli_free(d->ctx, d->name);
}

//------------------------------------ operations ------------------------------------

static cpl_status append(draft* d, draft_op op) {
  cpl_status st = check_size(d, op.at);
  if (st < 0) return st;
  if (!cpli_grow(d->ctx, (void**)&d->code, &d->cap_code, d->n_code, sizeof *d->code)) {
    return cpli_nomem(d->ctx);
  }
  d->code[d->n_code++] = op;
  return CPL_OK;
}

// Every constant is read by one operation, so the last ones are removed when they were folded.
static void drop_constant(draft* d, operand constant) {
  if (constant.i + 1 == d->n_constants) d->n_constants--;
}

// Operations that would fail are left for the evaluation: they may be in a branch that is never
// taken.
static bool fold(const draft* d, expr_op op, operand a, operand b, double* out) {
  if (a.kind != IN_CONSTANT || b.kind != IN_CONSTANT) return false;
  char what[160];
  double x = cpli_draft_value(d, a), y = cpli_draft_value(d, b);
  *out = cpli_expr_apply(op, x, y);
  return isfinite(*out) || !cpli_expr_trouble(op, x, y, *out, what, sizeof what);
}

cpl_status cpli_draft_emit(draft* d, expr_op op, operand a, operand b, cpl_type type, size_t at,
                           operand* out) {
  double value;
  if (fold(d, op, a, b, &value)) {
    drop_constant(d, b);
    drop_constant(d, a);
    return cpli_draft_constant(d, value, type, a.at, out);
  }
  bool moving = a.moving || b.moving;
  draft_op new = {.op = op, .a = a, .b = b, .at = (uint32_t)at};
  if (expr_is_relation(op) && moving) {
    new.extra = ++d->n_relations;
    moving = op == OP_MOD || op == OP_REM;
  }
  cpl_status st = append(d, new);
  if (st < 0) return st;
  *out = (operand){.kind = IN_CODE, .i = (uint32_t)d->n_code - 1, .type = type, .at = a.at};
  out->moving = moving;
  return CPL_OK;
}

cpl_status cpli_draft_select(draft* d, operand c, operand a, operand b, cpl_type type, size_t at,
                             operand* out) {
  draft_op new = {.op = OP_SELECT, .a = a, .b = b, .c = c, .at = (uint32_t)at};
  cpl_status st = append(d, new);
  if (st < 0) return st;
  *out = (operand){.kind = IN_CODE, .i = (uint32_t)d->n_code - 1, .type = type, .at = at};
  out->moving = a.moving || b.moving;
  return CPL_OK;
}

cpl_status cpli_draft_jump(draft* d, expr_op op, operand condition, size_t at) {
  return append(d, (draft_op){.op = op, .a = condition, .b = condition, .at = (uint32_t)at});
}

//------------------------------------ finish ------------------------------------

static uint16_t register_of(const cpli_expr* e, operand o) {
  switch (o.kind) {
    case IN_SLOT: return (uint16_t)o.i;
    case IN_TIME: return (uint16_t)expr_time(e);
    case IN_CONSTANT: return (uint16_t)(e->n_slots + 1 + o.i);
    case IN_CODE: break;
  }
  return (uint16_t)(expr_first(e) + o.i);
}

// The arrays of an expression one after the other, the most strictly aligned first.
typedef struct layout {
  char* next;
} layout;

static void* carve(layout* l, size_t n, size_t size) {
  void* at = l->next;
  l->next += n * size;
  return at;
}

static size_t block_size(const draft* d) {
  size_t size = sizeof(cpli_expr) + d->n_constants * sizeof(double) + strlen(d->text) + 1;
  for (size_t i = 0; i < d->n_slots; i++) size += strlen(d->slots[i].name) + 1;
  size += d->n_slots * (sizeof(char*) + sizeof(int32_t) + sizeof(cpl_type));
  return size + d->n_code * (sizeof(expr_instr) + sizeof(uint32_t));
}

static char* carve_text(layout* l, const char* text) {
  size_t size = strlen(text) + 1;
  return memcpy(carve(l, size, 1), text, size);
}

static void finish_code(const draft* d, const cpli_expr* e, expr_instr* code, uint32_t* at) {
  for (size_t i = 0; i < d->n_code; i++) {
    const draft_op* op = &d->code[i];
    code[i] = (expr_instr){.op = (uint16_t)op->op,
                           .a = register_of(e, op->a),
                           .b = register_of(e, op->b),
                           .c = (uint16_t)op->extra};
    if (op->op == OP_SELECT) code[i].c = register_of(e, op->c);
    at[i] = op->at;
  }
}

#ifdef NDEBUG
#define check_expr(e) ((void)0)
#else
// code invariants: 1 an operation reads registers before its own only; 2 a jump goes forward, to an
// operation or the end; 3 each relation has a number of its own, in the order of the code; 4 the
// result is a register.
static void check_expr(const cpli_expr* e) {
  uint32_t relations = 0;
  for (uint32_t i = 0; i < e->n_code; i++) {
    const expr_instr* in = &e->code[i];
    uint32_t own = expr_first(e) + i;
    assert(in->op <= OP_JUMP_UNLESS && in->a < own && in->b < own);
    if (in->op == OP_SELECT) assert(in->c < own);
    else if (in->op >= OP_JUMP) assert(in->c > i && in->c <= e->n_code);
    else if (in->c != 0) assert(expr_is_relation(in->op) && in->c == ++relations);
  }
  assert(relations == e->n_relations);
  assert(e->result < expr_registers(e) && expr_registers(e) <= CPLI_EXPR_SIZE);
}
#endif

cpl_status cpli_draft_finish(const draft* d, operand result, cpli_expr** out) {
  cpli_expr* e = cpli_alloc(d->ctx, 1, block_size(d));
  if (e == NULL) return cpli_nomem(d->ctx);
  layout l = {.next = (char*)e};
  carve(&l, 1, sizeof *e);
  double* constants = carve(&l, d->n_constants, sizeof(double));
  const char** names = carve(&l, d->n_slots, sizeof(char*));
  int32_t* slots = carve(&l, d->n_slots, sizeof(int32_t));
  cpl_type* types = carve(&l, d->n_slots, sizeof(cpl_type));
  uint32_t* at = carve(&l, d->n_code, sizeof(uint32_t));
  expr_instr* code = carve(&l, d->n_code, sizeof(expr_instr));
  *e = (cpli_expr){.ctx = d->ctx,
                   .loc = d->loc,
                   .text = carve_text(&l, d->text),
                   .n_slots = (uint32_t)d->n_slots,
                   .n_constants = (uint32_t)d->n_constants,
                   .n_code = (uint32_t)d->n_code,
                   .n_relations = d->n_relations,
                   .type = result.type,
                   .uses_time = d->uses_time,
                   .slots = slots,
                   .slot_types = types,
                   .names = names,
                   .constants = constants,
                   .code = code,
                   .at = at};
  if (d->n_constants > 0) memcpy(constants, d->constants, d->n_constants * sizeof(double));
  for (size_t i = 0; i < d->n_slots; i++) {
    slots[i] = d->slots[i].slot;
    types[i] = d->slots[i].type;
    names[i] = carve_text(&l, d->slots[i].name);
  }
  finish_code(d, e, code, at);
  e->result = register_of(e, result);
  check_expr(e);
  *out = e;
  return CPL_OK;
}

void cpli_expr_destroy(cpli_expr* expr) {
  if (expr != NULL) cpli_free(expr->ctx, expr);
}
