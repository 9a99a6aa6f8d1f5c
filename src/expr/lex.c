// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The lexer of expressions: numbers, names, names in single quotes, keywords and operators, in any
// locale. For an operator of other languages (=, &, %, ...) the message says how it is written
// here.
#include <stdarg.h>
#include <stdio.h>

#include "expr/draft.h"
#include "format/number.h"

cpl_status cpli_draft_fail(draft* d, size_t at, const char* fmt, ...) {
  char what[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  if (d->loc.file == NULL)
    return cpl_fail(d->ctx, CPL_ERR_INPUT, "%s, in \"%.200s\"", what, d->text);
  return cpli_expr_fail(d->ctx, CPL_ERR_INPUT, d->loc, d->text, at, what);
}

// Those of the C library depend on the locale.
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

//------------------------------------ numbers ------------------------------------

static cpl_status lex_number(draft* d) {
  const char* s = d->text + d->now.at;
  size_t n = 0;
  d->now.whole = true;
  while (is_digit(s[n])) n++;
  if (s[n] == '.') {
    d->now.whole = false;
    size_t point = n++;
    while (is_digit(s[n])) n++;
    if (point == 0 || n == point + 1) {
      return cpli_draft_fail(d, d->now.at,
                             "a number has digits on both sides of its point: 0.5, 1.0");
    }
  }
  size_t digits = s[n] == 'e' || s[n] == 'E' ? n + 1 : 0;
  if (digits != 0 && (s[digits] == '+' || s[digits] == '-')) digits++;
  if (digits != 0 && is_digit(s[digits])) {
    d->now.whole = false;
    for (n = digits; is_digit(s[n]);) n++;
  }
  d->now.kind = T_NUMBER;
  d->now.len = n;
  if (s[n] == '.') return cpli_draft_fail(d, d->now.at + n, "a number has one point");
  if (cpli_parse_double(s, n, &d->now.number)) return CPL_OK;
  return cpli_draft_fail(d, d->now.at, "the number %.*s is too large", n < 60 ? (int)n : 60, s);
}

//------------------------------------ names ------------------------------------

static const struct {
  const char* text;
  token_kind kind;
} keywords[] = {{"if", T_IF},     {"then", T_THEN}, {"else", T_ELSE}, {"and", T_AND},
                {"or", T_OR},     {"not", T_NOT},   {"true", T_TRUE}, {"false", T_FALSE},
                {"time", T_TIME}, {"pi", T_PI},     {"inf", T_INF}};

static cpl_status lex_identifier(draft* d) {
  const char* s = d->text + d->now.at;
  size_t n = 0;
  for (;;) {
    while (is_letter(s[n]) || is_digit(s[n])) n++;
    if (s[n] != '.') break;
    n++;
    if (!is_letter(s[n])) {
      return cpli_draft_fail(
          d, d->now.at + n,
          "a name goes on after its point with a letter; any other name stands as a "
          "whole in single quotes");
    }
  }
  d->now.kind = T_NAME;
  d->now.len = n;
  for (size_t i = 0; i < CPLI_COUNT(keywords); i++) {
    if (keywords[i].text[0] == s[0] && strlen(keywords[i].text) == n &&
        memcmp(keywords[i].text, s, n) == 0) {
      d->now.kind = keywords[i].kind;
    }
  }
  return CPL_OK;
}

static cpl_status lex_quoted(draft* d) {
  const char* s = d->text + d->now.at;
  size_t n = 1;
  while (s[n] != '\0' && (s[n] != '\'' || s[n + 1] == '\'')) n += s[n] == '\'' ? 2 : 1;
  if (s[n] == '\0') return cpli_draft_fail(d, d->now.at, "the single quote is not closed");
  if (n == 1) return cpli_draft_fail(d, d->now.at, "there is no name between the quotes");
  d->now.kind = T_QUOTED;
  d->now.len = n + 1;
  return CPL_OK;
}

void cpli_lex_name(draft* d) {
  const char* s = d->text + d->now.at;
  size_t end = d->now.len, used = 0;
  if (d->now.kind == T_QUOTED) {
    for (size_t i = 1; i + 1 < end; i++) {
      d->name[used++] = s[i];
      if (s[i] == '\'') i++;  // the second of a pair
    }
  } else {
    memcpy(d->name, s, end);
    used = end;
  }
  d->name[used] = '\0';
}

size_t cpli_lex_bracketed(const draft* d, size_t at) {
  const char* s = d->text;
  size_t i = at;
  int open = 0;
  while (is_letter(s[i]) || is_digit(s[i]) || s[i] == '.') i++;
  if (s[i] != '(' && s[i] != '[') return at;
  for (; s[i] != '\0'; i++) {
    if (s[i] == '(' || s[i] == '[') open++;
    if ((s[i] == ')' || s[i] == ']') && --open == 0) return i + 1;
  }
  return at;
}

//------------------------------------ the rest ------------------------------------

static cpl_status lex_unknown(draft* d) {
  static const struct {
    const char *text, *hint;
  } hints[] = {{"=", "compare with =="},
               {"&", "write and"},
               {"|", "write or"},
               {"!", "write not"},
               {"%", "write mod(a, b) or rem(a, b)"},
               {"\"", "names stand in single quotes"},
               {"[", "a name with brackets stands in single quotes: 'x[1]'"},
               {":", "write if c then a else b"},
               {"?", "write if c then a else b"},
               {";", "an expression has no semicolon"}};
  const char* s = d->text + d->now.at;
  for (size_t i = 0; i < CPLI_COUNT(hints); i++) {
    if (s[0] == hints[i].text[0]) {
      return cpli_draft_fail(d, d->now.at, "unexpected %c: %s", s[0], hints[i].hint);
    }
  }
  if ((unsigned char)s[0] < 0x20 || s[0] == 0x7f) {
    return cpli_draft_fail(d, d->now.at, "unexpected character 0x%02x", (unsigned char)s[0]);
  }
  int n = 1;
  while (n < 4 && ((unsigned char)s[n] & 0xC0) == 0x80) n++;
  return cpli_draft_fail(d, d->now.at, "unexpected %.*s%s", n, s,
                         n > 1 ? ": names with such letters stand in single quotes" : "");
}

static cpl_status lex_operator(draft* d) {
  static const struct {
    const char* text;
    token_kind kind;
    expr_op op;
  } operators[] = {{"<=", T_OPERATOR, OP_LE}, {">=", T_OPERATOR, OP_GE}, {"==", T_OPERATOR, OP_EQ},
                   {"!=", T_OPERATOR, OP_NE}, {"<", T_OPERATOR, OP_LT},  {">", T_OPERATOR, OP_GT},
                   {"+", T_OPERATOR, OP_ADD}, {"-", T_OPERATOR, OP_SUB}, {"*", T_OPERATOR, OP_MUL},
                   {"/", T_OPERATOR, OP_DIV}, {"^", T_OPERATOR, OP_POW}, {"(", T_OPEN, OP_ADD},
                   {")", T_CLOSE, OP_ADD},    {",", T_COMMA, OP_ADD}};
  const char* s = d->text + d->now.at;
  if (s[0] == '*' && s[1] == '*') return cpli_draft_fail(d, d->now.at, "unexpected **: write ^");
  for (size_t i = 0; i < CPLI_COUNT(operators); i++) {
    const char* text = operators[i].text;
    const size_t n = text[1] == '\0' ? 1 : 2;
    if (s[0] != text[0] || (n == 2 && s[1] != text[1])) continue;
    d->now.kind = operators[i].kind;
    d->now.op = operators[i].op;
    d->now.len = n;
    return CPL_OK;
  }
  return lex_unknown(d);
}

cpl_status cpli_lex_next(draft* d) {
  size_t at = d->now.at + d->now.len;
  while (is_blank(d->text[at])) at++;
  d->now = (token){.kind = T_END, .at = at};
  char c = d->text[at];
  if (c == '\0') return CPL_OK;
  if (is_digit(c) || c == '.') return lex_number(d);
  if (is_letter(c)) return lex_identifier(d);
  if (c == '\'') return lex_quoted(d);
  return lex_operator(d);
}
