// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The fixed point of activity: statements are visited until no class changes.
#include "tangent/active.h"

#include "tangent/functions.h"

static void visit(analysis* a, variant* v, const expr* e);

//------------------------------------ classes ------------------------------------

static int32_t n_classes(const variant* v) { return v->of->n_locals + N_SPECIAL + MAX_GLOBALS; }
static int32_t special_class(const variant* v, special k) { return v->of->n_locals + (int32_t)k; }

static int32_t find(const variant* v, int32_t c) {
  while (v->parent[c] != c) c = v->parent[c];
  return c;
}

static bool is_active(const variant* v, int32_t c) { return c >= 0 && v->active[find(v, c)]; }
static bool is_lasting(const variant* v, int32_t c) { return c >= 0 && v->lasting[find(v, c)]; }

static void mark(variant* v, int32_t c) {
  if (c < 0 || v->active[find(v, c)]) return;
  v->active[find(v, c)] = true;
  v->changed = true;
}

static int32_t join(variant* v, int32_t c, int32_t d) {
  if (c < 0) return d;
  if (d < 0) return c;
  c = find(v, c), d = find(v, d);
  if (c == d) return c;
  v->parent[d] = c;
  v->active[c] = v->active[c] || v->active[d];
  v->lasting[c] = v->lasting[c] || v->lasting[d];
  v->changed = true;
  return c;
}

static bool is_values(const type* t) {
  while (is_pointer(t)) t = t->of;
  return t->kind == TYPE_RECORD && t->record->values;
}

static bool is_constant(const type* t) {
  while (t->kind == TYPE_ARRAY) t = t->of;
  const bool leads = t->kind == TYPE_POINTER || (t->kind == TYPE_RECORD && t->record->pointers);
  return t->constant && !leads;  // what a constant pointer leads to need not be constant
}

static int32_t class_of_global(variant* v, symbol* s) {
  if (s->type->kind == TYPE_FUNCTION) return -1;
  if (!is_constant(s->type)) return special_class(v, SPECIAL_LASTING);
  int32_t i = 0;
  while (i < v->n_globals && v->globals[i] != s) i++;
  if (i == MAX_GLOBALS) return special_class(v, SPECIAL_LASTING);  // only less precise
  if (i == v->n_globals) v->globals[v->n_globals++] = s;
  return v->of->n_locals + N_SPECIAL + i;
}

static int32_t class_of_name(variant* v, const expr* e) {
  if (e->symbol == NULL || e->symbol->kind != SYMBOL_VARIABLE) return -1;
  return e->symbol->global ? class_of_global(v, e->symbol) : e->symbol->number;
}

// A member of cpl_values.
static int32_t class_of_value(analysis* a, const variant* v, int32_t member) {
  const char* name = a->s->name_text[member];
  const bool given = strcmp(name, "x") == 0 || strcmp(name, "u") == 0 || strcmp(name, "z") == 0;
  const bool more = strcmp(name, "p") == 0 || strcmp(name, "w") == 0 || strcmp(name, "t") == 0;
  if (given || (more && v->all)) return special_class(v, SPECIAL_VALUES);
  if (more) return special_class(v, SPECIAL_IDLE);
  if (strcmp(name, "memory") == 0) return special_class(v, SPECIAL_MEMORY);
  return strcmp(name, "user") == 0 ? special_class(v, SPECIAL_LASTING) : -1;
}

function* cpli_tan_callee(const expr* call) {
  const symbol* s = call->symbol;
  return s != NULL && s->type->kind == TYPE_FUNCTION ? s->body : NULL;
}

const cpli_tan_function* cpli_tan_known(const analysis* a, const expr* call) {
  const char* name = a->s->name_text[call->name];
  const bool own = cpli_tan_callee(call) != NULL && strcmp(name, "cpl_model_error") != 0;
  return own ? NULL : cpli_tan_function_of(name);
}

static int32_t class_of_call(analysis* a, variant* v, const expr* e) {
  function* f = cpli_tan_callee(e);
  if (f == NULL || cpli_tan_known(a, e) != NULL) return -1;
  const variant* w = cpli_tan_variant(a, f, v->all, cpli_tan_given(a, v, e));
  if (w == NULL) return -1;
  int32_t c = -1, i = 0;
  for (const expr* arg = e->list; arg != NULL && i < MAX_PARAMETERS; arg = arg->next, i++) {
    if (w->result_of >> i & 1) c = join(v, c, cpli_tan_class(a, v, arg));
  }
  for (int k = 0; k < N_SPECIAL; k++)
    if (w->result_in[k]) c = join(v, c, special_class(v, (special)k));
  return c;
}

static int32_t class_of_list(analysis* a, variant* v, const expr* list) {
  int32_t c = -1;
  for (const expr* e = list->list; e != NULL; e = e->next) {
    const bool holds = is_pointer(e->type) || e->type->kind == TYPE_RECORD;
    if (e->kind == EXPR_LIST) c = join(v, c, class_of_list(a, v, e));
    else if (holds) c = join(v, c, cpli_tan_class(a, v, e));
  }
  return c;
}

int32_t cpli_tan_class(analysis* a, variant* v, const expr* e) {
  switch (e->kind) {
    case EXPR_NAME: return class_of_name(v, e);
    case EXPR_MEMBER:
      if (is_values(e->a->type)) return class_of_value(a, v, e->name);
      return cpli_tan_class(a, v, e->a);
    case EXPR_INDEX:
    case EXPR_STEP:
    case EXPR_CAST: return cpli_tan_class(a, v, e->a);
    case EXPR_UNARY: return e->sign == '*' || e->sign == '&' ? cpli_tan_class(a, v, e->a) : -1;
    case EXPR_BINARY: {
      const int32_t left = is_pointer(e->a->type) ? cpli_tan_class(a, v, e->a) : -1;
      return join(v, left, is_pointer(e->b->type) ? cpli_tan_class(a, v, e->b) : -1);
    }
    case EXPR_CHOICE: return join(v, cpli_tan_class(a, v, e->b), cpli_tan_class(a, v, e->c));
    case EXPR_ASSIGN: return cpli_tan_class(a, v, e->a);
    case EXPR_COMMA: return cpli_tan_class(a, v, e->b);
    case EXPR_CALL: return class_of_call(a, v, e);
    case EXPR_LITERAL: return class_of_list(a, v, e->a);
    default: return -1;
  }
}

//------------------------------------ expressions ------------------------------------

bool cpli_tan_active_local(const variant* v, const symbol* s) { return is_active(v, s->number); }

static bool call_is_active(analysis* a, const variant* v, const expr* e) {
  const cpli_tan_function* known = cpli_tan_known(a, e);
  function* f = cpli_tan_callee(e);
  if (known != NULL && known->effect != CPLI_TAN_SMOOTH) return false;
  if (known == NULL && f != NULL) {
    const variant* w = cpli_tan_variant(a, f, v->all, cpli_tan_given(a, v, e));
    return w != NULL && w->result_active;
  }
  for (const expr* arg = e->list; arg != NULL; arg = arg->next) {
    if (cpli_tan_active(a, v, arg)) return true;
  }
  return false;
}

static bool list_is_active(analysis* a, const variant* v, const expr* list) {
  for (const expr* e = list->list; e != NULL; e = e->next) {
    if (e->kind == EXPR_LIST ? list_is_active(a, v, e) : cpli_tan_active(a, v, e)) return true;
  }
  return false;
}

static bool member_is_active(analysis* a, const variant* v, const expr* e) {
  if (is_values(e->a->type)) return is_active(v, class_of_value(a, v, e->name));
  return cpli_tan_active(a, v, e->a);
}

bool cpli_tan_active(analysis* a, const variant* v, const expr* e) {
  enum { MAX_WORK = 100000000 };
  if (e->type->kind == TYPE_WHOLE) return false;
  if (++a->work > MAX_WORK)
    return cpli_tan_refuse(a->s, e->all.first, "calls inside each other") != NULL;
  switch (e->kind) {
    // a class is only looked up here: `v` changes in the pass that visits all expressions
    case EXPR_NAME: return is_active(v, class_of_name((variant*)(uintptr_t)v, e));
    case EXPR_MEMBER: return member_is_active(a, v, e);
    case EXPR_INDEX:
    case EXPR_STEP:
    case EXPR_CAST: return cpli_tan_active(a, v, e->a);
    case EXPR_UNARY: return e->sign != '!' && e->sign != '~' && cpli_tan_active(a, v, e->a);
    case EXPR_BINARY: return cpli_tan_active(a, v, e->a) || cpli_tan_active(a, v, e->b);
    case EXPR_CHOICE: return cpli_tan_active(a, v, e->b) || cpli_tan_active(a, v, e->c);
    case EXPR_ASSIGN: return cpli_tan_active(a, v, e->a);
    case EXPR_COMMA: return cpli_tan_active(a, v, e->b);
    case EXPR_CALL: return call_is_active(a, v, e);
    case EXPR_LITERAL: return list_is_active(a, v, e->a);
    default: return false;
  }
}

// An address of a number, and a whole number of a class with derivatives, are no exceptions: the
// type of the parameter decides.
uint64_t cpli_tan_given(analysis* a, const variant* v, const expr* call) {
  const function* f = cpli_tan_callee(call);
  uint64_t given = 0;
  int i = 0;
  const symbol* p = f->parameters;
  for (const expr* e = call->list; e != NULL && p != NULL; e = e->next, p = p->next, i++) {
    if (i >= MAX_PARAMETERS) break;
    const bool can = p->type->kind == TYPE_REAL || is_pointer(p->type) ||
                     p->type->kind == TYPE_RECORD || p->type->kind == TYPE_FLOAT ||
                     p->type->kind == TYPE_OTHER;
    bool active = can && cpli_tan_active(a, v, e);
    if (can && is_pointer(p->type) && !active) {
      const int32_t c = cpli_tan_class(a, (variant*)(uintptr_t)v, e);
      active = is_active(v, c);
    }
    if (active) given |= (uint64_t)1 << i;
  }
  return given;
}

//------------------------------------ other types ------------------------------------

typedef enum contents { CONTENTS_UNKNOWN, CONTENTS_REALS, CONTENTS_OTHERS } contents;

// What is at the end of a pointer.
static contents contents_of(const type* t) {
  while (is_pointer(t)) t = t->of;
  if (t->kind == TYPE_RECORD && !t->record->known) return CONTENTS_UNKNOWN;
  if (t->kind == TYPE_VOID || t->kind == TYPE_FUNCTION) return CONTENTS_UNKNOWN;
  const bool reals = t->kind == TYPE_REAL || (t->kind == TYPE_RECORD && t->record->reals);
  return reals ? CONTENTS_REALS : CONTENTS_OTHERS;
}

// The bytes of a number with a derivative must not be used as anything else: the derivative would
// not follow them.
static void check_pointer(analysis* a, variant* v, const type* to, const expr* from) {
  if (!is_pointer(from->type) || from->kind == EXPR_TEXT) return;
  const contents before = contents_of(from->type), after = contents_of(to);
  const bool same = before == after || (before != CONTENTS_OTHERS && after != CONTENTS_OTHERS);
  if (!same && is_active(v, cpli_tan_class(a, v, from)))
    cpli_tan_refuse(a->s, from->all.first, "a pointer to numbers and to another type");
}

static void check_cast(analysis* a, variant* v, const expr* e) {
  if (!is_pointer(e->type)) return;
  if (e->a->type->kind == TYPE_WHOLE && e->a->kind != EXPR_NUMBER)
    cpli_tan_refuse(a->s, e->all.first, "a pointer made of a number");
  check_pointer(a, v, e->type, e->a);
}

static void check_union(analysis* a, variant* v, const expr* e) {
  const type* t = e->type;
  const type* of = e->arrow ? e->a->type->of : e->a->type;
  while (t->kind == TYPE_ARRAY) t = t->of;
  const bool reals = t->kind == TYPE_REAL || (t->kind == TYPE_RECORD && !t->record->others);
  if (of->record->mixed && !reals && is_active(v, cpli_tan_class(a, v, e)))
    cpli_tan_refuse(a->s, e->all.first, "a union of numbers and another type");
}

//------------------------------------ effects ------------------------------------

static bool is_memory(const variant* v, int32_t c) {
  return c >= 0 && find(v, c) == find(v, special_class(v, SPECIAL_MEMORY));
}

// What a class of pointers leads to is written.
static void note_store(analysis* a, variant* v, int32_t c, const expr* where) {
  if (c < 0) return;
  if (is_lasting(v, c))
    cpli_tan_refuse(a->s, where->all.first, "a value that outlives the call is written");
  if (is_memory(v, c)) v->stores_memory = true;
  int i = 0;
  for (const symbol* p = v->of->parameters; p != NULL && i < MAX_PARAMETERS; p = p->next, i++) {
    if (find(v, v->of->locals[i]->number) == find(v, c)) v->stores |= (uint64_t)1 << i;
  }
}

// A variable or memory is written.
static void check_store(analysis* a, variant* v, const expr* to) {
  const expr* e = to;
  bool through = false, values = false;  // through a pointer, into cpl_values
  while (e->kind == EXPR_INDEX || e->kind == EXPR_MEMBER ||
         (e->kind == EXPR_UNARY && e->sign == '*')) {
    const bool here = e->kind == EXPR_UNARY || (e->kind == EXPR_MEMBER && e->arrow) ||
                      (e->kind == EXPR_INDEX && e->a->type->kind != TYPE_ARRAY);
    values = values || (here && is_values(e->a->type));
    through = through || here;
    e = e->a;
  }
  if (values) cpli_tan_refuse(a->s, to->all.first, "a member of cpl_values is written");
  const bool global = e->kind == EXPR_NAME && e->symbol != NULL &&
                      (e->symbol->global || (!through && e->symbol->is_static));
  if (global)
    cpli_tan_refuse(a->s, to->all.first, "%s outlives the call and is written",
                    a->s->name_text[e->symbol->name]);
  if (through) note_store(a, v, cpli_tan_class(a, v, to), to);
}

static void check_kind(analysis* a, const variant* v, const type* to, const expr* e) {
  if ((to->kind == TYPE_FLOAT || to->kind == TYPE_OTHER) && cpli_tan_active(a, v, e))
    cpli_tan_refuse(a->s, e->all.first, "a number that is no double");
}

static void receive(analysis* a, variant* v, int32_t to, const type* t, const expr* from) {
  if (from->kind == EXPR_LIST) {
    for (const expr* e = from->list; e != NULL; e = e->next)
      receive(a, v, to, e->kind == EXPR_LIST ? t : e->type, e);
    return;
  }
  check_kind(a, v, t, from);
  if (is_pointer(t) || is_pointer(from->type)) {
    check_pointer(a, v, t, from);
    if (from->kind != EXPR_TEXT) join(v, to, cpli_tan_class(a, v, from));
  } else if (t->kind == TYPE_REAL) {
    if (cpli_tan_active(a, v, from)) mark(v, to);
  } else if (t->kind == TYPE_RECORD) {
    if (t->record->pointers) join(v, to, cpli_tan_class(a, v, from));
    if (t->record->reals && cpli_tan_active(a, v, from)) mark(v, to);
  }
}

// A pointer that is put anywhere but into a variable of its own may be found through another
// argument.
static void note_entangled(variant* v, const expr* to) {
  const bool holds =
      is_pointer(to->type) || (to->type->kind == TYPE_RECORD && to->type->record->pointers);
  const bool own = to->kind == EXPR_NAME || (to->kind == EXPR_MEMBER && !to->arrow);
  if (holds && !own && !v->entangles) v->entangles = v->changed = true;
}

static void visit_assignment(analysis* a, variant* v, const expr* e) {
  visit(a, v, e->a);
  visit(a, v, e->b);
  check_store(a, v, e->a);
  if (e->sign == '=' || e->a->type->kind == TYPE_REAL) {
    receive(a, v, cpli_tan_class(a, v, e->a), e->a->type, e->b);
    note_entangled(v, e->a);
  }
  check_kind(a, v, e->a->type, e->b);
}

// Of a function that is defined in the text.
static void visit_defined(analysis* a, variant* v, const expr* e, function* f) {
  const uint64_t given = cpli_tan_given(a, v, e);
  const variant* w = cpli_tan_variant(a, f, v->all, given);
  if (w == NULL) return;
  const symbol* p = f->parameters;
  int i = 0;
  int32_t together = -1;
  for (const expr* arg = e->list; arg != NULL; arg = arg->next, i++) {
    const int32_t c = p != NULL && is_pointer(p->type) ? cpli_tan_class(a, v, arg) : -1;
    if (p == NULL || i >= MAX_PARAMETERS) {
      cpli_tan_refuse(a->s, e->all.first, "the arguments of %s()", a->s->name_text[e->name]);
      return;
    }
    check_kind(a, v, p->type, arg);
    if (w->writes >> i & 1) mark(v, c);
    if (is_pointer(p->type)) check_pointer(a, v, p->type, arg);
    if (w->stores >> i & 1) note_store(a, v, c, arg);
    if (w->entangles && c >= 0) together = join(v, together, c);
    p = p->next;
  }
  if (w->entangles && !v->entangles) v->entangles = v->changed = true;
  v->stores_memory = v->stores_memory || w->stores_memory;
  v->reads_memory = v->reads_memory || w->reads_memory;
  v->loads_pointer = v->loads_pointer || w->loads_pointer;
  if (w->memory_active) mark(v, special_class(v, SPECIAL_MEMORY));
}

static void visit_unknown(analysis* a, const variant* v, const expr* e) {
  const char* name = a->s->name_text[e->name];
  bool any_active = false, any_pointer = is_pointer(e->type);
  for (const expr* arg = e->list; arg != NULL; arg = arg->next) {
    any_active = any_active || cpli_tan_active(a, v, arg);
    any_pointer = any_pointer || (is_pointer(arg->type) && arg->kind != EXPR_TEXT);
  }
  const bool flat = e->type->kind == TYPE_WHOLE;
  if (any_pointer || (any_active && !flat) || e->type->kind == TYPE_VOID ||
      e->type->kind == TYPE_RECORD)
    cpli_tan_refuse(a->s, e->all.first, "call of %s(), which is not known,", name);
}

// Pointers may be copied along with numbers.
static bool holds_pointers(const type* t) {
  while (t->kind == TYPE_ARRAY) t = t->of;
  return t->kind == TYPE_VOID || t->kind == TYPE_POINTER ||
         (t->kind == TYPE_RECORD && t->record->pointers);
}

static void copy_memory(analysis* a, variant* v, int32_t to, const expr* e) {
  const expr *target = e->list, *origin = e->list->next;
  const int32_t from = cpli_tan_class(a, v, origin);
  if (!is_pointer(target->type) || !is_pointer(origin->type)) return;
  if (holds_pointers(target->type->of) || holds_pointers(origin->type->of)) join(v, to, from);
  if (is_active(v, to)) mark(v, from);
  if (is_active(v, from)) mark(v, to);
  for (const expr* arg = target; arg != origin->next; arg = arg->next)
    check_pointer(a, v, &(type){.kind = TYPE_VOID}, arg);
}

static void visit_call(analysis* a, variant* v, const expr* e) {
  const cpli_tan_function* known = cpli_tan_known(a, e);
  int n = 0;
  for (const expr* arg = e->list; arg != NULL; arg = arg->next, n++) visit(a, v, arg);
  if (a->s->bad) return;
  if (known == NULL) {
    function* f = cpli_tan_callee(e);
    if (f != NULL) visit_defined(a, v, e, f);
    else visit_unknown(a, v, e);
    return;
  }
  const bool memory = known->effect == CPLI_TAN_COPY || known->effect == CPLI_TAN_FILL;
  if (known->effect != CPLI_TAN_HARMLESS && n != known->arguments) {
    cpli_tan_refuse(a->s, e->all.first, "the arguments of %s()", known->name);
    return;
  }
  for (const expr* arg = e->list; !memory && arg != NULL; arg = arg->next) {
    const bool other = arg->type->kind == TYPE_FLOAT || arg->type->kind == TYPE_OTHER;
    if (other && known->effect == CPLI_TAN_SMOOTH) check_kind(a, v, arg->type, arg);
  }
  if (!memory) return;
  const int32_t to = cpli_tan_class(a, v, e->list);
  note_store(a, v, to, e);
  if (known->effect == CPLI_TAN_COPY) copy_memory(a, v, to, e);
}

static void visit_place(analysis* a, variant* v, const expr* e) {
  const bool value = e->kind == EXPR_MEMBER && is_values(e->a->type);
  const bool place =
      e->kind == EXPR_MEMBER || e->kind == EXPR_INDEX || (e->kind == EXPR_UNARY && e->sign == '*');
  if (!place || !is_memory(v, cpli_tan_class(a, v, e))) return;
  v->reads_memory = true;
  if (!value && e->type->kind == TYPE_POINTER) v->loads_pointer = true;
}

static void visit(analysis* a, variant* v, const expr* e) {
  if (e == NULL || a->s->bad) return;
  if (e->kind == EXPR_CALL) {
    visit_call(a, v, e);
  } else if (e->kind == EXPR_ASSIGN) {
    visit_assignment(a, v, e);
  } else {
    visit(a, v, e->a);
    visit(a, v, e->b);
    visit(a, v, e->c);
    for (const expr* item = e->list; item != NULL; item = item->next) visit(a, v, item);
    if (e->kind == EXPR_STEP) check_store(a, v, e->a);
    if (e->kind == EXPR_CHOICE && is_pointer(e->type)) cpli_tan_class(a, v, e);
    if (e->kind == EXPR_CAST) check_kind(a, v, e->type, e->a);
    if (e->kind == EXPR_CAST) check_cast(a, v, e);
    if (e->kind == EXPR_MEMBER) check_union(a, v, e);
    if (e->type->kind == TYPE_OTHER && e->kind == EXPR_BINARY) check_kind(a, v, e->type, e);
    visit_place(a, v, e);
  }
}

//------------------------------------ statements ------------------------------------

static void visit_variables(analysis* a, variant* v, const symbol* variables) {
  for (const symbol* s = variables; s != NULL && !a->s->bad; s = s->next) {
    if (s->is_static && !is_constant(s->type))
      cpli_tan_refuse(a->s, s->at, "the variable %s, which outlives the call,",
                      a->s->name_text[s->name]);
    if (s->type->kind == TYPE_FUNCTION) continue;
    if (is_values(s->type)) mark(v, s->number);
    if (s->init == NULL) continue;
    visit(a, v, s->init);
    receive(a, v, s->number, s->type, s->init);
  }
}

static void visit_return(analysis* a, variant* v, const expr* e) {
  if (e == NULL) return;
  const type* t = v->of->symbol->type->of;
  const int32_t result = special_class(v, SPECIAL_RESULT);
  visit(a, v, e);
  receive(a, v, result, t, e);
}

static void visit_statement(analysis* a, variant* v, const statement* st) {
  for (; st != NULL && !a->s->bad; st = st->next) {
    if (st->kind == STATEMENT_DECLARE) visit_variables(a, v, st->variables);
    if (st->kind == STATEMENT_RETURN) {
      visit_return(a, v, st->a);
      continue;
    }
    visit_statement(a, v, st->first);
    visit(a, v, st->a);
    visit(a, v, st->b);
    visit_statement(a, v, st->body);
    visit_statement(a, v, st->other);
  }
}

//------------------------------------ variants ------------------------------------

static void begin(variant* v) {
  const int32_t n = n_classes(v);
  for (int32_t c = 0; c < n; c++) v->parent[c] = c;
  v->active[special_class(v, SPECIAL_VALUES)] = true;
  v->lasting[special_class(v, SPECIAL_LASTING)] = true;
  int i = 0;
  for (const symbol* p = v->of->parameters; p != NULL && i < MAX_PARAMETERS; p = p->next, i++) {
    const bool given = (v->given >> i & 1) != 0;
    v->active[v->of->locals[i]->number] = given || is_values(p->type);
  }
}

static void summarize(analysis* a, variant* v) {
  const int32_t result = find(v, special_class(v, SPECIAL_RESULT));
  const type* t = v->of->symbol->type->of;
  v->result_active = v->active[result] && t->kind != TYPE_WHOLE;
  for (int k = 0; k < N_SPECIAL; k++)
    v->result_in[k] = k != SPECIAL_RESULT && find(v, special_class(v, (special)k)) == result;
  v->memory_active = is_active(v, special_class(v, SPECIAL_MEMORY));
  if (v->memory_active && v->loads_pointer)
    cpli_tan_refuse(a->s, v->of->symbol->at, "a pointer in v->memory");
  int i = 0;
  for (const symbol* p = v->of->parameters; p != NULL && i < MAX_PARAMETERS; p = p->next, i++) {
    const int32_t c = find(v, v->of->locals[i]->number);
    const uint64_t bit = (uint64_t)1 << i;
    if (c == result && is_pointer(p->type)) v->result_of |= bit;
    if (is_pointer(p->type) && v->active[c] && !is_values(p->type)) v->writes |= bit & v->stores;
    if (is_pointer(p->type) && v->active[c] && !(v->given & bit) && !is_values(p->type))
      v->writes |= bit;
  }
  for (int32_t c = 0; c < n_classes(v); c++) {
    if (find(v, c) == c && v->active[c] && v->lasting[c])
      cpli_tan_refuse(a->s, v->of->symbol->at,
                      "values that outlive the call, in one place with others,");
  }
  for (int32_t g = 0; g < v->n_globals; g++) {
    if (is_active(v, v->of->n_locals + N_SPECIAL + g)) v->globals[g]->shadowed = true;
  }
}

static bool make(analysis* a, variant* v) {
  cpli_tan_body(a->s, v->of);
  if (a->s->bad) return false;
  const size_t n = (size_t)n_classes(v);
  v->parent = cpli_tan_alloc(a->s, n, sizeof *v->parent);
  v->active = cpli_tan_alloc(a->s, n, sizeof *v->active);
  v->lasting = cpli_tan_alloc(a->s, n, sizeof *v->lasting);
  if (a->s->bad) return false;
  begin(v);
  v->busy = true;
  do {
    v->changed = false;
    visit_statement(a, v, v->of->body);
  } while (v->changed && !a->s->bad);
  v->busy = false;
  if (!a->s->bad) summarize(a, v);
  v->done = !a->s->bad;
  return v->done;
}

variant* cpli_tan_variant(analysis* a, function* f, bool all, uint64_t given) {
  if (a->s->bad) return NULL;
  variant* v = f->variants;
  while (v != NULL && (v->all != all || v->given != given)) v = v->next;
  const char* name = a->s->name_text[f->symbol->name];
  if (v != NULL && v->busy)
    return cpli_tan_refuse(a->s, f->symbol->at, "%s(), which calls itself,", name);
  if (v != NULL) return v;
  for (const variant* w = f->variants; w != NULL; w = w->next)
    if (w->busy) return cpli_tan_refuse(a->s, f->symbol->at, "%s(), which calls itself,", name);
  if (f->symbol->type->variadic || a->n_variants >= MAX_VARIANTS)
    return cpli_tan_refuse(a->s, f->symbol->at, "call of %s()", name);
  v = cpli_tan_alloc(a->s, 1, sizeof *v);
  if (v == NULL) return NULL;
  *v = (variant){
      .of = f, .all = all, .given = given, .number = ++a->n_variants, .next = f->variants};
  f->variants = v;
  return make(a, v) ? v : NULL;
}
