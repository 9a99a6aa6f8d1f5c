// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Statements and functions of the generated text. A statement stays one statement; lists in braces,
// whose elements would be written twice, are computed before it.
#include "tangent/emit.h"

#include <stdio.h>

static void write_statement(emitter* x, const statement* st);

//------------------------------------ text ------------------------------------

static void append(tan_text* t, const char* bytes, size_t size) {
  if (t->failed) return;
  if (t->size + size + 1 > t->cap) {
    size_t cap = t->cap == 0 ? 4096 : t->cap;
    while (cap < t->size + size + 1) cap *= 2;
    char* more = cpli_realloc(t->ctx, t->text, cap, 1);
    t->failed = more == NULL;
    if (t->failed) return;
    t->text = more;
    t->cap = cap;
  }
  memcpy(t->text + t->size, bytes, size);
  t->size += size;
  t->text[t->size] = '\0';
}

static void put_va(emitter* x, const char* fmt, va_list args) {
  char* long_text = NULL;
  char short_text[256];
  va_list again;
  va_copy(again, args);
  const int n = vsnprintf(short_text, sizeof short_text, fmt, args);
  if (n >= (int)sizeof short_text) long_text = cpli_vprintf(x->s->ctx, fmt, again);
  va_end(again);
  if (n < (int)sizeof short_text) append(x->out, short_text, (size_t)n);
  else if (long_text != NULL) append(x->out, long_text, (size_t)n);
  else x->out->failed = true;
  cpli_free(x->s->ctx, long_text);
}

void cpli_tan_put(emitter* x, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  put_va(x, fmt, args);
  va_end(args);
}

void cpli_tan_put_tokens(emitter* x, range r) {
  for (uint32_t i = r.first; i < r.end; i++) {
    const tan_token* t = &x->s->tokens[i];
    append(x->out, t->text, t->size);
    append(x->out, " ", 1);
  }
}

void cpli_tan_put_renamed(emitter* x, range r, uint32_t at, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  cpli_tan_put_tokens(x, (range){r.first, at});
  put_va(x, fmt, args);
  append(x->out, " ", 1);
  cpli_tan_put_tokens(x, (range){at + 1, r.end});
  va_end(args);
}

static const char* name_of(const emitter* x, const symbol* s) {
  return s->name >= 0 ? x->s->name_text[s->name] : "";
}

static bool has_body(const emitter* x, range r) {
  for (uint32_t i = r.first; i < r.end; i++)
    if (x->s->tokens[i].sign == '{') return true;
  return false;
}

// Without static, inline and attributes.
static void put_plain_specifiers(emitter* x, range r) {
  for (uint32_t i = r.first; i < r.end; i++) {
    const int32_t name = x->s->tokens[i].name;
    if (name == KEY___attribute__ || name == KEY___attribute || name == KEY___asm__) {
      x->s->at = i + 1;
      cpli_tan_skip_group(x->s);
      i = x->s->at - 1;
      continue;
    }
    const bool storage = name >= KEY_static && name <= KEY___extension__;
    if (!storage) cpli_tan_put_tokens(x, (range){i, i + 1});
  }
}

//------------------------------------ temporaries ------------------------------------

// Computes elements of a list that have a derivative and are more than a place.
static void keep_elements(emitter* x, expr* list) {
  for (expr* e = list->list; e != NULL; e = e->next) {
    if (e->kind == EXPR_LIST) {
      keep_elements(x, e);
      continue;
    }
    if (e->type->kind != TYPE_REAL || cpli_tan_is_place(e) || !cpli_tan_is_active(x, e)) continue;
    const int32_t n = ++x->n_temporaries;
    cpli_tan_put(x, "const cpl_dual cpl_t%d = ", (int)n);
    cpli_tan_dual(x, e);
    cpli_tan_put(x, ";\n");
    e->temporary = n;
  }
}

static void put_result_type(emitter* x, const symbol* f) {
  put_plain_specifiers(x, f->specifiers);
  put_plain_specifiers(x, (range){f->declarator.first, f->at});  // pointers
}

static void keep_call(emitter* x, expr* e) {
  const symbol* f = e->symbol;
  const int32_t n = ++x->n_temporaries, outer = x->keeps;
  put_result_type(x, f);
  cpli_tan_put(x, "cpl_t%d_d;\n", (int)n);
  put_result_type(x, f);
  cpli_tan_put(x, "cpl_t%d = ", (int)n);
  x->keeps = n;
  cpli_tan_call(x, e);
  x->keeps = outer;
  cpli_tan_put(x, ";\n");
  e->temporary = n;
}

// Calls whose result is a pointer or struct with a derivative, where they are made in any case.
static void keep_calls(emitter* x, expr* e) {
  if (e == NULL || x->s->bad) return;
  const bool either =
      e->kind == EXPR_CHOICE ||
      (e->kind == EXPR_BINARY && (e->sign == SIGN2('&', '&') || e->sign == SIGN2('|', '|')));
  keep_calls(x, e->a);
  if (either || e->kind == EXPR_COMMA) return;
  keep_calls(x, e->b);
  for (expr* item = e->list; item != NULL; item = item->next) keep_calls(x, item);
  if (e->kind != EXPR_CALL || (!is_pointer(e->type) && e->type->kind != TYPE_RECORD)) return;
  const variant* w = cpli_tan_variant_of(x, e);
  if (w != NULL && w->result_active) keep_call(x, e);
}

static void forget(expr* e) {
  if (e == NULL) return;
  e->temporary = 0;
  forget(e->a);
  forget(e->b);
  forget(e->c);
  for (expr* item = e->list; item != NULL; item = item->next) forget(item);
}

static expr* list_of(expr* e) {
  if (e == NULL) return NULL;
  return e->kind == EXPR_LIST ? e : e->kind == EXPR_LITERAL ? e->a : NULL;
}

//------------------------------------ declarations ------------------------------------

static void declare_number(emitter* x, const symbol* s) {
  const int32_t n = ++x->n_temporaries;
  cpli_tan_put(x, "const cpl_dual cpl_t%d = ", (int)n);
  cpli_tan_dual(x, s->init);
  cpli_tan_put(x, ";\n");
  cpli_tan_put_tokens(x, s->specifiers);
  cpli_tan_put_tokens(x, s->declarator);
  cpli_tan_put(x, "= cpl_t%d.v, ", (int)n);
  cpli_tan_put_renamed(x, s->declarator, s->at, "cpl_d_%s", name_of(x, s));
  cpli_tan_put(x, "= cpl_t%d.d;\n", (int)n);
}

// `type a, cpl_d_a` up to what the shadow is made of.
static void begin_both(emitter* x, const symbol* s) {
  cpli_tan_put_tokens(x, s->specifiers);
  cpli_tan_put_tokens(x, s->declarator);
  if (s->init != NULL) {
    cpli_tan_put(x, "= ");
    const bool before = x->alone;
    x->alone = true;
    cpli_tan_value(x, s->init);
    x->alone = before;
  }
  cpli_tan_put(x, ", ");
  cpli_tan_put_renamed(x, s->declarator, s->at, "cpl_d_%s", name_of(x, s));
}

static void declare_record(emitter* x, const symbol* s) {
  begin_both(x, s);
  cpli_tan_put(x, "= ");
  if (cpli_tan_is_active(x, s->init)) cpli_tan_shadow(x, s->init);
  else cpli_tan_put(x, "{0}");
  cpli_tan_put(x, ";\n");
}

static void declare_pointer(emitter* x, const symbol* s) {
  begin_both(x, s);
  cpli_tan_put(x, "= ");
  const bool before = x->alone;
  x->alone = true;
  cpli_tan_shadow(x, s->init);
  x->alone = before;
  cpli_tan_put(x, ";\n");
}

static void declare_list(emitter* x, const symbol* s, expr* list) {
  if (!s->is_static) keep_elements(x, list);
  begin_both(x, s);
  cpli_tan_put(x, "= ");
  cpli_tan_shadow_list(x, list);
  cpli_tan_put(x, ";\n");
}

static void declare_active(emitter* x, const symbol* s) {
  expr* list = list_of(s->init);
  if (has_body(x, s->specifiers)) {
    cpli_tan_refuse(x->s, s->at, "a struct that is defined together with a variable");
  } else if (s->init == NULL) {
    begin_both(x, s);
    cpli_tan_put(x, ";\n");
  } else if (list != NULL) {
    declare_list(x, s, list);
  } else if (s->type->kind == TYPE_REAL) {
    declare_number(x, s);
  } else if (s->type->kind == TYPE_RECORD) {
    declare_record(x, s);
  } else if (is_pointer(s->type) && s->init->kind != EXPR_TEXT) {
    declare_pointer(x, s);
  } else {
    cpli_tan_refuse(x->s, s->at, "the declaration of %s", name_of(x, s));
  }
}

static void write_variables(emitter* x, const statement* st) {
  bool plain = true;
  for (const symbol* s = st->variables; s != NULL; s = s->next) {
    const bool active = s->type->kind != TYPE_FUNCTION && s->type->kind != TYPE_WHOLE &&
                        cpli_tan_active_local(x->v, s);
    plain = plain && !active && !cpli_tan_has_effects(x, s->init);
  }
  if (plain) {
    cpli_tan_put_tokens(x, st->all);
    cpli_tan_put(x, "\n");
    return;
  }
  for (const symbol* s = st->variables; s != NULL && !x->s->bad; s = s->next) {
    if (!s->is_static) keep_calls(x, s->init);
    if (s->type->kind != TYPE_WHOLE && cpli_tan_active_local(x->v, s)) {
      declare_active(x, s);
      forget(s->init);
      continue;
    }
    if (s->listed && has_body(x, s->specifiers))
      cpli_tan_refuse(x->s, s->at, "a struct that is defined together with variables");
    cpli_tan_put_tokens(x, s->specifiers);
    cpli_tan_put_tokens(x, s->declarator);
    if (s->init != NULL) {
      cpli_tan_put(x, "= ");
      cpli_tan_value(x, s->init);
    }
    cpli_tan_put(x, ";\n");
    forget(s->init);
  }
}

//------------------------------------ statements ------------------------------------

// A pointer or struct: its shadow goes to where the caller keeps it.
static void return_kept(emitter* x, const expr* e) {
  const bool place = cpli_tan_is_active(x, e) || is_pointer(e->type);
  cpli_tan_put(x, place ? "*cpl_result = " : "cpl_dual_clear(cpl_result, sizeof *cpl_result)");
  if (place) cpli_tan_shadow(x, e);
  cpli_tan_put(x, ";\nreturn ");
  cpli_tan_value(x, e);
  cpli_tan_put(x, ";\n");
}

static void write_return(emitter* x, expr* e) {
  const type* t = x->v->of->symbol->type->of;
  const bool active = e != NULL && x->v->result_active;
  cpli_tan_put(x, "{\n");
  keep_calls(x, e);
  expr* list = list_of(e);
  if (list != NULL && active) keep_elements(x, list);
  if (active && (t->kind == TYPE_RECORD || is_pointer(t))) {
    return_kept(x, e);
  } else {
    cpli_tan_put(x, "return ");
    if (active && t->kind == TYPE_REAL) cpli_tan_dual(x, e);
    else if (e != NULL) cpli_tan_value(x, e);
    cpli_tan_put(x, ";\n");
  }
  cpli_tan_put(x, "}\n");
  forget(e);
}

static void write_expression(emitter* x, expr* e) {
  expr* list = e->kind == EXPR_ASSIGN ? list_of(e->b) : NULL;
  cpli_tan_put(x, "{\n");
  keep_calls(x, e);
  if (list != NULL && cpli_tan_is_active(x, e->a)) keep_elements(x, list);
  cpli_tan_effect(x, e);
  cpli_tan_put(x, ";\n}\n");
  forget(e);
}

static void write_body(emitter* x, const statement* st) {
  cpli_tan_put(x, " {\n");
  write_statement(x, st);
  cpli_tan_put(x, "}\n");
}

static void write_for(emitter* x, const statement* st) {
  cpli_tan_put(x, "{\n");
  write_statement(x, st->first);
  cpli_tan_put(x, "for (;");
  if (st->a != NULL) cpli_tan_value(x, st->a);
  cpli_tan_put(x, ";");
  if (st->b != NULL) cpli_tan_effect(x, st->b);
  cpli_tan_put(x, ")");
  write_body(x, st->body);
  cpli_tan_put(x, "}\n");
}

static void write_if(emitter* x, const statement* st) {
  cpli_tan_put(x, "{\n");
  keep_calls(x, st->a);
  cpli_tan_put(x, "if (");
  cpli_tan_value(x, st->a);
  cpli_tan_put(x, ")");
  forget(st->a);
  write_body(x, st->body);
  if (st->other != NULL) {
    cpli_tan_put(x, "else");
    write_body(x, st->other);
  }
  cpli_tan_put(x, "}\n");
}

static void write_one(emitter* x, const statement* st) {
  switch (st->kind) {
    case STATEMENT_EXPR:
      if (st->a != NULL) write_expression(x, st->a);
      else cpli_tan_put(x, ";\n");
      break;
    case STATEMENT_DECLARE: write_variables(x, st); break;
    case STATEMENT_COPY:
      cpli_tan_put_tokens(x, st->all);
      cpli_tan_put(x, "\n");
      break;
    case STATEMENT_IF: write_if(x, st); break;
    case STATEMENT_FOR: write_for(x, st); break;
    case STATEMENT_WHILE:
    case STATEMENT_SWITCH:
      cpli_tan_put(x, st->kind == STATEMENT_WHILE ? "while (" : "switch (");
      cpli_tan_value(x, st->a);
      cpli_tan_put(x, ")");
      write_body(x, st->body);
      break;
    case STATEMENT_DO:
      cpli_tan_put(x, "do");
      write_body(x, st->body);
      cpli_tan_put(x, "while (");
      cpli_tan_value(x, st->a);
      cpli_tan_put(x, ");\n");
      break;
    case STATEMENT_LABEL:
      cpli_tan_put_tokens(x, st->all);
      cpli_tan_put(x, ";\n");  // a declaration may follow
      write_statement(x, st->body);
      break;
    case STATEMENT_RETURN: write_return(x, st->a); break;
    case STATEMENT_BLOCK: write_body(x, st->body); break;
  }
}

static void write_statement(emitter* x, const statement* st) {
  for (; st != NULL && !x->s->bad && !x->out->failed; st = st->next) write_one(x, st);
}

//------------------------------------ functions ------------------------------------

static void write_parameter(emitter* x, const symbol* p, bool active, int i) {
  if (i > 0) cpli_tan_put(x, ", ");
  if (active && p->at == 0) {
    cpli_tan_refuse(x->s, x->v->of->symbol->at, "a parameter without a name");
  } else if (active && p->type->kind == TYPE_REAL) {
    cpli_tan_put(x, "cpl_dual cpl_p_%s", name_of(x, p));
  } else {
    cpli_tan_put_tokens(x, p->specifiers);
    cpli_tan_put_tokens(x, p->declarator);
    if (!active) return;
    cpli_tan_put(x, ", ");
    cpli_tan_put_tokens(x, p->specifiers);
    cpli_tan_put_renamed(x, p->declarator, p->at, "cpl_d_%s", name_of(x, p));
  }
}

static void write_head(emitter* x, const variant* v) {
  const symbol* f = v->of->symbol;
  const type* result = f->type->of;
  const uint32_t open = f->declarator.first;
  int i = 0;
  cpli_tan_put(x, "static ");
  if (v->result_active && result->kind == TYPE_REAL) cpli_tan_put(x, "cpl_dual ");
  else put_result_type(x, f);
  if (f->at + 1 < f->declarator.end && x->s->tokens[f->at + 1].sign != '(')
    cpli_tan_refuse(x->s, f->at, "the declaration of %s()", name_of(x, f));
  for (uint32_t k = open; k < f->at; k++)
    if (x->s->tokens[k].sign == '(')
      cpli_tan_refuse(x->s, f->at, "the declaration of %s()", name_of(x, f));
  cpli_tan_put(x, "cpl_f%d_%s(", (int)v->number, name_of(x, f));
  for (const symbol* p = v->of->parameters; p != NULL; p = p->next, i++)
    write_parameter(x, p, i < MAX_PARAMETERS && (v->given >> i & 1), i);
  if (v->result_active && (result->kind == TYPE_RECORD || is_pointer(result))) {
    cpli_tan_put(x, i > 0 ? ", " : "");
    put_result_type(x, f);
    cpli_tan_put(x, "* cpl_result");
    i++;
  }
  cpli_tan_put(x, i == 0 ? "void)" : ")");
}

// Parameters that are numbers arrive as pairs. One that gets a derivative inside has none yet.
static void open_parameters(emitter* x, const variant* v) {
  int i = 0;
  for (const symbol* p = v->of->parameters; p != NULL; p = p->next, i++) {
    const bool given = i < MAX_PARAMETERS && (v->given >> i & 1);
    const bool number = p->type->kind == TYPE_REAL;
    if (given && number) {
      cpli_tan_put_tokens(x, p->specifiers);
      cpli_tan_put_tokens(x, p->declarator);
      cpli_tan_put(x, "= cpl_p_%s.v, ", name_of(x, p));
      cpli_tan_put_renamed(x, p->declarator, p->at, "cpl_d_%s", name_of(x, p));
      cpli_tan_put(x, "= cpl_p_%s.d;\n", name_of(x, p));
      cpli_tan_put(x, "(void)%s, (void)cpl_d_%s;\n", name_of(x, p), name_of(x, p));
    } else if (!given && p->name >= 0 && p->type->kind != TYPE_WHOLE &&
               cpli_tan_active_local(v, v->of->locals[i])) {
      cpli_tan_put_tokens(x, p->specifiers);
      cpli_tan_put_renamed(x, p->declarator, p->at, "cpl_d_%s", name_of(x, p));
      if (!number)
        cpli_tan_refuse(x->s, p->at, "the parameter %s, which is written,", name_of(x, p));
      cpli_tan_put(x, "= 0;\n");
    }
  }
}

void cpli_tan_demand(emitter* x, variant* w) {
  if (w->written) return;
  w->written = true;
  w->waiting = x->waiting;
  x->waiting = w;
}

// Compilers take a time that grows with the square of the length of such a function: 4 s for this.
enum { MAX_TEXT = 256 << 10 };

static void write_variant(emitter* x, variant* v) {
  const size_t before = x->bodies.size;
  x->v = v;
  x->out = &x->heads;
  write_head(x, v);
  cpli_tan_put(x, ";\n");
  x->out = &x->bodies;
  write_head(x, v);
  cpli_tan_put(x, " {\n");
  open_parameters(x, v);
  write_statement(x, v->of->body->body);
  cpli_tan_put(x, "}\n");
  if (x->bodies.size - before > MAX_TEXT)
    cpli_tan_refuse(x->s, v->of->symbol->at, "%s(), which is too long,", name_of(x, v->of->symbol));
}

void cpli_tan_write_demanded(emitter* x) {
  while (x->waiting != NULL && !x->s->bad) {
    variant* v = x->waiting;
    x->waiting = v->waiting;
    write_variant(x, v);
  }
}
