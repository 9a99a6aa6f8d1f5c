// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Declarations: types, variables and functions with their names in scopes. Sizes of arrays, values
// of enumerations and attributes are skipped, since no derivative depends on them.
#include "tangent/tree.h"

// The name behind struct, union or enum.
typedef struct tag {
  int32_t name;
  record* record;
  struct tag *outer, *opened;
  int depth;
} tag;

// What is before the declarators.
typedef struct specifiers {
  type* type;
  bool is_type, is_static;
  range all;
} specifiers;

//------------------------------------ scopes ------------------------------------

symbol* cpli_tan_find(const source* s, int32_t name) { return name >= 0 ? s->top[name] : NULL; }

void cpli_tan_open_scope(source* s) { s->depth++; }

void cpli_tan_close_scope(source* s) {
  for (; s->last != NULL && s->last->depth == s->depth; s->last = s->last->opened) {
    if (s->last->name >= 0) s->top[s->last->name] = s->last->outer;
  }
  s->depth--;
}

static symbol* declare(source* s, symbol_kind kind, int32_t name, type* t) {
  symbol* v = cpli_tan_alloc(s, 1, sizeof *v);
  if (v == NULL) return NULL;
  *v = (symbol){.kind = kind, .name = name, .type = t, .depth = s->depth, .global = s->in == NULL};
  if (name < 0) return v;
  v->outer = s->top[name];
  v->opened = s->last;
  s->last = s->top[name] = v;
  return v;
}

static bool add_local(source* s, symbol* v) {
  function* f = s->in;
  v->number = f->n_locals;
  if ((size_t)f->n_locals >= s->cap_locals) {  // the array of the last function that was read
    const size_t cap = s->cap_locals == 0 ? 16 : 2 * s->cap_locals;
    symbol** more = cpli_tan_alloc(s, cap, sizeof *more);
    if (more == NULL) return false;
    if (f->n_locals > 0) memcpy(more, f->locals, (size_t)f->n_locals * sizeof *more);
    f->locals = more;
    s->cap_locals = cap;
  }
  f->locals[f->n_locals++] = v;
  return true;
}

//------------------------------------ types ------------------------------------

type* cpli_tan_make_type(source* s, type_kind kind, type* of) {
  type* t = cpli_tan_alloc(s, 1, sizeof *t);
  if (t != NULL) *t = (type){.kind = kind, .of = of};
  return t;
}

const field* cpli_tan_field(const record* r, int32_t name) {
  for (const field* f = r->fields; f != NULL; f = f->next) {
    if (f->name == name) return f;
    const bool unnamed = f->name < 0 && f->type->kind == TYPE_RECORD;
    const field* inner = unnamed ? cpli_tan_field(f->type->record, name) : NULL;
    if (inner != NULL) return inner;
  }
  return NULL;
}

static void skip_attributes(source* s) {
  while (is_key(s, KEY___attribute__) || is_key(s, KEY___attribute) || is_key(s, KEY___asm__) ||
         is_key(s, KEY_asm) || is_key(s, KEY___asm) || is_key(s, KEY___extension__)) {
    if (take_key(s, KEY___extension__)) continue;
    s->at++;
    cpli_tan_skip_group(s);
  }
}

// To the end of an item: a comma, a semicolon, or a bracket that closes.
static void skip_item(source* s) {
  while (tok(s)->kind != TOKEN_END) {
    const uint32_t sign = tok(s)->sign;
    if (sign == ',' || sign == ';' || sign == '}' || sign == ')' || sign == ']') return;
    if (sign == '(' || sign == '[' || sign == '{') cpli_tan_skip_group(s);
    else s->at++;
  }
}

static bool is_qualifier(const source* s) {
  return is_key(s, KEY_const) || is_key(s, KEY___const) || is_key(s, KEY_volatile) ||
         is_key(s, KEY___volatile__) || is_key(s, KEY_restrict) || is_key(s, KEY___restrict) ||
         is_key(s, KEY___restrict__) || is_key(s, KEY__Atomic);
}

static type* declarator(source* s, type* base, symbol* out);
static bool read_specifiers(source* s, specifiers* out);

static void note_field(record* r, const type* t) {
  while (t->kind == TYPE_ARRAY) t = t->of;
  const bool inner = t->kind == TYPE_RECORD;
  r->pointers = r->pointers || t->kind == TYPE_POINTER || (inner && t->record->pointers);
  r->reals =
      r->reals || t->kind == TYPE_REAL || t->kind == TYPE_POINTER || (inner && t->record->reals);
  r->others = r->others || (inner ? t->record->others : t->kind != TYPE_REAL);
}

static field** add_field(source* s, record* r, field** end, int32_t name, type* t) {
  field* f = cpli_tan_alloc(s, 1, sizeof *f);
  if (f == NULL || t == NULL) return end;
  *f = (field){.name = name, .type = t};
  note_field(r, t);
  r->mixed = r->mixed || (name < 0 && t->kind == TYPE_RECORD && t->record->mixed);
  *end = f;
  return &f->next;
}

static void read_fields(source* s, record* r) {
  field** end = &r->fields;
  while (!s->bad && !take(s, '}')) {
    specifiers of;
    if (tok(s)->kind == TOKEN_END) {
      cpli_tan_refuse(s, s->at, "a struct without an end");
      return;
    }
    if (take_key(s, KEY__Static_assert)) {
      cpli_tan_skip_group(s);
      take(s, ';');
      continue;
    }
    if (take(s, ';')) continue;
    if (!read_specifiers(s, &of)) return;
    if (take(s, ';')) {
      end = add_field(s, r, end, -1, of.type);
      continue;
    }
    do {
      symbol v = {.name = -1};
      type* t = is_sign(s, ':') ? of.type : declarator(s, of.type, &v);
      if (take(s, ':')) skip_item(s);
      skip_attributes(s);
      end = add_field(s, r, end, v.name, t);
    } while (take(s, ','));
    cpli_tan_expect(s, ';');
  }
  r->known = true;
}

static record* record_of_tag(source* s, int32_t name, bool here) {
  tag* known = name >= 0 ? s->tags[name] : NULL;
  if (known != NULL && known->depth > s->depth) known = NULL;  // of a scope that was closed
  if (known != NULL && (!here || (known->depth == s->depth && !known->record->known)))
    return known->record;
  tag* t = cpli_tan_alloc(s, 1, sizeof *t);
  record* r = cpli_tan_alloc(s, 1, sizeof *r);
  if (t == NULL || r == NULL) return NULL;
  *t = (tag){.name = name, .record = r, .outer = known, .depth = s->depth};
  if (name >= 0) s->tags[name] = t;
  r->values = name >= 0 && strcmp(s->name_text[name], "cpl_values") == 0;
  return r;
}

static type* read_record(source* s, bool is_union) {
  int32_t name = -1;
  skip_attributes(s);
  if (tok(s)->kind == TOKEN_NAME) name = tok(s)->name, s->at++;
  skip_attributes(s);
  const bool here = is_sign(s, '{');
  type* t = cpli_tan_make_type(s, TYPE_RECORD, NULL);
  if (t == NULL) return NULL;
  t->record = record_of_tag(s, name, here);
  if (t->record != NULL && take(s, '{') && cpli_tan_enter(s)) {
    read_fields(s, t->record);
    t->record->mixed |= is_union && t->record->reals && t->record->others;
    cpli_tan_leave(s);
  }
  return s->bad ? NULL : t;
}

static type* read_enum(source* s) {
  skip_attributes(s);
  if (tok(s)->kind == TOKEN_NAME) s->at++;
  skip_attributes(s);
  type* whole = cpli_tan_make_type(s, TYPE_WHOLE, NULL);
  if (!take(s, '{')) return whole;
  while (!s->bad && !take(s, '}')) {
    if (tok(s)->kind != TOKEN_NAME)
      return cpli_tan_refuse(s, s->at, "%s in an enum", cpli_tan_text(s, s->at));
    declare(s, SYMBOL_CONSTANT, tok(s)->name, whole);
    s->at++;
    skip_attributes(s);
    if (take(s, '=')) skip_item(s);
    take(s, ',');
  }
  return whole;
}

//------------------------------------ specifiers ------------------------------------

static bool is_storage(const source* s) {
  return is_key(s, KEY_static) || is_key(s, KEY_extern) || is_key(s, KEY_inline) ||
         is_key(s, KEY___inline) || is_key(s, KEY___inline__) || is_key(s, KEY_register) ||
         is_key(s, KEY_auto) || is_key(s, KEY_typedef) || is_key(s, KEY__Noreturn) ||
         is_key(s, KEY__Thread_local) || is_key(s, KEY___thread);
}

bool cpli_tan_begins_type(const source* s) {
  const int32_t name = tok(s)->name;
  if (name < 0) return false;
  if (name < KEY_if) return name != KEY___asm__ && name != KEY_asm && name != KEY___asm;
  const symbol* v = name >= N_KEYWORDS ? cpli_tan_find(s, name) : NULL;
  return v != NULL && v->kind == SYMBOL_TYPE;
}

// One word of the name of a type. `words` gets double, float or anything else.
static bool read_word(source* s, specifiers* out, type_kind* kind, bool* is_long) {
  const int32_t name = tok(s)->name;
  const bool is_union = is_key(s, KEY_union);
  if (take_key(s, KEY_struct) || take_key(s, KEY_union)) {
    out->type = read_record(s, is_union);
    return out->type != NULL;
  }
  if (take_key(s, KEY_enum)) {
    out->type = read_enum(s);
    return out->type != NULL;
  }
  if (name < 0 || name > KEY___builtin_va_list) return false;
  if (name == KEY_void) *kind = TYPE_VOID;
  else if (name == KEY_double) *kind = TYPE_REAL;
  else if (name == KEY_float) *kind = TYPE_FLOAT;
  else if (name == KEY__Complex || (name >= KEY__Float128 && name <= KEY___builtin_va_list))
    *kind = TYPE_OTHER;
  else if (*kind == TYPE_FUNCTION) *kind = TYPE_WHOLE;  // int, unsigned, ...
  if (name == KEY_long) *is_long = true;
  s->at++;
  return true;
}

static bool take_specifier(source* s, specifiers* out, bool* constant) {
  if (is_storage(s)) {
    out->is_type = out->is_type || is_key(s, KEY_typedef);
    out->is_static = out->is_static || is_key(s, KEY_static) || is_key(s, KEY_extern) ||
                     is_key(s, KEY__Thread_local) || is_key(s, KEY___thread);
    s->at++;
  } else if (is_qualifier(s)) {
    *constant = *constant || is_key(s, KEY_const) || is_key(s, KEY___const);
    s->at++;
  } else if (is_key(s, KEY__Alignas)) {
    s->at++;
    cpli_tan_skip_group(s);
  } else {
    const uint32_t before = s->at;
    skip_attributes(s);
    return s->at != before;
  }
  return true;
}

static bool read_specifiers(source* s, specifiers* out) {
  type_kind kind = TYPE_FUNCTION;  // none yet
  bool constant = false, is_long = false;
  *out = (specifiers){.all = {.first = s->at}};
  while (!s->bad) {
    if (take_specifier(s, out, &constant)) continue;
    if (is_key(s, KEY_typeof) || is_key(s, KEY___typeof__) || is_key(s, KEY___typeof))
      return cpli_tan_refuse(s, s->at, "typeof") != NULL;
    const symbol* v = cpli_tan_find(s, tok(s)->name);
    const bool named = v != NULL && v->kind == SYMBOL_TYPE && kind == TYPE_FUNCTION;
    if (out->type == NULL && named) {
      out->type = v->type;
      s->at++;
    } else if (out->type != NULL || !read_word(s, out, &kind, &is_long)) {
      break;
    }
  }
  out->all.end = s->at;
  if (s->bad) return false;
  if (out->type == NULL && kind == TYPE_FUNCTION)
    return cpli_tan_refuse(s, s->at, "%s instead of a type", cpli_tan_text(s, s->at)) != NULL;
  if (kind == TYPE_REAL && is_long) kind = TYPE_OTHER;
  if (out->type == NULL) out->type = cpli_tan_make_type(s, kind, NULL);
  if (constant && out->type != NULL && !out->type->constant) {
    type* t = cpli_tan_make_type(s, TYPE_VOID, NULL);
    if (t == NULL) return false;
    *t = *out->type;
    t->constant = true;
    out->type = t;
  }
  return out->type != NULL;
}

//------------------------------------ declarators ------------------------------------

// Parameters of a function; the cursor is behind the bracket.
static type* read_parameters(source* s, type* result) {
  type* t = cpli_tan_make_type(s, TYPE_FUNCTION, result);
  if (t == NULL) return NULL;
  symbol** end = &t->parameters;
  if (is_key(s, KEY_void) && s->tokens[s->at + 1].sign == ')') s->at++;
  while (!s->bad && !take(s, ')')) {
    specifiers of;
    if (take(s, SIGN3('.', '.', '.'))) {
      t->variadic = true;
      continue;
    }
    symbol* v = cpli_tan_alloc(s, 1, sizeof *v);
    if (v == NULL || !read_specifiers(s, &of)) return NULL;
    *v = (symbol){.kind = SYMBOL_VARIABLE, .name = -1, .specifiers = of.all};
    v->declarator.first = s->at;
    v->type = declarator(s, of.type, v);
    v->declarator.end = s->at;
    skip_attributes(s);
    if (v->type == NULL) return NULL;
    if (v->type->kind == TYPE_ARRAY) v->type = cpli_tan_make_type(s, TYPE_POINTER, v->type->of);
    else if (v->type->kind == TYPE_FUNCTION) v->type = cpli_tan_make_type(s, TYPE_POINTER, v->type);
    *end = v;
    end = &v->next;
    if (!take(s, ',') && !is_sign(s, ')')) cpli_tan_expect(s, ')');
  }
  return s->bad ? NULL : t;
}

static type* suffixes(source* s, type* base) {
  if (base == NULL || !cpli_tan_enter(s)) return NULL;
  type* t = base;
  if (is_sign(s, '[')) {
    cpli_tan_skip_group(s);
    t = suffixes(s, base);
    t = t != NULL ? cpli_tan_make_type(s, TYPE_ARRAY, t) : NULL;
  } else if (take(s, '(')) {
    t = read_parameters(s, base);
  }
  cpli_tan_leave(s);
  return t;
}

// Whether a bracket is around a declarator, and not around parameters.
static bool is_nested(source* s) {
  if (!is_sign(s, '(')) return false;
  s->at++;
  skip_attributes(s);
  const bool nested = is_sign(s, '*') || is_sign(s, '(') || is_sign(s, '[') ||
                      (tok(s)->kind == TOKEN_NAME && !cpli_tan_begins_type(s));
  return nested;
}

static type* declarator(source* s, type* base, symbol* out) {
  skip_attributes(s);
  while (base != NULL && take(s, '*')) {
    base = cpli_tan_make_type(s, TYPE_POINTER, base);
    while (is_qualifier(s)) {
      if (base != NULL && is_key(s, KEY_const)) base->constant = true;
      s->at++;
    }
    skip_attributes(s);
  }
  const uint32_t open = s->at;
  if (is_nested(s)) {
    const uint32_t inside = s->at;
    s->at = open;
    cpli_tan_skip_group(s);
    base = suffixes(s, base);
    const uint32_t end = s->at;
    if (base == NULL || !cpli_tan_enter(s)) return NULL;
    s->at = inside;
    type* t = declarator(s, base, out);
    cpli_tan_leave(s);
    if (!s->bad) s->at = end;
    return t;
  }
  s->at = open;
  if (tok(s)->kind == TOKEN_NAME && tok(s)->name >= N_KEYWORDS) {
    out->name = tok(s)->name;
    out->at = s->at++;
  }
  return suffixes(s, base);
}

type* cpli_tan_type_name(source* s) {
  specifiers of;
  symbol unnamed = {.name = -1};
  return read_specifiers(s, &of) ? declarator(s, of.type, &unnamed) : NULL;
}

//------------------------------------ declarations ------------------------------------

static void define_function(source* s, symbol* v) {
  function* f = cpli_tan_alloc(s, 1, sizeof *f);
  if (f == NULL) return;
  *f = (function){.symbol = v, .parameters = v->type->parameters, .text = {.first = s->at}};
  cpli_tan_skip_group(s);
  f->text.end = s->at;
  v->body = f;
}

static void read_init(source* s, symbol* v) {
  if (s->in == NULL) {
    v->init_text.first = s->at;
    skip_item(s);
    v->init_text.end = s->at;
  } else {
    v->init = cpli_tan_initializer(s);
  }
}

static symbol* read_declared(source* s, const specifiers* of) {
  symbol head = {.name = -1};
  const uint32_t first = s->at;
  type* t = declarator(s, of->type, &head);
  const uint32_t end = s->at;
  skip_attributes(s);
  if (t == NULL) return NULL;
  if (head.name < 0) return cpli_tan_refuse(s, first, "a declaration without a name");
  const symbol* before = cpli_tan_find(s, head.name);
  symbol* v = declare(s, of->is_type ? SYMBOL_TYPE : SYMBOL_VARIABLE, head.name, t);
  if (v == NULL) return NULL;
  v->specifiers = of->all;
  v->declarator = (range){first, end};
  v->at = head.at;
  v->is_static = of->is_static;
  if (s->in == NULL && before != NULL && t->kind == TYPE_FUNCTION && before->body != NULL)
    v->body = before->body;
  if (s->in != NULL && v->kind == SYMBOL_VARIABLE && !add_local(s, v)) return NULL;
  return v;
}

bool cpli_tan_declare(source* s, symbol** variables) {
  specifiers of;
  symbol** end = variables;
  *variables = NULL;
  if (take_key(s, KEY__Static_assert)) {
    cpli_tan_skip_group(s);
    cpli_tan_expect(s, ';');
    return false;
  }
  if (!read_specifiers(s, &of) || take(s, ';')) return false;
  do {
    symbol* v = read_declared(s, &of);
    if (v == NULL) return false;
    if (s->in == NULL && v->type->kind == TYPE_FUNCTION && is_sign(s, '{')) {
      define_function(s, v);
      return false;
    }
    if (take(s, '=')) read_init(s, v);
    if (v->kind == SYMBOL_VARIABLE) {
      *end = v;
      end = &v->next;
    }
  } while (take(s, ','));
  cpli_tan_expect(s, ';');
  return *variables != NULL;
}

// Behind a declaration that was not understood.
static void skip_declaration(source* s, uint32_t first) {
  s->at = first;
  while (tok(s)->kind != TOKEN_END) {
    const bool block = is_sign(s, '{');
    if (take(s, ';')) return;
    if (is_sign(s, '(') || is_sign(s, '[') || block) cpli_tan_skip_group(s);
    else s->at++;
    if (block && !is_sign(s, ';') && !is_sign(s, ',') && !is_sign(s, '=') && !is_sign(s, '*') &&
        !is_key(s, KEY___attribute__) && (tok(s)->name < 0 || cpli_tan_begins_type(s)))
      return;
  }
}

void cpli_tan_declarations(source* s) {
  while (!s->no_memory && tok(s)->kind != TOKEN_END) {
    symbol* variables;
    const uint32_t first = s->at;
    if (take(s, ';')) continue;
    cpli_tan_declare(s, &variables);
    if (s->bad && !s->no_memory) {
      s->bad = false;
      s->nested = 0;
      skip_declaration(s, first);
    }
    if (s->at == first) s->at++;
  }
}

static void declare_parameters(source* s, function* f) {
  for (symbol* v = f->parameters; v != NULL && !s->bad; v = v->next) {
    symbol* local = declare(s, SYMBOL_VARIABLE, v->name, v->type);
    if (local == NULL) return;
    local->specifiers = v->specifiers;
    local->declarator = v->declarator;
    local->at = v->at;
    add_local(s, local);
  }
}

void cpli_tan_body(source* s, function* f) {
  if (f->parsed || s->bad) return;
  f->parsed = true;
  s->cap_locals = 0;
  s->in = f;
  s->at = f->text.first;
  cpli_tan_open_scope(s);
  declare_parameters(s, f);
  f->body = cpli_tan_block(s);
  cpli_tan_close_scope(s);
  s->in = NULL;
}
