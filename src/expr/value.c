// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Running the operations forwards (values, relations, indicators) and backwards (gradients).
#include <float.h>
#include <stdio.h>

#include "base/error.h"
#include "expr/code.h"
#include "format/number.h"

// One run. Relations have their value from `frozen` where it is given, else they are evaluated.
typedef struct run {
  const cpli_expr* e;
  cpl_context* ctx;
  double t;
  const double* values;
  const double* frozen;  // Nullable
  double* settled;       // Nullable: receives the current relations
  const double* held;    // with z: the frozen relations the indicators refer to
  double* z;             // Nullable: receives the indicators
  double* sizes;         // Nullable: receives the magnitudes of the operands
} run;

enum { DONE = -1 };  // else: the operation that failed

//------------------------------------ failures ------------------------------------

static cpl_status fail_at(const run* u, size_t at, const char* what) {
  if (u->ctx == NULL) return CPL_RETRY;
  enum { LONGEST = 200 };
  const char* text = u->e->text;
  char message[LONGEST + 256], when[CPLI_NUMBER_SIZE] = "";
  const bool constant = cpli_expr_is_constant(u->e);
  if (!constant) cpli_format_double(when, u->t);
  snprintf(message, sizeof message, "%.*s%s: %s%s%s", LONGEST, text,
           strlen(text) > LONGEST ? "..." : "", what, constant ? "" : " at t=", when);
  cpli_expr_fail(u->ctx, CPL_RETRY, u->e->loc, text, at, message);
  return cpli_fail_where(u->ctx, CPL_RETRY, NULL, NULL, constant ? (double)NAN : u->t);
}

static cpl_status fail_operation(const run* u, const double* r, int pc) {
  const expr_instr* in = &u->e->code[pc];
  char what[160];
  double v = r[expr_first(u->e) + (uint32_t)pc];
  cpli_expr_trouble(in->op, r[in->a], r[in->b], v, what, sizeof what);
  return fail_at(u, u->e->at[pc], what);
}

//------------------------------------ forwards ------------------------------------

// Values, time and constants into the registers; returns the position of a value that is not a
// number, or DONE.
static int load(const run* u, double* r) {
  const cpli_expr* e = u->e;
  int bad = DONE;
  for (uint32_t i = 0; i < e->n_slots; i++) {
    r[i] = u->values[i];
    if (isnan(r[i]) && bad == DONE) bad = (int)i;
  }
  r[expr_time(e)] = u->t;
  if (isnan(u->t) && e->uses_time && bad == DONE) bad = (int)e->n_slots;
  double* constants = r + e->n_slots + 1;
  for (uint32_t i = 0; i < e->n_constants; i++) constants[i] = e->constants[i];
  return bad;
}

static double relation(const run* u, const expr_instr* in, double x, double y) {
  uint32_t k = in->c - 1u;
  if (u->z != NULL) u->z[k] = cpli_expr_indicator(in->op, x, y, u->held[k]);
  if (u->sizes != NULL) u->sizes[k] = fmax(fabs(x), fabs(y));
  if (u->frozen != NULL) return cpli_expr_value_last(in->op, x, y, u->frozen[k]);
  double hold = cpli_expr_hold(in->op, x, y);
  if (u->settled != NULL && !isnan(hold)) u->settled[k] = hold;  // floor(inf) is inf
  return cpli_expr_value_last(in->op, x, y, hold);
}

static int execute(const run* u, double* restrict r) {
  const expr_instr* code = u->e->code;
  const int n = (int)u->e->n_code;
  double* restrict out = r + expr_first(u->e);
  for (int pc = 0; pc < n; pc++) {
    const expr_instr in = code[pc];
    const double x = r[in.a], y = r[in.b];
    double v;
    switch ((expr_op)in.op) {
      case OP_ADD: v = x + y; break;
      case OP_SUB: v = x - y; break;
      case OP_MUL: v = x * y; break;
      case OP_DIV: v = x / y; break;
      case OP_NEG: v = -x; break;
      case OP_SELECT: out[pc] = r[in.c] != 0 ? x : y; continue;
      case OP_JUMP: pc = in.c - 1; continue;
      case OP_JUMP_UNLESS:
        if (x == 0) pc = in.c - 1;
        continue;
      default:
        v = expr_is_relation(in.op) && in.c != 0 ? relation(u, &in, x, y)
                                                 : cpli_expr_apply(in.op, x, y);
    }
    out[pc] = v;
    if (!(fabs(v) <= DBL_MAX)) {
      char what[160];
      if (cpli_expr_trouble(in.op, x, y, v, what, sizeof what)) return pc;
    }
  }
  return DONE;
}

// Past the crossing of a relation its frozen branch may have no value: the current one counts
// there. u->frozen is then NULL.
static cpl_status forwards(run* u, double* r) {
  int bad = load(u, r);
  if (bad != DONE) {
    char what[160];
    bool time = bad == (int)u->e->n_slots;
    snprintf(what, sizeof what, "%.120s is not a number", time ? "time" : u->e->names[bad]);
    return fail_at(u, 0, what);
  }
  int failed = execute(u, r);
  if (failed == DONE) return CPL_OK;
  if (u->frozen != NULL && u->e->n_relations > 0) {
    u->frozen = NULL;
    failed = execute(u, r);
    if (failed == DONE) return CPL_OK;
  }
  return fail_operation(u, r, failed);
}

// Registers are on the stack: a small frame for typical expressions, a large one for the rest
// (tools that monitor the stack pay for its size).
enum { FEW = 128 };

CPLI_NOINLINE static cpl_status evaluate_many(run* u, double* out) {
  double r[CPLI_EXPR_SIZE];
  cpl_status st = forwards(u, r);
  if (st == CPL_OK) *out = r[u->e->result];
  return st;
}

static cpl_status evaluate(run* u, double* out) {
  if (expr_registers(u->e) > FEW) return evaluate_many(u, out);
  double r[FEW];
  cpl_status st = forwards(u, r);
  if (st == CPL_OK) *out = r[u->e->result];
  return st;
}

cpl_status cpli_expr_value(const cpli_expr* expr, cpl_context* ctx, double t, const double* values,
                           const double* frozen, double* out) {
  run u = {.e = expr, .ctx = ctx, .t = t, .values = values, .frozen = frozen};
  return evaluate(&u, out);
}

cpl_status cpli_expr_settle(const cpli_expr* expr, cpl_context* ctx, double t, const double* values,
                            double* frozen) {
  if (expr->n_relations == 0) return CPL_OK;
  double value;
  run u = {.e = expr, .ctx = ctx, .t = t, .values = values, .settled = frozen};
  return evaluate(&u, &value);
}

// The value in a register before the first operation.
static double operand(const cpli_expr* e, uint32_t i, double t, const double* values) {
  if (i < e->n_slots) return values[i];
  return i == expr_time(e) ? t : e->constants[i - e->n_slots - 1];
}

// One comparison of two operands, as most conditions are. False: it is something else, or an
// operand is not a number.
static bool compare(const cpli_expr* e, double t, const double* values, const double* frozen,
                    double* z) {
  const expr_instr* in = e->code;
  if (e->n_code != 1 || in->op < OP_LT || in->op > OP_GE || in->c != 1) return false;
  double x = operand(e, in->a, t, values), y = operand(e, in->b, t, values);
  if (isnan(x) || isnan(y)) return false;
  *z = cpli_expr_indicator(in->op, x, y, *frozen);
  return true;
}

cpl_status cpli_expr_indicators(const cpli_expr* expr, cpl_context* ctx, double t,
                                const double* values, const double* frozen, double* z) {
  if (expr->n_relations == 0 || compare(expr, t, values, frozen, z)) return CPL_OK;
  for (uint32_t i = 0; i < expr->n_code; i++) {
    const expr_instr* in = &expr->code[i];
    if (!expr_is_relation(in->op) || in->c == 0) continue;
    z[in->c - 1] = cpli_expr_idle_indicator(in->op, frozen[in->c - 1]);
  }
  double value;
  run u = {.e = expr, .ctx = ctx, .t = t, .values = values, .frozen = frozen};
  u.held = frozen;
  u.z = z;
  return evaluate(&u, &value);
}

cpl_status cpli_expr_sizes(const cpli_expr* expr, cpl_context* ctx, double t, const double* values,
                           double* sizes) {
  if (expr->n_relations == 0) return CPL_OK;
  double value;
  run u = {.e = expr, .ctx = ctx, .t = t, .values = values, .sizes = sizes};
  memset(sizes, 0, expr->n_relations * sizeof *sizes);
  return evaluate(&u, &value);
}

//------------------------------------ backwards ------------------------------------

// w[i] becomes the derivative of the result with respect to register i. Operations that were jumped
// over have weight 0 and are skipped.
static void backwards(const run* u, const double* r, double* w) {
  const cpli_expr* e = u->e;
  const uint32_t first = expr_first(e);
  memset(w, 0, expr_registers(e) * sizeof *w);
  w[e->result] = 1;
  for (uint32_t pc = e->n_code; pc-- > 0;) {
    const double weight = w[first + pc];
    if (weight == 0) continue;
    const expr_instr in = e->code[pc];
    const double x = r[in.a], y = r[in.b];
    double dx, dy, held = 0;
    switch ((expr_op)in.op) {
      case OP_ADD: w[in.a] += weight, w[in.b] += weight; continue;
      case OP_SUB: w[in.a] += weight, w[in.b] -= weight; continue;
      case OP_MUL: w[in.a] += weight * y, w[in.b] += weight * x; continue;
      case OP_DIV: w[in.a] += weight / y, w[in.b] -= weight * (r[first + pc] / y); continue;
      case OP_NEG: w[in.a] -= weight; continue;
      case OP_SELECT: w[r[in.c] != 0 ? in.a : in.b] += weight; continue;
      case OP_MOD:
      case OP_REM:
        held = in.c != 0 && u->frozen != NULL ? u->frozen[in.c - 1] : cpli_expr_hold(in.op, x, y);
        break;
      default: break;
    }
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): only what was executed has a weight
    cpli_expr_slopes(in.op, x, y, r[first + pc], held, &dx, &dy);
    if (dx != 0) w[in.a] += weight * dx;
    if (dy != 0) w[in.b] += weight * dy;
  }
}

static cpl_status check_gradient(const run* u, const double* w) {
  for (uint32_t i = 0; i < u->e->n_slots; i++) {
    if (isfinite(w[i])) continue;
    char what[200];
    snprintf(what, sizeof what, "the derivative by %.120s is not finite", u->e->names[i]);
    return fail_at(u, 0, what);
  }
  if (isfinite(w[expr_time(u->e)])) return CPL_OK;
  return fail_at(u, 0, "the derivative by time is not finite");
}

// The value, the gradient and the derivative by time, where they are requested.
typedef struct slopes {
  double *value, *gradient, *by_time;
} slopes;

static cpl_status sweep(run* u, double* r, double* w, slopes out) {
  cpl_status st = forwards(u, r);
  if (st != CPL_OK) return st;
  backwards(u, r, w);
  st = check_gradient(u, w);
  if (st != CPL_OK) return st;
  if (out.value != NULL) *out.value = r[u->e->result];
  for (uint32_t i = 0; out.gradient != NULL && i < u->e->n_slots; i++) out.gradient[i] = w[i];
  if (out.by_time != NULL) *out.by_time = w[expr_time(u->e)];
  return CPL_OK;
}

CPLI_NOINLINE static cpl_status sweep_many(run* u, slopes out) {
  double r[CPLI_EXPR_SIZE], w[CPLI_EXPR_SIZE];
  return sweep(u, r, w, out);
}

cpl_status cpli_expr_gradient(const cpli_expr* expr, cpl_context* ctx, double t,
                              const double* values, const double* frozen, double* value,
                              double* gradient, double* by_time) {
  run u = {.e = expr, .ctx = ctx, .t = t, .values = values, .frozen = frozen};
  slopes out = {.value = value, .gradient = gradient, .by_time = by_time};
  if (expr_registers(expr) > FEW) return sweep_many(&u, out);
  double r[FEW], w[FEW];
  return sweep(&u, r, w, out);
}
