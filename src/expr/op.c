// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Single operations: value, slopes, frozen value, reason of a failure.
#include <stdio.h>

#include "expr/code.h"
#include "format/number.h"

const char* cpli_expr_op_name(expr_op op) {
  switch (op) {
#define X(id, name, min_args, max_args) \
  case id: return name;
    EXPR_FUNCTIONS(X)
#undef X
    case OP_ADD: return "+";
    case OP_SUB:
    case OP_NEG: return "-";
    case OP_MUL: return "*";
    case OP_DIV: return "/";
    case OP_POW: return "^";
    case OP_LT: return "<";
    case OP_LE: return "<=";
    case OP_GT: return ">";
    case OP_GE: return ">=";
    case OP_EQ: return "==";
    case OP_NE: return "!=";
    case OP_NOT: return "not";
    case OP_SELECT:
    case OP_JUMP:
    case OP_JUMP_UNLESS: return "if";
  }
  return "?";
}

//------------------------------------ values ------------------------------------

double cpli_expr_hold(expr_op op, double x, double y) {
  switch (op) {
    case OP_LT: return x < y;
    case OP_LE: return x <= y;
    case OP_GT: return x > y;
    case OP_GE: return x >= y;
    case OP_FLOOR: return floor(x);
    case OP_CEIL: return ceil(x);
    case OP_ROUND: return round(x);
    case OP_SIGN: return (x > 0) - (x < 0);
    case OP_MOD: return floor(x / y);
    case OP_REM: return trunc(x / y);
    default: return 0;
  }
}

double cpli_expr_value_last(expr_op op, double x, double y, double held) {
  return op == OP_MOD || op == OP_REM ? x - y * held : held;
}

double cpli_expr_apply(expr_op op, double x, double y) {
  switch (op) {
    case OP_ADD: return x + y;
    case OP_SUB: return x - y;
    case OP_MUL: return x * y;
    case OP_DIV: return x / y;
    case OP_NEG: return -x;
    case OP_POW: return pow(x, y);
    case OP_SIN: return sin(x);
    case OP_COS: return cos(x);
    case OP_TAN: return tan(x);
    case OP_ASIN: return asin(x);
    case OP_ACOS: return acos(x);
    case OP_ATAN: return atan(x);
    case OP_SINH: return sinh(x);
    case OP_COSH: return cosh(x);
    case OP_TANH: return tanh(x);
    case OP_ASINH: return asinh(x);
    case OP_ACOSH: return acosh(x);
    case OP_ATANH: return atanh(x);
    case OP_EXP: return exp(x);
    case OP_LOG: return log(x);
    case OP_LOG10: return log10(x);
    case OP_LOG2: return log2(x);
    case OP_SQRT: return sqrt(x);
    case OP_CBRT: return cbrt(x);
    case OP_ABS: return fabs(x);
    case OP_ATAN2: return atan2(x, y);
    case OP_HYPOT: return hypot(x, y);
    case OP_MIN: return y < x ? y : x;
    case OP_MAX: return y > x ? y : x;
    case OP_EQ: return x == y;
    case OP_NE: return x != y;
    case OP_NOT: return x == 0;
    default: return cpli_expr_value_last(op, x, y, cpli_expr_hold(op, x, y));
  }
}

//------------------------------------ indicators ------------------------------------

static double difference(double x, double y) { return x == y ? 0 : x - y; }  // also of infinities

// The interval in which a frozen integer n is valid; cpli_expr_hold() decides at the borders.
static void borders(expr_op op, double n, double* low, double* high) {
  switch (op) {
    case OP_CEIL: *low = n - 1, *high = n; break;
    case OP_ROUND: *low = n - 0.5, *high = n + 0.5; break;
    case OP_SIGN: *low = n < 0 ? -INFINITY : 0, *high = n > 0 ? INFINITY : 0; break;
    case OP_REM: *low = n > 0 ? n : n - 1, *high = n < 0 ? n : n + 1; break;
    default: *low = n, *high = n + 1; break;  // floor, mod
  }
}

double cpli_expr_indicator(expr_op op, double x, double y, double held) {
  const double smallest = 1e-150;  // smallest value that root finding distinguishes from zero
  if (op == OP_GT || op == OP_LE) return difference(x, y);
  if (op == OP_LT || op == OP_GE) return difference(y, x);
  double q = op == OP_MOD || op == OP_REM ? x / y : x, low, high;
  borders(op, held, &low, &high);
  double beyond = fmax(low - q, q - high);
  return cpli_expr_hold(op, x, y) == held ? fmin(beyond, 0) : fmax(beyond, smallest);
}

double cpli_expr_idle_indicator(expr_op op, double held) {
  if (op == OP_GT || op == OP_LT) return held != 0 ? 1 : -1;
  if (op == OP_GE || op == OP_LE) return held != 0 ? -1 : 1;
  return -1;
}

//------------------------------------ slopes ------------------------------------

static void power_slopes(double x, double y, double v, double* dx, double* dy) {
  if (x != 0) {
    bool normal = fabs(v) > 1e-290;  // else v has lost digits that the slope still has
    *dx = y == 0 ? 0 : normal ? y * (v / x) : y * pow(x, y - 1);
  } else {
    *dx = y == 1;  // y > 1: 0; below 1 infinite
  }
  *dy = x > 0 ? v * log(x) : 0;
}

static double one_over(double x) { return x != 0 ? 1 / x : 0; }  // where a slope is infinite: 0

void cpli_expr_slopes(expr_op op, double x, double y, double v, double held, double* dx,
                      double* dy) {
  *dx = *dy = 0;
  switch (op) {
    case OP_ADD: *dx = *dy = 1; break;
    case OP_SUB: *dx = 1, *dy = -1; break;
    case OP_MUL: *dx = y, *dy = x; break;
    case OP_DIV: *dx = 1 / y, *dy = -v / y; break;
    case OP_NEG: *dx = -1; break;
    case OP_POW: power_slopes(x, y, v, dx, dy); break;
    case OP_SIN: *dx = cos(x); break;
    case OP_COS: *dx = -sin(x); break;
    case OP_TAN: *dx = 1 + v * v; break;
    case OP_ASIN: *dx = one_over(sqrt((1 - x) * (1 + x))); break;
    case OP_ACOS: *dx = -one_over(sqrt((1 - x) * (1 + x))); break;
    case OP_ATAN: *dx = 1 / (1 + x * x); break;
    case OP_SINH: *dx = cosh(x); break;
    case OP_COSH: *dx = sinh(x); break;
    case OP_TANH: *dx = (1 - v) * (1 + v); break;
    case OP_ASINH: *dx = 1 / hypot(1, x); break;
    case OP_ACOSH: *dx = one_over(sqrt(x - 1) * sqrt(x + 1)); break;
    case OP_ATANH: *dx = 1 / ((1 - x) * (1 + x)); break;
    case OP_EXP: *dx = v; break;
    case OP_LOG: *dx = 1 / x; break;
    case OP_LOG10: *dx = 1 / (x * 2.302585092994045684); break;
    case OP_LOG2: *dx = 1 / (x * 0.6931471805599453094); break;
    case OP_SQRT: *dx = one_over(2 * v); break;
    case OP_CBRT: *dx = one_over(3 * v * v); break;
    case OP_ABS: *dx = (x > 0) - (x < 0); break;
    case OP_ATAN2: {
      double r = one_over(hypot(x, y));
      *dx = y * r * r, *dy = -x * r * r;
      break;
    }
    case OP_HYPOT: *dx = x * one_over(v), *dy = y * one_over(v); break;
    case OP_MIN: *dx = !(y < x), *dy = y < x; break;
    case OP_MAX: *dx = !(y > x), *dy = y > x; break;
    case OP_MOD:
    case OP_REM: *dx = 1, *dy = -held; break;
    default: break;  // relations and Booleans
  }
}

//------------------------------------ trouble ------------------------------------

static bool divides_by_zero(expr_op op, double x, double y) {
  if (op == OP_DIV || op == OP_MOD || op == OP_REM) return y == 0;
  return op == OP_POW && x == 0 && y < 0;
}

static bool outside_domain(expr_op op, double x, double v) {
  if (isnan(v)) return true;
  return ((op == OP_LOG || op == OP_LOG10 || op == OP_LOG2) && x == 0) ||
         (op == OP_ATANH && fabs(x) == 1);
}

bool cpli_expr_trouble(expr_op op, double x, double y, double v, char* out, size_t size) {
  char left[CPLI_NUMBER_SIZE], right[CPLI_NUMBER_SIZE];
  cpli_format_double(left, x);
  cpli_format_double(right, y);
  const char* name = cpli_expr_op_name(op);
  const bool infix = op >= OP_ADD && op != OP_NEG;
  if (divides_by_zero(op, x, y)) {
    snprintf(out, size, "division by zero%s%s", op == OP_DIV ? "" : " in ",
             op == OP_DIV ? "" : name);
  } else if (outside_domain(op, x, v)) {
    if (infix) snprintf(out, size, "%s %s %s has no value", left, name, right);
    if (!infix) snprintf(out, size, "%s of %s has no value", name, left);
  } else if (isinf(x) || isinf(y)) {
    return false;
  } else {
    if (infix) snprintf(out, size, "%s %s %s is too large", left, name, right);
    if (!infix) snprintf(out, size, "%s of %s is too large", name, left);
  }
  return true;
}
