// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Statements of the body of a function.
#include "tangent/tree.h"

static statement* read_statement(source* s);

static statement* make(source* s, statement_kind kind) {
  statement* st = cpli_tan_alloc(s, 1, sizeof *st);
  if (st != NULL) *st = (statement){.kind = kind, .all = {s->at, s->at}};
  return st;
}

static expr* in_brackets(source* s) {
  cpli_tan_expect(s, '(');
  expr* e = cpli_tan_expr(s);
  cpli_tan_expect(s, ')');
  return e;
}

static statement* declaration(source* s) {
  statement* st = make(s, STATEMENT_DECLARE);
  if (st == NULL) return NULL;
  if (!cpli_tan_declare(s, &st->variables)) st->kind = STATEMENT_COPY;
  st->all.end = s->at;
  for (symbol* v = st->variables; v != NULL; v = v->next)
    v->listed = v->next != NULL || v != st->variables;
  return s->bad ? NULL : st;
}

static statement* expression(source* s) {
  statement* st = make(s, STATEMENT_EXPR);
  if (st == NULL) return NULL;
  if (!is_sign(s, ';')) st->a = cpli_tan_expr(s);
  cpli_tan_expect(s, ';');
  st->all.end = s->at;
  return s->bad ? NULL : st;
}

// Everything up to the semicolon.
static statement* copy(source* s) {
  statement* st = make(s, STATEMENT_COPY);
  if (st == NULL) return NULL;
  while (tok(s)->kind != TOKEN_END && !is_sign(s, ';')) s->at++;
  cpli_tan_expect(s, ';');
  st->all.end = s->at;
  return s->bad ? NULL : st;
}

static statement* label(source* s) {
  statement* st = make(s, STATEMENT_LABEL);
  if (st == NULL) return NULL;
  int choices = 0;
  while (tok(s)->kind != TOKEN_END && (choices > 0 || !is_sign(s, ':'))) {
    choices += is_sign(s, '?');
    choices -= is_sign(s, ':');
    s->at++;
  }
  cpli_tan_expect(s, ':');
  st->all.end = s->at;
  if (!is_sign(s, '}')) st->body = read_statement(s);
  return s->bad ? NULL : st;
}

static statement* if_else(source* s) {
  statement* st = make(s, STATEMENT_IF);
  if (st == NULL) return NULL;
  s->at++;
  st->a = in_brackets(s);
  st->body = read_statement(s);
  if (!s->bad && take_key(s, KEY_else)) st->other = read_statement(s);
  return s->bad ? NULL : st;
}

static statement* for_loop(source* s) {
  statement* st = make(s, STATEMENT_FOR);
  if (st == NULL) return NULL;
  s->at++;
  cpli_tan_open_scope(s);
  cpli_tan_expect(s, '(');
  st->first = cpli_tan_begins_type(s) ? declaration(s) : expression(s);
  if (!s->bad && !is_sign(s, ';')) st->a = cpli_tan_expr(s);
  cpli_tan_expect(s, ';');
  if (!s->bad && !is_sign(s, ')')) st->b = cpli_tan_expr(s);
  cpli_tan_expect(s, ')');
  st->body = s->bad ? NULL : read_statement(s);
  cpli_tan_close_scope(s);
  return s->bad ? NULL : st;
}

static statement* while_or_switch(source* s, statement_kind kind) {
  statement* st = make(s, kind);
  if (st == NULL) return NULL;
  s->at++;
  st->a = in_brackets(s);
  st->body = s->bad ? NULL : read_statement(s);
  return s->bad ? NULL : st;
}

static statement* do_while(source* s) {
  statement* st = make(s, STATEMENT_DO);
  if (st == NULL) return NULL;
  s->at++;
  st->body = read_statement(s);
  if (!take_key(s, KEY_while)) cpli_tan_refuse(s, s->at, "do without while");
  st->a = s->bad ? NULL : in_brackets(s);
  cpli_tan_expect(s, ';');
  return s->bad ? NULL : st;
}

static statement* return_value(source* s) {
  statement* st = make(s, STATEMENT_RETURN);
  if (st == NULL) return NULL;
  s->at++;
  if (!is_sign(s, ';')) st->a = cpli_tan_expr(s);
  cpli_tan_expect(s, ';');
  st->all.end = s->at;
  return s->bad ? NULL : st;
}

statement* cpli_tan_block(source* s) {
  statement* st = make(s, STATEMENT_BLOCK);
  if (st == NULL) return NULL;
  statement** end = &st->body;
  cpli_tan_expect(s, '{');
  cpli_tan_open_scope(s);
  while (!s->bad && !take(s, '}')) {
    *end = read_statement(s);
    if (*end != NULL) end = &(*end)->next;
  }
  cpli_tan_close_scope(s);
  st->all.end = s->at;
  return s->bad ? NULL : st;
}

static bool is_label(const source* s) {
  if (is_key(s, KEY_case) || is_key(s, KEY_default)) return true;
  return tok(s)->kind == TOKEN_NAME && tok(s)->name >= N_KEYWORDS &&
         s->tokens[s->at + 1].sign == ':';
}

static statement* by_kind(source* s) {
  if (is_sign(s, '{')) return cpli_tan_block(s);
  if (is_key(s, KEY_if)) return if_else(s);
  if (is_key(s, KEY_for)) return for_loop(s);
  if (is_key(s, KEY_while)) return while_or_switch(s, STATEMENT_WHILE);
  if (is_key(s, KEY_switch)) return while_or_switch(s, STATEMENT_SWITCH);
  if (is_key(s, KEY_do)) return do_while(s);
  if (is_key(s, KEY_return)) return return_value(s);
  if (is_key(s, KEY_break) || is_key(s, KEY_continue) || is_key(s, KEY_goto)) return copy(s);
  if (is_label(s)) return label(s);
  if (is_key(s, KEY___attribute__) && s->tokens[s->at + 1].sign == '(') {
    const uint32_t first = s->at++;
    cpli_tan_skip_group(s);
    const bool alone = is_sign(s, ';');  // [[fallthrough]]
    s->at = first;
    if (alone) return copy(s);
  }
  return cpli_tan_begins_type(s) ? declaration(s) : expression(s);
}

static statement* read_statement(source* s) {
  if (s->bad || !cpli_tan_enter(s)) return NULL;
  statement* st = by_kind(s);
  cpli_tan_leave(s);
  return s->bad ? NULL : st;
}
