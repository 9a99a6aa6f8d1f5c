// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Expressions with their types, by operator precedence.
#include <ctype.h>

#include "tangent/functions.h"
#include "tangent/tree.h"

static expr* unary(source* s);

static expr* make(source* s, expr_kind kind, uint32_t first) {
  expr* e = cpli_tan_alloc(s, 1, sizeof *e);
  if (e != NULL) *e = (expr){.kind = kind, .name = -1, .all = {first, s->at}};
  return e;
}

static expr* finish(source* s, expr* e, type* t) {
  if (e == NULL || t == NULL) return NULL;
  e->type = t;
  e->all.end = s->at;
  return e;
}

static type* whole(source* s) { return cpli_tan_make_type(s, TYPE_WHOLE, NULL); }

//------------------------------------ primary expressions ------------------------------------

static type_kind kind_of_number(const tan_token* t) {
  const bool hex = t->size > 1 && (t->text[1] == 'x' || t->text[1] == 'X');
  bool real = false;
  for (uint32_t i = 0; i < t->size; i++) {
    const char c = (char)tolower((unsigned char)t->text[i]);
    real = real || c == '.' || c == (hex ? 'p' : 'e');
  }
  const char last = (char)tolower((unsigned char)t->text[t->size - 1]);
  if (!real) return TYPE_WHOLE;
  return last == 'f'                                   ? TYPE_FLOAT
         : last == 'l'                                 ? TYPE_OTHER
         : isdigit((unsigned char)last) || last == '.' ? TYPE_REAL
                                                       : TYPE_OTHER;
}

static expr* text(source* s) {
  expr* e = make(s, EXPR_TEXT, s->at);
  const bool character = tok(s)->text[0] == '\'';
  while (tok(s)->kind == TOKEN_TEXT) s->at++;
  type* t = whole(s);
  if (t == NULL || character) return finish(s, e, t);
  return finish(s, e, cpli_tan_make_type(s, TYPE_POINTER, t));
}

static expr* name(source* s) {
  expr* e = make(s, EXPR_NAME, s->at);
  if (e == NULL) return NULL;
  const char* as_text = s->name_text[tok(s)->name];
  e->symbol = cpli_tan_find(s, tok(s)->name);
  e->name = tok(s)->name;
  s->at++;
  if (e->symbol != NULL && e->symbol->kind != SYMBOL_TYPE) return finish(s, e, e->symbol->type);
  if (strcmp(as_text, "__func__") == 0 || strcmp(as_text, "__FUNCTION__") == 0) {
    e->kind = EXPR_TEXT;
    type* t = whole(s);
    return t != NULL ? finish(s, e, cpli_tan_make_type(s, TYPE_POINTER, t)) : NULL;
  }
  const cpli_tan_builtin* b = cpli_tan_builtin_of(as_text);
  if (b == NULL || !is_sign(s, '('))
    return cpli_tan_refuse(s, s->at - 1, "%s is not known", as_text);
  type* result = cpli_tan_make_type(s, b->kind, NULL);
  return finish(s, e, result != NULL ? cpli_tan_make_type(s, TYPE_FUNCTION, result) : NULL);
}

static expr* list(source* s) {
  expr* e = make(s, EXPR_LIST, s->at);
  if (e == NULL || !cpli_tan_enter(s)) return NULL;
  expr** end = &e->list;
  s->at++;  // {
  while (!s->bad && !take(s, '}')) {
    range designator = {s->at, s->at};
    if (is_sign(s, '.') || is_sign(s, '[')) {
      while (tok(s)->kind != TOKEN_END && !is_sign(s, '=')) s->at++;
      cpli_tan_expect(s, '=');
      designator.end = s->at;
    }
    expr* item = cpli_tan_initializer(s);
    if (item == NULL) return NULL;
    item->designator = designator;
    *end = item;
    end = &item->next;
    if (!take(s, ',') && !is_sign(s, '}')) cpli_tan_expect(s, '}');
  }
  cpli_tan_leave(s);
  return finish(s, e, cpli_tan_make_type(s, TYPE_VOID, NULL));
}

expr* cpli_tan_initializer(source* s) { return is_sign(s, '{') ? list(s) : cpli_tan_assignment(s); }

// (type){...} or (type)e, and sizeof(type).
static expr* cast(source* s) {
  const uint32_t first = s->at++;
  expr* e = make(s, EXPR_CAST, first);
  if (e == NULL) return NULL;
  e->type_name.first = s->at;
  type* t = cpli_tan_type_name(s);
  e->type_name.end = s->at;
  cpli_tan_expect(s, ')');
  if (s->bad) return NULL;
  if (!is_sign(s, '{')) {
    e->a = unary(s);
    return e->a != NULL ? finish(s, e, t) : NULL;
  }
  e->kind = EXPR_LITERAL;
  e->a = list(s);
  return e->a != NULL ? finish(s, e, t) : NULL;
}

static bool is_cast(source* s) {
  if (!is_sign(s, '(')) return false;
  s->at++;
  const bool yes = cpli_tan_begins_type(s);
  s->at--;
  return yes;
}

static expr* primary(source* s) {
  const tan_token* t = tok(s);
  if (t->kind == TOKEN_NUMBER) {
    expr* e = make(s, EXPR_NUMBER, s->at);
    s->at++;
    return finish(s, e, cpli_tan_make_type(s, kind_of_number(t), NULL));
  }
  if (t->kind == TOKEN_TEXT) return text(s);
  if (t->kind == TOKEN_NAME && t->name >= N_KEYWORDS) return name(s);
  if (is_sign(s, '(')) {
    const uint32_t first = s->at++;
    if (is_sign(s, '{')) return cpli_tan_refuse(s, s->at, "statements in an expression");
    expr* e = cpli_tan_expr(s);
    cpli_tan_expect(s, ')');
    if (e == NULL || s->bad) return NULL;
    e->all = (range){first, s->at};
    return e;
  }
  return cpli_tan_refuse(s, s->at, "%s is not understood", cpli_tan_text(s, s->at));
}

//------------------------------------ after and before an operand ------------------------------

static expr* call(source* s, expr* f) {
  expr* e = make(s, EXPR_CALL, f->all.first);
  if (e == NULL) return NULL;
  const bool direct = f->kind == EXPR_NAME && f->type->kind == TYPE_FUNCTION;
  if (!direct) return cpli_tan_refuse(s, f->all.first, "a call through a pointer");
  expr** end = &e->list;
  e->a = f;
  e->symbol = f->symbol;
  e->name = f->name;
  while (!s->bad && !take(s, ')')) {
    expr* argument = cpli_tan_assignment(s);
    if (argument == NULL) return NULL;
    *end = argument;
    end = &argument->next;
    if (!take(s, ',') && !is_sign(s, ')')) cpli_tan_expect(s, ')');
  }
  return finish(s, e, f->type->of);
}

static expr* member(source* s, expr* a, bool arrow) {
  expr* e = make(s, EXPR_MEMBER, a->all.first);
  if (e == NULL) return NULL;
  const type* t = arrow && is_pointer(a->type) ? a->type->of : a->type;
  const field* f =
      t->kind == TYPE_RECORD && tok(s)->name >= 0 ? cpli_tan_field(t->record, tok(s)->name) : NULL;
  if (f == NULL || (arrow && !is_pointer(a->type)))
    return cpli_tan_refuse(s, s->at, "the member %s is not known", cpli_tan_text(s, s->at));
  e->a = a;
  e->arrow = arrow;
  e->name = f->name;
  s->at++;
  return finish(s, e, f->type);
}

static expr* postfix(source* s) {
  expr* e = is_cast(s) ? cast(s) : primary(s);
  while (e != NULL && !s->bad) {
    const uint32_t first = e->all.first;
    expr* outer = NULL;
    if (take(s, '[')) {
      outer = make(s, EXPR_INDEX, first);
      expr* index = cpli_tan_expr(s);
      cpli_tan_expect(s, ']');
      if (s->bad || outer == NULL) return NULL;
      const bool swapped = !is_pointer(e->type);  // 2[a]
      outer->a = swapped ? index : e;
      outer->b = swapped ? e : index;
      if (!is_pointer(outer->a->type)) return cpli_tan_refuse(s, first, "an index of no array");
      e = finish(s, outer, outer->a->type->of);
    } else if (take(s, '(')) {
      e = call(s, e);
    } else if (take(s, '.')) {
      e = member(s, e, false);
    } else if (take(s, SIGN2('-', '>'))) {
      e = member(s, e, true);
    } else if (is_sign(s, SIGN2('+', '+')) || is_sign(s, SIGN2('-', '-'))) {
      outer = make(s, EXPR_STEP, first);
      if (outer == NULL) return NULL;
      outer->a = e;
      outer->sign = tok(s)->sign;
      s->at++;
      e = finish(s, outer, e->type);
    } else {
      break;
    }
  }
  return s->bad ? NULL : e;
}

static expr* size_of(source* s) {
  expr* e = make(s, EXPR_SIZEOF, s->at);
  s->at++;
  if (is_cast(s)) cpli_tan_skip_group(s);
  else if (unary(s) == NULL) return NULL;
  return finish(s, e, whole(s));
}

static type* type_of_unary(source* s, uint32_t sign, const expr* a) {
  if (sign == '*') {
    if (!is_pointer(a->type)) return cpli_tan_refuse(s, a->all.first, "* of no pointer");
    return a->type->of;
  }
  if (sign == '&') return cpli_tan_make_type(s, TYPE_POINTER, a->type);
  if (sign == '!' || sign == '~') return whole(s);
  return a->type;
}

static expr* prefixed(source* s) {
  const uint32_t sign = tok(s)->sign;
  const bool step = sign == SIGN2('+', '+') || sign == SIGN2('-', '-');
  expr* e = make(s, step ? EXPR_STEP : EXPR_UNARY, s->at);
  s->at++;
  expr* a = unary(s);
  if (e == NULL || a == NULL) return NULL;
  e->a = a;
  e->sign = sign;
  e->prefix = true;
  return finish(s, e, step ? a->type : type_of_unary(s, sign, a));
}

static expr* unary(source* s) {
  const uint32_t sign = tok(s)->sign;
  if (!cpli_tan_enter(s)) return NULL;
  while (take_key(s, KEY___extension__)) {
  }
  expr* e = NULL;
  if (is_key(s, KEY_sizeof) || is_key(s, KEY__Alignof)) e = size_of(s);
  else if (sign == '-' || sign == '+' || sign == '!' || sign == '~' || sign == '*' || sign == '&' ||
           sign == SIGN2('+', '+') || sign == SIGN2('-', '-'))
    e = prefixed(s);
  else e = postfix(s);
  cpli_tan_leave(s);
  return e;
}

//------------------------------------ operators ------------------------------------

static int precedence(uint32_t sign) {
  switch (sign) {
    case '*':
    case '/':
    case '%': return 10;
    case '+':
    case '-': return 9;
    case SIGN2('<', '<'):
    case SIGN2('>', '>'): return 8;
    case '<':
    case '>':
    case SIGN2('<', '='):
    case SIGN2('>', '='): return 7;
    case SIGN2('=', '='):
    case SIGN2('!', '='): return 6;
    case '&': return 5;
    case '^': return 4;
    case '|': return 3;
    case SIGN2('&', '&'): return 2;
    case SIGN2('|', '|'): return 1;
    default: return 0;
  }
}

// Of two operands of + - * /, or of the two results of a choice.
static type* common(source* s, const expr* a, const expr* b) {
  type *t = a->type, *u = b->type;
  if (is_pointer(t) || is_pointer(u)) {
    type* p = is_pointer(t) && !(t->of->kind == TYPE_VOID && is_pointer(u)) ? t : u;
    return p->kind == TYPE_ARRAY ? cpli_tan_make_type(s, TYPE_POINTER, p->of) : p;
  }
  if (is_number(t) && is_number(u)) return t->kind >= u->kind ? t : u;
  return t;
}

static type* type_of_binary(source* s, uint32_t sign, const expr* a, const expr* b) {
  const int level = precedence(sign);
  if (level < 8 || level == 8) return whole(s);
  if (sign == '-' && is_pointer(a->type) && is_pointer(b->type)) return whole(s);
  return common(s, a, b);
}

static expr* binary(source* s, int least) {
  expr* e = unary(s);
  while (e != NULL && !s->bad) {
    const uint32_t sign = tok(s)->sign;
    const int level = precedence(sign);
    if (level == 0 || level < least) break;
    s->at++;
    expr* b = binary(s, level + 1);
    expr* outer = make(s, EXPR_BINARY, e->all.first);
    if (b == NULL || outer == NULL) return NULL;
    outer->a = e;
    outer->b = b;
    outer->sign = sign;
    e = finish(s, outer, type_of_binary(s, sign, e, b));
  }
  return s->bad ? NULL : e;
}

static expr* choice(source* s) {
  expr* a = binary(s, 1);
  if (a == NULL || !take(s, '?')) return a;
  if (!cpli_tan_enter(s)) return NULL;
  if (is_sign(s, ':')) return cpli_tan_refuse(s, s->at, "?: without a second operand");
  expr* b = cpli_tan_expr(s);
  cpli_tan_expect(s, ':');
  expr* c = s->bad ? NULL : choice(s);
  expr* e = make(s, EXPR_CHOICE, a->all.first);
  cpli_tan_leave(s);
  if (b == NULL || c == NULL || e == NULL) return NULL;
  e->a = a;
  e->b = b;
  e->c = c;
  return finish(s, e, common(s, b, c));
}

static bool assigns(uint32_t sign) {
  static const char operators[] = "*/%+-&^|";
  if (sign == '=' || sign == SIGN3('<', '<', '=') || sign == SIGN3('>', '>', '=')) return true;
  return sign >> 8 == '=' && (sign & 0xff) != '\0' && strchr(operators, (int)(sign & 0xff)) != NULL;
}

expr* cpli_tan_assignment(source* s) {
  if (!cpli_tan_enter(s)) return NULL;
  expr* a = choice(s);
  if (a != NULL && assigns(tok(s)->sign)) {
    expr* e = make(s, EXPR_ASSIGN, a->all.first);
    const uint32_t sign = tok(s)->sign;
    s->at++;
    expr* b = cpli_tan_assignment(s);
    if (e == NULL || b == NULL) return NULL;
    e->a = a;
    e->b = b;
    e->sign = sign;
    a = finish(s, e, a->type);
  }
  cpli_tan_leave(s);
  return s->bad ? NULL : a;
}

expr* cpli_tan_expr(source* s) {
  expr* a = cpli_tan_assignment(s);
  while (a != NULL && take(s, ',')) {
    expr* e = make(s, EXPR_COMMA, a->all.first);
    expr* b = cpli_tan_assignment(s);
    if (e == NULL || b == NULL) return NULL;
    e->a = a;
    e->b = b;
    a = finish(s, e, b->type);
  }
  return a;
}
