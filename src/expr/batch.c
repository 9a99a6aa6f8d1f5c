// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Evaluates one expression at many points at once: each operation is applied to all of them before
// the next one is read, by the same arithmetic as value.c.
#include "expr/code.h"

enum { MAX_REGISTERS = 64 };

// Jumps and relations follow the values of each point.
static bool is_straight(const cpli_expr* e) {
  if (expr_registers(e) > MAX_REGISTERS || e->n_relations > 0) return false;
  for (uint32_t i = 0; i < e->n_code; i++) {
    if (e->code[i].op >= OP_SELECT || expr_is_relation(e->code[i].op)) return false;
  }
  return true;
}

// Appends the bytes of a number as letters. Returns the length of the text.
static size_t spell(char* out, size_t n, uint64_t number, int bytes) {
  for (int i = 0; i < 2 * bytes; i++, number >>= 4) out[n++] = (char)('a' + (number & 15));
  return n;
}

bool cpli_expr_key(const cpli_expr* e, char* out, size_t size) {
  size_t room = 1 + 16 * (size_t)e->n_constants + 12 * (size_t)e->n_code;
  if (!is_straight(e) || size < 8 + room + 1) return false;
  size_t n = spell(out, 0, e->n_slots, 2);
  n = spell(out, n, e->result, 2);
  for (uint32_t i = 0; i < e->n_constants; i++) {
    uint64_t bits;
    memcpy(&bits, &e->constants[i], sizeof bits);
    n = spell(out, n, bits, 8);
  }
  out[n++] = ' ';
  for (uint32_t i = 0; i < e->n_code; i++) {
    n = spell(out, n, e->code[i].op, 2);
    n = spell(out, n, e->code[i].a, 2);
    n = spell(out, n, e->code[i].b, 2);
  }
  out[n] = '\0';
  return true;
}

typedef double lanes[CPLI_EXPR_LANES];

static void apply(const expr_instr* in, const double* restrict x, const double* restrict y,
                  double* restrict v, size_t n) {
  switch ((expr_op)in->op) {
    case OP_ADD:
      for (size_t i = 0; i < n; i++) v[i] = x[i] + y[i];
      return;
    case OP_SUB:
      for (size_t i = 0; i < n; i++) v[i] = x[i] - y[i];
      return;
    case OP_MUL:
      for (size_t i = 0; i < n; i++) v[i] = x[i] * y[i];
      return;
    case OP_DIV:
      for (size_t i = 0; i < n; i++) v[i] = x[i] / y[i];
      return;
    case OP_NEG:
      for (size_t i = 0; i < n; i++) v[i] = -x[i];
      return;
    default:
      for (size_t i = 0; i < n; i++) v[i] = cpli_expr_apply(in->op, x[i], y[i]);
  }
}

// A sum that is zero unless one of them is not finite.
static double unfinished(const double* v, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += v[i] - v[i];
  return sum;
}

bool cpli_expr_values(const cpli_expr* e, double t, size_t n, const double* values, double* out) {
  lanes r[MAX_REGISTERS];
  double sum = t - t;
  for (uint32_t k = 0; k < e->n_slots; k++) {
    memcpy(r[k], values + k * n, n * sizeof *out);
    sum += unfinished(r[k], n);
  }
  for (size_t i = 0; i < n; i++) r[expr_time(e)][i] = t;
  for (uint32_t k = 0; k < e->n_constants; k++)
    for (size_t i = 0; i < n; i++) r[e->n_slots + 1 + k][i] = e->constants[k];
  for (uint32_t k = 0; k < e->n_code; k++) {
    double* v = r[expr_first(e) + k];
    apply(&e->code[k], r[e->code[k].a], r[e->code[k].b], v, n);
    sum += unfinished(v, n);
  }
  memcpy(out, r[e->result], n * sizeof *out);
  return sum == 0;
}
