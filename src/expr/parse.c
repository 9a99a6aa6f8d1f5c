// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The grammar, one function per level, and the rules of types.
#include <stdio.h>

#include "base/error.h"
#include "expr/draft.h"

static cpl_status parse_expression(draft* d, operand* out);
static cpl_status parse_unary(draft* d, operand* out);

static bool is_constant(operand o) { return o.kind == IN_CONSTANT; }
static bool at_operator(const draft* d, expr_op op) {
  return d->now.kind == T_OPERATOR && d->now.op == op;
}

static cpl_status enter(draft* d) {
  if (++d->depth <= CPLI_EXPR_NESTING) return CPL_OK;
  return cpli_draft_fail(d, d->now.at, "nested more than %d deep", CPLI_EXPR_NESTING);
}

static cpl_status unexpected(draft* d, const char* wanted) {
  const token* t = &d->now;
  if (t->kind == T_END)
    return cpli_draft_fail(d, t->at, "expected %s, but the text ends here", wanted);
  int len = t->len < 60 ? (int)t->len : 60;
  return cpli_draft_fail(d, t->at, "expected %s instead of \"%.*s\"", wanted, len, d->text + t->at);
}

static cpl_status expect(draft* d, token_kind kind, const char* wanted) {
  return d->now.kind == kind ? cpli_lex_next(d) : unexpected(d, wanted);
}

//------------------------------------ types ------------------------------------

static cpl_status need_number(draft* d, operand o, const char* what) {
  if (o.type != CPL_BOOLEAN) return CPL_OK;
  return cpli_draft_fail(d, o.at, "%s takes numbers, this is a Boolean: write if ... then 1 else 0",
                         what);
}

static cpl_status need_boolean(draft* d, operand o, const char* what) {
  if (o.type == CPL_BOOLEAN) return CPL_OK;
  return cpli_draft_fail(d, o.at, "%s takes Booleans, this is %s", what,
                         o.type == CPL_REAL ? "a Real" : "an Integer");
}

static cpl_type common_type(cpl_type a, cpl_type b) { return a == b ? a : CPL_REAL; }

//------------------------------------ names ------------------------------------

#define X(op, name, min_args, max_args) {name, op, min_args, max_args},
static const struct {
  const char* name;
  expr_op op;
  int min_args, max_args;
} functions[] = {EXPR_FUNCTIONS(X){"fmod", OP_REM, 2, 2}, {"pow", OP_POW, 2, 2}};
#undef X

static const char* const words[] = {"time", "pi", "inf", "true", "false"};

// The functions of all expressions, then those of the scope.
static const char* function_name(const void* user, size_t i) {
  const cpli_scope* scope = user;
  const size_t n = CPLI_COUNT(functions);
  return i < n ? functions[i].name : scope->function(scope->user, i - n);
}

static int find_function(const char* name) {
  for (size_t i = 0; i < CPLI_COUNT(functions); i++) {
    if (strcmp(functions[i].name, name) == 0) return (int)i;
  }
  return -1;
}

// The scope's names, then the built-in words.
static const char* known_name(const void* user, size_t i) {
  const cpli_scope* scope = user;
  size_t n = scope != NULL && scope->candidate != NULL ? scope->n_candidates : 0;
  return i < n ? scope->candidate(scope->user, i) : words[i - n];
}

static cpl_status fail_name(draft* d, size_t at) {
  if (find_function(d->name) >= 0) {
    return cpli_draft_fail(d, at, "%s is a function: write %s(...)", d->name, d->name);
  }
  char near[256];
  size_t n = d->scope != NULL && d->scope->candidate != NULL ? d->scope->n_candidates : 0;
  cpli_nearest(d->name, known_name, d->scope, n + CPLI_COUNT(words), near, sizeof near);
  cpl_status st =
      cpli_draft_fail(d, at, "unknown name \"%.200s\"%s%s%s", d->name,
                      near[0] != '\0' ? " (did you mean " : "", near, near[0] != '\0' ? "?)" : "");
  return cpli_fail_unknown(d->ctx, st, d->name, known_name, d->scope, n + CPLI_COUNT(words));
}

static int32_t resolve(const draft* d, cpl_type* type) {
  *type = CPL_REAL;
  return d->scope != NULL ? d->scope->resolve(d->scope->user, d->name, type) : -1;
}

static cpl_status use_name(draft* d, int32_t slot, cpl_type type, size_t at, operand* out) {
  if (type == CPL_STRING) {
    return cpli_draft_fail(d, at, "%.200s is a String, which no expression can use", d->name);
  }
  if (type == CPL_ENUMERATION) type = CPL_INTEGER;
  return cpli_draft_slot_of(d, slot, type, d->name, at, out);
}

// m.der(h) or x[1] without its quotes?
static cpl_status check_brackets(draft* d, size_t at, bool call) {
  size_t end = cpli_lex_bracketed(d, at);
  if (end == at) return CPL_OK;
  char first[64];
  snprintf(first, sizeof first, "%.60s", d->name);
  memcpy(d->name, d->text + at, end - at);
  d->name[end - at] = '\0';
  cpl_type type;
  bool known = resolve(d, &type) >= 0;
  if (!known && call && strchr(first, '.') == NULL && strcmp(first, "der") != 0) return CPL_OK;
  return cpli_draft_fail(d, at, "a name with brackets stands in single quotes: '%.200s'", d->name);
}

static cpl_status parse_name(draft* d, operand* out) {
  size_t at = d->now.at;
  bool plain = d->now.kind == T_NAME;
  cpli_lex_name(d);
  cpl_type type;
  int32_t slot = resolve(d, &type);
  if (plain && d->text[at + d->now.len] == '[') {
    cpl_status st = check_brackets(d, at, false);
    if (st < 0) return st;
  }
  cpl_status st = slot < 0 ? fail_name(d, at) : use_name(d, slot, type, at, out);
  return st < 0 ? st : cpli_lex_next(d);
}

//------------------------------------ functions ------------------------------------

static cpl_status fail_function(draft* d, size_t at) {
  cpl_type type;
  cpli_lex_name(d);
  if (resolve(d, &type) >= 0) return cpli_draft_fail(d, at, "%.200s is no function", d->name);
  cpl_status st = check_brackets(d, at, true);
  if (st < 0) return st;
  char near[256];
  cpli_lex_name(d);
  const size_t further = d->scope != NULL && d->scope->function != NULL ? d->scope->n_functions : 0;
  cpli_nearest(d->name, function_name, d->scope, CPLI_COUNT(functions) + further, near,
               sizeof near);
  return cpli_draft_fail(d, at, "unknown function \"%.200s\"%s%s%s", d->name,
                         near[0] != '\0' ? " (did you mean " : "", near,
                         near[0] != '\0' ? "?)" : "");
}

// x^2 and similar powers without a call of pow().
static cpl_status emit_power(draft* d, operand x, operand y, size_t at, operand* out) {
  double p = is_constant(y) && !is_constant(x) ? cpli_draft_value(d, y) : 0;
  if (p == 2) return cpli_draft_emit(d, OP_MUL, x, x, CPL_REAL, at, out);
  if (p == 3) {
    operand square;
    cpl_status st = cpli_draft_emit(d, OP_MUL, x, x, CPL_REAL, at, &square);
    return st < 0 ? st : cpli_draft_emit(d, OP_MUL, square, x, CPL_REAL, at, out);
  }
  if (p == 1) {
    *out = x;
    out->type = CPL_REAL;
    return CPL_OK;
  }
  if (p == -1) {
    operand one;
    cpl_status st = cpli_draft_constant(d, 1, CPL_REAL, x.at, &one);
    return st < 0 ? st : cpli_draft_emit(d, OP_DIV, one, x, CPL_REAL, at, out);
  }
  return cpli_draft_emit(d, OP_POW, x, y, CPL_REAL, at, out);
}

static cpl_type function_type(expr_op op, cpl_type a, cpl_type b) {
  switch (op) {
    case OP_FLOOR:
    case OP_CEIL:
    case OP_ROUND:
    case OP_SIGN: return CPL_INTEGER;
    case OP_ABS:
    case OP_MIN:
    case OP_MAX:
    case OP_MOD:
    case OP_REM: return common_type(a, b);
    default: return CPL_REAL;
  }
}

static cpl_status parse_argument(draft* d, const char* name, operand* out) {
  cpl_status st = parse_expression(d, out);
  return st < 0 ? st : need_number(d, *out, name);
}

// Two arguments at a time: min(a, b, c) is min(min(a, b), c).
static cpl_status parse_call(draft* d, int f, operand* out) {
  const char* name = functions[f].name;
  expr_op op = functions[f].op;
  size_t at = d->now.at;
  int n = 1;
  cpl_status st = cpli_lex_next(d);
  if (st >= 0) st = cpli_lex_next(d);  // the name and the parenthesis
  if (st >= 0) st = parse_argument(d, name, out);
  while (st >= 0 && d->now.kind == T_COMMA) {
    if (++n > functions[f].max_args) break;
    operand next = *out, left = *out;
    st = cpli_lex_next(d);
    if (st >= 0) st = parse_argument(d, name, &next);
    if (st < 0) return st;
    st = op == OP_POW
             ? emit_power(d, left, next, at, out)
             : cpli_draft_emit(d, op, left, next, function_type(op, left.type, next.type), at, out);
  }
  if (st < 0) return st;
  if (n < functions[f].min_args || n > functions[f].max_args) {
    return cpli_draft_fail(d, at, "%s takes %s", name,
                           functions[f].max_args == 1   ? "one argument"
                           : functions[f].max_args == 2 ? "two arguments"
                                                        : "two or more arguments");
  }
  if (n == 1)
    st = cpli_draft_emit(d, op, *out, *out, function_type(op, out->type, out->type), at, out);
  if (st >= 0) st = expect(d, T_CLOSE, "a comma or )");
  out->at = at;
  return st;
}

//------------------------------------ primary ------------------------------------

static cpl_status parse_constant(draft* d, double value, cpl_type type, operand* out) {
  cpl_status st = cpli_draft_constant(d, value, type, d->now.at, out);
  return st < 0 ? st : cpli_lex_next(d);
}

static cpl_status parse_parentheses(draft* d, operand* out) {
  size_t at = d->now.at;
  cpl_status st = cpli_lex_next(d);
  if (st >= 0) st = parse_expression(d, out);
  if (st >= 0) st = expect(d, T_CLOSE, "an operator or )");
  if (st >= 0) out->at = at;
  return st;
}

static bool before_parenthesis(const draft* d) {
  size_t i = d->now.at + d->now.len;
  while (d->text[i] == ' ') i++;
  return d->text[i] == '(';
}

static cpl_status parse_primary(draft* d, operand* out) {
  const token t = d->now;
  switch (t.kind) {
    case T_NUMBER: return parse_constant(d, t.number, t.whole ? CPL_INTEGER : CPL_REAL, out);
    case T_PI: return parse_constant(d, 3.14159265358979323846, CPL_REAL, out);
    case T_INF: return parse_constant(d, INFINITY, CPL_REAL, out);
    case T_TRUE: return parse_constant(d, 1, CPL_BOOLEAN, out);
    case T_FALSE: return parse_constant(d, 0, CPL_BOOLEAN, out);
    case T_TIME: *out = cpli_draft_time(d, t.at); return cpli_lex_next(d);
    case T_OPEN: return parse_parentheses(d, out);
    case T_QUOTED: return parse_name(d, out);
    case T_NAME: {
      if (!before_parenthesis(d)) return parse_name(d, out);
      cpli_lex_name(d);
      int f = find_function(d->name);
      return f < 0 ? fail_function(d, t.at) : parse_call(d, f, out);
    }
    case T_IF:
    case T_NOT:
      return cpli_draft_fail(d, t.at, "inside an operation, %s stands in parentheses",
                             t.kind == T_IF ? "if" : "not");
    default: return unexpected(d, "a value");
  }
}

//------------------------------------ arithmetic ------------------------------------

static cpl_status parse_power(draft* d, operand* out) {
  cpl_status st = parse_primary(d, out);
  if (st < 0 || !at_operator(d, OP_POW)) return st;
  size_t at = d->now.at;
  operand x = *out, y;
  st = enter(d);
  if (st >= 0) st = cpli_lex_next(d);
  if (st >= 0) st = parse_unary(d, &y);
  if (st >= 0) st = need_number(d, x, "^");
  if (st >= 0) st = need_number(d, y, "^");
  if (st < 0) return st;
  d->depth--;
  st = emit_power(d, x, y, at, out);
  out->at = x.at;
  return st;
}

static cpl_status parse_unary(draft* d, operand* out) {
  size_t at = d->now.at;
  bool sign = false, minus = false;
  cpl_status st = CPL_OK;
  while (st >= 0 && (at_operator(d, OP_SUB) || at_operator(d, OP_ADD))) {
    sign = true;
    minus ^= d->now.op == OP_SUB;
    st = cpli_lex_next(d);
  }
  if (st >= 0) st = parse_power(d, out);
  if (st >= 0 && sign) st = need_number(d, *out, "a sign");
  if (st >= 0 && minus) st = cpli_draft_emit(d, OP_NEG, *out, *out, out->type, at, out);
  if (sign) out->at = at;
  return st;
}

// Operands that two operators of equal rank connect, from left to right.
static cpl_status parse_row(draft* d, cpl_status (*parse_operand)(draft*, operand*), expr_op one,
                            expr_op other, operand* out) {
  cpl_status st = parse_operand(d, out);
  while (st >= 0 && (at_operator(d, one) || at_operator(d, other))) {
    token t = d->now;
    operand x = *out, y;
    st = cpli_lex_next(d);
    if (st >= 0) st = parse_operand(d, &y);
    if (st >= 0) st = need_number(d, x, cpli_expr_op_name(t.op));
    if (st >= 0) st = need_number(d, y, cpli_expr_op_name(t.op));
    if (st < 0) return st;
    cpl_type type = t.op == OP_DIV ? CPL_REAL : common_type(x.type, y.type);
    st = cpli_draft_emit(d, t.op, x, y, type, t.at, out);
  }
  return st;
}

static cpl_status parse_product(draft* d, operand* out) {
  return parse_row(d, parse_unary, OP_MUL, OP_DIV, out);
}

static cpl_status parse_sum(draft* d, operand* out) {
  return parse_row(d, parse_product, OP_ADD, OP_SUB, out);
}

//------------------------------------ logic ------------------------------------

static bool at_comparison(const draft* d) {
  return d->now.kind == T_OPERATOR && d->now.op >= OP_LT && d->now.op <= OP_NE;
}

static cpl_status check_comparison(draft* d, token t, operand x, operand y) {
  const char* name = cpli_expr_op_name(t.op);
  if (t.op != OP_EQ && t.op != OP_NE) {
    cpl_status st = need_number(d, x, name);
    return st < 0 ? st : need_number(d, y, name);
  }
  if (x.type == CPL_REAL || y.type == CPL_REAL) {
    return cpli_draft_fail(
        d, t.at, "%s compares Integers or Booleans; Reals are compared with < <= > >=", name);
  }
  if (x.type != y.type)
    return cpli_draft_fail(d, t.at, "%s compares a Boolean with a number", name);
  return CPL_OK;
}

static cpl_status parse_comparison(draft* d, operand* out) {
  cpl_status st = parse_sum(d, out);
  if (st < 0 || !at_comparison(d)) return st;
  token t = d->now;
  operand x = *out, y;
  st = cpli_lex_next(d);
  if (st >= 0) st = parse_sum(d, &y);
  if (st >= 0) st = check_comparison(d, t, x, y);
  if (st < 0) return st;
  if (at_comparison(d)) {
    return cpli_draft_fail(d, d->now.at, "comparisons do not chain: write a < b and b < c");
  }
  return cpli_draft_emit(d, t.op, x, y, CPL_BOOLEAN, t.at, out);
}

static cpl_status parse_not(draft* d, operand* out) {
  size_t at = d->now.at;
  bool any = false, turned = false;
  cpl_status st = CPL_OK;
  for (; st >= 0 && d->now.kind == T_NOT; st = cpli_lex_next(d)) any = true, turned = !turned;
  if (st >= 0) st = parse_comparison(d, out);
  if (st >= 0 && any) st = need_boolean(d, *out, "not");
  if (st >= 0 && turned) st = cpli_draft_emit(d, OP_NOT, *out, *out, CPL_BOOLEAN, at, out);
  if (any) out->at = at;
  return st;
}

// a and b: if a then b else false.  a or b: if a then true else b.
static cpl_status parse_right_side(draft* d, bool is_and, size_t at, operand* left,
                                   cpl_status (*side)(draft*, operand*)) {
  const char* name = is_and ? "and" : "or";
  const draft_mark mark = cpli_draft_now(d);
  const bool known = is_constant(*left);
  operand right, other;
  cpl_status st = need_boolean(d, *left, name);
  if (st >= 0 && !known) st = cpli_draft_jump(d, OP_JUMP_UNLESS, *left, at);
  if (st >= 0 && !known && !is_and) st = cpli_draft_jump(d, OP_JUMP, *left, at);
  const size_t begin = d->n_code;
  if (st >= 0) st = side(d, &right);
  if (st >= 0) st = need_boolean(d, right, name);
  if (st < 0) return st;
  if (known) {  // false and ..., true or ...: the right side is never evaluated
    bool decided = (cpli_draft_value(d, *left) != 0) != is_and;
    if (decided) cpli_draft_back_to(d, mark);
    if (!decided) *left = right;
    return CPL_OK;
  }
  if (d->n_code == begin) {
    d->n_code = mark.n_code;  // nothing to jump over
  } else {
    d->code[mark.n_code].extra = (uint32_t)(is_and ? d->n_code : begin);
    if (!is_and) d->code[begin - 1].extra = (uint32_t)d->n_code;
  }
  st = cpli_draft_constant(d, !is_and, CPL_BOOLEAN, at, &other);
  if (st < 0) return st;
  return cpli_draft_select(d, *left, is_and ? right : other, is_and ? other : right, CPL_BOOLEAN,
                           left->at, left);
}

static cpl_status parse_and(draft* d, operand* out) {
  cpl_status st = parse_not(d, out);
  while (st >= 0 && d->now.kind == T_AND) {
    size_t at = d->now.at;
    st = cpli_lex_next(d);
    if (st >= 0) st = parse_right_side(d, true, at, out, parse_not);
  }
  return st;
}

static cpl_status parse_or(draft* d, operand* out) {
  cpl_status st = parse_and(d, out);
  while (st >= 0 && d->now.kind == T_OR) {
    size_t at = d->now.at;
    st = cpli_lex_next(d);
    if (st >= 0) st = parse_right_side(d, false, at, out, parse_and);
  }
  return st;
}

//------------------------------------ if ------------------------------------

// A branch; the code of a dead one is removed.
static cpl_status parse_branch(draft* d, bool dead, operand* out) {
  draft_mark mark = cpli_draft_now(d);
  cpl_status st = parse_expression(d, out);
  if (st >= 0 && dead) cpli_draft_back_to(d, mark);
  return st;
}

static cpl_status branch_type(draft* d, operand a, operand b, cpl_type* type) {
  *type = common_type(a.type, b.type);
  if ((a.type == CPL_BOOLEAN) == (b.type == CPL_BOOLEAN)) return CPL_OK;
  return cpli_draft_fail(d, b.at, "then gives a %s, else a %s",
                         a.type == CPL_BOOLEAN ? "Boolean" : "number",
                         b.type == CPL_BOOLEAN ? "Boolean" : "number");
}

static cpl_status parse_known_if(draft* d, bool taken, operand* out) {
  operand a, b;
  cpl_type type;
  cpl_status st = parse_branch(d, !taken, &a);
  if (st >= 0) st = expect(d, T_ELSE, "else");
  if (st >= 0) st = parse_branch(d, taken, &b);
  if (st >= 0) st = branch_type(d, a, b, &type);
  if (st < 0) return st;
  *out = taken ? a : b;
  out->type = type;
  return CPL_OK;
}

static cpl_status parse_open_if(draft* d, operand condition, size_t at, operand* out) {
  operand a, b;
  cpl_type type;
  const size_t first = d->n_code;
  cpl_status st = cpli_draft_jump(d, OP_JUMP_UNLESS, condition, at);
  if (st >= 0) st = parse_expression(d, &a);
  if (st >= 0) st = expect(d, T_ELSE, "else");
  const size_t second = d->n_code;
  if (st >= 0) st = cpli_draft_jump(d, OP_JUMP, condition, at);
  if (st >= 0) st = parse_expression(d, &b);
  if (st >= 0) st = branch_type(d, a, b, &type);
  if (st < 0) return st;
  if (d->n_code == first + 2) {
    d->n_code = first;  // no operations in either branch
  } else {
    d->code[first].extra = (uint32_t)second + 1;
    d->code[second].extra = (uint32_t)d->n_code;
  }
  return cpli_draft_select(d, condition, a, b, type, at, out);
}

static cpl_status parse_if(draft* d, operand* out) {
  size_t at = d->now.at;
  operand condition;
  cpl_status st = cpli_lex_next(d);
  if (st >= 0) st = parse_expression(d, &condition);
  if (st >= 0) st = need_boolean(d, condition, "if");
  if (st >= 0) st = expect(d, T_THEN, "then");
  if (st < 0) return st;
  st = is_constant(condition) ? parse_known_if(d, cpli_draft_value(d, condition) != 0, out)
                              : parse_open_if(d, condition, at, out);
  if (st >= 0) out->at = at;
  return st;
}

static cpl_status parse_expression(draft* d, operand* out) {
  cpl_status st = enter(d);
  if (st < 0) return st;
  st = d->now.kind == T_IF ? parse_if(d, out) : parse_or(d, out);
  d->depth--;
  return st;
}

//------------------------------------ the whole ------------------------------------

static bool is_word(const char* text) {
  return cpli_find_text(words, CPLI_COUNT(words), text) >= 0;
}

// A text that as a whole is a known name: m.der(h)
static cpl_status parse_whole_name(draft* d, bool* found, operand* out) {
  const char* begin = d->text + strspn(d->text, " \t\r\n");
  size_t len = strlen(begin);
  while (len > 0 && strchr(" \t\r\n", begin[len - 1]) != NULL) len--;
  memcpy(d->name, begin, len);
  d->name[len] = '\0';
  cpl_type type;
  int32_t slot = len > 0 && !is_word(d->name) ? resolve(d, &type) : -1;
  *found = slot >= 0;
  return slot >= 0 ? use_name(d, slot, type, (size_t)(begin - d->text), out) : CPL_OK;
}

static cpl_status parse_text(draft* d, operand* out) {
  cpl_status st = cpli_lex_next(d);
  if (st < 0) return st;
  if (d->now.kind == T_END) return cpli_draft_fail(d, 0, "an expression is missing");
  st = parse_expression(d, out);
  if (st < 0) return st;
  if (d->now.kind == T_CLOSE) return cpli_draft_fail(d, d->now.at, "there is no ( for this )");
  return d->now.kind == T_END ? CPL_OK : unexpected(d, "an operator");
}

cpl_status cpli_expr_parse(cpl_context* ctx, cpli_source_loc loc, const char* text,
                           const cpli_scope* scope, cpli_expr** out) {
  draft d = {.ctx = ctx, .loc = loc, .text = text, .scope = scope};
  operand result = {0};
  bool found = false;
  *out = NULL;
  d.name = cpli_alloc(ctx, strlen(text) + 1, 1);
  if (d.name == NULL) return cpli_nomem(ctx);
  cpl_status st = parse_whole_name(&d, &found, &result);
  if (st >= 0 && !found) st = parse_text(&d, &result);
  if (st >= 0) st = cpli_draft_finish(&d, result, out);
  cpli_draft_free(&d);
  return st;
}
